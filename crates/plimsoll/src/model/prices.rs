//! `Prices`: what a model's tokens cost, as its maker publishes it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::limits::Source;

/// What a model's tokens cost: list prices in millionths of a US dollar for a million tokens, so that 3 dollars are
/// 3,000,000. Where a maker states no price for cached tokens, they cost what other input does.
///
/// They are the prices of plain requests: not of batches, of priority, or of the tier for very long inputs, which some
/// makers charge up to twice for; and for writing to a cache, of the shorter lifetime.
///
/// ```
/// use plimsoll::model::Catalogue;
/// let prices = Catalogue::embedded().prices("claude-sonnet-4-5").expect("known");
/// assert_eq!(prices.to_string(), "3/0.3/3.75/15");
/// // A hundred thousand cached tokens, in millionths of a dollar.
/// assert_eq!(prices.cache_read * 100_000 / 1_000_000, 30_000);
/// assert_eq!(Catalogue::embedded().prices("no-such-model"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Input that no cache holds.
    pub input: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
    /// Output.
    pub output: u64,
}

/// Prices and who states them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priced {
    /// The prices.
    pub prices: Prices,
    /// Who states them.
    pub source: Source,
}

/// Decimals of a dollar that are kept.
const DECIMALS: usize = 6;

impl Prices {
    /// Prices from dollars for a million tokens; `None` where they are no prices, or more than a million dollars.
    ///
    /// ```
    /// use plimsoll::model::Prices;
    /// let prices = Prices::from_dollars(1.25, Some(0.125), None, 10.0).expect("prices");
    /// assert_eq!((prices.cache_read, prices.cache_write), (125_000, 1_250_000));
    /// assert_eq!(Prices::from_dollars(-1.0, None, None, 0.0), None);
    /// ```
    pub fn from_dollars(input: f64, cache_read: Option<f64>, cache_write: Option<f64>, output: f64) -> Option<Self> {
        let millionths = |dollars: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range tested")]
            (0.0..=1e6).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
        };
        Some(Self {
            input: millionths(input)?,
            cache_read: millionths(cache_read.unwrap_or(input))?,
            cache_write: millionths(cache_write.unwrap_or(input))?,
            output: millionths(output)?,
        })
    }

    /// Reads what [`Display`](fmt::Display) writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/').map(dollars);
        let mut next = || parts.next().flatten();
        let prices = Self { input: next()?, cache_read: next()?, cache_write: next()?, output: next()? };
        parts.next().is_none().then_some(prices)
    }
}

/// Dollars as a decimal number, in millionths.
fn dollars(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 7 || part.len() > DECIMALS || !digits(whole) || !digits(part) {
        return None;
    }
    let part: u64 = format!("{part:0<DECIMALS$}").parse().ok()?;
    Some(whole.parse::<u64>().ok()? * 1_000_000 + part)
}

/// Dollars for a million tokens: input, cached input, written to a cache, output.
impl fmt::Display for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, millionths) in [self.input, self.cache_read, self.cache_write, self.output].into_iter().enumerate() {
            let number = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
            let number = number.trim_end_matches('0').trim_end_matches('.');
            write!(f, "{}{number}", if at > 0 { "/" } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_price_is_refused() {
        for text in ["", "3", "3/1/1", "3/1/1/1/1", "3/-1/1/1", "3/1/1/1e3", "3/1/1/0.0000001", "3/1//1", "x/1/1/1"] {
            assert_eq!(Prices::parse(text), None, "{text}");
        }
        assert_eq!(Prices::from_dollars(f64::NAN, None, None, 1.0), None);
        assert_eq!(Prices::from_dollars(1.0, None, None, 1e9), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(input in 0..1_000_000_000_000_u64, rest: [u32; 3]) {
            let [cache_read, cache_write, output] = rest.map(u64::from);
            let prices = Prices { input, cache_read, cache_write, output };
            prop_assert_eq!(Prices::parse(&prices.to_string()), Some(prices));
        }
    }
}
