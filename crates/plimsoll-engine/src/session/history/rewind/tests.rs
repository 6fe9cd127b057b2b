use plimsoll::id::SessionId;
use plimsoll_store::Store;

use super::super::super::simulation::script::{Chance, Mood};
use super::super::super::simulation::talk::{Step, Talk};
use super::super::super::tests::{Stage, go_on, talk};
use super::super::super::{Prefix, Session};

/// The conversation with only its first steps, and something else after them.
fn rewound(steps: usize) -> Talk {
    let mut shorter = talk(40, 60);
    shorter.steps.truncate(steps);
    if matches!(shorter.steps.last(), Some(Step::Say { .. })) {
        shorter.user(&mut Chance(99), 30);
    }
    shorter
}

#[test]
fn a_rewound_history_is_seen_as_one_that_is_read_whole() {
    for steps in [1, 2, 20, 39, 78] {
        let stage = Stage::new(200_000, Mood::Good);
        stage.send(&talk(40, 60).body());
        let mut talk = rewound(steps);
        let fresh = Session::with_options(SessionId::new("other"), Store::memory(), stage.options.clone());
        for _ in 0..4 {
            let body = talk.body();
            let (seen, read) = (stage.send(&body), stage.send_by(&fresh, &body));
            assert_eq!(seen.bytes, read.bytes);
            let told = |report: &crate::session::RequestReport| {
                (report.tokens_before, report.tokens_after, report.level, report.sent, report.method)
            };
            assert_eq!(told(&seen.report), told(&read.report), "{steps}");
            assert_ne!(seen.report.prefix, Prefix::Broken);
            go_on(&mut talk, 40);
        }
    }
}
