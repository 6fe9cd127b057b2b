//! Answers of Anthropic's Messages API.

use super::{Reading, Stop, other};
use crate::wire::{Text, Value, usage};

/// One event of a stream: `message_start`, blocks with their deltas, `message_delta`, `message_stop`.
pub(super) fn event(reading: &mut Reading, root: Value<'_, '_>) {
    let Some(kind) = root.get("type").and_then(Value::text) else { return };
    if kind.is("content_block_delta") {
        let delta = root.get("delta");
        if kind_of(delta).is_some_and(|kind| kind.is("text_delta")) {
            reading.text(delta.and_then(|delta| delta.get("text")));
        }
    } else if kind.is("content_block_start") {
        block(reading, root.get("content_block"));
    } else if kind.is("message_start") {
        let message = root.get("message");
        reading.model(message.and_then(|message| message.get("model")));
        read_usage(reading, message);
    } else if kind.is("message_delta") {
        read_usage(reading, Some(root));
        read_stop(reading, root.get("delta"));
    } else if kind.is("message_stop") {
        reading.complete();
    }
}

/// A response that came whole.
pub(super) fn whole(reading: &mut Reading, root: Value<'_, '_>) {
    reading.model(root.get("model"));
    for content in root.get("content").into_iter().flat_map(Value::elements) {
        block(reading, Some(content));
    }
    read_usage(reading, Some(root));
    read_stop(reading, Some(root));
}

fn kind_of<'a>(value: Option<Value<'_, 'a>>) -> Option<Text<'a>> {
    value?.get("type")?.text()
}

fn block(reading: &mut Reading, block: Option<Value<'_, '_>>) {
    let Some(kind) = kind_of(block) else { return };
    if kind.is("text") {
        reading.text(block.and_then(|block| block.get("text")));
    } else if kind.is("tool_use") {
        reading.call(block.and_then(|block| block.get("name")));
    }
}

/// Usage is cumulative: what comes later holds, as far as it says anything.
fn read_usage(reading: &mut Reading, holder: Option<Value<'_, '_>>) {
    if let Some(value) = holder.and_then(|holder| holder.get("usage")) {
        reading.so_far.usage = usage::anthropic(value, reading.so_far.usage).or(reading.so_far.usage);
    }
}

fn read_stop(reading: &mut Reading, holder: Option<Value<'_, '_>>) {
    let Some(reason) = holder.and_then(|holder| holder.get("stop_reason")).and_then(Value::text) else { return };
    let known = [
        ("end_turn", Stop::End),
        ("stop_sequence", Stop::End),
        ("max_tokens", Stop::Length),
        ("model_context_window_exceeded", Stop::Length),
        ("tool_use", Stop::ToolCall),
        ("refusal", Stop::Refusal),
    ];
    let stop = known.into_iter().find(|(word, _)| reason.is(word)).map(|(_, stop)| stop);
    reading.stop(stop.unwrap_or_else(|| other(reason)));
}
