//! Appending a compaction to a session: a boundary, a summary, and the tail by reference or by copy.
//!
//! What the program needs was observed of several of its versions. Newer ones read a tail by reference: the boundary
//! names the lines that stay, and no line is written again. Older ones lose such a tail, so for them the kept lines
//! follow the summary once more, as one linear chain with ids of their own. Nothing before the appendix is touched.

use std::collections::{HashMap, HashSet};

use super::super::document::Document;
use super::super::rewrite::{Rewrite, without};
use super::super::stamp::{self, Ids};
use super::super::{Edit, Kind, Span, Tape, Text, Value, quote, splice};
use super::Session;

/// The first version that was seen to read a tail by reference.
const READS_REFERENCES: [u64; 3] = [2, 1, 197];

/// What copied lines say of their usage. The old numbers would make the program compact again at once.
const NO_USAGE: &[u8] =
    br#"{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}"#;

/// Writes what is appended to a session so that the program resumes from the continuation and the kept messages.
///
/// Messages that stay although they stand before what leaves, or among it, follow the continuation: the program sends
/// nothing before the summary.
pub(in super::super) fn append(
    document: &Document<'_>,
    session: &Session<'_>,
    rewrite: &Rewrite<'_>,
) -> Vec<Edit<'static>> {
    let kept = kept_lines(document, rewrite);
    let last = document.entries.last().map_or(&[][..], |entry| entry.span.of(document.bytes));
    let numbers: Vec<u8> = kept.iter().flat_map(|line| line.entry.to_le_bytes()).collect();
    let length = document.bytes.len().to_le_bytes();
    let mut appendix = Appendix {
        session,
        ids: Ids::new(&[&length, last, rewrite.continuation.as_bytes(), &numbers]),
        time: session.latest.unwrap_or(0),
        out: Vec::new(),
    };
    if !document.bytes.ends_with(b"\n") {
        // Glued to a torn line, the boundary would be lost with it.
        appendix.out.push(b'\n');
    }
    let (boundary, summary) = (appendix.ids.uuid(), appendix.ids.uuid());
    let by_reference = can_refer(document, session, &kept);
    appendix.boundary(rewrite, &boundary, &summary, by_reference.as_deref().unwrap_or(&[]));
    appendix.summary(rewrite, &boundary, &summary);
    if by_reference.is_none() {
        appendix.copies(&kept, summary);
    }
    let end = document.bytes.len();
    Span::new(end, end).map(|span| Edit::replace(span, appendix.out)).into_iter().collect()
}

/// A line that stays.
struct Kept<'a> {
    entry: u32,
    span: Span,
    raw: &'a [u8],
    uuid: Option<Text<'a>>,
    /// Which of the kept messages it belongs to.
    message: usize,
    /// The id of the response it belongs to.
    response: Option<Text<'a>>,
    /// Its blocks' places in the document, and whether each is left out.
    blocks: Vec<(Span, bool)>,
}

/// The lines of the messages that stay, in the order in which they are sent.
fn kept_lines<'a>(document: &Document<'a>, rewrite: &Rewrite<'_>) -> Vec<Kept<'a>> {
    let messages = &document.transcript.messages;
    let omitted: HashSet<(usize, usize)> = rewrite.omitted.iter().copied().collect();
    let before = 0..rewrite.removed.start;
    let after = rewrite.removed.end..messages.len();
    let mut lines: Vec<Kept<'a>> = Vec::new();
    for (number, index) in before.chain(rewrite.retained.iter().copied()).chain(after).enumerate() {
        let Some(message) = messages.get(index) else {
            continue;
        };
        let first = lines.len();
        for (at, block) in message.blocks.iter().enumerate() {
            let found = message.entries.iter().find_map(|entry| {
                let unit = document.entries.get(*entry as usize)?;
                unit.span.contains(block.span).then_some((*entry, unit))
            });
            let Some((entry, unit)) = found else { continue };
            let part = (block.span, omitted.contains(&(index, at)));
            let known = lines.iter_mut().skip(first).find(|line| line.entry == entry);
            if let Some(line) = known {
                line.blocks.push(part);
            } else {
                lines.push(Kept {
                    entry,
                    span: unit.span,
                    raw: unit.span.of(document.bytes),
                    uuid: unit.id,
                    message: number,
                    response: message.id,
                    blocks: vec![part],
                });
            }
        }
    }
    lines.retain(|line| line.blocks.iter().any(|(_, omitted)| !omitted));
    lines
}

