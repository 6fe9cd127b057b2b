//! Byte pair encoding of one piece of text, in time linear in its length.
//!
//! Short pieces are merged directly: scan for the lowest pair, merge, repeat. That is quadratic, so long pieces are
//! encoded in sections and the sections are joined. Joining rests on one property of the encoding: a sequence of
//! tokens is the encoding of its text exactly if every two neighbours, encoded together, stay those two. So only the
//! seam has to be examined; where it does not hold, the section is encoded again together with the tokens before it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::layout::NONE;
use super::vocabulary::Vocabulary;

/// Pieces of up to this many bytes are merged on the stack.
const SHORT: usize = 16;
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
    sections: Recent,
    seams: Recent,
    /// The lengths of the tokens of the long piece so far.
    lengths: Vec<u8>,
}

impl Encoder {
    /// Counts the tokens of a piece.
    pub(super) fn count(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        if piece.len() <= SHORT {
            return count_short(vocabulary, piece);
        }
        if piece.len() <= DIRECT {
            return self.merging.encode(vocabulary, piece);
        }
        self.lengths.clear();
        let mut done = 0;
        while done < piece.len() {
            let end = piece.len().min(done + SECTION);
            let last = self.lengths.last().copied().map_or(usize::MAX, usize::from);
            let mut again = usize::from(last <= CHEAP);
            loop {
                let kept = self.lengths.len().saturating_sub(again);
                let redone: usize = self.lengths.iter().skip(kept).copied().map(usize::from).sum();
                let start = done - redone;
                let section =
                    self.sections.encode(&mut self.merging, vocabulary, piece.get(start..end).unwrap_or_default());
                let first = section.first().copied().unwrap_or(0);
                let before = kept.checked_sub(1).and_then(|last| self.lengths.get(last)).copied();
                let holds = before.is_none_or(|before| {
                    let both = start - usize::from(before)..start + usize::from(first);
                    let both = piece.get(both).unwrap_or_default();
                    self.seams.encode(&mut self.merging, vocabulary, both) == [before, first]
                });
                if holds {
                    self.lengths.truncate(kept);
                    self.lengths.extend_from_slice(section);
                    break;
                }
                again = again * 2 + 1;
            }
            done = end;
        }
        self.lengths.len()
    }

    /// Adds up the weights of a piece's tokens.
    #[cfg(feature = "o200k")]
    pub(super) fn weigh(&mut self, vocabulary: &Vocabulary, weights: &[u8], piece: &[u8]) -> usize {
        let weight = |token: u32| weights.get(token as usize).copied().map_or(0, usize::from);
        if piece.len() <= SHORT {
            let mut tokens = [NONE; SHORT];
            let count = merge_short(vocabulary, piece, &mut tokens);
            return tokens.iter().take(count).map(|token| weight(*token)).sum();
        }
        if piece.len() <= DIRECT {
            self.merging.encode(vocabulary, piece);
            return self.merging.tokens().map(weight).sum();
        }
        // Only the lengths of a long piece's tokens are known. Each of them merges into itself.
        self.count(vocabulary, piece);
        let (mut sum, mut start) = (0, 0);
        let mut last: (&[u8], usize) = (&[], 0);
        for length in &self.lengths {
            let end = start + usize::from(*length);
            let token = piece.get(start..end).unwrap_or_default();
            if token != last.0 {
                self.merging.encode(vocabulary, token);
                last = (token, self.merging.tokens().map(weight).sum());
            }
            sum += last.1;
            start = end;
        }
        sum
    }
}

/// Counts the tokens of a piece of up to [`SHORT`] bytes.
fn count_short(vocabulary: &Vocabulary, piece: &[u8]) -> usize {
    merge_short(vocabulary, piece, &mut [NONE; SHORT])
}

