//! Bringing a ledger under a bound.

use super::notation::{names_entry, reach_entry};
use super::rank::Rank;
use super::select::Selection;
use super::{Ledger, LeftOut};
use crate::units::Tokens;

/// Brings a ledger under a bound.
pub(super) fn bounded(ledger: &Ledger, bound: Tokens, count: &dyn Fn(&str) -> Tokens) -> Ledger {
    let reach = count(&reach_entry(u32::MAX, &LeftOut::MANY, ""));
    let names = if ledger.names.is_empty() { Tokens::ZERO } else { count(&names_entry(&[])) };
    let mut laid = bound - reach - names;
    let mut spared = Tokens::ZERO;
    // Shared entries may cost a little more than their parts: another try has that much less room, for what is laid down
    // only where there is nothing else.
    for _ in 0..8 {
        let mut left = laid;
        let mut selection = Selection::within(&mut left, ledger, bound.fraction(0.5), None, true, count);
        left = left - spared;
        selection.choose(&mut left, Rank::MAX, false);
        let chosen = selection.finish();
        let cost = count(&chosen.render(""));
        if cost <= bound {
            return chosen;
        }
        let over = excess(cost, bound);
        if spared < laid {
            spared += over;
        } else {
            laid = laid - over;
        }
    }
    Ledger { turns: ledger.turns, ..Ledger::default() }
}

/// How much less room the next try gets after one that cost more than its bound: a little more than it was over.
pub(crate) fn excess(cost: Tokens, bound: Tokens) -> Tokens {
    cost - bound + Tokens(2 + bound.0 / 50)
}
