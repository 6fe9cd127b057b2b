//! Water-filling: one level for all, weighted; what one does not need goes to the others.

/// What one taker needs at most, gets at least, and how fast its part grows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) need: u64,
    pub(super) least: u64,
    pub(super) weight: u64,
}

impl Share {
    /// Levels are in sixteenths of a unit, so that weights share small rooms evenly.
    pub(super) const FINE: u64 = 16;

    fn at(&self, level: u64) -> u64 {
        (level.saturating_mul(self.weight) / Self::FINE).max(self.least).min(self.need)
    }
}

/// Finds the highest level at which all shares together stay within `room`; zero if there is none.
///
/// Takes O(n log m) for needs up to m.
pub(super) fn level(room: u64, shares: &[Share]) -> u64 {
    let total = |level| shares.iter().fold(0_u64, |sum, share| sum.saturating_add(share.at(level)));
    let highest = shares.iter().map(|share| share.need).max().unwrap_or(0).saturating_mul(Share::FINE);
    if total(highest) <= room {
        // Nobody needs more: no level is too high.
        return u64::MAX;
    }
    let (mut fits, mut over) = (0, highest);
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if total(middle) <= room {
            fits = middle;
        } else {
            over = middle;
        }
    }
    fits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(need: u64, weight: u64) -> Share {
        Share { need, least: 0, weight }
    }

    #[test]
    fn what_a_short_one_does_not_need_goes_to_longer_ones() {
        let shares = [share(10, 1), share(100, 1), share(100, 1)];
        assert_eq!(level(110, &shares) / Share::FINE, 50);
        assert_eq!(level(210, &shares), u64::MAX);
    }

    #[test]
    fn weights_share_in_proportion() {
        let level = level(90, &[share(100, 1), share(100, 2)]);
        assert_eq!((share(100, 1).at(level), share(100, 2).at(level)), (30, 60));
    }

    proptest! {
        #[test]
        fn the_level_fits_and_the_next_does_not(
            room in 0_u64..5_000,
            needs in prop::collection::vec((0_u64..500, 1_u64..5), 0..40),
        ) {
            let shares: Vec<Share> = needs.into_iter().map(|(need, weight)| share(need, weight)).collect();
            let total = |level: u64| shares.iter().map(|share| share.at(level)).sum::<u64>();
            let level = level(room, &shares);
            prop_assert!(total(level) <= room);
            prop_assert!(level == u64::MAX || total(level + 1) > room);
        }
    }
}
