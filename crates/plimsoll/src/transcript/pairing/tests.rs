use proptest::prelude::*;

use super::super::sample::{Step, disorder, session, transcript};
use super::*;

fn calls(ids: &[u8]) -> Step {
    Step::Calls { ids: ids.iter().copied().map(Some).collect(), thinks: false }
}

fn results(ids: &[u8]) -> Step {
    Step::Results { ids: ids.iter().copied().map(Some).collect(), text: false }
}

fn of(script: &[Step]) -> Obligations {
    Obligations::of(&transcript(script))
}

fn cuts(script: &[Step]) -> Vec<usize> {
    of(script).legal_cuts().collect()
}

fn orphans(script: &[Step]) -> Vec<(usize, OrphanKind)> {
    let found = of(script);
    found.orphans().iter().map(|orphan| (orphan.message, orphan.kind)).collect()
}

#[test]
fn mechanism_1_an_interrupted_call_is_an_orphan_and_holds_nothing_up() {
    let script = [Step::Typed, calls(&[0]), Step::Typed, Step::Say];
    assert_eq!(orphans(&script), [(1, OrphanKind::CallWithoutResult)]);
    assert_eq!(cuts(&script), [0, 1, 2, 3, 4]);
}

#[test]
fn a_call_waits_until_the_model_has_spoken_in_a_later_turn() {
    // Neither the model's going on in the same turn, nor a new message without an answer to it, ends the waiting.
    for script in [
        vec![Step::Typed, calls(&[0])],
        vec![Step::Typed, calls(&[0]), Step::Say],
        vec![Step::Typed, calls(&[0]), Step::Typed],
    ] {
        let found = of(&script);
        assert_eq!(found.orphans(), []);
        assert_eq!(found.open_calls().len(), 1);
        assert_eq!(found.legal_cuts().collect::<Vec<_>>(), [0, 1], "{script:?}");
    }
}

#[test]
fn mechanism_2_a_message_of_text_and_result_stays_with_its_call() {
    let mixed = Step::Results { ids: vec![Some(0)], text: true };
    assert_eq!(cuts(&[Step::Typed, calls(&[0]), mixed, Step::Say]), [0, 1, 3, 4]);
}

#[test]
fn mechanism_4_a_parallel_batch_is_atomic() {
    // In one message, and as items with their results in any order.
    assert_eq!(cuts(&[Step::Typed, calls(&[0, 1]), results(&[0]), results(&[1]), Step::Say]), [0, 1, 4, 5]);
    let items = [Step::Typed, calls(&[0]), calls(&[1]), results(&[1]), results(&[0]), Step::Say];
    assert_eq!(cuts(&items), [0, 1, 5, 6]);
}

#[test]
fn reused_ids_pair_with_the_nearest_waiting_call() {
    let script = [calls(&[0]), results(&[0]), Step::Typed, calls(&[0]), results(&[0])];
    assert_eq!(cuts(&script), [0, 2, 3, 5]);
    // The first call of the id was interrupted: it is the orphan, not the second.
    let script = [calls(&[0]), Step::Typed, calls(&[0]), results(&[0]), Step::Say];
    assert_eq!(orphans(&script), [(0, OrphanKind::CallWithoutResult)]);
    assert_eq!(cuts(&script), [0, 1, 2, 4, 5]);
}

#[test]
fn a_second_answer_belongs_to_the_call_too() {
    let script = [Step::Typed, calls(&[0]), results(&[0]), results(&[0]), Step::Say];
    assert_eq!(orphans(&script), []);
    assert_eq!(cuts(&script), [0, 1, 4, 5]);
}

#[test]
fn an_entry_of_an_unknown_role_separates_no_response() {
    let nameless = |ids: usize| Step::Calls { ids: vec![None; ids], thinks: false };
    let result = Step::Results { ids: vec![None], text: false };
    let with = of(&[calls(&[1]), Step::Unknown, nameless(2), result.clone()]);
    let without = of(&[calls(&[1]), nameless(2), result]);
    assert_eq!((with.answers()[0].call, without.answers()[0].call), ((0, 0), (0, 0)));
}

