//! `plan`: decides what leaves a conversation, as plain data.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

use super::policy::{FRAME_BOUND, MINIMAL_CONTINUATION, MINIMUM_MESSAGES, PlanOptions, SUMMARY_BOUND, ledger_bound};
use super::reduce::{Reduce, break_even};
use super::tail::{self, Scope};
use crate::Tokens;
use crate::budget::{Acceptance, Measure, Thresholds, Trigger, accept, tail_budget};
use crate::transcript::{BlockKind, Obligations, Role, Transcript, Turns};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Plan {
    /// Nothing, and why. That is no error.
    Skipped(Skip),
    /// Nothing that could help: what cannot leave is too much already.
    Infeasible {
        /// System prompt, tools, the last user message, the last legal group, and whatever else never leaves.
        irreducible: Tokens,
        /// The most that they and a minimal summary may be together.
        limit: Tokens,
    },
    /// Some results and media are to be left out, which is enough; only [`plan_or_reduce`](super::plan_or_reduce) says so.
    Reduce(Reduce),
    /// A part of the conversation is to be summarised.
    Summarise(Summarise),
}

/// Why nothing is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum Skip {
    /// Automatic compaction is off.
    AutoOff,
    /// The threshold is not reached.
    BelowThreshold {
        /// What fills the context.
        used: Tokens,
        /// Where compaction is due.
        compact: Tokens,
    },
    /// Too few messages stand before the tail.
    NotEnoughMessages,
    /// A turn with signed reasoning goes on: compaction waits for its end, or for the hard threshold.
    TurnInProgress,
    /// What could leave is too little to be worth a rewritten prefix.
    TooLittleToRemove {
        /// What could leave.
        removable: Tokens,
    },
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AutoOff => f.write_str("automatic compaction is off (auto = false)"),
            Self::BelowThreshold { used, compact } => {
                write!(f, "{used} tokens are below the threshold of {compact} tokens")
            }
            Self::NotEnoughMessages => f.write_str("not enough messages to compact"),
            Self::TurnInProgress => f.write_str("a turn with signed reasoning goes on; compaction waits for its end"),
            Self::TooLittleToRemove { removable } => {
                write!(f, "only {removable} tokens could be summarised, too little to be worth it")
            }
        }
    }
}

/// A part of a conversation that is to be summarised, and what stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summarise {
    /// The messages that the summary stands for. Leading operator messages are never among them.
    pub removed: Range<usize>,
    /// Messages among them that stay verbatim, ascending: the operator's within a bound, and open approvals.
    pub retained: Vec<usize>,
    /// Thinking blocks of the tail that cannot stay, as (message, block), ascending.
    pub omitted: Vec<(usize, usize)>,
    /// How many messages the conversation had. One that has grown since can still be rewritten by this plan.
    pub messages: usize,
    /// Whether the cut is inside a turn: the end of what is removed is then the beginning of the current turn.
    pub splits_turn: bool,
    /// What the conversation counts.
    pub tokens_before: Tokens,
    /// What of that leaves, retained messages not included.
    pub removed_tokens: Tokens,
    /// What of that stays in the tail, left-out thinking still included.
    pub tail_tokens: Tokens,
    /// What stays besides: system prompt, tools, leading and retained messages.
    pub fixed_tokens: Tokens,
    /// The most that the result may count; the continuation's budget holds it.
    pub limit: Tokens,
    /// The most that the continuation message may count: its frame, the summary and the carried facts.
    pub continuation_budget: Tokens,
    /// The most that the summary may count.
    pub summary_budget: Tokens,
    /// The most that the carried facts may count, where they stand beside the summary.
    pub ledger_budget: Tokens,
    /// After how many turns the rewritten prefix has paid for itself; see [`break_even`](super::break_even()).
    pub break_even_turns: u64,
}

impl Summarise {
    /// How many messages stay verbatim at the end.
    pub fn tail_messages(&self) -> usize {
        self.messages.saturating_sub(self.removed.end)
    }

    /// The most that the result counts, if the continuation keeps to its budget.
    pub fn tokens_after_bound(&self) -> Tokens {
        self.fixed_tokens + self.tail_tokens + self.continuation_budget
    }
}

