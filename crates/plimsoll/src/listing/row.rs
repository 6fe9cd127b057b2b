//! An entry made ready to list: its texts on one line, its line in every length.

use std::borrow::Cow;

use super::budget::characters;
use super::cut;
use super::entry::{Entry, Source, Visibility};

/// What joins a description and its `when_to_use`.
const JOIN: &str = " - ";
/// What a cut text ends in. One character.
pub(super) const ELLIPSIS: char = '…';
/// The fewest characters of prose that are worth showing beside trigger words.
const LEAST_BESIDE_TRIGGERS: usize = 8;

/// An entry with its texts normalised to one line each.
pub(super) struct Row<'a> {
    pub(super) entry: &'a Entry,
    /// Its place in the list.
    pub(super) index: usize,
    pub(super) name: Cow<'a, str>,
    description: Cow<'a, str>,
    when_to_use: Cow<'a, str>,
    /// The quoted phrases of `when_to_use`, where there are any and they are shorter than the whole.
    triggers: String,
    /// The longest form this entry may take: all of it, or as much as the per-entry cap lets through.
    pub(super) whole: Shown,
    /// Characters of the description in its whole form, and before the cap.
    whole_characters: usize,
    pub(super) asked_characters: usize,
    minimum: usize,
}

/// How much of an entry is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Omitted,
    Name,
    /// Description and `when_to_use`, complete.
    Whole,
    /// The first `end` bytes of a text, an ellipsis if that is not all of it, then the tail.
    Part {
        lead: Lead,
        end: usize,
        tail: Tail,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    Description,
    WhenToUse,
    Triggers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    None,
    WhenToUse,
    Triggers,
}

impl<'a> Row<'a> {
    /// Prepares one entry. `cap` and `minimum` are in characters of its description.
    pub(super) fn new(index: usize, entry: &'a Entry, cap: usize, minimum: usize) -> Self {
        let description = one_line(&entry.description);
        let when_to_use = entry.when_to_use.as_deref().map_or(Cow::Borrowed(""), one_line);
        let (long, short) = (length(&description), length(&when_to_use));
        let joined = if long == 0 || short == 0 { long + short } else { long + JOIN.len() + short };
        let mut row = Self {
            entry,
            index,
            name: one_line(&entry.name),
            triggers: if long == 0 { String::new() } else { cut::triggers(&when_to_use) },
            description,
            when_to_use,
            whole: if joined == 0 { Shown::Name } else { Shown::Whole },
            whole_characters: joined,
            asked_characters: joined,
            minimum,
        };
        if joined > cap {
            row.whole = row.capped(cap);
            row.whole_characters = row.characters(row.whole);
        }
        row
    }

    /// Bundled and pinned entries are served before all others.
    pub(super) fn is_first(&self) -> bool {
        self.entry.pinned || self.entry.source == Source::Bundled
    }

    /// Whether there is a description that may be shown.
    pub(super) fn has_description(&self) -> bool {
        self.entry.visibility == Visibility::Full && self.asked_characters > 0
    }

    /// The most that may be shown of this entry, whatever the room.
    pub(super) fn most(&self) -> Shown {
        if self.has_description() { self.whole } else { Shown::Name }
    }

    pub(super) fn whole_characters(&self) -> usize {
        self.whole_characters
    }

    fn lead(&self, lead: Lead) -> &str {
        match lead {
            Lead::Description => &self.description,
            Lead::WhenToUse => &self.when_to_use,
            Lead::Triggers => &self.triggers,
        }
    }

    fn tail(&self, tail: Tail) -> &str {
        match tail {
            Tail::None => "",
            Tail::WhenToUse => &self.when_to_use,
            Tail::Triggers => &self.triggers,
        }
    }

    /// The text whose cutting shortens this entry when nothing else stands beside it.
    fn only(&self) -> Lead {
        if self.description.is_empty() { Lead::WhenToUse } else { Lead::Description }
    }

    fn capped(&self, cap: usize) -> Shown {
        if !self.description.is_empty() && !self.when_to_use.is_empty() {
            return self.fit(cap, cut::Style::Words).unwrap_or(Shown::Name);
        }
        let lead = self.only();
        let end = cut::grapheme_at_most(self.lead(lead), cap.saturating_sub(1));
        Shown::Part { lead, end, tail: Tail::None }
    }

    /// Finds the fullest form whose description has at most `room` characters; none if only less than the minimum
    /// would be left of it.
    ///
    /// Where there is a `when_to_use`, prose makes room for it; where there is not enough for both, its quoted
    /// phrases are kept before the rest of it.
    pub(super) fn fit(&self, room: usize, style: cut::Style) -> Option<Shown> {
        if room >= self.whole_characters {
            return Some(self.whole);
        }
        let part = |lead, end, tail| Some(Shown::Part { lead, end, tail });
        let cut = |lead: Lead, room: usize, minimum: usize| cut::cut(self.lead(lead), room, minimum, style);
        if self.description.is_empty() || self.when_to_use.is_empty() {
            let lead = self.only();
            return part(lead, cut(lead, room, self.minimum)?, Tail::None);
        }
        for tail in [Tail::WhenToUse, Tail::Triggers] {
            let beside = length(self.tail(tail)) + JOIN.len();
            if beside == JOIN.len() {
                continue;
            }
            let least = self.minimum.saturating_sub(beside).max(LEAST_BESIDE_TRIGGERS);
            let end = room.checked_sub(beside).and_then(|left| cut(Lead::Description, left, least));
            if let Some(shown) = end.and_then(|end| part(Lead::Description, end, tail))
                && self.characters(shown) >= self.minimum
            {
                return Some(shown);
            }
        }
        for lead in [Lead::WhenToUse, Lead::Triggers] {
            let text = self.lead(lead);
            if (self.minimum..=room).contains(&length(text)) {
                return part(lead, text.len(), Tail::None);
            }
        }
        [Lead::Triggers, Lead::WhenToUse, Lead::Description]
            .into_iter()
            .filter(|&lead| length(self.lead(lead)) >= self.minimum)
            .find_map(|lead| part(lead, cut(lead, room, self.minimum)?, Tail::None))
    }

