//! The pieces of `DeepSeek` V3 and its successors.

use super::super::class::Class;
use super::{Split, number_end};

/// The three patterns of `DeepSeek` V3, of which each cuts what the one before it left:
///
/// ```text
/// \p{N}{1,3}
///
/// [一-龥぀-ゟ゠-ヿ]+
///
/// [!-/:-@\[-`{-~][A-Za-z]+
/// |[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
/// | ?[\p{P}\p{S}]+[\r\n]*
/// |\s*[\r\n]+
/// |\s+(?!\S)
/// |\s+
/// ```
///
/// So to the third a number or an ideograph is where the text ends. What matches nothing is a piece up to where something
/// does.
#[derive(Debug)]
pub(crate) struct DeepseekV3;

/// What the patterns tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number or an ideograph, or the end: nothing of the third pattern reaches into it.
    Cut,
    /// A letter or mark.
    Word,
    Symbol,
    Space,
    /// Controls, formats and what is not assigned.
    Other,
}

/// The kind of the character at an offset, and the offset after it.
#[inline]
fn at(text: &[u8], offset: usize) -> (Kind, usize) {
    let Some((class, after)) = Class::at(text, offset) else {
        return (Kind::Cut, offset);
    };
    let kind = if class.is(Class::NUMBER) || is_ideograph(text, offset) {
        Kind::Cut
    } else if class.is(Class::WORD) {
        Kind::Word
    } else if class.is(Class::SYMBOL) {
        Kind::Symbol
    } else if class.is(Class::SPACE) {
        Kind::Space
    } else {
        Kind::Other
    };
    (kind, after)
}

/// `[一-龥぀-ゟ゠-ヿ]`: U+4E00 to U+9FA5, U+3040 to U+30FF.
#[inline]
fn is_ideograph(text: &[u8], offset: usize) -> bool {
    match text.get(offset..).and_then(<[u8]>::first_chunk::<3>) {
        Some(bytes) => {
            matches!(*bytes, [0xE3, 0x81..=0x83, _]) || ([0xE4, 0xB8, 0x80]..=[0xE9, 0xBE, 0xA5]).contains(bytes)
        }
        None => false,
    }
}

/// The end of a run of one kind.
#[inline]
fn run(text: &[u8], start: usize, kind: Kind) -> usize {
    let mut end = start;
    loop {
        match at(text, end) {
            (found, after) if found == kind => end = after,
            _ => return end,
        }
    }
}

fn newlines(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

impl Split for DeepseekV3 {
    #[inline]
    fn piece_end(text: &[u8], start: usize) -> usize {
        let (kind, after) = at(text, start);
        let first = text.get(start).copied().unwrap_or(0);
        let next = || at(text, after).0;
        match kind {
            Kind::Cut if is_ideograph(text, start) => {
                let mut end = start;
                while is_ideograph(text, end) {
                    end += 3;
                }
                end
            }
            Kind::Cut => number_end::<3>(text, after),
            Kind::Word => run(text, after, Kind::Word),
            Kind::Symbol => {
                if first.is_ascii_punctuation() {
                    let rest = text.get(after..).unwrap_or_default();
                    let letters = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                    if letters > 0 {
                        return after + letters;
                    }
                }
                newlines(text, run(text, after, Kind::Symbol))
            }
            Kind::Space if !matches!(first, b'\r' | b'\n') && next() == Kind::Word => run(text, after, Kind::Word),
            Kind::Space if first == b' ' && next() == Kind::Symbol => newlines(text, run(text, after, Kind::Symbol)),
            Kind::Space => space_end(text, start),
            Kind::Other if next() == Kind::Word => run(text, after, Kind::Word),
            Kind::Other => {
                // The last of the run may be what a word begins with.
                let (mut last, mut end) = (start, after);
                while let (Kind::Other, after) = at(text, end) {
                    (last, end) = (end, after);
                }
                if at(text, end).0 == Kind::Word { last } else { end }
            }
        }
    }
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`, where a cut is the end of the text.
fn space_end(text: &[u8], start: usize) -> usize {
    let mut line_end = None;
    let (mut last, mut end) = (start, start);
    let following = loop {
        let (kind, after) = at(text, end);
        if kind != Kind::Space {
            break kind;
        }
        if matches!(text.get(end), Some(b'\r' | b'\n')) {
            line_end = Some(after);
        }
        (last, end) = (end, after);
    };
    match line_end {
        Some(line_end) => line_end,
        None if following != Kind::Cut && last > start => last,
        None => end,
    }
}
