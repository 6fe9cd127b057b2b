//! Text in UTF-16, told by its byte order mark: read as UTF-8, with a way back from places in it to the bytes as they were.

/// The byte order of a text in UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Utf16 {
    /// The low byte first, as Windows programs write it.
    Le,
    /// The high byte first.
    Be,
}

/// The size of the byte order mark, and of a unit, in bytes.
const UNIT: u64 = 2;
/// How much of a text is looked at to tell that it is one, in bytes.
const SAMPLE: usize = 4_096;

impl Utf16 {
    /// Both byte orders.
    pub const ALL: [Self; 2] = [Self::Le, Self::Be];

    /// Tells by a text's first 4 KiB whether it is in UTF-16: it begins with a byte order mark, and is not for the most
    /// part something else than characters.
    ///
    /// ```
    /// use plimsoll::utf16::Utf16;
    /// assert_eq!(Utf16::of(b"\xFF\xFEh\0i\0"), Some(Utf16::Le));
    /// assert_eq!(Utf16::of(b"\xFE\xFF\0h\0i"), Some(Utf16::Be));
    /// assert_eq!(Utf16::of(b"h\0i\0"), None);
    /// // UTF-32 begins alike.
    /// assert_eq!(Utf16::of(b"\xFF\xFE\0\0h\0\0\0"), None);
    /// ```
    pub fn of(text: &[u8]) -> Option<Self> {
        let order = match text.first_chunk::<2>()? {
            [0xFF, 0xFE] => Self::Le,
            [0xFE, 0xFF] => Self::Be,
            _ => return None,
        };
        let mut decoder = Decoder::new(order);
        let mut sample = String::new();
        decoder.decode(text.get(..SAMPLE).unwrap_or(text), &mut sample);
        let strange = |c: &char| {
            c.is_control() && !c.is_ascii_whitespace() && !matches!(c, '\u{8}' | '\u{1b}')
                || matches!(c, '\u{fffd}'..='\u{ffff}' | '\u{e000}'..='\u{f8ff}')
        };
        let (strange, all) = (sample.chars().filter(strange).count(), sample.chars().count());
        (strange * 16 <= all).then_some(order)
    }

    /// Gives its name: `UTF-16LE` or `UTF-16BE`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Le => "UTF-16LE",
            Self::Be => "UTF-16BE",
        }
    }

    /// Reads a part of a text that begins at this byte of it, as UTF-8: without the byte order mark, and without half a
    /// character at either end.
    ///
    /// ```
    /// use plimsoll::utf16::Utf16;
    /// assert_eq!(Utf16::Le.decode_part(b"\xFF\xFEh\0i\0", 0), "hi");
    /// assert_eq!(Utf16::Le.decode_part(b"\0i\0!", 3), "i");
    /// ```
    pub fn decode_part(self, bytes: &[u8], at: u64) -> String {
        let bytes = bytes.get(self.before_part(bytes, at)..).unwrap_or_default();
        let mut text = String::with_capacity(bytes.len());
        // What is not whole at the end stays in the decoder.
        Decoder::within(self).decode(bytes, &mut text);
        text
    }

    /// How many bytes of a part come before its first whole character: of one that begins with the text, the mark.
    pub(crate) fn before_part(self, bytes: &[u8], at: u64) -> usize {
        let odd = usize::from(at % UNIT == 1);
        let mark = if at < UNIT { 2 - usize::from(at == 1) } else { odd };
        let first = bytes.get(mark..).and_then(|rest| rest.first_chunk::<2>()).map(|unit| self.unit(*unit));
        mark.min(bytes.len()) + if at >= UNIT && first.is_some_and(|unit| unit & 0xFC00 == 0xDC00) { 2 } else { 0 }
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Le => u16::from_le_bytes(bytes),
            Self::Be => u16::from_be_bytes(bytes),
        }
    }
}

/// How many bytes of UTF-16 stand for these of UTF-8. What several pieces stand for adds up, wherever they are divided.
///
/// ```
/// use plimsoll::utf16::stored_bytes;
/// assert_eq!(stored_bytes("aé日😀".as_bytes()), 2 + 2 + 2 + 4);
/// ```
pub fn stored_bytes(text: &[u8]) -> u64 {
    let units = |byte: &u8| u64::from(byte & 0xC0 != 0x80) + u64::from(*byte >= 0xF0);
    text.iter().map(units).sum::<u64>() * UNIT
}

/// Reads UTF-16 that comes in pieces.
///
/// A unit that is half of a pair and has no other half is U+FFFD, and so is a byte that is left over at the end.
///
/// ```
/// use plimsoll::utf16::{Decoder, Utf16};
/// let mut decoder = Decoder::new(Utf16::Be);
/// let mut text = String::new();
/// for piece in [&b"\xFE"[..], b"\xFF\0", b"a\xD8\x3D\xDE", b"\0\xD8\x3D\0b", b"\0"] {
///     decoder.decode(piece, &mut text);
/// }
/// decoder.finish(&mut text);
/// assert_eq!(text, "a😀\u{fffd}b\u{fffd}");
/// ```
#[derive(Debug, Clone)]
pub struct Decoder {
    order: Utf16,
    /// Whether the byte order mark is behind.
    begun: bool,
    /// The first byte of a unit.
    odd: Option<u8>,
    /// The first unit of a pair.
    high: Option<u16>,
}

