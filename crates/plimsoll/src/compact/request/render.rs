//! A conversation as text, for a model that did not carry it on: roles marked, results and arguments cut, what tools
//! returned labelled as data.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use super::{Admission, Part, PartKind};
use crate::compact::prompt::{PREVIOUS, RECORD};
use crate::transcript::{Author, Block, BlockKind, Message, ToolCall, ToolResult, Turns, typed_words};
use crate::units::{Bytes, Tokens};
use crate::wire::Document;

/// How much of a result is shown, in characters.
pub(super) const RESULT: usize = 2_000;
/// How much of a call's arguments is shown, in characters.
pub(super) const ARGUMENTS: usize = 500;
/// What notes on what is left out may count, at the most.
pub(super) const MARGIN: Tokens = Tokens(96);

/// A conversation as text, by parts.
pub(super) struct Rendering {
    pieces: Vec<(String, Part)>,
    parts: Vec<Part>,
    typed: bool,
}

/// Renders some messages of a document.
pub(super) fn render(document: &Document<'_>, range: Range<usize>, count: &dyn Fn(&str) -> Tokens) -> Rendering {
    let transcript = document.transcript();
    let turns = Turns::of(transcript);
    let mut writer = Writer { pieces: Vec::new(), tools: HashMap::new(), count };
    let messages = transcript.messages.iter().enumerate().take(range.end).skip(range.start);
    let mut requests = 0;
    for (index, message) in messages {
        let turn = turns.starts().partition_point(|start| *start <= index);
        requests += usize::from(message.author == Author::User);
        writer.message(message, turn, requests);
    }
    let pieces = writer.pieces;
    let parts = pieces.iter().map(|(_, part)| *part).collect();
    let typed = pieces.iter().any(|(_, part)| part.kind == PartKind::Request);
    Rendering { pieces, parts, typed }
}

impl Rendering {
    /// What the parts are and count.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether there is anything to be read in it.
    pub(super) fn says_something(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The text of what was admitted, up to the end of the record.
    pub(super) fn text(&self, admission: &Admission) -> String {
        let length = self.pieces.iter().map(|(text, _)| text.len() + 1).sum::<usize>();
        let mut text = String::with_capacity(length + 256);
        if !self.typed {
            text.push_str(
                "[In this part no message of the user stands; the work goes on from what was asked before.]\n",
            );
        }
        let mut noted = false;
        for (index, (piece, _)) in self.pieces.iter().enumerate() {
            if admission.dropped.binary_search(&index).is_ok() {
                if !noted {
                    noted = true;
                    let _ = writeln!(
                        text,
                        "[Older parts are left out here for lack of room: {} turns, {} further steps.]",
                        admission.turns, admission.steps
                    );
                }
            } else if admission.results.binary_search(&index).is_ok() {
                let first = piece.lines().next().unwrap_or("");
                let _ = writeln!(text, "{first}[left out for lack of room]</tool_result>");
            } else {
                text.push_str(piece);
                text.push('\n');
            }
        }
        let _ = write!(text, "</{RECORD}>\n\n");
        text
    }
}

struct Writer<'w> {
    pieces: Vec<(String, Part)>,
    /// The names of tools by the ids of their calls.
    tools: HashMap<String, String>,
    count: &'w dyn Fn(&str) -> Tokens,
}

