//! What a body has that an earlier one had not: found by comparing bytes, so that only what is new is read.

use std::ops::Range;

use super::document::{Document, Layout};
use super::json::MAX_DEPTH;
use super::{Format, Kind, Span, Tape, Value, anthropic, openai_chat, openai_responses};

/// Where the messages of a request body stand.
///
/// A client sends the whole conversation with every request. By the bytes of one request, and where its messages stand,
/// what of the next one is the same is found by comparing bytes; only what is new is parsed.
///
/// Bodies of Anthropic's Messages, `OpenAI`'s Chat Completions and Responses have them, if their messages are objects
/// in one array of the root object. Others (a single string as input, logs, bodies with duplicate keys) have none: they
/// are read whole.
///
/// ```
/// use plimsoll::compact::Chain;
/// use plimsoll::wire::{MessageSpans, ParseOptions, parse};
/// let before = br#"{"max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"stream":true}"#;
/// let after = br#"{"max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"}],"stream":true}"#;
/// let document = parse(before, &ParseOptions::default()).unwrap();
/// let (spans, chain) = (MessageSpans::of(&document).unwrap(), Chain::of(&document));
/// let grown = spans.grown(before, after, document.format(), |index, view| chain.repeats(index, view)).unwrap();
/// assert_eq!((grown.spans.len(), grown.respelled.len(), grown.same_envelope), (2, 0, true));
/// let view = grown.spans.view(after, document.format(), spans.len()..2);
/// assert_eq!(view.transcript().messages.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageSpans {
    messages: Vec<Span>,
    /// The offset of the array's closing bracket.
    end: usize,
}

/// What a later body is to an earlier one that it begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grown {
    /// Where its messages stand.
    pub spans: MessageSpans,
    /// The earlier body's messages that are spelled otherwise here, ascending: a mark on them has moved, say.
    pub respelled: Vec<usize>,
    /// Whether all that stands around the messages is the same, byte for byte.
    pub same_envelope: bool,
}

/// What of an earlier body a later one begins with.
struct Begun {
    messages: Vec<Span>,
    respelled: Vec<usize>,
    same_head: bool,
}

impl MessageSpans {
    /// Finds where a document's messages stand; `None` where they stand otherwise.
    pub fn of(document: &Document<'_>) -> Option<Self> {
        if !matches!(document.layout, Layout::Array) || list_key(document.format).is_none() {
            return None;
        }
        let one_each = document
            .transcript
            .messages
            .iter()
            .enumerate()
            .all(|(index, message)| matches!(message.entries.as_slice(), [entry] if *entry as usize == index));
        let messages: Vec<Span> = document.entries.iter().map(|entry| entry.span).collect();
        if !one_each || messages.len() != document.transcript.messages.len() {
            return None;
        }
        let bytes = document.bytes;
        let first = messages.first()?;
        let objects = messages.iter().all(|span| bytes.get(span.start()) == Some(&b'{'));
        let (start, _) = first_element(bytes, document.format)?;
        let end = skip_space(bytes, messages.last()?.end());
        let found = objects && start == first.start() && bytes.get(end) == Some(&b']');
        found.then_some(Self { messages, end })
    }

    /// How many messages there are: at least one.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no message. There always is one.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Where a message stands.
    pub fn message(&self, index: usize) -> Option<Span> {
        self.messages.get(index).copied()
    }

    /// Where the messages stand, in order.
    pub fn messages(&self) -> &[Span] {
        &self.messages
    }