impl Decoder {
    /// Begins a text, at its byte order mark.
    pub const fn new(order: Utf16) -> Self {
        Self { order, begun: false, odd: None, high: None }
    }

    /// Begins within a text, where a unit does.
    pub const fn within(order: Utf16) -> Self {
        Self { order, begun: true, odd: None, high: None }
    }

    /// Gives the byte order.
    pub const fn order(&self) -> Utf16 {
        self.order
    }

    /// Reads the next bytes, and appends what they say.
    pub fn decode(&mut self, mut bytes: &[u8], text: &mut String) {
        if let Some(odd) = self.odd
            && let Some((first, rest)) = bytes.split_first()
        {
            self.odd = None;
            self.unit([odd, *first], text);
            bytes = rest;
        }
        let (units, rest) = bytes.as_chunks::<2>();
        for unit in units {
            self.unit(*unit, text);
        }
        self.odd = rest.first().copied().or(self.odd);
    }

    fn unit(&mut self, unit: [u8; 2], text: &mut String) {
        let unit = self.order.unit(unit);
        if !std::mem::replace(&mut self.begun, true) && unit == 0xFEFF {
            return;
        }
        if let Some(high) = self.high.take() {
            if unit & 0xFC00 == 0xDC00 {
                let pair = 0x1_0000 + (u32::from(high & 0x3FF) << 10) + u32::from(unit & 0x3FF);
                text.push(char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER));
                return;
            }
            text.push(char::REPLACEMENT_CHARACTER);
        }
        if unit & 0xFC00 == 0xD800 {
            self.high = Some(unit);
        } else {
            text.push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }

    /// Ends the text: what is not whole is appended as U+FFFD. Tells whether a byte was left over.
    pub fn finish(&mut self, text: &mut String) -> bool {
        let torn = self.odd.take().is_some();
        let left = usize::from(self.high.take().is_some()) + usize::from(torn);
        text.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, left));
        torn
    }
}

#[cfg(test)]
pub(crate) fn encoded(order: Utf16, text: &str) -> Vec<u8> {
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    let bytes = |unit: u16| if order == Utf16::Le { unit.to_le_bytes() } else { unit.to_be_bytes() };
    units.flat_map(bytes).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn however_it_is_divided_it_reads_as_the_standard_library_reads_it(
            units in proptest::collection::vec(
                prop_oneof![Just(0x61_u16), Just(0xD83D), Just(0xDE00), Just(0xFEFF), any::<u16>()], 0..60),
            sizes in proptest::collection::vec(1..9_usize, 1..6),
            torn: bool,
        ) {
            let mut bytes: Vec<u8> = [0xFE, 0xFF].into_iter().chain(units.iter().flat_map(|u| u.to_be_bytes())).collect();
            bytes.extend(torn.then_some(7));
            let mut decoder = Decoder::new(Utf16::Be);
            let (mut text, mut at) = (String::new(), 0);
            for size in sizes.iter().cycle() {
                if at >= bytes.len() {
                    break;
                }
                let end = (at + size).min(bytes.len());
                decoder.decode(&bytes[at..end], &mut text);
                at = end;
            }
            prop_assert_eq!(decoder.finish(&mut text), torn);
            let mut expected = String::from_utf16_lossy(&units);
            expected.extend(torn.then_some(char::REPLACEMENT_CHARACTER));
            prop_assert_eq!(&text, &expected);
            // Each place in it has its place in the bytes.
            let stored = 2 + stored_bytes(text.as_bytes()) - u64::from(torn);
            prop_assert_eq!(stored, bytes.len() as u64);
        }
    }

    #[test]
    fn random_bytes_behind_a_mark_are_no_text() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let random: Vec<u8> = [0xFF, 0xFE].into_iter().chain((0..60_000).map(|_| next())).collect();
        assert_eq!(Utf16::of(&random), None);
        for text in ["日本語のテキスト\r\n".repeat(99), "Ünïcode 😀\n".repeat(99), "ok".to_owned(), String::new()]
        {
            for order in Utf16::ALL {
                assert_eq!(Utf16::of(&encoded(order, &text)), Some(order), "{text}");
            }
        }
        let mut torn = encoded(Utf16::Le, "a line\n");
        torn.push(b'x');
        assert_eq!(Utf16::of(&torn), Some(Utf16::Le));
    }

    #[test]
    fn a_part_begins_and_ends_with_whole_characters() {
        let stored = encoded(Utf16::Le, "a😀b");
        let of = |from: usize, to: usize| Utf16::Le.decode_part(&stored[from..to], from as u64);
        assert_eq!((of(0, 10), of(1, 10), of(2, 10)), ("a😀b".into(), "a😀b".into(), "a😀b".into()));
        assert_eq!(
            (of(3, 10), of(4, 10), of(6, 10), of(7, 10)),
            ("😀b".into(), "😀b".into(), "b".into(), "b".into())
        );
        assert_eq!((of(0, 6), of(0, 9), of(0, 1)), ("a".into(), "a😀".into(), String::new()));
    }
}
