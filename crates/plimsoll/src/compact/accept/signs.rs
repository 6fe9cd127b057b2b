//! Signs in an answer that it is something else than a summary: an error's text, a call's markup, a refusal, the
//! conversation going on.

use crate::compact::ledger::line::one_line;
use crate::compact::summary::{after_summary, outside_code};
use crate::wire::overflow;

/// Beginnings of what programs and gateways put in place of an answer when a call failed, lower case.
const ERRORS: [&str; 30] = [
    "api error",
    "api_error",
    "error:",
    "error code:",
    "[error",
    "error occurred",
    "an error occurred",
    "internal server error",
    "upstream connect error",
    "upstream error",
    "bad gateway",
    "gateway timeout",
    "service unavailable",
    "request timed out",
    "connection error",
    "connection refused",
    "rate limit",
    "too many requests",
    "overloaded",
    "credit balance is too low",
    "invalid api key",
    "unauthorized",
    "authentication_error",
    "you exceeded your current quota",
    "prompt is too long",
    "input is too long",
    "this model's maximum context length",
    "http error",
    "httperror",
    "fetch failed",
];

/// How long an error's text may be, in characters: a summary that tells of errors is longer, and has headings.
const ERROR_LENGTH: usize = 3_000;

/// The beginning of a provider's error, if the answer is one.
pub(super) fn provider_error(raw: &str) -> Option<String> {
    let text = raw.trim().trim_start_matches(|c: char| matches!(c, '`' | '"' | '*' | '#') || c.is_whitespace());
    if text.is_empty() {
        return None;
    }
    let start: String = text.chars().take(200).collect::<String>().to_lowercase();
    let json = (start.starts_with('{') || start.starts_with("json\n{")) && {
        let start = start.replace(char::is_whitespace, "");
        start.contains("\"error\":") || start.contains("\"type\":\"error\"") || start.contains("\"detail\":")
    };
    let page = start.starts_with("<html") || start.starts_with("<!doctype html");
    // `429 Too Many Requests`, `HTTP/1.1 502 Bad Gateway`.
    let status = start.trim_start_matches("http/1.1 ").trim_start_matches("http ").trim_start_matches("http/2 ");
    let coded = status.get(..3).is_some_and(|code| {
        matches!(code.as_bytes(), [b'4' | b'5', b'0'..=b'9', b'0'..=b'9'])
            && status.get(3..).is_some_and(|rest| rest.starts_with([' ', ':', '\n']) || rest.is_empty())
    });
    let short = || text.chars().nth(ERROR_LENGTH).is_none();
    let worded = ERRORS.iter().any(|error| start.starts_with(error));
    let too_long = || overflow(400, text.as_bytes()).is_some();
    let is_error = json || page || ((coded || worded || too_long()) && short() && !has_summary(raw));
    is_error.then(|| one_line(text, 160))
}

fn has_summary(raw: &str) -> bool {
    raw.contains("\n## ") || raw.to_ascii_lowercase().contains("<summary")
}

/// A text whose code blocks are none: without the lines that fence them.
pub(super) fn without_fences(text: &str) -> String {
    let fences = |line: &&str| ["```", "~~~"].iter().any(|mark| line.trim_start().starts_with(mark));
    text.split_inclusive('\n').filter(|line| !fences(line)).collect()
}

/// Whether a text is in sections, however they are called.
pub(super) fn has_headings(text: &str) -> bool {
    outside_code(text).lines().filter(|line| line.starts_with("# ") || line.starts_with("##")).count() >= 3
}

/// How calls of tools begin where models write them as text. They count at the start of a line only: a summary may well
/// speak of them.
const CALLS: [&str; 20] = [
    "<function_calls>",
    "<function_calls",
    "<invoke name=",
    "<invoke",
    "<tool_call>",
    "<tool_call ",
    "<tool_use>",
    "<tool_use ",
    "<tool_code>",
    "<function=",
    "<|tool_call",
    "<|tool_calls",
    "<｜tool▁call",
    "<|python_tag|>",
    "<|channel|>commentary to=",
    "[tool_calls]",
    "[tool_call]",
    "<|action_start|>",
    "<start_function_call>",
    "functools[",
];

