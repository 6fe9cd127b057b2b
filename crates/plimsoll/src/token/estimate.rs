//! Estimates tokens of models whose tokenizer is not published.
//!
//! A text is read as the tokens of `o200k_base`, and each of them is worth a fitted weight: how many tokens of the other
//! tokenizer it stands for on average. Tokens are words, endings, indents and bits of scripts, so their weights tell
//! languages and kinds of code apart where letters alone do not. Without the feature `o200k` an automaton over bytes does
//! the same less well; see `automaton`.
//!
//! How the weights were fitted, to what, and how far off the sums are by language and kind of text, is in
//! `docs/counting.md`.

mod automaton;
#[cfg(feature = "o200k")]
mod weights;

#[cfg(any(test, not(feature = "o200k")))]
use automaton::{CELLS, START, STEPS, class_of};

use super::Family;
use super::family::Spread;
use crate::Tokens;

#[cfg(any(test, not(feature = "o200k")))]
/// Steps cost this many parts of a token.
const UNIT: u64 = 100;
#[cfg(any(test, not(feature = "o200k")))]
/// Texts of at least this many bytes are read in four places at once: the wait for one table hides behind the others.
const INTERLEAVED: usize = 4_096;

#[cfg(any(test, not(feature = "o200k")))]
/// The costs of all steps, in hundredths of a token, laid out like [`STEPS`].
type Costs = [u8; CELLS];

#[cfg(any(test, not(feature = "o200k")))]
static GENERIC: &Costs = include_bytes!("estimate/generic.costs");
#[cfg(any(test, not(feature = "o200k")))]
static CLAUDE: &Costs = include_bytes!("estimate/claude.costs");
#[cfg(any(test, not(feature = "o200k")))]
static CLAUDE_4_7: &Costs = include_bytes!("estimate/claude_4_7.costs");

/// Estimates tokens by the rough rule of four bytes of UTF-8 for each, rounded down.
///
/// It is what programs use that count nothing: short for CJK by a factor of three or four, and for code and data by a
/// third. [`Counter::estimated`](super::Counter::estimated) is the estimate to decide with.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::token::estimate_rough;
/// assert_eq!(estimate_rough("eleven char"), Tokens(2));
/// ```
#[doc(alias = "EstimateTokens")]
pub fn estimate_rough(text: &str) -> Tokens {
    Tokens::from(text.len() / 4)
}

/// Estimates the tokens of a text for a family of models, erring high by the family's margin for
/// its kind of script; `None` if they are more
/// than `limit`.
pub(super) fn estimate(text: &str, family: Family, limit: u64) -> Option<Tokens> {
    #[cfg(feature = "o200k")]
    let (sum, unit) = (weights::sum(text, family, limit)?, weights::UNIT);
    #[cfg(not(feature = "o200k"))]
    let (sum, unit) = (cost(text.as_bytes(), costs(family)), UNIT);
    let parts = u128::from(sum) * (1_000 + u128::from(family.margin_permille(Spread::of(text))));
    let tokens = u64::try_from(parts.div_ceil(u128::from(1_000 * unit))).unwrap_or(u64::MAX);
    let tokens = tokens.max(u64::from(!text.is_empty()));
    (tokens <= limit).then_some(Tokens(tokens))
}

/// The automaton's costs for a family.
#[cfg(any(test, not(feature = "o200k")))]
const fn costs(family: Family) -> &'static Costs {
    match family {
        Family::Claude => CLAUDE,
        Family::Claude47 => CLAUDE_4_7,
        Family::Gemini | Family::Generic => GENERIC,
    }
}

#[cfg(any(test, not(feature = "o200k")))]
fn cost(text: &[u8], costs: &Costs) -> u64 {
    let mut total = 0;
    let mut rest = text;
    if text.len() >= INTERLEAVED {
        let quarter = text.len() / 4;
        let (first, others) = text.split_at(quarter);
        let (second, others) = others.split_at(quarter);
        let (third, fourth) = others.split_at(quarter);
        let mut states = [START; 4];
        for (((one, two), three), four) in first.iter().zip(second).zip(third).zip(fourth) {
            total += u64::from(step(&mut states[0], *one, costs))
                + u64::from(step(&mut states[1], *two, costs))
                + u64::from(step(&mut states[2], *three, costs))
                + u64::from(step(&mut states[3], *four, costs));
        }
        rest = fourth.get(quarter..).unwrap_or_default();
    }
    let mut state = START;
    for byte in rest {
        total += u64::from(step(&mut state, *byte, costs));
    }
    total
}

#[cfg(any(test, not(feature = "o200k")))]
#[inline]
fn step(state: &mut u16, byte: u8, costs: &Costs) -> u8 {
    let cell = usize::from(*state | u16::from(class_of(byte))) % CELLS;
    *state = STEPS.get(cell).copied().unwrap_or(START);
    costs.get(cell).copied().unwrap_or(0)
}

