//! `Marker`: the line between head and tail that says what is missing and where it is kept.

use std::fmt::Write as _;
use std::ops::Range;

use super::kind::Kind;
use super::limit::BYTES_PER_TOKEN;
use super::policy::Saved;
use crate::Bytes;
use crate::id::ArtifactId;
use crate::utf16::Utf16;

/// How a marker begins. It says that the line is ours, since agents copy what they read into files.
const OPENING: &str = "[plimsoll, not part of the content: ";
const LEFT_OUT: &str = "; left out here: bytes ";
const WHOLE: &str = "; all of it is saved";
const FIRST: &str = "; first ";
const FIRST_END: &str = " bytes saved, the rest is lost";
const NOT: &str = "; what is left out could NOT be saved: run again with narrower output";
const ID: &str = "; recall id ";
const PATH: &str = "; file ";

/// What a capped text says of the whole. One line, without a time, a counter or anything else that changes.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::{Kind, Marker, Saved};
/// let marker = Marker {
///     kind: Kind::Log, encoding: None, bytes: Bytes(395_298), lines: 4_944, left_out: Some(9_000..376_000),
///     saved: Saved::Whole, id: Some("s1/toolu_01".parse()?), path: None,
/// };
/// assert_eq!(
///     marker.render(),
///     "[plimsoll, not part of the content: log, 395298 bytes, 4944 lines, ~98824 tokens; \
///      left out here: bytes 9000-376000; all of it is saved; recall id s1/toolu_01]",
/// );
/// assert_eq!(Marker::parse(&marker.render()), Some(marker));
/// # Ok::<(), plimsoll::id::IdError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The kind of content.
    pub kind: Kind,
    /// How the text is encoded that is shown as UTF-8: `log in UTF-16LE (shown as UTF-8)`. None of UTF-8 itself.
    pub encoding: Option<Utf16>,
    /// The size of the whole text. A quarter of it is shown as its tokens.
    pub bytes: Bytes,
    /// Its lines.
    pub lines: u64,
    /// Which bytes of it are left out between head and tail, if the marker has room to say so.
    pub left_out: Option<Range<u64>>,
    /// How much of it is kept.
    pub saved: Saved,
    /// The recall id.
    pub id: Option<ArtifactId>,
    /// The path of the stored text.
    pub path: Option<String>,
}

impl Marker {
    /// Writes the marker: one line, without a line feed.
    pub fn render(&self) -> String {
        let tokens = self.bytes.0 / BYTES_PER_TOKEN;
        let Self { kind, bytes: Bytes(bytes), lines, .. } = self;
        let encoding = self.encoding.map_or_else(String::new, encoded);
        let mut line = format!("{OPENING}{kind}{encoding}, {bytes} bytes, {lines} lines, ~{tokens} tokens");
        if let Some(Range { start, end }) = &self.left_out {
            let _ = write!(line, "{LEFT_OUT}{start}-{end}");
        }
        match self.saved {
            Saved::Whole => line.push_str(WHOLE),
            Saved::First(Bytes(first)) => {
                let _ = write!(line, "{FIRST}{first}{FIRST_END}");
            }
            Saved::Not => line.push_str(NOT),
        }
        if let Some(id) = &self.id {
            let _ = write!(line, "{ID}{id}");
        }
        if let Some(path) = &self.path {
            line.push_str(PATH);
            quote(&mut line, path);
        }
        line.push(']');
        line
    }

    /// Reads what [`render`](Self::render) writes, and nothing else.
    pub fn parse(line: &str) -> Option<Self> {
        let mut rest = line.strip_prefix(OPENING)?;
        let (kind, after) = rest.split_once(", ")?;
        let encoding = Utf16::ALL.into_iter().find(|encoding| kind.ends_with(&encoded(*encoding)));
        let kind = encoding.map_or(Some(kind), |encoding| kind.strip_suffix(&encoded(encoding)))?;
        let kind = Kind::named(kind)?;
        rest = after;
        let bytes = Bytes(number(&mut rest)?);
        rest = rest.strip_prefix(" bytes, ")?;
        let lines = number(&mut rest)?;
        rest = rest.strip_prefix(" lines, ~")?;
        if number(&mut rest)? != bytes.0 / BYTES_PER_TOKEN {
            return None;
        }
        rest = rest.strip_prefix(" tokens")?;
        let left_out = match rest.strip_prefix(LEFT_OUT) {
            None => None,
            Some(after) => {
                rest = after;
                let start = number(&mut rest)?;
                rest = rest.strip_prefix('-')?;
                Some(start..number(&mut rest)?)
            }
        };
        let saved = if let Some(after) = rest.strip_prefix(WHOLE) {
            rest = after;
            Saved::Whole
        } else if let Some(after) = rest.strip_prefix(NOT) {
            rest = after;
            Saved::Not
        } else {
            rest = rest.strip_prefix(FIRST)?;
            let first = number(&mut rest)?;
            rest = rest.strip_prefix(FIRST_END)?;
            Saved::First(Bytes(first))
        };
        let id = match rest.strip_prefix(ID) {
            None => None,
            Some(after) => {
                // No id holds either character.
                let (id, _) = after.split_once([';', ']'])?;
                rest = after.strip_prefix(id)?;
                Some(id.parse().ok()?)
            }
        };
        let path = match rest.strip_prefix(PATH) {
            None => None,
            Some(after) => {
                rest = after;
                Some(unquote(&mut rest)?)
            }
        };
        (rest == "]").then_some(Self { kind, encoding, bytes, lines, left_out, saved, id, path })
    }

