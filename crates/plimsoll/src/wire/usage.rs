//! Usage as providers report it, turned into one convention: the input numbers never overlap.

use super::{Format, Tape, Value};
use crate::transcript::Usage;
use crate::units::Tokens;

fn number(value: Value<'_, '_>, key: &str) -> Option<u64> {
    value.get(key)?.u64()
}

/// Reads the usage that a provider's response reports: of a whole response, or of the event of a stream that carries it
/// (`message_start`, `response.completed`, the last chunk). `None` where it reports none, or only zeros.
///
/// The conventions differ, and what comes out is one: Anthropic's input leaves out what was read from or written to a
/// cache; OpenAI's and Gemini's includes it. Gemini's output leaves out the thinking, which is added; OpenAI's includes it.
/// Anthropic's stream repeats the input in later events: of several usages of one response the last counts, never their
/// sum (rule: the providers' API references).
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::wire::{Format, response_usage};
/// let body = br#"{"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":7}}"#;
/// assert_eq!(response_usage(Format::Anthropic, body).unwrap().context(), Tokens(100));
/// let body = br#"{"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":90}}}"#;
/// assert_eq!(response_usage(Format::OpenaiChat, body).unwrap().context(), Tokens(100));
/// ```
pub fn response_usage(format: Format, body: &[u8]) -> Option<Usage> {
    let mut tape = Tape::default();
    tape.parse(body, 0).ok()?;
    let root = tape.root(body)?;
    let inside = ["message", "response"].into_iter().find_map(|name| root.get(name));
    let field = |name| root.get(name).or_else(|| inside?.get(name));
    let usage = match format {
        Format::Gemini => gemini(field("usageMetadata")?),
        Format::Anthropic | Format::ClaudeCode => {
            let usage = field("usage")?;
            // The last event of a stream may tell the output alone: what was sent stands in the first.
            usage.get("input_tokens")?;
            anthropic(usage, None)
        }
        Format::OpenaiChat | Format::OpenaiResponses | Format::Codex => openai(field("usage")?),
    };
    usage.filter(|usage| *usage != Usage::default())
}

/// Reads the usage that a message of a log carries, in the places where programs keep it.
pub(super) fn of_message(message: Value<'_, '_>) -> Option<Usage> {
    if let Some(usage) = message.get("usage") {
        // Cached tokens beside the input are Anthropic's way. Programs that speak to several providers write them beside
        // OpenAI's names too, and there they are included.
        let beside = ["cache_read_input_tokens", "cache_creation_input_tokens"];
        if usage.get("prompt_tokens").is_none() && beside.iter().any(|name| usage.get(name).is_some()) {
            return anthropic(usage, None);
        }
        return pi(usage).or_else(|| openai(usage));
    }
    if let Some(metrics) = message.get("metrics") {
        return cline(metrics);
    }
    // mini-swe-agent keeps the whole response beside the message.
    let response = message.get("extra")?.get("response")?;
    openai(response.get("usage")?)
}

/// `OpenAI`'s usage, of Chat Completions (`prompt_tokens`) or Responses (`input_tokens`): cached tokens are included
/// in the input.
pub(super) fn openai(usage: Value<'_, '_>) -> Option<Usage> {
    let (input, details, output) = if usage.get("prompt_tokens").is_some() {
        ("prompt_tokens", "prompt_tokens_details", "completion_tokens")
    } else {
        ("input_tokens", "input_tokens_details", "output_tokens")
    };
    let details = usage.get(details);
    let detail = |key| details.and_then(|details| number(details, key));
    // DeepSeek names its own beside them.
    let cached = detail("cached_tokens").or_else(|| number(usage, "prompt_cache_hit_tokens")).unwrap_or(0);
    let input = number(usage, input)?;
    let cached = cached.min(input);
    // OpenRouter tells, for providers whose caches are written to.
    let written = detail("cache_write_tokens").unwrap_or(0).min(input - cached);
    Some(Usage {
        input: Tokens(input - cached - written),
        cache_read: Tokens(cached),
        cache_write: Tokens(written),
        output: Tokens(number(usage, output).unwrap_or(0)),
    })
}

/// Anthropic's usage: the numbers of input do not overlap. What it leaves out is as it was `before`, since the usage of
/// a stream comes in parts, each of which holds from then on. `None` if it says nothing at all.
pub(super) fn anthropic(usage: Value<'_, '_>, before: Option<Usage>) -> Option<Usage> {
    let before = before.unwrap_or_default();
    let mut said = false;
    let mut count = |key, before: Tokens| match number(usage, key) {
        Some(count) => {
            said = true;
            Tokens(count)
        }
        None => before,
    };
    let usage = Usage {
        input: count("input_tokens", before.input),
        cache_read: count("cache_read_input_tokens", before.cache_read),
        cache_write: count("cache_creation_input_tokens", before.cache_write),
        output: count("output_tokens", before.output),
    };
    said.then_some(usage)
}

