//! Which format some bytes are in, judged by their content alone.

use super::document::Envelope;
use super::{Format, Kind, ParseError, ParseOptions, Tape, Text, Value, lines::Lines, openai_chat, parse};

/// How many objects of a log are looked at before giving up.
const LOG_SAMPLE: usize = 200;

/// Names the format of some bytes.
///
/// # Errors
/// As [`parse`].
///
/// ```
/// use plimsoll::wire::{Format, detect};
/// assert_eq!(detect(br#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#).unwrap(), Format::Gemini);
/// ```
pub fn detect(bytes: &[u8]) -> Result<Format, ParseError> {
    parse(bytes, &ParseOptions::default()).map(|document| document.format())
}

/// Whether a lone object is the single line of a log rather than a body.
pub(super) fn is_record(root: Value<'_, '_>) -> bool {
    record(root).is_some()
}

/// Whether input that is not JSON starts like a body, so that the error in its JSON is what a person wants to hear.
/// A log line may start with a bracket too (`[info] …`); what a body opens with is a key, or an object in an array.
pub(super) fn starts_like_body(bytes: &[u8], start: usize) -> bool {
    let mut visible = bytes.iter().skip(start).filter(|byte| !byte.is_ascii_whitespace());
    matches!(
        (visible.next(), visible.next()),
        (Some(b'{'), Some(b'"')) | (Some(b'['), Some(b'{' | b'[')) | (Some(b'{' | b'['), None)
    )
}

/// Where programs keep the list of a conversation's messages, the API's own name first.
const LISTS: [&str; 6] = ["messages", "history", "trajectory", "traj", "conversation", "raw_messages"];

/// The request inside a recorded exchange or a log of one sample; the value itself if it is no such thing.
pub(super) fn request<'t, 'a>(root: Value<'t, 'a>) -> Value<'t, 'a> {
    if root.kind() != Kind::Object || is_request(root) {
        return root;
    }
    let samples = || root.get("samples").into_iter().flat_map(Value::elements);
    let only = || samples().next().filter(|_| samples().nth(1).is_none());
    root.get("body")
        .filter(|inner| is_request(*inner))
        .or_else(|| root.get("request").filter(|inner| is_request(*inner)))
        .or_else(|| only().filter(|inner| list(*inner).is_some()))
        .unwrap_or(root)
}

fn is_request(value: Value<'_, '_>) -> bool {
    value.kind() == Kind::Object && (list(value).is_some() || contents(value).is_some() || input(value).is_some())
}

/// The messages of a body of Anthropic's or `OpenAI`'s chat: an array whose elements have roles.
pub(super) fn list<'t, 'a>(root: Value<'t, 'a>) -> Option<Value<'t, 'a>> {
    let is_list = |list: &Value<'t, 'a>| {
        let mut objects = list.elements().filter(|element| element.kind() == Kind::Object);
        list.kind() == Kind::Array && objects.any(is_message)
    };
    if root.kind() == Kind::Array {
        return Some(root).filter(is_list);
    }
    let named = LISTS.into_iter().find_map(|name| root.get(name).filter(is_list));
    // A request whose messages are still to come.
    let empty = || root.get("messages").filter(|list| list.kind() == Kind::Array && list.elements().next().is_none());
    named.or_else(empty)
}

fn is_message(value: Value<'_, '_>) -> bool {
    let has_role = value.get("role").and_then(Value::text).is_some();
    has_role && value.get("parts").is_none() || openai_chat::constructed(value).is_some()
}

/// The contents of a Gemini body or session, and what stands around each of them.
pub(super) fn contents<'t, 'a>(root: Value<'t, 'a>) -> Option<(Envelope, Value<'t, 'a>)> {
    let array = |name| root.get(name).filter(|value| value.kind() == Kind::Array);
    let has_parts = |value: Value<'_, '_>| value.get("parts").is_some();
    if root.kind() == Kind::Array {
        let found = root.elements().any(has_parts);
        return found.then_some((Envelope::Bare, root));
    }
    if let Some(contents) = array("contents") {
        return Some((Envelope::Bare, contents));
    }
    if let Some(history) = array("history").filter(|list| list.elements().any(has_parts)) {
        return Some((Envelope::Bare, history));
    }
    let typed = |value: Value<'_, '_>| {
        let kind = |name: &str| text(value, "type").is_some_and(|kind| kind.is(name));
        let said = value.get("content").is_some() && value.get("role").is_none();
        said && (kind("user") || kind("gemini"))
    };
    if let Some(messages) = array("messages").filter(|list| list.elements().any(typed)) {
        return Some((Envelope::Typed, messages));
    }
    let event = |value: Value<'_, '_>| value.get("content").is_some_and(has_parts);
    array("events").filter(|list| list.elements().any(event)).map(|events| (Envelope::Event, events))
}

