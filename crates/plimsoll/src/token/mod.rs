//! Tokens: exact counts for OpenAI's encodings and open models', estimates for everything else, each with the way it was obtained.
//!
//! A count never poses as more than it is: see [`Method`]. Text is text: what looks like a special token in it
//! (`<|endoftext|>`) is counted as the characters it is made of, as providers treat the content of messages.

#[cfg(feature = "exact")]
mod bpe;
mod calibrate;
#[cfg(feature = "exact")]
mod class;
#[doc(hidden)]
pub mod estimate;
#[cfg(feature = "exact")]
mod exact;
mod family;
mod image;
#[cfg(feature = "exact")]
mod layout;
#[cfg(feature = "exact")]
mod split;
#[cfg(feature = "exact")]
mod vocabulary;

#[cfg(not(any(
    feature = "o200k",
    feature = "cl100k",
    feature = "qwen",
    feature = "mistral",
    feature = "llama3",
    feature = "deepseek"
)))]
mod exact {
    //! Without a vocabulary there is no encoding to count for.
    pub(super) const fn count(encoding: super::Encoding, _: &str, _: usize) -> Option<usize> {
        match encoding {}
    }
}

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use calibrate::{Calibration, Calibrations, Script};
pub use estimate::estimate_rough;
pub use family::Family;
pub use image::{ImageRule, ImageSize};

use crate::Tokens;
use crate::model::TokenizerHint;

/// How a count was obtained, from the most to the least certain.
///
/// ```
/// use plimsoll::token::Method;
/// assert_eq!(Method::Exact.to_string(), "exact");
/// assert!(Method::Exact < Method::Estimated);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The model's own tokenizer counted this text.
    Exact,
    /// The provider reported it for what was sent.
    Reported,
    /// An estimate corrected by what the provider reported earlier.
    Calibrated,
    /// An estimate from the text alone.
    Estimated,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Exact => "exact",
            Self::Reported => "reported",
            Self::Calibrated => "calibrated",
            Self::Estimated => "estimated",
        })
    }
}

/// An encoding whose tokens are counted exactly. Each needs the feature that carries its vocabulary.
///
/// ```
/// use plimsoll::token::Encoding;
/// assert_eq!("o200k_base".parse(), Ok(Encoding::O200kBase));
/// assert_eq!(Encoding::Cl100kBase.name(), "cl100k_base");
/// assert!("p50k_base".parse::<Encoding>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Encoding {
    /// GPT-4o and later. Needs the feature `o200k`.
    #[cfg(feature = "o200k")]
    #[serde(rename = "o200k_base")]
    O200kBase,
    /// The open-weight GPT models: the ranks of [`Self::O200kBase`], other special tokens. Needs the feature `o200k`.
    #[cfg(feature = "o200k")]
    #[serde(rename = "o200k_harmony")]
    O200kHarmony,
    /// GPT-4 and GPT-3.5. Needs the feature `cl100k`.
    #[cfg(feature = "cl100k")]
    #[serde(rename = "cl100k_base")]
    Cl100kBase,
    /// Qwen 2, 2.5 and 3, and `QwQ`; text is composed (normal form C) first. Needs the feature `qwen`.
    #[cfg(feature = "qwen")]
    Qwen2,
    /// Mistral's Tekken, as `NeMo` brought it: 131,072 tokens. Needs the feature `mistral`.
    #[cfg(feature = "mistral")]
    Tekken,
    /// Llama 3, 3.1, 3.2 and 3.3. Needs the feature `llama3`, and the terms of its licence.
    #[cfg(feature = "llama3")]
    Llama3,
    /// `DeepSeek` V3, R1 and V4. Needs the feature `deepseek`, and the terms of its licence.
    #[cfg(feature = "deepseek")]
    DeepseekV3,
}

impl Encoding {
    /// Every encoding that this build carries.
    pub const ALL: &[Self] = &[
        #[cfg(feature = "o200k")]
        Self::O200kBase,
        #[cfg(feature = "o200k")]
        Self::O200kHarmony,
        #[cfg(feature = "cl100k")]
        Self::Cl100kBase,
        #[cfg(feature = "qwen")]
        Self::Qwen2,
        #[cfg(feature = "mistral")]
        Self::Tekken,
        #[cfg(feature = "llama3")]
        Self::Llama3,
        #[cfg(feature = "deepseek")]
        Self::DeepseekV3,
    ];

