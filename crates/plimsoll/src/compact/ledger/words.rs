//! `Words`: what the user said, verbatim, whole or by passages, and which of it a later message changed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::lexicon::{LEXICON, WordList};
use super::sentence::passages;
use super::standing::{self, Tier, plain_words};
use super::{paste, value};

/// A user's message, or a passage of one, verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// The number of the message among the user's messages, from 1, over the whole history.
    pub turn: u32,
    /// Whether this is a passage rather than the whole message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// The text.
    pub text: String,
    /// The later message that says explicitly that this has changed. Both are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<u32>,
}

impl Words {
    /// Whether it says something that stands for the rest of the work: an obligation, a limit, a preference, a value.
    pub fn is_standing(&self) -> bool {
        passages(&self.text).iter().any(|passage| standing::weigh(passage).0 <= Tier::Value)
    }

    /// The message cut into its passages, each with the mark of the last message that changed this very passage. Pasted
    /// passages in a row are one.
    pub(super) fn split(&self, all: &[Self]) -> Vec<Self> {
        // Different passages may have been changed by different messages; the mark of the whole names only the last.
        let later: Vec<(u32, Passage)> = all
            .iter()
            .filter(|words| self.changed_by.is_some_and(|last| words.turn > self.turn && words.turn <= last))
            .flat_map(|words| Passage::all(&words.text).into_iter().map(|passage| (words.turn, passage)))
            .filter(|(_, passage)| passage.cancels || passage.changes)
            .collect();
        let part = |text: &str, changed_by: Option<u32>| Self {
            turn: self.turn,
            part: true,
            text: text.to_owned(),
            changed_by,
        };
        let mut parts: Vec<Self> = Vec::new();
        let mut paste: Option<std::ops::Range<usize>> = None;
        let passages = passages(&self.text);
        let mut at = 0;
        for (passage, pasted) in passages.iter().zip(paste::pasted(&passages)) {
            let start = self.text.get(at..).and_then(|rest| rest.find(passage)).map_or(at, |found| at + found);
            at = start + passage.len();
            if pasted {
                paste = Some(paste.map_or(start, |range| range.start)..at);
                continue;
            }
            parts.extend(paste.take().and_then(|range| self.text.get(range)).map(|text| part(text, None)));
            let changed_by = if later.is_empty() {
                None
            } else {
                let read = Passage::read(passage, self.is_long());
                later.iter().filter(|(_, later)| later.changes(&read)).map(|(turn, _)| *turn).max()
            };
            parts.push(part(passage, changed_by));
        }
        parts.extend(paste.and_then(|range| self.text.get(range)).map(|text| part(text, None)));
        parts
    }

    /// The weight of the weightiest passage that is not pasted.
    pub(super) fn weigh(&self) -> (Tier, u8) {
        let passages = passages(&self.text);
        let weights = passages
            .iter()
            .zip(paste::pasted(&passages))
            .filter(|(_, pasted)| !pasted)
            .map(|(passage, _)| standing::weigh(passage));
        weights.min_by_key(|(tier, score)| (*tier, std::cmp::Reverse(*score))).unwrap_or((Tier::Bulk, 0))
    }

    fn is_long(&self) -> bool {
        self.text.len() > LONG
    }
}

/// From how many bytes on a message says many things, so that a cue in it needs more to point at an earlier one.
const LONG: usize = 600;

/// The words of substance in a lower-case text, by their beginnings; in scripts without spaces, pairs of characters.
/// What a path or an address is made of says nothing about what a passage is about.
pub(super) fn terms(lower: &str) -> Vec<String> {
    let is_cue = |word: &str| {
        [&LEXICON.cancels, &LEXICON.changes, &LEXICON.substitutes, &LEXICON.empty, &LEXICON.days]
            .into_iter()
            .any(|list| list.has(word))
    };
    let mut terms: Vec<String> = value::words(lower)
        .filter(|word| !value::is_identifier(word))
        .flat_map(plain_words)
        .filter(|word| word.chars().count() >= 4 && !word.chars().any(char::is_numeric) && !is_cue(word))
        .map(|word| word.chars().take(6).collect())
        .collect();
    let characters: Vec<char> = lower.chars().collect();
    let wide = |c: &char| matches!(c, '\u{30a0}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '가'..='힣');
    terms.extend(characters.windows(2).filter(|pair| pair.iter().all(wide)).map(|pair| pair.iter().collect()));
    terms
}

/// A passage as supersession looks at it.
#[expect(clippy::struct_excessive_bools, reason = "independent observations of one passage")]
struct Passage {
    terms: BTreeSet<String>,
    numbers: BTreeSet<String>,
    carries: bool,
    day: bool,
    substitutes: bool,
    short: bool,
    /// Whether it stands in a long message.
    in_long: bool,
    standing: bool,
    cancels: bool,
    changes: bool,
}

impl Passage {
    /// The passages of a text that are not pasted.
    fn all(text: &str) -> Vec<Self> {
        let passages = passages(text);
        let said = passages.iter().zip(paste::pasted(&passages)).filter(|(_, pasted)| !pasted);
        said.map(|(passage, _)| Self::read(passage, text.len() > LONG)).collect()
    }

    fn read(text: &str, in_long: bool) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> = plain_words(&lower).collect();
        let cue = |words_of: &WordList| words_of.is_in(&lower, &words);
        // At the start of a sentence "now" only says what comes next.
        let leads = lower.starts_with("now ") || lower.starts_with("jetzt ") || lower.starts_with("not ");
        let cancels = cue(&LEXICON.cancels);
        let terms = terms(&lower).into_iter().collect();
        // The number of a list entry is no value.
        let entry = lower.find(char::is_whitespace).filter(|end| {
            lower
                .get(..*end)
                .is_some_and(|first| first.ends_with(['.', ')']) && first.starts_with(|c: char| c.is_ascii_digit()))
        });
        let numbers = value::words(lower.get(entry.unwrap_or(0)..).unwrap_or(""))
            .filter(|word| word.chars().any(char::is_numeric))
            .map(str::to_owned)
            .collect();
        let day = cue(&LEXICON.days);
        Self {
            terms,
            numbers,
            carries: value::has_value(text),
            day,
            substitutes: cue(&LEXICON.substitutes),
            short: text.chars().count() <= 160,
            in_long,
            standing: standing::weigh(text).0 <= Tier::Value,
            cancels,
            changes: !leads && cue(&LEXICON.changes),
        }
    }

    /// Whether this passage says explicitly that an earlier one no longer holds as it was said.
    fn changes(&self, earlier: &Self) -> bool {
        if !(self.cancels || self.changes) || !earlier.standing {
            return false;
        }
        let shared = self.terms.intersection(&earlier.terms).count();
        let same_number = self.numbers.iter().any(|number| earlier.numbers.contains(number));
        let another_number = self.numbers.iter().any(|number| !earlier.numbers.contains(number));
        let renumbered = another_number && !earlier.numbers.is_empty();
        let replaced =
            renumbered || (self.day && earlier.day) || (self.substitutes && self.carries && earlier.carries);
        // `cancel the reservation S61CZX` asks for a piece of work: it names what was not spoken of before.
        let cancels = self.cancels && !another_number;
        shared >= if self.in_long { 2 } else { 1 }
            && ((self.short && (cancels || (self.changes && replaced))) || (same_number && another_number))
    }
}

