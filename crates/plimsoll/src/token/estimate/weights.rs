//! The weights of `o200k_base`'s tokens for each family, and their sums.

use std::cell::RefCell;

use super::super::exact::{Memory, State, weigh};
use super::Family;

/// Weights are in this many parts of a token.
pub(super) const UNIT: u64 = 24;

// One byte a token, in the order of their numbers, as `benches/estimates/fit.py` writes them.
static CLAUDE: &[u8] = include_bytes!("claude.weights");
static CLAUDE_4_7: &[u8] = include_bytes!("claude_4_7.weights");
static GEMINI: &[u8] = include_bytes!("gemini.weights");
static GENERIC: &[u8] = include_bytes!("generic.weights");

// What is remembered of pieces is worth something for one table only.
thread_local! {
    static OF_CLAUDE: RefCell<State> = const { RefCell::new(State::new()) };
    static OF_CLAUDE_4_7: RefCell<State> = const { RefCell::new(State::new()) };
    static OF_GEMINI: RefCell<State> = const { RefCell::new(State::new()) };
    static OF_GENERIC: RefCell<State> = const { RefCell::new(State::new()) };
}

/// Adds up the weights of a text; `None` as soon as they are more than `limit` tokens.
pub(super) fn sum(text: &str, family: Family, limit: u64) -> Option<u64> {
    let (memory, weights): (&'static Memory, _) = match family {
        Family::Claude => (&OF_CLAUDE, CLAUDE),
        Family::Claude47 => (&OF_CLAUDE_4_7, CLAUDE_4_7),
        Family::Gemini => (&OF_GEMINI, GEMINI),
        Family::Generic => (&OF_GENERIC, GENERIC),
    };
    let limit = usize::try_from(limit.saturating_mul(UNIT)).unwrap_or(usize::MAX);
    weigh(memory, weights, text, limit).and_then(|sum| u64::try_from(sum).ok())
}

#[cfg(test)]
mod tests {
    use super::super::super::vocabulary::O200K;
    use super::*;

    #[test]
    fn there_is_a_weight_for_every_token() {
        for weights in [CLAUDE, CLAUDE_4_7, GEMINI, GENERIC] {
            assert_eq!(weights.len(), 199_998);
            // No byte is worth nothing: it may stand for all of a text.
            assert!((0..=255).all(|byte| weights[O200K.of_byte(byte) as usize] > 0));
        }
    }
}
