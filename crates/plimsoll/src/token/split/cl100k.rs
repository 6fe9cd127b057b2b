//! The pieces of `cl100k_base`.

use super::super::class::Class;
use super::{Split, contraction_end, number_end, punctuation_end, run, space_end};

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
pub(crate) struct Cl100k;

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
