//! `Rewrite`: a decision about a document's messages, turned into edits in the document's own format.

use std::ops::Range;

use super::document::{Envelope, Layout};
use super::{Document, Edit, Format, Kind, Span, Tape, Text, Value, claude_code, codex, gemini, openai_chat, quote};
use crate::transcript::{Message, Role};
use crate::units::Tokens;

/// What is to become of a document: a run of messages is replaced by a continuation message.
#[derive(Debug, Clone)]
pub struct Rewrite<'p> {
    /// The messages that leave, by index.
    pub removed: Range<usize>,
    /// Messages among them that stay verbatim all the same, ascending: the operator's, and open approvals.
    pub retained: &'p [usize],
    /// Blocks of the kept messages that are left out, as (message, block), ascending: earlier turns' thinking.
    pub omitted: &'p [(usize, usize)],
    /// The text of the message that stands in place of what leaves.
    pub continuation: &'p str,
    /// What the assistant answers to it, where the format needs one between two user messages.
    pub acknowledgement: &'p str,
    /// How many tokens the conversation had before, for programs that record it.
    pub tokens_before: Tokens,
    /// How many tokens the conversation has afterwards, for programs that record it.
    pub tokens_after: Tokens,
}

/// Why a rewrite cannot be carried out on a document. Nothing is edited then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The messages named do not exist, or none is named.
    #[error("cannot replace messages {}..{}: the transcript has {messages}", removed.start, removed.end)]
    OutOfRange {
        /// The messages that were to leave.
        removed: Range<usize>,
        /// How many messages there are.
        messages: usize,
    },
    /// The format has no place for the continuation.
    #[error("cannot rewrite this {format} document: {reason}")]
    Unsupported {
        /// The format.
        format: Format,
        /// Why.
        reason: &'static str,
    },
}

