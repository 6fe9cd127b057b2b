use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, SystemTime};

use plimsoll::budget::Level;
use plimsoll::compact::Api;
use plimsoll::wire::Format;

use super::*;
use crate::session::simulation::script::{Chance, Mood};
use crate::session::simulation::talk::Step;
use crate::session::tests::{Stage, fill, go_on};
use crate::session::{Request, Session, Spawn};
use crate::summarise::{Answer, BoxFuture, Service, Summariser, SummariserError, SummaryRequest};

/// A stage whose time goes by only where somebody pauses; and that time, in milliseconds.
fn stage(mood: Mood) -> (Stage, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(1_000_000_000));
    let (told, paused) = (now.clone(), now.clone());
    let stage = Stage::with(6_000, mood, |options| {
        let at = move || SystemTime::UNIX_EPOCH + Duration::from_millis(told.load(Ordering::SeqCst));
        options.clock = Arc::new(at);
        options.pause = Arc::new(move |pause| {
            paused.fetch_add(u64::try_from(pause.as_millis()).unwrap(), Ordering::SeqCst);
        });
    });
    (stage, now)
}

/// A model that never answers.
#[derive(Debug)]
struct Silent(Service);

impl Summariser for Silent {
    fn service(&self) -> &Service {
        &self.0
    }

    fn summarise<'a>(&'a self, _: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
        Box::pin(std::future::pending())
    }
}

/// Keeps work for the test.
#[derive(Default)]
struct Kept(Mutex<Vec<BoxFuture<'static, ()>>>);

impl Spawn for Kept {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        self.0.lock().unwrap().push(work);
    }
}

/// Another process on the stage's store that has asked its model, and waits for the answer.
fn begun(stage: &Stage, body: &str) -> BoxFuture<'static, ()> {
    let kept = Arc::new(Kept::default());
    let silent = Silent(Service::of_model("silent", Api::Anthropic, "silent-1"));
    let mut options = stage.options.clone().with_summariser(Arc::new(silent));
    options.spawn = kept.clone();
    let other = Session::with_options(SessionId::new("t"), stage.store.clone(), options);
    stage.send_by(&other, body);
    let mut work = kept.0.lock().unwrap().remove(0);
    assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    work
}

#[test]
fn of_two_processes_that_prepare_at_once_one_pays_and_both_use_it() {
    let (stage, now) = stage(Mood::Good);
    let other = stage.again();
    let (mut talk, mut body) = fill(&stage, Level::Prepare);
    let start = now.load(Ordering::SeqCst);
    stage.send(&body);
    // The other one meets the conversation a turn later.
    go_on(&mut talk, 20);
    body = talk.body();
    stage.send_by(&other, &body);
    stage.run_all();
    assert_eq!(stage.summariser.calls(), 1);
    assert_eq!(now.load(Ordering::SeqCst), start, "what is there already is not waited for");
    loop {
        // The one that did not make it puts it in place.
        let report = stage.send_by(&other, &body).report;
        if let Some(compaction) = report.compaction {
            assert!(compaction.adopted && compaction.durable, "{compaction:?}");
            break;
        }
        go_on(&mut talk, 60);
        body = talk.body();
        stage.run_all();
    }
    assert_eq!(stage.send(&body).bytes, stage.send_by(&other, &body).bytes);
    assert_eq!(stage.summariser.calls(), 1);
}

#[test]
fn a_process_that_dies_while_it_makes_a_summary_holds_nobody_up_for_longer_than_its_lease() {
    let (stage, now) = stage(Mood::Good);
    let (_, body) = fill(&stage, Level::Prepare);
    mem::forget(begun(&stage, &body));
    let start = now.load(Ordering::SeqCst);
    stage.send(&body);
    stage.run_all();
    assert_eq!(stage.summariser.calls(), 1);
    let waited = Duration::from_millis(now.load(Ordering::SeqCst) - start);
    assert!(waited >= LEASE && waited <= LEASE + PAUSES.1, "{waited:?}");
}

#[test]
fn a_claim_that_is_given_up_is_waited_for_by_nobody() {
    let (stage, now) = stage(Mood::Good);
    let (_, body) = fill(&stage, Level::Prepare);
    drop(begun(&stage, &body));
    let start = now.load(Ordering::SeqCst);
    stage.send(&body);
    stage.run_all();
    assert_eq!((stage.summariser.calls(), now.load(Ordering::SeqCst)), (1, start));
}

#[test]
fn another_branch_of_a_conversation_has_a_summary_of_its_own() {
    let (stage, now) = stage(Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Prepare);
    let work = begun(&stage, &body);
    let start = now.load(Ordering::SeqCst);
    let said = talk.steps.len() - 2;
    talk.steps[said] = Step::Say { text: Chance(99).words(60), thinks: false };
    let branch = talk.body();
    stage.send(&branch);
    stage.run_all();
    assert_eq!((stage.summariser.calls(), now.load(Ordering::SeqCst)), (1, start));
    drop(work);
}

#[test]
fn where_no_claim_can_be_recorded_the_summary_is_made_all_the_same() {
    let (stage, _) = stage(Mood::Good);
    let (_, body) = fill(&stage, Level::Prepare);
    stage.flaky.refuses_records.store(true, Ordering::SeqCst);
    stage.send(&body);
    stage.run_all();
    assert_eq!(stage.summariser.calls(), 1);
}

#[test]
fn what_another_process_made_and_did_not_help_is_not_taken_again() {
    let (stage, _) = stage(Mood::Good);
    let (_, body) = fill(&stage, Level::Prepare);
    stage.send(&body);
    stage.run_all();
    let other = stage.again();
    let request = Request::new(body.as_bytes(), Format::Anthropic);
    let Ok(seen) = other.inner.see(&request) else { panic!("it is understood") };
    let thresholds = other.inner.thresholds_of(&seen.history);
    let mut brief = other.inner.brief(&request, &seen.history, &thresholds, Trigger::Threshold);
    assert!(matches!(brief.claim(), Claim::Theirs(_)));
    brief.again = true;
    assert!(matches!(brief.claim(), Claim::Ours(_)));
    brief.trigger = Trigger::Manual;
    assert!(matches!(brief.claim(), Claim::Nobodys), "what is asked for by hand may be asked for in words");
}
