//! Answers of `OpenAI`'s Responses API.

use super::{Reading, Stop, StreamEnd, other};
use crate::wire::{Kind, Text, Value, usage};

/// Items with which the model asks its client to do something; a provider runs the others itself.
const CALLS: [&str; 6] =
    ["function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call"];

/// One event of a stream.
pub(super) fn event(reading: &mut Reading, root: Value<'_, '_>, data: &[u8]) {
    let Some(kind) = root.get("type").and_then(Value::text) else { return };
    if kind.is("response.output_text.delta") {
        reading.text(root.get("delta"));
    } else if kind.is("response.output_item.added") {
        if let Some(item) = root.get("item") {
            call(reading, item);
        }
    } else if kind.is("response.refusal.delta") {
        reading.refused = true;
    } else if kind.is("response.completed") || kind.is("response.incomplete") || kind.is("response.done") {
        if let Some(response) = root.get("response") {
            end(reading, response);
        }
        reading.complete();
    } else if kind.is("response.failed") || kind.is("response.cancelled") {
        let response = root.get("response");
        let error = response.and_then(|response| response.get("error")).filter(|error| !error.is_null());
        reading.fail(error.unwrap_or(root), data);
    } else if kind.is("error") {
        // Its fields stand beside its type.
        reading.fail(root, data);
    } else if kind.is("response.created") {
        reading.model(root.get("response").and_then(|response| response.get("model")));
    }
}

/// A response that came whole.
pub(super) fn whole(reading: &mut Reading, root: Value<'_, '_>) {
    for item in root.get("output").into_iter().flat_map(Value::elements) {
        call(reading, item);
    }
    end(reading, root);
    if root.get("status").and_then(Value::text).is_none_or(|status| status.is("completed") || status.is("incomplete"))
        && root.get("output").is_some()
    {
        reading.complete();
    }
}

fn end(reading: &mut Reading, response: Value<'_, '_>) {
    reading.model(response.get("model"));
    if let Some(usage) = response.get("usage").and_then(usage::openai) {
        reading.so_far.usage = Some(usage);
    }
    // A text that came in parts is not added once more.
    let had_deltas = reading.text_bytes > 0;
    for item in response.get("output").into_iter().flat_map(Value::elements) {
        for part in item.get("content").into_iter().flat_map(Value::elements) {
            match part.get("type").and_then(Value::text) {
                Some(kind) if kind.is("output_text") && !had_deltas => reading.text(part.get("text")),
                Some(kind) => reading.refused |= kind.is("refusal"),
                None => {}
            }
        }
    }
    let reason = response.get("incomplete_details").and_then(|details| details.get("reason")).and_then(Value::text);
    let stop = match reason {
        Some(reason) if reason.is("max_output_tokens") => Stop::Length,
        Some(reason) if reason.is("content_filter") => Stop::Refusal,
        Some(reason) => other(reason),
        None if is(response.get("status"), "incomplete") => Stop::Other("incomplete".to_owned()),
        None => Stop::End,
    };
    if matches!(reading.so_far.end, StreamEnd::Truncated) {
        reading.so_far.stop = stop;
    }
}

fn is(value: Option<Value<'_, '_>>, word: &str) -> bool {
    value
        .filter(|value| value.kind() == Kind::String)
        .and_then(Value::text)
        .is_some_and(|text: Text<'_>| text.is(word))
}

fn call(reading: &mut Reading, item: Value<'_, '_>) {
    let kind = item.get("type").and_then(Value::text);
    if kind.is_some_and(|kind| CALLS.iter().any(|call| kind.is(call))) {
        reading.call(item.get("name").or_else(|| item.get("type")));
    }
}
