//! Fitting facts and narrative into the budget, and writing the nine sections.

use std::collections::{BTreeMap, btree_map::Entry};
use std::fmt::Write as _;

use super::Request;
use super::narrative::Piece;
use crate::compact::ledger::bound::excess;
use crate::compact::ledger::notation::{Fact, facts, names_entry, reach_entry};
use crate::compact::ledger::rank::Rank;
use crate::compact::ledger::select::Selection;
use crate::compact::ledger::{Ledger, LeftOut, Words, task};
use crate::units::Tokens;

/// The lines that lead to entries; with them counted from the start, the first try mostly fits.
const LEADS: &str = "Asked first:\nAsked last:\nVerbatim, besides those in section 1:\n- [names] ";

/// The first message that asks for something is known to be the first request if it is one of so many.
const GREETINGS: u32 = 3;

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
    let empty = |left_out, all_sections| {
        let words = vec![Words { turn: 99_999, part: true, text: String::new(), changed_by: None }];
        let ledger = Ledger { turns: 99_999, left_out, words, ..Ledger::default() };
        count(&write(&ledger, &BTreeMap::new(), request, all_sections)) + count(LEADS)
    };
    // Every section says that nothing of it is shown, in the longest words.
    let longest = empty(LeftOut::MANY, true);
    // In a small budget nine headings with nothing below them are a waste.
    let all_sections = longest.0.saturating_mul(2) <= request.budget.0;
    let room =
        request.budget - empty(LeftOut { passages: LeftOut::MANY.passages, ..LeftOut::default() }, all_sections);
    // What is laid down has room besides the longest words, and does not give way to headings that a larger budget has.
    let laid = if all_sections { request.budget - longest } else { longest.min(room) };
    let mut laid = laid_down(ledger, pieces, request, laid);
    let mut spared = Tokens::ZERO;
    for _ in 0..TRIES {
        let mut for_facts = laid;
        let limit = request.budget.fraction(0.5);
        let mut selection = Selection::within(&mut for_facts, ledger, limit, request.instructions, false, count);
        let used = laid - for_facts;
        let mut left = room - used - spared;
        // In a small budget the carried facts leave half of it to where the work stands.
        let mut for_facts = (request.ledger.min(room.fraction(0.5)) - used).min(left);
        left = left - for_facts;
        selection.choose(&mut for_facts, Rank::MAX, false);
        left += for_facts;
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
        // What is laid down gives way last.
        let over = excess(cost, request.budget);
        if spared + used < room {
            spared += over;
        } else {
            laid = laid.min(used) - over;
        }
    }
    smallest(ledger, request)
}

/// How much room what the user laid down may take: the share of carried facts and a part of what that leaves, or all that
/// nothing else needs. It grows with the budget.
fn laid_down(ledger: &Ledger, pieces: &[Piece], request: &Request<'_>, room: Tokens) -> Tokens {
    let carried = Tokens(request.ledger.0.min(room.0));
    let least = carried + (room - carried).fraction(1.0 - WORK_SHARE);
    let mut others = Tokens::ZERO;
    for piece in pieces {
        others += piece.forms.first().map_or(Tokens::ZERO, |form| (request.count)(form) + Tokens(1));
    }
    for fact in facts(ledger) {
        if least + others >= room {
            return least;
        }
        if !matches!(fact, Fact::Words(_)) {
            others += (request.count)(&fact.entry()) + Tokens(2);
        }
    }
    least.max(room - others)
}

/// How many facts of a section were left out.
const fn left_out(left_out: &LeftOut, section: u8) -> u32 {
    match section {
        2 => left_out.names,
        3 => left_out.items.saturating_add(left_out.commands),
        4 => left_out.errors,
        5 => left_out.notes,
        6 => left_out.passages,
        7 => left_out.todos,
        _ => 0,
    }
}

/// When not even one section fits: as much of the current request as does.
fn smallest(ledger: &Ledger, request: &Request<'_>) -> (String, Ledger) {
    let current = task::current(&ledger.words);
    let text = ledger.words.iter().find(|words| words.turn == current).map_or("", |words| words.text.as_str());
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
    // Greetings may come before what is asked first, and chatter after what is asked last.
    let first = task::first(&ledger.words);
    let last = task::current(&ledger.words);
    let begins = first <= GREETINGS && first != last;
    let requests: Vec<_> =
        ledger.words.iter().filter(|words| words.turn == last || (words.turn == first && begins)).collect();
    if begins {
        put(1, "Asked first:".to_owned());
        requests
            .iter()
            .filter(|words| words.turn == first)
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
            Fact::Note(note) if note.answered => 6,
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
    for ((number, heading), lines) in (1_u8..).zip(request.profile.headings()).zip(sections) {
        if lines.is_empty() && !all_sections {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "## {number}. {heading}");
        if lines.is_empty() {
            // What had no room is not nothing.
            let _ = match left_out(&ledger.left_out, number) {
                0 => writeln!(text, "None."),
                cut => writeln!(text, "None shown; {cut} left out: see section 6."),
            };
        }
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text.trim_end().to_owned()
}
