//! `Text`: a string as it stands in a document, decoded only when somebody reads it.

use std::borrow::Cow;

use memchr::memchr;

/// White space to `str::trim`, and not to `u8::is_ascii_whitespace`.
const VERTICAL_TAB: u8 = 0x0b;

/// A string inside a document, still in the document's own spelling.
///
/// Reading it decodes: JSON escapes are resolved, lone surrogates and invalid UTF-8 become U+FFFD. The bytes
/// themselves are never changed.
///
/// ```
/// use plimsoll::wire::Text;
/// let text = Text::json(br"caf\u00e9 \ud800", true);
/// assert_eq!(text.decode(), "café \u{fffd}");
/// assert_eq!(text.raw(), br"caf\u00e9 \ud800");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text<'a> {
    raw: &'a [u8],
    escaped: bool,
}

impl<'a> Text<'a> {
    /// The inside of a JSON string, quotes left out. `escaped` says whether a backslash occurs.
    pub const fn json(raw: &'a [u8], escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// Text that stands as it is, without escapes.
    pub const fn plain(text: &'a str) -> Self {
        Self { raw: text.as_bytes(), escaped: false }
    }

    /// Its bytes in the document.
    pub const fn raw(self) -> &'a [u8] {
        self.raw
    }

    /// Whether a backslash in it begins an escape.
    pub(crate) const fn is_escaped(self) -> bool {
        self.escaped
    }

    /// A part of it, by bytes of its spelling; nothing where the range does not lie in it. The caller cuts no escape.
    pub(super) fn part(self, range: std::ops::Range<usize>) -> Self {
        Self { raw: self.raw.get(range).unwrap_or(&[]), ..self }
    }

    /// Whether it has no bytes.
    pub const fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// Whether it reads as this text.
    pub fn is(self, text: &str) -> bool {
        if self.escaped { self.decode() == text } else { self.raw == text.as_bytes() }
    }

    /// Whether there is nothing but white space in it.
    pub fn is_blank(self) -> bool {
        if self.escaped {
            self.decode().trim().is_empty()
        } else {
            // Most text shows a visible byte at once.
            match self.raw.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != VERTICAL_TAB) {
                None => true,
                Some(byte) if byte.is_ascii() => false,
                Some(_) => self.decode().trim().is_empty(),
            }
        }
    }

    /// The text, borrowed where the document spells it plainly.
    pub fn decode(self) -> Cow<'a, str> {
        if self.escaped {
            return Cow::Owned(unescape(self.raw));
        }
        match simdutf8::basic::from_utf8(self.raw) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(self.raw),
        }
    }

    /// Whether the text is not all of what the document spells: it holds what is no character, such as a lone surrogate,
    /// and [`decode`](Self::decode) gives U+FFFD in its place.
    ///
    /// ```
    /// use plimsoll::wire::Text;
    /// assert!(Text::json(br"a\ud83d b", true).is_lossy());
    /// assert!(!Text::json(br"a\ud83e\udd80 \ufffd", true).is_lossy());
    /// ```
    pub fn is_lossy(self) -> bool {
        let mut rest = self.raw;
        while self.escaped
            && let Some(escape) = memchr(b'\\', rest).and_then(|at| rest.get(at..))
        {
            let used = if escape.get(1) == Some(&b'u') {
                let (character, used) = unescape_unicode(escape);
                let is_meant = escape.get(2..6).is_some_and(|digits| digits.eq_ignore_ascii_case(b"fffd"));
                if character == char::REPLACEMENT_CHARACTER && !is_meant {
                    return true;
                }
                used
            } else {
                2
            };
            rest = escape.get(used..).unwrap_or(&[]);
        }
        simdutf8::basic::from_utf8(self.raw).is_err()
    }

    /// At least the first `bytes` bytes of the text, or all of it: for looking at how a long text begins.
    pub fn decode_start(self, bytes: usize) -> Cow<'a, str> {
        if self.raw.len() <= bytes.saturating_mul(6) {
            return self.decode();
        }
        let mut end = bytes.saturating_mul(6);
        // Neither an escape nor a character may be cut in two: step back to a plain ASCII byte that no escape holds.
        while end > 0 {
            let plain = self.raw.get(end).is_some_and(|byte| byte.is_ascii() && *byte != b'\\');
            let near = self.raw.get(end.saturating_sub(12)..end).unwrap_or(&[]);
            if plain && memchr(b'\\', near).is_none() {
                break;
            }
            end -= 1;
        }
        let start = self.raw.get(..end).unwrap_or(&[]);
        if end == 0 { self.decode() } else { Self { raw: start, escaped: self.escaped }.decode() }
    }
}

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.decode(), f)
    }
}

