//! Tests of reductions in a session, one mechanism each.

use std::sync::atomic::Ordering;

use plimsoll::budget::Level;

use super::super::simulation::script::{Chance, Mood};
use super::super::simulation::talk::{Step, Talk};
use super::super::tests::{Stage, go_on, has, talk};
use super::super::{ByHand, Manual, Prefix, Prepared, Reason};

/// The model calls a tool, is answered with so many words, and says something.
fn look(talk: &mut Talk, words: usize) -> String {
    let mut chance = Chance(talk.steps.len() as u64 + 77);
    let id = format!("call_{}", talk.steps.len());
    let text = format!("text of {id}: {}", chance.words(words));
    talk.steps.push(Step::Calls { ids: vec![id.clone()], thinks: false });
    talk.steps.push(Step::Results { of: vec![(id, text.clone())] });
    text
}

/// A conversation that looks at large things, until it has been reduced; gives what was sent first under that.
fn reduced(stage: &Stage) -> (Talk, String, Prepared<'static>) {
    let mut talk = talk(2, 30);
    for _ in 0..60 {
        look(&mut talk, 700);
        let body = talk.body();
        let sent = stage.send(&body);
        stage.run_all();
        if sent.report.compaction.is_some() {
            let sent = Prepared { bytes: sent.bytes.into_owned().into(), report: sent.report, turn: sent.turn };
            return (talk, body, sent);
        }
        go_on(&mut talk, 20);
    }
    panic!("it was never compacted")
}

#[test]
fn mechanism_29_reductions_come_in_batches_and_not_at_every_turn() {
    let stage = Stage::new(40_000, Mood::Good);
    let mut talk = talk(2, 30);
    let (mut batches, mut since) = (Vec::new(), 0);
    for _ in 0..120 {
        look(&mut talk, 900);
        let body = talk.body();
        let sent = stage.send(&body);
        stage.run_all();
        if let Some(compaction) = &sent.report.compaction {
            batches.push((since, compaction.reduced));
            since = 0;
        } else {
            assert!(matches!(sent.report.prefix, Prefix::Extends | Prefix::New), "{:?}", sent.report);
            since += 1;
        }
        assert!(sent.report.level < Some(Level::Hard), "{:?}", sent.report);
        go_on(&mut talk, 20);
    }
    let of_reductions = batches.iter().filter(|(_, reduced)| *reduced > 0).count();
    assert!(of_reductions >= 1, "{batches:?}");
    assert!(batches.iter().all(|(since, reduced)| *since >= 3 && *reduced != 1), "{batches:?}");
}

#[test]
fn reductions_that_are_enough_need_no_summary_and_come_back_by_their_ids() {
    let stage = Stage::new(40_000, Mood::Good);
    let (_, body, sent) = reduced(&stage);
    let compaction = sent.report.compaction.as_ref().unwrap();
    assert!(compaction.reduced > 0 && compaction.durable && compaction.removed == 0, "{compaction:?}");
    assert_eq!((compaction.summarizer.as_str(), compaction.carried), (super::REDUCTIONS, None));
    assert_eq!(stage.summariser.calls(), 0);
    let text = String::from_utf8(sent.bytes.to_vec()).unwrap();
    let ids: Vec<&str> = text.split("; left out here").skip(1).collect();
    assert_eq!(ids.len(), compaction.reduced);
    for rest in ids {
        let (_, id) = rest.split(']').next().unwrap().rsplit_once("recall id ").unwrap();
        let whole = String::from_utf8(stage.store.recall(&id.parse().unwrap()).unwrap()).unwrap();
        assert!(whole.starts_with("text of ") && body.contains(&whole), "{whole}");
    }
    let archived = stage.store.document(&match compaction.epoch.parse().unwrap() {
        plimsoll::id::RecallId::Epoch(id) => id,
        other @ plimsoll::id::RecallId::Artifact(_) => panic!("{other}"),
    });
    let bytes = archived.unwrap().pieces().collect::<Result<Vec<_>, _>>().unwrap().concat();
    // A history that has only grown since it was planned is archived as it was then.
    assert!(!bytes.is_empty());
}

#[test]
fn a_process_that_starts_again_repeats_reductions_to_the_byte() {
    let stage = Stage::new(40_000, Mood::Good);
    let (mut talk, body, sent) = reduced(&stage);
    let again = stage.again();
    let other = stage.send_by(&again, &body);
    assert_eq!(String::from_utf8_lossy(&other.bytes), String::from_utf8_lossy(&sent.bytes));
    assert_eq!(other.turn.counted, sent.turn.counted);
    for _ in 0..3 {
        go_on(&mut talk, 20);
        let body = talk.body();
        let (one, other) = (stage.send(&body), stage.send_by(&again, &body));
        assert_eq!(one.report.prefix, Prefix::Extends, "{:?}", one.report);
        assert_eq!(String::from_utf8_lossy(&one.bytes), String::from_utf8_lossy(&other.bytes));
    }
}

#[test]
fn a_summary_goes_before_the_reductions_that_it_stands_for() {
    let stage = Stage::new(40_000, Mood::Good);
    let (mut talk, _, sent) = reduced(&stage);
    go_on(&mut talk, 20);
    let body = talk.body();
    let ByHand::Compacted(summary) = stage.by_hand(&body, &Manual::default().with_instructions("Keep names.")) else {
        panic!("a summary was asked for by words")
    };
    assert!(summary.reduced == 0 && summary.removed > 0 && summary.epoch != *sent.report.epoch.as_ref().unwrap());
    let (here, elsewhere) = (stage.send(&body), stage.send_by(&stage.again(), &body));
    assert_eq!(here.report.epoch.as_ref(), Some(&summary.epoch));
    assert_eq!(elsewhere.bytes, here.bytes);
    // The process that knew only of the reductions takes the summary when it asks.
    go_on(&mut talk, 20);
    let body = talk.body();
    assert_eq!(stage.send(&body).report.prefix, Prefix::Extends);
}

#[test]
fn a_process_with_reductions_takes_over_a_summary_of_another_one() {
    let stage = Stage::new(40_000, Mood::Good);
    let (mut talk, body, _) = reduced(&stage);
    let other = stage.again();
    stage.send_by(&other, &body);
    let by_hand = stage.by_hand(&body, &Manual::default().with_instructions("Keep names."));
    let ByHand::Compacted(summary) = by_hand else { panic!("{by_hand:?}") };
    // It asks once its context is full again.
    for _ in 0..90 {
        look(&mut talk, 400);
        let body = talk.body();
        let sent = stage.send_by(&other, &body);
        if sent.report.epoch.as_ref() == Some(&summary.epoch) {
            assert_eq!(sent.report.prefix, Prefix::Epoch);
            return;
        }
        go_on(&mut talk, 20);
    }
    panic!("it was never asked for");
}

#[test]
fn without_a_store_nothing_is_reduced() {
    let stage = Stage::new(40_000, Mood::Good);
    let mut talk = talk(2, 30);
    stage.flaky.down.store(true, Ordering::SeqCst);
    for _ in 0..90 {
        look(&mut talk, 700);
        let body = talk.body();
        let sent = stage.send(&body);
        stage.run_all();
        if let Some(compaction) = &sent.report.compaction {
            assert_eq!((compaction.reduced, compaction.summarizer.as_str()), (0, "extract"));
            return;
        }
        assert!(sent.report.level < Some(Level::Compact) || has(&sent, |reason| matches!(reason, Reason::Store(_))));
        go_on(&mut talk, 20);
    }
    panic!("it was never compacted");
}
