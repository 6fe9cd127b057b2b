//! The caps of several results that come back together, so that they cannot overflow together.

use super::limit::Cap;
use crate::Bytes;

/// Shares an aggregate budget among the results of one parallel batch: gives each its cap, in the order given.
///
/// No result gets more than `each`. Small results keep everything; what is left is shared evenly by the large ones. A
/// result whose cap is at least its size is not cut. The sum of what is shown (the smaller of size and cap) is never
/// over `together`, and no cap falls when `together` or `each` grows.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::{Cap, batch};
/// let sizes = [Bytes(300), Bytes(5_000), Bytes(90_000)];
/// let caps = batch(&sizes, Cap::Bytes(Bytes(6_000)), Cap::Bytes(Bytes(8_300)));
/// assert_eq!(caps, [Cap::Bytes(Bytes(4_000)), Cap::Bytes(Bytes(4_000)), Cap::Bytes(Bytes(4_000))]);
/// ```
pub fn batch(sizes: &[Bytes], each: impl Into<Cap>, together: impl Into<Cap>) -> Vec<Cap> {
    let each = each.into().bytes().0;
    let level = level(sizes.iter().map(|size| size.0.min(each)).collect(), together.into().bytes().0);
    vec![Cap::Bytes(Bytes(level.min(each))); sizes.len()]
}

/// Finds the highest level at which what stands below it sums to no more than the budget.
pub(super) fn level(mut wants: Vec<u64>, budget: u64) -> u64 {
    wants.sort_unstable();
    let mut left = budget;
    let mut waiting = wants.len() as u64;
    for want in wants {
        let share = left / waiting.max(1);
        if want > share {
            return share;
        }
        left -= want;
        waiting -= 1;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn together_a_batch_never_passes_its_budget_and_caps_are_monotone(
            sizes in proptest::collection::vec(prop_oneof![0..10_000u64, any::<u64>()], 0..20),
            each in prop_oneof![0..10_000u64, any::<u64>()],
            budget in prop_oneof![0..50_000u64, any::<u64>()],
            more in 0..10_000u64,
        ) {
            let sizes: Vec<Bytes> = sizes.into_iter().map(Bytes).collect();
            let of = |each, budget| batch(&sizes, Bytes(each), Bytes(budget));
            let caps = of(each, budget);
            let shown: u128 = sizes.iter().zip(&caps).map(|(size, cap)| u128::from(size.0.min(cap.bytes().0))).sum();
            prop_assert!(shown <= u128::from(budget));
            prop_assert!(caps.iter().all(|cap| cap.bytes().0 <= each));
            for wider in [of(each, budget.saturating_add(more)), of(each.saturating_add(more), budget)] {
                prop_assert!(caps.iter().zip(&wider).all(|(cap, wider)| cap.bytes() <= wider.bytes()));
            }
        }
    }

    #[test]
    fn ten_results_of_nine_tenths_of_the_cap_cannot_overflow_together() {
        let caps = batch(&[Bytes(9_000); 10], Bytes(10_000), Bytes(30_000));
        assert_eq!(caps, [Cap::Bytes(Bytes(3_000)); 10]);
    }

    #[test]
    fn small_results_keep_everything() {
        let sizes = [Bytes(10), Bytes(100_000), Bytes(20), Bytes(0)];
        let caps = batch(&sizes, Bytes(64_000), Bytes(1_030));
        assert_eq!(caps, [Cap::Bytes(Bytes(1_000)); 4]);
    }
}