/// Decides what leaves a conversation. Pure and synchronous: the same input gives the same plan.
///
/// In this order: automatic compaction must be on and due; what can never leave must be small enough, or nothing helps;
/// signed reasoning of a turn that goes on makes an automatic compaction wait below the hard threshold; the tail is
/// chosen; a compaction by hand needs four messages before it, an automatic one enough tokens.
/// [`plan_or_reduce`](super::plan_or_reduce) tries cheaper reductions first, of superseded and old results.
///
/// ```
/// use plimsoll::budget::{Capacity, Meter, Policy, Trigger, threshold};
/// use plimsoll::compact::{Plan, PlanOptions, Skip, plan};
/// use plimsoll::token::{Counter, Encoding};
/// use plimsoll::transcript::Obligations;
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let plan = plan(
///     document.transcript(),
///     &Obligations::of(document.transcript()),
///     &Meter::new(Counter::exact(Encoding::O200kBase)).measure(&document),
///     &threshold(&Capacity::default(), &Policy::default(), None),
///     &PlanOptions::new(document.format(), Trigger::Manual),
/// );
/// assert_eq!(plan, Plan::Skipped(Skip::NotEnoughMessages));
/// ```
#[doc(alias = "shouldCompact")]
#[doc(alias = "findCutPoint")]
pub fn plan(
    transcript: &Transcript<'_>,
    obligations: &Obligations,
    measure: &Measure,
    thresholds: &Thresholds,
    options: &PlanOptions,
) -> Plan {
    if options.is_automatic() && !options.auto {
        return Plan::Skipped(Skip::AutoOff);
    }
    if options.trigger == Trigger::Threshold && measure.context() < thresholds.compact {
        return Plan::Skipped(Skip::BelowThreshold { used: measure.context(), compact: thresholds.compact });
    }
    Planner {
        turns: Turns::of(transcript),
        scope: Scope::of(transcript, obligations, options.is_of_items()),
        transcript,
        obligations,
        measure,
        thresholds,
        options,
    }
    .decide()
}

struct Planner<'p, 'a> {
    transcript: &'p Transcript<'a>,
    obligations: &'p Obligations,
    measure: &'p Measure,
    thresholds: &'p Thresholds,
    options: &'p PlanOptions,
    turns: Turns,
    scope: Scope,
}

impl Planner<'_, '_> {
    fn decide(&self) -> Plan {
        let limit = self.options.target_tokens.unwrap_or(self.thresholds.compact);
        let (irreducible, used) = self.irreducible();
        let fits = used <= limit;
        if irreducible + MINIMAL_CONTINUATION > limit && !fits {
            return Plan::Infeasible { irreducible, limit };
        }
        let bound_turn = tail::in_tool_loop(&self.transcript.messages) && tail::has_sealed(self.current_turn());
        if bound_turn && self.options.trigger == Trigger::Threshold && self.measure.context() < self.thresholds.hard {
            return Plan::Skipped(Skip::TurnInProgress);
        }
        let cut = if bound_turn && self.options.is_automatic() {
            // Its reasoning cannot be left out, so as little of it as possible may follow the changed prefix.
            self.scope.cuts.last().copied()
        } else {
            self.cut()
        };
        let Some(cut) = cut else {
            return Plan::Skipped(Skip::NotEnoughMessages);
        };
        let too_short = self.scope.before(cut) < MINIMUM_MESSAGES;
        if too_short && fits && !self.options.is_automatic() && !self.options.force {
            return Plan::Skipped(Skip::NotEnoughMessages);
        }
        let summarise = self.summarise(cut, limit);
        let removable = summarise.removed_tokens;
        let least = summarise.tokens_before - removable + MINIMAL_CONTINUATION;
        let worth = accept(summarise.tokens_before, least, self.thresholds.target);
        if self.options.is_automatic() && worth != Acceptance::Accepted {
            return Plan::Skipped(Skip::TooLittleToRemove { removable });
        }
        if summarise.continuation_budget < MINIMAL_CONTINUATION {
            // It fits as it is, but not with a summary in it.
            return Plan::Skipped(Skip::TooLittleToRemove { removable });
        }
        Plan::Summarise(summarise)
    }

    fn current_turn(&self) -> &[crate::transcript::Message<'_>] {
        let turn = self.turns.latest().unwrap_or(0..self.transcript.messages.len());
        self.transcript.messages.get(turn).unwrap_or(&[])
    }

    /// What can never leave, and what is there now. By hand what is recorded counts; for automatic decisions also what
    /// usage says is there besides.
    fn irreducible(&self) -> (Tokens, Tokens) {
        let messages = self.transcript.messages.len();
        let group = self.scope.cuts.last().copied().unwrap_or(self.scope.start);
        let mut irreducible = self.fixed(group) + self.measure.range(group..messages);
        let last_user = self.turns.starts().last().copied();
        if let Some(user) = last_user.filter(|user| *user < group) {
            irreducible += self.measure.message(user);
        }
        if !self.options.is_automatic() {
            return (irreducible, self.measure.total);
        }
        let besides = self.measure.unrecorded.unwrap_or_default();
        (irreducible + besides, self.measure.context())
    }

    /// What stays whatever the cut: system prompt, tools, what stands before the scope, what must be retained.
    fn fixed(&self, cut: usize) -> Tokens {
        let must = self.must_retain(cut).into_iter().map(|index| self.measure.message(index));
        let leading = self.measure.range(0..self.scope.start);
        self.measure.system + self.measure.tools + leading + must.sum()
    }

    /// The messages before a cut that stay in any case: open questions, and tools that the operator added on the way.
    fn must_retain(&self, cut: usize) -> Vec<usize> {
        let scope = self.scope.start..cut;
        let mut stay: Vec<usize> = self.obligations.standing();
        stay.retain(|index| scope.contains(index));
        let messages = self.transcript.messages.iter().enumerate();
        let adds_tools = messages.take(cut).skip(scope.start).filter(|(_, message)| {
            let opaque = |kind: &BlockKind<'_>| matches!(kind, BlockKind::Opaque(_));
            message.role == Role::System && message.blocks.iter().any(|block| opaque(&block.kind))
        });
        stay.extend(adds_tools.map(|(index, _)| index));
        stay.sort_unstable();
        stay.dedup();
        stay
    }

    /// What stays verbatim of what stands before a cut: what must, and the operator's messages, the latest first, as
    /// far as an eighth of the target reaches.
    fn retained(&self, cut: usize, target: Tokens) -> Vec<usize> {
        let mut retained = self.must_retain(cut);
        let mut left = Tokens(target.0 / 8);
        for index in (self.scope.start.max(self.scope.seen)..cut).rev() {
            let is_operators = |message: &crate::transcript::Message<'_>| message.role == Role::System;
            let tokens = self.measure.message(index);
            let stays = self.transcript.messages.get(index).is_some_and(is_operators);
            if stays && !retained.contains(&index) && tokens <= left {
                left = left - tokens;
                retained.push(index);
            }
        }
        retained.sort_unstable();
        retained
    }

    fn target(&self) -> Tokens {
        self.options.target_tokens.unwrap_or(self.thresholds.target)
    }

    /// The largest continuation that is ever asked for.
    fn full_continuation(&self) -> Tokens {
        FRAME_BOUND + SUMMARY_BOUND + ledger_bound(self.target())
    }

    /// The cut for the tail that is asked for, as far as the summary leaves room for it.
    fn cut(&self) -> Option<usize> {
        let cuts = &self.scope.cuts;
        let messages = self.transcript.messages.len();
        let fixed = self.fixed(messages.saturating_sub(1));
        let room = self.target() - fixed;
        let beside_summary = room - Tokens(room.0 / 2).min(self.full_continuation()).max(MINIMAL_CONTINUATION);
        let mut budget = match (self.options.keep_tokens, self.options.target_tokens) {
            (Some(keep), None) => keep.min(self.thresholds.compact - fixed - MINIMAL_CONTINUATION),
            (Some(keep), Some(_)) => keep.min(beside_summary),
            (None, _) => tail_budget(self.thresholds.budget).min(beside_summary),
        };
        let all = self.measure.range(self.scope.start..messages);
        if all <= budget && (self.options.force || self.options.is_automatic()) {
            // Everything would stay, and yet something is to leave: then all but the latest turn or group.
            let typed = cuts.iter().rev().find(|cut| self.turns.starts_at(**cut));
            return typed.or(cuts.last()).copied();
        }
        if all <= budget {
            budget = all;
        }
        tail::choose(self.transcript, &self.turns, self.measure, cuts, budget)
    }

    fn summarise(&self, cut: usize, limit: Tokens) -> Summarise {
        let messages = self.transcript.messages.len();
        let target = self.target();
        let retained = self.retained(cut, target);
        let retained_tokens: Tokens = retained.iter().map(|index| self.measure.message(*index)).sum();
        let leading = self.measure.range(0..self.scope.start);
        let fixed = self.measure.system + self.measure.tools + leading + retained_tokens;
        let tail = self.measure.range(cut..messages);

        // What the target leaves; where that is little, more, as far as the limit goes.
        let full = self.full_continuation();
        let aimed = target - fixed - tail;
        let decent = Tokens(2_048).min(limit - fixed - tail);
        let continuation_budget = full.min(aimed.max(decent));
        let besides = continuation_budget - FRAME_BOUND;
        let ledger_budget = ledger_bound(target).min(Tokens(besides.0 / 2));
        let summary_budget = SUMMARY_BOUND.min(besides - ledger_budget);

        let removed_tokens = self.measure.range(self.scope.start..cut) - retained_tokens;
        let written = continuation_budget + tail + retained_tokens;
        Summarise {
            removed: self.scope.start..cut,
            retained,
            omitted: tail::omitted(self.transcript, self.options.format, cut, messages),
            messages,
            splits_turn: self.turns.containing(cut).is_some_and(|turn| turn.start < cut),
            tokens_before: self.measure.total,
            removed_tokens,
            tail_tokens: tail,
            fixed_tokens: fixed,
            limit,
            continuation_budget,
            summary_budget,
            ledger_budget,
            break_even_turns: break_even(written, removed_tokens, self.options.cache),
        }
    }
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
