//! `Tokens` and `Bytes`: saturating counts that know how to show themselves.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A number of tokens.
///
/// Arithmetic saturates: a sum never wraps and a difference never goes below zero, so thresholds built from it are
/// total.
///
/// ```
/// use plimsoll::Tokens;
/// assert_eq!((Tokens(3) - Tokens(5)), Tokens(0));
/// assert_eq!(Tokens(950).to_string(), "950");
/// assert_eq!(Tokens(12_345).to_string(), "12.3K");
/// assert_eq!(Tokens(999_999).to_string(), "1.0M");
/// ```
#[doc(alias = "FormatTokenCount")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(pub u64);

/// A number of bytes. Shown with binary units: `950 B`, `12.3 KiB`, `1.0 MiB`.
///
/// ```
/// use plimsoll::Bytes;
/// assert_eq!(Bytes(950).to_string(), "950 B");
/// assert_eq!(Bytes(12_600).to_string(), "12.3 KiB");
/// assert_eq!(Bytes(1 << 20).to_string(), "1.0 MiB");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// Says how many there are of something: the number, and the word for one or for many.
///
/// ```
/// use plimsoll::counted;
/// assert_eq!(counted(1, "match", "matches"), "1 match");
/// assert_eq!(counted(0_usize, "match", "matches"), "0 matches");
/// ```
pub fn counted<N: fmt::Display + Copy + PartialEq + From<bool>>(count: N, one: &str, many: &str) -> String {
    format!("{count} {}", plural(count, one, many))
}

/// Chooses the word for one or for many.
///
/// ```
/// use plimsoll::plural;
/// assert_eq!((plural(1, "is", "are"), plural(2_u64, "is", "are")), ("is", "are"));
/// ```
pub fn plural<'a, N: Copy + PartialEq + From<bool>>(count: N, one: &'a str, many: &'a str) -> &'a str {
    if count == N::from(true) { one } else { many }
}

impl Tokens {
    /// No tokens.
    pub const ZERO: Self = Self(0);
    /// More tokens than there can be.
    pub const MAX: Self = Self(u64::MAX);

    /// The exact number with its thousands apart: for limits, which are compared digit by digit.
    ///
    /// ```
    /// use plimsoll::Tokens;
    /// assert_eq!(Tokens(1_000_000).grouped(), "1,000,000");
    /// assert_eq!(Tokens(999).grouped(), "999");
    /// ```
    #[must_use]
    pub fn grouped(self) -> String {
        let digits = self.0.to_string();
        let mut shown = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                shown.push(',');
            }
            shown.push(digit);
        }
        shown
    }

    /// What share of a whole this is, in per cent, rounded. What is not all of it is at most 99, and what is more than
    /// all of it at least 101; of nothing, everything is 0.
    ///
    /// ```
    /// use plimsoll::Tokens;
    /// assert_eq!(Tokens(10_400).percent_of(Tokens(58_900)), 18);
    /// assert_eq!(Tokens(999).percent_of(Tokens(1_000)), 99);
    /// assert_eq!(Tokens(1_001).percent_of(Tokens(1_000)), 101);
    /// ```
    #[must_use]
    pub fn percent_of(self, whole: Self) -> u64 {
        let (part, all) = (u128::from(self.0), u128::from(whole.0));
        let Some(rounded) = (part * 200 + all).checked_div(all * 2) else { return 0 };
        let rounded = u64::try_from(rounded).unwrap_or(u64::MAX);
        match part.cmp(&all) {
            std::cmp::Ordering::Less => rounded.min(99),
            std::cmp::Ordering::Equal => 100,
            std::cmp::Ordering::Greater => rounded.max(101),
        }
    }

    /// Takes a fraction of this count, rounded down.
    ///
    /// A fraction that is not a number, or negative, gives zero; one above 1 gives this count.
    ///
    /// ```
    /// use plimsoll::Tokens;
    /// assert_eq!(Tokens(1_000).fraction(0.85), Tokens(850));
    /// assert_eq!(Tokens(1_000).fraction(f64::NAN), Tokens(0));
    /// assert_eq!(Tokens(u64::MAX).fraction(2.0), Tokens(u64::MAX));
    /// ```
    #[must_use]
    pub fn fraction(self, fraction: f64) -> Self {
        if fraction.is_nan() || fraction <= 0.0 {
            return Self::ZERO;
        }
        if fraction >= 1.0 {
            return self;
        }
        // Parts per million in integers: a float product is neither exact nor monotone near u64::MAX.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 < fraction < 1")]
        let ppm = (fraction * 1_000_000.0).round() as u128;
        let scaled = u128::from(self.0).saturating_mul(ppm) / 1_000_000;
        Self(u64::try_from(scaled).unwrap_or(self.0))
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The unit is chosen after rounding, so that 999,950 is `1.0M` and never `1000.0K`.
        const UNITS: [(u64, &str); 4] =
            [(1_000, "K"), (1_000_000, "M"), (1_000_000_000, "G"), (1_000_000_000_000, "T")];
        if self.0 < 1_000 {
            return f.pad(&self.0.to_string());
        }
        let mut shown = String::new();
        for (unit, suffix) in UNITS {
            let tenths = self.0 / (unit / 10) + u64::from(self.0 % (unit / 10) >= unit / 20);
            shown = format!("{}.{}{suffix}", tenths / 10, tenths % 10);
            if tenths < 10_000 {
                break;
            }
        }
        f.pad(&shown)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut shown = String::new();
        for suffix in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
            shown = format!("{value:.1} {suffix}");
            if value < 1023.95 {
                break;
            }
            value /= 1024.0;
        }
        f.pad(&shown)
    }
}

macro_rules! saturating {
    ($unit:ident) => {
        impl Add for $unit {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }
        impl AddAssign for $unit {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }
        impl Sub for $unit {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }
        impl Sum for $unit {
            fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
                parts.fold(Self(0), Add::add)
            }
        }
        impl From<usize> for $unit {
            fn from(count: usize) -> Self {
                Self(u64::try_from(count).unwrap_or(u64::MAX))
            }
        }
    };
}
saturating!(Tokens);
saturating!(Bytes);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tokens_change_unit_where_rounding_would_overflow_it() {
        let shown = |count| Tokens(count).to_string();
        assert_eq!(shown(0), "0");
        assert_eq!(shown(999), "999");
        assert_eq!(shown(1_000), "1.0K");
        assert_eq!(shown(999_949), "999.9K");
        assert_eq!(shown(999_950), "1.0M");
        assert_eq!(shown(1_234_567), "1.2M");
        assert_eq!(shown(u64::MAX), "18446744.1T");
    }

    #[test]
    fn bytes_change_unit_where_rounding_would_overflow_it() {
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Bytes(1024 * 1024 - 1).to_string(), "1.0 MiB");
        assert_eq!(Bytes(u64::MAX).to_string(), "16.0 EiB");
    }

    proptest! {
        #[test]
        fn fraction_is_total_and_monotone(count: u64, other: u64, fraction: f64, wider: f64) {
            let (few, many) = (count.min(other), count.max(other));
            prop_assert!(Tokens(few).fraction(fraction) <= Tokens(many).fraction(fraction));
            prop_assert!(Tokens(count).fraction(fraction).0 <= count);
            if fraction <= wider {
                prop_assert!(Tokens(count).fraction(fraction) <= Tokens(count).fraction(wider));
            }
        }
    }
}
