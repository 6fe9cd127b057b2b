//! What `fair` does when not even the names fit, and how it makes sure of its promise whatever the counter says.

use super::fair::{Plan, Slot, in_order, text_of, weight};
use super::meter::{Cost, Meter};
use super::row::{Row, Shown};

/// Not even the names fit: as many as do, in the order served, and a line that says how many are missing.
pub(super) fn names_that_fit(
    rows: &[Row<'_>],
    slots: &mut [Slot<'_, '_>],
    meter: &mut Meter<'_>,
    how: &str,
    room: Cost,
) -> Plan {
    let mut reserve = meter.closing(&closing_line(rows.len(), how));
    if !reserve.is_within(room) {
        reserve = meter.closing(&closing_line(1, how));
    }
    let closes = reserve.is_within(room);
    let mut spent = if closes { reserve } else { Cost::default() };
    for slot in slots.iter_mut() {
        slot.shown = Shown::Omitted;
        let after = spent.plus(slot.name_cost);
        if after.is_within(room) {
            spent = after;
            slot.shown = Shown::Name;
        }
    }
    let mut plan = in_order(rows, slots);
    let left_out = plan.shown.iter().filter(|&&shown| shown == Shown::Omitted).count();
    plan.closing = (closes && left_out > 0).then(|| closing_line(left_out, how));
    plan
}

fn closing_line(left_out: usize, how: &str) -> String {
    format!("… and {left_out} more: search with {how}")
}

/// Makes sure of the promise, whatever the counter says: takes descriptions away, then names, until the text fits.
pub(super) fn enforce(rows: &[Row<'_>], meter: &Meter<'_>, how: &str, mut plan: Plan) -> Plan {
    loop {
        if meter.holds(&text_of(rows, &plan)) {
            return plan;
        }
        let mut order: Vec<(usize, &Row<'_>)> = rows.iter().enumerate().collect();
        order.sort_by_key(|(at, row)| (!row.is_first(), std::cmp::Reverse(weight(row.entry.uses)), *at));
        let is_described = |shown: &Shown| !matches!(shown, Shown::Name | Shown::Omitted);
        let described = plan.shown.iter().filter(|shown| is_described(shown)).count();
        let named = plan.shown.iter().filter(|&&shown| shown != Shown::Omitted).count();
        let (mut going, instead) =
            if described > 0 { (described.div_ceil(2), Shown::Name) } else { (named.div_ceil(8), Shown::Omitted) };
        if going == 0 {
            // Nothing is left but the closing line.
            plan.closing = None;
            return plan;
        }
        for (at, _) in order.into_iter().rev() {
            let Some(shown) = plan.shown.get_mut(at).filter(|shown| going > 0 && **shown != instead) else {
                continue;
            };
            if instead == Shown::Name && !is_described(shown) {
                continue;
            }
            *shown = instead;
            going -= 1;
        }
        let left_out = plan.shown.iter().filter(|&&shown| shown == Shown::Omitted).count();
        let closing = (left_out > 0).then(|| closing_line(left_out, how));
        plan.closing = closing.filter(|line| meter.holds(line));
    }
}