    /// Finds the marker of a capped text: the span of its line, without the line feed, and what it says.
    ///
    /// A capped text may quote other markers: a log of an agent's own session, a file into which one was copied. Ours
    /// stands where its head ends, so of several the one that stands nearest to that place is taken, and one that
    /// speaks of less than the text at hand is not considered.
    pub fn find(text: &str) -> Option<(Range<usize>, Self)> {
        memchr::memmem::find_iter(text.as_bytes(), OPENING)
            .filter(|at| *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n'))
            .filter_map(|at| {
                let line = text.get(at..)?.split('\n').next()?;
                Some((at..at + line.len(), Self::parse(line)?))
            })
            .filter(|(_, marker)| marker.bytes >= Bytes::from(text.len()))
            .min_by_key(|(span, marker)| {
                let expected = marker.left_out.as_ref().map_or(0, |left_out| left_out.start);
                expected.abs_diff(span.start as u64)
            })
    }
}

/// What is said of a text that is shown in another encoding than it is stored in.
fn encoded(encoding: Utf16) -> String {
    format!(" in {} (shown as UTF-8)", encoding.name())
}

/// Takes a number off the front, only as it would be written.
fn number(rest: &mut &str) -> Option<u64> {
    let end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at_checked(end)?;
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    *rest = after;
    digits.parse().ok()
}

/// Writes a path in quotes; what would end the quotes or the line is escaped.
fn quote(line: &mut String, path: &str) {
    line.push('"');
    for c in path.chars() {
        match c {
            '"' | '\\' => line.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(line, "\\u{{{:x}}}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

fn unquote(rest: &mut &str) -> Option<String> {
    let mut path = String::new();
    let mut characters = rest.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => break,
            '\\' => match characters.next()? {
                c @ ('"' | '\\') => path.push(c),
                'u' => {
                    let (hex, after) = characters.as_str().strip_prefix('{')?.split_once('}')?;
                    let c = char::from_u32(u32::from_str_radix(hex, 16).ok()?)?;
                    // Only what is written so: everything has one form.
                    if format!("{:x}", u32::from(c)) != hex
                        || !(c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
                    {
                        return None;
                    }
                    path.push(c);
                    characters = after.chars();
                }
                _ => return None,
            },
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => return None,
            c => path.push(c),
        }
    }
    *rest = characters.as_str();
    Some(path)
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a wrong boundary is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) fn any_marker() -> impl Strategy<Value = Marker> {
        let saved = prop_oneof![
            Just(Saved::Whole),
            Just(Saved::Not),
            any::<u64>().prop_map(|first| Saved::First(Bytes(first))),
        ];
        let id = proptest::option::of("[A-Za-z0-9_-]{1,20}/[A-Za-z0-9_-]{1,20}(~[0-9a-f]{12})?");
        let numbers = (any::<u64>(), any::<u64>(), proptest::option::of((any::<u64>(), any::<u64>())));
        let encoding = proptest::option::of(prop_oneof![Just(Utf16::Le), Just(Utf16::Be)]);
        let kind = (0..Kind::ALL.len(), encoding);
        (kind, numbers, saved, id, proptest::option::of(any::<String>())).prop_map(
            |((kind, encoding), (bytes, lines, left_out), saved, id, path)| Marker {
                kind: Kind::ALL[kind],
                encoding,
                bytes: Bytes(bytes),
                lines,
                left_out: left_out.map(|(start, end)| start..end),
                saved,
                id: id.and_then(|id| id.parse().ok()),
                path,
            },
        )
    }

    proptest! {
        #[test]
        fn a_marker_reads_back_as_it_was(marker in any_marker()) {
            let line = marker.render();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(Marker::parse(&line), Some(marker));
        }

        #[test]
        fn what_parses_is_what_would_be_rendered(marker in any_marker(), at: prop::sample::Index, with: char) {
            let mut line: Vec<char> = marker.render().chars().collect();
            let place = at.index(line.len());
            line[place] = with;
            let line: String = line.into_iter().collect();
            if let Some(parsed) = Marker::parse(&line) {
                prop_assert_eq!(parsed.render(), line);
            }
        }
    }

    #[test]
    fn a_quoted_marker_is_not_taken_for_the_one_of_the_text() {
        let of = |bytes, start, id: &str| Marker {
            kind: Kind::Text,
            encoding: None,
            bytes: Bytes(bytes),
            lines: 1,
            left_out: Some(start..bytes - 10),
            saved: Saved::Whole,
            id: Some(id.parse().unwrap()),
            path: None,
        };
        let quoted = of(5_000_000, 40_000, "old/call").render();
        let head = format!("cat notes.md\n{quoted}\nmore of the file\n");
        let ours = of(9_000, head.len() as u64, "s1/new");
        let text = format!("{head}{}\nthe tail", ours.render());
        let (span, found) = Marker::find(&text).unwrap();
        assert_eq!((&text[span], found), (ours.render().as_str(), ours));
        // One that speaks of less than what is here cannot be of this text.
        let small = format!("{}\n{}", of(20, 0, "s1/old").render(), "x".repeat(100));
        assert_eq!(Marker::find(&small), None);
    }
}
