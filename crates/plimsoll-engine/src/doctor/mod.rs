//! Looking over a set-up: what is well, what is not, and what to do about each.
//!
//! A room a subject, each a function from what it looks at to [`Check`]s. They only look: nothing is changed, and nothing
//! is sent anywhere but to the store that is configured. A further subject, such as whether a gateway's upstreams answer
//! and take their keys, is one more function whose checks are [added](Examination::extend).

mod clock;
mod configuration;
mod environment;
mod hooks;
mod models;
mod store;

use serde::Serialize;

pub use clock::clock;
pub use configuration::configuration;
pub use environment::environment;
pub use hooks::{hooks, log};
pub use models::{configured_models, models};
pub use store::{StoreSeen, store, store_faults};

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It is as it should be.
    Ok,
    /// It is neither good nor bad: something is not used, say.
    Note,
    /// It works, but not for everything or not for long.
    Warn,
    /// It does not work.
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The subject: `store`, `config`, `hooks` and the like.
    pub area: &'static str,
    /// How it came out.
    pub level: Level,
    /// What was found.
    pub says: String,
    /// What to do about it; `None` where there is nothing to do.
    pub fix: Option<String>,
}

impl Check {
    /// Makes a check of something that is as it should be.
    pub fn ok(area: &'static str, says: impl Into<String>) -> Self {
        Self { area, level: Level::Ok, says: says.into(), fix: None }
    }

    /// Makes a check that is to be known, and no more.
    pub fn note(area: &'static str, says: impl Into<String>) -> Self {
        Self { level: Level::Note, ..Self::ok(area, says) }
    }

    /// Makes a check of something that does not work well.
    pub fn warn(area: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Warn, fix: Some(fix.into()), ..Self::ok(area, says) }
    }

    /// Makes a check of something that does not work.
    pub fn fail(area: &'static str, says: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::warn(area, says, fix) }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }
}

/// All that was looked at, in order. What `doctor --json` prints: `docs/json.md`.
///
/// ```
/// use plimsoll_engine::doctor::{Check, Examination};
/// let mut examination = Examination::default();
/// examination.extend([Check::ok("store", "it is there"), Check::warn("clock", "it is late", "set it")]);
/// assert!(examination.is_well(), "a warning is no failure");
/// examination.extend([Check::fail("upstream", "it does not answer", "start it")]);
/// assert!(!examination.is_well());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// The checks.
    pub checks: Vec<Check>,
}

impl Examination {
    /// Adds checks of a further subject.
    pub fn extend(&mut self, checks: impl IntoIterator<Item = Check>) {
        self.checks.extend(checks);
    }

    /// Says whether nothing failed.
    pub fn is_well(&self) -> bool {
        self.checks.iter().all(|check| check.level != Level::Fail)
    }

    /// Counts the checks that came out so.
    pub fn count(&self, level: Level) -> usize {
        self.checks.iter().filter(|check| check.level == level).count()
    }
}

/// The checks as one text, for tests.
#[cfg(test)]
fn told(checks: &[Check]) -> String {
    let line = |check: &Check| {
        let fix = check.fix.as_deref().map(|fix| format!(" → {fix}")).unwrap_or_default();
        format!("{:?} {}: {}{fix}", check.level, check.area, check.says)
    };
    checks.iter().map(line).collect::<Vec<_>>().join("\n")
}
