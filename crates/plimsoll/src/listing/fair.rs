//! The strategy `fair`: never over budget, names last to go, room shared by water-filling.
//!
//! What a counter that is not additive leaves is used up in `last_tokens`; what is done when not even the names fit
//! stands in `overflow`.

use super::cut::Style;
use super::fill::{Share, level};
use super::last_tokens::{self, fill_last_tokens};
use super::meter::{Cost, Meter, join};
use super::overflow::{enforce, names_that_fit};
use super::row::{Row, Shown};

/// Uses at which an entry's share grows. Far apart, so that a few more uses leave the text as it is: it sits in the
/// cached prefix of a conversation.
const USE_BUCKETS: [u64; 3] = [5, 50, 500];
/// How often a plan is corrected for a counter that is not additive.
const CORRECTIONS: usize = 5;

/// What `fair` decided.
pub(super) struct Plan {
    /// For each row, in the order given.
    pub(super) shown: Vec<Shown>,
    pub(super) closing: Option<String>,
}

/// Decides what to show of each row. `how` completes the closing line `… and N more: search with <how>`.
pub(super) fn plan(rows: &[Row<'_>], meter: &mut Meter<'_>, how: &str) -> Plan {
    let most: Vec<Shown> = rows.iter().map(Row::most).collect();
    let whole = Plan { shown: most, closing: None };
    if is_worth_trying(rows, meter) && meter.holds(&text_of(rows, &whole)) {
        return whole;
    }
    let mut slots = served_order(rows, meter);
    let room = meter.room();
    let names = sum_of(&slots);
    // Names are asked about for themselves: what the sum of lines says is a prediction only.
    let names_only = Plan { shown: rows.iter().map(|_| Shown::Name).collect(), closing: None };
    let names_text = text_of(rows, &names_only);
    if !meter.holds(&names_text) {
        let plan = names_that_fit(rows, &mut slots, meter, how, room);
        return enforce(rows, meter, how, plan);
    }
    let mut limit = room;
    // By how much lines add up to more or less than the whole, the last newline included, shows on the names already.
    let more = names.tokens.saturating_sub(meter.tokens(&names_text));
    let less = meter.tokens(&names_text).saturating_sub(names.tokens);
    limit.tokens = limit.tokens.saturating_add(more).saturating_sub(less);
    let first_limit = limit;
    let mut best: Option<(u64, bool, Vec<Slot<'_, '_>>)> = None;
    for _ in 0..CORRECTIONS {
        for slot in &mut slots {
            slot.reset();
        }
        let spent = share(&mut slots, meter, limit, names);
        if !meter.counts_tokens() {
            return in_order(rows, &slots);
        }
        let text = text_of(rows, &in_order(rows, &slots));
        let real = meter.tokens(&text);
        let holds = meter.holds(&text);
        if holds && best.as_ref().is_none_or(|&(most, ..)| real > most) {
            best = Some((real, limit == first_limit, slots.clone()));
        }
        if holds && room.tokens - real <= room.tokens / 100 + 2 {
            break;
        }
        // The whole counts otherwise than its lines: aim beside the budget by as much.
        let aim = room.tokens.saturating_add(spent.tokens).saturating_sub(real);
        let aim = if holds { aim } else { aim.min(limit.tokens.saturating_sub(1)) };
        if aim == limit.tokens {
            break;
        }
        limit.tokens = aim;
    }
    let Some((_, is_maximal, mut slots)) = best else {
        return enforce(rows, meter, how, in_order(rows, &slots));
    };
    fill_last_tokens(rows, &mut slots, meter, is_maximal);
    enforce(rows, meter, how, in_order(rows, &slots))
}

/// One row on its way to a decision.
#[derive(Clone)]
pub(super) struct Slot<'r, 'a> {
    pub(super) row: &'r Row<'a>,
    pub(super) shown: Shown,
    pub(super) cost: Cost,
    pub(super) name_cost: Cost,
    /// The least of its description, and what that costs; measured once asked for.
    pub(super) least: Option<(Shown, Cost)>,
    weight: u64,
    /// Tokens for 1,024 characters of this row, as last seen.
    rate: u64,
    is_served: bool,
    is_done: bool,
}

impl Slot<'_, '_> {
    fn reset(&mut self) {
        self.shown = Shown::Name;
        self.cost = self.name_cost;
        self.is_served = false;
        self.is_done = false;
    }

    fn show(&mut self, shown: Shown, cost: Cost) {
        let text = cost.minus(self.name_cost);
        if let Some(rate) = text.tokens.saturating_mul(1024).checked_div(text.characters) {
            self.rate = rate.max(1);
        }
        self.shown = shown;
        self.cost = cost;
    }

    /// What its description may cost at most: exact in characters, predicted in tokens.
    fn need(&self) -> Cost {
        let characters = self.row.whole_characters() as u64 + 2;
        Cost { characters, tokens: (characters.saturating_mul(self.rate) / 1024).max(1) }
    }
}

/// The bucket of a use count: 1 for hardly used, up to 4.
pub(super) fn weight(uses: u64) -> u64 {
    1 + USE_BUCKETS.iter().filter(|&&from| uses >= from).count() as u64
}

/// Rows in the order in which they are served: bundled and pinned first, then more used ones, then by place.
fn served_order<'r, 'a>(rows: &'r [Row<'a>], meter: &mut Meter<'_>) -> Vec<Slot<'r, 'a>> {
    let mut slots: Vec<Slot<'r, 'a>> = rows
        .iter()
        .map(|row| {
            let name_cost = meter.line(row, Shown::Name);
            Slot {
                row,
                shown: Shown::Name,
                cost: name_cost,
                name_cost,
                least: None,
                weight: weight(row.entry.uses),
                rate: 256,
                is_served: false,
                is_done: false,
            }
        })
        .collect();
    slots.sort_by_key(|slot| (!slot.row.is_first(), std::cmp::Reverse(slot.weight), slot.row.index));
    slots
}

