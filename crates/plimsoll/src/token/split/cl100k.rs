//! The pieces of `cl100k_base` and of encodings that differ from it in numbers.

use super::super::class::Class;
use super::{Split, contraction_end, number_end, punctuation_end, run, space_end};

/// The pattern of `cl100k_base`, where `DIGITS` is 3:
///
/// ```text
/// (?i:'s|'t|'re|'ve|'m|'ll|'d)
/// |[^\r\n\p{L}\p{N}]?\p{L}+
/// |\p{N}{1,DIGITS}
/// | ?[^\s\p{L}\p{N}]+[\r\n]*
/// |\s*[\r\n]+
/// |\s+(?!\S)
/// |\s+
/// ```
#[derive(Debug)]
pub(crate) struct Uncased<const DIGITS: usize>;

impl<const DIGITS: usize> Split for Uncased<DIGITS> {
    #[inline]
    fn piece_end(text: &[u8], start: usize) -> usize {
        let Some((class, after)) = Class::at(text, start) else {
            return text.len();
        };
        if class.is(Class::LETTER) {
            return run(text, after, Class::LETTER);
        }
        if class.is(Class::NUMBER) {
            return number_end::<DIGITS>(text, after);
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
