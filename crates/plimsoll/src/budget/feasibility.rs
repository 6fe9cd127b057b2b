//! Whether compaction can help at all, and whether what came of it is worth having.

use serde::{Deserialize, Serialize};

use super::threshold::{TAIL_CAP, Thresholds};
use crate::Tokens;

/// Whether a compaction can bring a conversation under its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Feasibility {
    /// It can.
    Feasible,
    /// It cannot: what no compaction may remove is already too much.
    Infeasible {
        /// System prompt, tools, the last user message, the last legal group.
        irreducible: Tokens,
        /// The most that they and a minimal summary may be together.
        limit: Tokens,
    },
}

/// Asks, before any compaction, whether one can help: whether the irreducible part (system prompt, tools, the last user
/// message, the last legal group) and a minimal summary stay within the compaction threshold (rule: specification of
/// compaction, *When*).
///
/// ```
/// use plimsoll::{Tokens, budget::{Capacity, Feasibility, Policy, feasibility, threshold}};
/// let capacity = Capacity { context_window: Some(Tokens(8_000)), ..Capacity::default() };
/// let thresholds = threshold(&capacity, &Policy::default(), None);
/// assert_eq!(feasibility(Tokens(2_000), Tokens(500), &thresholds), Feasibility::Feasible);
/// assert!(matches!(feasibility(Tokens(7_000), Tokens(500), &thresholds), Feasibility::Infeasible { .. }));
/// ```
pub fn feasibility(irreducible: Tokens, minimal_summary: Tokens, thresholds: &Thresholds) -> Feasibility {
    if irreducible + minimal_summary > thresholds.compact {
        Feasibility::Infeasible { irreducible, limit: thresholds.compact }
    } else {
        Feasibility::Feasible
    }
}

/// The most that the kept tail may take: 20,000 tokens or a quarter of the input budget, whichever is smaller.
///
/// ```
/// use plimsoll::{Tokens, budget::tail_budget};
/// assert_eq!(tail_budget(Tokens(180_000)), Tokens(20_000));
/// assert_eq!(tail_budget(Tokens(6_000)), Tokens(1_500));
/// ```
pub fn tail_budget(budget: Tokens) -> Tokens {
    TAIL_CAP.min(Tokens(budget.0 / 4))
}

/// Whether the result of an automatic compaction is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acceptance {
    /// It is.
    Accepted,
    /// It is not: it is no smaller than what it replaces.
    NotSmaller,
    /// It is not: it is above the target and less than a tenth smaller.
    TooLittle,
}

/// Judges the result of an automatic compaction: it is taken if it is smaller, and within the target or smaller by at
/// least a tenth (rule: specification of compaction, *When*).
///
/// ```
/// use plimsoll::{Tokens, budget::{Acceptance, accept}};
/// assert_eq!(accept(Tokens(100_000), Tokens(40_000), Tokens(50_000)), Acceptance::Accepted);
/// assert_eq!(accept(Tokens(100_000), Tokens(90_000), Tokens(50_000)), Acceptance::Accepted);
/// assert_eq!(accept(Tokens(100_000), Tokens(95_000), Tokens(50_000)), Acceptance::TooLittle);
/// assert_eq!(accept(Tokens(100_000), Tokens(100_001), Tokens(200_000)), Acceptance::NotSmaller);
/// ```
pub fn accept(before: Tokens, after: Tokens, target: Tokens) -> Acceptance {
    if after >= before {
        return Acceptance::NotSmaller;
    }
    let by_a_tenth = u128::from((before - after).0).saturating_mul(10) >= u128::from(before.0);
    if after <= target || by_a_tenth { Acceptance::Accepted } else { Acceptance::TooLittle }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Capacity, Policy, threshold};
    use super::*;

    #[test]
    fn mechanism_22_tools_above_the_threshold_are_infeasible_not_a_loop() {
        let capacity = Capacity { context_window: Some(Tokens(200_000)), ..Capacity::default() };
        let thresholds = threshold(&capacity, &Policy::default(), None);
        let answer = feasibility(Tokens(160_000), Tokens(500), &thresholds);
        assert_eq!(answer, Feasibility::Infeasible { irreducible: Tokens(160_000), limit: Tokens(153_000) });
        assert_eq!(feasibility(Tokens(152_500), Tokens(500), &thresholds), Feasibility::Feasible);
    }

    #[test]
    fn mechanism_22_no_room_at_all_is_infeasible() {
        let capacity = Capacity { context_window: Some(Tokens(0)), ..Capacity::default() };
        let thresholds = threshold(&capacity, &Policy::default(), None);
        assert!(matches!(feasibility(Tokens(1), Tokens(0), &thresholds), Feasibility::Infeasible { .. }));
        assert!(matches!(feasibility(Tokens::MAX, Tokens::MAX, &thresholds), Feasibility::Infeasible { .. }));
    }

    #[test]
    fn mechanism_24_a_compaction_must_make_progress() {
        assert_eq!(accept(Tokens(150_000), Tokens(149_000), Tokens(72_000)), Acceptance::TooLittle);
        // Even under the target, what did not shrink has forgotten nothing.
        assert_eq!(accept(Tokens(50_000), Tokens(50_000), Tokens(72_000)), Acceptance::NotSmaller);
    }

    #[test]
    fn mechanism_25_what_grew_is_refused_whatever_the_target() {
        assert_eq!(accept(Tokens(210_000), Tokens(215_000), Tokens::MAX), Acceptance::NotSmaller);
        assert_eq!(accept(Tokens(0), Tokens(0), Tokens::MAX), Acceptance::NotSmaller);
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_smaller_and_worth_it(before: u64, after: u64, target: u64) {
            if accept(Tokens(before), Tokens(after), Tokens(target)) == Acceptance::Accepted {
                prop_assert!(after < before);
                prop_assert!(after <= target || before - after >= before / 10);
            }
        }

        #[test]
        fn a_tail_is_at_most_a_quarter(budget: u64) {
            prop_assert!(tail_budget(Tokens(budget)).0 <= budget / 4);
            prop_assert!(tail_budget(Tokens(budget)) <= TAIL_CAP);
        }
    }
}
