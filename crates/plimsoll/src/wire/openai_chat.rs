//! `OpenAI` Chat Completions: request bodies, and the logs of such messages that agent programs keep.

use super::document::{Document, Envelope, Layout};
use super::openai_responses::payload;
use super::{Format, Kind, OddityKind, Span, Tape, Text, Value, anthropic, detect, lines::Lines, media, usage};
use crate::transcript::{Author, Block, BlockKind, CallKind, Media, MediaKind, Message, Role, ToolCall, ToolResult};
use crate::units::Tokens;

/// Reads a request body, a log that holds a list of messages, or a bare array of messages.
pub(super) fn parse<'a>(document: &mut Document<'a>, root: Value<'_, 'a>) -> Result<(), &'static str> {
    let Some(list) = detect::list(root) else {
        return Err("it has no array of messages with roles");
    };
    document.model = text(root, "model");
    document.session = text(root, "sessionId").or_else(|| text(root, "session_id"));
    document.window = root.get("context_window").and_then(Value::u64).map(Tokens);
    document.max_output =
        ["max_completion_tokens", "max_tokens"].into_iter().find_map(|key| root.get(key)?.u64()).map(Tokens);
    document.transcript.tools = anthropic::tools(root);
    for value in list.elements() {
        let entry = document.entry(value.span(), text(value, "id"));
        let message = element(document, value, entry);
        document.transcript.messages.push(message);
    }
    Ok(())
}

/// Reads an element of a list of messages.
pub(super) fn element<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, entry: u32) -> Message<'a> {
    match constructed(value) {
        Some(inner) => {
            document.envelope = Envelope::Constructor;
            message(document, inner, entry)
        }
        None => message(document, value, entry),
    }
}

/// The message inside what `LangChain` serialised, if a value is one.
pub(super) fn constructed<'t, 'a>(value: Value<'t, 'a>) -> Option<Value<'t, 'a>> {
    value.get("lc")?;
    value.get("kwargs").filter(|inner| inner.get("content").is_some())
}

/// Reads a log of messages, one a line: bare, or each in a record of its own.
pub(super) fn parse_lines<'a>(
    bytes: &'a [u8],
    mut lines: Lines<'a>,
    tape: &mut Tape,
) -> Result<Document<'a>, &'static str> {
    let mut document = Document::new(bytes, Format::OpenaiChat, Layout::Lines);
    let mut odd = Vec::new();
    while let Some((span, value)) = lines.next_object(tape, &mut odd) {
        document.oddities.append(&mut odd);
        let entry = document.entry(span, text(value, "id"));
        let kind = text(value, "type").map(Text::decode).unwrap_or_default();
        let inner = value.get("message").filter(|inner| inner.get("role").is_some());
        let message = match (kind.as_ref(), inner) {
            (_, Some(inner)) => {
                document.envelope = Envelope::Record;
                Some(message(&mut document, inner, entry))
            }
            // What extensions of pi put into the context, and its own compactions and branch summaries.
            ("custom_message", None) => {
                let blocks = content(&mut document, value);
                Some(Message::new(Role::User, Author::Machinery, entry, blocks))
            }
            ("compaction" | "branch_summary", None) => summary(value, entry),
            ("session", None) => {
                document.session = text(value, "id");
                document.model = text(value, "modelId").or(document.model);
                None
            }
            (_, None) if text(value, "role").is_some() => Some(message(&mut document, value, entry)),
            ("model_change", None) => {
                document.model = text(value, "modelId").or(document.model);
                None
            }
            ("thinking_level_change" | "custom" | "label" | "session_info", None) => None,
            _ => {
                document.odd(OddityKind::UnknownEntry, span);
                None
            }
        };
        document.transcript.messages.extend(message);
    }
    document.oddities.append(&mut odd);
    if bytes.last().is_some_and(|byte| *byte != b'\n') {
        let end = bytes.len();
        document.odd(OddityKind::NoFinalNewline, Span::new(end, end).unwrap_or_default());
    }
    if document.transcript.messages.is_empty() {
        return Err("none of its lines is a message");
    }
    Ok(document)
}

fn summary<'a>(value: Value<'_, 'a>, entry: u32) -> Option<Message<'a>> {
    let summary = value.get("summary")?;
    let blocks = vec![block(summary, BlockKind::Text(summary.text()?))];
    Some(Message::new(Role::User, Author::Summary, entry, blocks))
}

