//! Rollouts of Codex: read as the program itself reads them on resuming, appended to as it appends.
//!
//! A rollout is a log of what happened; the history is what its response items add up to. A `compacted` line sets the
//! history anew: to its `replacement_history`, or, where it has none, to all earlier user messages and its `message`.
//! Two passes, as for sessions of Claude Code: one scan of every line, then the content of the live items alone.

mod append;
mod scan;
#[cfg(test)]
mod tests;

pub(super) use append::append;

use self::scan::{Item, Scan};
use super::document::{Document, Layout};
use super::{Format, Kind, OddityKind, Tape, Value, lines::Lines, openai_responses};
use crate::transcript::{Author, Block, BlockKind, Message, Role};

/// What appending to a rollout needs to know of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Rollout {
    /// The latest time in the file, in milliseconds since 1970.
    latest: Option<i64>,
    /// The highest number of a line, where lines are numbered.
    ordinal: Option<u64>,
}

/// Reads a rollout.
///
/// The entry of a live item is the item's own JSON: the payload of its line, or the element of the last compaction's
/// history, so that each can stay by itself, verbatim. Every other line is an entry as a whole.
pub(super) fn parse<'a>(
    bytes: &'a [u8],
    mut lines: Lines<'a>,
    tape: &mut Tape,
) -> Result<Document<'a>, &'static str> {
    let mut scan = Scan::default();
    let mut oddities = Vec::new();
    while let Some((span, value)) = lines.next_object(tape, &mut oddities) {
        scan.take(span, value, &mut oddities);
    }
    if scan.lines.is_empty() {
        return Err("it has no line that holds a JSON object");
    }
    let scan = scan.finish();
    let rollout = Rollout { latest: scan.latest, ordinal: scan.ordinal };
    let mut document = Document::new(bytes, Format::Codex, Layout::Codex(rollout));
    document.oddities = oddities;
    document.model = scan.model;
    document.session = scan.session;
    document.window = scan.window;

    let entries = entries(&mut document, &scan);
    for (item, entry) in scan.items.iter().zip(entries) {
        if tape.parse(bytes, item.span.start()).is_err() {
            continue;
        }
        if let Some(value) = tape.root(bytes) {
            let mut message = message(&mut document, item, value, entry);
            message.usage = item.usage;
            message.model = item.model;
            document.transcript.messages.push(message);
        }
    }
    super::lines::note_missing_newline(&mut document);
    document.oddities.sort_by_key(|oddity| oddity.span);
    Ok(document)
}

/// Makes the entries, and says which one each live item is.
fn entries(document: &mut Document<'_>, scan: &Scan<'_>) -> Vec<u32> {
    let mut entry_of = vec![0; scan.items.len()];
    // Items are in the order of their lines: what a history keeps is older than what follows it.
    let mut items = scan.items.iter().zip(&mut entry_of).peekable();
    for (at, line) in scan.lines.iter().enumerate() {
        let mut any = false;
        while let Some((item, entry)) = items.next_if(|(item, _)| item.line == at) {
            *entry = document.entry(item.span, None);
            any = true;
        }
        if !any {
            document.entry(*line, None);
        }
    }
    entry_of
}

fn message<'a>(document: &mut Document<'a>, item: &Item<'a>, value: Value<'_, 'a>, entry: u32) -> Message<'a> {
    if let Some(text) = value.text() {
        // The message of a compaction without a history, or a prompt that no item holds.
        let blocks = vec![Block { span: item.span, kind: BlockKind::Text(text) }];
        let author = if item.is_typed() { super::anthropic::author(Role::User, &blocks) } else { Author::Summary };
        return Message::new(Role::User, author, entry, blocks);
    }
    // The first versions wrote a message's text under its own name.
    let bare = value.get("content").is_none() && value.get("type").is_none();
    if let Some(text) = value.get("message").filter(|text| bare && text.kind() == Kind::String) {
        let mut message = openai_responses::item(document, value, entry);
        message.blocks =
            text.text().map(|read| Block { span: text.span(), kind: BlockKind::Text(read) }).into_iter().collect();
        message.author = super::anthropic::author(message.role, &message.blocks);
        return message;
    }
    if value.kind() != Kind::Object {
        document.odd(OddityKind::UnexpectedShape, item.span);
    }
    openai_responses::item(document, value, entry)
}
