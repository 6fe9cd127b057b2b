//! Sessions of Claude Code: read as the program itself reads them on resuming, appended to as it appends.
//!
//! Two passes. The first scans every line and keeps what ties lines together ([`mod@line`]); from that the live chain is
//! found ([`mod@chain`]). The second reads the content of the live lines only. Nothing is copied.
//!
//! Calls without results and results without calls are kept in the view, where the obligation model reports them,
//! although the program leaves both out of its request: a reader must see what the file holds.

mod append;
mod chain;
mod line;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

pub(super) use append::append;

use self::line::{Line, LineKind, Scan};
use super::document::{Document, Layout};
use super::{Format, Kind, Oddity, OddityKind, Tape, Text, Value, anthropic, lines::Lines};
use crate::transcript::{Author, Block, BlockKind, Message, Role, Usage};
use crate::units::Tokens;

/// What appending to a session needs to know of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Session<'a> {
    /// Fields that every line repeats, by name, as they stand in the last message line.
    base: Vec<(&'static str, &'a [u8])>,
    /// The last line of the conversation.
    leaf: Option<Text<'a>>,
    /// The latest time in the file, in milliseconds since 1970.
    latest: Option<i64>,
    /// Whether the file is a subagent's: a side conversation as a whole.
    sidechain: bool,
}

/// Reads a session.
pub(super) fn parse<'a>(
    bytes: &'a [u8],
    mut lines: Lines<'a>,
    tape: &mut Tape,
) -> Result<Document<'a>, &'static str> {
    let mut document = Document::new(bytes, Format::ClaudeCode, Layout::ClaudeCode(Session::default()));
    let mut scan = Scan::default();
    let mut oddities = Vec::new();
    while let Some((span, value)) = lines.next_object(tape, &mut oddities) {
        if !scan.take(span, value) {
            oddities.push(Oddity { kind: OddityKind::UnknownEntry, span });
        }
    }
    if scan.lines.is_empty() {
        return Err("it has no line that holds a JSON object");
    }
    document.entries.reserve(scan.lines.len());
    for line in &scan.lines {
        document.entry(line.span, line.uuid);
    }
    let live = chain::live(&scan, &mut oddities);
    document.oddities = oddities;
    document.session = scan.session;
    document.layout = Layout::ClaudeCode(Session {
        base: line::BASE_FIELDS.into_iter().zip(scan.base).filter_map(|(name, raw)| Some((name, raw?))).collect(),
        leaf: live.leaf.and_then(|leaf| scan.lines.get(leaf as usize)?.uuid),
        latest: scan.latest,
        sidechain: live.sidechain,
    });
    let mut responses = Responses::default();
    for at in live.lines {
        if let Some(line) = scan.lines.get(at as usize) {
            message(&mut document, tape, &mut responses, at, line);
        }
    }
    super::lines::note_missing_newline(&mut document);
    document.oddities.sort_by_key(|oddity| oddity.span);
    Ok(document)
}

/// Which message a response's next line belongs to.
#[derive(Debug, Default)]
struct Responses<'a> {
    open: HashMap<Text<'a>, usize>,
    /// Messages before this one are closed: somebody has spoken since.
    closed: usize,
}

/// Reads a line's content, as a message of its own or as more of the response it belongs to.
///
/// Results may stand between the lines of one response: the program sends them after the whole of it.
fn message<'a>(
    document: &mut Document<'a>,
    tape: &mut Tape,
    responses: &mut Responses<'a>,
    at: u32,
    line: &Line<'a>,
) {
    let role = match line.kind {
        LineKind::User => Role::User,
        LineKind::Assistant => Role::Assistant,
        LineKind::Boundary | LineKind::Other => return,
    };
    if line.error {
        return;
    }
    let root = line.message.filter(|span| tape.parse(document.bytes, span.start()).is_ok());
    let Some(value) = root.and_then(|_| tape.root(document.bytes)) else {
        document.odd(OddityKind::UnexpectedShape, line.span);
        return;
    };
    let blocks = value.get("content").map(|content| anthropic::blocks(document, content)).unwrap_or_default();
    let usage = value.get("usage").and_then(usage);
    let model =
        value.get("model").and_then(Value::text).filter(|model| !model.is("<synthetic>") && !model.is_empty());
    if role == Role::Assistant {
        document.model = model.or(document.model);
    }
    let open = line.response.and_then(|id| responses.open.get(&id)).filter(|at| **at >= responses.closed);
    if let Some(message) = open.and_then(|at| document.transcript.messages.get_mut(*at)) {
        message.blocks.extend(blocks);
        let place = message.entries.partition_point(|entry| *entry < at);
        message.entries.insert(place, at);
        // Usage grows while a response streams: the last line has the whole.
        message.usage = usage.or(message.usage);
        return;
    }
    if blocks.is_empty() {
        // Nothing in it, so nothing is sent.
        return;
    }
    let author = author(line, role, &blocks);
    let index = document.transcript.messages.len();
    match line.response {
        Some(id) if role == Role::Assistant => {
            responses.open.insert(id, index);
        }
        _ => {}
    }
    if role == Role::User && !matches!(blocks.first().map(|block| &block.kind), Some(BlockKind::ToolResult(_))) {
        responses.closed = index;
    }
    document.transcript.messages.push(Message {
        id: line.response,
        usage,
        model,
        ..Message::new(role, author, at, blocks)
    });
}

fn author(line: &Line<'_>, role: Role, blocks: &[Block<'_>]) -> Author {
    match anthropic::author(role, blocks) {
        _ if line.summary => Author::Summary,
        Author::User if line.meta => Author::Machinery,
        author => author,
    }
}

/// Reads the usage of a response. The numbers of input do not overlap in this format. All zeros, as the program writes
/// them for texts of its own, are no usage.
fn usage(value: Value<'_, '_>) -> Option<Usage> {
    if value.kind() != Kind::Object {
        return None;
    }
    let tokens = |name| Tokens(value.get(name).and_then(Value::u64).unwrap_or(0));
    let usage = Usage {
        input: tokens("input_tokens"),
        cache_read: tokens("cache_read_input_tokens"),
        cache_write: tokens("cache_creation_input_tokens"),
        output: tokens("output_tokens"),
    };
    (usage != Usage::default()).then_some(usage)
}
