//! `overflow`: whether a provider's answer says that the request was too long, and by how much.

mod output;

use super::{Kind, Tape, Text, Value};
use crate::units::Tokens;

pub use output::{OutputRefused, output_refused};

/// A request was too long for its model, or too large for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// How many tokens the request had, by the provider's count; with the output it asked for where that was counted.
    pub tokens: Option<Tokens>,
    /// How many the model takes.
    pub limit: Option<Tokens>,
    /// What was too much.
    pub kind: OverflowKind,
}

/// What was too much of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OverflowKind {
    /// Tokens: the context window is full.
    Tokens,
    /// Bytes: the server takes no body of that size, whatever it holds.
    Bytes,
}

/// Wordings that mean a limit on use over time. They are looked for first, because some of them speak of tokens too.
const THROTTLING: [&str; 12] = [
    "rate limit",
    "rate_limit",
    "ratelimit",
    "rate-limit",
    "too many requests",
    "too_many_requests",
    "throttl",
    "tokens per minute",
    "tokens per day",
    "(tpm)",
    "please wait before trying",
    "insufficient_quota",
];

/// How providers say it, in lower case and without backslashes and backquotes, without the space after a colon
/// or comma. `{t}` stands for the request's tokens,
/// `{o}` for the output's, `{l}` for the limit, `{*}` for anything in between. The first that matches decides, so what
/// gives numbers stands before what gives none.
const WORDINGS: [&str; 40] = [
    // Anthropic, also by way of others.
    "prompt is too long:{t} tokens > {l} maximum",
    "input length and max_tokens exceed context limit:{t} + {o} > {l}",
    // OpenAI, Azure, OpenRouter, DeepSeek, vLLM and whoever follows them.
    "maximum context length is {l} tokens{*}resulted in {t} tokens",
    "maximum context length is {l} tokens{*}requested about {t} tokens",
    "maximum context length is {l} tokens{*}requested {t} tokens",
    "maximum context length is {l} tokens{*}request has {t} input tokens",
    "maximum context length is {l} tokens{*}prompt contains at least {t} input tokens",
    "passed {t} input tokens{*}context length is only {l} tokens",
    "maximum context length is {l}",
    "context length is only {l}",
    "input length ({t}) exceeds model's maximum context length ({l})",
    "input length {t} exceeds the maximum context length {l}",
    "input ({t} tokens) is longer than the model's context length ({l} tokens)",
    // Gemini and Vertex.
    "input token count ({t}) exceeds the maximum number of tokens allowed ({l})",
    "input token count exceeds the maximum number of tokens allowed {l}",
    // Mistral, xAI, Copilot, Moonshot, Alibaba.
    "prompt contains {t} tokens{*}too large for model with {l} maximum context length",
    "maximum prompt length is {l}{*}request contains {t} tokens",
    "maximum prompt length is {l}",
    "prompt token count of {t} exceeds the limit of {l}",
    "exceeded model token limit:{l} (requested:{t})",
    "exceeded model token limit:{l}",
    "range of input length should be [1,{l}]",
    // llama.cpp, in either order of its fields.
    "\"n_prompt_tokens\":{t},\"n_ctx\":{l}",
    "\"n_ctx\":{l},\"n_prompt_tokens\":{t}",
    // Text Generation Inference, and Together in front of it.
    "inputs tokens + max_new_tokens must be <= {l}. given:{t} inputs tokens and {o} max_new_tokens",
    "inputs must have less than {l} tokens. given:{t}",
    // Without numbers, or with numbers in words of another language.
    "prompt is too long",
    "input is too long",
    "context_length_exceeded",
    "model_context_window_exceeded",
    "exceeds the context window",
    "context window exceeds limit",
    "reduce the length of the messages",
    "exceeded model token limit",
    "inputs tokens + max_new_tokens must be",
    "exceed_context_size_error",
    "greater than the context length",
    "exceeds the available context size",
    "input length{*}exceeds{*}context length",
    "prompt exceeds max length",
];

/// How servers say that a body is too large.
const BYTES: [&str; 6] = [
    "request_too_large",
    "maximum allowed number of bytes",
    "request entity too large",
    "payload too large",
    "content too large",
    "length limit exceeded",
];

/// Judges a provider's answer: `None` if it does not say that the request was too long.
///
/// Throttling is excluded first: some providers answer a limit of tokens per minute with the status and the words of an
/// overflow. Of a success only an error inside it counts, or a reason to stop: what a model writes is no error. For an
/// event inside a stream the body is that event's data.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::wire::overflow;
/// let body = br#"{"type":"error","error":{"type":"invalid_request_error",
///     "message":"prompt is too long: 200,251 tokens > 200000 maximum"}}"#;
/// let found = overflow(400, body).unwrap();
/// assert_eq!((found.tokens, found.limit), (Some(Tokens(200_251)), Some(Tokens(200_000))));
/// assert!(overflow(429, b"too many requests").is_none());
/// ```
pub fn overflow(status: u16, body: &[u8]) -> Option<Overflow> {
    let nothing = |kind| Overflow { tokens: None, limit: None, kind };
    let trimmed = body.trim_ascii();
    if trimmed.is_empty() {
        // Cerebras says no more than that.
        return matches!(status, 400 | 413).then(|| nothing(OverflowKind::Tokens));
    }
    let fault = match status {
        429 => return None,
        ..400 => fault_within(trimmed)?,
        400.. => trimmed,
    };
    let said = plain(fault);
    if THROTTLING.iter().any(|words| said.contains(words)) {
        return None;
    }
    let found = WORDINGS.iter().find_map(|words| find(&said, words));
    if let Some(found) = found {
        let (tokens, limit) = match found {
            Numbers { tokens: None, limit: None, .. } => two_numbers(&said),
            Numbers { tokens, limit, output } => {
                let tokens = tokens.map(|tokens| tokens.saturating_add(output.unwrap_or(0)));
                (tokens, limit)
            }
        };
        return Some(Overflow { tokens: tokens.map(Tokens), limit: limit.map(Tokens), kind: OverflowKind::Tokens });
    }
    let bytes = BYTES.iter().any(|words| said.contains(words));
    (bytes || status == 413).then(|| nothing(OverflowKind::Bytes))
}

