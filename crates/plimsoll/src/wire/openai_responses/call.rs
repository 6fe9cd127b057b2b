//! The calls and outputs among the items: run by the client, or by the provider.

use super::{block, content, payload, text};
use crate::transcript::{Block, BlockKind, CallKind, MediaKind, ToolCall, ToolResult};
use crate::wire::document::Document;
use crate::wire::{Kind, OddityKind, Text, Value, media};

/// Reads a call. What the provider ran by itself carries its result in the same item.
pub(super) fn call<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, kind: &str) -> Option<Vec<Block<'a>>> {
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
            let action = if value.get("actions").is_some() { "actions" } else { "action" };
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
            return Some(served(document, value, "code_interpreter", "code", "outputs"));
        }
        "image_generation_call" => {
            return Some(served(document, value, "image_generation", "revised_prompt", "result"));
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
        Some(found) if found.kind() == Kind::Array => found.elements().map(|part| served_part(part)).collect(),
        Some(found) => content(document, found),
        None => Vec::new(),
    };
    let result = ToolResult { call_id: id, content, is_error: error.map(|_| true), kind: CallKind::Server };
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

pub(super) fn output<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, kind: &str) -> Option<Vec<Block<'a>>> {
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
        call_id: text(value, "call_id").or_else(|| text(value, "id").filter(|_| kind.starts_with("local"))),
        content,
        is_error: text(value, "status").filter(|status| status.is("failed")).map(|_| true),
        kind: if searched { searcher(value) } else { CallKind::Client },
    };
    Some(vec![block(value, BlockKind::ToolResult(result))])
}

/// What a client's tool returned: a string, a list of parts, an object, or nothing.
fn outcome<'a>(document: &mut Document<'a>, output: Value<'_, 'a>) -> Vec<Block<'a>> {
    match output.kind() {
        Kind::Null => Vec::new(),
        // Shell output comes as a list of `{stdout, stderr, outcome}`; Codex wraps a text as `{content, success}`.
        Kind::Array if output.elements().any(|part| part.get("stdout").is_some() || part.get("stderr").is_some()) => {
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
