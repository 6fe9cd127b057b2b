//! Usage as providers report it, turned into one convention: the input numbers never overlap.

use super::Value;
use crate::transcript::Usage;
use crate::units::Tokens;

fn number(value: Value<'_, '_>, key: &str) -> Option<u64> {
    value.get(key)?.u64()
}

/// Reads the usage that a message of a log carries, in the places where programs keep it.
pub(super) fn of_message(message: Value<'_, '_>) -> Option<Usage> {
    if let Some(usage) = message.get("usage") {
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
    fn usage_that_says_nothing_is_none() {
        assert_eq!(read(r#"{"usage":{"input":0,"output":0}}"#), None);
        assert_eq!(read(r#"{"usage":null}"#), None);
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"usage":{"prompt_tokens":5,"prompt_tokens_details":null}}"#).unwrap().input, Tokens(5));
    }
}