/// Gemini's usage: what was read from a cache is included in the prompt, what a tool of the provider's put in is not;
/// thinking stands beside the answer.
pub(super) fn gemini(usage: Value<'_, '_>) -> Option<Usage> {
    let count = |key| number(usage, key).unwrap_or(0);
    let (prompt, cached) = (number(usage, "promptTokenCount")?, count("cachedContentTokenCount"));
    Some(Usage {
        input: Tokens(prompt.saturating_sub(cached).saturating_add(count("toolUsePromptTokenCount"))),
        cache_read: Tokens(cached.min(prompt)),
        cache_write: Tokens(0),
        output: Tokens(count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount"))),
    })
}

/// pi's usage: four numbers that do not overlap. An aborted response reports zeros, which say nothing.
fn pi(usage: Value<'_, '_>) -> Option<Usage> {
    let count = |key| Tokens(number(usage, key).unwrap_or(0));
    usage.get("input")?;
    let usage = Usage {
        input: count("input"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        output: count("output"),
    };
    (usage != Usage::default()).then_some(usage)
}

/// Cline's metrics: the input includes what was read from and written to a cache.
fn cline(metrics: Value<'_, '_>) -> Option<Usage> {
    let input = number(metrics, "inputTokens")?;
    let count = |key| number(metrics, key).unwrap_or(0);
    let (read, write) = (count("cacheReadTokens"), count("cacheWriteTokens"));
    Some(Usage {
        input: Tokens(input.saturating_sub(read.saturating_add(write))),
        cache_read: Tokens(read),
        cache_write: Tokens(write),
        output: Tokens(count("outputTokens")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Tape;
    use super::*;

    fn read(json: &str) -> Option<Usage> {
        let mut tape = Tape::default();
        tape.parse(json.as_bytes(), 0).unwrap();
        of_message(tape.root(json.as_bytes()).unwrap())
    }

    #[test]
    fn cached_tokens_are_counted_once_in_every_convention() {
        let expected = Usage { input: Tokens(10), cache_read: Tokens(90), cache_write: Tokens(0), output: Tokens(7) };
        for json in [
            r#"{"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":90}}}"#,
            r#"{"usage":{"input_tokens":100,"output_tokens":7,"input_tokens_details":{"cached_tokens":90}}}"#,
            r#"{"usage":{"input":10,"output":7,"cacheRead":90,"cacheWrite":0}}"#,
            r#"{"metrics":{"inputTokens":100,"outputTokens":7,"cacheReadTokens":90}}"#,
            r#"{"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_cache_hit_tokens":90,"prompt_cache_miss_tokens":10}}"#,
            r#"{"extra":{"response":{"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":90}}}}}"#,
        ] {
            assert_eq!(read(json), Some(expected), "{json}");
            assert_eq!(expected.context(), Tokens(100));
        }
    }

    #[test]
    fn what_was_written_to_a_cache_is_counted_once() {
        let usage =
            r#"{"usage":{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}"#;
        let expected =
            Usage { input: Tokens(10), cache_read: Tokens(60), cache_write: Tokens(30), output: Tokens(0) };
        assert_eq!(read(usage), Some(expected));
        // Numbers that contradict each other do not wrap around.
        let wrong =
            r#"{"usage":{"prompt_tokens":5,"prompt_tokens_details":{"cached_tokens":9,"cache_write_tokens":9}}}"#;
        assert_eq!(read(wrong).map(Usage::context), Some(Tokens(5)));
    }

    #[test]
    fn mechanism_33_cached_tokens_are_counted_once_whoever_reports_them() {
        use Format::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        let usage = |input, cache_read, cache_write, output| {
            let [input, cache_read, cache_write, output] = [input, cache_read, cache_write, output].map(Tokens);
            Some(Usage { input, cache_read, cache_write, output })
        };
        for (format, body, expected) in [
            (
                Anthropic,
                r#"{"usage":{"input_tokens":10,"cache_read_input_tokens":80,"cache_creation_input_tokens":10,"output_tokens":7}}"#,
                usage(10, 80, 10, 7),
            ),
            (
                Anthropic,
                r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1}}}"#,
                usage(10, 90, 0, 1),
            ),
            (
                OpenaiChat,
                r#"{"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":90}}}"#,
                usage(10, 90, 0, 7),
            ),
            (
                OpenaiResponses,
                r#"{"type":"response.completed","response":{"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":90},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5}}}}"#,
                usage(10, 90, 0, 7),
            ),
            (
                Gemini,
                r#"{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":90,"candidatesTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":107}}"#,
                usage(10, 90, 0, 7),
            ),
            (Anthropic, r#"{"type":"message_delta","usage":{"output_tokens":7}}"#, None),
            (OpenaiChat, r#"{"usage":null}"#, None),
            (Gemini, r#"{"usageMetadata":{"promptTokenCount":0}}"#, None),
            (Gemini, "[", None),
        ] {
            assert_eq!(response_usage(format, body.as_bytes()), expected, "{body}");
        }
        // A message of a log, in Anthropic's convention and in a router's that writes both.
        let own = r#"{"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":7}}"#;
        let both = r#"{"usage":{"prompt_tokens":100,"completion_tokens":7,"cache_read_input_tokens":90,"prompt_tokens_details":{"cached_tokens":90}}}"#;
        for json in [own, both] {
            assert_eq!(read(json), usage(10, 90, 0, 7), "{json}");
        }
    }

    #[test]
    fn usage_that_says_nothing_is_none() {
        assert_eq!(read(r#"{"usage":{"input":0,"output":0}}"#), None);
        assert_eq!(read(r#"{"usage":null}"#), None);
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"usage":{"prompt_tokens":5,"prompt_tokens_details":null}}"#).unwrap().input, Tokens(5));
    }
}
