//! Anthropic Messages: request bodies, and the content blocks that Claude Code's session files share with them.

use super::document::Document;
use super::{Kind, OddityKind, Text, Value, detect, usage};
use crate::transcript::{
    Author, Block, BlockKind, CallKind, Media, MediaKind, Message, Role, Tool, ToolCall, ToolResult, author_of_user,
};
use crate::units::Tokens;

/// Reads a request body.
pub(super) fn parse<'a>(document: &mut Document<'a>, root: Value<'_, 'a>) -> Result<(), &'static str> {
    let Some(list) = detect::list(root) else {
        return Err("it has no array of messages with roles");
    };
    document.model = root.get("model").and_then(Value::text);
    document.max_output = root.get("max_tokens").and_then(Value::u64).map(Tokens);
    document.session = root.get("sessionId").and_then(Value::text);
    // Cline keeps the prompt under a name of its own.
    if let Some(system) = root.get("system").or_else(|| root.get("system_prompt")) {
        document.transcript.system = blocks(document, system);
    }
    document.transcript.tools = tools(root);
    for value in list.elements() {
        let entry = document.entry(value.span(), value.get("id").and_then(Value::text));
        let message = message(document, value, entry);
        document.transcript.messages.push(message);
    }
    Ok(())
}

/// Reads `tools`, which all formats but Gemini's spell alike.
pub(super) fn tools<'a>(root: Value<'_, 'a>) -> Vec<Tool<'a>> {
    let tools = root.get("tools").into_iter().flat_map(Value::elements);
    tools
        .map(|tool| {
            let named = tool.get("function").filter(|inner| inner.kind() == Kind::Object).unwrap_or(tool);
            Tool { span: tool.span(), name: named.get("name").and_then(Value::text) }
        })
        .collect()
}

/// An element among messages that is no object: carried, never interpreted.
pub(super) fn stray<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, entry: u32) -> Option<Message<'a>> {
    if value.kind() == Kind::Object {
        return None;
    }
    document.odd(OddityKind::UnexpectedShape, value.span());
    let block = Block { span: value.span(), kind: BlockKind::Opaque(Text::plain("")) };
    Some(Message::new(Role::Other, Author::Machinery, entry, vec![block]))
}

/// Reads one message.
pub(super) fn message<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, entry: u32) -> Message<'a> {
    if let Some(stray) = stray(document, value, entry) {
        return stray;
    }
    let name = value.get("role").and_then(Value::text);
    let role = match name {
        Some(name) if name.is("user") => Role::User,
        Some(name) if name.is("assistant") => Role::Assistant,
        Some(name) if name.is("system") => Role::System,
        _ => Role::Other,
    };
    if role == Role::Other {
        document.odd(OddityKind::UnknownRole, value.span());
    }
    let blocks = value.get("content").map(|content| blocks(document, content)).unwrap_or_default();
    let author = author(role, &blocks);
    let mut message = Message::new(role, author, entry, blocks);
    if role == Role::Assistant {
        message.usage = usage::of_message(value);
    }
    message
}

/// Who wrote a message of some role.
pub(super) fn author(role: Role, blocks: &[Block<'_>]) -> Author {
    match role {
        Role::User => author_of_user(blocks),
        Role::Assistant => Author::Model,
        Role::Tool => Author::Tool,
        Role::System => Author::Operator,
        Role::Other => Author::Machinery,
    }
}

/// Reads content: a string is one text block, an array is its elements.
pub(super) fn blocks<'a>(document: &mut Document<'a>, content: Value<'_, 'a>) -> Vec<Block<'a>> {
    match content.kind() {
        Kind::String => content
            .text()
            .map(|text| Block { span: content.span(), kind: BlockKind::Text(text) })
            .into_iter()
            .collect(),
        Kind::Array => content.elements().map(|value| block(document, value)).collect(),
        Kind::Null => Vec::new(),
        Kind::Object => vec![block(document, content)],
        Kind::Number | Kind::Bool => {
            document.odd(OddityKind::UnexpectedShape, content.span());
            vec![Block { span: content.span(), kind: BlockKind::Opaque(Text::json(content.raw(), false)) }]
        }
    }
}

/// Reads one content block.
pub(super) fn block<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Block<'a> {
    let kind = match value.kind() {
        // A string among blocks reads as text, as some programs write it.
        Kind::String => value.text().map(BlockKind::Text),
        Kind::Object => match value.get("type").and_then(Value::text) {
            Some(name) => typed(document, name, value),
            None => value.get("text").and_then(Value::text).map(BlockKind::Text),
        },
        _ => None,
    };
    let kind = kind.unwrap_or_else(|| {
        document.odd(OddityKind::UnknownBlock, value.span());
        BlockKind::Opaque(value.get("type").and_then(Value::text).unwrap_or(Text::plain("")))
    });
    Block { span: value.span(), kind }
}

