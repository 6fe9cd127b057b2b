//! Cheap reductions: what can leave a conversation without a summary, and when that is enough.
//!
//! In this order: results that a later identical read or a change of the same file made pointless, large old results,
//! and media; each only if it is enough or helps enough. They are decided upon together and made together, as one
//! recorded [`Epoch`](super::Epoch), so that nothing in a cached prefix changes for small gains. What leaves is stored
//! first, and a line with its recall id stands in its place.

mod carry_out;
mod find;
mod placeholder;
mod price;

#[cfg(test)]
mod tests;

use serde::Serialize;

pub use carry_out::{Reduced, Replacement, apply_reductions, body};
pub(super) use carry_out::{edits, omitted};
pub(super) use placeholder::id_in;
pub use price::{CacheCost, break_even};

use super::tail::{self, Scope};
use super::{Plan, PlanOptions, Skip, plan};
use crate::Tokens;
use crate::budget::{Acceptance, Count, Measure, Meter, Thresholds, Trigger, accept, tail_budget};
use crate::transcript::{Obligations, Role, Turns};
use crate::wire::Document;

/// The most that a kind of reduction must save to be worth a changed prefix; on windows under 200,000 tokens a tenth.
const HELPS: Tokens = Tokens(20_000);

/// Why a piece can leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The same call was made again later, and its answer is here.
    ReadAgain,
    /// What was read has been changed later.
    Changed,
    /// The same text stands again later.
    Repeated,
    /// It is large, old, and the model has seen it.
    Old,
    /// It is a picture, a document or another file, and the model has seen it.
    Media,
}

impl Cause {
    /// Its name, as serialised.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadAgain => "read_again",
            Self::Changed => "changed",
            Self::Repeated => "repeated",
            Self::Old => "old",
            Self::Media => "media",
        }
    }

    /// Whether something later stands for it.
    pub const fn is_superseded(self) -> bool {
        matches!(self, Self::ReadAgain | Self::Changed | Self::Repeated)
    }
}

/// A piece that is to leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reduction {
    /// The message's index.
    pub message: usize,
    /// The block's index in it.
    pub block: usize,
    /// For a piece of a tool's result: its index in the result's content.
    pub part: Option<usize>,
    /// Why it can leave.
    pub reason: Cause,
    /// The later message that stands for it, or changed what it tells of.
    pub by: Option<usize>,
    /// What it is, in one line.
    pub what: String,
    /// How the call ended, if it failed.
    pub ended: Option<String>,
    /// The line that tells of the failure.
    pub error: Option<String>,
    /// What it counts.
    pub tokens: Tokens,
    /// What of that is saved, the placeholder deducted.
    pub saved: Tokens,
}

impl Reduction {
    /// Its place, for putting in order.
    pub const fn place(&self) -> (usize, usize, Option<usize>) {
        (self.message, self.block, self.part)
    }
}

/// The pieces that are to leave, where that is enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reduce {
    /// The pieces, ascending by place; never none.
    pub reductions: Vec<Reduction>,
    /// How many messages the conversation had. One that has grown since can still be reduced by this plan.
    pub messages: usize,
    /// What the conversation counts.
    pub tokens_before: Tokens,
    /// What leaves, placeholders deducted; thinking that cannot stay behind a changed prefix included.
    pub removed_tokens: Tokens,
    /// What the conversation counts afterwards, as far as that is known before the recall ids are.
    pub tokens_after: Tokens,
    /// What stands after the first change, and is written to the cache anew.
    pub rewritten_tokens: Tokens,
    /// After how many turns the rewritten prefix has paid for itself; see [`break_even`].
    pub break_even_turns: u64,
}

