//! What holds of every format: totality, places, splicing, rewriting; on generated bodies and on real files.

mod bodies;
mod corpus;

use std::fmt::Write as _;

use super::*;
use crate::transcript::{Block, BlockKind, Message, ToolCall};
use crate::units::Tokens;

/// Renders a view compactly, a line a message.
pub(super) fn render(json: &str) -> String {
    let document = match parse(json.as_bytes(), &ParseOptions::default()) {
        Ok(document) => document,
        Err(error) => return format!("error: {error}"),
    };
    check_places(&document);
    let mut out = document.format().to_string();
    let mut field = |name: &str, text: Option<Text<'_>>| {
        if let Some(text) = text {
            let _ = write!(out, " {name}={}", text.decode());
        }
    };
    field("model", document.model());
    field("session", document.session());
    field("previous", document.previous());
    if let Some(max) = document.max_output() {
        let _ = write!(out, " max={}", max.0);
    }
    if let Some(window) = document.window() {
        let _ = write!(out, " window={}", window.0);
    }
    for tool in &document.transcript().tools {
        let name = tool.name.map(Text::decode).unwrap_or_default();
        let _ = write!(out, " tool={name}");
    }
    if !document.transcript().system.is_empty() {
        let _ = write!(out, "\nsystem:{}", blocks(&document.transcript().system));
    }
    for message in &document.transcript().messages {
        let _ = write!(out, "\n{} ({:?}):{}", message.role.name(), message.author, blocks(&message.blocks));
        if let Some(usage) = message.usage {
            let _ = write!(out, " usage={}+{}", usage.context().0, usage.output.0);
        }
    }
    for oddity in document.oddities() {
        let at = String::from_utf8_lossy(oddity.span.of(json.as_bytes()));
        let at: String = at.chars().take(40).collect();
        let _ = write!(out, "\nodd: {} {at}", oddity.kind.describe());
    }
    out
}

fn blocks(blocks: &[Block<'_>]) -> String {
    let shown: Vec<_> = blocks.iter().map(block).collect();
    if shown.is_empty() { String::new() } else { format!(" {}", shown.join(" ")) }
}

fn block(block: &Block<'_>) -> String {
    let show = |text: Option<Text<'_>>| text.map_or("-".to_owned(), |text| text.decode().into_owned());
    match &block.kind {
        BlockKind::Text(text) => format!("{text:?}"),
        BlockKind::Thinking { text, sealed } => {
            format!("think({}{})", show(*text), if *sealed { " sealed" } else { "" })
        }
        BlockKind::ToolCall(ToolCall { id, name, arguments, kind }) => {
            format!("call[{kind:?} {}]({} {})", show(*id), name.decode(), arguments.decode())
        }
        BlockKind::ToolResult(result) => {
            let error = match result.is_error {
                Some(true) => " error",
                Some(false) => " ok",
                None => "",
            };
            format!("result[{:?} {}{error}](", result.kind, show(result.call_id))
                + blocks(&result.content).trim_start()
                + ")"
        }
        BlockKind::Media(media) => {
            format!("{:?}({} {})", media.kind, show(media.media_type), show(media.data))
        }
        BlockKind::Compaction(text) => format!("compaction({})", show(*text)),
        BlockKind::Opaque(name) => format!("opaque({})", name.decode()),
    }
}

/// Entries are in bounds, ordered and apart; blocks lie inside the entries of their messages.
fn check_places(document: &Document<'_>) {
    let mut end = 0;
    for entry in document.entries() {
        assert!(entry.span.start() >= end, "entries overlap: {entry:?} starts before {end}");
        assert!(entry.span.end() <= document.bytes().len());
        end = entry.span.end();
    }
    for message in &document.transcript().messages {
        assert!(!message.entries.is_empty());
        for block in &message.blocks {
            check_block(document, message, block);
        }
    }
}

fn check_block(document: &Document<'_>, message: &Message<'_>, block: &Block<'_>) {
    let inside = message.entries.iter().any(|entry| document.entries()[*entry as usize].span.contains(block.span));
    assert!(inside, "a block lies outside its message: {block:?}");
    if let BlockKind::ToolResult(result) = &block.kind {
        for inner in &result.content {
            check_block(document, message, inner);
            assert!(block.span.contains(inner.span) || result.kind == crate::transcript::CallKind::Server);
        }
    }
}

fn plan(removed: std::ops::Range<usize>) -> Rewrite<'static> {
    Rewrite {
        removed,
        retained: &[],
        omitted: &[],
        continuation: "<plimsoll_continuation>\n\"so far\" \u{e9}",
        acknowledgement: "Understood.",
        tokens_before: Tokens(9),
        tokens_after: Tokens(1),
    }
}

/// Rewrites, splices, parses again, and checks what must hold of the result.
fn check_rewrite(document: &Document<'_>, rewrite: &Rewrite<'_>) -> Vec<u8> {
    let bytes = document.bytes();
    let messages = &document.transcript().messages;
    let edits = document.rewrite(rewrite).unwrap();
    let spliced = splice(bytes, &edits).unwrap().into_owned();
    let options = ParseOptions::default().with_format(Some(document.format()));
    let again = parse(&spliced, &options).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&spliced));
    });
    check_places(&again);
    let kept: Vec<usize> = (0..messages.len())
        .filter(|index| !rewrite.removed.contains(index) || rewrite.retained.contains(index))
        .collect();
    let first = kept.iter().filter(|index| **index < rewrite.removed.start).count();
    let now = &again.transcript().messages;
    let written = now.len() - kept.len();
    assert!(written == 1 || written == 2, "{written} messages were written");
    let continuation = &now[first];
    assert_eq!(continuation.role, crate::transcript::Role::User);
    assert_eq!(continuation.texts().next().unwrap().decode(), rewrite.continuation);
    if written == 2 {
        assert_eq!(now[first + 1].role, crate::transcript::Role::Assistant);
        assert_eq!(now[first + 1].texts().next().unwrap().decode(), rewrite.acknowledgement);
    }
    if rewrite.omitted.is_empty() {
        let raw = |document: &Document<'_>, message: &Message<'_>| -> Vec<Vec<u8>> {
            let span = |entry: &u32| document.entries()[*entry as usize].span;
            let bytes = document.bytes();
            message.entries.iter().map(|entry| span(entry).of(bytes).to_vec()).collect()
        };
        let others = (0..now.len()).filter(|index| !(first..first + written).contains(index));
        for (index, other) in kept.iter().zip(others) {
            assert_eq!(raw(document, &messages[*index]), raw(&again, &now[other]));
        }
    }
    spliced
}
