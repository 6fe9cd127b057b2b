//! How much room a listing has: characters, tokens, or both at once.

use std::fmt;

use crate::Tokens;

/// The share of the context window that a listing may take, unless told otherwise.
pub const WINDOW_FRACTION: f64 = 0.01;
/// Characters a listing may take when the context window is unknown.
pub const DEFAULT_CHARACTERS: u64 = 8_000;
/// The environment variable that states the budget in characters. The core does not read it: its value is a parameter.
pub const BUDGET_VARIABLE: &str = "SLASH_COMMAND_TOOL_CHAR_BUDGET";

/// Characters taken to make up one token, where a window in tokens has to give a budget in characters.
const CHARACTERS_PER_TOKEN: u64 = 4;

/// A function from text to tokens.
pub type CountTokens<'a> = dyn Fn(&str) -> Tokens + 'a;

/// Room for a listing: at most so many characters (Unicode scalar values), so many tokens of a counter, or both.
///
/// The counter is any function from text to tokens. It is asked about whole texts and single lines; it need not be
/// additive: the promise "never over budget" is always checked against its answer for the finished text.
///
/// ```
/// use plimsoll::{Tokens, listing::Budget};
/// let words = |text: &str| Tokens::from(text.split_whitespace().count());
/// let both = Budget::characters(8_000).and_tokens(Tokens(500), &words);
/// assert_eq!(both.max_characters(), Some(8_000));
/// assert_eq!(both.max_tokens(), Some(Tokens(500)));
/// ```
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    characters: Option<u64>,
    tokens: Option<(Tokens, &'a CountTokens<'a>)>,
}

impl<'a> Budget<'a> {
    /// Allows so many characters (Unicode scalar values, newlines included).
    pub const fn characters(characters: u64) -> Self {
        Self { characters: Some(characters), tokens: None }
    }

    /// Allows so many tokens, as `counter` counts them.
    pub const fn tokens(tokens: Tokens, counter: &'a CountTokens<'a>) -> Self {
        Self { characters: None, tokens: Some((tokens, counter)) }
    }

    /// Adds a limit in characters to this budget; both then hold.
    #[must_use]
    pub const fn and_characters(self, characters: u64) -> Self {
        Self { characters: Some(characters), ..self }
    }

    /// Adds a limit in tokens to this budget; both then hold.
    #[must_use]
    pub const fn and_tokens(self, tokens: Tokens, counter: &'a CountTokens<'a>) -> Self {
        Self { tokens: Some((tokens, counter)), ..self }
    }

    /// Derives a budget in characters from the context window, or from the environment where that says so.
    ///
    /// `variable` is the value of [`BUDGET_VARIABLE`], in characters; a value that is not a positive number counts as
    /// unset. Otherwise the budget is `floor(window × 4 × 0.01)` characters; an unknown or zero window gives
    /// [`DEFAULT_CHARACTERS`].
    ///
    /// ```
    /// use plimsoll::{Tokens, listing::Budget};
    /// let characters = |window, variable| Budget::from_window(window, variable).max_characters();
    /// assert_eq!(characters(Some(Tokens(200_000)), None), Some(8_000));
    /// assert_eq!(characters(Some(Tokens(1_000_000)), None), Some(40_000));
    /// assert_eq!(characters(Some(Tokens(200_000)), Some("12000")), Some(12_000));
    /// assert_eq!(characters(None, Some("lots")), Some(8_000));
    /// ```
    #[doc(alias = "getCharBudget")]
    pub fn from_window(window: Option<Tokens>, variable: Option<&str>) -> Self {
        Self::from_window_fraction(window, variable, WINDOW_FRACTION)
    }

    /// Does as [`Budget::from_window`] with another fraction of the window.
    pub fn from_window_fraction(window: Option<Tokens>, variable: Option<&str>, fraction: f64) -> Self {
        let stated = variable.and_then(parse_characters);
        let derived = || match window {
            None | Some(Tokens::ZERO) => DEFAULT_CHARACTERS,
            Some(window) => Tokens(window.0.saturating_mul(CHARACTERS_PER_TOKEN)).fraction(fraction).0,
        };
        Self::characters(stated.unwrap_or_else(derived))
    }

    /// The limit in characters, if there is one.
    pub fn max_characters(&self) -> Option<u64> {
        self.characters
    }

    /// The limit in tokens, if there is one.
    pub fn max_tokens(&self) -> Option<Tokens> {
        self.tokens.map(|(most, _)| most)
    }

    /// Counts a text, if this budget has a counter.
    pub fn count(&self, text: &str) -> Option<Tokens> {
        self.tokens.map(|(_, counter)| counter(text))
    }

    /// Whether a text is within every limit.
    pub fn holds(&self, text: &str) -> bool {
        self.characters.is_none_or(|most| characters(text) <= most)
            && self.tokens.is_none_or(|(most, counter)| counter(text) <= most)
    }

    /// The budget in characters for arithmetic that knows no other unit.
    pub(super) fn in_characters(&self) -> u64 {
        let of_tokens = self.max_tokens().map(|most| most.0.saturating_mul(CHARACTERS_PER_TOKEN));
        match (self.characters, of_tokens) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other).unwrap_or(u64::MAX),
        }
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("characters", &self.characters).field("tokens", &self.max_tokens()).finish()
    }
}

/// Counts Unicode scalar values.
pub(super) fn characters(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

fn parse_characters(value: &str) -> Option<u64> {
    let value = value.trim();
    let whole = value.parse::<u64>().ok().filter(|&most| most > 0);
    // Agent programs read the variable as a floating-point number, so `1e4` and `8000.5` mean what they say there.
    whole.or_else(|| {
        let float = value.parse::<f64>().ok().filter(|most| most.is_finite() && *most >= 1.0)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "finite and at least 1; saturates"
        )]
        Some(float.floor() as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_wins_over_the_window_only_with_a_positive_number() {
        let characters = |variable| Budget::from_window(Some(Tokens(100_000)), Some(variable)).max_characters();
        assert_eq!(characters("123"), Some(123));
        assert_eq!(characters(" 1e4 "), Some(10_000));
        assert_eq!(characters("8000.9"), Some(8_000));
        for ignored in ["", "0", "-5", "many", "NaN", "inf", "0.5"] {
            assert_eq!(characters(ignored), Some(4_000), "{ignored:?}");
        }
    }

    #[test]
    fn a_window_gives_a_hundredth_of_it_at_four_characters_a_token() {
        let characters = |window| Budget::from_window(window, None).max_characters();
        assert_eq!(characters(None), Some(8_000));
        assert_eq!(characters(Some(Tokens(0))), Some(8_000));
        assert_eq!(characters(Some(Tokens(24))), Some(0));
        assert_eq!(characters(Some(Tokens(8_192))), Some(327));
        assert_eq!(characters(Some(Tokens::MAX)), Some(u64::MAX / 100));
    }

    #[test]
    fn both_limits_hold_at_once() {
        let letters = |text: &str| Tokens::from(text.len());
        let budget = Budget::characters(5).and_tokens(Tokens(3), &letters);
        assert!(budget.holds("abc"));
        assert!(!budget.holds("abcd"));
        assert!(!Budget::tokens(Tokens(9), &letters).and_characters(2).holds("abc"));
    }
}