impl Writer<'_> {
    fn push(&mut self, text: String, kind: PartKind, turn: usize) {
        let tokens = (self.count)(&text) + Tokens(1);
        self.pieces.push((text, Part { tokens, kind, turn }));
    }

    fn message(&mut self, message: &Message<'_>, turn: usize, request: usize) {
        for result in message.results() {
            let text = self.result(result);
            self.push(text, PartKind::Result, turn);
        }
        let others = || message.blocks.iter().filter(|block| !matches!(block.kind, BlockKind::ToolResult(_)));
        let (element, kind) = match message.author {
            Author::User => (format!("user n=\"{request}\""), PartKind::Request),
            Author::Model => ("assistant".to_owned(), PartKind::Step),
            Author::Summary => (PREVIOUS.to_owned(), PartKind::Kept),
            Author::Operator => ("operator".to_owned(), PartKind::Step),
            Author::Tool | Author::Machinery => ("program".to_owned(), PartKind::Step),
        };
        let mut inside = String::new();
        for block in others() {
            let shown = self.block(block, message.author);
            if !shown.trim().is_empty() {
                inside.push_str(shown.trim_end());
                inside.push('\n');
            }
        }
        if !inside.is_empty() {
            let name = element.split(' ').next().unwrap_or("");
            self.push(format!("<{element}>\n{inside}</{name}>"), kind, turn);
        }
    }

    fn block(&mut self, block: &Block<'_>, author: Author) -> String {
        match &block.kind {
            BlockKind::Text(text) => {
                let text = text.decode();
                match author {
                    Author::User => closed(&typed_words(&text)),
                    Author::Model | Author::Summary => closed(&text),
                    // What programs and operators say stays in the conversation, or comes again by itself.
                    Author::Operator | Author::Machinery | Author::Tool => closed(&middle_out(&text, RESULT)),
                }
            }
            BlockKind::ToolCall(call) => self.call(call),
            BlockKind::Media(_) => media(block),
            BlockKind::Compaction(Some(text)) => closed(&text.decode()),
            // Reasoning went into what was said and done after it; what nobody can read says nothing.
            BlockKind::Thinking { .. } | BlockKind::Compaction(None) | BlockKind::ToolResult(_) => String::new(),
            BlockKind::Opaque(kind) => {
                let kind = kind.decode();
                if kind.is_empty() { String::new() } else { format!("[{}]", closed(&kind)) }
            }
        }
    }

    fn call(&mut self, call: &ToolCall<'_>) -> String {
        let name = attribute(&call.name.decode());
        if let Some(id) = call.id {
            self.tools.insert(id.decode().into_owned(), name.clone());
        }
        let arguments = middle_out(&call.arguments.decode(), ARGUMENTS);
        format!("<tool_call tool=\"{name}\">{}</tool_call>", closed(&arguments))
    }

    fn result(&self, result: &ToolResult<'_>) -> String {
        let tool = result.call_id.and_then(|id| self.tools.get(id.decode().as_ref()));
        let tool = tool.map_or(String::new(), |tool| format!(" tool=\"{tool}\""));
        let failed = if result.is_error == Some(true) { " failed=\"true\"" } else { "" };
        let mut inside = String::new();
        for block in &result.content {
            let shown = match &block.kind {
                BlockKind::Text(text) => text.decode().into_owned(),
                BlockKind::Media(_) => media(block),
                BlockKind::Opaque(kind) => format!("[{}]", kind.decode()),
                _ => String::new(),
            };
            if !inside.is_empty() {
                inside.push('\n');
            }
            inside.push_str(&shown);
        }
        format!("<tool_result{tool}{failed} data>\n{}\n</tool_result>", closed(&middle_out(&inside, RESULT)))
    }
}

/// A line that stands for media: its kind, type and size.
fn media(block: &Block<'_>) -> String {
    let BlockKind::Media(media) = &block.kind else {
        return String::new();
    };
    let kind = format!("{:?}", media.kind).to_lowercase();
    let media_type = media.media_type.map_or(String::new(), |name| format!(", {}", attribute(&name.decode())));
    let size = media.data.map_or(String::new(), |data| format!(", {}", Bytes(data.raw().len() as u64 / 4 * 3)));
    format!("[{kind}{media_type}{size}]")
}

/// A short text that can stand in an attribute.
fn attribute(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '<' | '>')).take(80).collect()
}

/// Cuts the middle out of a text of more than `limit` characters: the result has no more.
pub(super) fn middle_out(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let note = |left_out: usize| format!("\n[… {left_out} characters left out …]\n");
    let keep = limit.saturating_sub(note(length).chars().count());
    let (head, tail) = (keep - keep / 2, keep / 2);
    let head_end = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let tail_start =
        if tail == 0 { text.len() } else { text.char_indices().rev().nth(tail - 1).map_or(0, |(at, _)| at) };
    let (before, after) = (text.get(..head_end).unwrap_or(""), text.get(tail_start..).unwrap_or(""));
    format!("{before}{}{after}", note(length - keep))
}

/// The elements that a record is made of.
const ELEMENTS: [&str; 8] =
    ["user", "assistant", "operator", "program", "tool_call", "tool_result", PREVIOUS, RECORD];

/// Makes sure that nothing in a text ends the element that it stands in, or the record.
fn closed(text: &str) -> String {
    if !text.contains("</") {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        let (before, tag) = rest.split_at(at);
        safe.push_str(before);
        let name = tag.get(2..).unwrap_or("");
        let bare = name.trim_start();
        let ends = ELEMENTS
            .iter()
            .any(|element| bare.get(..element.len()).is_some_and(|start| start.eq_ignore_ascii_case(element)));
        safe.push_str(if ends { "<\\/" } else { "</" });
        rest = name;
    }
    safe.push_str(rest);
    safe
}
