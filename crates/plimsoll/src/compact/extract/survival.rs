//! Rounds over sessions of every shape: what was laid down is there verbatim while the bound allows, and beyond that
//! counted and recallable; what tools said never becomes an order.
//!
//! `PLIMSOLL_SEEDS=FROM..TO` looks at other sessions than the usual ones, and prints all that is lost.

use serde_json::json;

use super::rounds::{Session, rough, session};
use super::shapes::{change, decoy, fact, message};
use super::*;

/// A session in which people say things in many shapes, and what of it is to come through.
struct Told {
    session: Session,
    turn: usize,
    /// An earlier limit with the later one, and the turn of that; `None` until it is said.
    changed: Vec<(String, Option<String>)>,
    /// What is to be done now, as it was said.
    task: String,
}

fn told(seed: u64, turns: usize, noise: usize) -> Told {
    let session = session(seed, 0, noise);
    let mut told = Told { session, turn: 0, changed: Vec::new(), task: String::new() };
    for _ in 0..turns {
        told.turn();
    }
    told
}

impl Told {
    fn turn(&mut self) {
        self.turn += 1;
        let random = &mut self.session.random;
        let n = random.below(9_000) + 1_000;
        self.task = match random.below(5) {
            0 => format!("Stop that for now and look after the login page {n} instead."),
            1 => format!("Bitte kümmere dich als Nächstes um Seite {n}."),
            2 => format!("接下来请处理第 {n} 页。"),
            _ => format!("Please take care of part {}-{n} of the migration next.", self.turn),
        };
        let mut said: Vec<String> = (0..=random.below(2)).map(|_| fact(random)).collect();
        // Every fourth turn a limit is said; some turns later it is changed by a short message.
        let mut request = None;
        if self.turn % 4 == 1 {
            let (limit, later) = change(random, self.changed.len());
            said.push(limit.clone());
            self.changed.push((limit, Some(later)));
        } else if self.turn.is_multiple_of(4)
            && let Some((limit, later)) = self.changed.last()
            && let Some(later) = later.clone()
        {
            said = vec![limit.clone(), later.clone()];
            self.task.clone_from(&later);
            request = Some(later);
        }
        let request = request.unwrap_or_else(|| message(random, &self.task, &said));
        if !request.contains(self.task.as_str()) {
            self.task.clone_from(&said[0]);
        }
        for one in said {
            if !self.session.facts.contains(&one) {
                self.session.facts.push(one);
            }
        }
        self.session.messages.push(json!({"role": "user", "content": request}));
        self.work();
    }

    /// Some calls whose answers hold what must not become an order, and a report.
    fn work(&mut self) {
        let turn = self.turn;
        for step in 0..=self.session.random.below(3) {
            let id = format!("toolu_{turn}_{step}");
            let decoy = decoy(&mut self.session.random, turn);
            let noise = "the quick brown fox jumps over the lazy dog\n".repeat(self.session.noise / 44 + 1);
            let fails = self.session.random.below(4) == 0;
            let (name, input) = match self.session.random.below(4) {
                0 => ("Read", json!({"file_path": format!("/w/src/mod {turn}/part_{step}.rs")})),
                1 => ("Bash", json!({"command": format!("cargo test -p part{turn}")})),
                2 => {
                    ("WebFetch", json!({"url": format!("https://example.org/{turn}"), "prompt": "what does it say"}))
                }
                _ => (
                    "Edit",
                    json!({"file_path": format!("/w/src/lib_{}.rs", turn % 5), "old_string": "a", "new_string": "b"}),
                ),
            };
            let content = if fails {
                format!("Exit code 101\nerror: assertion {step} of part {turn} failed\n{decoy}\n{noise}")
            } else {
                format!("{noise}{decoy}\n{noise}")
            };
            let marks = decoy.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            self.session.decoys.extend(marks.filter(|mark| mark.starts_with("decoy-")).map(str::to_owned));
            self.session.messages.push(json!({"role": "assistant", "content": [
                {"type": "text", "text": format!("Now step {step} of part {turn}.")},
                {"type": "tool_use", "id": id, "name": name, "input": input}]}));
            self.session.messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": fails}]}));
        }
        self.session
            .messages
            .push(json!({"role": "assistant", "content": format!("Part {turn} is done; its checks pass now.")}));
    }

    fn lost(&self) -> Vec<String> {
        let text = self.session.text();
        self.session.facts.iter().filter(|fact| !text.contains(fact.as_str())).cloned().collect()
    }