    /// Tells what a later body has that this one has not. `None` if it does not begin with all messages of this one, in
    /// meaning at least, or is of another shape: then it is to be read whole.
    ///
    /// `repeats` says of a view of one message whether it means what message `index` means here; it is asked
    /// only about messages whose bytes differ.
    pub fn grown(
        &self,
        before: &[u8],
        after: &[u8],
        format: Format,
        mut repeats: impl FnMut(usize, &Document<'_>) -> bool,
    ) -> Option<Grown> {
        let mut tape = Tape::with_max_depth(MAX_DEPTH - 2);
        let Begun { mut messages, respelled, same_head } =
            self.begin(before, after, format, &mut repeats, &mut tape)?;
        if messages.len() < self.messages.len() {
            return None;
        }
        let mut end = skip_space(after, messages.last()?.end());
        while after.get(end) == Some(&b',') {
            let start = skip_space(after, end + 1);
            let span = Span::new(start, element(&mut tape, after, start)?)?;
            end = skip_space(after, span.end());
            messages.push(span);
        }
        if after.get(end) != Some(&b']') {
            return None;
        }
        let same_envelope = same_head && before.get(self.end..)? == after.get(end..)?;
        Some(Grown { spans: Self { messages, end }, respelled, same_envelope })
    }

    /// Tells how many messages of this body a later one begins with, in meaning at least: all of them, if it has only
    /// [grown](Self::grown). 0 if it is of another shape.
    pub fn shared(
        &self,
        before: &[u8],
        after: &[u8],
        format: Format,
        mut repeats: impl FnMut(usize, &Document<'_>) -> bool,
    ) -> usize {
        let mut tape = Tape::with_max_depth(MAX_DEPTH - 2);
        self.begin(before, after, format, &mut repeats, &mut tape).map_or(0, |begun| begun.messages.len())
    }

    /// Writes the body with only its first messages, and says where they stand in it. `None` if there are not so many, or
    /// none would be left.
    pub fn first(&self, bytes: &[u8], messages: usize) -> Option<(Vec<u8>, Self)> {
        let kept = self.messages.get(..messages)?;
        let end = kept.last()?.end();
        let (head, foot) = (bytes.get(..end)?, bytes.get(self.end..)?);
        Some(([head, foot].concat(), Self { messages: kept.to_vec(), end }))
    }

    /// Compares a later body with this one, message by message, as far as they mean the same.
    fn begin(
        &self,
        before: &[u8],
        after: &[u8],
        format: Format,
        repeats: &mut impl FnMut(usize, &Document<'_>) -> bool,
        tape: &mut Tape,
    ) -> Option<Begun> {
        if u32::try_from(after.len()).is_err() {
            return None;
        }
        let first = self.messages.first()?.start();
        let head = before.get(..first)?;
        let same_head = after.starts_with(head);
        let mut at = if same_head { first } else { first_element(after, format)?.0 };

        let mut messages = Vec::with_capacity(self.messages.len() + 8);
        let mut respelled = Vec::new();
        while let Some(span) = self.messages.get(messages.len()) {
            // All messages in a row whose bytes are the same, found by one comparison.
            let (old, new) = (before.get(span.start()..self.end)?, after.get(at..)?);
            let same = span.start() + common_prefix(old, new);
            let rest = self.messages.get(messages.len()..)?;
            let run = rest.partition_point(|span| span.end() <= same);
            let shifted =
                |span: &Span| Span::new(span.start() - first_of(rest) + at, span.end() - first_of(rest) + at);
            for span in rest.get(..run)? {
                messages.push(shifted(span)?);
            }
            if run == 0 {
                let here = element(tape, after, at).and_then(|end| Span::new(at, end));
                let Some(here) = here.filter(|here| repeats(messages.len(), &view_of(after, format, &[*here])))
                else {
                    break;
                };
                respelled.push(messages.len());
                messages.push(here);
            }
            if messages.len() < self.messages.len() {
                let Some(next) = after_comma(after, messages.last()?.end()) else { break };
                at = next;
            }
        }
        Some(Begun { messages, respelled, same_head })
    }

    /// Writes the body with no messages in it: what stands around them.
    pub fn envelope(&self, bytes: &[u8]) -> Vec<u8> {
        let first = self.messages.first().map_or(0, |span| span.start());
        let parts = [bytes.get(..first), bytes.get(self.end..)];
        parts.into_iter().flatten().flatten().copied().collect()
    }

    /// Lays a view over some of the messages. Nothing else of the body is in it; an index past the end is left out.
    pub fn view<'a>(&self, bytes: &'a [u8], format: Format, messages: Range<usize>) -> Document<'a> {
        let end = messages.end.min(self.messages.len());
        Self::view_spans(bytes, format, self.messages.get(messages.start.min(end)..end).unwrap_or(&[]))
    }

    /// Lays a view over the messages that stand at these places of any bytes, by [`view`](Self::view)'s rules.
    pub fn view_spans<'a>(bytes: &'a [u8], format: Format, spans: &[Span]) -> Document<'a> {
        view_of(bytes, format, spans)
    }
}