/// Decides what leaves a conversation, the cheap reductions before a summary: [`Plan::Reduce`] where they are enough,
/// otherwise what [`plan`] decides on the conversation as it is.
///
/// By hand they are enough if they bring a conversation that is over the target under it; where a tail is asked for
/// ([`PlanOptions::keep_tokens`]), a summary is meant. An automatic compaction at the threshold also takes them if afterwards as much
/// room is left below the threshold as a reduction must save: min(20,000 tokens, a tenth of the window). So they do not
/// come again at every turn. Nothing of the tail is touched that a compaction would keep, nothing that the model has
/// not seen, nothing that recall gave, nothing inside a turn of signed reasoning that goes on, and nothing in files of
/// programs, which are appended to only.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::budget::{Capacity, Meter, Policy, Trigger, threshold};
/// use plimsoll::compact::{Plan, PlanOptions, Cause, plan_or_reduce};
/// use plimsoll::token::{Counter, Encoding};
/// use plimsoll::transcript::Obligations;
/// use plimsoll::wire::{ParseOptions, parse};
/// let read = |id: &str| format!(
///     r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Read","input":{{"file_path":"a.txt"}}}}]}},
///     {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{}"}}]}},"#,
///     "one two three ".repeat(2_000),
/// );
/// let body = format!(
///     r#"{{"max_tokens":9,"messages":[{{"role":"user","content":"Look"}},{}{}{{"role":"assistant","content":"I see."}},
///     {{"role":"user","content":"Go on"}}]}}"#,
///     read("t1"), read("t2"),
/// );
/// let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
/// let mut meter = Meter::new(Counter::exact(Encoding::O200kBase));
/// let measure = meter.measure(&document);
/// let mut options = PlanOptions::new(document.format(), Trigger::Manual);
/// options.target_tokens = Some(Tokens(7_000));
/// let thresholds = threshold(&Capacity::default(), &Policy::default(), None);
/// let obligations = Obligations::of(document.transcript());
/// let planned = plan_or_reduce(&document, &obligations, &measure, &meter, &thresholds, &options);
/// let Plan::Reduce(reduce) = planned else { panic!("{planned:?}") };
/// assert_eq!((reduce.reductions[0].message, reduce.reductions[0].reason), (2, Cause::ReadAgain));
/// assert!(reduce.tokens_after <= Tokens(7_000));
/// ```
pub fn plan_or_reduce<C: Count>(
    document: &Document<'_>,
    obligations: &Obligations,
    measure: &Measure,
    meter: &Meter<C>,
    thresholds: &Thresholds,
    options: &PlanOptions,
) -> Plan {
    let planned = || plan(document.transcript(), obligations, measure, thresholds, options);
    if options.is_automatic() && !options.auto {
        return Plan::Skipped(Skip::AutoOff);
    }
    if !options.reduce || options.keep_tokens.is_some() || document.format().is_appended() {
        return planned();
    }
    if options.trigger == Trigger::Threshold && measure.context() < thresholds.compact {
        return planned();
    }
    let reducer = Reducer { document, obligations, measure, meter, thresholds, options };
    reducer.decide().map_or_else(planned, Plan::Reduce)
}

struct Reducer<'r, 'd, C> {
    document: &'r Document<'d>,
    obligations: &'r Obligations,
    measure: &'r Measure,
    meter: &'r Meter<C>,
    thresholds: &'r Thresholds,
    options: &'r PlanOptions,
}

impl<C: Count> Reducer<'_, '_, C> {
    fn decide(&self) -> Option<Reduce> {
        let before = self.used();
        if !self.options.is_automatic() && before <= self.target() {
            // It is small enough already; whoever compacts it all the same means a summary.
            return None;
        }
        let old = self.old()?;
        let found = find::find(self.document, self.obligations, self.measure, self.meter, old, self.window());
        let mut chosen: Vec<Reduction> = Vec::new();
        let mut gained = Tokens::ZERO;
        for kind in [found.superseded, found.large, found.media] {
            let gain: Tokens = kind.iter().map(|reduction| reduction.saved).sum();
            let enough = self.is_enough(gained + gain);
            if gain == Tokens::ZERO || !(enough || gain >= self.helps()) {
                continue;
            }
            for reduction in kind {
                // What is pointless leaves as a whole; of the rest no more than is needed, the oldest first.
                if !reduction.reason.is_superseded() && self.meets_target(gained) {
                    break;
                }
                gained += reduction.saved;
                chosen.push(reduction);
            }
            if self.meets_target(gained) {
                break;
            }
        }
        if chosen.is_empty() || !self.is_enough(gained) {
            return None;
        }
        chosen.sort_by_key(Reduction::place);
        Some(self.reduce(self.cheapest(chosen, gained)))
    }