/// The part of a successful answer that reports a fault, if there is one.
fn fault_within(body: &[u8]) -> Option<&[u8]> {
    let mut tape = Tape::default();
    tape.parse(body, 0).ok()?;
    let root = tape.root(body)?;
    let error = |value: Value<'_, '_>| value.get("error").filter(|error| !error.is_null()).map(Value::span);
    let code = |value: Value<'_, '_>| {
        // Responses' `error` event carries its fields beside its type.
        let is_error = value.get("type").and_then(Value::text).is_some_and(|kind| kind.is("error"));
        is_error.then(|| value.span())
    };
    let reason = |value: Value<'_, '_>| {
        let reason = value.get("stop_reason").or_else(|| value.get("finish_reason"))?;
        (reason.kind() == Kind::String).then(|| reason.span())
    };
    let inner = ["response", "delta", "message"].into_iter().filter_map(|key| root.get(key));
    let choices = root.get("choices").into_iter().flat_map(Value::elements);
    let found = error(root)
        .or_else(|| code(root))
        .or_else(|| reason(root))
        .or_else(|| inner.chain(choices).find_map(|value| error(value).or_else(|| reason(value))))?;
    Some(found.of(body))
}

/// The text of an error as it can be searched: JSON inside JSON strings flattened, lower case, single spaces.
fn plain(body: &[u8]) -> String {
    let mut plain = String::with_capacity(body.len());
    // Escapes of control characters and of Unicode are resolved once; deeper ones lose their backslashes below.
    let text = Text::json(body, true);
    for character in text.decode().chars() {
        match character {
            '\\' | '`' => {}
            space if space.is_whitespace() => {
                if !plain.ends_with([' ', ':', ',', '{']) {
                    plain.push(' ');
                }
            }
            '\u{2019}' => plain.push('\''),
            other => plain.extend(other.to_lowercase()),
        }
    }
    plain
}

/// What a wording's places held.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    tokens: Option<u64>,
    output: Option<u64>,
    limit: Option<u64>,
}

/// How far apart the parts of one wording may stand, in bytes.
const GAP: usize = 300;

/// Looks for a wording anywhere in what was said.
fn find(said: &str, words: &str) -> Option<Numbers> {
    let opening = words.split('{').next().unwrap_or(words);
    let rest = words.strip_prefix(opening)?;
    said.match_indices(opening)
        .filter_map(|(at, _)| said.get(at + opening.len()..))
        .find_map(|after| follow(after, rest, Numbers::default()))
}

/// Reads on where a wording has begun.
fn follow(said: &str, words: &str, mut numbers: Numbers) -> Option<Numbers> {
    if words.is_empty() {
        return Some(numbers);
    }
    let literal = words.split('{').next().unwrap_or(words);
    if !literal.is_empty() {
        return follow(said.strip_prefix(literal)?, words.strip_prefix(literal)?, numbers);
    }
    let (place, rest) = words.strip_prefix('{')?.split_once('}')?;
    if place == "*" {
        let next = rest.split('{').next().unwrap_or(rest);
        let rest = rest.strip_prefix(next)?;
        return said
            .match_indices(next)
            .take_while(|(at, _)| *at <= GAP)
            .filter_map(|(at, _)| said.get(at + next.len()..))
            .find_map(|after| follow(after, rest, numbers));
    }
    let (number, after) = number(said)?;
    match place {
        "t" => numbers.tokens = Some(number),
        "o" => numbers.output = Some(number),
        _ => numbers.limit = Some(number),
    }
    follow(after, rest, numbers)
}

/// Reads a number at the start of a text, with separators between groups of three digits if it has any.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    if first == 0 {
        return None;
    }
    let (head, mut rest) = text.split_at_checked(first)?;
    let mut value: u64 = head.parse().ok()?;
    if first <= 3 {
        loop {
            let mut after = rest.chars();
            let separated = after.next().is_some_and(|between| matches!(between, ',' | '.' | '\'' | '_' | ' '));
            let after = after.as_str();
            if !separated || digits(after) != 3 {
                break;
            }
            let (group, remaining) = after.split_at_checked(3)?;
            value = value.checked_mul(1_000)?.checked_add(group.parse().ok()?)?;
            rest = remaining;
        }
    }
    Some((value, rest))
}

/// Where the words are in a language that no wording here knows: of exactly two numbers that can be counts of tokens,
/// the smaller one is the limit.
fn two_numbers(said: &str) -> (Option<u64>, Option<u64>) {
    let mut found = Vec::new();
    let (mut rest, mut before) = (said, ' ');
    while let Some(character) = rest.chars().next() {
        let starts = character.is_ascii_digit()
            && !(before.is_ascii_alphanumeric() || matches!(before, '-' | '_' | '.' | '/'));
        if let Some((value, after)) = number(rest).filter(|_| starts) {
            let part_of_a_name = after.starts_with(|next: char| next.is_ascii_alphabetic() || next == '-');
            if (1_000..100_000_000).contains(&value) && !part_of_a_name {
                found.push(value);
            }
            (rest, before) = (after, '0');
        } else {
            before = character;
            rest = rest.get(character.len_utf8()..).unwrap_or("");
        }
    }
    found.dedup();
    match found.as_slice() {
        [one, other] if one != other => (Some(*one.max(other)), Some(*one.min(other))),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests;
