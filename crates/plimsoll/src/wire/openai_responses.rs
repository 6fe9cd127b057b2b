//! `OpenAI` Responses: request bodies, and the items that Codex's rollouts share with them. One item is one message.

use super::anthropic::{self, author};
use super::document::{Document, Layout};
use super::{Kind, OddityKind, Text, Value, media};
use crate::transcript::{
    Author, Block, BlockKind, CallKind, MediaKind, Message, Role, ToolCall, ToolResult,
};
use crate::units::Tokens;

/// Reads a request body, or a bare array of items.
pub(super) fn parse<'a>(
    document: &mut Document<'a>,
    root: Value<'_, 'a>,
) -> Result<(), &'static str> {
    let input = match root.kind() {
        Kind::Array => Some(root),
        _ => root.get("input"),
    };
    let Some(input) = input.filter(|input| matches!(input.kind(), Kind::Array | Kind::String))
    else {
        return Err("it has no `input` that is a string or an array");
    };
    document.model = text(root, "model");
    document.max_output = root
        .get("max_output_tokens")
        .and_then(Value::u64)
        .map(Tokens);
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
pub(super) fn item<'a>(
    document: &mut Document<'a>,
    value: Value<'_, 'a>,
    entry: u32,
) -> Message<'a> {
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
            let content = value
                .get("reason")
                .map(|reason| content(document, reason))
                .unwrap_or_default();
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
        "compaction_trigger" => {
            opaque(value, kind).map(|blocks| (Role::User, Author::Machinery, blocks))
        }
        // Tools that the operator adds in the middle: they have to stay, like a system message.
        "additional_tools" => {
            opaque(value, kind).map(|blocks| (Role::System, Author::Operator, blocks))
        }
        name => call(document, value, name)
            .map(|blocks| (Role::Assistant, Author::Model, blocks))
            .or_else(|| {
                output(document, value, name).map(|blocks| (Role::Tool, Author::Tool, blocks))
            }),
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

fn message<'a>(
    document: &mut Document<'a>,
    value: Value<'_, 'a>,
) -> (Role, Author, Vec<Block<'a>>) {
    let role = match text(value, "role").map(Text::decode).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => {
            document.odd(OddityKind::UnknownRole, value.span());
            Role::Other
        }
    };
    let blocks = value
        .get("content")
        .map(|value| content(document, value))
        .unwrap_or_default();
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

/// Reads a call. What the provider ran by itself carries its result in the same item.
fn call<'a>(
    document: &mut Document<'a>,
    value: Value<'_, 'a>,
    kind: &str,
) -> Option<Vec<Block<'a>>> {
    let client = |name: Option<Text<'a>>, id: Option<Text<'a>>, arguments| ToolCall {
        id,
        name: name.unwrap_or(Text::plain("")),
        arguments: payload(value, arguments),
        kind: CallKind::Client,
    };
    let id = text(value, "call_id");
    let name = text(value, "name");
    let plain = |name| Some(Text::plain(name));
    let call = match kind {
        "function_call" => client(name, id, "arguments"),
        "custom_tool_call" => client(name, id, "input"),
        "local_shell_call" => {
            let id = id.or_else(|| text(value, "id"));
            client(plain("local_shell"), id, "action")
        }
        "shell_call" => client(plain("shell"), id, "action"),
        "apply_patch_call" => client(plain("apply_patch"), id, "operation"),
        "computer_call" => {
            let action = if value.get("actions").is_some() {
                "actions"
            } else {
                "action"
            };
            client(plain("computer"), id, action)
        }
        // Searching for tools is the client's work or the provider's, as the item says.
        "tool_search_call" => {
            let mut call = client(plain("tool_search"), id, "arguments");
            call.kind = searcher(value);
            call
        }
        "web_search_call" => {
            return Some(served(document, value, "web_search", "action", "results"));
        }
        "file_search_call" => {
            return Some(served(document, value, "file_search", "queries", "results"));
        }
        "code_interpreter_call" => {
            return Some(served(
                document,
                value,
                "code_interpreter",
                "code",
                "outputs",
            ));
        }
        "image_generation_call" => {
            return Some(served(
                document,
                value,
                "image_generation",
                "revised_prompt",
                "result",
            ));
        }
        "mcp_call" => return Some(served(document, value, "mcp", "arguments", "output")),
        _ => return None,
    };
    if call.id.is_none() && call.kind == CallKind::Client {
        document.odd(OddityKind::CallWithoutId, value.span());
    }
    Some(vec![block(value, BlockKind::ToolCall(call))])
}

