//! The strategy `least-used`: every name, and descriptions dropped whole, the least used first.

use super::meter::{Cost, Meter, join};
use super::row::{Row, Shown};

/// Decides what to show of each row, in the order given.
pub(super) fn plan(rows: &[Row<'_>], meter: &mut Meter<'_>) -> Vec<Shown> {
    let most: Vec<Shown> = rows.iter().map(Row::most).collect();
    // The order in which descriptions go: others before bundled and pinned, less used first, later ones first.
    let mut going: Vec<(usize, &Row<'_>)> =
        rows.iter().enumerate().filter(|(_, row)| row.most() != Shown::Name).collect();
    going.sort_by_key(|&(at, row)| (row.is_first(), row.entry.uses, std::cmp::Reverse(at)));

    let without = |dropped: usize| {
        let mut shown = most.clone();
        for &(at, _) in going.iter().take(dropped) {
            if let Some(slot) = shown.get_mut(at) {
                *slot = Shown::Name;
            }
        }
        shown
    };
    let text_of = |shown: &[Shown]| join(rows.iter().zip(shown.iter().copied()), None);

    // Adding up lines tells about how many must go; the finished text decides.
    let room = meter.room();
    let mut spent = rows.iter().zip(&most).fold(Cost::default(), |sum, (row, &it)| sum.plus(meter.line(row, it)));
    let mut dropped = 0;
    for &(_, row) in &going {
        if spent.is_within(room) {
            break;
        }
        spent = spent.minus(meter.line(row, row.most())).plus(meter.line(row, Shown::Name));
        dropped += 1;
    }
    let holds = |dropped: usize| meter.holds(&text_of(&without(dropped)));
    without(fewest(dropped, going.len(), holds))
}

/// Finds the fewest that must go, near a guess: steps double away from it, then halve back.
fn fewest(guess: usize, all: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    let (mut over, mut fits) = if holds(guess) {
        let mut fits = guess;
        loop {
            if fits == 0 {
                return 0;
            }
            let fewer = fits.saturating_sub(step);
            if !holds(fewer) {
                break (fewer, fits);
            }
            fits = fewer;
            step *= 2;
        }
    } else {
        let mut over = guess;
        loop {
            if over >= all {
                return all;
            }
            let more = over.saturating_add(step).min(all);
            if holds(more) {
                break (over, more);
            }
            over = more;
            step *= 2;
        }
    };
    while fits - over > 1 {
        let middle = over + (fits - over) / 2;
        if holds(middle) {
            fits = middle;
        } else {
            over = middle;
        }
    }
    fits
}
