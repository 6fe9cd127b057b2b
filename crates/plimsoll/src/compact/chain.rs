//! `Chain`: a hash for every prefix of a conversation, over what its messages mean to the model.

use std::collections::BTreeMap;
use std::fmt;

use memchr::{memchr2, memmem};
use serde::{Deserialize, Serialize};

use crate::transcript::{Author, Message};
use crate::wire::{Document, Format, Kind, Tape, Text, Value, quote};

/// The hash of a prefix: of its last message's meaning, and of the prefix before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<blake3::Hash> for ChainHash {
    fn from(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl From<ChainHash> for String {
    fn from(hash: ChainHash) -> Self {
        hash.to_string()
    }
}

/// Text that is no chain hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no chain hash: that is 64 hexadecimal digits")]
pub struct NoChainHash(String);

impl TryFrom<String> for ChainHash {
    type Error = NoChainHash;

    fn try_from(text: String) -> Result<Self, NoChainHash> {
        match blake3::Hash::from_hex(&text) {
            Ok(hash) => Ok(Self(*hash.as_bytes())),
            Err(_) => Err(NoChainHash(text)),
        }
    }
}

/// The hashes of all prefixes of a conversation.
///
/// A message is hashed by its meaning: as JSON without white space, keys sorted, of duplicate keys the last, strings
/// decoded, numbers as they are spelled. `cache_control` marks are left out and string content reads as one text block,
/// since clients move the one and rewrite the other from turn to turn. In a program's file the message alone counts,
/// not its entry's ids and times (rule: specification of compaction, *Putting it back*).
///
/// ```
/// use plimsoll::compact::Chain;
/// use plimsoll::wire::{ParseOptions, parse};
/// let plain = br#"{"max_tokens":9,"messages":[{"role":"user","content":"caf\u00e9"}]}"#;
/// let marked = r#"{"max_tokens":9,"messages":[{"content":[{"type":"text","text":"café","cache_control":{"type":"ephemeral"}}],"role":"user"}]}"#;
/// let chain = |body| Chain::of(&parse(body, &ParseOptions::default()).unwrap());
/// assert_eq!(chain(plain).prefix(1), chain(marked.as_bytes()).prefix(1));
/// assert_ne!(chain(plain).prefix(1), chain(plain).prefix(0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// One more than there are messages: the first is of the empty prefix.
    hashes: Vec<ChainHash>,
    /// How many messages of the operator lead.
    leading: usize,
    /// The hashes without those; `None` where there are none, and so no difference.
    without_leading: Option<Vec<ChainHash>>,
}

impl Chain {
    /// Hashes a document's messages.
    pub fn of(document: &Document<'_>) -> Self {
        let seed = format!("plimsoll chain 1 {}", document.format());
        let empty = ChainHash(*blake3::hash(seed.as_bytes()).as_bytes());
        let mut chain = Self { hashes: vec![empty], leading: 0, without_leading: None };
        chain.grow(document);
        chain
    }

    /// Hashes the messages that a document has beyond those of this chain. The caller knows that it has only grown.
    pub fn grow(&mut self, document: &Document<'_>) {
        self.push_all(document, self.len());
    }

    /// Hashes all messages of a view as those that follow the messages of this chain: a view of what is new in a
    /// request, such as [`MessageSpans::view`](crate::wire::MessageSpans::view) gives.
    pub fn extend(&mut self, view: &Document<'_>) {
        self.push_all(view, 0);
    }

    /// Whether the message of a view of one message means what this chain's message `index` means: it is the same, or
    /// spelled otherwise.
    pub fn repeats(&self, index: usize, view: &Document<'_>) -> bool {
        let (Some(before), Some(after)) = (self.prefix(index), self.prefix(index.saturating_add(1))) else {
            return false;
        };
        let mut messages = view.transcript().messages.iter();
        let (mut tape, mut canonical) = (Tape::default(), Vec::new());
        messages.next().is_some_and(|message| {
            let means = meaning(view, message, &mut tape, &mut canonical);
            link(before, means) == after
        })
    }

    fn push_all(&mut self, document: &Document<'_>, from: usize) {
        let (mut tape, mut canonical) = (Tape::default(), Vec::new());
        for message in document.transcript().messages.iter().skip(from) {
            let Some(before) = self.hashes.last().copied() else {
                return;
            };
            let means = meaning(document, message, &mut tape, &mut canonical);
            if message.author == Author::Operator && self.leading == self.len() {
                self.leading += 1;
                let empty = self.hashes.first().copied().unwrap_or(before);
                self.without_leading.get_or_insert_with(|| vec![empty]).push(empty);
            } else if let Some(hashes) = &mut self.without_leading {
                let last = hashes.last().copied().unwrap_or(before);
                hashes.push(link(last, means));
            }
            self.hashes.push(link(before, means));
        }
    }