    /// The encoding of a model, if this build carries it.
    ///
    /// ```
    /// use plimsoll::model::tokenizer;
    /// use plimsoll::token::Encoding;
    /// assert_eq!(Encoding::of(tokenizer("gpt-4o")), Some(Encoding::O200kBase));
    /// assert_eq!(Encoding::of(tokenizer("claude-opus-4-8")), None);
    /// ```
    pub const fn of(hint: TokenizerHint) -> Option<Self> {
        match hint {
            #[cfg(feature = "o200k")]
            TokenizerHint::O200kBase => Some(Self::O200kBase),
            #[cfg(feature = "o200k")]
            TokenizerHint::O200kHarmony => Some(Self::O200kHarmony),
            #[cfg(feature = "cl100k")]
            TokenizerHint::Cl100kBase => Some(Self::Cl100kBase),
            #[cfg(feature = "qwen")]
            TokenizerHint::Qwen2 => Some(Self::Qwen2),
            #[cfg(feature = "mistral")]
            TokenizerHint::Tekken => Some(Self::Tekken),
            #[cfg(feature = "llama3")]
            TokenizerHint::Llama3 => Some(Self::Llama3),
            #[cfg(feature = "deepseek")]
            TokenizerHint::DeepseekV3 => Some(Self::DeepseekV3),
            _ => None,
        }
    }

    /// The name by which its makers know it.
    pub const fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "o200k")]
            Self::O200kBase => "o200k_base",
            #[cfg(feature = "o200k")]
            Self::O200kHarmony => "o200k_harmony",
            #[cfg(feature = "cl100k")]
            Self::Cl100kBase => "cl100k_base",
            #[cfg(feature = "qwen")]
            Self::Qwen2 => "qwen2",
            #[cfg(feature = "mistral")]
            Self::Tekken => "tekken",
            #[cfg(feature = "llama3")]
            Self::Llama3 => "llama3",
            #[cfg(feature = "deepseek")]
            Self::DeepseekV3 => "deepseek_v3",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is of no encoding in this build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no encoding is named `{name}`; there are {}", Encoding::ALL.iter().map(|known| known.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownEncoding {
    /// The name as given.
    pub name: String,
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().copied().find(|known| known.name() == name);
        found.ok_or_else(|| UnknownEncoding { name: name.to_owned() })
    }
}

/// Counts tokens of text. Cheap to clone.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::token::{Counter, Encoding, Method};
/// let counter = Counter::exact(Encoding::O200kBase);
/// assert_eq!(counter.count("The line a ship may be loaded to."), Tokens(9));
/// assert_eq!(counter.method(), Method::Exact);
/// assert_eq!(counter.name(), "o200k_base");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Counter {
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Exact(Encoding),
    Estimated(Family),
    Calibrated(Family, Calibration),
}

impl Counter {
    /// Counts exactly, with the vocabulary of an encoding.
    pub const fn exact(encoding: Encoding) -> Self {
        Self { kind: Kind::Exact(encoding) }
    }

    /// Estimates for a family of models whose tokenizer is not published, erring high by its margin.
    ///
    /// ```
    /// use plimsoll::token::{Counter, Family, Method};
    /// let counter = Counter::estimated(Family::Claude);
    /// assert!(counter.count("The line a ship may be loaded to.").0 >= 8);
    /// assert_eq!(counter.method(), Method::Estimated);
    /// assert_eq!(counter.name(), "estimate:claude");
    /// ```
    pub const fn estimated(family: Family) -> Self {
        Self { kind: Kind::Estimated(family) }
    }

