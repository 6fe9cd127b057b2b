//! `Tape`: a flat index over JSON bytes, one pass, borrowed, so that a value's exact bytes are always at hand.
//!
//! `serde_json` can borrow raw values too, but each level that one descends into is scanned again, it refuses what
//! real programs write (`NaN`, lone surrogates), and it does not count depth inside a raw value. Here a document is
//! scanned once; every value is a node with its span, and what is not understood costs nothing further.
//!
//! Grammar: RFC 8259, but tolerant where tolerance cannot change what other bytes mean: `NaN` and `Infinity` are
//! scalars, strings may hold raw control characters and unknown escapes. Structure (commas, colons, brackets) is strict.

mod value;

use memchr::{memchr, memchr2};

pub use value::Value;

/// How deep JSON may nest, by default.
pub const MAX_DEPTH: usize = 128;

/// What a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A number, `NaN` and the infinities included.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`.
    Null,
}

/// Why bytes are not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// The bytes end inside a value.
    #[error("the JSON ends at byte {offset}, inside a value")]
    Truncated {
        /// Where the bytes end.
        offset: usize,
    },
    /// A byte that cannot stand there.
    #[error("unexpected {} at byte {offset}: not JSON", shown(*byte))]
    Unexpected {
        /// The byte.
        byte: u8,
        /// Its offset.
        offset: usize,
    },
    /// Nested deeper than allowed.
    #[error("nested deeper than {limit} levels at byte {offset}, which is more than is read")]
    TooDeep {
        /// The limit in levels.
        limit: usize,
        /// Where it was passed.
        offset: usize,
    },
}

fn shown(byte: u8) -> String {
    if byte.is_ascii_graphic() { format!("`{}`", char::from(byte)) } else { format!("byte 0x{byte:02x}") }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    /// For strings: whether a backslash occurs.
    escaped: bool,
    start: u32,
    end: u32,
    /// The index after this node's subtree.
    next: u32,
}

/// A flat index over one JSON value: 16 bytes a node, children after their parent.
///
/// ```
/// use plimsoll::wire::Tape;
/// let bytes = br#"{"role": "user", "n": 12345678901234567890123}"#;
/// let mut tape = Tape::default();
/// let end = tape.parse(bytes, 0).unwrap();
/// assert_eq!(end, bytes.len());
/// let root = tape.root(bytes).unwrap();
/// assert_eq!(root.get("role").unwrap().text().unwrap().decode(), "user");
/// assert_eq!(root.get("n").unwrap().raw(), b"12345678901234567890123");
/// ```
#[derive(Debug, Clone)]
pub struct Tape {
    nodes: Vec<Node>,
    open: Vec<u32>,
    max_depth: usize,
}

impl Default for Tape {
    fn default() -> Self {
        Self::with_max_depth(MAX_DEPTH)
    }
}

impl Tape {
    /// Makes an empty tape that refuses JSON nested deeper than `max_depth` levels.
    pub const fn with_max_depth(max_depth: usize) -> Self {
        Self { nodes: Vec::new(), open: Vec::new(), max_depth }
    }

    /// Indexes the one value that starts at or after `offset` (white space is skipped) and returns the offset after it.
    ///
    /// What follows the value is not looked at: a log may glue two objects together. An earlier value's nodes are
    /// dropped, so that one tape serves all lines of a file.
    ///
    /// # Errors
    /// [`JsonError`], with the offset, if there is no complete value.
    pub fn parse(&mut self, bytes: &[u8], offset: usize) -> Result<usize, JsonError> {
        self.nodes.clear();
        self.open.clear();
        let mut at = skip_space(bytes, offset);
        loop {
            // A value is due at `at`.
            let byte = byte_at(bytes, at)?;
            match byte {
                b'{' | b'[' => {
                    if self.open.len() >= self.max_depth {
                        return Err(JsonError::TooDeep { limit: self.max_depth, offset: at });
                    }
                    let kind = if byte == b'{' { Kind::Object } else { Kind::Array };
                    self.open.push(narrow(self.nodes.len()));
                    self.push(kind, false, at, at);
                    at = skip_space(bytes, at + 1);
                    let first = byte_at(bytes, at)?;
                    if first == if byte == b'{' { b'}' } else { b']' } {
                        at = self.close(at + 1);
                    } else {
                        if byte == b'{' {
                            at = self.key(bytes, at)?;
                        }
                        continue;
                    }
                }
                b'"' => at = self.string(bytes, at)?,
                _ => at = self.scalar(bytes, at)?,
            }
            // A value has ended at `at`: close what closes here, then find where the next value is due.
            loop {
                let Some(&parent) = self.open.last() else {
                    return Ok(at);
                };
                let in_object = self.nodes.get(parent as usize).is_some_and(|node| node.kind == Kind::Object);
                at = skip_space(bytes, at);
                match byte_at(bytes, at)? {
                    b',' => {
                        at = skip_space(bytes, at + 1);
                        if in_object {
                            at = self.key(bytes, at)?;
                        }
                        break;
                    }
                    b'}' if in_object => at = self.close(at + 1),
                    b']' if !in_object => at = self.close(at + 1),
                    byte => return Err(JsonError::Unexpected { byte, offset: at }),
                }
            }
        }
    }

