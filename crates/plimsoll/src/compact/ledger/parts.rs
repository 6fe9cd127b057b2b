//! Cutting a message into the parts that are carried by themselves: passages, and what belongs together of them.

use std::ops::Range;

use super::lexicon::LEXICON;
use super::sentence::{self, begins_anew, is_fenced, passages};
use super::standing::{Tier, plain_words, weigh};
use super::{Words, paste};

/// How long a passage with what it announces may be, in characters.
const ANNOUNCED: usize = 1_000;
/// How long a line may be, in characters, that is announced as it stands.
const LINE: usize = 200;
/// How long a sentence may be, in characters, for it to be carried because the next one points at it.
const POINTED_AT: usize = 240;

/// A part of a message.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) words: Words,
    /// Whether it stands on lines of its own, rather than in the middle of prose.
    pub(super) apart: bool,
    /// Whether it was pasted: taken out of what stands around it, it may read like words.
    pub(super) pasted: bool,
}

/// The message cut into its parts, each with the mark of the last message that changed it; `marks` has one for each
/// passage, or none at all. Pasted passages in a row are one.
///
/// A passage that announces something carries it: a block of code, a list, the next line. A sentence that points at the
/// one before it carries that.
pub(super) fn split(words: &Words, marks: &[Option<u32>]) -> Vec<Part> {
    let text = words.text.as_str();
    let passages = passages(text);
    let pasted = paste::pasted(text, &passages);
    let places = sentence::places(text, &passages);
    let cut = Cut { text, passages: &passages, pasted: &pasted, places: &places };
    let mut parts = Vec::new();
    let mut nth = 0;
    while nth < passages.len() {
        let end = cut.end(nth).max(nth + 1);
        let (Some(first), Some(last)) = (places.get(nth), places.get(end - 1)) else {
            break;
        };
        let changed_by = marks.get(nth..end).unwrap_or(&[]).iter().flatten().max().copied();
        let range = first.start..last.end;
        if let Some(part) = text.get(range.clone()) {
            let words = Words { turn: words.turn, part: true, text: part.to_owned(), changed_by };
            let pasted = pasted.get(nth).copied().unwrap_or(false);
            parts.push(Part { words, apart: cut.is_apart(&range), pasted });
        }
        nth = end;
    }
    parts
}

struct Cut<'t> {
    text: &'t str,
    passages: &'t [&'t str],
    pasted: &'t [bool],
    places: &'t [Range<usize>],
}

