//! `output_refused`: whether a provider's answer says that the limit which a request set on the answer cannot be, and what
//! it should be.

use super::{find, plain};
use crate::units::Tokens;

/// What is wrong with the limit that a request set on its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutputRefused {
    /// It is more than the model writes at most, which is this.
    TooMuch(Tokens),
    /// It has to go by this name.
    Named(&'static str),
}

/// How providers say how much a model writes at most, in the notation of the wordings of an overflow.
const WORDINGS: [&str; 11] = [
    // Anthropic.
    "max_tokens:{t} > {l},which is the maximum",
    // OpenAI, Azure.
    "supports at most {l} completion tokens",
    "supports at most {l} output tokens",
    "max_tokens is too large{*}at most {l}",
    // Bedrock.
    "maximum tokens you requested exceeds the model limit of {l}",
    // DeepSeek, Alibaba, Moonshot.
    "range of max_tokens is [1,{l}]",
    "range of max_tokens should be [1,{l}]",
    // Groq, xAI and others.
    "max_tokens must be less than or equal to {l}",
    "max_completion_tokens must be less than or equal to {l}",
    "max_output_tokens must be less than or equal to {l}",
    "max_tokens{*}must be at most {l}",
];

/// How Gemini and Vertex say it: the first number that is too much.
const EXCLUSIVE: &str = "supported range is from 1 (inclusive) to {l} (exclusive)";

/// How servers say that they do not know a field.
const UNKNOWN: [&str; 8] = [
    "not supported",
    "unsupported",
    "unrecognized",
    "unknown",
    "unexpected",
    "not permitted",
    "extra inputs",
    "additional properties",
];

/// Judges a provider's refusal: `None` if it does not speak of the limit of the answer.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::wire::{OutputRefused, output_refused};
/// let body = br#"{"error":{"message":"max_tokens is too large: 20000. This model supports at most 4096 completion tokens, whereas you provided 20000."}}"#;
/// assert_eq!(output_refused(400, body), Some(OutputRefused::TooMuch(Tokens(4_096))));
/// ```
pub fn output_refused(status: u16, body: &[u8]) -> Option<OutputRefused> {
    if !matches!(status, 400 | 422) {
        return None;
    }
    let said = plain(body);
    let exclusive = || find(&said, EXCLUSIVE).and_then(|found| found.limit).map(|limit| limit.saturating_sub(1));
    let limit = WORDINGS.iter().find_map(|words| find(&said, words)).and_then(|found| found.limit).or_else(exclusive);
    if let Some(limit) = limit.filter(|limit| *limit > 0) {
        return Some(OutputRefused::TooMuch(Tokens(limit)));
    }
    let (old, new) = ("max_tokens", "max_completion_tokens");
    if !UNKNOWN.iter().any(|words| said.contains(words)) {
        return None;
    }
    // Which of the two is not known is the one that is named first.
    match (said.find(old), said.find(new)) {
        (Some(unknown), Some(known)) if unknown < known => Some(OutputRefused::Named(new)),
        (_, Some(_)) => Some(OutputRefused::Named(old)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(message: &str) -> Option<OutputRefused> {
        output_refused(400, serde_json::json!({"error": {"message": message}}).to_string().as_bytes())
    }

    #[test]
    fn the_most_that_a_model_writes_is_read_in_each_providers_wording() {
        for (message, limit) in [
            (
                "max_tokens: 20000 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku-20240307",
                4_096,
            ),
            (
                "max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided 20000.",
                16_384,
            ),
            (
                "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
                4_096,
            ),
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
            ("<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 2000]", 2_000),
            (
                "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
                8_192,
            ),
            (
                "Unable to submit request because it has a maxOutputTokens value of 20000 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
                8_192,
            ),
        ] {
            assert_eq!(judge(message), Some(OutputRefused::TooMuch(Tokens(limit))), "{message}");
        }
    }

    #[test]
    fn the_name_that_a_server_knows_is_read() {
        for (message, name) in [
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                "max_completion_tokens",
            ),
            ("Unrecognized request argument supplied: max_completion_tokens", "max_tokens"),
            ("max_completion_tokens: Extra inputs are not permitted", "max_tokens"),
        ] {
            assert_eq!(judge(message), Some(OutputRefused::Named(name)), "{message}");
        }
    }

    #[test]
    fn other_refusals_are_left_alone() {
        for message in [
            "max_tokens: Field required",
            "max_tokens must be positive",
            "prompt is too long: 9000 tokens > 8192 maximum",
            "Unsupported parameter: 'temperature'",
        ] {
            assert_eq!(judge(message), None, "{message}");
        }
        assert_eq!(output_refused(200, b"supports at most 4096 completion tokens"), None);
    }
}