    /// Corrects its estimates by what usage has taught of the model. An exact counter stays exact, and where nothing was
    /// learned yet, estimates stay as they are.
    ///
    /// ```
    /// use plimsoll::Tokens;
    /// use plimsoll::token::{Calibration, Counter, Encoding, Family, Method, Script};
    /// let mut learned = Calibration::default();
    /// for _ in 0..3 {
    ///     learned.observe(Script::Latin, Tokens(1_000), Tokens(1_100));
    /// }
    /// let plain = Counter::estimated(Family::Gemini);
    /// let counter = plain.clone().calibrated(&learned);
    /// let text = "The line a ship may be loaded to. ".repeat(100);
    /// assert_eq!(counter.count(&text).0, (plain.count(&text).0 * 11).div_ceil(10));
    /// assert_eq!((counter.name(), counter.margin_percent()), ("calibrated:gemini", 2));
    /// assert_eq!(Counter::exact(Encoding::O200kBase).calibrated(&learned).method(), Method::Exact);
    /// ```
    #[must_use]
    pub fn calibrated(self, learned: &Calibration) -> Self {
        let knows = Script::ALL.iter().any(|script| learned.margin_percent(*script).is_some());
        match self.kind {
            Kind::Estimated(family) | Kind::Calibrated(family, _) if knows => {
                Self { kind: Kind::Calibrated(family, *learned) }
            }
            _ => self,
        }
    }

    /// Counts the tokens of a text. Time is linear in its length, whatever it holds.
    pub fn count(&self, text: &str) -> Tokens {
        match self.kind {
            Kind::Exact(encoding) => Tokens::from(exact::count(encoding, text, usize::MAX).unwrap_or(usize::MAX)),
            Kind::Estimated(family) => estimate::estimate(text, family, u64::MAX).unwrap_or(Tokens(u64::MAX)),
            Kind::Calibrated(family, learned) => {
                let estimated = estimate::estimate(text, family, u64::MAX).unwrap_or(Tokens(u64::MAX));
                learned.apply(Script::of(text), estimated).unwrap_or(estimated)
            }
        }
    }

    /// Counts the tokens of a text if there are no more than `limit`, and stops as soon as there are.
    ///
    /// ```
    /// use plimsoll::Tokens;
    /// use plimsoll::token::{Counter, Encoding};
    /// let counter = Counter::exact(Encoding::O200kBase);
    /// assert_eq!(counter.count_till_limit("one two three", Tokens(3)), Some(Tokens(3)));
    /// assert_eq!(counter.count_till_limit("one two three", Tokens(2)), None);
    /// ```
    pub fn count_till_limit(&self, text: &str, limit: Tokens) -> Option<Tokens> {
        match self.kind {
            Kind::Exact(encoding) => {
                exact::count(encoding, text, usize::try_from(limit.0).unwrap_or(usize::MAX)).map(Tokens::from)
            }
            Kind::Estimated(family) => estimate::estimate(text, family, limit.0),
            Kind::Calibrated(family, _) => {
                // No ratio is below a half.
                estimate::estimate(text, family, limit.0.saturating_mul(2).saturating_add(1))?;
                Some(self.count(text)).filter(|tokens| *tokens <= limit)
            }
        }
    }

    /// How its counts are obtained.
    pub const fn method(&self) -> Method {
        match self.kind {
            Kind::Exact(_) => Method::Exact,
            Kind::Estimated(_) => Method::Estimated,
            Kind::Calibrated(..) => Method::Calibrated,
        }
    }

    /// What counts: the name of the encoding, or of the estimator.
    pub const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Exact(encoding) => encoding.name(),
            Kind::Estimated(family) => family.counter_name(),
            Kind::Calibrated(family, _) => family.calibrated_name(),
        }
    }

    /// How far a count of a text of 500 tokens or more may be off either way, in percent: nothing for an exact count; for a
    /// calibrated one what reports were off; for an estimate what nineteen in twenty texts of its family keep to.
    ///
    /// ```
    /// use plimsoll::token::{Counter, Encoding, Family};
    /// assert_eq!(Counter::exact(Encoding::O200kBase).margin_percent(), 0);
    /// assert!(Counter::estimated(Family::Claude).margin_percent() <= Counter::estimated(Family::Generic).margin_percent());
    /// ```
    pub fn margin_percent(&self) -> u32 {
        match &self.kind {
            Kind::Exact(_) => 0,
            Kind::Estimated(family) => family.off_percent(),
            Kind::Calibrated(family, learned) => {
                let known = Script::ALL.iter().filter_map(|script| learned.margin_percent(*script));
                known.max().unwrap_or_else(|| family.off_percent())
            }
        }
    }
}

#[cfg(all(
    test,
    feature = "o200k",
    feature = "cl100k",
    any(feature = "qwen", feature = "mistral", feature = "llama3", feature = "deepseek")
))]
mod open_tests;
#[cfg(all(test, feature = "o200k", feature = "cl100k"))]
mod tests;
