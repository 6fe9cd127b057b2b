//! The skills and commands an agent may use, listed inside a budget.
//!
//! [`list`] formats entries, one line each, by one of three strategies, and says in a [`Report`] what it had to cut.
//! Everything here is pure: entries come as values, the environment variable's value and the token counter are
//! parameters. Reading skills from disk is the engine's part.
//!
//! ```
//! use plimsoll::Tokens;
//! use plimsoll::listing::{Budget, Entry, Options, list};
//!
//! let skills = [
//!     Entry::new("deploy", "Deploys the app to staging or production."),
//!     Entry { when_to_use: Some("the user says \"review\"".into()), ..Entry::new("review", "Reviews a change.") },
//! ];
//! let budget = Budget::from_window(Some(Tokens(200_000)), None);
//! let listing = list(&skills, &budget, &Options::default());
//! assert_eq!(
//!     listing.text,
//!     "- deploy: Deploys the app to staging or production.\n\
//!      - review: Reviews a change. - the user says \"review\"",
//! );
//! assert_eq!(listing.report.full, 2);
//! ```
//!
//! With too little room, `fair` shortens descriptions evenly, at the ends of sentences or words, and keeps every name:
//!
//! ```
//! # use plimsoll::listing::{Budget, Entry, Options, list};
//! let skills = [Entry::new("deploy", "Deploys the app to staging or production."), Entry::new("go", "Goes.")];
//! let listing = list(&skills, &Budget::characters(50), &Options::default());
//! assert_eq!(listing.text, "- deploy: Deploys the app to staging…\n- go: Goes.");
//! ```

mod advise;
mod budget;
mod classic;
mod cut;
mod entry;
mod fair;
mod fill;
mod last_tokens;
mod least_used;
mod lint;
mod meter;
mod overflow;
mod precedence;
mod report;
mod row;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use advise::{Advice, Advised, Step, advise};
pub use budget::{BUDGET_VARIABLE, Budget, CountTokens, DEFAULT_CHARACTERS, WINDOW_FRACTION};
pub use entry::{Entry, Kind, Source, Visibility};
pub use lint::{Lint, MAX_DESCRIPTION, MAX_NAME, Rule, lint};
pub use precedence::{Shadowed, resolve};
pub use report::{EntryReport, Limit, Reason, Report, State, Unit};

use meter::{Meter, join};
use row::{Row, Shown};

/// Characters one description may have under `fair` and `least-used`.
const FAIR_CAP: usize = 1_536;
/// Characters below which a cut description is dropped under `fair`.
const FAIR_MINIMUM: usize = 20;

/// How descriptions give way when they do not all fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strategy {
    /// Shares the room: never over budget, names last to go. See [the module](self).
    #[default]
    Fair,
    /// Cuts all descriptions to one length, as agents have done: bundled entries never, even over budget.
    Classic,
    /// Drops descriptions whole, the least used entry's first; keeps every name.
    LeastUsed,
}

impl Strategy {
    /// Every strategy, the default first.
    pub const ALL: [Self; 3] = [Self::Fair, Self::Classic, Self::LeastUsed];

    /// Names the strategy as the command line does.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fair => "fair",
            Self::Classic => "classic",
            Self::LeastUsed => "least-used",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A word that names no strategy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no listing strategy: use `fair`, `classic` or `least-used`")]
pub struct UnknownStrategy(String);

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|it| it.word() == word).ok_or_else(|| UnknownStrategy(word.to_owned()))
    }
}

/// How to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options<'a> {
    /// How descriptions give way.
    pub strategy: Strategy,
    /// How an agent finds what is not listed: completes `… and N more: search with <how>`.
    pub search_with: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { strategy: Strategy::default(), search_with: "plimsoll skills" }
    }
}

impl Options<'_> {
    /// The default options with another strategy.
    pub fn with(strategy: Strategy) -> Self {
        Self { strategy, ..Self::default() }
    }
}

/// A text that lists entries, and what it says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Listing {
    /// The lines, without a newline after the last.
    pub text: String,
    /// What was cut, by how much and why.
    pub report: Report,
}

