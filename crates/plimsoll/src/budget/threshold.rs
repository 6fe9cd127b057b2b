//! Thresholds: from a model's limits and a policy to the token counts at which things happen.

use serde::{Deserialize, Deserializer, Serialize};

use crate::Tokens;
use crate::model::{DEFAULT_LIMIT, Limit, Limits};

/// The most that is reserved for output unless the provider wants the whole of it: 20,000 tokens.
pub const RESERVE_CAP: Tokens = Tokens(20_000);

/// The most that the kept tail may take: 20,000 tokens.
pub const TAIL_CAP: Tokens = Tokens(20_000);

/// A threshold as it is set: a fraction of the input budget, or a number of tokens.
///
/// In a configuration a whole number is tokens and a decimal is a fraction: `150000`, `0.85`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Mark {
    /// A number of tokens. More than the budget is the budget.
    Tokens(Tokens),
    /// A fraction of the budget, from 0 to 1. What is no such number counts as not set.
    Fraction(f64),
}

impl Mark {
    fn within(self, budget: Tokens, default: f64) -> Tokens {
        match self {
            Self::Tokens(tokens) => tokens.min(budget),
            Self::Fraction(fraction) if (0.0..=1.0).contains(&fraction) => budget.fraction(fraction),
            Self::Fraction(_) => budget.fraction(default),
        }
    }
}

impl<'de> Deserialize<'de> for Mark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Tokens(u64),
            Fraction(f64),
        }
        match Written::deserialize(deserializer)? {
            Written::Tokens(tokens) => Ok(Self::Tokens(Tokens(tokens))),
            Written::Fraction(fraction) if (0.0..=1.0).contains(&fraction) => Ok(Self::Fraction(fraction)),
            Written::Fraction(fraction) => Err(serde::de::Error::custom(format!(
                "{fraction} is neither a fraction from 0.0 to 1.0 nor a whole number of tokens"
            ))),
        }
    }
}

/// When to do what, as plain data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Policy {
    /// Whether to compact without being asked. `false` means never, on an overflow neither.
    pub auto: bool,
    /// Where to warn: 0.70.
    pub warn: Mark,
    /// Where a summary may be started in the background: 0.75.
    pub prepare: Mark,
    /// Where to compact, while requests still go out: 0.85.
    pub compact: Mark,
    /// Where requests wait for the compaction: 0.95.
    pub hard: Mark,
    /// What a compaction aims at: 0.40.
    pub target: Mark,
    /// The most that is reserved for output: 20,000 tokens.
    pub reserve: Tokens,
}

impl Policy {
    const WARN: f64 = 0.70;
    const PREPARE: f64 = 0.75;
    const COMPACT: f64 = 0.85;
    const HARD: f64 = 0.95;
    const TARGET: f64 = 0.40;
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            auto: true,
            warn: Mark::Fraction(Self::WARN),
            prepare: Mark::Fraction(Self::PREPARE),
            compact: Mark::Fraction(Self::COMPACT),
            hard: Mark::Fraction(Self::HARD),
            target: Mark::Fraction(Self::TARGET),
            reserve: RESERVE_CAP,
        }
    }
}

/// What a model can take, as plain numbers. `None` is unknown; where the numbers come from, the caller keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Capacity {
    /// The context window.
    pub context_window: Option<Tokens>,
    /// The input limit.
    pub max_input: Option<Tokens>,
    /// The output limit.
    pub max_output: Option<Tokens>,
    /// Whether the provider refuses a request whose input and requested output together exceed the window. Then the
    /// whole requested output is reserved.
    pub output_counts: bool,
}

impl From<&Limits> for Capacity {
    /// Takes the numbers. A limit of zero is unknown, and an output limit that is suspect too.
    fn from(limits: &Limits) -> Self {
        let number = |limit: &Option<Limit>| {
            limit
                .as_ref()
                .filter(|limit| !limit.suspect)
                .map(|limit| limit.tokens)
                .filter(|tokens| *tokens > Tokens::ZERO)
        };
        Self {
            context_window: number(&limits.context_window),
            max_input: number(&limits.max_input),
            max_output: number(&limits.max_output),
            output_counts: false,
        }
    }
}

/// The token counts at which things happen. For every input `target ≤ prepare ≤ compact ≤ hard ≤ budget` and
/// `warn ≤ compact`; `target < compact` once the budget is 2 tokens or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// What is kept free for output.
    pub reserve: Tokens,
    /// The input budget: the most that may be sent.
    pub budget: Tokens,
    /// Where to warn.
    pub warn: Tokens,
    /// Where a summary may be started in the background.
    pub prepare: Tokens,
    /// Where to compact, while requests still go out.
    pub compact: Tokens,
    /// Where requests wait for the compaction.
    pub hard: Tokens,
    /// What a compaction aims at.
    pub target: Tokens,
}