impl Cut<'_> {
    /// Where the part ends that begins with a passage.
    fn end(&self, nth: usize) -> usize {
        let is_pasted = |nth: usize| self.pasted.get(nth).copied().unwrap_or(false);
        if is_pasted(nth) {
            return nth + (nth..self.passages.len()).take_while(|nth| is_pasted(*nth)).count();
        }
        let end = self.announced(nth);
        if end > nth + 1 || is_pasted(nth + 1) || !self.points_back(nth + 1) {
            return end;
        }
        self.announced(nth + 1).max(nth + 2)
    }

    /// The end of what a passage announces; right after it if it announces nothing.
    fn announced(&self, nth: usize) -> usize {
        let (Some(lead), Some(object)) = (self.passages.get(nth), self.passages.get(nth + 1)) else {
            return nth + 1;
        };
        if !lead.ends_with([':', '：']) || weigh(lead).0 != Tier::Standing {
            return nth + 1;
        }
        let fits = |end: usize| self.length(nth..end) <= ANNOUNCED;
        if is_fenced(object) {
            return if fits(nth + 2) { nth + 2 } else { nth + 1 };
        }
        let is_entry = begins_anew(object);
        // Rules in a list say by themselves what they want.
        if is_entry && weigh(object).0 == Tier::Standing {
            return nth + 1;
        }
        let mut end = nth + 1;
        while let Some(next) = self.passages.get(end) {
            let goes_on = if is_entry {
                begins_anew(next)
            } else {
                let near = end == nth + 1 || self.gap(end).is_some_and(|gap| gap.matches('\n').count() == 1);
                let lone = self.gap(end).is_some_and(|gap| gap.contains('\n')) && next.chars().count() <= LINE;
                near && lone && (end == nth + 1 || !next.ends_with(['.', '!', '?', '。']))
            };
            if !goes_on || !fits(end + 1) {
                break;
            }
            end += 1;
        }
        end
    }

    /// Whether a passage is an instruction about what the one before it speaks of: `It must never be logged.`
    fn points_back(&self, nth: usize) -> bool {
        let (Some(before), Some(passage)) =
            (nth.checked_sub(1).and_then(|nth| self.passages.get(nth)), self.passages.get(nth))
        else {
            return false;
        };
        let lower = passage.to_lowercase();
        let words: Vec<&str> = plain_words(&lower).collect();
        let pronoun = |word: &&str| LEXICON.pronouns.has(word);
        let points = words.first().is_some_and(pronoun) || (words.len() <= 8 && words.iter().any(pronoun));
        points
            && weigh(passage).0 == Tier::Standing
            && !is_fenced(before)
            && !before.ends_with(['?', '？'])
            && before.chars().count() <= POINTED_AT
            && self.gap(nth).is_some_and(|gap| !gap.contains('\n'))
    }

    /// What stands between a passage and the one before it.
    fn gap(&self, nth: usize) -> Option<&str> {
        let before = self.places.get(nth.checked_sub(1)?)?;
        self.text.get(before.end..self.places.get(nth)?.start)
    }

    fn length(&self, passages: Range<usize>) -> usize {
        let range =
            self.places.get(passages.start).zip(passages.end.checked_sub(1).and_then(|last| self.places.get(last)));
        range.map_or(0, |(first, last)| last.end.saturating_sub(first.start))
    }

    fn is_apart(&self, range: &Range<usize>) -> bool {
        let before = self.text.get(..range.start).unwrap_or("").trim_end_matches([' ', '\t']);
        let after = self.text.get(range.end..).unwrap_or("").trim_start_matches([' ', '\t', '\r']);
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let words = Words { turn: 1, part: false, text: text.to_owned(), changed_by: None };
        split(&words, &[]).into_iter().map(|part| part.words.text).collect()
    }

    #[test]
    fn what_is_announced_is_carried_with_what_announces_it() {
        for object in [
            "```bash\nmake submit-77\n```",
            "\n```bash\nmake submit-77\n```",
            "make submit-77",
            "\nmake submit-77",
            "\n    make submit-77",
            "- src/alpha.py\n- src/beta gamma.py",
            "\n- goto\n- eval",
        ] {
            let whole = format!("You MUST use this exact command to submit:\n{object}");
            let text =
                format!("The parser reads the file.\n{whole}\n\nThe parser reads the file first and builds a tree.");
            let parts = cut(&text);
            assert_eq!(parts.len(), 3, "{parts:?}");
            assert_eq!(parts[1], whole);
        }
    }

    #[test]
    fn rules_in_a_list_stand_alone() {
        let rules = "Rules:\n- never touch `main`\n- always keep the log";
        assert_eq!(cut(rules), ["Rules:", "- never touch `main`", "- always keep the log"]);
        assert_eq!(cut("The story goes like this:\n- one\n- two").len(), 3);
    }

    #[test]
    fn a_sentence_that_points_at_another_carries_it() {
        assert_eq!(
            cut("We met. The key lies in Vault. It must never be logged. Fine."),
            ["We met.", "The key lies in Vault. It must never be logged.", "Fine."]
        );
        assert_eq!(cut("The key lies in Vault. Never log it.").len(), 1);
        assert_eq!(cut("Where is it? It must never be logged.").len(), 2);
    }

    #[test]
    fn lines_are_told_from_sentences_in_prose() {
        let words =
            Words { turn: 1, part: false, text: "Pidä se lyhyenä\nYksi. Kaksi.".to_owned(), changed_by: None };
        let apart: Vec<bool> = split(&words, &[]).into_iter().map(|part| part.apart).collect();
        assert_eq!(apart, [true, false, false]);
    }
}
