//! The pieces of `o200k_base`, `o200k_harmony` and encodings that differ from them in numbers and apostrophes.

use super::super::class::Class;
use super::{Split, contraction_end, number_end, punctuation_end, run, space_end};

/// The pattern of `o200k_base` and `o200k_harmony`, where `DIGITS` is 3. Where words are not `CONTRACTED`, the two ends after
/// an apostrophe are not part of it:
///
/// ```text
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// |\p{N}{1,DIGITS}
/// | ?[^\s\p{L}\p{N}]+[\r\n/]*
/// |\s*[\r\n]+
/// |\s+(?!\S)
/// |\s+
/// ```
#[derive(Debug)]
pub(crate) struct Cased<const DIGITS: usize, const CONTRACTED: bool>;

impl<const DIGITS: usize, const CONTRACTED: bool> Split for Cased<DIGITS, CONTRACTED> {
    #[inline]
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((class, after)) = Class::at(text, start) else {
            return text.len();
        };
        if class.is(Class::LETTER) {
            let word = Word::at(text, start);
            return if CONTRACTED { contraction_end(text, word.end()) } else { word.end() };
        }
        if class.is(Class::NUMBER) {
            return number_end::<DIGITS>(text, after);
        }
        if !class.is(Class::NEWLINE)
            && let Some(end) = prefixed_word_end(text, start, class, after)
        {
            return if CONTRACTED { contraction_end(text, end) } else { end };
        }
        punctuation_end(text, start, class, after, true).unwrap_or_else(|| space_end(text, start))
    }
}

/// The two ways a cased word of `o200k_base` can end.
struct Word {
    /// The end with at least one character of the lower half: the pattern's first alternative.
    cased: Option<usize>,
    /// The end of the characters of the upper half, if there are any: the second alternative.
    upper: usize,
}

impl Word {
    #[inline]
    fn at(text: &[u8], start: usize) -> Self {
        let upper = start + ascii_run(text, start, b'A');
        let lower = upper + ascii_run(text, upper, b'a');
        // ASCII letters belong to one half only, so nothing is to be given back.
        match text.get(lower) {
            Some(0x80..) => Self::at_any(text, start),
            _ if lower > upper => Self { cased: Some(lower), upper },
            _ => Self { cased: None, upper },
        }
    }

    fn at_any(text: &[u8], start: usize) -> Self {
        let mut upper = start;
        // Where the last character ends that belongs to both halves: what the upper half, which takes all it can,
        // gives back if nothing of the lower half follows it.
        let mut both = None;
        while let Some((class, after)) = Class::at(text, upper) {
            if !class.is(Class::UPPER) {
                if class.is(Class::LOWER) {
                    return Self { cased: Some(run(text, after, Class::LOWER)), upper };
                }
                break;
            }
            if class.is(Class::LOWER) {
                both = Some(after);
            }
            upper = after;
        }
        Self { cased: both, upper }
    }

    #[inline]
    fn end(&self) -> usize {
        self.cased.unwrap_or(self.upper)
    }
}

/// The end of a word of `o200k_base` after one character that is neither letter nor number, or of one that starts
/// with a mark, which may be that character or belong to the word.
#[inline]
fn prefixed_word_end(text: &[u8], start: usize, class: Class, after: usize) -> Option<usize> {
    let is_word = Class::at(text, after).is_some_and(|(next, _)| next.is(Class::WORD));
    if is_word {
        let word = Word::at(text, after);
        if let Some(end) = word.cased {
            return Some(end);
        }
        if !class.is(Class::WORD) {
            return Some(word.upper);
        }
    }
    // A mark belongs to both halves, so a word that starts with it always has a cased end.
    if class.is(Class::WORD) { Word::at_any(text, start).cased } else { None }
}

/// The length of a run of ASCII letters of one case, given as the first of them: eight bytes at a step.
#[inline]
fn ascii_run(text: &[u8], start: usize, first: u8) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut length = 0;
    while let Some(word) = text.get(start + length..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*word);
        // With the high bits out of the way no byte carries into its neighbour.
        let low = word & !HIGH;
        let from_first = low + ONES * u64::from(0x80 - first);
        let after_last = low + ONES * u64::from(0x80 - first - 26);
        let outside = (!from_first | after_last | word) & HIGH;
        if outside != 0 {
            return length + (outside.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let rest = text.get(start + length..).unwrap_or_default();
    length + rest.iter().take_while(|byte| (first..first + 26).contains(byte)).count()
}
