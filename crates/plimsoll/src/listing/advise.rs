//! What to do about a listing that does not fit: each step with what it saves.

use serde::Serialize;

use super::budget::{Budget, CountTokens};
use super::cut::Style;
use super::entry::Entry;
use super::fair;
use super::fill::{self, Share};
use super::report::{EntryReport, Reason, Report, State, Unit};
use super::row::{Row, Shown};
use super::{FAIR_CAP, FAIR_MINIMUM};
use crate::Tokens;

/// Characters below which nobody is asked to shorten a description: it would no longer tell what it is for.
const SHORTEST: u64 = 60;
/// Characters to which a long description is worth shortening where names have to go without.
const LONG: u64 = 250;
/// Tokens that a step must save to be worth naming.
const WORTH: Tokens = Tokens(3);
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
    /// Steps: pins first, then descriptions to shorten to what the listing has room for, then names to show alone, each
    /// by what it saves. Once those in order save `missing`, the rest is left out.
    pub steps: Vec<Advice>,
}

/// A row that has a description, what became of it, and its tokens in full and as listed.
type Measured<'a> = (Row<'a>, &'a EntryReport, Tokens, Tokens);

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
        budget.count(&line).unwrap_or(Tokens::ZERO)
    };
    let mut rows = Vec::new();
    let (mut in_full, mut in_descriptions, mut shown_now) = (Tokens::ZERO, Tokens::ZERO, Tokens::ZERO);
    for (at, (entry, fate)) in entries.iter().zip(&report.entries).enumerate() {
        if fate.state == State::Hidden {
            continue;
        }
        let row = Row::new(at, entry, FAIR_CAP, FAIR_MINIMUM);
        let full = cost(&row, row.most());
        let room = usize::try_from(fate.shown).unwrap_or(usize::MAX);
        let now = match fate.state {
            State::Omitted => Tokens::ZERO,
            _ => cost(&row, row.fit(room, Style::Words).unwrap_or(Shown::Name)),
        };
        in_full += full;
        shown_now += now;
        if row.has_description() {
            in_descriptions += full - cost(&row, Shown::Name);
            rows.push((row, fate, full, now));
        }
    }
    let missing = in_full - room_in_tokens(report, shown_now);
    let to = length_that_fits(&rows, in_descriptions, missing);

    let (mut pins, mut savings) = (Vec::new(), Vec::new());
    for (row, fate, full, now) in &rows {
        let advice = |step, saves, costs| {
            let name = row.entry.name.clone();
            Advice { name, step, saves, costs }
        };
        let is_often_used = fair::weight(row.entry.uses) >= OFTEN_USED;
        if is_often_used && !row.is_first() && fate.reason == Some(Reason::Budget) {
            pins.push(advice(Step::Pin, Tokens::ZERO, *full - *now));
            continue;
        }
        if row.entry.pinned {
            continue;
        }
        // Where so little room is left for each that shortening all would tell nothing, some have to go.
        let to = if to >= SHORTEST { to } else { LONG };
        let length = usize::try_from(to).unwrap_or(usize::MAX);
        let short = row.fit(length, Style::Words).map_or(*full, |shown| cost(row, shown));
        if *full > short {
            savings.push(advice(Step::Shorten { to }, *full - short, Tokens::ZERO));
        } else if !is_often_used {
            let name = cost(row, Shown::Name);
            savings.push(advice(Step::NameOnly, *full - name, Tokens::ZERO));
        }
    }
    savings.retain(|advice| advice.saves >= WORTH);
    savings.sort_by_key(|advice| (advice.step == Step::NameOnly, std::cmp::Reverse(advice.saves)));
    pins.sort_by_key(|advice| advice.costs);
    let mut saved = Tokens::ZERO;
    savings.retain(|advice| {
        let is_needed = saved < missing;
        saved += advice.saves;
        is_needed
    });
    pins.append(&mut savings);
    Advised { in_full, missing, steps: pins }
}

/// The room in tokens: as it is, or in proportion to what the text takes of its characters now.
fn room_in_tokens(report: &Report, shown_now: Tokens) -> Tokens {
    let rooms = report.limits.iter().map(|limit| match (limit.unit, limit.used) {
        (Unit::Tokens, _) => Tokens(limit.budget),
        (Unit::Characters, 0) => Tokens(limit.budget / 4),
        (Unit::Characters, used) => {
            let tokens = u128::from(shown_now.0) * u128::from(limit.budget) / u128::from(used);
            Tokens(u64::try_from(tokens).unwrap_or(u64::MAX))
        }
    });
    rooms.min().unwrap_or(Tokens::MAX)
}

/// Characters to which descriptions would have to be shortened for all to fit; a round number.
fn length_that_fits(rows: &[Measured<'_>], in_descriptions: Tokens, missing: Tokens) -> u64 {
    let shares: Vec<Share> =
        rows.iter().map(|(_, fate, ..)| Share { need: fate.characters, least: 0, weight: 1 }).collect();
    let total: u64 = shares.iter().map(|share| share.need).sum();
    let gone = u128::from(total) * u128::from(missing.0) / u128::from(in_descriptions.0.max(1));
    let room = total.saturating_sub(u64::try_from(gone).unwrap_or(u64::MAX));
    let length = fill::level(room, &shares) / Share::FINE;
    if length > 2 * SHORTEST { length / 10 * 10 } else { length }
}
