//! Tests of sessions, one mechanism each.

mod anew;
mod brakes;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Level};
use plimsoll::id::SessionId;
use plimsoll::token::Method;
use plimsoll::transcript::Usage;
use plimsoll::wire::{Format, Overflow, OverflowKind, quote};
use plimsoll_store::Store;

use super::simulation::script::{Chance, Flaky, Mood, Queue, Scripted};
use super::simulation::talk::{Step, Talk};
use super::{
    Begun, ByHand, Heard, Lookup, Manual, OverflowError, Prefix, Prepared, Reason, Recaller, Request, Session,
    SessionOptions,
};
use crate::event::Event;

const FORMAT: Format = Format::Anthropic;

/// A session with scripted surroundings.
pub(super) struct Stage {
    pub(super) session: Session,
    pub(super) queue: Arc<Queue>,
    pub(super) summariser: Arc<Scripted>,
    pub(super) flaky: Arc<Flaky>,
    pub(super) store: Store,
    pub(super) events: Arc<Mutex<Vec<Event>>>,
    pub(super) options: SessionOptions,
}

impl Stage {
    pub(super) fn new(window: u64, mood: Mood) -> Self {
        Self::with(window, mood, |_| {})
    }

    pub(super) fn with(window: u64, mood: Mood, change: impl FnOnce(&mut SessionOptions)) -> Self {
        let flaky = Arc::new(Flaky::default());
        let store = Store::new(flaky.clone());
        let summariser = Scripted::new(mood, 1);
        let queue = Arc::new(Queue::default());
        let events = Arc::new(Mutex::new(Vec::new()));
        let capacity = Capacity { context_window: Some(Tokens(window)), ..Capacity::default() };
        let mut options = SessionOptions::default().with_capacity(capacity).with_summariser(summariser.clone());
        options.spawn = queue.clone();
        let log = events.clone();
        options.watch = Arc::new(move |event| log.lock().unwrap().push(event.clone()));
        change(&mut options);
        let session = Session::with_options(SessionId::new("t"), store.clone(), options.clone());
        Self { session, queue, summariser, flaky, store, events, options }
    }

    /// Another process on the same store.
    pub(super) fn again(&self) -> Session {
        Session::with_options(SessionId::new("t"), self.store.clone(), self.options.clone())
    }

    pub(super) fn send<'b>(&self, body: &'b str) -> Prepared<'b> {
        self.send_by(&self.session, body)
    }

    pub(super) fn send_by<'b>(&self, session: &Session, body: &'b str) -> Prepared<'b> {
        self.send_as(session, body, FORMAT)
    }

    pub(super) fn send_as<'b>(&self, session: &Session, body: &'b str, format: Format) -> Prepared<'b> {
        let request = Request::new(body.as_bytes(), format);
        loop {
            match session.begin(&request) {
                Begun::Ready(prepared) => return *prepared,
                Begun::Waits(_) => self.run_all(),
            }
        }
    }

    pub(super) fn run_all(&self) {
        while self.queue.len() > 0 {
            self.queue.run(0);
        }
    }

    pub(super) fn recover<'b>(&self, prepared: &Prepared<'_>, body: &'b str) -> Result<Prepared<'b>, OverflowError> {
        let request = Request::new(body.as_bytes(), FORMAT);
        let overflow = Overflow { tokens: None, limit: None, kind: OverflowKind::Tokens };
        loop {
            match self.session.begin_recovery(&prepared.turn, &request, &overflow, false)? {
                Begun::Ready(prepared) => return Ok(*prepared),
                Begun::Waits(_) => self.run_all(),
            }
        }
    }

    pub(super) fn by_hand(&self, body: &str, manual: &Manual) -> ByHand {
        self.queue.inline.store(true, Ordering::SeqCst);
        let done = self.session.compact(body.as_bytes(), FORMAT, manual);
        self.queue.inline.store(false, Ordering::SeqCst);
        done
    }
}

/// A conversation of some turns with so many words each; the last message is the user's.
pub(super) fn talk(turns: usize, words: usize) -> Talk {
    let mut talk = Talk::new(FORMAT, 7, false);
    let mut chance = Chance(5);
    for turn in 0..turns {
        talk.user(&mut chance, words);
        if turn + 1 < turns {
            talk.steps.push(Step::Say { text: chance.words(words), thinks: false });
        }
    }
    talk
}

/// The model answers, and the user goes on.
pub(super) fn go_on(talk: &mut Talk, words: usize) {
    let mut chance = Chance(talk.steps.len() as u64);
    talk.steps.push(Step::Say { text: chance.words(words), thinks: false });
    talk.user(&mut chance, words);
}

