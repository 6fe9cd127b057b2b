//! `PlanOptions`: who asks for a compaction and what bounds its result.

use super::CacheCost;
use crate::Tokens;
use crate::budget::Trigger;
use crate::wire::Format;

/// The most that a summary may take (rule: specification of compaction, *The summary request*).
pub const SUMMARY_BOUND: Tokens = Tokens(8_000);

/// The most that the continuation message's own words take, beside the summary and the carried facts.
pub const FRAME_BOUND: Tokens = Tokens(320);

/// The least with which a continuation message is worth having: its frame, and some 400 words.
pub const MINIMAL_CONTINUATION: Tokens = Tokens(FRAME_BOUND.0 + 512);

/// How many messages must stand before the tail for a compaction by hand to be worth it.
pub const MINIMUM_MESSAGES: usize = 4;

/// The most that the carried facts may take: a quarter of the target, but between 512 and 4,000 tokens.
///
/// ```
/// use plimsoll::{Tokens, compact::ledger_bound};
/// assert_eq!(ledger_bound(Tokens(72_000)), Tokens(4_000));
/// assert_eq!(ledger_bound(Tokens(4_000)), Tokens(1_000));
/// assert_eq!(ledger_bound(Tokens(0)), Tokens(512));
/// ```
pub fn ledger_bound(target: Tokens) -> Tokens {
    Tokens((target.0 / 4).clamp(512, 4_000))
}

/// Who asks for a compaction, and what bounds its result.
///
/// ```
/// use plimsoll::{Tokens, budget::Trigger, compact::PlanOptions, wire::Format};
/// let mut options = PlanOptions::new(Format::Anthropic, Trigger::Manual);
/// options.target_tokens = Some(Tokens(20_000));
/// assert!(!options.is_automatic());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// The document's format: what may stay by itself, and which thinking may be left out, depends on it.
    pub format: Format,
    /// Who asks.
    pub trigger: Trigger,
    /// Whether to compact without being asked. `false` means never, on an overflow neither.
    pub auto: bool,
    /// Takes a conversation that is too short to be worth it, by hand.
    pub force: bool,
    /// The most that the tail may take; otherwise 20,000 tokens or a quarter of the input budget.
    pub keep_tokens: Option<Tokens>,
    /// The most that the whole result may take, met or infeasible; otherwise the thresholds' target is aimed at.
    pub target_tokens: Option<Tokens>,
    /// Whether cheap reductions may do instead of a summary, where they are enough.
    pub reduce: bool,
    /// What cached input costs: after how many turns a changed prefix has paid for itself depends on it.
    pub cache: CacheCost,
}

impl PlanOptions {
    /// Makes options with the documented defaults.
    pub const fn new(format: Format, trigger: Trigger) -> Self {
        Self {
            format,
            trigger,
            auto: true,
            force: false,
            keep_tokens: None,
            target_tokens: None,
            reduce: true,
            cache: CacheCost::DEFAULT,
        }
    }

    /// Whether nobody asked by hand.
    pub fn is_automatic(&self) -> bool {
        self.trigger != Trigger::Manual
    }

    /// Whether one message of this format is one item, so that a call can stand without its surroundings.
    pub(super) const fn is_of_items(&self) -> bool {
        matches!(self.format, Format::OpenaiResponses | Format::Codex)
    }
}
