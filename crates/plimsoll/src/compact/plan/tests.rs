use proptest::prelude::*;

use super::*;
use crate::budget::{Capacity, Policy, threshold};
use crate::transcript::sample::{Step, disorder, session, transcript};
use crate::transcript::{BondKind, Violation};
use crate::wire::Format;

fn thresholds(window: u64) -> Thresholds {
    let capacity = Capacity { context_window: Some(Tokens(window)), ..Capacity::default() };
    threshold(&capacity, &Policy::default(), None)
}

fn by_hand() -> PlanOptions {
    PlanOptions::new(Format::Anthropic, Trigger::Manual)
}

fn automatic() -> PlanOptions {
    PlanOptions::new(Format::Anthropic, Trigger::Threshold)
}

fn plan_of(script: &[Step], tokens: &[u64], window: u64, options: &PlanOptions) -> Plan {
    let transcript = transcript(script);
    let obligations = Obligations::of(&transcript);
    plan(&transcript, &obligations, &Measure::of_tokens(0, tokens), &thresholds(window), options)
}

fn summarised(plan: Plan) -> Summarise {
    match plan {
        Plan::Summarise(summarise) => summarise,
        other => panic!("{other:?}"),
    }
}

/// Turns of a typed message and an answer.
fn talk(turns: usize) -> Vec<Step> {
    (0..turns).flat_map(|_| [Step::Typed, Step::Say]).collect()
}

fn call(id: u8) -> Step {
    Step::Calls { ids: vec![Some(id)], thinks: true }
}

fn result(id: u8) -> Step {
    Step::Results { ids: vec![Some(id)], text: false }
}

/// One turn of many calls.
fn long_turn(calls: usize) -> Vec<Step> {
    let loops = (0..calls).flat_map(|_| [call(0), result(0)]);
    std::iter::once(Step::Typed).chain(loops).collect()
}

#[test]
fn mechanism_22_tools_and_system_above_the_threshold_are_infeasible() {
    let transcript = transcript(&talk(10));
    let obligations = Obligations::of(&transcript);
    let measure = Measure::of_tokens(160_000, &[1_000; 20]);
    for trigger in [Trigger::Threshold, Trigger::Overflow, Trigger::Manual] {
        let options = PlanOptions::new(Format::Anthropic, trigger);
        let plan = plan(&transcript, &obligations, &measure, &thresholds(200_000), &options);
        // System and tools, and the last group: an answer, with the question before it that stays verbatim.
        assert_eq!(plan, Plan::Infeasible { irreducible: Tokens(162_000), limit: Tokens(153_000) });
    }
}

#[test]
fn mechanism_22_a_last_group_that_fills_the_window_is_infeasible() {
    let script = [talk(5), vec![Step::Typed, call(0), result(0)]].concat();
    let mut tokens = vec![10; 13];
    tokens[12] = 190_000;
    let plan = plan_of(&script, &tokens, 200_000, &automatic());
    assert_eq!(plan, Plan::Infeasible { irreducible: Tokens(190_020), limit: Tokens(153_000) });
}

#[test]
fn mechanism_24_an_automatic_compaction_that_removes_little_is_not_tried() {
    // Three small messages, then one turn that cannot be cut.
    let script = [talk(1), vec![Step::Typed, call(0), result(0)]].concat();
    let plan = plan_of(
        &script,
        &[100, 100, 100, 100, 151_500],
        200_000,
        &PlanOptions::new(Format::Anthropic, Trigger::Overflow),
    );
    assert_eq!(plan, Plan::Skipped(Skip::TooLittleToRemove { removable: Tokens(300) }));
}

#[test]
fn mechanism_27_auto_false_means_never() {
    for trigger in [Trigger::Threshold, Trigger::Overflow] {
        let mut options = PlanOptions::new(Format::Anthropic, trigger);
        options.auto = false;
        assert_eq!(plan_of(&talk(50), &[5_000; 100], 200_000, &options), Plan::Skipped(Skip::AutoOff));
    }
    let mut options = by_hand();
    options.auto = false;
    summarised(plan_of(&talk(50), &[5_000; 100], 200_000, &options));
}

#[test]
fn below_the_threshold_only_a_hand_compacts() {
    let plan = plan_of(&talk(50), &[500; 100], 200_000, &automatic());
    assert!(matches!(plan, Plan::Skipped(Skip::BelowThreshold { .. })), "{plan:?}");
    let by_hand = summarised(plan_of(&talk(50), &[500; 100], 200_000, &by_hand()));
    // The tail: 20,000 tokens, which begin at a typed message.
    assert_eq!((by_hand.removed, by_hand.tail_tokens), (0..60, Tokens(20_000)));
}