fn searcher(value: Value<'_, '_>) -> CallKind {
    match text(value, "execution") {
        Some(execution) if execution.is("server") => CallKind::Server,
        Some(_) => CallKind::Client,
        None if text(value, "call_id").is_some() => CallKind::Client,
        None => CallKind::Server,
    }
}

/// A call that the provider ran, and its result, as two blocks of one item.
fn served<'a>(
    document: &mut Document<'a>,
    value: Value<'_, 'a>,
    name: &'static str,
    arguments: &str,
    result: &str,
) -> Vec<Block<'a>> {
    let id = text(value, "id").or_else(|| text(value, "call_id"));
    let asked = value.get(arguments);
    let call = ToolCall {
        id,
        name: text(value, "name").unwrap_or(Text::plain(name)),
        arguments: payload(value, arguments),
        kind: CallKind::Server,
    };
    let error = value.get("error").filter(|error| !error.is_null());
    let found = value.get(result).filter(|found| !found.is_null()).or(error);
    let content = match found {
        // The generated picture is the item's whole result, as bare base64.
        Some(found) if name == "image_generation" => {
            let media = media::from_data(MediaKind::Image, found.text(), None);
            vec![block(found, BlockKind::Media(media))]
        }
        Some(found) if found.kind() == Kind::Array => {
            found.elements().map(|part| served_part(part)).collect()
        }
        Some(found) => content(document, found),
        None => Vec::new(),
    };
    let result = ToolResult {
        call_id: id,
        content,
        is_error: error.map(|_| true),
        kind: CallKind::Server,
    };
    vec![
        block(asked.unwrap_or(value), BlockKind::ToolCall(call)),
        block(found.unwrap_or(value), BlockKind::ToolResult(result)),
    ]
}

/// A part of what a provider's tool returned: text where it has text, else opaque; none of it is ours to edit.
fn served_part<'a>(value: Value<'_, 'a>) -> Block<'a> {
    let kind = match text(value, "text").or_else(|| text(value, "logs")) {
        Some(text) => BlockKind::Text(text),
        None => BlockKind::Opaque(text(value, "type").unwrap_or(Text::plain(""))),
    };
    block(value, kind)
}

fn output<'a>(
    document: &mut Document<'a>,
    value: Value<'_, 'a>,
    kind: &str,
) -> Option<Vec<Block<'a>>> {
    let known = matches!(
        kind,
        "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "shell_call_output"
            | "apply_patch_call_output"
            | "computer_call_output"
            | "tool_search_output"
    );
    if !known {
        return None;
    }
    let searched = kind == "tool_search_output";
    let content = match value.get(if searched { "tools" } else { "output" }) {
        Some(tools) if searched => vec![block(tools, BlockKind::Opaque(Text::plain("tools")))],
        Some(output) => outcome(document, output),
        None => Vec::new(),
    };
    let result = ToolResult {
        call_id: text(value, "call_id")
            .or_else(|| text(value, "id").filter(|_| kind.starts_with("local"))),
        content,
        is_error: text(value, "status")
            .filter(|status| status.is("failed"))
            .map(|_| true),
        kind: if searched {
            searcher(value)
        } else {
            CallKind::Client
        },
    };
    Some(vec![block(value, BlockKind::ToolResult(result))])
}