/// The input of a Responses body.
fn input<'t, 'a>(root: Value<'t, 'a>) -> Option<Value<'t, 'a>> {
    let item = |value: Value<'_, '_>| text(value, "type").is_some() || is_message(value);
    root.get("input").filter(|input| match input.kind() {
        Kind::String => true,
        Kind::Array => input.elements().next().is_none() || input.elements().any(item),
        _ => false,
    })
}

/// Names the format of a body.
pub(super) fn body(root: Value<'_, '_>) -> Result<Format, ParseError> {
    if contents(root).is_some() {
        return Ok(Format::Gemini);
    }
    let found = match root.kind() {
        Kind::Array if root.elements().any(is_item) => return Ok(Format::OpenaiResponses),
        Kind::Object if root.get("messages").is_none() && input(root).is_some() => {
            return Ok(Format::OpenaiResponses);
        }
        Kind::Array | Kind::Object => {
            if let Some(list) = list(root) {
                return Ok(messages(root, list));
            }
            match root.kind() {
                Kind::Array => "a JSON array whose elements are no messages",
                _ if LISTS.into_iter().any(|name| root.get(name).is_some()) => {
                    "a JSON object whose messages have no roles"
                }
                _ => "a JSON object without `messages`, `input` or `contents`",
            }
        }
        _ => "a JSON value that is neither an object nor an array",
    };
    Err(ParseError::Unrecognised { found: found.to_owned() })
}

/// Whether an object is an item of the Responses API.
fn is_item(value: Value<'_, '_>) -> bool {
    text(value, "type").is_some_and(|kind| {
        let kind = kind.decode();
        match kind.as_ref() {
            "message" => value.get("role").is_some(),
            "reasoning" => value.get("summary").is_some() || value.get("encrypted_content").is_some(),
            "item_reference" | "compaction" => true,
            kind => kind.ends_with("_call") || kind.ends_with("_call_output"),
        }
    })
}

/// Tells Anthropic's messages from `OpenAI`'s: both have `messages` with `role` and `content`.
fn messages(root: Value<'_, '_>, list: Value<'_, '_>) -> Format {
    if let Some(format) = by_request(root) {
        return format;
    }
    if let Some(format) = list.elements().find_map(by_message) {
        return format;
    }
    let operator = list
        .elements()
        .next()
        .and_then(|first| text(first, "role"))
        .is_some_and(|role| role.is("system") || role.is("developer"));
    let claude = text(root, "model").is_some_and(|model| model.decode().to_ascii_lowercase().contains("claude"));
    if claude && !operator { Format::Anthropic } else { Format::OpenaiChat }
}

/// What the fields beside the messages tell.
fn by_request(root: Value<'_, '_>) -> Option<Format> {
    let any = |names: &[&str]| names.iter().any(|name| root.get(name).is_some());
    if any(&["anthropic_version", "anthropic_beta", "system", "stop_sequences"]) {
        return Some(Format::Anthropic);
    }
    let tool = root.get("tools").and_then(|tools| tools.elements().next());
    if let Some(tool) = tool {
        if tool.get("function").is_some() {
            return Some(Format::OpenaiChat);
        }
        if tool.get("input_schema").is_some() {
            return Some(Format::Anthropic);
        }
    }
    let chat = any(&[
        "max_completion_tokens",
        "stream_options",
        "response_format",
        "reasoning_effort",
        "frequency_penalty",
        "presence_penalty",
        "functions",
    ]);
    chat.then_some(Format::OpenaiChat)
}