/// Lets a conversation grow until it is as full as this; gives its body.
pub(super) fn fill(stage: &Stage, level: Level) -> (Talk, String) {
    let mut talk = talk(4, 60);
    loop {
        let body = talk.body();
        // Asked of a session that decides nothing, so that nothing is begun on the way.
        let scout = Session::with_options(SessionId::new("scout"), Store::memory(), stage.options.clone());
        let request = Request::new(body.as_bytes(), FORMAT).replay_only();
        let Begun::Ready(seen) = scout.begin(&request) else { panic!("nothing is decided") };
        if seen.report.level.unwrap() >= level {
            return (talk, body);
        }
        go_on(&mut talk, 60);
    }
}

fn usage(tokens: u64) -> Usage {
    Usage { input: Tokens(tokens), ..Usage::default() }
}

pub(super) fn has(prepared: &Prepared<'_>, wanted: impl Fn(&Reason) -> bool) -> bool {
    prepared.report.notes.iter().any(wanted)
}

#[test]
fn mechanism_22_a_system_prompt_above_the_threshold_is_infeasible_and_no_loop() {
    let stage = Stage::new(8_000, Mood::Good);
    let mut talk = talk(2, 20);
    talk.system = Chance(1).words(9_000);
    for _ in 0..40 {
        let body = talk.body();
        let prepared = stage.send(&body);
        assert_eq!(prepared.bytes.as_ref(), body.as_bytes());
        assert!(has(&prepared, |reason| matches!(reason, Reason::Infeasible { .. })), "{:?}", prepared.report.notes);
        go_on(&mut talk, 10);
    }
    assert_eq!(stage.summariser.calls(), 0);
    let body = talk.body();
    let prepared = stage.send(&body);
    let refused = stage.recover(&prepared, &body);
    assert!(matches!(refused, Err(OverflowError::NotCompacted(Reason::Infeasible { .. }))), "{refused:?}");
}

#[test]
fn mechanism_23_windows_of_any_size_give_an_answer_and_no_loop() {
    for window in [0, 1, 2, 100, 1_000, 4_096, u64::MAX] {
        let stage = Stage::new(window, Mood::Good);
        let mut talk = talk(2, 10);
        let mut epochs = 0;
        for _ in 0..12 {
            let body = talk.body();
            epochs += usize::from(stage.send(&body).report.compaction.is_some());
            go_on(&mut talk, 10);
        }
        assert!(epochs <= 2, "window {window}: {epochs} epochs in 12 turns");
        assert!(stage.summariser.calls() <= 6, "window {window}");
    }
}

#[test]
fn mechanism_24_what_would_free_too_little_is_not_compacted() {
    let stage = Stage::new(8_000, Mood::Good);
    let mut talk = talk(6, 80);
    let mut chance = Chance(3);
    talk.steps.push(Step::Say { text: "Give me all of it.".into(), thinks: false });
    talk.steps.push(Step::User(chance.words(5_000)));
    let body = talk.body();
    for _ in 0..20 {
        let prepared = stage.send(&body);
        assert!(prepared.report.compaction.is_none());
        assert!(prepared.report.level >= Some(Level::Compact), "{:?}", prepared.report);
        assert!(!prepared.report.notes.is_empty() || prepared.report.preparing);
    }
    stage.run_all();
    assert!(has(&stage.send(&body), |reason| matches!(reason, Reason::Skipped(_) | Reason::Infeasible { .. })));
    assert_eq!(stage.summariser.calls(), 0);
}

#[test]
fn mechanism_25_an_inflated_summary_gives_way_to_what_must_shrink() {
    let stage = Stage::new(8_000, Mood::Inflated);
    let (_, body) = fill(&stage, Level::Hard);
    let prepared = stage.send(&body);
    let compaction = prepared.report.compaction.as_ref().expect("it is over the limit");
    assert_eq!(compaction.summarizer, "extract");
    assert_eq!(compaction.fallback.as_ref().unwrap().from, "scripted");
    assert!(prepared.report.level < Some(Level::Prepare), "{:?}", prepared.report);
    assert_eq!(stage.summariser.calls(), 2, "asked, and asked once more with the reason");
}

#[test]
fn mechanism_26_a_loop_of_successes_stops_with_its_reason() {
    let stage = Stage::new(8_000, Mood::Good);
    let (mut talk, _) = fill(&stage, Level::Hard);
    let (mut epochs, mut stopped) = (0, None);
    for _ in 0..12 {
        let body = talk.body();
        let prepared = stage.send(&body);
        epochs += usize::from(prepared.report.compaction.is_some());
        stopped = prepared.report.notes.iter().find_map(|reason| match reason {
            Reason::Stopped(why) => Some(why.clone()),
            _ => stopped.clone(),
        });
        // Each turn fills the window again.
        go_on(&mut talk, 1_300);
    }
    assert!((1..=3).contains(&epochs), "{epochs}");
    assert!(stopped.is_some_and(|why| why.contains("refilled, refilled, refilled")));
    let by_hand = stage.by_hand(&talk.body(), &Manual::default());
    assert!(matches!(by_hand, ByHand::Compacted(_)), "a compaction by hand is always tried: {by_hand:?}");
}