/// The ids of the kept lines, if the program would find every one of them: one that it does not find, and it drops the
/// whole tail.
fn can_refer<'a>(document: &Document<'a>, session: &Session<'_>, kept: &[Kept<'a>]) -> Option<Vec<Text<'a>>> {
    let version = session.base.iter().find(|(name, _)| *name == "version")?.1;
    if session.sidechain || !reads_references(version) {
        return None;
    }
    let mut lines_of: HashMap<Text<'a>, u32> = HashMap::with_capacity(document.entries.len());
    for id in document.entries.iter().filter_map(|entry| entry.id) {
        *lines_of.entry(id).or_default() += 1;
    }
    let mut message_of: HashMap<Text<'a>, usize> = HashMap::new();
    let findable = |line: &Kept<'a>| {
        let whole = line.blocks.iter().all(|(_, omitted)| !omitted);
        let uuid = line.uuid.filter(|uuid| lines_of.get(uuid) == Some(&1))?;
        (whole && stands_alone(document.bytes, line.span)).then_some(uuid)
    };
    let mut uuids = Vec::with_capacity(kept.len());
    for line in kept {
        // Two messages of one response id would become one.
        if line.response.is_some_and(|id| *message_of.entry(id).or_insert(line.message) != line.message) {
            return None;
        }
        uuids.push(findable(line)?);
    }
    Some(uuids)
}

/// Whether a version, as it stands, is one that reads a tail by reference.
pub(super) fn reads_references(version: &[u8]) -> bool {
    let numbers = version.split(|byte| !byte.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut parsed = numbers.map(|part| std::str::from_utf8(part).ok().and_then(|part| part.parse::<u64>().ok()));
    let mut part = || parsed.next().flatten();
    match (part(), part(), part()) {
        (Some(major), Some(minor), patch) => [major, minor, patch.unwrap_or(0)] >= READS_REFERENCES,
        _ => false,
    }
}

/// Whether an object has its line to itself. The program skips lines that hold two.
fn stands_alone(bytes: &[u8], span: Span) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let before = bytes.get(..span.start()).unwrap_or(&[]);
    let after = bytes.get(span.end()..).unwrap_or(&[]);
    let edge = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == b'\n');
    edge(before.iter().rev().find(|byte| !blank(byte))) && edge(after.iter().find(|byte| !blank(byte)))
}

struct Appendix<'s, 'a> {
    session: &'s Session<'a>,
    ids: Ids,
    time: i64,
    out: Vec<u8>,
}