impl Document<'_> {
    /// Turns a decision into edits of this document, in ascending order, ready for [`splice`](super::splice).
    ///
    /// Request bodies and logs of messages get the continuation in place of what leaves. Files that a program resumes
    /// from are appended to in the program's own way.
    ///
    /// # Errors
    /// [`RewriteError`] if the messages do not exist, or the document has no place for a continuation.
    pub fn rewrite(&self, rewrite: &Rewrite<'_>) -> Result<Vec<Edit<'static>>, RewriteError> {
        let messages = self.transcript.messages.len();
        if rewrite.removed.is_empty() || rewrite.removed.end > messages {
            return Err(RewriteError::OutOfRange { removed: rewrite.removed.clone(), messages });
        }
        match &self.layout {
            Layout::Array => self.rewrite_array(rewrite),
            Layout::Lines => self.rewrite_lines(rewrite),
            Layout::Single => Err(RewriteError::Unsupported {
                format: self.format,
                reason: "its conversation is a single string, with nothing before the last message",
            }),
            Layout::ClaudeCode(session) => Ok(claude_code::append(self, session, rewrite)),
            Layout::Codex(rollout) => Ok(codex::append(self, rollout, rewrite)),
        }
    }

    /// One edit replaces the run of elements; what stays of it is written again after the continuation, byte for byte.
    fn rewrite_array(&self, rewrite: &Rewrite<'_>) -> Result<Vec<Edit<'static>>, RewriteError> {
        let leaving = self.leaving(rewrite)?;
        let (first, last) = (leaving.first(), leaving.last());
        let (Some(first), Some(last)) = (first, last) else {
            return Err(self.out_of_range(rewrite));
        };
        let mut written = self.written(rewrite, *first, *last);
        for entry in retained(self, rewrite).flat_map(|message| &message.entries) {
            written.push(self.span_of(*entry).of(self.bytes).to_vec());
        }
        let span = self.span_of(*first).join(self.span_of(*last));
        let mut edits = vec![Edit::replace(span, written.join(self.separator()))];
        self.omit(rewrite, &mut edits);
        Ok(edits)
    }

    /// The continuation takes the first leaving line's place; the lines between that are no messages stay.
    fn rewrite_lines(&self, rewrite: &Rewrite<'_>) -> Result<Vec<Edit<'static>>, RewriteError> {
        let leaving = self.leaving(rewrite)?;
        let (Some(first), Some(last)) = (leaving.first(), leaving.last()) else {
            return Err(self.out_of_range(rewrite));
        };
        let stays = |entry: &u32| retained(self, rewrite).any(|message| message.entries.contains(entry));
        let mut written = self.written(rewrite, *first, *last).join(&b"\n"[..]);
        let mut edits = Vec::new();
        for entry in &leaving {
            let span = self.span_of(*entry);
            let with = std::mem::take(&mut written);
            if with.is_empty() {
                if !stays(entry) {
                    edits.push(Edit::remove(self.line_of(span)));
                }
            } else if stays(entry) {
                let before = Span::new(span.start(), span.start()).unwrap_or(span);
                edits.push(Edit::replace(before, [with, b"\n".to_vec()].concat()));
            } else {
                edits.push(Edit::replace(span, with));
            }
        }
        self.omit(rewrite, &mut edits);
        Ok(edits)
    }

    /// The entries of the messages that leave, ascending; never none.
    fn leaving(&self, rewrite: &Rewrite<'_>) -> Result<Vec<u32>, RewriteError> {
        let leaving = self.transcript.messages.get(rewrite.removed.clone());
        let mut entries: Vec<u32> =
            leaving.unwrap_or(&[]).iter().flat_map(|message| &message.entries).copied().collect();
        entries.sort_unstable();
        if entries.is_empty() {
            return Err(self.out_of_range(rewrite));
        }
        Ok(entries)
    }

    fn out_of_range(&self, rewrite: &Rewrite<'_>) -> RewriteError {
        RewriteError::OutOfRange { removed: rewrite.removed.clone(), messages: self.transcript.messages.len() }
    }

    fn span_of(&self, entry: u32) -> Span {
        let entry = self.entries.get(entry as usize);
        entry.map(|entry| entry.span).unwrap_or_default()
    }

    /// What is removed with an object of a log: its line with the newline, if it stands alone on it.
    fn line_of(&self, span: Span) -> Span {
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
        let before = self.bytes.get(..span.start()).unwrap_or(&[]);
        let indent = before.iter().rev().take_while(blank).count();
        let after = self.bytes.get(span.end()..).unwrap_or(&[]);
        let space = after.iter().take_while(blank).count();
        let start = span.start() - indent;
        let opens = start == 0 || self.bytes.get(start - 1) == Some(&b'\n');
        match after.get(space) {
            Some(b'\n') if opens => Span::new(start, span.end() + space + 1).unwrap_or(span),
            None if opens => Span::new(start, span.end() + space).unwrap_or(span),
            _ => span,
        }
    }

    /// What stands between elements: as between the first two, so that what is written looks like the rest.
    fn separator(&self) -> &[u8] {
        let mut spans = self.entries.iter().map(|entry| entry.span);
        let gap = spans
            .next()
            .zip(spans.next())
            .and_then(|(first, second)| self.bytes.get(first.end()..second.start()))
            .unwrap_or(&[]);
        let mut visible = gap.iter().filter(|byte| !byte.is_ascii_whitespace());
        let is_separator = visible.next() == Some(&b',') && visible.next().is_none();
        if is_separator { gap } else { b"," }
    }

    /// The continuation, and the acknowledgement where the format needs one.
    fn written(&self, rewrite: &Rewrite<'_>, first: u32, last: u32) -> Vec<Vec<u8>> {
        let tail = self.transcript.messages.get(rewrite.removed.end..);
        let next = retained(self, rewrite).chain(tail.unwrap_or(&[])).find(|message| message.role != Role::System);
        let mut written = vec![self.message(Role::User, rewrite.continuation, first, last)];
        if self.needs_alternation() && next.is_some_and(|message| message.role == Role::User) {
            written.push(self.message(Role::Assistant, rewrite.acknowledgement, first, last));
        }
        written
    }

    /// Whether two user messages in a row are refused by (some) servers of this format. Programs that keep records
    /// make requests of them in their own way, and expect of an assistant's record what we cannot know.
    pub(crate) fn needs_alternation(&self) -> bool {
        matches!(self.format, Format::OpenaiChat | Format::Gemini) && self.envelope != Envelope::Record
    }

    /// Writes a plain message in this document's format, in place of the entries from `first` to `last`.
    fn message(&self, role: Role, text: &str, first: u32, last: u32) -> Vec<u8> {
        let assistant = role == Role::Assistant;
        let text = quote(text);
        match self.format {
            Format::Gemini => gemini::message_of(self.envelope, role, &text),
            Format::OpenaiResponses | Format::Codex => {
                let (role, kind) = if assistant { ("assistant", "output_text") } else { ("user", "input_text") };
                format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]}}"#)
            }
            Format::Anthropic | Format::ClaudeCode => {
                format!(r#"{{"role":"{}","content":{text}}}"#, role.name())
            }
            Format::OpenaiChat if self.envelope == Envelope::Record => {
                let (mut from, mut to) = (Tape::default(), Tape::default());
                let bytes = self.bytes;
                let read = |tape: &mut Tape, entry| tape.parse(bytes, self.span_of(entry).start()).is_ok();
                if read(&mut from, first)
                    && read(&mut to, last)
                    && let (Some(first), Some(last)) = (from.root(bytes), to.root(bytes))
                {
                    return openai_chat::record(first, last, role, &text);
                }
                openai_chat::message_of(self.envelope, role, &text)
            }
            Format::OpenaiChat => openai_chat::message_of(self.envelope, role, &text),
        }
        .into_bytes()
    }

    /// Leaves blocks out of kept messages, and messages whose every block is left out.
    fn omit(&self, rewrite: &Rewrite<'_>, edits: &mut Vec<Edit<'static>>) {
        let mut dropped = Vec::new();
        let mut tape = Tape::with_max_depth(usize::MAX);
        for run in rewrite.omitted.chunk_by(|one, other| one.0 == other.0) {
            let Some((index, _)) = run.first() else {
                continue;
            };
            let Some(kept) = self.transcript.messages.get(*index) else {
                continue;
            };
            if rewrite.removed.contains(index) {
                // It leaves, or it is retained byte for byte.
                continue;
            }
            let omitted = |block: &usize| run.iter().any(|(_, other)| other == block);
            if (0..kept.blocks.len()).all(|block| omitted(&block)) {
                dropped.extend_from_slice(&kept.entries);
                continue;
            }
            // An item of reasoning leaves as a whole or not at all.
            if matches!(self.format, Format::OpenaiResponses | Format::Codex) {
                continue;
            }
            let spans: Vec<Span> = run.iter().filter_map(|(_, block)| Some(kept.blocks.get(*block)?.span)).collect();
            for entry in &kept.entries {
                let start = self.span_of(*entry).start();
                if tape.parse(self.bytes, start).is_ok()
                    && let Some(root) = tape.root(self.bytes)
                {
                    let removals = without_values(root, &spans);
                    edits.extend(removals.into_iter().map(Edit::remove));
                }
            }
        }
        if matches!(self.layout, Layout::Lines) {
            let lines = dropped.iter().map(|entry| self.line_of(self.span_of(*entry)));
            edits.extend(lines.map(Edit::remove));
        } else {
            let entries: Vec<Span> = self.entries.iter().map(|entry| entry.span).collect();
            let gone = |index: usize| dropped.iter().any(|entry| *entry as usize == index);
            edits.extend(without(&entries, gone).into_iter().map(Edit::remove));
        }
        edits.sort_by_key(|edit| (edit.span.start(), edit.span.end()));
    }
}

