//! Unicode classes of characters, as the encodings' splitting patterns name them.
#![allow(dead_code, reason = "which classes are asked for depends on the vocabularies of a build")]

/// Flags of a character. A letter or mark belongs to the upper half, the lower half or both of a cased word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// `\p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}`: what the first half of a word is made of.
    pub(super) const UPPER: Self = Self(1);
    /// `\p{Ll} \p{Lm} \p{Lo} \p{M}`: what the second half of a word is made of.
    pub(super) const LOWER: Self = Self(1 << 1);
    /// `\p{L}`.
    pub(super) const LETTER: Self = Self(1 << 2);
    /// `\p{N}`.
    pub(super) const NUMBER: Self = Self(1 << 3);
    /// `\s`.
    pub(super) const SPACE: Self = Self(1 << 4);
    /// `\r` and `\n`, which are also [`Self::SPACE`].
    pub(super) const NEWLINE: Self = Self(1 << 5);
    /// `[\p{P}\p{S}]`.
    pub(super) const SYMBOL: Self = Self(1 << 6);

    /// Letters and marks.
    pub(super) const WORD: Self = Self::UPPER.or(Self::LOWER);
    /// Everything but `[^\s\p{L}\p{N}]`.
    pub(super) const NOT_PUNCTUATION: Self = Self::LETTER.or(Self::NUMBER).or(Self::SPACE);

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Says whether this class has any flag of the other.
    pub(super) const fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The class of an ASCII byte. Other bytes give that of no character in particular.
    #[inline]
    pub(super) fn of_ascii(byte: u8) -> Self {
        Self(BLOCKS.get(usize::from(byte)).copied().unwrap_or(0))
    }

    fn of(code: u32) -> Self {
        let block = INDEX.get((code >> 7) as usize).copied().unwrap_or(0);
        let at = (usize::from(block) << 7) | (code & 127) as usize;
        Self(BLOCKS.get(at).copied().unwrap_or(0))
    }

    /// The class of the character at an offset of UTF-8 text, and the offset after it. `None` at the end.
    #[inline]
    pub(super) fn at(text: &[u8], offset: usize) -> Option<(Self, usize)> {
        let first = *text.get(offset)?;
        if first < 0x80 {
            return Some((Self::of_ascii(first), offset + 1));
        }
        Some(Self::of_long(text, offset, first))
    }

    /// The same for a character of two to four bytes. Bytes that are no UTF-8 do no harm.
    fn of_long(text: &[u8], offset: usize, first: u8) -> (Self, usize) {
        let tail = |at: usize| u32::from(text.get(offset + at).copied().unwrap_or(0) & 0x3F);
        let first = u32::from(first);
        let (code, length) = match first {
            0xF0.. => ((first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4),
            0xE0.. => ((first & 0x0F) << 12 | tail(1) << 6 | tail(2), 3),
            _ => ((first & 0x1F) << 6 | tail(1), 2),
        };
        (Self::of(code), (offset + length).min(text.len()))
    }
}

// The first block is that of ASCII, which `of_ascii` relies on.
static INDEX: &[u8; 0x11_0000 >> 7] = include_bytes!(concat!(env!("OUT_DIR"), "/class.index"));
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/class.blocks"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_agree_with_the_standard_library_where_it_knows_them() {
        let mut buffer = [0; 4];
        for character in '\0'..=char::MAX {
            let text = character.encode_utf8(&mut buffer);
            let (class, end) = Class::at(text.as_bytes(), 0).unwrap();
            assert_eq!(end, text.len());
            assert_eq!(class.is(Class::SPACE), character.is_whitespace(), "{character:?}");
            assert_eq!(class.is(Class::NEWLINE), matches!(character, '\r' | '\n'), "{character:?}");
            // Not for every character: the standard library may follow a newer Unicode.
            if character < '\u{3000}' {
                assert_eq!(class.is(Class::NUMBER), character.is_numeric(), "{character:?}");
            }
        }
    }

    #[test]
    fn letters_and_marks_belong_to_the_halves_of_a_word() {
        let class = |character: char| Class::at(character.to_string().as_bytes(), 0).unwrap().0;
        let halves = |character| (class(character).is(Class::UPPER), class(character).is(Class::LOWER));
        assert_eq!(halves('A'), (true, false));
        assert_eq!(halves('a'), (false, true));
        assert_eq!(halves('\u{1C5}'), (true, false), "title case");
        assert_eq!(halves('\u{2B0}'), (true, true), "a modifier letter");
        assert_eq!(halves('\u{4E2D}'), (true, true), "a letter without case");
        assert_eq!(halves('\u{301}'), (true, true), "a mark");
        assert!(!class('\u{301}').is(Class::LETTER));
        assert_eq!(halves('-'), (false, false));
    }
}