fn typed<'a>(document: &mut Document<'a>, name: Text<'a>, value: Value<'_, 'a>) -> Option<BlockKind<'a>> {
    let text = |key| value.get(key).and_then(Value::text);
    let name = name.decode();
    Some(match name.as_ref() {
        "text" => BlockKind::Text(text("text")?),
        "thinking" => BlockKind::Thinking {
            text: text("thinking"),
            sealed: text("signature").is_some_and(|signature| !signature.is_empty()),
        },
        "redacted_thinking" => BlockKind::Thinking { text: None, sealed: true },
        "tool_use" => BlockKind::ToolCall(call(document, value, CallKind::Client)),
        "server_tool_use" | "mcp_tool_use" => BlockKind::ToolCall(call(document, value, CallKind::Server)),
        "tool_result" => BlockKind::ToolResult(result(document, value, CallKind::Client)),
        "image" => BlockKind::Media(media(value, MediaKind::Image)),
        // A document given as text is read as it; one given as blocks is carried; one given as data is media.
        "document" => {
            let source = value.get("source");
            let of = |key| source.and_then(|source| source.get(key));
            match of("type").and_then(Value::text).map(Text::decode).as_deref() {
                Some("text") => BlockKind::Text(of("data").and_then(Value::text)?),
                Some("content") => match of("content").and_then(Value::text) {
                    Some(content) => BlockKind::Text(content),
                    None => BlockKind::Opaque(text("type")?),
                },
                _ => BlockKind::Media(media(value, MediaKind::Document)),
            }
        }
        // Cline's way of showing a file: its content beside its path.
        "file" => BlockKind::Text(text("content")?),
        "container_upload" => BlockKind::Media(media(value, MediaKind::File)),
        "compaction" => BlockKind::Compaction(text("content")),
        "tool_reference" | "search_result" => BlockKind::Opaque(text("type")?),
        name if name.ends_with("_tool_result") => BlockKind::ToolResult(result(document, value, CallKind::Server)),
        _ => return None,
    })
}

fn call<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, kind: CallKind) -> ToolCall<'a> {
    let id = value.get("id").and_then(Value::text);
    if id.is_none() {
        document.odd(OddityKind::CallWithoutId, value.span());
    }
    let name = value.get("name").and_then(Value::text).unwrap_or(Text::plain(""));
    let arguments = value.get("input").map_or(Text::plain(""), |input| Text::json(input.raw(), false));
    ToolCall { id, name, arguments, kind }
}

fn result<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, kind: CallKind) -> ToolResult<'a> {
    let content = value.get("content").map(|content| match kind {
        // What a server tool returned is a zoo of shapes, none of them ours to edit: text where it is text, else opaque.
        CallKind::Server if content.kind() == Kind::Object => {
            let name = content.get("type").and_then(Value::text).unwrap_or(Text::plain(""));
            vec![Block { span: content.span(), kind: BlockKind::Opaque(name) }]
        }
        CallKind::Server if content.kind() == Kind::Array => content
            .elements()
            .map(|value| {
                let name = value.get("type").and_then(Value::text);
                let opaque = || BlockKind::Opaque(name.unwrap_or(Text::plain("")));
                Block {
                    span: value.span(),
                    kind: value.get("text").and_then(Value::text).map_or_else(opaque, BlockKind::Text),
                }
            })
            .collect(),
        _ => blocks(document, content),
    });
    // A provider's tool says by the type of its content that it failed (`web_search_tool_result_error`).
    let failed = value
        .get("content")
        .and_then(|content| content.get("type"))
        .and_then(Value::text)
        .filter(|kind| kind.raw().ends_with(b"_error"))
        .map(|_| true);
    ToolResult {
        call_id: value.get("tool_use_id").and_then(Value::text),
        content: content.unwrap_or_default(),
        is_error: value.get("is_error").and_then(Value::bool).or(failed),
        kind,
    }
}

fn media<'a>(value: Value<'_, 'a>, kind: MediaKind) -> Media<'a> {
    let source = value.get("source");
    let text = |key| source.and_then(|source| source.get(key)).and_then(Value::text);
    Media { kind, media_type: text("media_type"), data: text("data"), low_detail: false }
}

#[cfg(test)]
mod tests;