#[test]
fn results_without_ids_answer_in_order() {
    let nameless = |count: usize| vec![None; count];
    let script = [
        Step::Calls { ids: nameless(2), thinks: false },
        Step::Typed,
        Step::Calls { ids: nameless(2), thinks: false },
        Step::Results { ids: nameless(2), text: false },
        Step::Say,
    ];
    // They answer the latest response, not the interrupted one before it.
    assert_eq!(cuts(&script), [0, 1, 2, 4, 5]);
    assert_eq!(orphans(&script).len(), 2);
}

#[test]
fn a_result_without_a_call_is_reported() {
    let script = [Step::Typed, results(&[3]), Step::Say];
    assert_eq!(orphans(&script), [(1, OrphanKind::ResultWithoutCall)]);
    assert_eq!(of(&script).orphans()[0].id.as_deref(), Some("c3"));
    assert_eq!(cuts(&script), [0, 1, 2, 3]);
}

#[test]
fn mechanism_9_reasoning_stays_with_the_items_of_its_response() {
    let script =
        [Step::Typed, Step::Reason, calls(&[0]), calls(&[1]), results(&[0]), results(&[1]), Step::Reason, Step::Say];
    assert_eq!(cuts(&script), [0, 1, 6, 8]);
    assert_eq!(of(&script).closure([5]), [1, 2, 3, 4, 5]);
    // Entries that the model never sees do not part them; a user's message does.
    assert_eq!(cuts(&[Step::Reason, Step::Unknown, Step::Say]), [0, 3]);
    assert_eq!(orphans(&[Step::Reason, Step::Typed, Step::Say]), [(0, OrphanKind::ReasoningAlone)]);
}

#[test]
fn a_providers_pending_call_keeps_its_response() {
    let pending = Step::Server { id: 4, answered: false };
    assert_eq!(cuts(&[Step::Typed, pending.clone()]), [0, 1]);
    assert_eq!(cuts(&[Step::Typed, pending.clone(), Step::Machine, Step::ServerResult(4), Step::Say]), [0, 1, 4, 5]);
    assert_eq!(orphans(&[Step::Typed, pending, Step::Typed, Step::Say]), [(1, OrphanKind::CallWithoutResult)]);
    assert_eq!(cuts(&[Step::Typed, Step::Server { id: 4, answered: true }, Step::Say]), [0, 1, 2, 3]);
}

#[test]
fn mechanism_6_an_open_question_stands_without_holding_up_cuts() {
    let mut script = vec![Step::Typed, Step::Reason, Step::Ask(6), Step::Typed, Step::Say, Step::Typed, Step::Say];
    let found = of(&script);
    assert_eq!(found.standing(), [1, 2]);
    assert!(found.is_legal_cut(5));
    assert_eq!(found.violations(|message| message >= 5).len(), 1);
    assert_eq!(found.violations(|message| message >= 5 || message == 1 || message == 2), []);
    // Answered, it is an ordinary pair.
    script.push(Step::Answer(6));
    let found = of(&script);
    assert!(found.standing().is_empty());
    assert!(!found.is_legal_cut(5));
}

#[test]
fn mechanism_7_dropping_a_call_and_keeping_its_result_is_a_violation() {
    let found = of(&[Step::Typed, calls(&[0]), results(&[0]), Step::Say]);
    assert_eq!(
        found.violations(|message| message != 1),
        [Violation::Parted(Bond { first: 1, last: 2, kind: BondKind::Client })]
    );
    let after = of(&[Step::Typed, results(&[0]), Step::Say]);
    assert_eq!(after.new_orphans(&found).len(), 1);
    assert_eq!(found.new_orphans(&after), Vec::<&Orphan>::new());
}

#[test]
fn a_long_session_is_read_in_linear_time() {
    // A hundred thousand results that no call waits for, beside as many calls: quadratic work would not end.
    let many = 100_000;
    let script = [
        Step::Calls { ids: vec![Some(1); many], thinks: false },
        Step::Results { ids: vec![Some(2); many], text: false },
    ];
    assert_eq!(of(&script).orphans().len(), many);
    let chained: Vec<Step> = (0..many).map(|_| Step::Reason).collect();
    assert_eq!(of(&chained).closure([many - 1]).len(), many);
}