#[test]
fn mechanism_27_auto_false_is_never_on_an_overflow_neither() {
    let stage = Stage::with(8_000, Mood::Good, |options| options.policy.auto = false);
    let (_, body) = fill(&stage, Level::Hard);
    let prepared = stage.send(&body);
    assert_eq!(prepared.bytes.as_ref(), body.as_bytes());
    assert!(has(&prepared, |reason| *reason == Reason::AutoOff));
    assert_eq!(stage.recover(&prepared, &body).unwrap_err(), OverflowError::AutoOff);
    assert_eq!((stage.summariser.calls(), stage.queue.len()), (0, 0));
    assert!(matches!(stage.by_hand(&body, &Manual::default()), ByHand::Compacted(_)));
}

#[test]
fn mechanism_28_a_compaction_by_hand_is_not_followed_by_another_one() {
    let stage = Stage::new(20_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Warn);
    let prepared = stage.send(&body);
    assert_eq!(stage.session.after_response(&prepared.turn, usage(16_500)), Heard::Anchored);
    assert!(matches!(stage.by_hand(&body, &Manual::default()), ByHand::Compacted(_)));
    let calls = stage.summariser.calls();
    go_on(&mut talk, 20);
    let body = talk.body();
    let prepared = stage.send(&body);
    assert!(prepared.report.epoch.is_some() && prepared.report.compaction.is_none());
    assert!(prepared.report.method != Method::Reported, "the usage was of what is gone");
    assert!(prepared.report.level == Some(Level::Fine), "{:?}", prepared.report);
    assert_eq!((stage.summariser.calls(), stage.queue.len()), (calls, 0));
}

#[test]
fn mechanism_29_a_compaction_buys_turns_in_which_the_prefix_stays() {
    let stage = Stage::new(12_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Hard);
    assert!(stage.send(&body).report.compaction.is_some());
    for _ in 0..10 {
        go_on(&mut talk, 30);
        let body = talk.body();
        let prepared = stage.send(&body);
        assert_eq!((prepared.report.prefix, prepared.report.compaction), (Prefix::Extends, None));
    }
}

#[test]
fn mechanism_69_prompts_that_come_while_a_summary_is_made_go_out_and_none_is_lost() {
    let stage = Stage::new(8_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Prepare);
    let prepared = stage.send(&body);
    assert!(prepared.report.preparing && prepared.bytes.as_ref() == body.as_bytes());
    assert_eq!(stage.queue.len(), 1);
    for turn in 0..2 {
        go_on(&mut talk, 20);
        talk.steps.push(Step::Say { text: "Yes.".into(), thinks: false });
        talk.steps.push(Step::User(format!("Prompt number {turn}.")));
        let body = talk.body();
        let prepared = stage.send(&body);
        assert!(prepared.report.level < Some(Level::Hard), "{:?}", prepared.report);
        assert_eq!(prepared.bytes.as_ref(), body.as_bytes(), "it goes out on the old history");
    }
    assert_eq!(stage.queue.len(), 1, "one summary, whoever asks");
    stage.run_all();
    while stage.send(&talk.body()).report.compaction.is_none() {
        go_on(&mut talk, 30);
    }
    let body = talk.body();
    let sent = String::from_utf8(stage.send(&body).bytes.into_owned()).unwrap();
    // The prepared summary stands before a longer tail.
    assert!(sent.contains("Prompt number 0.") && sent.contains("Prompt number 1."));
    assert_eq!(stage.summariser.calls(), 1, "the user did not wait for another");
}

#[test]
fn mechanism_70_a_summary_is_never_applied_to_a_history_that_changed() {
    let stage = Stage::new(8_000, Mood::Good);
    let (talk, body) = fill(&stage, Level::Prepare);
    stage.send(&body);
    assert_eq!(stage.queue.len(), 1);
    // The user goes back, and says something else.
    let mut other = talk.clone();
    other.steps.truncate(talk.steps.len() - 4);
    other.steps.push(Step::User(Chance(77).words(900)));
    stage.run_all();
    assert_eq!(stage.summariser.calls(), 1);
    let changed = other.body();
    let prepared = stage.send(&changed);
    if let Some(compaction) = &prepared.report.compaction {
        // If it is full it is compacted, but by a summary of its own.
        assert!(stage.summariser.calls() > 1, "{compaction:?}");
    }
    assert!(stage.store.epochs(&SessionId::new("t")).unwrap().len() <= 1);
    // The old history is still served by its summary.
    let mut old = talk;
    while stage.send(&old.body()).report.compaction.is_none() {
        go_on(&mut old, 40);
    }
}