    /// The chain of the first messages alone; of all, if there are no more.
    #[must_use]
    pub fn first(&self, messages: usize) -> Self {
        let first = |hashes: &Vec<ChainHash>| hashes.get(..=messages).unwrap_or(hashes).to_vec();
        Self {
            hashes: first(&self.hashes),
            leading: self.leading.min(messages),
            without_leading: self.without_leading.as_ref().map(first),
        }
    }

    /// How many messages it covers.
    pub fn len(&self) -> usize {
        self.hashes.len().saturating_sub(1)
    }

    /// Whether it covers none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The hash of the first `messages` messages; `None` if there are fewer.
    pub fn prefix(&self, messages: usize) -> Option<ChainHash> {
        self.hashes.get(messages).copied()
    }

    /// The hash of what a compaction of the first `messages` messages stands for: of those without the messages of the
    /// operator that lead, since they stay where they are. So a clock in a system message changes no epoch, wherever a format
    /// keeps that message. `None` if there are fewer.
    ///
    /// ```
    /// use plimsoll::compact::Chain;
    /// use plimsoll::wire::{ParseOptions, parse};
    /// let at = |time| format!(
    ///     r#"{{"model":"gpt-4o","messages":[{{"role":"system","content":"It is {time}."}},{{"role":"user","content":"Hi"}}]}}"#
    /// );
    /// let chain = |time| Chain::of(&parse(at(time).as_bytes(), &ParseOptions::default()).unwrap());
    /// assert_eq!(chain("noon").replaced(2), chain("midnight").replaced(2));
    /// assert_ne!(chain("noon").prefix(2), chain("midnight").prefix(2));
    /// ```
    pub fn replaced(&self, messages: usize) -> Option<ChainHash> {
        self.without_leading.as_ref().unwrap_or(&self.hashes).get(messages).copied()
    }

    /// The hash up to the first message that is not the operator's: how a conversation begins, whatever stands before it.
    pub fn opening(&self) -> Option<ChainHash> {
        self.replaced(self.leading.saturating_add(1))
    }

    /// How many messages of the operator lead.
    pub fn leading(&self) -> usize {
        self.leading
    }
}

/// The hash of what a message means.
fn meaning(document: &Document<'_>, message: &Message<'_>, tape: &mut Tape, canonical: &mut Vec<u8>) -> blake3::Hash {
    canonical.clear();
    write_message(document, message, tape, canonical);
    blake3::hash(canonical)
}

/// The hash of a prefix that ends with a message of this meaning.
fn link(before: ChainHash, means: blake3::Hash) -> ChainHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before.0);
    hasher.update(means.as_bytes());
    ChainHash(*hasher.finalize().as_bytes())
}

/// Where a value stands: what may be left out or rewritten depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A message or item.
    Message,
    /// A content block.
    Block,
    /// Anything else: tool arguments and such, where every key means something.
    Data,
}

fn write_message(document: &Document<'_>, message: &Message<'_>, tape: &mut Tape, out: &mut Vec<u8>) {
    for entry in &message.entries {
        let Some(entry) = document.entries().get(*entry as usize) else {
            continue;
        };
        let raw = entry.span.of(document.bytes());
        let read = tape.parse(document.bytes(), entry.span.start());
        match tape.root(document.bytes()).filter(|_| read.is_ok()) {
            Some(value) => {
                // In a program's session file the message stands inside the entry.
                let inside = value
                    .get("message")
                    .filter(|inside| document.format() == Format::ClaudeCode && inside.kind() == Kind::Object);
                match inside {
                    Some(inside) => write_parts(inside, &["content", "role"], out),
                    None => write(value, Place::Message, out),
                }
            }
            // Nested deeper than the tape goes: then its bytes are its meaning.
            None => out.extend_from_slice(raw),
        }
        out.push(b'\n');
    }
}

/// Writes only some fields of a message.
fn write_parts(value: Value<'_, '_>, names: &[&str], out: &mut Vec<u8>) {
    let role = value.get("role").and_then(Value::text);
    for name in names {
        if let Some(part) = value.get(name) {
            write_content(part, *name == "content", role, out);
        }
        out.push(b',');
    }
}