/// The ids of calls and results of each message, in order.
fn ids(step: &Step) -> (Vec<u8>, Vec<u8>) {
    match step {
        Step::Calls { ids, .. } => (ids.iter().flatten().copied().collect(), vec![]),
        Step::Results { ids, .. } => (vec![], ids.iter().flatten().copied().collect()),
        Step::Server { id, answered } => (vec![*id], answered.then_some(*id).into_iter().collect()),
        Step::Ask(id) => (vec![*id], vec![]),
        Step::Answer(id) | Step::ServerResult(id) => (vec![], vec![*id]),
        _ => (vec![], vec![]),
    }
}

/// The results whose id no call before them carries: what a provider refuses.
fn unanswerable(script: &[Step]) -> Vec<(usize, u8)> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (index, step) in script.iter().enumerate() {
        let (calls, results) = ids(step);
        seen.extend(calls);
        found.extend(results.into_iter().filter(|id| !seen.contains(id)).map(|id| (index, id)));
    }
    found
}

/// The reasoning items with the item that follows each, as a provider pairs them.
fn reasoning_pairs(script: &[Step]) -> Vec<(usize, usize)> {
    let seen = |index: &usize| script[*index] != Step::Unknown;
    let is_model = |step: &Step| {
        matches!(
            step,
            Step::Say
                | Step::Reason
                | Step::Calls { .. }
                | Step::Server { .. }
                | Step::ServerResult(_)
                | Step::Ask(_)
        )
    };
    let reasons = (0..script.len()).filter(|index| script[*index] == Step::Reason);
    reasons
        .filter_map(|index| (index + 1..script.len()).find(seen).map(|next| (index, next)))
        .filter(|(_, next)| is_model(&script[*next]))
        .collect()
}

fn holds_at_every_cut(script: &[Step]) -> Result<(), TestCaseError> {
    let whole = of(script);
    let whole_unanswerable = unanswerable(script);
    prop_assert!(whole.is_legal_cut(0));
    for cut in whole.legal_cuts() {
        let kept = &script[cut..];
        // By the plain reading of the rules, not by our pairing.
        for (index, id) in unanswerable(kept) {
            prop_assert!(
                whole_unanswerable.contains(&(index + cut, id)),
                "cut {} orphans result {} in {:?}",
                cut,
                index + cut,
                script
            );
        }
        for (first, next) in reasoning_pairs(script) {
            prop_assert_eq!(first < cut, next < cut, "cut {} parts reasoning {} in {:?}", cut, first, script);
        }
        // And by our own: what is kept has no orphan that it had not before.
        for orphan in of(kept).orphans() {
            let before = whole.orphans().iter().any(|other| {
                (other.message, other.block, other.kind) == (orphan.message + cut, orphan.block, orphan.kind)
            });
            prop_assert!(before, "cut {} makes an orphan of {:?} in {:?}", cut, orphan, script);
        }
        let standing = whole.standing();
        let keeps = |message: usize| message >= cut || standing.contains(&message);
        prop_assert_eq!(whole.violations(keeps), vec![]);
    }
    for cut in (0..=script.len()).filter(|cut| !whole.is_legal_cut(*cut)) {
        prop_assert!(!whole.violations(|message| message >= cut).is_empty(), "cut {} is refused for nothing", cut);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_legal_cut_breaks_anything(script in disorder(0..24)) {
        holds_at_every_cut(&script)?;
    }

    #[test]
    fn no_legal_cut_breaks_a_real_session(script in session(1..6)) {
        holds_at_every_cut(&script)?;
    }

    #[test]
    fn a_closure_parts_nothing(script in disorder(1..24), seeds in prop::collection::vec(0_usize..24, 0..4)) {
        let found = of(&script);
        let closure = found.closure(seeds.iter().copied());
        for seed in seeds.iter().filter(|seed| **seed < script.len()) {
            prop_assert!(closure.contains(seed));
        }
        prop_assert_eq!(&found.closure(closure.iter().copied()), &closure);
        let parted = found.violations(|message| !closure.contains(&message));
        let only_open = parted.iter().all(|violation| matches!(violation, Violation::OpenCallLost(_)));
        prop_assert!(only_open);
    }

    #[test]
    fn growing_frees_no_bond(script in disorder(1..24), more in disorder(0..6)) {
        // What was tied stays tied when the conversation goes on.
        let before = of(&script);
        let grown: Vec<Step> = script.iter().chain(&more).cloned().collect();
        let after = of(&grown);
        for (message, tied_to) in before.group.iter().enumerate() {
            prop_assert_eq!(after.group[message], after.group[*tied_to]);
        }
    }
}
