//! How large a result may be: caps in bytes or tokens, and the caps that follow from a window.

use crate::{Bytes, Tokens};

/// The cap of a library call that names none: 128 KiB.
pub const DEFAULT: Cap = Cap::Bytes(Bytes(128 * 1024));

/// Bytes that count as one token where a cap is concerned.
///
/// A cap must be the same on every run, so nothing that was learned at run time enters it, and a stream needs no
/// tokenizer.
pub(super) const BYTES_PER_TOKEN: u64 = 4;

const LEAST: u64 = 2 * 1024;
const MOST: u64 = 64 * 1024;

/// The most that a result may take, marker included.
///
/// ```
/// use plimsoll::cap::Cap;
/// use plimsoll::{Bytes, Tokens};
/// assert_eq!(Cap::Bytes(Bytes(2_048)).bytes(), Bytes(2_048));
/// assert_eq!(Cap::Tokens(Tokens(500)).bytes(), Bytes(2_000));
/// assert_eq!(Cap::default(), plimsoll::cap::DEFAULT);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// So many bytes of UTF-8.
    Bytes(Bytes),
    /// So many tokens, at four bytes a token whatever the model.
    Tokens(Tokens),
}

impl Cap {
    /// Gives the cap in bytes, saturating.
    pub fn bytes(self) -> Bytes {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Tokens(tokens) => Bytes(tokens.0.saturating_mul(BYTES_PER_TOKEN)),
        }
    }

    pub(super) fn limit(self) -> usize {
        usize::try_from(self.bytes().0).unwrap_or(usize::MAX)
    }
}

impl Default for Cap {
    fn default() -> Self {
        DEFAULT
    }
}

impl From<Bytes> for Cap {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Tokens> for Cap {
    fn from(tokens: Tokens) -> Self {
        Self::Tokens(tokens)
    }
}

/// Gives the cap of one result where the input budget is known: 5 % of it, between 2 KiB and 64 KiB.
///
/// ```
/// use plimsoll::cap::{Cap, for_budget};
/// use plimsoll::{Bytes, Tokens};
/// assert_eq!(for_budget(Tokens(200_000)), Cap::Bytes(Bytes(40_000)));
/// assert_eq!(for_budget(Tokens(0)), Cap::Bytes(Bytes(2_048)));
/// assert_eq!(for_budget(Tokens::MAX), Cap::Bytes(Bytes(65_536)));
/// ```
pub fn for_budget(input_budget: Tokens) -> Cap {
    Cap::Bytes(Bytes(percent(input_budget, 5).clamp(LEAST, MOST)))
}

/// Gives what the results of one parallel batch may take together: 15 % of the input budget, and never less than one
/// result may.
///
/// ```
/// use plimsoll::cap::{Cap, batch_for_budget};
/// use plimsoll::{Bytes, Tokens};
/// assert_eq!(batch_for_budget(Tokens(200_000)), Cap::Bytes(Bytes(120_000)));
/// assert_eq!(batch_for_budget(Tokens(1_000)), Cap::Bytes(Bytes(2_048)));
/// ```
pub fn batch_for_budget(input_budget: Tokens) -> Cap {
    Cap::Bytes(Bytes(percent(input_budget, 15).max(for_budget(input_budget).bytes().0)))
}

fn percent(budget: Tokens, percent: u128) -> u64 {
    let bytes = u128::from(budget.0) * u128::from(BYTES_PER_TOKEN) * percent / 100;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn caps_of_a_budget_are_total_bounded_and_monotone(one: u64, other: u64) {
            let (few, many) = (Tokens(one.min(other)), Tokens(one.max(other)));
            prop_assert!(for_budget(few).bytes() <= for_budget(many).bytes());
            prop_assert!(batch_for_budget(few).bytes() <= batch_for_budget(many).bytes());
            prop_assert!((LEAST..=MOST).contains(&for_budget(few).bytes().0));
            prop_assert!(batch_for_budget(few).bytes() >= for_budget(few).bytes());
            prop_assert!(Cap::Tokens(few).bytes() <= Cap::Tokens(many).bytes());
        }
    }
}