/// What a client's tool returned: a string, a list of parts, an object, or nothing.
fn outcome<'a>(document: &mut Document<'a>, output: Value<'_, 'a>) -> Vec<Block<'a>> {
    match output.kind() {
        Kind::Null => Vec::new(),
        // Shell output comes as a list of `{stdout, stderr, outcome}`; Codex wraps a text as `{content, success}`.
        Kind::Array
            if output
                .elements()
                .any(|part| part.get("stdout").is_some() || part.get("stderr").is_some()) =>
        {
            output.elements().flat_map(|part| streams(part)).collect()
        }
        Kind::Object => {
            let streams = streams(output);
            if !streams.is_empty() {
                return streams;
            }
            for key in ["content", "content_items", "output"] {
                if let Some(inner) = output.get(key).filter(|inner| !inner.is_null()) {
                    return content(document, inner);
                }
            }
            content(document, output)
        }
        _ => content(document, output),
    }
}

fn streams<'a>(value: Value<'_, 'a>) -> Vec<Block<'a>> {
    ["stdout", "stderr"]
        .into_iter()
        .filter_map(|key| value.get(key))
        .filter_map(|stream| Some(block(stream, BlockKind::Text(stream.text()?))))
        .collect()
}

/// Reads content: a string is one text block, an array is its parts.
pub(super) fn content<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Vec<Block<'a>> {
    match value.kind() {
        Kind::Null => Vec::new(),
        Kind::Array => value
            .elements()
            .map(|part| self::part(document, part))
            .collect(),
        _ => vec![part(document, value)],
    }
}

fn part<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Block<'a> {
    if let Some(text) = value.text() {
        return block(value, BlockKind::Text(text));
    }
    let kind = text(value, "type");
    let read = match kind.map(Text::decode).as_deref() {
        Some("input_text" | "output_text" | "text" | "summary_text") => {
            text(value, "text").map(BlockKind::Text)
        }
        Some("reasoning_text") => Some(BlockKind::Thinking {
            text: text(value, "text"),
            sealed: false,
        }),
        Some("refusal") => text(value, "refusal").map(BlockKind::Text),
        Some("input_image" | "output_image" | "computer_screenshot" | "image") => {
            let media = media::from_url(MediaKind::Image, text(value, "image_url"));
            Some(BlockKind::Media(media))
        }
        Some("input_file") => Some(BlockKind::Media(media::from_data(
            MediaKind::Document,
            text(value, "file_data"),
            None,
        ))),
        Some("input_audio") => {
            let audio = value.get("input_audio").unwrap_or(value);
            Some(BlockKind::Media(media::from_data(
                MediaKind::Audio,
                text(audio, "data"),
                None,
            )))
        }
        // An operator's instructions may be a list of messages; a message among parts reads as its text.
        Some("message") => value
            .get("content")
            .and_then(|content| {
                content
                    .text()
                    .or_else(|| text(content.elements().next()?, "text"))
            })
            .map(BlockKind::Text),
        // What only the provider can read.
        Some("encrypted_content") => kind.map(BlockKind::Opaque),
        _ => None,
    };
    let read = read.unwrap_or_else(|| {
        let odd = if kind.is_some() {
            OddityKind::UnknownBlock
        } else {
            OddityKind::UnexpectedShape
        };
        document.odd(odd, value.span());
        BlockKind::Opaque(kind.unwrap_or(Text::plain("")))
    });
    block(value, read)
}

/// A call's arguments as they stand: the inside of a string, or a value's own JSON.
pub(super) fn payload<'a>(value: Value<'_, 'a>, key: &str) -> Text<'a> {
    value.get(key).map_or(Text::plain(""), |value| {
        value
            .text()
            .unwrap_or_else(|| Text::json(value.raw(), false))
    })
}

fn opaque<'a>(value: Value<'_, 'a>, kind: Option<Text<'a>>) -> Option<Vec<Block<'a>>> {
    kind.map(|kind| vec![block(value, BlockKind::Opaque(kind))])
}

fn block<'a>(value: Value<'_, 'a>, kind: BlockKind<'a>) -> Block<'a> {
    Block {
        span: value.span(),
        kind,
    }
}

fn text<'a>(value: Value<'_, 'a>, key: &str) -> Option<Text<'a>> {
    value.get(key).and_then(Value::text)
}

#[cfg(test)]
mod tests;
