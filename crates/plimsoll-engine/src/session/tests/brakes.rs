//! What keeps clients that change their history with every request, or fill it with every turn, from costing a summary each.

use std::collections::HashSet;

use plimsoll::budget::Level;
use plimsoll::wire::Format;

use super::super::Reason;
use super::super::simulation::script::{Chance, Mood};
use super::super::simulation::talk::{Step, Talk};
use super::{Stage, fill, go_on, has, talk};

/// Lets a conversation grow by so many turns, while something in it changes with each; gives its epochs.
fn epochs(stage: &Stage, format: Format, turns: usize, change: impl Fn(&mut Talk, usize)) -> HashSet<String> {
    let mut talk = Talk::new(format, 7, false);
    talk.user(&mut Chance(3), 60);
    let mut epochs = HashSet::new();
    for turn in 0..turns {
        go_on(&mut talk, 60);
        change(&mut talk, turn);
        let body = talk.body();
        let prepared = stage.send_as(&stage.session, &body, format);
        assert!(prepared.report.level < Some(Level::Hard), "turn {turn}: {:?}", prepared.report);
        epochs.extend(prepared.report.epoch);
        stage.run_all();
    }
    epochs
}

#[test]
fn a_clock_in_the_system_message_makes_no_new_epoch_wherever_a_format_keeps_it() {
    for format in [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses] {
        let clock = |talk: &mut Talk, turn: usize| talk.system = format!("You write code. It is {turn} o'clock.");
        let (fixed, moving) = (Stage::new(8_000, Mood::Good), Stage::new(8_000, Mood::Good));
        let expected = epochs(&fixed, format, 120, |_, _| {}).len();
        let found = epochs(&moving, format, 120, clock).len();
        assert!(expected > 2 && found <= expected + 1, "{format}: {found} instead of {expected}");
        assert!(moving.summariser.calls() <= fixed.summariser.calls() + 1, "{format}");
    }
}

#[test]
fn a_first_message_that_is_worded_anew_each_time_is_not_summarised_each_time() {
    for format in [Format::Anthropic, Format::OpenaiChat] {
        let stage = Stage::with(8_000, Mood::Good, |options| options.unattended = true);
        epochs(&stage, format, 120, |talk, turn| {
            if let Some(Step::User(text)) = talk.steps.first_mut() {
                *text = format!("It is {turn} o'clock. Mend what is broken, and never touch the archive.");
            }
        });
        // A model is asked until it shows that this is of no use; extracts cost nothing.
        assert!(stage.summariser.calls() <= 6, "{format}: {}", stage.summariser.calls());
    }
}

#[test]
fn where_nobody_could_compact_by_hand_no_request_is_too_long_though_attempts_have_stopped() {
    let stage = Stage::with(8_000, Mood::Good, |options| options.unattended = true);
    let (mut talk, _) = fill(&stage, Level::Hard);
    let mut stopped = 0;
    for turn in 0..20 {
        // Each turn fills the window again.
        let body = talk.body();
        let prepared = stage.send(&body);
        assert!(prepared.report.level < Some(Level::Hard), "turn {turn}: {:?}", prepared.report);
        stopped += usize::from(stage.summariser.calls() <= 4 && turn > 8);
        go_on(&mut talk, 1_300);
    }
    assert!(stopped > 0, "the model is asked no more: {}", stage.summariser.calls());
}

#[test]
fn a_summary_that_leaves_too_long_a_tail_by_now_is_made_anew() {
    let stage = Stage::new(8_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Compact);
    stage.send(&body);
    stage.run_all();
    // It was prepared; then the conversation grows by more than the window at once, as a client does that was away.
    for _ in 0..40 {
        go_on(&mut talk, 60);
    }
    let body = talk.body();
    let prepared = stage.send(&body);
    assert!(prepared.report.level < Some(Level::Hard), "{:?}", prepared.report);
}

#[test]
fn a_limit_that_an_overflow_taught_is_forgotten_where_it_is_refuted() {
    let stage = Stage::new(200_000, Mood::Good);
    let body = talk(30, 100).body();
    let prepared = stage.send(&body);
    let overflow = |tokens, limit| plimsoll::wire::Overflow {
        tokens: Some(plimsoll::Tokens(tokens)),
        limit: Some(plimsoll::Tokens(limit)),
        kind: plimsoll::wire::OverflowKind::Tokens,
    };
    // What cannot be of this request teaches nothing.
    stage.session.note_overflow(&prepared.turn, &overflow(9_000_000, 200_000));
    assert_eq!(stage.send(&body).report.level, Some(Level::Fine));
    // What was wrong of a small request makes all others infeasible, until one of them is taken.
    let small = talk(2, 10).body();
    let turn = stage.send(&small).turn;
    stage.session.note_overflow(&turn, &overflow(300, 150));
    let prepared = stage.send(&body);
    assert!(has(&prepared, |reason| matches!(reason, Reason::Infeasible { .. })), "{:?}", prepared.report);
    stage.session.after_response(&prepared.turn, super::usage(prepared.report.tokens_after.0));
    let other = talk(30, 99).body().replace("Never", "Always");
    let other = stage.send(&other);
    assert_eq!((other.report.level < Some(Level::Hard), other.report.hindrance()), (true, None));
}
