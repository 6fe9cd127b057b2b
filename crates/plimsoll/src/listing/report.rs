//! What a listing says about itself: what was cut, by how much and why.

use serde::Serialize;

use super::budget::{Budget, characters};
use super::entry::Source;
use super::lint::Lint;
use crate::Tokens;

/// A unit in which a budget is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unit {
    /// Unicode scalar values.
    Characters,
    /// Tokens of the budget's counter.
    Tokens,
}

impl Unit {
    /// Names the unit as JSON does.
    pub fn word(self) -> &'static str {
        match self {
            Self::Characters => "characters",
            Self::Tokens => "tokens",
        }
    }
}

/// One limit and how far it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// The unit of the other numbers.
    pub unit: Unit,
    /// What was allowed.
    pub budget: u64,
    /// What the text takes.
    pub used: u64,
    /// What is left; zero when over.
    pub free: u64,
}

impl Limit {
    fn new(unit: Unit, budget: u64, used: u64) -> Self {
        Self { unit, budget, used, free: budget.saturating_sub(used) }
    }

    fn is_tighter_than(self, other: Self) -> bool {
        // used/budget compared by cross-multiplication: no division, no rounding.
        u128::from(self.used) * u128::from(other.budget) > u128::from(other.used) * u128::from(self.budget)
    }
}

/// How an entry came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// All that there is to show is shown.
    Full,
    /// The description is shortened.
    Cut,
    /// Only the name is shown although there is a description.
    NameOnly,
    /// Not listed, for want of room: the closing line counts it.
    Omitted,
    /// Not listed, as asked.
    Hidden,
}

/// Why an entry is not shown in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The budget had no room for more.
    Budget,
    /// The description is longer than any entry's may be.
    EntryCap,
    /// The entry's visibility says so.
    Visibility,
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EntryReport {
    /// The entry's name.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// How it came out.
    pub state: State,
    /// Why it is not shown in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Characters that its description (with `when_to_use`) has.
    pub characters: u64,
    /// Characters of it that are shown, an ellipsis included.
    pub shown: u64,
}

/// What a listing says about itself.
///
/// `budget`, `used`, `free` and `unit` are of the limit that is used most; `limits` has every limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What was allowed, in `unit`.
    pub budget: u64,
    /// What the text takes, in `unit`.
    pub used: u64,
    /// What is left, in `unit`; zero when over.
    pub free: u64,
    /// The unit of the numbers above.
    pub unit: Unit,
    /// Whether the text exceeds a limit. Never with the strategy `fair`.
    pub over_budget: bool,
    /// Entries shown in full.
    pub full: usize,
    /// Entries whose description is shortened.
    pub cut: usize,
    /// Entries that lost their description, to the budget or by their visibility.
    pub name_only: usize,
    /// Entries that are not listed for want of room.
    pub omitted: usize,
    /// Entries that are not listed because they are hidden.
    pub hidden: usize,
    /// Characters of the text, newlines included.
    pub characters: u64,
    /// Tokens of the text, where the budget has a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Every limit of the budget.
    pub limits: Vec<Limit>,
    /// What became of each entry, in the order given.
    pub entries: Vec<EntryReport>,
    /// What is wrong with entries, whatever the budget.
    pub lint: Vec<Lint>,
}

impl Report {
    pub(super) fn new(text: &str, budget: &Budget<'_>, entries: Vec<EntryReport>, lint: Vec<Lint>) -> Self {
        let used = characters(text);
        let tokens = budget.count(text);
        let limits: Vec<Limit> = [
            budget.max_characters().map(|most| Limit::new(Unit::Characters, most, used)),
            budget.max_tokens().zip(tokens).map(|(most, used)| Limit::new(Unit::Tokens, most.0, used.0)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let unlimited = Limit::new(Unit::Characters, u64::MAX, used);
        let tightest = limits
            .iter()
            .copied()
            .reduce(|tightest, other| if other.is_tighter_than(tightest) { other } else { tightest })
            .unwrap_or(unlimited);
        let count = |state| entries.iter().filter(|entry| entry.state == state).count();
        Self {
            budget: tightest.budget,
            used: tightest.used,
            free: tightest.free,
            unit: tightest.unit,
            over_budget: limits.iter().any(|limit| limit.used > limit.budget),
            full: count(State::Full),
            cut: count(State::Cut),
            name_only: count(State::NameOnly),
            omitted: count(State::Omitted),
            hidden: count(State::Hidden),
            characters: used,
            tokens,
            limits,
            entries,
            lint,
        }
    }

    /// Entries that lost something to the budget or the cap.
    pub fn shortened(&self) -> impl Iterator<Item = &EntryReport> {
        let lost = |entry: &&EntryReport| matches!(entry.reason, Some(Reason::Budget | Reason::EntryCap));
        self.entries.iter().filter(lost)
    }
}