fn write(value: Value<'_, '_>, place: Place, out: &mut Vec<u8>) {
    match value.kind() {
        Kind::Object => write_object(value, place, out),
        Kind::Array => {
            out.push(b'[');
            for (index, element) in value.elements().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(element, place, out);
            }
            out.push(b']');
        }
        Kind::String => write_string(value.text().unwrap_or(Text::plain("")), out),
        Kind::Number | Kind::Bool | Kind::Null => out.extend_from_slice(value.raw()),
    }
}

fn write_object(value: Value<'_, '_>, place: Place, out: &mut Vec<u8>) {
    let fields = value.fields().map(|(key, value)| (key.decode(), value));
    // A later duplicate takes the place of the earlier one.
    let fields: BTreeMap<_, _> = fields.collect();
    let text = |name: &str| fields.get(name).and_then(|value| value.text());
    let role = text("role");
    let is_result = text("type").is_some_and(|kind| kind.is("tool_result"));
    let holds_content = match place {
        Place::Message => true,
        Place::Block => is_result,
        Place::Data => false,
    };
    out.push(b'{');
    let mut first = true;
    for (key, field) in &fields {
        if place != Place::Data && key == "cache_control" {
            continue;
        }
        if !first {
            out.push(b',');
        }
        first = false;
        write_string(Text::plain(key), out);
        out.push(b':');
        let is_content = holds_content && (key == "content" || key == "parts");
        if is_content {
            write_content(*field, true, role, out);
        } else {
            write(*field, Place::Data, out);
        }
    }
    out.push(b'}');
}

/// Writes content: blocks, or a string as the one text block that it stands for.
fn write_content(value: Value<'_, '_>, is_content: bool, role: Option<Text<'_>>, out: &mut Vec<u8>) {
    match value.kind() {
        Kind::String if is_content => {
            out.extend_from_slice(br#"[{"text":"#);
            write_string(value.text().unwrap_or(Text::plain("")), out);
            out.extend_from_slice(br#","type":"text"}]"#);
        }
        Kind::Array if is_content => {
            out.push(b'[');
            for (index, block) in value.elements().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_block(block, role, out);
            }
            out.push(b']');
        }
        _ => write(value, Place::Data, out),
    }
}

fn write_block(block: Value<'_, '_>, role: Option<Text<'_>>, out: &mut Vec<u8>) {
    // The Responses format names a text block by its side; a string stands for the one of its role.
    let kind = block.get("type").and_then(Value::text);
    let own = if role.is_some_and(|role| role.is("assistant")) { "output_text" } else { "input_text" };
    let is_plain = kind.is_some_and(|kind| kind.is(own));
    let others = block.fields().any(|(key, field)| {
        let empty = field.is_null() || (field.kind() == Kind::Array && field.elements().next().is_none());
        !(key.is("type") || key.is("text") || key.is("cache_control") || empty)
    });
    match block.get("text").and_then(Value::text).filter(|_| is_plain && !others) {
        Some(text) => {
            out.extend_from_slice(br#"{"text":"#);
            write_string(text, out);
            out.extend_from_slice(br#","type":"text"}"#);
        }
        None => write(block, Place::Block, out),
    }
}

/// Whether a string, if it is text at all, is spelled as [`quote`] would spell it.
fn is_canonical(text: Text<'_>) -> bool {
    let raw = text.raw();
    if raw.iter().any(|byte| *byte < b' ') {
        return false;
    }
    let mut rest = raw;
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        let escapes = matches!(rest.get(at..at + 2), Some([b'\\', b'"' | b'\\' | b'n' | b'r' | b't']));
        if !(escapes && text.is_escaped()) {
            return false;
        }
        rest = rest.get(at + 2..).unwrap_or(&[]);
    }
    // What is told apart by its spelling is looked at below.
    rest.len() == raw.len() || memmem::find(raw, "\u{fffd}".as_bytes()).is_none()
}

fn write_string(text: Text<'_>, out: &mut Vec<u8>) {
    let raw = text.raw();
    if is_canonical(text) && simdutf8::basic::from_utf8(raw).is_ok() {
        // Most strings are spelled as they would be written.
        out.push(b'"');
        out.extend_from_slice(raw);
        out.push(b'"');
        return;
    }
    write_anew(text, out);
}

/// Writes a string in the one spelling, whatever its own is.
fn write_anew(text: Text<'_>, out: &mut Vec<u8>) {
    let decoded = text.decode();
    out.extend_from_slice(quote(&decoded).as_bytes());
    if decoded.contains(char::REPLACEMENT_CHARACTER) {
        // What has no character (a lone surrogate) is told apart by its spelling.
        out.extend_from_slice(b"~");
        out.extend_from_slice(text.raw());
        out.extend_from_slice(b"~");
    }
}

#[cfg(test)]
#[path = "chain/tests.rs"]
mod tests;