fn unescape(raw: &[u8]) -> String {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (bytes, used) = match escape.get(1) {
            Some(b'n') => (&b"\n"[..], 2),
            Some(b't') => (&b"\t"[..], 2),
            Some(b'r') => (&b"\r"[..], 2),
            Some(b'b') => (&b"\x08"[..], 2),
            Some(b'f') => (&b"\x0c"[..], 2),
            Some(b'u') => {
                let (character, used) = unescape_unicode(escape);
                let mut buffer = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
                (&b""[..], used)
            }
            // `\"`, `\\` and `\/` stand for themselves; so does whatever else some program escaped.
            Some(_) => (escape.get(1..2).unwrap_or(&[]), 2),
            None => (&b"\\"[..], 1),
        };
        out.extend_from_slice(bytes);
        rest = escape.get(used..).unwrap_or(&[]);
    }
    out.extend_from_slice(rest);
    match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Reads `\uXXXX` or a surrogate pair; gives the character and how many bytes it took.
fn unescape_unicode(escape: &[u8]) -> (char, usize) {
    let unit = |at: usize| -> Option<u32> {
        let digits = std::str::from_utf8(escape.get(at..at + 4)?).ok()?;
        if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            u32::from_str_radix(digits, 16).ok()
        } else {
            None
        }
    };
    let Some(first) = unit(2) else {
        return (char::REPLACEMENT_CHARACTER, 2);
    };
    if (0xd800..0xdc00).contains(&first)
        && escape.get(6..8) == Some(b"\\u")
        && let Some(second) = unit(8).filter(|second| (0xdc00..0xe000).contains(second))
    {
        let scalar = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(scalar).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

/// Writes text as a JSON string, quotes included, the way most programs do: only what must be escaped is.
///
/// ```
/// assert_eq!(plimsoll::wire::quote("a \"b\"\n"), r#""a \"b\"\n""#);
/// ```
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 16 + 2);
    quoted.push('"');
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        quoted.push_str(text.get(written..at).unwrap_or(""));
        written = at + 1;
        match byte {
            b'"' => quoted.push_str("\\\""),
            b'\\' => quoted.push_str("\\\\"),
            b'\n' => quoted.push_str("\\n"),
            b'\r' => quoted.push_str("\\r"),
            b'\t' => quoted.push_str("\\t"),
            control => {
                quoted.push_str("\\u00");
                for digit in [u32::from(control) >> 4, u32::from(control) & 15] {
                    quoted.push(char::from_digit(digit, 16).unwrap_or('0'));
                }
            }
        }
    }
    quoted.push_str(text.get(written..).unwrap_or(""));
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn surrogates_pair_up_or_are_replaced() {
        let read = |raw: &str| Text::json(raw.as_bytes(), true).decode().into_owned();
        assert_eq!(read(r"\ud83d\ude00"), "😀");
        assert_eq!(read(r"\ud83d"), "\u{fffd}");
        assert_eq!(read(r"\ud83dx"), "\u{fffd}x");
        assert_eq!(read(r"\ude00\ud83d"), "\u{fffd}\u{fffd}");
        assert_eq!(read(r"\ud83d\ud83d\ude00"), "\u{fffd}😀");
        assert_eq!(read(r"\u00"), "\u{fffd}00");
        assert_eq!(read(r"\q\"), "q\\");
    }

    #[test]
    fn the_start_of_a_long_text_cuts_no_escape_in_two() {
        let raw = r"\ud83d\ude00".repeat(1_000);
        let text = Text::json(raw.as_bytes(), true);
        let start = text.decode_start(10).into_owned();
        assert!(start.chars().all(|c| c == '😀'), "{start:?}");
        assert!(text.decode().starts_with(&start));
    }

    proptest! {
        #[test]
        fn quoting_reads_back(text: String) {
            let quoted = quote(&text);
            prop_assert_eq!(&serde_json::from_str::<String>(&quoted).unwrap(), &text);
            let inside = &quoted.as_bytes()[1..quoted.len() - 1];
            let decoded = Text::json(inside, true).decode().into_owned();
            prop_assert_eq!(decoded, text);
        }

        #[test]
        fn decoding_is_total(raw: Vec<u8>, start: u8) {
            let escaped = raw.contains(&b'\\');
            let text = Text::json(&raw, escaped);
            let _ = text.decode();
            let _ = text.decode_start(usize::from(start));
            prop_assert_eq!(text.is_blank(), text.decode().trim().is_empty());
        }

        #[test]
        fn the_start_is_a_prefix(text in "[a\\\\\u{1f600}\u{e9}\"]{0,300}", start in 0_usize..40) {
            let quoted = quote(&text);
            let inside = &quoted.as_bytes()[1..quoted.len() - 1];
            let read = Text::json(inside, true);
            let begin = read.decode_start(start).into_owned();
            prop_assert!(text.starts_with(&begin));
        }
    }
}
