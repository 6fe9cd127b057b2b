//! Answers of Gemini's `generateContent` and `streamGenerateContent`: a stream is a row of partial responses.

use super::{Reading, Stop, other};
use crate::transcript::Usage;
use crate::units::Tokens;
use crate::wire::Value;

/// One part of a stream, or the whole response: they have one shape.
pub(super) fn part(reading: &mut Reading, root: Value<'_, '_>) {
    reading.model(root.get("modelVersion"));
    if let Some(usage) = root.get("usageMetadata").and_then(usage) {
        reading.so_far.usage = Some(usage);
    }
    for candidate in root.get("candidates").into_iter().flat_map(Value::elements) {
        if candidate.get("index").and_then(Value::u64).unwrap_or(0) != 0 {
            continue;
        }
        let parts = candidate.get("content").and_then(|content| content.get("parts"));
        for part in parts.into_iter().flat_map(Value::elements) {
            if part.get("thought").and_then(Value::bool) != Some(true) {
                reading.text(part.get("text"));
            }
            if let Some(call) = part.get("functionCall") {
                reading.call(call.get("name"));
            }
        }
        if let Some(reason) = candidate.get("finishReason").and_then(Value::text) {
            let known = [
                ("STOP", Stop::End),
                ("MAX_TOKENS", Stop::Length),
                ("SAFETY", Stop::Refusal),
                ("RECITATION", Stop::Refusal),
                ("BLOCKLIST", Stop::Refusal),
                ("PROHIBITED_CONTENT", Stop::Refusal),
                ("SPII", Stop::Refusal),
                ("LANGUAGE", Stop::Refusal),
                ("MALFORMED_FUNCTION_CALL", Stop::ToolCall),
                ("UNEXPECTED_TOOL_CALL", Stop::ToolCall),
            ];
            let stop = known.into_iter().find(|(word, _)| reason.is(word)).map(|(_, stop)| stop);
            reading.stop(stop.unwrap_or_else(|| other(reason)));
        }
    }
    // A prompt that was blocked gets no candidate at all.
    if root.get("promptFeedback").and_then(|feedback| feedback.get("blockReason")).is_some_and(|why| !why.is_null()) {
        reading.stop(Stop::Refusal);
    }
}

/// Gemini counts what it read from a cache as part of the prompt, and reasoning beside the output.
fn usage(value: Value<'_, '_>) -> Option<Usage> {
    let number = |key| value.get(key).and_then(Value::u64);
    let prompt = number("promptTokenCount")?.saturating_add(number("toolUsePromptTokenCount").unwrap_or(0));
    let cached = number("cachedContentTokenCount").unwrap_or(0).min(prompt);
    let output =
        number("candidatesTokenCount").unwrap_or(0).saturating_add(number("thoughtsTokenCount").unwrap_or(0));
    Some(Usage {
        input: Tokens(prompt - cached),
        cache_read: Tokens(cached),
        cache_write: Tokens(0),
        output: Tokens(output),
    })
}