fn message<'a>(document: &mut Document<'a>, value: Value<'_, 'a>, entry: u32) -> Message<'a> {
    if let Some(stray) = anthropic::stray(document, value, entry) {
        return stray;
    }
    // LangChain names the role `type`.
    let name = text(value, "role").or_else(|| text(value, "type"));
    let name = name.map(Text::decode).unwrap_or_default();
    let role = match name.as_ref() {
        "system" | "developer" => Role::System,
        "user" | "human" | "bashExecution" => Role::User,
        "assistant" | "ai" => Role::Assistant,
        "tool" | "function" | "toolResult" => Role::Tool,
        _ => {
            document.odd(OddityKind::UnknownRole, value.span());
            Role::Other
        }
    };
    let (author, blocks) = match (role, name.as_ref()) {
        // A command that the user ran outside of the model's sight; its output is shown to the model all the same.
        (_, "bashExecution") => {
            let shown = ["command", "output"].into_iter().filter_map(|key| value.get(key));
            let blocks = shown.filter_map(|shown| Some(block(shown, BlockKind::Text(shown.text()?))));
            (Author::Machinery, blocks.collect())
        }
        (Role::Tool, _) => (Author::Tool, results(document, value)),
        (Role::Assistant, _) => (Author::Model, said(document, value)),
        _ => {
            let blocks = content(document, value);
            (anthropic::author(role, &blocks), blocks)
        }
    };
    let mut message = Message::new(role, author, entry, blocks);
    message.id = text(value, "id");
    if role == Role::Assistant {
        message.usage = usage::of_message(value);
        document.model = text(value, "model").or(document.model);
    }
    message
}

/// What an assistant message holds: reasoning, content, calls, wherever the format keeps them.
fn said<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Vec<Block<'a>> {
    // Routers repeat signed reasoning in a list beside its plain text; the text is counted once.
    let sealed = ["reasoning_details", "thinking_blocks"]
        .into_iter()
        .filter_map(|key| value.get(key))
        .any(|details| details.elements().next().is_some());
    let mut blocks: Vec<_> = ["reasoning_content", "reasoning"]
        .into_iter()
        .filter_map(|key| value.get(key))
        .filter_map(|reasoning| {
            let text = Some(reasoning.text().filter(|text| !text.is_empty())?);
            Some(block(reasoning, BlockKind::Thinking { text, sealed }))
        })
        .take(1)
        .collect();
    blocks.extend(content(document, value));
    if let Some(refusal) = value.get("refusal") {
        blocks.extend(refusal.text().map(|text| block(refusal, BlockKind::Text(text))));
    }
    if let Some(audio) = value.get("audio").filter(|audio| !audio.is_null()) {
        let media = media::from_data(MediaKind::Audio, text(audio, "data"), None);
        blocks.push(block(audio, BlockKind::Media(media)));
    }
    let spoken = blocks.len();
    for call in value.get("tool_calls").into_iter().flat_map(Value::elements) {
        let call = self::call(document, call);
        // LangChain repeats the calls that stand in the content.
        let id = |block: &Block<'a>| match &block.kind {
            BlockKind::ToolCall(call) => call.id,
            _ => None,
        };
        let said = blocks.iter().take(spoken).filter_map(id);
        if id(&call).is_none_or(|call| !said.into_iter().any(|said| said == call)) {
            blocks.push(call);
        }
    }
    if let Some(call) = value.get("function_call").filter(|call| call.kind() == Kind::Object) {
        blocks.push(block(
            call,
            BlockKind::ToolCall(ToolCall {
                // The legacy form has no ids; its result follows at once.
                id: None,
                name: text(call, "name").unwrap_or(Text::plain("")),
                arguments: payload(call, "arguments"),
                kind: CallKind::Client,
            }),
        ));
    }
    blocks
}

fn call<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Block<'a> {
    if value.kind() != Kind::Object {
        document.odd(OddityKind::UnexpectedShape, value.span());
        return block(value, BlockKind::Opaque(Text::plain("")));
    }
    let id = text(value, "id");
    if id.is_none() {
        document.odd(OddityKind::CallWithoutId, value.span());
    }
    let named = ["function", "custom"]
        .into_iter()
        .filter_map(|key| value.get(key))
        .find(|inner| inner.kind() == Kind::Object)
        .unwrap_or(value);
    // Inspect writes the function's name where the API has an object.
    let name = text(named, "name").or_else(|| text(value, "function"));
    let key = ["arguments", "input", "args"].into_iter().find(|key| named.get(key).is_some()).unwrap_or("arguments");
    let call = ToolCall {
        id,
        name: name.unwrap_or(Text::plain("")),
        arguments: payload(named, key),
        kind: CallKind::Client,
    };
    block(value, BlockKind::ToolCall(call))
}

/// A tool message is one result; SWE-agent names several calls that one message answers.
fn results<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Vec<Block<'a>> {
    let single = text(value, "tool_call_id").or_else(|| text(value, "toolCallId"));
    let several = value.get("tool_call_ids").into_iter().flat_map(Value::elements);
    let mut ids = single.into_iter().chain(several.filter_map(Value::text));
    let failed = value.get("error").filter(|error| !error.is_null()).map(|_| true);
    let is_error = value
        .get("isError")
        .and_then(Value::bool)
        .or(failed)
        .or_else(|| text(value, "status").map(|status| status.is("error")));
    let result = |call_id, content| {
        let kind = BlockKind::ToolResult(ToolResult { call_id, content, is_error, kind: CallKind::Client });
        block(value, kind)
    };
    let content = content(document, value);
    let first = result(ids.next(), content);
    std::iter::once(first).chain(ids.map(|id| result(Some(id), Vec::new()))).collect()
}