    /// What fills the context: by hand what is recorded counts, for automatic decisions also what usage says besides.
    fn used(&self) -> Tokens {
        if self.options.is_automatic() { self.measure.context() } else { self.measure.total }
    }

    fn target(&self) -> Tokens {
        self.options.target_tokens.unwrap_or(self.thresholds.target)
    }

    /// Input and reserve together; of a window that is larger than that the fixed bound holds anyway.
    fn window(&self) -> Tokens {
        self.thresholds.budget + self.thresholds.reserve
    }

    fn helps(&self) -> Tokens {
        HELPS.min(Tokens(self.window().0 / 10))
    }

    fn meets_target(&self, gained: Tokens) -> bool {
        self.used() - gained <= self.target()
    }

    fn is_enough(&self, gained: Tokens) -> bool {
        if self.meets_target(gained) {
            return true;
        }
        let after = self.used() - gained;
        // After an overflow the counts are not to be relied on that far.
        self.options.trigger == Trigger::Threshold
            && self.options.target_tokens.is_none()
            && after + self.helps() <= self.thresholds.compact
            && accept(self.used(), after, self.thresholds.target) == Acceptance::Accepted
    }

    /// The messages before the tail that a compaction would keep, as far as the model has seen them; `None` where signed
    /// reasoning would be left behind a changed prefix.
    fn old(&self) -> Option<std::ops::Range<usize>> {
        let transcript = self.document.transcript();
        let messages = &transcript.messages;
        let turns = Turns::of(transcript);
        let current = turns.latest().unwrap_or(0..messages.len());
        if tail::in_tool_loop(messages) && tail::has_sealed(messages.get(current).unwrap_or(&[])) {
            return None;
        }
        let scope = Scope::of(transcript, self.obligations, self.options.is_of_items());
        let budget = tail_budget(self.thresholds.budget).min(Tokens(self.target().0 / 2));
        let cut = tail::choose(transcript, &turns, self.measure, &scope.cuts, budget)?;
        let spoken = messages.iter().rposition(|message| message.role == Role::Assistant)?;
        Some(scope.seen..cut.min(spoken))
    }

    /// Begins where the rewritten prefix pays for itself soonest: early pieces that gain little are left alone if the
    /// rest is enough.
    fn cheapest(&self, chosen: Vec<Reduction>, gained: Tokens) -> Vec<Reduction> {
        let mut best = (0, u64::MAX);
        let mut left = gained;
        for (start, reduction) in chosen.iter().enumerate() {
            if !self.is_enough(left) {
                break;
            }
            let turns = break_even(self.suffix(reduction.message) - left, left, self.options.cache);
            if turns < best.1 {
                best = (start, turns);
            }
            left = left - reduction.saved;
        }
        chosen.into_iter().skip(best.0).collect()
    }

    fn suffix(&self, message: usize) -> Tokens {
        self.measure.range(message..self.measure.len())
    }

    fn reduce(&self, reductions: Vec<Reduction>) -> Reduce {
        let transcript = self.document.transcript();
        let first = reductions.first().map_or(0, |reduction| reduction.message);
        let omitted = tail::omitted(transcript, self.document.format(), first, transcript.messages.len());
        let saved: Tokens = reductions.iter().map(|reduction| reduction.saved).sum();
        let removed_tokens = saved + super::apply::omitted_tokens(transcript, &omitted, self.meter);
        let rewritten_tokens = self.suffix(first) - removed_tokens;
        Reduce {
            reductions,
            messages: transcript.messages.len(),
            tokens_before: self.measure.total,
            removed_tokens,
            tokens_after: self.measure.total - removed_tokens,
            rewritten_tokens,
            break_even_turns: break_even(rewritten_tokens, removed_tokens, self.options.cache),
        }
    }
}