#[test]
fn mechanism_71_nothing_is_used_before_it_is_durable() {
    let stage = Stage::new(8_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Compact);
    stage.send(&body);
    stage.run_all();
    stage.flaky.refuses_records.store(true, Ordering::SeqCst);
    let prepared = stage.send(&body);
    assert!(has(&prepared, |reason| matches!(reason, Reason::Store(_))), "{:?}", prepared.report);
    assert_eq!(prepared.bytes.as_ref(), body.as_bytes(), "below the hard threshold it can wait for the store");
    while stage.send(&talk.body()).report.compaction.is_none() {
        go_on(&mut talk, 40);
    }
    let body = talk.body();
    let prepared = stage.send(&body);
    assert!(prepared.report.epoch.is_some());
    assert!(stage.store.epochs(&SessionId::new("t")).unwrap().is_empty());
    // At the hard threshold it could not: an extract, which anybody can repeat, until the store is back.
    let compacted = stage.events.lock().unwrap().iter().find_map(|event| match event {
        Event::Compacted(report) => Some(report.clone()),
        _ => None,
    });
    let compacted = compacted.unwrap();
    assert!(!compacted.durable && compacted.summarizer == "extract", "{compacted:?}");
    stage.flaky.refuses_records.store(false, Ordering::SeqCst);
    go_on(&mut talk, 10);
    let body = talk.body();
    let prepared = stage.send(&body);
    assert_eq!(prepared.report.prefix, Prefix::Extends);
    assert!(stage.events.lock().unwrap().iter().any(|event| matches!(event, Event::Durable { .. })));
    let other = stage.send_by(&stage.again(), &body);
    assert_eq!(other.bytes, prepared.bytes, "a restart forgets nothing");
}

#[test]
fn mechanism_72_going_back_across_a_compaction_and_forth_again() {
    let stage = Stage::new(8_000, Mood::Good);
    let (talk, body) = fill(&stage, Level::Hard);
    let compacted = stage.send(&body);
    assert!(compacted.report.compaction.is_some());
    let mut before = talk.clone();
    before.steps.truncate(3);
    let early = before.body();
    let prepared = stage.send(&early);
    assert_eq!((prepared.bytes.as_ref(), prepared.report.epoch.clone()), (early.as_bytes(), None));
    for session in [&stage.session, &stage.again()] {
        let again = stage.send_by(session, &body);
        assert_eq!((again.bytes, again.report.epoch), (compacted.bytes.clone(), compacted.report.epoch.clone()));
    }
    // The whole of what was there can be had back.
    let id = compacted.report.epoch.as_ref().unwrap().parse().unwrap();
    let document = stage.store.document(&id).unwrap();
    let restored = document.pieces().collect::<Result<Vec<_>, _>>().unwrap().concat();
    assert_eq!(restored, body.as_bytes());
}

#[test]
fn the_same_request_a_thousand_times_costs_one_summary() {
    for level in [Level::Prepare, Level::Compact, Level::Hard] {
        let stage = Stage::new(8_000, Mood::Moody);
        let (_, body) = fill(&stage, level);
        for _ in 0..1_000 {
            stage.send(&body);
            stage.run_all();
        }
        assert!((1..=2).contains(&stage.summariser.calls()), "{level:?}: {}", stage.summariser.calls());
        assert!(stage.store.epochs(&SessionId::new("t")).unwrap().len() <= 1);
    }
}

#[test]
fn a_last_message_that_is_worded_anew_each_time_costs_one_summary() {
    for level in [Level::Prepare, Level::Compact, Level::Hard] {
        let stage = Stage::new(8_000, Mood::Good);
        let (talk, _) = fill(&stage, level);
        for n in 0..50 {
            let mut talk = talk.clone();
            if let Some(Step::User(text)) = talk.steps.last_mut() {
                text.push_str(&format!(" The time is 12:{n:02}."));
            }
            let body = talk.body();
            let prepared = stage.send(&body);
            assert!(!has(&prepared, |reason| matches!(reason, Reason::Stopped(_))), "{level:?} {n}");
            // At the compaction threshold nobody waits: the first request starts it.
            let is_due = level == Level::Hard || (level == Level::Compact && n > 0);
            assert_eq!(prepared.report.epoch.is_some(), is_due, "{level:?} {n}");
            stage.run_all();
        }
        assert_eq!(stage.summariser.calls(), 1, "{level:?}");
    }
}

#[test]
fn requests_that_come_at_once_wait_for_one_summary_and_use_it() {
    let stage = Stage::new(8_000, Mood::Good);
    let (_, body) = fill(&stage, Level::Hard);
    let request = Request::new(body.as_bytes(), FORMAT);
    let waits = [stage.session.begin(&request), stage.session.begin(&request), stage.session.begin(&request)];
    assert!(waits.iter().all(|begun| matches!(begun, Begun::Waits(waiting) if !waiting.is_over())));
    assert_eq!(stage.queue.len(), 1);
    stage.run_all();
    let barrier = std::sync::Barrier::new(6);
    let sent: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let send = || {
            barrier.wait();
            stage.send(&body).bytes.into_owned()
        };
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(sent.windows(2).all(|pair| pair[0] == pair[1]) && sent[0] != body.as_bytes());
    assert_eq!(stage.summariser.calls(), 1);
    let compacted = |event: &&Event| matches!(event, Event::Compacted(_));
    assert_eq!(stage.events.lock().unwrap().iter().filter(compacted).count(), 1, "one epoch, told once");
}