/// Shares `limit` among the descriptions and returns what all lines cost.
fn share(slots: &mut [Slot<'_, '_>], meter: &mut Meter<'_>, limit: Cost, names: Cost) -> Cost {
    let mut spent = names;
    let firsts = slots.iter().take_while(|slot| slot.row.is_first()).count();
    let (first, others) = slots.split_at_mut(firsts);
    for tier in [first, others] {
        // Each gets its least, as long as there is room; then the rest is shared.
        for slot in tier.iter_mut().filter(|slot| slot.row.has_description()) {
            if spent.tokens >= limit.tokens || spent.characters >= limit.characters {
                break;
            }
            let (least, cost) = *slot.least.get_or_insert_with(|| {
                let least = slot.row.least();
                (least, meter.line(slot.row, least))
            });
            let after = spent.minus(slot.cost).plus(cost);
            if after.is_within(limit) {
                spent = after;
                slot.show(least, cost);
                slot.is_served = true;
            }
        }
        spent = water(tier, meter, limit, spent);
    }
    words_in_turn(slots, meter, limit, spent)
}

/// Raises the level of one tier until its room is used: first to whole sentences, then to words.
fn water(tier: &mut [Slot<'_, '_>], meter: &mut Meter<'_>, limit: Cost, spent: Cost) -> Cost {
    let before = tier.iter().fold(Cost::default(), |sum, slot| sum.plus(slot.cost));
    let room = limit.minus(spent).plus(before);
    let mut squeeze = 0;
    let mut style = Style::Sentences;
    let mut total = before;
    for round in 0..6 {
        let levels = levels(tier, room, style);
        total = Cost::default();
        for slot in tier.iter_mut() {
            if slot.is_served && !(style == Style::Words && squeeze == 0 && slot.row.ends_well(slot.shown)) {
                let allowed = allowance(slot, levels, squeeze);
                let (least, least_cost) = slot.least.unwrap_or((Shown::Name, slot.name_cost));
                match slot.row.fit(allowed, style) {
                    Some(shown) if shown == slot.shown => {}
                    Some(shown) if shown != least => {
                        let cost = meter.line(slot.row, shown);
                        slot.show(shown, cost);
                    }
                    _ => slot.show(least, least_cost),
                }
            }
            total = total.plus(slot.cost);
        }
        // Characters are exact; tokens were predicted, so the level is corrected until they fit, and well.
        if !total.is_within(room) {
            squeeze += 1;
        } else if round > 2
            || style == Style::Words && (!meter.counts_tokens() || room.tokens - total.tokens <= room.tokens / 32)
        {
            break;
        } else {
            squeeze = 0;
        }
        style = Style::Words;
    }
    if !total.is_within(room) {
        total = Cost::default();
        for slot in tier.iter_mut() {
            if let Some((least, cost)) = slot.least.filter(|_| slot.is_served) {
                slot.show(least, cost);
            }
            total = total.plus(slot.cost);
        }
    }
    spent.minus(before).plus(total)
}