/// The messages that stay verbatim among those that leave.
fn retained<'d, 'a>(document: &'d Document<'a>, rewrite: &Rewrite<'d>) -> impl Iterator<Item = &'d Message<'a>> {
    let messages = &document.transcript.messages;
    rewrite.retained.iter().filter_map(|index| messages.get(*index))
}

/// The bytes to remove so that some values inside a value are gone: elements of arrays, or whole fields.
fn without_values(root: Value<'_, '_>, gone: &[Span]) -> Vec<Span> {
    let mut removals = Vec::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        // Of duplicate keys the last counts, so an earlier one would come to light: all of a key leave together.
        let leaves = |key: Text<'_>| {
            let named = |(other, field): (Text<'_>, Value<'_, '_>)| {
                gone.contains(&field.span()) && other.decode() == key.decode()
            };
            value.fields().any(named)
        };
        let (parts, values): (Vec<Span>, Vec<(Value<'_, '_>, bool)>) = match value.kind() {
            Kind::Array => {
                value.elements().map(|element| (element.span(), (element, gone.contains(&element.span())))).unzip()
            }
            Kind::Object => value
                .members()
                .map(|(key, field)| {
                    let leaves = key.text().is_some_and(leaves);
                    (key.span().join(field.span()), (field, leaves))
                })
                .unzip(),
            _ => continue,
        };
        let is_gone = |index: usize| values.get(index).is_some_and(|(_, leaves)| *leaves);
        if values.is_empty() {
            continue;
        }
        if (0..values.len()).all(is_gone) {
            // Its brackets stay: what holds it decides whether it may be empty.
            removals.extend(parts.iter().copied().reduce(Span::join));
            continue;
        }
        removals.extend(without(&parts, is_gone));
        open.extend(values.into_iter().filter(|(_, leaves)| !leaves).map(|(value, _)| value));
    }
    removals
}