/// Merges a piece of up to [`SHORT`] bytes in place, and gives the number of tokens: the parts stay side by side, and
/// move up when two merge.
#[inline]
fn merge_short(vocabulary: &Vocabulary, piece: &[u8], tokens: &mut [u32; SHORT]) -> usize {
    // What each part merges into with the next.
    let mut merges = [NONE; SHORT];
    for (token, byte) in tokens.iter_mut().zip(piece) {
        *token = vocabulary.of_byte(*byte);
    }
    for (merge, (left, right)) in merges.iter_mut().zip(piece.iter().zip(piece.iter().skip(1))) {
        *merge = vocabulary.merge_bytes(*left, *right);
    }
    let mut count = piece.len();
    loop {
        let (mut lowest, mut at) = (NONE, 0);
        for (offset, merge) in merges.iter().take(count).enumerate() {
            if *merge < lowest {
                (lowest, at) = (*merge, offset);
            }
        }
        if lowest == NONE {
            return count;
        }
        count -= 1;
        move_up(tokens, at + 1, count);
        move_up(&mut merges, at, count);
        let part = |offset: usize| tokens.get(offset).copied().unwrap_or(NONE);
        if let Some(merge) = merges.get_mut(at) {
            *merge = if at + 1 < count { vocabulary.merge(lowest, part(at + 1)) } else { NONE };
        }
        if let Some(before) = at.checked_sub(1)
            && let Some(merge) = merges.get_mut(before)
        {
            *merge = vocabulary.merge(part(before), lowest);
        }
        if let Some(token) = tokens.get_mut(at) {
            *token = lowest;
        }
    }
}

/// Moves the values after one place up by one, over it, so that `count` are left.
fn move_up(values: &mut [u32; SHORT], at: usize, count: usize) {
    for offset in at..count {
        let next = values.get(offset + 1).copied().unwrap_or(NONE);
        if let Some(value) = values.get_mut(offset) {
            *value = next;
        }
    }
    if let Some(value) = values.get_mut(count) {
        *value = NONE;
    }
}

/// The last few texts encoded. Long pieces repeat themselves more often than not: rules, padding, blank lines.
#[derive(Debug, Default)]
struct Recent {
    known: [(Vec<u8>, Vec<u8>); 4],
    oldest: usize,
}

impl Recent {
    /// Gives the lengths of the tokens of a text.
    fn encode(&mut self, merging: &mut Merging, vocabulary: &Vocabulary, text: &[u8]) -> &[u8] {
        let found = self.known.iter().position(|(known, _)| known == text);
        let at = found.unwrap_or(self.oldest);
        if found.is_none() {
            self.oldest = (self.oldest + 1) % self.known.len();
        }
        let Some((known, lengths)) = self.known.get_mut(at) else {
            return &[];
        };
        if found.is_none() {
            merging.encode(vocabulary, text);
            known.clear();
            known.extend_from_slice(text);
            lengths.clear();
            lengths.extend(merging.lengths());
        }
        lengths
    }
}

/// The parts of a piece while they merge: a list threaded through arrays that are indexed by a part's first byte.
#[derive(Debug, Default)]
struct Merging {
    parts: Vec<Part>,
    /// What each part merges into with the next. Apart from the rest because it is scanned all the time.
    merges: Vec<Merge>,
    /// Bytes encoded so far: the work done, which tests hold to be linear.
    #[cfg(test)]
    encoded: usize,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    token: u32,
    previous: u32,
    next: u32,
}

/// A token and the offset of the part that becomes it, in one number: the least of several is the lowest token, and
/// of equal tokens the leftmost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Merge(i32);

impl Merge {
    const OFFSET_BITS: u32 = 12;
    const IMPOSSIBLE: Self = Self(i32::MAX);

    /// Offsets beyond the bits for them wrap: pieces that long are not scanned.
    const fn new(token: u32, offset: u32) -> Self {
        if token == NONE {
            return Self::IMPOSSIBLE;
        }
        Self((token << Self::OFFSET_BITS | offset & ((1 << Self::OFFSET_BITS) - 1)).cast_signed())
    }

    const fn token(self) -> u32 {
        self.0.cast_unsigned() >> Self::OFFSET_BITS
    }

    const fn offset(self) -> u32 {
        self.0.cast_unsigned() & ((1 << Self::OFFSET_BITS) - 1)
    }
}

impl Merging {
    /// Beyond this many bytes a heap finds the lowest pair faster than a scan.
    const SCANNED: usize = 512;

