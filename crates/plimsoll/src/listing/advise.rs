//! What to do about a listing that does not fit: each step with what it saves.

use serde::Serialize;

use super::budget::{Budget, CountTokens};
use super::entry::Entry;
use super::fair;
use super::report::{Reason, Report, State};
use super::row::{Row, Shown};
use super::{FAIR_CAP, FAIR_MINIMUM};
use crate::Tokens;

/// Characters to which a long description is worth shortening.
const SHORT: usize = 250;
/// Use buckets from which an entry is worth pinning.
const OFTEN_USED: u64 = 2;

/// A step that makes room or spends it well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "step")]
#[non_exhaustive]
pub enum Step {
    /// Write a description of at most so many characters.
    Shorten {
        /// Characters to shorten to.
        to: u64,
    },
    /// Show the name alone: the entry is hardly used.
    NameOnly,
    /// Serve its description first: the entry is often used and was cut.
    Pin,
}

/// A step for one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// The entry's name.
    pub name: String,
    /// What to do.
    #[serde(flatten)]
    pub step: Step,
    /// Tokens that this frees for others; zero for a pin.
    pub saves: Tokens,
    /// Tokens that this spends; zero but for a pin.
    pub costs: Tokens,
}

/// Advice on a listing, and what is missing for all of it to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advised {
    /// Tokens that the listing would take in full.
    pub in_full: Tokens,
    /// Tokens by which that exceeds the budget; a budget in characters is taken in proportion.
    pub missing: Tokens,
    /// Steps, pins first, then by what they save. Once those in order save `missing`, the rest is left out.
    pub steps: Vec<Advice>,
}

/// Advises on a listing from which something was cut.
///
/// `counter` counts tokens, whatever the unit of the budget. Nothing is advised where nothing was cut.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::listing::{Budget, Entry, Options, advise, list};
/// let entries = [Entry::new("deploy", "Deploys the app. ".repeat(30)), Entry::new("review", "Reviews a change.")];
/// let words = |text: &str| Tokens::from(text.split_whitespace().count());
/// let listing = list(&entries, &Budget::characters(300), &Options::default());
/// let advised = advise(&entries, &listing.report, &words);
/// assert_eq!(advised.steps[0].name, "deploy");
/// assert!(advised.steps[0].saves > Tokens(0));
/// ```
pub fn advise(entries: &[Entry], report: &Report, counter: &CountTokens<'_>) -> Advised {
    if report.shortened().next().is_none() {
        return Advised::default();
    }
    let budget = Budget::tokens(Tokens::MAX, counter);
    let mut line = String::new();
    let mut cost = |row: &Row<'_>, shown: Shown| {
        line.clear();
        row.write_line(shown, &mut line);
        line.push('\n');
        budget.count(&line).unwrap_or_default()
    };
    let mut in_full = Tokens::ZERO;
    let mut shown_now = Tokens::ZERO;
    let (mut pins, mut savings) = (Vec::new(), Vec::new());
    for (at, (entry, fate)) in entries.iter().zip(&report.entries).enumerate() {
        if fate.state == State::Hidden {
            continue;
        }
        let row = Row::new(at, entry, FAIR_CAP, FAIR_MINIMUM);
        let full = cost(&row, row.most());
        in_full += full;
        if !row.has_description() {
            shown_now += full;
            continue;
        }
        let name = || entry.name.clone();
        let is_often_used = fair::weight(entry.uses) >= OFTEN_USED;
        let shown = row.fit(
            usize::try_from(fate.shown).unwrap_or(usize::MAX),
            super::cut::Style::Words,
        );
        let now = cost(&row, shown.unwrap_or(Shown::Name));
        shown_now += now;
        if is_often_used && !row.is_first() && fate.reason == Some(Reason::Budget) {
            let costs = full - now;
            pins.push(Advice {
                name: name(),
                step: Step::Pin,
                saves: Tokens::ZERO,
                costs,
            });
            continue;
        }
        if entry.pinned {
            continue;
        }
        let short = row
            .fit(SHORT, super::cut::Style::Sentences)
            .map_or(full, |shown| cost(&row, shown));
        if full > short {
            let step = Step::Shorten { to: SHORT as u64 };
            savings.push(Advice {
                name: name(),
                step,
                saves: full - short,
                costs: Tokens::ZERO,
            });
        } else if !is_often_used {
            let saves = full - cost(&row, Shown::Name);
            savings.push(Advice {
                name: name(),
                step: Step::NameOnly,
                saves,
                costs: Tokens::ZERO,
            });
        }
    }
    // The room in tokens: as it is, or in proportion to what the text takes of its characters now.
    let room = report
        .limits
        .iter()
        .map(|limit| match (limit.unit, limit.used) {
            (super::Unit::Tokens, _) | (_, 0) => Tokens(limit.budget),
            (_, used) => {
                let tokens = u128::from(shown_now.0) * u128::from(limit.budget) / u128::from(used);
                Tokens(u64::try_from(tokens).unwrap_or(u64::MAX))
            }
        });
    let missing = in_full - room.min().unwrap_or(Tokens::MAX);
    // Shortening what is long comes before losing what is short.
    savings.sort_by_key(|advice| {
        (
            advice.step == Step::NameOnly,
            std::cmp::Reverse(advice.saves),
        )
    });
    pins.sort_by_key(|advice| advice.costs);
    let mut saved = Tokens::ZERO;
    let needed = savings.into_iter().take_while(|advice| {
        let go_on = saved < missing;
        saved += advice.saves;
        go_on
    });
    let steps = pins.into_iter().chain(needed.collect::<Vec<_>>()).collect();
    Advised {
        in_full,
        missing,
        steps,
    }
}
