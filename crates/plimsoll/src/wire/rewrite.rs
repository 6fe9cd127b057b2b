//! `Rewrite`: a decision about a document's messages, turned into edits in the document's own format.

use std::ops::Range;

use super::document::Layout;
use super::{Document, Edit, Format, Span, claude_code, codex, openai_chat, quote};
use crate::transcript::Role;
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

impl<'a> Document<'a> {
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
            return Err(RewriteError::OutOfRange {
                removed: rewrite.removed.clone(),
                messages,
            });
        }
        match &self.layout {
            Layout::Array => self.rewrite_array(rewrite, ","),
            Layout::Lines => self.rewrite_array(rewrite, "\n"),
            Layout::Single => Err(RewriteError::Unsupported {
                format: self.format,
                reason: "its conversation is a single string, with nothing before the last message",
            }),
            Layout::ClaudeCode(session) => Ok(claude_code::append(self, session, rewrite)),
            Layout::Codex(rollout) => Ok(codex::append(self, rollout, rewrite)),
        }
    }

    fn rewrite_array(
        &self,
        rewrite: &Rewrite<'_>,
        separator: &str,
    ) -> Result<Vec<Edit<'static>>, RewriteError> {
        let messages = &self.transcript.messages;
        let out_of_range = || RewriteError::OutOfRange {
            removed: rewrite.removed.clone(),
            messages: messages.len(),
        };
        let leaving = messages
            .get(rewrite.removed.clone())
            .ok_or_else(out_of_range)?;
        let entries = || leaving.iter().flat_map(|message| &message.entries);
        let span_of = |entry: u32| self.entries.get(entry as usize).map(|entry| entry.span);
        let first = entries()
            .min()
            .and_then(|entry| span_of(*entry))
            .ok_or_else(out_of_range)?;
        let last = entries()
            .max()
            .and_then(|entry| span_of(*entry))
            .ok_or_else(out_of_range)?;

        let mut written = vec![self.message(Role::User, rewrite.continuation)];
        let retained = || {
            rewrite
                .retained
                .iter()
                .filter_map(|index| messages.get(*index))
        };
        let next = retained()
            .chain(messages.get(rewrite.removed.end..).unwrap_or(&[]))
            .next();
        if self.needs_alternation() && next.is_some_and(|message| message.role == Role::User) {
            written.push(self.message(Role::Assistant, rewrite.acknowledgement));
        }
        for entry in retained().flat_map(|message| &message.entries) {
            let raw = span_of(*entry).unwrap_or_default().of(self.bytes);
            // Kept bytes that are not UTF-8 cannot go through a string; they are joined as bytes below.
            written.push(raw.to_vec());
        }
        let mut edits = vec![Edit::replace(
            first.join(last),
            written.join(separator.as_bytes()),
        )];
        self.omit_blocks(rewrite, &mut edits);
        Ok(edits)
    }

    /// Whether two user messages in a row are refused by (some) servers of this format.
    pub(crate) fn needs_alternation(&self) -> bool {
        matches!(self.format, Format::OpenaiChat | Format::Gemini)
    }

    /// Writes a plain message in this document's format.
    fn message(&self, role: Role, text: &str) -> Vec<u8> {
        let assistant = role == Role::Assistant;
        let text = quote(text);
        match self.format {
            Format::Gemini => {
                let role = if assistant { "model" } else { "user" };
                format!(r#"{{"role":"{role}","parts":[{{"text":{text}}}]}}"#)
            }
            Format::OpenaiResponses | Format::Codex => {
                let (role, kind) = if assistant { ("assistant", "output_text") } else { ("user", "input_text") };
                format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]}}"#)
            }
            Format::Anthropic | Format::ClaudeCode => {
                format!(r#"{{"role":"{}","content":{text}}}"#, role.name())
            }
            Format::OpenaiChat => openai_chat::message(self, role, &text),
        }
        .into_bytes()
    }

    /// Leaves blocks out of kept messages, and messages whose every block is left out.
    fn omit_blocks(&self, rewrite: &Rewrite<'_>, edits: &mut Vec<Edit<'static>>) {
        let mut rest = rewrite.omitted;
        while let Some((message, _)) = rest.first() {
            let run = rest
                .iter()
                .take_while(|(other, _)| other == message)
                .count();
            let (these, later) = rest.split_at(run);
            rest = later;
            let Some(kept) = self.transcript.messages.get(*message) else {
                continue;
            };
            let omitted = |index: usize| these.iter().any(|(_, block)| *block == index);
            if (0..kept.blocks.len()).all(omitted) {
                for entry in &kept.entries {
                    let span =
                        |entry: u32| self.entries.get(entry as usize).map(|entry| entry.span);
                    // Something always precedes it: at the least the continuation.
                    let before = entry.checked_sub(1).and_then(span).map_or(0, Span::end);
                    let end = span(*entry).map_or(before, Span::end);
                    edits.extend(Span::new(before, end).map(Edit::remove));
                }
            } else {
                let spans: Vec<Span> = kept.blocks.iter().map(|block| block.span).collect();
                edits.extend(without(&spans, omitted).into_iter().map(Edit::remove));
            }
        }
    }
}

/// The bytes to remove so that some elements of an array are gone, each with one comma, while at least one stays.
pub(super) fn without(elements: &[Span], gone: impl Fn(usize) -> bool) -> Vec<Span> {
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
            let spans: Vec<Span> = tape.root(&bytes).unwrap().elements().map(|value| value.span()).collect();
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