#[test]
fn a_conversation_too_short_is_skipped_unless_forced() {
    let skipped = plan_of(&talk(3), &[100; 6], 200_000, &by_hand());
    assert_eq!(skipped, Plan::Skipped(Skip::NotEnoughMessages));
    insta::assert_snapshot!(Skip::NotEnoughMessages, @"not enough messages to compact");
    let mut options = by_hand();
    options.force = true;
    assert_eq!(summarised(plan_of(&talk(3), &[100; 6], 200_000, &options)).removed, 0..4);
    assert_eq!(summarised(plan_of(&talk(1), &[100; 2], 200_000, &options)).removed, 0..1);
    assert_eq!(plan_of(&[Step::Typed], &[100], 200_000, &options), Plan::Skipped(Skip::NotEnoughMessages));
    assert_eq!(plan_of(&[Step::System], &[100], 200_000, &options), Plan::Skipped(Skip::NotEnoughMessages));
    assert_eq!(plan_of(&[], &[], 200_000, &options), Plan::Skipped(Skip::NotEnoughMessages));
}

#[test]
fn mechanism_5_a_tail_does_not_begin_with_a_result() {
    let mut options = by_hand();
    options.keep_tokens = Some(Tokens(600));
    // 600 tokens back lies the result of the second last call.
    let planned = summarised(plan_of(&long_turn(10), &[100; 21], 200_000, &options));
    assert_eq!(planned.removed, 0..15);
    assert!(planned.splits_turn);
    options.keep_tokens = Some(Tokens(500));
    assert_eq!(summarised(plan_of(&long_turn(10), &[100; 21], 200_000, &options)).removed, 0..17);
}

#[test]
fn mechanism_4_a_parallel_batch_stays_whole_even_over_the_tails_budget() {
    let batch = Step::Calls { ids: vec![Some(0), Some(1)], thinks: false };
    let script = [talk(3), vec![Step::Typed, batch, result(0), result(1)]].concat();
    let mut options = by_hand();
    options.keep_tokens = Some(Tokens(150));
    assert_eq!(summarised(plan_of(&script, &[100; 10], 200_000, &options)).removed, 0..7);
}

#[test]
fn mechanism_6_an_open_question_is_kept_where_it_can_stand() {
    let script = [vec![Step::Typed, Step::Ask(6)], talk(20)].concat();
    let mut options = PlanOptions::new(Format::Codex, Trigger::Manual);
    options.keep_tokens = Some(Tokens(400));
    let planned = summarised(plan_of(&script, &[100; 42], 200_000, &options));
    assert_eq!((planned.removed, planned.retained), (0..38, vec![1]));
    // Elsewhere it holds up the cut.
    options.format = Format::Anthropic;
    assert_eq!(plan_of(&script, &[100; 42], 200_000, &options), Plan::Skipped(Skip::NotEnoughMessages));
}

#[test]
fn mechanism_6_an_open_call_is_never_summarised() {
    let script = [talk(10), vec![Step::Typed, call(0)]].concat();
    let mut options = by_hand();
    options.keep_tokens = Some(Tokens(0));
    assert_eq!(summarised(plan_of(&script, &[100; 22], 200_000, &options)).removed, 0..21);
}

#[test]
fn a_tail_prefers_to_begin_where_a_person_typed() {
    let script = [long_turn(4), vec![Step::Say], long_turn(3), vec![Step::Say]].concat();
    let mut options = by_hand();
    options.keep_tokens = Some(Tokens(1_100));
    let planned = summarised(plan_of(&script, &[100; 18], 200_000, &options));
    assert_eq!((planned.removed, planned.splits_turn), (0..10, false));
}

#[test]
fn one_long_turn_is_split_rather_than_lost() {
    // The last message alone is typed; the turn before it is larger than any tail.
    let script = [long_turn(100), vec![Step::Say, Step::Typed]].concat();
    let tokens = vec![1_000; 203];
    let planned = summarised(plan_of(&script, &tokens, 400_000, &by_hand()));
    assert!(planned.splits_turn);
    assert!(planned.tail_tokens > Tokens(18_000) && planned.tail_tokens <= Tokens(20_000));
}

