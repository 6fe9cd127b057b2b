//! What a changed prefix costs: how many turns it takes until what was removed has paid for writing the cache anew.

use serde::{Deserialize, Serialize};

use crate::Tokens;

/// What cached input costs, in thousandths of the price of plain input.
///
/// ```
/// use plimsoll::compact::CacheCost;
/// let cost = CacheCost::default();
/// assert_eq!((cost.read, cost.write), (100, 1_250));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCost {
    /// Reading it from the cache.
    pub read: u32,
    /// Writing it to the cache.
    pub write: u32,
}

impl Default for CacheCost {
    /// A tenth for reading, a quarter more for writing, as Anthropic charges for its five-minute cache.
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl CacheCost {
    /// A tenth for reading, a quarter more for writing.
    pub(in crate::compact) const DEFAULT: Self = Self { read: 100, write: 1_250 };

    /// Takes the prices of a model, all in the same unit: of plain input, of input read from the cache, of input written
    /// to it. Without a price of input the default stays.
    ///
    /// ```
    /// use plimsoll::compact::CacheCost;
    /// assert_eq!(CacheCost::of_prices(3_000_000, 300_000, 3_750_000), CacheCost { read: 100, write: 1_250 });
    /// assert_eq!(CacheCost::of_prices(2_000_000, 500_000, 2_000_000), CacheCost { read: 250, write: 1_000 });
    /// assert_eq!(CacheCost::of_prices(0, 0, 0), CacheCost::default());
    /// ```
    pub fn of_prices(input: u64, read: u64, write: u64) -> Self {
        if input == 0 {
            return Self::default();
        }
        let thousandths = |price: u64| {
            let rounded = (u128::from(price) * 1_000 + u128::from(input) / 2) / u128::from(input);
            u32::try_from(rounded).unwrap_or(u32::MAX)
        };
        Self { read: thousandths(read), write: thousandths(write) }
    }
}

/// After how many turns a changed prefix has paid for itself: `rewritten` tokens after the change are written to the
/// cache instead of read from it, once; `removed` tokens are read no more, each turn. By default that is 11.5 ×
/// rewritten / removed, rounded up (rule: specification of compaction, *Where to cut*).
///
/// `u64::MAX` stands for never: nothing is removed, or reading costs nothing.
///
/// ```
/// use plimsoll::{Tokens, compact::{CacheCost, break_even}};
/// assert_eq!(break_even(Tokens(40_000), Tokens(20_000), CacheCost::default()), 23);
/// assert_eq!(break_even(Tokens(40_000), Tokens(0), CacheCost::default()), u64::MAX);
/// assert_eq!(break_even(Tokens(0), Tokens(20_000), CacheCost::default()), 0);
/// ```
pub fn break_even(rewritten: Tokens, removed: Tokens, cost: CacheCost) -> u64 {
    let more = u128::from(rewritten.0) * u128::from(cost.write.saturating_sub(cost.read));
    let less = u128::from(removed.0) * u128::from(cost.read);
    match (more, less) {
        (_, 0) => u64::MAX,
        (more, less) => u64::try_from(more.div_ceil(less)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn other_prices_give_another_break_even() {
        // Half price for reading and none for writing: it pays at once what it costs.
        assert_eq!(break_even(Tokens(40_000), Tokens(20_000), CacheCost { read: 500, write: 1_000 }), 2);
        assert_eq!(break_even(Tokens(40_000), Tokens(20_000), CacheCost { read: 1_000, write: 1_000 }), 0);
        assert_eq!(break_even(Tokens(40_000), Tokens(20_000), CacheCost { read: 0, write: 1_000 }), u64::MAX);
    }

    proptest! {
        #[test]
        fn a_break_even_is_total_and_monotone(rewritten: u64, more: u64, removed: u64, read in 0_u32..2_000, write in 0_u32..2_000) {
            let cost = CacheCost { read, write };
            let turns = break_even(Tokens(rewritten.min(more)), Tokens(removed), cost);
            prop_assert!(turns <= break_even(Tokens(rewritten.max(more)), Tokens(removed), cost));
            prop_assert!(turns >= break_even(Tokens(rewritten.min(more)), Tokens(removed.saturating_add(1)), cost));
        }
    }
}