    /// Encodes a piece and gives the number of tokens.
    fn encode(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> usize {
        self.parts.clear();
        self.parts.extend((0_u32..).zip(piece).map(|(at, byte)| Part {
            token: vocabulary.of_byte(*byte),
            previous: at.wrapping_sub(1),
            next: at + 1,
        }));
        self.merges.clear();
        let pairs = (0_u32..).zip(piece.iter().zip(piece.iter().skip(1)));
        self.merges.extend(pairs.map(|(at, (left, right))| Merge::new(vocabulary.merge_bytes(*left, *right), at)));
        self.merges.push(Merge::IMPOSSIBLE);
        if piece.len() <= Self::SCANNED {
            piece.len() - self.scan(vocabulary)
        } else {
            piece.len() - self.drain(vocabulary)
        }
    }

    /// Merges what merges, finding the lowest pair by scanning; gives the number of merges.
    fn scan(&mut self, vocabulary: &Vocabulary) -> usize {
        for merged in 0.. {
            let lowest = self.merges.iter().copied().fold(Merge::IMPOSSIBLE, Merge::min);
            if lowest == Merge::IMPOSSIBLE {
                return merged;
            }
            self.merge_at(vocabulary, lowest.offset(), lowest.token());
        }
        0
    }

    /// The same with a heap.
    fn drain(&mut self, vocabulary: &Vocabulary) -> usize {
        let mut merged = 0;
        let entry = |(at, merge): (u32, Merge)| (merge != Merge::IMPOSSIBLE).then_some(Reverse((merge.token(), at)));
        let mut heap: BinaryHeap<_> = (0_u32..).zip(self.merges.iter().copied()).filter_map(entry).collect();
        while let Some(Reverse((token, at))) = heap.pop() {
            // The parts may have changed since.
            if self.merges.get(at as usize) != Some(&Merge::new(token, at)) {
                continue;
            }
            let previous = self.merge_at(vocabulary, at, token);
            merged += 1;
            let changed = [previous, at];
            heap.extend(changed.iter().filter_map(|at| entry((*at, *self.merges.get(*at as usize)?))));
        }
        merged
    }

    /// Merges the part at an offset with the next, and gives the offset of the part before it.
    fn merge_at(&mut self, vocabulary: &Vocabulary, at: u32, token: u32) -> u32 {
        let Some(Part { previous, next: absorbed, .. }) = self.part(at) else {
            return NONE;
        };
        let Some(Part { next, .. }) = self.part(absorbed) else {
            return NONE;
        };
        if let Some(part) = self.parts.get_mut(at as usize) {
            (part.token, part.next) = (token, next);
        }
        self.set_merge(absorbed, NONE);
        let after = self.parts.get_mut(next as usize).map_or(NONE, |following| {
            following.previous = at;
            vocabulary.merge(token, following.token)
        });
        self.set_merge(at, after);
        if let Some(preceding) = self.part(previous) {
            self.set_merge(previous, vocabulary.merge(preceding.token, token));
        }
        previous
    }

    /// The tokens last encoded, in order.
    #[cfg(feature = "o200k")]
    fn tokens(&self) -> impl Iterator<Item = u32> {
        let mut at = 0_u32;
        std::iter::from_fn(move || {
            let part = self.part(at)?;
            at = part.next;
            Some(part.token)
        })
    }

    /// The lengths of the tokens last encoded, in order.
    fn lengths(&self) -> impl Iterator<Item = u8> {
        let mut at = 0_u32;
        std::iter::from_fn(move || {
            let next = self.part(at)?.next;
            let length = next - at;
            at = next;
            // A token has at most `LONGEST_TOKEN` bytes.
            u8::try_from(length).ok()
        })
    }

    fn part(&self, at: u32) -> Option<Part> {
        self.parts.get(at as usize).copied()
    }

    fn set_merge(&mut self, at: u32, token: u32) {
        if let Some(merge) = self.merges.get_mut(at as usize) {
            *merge = Merge::new(token, at);
        }
    }
}

#[cfg(all(test, feature = "o200k"))]
mod tests;