#[test]
fn of_two_processes_that_compact_at_once_the_first_ones_word_holds_for_both() {
    let stage = Stage::new(8_000, Mood::Good);
    let (_, body) = fill(&stage, Level::Hard);
    let other = stage.again();
    let request = Request::new(body.as_bytes(), FORMAT);
    assert!(matches!(stage.session.begin(&request), Begun::Waits(_)));
    assert!(matches!(other.begin(&request), Begun::Waits(_)));
    stage.run_all();
    let (one, two) = (stage.send(&body), stage.send_by(&other, &body));
    assert_eq!(one.bytes, two.bytes);
    assert!(!one.report.compaction.unwrap().adopted && two.report.compaction.unwrap().adopted);
    assert_eq!(stage.store.epochs(&SessionId::new("t")).unwrap().len(), 1);
}

#[test]
fn a_summary_that_is_late_gives_way_to_an_extract() {
    let stage = Stage::new(8_000, Mood::Good);
    let (_, body) = fill(&stage, Level::Hard);
    let request = Request::new(body.as_bytes(), FORMAT);
    assert!(matches!(stage.session.begin(&request), Begun::Waits(_)));
    let prepared = stage.session.begin_late(&request);
    assert_eq!(prepared.report.compaction.as_ref().unwrap().summarizer, "extract");
    assert!(has(&prepared, |reason| *reason == Reason::SummaryLate));
    // What comes afterwards is nobody's.
    stage.run_all();
    assert_eq!(stage.send(&body).bytes, prepared.bytes);
    assert_eq!(stage.summariser.calls(), 0, "it was cancelled");
}

#[test]
fn an_abort_leaves_everything_as_it_was() {
    let stage = Stage::new(8_000, Mood::Good);
    let (_, body) = fill(&stage, Level::Warn);
    let manual = Manual::default();
    manual.cancel.cancel();
    assert_eq!(stage.by_hand(&body, &manual), ByHand::Aborted);
    let prepared = stage.send(&body);
    assert_eq!((prepared.bytes.as_ref(), prepared.report.epoch), (body.as_bytes(), None));
    assert!(stage.store.epochs(&SessionId::new("t")).unwrap().is_empty());
}

#[test]
fn a_short_conversation_is_skipped_by_hand_and_taken_with_force() {
    let stage = Stage::new(8_000, Mood::Good);
    let body = talk(2, 30).body();
    let ByHand::Left(Reason::Skipped(why)) = stage.by_hand(&body, &Manual::default()) else { panic!() };
    assert_eq!(why, "not enough messages to compact");
    let forced = stage.by_hand(&body, &Manual::default().forced());
    assert!(matches!(forced, ByHand::Compacted(_)), "{forced:?}");
    assert!(stage.send(&body).report.epoch.is_some());
}

#[test]
fn what_is_not_understood_goes_as_it_came() {
    let stage = Stage::new(8_000, Mood::Good);
    for body in ["", "not json", "{\"messages\":", r#"{"max_tokens":9,"messages":[7]}"#, "\u{feff}{}"] {
        let prepared = stage.send(body);
        assert_eq!(prepared.bytes.as_ref(), body.as_bytes());
        assert!(matches!(prepared.report.bypass(), Some(Reason::NotUnderstood(_))), "{body}");
        assert_eq!(stage.session.after_response(&prepared.turn, usage(10)), Heard::Nothing);
        assert!(stage.recover(&prepared, body).is_err());
    }
}

#[test]
fn with_the_history_on_the_server_only_results_are_capped() {
    let stage = Stage::new(4_000, Mood::Good);
    let long = "a line of output\n".repeat(2_000);
    let body = format!(
        r#"{{"model":"m","previous_response_id":"resp_1","tools":[{{"type":"function","name":"plimsoll_recall"}}],"input":[{{"type":"function_call_output","call_id":"c1","output":{}}}]}}"#,
        quote(&long)
    );
    let prepared = stage.session.before_request(body.as_bytes(), Format::OpenaiResponses);
    assert!(prepared.bytes.len() < 6_000 && prepared.report.capped == 1, "{:?}", prepared.report);
    assert!(has(&prepared, |reason| *reason == Reason::ServerHistory));
    assert_eq!(stage.queue.len(), 0);
    let again = stage.session.before_request(body.as_bytes(), Format::OpenaiResponses);
    assert_eq!(again.bytes, prepared.bytes);
}