    /// The indexed value; `bytes` must be those that were parsed.
    pub fn root<'t, 'a>(&'t self, bytes: &'a [u8]) -> Option<Value<'t, 'a>> {
        (!self.nodes.is_empty()).then_some(Value::root(self, bytes))
    }

    fn push(&mut self, kind: Kind, escaped: bool, start: usize, end: usize) {
        let next = narrow(self.nodes.len() + 1);
        self.nodes.push(Node { kind, escaped, start: narrow(start), end: narrow(end), next });
    }

    fn close(&mut self, end: usize) -> usize {
        let next = narrow(self.nodes.len());
        if let Some(node) = self.open.pop().and_then(|index| self.nodes.get_mut(index as usize)) {
            node.end = narrow(end);
            node.next = next;
        }
        end
    }

    /// Indexes a key and its colon; returns where its value is due.
    fn key(&mut self, bytes: &[u8], at: usize) -> Result<usize, JsonError> {
        match byte_at(bytes, at)? {
            b'"' => {}
            byte => return Err(JsonError::Unexpected { byte, offset: at }),
        }
        let at = self.string(bytes, at)?;
        let at = skip_space(bytes, at);
        match byte_at(bytes, at)? {
            b':' => Ok(skip_space(bytes, at + 1)),
            byte => Err(JsonError::Unexpected { byte, offset: at }),
        }
    }

    fn string(&mut self, bytes: &[u8], start: usize) -> Result<usize, JsonError> {
        let torn = || JsonError::Truncated { offset: bytes.len() };
        let inside = bytes.get(start + 1..).unwrap_or(&[]);
        let mut end = quote_or_backslash(inside).ok_or_else(torn)?;
        let escaped = inside.get(end) == Some(&b'\\');
        if escaped {
            // From here on only quotes are looked for: code is full of `\n`, and each would end a search for both. A
            // quote closes the string unless an odd number of backslashes stands before it. Every backslash is
            // counted for one quote at most, so this stays linear.
            loop {
                end += quote(inside.get(end..).unwrap_or(&[])).ok_or_else(torn)?;
                let before = inside.get(..end).unwrap_or(&[]);
                let slashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
                if slashes % 2 == 0 {
                    break;
                }
                end += 1;
            }
        }
        let end = start + 1 + end + 1;
        self.push(Kind::String, escaped, start, end);
        Ok(end)
    }

    fn scalar(&mut self, bytes: &[u8], start: usize) -> Result<usize, JsonError> {
        let rest = bytes.get(start..).unwrap_or(&[]);
        let len = rest
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')))
            .unwrap_or(rest.len());
        let kind = match rest.get(..len).unwrap_or(&[]) {
            b"null" => Kind::Null,
            b"true" | b"false" => Kind::Bool,
            b"NaN" | b"Infinity" | b"-Infinity" => Kind::Number,
            [b'-' | b'0'..=b'9', tail @ ..]
                if tail.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))
                    && tail.last().unwrap_or(&b'0').is_ascii_digit()
                    && (rest.first() != Some(&b'-') || len > 1) =>
            {
                Kind::Number
            }
            token => {
                // A literal that the end of the bytes cut short is torn, not wrong.
                let torn = len == rest.len()
                    && [&b"null"[..], b"true", b"false", b"NaN", b"Infinity", b"-Infinity"]
                        .iter()
                        .any(|literal| literal.starts_with(token));
                if torn || (len > 0 && len == rest.len() && token.first().is_some_and(u8::is_ascii_digit)) {
                    return Err(JsonError::Truncated { offset: bytes.len() });
                }
                return Err(JsonError::Unexpected { byte: byte_at(bytes, start)?, offset: start });
            }
        };
        self.push(kind, false, start, start + len);
        Ok(start + len)
    }
}

/// Offsets fit in 32 bits: documents are bounded before they are parsed, and the fallback only makes spans empty.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

fn byte_at(bytes: &[u8], at: usize) -> Result<u8, JsonError> {
    bytes.get(at).copied().ok_or(JsonError::Truncated { offset: bytes.len() })
}

/// The offset of the first quote or backslash.
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    let either = |word: u64| zero_bytes(word ^ (ONES * 0x22)) | zero_bytes(word ^ (ONES * 0x5c));
    near_or(bytes, either, |far| memchr2(b'"', b'\\', far))
}

/// The offset of the first quote.
fn quote(bytes: &[u8]) -> Option<usize> {
    near_or(bytes, |word| zero_bytes(word ^ (ONES * 0x22)), |far| memchr(b'"', far))
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The high bit of every byte that is zero. The lowest one is right; those above it may be wrong.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// Keys, short values and the stretches between escapes end within a few words: looking at those word by word costs
/// less than setting up a vector search for each. Long stretches are worth one.
fn near_or(bytes: &[u8], marks: impl Fn(u64) -> u64, search: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    const NEAR_WORDS: usize = 8;
    let (words, _) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().take(NEAR_WORDS).enumerate() {
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let near = words.len().min(NEAR_WORDS) * 8;
    search(bytes.get(near..)?).map(|found| found + near)
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests;
