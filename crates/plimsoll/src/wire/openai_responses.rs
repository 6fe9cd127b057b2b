//! `OpenAI` Responses: request bodies, and the items that Codex's rollouts share with them. One item is one message.

mod call;

use super::anthropic::{self, author};
use super::document::{Document, Layout};
use super::{Kind, OddityKind, Text, Value, media};
use crate::transcript::{Author, Block, BlockKind, CallKind, Media, MediaKind, Message, Role, ToolCall, ToolResult};
use crate::units::Tokens;

/// Reads a request body, or a bare array of items.
pub(super) fn parse<'a>(document: &mut Document<'a>, root: Value<'_, 'a>) -> Result<(), &'static str> {
    let input = match root.kind() {
        Kind::Array => Some(root),
        _ => root.get("input"),
    };
    let Some(input) = input.filter(|input| matches!(input.kind(), Kind::Array | Kind::String)) else {
        return Err("it has no `input` that is a string or an array");
    };
    document.model = text(root, "model");
    document.max_output = root.get("max_output_tokens").and_then(Value::u64).map(Tokens);
    document.previous = text(root, "previous_response_id").or_else(|| {
        let conversation = root.get("conversation")?;
        conversation.text().or_else(|| text(conversation, "id"))
    });
    if let Some(instructions) = root.get("instructions") {
        document.transcript.system = content(document, instructions);
    }
    document.transcript.tools = anthropic::tools(root);
    if let Some(text) = input.text() {
        document.layout = Layout::Single;
        let entry = document.entry(input.span(), None);
        let blocks = vec![block(input, BlockKind::Text(text))];
        let author = author(Role::User, &blocks);
        let message = Message::new(Role::User, author, entry, blocks);
        document.transcript.messages.push(message);
        return Ok(());
    }
    for value in input.elements() {
        let entry = document.entry(value.span(), None);
        let message = item(document, value, entry);
        document.transcript.messages.push(message);
    }
    Ok(())
}

/// Reads an item of `input`. Unknown items are opaque messages of the role `Other`.
pub(super) fn item<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, entry: u32) -> Message<'a> {
    let kind = text(value, "type");
    let name = kind.map(Text::decode).unwrap_or_default();
    let read = match name.as_ref() {
        "message" | "agent_message" => Some(message(document, value)),
        "" if value.get("role").is_some() => Some(message(document, value)),
        "reasoning" => Some((Role::Assistant, Author::Model, reasoning(value))),
        "compaction" | "compaction_summary" | "context_compaction" => {
            let kind = BlockKind::Compaction(text(value, "summary"));
            Some((Role::Assistant, Author::Summary, vec![block(value, kind)]))
        }
        "mcp_approval_request" => {
            let call = ToolCall {
                id: text(value, "id"),
                name: text(value, "name").unwrap_or(Text::plain("")),
                arguments: payload(value, "arguments"),
                kind: CallKind::Approval,
            };
            let blocks = vec![block(value, BlockKind::ToolCall(call))];
            Some((Role::Assistant, Author::Model, blocks))
        }
        "mcp_approval_response" => {
            let content = value.get("reason").map(|reason| content(document, reason)).unwrap_or_default();
            let result = ToolResult {
                call_id: text(value, "approval_request_id"),
                content,
                is_error: None,
                kind: CallKind::Approval,
            };
            let blocks = vec![block(value, BlockKind::ToolResult(result))];
            Some((Role::User, Author::Tool, blocks))
        }
        // Both stand for something that is not here: an earlier item on the server, the tools a server offers.
        "item_reference" | "mcp_list_tools" => {
            opaque(value, kind).map(|blocks| (Role::Assistant, Author::Model, blocks))
        }
        "compaction_trigger" => opaque(value, kind).map(|blocks| (Role::User, Author::Machinery, blocks)),
        // Tools that the operator adds in the middle: they have to stay, like a system message.
        "additional_tools" => opaque(value, kind).map(|blocks| (Role::System, Author::Operator, blocks)),
        name => call::call(document, value, name)
            .map(|blocks| (Role::Assistant, Author::Model, blocks))
            .or_else(|| call::output(document, value, name).map(|blocks| (Role::Tool, Author::Tool, blocks))),
    };
    let (role, author, blocks) = read.unwrap_or_else(|| {
        document.odd(OddityKind::UnknownEntry, value.span());
        let kind = BlockKind::Opaque(kind.unwrap_or(Text::plain("")));
        (Role::Other, Author::Machinery, vec![block(value, kind)])
    });
    let mut message = Message::new(role, author, entry, blocks);
    message.id = text(value, "id");
    message
}

