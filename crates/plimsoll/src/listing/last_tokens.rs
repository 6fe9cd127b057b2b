//! Uses up what a counter that is not additive leaves: asks about the whole text for each word.

use super::fair::{Slot, in_order, sum_of, text_of};
use super::meter::Meter;
use super::row::{Row, Shown};

/// Characters that may be counted for this, besides those of the listing itself. Enough to be exact for listings of
/// usual size; one of many thousand entries is left with a few tokens unused rather than counted a hundred times.
const EFFORT: u64 = 1 << 20;
/// Entries up to which lines that happen to add up to the whole are not trusted to do so always.
pub(super) const FEW: usize = 256;

/// Gives cut and dropped descriptions their next word for as long as the finished text stays within the budget.
///
/// `was_tried` says that lines were filled up to the budget itself, not beside it.
pub(super) fn fill_last_tokens(rows: &[Row<'_>], slots: &mut [Slot<'_, '_>], meter: &mut Meter<'_>, was_tried: bool) {
    let mut real = meter.tokens(&text_of(rows, &in_order(rows, slots)));
    let adds_up = real.saturating_add(meter.last_newline()) == sum_of(slots).tokens;
    if was_tried && adds_up && slots.len() > FEW {
        return;
    }
    let mut effort = EFFORT.saturating_add(sum_of(slots).characters);
    // A complete text is free of its ellipsis and so may cost less than a cut one: try again until nothing grows.
    while one_pass(rows, slots, meter, &mut real, &mut effort) {}
}

/// Tries every description once, in the order served. Whether one grew and effort is left.
fn one_pass(
    rows: &[Row<'_>],
    slots: &mut [Slot<'_, '_>],
    meter: &mut Meter<'_>,
    real: &mut u64,
    effort: &mut u64,
) -> bool {
    let room = meter.room();
    let mut grew = false;
    let mut at = 0;
    while let Some(slot) = slots.get_mut(at) {
        let next = match slot.shown {
            _ if !slot.row.has_description() => None,
            Shown::Name => Some(slot.least.map_or_else(|| slot.row.least(), |(least, _)| least)),
            shown => slot.row.grow(shown),
        };
        let Some(next) = next else {
            at += 1;
            continue;
        };
        let cost = meter.line(slot.row, next);
        *effort = effort.saturating_sub(cost.characters);
        if *effort == 0 {
            return false;
        }
        // A line may count a token or two more alone than within the whole.
        let more = cost.tokens.saturating_sub(slot.cost.tokens);
        if real.saturating_add(more) > room.tokens.saturating_add(2) {
            at += 1;
            continue;
        }
        let before = (slot.shown, slot.cost);
        (slot.shown, slot.cost) = (next, cost);
        let text = text_of(rows, &in_order(rows, slots));
        *effort = effort.saturating_sub(text.len() as u64);
        if meter.holds(&text) {
            *real = meter.tokens(&text);
            grew = true;
        } else {
            if let Some(slot) = slots.get_mut(at) {
                (slot.shown, slot.cost) = before;
            }
            at += 1;
        }
    }
    grew
}