/// The bytes to remove so that some elements of an array are gone, each with one comma, while at least one stays.
pub(crate) fn without(elements: &[Span], gone: impl Fn(usize) -> bool) -> Vec<Span> {
    let mut removals = Vec::new();
    let mut kept_before: Option<Span> = None;
    let mut index = 0;
    while let Some(element) = elements.get(index) {
        if !gone(index) {
            kept_before = Some(*element);
            index += 1;
            continue;
        }
        let first = *element;
        while index < elements.len() && gone(index) {
            index += 1;
        }
        let removal = match (kept_before, elements.get(index)) {
            (Some(before), _) => {
                let last = elements.get(index - 1).copied().unwrap_or(first);
                Span::new(before.end(), last.end())
            }
            (None, Some(next)) => Span::new(first.start(), next.start()),
            (None, None) => None,
        };
        removals.extend(removal);
    }
    removals
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Kind, Tape, splice};
    use super::*;

    proptest! {
        #[test]
        fn elements_leave_with_one_comma_each(gone in prop::collection::vec(any::<bool>(), 1..9), pretty: bool) {
            prop_assume!(gone.iter().any(|gone| !gone));
            let values: Vec<usize> = (0..gone.len()).collect();
            let bytes = if pretty { serde_json::to_vec_pretty(&values) } else { serde_json::to_vec(&values) }.unwrap();
            let mut tape = Tape::default();
            tape.parse(&bytes, 0).unwrap();
            let spans: Vec<Span> = tape.root(&bytes).unwrap().elements().map(Value::span).collect();
            let edits: Vec<_> = without(&spans, |index| gone[index]).into_iter().map(Edit::remove).collect();
            let spliced = splice(&bytes, &edits).unwrap();
            let left: Vec<usize> = serde_json::from_slice(&spliced).unwrap();
            let expected: Vec<usize> = values.into_iter().filter(|value| !gone[*value]).collect();
            prop_assert_eq!(left, expected);
            tape.parse(&spliced, 0).unwrap();
            prop_assert_eq!(tape.root(&spliced).unwrap().kind(), Kind::Array);
        }
    }
}