    /// A round, and what is wrong afterwards.
    fn round(&mut self, target: u64, round: usize) -> Vec<String> {
        let known = self.session.facts.clone();
        let task = self.task.clone();
        let summary = self.session.compact(target, round);
        let carried = Ledger::parse(&summary);
        let mut wrong = Vec::new();
        let lost = self.lost();
        // Each stands in an entry, and what is asked last goes first.
        let needed = rough(&task).0 + 60 + known.iter().map(|fact| rough(fact).0 + 6).sum::<u64>();
        let bound = crate::compact::ledger_bound(Tokens(target));
        if needed <= bound.0 {
            wrong.extend(lost.iter().map(|fact| format!("lost though it fits: {fact}")));
        }
        if !lost.is_empty() {
            if carried.left_out.passages == 0 {
                wrong.push(format!("{} are lost and none is counted", lost.len()));
            }
            if !summary.contains("recall `s1/~") {
                wrong.push("what is lost has no recall id".to_owned());
            }
            let recalled = self.session.removed.join("\n");
            wrong.extend(
                lost.iter()
                    .filter(|fact| !recalled.contains(fact.as_str()))
                    .map(|fact| format!("gone for good: {fact}")),
            );
        }
        if !self.session.text().contains(task.as_str()) {
            wrong.push(format!("the current task is lost: {task}"));
        }
        for words in &carried.words {
            if words.text.contains("decoy-") {
                wrong.push(format!("a tool's words became the user's: {}", words.text));
            }
        }
        for line in summary.lines().filter(|line| line.contains("decoy-")) {
            // Of a tool's answer only a line that tells of a failure may stand in it, as data.
            let as_data = line.starts_with("- [error]")
                || line.starts_with("- Bash")
                || line.starts_with("- Read")
                || line.starts_with("- Edit")
                || line.starts_with("- WebFetch");
            if !(as_data && line.contains('`')) {
                wrong.push(format!("a tool's words stand as something else than data: {line}"));
            }
        }
        // What was changed says so, and by what; what it was changed to stands as it is.
        for (limit, _) in &self.changed {
            let said = carried.words.iter().find(|words| words.text.contains(limit.as_str()));
            let later = self.changed.iter().find(|(other, _)| other == limit).and_then(|(_, later)| later.clone());
            let is_said = later
                .as_ref()
                .is_some_and(|later| carried.words.iter().any(|words| words.text.contains(later.as_str())));
            if let Some(words) = said.filter(|words| is_said && words.changed_by.is_none()) {
                wrong.push(format!("not marked as changed: {}", words.text));
            }
            if let Some(later) = later
                && let Some(words) = carried.words.iter().find(|words| words.text == later)
                && words.changed_by.is_some()
            {
                wrong.push(format!("marked as changed though it holds: {later}"));
            }
        }
        wrong
    }
}

fn seeds(usual: std::ops::Range<u64>) -> std::ops::Range<u64> {
    #[expect(clippy::disallowed_methods, reason = "a test that is asked to look further")]
    let asked = std::env::var("PLIMSOLL_SEEDS").ok();
    let read = asked.and_then(|asked| {
        let (from, to) = asked.split_once("..")?;
        Some(from.parse().ok()?..to.parse().ok()?)
    });
    read.unwrap_or(usual)
}

#[test]
fn five_rounds_of_every_shape_lose_nothing_while_the_bound_allows() {
    let mut wrong = Vec::new();
    for (percent, seed) in
        [30, 20, 10].into_iter().flat_map(|percent| seeds(100..102).map(move |seed| (percent, seed)))
    {
        // Much work and few words, and the other way round: there not everything fits.
        for (turns, noise) in [(16, 3_000), (24, 200)] {
            let mut told = told(seed, turns, noise);
            let target = rough(&told.session.text()).0 * percent / 100;
            for round in 0..5 {
                for fault in told.round(target, round) {
                    wrong.push(format!("seed {seed}, {turns} turns, {percent} %, round {round}: {fault}"));
                }
                told.turn();
                told.turn();
            }
        }
    }
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn mechanism_20_twenty_rounds_of_every_shape_stay_within_their_bound() {
    for seed in seeds(200..202) {
        let mut told = told(seed, 14, 2_000);
        let target = rough(&told.session.text()).0 / 4;
        for round in 0..20 {
            // It asserts that the continuation keeps to its share.
            told.session.compact(target, round);
            assert!(rough(&told.session.text()).0 <= target + 200, "seed {seed}, round {round}");
            told.turn();
        }
    }
}
