//! Gemini `generateContent`: request bodies, and the sessions that Gemini CLI and the Agent Development Kit keep.

use super::document::{Document, Envelope};
use super::{
    Kind, OddityKind, Text, Value,
    anthropic::{self, author},
    detect, media,
};
use crate::transcript::{
    Author, Block, BlockKind, CallKind, Message, Role, Tool, ToolCall, ToolResult, author_of_user,
};
use crate::units::Tokens;

/// Reads a request body, a bare array of contents, or a session.
pub(super) fn parse<'a>(document: &mut Document<'a>, root: Value<'_, 'a>) -> Result<(), &'static str> {
    let Some((envelope, list)) = detect::contents(root) else {
        return Err("it has no `contents` array");
    };
    document.envelope = envelope;
    document.model = text(root, "model");
    document.session = text(root, "sessionId");
    document.max_output = field(root, "generationConfig", "generation_config")
        .and_then(|config| field(config, "maxOutputTokens", "max_output_tokens"))
        .and_then(Value::u64)
        .map(Tokens);
    if let Some(instruction) = field(root, "systemInstruction", "system_instruction") {
        document.transcript.system = content(document, instruction);
    }
    document.transcript.tools = tools(root);
    for value in list.elements() {
        let entry = document.entry(value.span(), text(value, "id"));
        let message = match envelope {
            Envelope::Typed => turn(document, value, entry),
            Envelope::Event => {
                let inner = value.get("content").unwrap_or(value);
                message(document, inner, entry)
            }
            _ => message(document, value, entry),
        };
        document.transcript.messages.push(message);
    }
    Ok(())
}

/// A tool of Gemini's is a bundle: of function declarations, or of one thing that the provider does.
fn tools<'a>(root: Value<'_, 'a>) -> Vec<Tool<'a>> {
    let mut tools = Vec::new();
    for bundle in root.get("tools").into_iter().flat_map(Value::elements) {
        for (key, value) in bundle.fields().filter(|(_, value)| !value.is_null()) {
            if key.is("functionDeclarations") || key.is("function_declarations") {
                tools.extend(
                    value
                        .elements()
                        .map(|declaration| Tool { span: declaration.span(), name: text(declaration, "name") }),
                );
            } else {
                tools.push(Tool { span: value.span(), name: Some(key) });
            }
        }
    }
    tools
}

fn message<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, entry: u32) -> Message<'a> {
    if let Some(stray) = anthropic::stray(document, value, entry) {
        return stray;
    }
    let role = match text(value, "role").map(Text::decode).as_deref() {
        // Where a single turn is sent, the role may be left out.
        Some("user") => Role::User,
        None if value.get("parts").is_some() => Role::User,
        Some("model") => Role::Assistant,
        Some("function" | "tool") => Role::Tool,
        Some("system") => Role::System,
        _ => {
            document.odd(OddityKind::UnknownRole, value.span());
            Role::Other
        }
    };
    let blocks = content(document, value);
    Message::new(role, author(role, &blocks), entry, blocks)
}

/// Reads an entry of a Gemini CLI session. It holds calls together with their results.
fn turn<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, entry: u32) -> Message<'a> {
    let said = value.get("content");
    let mut blocks = said.map(|said| content(document, said)).unwrap_or_default();
    let (role, author) = match text(value, "type").map(Text::decode).as_deref() {
        Some("user") => (Role::User, author_of_user(&blocks)),
        Some("gemini") => (Role::Assistant, Author::Model),
        Some("info" | "error" | "warning") => (Role::Other, Author::Machinery),
        _ => {
            document.odd(OddityKind::UnknownRole, value.span());
            (Role::Other, Author::Machinery)
        }
    };
    for call in value.get("toolCalls").into_iter().flat_map(Value::elements) {
        let id = text(call, "id");
        let asked = ToolCall {
            id,
            name: text(call, "name").unwrap_or(Text::plain("")),
            arguments: json(call.get("args")),
            // Whoever ran it: the entry answers itself, as a provider's own tools do.
            kind: CallKind::Server,
        };
        blocks.push(block(call.get("args").unwrap_or(call), BlockKind::ToolCall(asked)));
        let Some(found) = call.get("result").filter(|found| !found.is_null()) else {
            continue;
        };
        let mut inner = Vec::new();
        for part in found.elements() {
            match field(part, "functionResponse", "function_response") {
                Some(response) => inner.extend(response_content(document, response)),
                None => inner.push(self::part(document, part)),
            }
        }
        let result = ToolResult {
            call_id: id,
            content: inner,
            is_error: text(call, "status").map(|status| !status.is("success")),
            kind: CallKind::Server,
        };
        blocks.push(block(found, BlockKind::ToolResult(result)));
    }
    document.model = text(value, "model").or(document.model);
    Message::new(role, author, entry, blocks)
}

/// Reads a content's parts; a string, or a bare list of parts, is taken too.
fn content<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Vec<Block<'a>> {
    let parts = match value.kind() {
        Kind::Object => value.get("parts"),
        _ => Some(value),
    };
    let Some(parts) = parts else {
        return Vec::new();
    };
    match parts.kind() {
        Kind::Null => Vec::new(),
        Kind::Array => parts.elements().map(|value| part(document, value)).collect(),
        _ => vec![part(document, parts)],
    }
}