    /// Finds the least that may be shown of the description: the minimum, or the first grapheme boundary after it.
    pub(super) fn least(&self) -> Shown {
        self.fit(self.minimum, cut::Style::Words).unwrap_or_else(|| {
            let lead = self.only();
            let end = cut::grapheme_at_least(self.lead(lead), self.minimum.saturating_sub(1));
            let part = Shown::Part { lead, end, tail: Tail::None };
            if end >= self.lead(lead).len() || self.characters(part) >= self.whole_characters {
                self.whole
            } else {
                part
            }
        })
    }

    /// Finds the next longer form: one word more.
    pub(super) fn grow(&self, shown: Shown) -> Option<Shown> {
        let Shown::Part { lead, end, tail } = shown else {
            return None;
        };
        if shown == self.whole {
            return None;
        }
        let text = self.lead(lead);
        let now = self.characters(shown);
        let next = if let Some(end) = cut::next_break(text, end) {
            let is_all = end >= text.len() && lead == self.only() && (self.is_single() || tail == Tail::WhenToUse);
            if is_all { Shown::Whole } else { Shown::Part { lead, end, tail } }
        } else {
            // This text is shown to its end: what stands beside it comes next.
            let (phrases, all) = (length(&self.triggers), length(&self.when_to_use));
            let beside = JOIN.len() + self.minimum.max(LEAST_BESIDE_TRIGGERS);
            [phrases, all, phrases + beside, all + beside]
                .into_iter()
                .filter(|&room| room > now)
                .filter_map(|room| self.fit(room, cut::Style::Words))
                .find(|&next| self.characters(next) > now)
                .unwrap_or(self.whole)
        };
        // Beyond the cap there is only the capped form; the last character takes the place of the ellipsis.
        let next = if self.characters(next) > self.whole_characters { self.whole } else { next };
        let longer = self.characters(next);
        (longer > now || (longer == now && next == self.whole)).then_some(next)
    }

    fn is_single(&self) -> bool {
        self.description.is_empty() || self.when_to_use.is_empty()
    }

    /// Whether this form ends with a sentence, or with nothing missing.
    pub(super) fn ends_well(&self, shown: Shown) -> bool {
        match shown {
            Shown::Part { lead, end, .. } => cut::is_sentence_end(self.lead(lead), end),
            _ => true,
        }
    }

    /// Characters of the description as shown.
    pub(super) fn characters(&self, shown: Shown) -> usize {
        match shown {
            Shown::Omitted | Shown::Name => 0,
            Shown::Whole => self.asked_characters,
            Shown::Part { lead, end, tail } => {
                let text = self.lead(lead);
                let head = match text.split_at_checked(end) {
                    Some((head, rest)) if !rest.is_empty() => length(head) + 1,
                    _ => length(text),
                };
                let tail = self.tail(tail);
                if tail.is_empty() { head } else { head + JOIN.len() + length(tail) }
            }
        }
    }

    fn write_text(&self, shown: Shown, out: &mut String) {
        match shown {
            Shown::Omitted | Shown::Name => {}
            Shown::Whole => {
                out.push_str(&self.description);
                if !self.is_single() {
                    out.push_str(JOIN);
                }
                out.push_str(&self.when_to_use);
            }
            Shown::Part { lead, end, tail } => {
                let text = self.lead(lead);
                match text.split_at_checked(end) {
                    Some((head, rest)) if !rest.is_empty() => {
                        out.push_str(head);
                        out.push(ELLIPSIS);
                    }
                    _ => out.push_str(text),
                }
                let tail = self.tail(tail);
                if !tail.is_empty() {
                    out.push_str(JOIN);
                    out.push_str(tail);
                }
            }
        }
    }

    /// Writes the line of this entry, without its newline. Nothing for an omitted one.
    pub(super) fn write_line(&self, shown: Shown, out: &mut String) {
        if shown == Shown::Omitted {
            return;
        }
        out.push_str("- ");
        out.push_str(&self.name);
        if shown != Shown::Name {
            out.push_str(": ");
            self.write_text(shown, out);
        }
    }
}

fn length(text: &str) -> usize {
    usize::try_from(characters(text)).unwrap_or(usize::MAX)
}

/// Puts a text on one line: every run of white space becomes one space, and the ends are trimmed.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    if is_one_line(text) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    Cow::Owned(line)
}

fn is_one_line(text: &str) -> bool {
    let is_clean = if text.is_ascii() {
        // Most texts are ASCII, and a byte is decided sooner than a character.
        let mut before = 0;
        text.bytes().all(|byte| {
            let is_fine = !matches!(byte, b'\t'..=b'\r') && (byte != b' ' || before != b' ');
            before = byte;
            is_fine
        })
    } else {
        let mut before = '\0';
        text.chars().all(|c| {
            let is_fine = !c.is_whitespace() || (c == ' ' && before != ' ');
            before = c;
            is_fine
        })
    };
    is_clean && !text.starts_with(' ') && !text.ends_with(' ')
}
