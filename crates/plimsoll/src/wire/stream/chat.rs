//! Answers of `OpenAI`'s Chat Completions API, and of the many servers that speak it.

use super::{Reading, Stop, other};
use crate::wire::{Kind, Value, usage};

/// One chunk of a stream. The first choice is the answer; usage may come with the last one or after it.
pub(super) fn chunk(reading: &mut Reading, root: Value<'_, '_>) {
    read(reading, root, "delta");
}

/// A response that came whole.
pub(super) fn whole(reading: &mut Reading, root: Value<'_, '_>) {
    read(reading, root, "message");
}

fn read(reading: &mut Reading, root: Value<'_, '_>, holder: &str) {
    reading.model(root.get("model"));
    // Groq says it in a place of its own.
    let usage = root.get("usage").filter(|usage| usage.kind() == Kind::Object);
    let usage = usage.or_else(|| root.get("x_groq")?.get("usage"));
    if let Some(usage) = usage.and_then(usage::openai) {
        reading.so_far.usage = Some(usage);
    }
    for choice in root.get("choices").into_iter().flat_map(Value::elements) {
        if choice.get("index").and_then(Value::u64).unwrap_or(0) != 0 {
            continue;
        }
        if let Some(message) = choice.get(holder) {
            message_part(reading, message);
        }
        read_stop(reading, choice);
    }
}

fn message_part(reading: &mut Reading, message: Value<'_, '_>) {
    let content = message.get("content");
    match content.map(Value::kind) {
        Some(Kind::String) => reading.text(content),
        // Mistral's reasoning models answer in parts.
        Some(Kind::Array) => {
            for part in content.into_iter().flat_map(Value::elements) {
                if part.get("type").and_then(Value::text).is_some_and(|kind| kind.is("text")) {
                    reading.text(part.get("text"));
                }
            }
        }
        _ => {}
    }
    reading.refused |= message.get("refusal").and_then(Value::text).is_some_and(|refusal| !refusal.is_blank());
    for call in message.get("tool_calls").into_iter().flat_map(Value::elements) {
        // The first part of a call names it, the others bring its arguments.
        let name = call.get("function").or_else(|| call.get("custom")).and_then(|function| function.get("name"));
        let first = call.get("id").is_some_and(|id| !id.is_null());
        if first || name.is_some_and(|name| name.text().is_some_and(|name| !name.is_empty())) {
            reading.call(name);
        }
    }
    if let Some(name) = message.get("function_call").and_then(|call| call.get("name")).filter(|name| !name.is_null())
    {
        reading.call(Some(name));
    }
}

fn read_stop(reading: &mut Reading, choice: Value<'_, '_>) {
    let Some(reason) = choice.get("finish_reason").and_then(Value::text).filter(|reason| !reason.is_empty()) else {
        return;
    };
    let known = [
        ("stop", Stop::End),
        ("eos", Stop::End),
        ("eos_token", Stop::End),
        ("end_turn", Stop::End),
        ("length", Stop::Length),
        ("max_tokens", Stop::Length),
        ("model_length", Stop::Length),
        ("tool_calls", Stop::ToolCall),
        ("function_call", Stop::ToolCall),
        ("content_filter", Stop::Refusal),
    ];
    let stop = known.into_iter().find(|(word, _)| reason.is(word)).map(|(_, stop)| stop);
    reading.stop(stop.unwrap_or_else(|| other(reason)));
}