/// Reads `content`: null, a string, or parts.
fn content<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Vec<Block<'a>> {
    let Some(content) = value.get("content") else {
        return Vec::new();
    };
    match content.kind() {
        Kind::Array => content.elements().map(|value| part(document, value)).collect(),
        Kind::Object => vec![part(document, content)],
        _ => anthropic::blocks(document, content),
    }
}

fn part<'a>(document: &mut Document<'a>, value: Value<'_, 'a>) -> Block<'a> {
    let kind = text(value, "type").map(Text::decode).unwrap_or_default();
    let read = match kind.as_ref() {
        "text" | "input_text" | "output_text" => text(value, "text").map(BlockKind::Text),
        "refusal" => text(value, "refusal").map(BlockKind::Text),
        "image_url" => {
            let image = value.get("image_url");
            let url = image.and_then(|url| url.text().or_else(|| text(url, "url")));
            let low_detail = image.and_then(|image| text(image, "detail")).is_some_and(|detail| detail.is("low"));
            Some(BlockKind::Media(Media { low_detail, ..media::from_url(MediaKind::Image, url) }))
        }
        // pi and Inspect keep a picture's bytes beside its type.
        "image" if value.get("source").is_none() => {
            let data = text(value, "data").or_else(|| text(value, "image"));
            let media_type = text(value, "mimeType");
            Some(BlockKind::Media(media::from_data(MediaKind::Image, data, media_type)))
        }
        "input_audio" | "audio" => value
            .get("input_audio")
            .or(Some(value))
            .map(|audio| BlockKind::Media(media::from_data(MediaKind::Audio, text(audio, "data"), None))),
        "file" => value.get("file").map(|file| {
            let data = text(file, "file_data");
            BlockKind::Media(media::from_data(MediaKind::Document, data, None))
        }),
        "reasoning" => Some(BlockKind::Thinking {
            text: text(value, "reasoning").or_else(|| text(value, "text")),
            sealed: text(value, "signature").is_some(),
        }),
        "thinking" => Some(BlockKind::Thinking {
            text: text(value, "thinking"),
            sealed: ["signature", "thinkingSignature"]
                .into_iter()
                .filter_map(|key| text(value, key))
                .any(|signature| !signature.is_empty()),
        }),
        "toolCall" => return call(document, value),
        _ => None,
    };
    match read {
        Some(kind) => block(value, kind),
        // Proxies pass other providers' blocks through.
        None => anthropic::block(document, value),
    }
}

fn block<'a>(value: Value<'_, 'a>, kind: BlockKind<'a>) -> Block<'a> {
    Block { span: value.span(), kind }
}

fn text<'a>(value: Value<'_, 'a>, key: &str) -> Option<Text<'a>> {
    value.get(key).and_then(Value::text)
}

/// Writes a plain message; `text` is a JSON string already.
pub(super) fn message_of(envelope: Envelope, role: Role, text: &str) -> String {
    let name = role.name();
    match envelope {
        Envelope::Constructor => {
            let (class, kind) = if role == Role::Assistant { ("AIMessage", "ai") } else { ("HumanMessage", "human") };
            format!(
                r#"{{"lc":1,"type":"constructor","id":["langchain","schema","messages","{class}"],"kwargs":{{"content":{text},"type":"{kind}"}}}}"#
            )
        }
        _ => format!(r#"{{"role":"{name}","content":{text}}}"#),
    }
}

/// Writes a record that takes the place of the records from `first` to `last` in their chain: whoever pointed at the
/// last one points at it, and it points to what the first one pointed to.
pub(super) fn record(first: Value<'_, '_>, last: Value<'_, '_>, role: Role, text: &str) -> Vec<u8> {
    let mut record = br#"{"type":"message""#.to_vec();
    for (key, value) in
        [("id", last.get("id")), ("parentId", first.get("parentId")), ("timestamp", last.get("timestamp"))]
    {
        if let Some(value) = value {
            record.extend_from_slice(format!(r#","{key}":"#).as_bytes());
            record.extend_from_slice(value.raw());
        }
    }
    record.extend_from_slice(
        format!(r#","message":{{"role":"{}","content":[{{"type":"text","text":{text}}}]"#, role.name()).as_bytes(),
    );
    if let Some(time) = last.get("message").and_then(|message| message.get("timestamp")) {
        record.extend_from_slice(br#","timestamp":"#);
        record.extend_from_slice(time.raw());
    }
    record.extend_from_slice(b"}}");
    record
}

#[cfg(test)]
mod tests;