fn message<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> (Role, Author, Vec<Block<'a>>) {
    let role = match text(value, "role").map(Text::decode).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => {
            document.odd(OddityKind::UnknownRole, value.span());
            Role::Other
        }
    };
    let blocks = value.get("content").map(|value| content(document, value)).unwrap_or_default();
    (role, author(role, &blocks), blocks)
}

/// A reasoning item is never altered, so its parts are views only: of the summary, else of the plain reasoning.
fn reasoning<'a>(value: Value<'_, 'a>) -> Vec<Block<'a>> {
    let sealed = text(value, "encrypted_content").is_some_and(|content| !content.is_empty());
    let parts = |key| {
        let parts = value.get(key).into_iter().flat_map(Value::elements);
        parts.filter_map(|part| Some((part, text(part, "text")?)))
    };
    let mut blocks: Vec<_> = parts("summary")
        .chain(parts("content"))
        .map(|(part, text)| {
            let text = Some(text);
            block(part, BlockKind::Thinking { text, sealed })
        })
        .collect();
    if blocks.is_empty() {
        let kind = BlockKind::Thinking { text: None, sealed };
        blocks.push(block(value, kind));
    }
    blocks
}

/// Reads content: a string is one text block, an array is its parts.
pub(super) fn content<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Vec<Block<'a>> {
    match value.kind() {
        Kind::Null => Vec::new(),
        Kind::Array => value.elements().map(|part| self::part(document, part)).collect(),
        _ => vec![part(document, value)],
    }
}

fn part<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Block<'a> {
    if let Some(text) = value.text() {
        return block(value, BlockKind::Text(text));
    }
    let kind = text(value, "type");
    let read = match kind.map(Text::decode).as_deref() {
        Some("input_text" | "output_text" | "text" | "summary_text") => text(value, "text").map(BlockKind::Text),
        Some("reasoning_text") => Some(BlockKind::Thinking { text: text(value, "text"), sealed: false }),
        Some("refusal") => text(value, "refusal").map(BlockKind::Text),
        Some("input_image" | "output_image" | "computer_screenshot" | "image") => {
            let low_detail = text(value, "detail").is_some_and(|detail| detail.is("low"));
            let media = media::from_url(MediaKind::Image, text(value, "image_url"));
            Some(BlockKind::Media(Media { low_detail, ..media }))
        }
        Some("input_file") => {
            Some(BlockKind::Media(media::from_data(MediaKind::Document, text(value, "file_data"), None)))
        }
        Some("input_audio") => {
            let audio = value.get("input_audio").unwrap_or(value);
            Some(BlockKind::Media(media::from_data(MediaKind::Audio, text(audio, "data"), None)))
        }
        // An operator's instructions may be a list of messages; a message among parts reads as its text.
        Some("message") => value
            .get("content")
            .and_then(|content| content.text().or_else(|| text(content.elements().next()?, "text")))
            .map(BlockKind::Text),
        // What only the provider can read.
        Some("encrypted_content") => kind.map(BlockKind::Opaque),
        _ => None,
    };
    let read = read.unwrap_or_else(|| {
        let odd = if kind.is_some() { OddityKind::UnknownBlock } else { OddityKind::UnexpectedShape };
        document.odd(odd, value.span());
        BlockKind::Opaque(kind.unwrap_or(Text::plain("")))
    });
    block(value, read)
}

/// A call's arguments as they stand: the inside of a string, or a value's own JSON.
pub(super) fn payload<'a>(value: Value<'_, 'a>, key: &str) -> Text<'a> {
    value.get(key).map_or(Text::plain(""), |value| value.text().unwrap_or_else(|| Text::json(value.raw(), false)))
}

fn opaque<'a>(value: Value<'_, 'a>, kind: Option<Text<'a>>) -> Option<Vec<Block<'a>>> {
    kind.map(|kind| vec![block(value, BlockKind::Opaque(kind))])
}

fn block<'a>(value: Value<'_, 'a>, kind: BlockKind<'a>) -> Block<'a> {
    Block { span: value.span(), kind }
}

fn text<'a>(value: Value<'_, 'a>, key: &str) -> Option<Text<'a>> {
    value.get(key).and_then(Value::text)
}

#[cfg(test)]
mod tests;
