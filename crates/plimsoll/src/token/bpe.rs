//! Byte pair encoding of one piece of text, in time linear in its length.
//!
//! Short pieces are merged directly: scan for the lowest pair, merge, repeat. That is quadratic, so long pieces are
//! encoded in sections and the sections are joined. Joining rests on one property of the encoding: a sequence of
//! tokens is the encoding of its text exactly if every two neighbours, encoded together, stay those two. So only the
//! seam has to be examined; where it does not hold, the section is encoded again together with the tokens before it.

use super::layout::NONE;
use super::vocabulary::Vocabulary;

/// Pieces of up to this many bytes are merged directly.
const DIRECT: usize = 96;
/// New bytes of a long piece that are encoded at a time.
const SECTION: usize = 64;
/// A last token longer than this is not encoded again unless the seam asks for it.
const CHEAP: usize = 16;

/// Room to encode pieces in, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    merging: Merging,
    seam: Seam,
    /// The lengths of the tokens of the long piece so far.
    lengths: Vec<u8>,
    /// The lengths of the tokens of the section last encoded.
    section: Vec<u8>,
}

impl Encoder {
    /// Counts the tokens of a piece.
    pub(super) fn count(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        if piece.len() <= DIRECT {
            return self.merging.encode(vocabulary, piece);
        }
        self.lengths.clear();
        let mut done = 0;
        let mut encoded: &[u8] = &[];
        while done < piece.len() {
            let end = piece.len().min(done + SECTION);
            let mut again = usize::from(
                self.lengths
                    .last()
                    .is_some_and(|length| usize::from(*length) <= CHEAP),
            );
            loop {
                let kept = self.lengths.len().saturating_sub(again);
                let redone: usize = self
                    .lengths
                    .get(kept..)
                    .unwrap_or_default()
                    .iter()
                    .copied()
                    .map(usize::from)
                    .sum();
                let start = done - redone;
                let section = piece.get(start..end).unwrap_or_default();
                // Long pieces repeat themselves more often than not: rules, padding, blank lines.
                if section != encoded {
                    self.merging.encode(vocabulary, section);
                    self.section.clear();
                    self.section.extend(self.merging.lengths());
                    encoded = section;
                }
                let before = kept
                    .checked_sub(1)
                    .and_then(|last| self.lengths.get(last))
                    .map(|length| usize::from(*length));
                let first = self
                    .section
                    .first()
                    .map_or(0, |length| usize::from(*length));
                let holds = before.is_none_or(|before| {
                    let both = piece.get(start - before..start + first).unwrap_or_default();
                    self.seam.holds(vocabulary, both, before)
                });
                if holds {
                    self.lengths.truncate(kept);
                    self.lengths.extend_from_slice(&self.section);
                    break;
                }
                again = again * 2 + 1;
            }
            done = end;
        }
        self.lengths.len()
    }
}

/// Examines whether two tokens stay apart when they meet.
#[derive(Debug, Default)]
struct Seam {
    merging: Merging,
    both: Vec<u8>,
    at: usize,
    held: bool,
}

impl Seam {
    /// Says whether the text of two tokens, the first `at` bytes long, is encoded as just these two.
    fn holds(&mut self, vocabulary: &Vocabulary, both: &[u8], at: usize) -> bool {
        if self.at != at || self.both != both {
            self.both.clear();
            self.both.extend_from_slice(both);
            self.at = at;
            self.held = self.merging.encode(vocabulary, both) == 2
                && self
                    .merging
                    .lengths()
                    .next()
                    .is_some_and(|length| usize::from(length) == at);
        }
        self.held
    }
}

/// The parts of a piece while they merge: a list threaded through arrays that are indexed by a part's first byte.
#[derive(Debug, Default)]
struct Merging {
    parts: Vec<Part>,
    /// What each part merges into with the next, or [`NONE`]; apart from the rest because it is scanned all the time.
    merged: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    token: u32,
    previous: u32,
    next: u32,
}

impl Merging {
    /// Encodes a piece and gives the number of tokens.
    fn encode(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        self.parts.clear();
        self.parts
            .extend((0_u32..).zip(piece).map(|(at, byte)| Part {
                token: vocabulary.of_byte(*byte),
                previous: at.wrapping_sub(1),
                next: at + 1,
            }));
        self.merged.clear();
        let pairs = self.parts.iter().zip(self.parts.iter().skip(1));
        self.merged
            .extend(pairs.map(|(left, right)| vocabulary.merge(left.token, right.token)));
        self.merged.push(NONE);

        let mut count = piece.len();
        while let Some(lowest) = self.merged.iter().copied().min()
            && lowest != NONE
        {
            // All pairs that merge into the lowest token, from left to right: merging them makes no lower one.
            let mut from = 0;
            while let Some(found) = self
                .merged
                .get(from..)
                .and_then(|rest| rest.iter().position(|m| *m == lowest))
            {
                self.merge_at(vocabulary, from + found, lowest);
                count -= 1;
                from += found + 1;
            }
        }
        count
    }

    /// Merges the part at an offset with the next.
    fn merge_at(&mut self, vocabulary: &Vocabulary, at: usize, token: u32) {
        let Some(Part {
            previous,
            next: absorbed,
            ..
        }) = self.part(at)
        else {
            return;
        };
        let Some(Part { next, .. }) = self.part(absorbed as usize) else {
            return;
        };
        if let Some(part) = self.parts.get_mut(at) {
            (part.token, part.next) = (token, next);
        }
        self.set_merged(absorbed as usize, NONE);
        let after = self.parts.get_mut(next as usize).map_or(NONE, |following| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "pieces merged at once are short"
            )]
            let at = at as u32;
            following.previous = at;
            vocabulary.merge(token, following.token)
        });
        self.set_merged(at, after);
        if let Some(preceding) = self.part(previous as usize) {
            self.set_merged(previous as usize, vocabulary.merge(preceding.token, token));
        }
    }

    /// The lengths of the tokens last encoded, in order.
    fn lengths(&self) -> impl Iterator<Item = u8> {
        let mut at = 0_u32;
        std::iter::from_fn(move || {
            let next = self.part(at as usize)?.next;
            let length = next - at;
            at = next;
            // A token has at most `LONGEST_TOKEN` bytes.
            u8::try_from(length).ok()
        })
    }

    fn part(&self, at: usize) -> Option<Part> {
        self.parts.get(at).copied()
    }

    fn set_merged(&mut self, at: usize, token: u32) {
        if let Some(merged) = self.merged.get_mut(at) {
            *merged = token;
        }
    }
}