/// The line in which a tool is called, outside code.
pub(super) fn tool_markup(text: &str) -> Option<String> {
    let outside = outside_code(text);
    let line = outside.lines().map(str::trim_start).find(|line| {
        let start: String = line.chars().take(40).collect::<String>().to_ascii_lowercase();
        CALLS.iter().any(|call| start.starts_with(call))
    });
    line.map(|line| one_line(line, 80)).or_else(|| {
        // A call as bare JSON is the whole answer.
        let whole: String = text.trim().chars().filter(|c| !c.is_whitespace()).take(400).collect();
        let called =
            whole.contains("\"arguments\":") || whole.contains("\"parameters\":") || whole.contains("\"input\":");
        let is_call = (whole.starts_with("{\"name\":\"")
            || whole.starts_with("[{\"name\":\"")
            || whole.starts_with("{\"tool\":\""))
            && called
            || whole.starts_with("{\"tool_calls\":");
        is_call.then(|| one_line(text, 80))
    })
}

/// Whether a call follows the summary: the model did not stop at it.
pub(super) fn calls_after_summary(raw: &str) -> bool {
    after_summary(raw).is_some_and(|rest| tool_markup(&rest).is_some())
}

/// Beginnings of lines with which a model takes somebody's part in the conversation.
const ROLES: [&str; 9] = [
    "human:",
    "assistant:",
    "<|im_start|>",
    "<|start_header_id|>",
    "<|user|>",
    "<|assistant|>",
    "[inst]",
    "<start_of_turn>",
    "### human",
];

/// Whether the conversation goes on after what a last section has to say.
pub(super) fn goes_on(last: &str) -> bool {
    let outside = outside_code(last);
    let is_role = |line: &str| {
        let start: String =
            line.trim_start_matches(['*', ' ']).chars().take(24).collect::<String>().to_ascii_lowercase();
        ROLES.iter().any(|role| start.starts_with(role))
    };
    outside.lines().any(is_role)
}

/// Wordings of refusals, lower case. They only warn: a user may have been refused something, and it is told.
const REFUSALS: [&str; 24] = [
    "i can't help with",
    "i cannot help with",
    "i can't assist",
    "i cannot assist",
    "i'm unable to",
    "i am unable to",
    "i'm not able to",
    "i am not able to",
    "i can't provide",
    "i cannot provide",
    "i can't summar",
    "i cannot summar",
    "i won't be able to",
    "i'm sorry, but",
    "i am sorry, but",
    "i apologize, but",
    "as an ai",
    "ich kann dabei nicht",
    "es tut mir leid, aber",
    "je ne peux pas vous aider",
    "lo siento, pero no puedo",
    "mi dispiace, ma non posso",
    "не могу помочь",
    "我无法",
];

/// The words of a refusal outside code and quotations.
pub(super) fn refusal(summary: &str) -> Option<String> {
    let outside = outside_code(summary).to_lowercase().replace('’', "'");
    let said: String = outside.split(['"', '“', '”']).step_by(2).collect::<Vec<_>>().join("\n");
    let found = REFUSALS.iter().filter_map(|wording| said.find(wording)).min()?;
    said.get(found..).map(|words| one_line(words.lines().next().unwrap_or(""), 80))
}

/// Whether a summary names an identifier: as it stands, or for a path by its last two parts, or by a last one that is
/// long enough to be one of a kind.
pub(super) fn names(summary: &str, name: &str) -> bool {
    if summary.contains(name) {
        return true;
    }
    let mut parts = name.rsplitn(3, '/');
    match (parts.next(), parts.next()) {
        (Some(last), Some(folder)) if !last.is_empty() => {
            summary.contains(&format!("{folder}/{last}")) || (last.len() >= 6 && summary.contains(last))
        }
        _ => false,
    }
}