#[test]
fn signed_reasoning_of_a_turn_that_goes_on_makes_compaction_wait() {
    let script = long_turn(100);
    let waiting = plan_of(&script, &[800; 201], 200_000, &automatic());
    assert_eq!(waiting, Plan::Skipped(Skip::TurnInProgress));
    // At the hard threshold it takes the last legal boundary.
    let planned = summarised(plan_of(&script, &[900; 201], 200_000, &automatic()));
    assert_eq!(planned.removed, 0..199);
    assert_eq!(planned.omitted, []);
    // Where the turn is over, nothing waits.
    let over = [script, vec![Step::Say]].concat();
    summarised(plan_of(&over, &[800; 202], 200_000, &automatic()));
}

#[test]
fn mechanism_8_thinking_of_earlier_turns_is_left_out_of_the_tail() {
    let script = [talk(10), long_turn(2), vec![Step::Say], long_turn(1)].concat();
    let mut options = by_hand();
    options.keep_tokens = Some(Tokens(900));
    let planned = summarised(plan_of(&script, &[100; 29], 200_000, &options));
    assert_eq!(planned.removed, 0..20);
    // The calls of the turn before; not the one of the turn that goes on.
    assert_eq!(planned.omitted, [(21, 0), (23, 0)]);
    options.format = Format::OpenaiChat;
    assert_eq!(summarised(plan_of(&script, &[100; 29], 200_000, &options)).omitted, []);
}

#[test]
fn operator_messages_stay_within_a_bound_the_latest_first() {
    let mut script = vec![Step::System];
    for _ in 0..10 {
        script.extend([Step::Typed, Step::Say, Step::System]);
    }
    let mut options = by_hand();
    options.keep_tokens = Some(Tokens(300));
    options.target_tokens = Some(Tokens(2_000));
    let planned = summarised(plan_of(&script, &[100; 31], 200_000, &options));
    assert_eq!(planned.removed, 1..28);
    assert_eq!(planned.retained, [24, 27]);
}

#[test]
fn a_target_is_a_bound_met_or_infeasible() {
    let mut options = by_hand();
    options.target_tokens = Some(Tokens(3_000));
    let planned = summarised(plan_of(&talk(50), &[500; 100], 200_000, &options));
    assert!(planned.tokens_after_bound() <= Tokens(3_000));
    options.target_tokens = Some(Tokens(1_000));
    let plan = plan_of(&talk(50), &[500; 100], 200_000, &options);
    assert_eq!(plan, Plan::Infeasible { irreducible: Tokens(1_000), limit: Tokens(1_000) });
}

#[test]
fn what_a_provider_compacted_counts_from_there() {
    let mut conversation = transcript(&talk(20));
    let compaction = |text| BlockKind::Compaction(text);
    conversation.messages[21].blocks[0].kind = compaction(Some(crate::wire::Text::plain("so far")));
    let tokens: Vec<u64> = (0..40).map(|index| if index < 21 { 0 } else { 100 }).collect();
    let measure = Measure::of_tokens(0, &tokens);
    let mut options = by_hand();
    options.keep_tokens = Some(Tokens(5_000));
    let decide = |conversation: &Transcript<'_>, options: &PlanOptions| {
        plan(conversation, &Obligations::of(conversation), &measure, &thresholds(200_000), options)
    };
    // All of it that the model sees fits in the tail.
    assert_eq!(decide(&conversation, &options), Plan::Skipped(Skip::NotEnoughMessages));
    options.keep_tokens = Some(Tokens(1_000));
    assert_eq!(summarised(decide(&conversation, &options)).removed, 0..30);
    // One that only the provider can read stays where it is.
    conversation.messages[21].blocks[0].kind = compaction(None);
    options.format = Format::OpenaiResponses;
    assert_eq!(summarised(decide(&conversation, &options)).removed, 22..30);
}

