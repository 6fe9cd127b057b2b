//! Appending a compaction to a rollout: one `compacted` line whose history is the continuation and the kept items.

use std::collections::HashSet;

use super::super::document::Document;
use super::super::rewrite::{Rewrite, without};
use super::super::{Edit, Span, quote, splice, stamp};
use super::Rollout;
use crate::transcript::{Message, Role};

/// How the program's own user messages begin that it adds again after a compaction.
const READDED: [&str; 3] = ["<environment_context>", "<user_instructions>", "# AGENTS.md instructions"];

/// Writes the line that is appended to a rollout so that the program resumes from the continuation and the kept items.
///
/// Items that stay although they stand before what leaves, or among it, follow the continuation. The program adds its
/// developer instructions and its notes on the environment again by itself, so they are left out.
pub(in super::super) fn append(
    document: &Document<'_>,
    rollout: &Rollout,
    rewrite: &Rewrite<'_>,
) -> Vec<Edit<'static>> {
    let text = quote(rewrite.continuation);
    let time = stamp::format(rollout.latest.unwrap_or(0).saturating_add(1));
    let ordinal = rollout.ordinal.map(|last| format!(r#","ordinal":{}"#, last.saturating_add(1))).unwrap_or_default();
    let mut out = Vec::new();
    if !document.bytes.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.extend_from_slice(
        format!(
            r#"{{"timestamp":"{time}"{ordinal},"type":"compacted","payload":{{"message":{text},"replacement_history":[{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]}}"#
        )
        .as_bytes(),
    );
    let messages = &document.transcript.messages;
    let omitted: HashSet<(usize, usize)> = rewrite.omitted.iter().copied().collect();
    let (before, after) = (0..rewrite.removed.start, rewrite.removed.end..messages.len());
    for index in before.chain(rewrite.retained.iter().copied()).chain(after) {
        let kept = messages.get(index).filter(|message| !is_readded(message));
        if let Some(item) =
            kept.and_then(|message| item(document, message, |block| omitted.contains(&(index, block))))
        {
            out.push(b',');
            out.extend_from_slice(&item);
        }
    }
    out.extend_from_slice(b"]}}\n");
    let end = document.bytes.len();
    Span::new(end, end).map(|span| Edit::replace(span, out)).into_iter().collect()
}

/// Whether the program puts a message there again by itself.
pub(super) fn is_readded(message: &Message<'_>) -> bool {
    match message.role {
        Role::System => true,
        Role::User => {
            let mut texts = message.texts().filter(|text| !text.is_blank()).peekable();
            let own = |text: super::super::Text<'_>| {
                let start = text.decode_start(64);
                READDED.iter().any(|opening| start.trim_start().starts_with(opening))
            };
            texts.peek().is_some() && texts.all(own)
        }
        _ => false,
    }
}

/// An item's bytes, without the blocks that are left out; `None` if nothing stays of it.
fn item(document: &Document<'_>, message: &Message<'_>, omitted: impl Fn(usize) -> bool) -> Option<Vec<u8>> {
    let entry = message.entries.first().and_then(|entry| document.entries.get(*entry as usize))?;
    if !message.blocks.is_empty() && (0..message.blocks.len()).all(&omitted) {
        return None;
    }
    let raw = entry.span.of(document.bytes);
    let start = entry.span.start();
    if raw.starts_with(b"\"") {
        // The message of a compaction that had no history.
        let head = br#"{"type":"message","role":"user","content":[{"type":"input_text","text":"#;
        return Some([head, raw, b"}]}"].concat());
    }
    let places: Vec<Span> = message.blocks.iter().map(|block| block.span).collect();
    let edits: Vec<Edit<'_>> = without(&places, omitted)
        .into_iter()
        .filter_map(|span| {
            Span::new(span.start().checked_sub(start)?, span.end().checked_sub(start)?).map(Edit::remove)
        })
        .collect();
    splice(raw, &edits).ok().map(std::borrow::Cow::into_owned)
}