/// The water level in each unit: what a description of weight one may cost.
fn levels(tier: &[Slot<'_, '_>], room: Cost, style: Style) -> (u64, u64) {
    let share = |pick: fn(Cost) -> u64| {
        let mut fixed = 0_u64;
        let mut shares = Vec::new();
        for slot in tier {
            fixed = fixed.saturating_add(pick(slot.name_cost));
            if !slot.is_served {
                continue;
            }
            if style == Style::Words && slot.row.ends_well(slot.shown) {
                fixed = fixed.saturating_add(pick(slot.cost.minus(slot.name_cost)));
                continue;
            }
            let least = slot.least.map_or(0, |(_, cost)| pick(cost.minus(slot.name_cost)));
            shares.push(Share { need: pick(slot.need()).max(least), least, weight: slot.weight });
        }
        level(pick(room).saturating_sub(fixed), &shares)
    };
    (share(|cost| cost.characters), share(|cost| cost.tokens))
}

/// Characters of description that the levels allow a row; each failed round takes an eighth off.
fn allowance(slot: &Slot<'_, '_>, (characters, tokens): (u64, u64), squeeze: u32) -> usize {
    let by_characters = characters.saturating_mul(slot.weight);
    let by_tokens = tokens.saturating_mul(slot.weight).saturating_mul(1024) / slot.rate.max(1);
    let mut allowed = by_characters.min(by_tokens) / Share::FINE;
    for _ in 0..squeeze {
        allowed -= allowed / 8;
    }
    usize::try_from(allowed.saturating_sub(2)).unwrap_or(usize::MAX)
}

/// Gives every cut description one more word in turn, until none could take its next word.
fn words_in_turn(slots: &mut [Slot<'_, '_>], meter: &mut Meter<'_>, limit: Cost, mut spent: Cost) -> Cost {
    // In a long list it is not worth measuring on for words that cost nothing.
    let is_long = slots.len() > last_tokens::FEW;
    loop {
        let mut grew = false;
        for slot in slots.iter_mut().filter(|slot| slot.is_served && !slot.is_done) {
            if is_long && (spent.tokens >= limit.tokens || spent.characters >= limit.characters) {
                return spent;
            }
            let Some(next) = slot.row.grow(slot.shown) else {
                slot.is_done = true;
                continue;
            };
            let cost = meter.line(slot.row, next);
            let after = spent.minus(slot.cost).plus(cost);
            if after.is_within(limit) {
                spent = after;
                slot.show(next, cost);
                grew = true;
            } else {
                slot.is_done = true;
            }
        }
        if !grew {
            return spent;
        }
    }
}

/// Whether all of it could fit: a text several times too long is not worth counting whole.
fn is_worth_trying(rows: &[Row<'_>], meter: &Meter<'_>) -> bool {
    let room = meter.room();
    let lines = rows.iter().map(|row| {
        let text = if row.has_description() { row.whole_characters() as u64 } else { 0 };
        text + row.name.len() as u64 / 4
    });
    let characters = lines.fold(0_u64, u64::saturating_add);
    characters <= room.characters && characters / 8 <= room.tokens
}

pub(super) fn sum_of(slots: &[Slot<'_, '_>]) -> Cost {
    slots.iter().fold(Cost::default(), |sum, slot| sum.plus(slot.cost))
}

pub(super) fn in_order(rows: &[Row<'_>], slots: &[Slot<'_, '_>]) -> Plan {
    let mut decided: Vec<(usize, Shown)> = slots.iter().map(|slot| (slot.row.index, slot.shown)).collect();
    decided.sort_by_key(|&(index, _)| index);
    debug_assert_eq!(decided.len(), rows.len());
    Plan { shown: decided.into_iter().map(|(_, shown)| shown).collect(), closing: None }
}

pub(super) fn text_of(rows: &[Row<'_>], plan: &Plan) -> String {
    join(rows.iter().zip(plan.shown.iter().copied()), plan.closing.as_deref())
}