/// What the program that fits the costs needs to see of the automaton.
#[doc(hidden)]
pub mod fitting {
    use super::automaton::{self, CELLS, START, STEPS, class_of};

    /// The number of cells in a table of costs.
    pub const SIZE: usize = CELLS;

    /// Counts how often each step is taken in a text.
    pub fn steps(text: &str) -> Vec<u32> {
        let mut taken = vec![0; CELLS];
        let mut state = START;
        for byte in text.bytes() {
            let cell = usize::from(state | u16::from(class_of(byte)));
            if let Some(count) = taken.get_mut(cell) {
                *count += 1;
            }
            state = STEPS.get(cell).copied().unwrap_or(START);
        }
        taken
    }

    /// Gives the number of the kind of state that a cell belongs to: rare steps borrow from others of their kind.
    pub const fn kind(cell: usize) -> usize {
        automaton::kind(cell / automaton::CLASSES)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mechanism_31_cjk_at_four_characters_a_token() {
        // The rough rule keeps a tail of Chinese three to four times too big, since it counts a character as 3/4.
        let text = "\u{4E0A}\u{4E0B}\u{6587}\u{7A97}\u{53E3}\u{7684}\u{5927}\u{5C0F}\u{662F}\u{6709}\u{9650}\u{7684}";
        let characters = text.repeat(50).chars().count() as u64;
        for family in Family::ALL {
            let estimated = estimate(&text.repeat(50), *family, u64::MAX).unwrap().0;
            // Gemini's own tokenizer makes 301 tokens of it, the least of all.
            assert!(estimated * 20 >= characters * 9, "{family}: {estimated} for {characters} characters");
            assert!(estimated <= characters * 2, "{family}: {estimated} for {characters} characters");
        }
    }

    #[test]
    fn the_automaton_stands_in_where_there_is_no_vocabulary() {
        let text = "The ship was loaded to its line and no further, whatever the owner said. ".repeat(60);
        for family in Family::ALL {
            let (weighed, stepped) =
                (estimate(&text, *family, u64::MAX).unwrap().0, cost(text.as_bytes(), costs(*family)) / UNIT);
            assert!(weighed.abs_diff(stepped) * 100 <= 15 * weighed, "{family}: {weighed} {stepped}");
        }
    }

    #[test]
    fn the_margin_is_larger_where_estimates_scatter_more() {
        for (text, spread) in [
            ("fn main() { println!(\"ship\"); }", Spread::Narrow),
            ("Der Fl\u{fc}chtling mu\u{df} \u{fc}ber die Br\u{fc}cke", Spread::Mixed),
            ("\u{420}\u{430}\u{437}\u{43c}\u{435}\u{440} \u{43e}\u{43a}\u{43d}\u{430}", Spread::Wide),
        ] {
            assert_eq!(Spread::of(text), spread, "{text}");
        }
        for family in Family::ALL {
            let margin = |spread| family.margin_permille(spread);
            assert!(margin(Spread::Narrow) <= margin(Spread::Mixed) && margin(Spread::Mixed) <= margin(Spread::Wide));
        }
    }

    #[test]
    fn kinds_of_text_are_told_apart() {
        let tokens = |text: &str| {
            estimate(&text.repeat(40), Family::Generic, u64::MAX).unwrap().0 as f64 / (text.len() * 40) as f64
        };
        let prose = tokens("The ship was loaded to its line and no further, whatever the owner said. ");
        let base64 = tokens("iVBORw0KGgoAAAANSUhEUgAABQAAAALQCAYAAADPfd1Wx8Zq2LmT9yPbn4vKs7Rf");
        let json = tokens("{\"id\":\"call_9f3b\",\"type\":\"function\",\"index\":0},");
        let indent = tokens("                                                                        ");
        assert!(base64 > 2.0 * prose, "{base64} {prose}");
        assert!(json > prose && json < base64, "{json}");
        assert!(indent < prose / 3.0, "{indent}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn any_text_has_an_estimate_within_reason(text in "\\PC{0,400}|[ -~]{0,9000}") {
            for family in Family::ALL {
                let estimated = estimate(&text, *family, u64::MAX).unwrap();
                prop_assert_eq!(estimated == Tokens(0), text.is_empty());
                // No byte-level tokenizer makes more than a token of each byte.
                prop_assert!(estimated.0 <= 2 * text.len() as u64 + 1);
            }
        }

        #[test]
        fn reading_in_four_places_changes_next_to_nothing(text in "([a-z]{1,9} |[0-9]{1,5}|[.,;] |\\n    ){1200,2000}") {
            for costs in [GENERIC, CLAUDE, CLAUDE_4_7] {
                let at_once = cost(text.as_bytes(), costs);
                let mut state = START;
                let in_one: u64 = text.bytes().map(|byte| u64::from(step(&mut state, byte, costs))).sum();
                // Each of the three borders may split a word: a share of the whole, not a number of tokens.
                prop_assert!(at_once.abs_diff(in_one) * 100 <= in_one, "{at_once} {in_one}");
            }
        }
    }
}
