//! `Failure`: an error by its signature, where it came from, and what fixed it.

use serde::{Deserialize, Serialize};

use super::shell;

/// An error that a tool reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The line that names it. It is the tool's text: data.
    pub signature: String,
    /// What failed: the command line, or the tool and what it was given.
    pub source: String,
    /// How often it was seen.
    pub times: u32,
    /// The user's message that was being worked on when it was last seen.
    pub turn: u32,
    /// How it ended, if it did: the same thing later went well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

/// That something which failed later went well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// The user's message that was being worked on then.
    pub turn: u32,
    /// What was changed in between, the last of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// How many changed items a fix names.
const AFTER: usize = 2;

/// Programs that show less of what another prints, or show it elsewhere too.
const FILTERS: [&str; 7] = ["tail", "head", "grep", "egrep", "rg", "tee", "cat"];

/// Words of command lines that check something: of a whole, if nothing is picked out.
const CHECKS: [&str; 12] =
    ["test", "tests", "pytest", "check", "lint", "clippy", "tsc", "jest", "vitest", "mocha", "rspec", "build"];

/// The errors of a history.
#[derive(Debug, Default)]
pub(super) struct Failures {
    pub(super) list: Vec<Failure>,
    /// Per open failure: what was changed since. Parallel to the end of `list` by place.
    changed: Vec<(usize, Vec<String>)>,
}

impl Failures {
    pub(super) fn of(list: Vec<Failure>) -> Self {
        let changed = list
            .iter()
            .enumerate()
            .filter(|(_, failure)| failure.fix.is_none())
            .map(|(place, _)| (place, Vec::new()))
            .collect();
        Self { list, changed }
    }

    pub(super) fn failed(&mut self, signature: &str, source: &str, turn: u32) {
        let alike = kind(signature);
        let known =
            self.list.iter_mut().enumerate().rev().take(64).find(|(_, known)| kind(&known.signature) == alike);
        let place = if let Some((place, known)) = known {
            known.times = known.times.saturating_add(1);
            known.turn = turn;
            known.fix = None;
            source.clone_into(&mut known.source);
            signature.clone_into(&mut known.signature);
            place
        } else {
            self.list.push(Failure {
                signature: signature.to_owned(),
                source: source.to_owned(),
                times: 1,
                turn,
                fix: None,
            });
            self.list.len() - 1
        };
        self.changed.retain(|(open, _)| *open != place);
        self.changed.push((place, Vec::new()));
    }

    /// Notes a change that may turn out to be a fix.
    pub(super) fn changed(&mut self, path: &str) {
        for (_, paths) in &mut self.changed {
            paths.retain(|known| known != path);
            paths.push(path.to_owned());
            if paths.len() > AFTER {
                paths.remove(0);
            }
        }
    }

    /// Notes that something went well: what failed of it before is fixed. `is_command` says whether it is a command line.
    pub(super) fn succeeded(&mut self, source: &str, is_command: bool, turn: u32) -> bool {
        let mut fixed = false;
        let list = &mut self.list;
        self.changed.retain_mut(|(place, paths)| {
            let alike = |failure: &&mut Failure| {
                alike_source(&failure.source, source) || (is_command && is_part(&failure.source, source))
            };
            let Some(failure) = list.get_mut(*place).filter(alike) else {
                return true;
            };
            failure.fix = Some(Fix { turn, after: std::mem::take(paths) });
            fixed = true;
            false
        });
        fixed
    }

    pub(super) fn merge(&mut self, newer: Vec<Failure>) {
        for failure in newer {
            let alike = kind(&failure.signature);
            match self.list.iter_mut().find(|known| kind(&known.signature) == alike) {
                Some(known) => {
                    let times = known.times.saturating_add(failure.times);
                    *known = Failure { times, ..failure };
                }
                None => self.list.push(failure),
            }
        }
        *self = Self::of(std::mem::take(&mut self.list));
    }
}

/// Whether two command lines try the same thing. A commit's message is another each time it is tried.
fn alike_source(one: &str, other: &str) -> bool {
    let what = |source: &str| source.rfind("git commit").map(|_| "git commit");
    one == other || (what(one).is_some() && what(one) == what(other)) || unfiltered(one) == unfiltered(other)
}