/// What a message tells by its fields and its blocks.
fn by_message(message: Value<'_, '_>) -> Option<Format> {
    let any = |names: &[&str]| names.iter().any(|name| message.get(name).is_some());
    if any(&["tool_calls", "tool_call_id", "tool_call_ids", "function_call", "reasoning_content"])
        || openai_chat::constructed(message).is_some()
        || text(message, "role").is_some_and(|role| role.is("tool") || role.is("function"))
    {
        return Some(Format::OpenaiChat);
    }
    for block in message.get("content").into_iter().flat_map(Value::elements) {
        let Some(kind) = text(block, "type") else {
            continue;
        };
        match kind.decode().as_ref() {
            "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "server_tool_use" => {
                return Some(Format::Anthropic);
            }
            "image" | "document" if block.get("source").is_some() => {
                return Some(Format::Anthropic);
            }
            "image_url" | "input_audio" => return Some(Format::OpenaiChat),
            "file" if block.get("file").is_some() => return Some(Format::OpenaiChat),
            _ => {}
        }
    }
    None
}

fn text<'a>(value: Value<'_, 'a>, key: &str) -> Option<Text<'a>> {
    value.get(key).and_then(Value::text)
}

/// Names the format of a log by its first telling objects.
///
/// Entries with an envelope tell for certain. Bare messages are a log of chat messages, unless an entry of a program
/// stands among them: early rollouts mix both.
pub(super) fn log(bytes: &[u8], start: usize, tape: &mut Tape) -> Result<Format, ParseError> {
    let (mut lines, mut odd, mut objects) = (Lines::new(bytes, start), Vec::new(), 0);
    let mut bare = None;
    while let Some((_, value)) = lines.next_object(tape, &mut odd) {
        match record(value) {
            Some(Format::OpenaiChat) => bare = bare.or(Some(Format::OpenaiChat)),
            Some(format) => return Ok(format),
            None => {}
        }
        objects += 1;
        if objects >= LOG_SAMPLE {
            break;
        }
    }
    if let Some(format) = bare {
        return Ok(format);
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    let found = match (objects, lines.filter(|line| !line.trim_ascii().is_empty()).count()) {
        (0, 1) => "the one line in it is not JSON".to_owned(),
        (0, lines) => format!("none of its {lines} lines is a JSON object"),
        (objects, _) => {
            format!("{objects} JSON objects, one a line, but none is an entry of a session")
        }
    };
    Err(ParseError::Unrecognised { found })
}

/// Which log an object is an entry of, if it tells.
fn record(value: Value<'_, '_>) -> Option<Format> {
    let has = |name| value.get(name).is_some();
    let kind = value.get("type").and_then(Value::text);
    let is = |names: &[&str]| kind.is_some_and(|kind| names.iter().any(|name| kind.is(name)));
    if has("payload") && is(&CODEX_LINES) {
        return Some(Format::Codex);
    }
    let claude = (is(&["user", "assistant", "system", "attachment", "progress"]) && has("uuid"))
        || (has("sessionId") && has("uuid"))
        || (is(&["user", "assistant"]) && has("message"))
        || (is(&["summary"]) && has("leafUuid"))
        || is(&["file-history-snapshot", "queue-operation"]);
    if claude {
        return Some(Format::ClaudeCode);
    }
    // The first rollouts: items of the Responses API, a line each.
    let parts = value.get("content").into_iter().flat_map(Value::elements);
    let mut kinds = parts.filter_map(|part| part.get("type").and_then(Value::text));
    if is(&["message"]) && has("role") && kinds.any(|kind| kind.is("input_text") || kind.is("output_text")) {
        return Some(Format::Codex);
    }
    if is(&["function_call_output", "function_call"]) && has("call_id") {
        return Some(Format::Codex);
    }
    let role = |value: Value<'_, '_>| value.get("role").and_then(Value::text).is_some();
    if is(&["message"]) && value.get("message").is_some_and(role) {
        return Some(Format::OpenaiChat);
    }
    // A log of bare messages. A body has `messages` of its own, an item of the Responses API stands in an array.
    if role(value) && has("content") && !has("messages") {
        return Some(Format::OpenaiChat);
    }
    None
}

/// Types of lines that a rollout envelops in `payload`.
const CODEX_LINES: [&str; 6] =
    ["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];
