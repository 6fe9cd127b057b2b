//! Fitting facts and narrative into the budget, and writing the nine sections.

use std::collections::{BTreeMap, btree_map::Entry};
use std::fmt::Write as _;

use super::Request;
use super::narrative::Piece;
use crate::compact::ledger::notation::{Fact, names_entry, reach_entry};
use crate::compact::ledger::rank::Rank;
use crate::compact::ledger::select::{Selection, facts};
use crate::compact::ledger::{Ledger, LeftOut};
use crate::units::Tokens;

/// The lines that lead to entries; with them counted from the start, the first try mostly fits.
const LEADS: &str = "Asked first:\nAsked last:\nVerbatim, besides those in section 1:\n- [names] ";

/// How often a result over the budget is made again with less room.
const TRIES: usize = 8;

/// How much of what the carried facts leave goes to what was done and where the work stands, before more words.
const WORK_SHARE: f64 = 0.6;

/// The fullest form of a piece that takes at most half of the room; the shortest may take all of it.
fn fitting<'p>(piece: &'p Piece, room: Tokens, count: &dyn Fn(&str) -> Tokens) -> Option<(&'p str, Tokens)> {
    piece.forms.iter().enumerate().find_map(|(nth, form)| {
        let cost = count(form) + Tokens(1);
        let share = if nth + 1 == piece.forms.len() { room } else { room.fraction(0.5) };
        (cost <= share).then_some((form.as_str(), cost))
    })
}

/// Writes the summary; gives it with the ledger of the facts in it.
pub(super) fn compose(ledger: &Ledger, pieces: &[Piece], request: &Request<'_>) -> (String, Ledger) {
    let count = request.count;
    let mut room = request.budget;
    let bare = write(&Ledger::default(), &BTreeMap::new(), request, true);
    // In a small budget nine headings with nothing below them are a waste.
    let headings = count(&bare);
    let all_sections = headings.0.saturating_mul(3) <= room.0;
    for _ in 0..TRIES {
        let fixed = if all_sections { headings } else { Tokens(headings.0 / 2) } + reach_cost(count) + count(LEADS);
        let mut left = room - fixed;
        let facts_room = Tokens(request.ledger.0.min(left.0));
        let mut for_facts = facts_room;
        let limit = request.budget.fraction(0.5);
        let mut selection = Selection::within(&mut for_facts, ledger, limit, request.instructions, false, count);
        left = left - (facts_room - for_facts);
        // Part of the rest tells what was done and where the work stands; then everything goes by rank.
        let mut chosen: BTreeMap<(u8, u8), &str> = BTreeMap::new();
        let mut narrative: Vec<&Piece> = pieces.iter().collect();
        narrative.sort_by_key(|piece| (piece.rank, piece.section, piece.order));
        let share = left.fraction(WORK_SHARE);
        for (mut part, work_only) in [(share, true), (Tokens::MAX, false)] {
            part = part.min(left);
            let given = part;
            selection.reconsider();
            selection.takes_earlier = !work_only;
            for piece in &narrative {
                selection.choose(&mut part, piece.rank, work_only);
                if let Entry::Vacant(place) = chosen.entry((piece.section, piece.order))
                    && let Some((form, cost)) = fitting(piece, part, count)
                {
                    part = part - cost;
                    place.insert(form);
                }
            }
            selection.choose(&mut part, Rank::MAX, work_only);
            left = left - (given - part);
        }
        let fitted = selection.finish();
        let summary = write(&fitted, &chosen, request, all_sections);
        let cost = count(&summary);
        if cost <= request.budget {
            return (summary, fitted);
        }
        room = room - (cost - request.budget) - Tokens(2 + room.0 / 50);
    }
    smallest(ledger, request)
}

fn reach_cost(count: &dyn Fn(&str) -> Tokens) -> Tokens {
    count(&reach_entry(
        99_999,
        &LeftOut { passages: 999, items: 999, commands: 999, notes: 999, ..LeftOut::default() },
        "0123456789abcdef/~0123456789ab",
    ))
}

/// When not even one section fits: as much of the current request as does.
fn smallest(ledger: &Ledger, request: &Request<'_>) -> (String, Ledger) {
    let text = ledger.words.last().map_or("", |words| words.text.as_str());
    let characters: Vec<char> = text.chars().take(4_096).collect();
    let (mut few, mut many) = (0, characters.len());
    let form = |keep: usize| -> String {
        let line: String = characters.iter().take(keep).collect();
        crate::compact::ledger::line::one_line(&line, keep.max(2))
    };
    while few < many {
        let half = few + (many - few).div_ceil(2);
        if (request.count)(&form(half)) <= request.budget {
            few = half;
        } else {
            many = half - 1;
        }
    }
    let mut summary = if few == 0 { String::new() } else { form(few) };
    if (request.count)(&summary) > request.budget {
        summary.clear();
    }
    let parsed = Ledger::parse(&summary);
    (summary, parsed)
}

/// Writes the sections.
fn write(ledger: &Ledger, narrative: &BTreeMap<(u8, u8), &str>, request: &Request<'_>, all_sections: bool) -> String {
    let mut sections: [Vec<String>; 9] = Default::default();
    let mut put = |section: u8, text: String| {
        if let Some(lines) = sections.get_mut(usize::from(section) - 1) {
            lines.push(text);
        }
    };
    let first = ledger.words.first().map_or(0, |words| words.turn);
    let last = ledger.words.last().map_or(0, |words| words.turn);
    let requests: Vec<_> =
        ledger.words.iter().filter(|words| words.turn == last || (words.turn == first && first == 1)).collect();
    if first == 1 && last != 1 {
        put(1, "Asked first:".to_owned());
        requests
            .iter()
            .filter(|words| words.turn == 1)
            .for_each(|words| put(1, Fact::Words((*words).clone()).entry()));
        put(1, "Asked last:".to_owned());
    }
    requests
        .iter()
        .filter(|words| words.turn == last)
        .for_each(|words| put(1, Fact::Words((*words).clone()).entry()));
    if ledger.words.len() > requests.len() {
        put(6, "Verbatim, besides those in section 1:".to_owned());
    }
    if ledger.earlier.is_some() {
        put(1, "What came before that, as an earlier summary tells it:".to_owned());
    }
    for fact in facts(ledger) {
        let section = match &fact {
            Fact::Words(words) if requests.contains(&words) => continue,
            Fact::Name(_) => continue,
            Fact::Words(_) => 6,
            Fact::Item(_) | Fact::Command(_) => 3,
            Fact::Failure(_) => 4,
            Fact::Note(_) => 5,
            Fact::Earlier(_) => 1,
            Fact::Todo(_) | Fact::Pending(_) => 7,
            Fact::Artifact(_) => 9,
        };
        put(section, fact.entry());
    }
    if !ledger.names.is_empty() {
        put(2, names_entry(&ledger.names));
    }
    if ledger.turns > 0 || ledger.left_out.total() > 0 {
        put(6, reach_entry(ledger.turns, &ledger.left_out, request.recall));
    }
    for ((section, _), text) in narrative {
        put(*section, (*text).to_owned());
    }
    let mut text = String::new();
    for ((number, heading), lines) in (1..).zip(request.profile.headings()).zip(sections) {
        if lines.is_empty() && !all_sections {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "## {number}. {heading}");
        if lines.is_empty() {
            text.push_str("None.\n");
        }
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}
