//! Cuts text into the pieces that an encoding's pattern matches, without a regex engine.
//!
//! The patterns are those of OpenAI's encodings (`tiktoken`, `openai_public.py`). Each function gives the end of the
//! piece that starts at an offset, in one or two passes over it: alternatives of the pattern overlap, so its
//! backtracking is worked out here in advance.

use super::class::Class;

/// How an encoding cuts text into pieces.
pub(super) trait Split {
    /// Gives where the piece ends that starts at `start`, which must lie inside the text at a character's start.
    fn piece_end(text: &[u8], start: usize) -> usize;
}

/// The pattern of `cl100k_base`:
///
/// ```text
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)
/// |[^\r\n\p{L}\p{N}]?\p{L}+
/// |\p{N}{1,3}
/// | ?[^\s\p{L}\p{N}]+[\r\n]*
/// |\s*[\r\n]+
/// |\s+(?!\S)
/// |\s+
/// ```
#[derive(Debug)]
pub(super) struct Cl100k;

/// The pattern of `o200k_base` and `o200k_harmony`:
///
/// ```text
/// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
/// |\p{N}{1,3}
/// | ?[^\s\p{L}\p{N}]+[\r\n/]*
/// |\s*[\r\n]+
/// |\s+(?!\S)
/// |\s+
/// ```
#[derive(Debug)]
pub(super) struct O200k;

impl Split for Cl100k {
    #[inline]
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((class, after)) = Class::at(text, start) else {
            return text.len();
        };
        if class.is(Class::LETTER) {
            return run(text, after, Class::LETTER);
        }
        if class.is(Class::NUMBER) {
            return number_end(text, after);
        }
        if !class.is(Class::NEWLINE) {
            let contracted = contraction_end(text, start);
            if contracted > start {
                return contracted;
            }
            if let Some((next, after_next)) = Class::at(text, after)
                && next.is(Class::LETTER)
            {
                return run(text, after_next, Class::LETTER);
            }
        }
        punctuation_end(text, start, class, after, false).unwrap_or_else(|| space_end(text, start))
    }
}

impl Split for O200k {
    #[inline]
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((class, after)) = Class::at(text, start) else {
            return text.len();
        };
        if class.is(Class::LETTER) {
            let word = Word::at(text, start);
            return contraction_end(text, word.end());
        }
        if class.is(Class::NUMBER) {
            return number_end(text, after);
        }
        if !class.is(Class::NEWLINE)
            && let Some(end) = prefixed_word_end(text, start, class, after)
        {
            return contraction_end(text, end);
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
            _ if lower > upper => Self {
                cased: Some(lower),
                upper,
            },
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
                    return Self {
                        cased: Some(run(text, after, Class::LOWER)),
                        upper,
                    };
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
    if class.is(Class::WORD) {
        Word::at_any(text, start).cased
    } else {
        None
    }
}

/// The end of a run of characters of a class.
#[inline]
fn run(text: &[u8], start: usize, class: Class) -> usize {
    let mut end = start;
    while let Some((found, after)) = Class::at(text, end)
        && found.is(class)
    {
        end = after;
    }
    end
}

/// The length of a run of ASCII letters of one case, given as the first of them: eight bytes at a step.
#[inline]
fn ascii_run(text: &[u8], start: usize, first: u8) -> usize {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut length = 0;
    while let Some(word) = text
        .get(start + length..)
        .and_then(<[u8]>::first_chunk::<8>)
    {
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
    length
        + rest
            .iter()
            .take_while(|byte| (first..first + 26).contains(byte))
            .count()
}

/// `\p{N}{1,3}` after its first character.
#[inline]
fn number_end(text: &[u8], mut end: usize) -> usize {
    for _ in 0..2 {
        match Class::at(text, end) {
            Some((class, after)) if class.is(Class::NUMBER) => end = after,
            _ => break,
        }
    }
    end
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`. Without regard to case, `ſ` (U+017F) is an `s`.
#[inline]
fn contraction_end(text: &[u8], start: usize) -> usize {
    if text.get(start) != Some(&b'\'') {
        return start;
    }
    let lower = |at: usize| text.get(start + at).map(u8::to_ascii_lowercase);
    let length = match (lower(1), lower(2)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => 2,
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) | (Some(0xC5), Some(0xBF)) => 3,
        _ => 0,
    };
    start + length
}

/// ` ?[^\s\p{L}\p{N}]+` and the line ends after it; with `/` among them in `o200k_base`.
#[inline]
fn punctuation_end(
    text: &[u8],
    start: usize,
    class: Class,
    after: usize,
    slash: bool,
) -> Option<usize> {
    let mut end = after;
    if class.is(Class::NOT_PUNCTUATION) {
        let (next, after_next) = Class::at(text, after)?;
        if text.get(start) != Some(&b' ') || next.is(Class::NOT_PUNCTUATION) {
            return None;
        }
        end = after_next;
    }
    while let Some((found, after)) = Class::at(text, end)
        && !found.is(Class::NOT_PUNCTUATION)
    {
        end = after;
    }
    while let Some(b'\r' | b'\n' | b'/') = text.get(end)
        && (slash || text.get(end) != Some(&b'/'))
    {
        end += 1;
    }
    Some(end)
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last line end, else all but the last space before something else, else all.
fn space_end(text: &[u8], start: usize) -> usize {
    let mut line_end = None;
    let (mut last, mut end) = (start, start);
    while let Some((class, after)) = Class::at(text, end)
        && class.is(Class::SPACE)
    {
        if class.is(Class::NEWLINE) {
            line_end = Some(after);
        }
        (last, end) = (end, after);
    }
    match line_end {
        Some(line_end) => line_end,
        None if end < text.len() && last > start => last,
        None => end,
    }
}