fn first_of(spans: &[Span]) -> usize {
    spans.first().map_or(0, |span| span.start())
}

/// The key of the root object under which a format has its messages.
const fn list_key(format: Format) -> Option<&'static str> {
    match format {
        Format::Anthropic | Format::OpenaiChat => Some("messages"),
        Format::OpenaiResponses => Some("input"),
        Format::Gemini | Format::ClaudeCode | Format::Codex => None,
    }
}

fn view_of<'a>(bytes: &'a [u8], format: Format, spans: &[Span]) -> Document<'a> {
    let mut document = Document::new(bytes, format, Layout::Array);
    let mut tape = Tape::with_max_depth(MAX_DEPTH - 2);
    for span in spans {
        if tape.parse(bytes, span.start()).is_err() {
            continue;
        }
        let Some(value) = tape.root(bytes) else {
            continue;
        };
        let entry = document.entry(value.span(), value.get("id").and_then(Value::text));
        let message = match format {
            Format::OpenaiChat => openai_chat::element(&mut document, value, entry),
            Format::OpenaiResponses => openai_responses::item(&mut document, value, entry),
            _ => anthropic::message(&mut document, value, entry),
        };
        document.transcript.messages.push(message);
    }
    document
}

/// Walks to the list of messages of a body's root object: gives the offset of its first element, which is an object,
/// and that of the list. Values on the way are skipped.
fn first_element(bytes: &[u8], format: Format) -> Option<(usize, usize)> {
    let wanted = list_key(format)?;
    let mut tape = Tape::with_max_depth(MAX_DEPTH - 1);
    let mut at = skip_space(bytes, 0);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    loop {
        at = skip_space(bytes, at + 1);
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let end = tape.parse(bytes, at).ok()?;
        let is_list = tape.root(bytes).and_then(Value::text)?.is(wanted);
        at = skip_space(bytes, end);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        at = skip_space(bytes, at + 1);
        if is_list {
            let element = skip_space(bytes, at + 1);
            let found = bytes.get(at) == Some(&b'[') && bytes.get(element) == Some(&b'{');
            return found.then_some((element, at));
        }
        at = skip_space(bytes, tape.parse(bytes, at).ok()?);
        if bytes.get(at) != Some(&b',') {
            return None;
        }
    }
}

/// Reads the object that starts here, and gives its end.
fn element(tape: &mut Tape, bytes: &[u8], at: usize) -> Option<usize> {
    let end = tape.parse(bytes, at).ok()?;
    tape.root(bytes).filter(|value| value.kind() == Kind::Object && value.span().start() == at)?;
    Some(end)
}

fn after_comma(bytes: &[u8], at: usize) -> Option<usize> {
    let comma = skip_space(bytes, at);
    (bytes.get(comma) == Some(&b',')).then(|| skip_space(bytes, comma + 1))
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or(&[]);
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// How many bytes two texts begin with in common. Whole blocks are compared at once.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    const BLOCK: usize = 4096;
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let same = BLOCK * blocks.take_while(|(one, other)| one == other).count();
    let rest = one.iter().skip(same).zip(other.iter().skip(same));
    same + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
#[path = "grown/tests.rs"]
mod tests;