/// A body whose last message answers a call with this text.
fn with_result(tool: &str, text: &str) -> Talk {
    let mut talk = talk(2, 10);
    talk.steps.push(Step::Calls { ids: vec!["c1".into()], thinks: false });
    talk.steps.push(Step::Results { of: vec![("c1".into(), text.into())] });
    talk.system = tool.into();
    talk
}

#[test]
fn results_are_capped_only_where_somebody_can_recall() {
    let long = "a line of output\n".repeat(2_000);
    let body = with_result("", &long).body();
    let without = body.replace("plimsoll_recall", "look_up");
    let stage = Stage::new(40_000, Mood::Good);
    assert_eq!(stage.send(&body).report.capped, 1);
    assert_eq!(stage.send(&without).report.capped, 0);
    let stage = Stage::new(40_000, Mood::Good);
    let prepared = stage.send(&without);
    assert_eq!((prepared.report.capped, prepared.bytes.as_ref()), (0, without.as_bytes()));
    let stage = Stage::with(40_000, Mood::Good, |options| options.recaller = Recaller::Always);
    assert_eq!(stage.send(&without).report.capped, 1);
    let nobody = Request::new(body.as_bytes(), FORMAT).with_recaller(Recaller::Nobody);
    let stage = Stage::new(40_000, Mood::Good);
    let Begun::Ready(prepared) = stage.session.begin(&nobody) else { panic!() };
    assert_eq!(prepared.report.capped, 0);
}

#[test]
fn what_a_model_has_seen_uncapped_stays_so() {
    let long = "a line of output\n".repeat(2_000);
    let mut talk = with_result("", &long);
    talk.steps.push(Step::Say { text: "I see.".into(), thinks: false });
    talk.steps.push(Step::User("Go on.".into()));
    let body = talk.body();
    let stage = Stage::new(400_000, Mood::Good);
    let prepared = stage.send(&body);
    assert_eq!(prepared.bytes.as_ref(), body.as_bytes(), "it was in the history when this process first saw it");
}

