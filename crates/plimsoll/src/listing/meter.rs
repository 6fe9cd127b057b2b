//! Adds up what lines cost, in characters and tokens at once.

use super::budget::{Budget, characters};
use super::row::{Row, Shown};

/// What a text costs: characters and, where the budget has a counter, tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) characters: u64,
    pub(super) tokens: u64,
}

impl Cost {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            characters: self.characters.saturating_add(other.characters),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            characters: self.characters.saturating_sub(other.characters),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }

    pub(super) fn is_within(self, room: Self) -> bool {
        self.characters <= room.characters && self.tokens <= room.tokens
    }
}

/// Measures single lines against a budget. The sum over lines only predicts what a whole text costs: counters need
/// not be additive.
pub(super) struct Meter<'a> {
    budget: Budget<'a>,
    scratch: String,
}

impl<'a> Meter<'a> {
    pub(super) fn new(budget: Budget<'a>) -> Self {
        Self { budget, scratch: String::new() }
    }

    /// The room of the budget for lines that each carry a newline; `u64::MAX` where a unit is not limited.
    pub(super) fn room(&self) -> Cost {
        Cost {
            // The last line carries no newline in the end.
            characters: self.budget.max_characters().map_or(u64::MAX, |most| most.saturating_add(1)),
            tokens: self.budget.max_tokens().map_or(u64::MAX, |most| most.0),
        }
    }

    pub(super) fn counts_tokens(&self) -> bool {
        self.budget.max_tokens().is_some()
    }

    /// What one line costs with its newline.
    pub(super) fn line(&mut self, row: &Row<'_>, shown: Shown) -> Cost {
        if shown == Shown::Omitted {
            return Cost::default();
        }
        self.scratch.clear();
        row.write_line(shown, &mut self.scratch);
        self.scratch.push('\n');
        self.of_scratch()
    }

    /// What a closing line costs.
    pub(super) fn closing(&mut self, line: &str) -> Cost {
        self.scratch.clear();
        self.scratch.push_str(line);
        self.scratch.push('\n');
        self.of_scratch()
    }

    fn of_scratch(&self) -> Cost {
        Cost {
            characters: characters(&self.scratch),
            tokens: self.budget.count(&self.scratch).map_or(0, |tokens| tokens.0),
        }
    }

    /// Tokens that a newline at the end of a text adds to it.
    pub(super) fn last_newline(&self) -> u64 {
        self.tokens("a word\n").saturating_sub(self.tokens("a word"))
    }

    /// Whether a finished text is within the budget.
    pub(super) fn holds(&self, text: &str) -> bool {
        self.budget.holds(text)
    }

    /// The tokens of a finished text; zero without a counter.
    pub(super) fn tokens(&self, text: &str) -> u64 {
        self.budget.count(text).map_or(0, |tokens| tokens.0)
    }
}

/// Joins the lines of a listing.
pub(super) fn join<'r, 'a: 'r>(lines: impl Iterator<Item = (&'r Row<'a>, Shown)>, closing: Option<&str>) -> String {
    let mut text = String::new();
    for (row, shown) in lines {
        if shown == Shown::Omitted {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        row.write_line(shown, &mut text);
    }
    if let Some(closing) = closing {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(closing);
    }
    text
}
