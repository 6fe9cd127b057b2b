//! Cuts text into the pieces that an encoding's pattern matches, without a regex engine.
//!
//! The patterns are those of OpenAI's encodings (`tiktoken`, `openai_public.py`). Each function gives the end of the
//! piece that starts at an offset, in one or two passes over it: alternatives of the pattern overlap, so its
//! backtracking is worked out here in advance. Those of open models are in the `tokenizer.json` beside their weights, and
//! most are variants of these.
#![allow(dead_code, reason = "which parts are used depends on the vocabularies of a build")]

#[cfg(any(feature = "cl100k", feature = "qwen", feature = "llama3"))]
mod cl100k;
#[cfg(feature = "deepseek")]
mod deepseek;
#[cfg(any(feature = "o200k", feature = "mistral"))]
mod o200k;

/// `cl100k_base`, and Llama 3.
#[cfg(any(feature = "cl100k", feature = "llama3"))]
pub(super) type Cl100k = cl100k::Uncased<3>;
#[cfg(feature = "deepseek")]
pub(super) use deepseek::DeepseekV3;
/// `o200k_base` and `o200k_harmony`.
#[cfg(feature = "o200k")]
pub(super) type O200k = o200k::Cased<3, true>;
/// Qwen 2 to 3: numbers are single digits.
#[cfg(feature = "qwen")]
pub(super) type Qwen2 = cl100k::Uncased<1>;
/// Mistral's Tekken: numbers are single digits, and words end before an apostrophe.
#[cfg(feature = "mistral")]
pub(super) type Tekken = o200k::Cased<1, false>;

use super::class::Class;

/// How an encoding cuts text into pieces.
pub(super) trait Split {
    /// Gives where the piece ends that starts at `start`, which must lie inside the text at a character's start.
    fn piece_end(text: &[u8], start: usize) -> usize;
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

/// `\p{N}{1,DIGITS}` after its first character.
#[inline]
fn number_end<const DIGITS: usize>(text: &[u8], mut end: usize) -> usize {
    for _ in 1..DIGITS {
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
fn punctuation_end(text: &[u8], start: usize, class: Class, after: usize, slash: bool) -> Option<usize> {
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
