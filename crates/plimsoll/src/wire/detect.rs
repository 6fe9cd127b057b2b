//! Which format some bytes are in, judged by their content alone.

use super::{Format, JsonError, Kind, ParseError, ParseOptions, Tape, Value, lines::Lines, parse};

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
pub(super) fn starts_like_body(bytes: &[u8], start: usize, error: &JsonError) -> bool {
    let first = bytes
        .iter()
        .skip(start)
        .find(|byte| !byte.is_ascii_whitespace());
    let at = match error {
        JsonError::Truncated { offset }
        | JsonError::Unexpected { offset, .. }
        | JsonError::TooDeep { offset, .. } => *offset,
    };
    matches!(first, Some(b'{' | b'[')) && at > start + 1
}

/// Names the format of a body.
pub(super) fn body(root: Value<'_, '_>) -> Result<Format, ParseError> {
    let unrecognised = |found: &str| {
        Err(ParseError::Unrecognised {
            found: found.to_owned(),
        })
    };
    match root.kind() {
        Kind::Object => {}
        Kind::Array => {
            return match root
                .elements()
                .find(|element| element.kind() == Kind::Object)
            {
                Some(first) if first.get("parts").is_some() => Ok(Format::Gemini),
                Some(first) if first.get("role").is_some() => Ok(messages(root, root)),
                Some(first) if is_item(first) => Ok(Format::OpenaiResponses),
                _ => unrecognised("a JSON array whose elements are no messages"),
            };
        }
        _ => return unrecognised("a JSON value that is neither an object nor an array"),
    }
    if root.get("contents").is_some()
        || root
            .get("request")
            .is_some_and(|request| request.get("contents").is_some())
    {
        return Ok(Format::Gemini);
    }
    let array = |name| root.get(name).filter(|value| value.kind() == Kind::Array);
    if let Some(list) = array("messages").or_else(|| array("history")) {
        return match list
            .elements()
            .find(|element| element.kind() == Kind::Object)
        {
            Some(first) if first.get("parts").is_some() && first.get("content").is_none() => {
                Ok(Format::Gemini)
            }
            _ => Ok(messages(root, list)),
        };
    }
    if root
        .get("input")
        .is_some_and(|input| matches!(input.kind(), Kind::Array | Kind::String))
    {
        return Ok(Format::OpenaiResponses);
    }
    unrecognised("a JSON object without `messages`, `input` or `contents`")
}

/// Whether an object is an item of the Responses API.
fn is_item(value: Value<'_, '_>) -> bool {
    value.get("type").and_then(Value::text).is_some_and(|kind| {
        let kind = kind.decode();
        ["message", "reasoning", "item_reference", "compaction"].contains(&kind.as_ref())
            || kind.ends_with("_call")
            || kind.ends_with("_call_output")
    })
}

/// Tells Anthropic's messages from `OpenAI`'s: both have `messages` with `role` and `content`.
fn messages(root: Value<'_, '_>, list: Value<'_, '_>) -> Format {
    let object = root.kind() == Kind::Object;
    if object {
        if root.get("anthropic_version").is_some() || root.get("system").is_some() {
            return Format::Anthropic;
        }
        let tool = root.get("tools").and_then(|tools| tools.elements().next());
        if let Some(tool) = tool {
            if tool.get("function").is_some() {
                return Format::OpenaiChat;
            }
            if tool.get("input_schema").is_some() {
                return Format::Anthropic;
            }
        }
    }
    for message in list.elements() {
        if message.get("tool_calls").is_some() || message.get("tool_call_id").is_some() {
            return Format::OpenaiChat;
        }
        if message
            .get("role")
            .and_then(Value::text)
            .is_some_and(|role| role.is("tool"))
        {
            return Format::OpenaiChat;
        }
        for block in message.get("content").into_iter().flat_map(Value::elements) {
            let Some(kind) = block.get("type").and_then(Value::text) else {
                continue;
            };
            let kind = kind.decode();
            if matches!(
                kind.as_ref(),
                "tool_use"
                    | "tool_result"
                    | "thinking"
                    | "redacted_thinking"
                    | "image"
                    | "document"
            ) {
                return Format::Anthropic;
            }
            if matches!(kind.as_ref(), "image_url" | "input_audio" | "file") {
                return Format::OpenaiChat;
            }
        }
    }
    let first_is_operator = list
        .elements()
        .next()
        .and_then(|first| first.get("role"))
        .and_then(Value::text)
        .is_some_and(|role| role.is("system") || role.is("developer"));
    if first_is_operator {
        return Format::OpenaiChat;
    }
    let model = if object {
        root.get("model").and_then(Value::text)
    } else {
        None
    };
    match model {
        Some(model) if model.decode().to_ascii_lowercase().contains("claude") => Format::Anthropic,
        _ => Format::OpenaiChat,
    }
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
    let found = match (objects, odd.len()) {
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
    if is(&["message"])
        && has("role")
        && kinds.any(|kind| kind.is("input_text") || kind.is("output_text"))
    {
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
const CODEX_LINES: [&str; 6] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
];
