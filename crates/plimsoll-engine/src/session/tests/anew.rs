//! What a process decided is repeated by one that starts anew, or stands beside it.

use plimsoll::budget::Level;

use super::super::simulation::script::{Chance, Mood};
use super::super::simulation::talk::{Step, Talk};
use super::super::{Lookup, Recaller};
use super::{Stage, fill, go_on, talk, with_result};

/// A conversation that was compacted, and goes back to before its last two turns; too small to be compacted by itself.
fn rewound(stage: &Stage) -> (Talk, String) {
    let (mut talk, body) = fill(stage, Level::Hard);
    go_on(&mut talk, 900);
    let long = talk.body();
    stage.send(&body);
    stage.send(&long);
    go_on(&mut talk, 60);
    talk.steps.truncate(talk.steps.len() - 4);
    let back = talk.body();
    (talk, back)
}

#[test]
fn a_conversation_that_was_rewound_goes_out_the_same_after_a_restart() {
    for lookup in [Lookup::FirstSight, Lookup::Threshold] {
        let stage = Stage::with(8_000, Mood::Good, |options| options.lookup = lookup);
        let (mut talk, back) = rewound(&stage);
        let sent = stage.send(&back);
        assert_eq!(stage.send_by(&stage.again(), &back).bytes, sent.bytes, "{lookup:?}");
        go_on(&mut talk, 20);
        let next = talk.body();
        assert_eq!(stage.send_by(&stage.again(), &next).bytes, stage.send(&next).bytes, "{lookup:?}");
    }
}

#[test]
fn below_the_threshold_nothing_holds_that_only_a_process_with_a_memory_knows_of() {
    let stage = Stage::with(8_000, Mood::Good, |options| options.lookup = Lookup::Threshold);
    let (talk, body) = fill(&stage, Level::Hard);
    assert!(stage.send(&body).report.compaction.is_some());
    let mut back = talk.clone();
    while back.body().len() * 2 > body.len() {
        back.steps.truncate(back.steps.len() - 2);
    }
    let early = back.body();
    assert_eq!(stage.send(&early).bytes.as_ref(), early.as_bytes());
    assert_eq!(stage.send_by(&stage.again(), &early).bytes.as_ref(), early.as_bytes());
}

#[test]
fn what_a_large_batch_left_to_each_result_is_repeated_whatever_its_size() {
    let stage = Stage::with(8_000, Mood::Good, |options| options.recaller = Recaller::Always);
    let mut talk = talk(2, 10);
    let ids: Vec<String> = (0..12).map(|at| format!("c{at}")).collect();
    talk.steps.push(Step::Calls { ids: ids.clone(), thinks: false });
    // Each is far below what one may take.
    let results = ids.into_iter().map(|id| (id, Chance(4).words(130)));
    talk.steps.push(Step::Results { of: results.collect() });
    let first = stage.send(&talk.body()).report;
    assert_eq!(first.capped, 12);
    go_on(&mut talk, 10);
    let next = talk.body();
    let sent = stage.send(&next).bytes;
    assert!(sent.len() < next.len());
    assert_eq!(stage.send_by(&stage.again(), &next).bytes, sent);
}

#[test]
fn a_cap_does_not_depend_on_what_an_overflow_taught() {
    let stage = Stage::with(200_000, Mood::Good, |options| options.recaller = Recaller::Always);
    let long = talk(12, 100).body();
    let prepared = stage.send(&long);
    stage.recover(&prepared, &long).unwrap();
    let body = with_result("", &"a line of output\n".repeat(400)).body();
    let (taught, anew) = (stage.send(&body), stage.send_by(&stage.again(), &body));
    assert_eq!((taught.report.capped, taught.bytes), (0, anew.bytes));
}

#[test]
fn two_that_ask_at_once_after_a_restart_both_go_out_under_what_was_found() {
    let stage = Stage::new(8_000, Mood::Good);
    let (mut talk, body) = fill(&stage, Level::Hard);
    assert!(stage.send(&body).report.compaction.is_some());
    go_on(&mut talk, 10);
    let next = talk.body();
    let anew = stage.again();
    let (barrier, sent) = (std::sync::Barrier::new(4), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                barrier.wait();
                let bytes = stage.send_by(&anew, &next).bytes.into_owned();
                sent.lock().unwrap().push(bytes);
            });
        }
    });
    let expected = stage.send(&next).bytes;
    assert!(sent.lock().unwrap().iter().all(|sent| **sent == *expected));
}