/// Marks what later messages explicitly changed. Chronological order is the rule; nothing is dropped.
pub(super) fn mark_changes(words: &mut [Words]) {
    if words.len() < 2 {
        return;
    }
    let read: Vec<(u32, Vec<Passage>)> = words.iter().map(|words| (words.turn, Passage::all(&words.text))).collect();
    let changers: Vec<(u32, &Passage)> = read
        .iter()
        .flat_map(|(turn, passages)| {
            passages.iter().filter(|passage| passage.cancels || passage.changes).map(|passage| (*turn, passage))
        })
        .collect();
    for (words, (turn, earlier)) in words.iter_mut().zip(&read) {
        let later = changers
            .iter()
            .filter(|(later, changer)| later > turn && earlier.iter().any(|passage| changer.changes(passage)));
        words.changed_by = later.map(|(later, _)| *later).chain(words.changed_by).max();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(texts: &[&str]) -> Vec<Option<u32>> {
        let mut words: Vec<Words> = (1..)
            .zip(texts)
            .map(|(turn, text)| Words { turn, part: false, text: (*text).to_owned(), changed_by: None })
            .collect();
        mark_changes(&mut words);
        words.into_iter().map(|words| words.changed_by).collect()
    }

    #[test]
    fn an_explicit_change_marks_the_earlier_words() {
        assert_eq!(changed(&["The limit is 30 requests.", "The limit is now 50, not 30."]), [Some(2), None]);
        assert_eq!(changed(&["The deadline is Friday.", "go on", "Forget the deadline."]), [Some(3), None, None]);
        assert_eq!(changed(&["Deadline is Friday 17:00", "The deadline moved to Monday."]), [Some(2), None]);
        assert_eq!(changed(&["Das Limit ist 30.", "Das Limit ist jetzt 50."]), [Some(2), None]);
        assert_eq!(changed(&["重试上限是 30 次。", "重试上限改为 50 次。"]), [Some(2), None]);
        assert_eq!(changed(&["Use port 8080.", "Actually use port 9090 instead."]), [Some(2), None]);
        assert_eq!(changed(&["Use port 8080.", "Forget port 8080, take 9090."]), [Some(2), None]);
    }

    #[test]
    fn nothing_is_marked_on_suspicion() {
        for later in [
            "Now run the tests.",
            "Add a limit of 5 MB to uploads too.",
            "What is the limit?",
            "The color is now blue.",
            "Never call the payment service.",
            "There is no need for a new limit on requests from `admin`.",
            "Please cancel the requests of R61CZX.",
        ] {
            assert_eq!(changed(&["The limit is 30 requests.", later]), [None, None], "{later}");
        }
    }

    #[test]
    fn a_mark_stays_with_the_passage_it_belongs_to() {
        let mut words = vec![
            Words {
                turn: 1,
                part: false,
                text: "Keep the log. The limit is 30 requests. Never touch `main`.".to_owned(),
                changed_by: None,
            },
            Words { turn: 2, part: false, text: "The limit is now 50, not 30.".to_owned(), changed_by: None },
        ];
        mark_changes(&mut words);
        let marks: Vec<_> = words[0].split(&words).into_iter().map(|part| part.changed_by).collect();
        assert_eq!(marks, [None, Some(2), None]);
        words.push(Words {
            turn: 3,
            part: false,
            text: "Forget what I said about `main`, never touch it is too strict.".to_owned(),
            changed_by: None,
        });
        mark_changes(&mut words);
        let marks: Vec<_> = words[0].split(&words).into_iter().map(|part| part.changed_by).collect();
        assert_eq!(marks[..2], [None, Some(2)], "each passage has its own mark, whatever changed after it");
    }
}