impl Appendix<'_, '_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// The next time: later than everything before it.
    fn tick(&mut self) -> String {
        self.time = self.time.saturating_add(1);
        stamp::format(self.time)
    }

    /// The fields that every line of the session has, as they stand there.
    fn base(&mut self) {
        self.text(if self.session.sidechain { r#""isSidechain":true"# } else { r#""isSidechain":false"# });
        for (name, raw) in &self.session.base {
            self.out.extend_from_slice(b",\"");
            self.out.extend_from_slice(name.as_bytes());
            self.out.extend_from_slice(b"\":");
            self.out.extend_from_slice(raw);
        }
    }

    fn boundary(&mut self, rewrite: &Rewrite<'_>, boundary: &str, summary: &str, tail: &[Text<'_>]) {
        self.text(r#"{"parentUuid":null,"logicalParentUuid":"#);
        match self.session.leaf {
            Some(leaf) => self.quoted(leaf),
            None => self.text("null"),
        }
        self.text(",");
        self.base();
        let time = self.tick();
        self.text(&format!(
            r#","type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"{time}","uuid":"{boundary}","level":"info","compactMetadata":{{"trigger":"manual","preTokens":{},"postTokens":{}"#,
            rewrite.tokens_before.0, rewrite.tokens_after.0
        ));
        if let [head, ..] = tail
            && let [.., last] = tail
        {
            self.text(r#","preservedSegment":{"headUuid":"#);
            self.quoted(*head);
            self.text(&format!(r#","anchorUuid":"{summary}","tailUuid":"#));
            self.quoted(*last);
            self.text(&format!(r#"}},"preservedMessages":{{"anchorUuid":"{summary}","uuids":["#));
            self.list(tail);
            self.text(r#"],"allUuids":["#);
            self.list(tail);
            self.text("]}");
        }
        self.text("}}\n");
    }

    fn summary(&mut self, rewrite: &Rewrite<'_>, boundary: &str, summary: &str) {
        self.text(&format!(r#"{{"parentUuid":"{boundary}","#));
        self.base();
        let (time, text) = (self.tick(), quote(rewrite.continuation));
        self.text(&format!(
            r#","type":"user","message":{{"role":"user","content":{text}}},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid":"{summary}","timestamp":"{time}"}}"#
        ));
        self.text("\n");
    }

    /// Writes the kept lines once more, as one chain that hangs on the summary.
    fn copies(&mut self, kept: &[Kept<'_>], summary: String) {
        let mut parent = summary;
        let mut renamed: HashMap<Text<'_>, String> = HashMap::new();
        let mut response: Option<(usize, String)> = None;
        for line in kept {
            let uuid = self.ids.uuid();
            let fresh = match response.take() {
                Some((message, id)) if message == line.message => id,
                _ => self.ids.message(),
            };
            let time = self.tick();
            let copied = copy(line, &Fresh { uuid: &uuid, parent: &parent, response: &fresh, time: &time }, &renamed);
            self.out.extend_from_slice(&copied);
            self.out.push(b'\n');
            renamed.extend(line.uuid.map(|old| (old, uuid.clone())));
            response = Some((line.message, fresh));
            parent = uuid;
        }
    }

    fn quoted(&mut self, text: Text<'_>) {
        self.out.push(b'"');
        self.out.extend_from_slice(text.raw());
        self.out.push(b'"');
    }

    fn list(&mut self, texts: &[Text<'_>]) {
        for (at, text) in texts.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.quoted(*text);
        }
    }
}

/// What a copied line says instead of what it said.
struct Fresh<'f> {
    uuid: &'f str,
    parent: &'f str,
    response: &'f str,
    time: &'f str,
}

/// Copies a line, with ids and times of its own and without the blocks that are left out. All else stays as it is.
fn copy(line: &Kept<'_>, fresh: &Fresh<'_>, renamed: &HashMap<Text<'_>, String>) -> Vec<u8> {
    let mut tape = Tape::with_max_depth(usize::MAX);
    let mut edits: Vec<Edit<'_>> = Vec::new();
    let parsed = tape.parse(line.raw, 0).ok().and_then(|_| tape.root(line.raw));
    let string = |text: &str| format!("\"{text}\"").into_bytes();
    let (mut has_uuid, mut has_parent, mut has_time) = (false, false, false);
    for (key, field) in parsed.into_iter().flat_map(Value::fields) {
        match key.decode().as_ref() {
            "uuid" => {
                has_uuid = true;
                edits.push(Edit::replace(field.span(), string(fresh.uuid)));
            }
            "parentUuid" => {
                has_parent = true;
                edits.push(Edit::replace(field.span(), string(fresh.parent)));
            }
            "timestamp" => {
                has_time = true;
                edits.push(Edit::replace(field.span(), string(fresh.time)));
            }
            // Results name the line of their call. That line has another id now.
            "sourceToolAssistantUUID" => {
                let now = field.text().and_then(|old| renamed.get(&old));
                edits.extend(now.map(|now| Edit::replace(field.span(), string(now))));
            }
            "message" => {
                for (key, field) in field.fields() {
                    if key.is("id") && field.kind() == Kind::String {
                        edits.push(Edit::replace(field.span(), string(fresh.response)));
                    } else if key.is("usage") && field.kind() == Kind::Object {
                        edits.push(Edit::replace(field.span(), NO_USAGE));
                    }
                }
            }
            _ => {}
        }
    }
    let mut missing = String::new();
    for (has, name, value) in [
        (has_uuid, "uuid", fresh.uuid),
        (has_parent, "parentUuid", fresh.parent),
        (has_time, "timestamp", fresh.time),
    ] {
        if !has {
            missing.extend(["\"", name, "\":\"", value, "\","]);
        }
    }
    if !missing.is_empty() {
        edits.extend(Span::new(1, 1).map(|start| Edit::replace(start, missing.into_bytes())));
    }
    let places: Vec<Span> = line.blocks.iter().map(|(span, _)| *span).collect();
    let leaving = without(&places, |at| line.blocks.get(at).is_some_and(|(_, omitted)| *omitted));
    let start = line.span.start();
    edits.extend(leaving.into_iter().filter_map(|span| {
        Span::new(span.start().checked_sub(start)?, span.end().checked_sub(start)?).map(Edit::remove)
    }));
    edits.sort_by_key(|edit| edit.span);
    // The edits are of different fields, so they never overlap.
    splice(line.raw, &edits).map_or_else(|_| line.raw.to_vec(), std::borrow::Cow::into_owned)
}