/// Whether a command line that failed does a part of what another does, which went well: the same words, and then only
/// options and what is picked out.
fn is_part(failed: &str, passed: &str) -> bool {
    let (failed, passed) = (unfiltered(failed), unfiltered(passed));
    let Some(rest) = failed.strip_prefix(passed).filter(|rest| rest.starts_with(' ') && !passed.is_empty()) else {
        return false;
    };
    let checks = passed.split([' ', ':', '-', '/']).any(|word| CHECKS.contains(&word));
    let picked = rest.trim_start().starts_with('-')
        || rest.split_whitespace().next().is_some_and(|word| word.contains(['/', '.', ':']));
    !shell::only_looks(passed) && (checks || picked) && !shell::unquoted(rest).contains(['|', '&', ';', '<', '>'])
}

/// A command line without what only shows less of its output, and without where it goes first.
fn unfiltered(source: &str) -> &str {
    let mut bare = source.trim();
    loop {
        let before = bare;
        if let Some((_, rest)) = bare.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
            bare = rest.trim();
        }
        for quiet in ["2>&1", "2>/dev/null"] {
            bare = bare.strip_suffix(quiet).unwrap_or(bare).trim_end();
        }
        if let Some((command, filter)) = shell::last_pipe(bare) {
            let program = filter.trim_start_matches('&').split_whitespace().next().unwrap_or("");
            if FILTERS.contains(&program) && !command.trim().is_empty() {
                bare = command.trim_end();
            }
        }
        if bare == before {
            return bare;
        }
    }
}

/// What two occurrences of the same error have in common: numbers do not count.
fn kind(signature: &str) -> String {
    signature.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_success_of_the_same_thing_is_the_fix() {
        let mut failures = Failures::default();
        failures.failed("error: 3 tests failed", "cargo test", 1);
        failures.changed("a.rs");
        failures.failed("error: 2 tests failed", "cargo test", 1);
        failures.failed("error: denied", "git push", 2);
        for path in ["b.rs", "c.rs", "d.rs", "e.rs", "c.rs"] {
            failures.changed(path);
        }
        assert!(failures.succeeded("cargo test", true, 3));
        assert!(!failures.succeeded("cargo test", true, 3));
        assert_eq!(failures.list.len(), 2);
        assert_eq!(failures.list[0].times, 2);
        assert_eq!(failures.list[0].fix, Some(Fix { turn: 3, after: vec!["e.rs".into(), "c.rs".into()] }));
        assert_eq!(failures.list[1].fix, None);
    }

    fn fixes(failed: &str, passed: &str) -> bool {
        let mut failures = Failures::default();
        failures.failed("error: x", failed, 1);
        failures.succeeded(passed, true, 2)
    }

    #[test]
    fn how_much_of_an_output_is_shown_makes_no_other_command() {
        for (failed, passed) in [
            ("npm run check 2>&1 | tail -5", "npm run check"),
            ("npm run check", "npm run check 2>&1 | head -20"),
            ("npm run check 2>&1 | grep \"error TS|warn\" | tail -3", "npm run check | tee out.log"),
            ("cd pkg && npm run check", "npm run check | cat"),
            ("make |& tail", "make"),
        ] {
            assert!(fixes(failed, passed), "{failed} / {passed}");
        }
        for (failed, passed) in [
            ("npm run check | tail", "npm run build | tail"),
            ("echo 'a | tail'", "echo 'a"),
            ("make | sort", "make"),
            ("make || tail x", "make"),
        ] {
            assert!(!fixes(failed, passed), "{failed} / {passed}");
        }
    }

    #[test]
    fn what_goes_well_as_a_whole_fixes_a_part_and_not_the_other_way() {
        for (failed, passed) in [
            ("pytest tests/test_a.py -x", "pytest"),
            ("cargo test parser", "cargo test 2>&1 | tail -3"),
            ("npm test -- --watch=false", "npm test"),
            ("./run.sh --all", "./run.sh"),
        ] {
            assert!(fixes(failed, passed), "{failed} / {passed}");
            assert!(!fixes(passed, failed), "{passed} / {failed}");
        }
        for (failed, passed) in [
            ("make deploy", "make"),
            ("npm install left", "npm install"),
            ("ls src/x", "ls"),
            ("cargo test && ./run", "cargo test"),
            ("cargo tests/x", "cargo test"),
            ("pytest a.py", "pytest b.py"),
        ] {
            assert!(!fixes(failed, passed), "{failed} / {passed}");
        }
        let mut failures = Failures::default();
        failures.failed("error: x", "Read src/a.rs", 1);
        assert!(!failures.succeeded("Read", false, 2));
    }
}
