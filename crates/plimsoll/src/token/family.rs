//! Families of models that share a tokenizer, or are estimated alike.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A family of models whose tokenizer is not at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Family {
    /// Claude 3 up to Opus 4.6.
    Claude,
    /// Claude from Opus 4.7 on: about a third more tokens for the same text.
    #[serde(rename = "claude-4.7")]
    Claude47,
    /// Gemini.
    Gemini,
    /// Any other or unknown model: the mean of current open models' tokenizers, which differ by a quarter.
    Generic,
}

impl Family {
    /// Every family.
    pub const ALL: &[Self] = &[Self::Claude, Self::Claude47, Self::Gemini, Self::Generic];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Claude47 => "claude-4.7",
            Self::Gemini => "gemini",
            Self::Generic => "generic",
        }
    }

    /// The name under which its estimates go.
    pub(super) const fn counter_name(self) -> &'static str {
        match self {
            Self::Claude => "estimate:claude",
            Self::Claude47 => "estimate:claude-4.7",
            Self::Gemini => "estimate:gemini",
            Self::Generic => "estimate:generic",
        }
    }

    /// The name under which its calibrated estimates go.
    pub(super) const fn calibrated_name(self) -> &'static str {
        match self {
            Self::Claude => "calibrated:claude",
            Self::Claude47 => "calibrated:claude-4.7",
            Self::Gemini => "calibrated:gemini",
            Self::Generic => "calibrated:generic",
        }
    }

    /// How far its estimates are off at most in nineteen of twenty texts of over 500 tokens, in percent: measured on texts
    /// held back from the fit, as `docs/counting.md` tells.
    pub const fn off_percent(self) -> u32 {
        match self {
            Self::Claude47 | Self::Gemini => 5,
            Self::Claude => 7,
            Self::Generic => 25,
        }
    }

    /// By how much its estimates are raised above the best guess, so that they seldom fall short, in thousandths.
    pub const fn margin_permille(self) -> u32 {
        match self {
            Self::Claude | Self::Claude47 | Self::Gemini => 15,
            Self::Generic => 30,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