/// How full the context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Below every threshold.
    Fine,
    /// A warning is due.
    Warn,
    /// A summary may be started in the background.
    Prepare,
    /// Compaction is due; requests still go out.
    Compact,
    /// Requests wait for the compaction.
    Hard,
}

impl Thresholds {
    /// The same thresholds in other tokens, of which `ours` are as much as `theirs` in the tokens at hand.
    ///
    /// ```
    /// use plimsoll::Tokens;
    /// use plimsoll::budget::{Capacity, Policy, threshold};
    /// let capacity = Capacity { context_window: Some(Tokens(100_000)), ..Capacity::default() };
    /// let thresholds = threshold(&capacity, &Policy::default(), None);
    /// let halved = thresholds.scaled(Tokens(1_000), Tokens(2_000));
    /// assert_eq!(halved.hard, Tokens(thresholds.hard.0 / 2));
    /// ```
    #[must_use]
    pub fn scaled(&self, ours: Tokens, theirs: Tokens) -> Self {
        let scaled = |tokens: Tokens| {
            let scaled = u128::from(tokens.0) * u128::from(ours.0) / u128::from(theirs.0.max(1));
            Tokens(u64::try_from(scaled).unwrap_or(u64::MAX))
        };
        Self {
            reserve: scaled(self.reserve),
            budget: scaled(self.budget),
            warn: scaled(self.warn),
            prepare: scaled(self.prepare),
            compact: scaled(self.compact),
            hard: scaled(self.hard),
            target: scaled(self.target),
        }
    }

    /// Tells how full the context is at `used` tokens: system prompt, tools and the pending message included.
    ///
    /// A threshold is reached when the count equals it. With a budget of zero nothing fits, and every count is `Hard`:
    /// ask [`feasibility`](super::feasibility) before acting on that.
    pub fn level(&self, used: Tokens) -> Level {
        // A threshold of zero is one of a budget too small to have any: an empty context reaches none.
        let reached = |threshold: Tokens| used >= threshold && (used > Tokens::ZERO);
        if reached(self.hard) {
            Level::Hard
        } else if reached(self.compact) {
            Level::Compact
        } else if reached(self.prepare) {
            Level::Prepare
        } else if reached(self.warn) {
            Level::Warn
        } else {
            Level::Fine
        }
    }
}

/// Computes the thresholds of a model under a policy, for a request that asks for `requested_output` tokens.
///
/// The input budget is the smaller of the input limit and the window less a reserve. The reserve is the smallest of
/// the requested output (the output limit where none is requested), the policy's cap (20,000) and a quarter of the
/// window; or the whole requested output where the provider counts it ([`Capacity::output_counts`]). Of an unknown
/// window it is known that it is no smaller than the input limit, and that is taken; where that is unknown too, 128,000
/// tokens are: the caller, who knows better which fallback to take, fills it in by `limit_or_default` and keeps where
/// it came from. Total, saturating, and monotone in both limits (rule: specification of compaction, *When*).
///
/// ```
/// use plimsoll::{Tokens, budget::{Capacity, Policy, threshold}};
/// let capacity = Capacity { context_window: Some(Tokens(200_000)), ..Capacity::default() };
/// let thresholds = threshold(&capacity, &Policy::default(), Some(Tokens(64_000)));
/// assert_eq!(thresholds.reserve, Tokens(20_000));
/// assert_eq!(thresholds.budget, Tokens(180_000));
/// assert_eq!(thresholds.compact, Tokens(153_000));
/// assert_eq!(thresholds.target, Tokens(72_000));
/// ```
pub fn threshold(capacity: &Capacity, policy: &Policy, requested_output: Option<Tokens>) -> Thresholds {
    let window = capacity.context_window.or(capacity.max_input).unwrap_or(DEFAULT_LIMIT);
    let bounded =
        requested_output.or(capacity.max_output).unwrap_or(Tokens::MAX).min(policy.reserve).min(Tokens(window.0 / 4));
    let reserve = match requested_output {
        Some(requested) if capacity.output_counts => requested.min(window),
        _ => bounded,
    };
    let budget = capacity.max_input.unwrap_or(Tokens::MAX).min(window - reserve);

    // From the top down, each below the one before; where there is room for two different numbers, the aim of a
    // compaction is below its trigger, or it would trigger again.
    let least = if budget >= Tokens(2) { Tokens(1) } else { Tokens::ZERO };
    let hard = policy.hard.within(budget, Policy::HARD).max(least);
    let compact = policy.compact.within(budget, Policy::COMPACT).max(least).min(hard);
    let prepare = policy.prepare.within(budget, Policy::PREPARE).min(compact);
    let target = policy.target.within(budget, Policy::TARGET).min(prepare).min(compact - Tokens(1));
    let warn = policy.warn.within(budget, Policy::WARN).min(compact);
    Thresholds { reserve, budget, warn, prepare, compact, hard, target }
}

#[cfg(test)]
#[path = "threshold/tests.rs"]
mod tests;