#[test]
fn what_was_recalled_is_bounded_and_not_stored_again() {
    let long = "a line of output\n".repeat(4_000);
    let body = with_result("", &long).body().replace(r#""name":"Bash""#, r#""name":"mcp__plimsoll__recall""#);
    let stage = Stage::new(40_000, Mood::Good);
    let prepared = stage.send(&body);
    assert_eq!(prepared.report.capped, 1);
    assert!(prepared.bytes.len() < 12_000);
    assert!(stage.store.inventory().unwrap().artifacts().is_empty());
}

#[test]
fn without_a_store_a_result_that_fits_goes_whole_and_one_that_does_not_says_what_is_lost() {
    let long = "a line of output\n".repeat(1_000);
    let stage = Stage::new(40_000, Mood::Good);
    stage.flaky.down.store(true, Ordering::SeqCst);
    let body = with_result("", &long).body();
    let prepared = stage.send(&body);
    assert_eq!(prepared.bytes.as_ref(), body.as_bytes());
    assert!(matches!(prepared.report.bypass(), Some(Reason::Store(_))));
    let huge = with_result("", &long.repeat(20)).body();
    let prepared = stage.send(&huge);
    assert!(has(&prepared, |reason| matches!(reason, Reason::Unsaved(_))), "{:?}", prepared.report.notes);
    assert!(prepared.bytes.len() < 20_000);
    assert_eq!(stage.send(&huge).bytes, prepared.bytes);
}

#[test]
fn results_of_one_batch_share_what_a_batch_may_take() {
    let stage = Stage::new(40_000, Mood::Good);
    let mut talk = talk(2, 10);
    let ids: Vec<String> = (0..10).map(|at| format!("c{at}")).collect();
    talk.steps.push(Step::Calls { ids: ids.clone(), thinks: false });
    let text = "words of a result\n".repeat(390);
    talk.steps.push(Step::Results { of: ids.into_iter().map(|id| (id, text.clone())).collect() });
    let body = talk.body();
    let prepared = stage.send(&body);
    // Each is within the cap of one, all of them are not.
    assert_eq!(prepared.report.capped, 10, "{:?}", prepared.report);
    assert!(prepared.bytes.len() < 28_000, "{}", prepared.bytes.len());
}

#[test]
fn a_reported_usage_is_the_truth_until_what_it_is_of_changes() {
    let stage = Stage::new(100_000, Mood::Good);
    let mut talk = talk(3, 50);
    let body = talk.body();
    let prepared = stage.send(&body);
    let counted = prepared.report.tokens_after;
    let reported = counted.0 * 3 / 4;
    assert_eq!(stage.session.after_response(&prepared.turn, usage(reported)), Heard::Anchored);
    go_on(&mut talk, 50);
    let body = talk.body();
    let prepared = stage.send(&body);
    assert_eq!(prepared.report.method, Method::Reported);
    let came_after = prepared.turn.counted - counted;
    assert_eq!(prepared.report.tokens_after, Tokens(reported) + came_after);
    // Another tool, and it says nothing any more.
    let other = body.replace(r#""tools":["#, r#""tools":[{"name":"more","input_schema":{}},"#);
    assert!(stage.send(&other).report.method != Method::Reported);
    assert_eq!(stage.send(&other).report.prefix, Prefix::Extends);
}

#[test]
fn a_server_that_drops_the_front_without_a_word_is_noticed() {
    let stage = Stage::new(100_000, Mood::Good);
    let body = talk(8, 100).body();
    let prepared = stage.send(&body);
    let counted = prepared.turn.counted;
    let reported = Tokens(counted.0 / 3);
    let heard = stage.session.after_response(&prepared.turn, usage(reported.0));
    assert_eq!(heard, Heard::Truncated { counted, reported });
    assert_eq!(stage.send(&body).report.tokens_after, counted, "it is no measure");
}

#[test]
fn an_overflow_is_recovered_from_once() {
    let stage = Stage::new(1_000_000, Mood::Good);
    let body = talk(12, 100).body();
    let prepared = stage.send(&body);
    assert_eq!(prepared.report.level, Some(Level::Fine));
    let shorter = stage.recover(&prepared, &body).unwrap();
    assert!(shorter.bytes.len() < body.len() / 2 && shorter.report.compaction.is_some());
    let refused = stage.recover(&shorter, &body).unwrap_err();
    assert!(matches!(refused, OverflowError::StillTooLong { .. }));
    // What was learned of the limit holds from now on.
    let other = talk(13, 100).body().replace("Never", "Always");
    assert!(stage.send(&other).report.compaction.is_some());
}

#[test]
fn a_window_that_the_client_opted_into_is_the_one_that_counts() {
    let stage = Stage::with(1, Mood::Good, |options| options.capacity = None);
    let body = br#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Hi"}]}"#;
    let hard = |window: Option<Tokens>| {
        let mut request = Request::new(body, Format::Anthropic);
        request.window = window;
        match stage.session.begin(&request) {
            Begun::Ready(prepared) => prepared.report.thresholds.unwrap().hard,
            Begun::Waits(_) => unreachable!(),
        }
    };
    let usual = hard(None);
    let larger = hard(Some(Tokens(1_000_000)));
    assert!(usual < Tokens(200_000) && larger > Tokens(800_000), "{usual} {larger}");
    assert_eq!(hard(None), usual, "the next request may be without it");
}

#[test]
fn what_a_provider_counts_more_is_taken_off_once() {
    // A tokenizer that makes half as many tokens again of the same text, and reports and refuses by its own count.
    let stage = Stage::new(1_000_000, Mood::Good);
    let theirs = |prepared: &Prepared<'_>| Tokens(prepared.turn.counted.0 * 3 / 2);
    let mut talk = talk(12, 200);
    let before = talk.body();
    let prepared = stage.send(&before);
    stage.session.after_response(&prepared.turn, usage(theirs(&prepared).0));
    let limit = Tokens(theirs(&prepared).0 + 20);
    go_on(&mut talk, 200);
    let body = talk.body();
    let prepared = stage.send(&body);
    let overflow = Overflow { tokens: Some(theirs(&prepared)), limit: Some(limit), kind: OverflowKind::Tokens };
    let request = Request::new(body.as_bytes(), FORMAT);
    let shorter = loop {
        match stage.session.begin_recovery(&prepared.turn, &request, &overflow, false).unwrap() {
            Begun::Ready(prepared) => break *prepared,
            Begun::Waits(_) => stage.run_all(),
        }
    };
    assert!(theirs(&shorter) < limit, "{:?}", shorter.report);
}

#[test]
fn an_ordinary_request_pays_no_round_trip() {
    let stage = Stage::with(100_000, Mood::Good, |options| options.lookup = Lookup::Threshold);
    let mut talk = talk(3, 30);
    for _ in 0..10 {
        talk.steps.push(Step::Calls { ids: vec![format!("c{}", talk.steps.len())], thinks: false });
        let id = format!("c{}", talk.steps.len() - 1);
        talk.steps.push(Step::Results { of: vec![(id, Chance(4).words(200))] });
        stage.send(&talk.body());
        go_on(&mut talk, 30);
        stage.send(&talk.body());
    }
    let asked = stage.flaky.reads.load(Ordering::SeqCst) + stage.flaky.writes.load(Ordering::SeqCst);
    assert_eq!(asked, 0);
}

#[test]
fn between_preparing_and_compacting_the_store_is_asked_once_a_turn() {
    let stage = Stage::new(30_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Prepare);
    assert!(stage.send(&body).report.preparing);
    stage.run_all();
    let before = stage.flaky.reads.load(Ordering::SeqCst);
    for _ in 0..10 {
        let id = format!("c{}", talk.steps.len());
        talk.steps.push(Step::Calls { ids: vec![id.clone()], thinks: false });
        talk.steps.push(Step::Results { of: vec![(id, Chance(4).words(40))] });
        let body = talk.body();
        assert_eq!(stage.send(&body).report.level, Some(Level::Prepare));
    }
    assert_eq!(stage.flaky.reads.load(Ordering::SeqCst), before);
    go_on(&mut talk, 10);
    let body = talk.body();
    stage.send(&body);
    assert!(stage.flaky.reads.load(Ordering::SeqCst) > before, "a new turn looks for what others did");
}

#[test]
fn a_session_that_is_infeasible_asks_the_store_now_and_then_and_not_with_every_request() {
    let stage = Stage::new(8_000, Mood::Good);
    let mut talk = talk(2, 20);
    talk.system = Chance(1).words(9_000);
    let body = talk.body();
    assert!(has(&stage.send(&body), |reason| matches!(reason, Reason::Infeasible { .. })));
    let before = stage.flaky.reads.load(Ordering::SeqCst);
    for _ in 0..20 {
        go_on(&mut talk, 10);
        let body = talk.body();
        stage.send(&body);
    }
    assert_eq!(stage.flaky.reads.load(Ordering::SeqCst), before);
}

#[test]
fn a_clients_own_compaction_request_is_replayed_and_not_compacted() {
    let stage = Stage::new(8_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Hard);
    let compacted = stage.send(&body);
    go_on(&mut talk, 2_200);
    let body = talk.body();
    let request = Request::new(body.as_bytes(), FORMAT).replay_only();
    let Begun::Ready(prepared) = stage.session.begin(&request) else { panic!("it never waits") };
    assert_eq!(prepared.report.epoch, compacted.report.epoch);
    assert_eq!(prepared.report.prefix, Prefix::Extends);
    assert!(has(&prepared, |reason| *reason == Reason::ReplayOnly));
    assert_eq!(stage.queue.len(), 0);
}

#[test]
fn a_shadow_decides_and_reports_and_changes_nothing() {
    let stage = Stage::with(8_000, Mood::Good, |options| options.shadow = true);
    let (_, body) = fill(&stage, Level::Hard);
    let prepared = stage.send(&body);
    assert_eq!(prepared.bytes.as_ref(), body.as_bytes());
    assert!(prepared.report.compaction.is_some() && has(&prepared, |reason| *reason == Reason::Shadow));
    assert_eq!(stage.session.after_response(&prepared.turn, usage(5_000)), Heard::Nothing);
}

#[test]
fn bound_reasoning_makes_an_epoch_wait_for_the_end_of_its_turn() {
    let stage = Stage::new(8_000, Mood::Good);
    let (mut talk, _) = fill(&stage, Level::Compact);
    talk.steps.push(Step::Calls { ids: vec!["b1".into()], thinks: true });
    talk.steps.push(Step::Results { of: vec![("b1".into(), "done".into())] });
    let body = talk.body();
    let prepared = stage.send(&body);
    assert!(prepared.report.level < Some(Level::Hard), "{:?}", prepared.report);
    assert_eq!((prepared.bytes.as_ref(), stage.queue.len()), (body.as_bytes(), 0));
    assert!(has(&prepared, |reason| matches!(reason, Reason::Skipped(why) if why.contains("signed reasoning"))));
    go_on(&mut talk, 10);
    stage.send(&talk.body());
    stage.run_all();
    let body = talk.body();
    let prepared = stage.send(&body);
    assert!(prepared.report.compaction.is_some());
    assert!(!String::from_utf8_lossy(&prepared.bytes).contains("signature"), "its prefix is gone");
}

#[cfg(feature = "tokio")]
#[test]
fn an_asynchronous_host_waits_without_a_thread_and_gets_the_same() {
    use super::OwnedRequest;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let handle = runtime.handle().clone();
    let stage = Stage::with(8_000, Mood::Good, |options| options.spawn = Arc::new(super::Tokio::new(handle)));
    let (_, body) = fill(&stage, Level::Hard);
    let request = OwnedRequest::new(Arc::<[u8]>::from(body.as_bytes()), FORMAT);
    runtime.block_on(async {
        let prepared = stage.session.prepare_async(&request).await;
        assert!(prepared.report.compaction.is_some());
        let again = stage.session.prepare_async(&request).await;
        assert_eq!(again.bytes, prepared.bytes);
        let overflow = Overflow { tokens: None, limit: None, kind: OverflowKind::Tokens };
        let refused = stage.session.after_overflow_async(&again.turn, &request, &overflow).await;
        assert!(refused.is_ok() || matches!(refused, Err(OverflowError::NotCompacted(_))), "{refused:?}");
    });
}