/// Lists entries inside a budget, one line each, in their order.
///
/// Deterministic; takes O(n log n) for n entries, and counts each text a few times at most.
///
/// Guarantees by strategy: [`Strategy::Fair`] is within every limit of the budget, whatever the entries and the
/// counter, and shows every name that is not hidden if all of them fit; no description it cuts could take its next
/// word. [`Strategy::LeastUsed`] shows every name, if need be over budget. [`Strategy::Classic`] follows its arithmetic
/// to the character, over budget if that says so. The report tells.
///
/// ```
/// use plimsoll::listing::{Budget, Entry, Options, Strategy, list};
/// let skills = [Entry::new("deploy", "Deploys the app to staging."), Entry::new("review", "Reviews a change.")];
/// let listing = list(&skills, &Budget::characters(40), &Options::with(Strategy::Classic));
/// assert_eq!(listing.text, "- deploy\n- review");
/// assert_eq!(listing.report.name_only, 2);
/// assert!(!listing.report.over_budget);
/// ```
#[doc(alias = "formatCommandsWithinBudget")]
pub fn list(entries: &[Entry], budget: &Budget<'_>, options: &Options<'_>) -> Listing {
    let (text, fates) = match options.strategy {
        Strategy::Classic => list_classic(entries, budget),
        Strategy::Fair | Strategy::LeastUsed => list_rows(entries, budget, options),
    };
    let report = Report::new(&text, budget, fates, lint(entries));
    Listing { text, report }
}

fn is_listed(entry: &Entry) -> bool {
    entry.visibility != Visibility::Hidden
}

fn fate(entry: &Entry, state: State, reason: Option<Reason>, characters: usize, shown: usize) -> EntryReport {
    let (characters, shown) = (characters as u64, shown as u64);
    EntryReport { name: entry.name.clone(), source: entry.source, state, reason, characters, shown }
}

fn hidden(entry: &Entry) -> EntryReport {
    fate(entry, State::Hidden, Some(Reason::Visibility), Row::new(0, entry, usize::MAX, 0).asked_characters, 0)
}

fn list_classic(entries: &[Entry], budget: &Budget<'_>) -> (String, Vec<EntryReport>) {
    let listed: Vec<&Entry> = entries.iter().filter(|entry| is_listed(entry)).collect();
    let mut lines = classic::lines(&listed, budget).into_iter();
    let mut text = String::new();
    let mut is_first = true;
    let fates = entries.iter().map(|entry| {
        let Some(line) = is_listed(entry).then(|| lines.next()).flatten() else {
            return hidden(entry);
        };
        if !is_first {
            text.push('\n');
        }
        is_first = false;
        text.push_str(&line.text);
        let asked = line.asked;
        let (state, reason) = if entry.visibility == Visibility::NameOnly && asked > 0 {
            (State::NameOnly, Some(Reason::Visibility))
        } else if line.for_budget {
            (if line.shown == 0 { State::NameOnly } else { State::Cut }, Some(Reason::Budget))
        } else if asked > classic::CAP {
            (State::Cut, Some(Reason::EntryCap))
        } else {
            (State::Full, None)
        };
        fate(entry, state, reason, asked, line.shown)
    });
    let fates = fates.collect();
    (text, fates)
}

fn list_rows(entries: &[Entry], budget: &Budget<'_>, options: &Options<'_>) -> (String, Vec<EntryReport>) {
    let listed = entries.iter().filter(|entry| is_listed(entry));
    let rows: Vec<Row<'_>> =
        listed.enumerate().map(|(index, entry)| Row::new(index, entry, FAIR_CAP, FAIR_MINIMUM)).collect();
    let mut meter = Meter::new(*budget);
    let plan = match options.strategy {
        Strategy::LeastUsed => fair::Plan { shown: least_used::plan(&rows, &mut meter), closing: None },
        _ => fair::plan(&rows, &mut meter, options.search_with),
    };
    let text = join(rows.iter().zip(plan.shown.iter().copied()), plan.closing.as_deref());
    let mut decided = rows.iter().zip(plan.shown);
    let fates = entries.iter().map(|entry| match is_listed(entry).then(|| decided.next()).flatten() {
        Some((row, shown)) => fate_of(row, shown),
        None => hidden(entry),
    });
    let fates = fates.collect();
    (text, fates)
}

fn fate_of(row: &Row<'_>, shown: Shown) -> EntryReport {
    let asked = row.asked_characters;
    let is_named_only = row.entry.visibility == Visibility::NameOnly;
    let (state, reason) = match shown {
        Shown::Omitted => (State::Omitted, Some(Reason::Budget)),
        Shown::Name if asked == 0 => (State::Full, None),
        Shown::Name if is_named_only => (State::NameOnly, Some(Reason::Visibility)),
        Shown::Name => (State::NameOnly, Some(Reason::Budget)),
        Shown::Whole => (State::Full, None),
        Shown::Part { .. } if shown == row.whole => (State::Cut, Some(Reason::EntryCap)),
        Shown::Part { .. } => (State::Cut, Some(Reason::Budget)),
    };
    fate(row.entry, state, reason, asked, row.characters(shown))
}
