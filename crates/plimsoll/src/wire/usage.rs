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
    let cached = usage.get(details).and_then(|details| number(details, "cached_tokens"));
    let (input, cached) = (number(usage, input)?, cached.unwrap_or(0));
    Some(Usage {
        input: Tokens(input.saturating_sub(cached)),
        cache_read: Tokens(cached.min(input)),
        cache_write: Tokens(0),
        output: Tokens(number(usage, output).unwrap_or(0)),
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
            r#"{"extra":{"response":{"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":90}}}}}"#,
        ] {
            assert_eq!(read(json), Some(expected), "{json}");
            assert_eq!(expected.context(), Tokens(100));
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