#[test]
fn break_even_is_reported() {
    let planned = summarised(plan_of(&talk(50), &[1_000; 100], 200_000, &by_hand()));
    // 11.5 × (20,000 of tail + 12,320 of continuation) / 80,000.
    assert_eq!(planned.break_even_turns, 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_plan_breaks_anything(
        script in prop_oneof![disorder(0..40), session(1..8)],
        tokens in prop::collection::vec(0_u64..9_000, 150),
        (window, target, keep) in (1_000_u64..400_000, prop::option::of(0_u64..90_000), prop::option::of(0_u64..30_000)),
        (trigger, of_items, force) in (0_usize..3, any::<bool>(), any::<bool>()),
        more in disorder(0..5),
    ) {
        let mut options = PlanOptions::new(
            if of_items { Format::OpenaiResponses } else { Format::Anthropic },
            [Trigger::Manual, Trigger::Threshold, Trigger::Overflow][trigger],
        );
        options.force = force;
        options.target_tokens = target.map(Tokens);
        options.keep_tokens = keep.map(Tokens);
        let conversation = transcript(&script);
        let obligations = Obligations::of(&conversation);
        let measure = Measure::of_tokens(500, &tokens[..script.len().min(150)]);
        prop_assume!(script.len() <= 150);
        let decide = || plan(&conversation, &obligations, &measure, &thresholds(window), &options);
        let planned = decide();
        prop_assert_eq!(&planned, &decide());
        match planned {
            Plan::Summarise(planned) => {
                let limit = options.target_tokens.unwrap_or(thresholds(window).compact);
                prop_assert!(planned.tokens_after_bound() <= limit, "{:?} of {}", planned, limit);
                prop_assert!(planned.continuation_budget >= MINIMAL_CONTINUATION);
                prop_assert!(FRAME_BOUND + planned.summary_budget + planned.ledger_budget <= planned.continuation_budget);
                prop_assert!(!planned.removed.is_empty() && planned.removed.end < script.len());
                let leading = script.iter().take_while(|step| **step == Step::System).count();
                prop_assert!(planned.removed.start >= leading);
                prop_assert!(planned.retained.is_sorted());
                prop_assert!(planned.retained.iter().all(|index| planned.removed.contains(index)));
                prop_assert!(planned.omitted.iter().all(|(message, _)| *message >= planned.removed.end));
                let stays = |index: usize| !planned.removed.contains(&index) || planned.retained.contains(&index);
                prop_assert_eq!(obligations.violations(stays), vec![]);
                // What stays has no orphan that the whole had not. (Where what is retained joins the response that
                // follows it, order alone would pair differently; formats with questions pair by id.)
                let nameless = |step: &Step| match step {
                    Step::Calls { ids, .. } | Step::Results { ids, .. } => ids.contains(&None),
                    _ => false,
                };
                if planned.retained.is_empty() || !script.iter().any(nameless) {
                    let kept = (0..script.len()).filter(|index| stays(*index));
                    let kept: Vec<Step> = kept.map(|index| script[index].clone()).collect();
                    let after = Obligations::of(&transcript(&kept));
                    let fresh = after.new_orphans(&obligations);
                    prop_assert!(fresh.is_empty(), "{:?}", fresh);
                }
                // The same cut holds for a history that has grown, unless an answer came late to what was given up.
                let grown: Vec<Step> = script.iter().chain(&more).cloned().collect();
                let grown = Obligations::of(&transcript(&grown));
                for violation in grown.violations(stays) {
                    match violation {
                        Violation::Parted(bond) => prop_assert!(bond.last >= script.len() || bond.kind == BondKind::Batch, "{:?}", bond),
                        Violation::OpenCallLost(call) => prop_assert!(call.message >= script.len(), "{:?}", call),
                    }
                }
            }
            Plan::Reduce(_) => prop_assert!(false, "`plan` alone reduces nothing"),
            Plan::Infeasible { irreducible, limit } => {
                prop_assert!(irreducible + MINIMAL_CONTINUATION > limit);
                prop_assert!(measure.total > limit);
            }
            Plan::Skipped(_) => {}
        }
    }

    #[test]
    fn what_is_due_and_can_be_done_is_done(
        script in session(3..12),
        tokens in prop::collection::vec(500_u64..1_500, 200),
    ) {
        // An overflow on a window that the conversation fills twice: there is always something to do.
        prop_assume!(script.len() >= 20 && script.len() <= 200);
        let tokens = &tokens[..script.len()];
        let window = tokens.iter().sum::<u64>() / 2;
        let planned = plan_of(&script, tokens, window, &PlanOptions::new(Format::Anthropic, Trigger::Overflow));
        let idle = [Skip::AutoOff, Skip::TurnInProgress].map(Plan::Skipped);
        prop_assert!(!idle.contains(&planned));
        if let Plan::Summarise(planned) = planned {
            prop_assert!(planned.tokens_after_bound() <= thresholds(window).compact);
        }
    }
}