fn part<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Block<'a> {
    if let Some(text) = value.text() {
        return block(value, BlockKind::Text(text));
    }
    let sealed = field(value, "thoughtSignature", "thought_signature")
        .and_then(Value::text)
        .is_some_and(|signature| !signature.is_empty());
    let get = |camel, snake| field(value, camel, snake).filter(|inner| !inner.is_null());
    let kind = if let Some(said) = text(value, "text") {
        if value.get("thought").and_then(Value::bool) == Some(true) {
            BlockKind::Thinking { text: Some(said), sealed }
        } else {
            BlockKind::Text(said)
        }
    } else if let Some(call) = get("functionCall", "function_call") {
        BlockKind::ToolCall(self::call(call, CallKind::Client, "name"))
    } else if let Some(response) = get("functionResponse", "function_response") {
        BlockKind::ToolResult(self::response(document, response, CallKind::Client))
    } else if let Some(data) = get("inlineData", "inline_data") {
        let media_type = field(data, "mimeType", "mime_type").and_then(Value::text);
        let kind = media::kind_of(media_type);
        BlockKind::Media(media::from_data(kind, text(data, "data"), media_type))
    } else if let Some(data) = get("fileData", "file_data") {
        let media_type = field(data, "mimeType", "mime_type").and_then(Value::text);
        let kind = media::kind_of(media_type);
        BlockKind::Media(media::from_data(kind, None, media_type))
    } else if let Some(code) = get("executableCode", "executable_code") {
        BlockKind::ToolCall(ToolCall {
            id: text(code, "id"),
            name: Text::plain("code_execution"),
            arguments: text(code, "code").unwrap_or(Text::plain("")),
            kind: CallKind::Server,
        })
    } else if let Some(result) = get("codeExecutionResult", "code_execution_result") {
        let output = result.get("output");
        let output = output.and_then(|output| Some(block(output, BlockKind::Text(output.text()?))));
        BlockKind::ToolResult(ToolResult {
            call_id: text(result, "id"),
            content: output.into_iter().collect(),
            is_error: text(result, "outcome").map(|outcome| !outcome.is("OUTCOME_OK")),
            kind: CallKind::Server,
        })
    } else if let Some(call) = get("toolCall", "tool_call") {
        BlockKind::ToolCall(self::call(call, CallKind::Server, "toolType"))
    } else if let Some(response) = get("toolResponse", "tool_response") {
        BlockKind::ToolResult(self::response(document, response, CallKind::Server))
    } else {
        document.odd(OddityKind::UnknownBlock, value.span());
        let named = value.fields().map(|(key, _)| key).find(|key| !(key.is("thought") || key.is("thoughtSignature")));
        BlockKind::Opaque(named.unwrap_or(Text::plain("")))
    };
    block(value, kind)
}

/// Calls are paired by order where no id ties them, so a missing id is nothing odd here.
fn call<'a>(value: Value<'_, 'a>, kind: CallKind, name: &str) -> ToolCall<'a> {
    ToolCall {
        id: text(value, "id"),
        name: text(value, name).unwrap_or(Text::plain("")),
        arguments: json(value.get("args")),
        kind,
    }
}

fn response<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, kind: CallKind) -> ToolResult<'a> {
    let failed =
        value.get("response").is_some_and(|response| response.get("error").is_some_and(|error| !error.is_null()));
    ToolResult {
        call_id: text(value, "id"),
        content: response_content(document, value),
        is_error: failed.then_some(true),
        kind,
    }
}

/// A response must stay an object, so its strings are the texts in it; other values are opaque, named by their keys.
fn response_content<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    if let Some(response) = value.get("response") {
        if let Some(text) = response.text() {
            blocks.push(block(response, BlockKind::Text(text)));
        }
        for (key, value) in response.fields() {
            let kind = value.text().map_or(BlockKind::Opaque(key), BlockKind::Text);
            blocks.push(block(value, kind));
        }
    }
    for part in value.get("parts").into_iter().flat_map(Value::elements) {
        blocks.push(self::part(document, part));
    }
    blocks
}

fn json<'a>(value: Option<Value<'_, 'a>>) -> Text<'a> {
    value.map_or(Text::plain(""), |value| Text::json(value.raw(), false))
}

/// A field by its JSON name, or by the name that Python programs write.
fn field<'t, 'a>(value: Value<'t, 'a>, camel: &str, snake: &str) -> Option<Value<'t, 'a>> {
    value.get(camel).or_else(|| value.get(snake))
}

fn block<'a>(value: Value<'_, 'a>, kind: BlockKind<'a>) -> Block<'a> {
    Block { span: value.span(), kind }
}

fn text<'a>(value: Value<'_, 'a>, key: &str) -> Option<Text<'a>> {
    value.get(key).and_then(Value::text)
}

/// Writes a plain message; `text` is a JSON string already.
pub(super) fn message_of(envelope: Envelope, role: Role, text: &str) -> String {
    let assistant = role == Role::Assistant;
    let content = || {
        let role = if assistant { "model" } else { "user" };
        format!(r#"{{"role":"{role}","parts":[{{"text":{text}}}]}}"#)
    };
    match envelope {
        Envelope::Typed => {
            let kind = if assistant { "gemini" } else { "user" };
            format!(r#"{{"type":"{kind}","content":{text}}}"#)
        }
        Envelope::Event => {
            let author = if assistant { "model" } else { "user" };
            format!(r#"{{"author":"{author}","content":{}}}"#, content())
        }
        _ => content(),
    }
}

#[cfg(test)]
mod tests;
