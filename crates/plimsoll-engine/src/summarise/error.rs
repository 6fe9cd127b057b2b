//! Each way in which a summariser can fail, with what to do about it.

use std::time::Duration;

use plimsoll::transcript::Usage;
use plimsoll::wire::{Overflow, OverflowKind};
use plimsoll::{Bytes, Tokens};

use super::{Answer, Stop};

/// Why there is no answer, or none that could be a summary. `endpoint` is a URL without credentials and query.
///
/// No variant holds a key, and what a server said is given without any key that was sent to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummariserError {
    /// It was cancelled from outside.
    #[error("the summary was cancelled; nothing was changed")]
    Cancelled,
    /// An address that is none.
    #[error("{address} is no address of a summariser: {reason}")]
    Address {
        /// What was given, without credentials.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No connection could be made, after retries.
    #[error(
        "{endpoint} cannot be reached ({}): {reason}; is the address right, and the server running?",
        tries(*attempts)
    )]
    Unreachable {
        /// Where.
        endpoint: String,
        /// How often it was tried.
        attempts: u32,
        /// What the system said.
        reason: String,
    },
    /// The connection is not to be trusted.
    #[error(
        "{endpoint}: no trusted connection: {reason}; is it an https address, and its certificate known to this system?"
    )]
    Tls {
        /// Where.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no key, and the service needs one.
    #[error(
        "{endpoint} refuses a request without a key (status {status}); set {variable}, or a command that prints it"
    )]
    NoKey {
        /// Where.
        endpoint: String,
        /// Its answer's status.
        status: u16,
        /// The environment variable that a key is looked for in.
        variable: String,
    },
    /// The command that is to print the key did not.
    #[error("the command for the key of {endpoint} gave none: {reason}")]
    KeyCommand {
        /// For where.
        endpoint: String,
        /// What happened. It holds nothing that the command printed on its standard output.
        reason: String,
    },
    /// The key cannot be sent.
    #[error(
        "the key for {endpoint} cannot be sent: it holds characters that no header can carry; check {key_source}"
    )]
    KeyUnusable {
        /// For where.
        endpoint: String,
        /// Where the key came from.
        key_source: String,
    },
    /// The key was refused.
    #[error("{endpoint} refuses the key (status {status}){}; check {key_source}", words(said))]
    KeyRefused {
        /// Where.
        endpoint: String,
        /// Its answer's status.
        status: u16,
        /// Where the key came from.
        key_source: String,
        /// What the server said.
        said: String,
    },
    /// The model, or the path, is not known there.
    #[error(
        "{endpoint} knows no model `{model}`, or no such path (status {status}){}; check the model's name and the base address",
        words(said)
    )]
    NotFound {
        /// Where.
        endpoint: String,
        /// The model that was asked for.
        model: String,
        /// Its answer's status.
        status: u16,
        /// What the server said.
        said: String,
    },
    /// Too many requests, still, after retries.
    #[error("{endpoint} limits the rate of requests (status {status}, {}){}{}; try again later", tries(*attempts), words(said), again(*retry_after))]
    RateLimited {
        /// Where.
        endpoint: String,
        /// Its last answer's status.
        status: u16,
        /// How often it was tried.
        attempts: u32,
        /// After what time the server wants to be asked again.
        retry_after: Option<Duration>,
        /// What the server said.
        said: String,
    },
    /// What the key may spend is used up. Waiting brings nothing back.
    #[error(
        "{endpoint} says that what the key may spend is used up (status {status}){}; check the account, or give another --summarizer",
        words(said)
    )]
    Unpaid {
        /// Where.
        endpoint: String,
        /// Its answer's status.
        status: u16,
        /// What the server said.
        said: String,
    },
    /// The server cannot serve now, still, after retries.
    #[error("{endpoint} cannot serve now (status {status}, {}){}; try again later", tries(*attempts), words(said))]
    Unavailable {
        /// Where.
        endpoint: String,
        /// Its last answer's status.
        status: u16,
        /// How often it was tried.
        attempts: u32,
        /// What the server said.
        said: String,
    },
    /// The request is longer than the model takes.
    #[error(
        "the request is too long for {model} at {endpoint}{}; give a model with a larger window, or its window with --summarizer-window",
        sizes(overflow)
    )]
    Overflow {
        /// Where.
        endpoint: String,
        /// The model.
        model: String,
        /// What the server said of it, in numbers.
        overflow: Overflow,
    },
    /// The model writes less at most than it was to be allowed.
    #[error("{model} at {endpoint} writes at most {} tokens; give that as --summarizer-max-output", limit.0)]
    OutputLimit {
        /// Where.
        endpoint: String,
        /// The model.
        model: String,
        /// How much it writes.
        limit: Tokens,
    },
    /// The limit of the answer has to go by another name.
    #[error(
        "{endpoint} takes the limit of the answer as `{name}` only{}; is that the base address of this kind of service?",
        words(said)
    )]
    OutputName {
        /// Where.
        endpoint: String,
        /// The name.
        name: &'static str,
        /// What the server said.
        said: String,
    },
    /// The request was refused for another reason.
    #[error("{endpoint} refuses the request (status {status}){}; {}", words(said), refused_next(*status))]
    Refused {
        /// Where.
        endpoint: String,
        /// Its answer's status.
        status: u16,
        /// What the server said.
        said: String,
    },
    /// The server sends the request elsewhere. It was not followed: the key would have gone along.
    #[error(
        "{endpoint} redirects to {to} (status {status}), which is not followed with a key; give that address if it is meant"
    )]
    Redirected {
        /// Where.
        endpoint: String,
        /// Its answer's status.
        status: u16,
        /// Where to, without credentials and query.
        to: String,
    },
    /// The answer ended before its end.
    #[error("the answer of {endpoint} was cut off after {received}: {reason}; try again")]
    Cut {
        /// Where.
        endpoint: String,
        /// How much had come.
        received: Bytes,
        /// How it ended.
        reason: String,
    },
    /// The server reported a failure inside its answer.
    #[error("{endpoint} failed while it answered{}; try again", words(said))]
    Failed {
        /// Where.
        endpoint: String,
        /// What it said.
        said: String,
    },
    /// It took too long.
    #[error("{endpoint}: {waited} within {limit:?}; try again{}", more_time(*waited))]
    Timeout {
        /// Where.
        endpoint: String,
        /// What was waited for.
        waited: Waited,
        /// How long.
        limit: Duration,
    },
    /// The answer is not what the format says.
    #[error(
        "the answer of {endpoint} is not understood (status {status}, {content_type}): {reason}; is that the base address of this kind of service?"
    )]
    NotUnderstood {
        /// Where.
        endpoint: String,
        /// The answer's status.
        status: u16,
        /// The answer's content type.
        content_type: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The answer is larger than any summary.
    #[error("the answer of {endpoint} is over the limit of {limit}; it was not read on")]
    TooLarge {
        /// Where.
        endpoint: String,
        /// The limit.
        limit: Bytes,
    },
    /// The output limit ended the answer.
    #[error("{service} stopped at its output limit, before the summary was complete")]
    Length {
        /// Who answered.
        service: String,
        /// What the call used.
        usage: Option<Usage>,
    },
    /// A tool was called instead of an answer given.
    #[error("{service} called a tool instead of writing a summary")]
    ToolCall {
        /// Who answered.
        service: String,
        /// What the call used.
        usage: Option<Usage>,
    },
    /// The model, or a filter, declined.
    #[error("{service} declined to write a summary")]
    Declined {
        /// Who answered.
        service: String,
        /// What the call used.
        usage: Option<Usage>,
    },
    /// The answer holds no text.
    #[error("{service} answered without a word")]
    Empty {
        /// Who answered.
        service: String,
        /// What the call used.
        usage: Option<Usage>,
    },
    /// The summariser itself panicked.
    #[error("{service} panicked, which is a fault of its own; what it printed says more")]
    Panicked {
        /// Who was asked.
        service: String,
    },
    /// Nothing could be asked: what is to be summarised does not fit, however much of it is left out.
    #[error("nothing can be asked of {service}: {reason}")]
    Request {
        /// Who was to be asked.
        service: String,
        /// Why not.
        reason: String,
    },
}

/// What was waited for in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Waited {
    /// A connection.
    Connection,
    /// The beginning of an answer, or its next part.
    NextPart,
    /// The whole of the call, retries included.
    Whole,
}

impl std::fmt::Display for Waited {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Connection => "no connection",
            Self::NextPart => "nothing more came",
            Self::Whole => "no whole answer",
        })
    }
}

impl SummariserError {
    /// What the failed call used: a model that wrote the wrong thing has been paid for it.
    pub const fn usage(&self) -> Option<Usage> {
        match self {
            Self::Length { usage, .. }
            | Self::ToolCall { usage, .. }
            | Self::Declined { usage, .. }
            | Self::Empty { usage, .. } => *usage,
            _ => None,
        }
    }

    /// Whether a model answered, but with something that can be no summary: asking again, with the reason, may help.
    pub const fn is_answer(&self) -> bool {
        matches!(self, Self::Length { .. } | Self::ToolCall { .. } | Self::Declined { .. } | Self::Empty { .. })
    }
}

impl Answer {
    /// Gives the answer on if it can be a summary.
    ///
    /// # Errors
    /// [`SummariserError`] if it stopped at its limit, called a tool, declined, or is empty.
    pub fn usable(self, service: &str) -> Result<Self, SummariserError> {
        let (service, usage) = (service.to_owned(), self.usage);
        match self.stop {
            Stop::Length => Err(SummariserError::Length { service, usage }),
            Stop::ToolCall => Err(SummariserError::ToolCall { service, usage }),
            Stop::Refusal => Err(SummariserError::Declined { service, usage }),
            _ if self.text.trim().is_empty() => Err(SummariserError::Empty { service, usage }),
            _ => Ok(self),
        }
    }
}

fn words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

/// What to do about a refusal that says no more than its words.
const fn refused_next(status: u16) -> &'static str {
    match status {
        501 | 505 => "is that the base address of this kind of service?",
        _ => {
            "check the model's name, its --summarizer-window and --summarizer-max-output, or give another --summarizer"
        }
    }
}

const fn more_time(waited: Waited) -> &'static str {
    match waited {
        Waited::Whole => ", or allow more with --summarizer-timeout",
        Waited::Connection | Waited::NextPart => "",
    }
}

fn tries(attempts: u32) -> String {
    plimsoll::counted(attempts, "try", "tries")
}

fn again(after: Option<Duration>) -> String {
    after.map(|after| format!("; it asks to wait {} s", after.as_secs())).unwrap_or_default()
}

fn sizes(overflow: &Overflow) -> String {
    match (overflow.kind, overflow.tokens, overflow.limit) {
        (OverflowKind::Bytes, ..) => " (too many bytes)".to_owned(),
        (_, Some(tokens), Some(limit)) => format!(" ({} tokens, it takes {})", tokens.0, limit.0),
        (_, None, Some(limit)) => format!(" (it takes {} tokens)", limit.0),
        (_, Some(tokens), None) => format!(" ({} tokens)", tokens.0),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_endpoint_the_status_and_the_next_step() {
        let endpoint = || "https://api.example.com/v1/messages".to_owned();
        let errors = [
            SummariserError::Unreachable { endpoint: endpoint(), attempts: 3, reason: "connection refused".into() },
            SummariserError::KeyRefused {
                endpoint: endpoint(),
                status: 401,
                key_source: "ANTHROPIC_API_KEY".into(),
                said: "invalid x-api-key".into(),
            },
            SummariserError::RateLimited {
                endpoint: endpoint(),
                status: 429,
                attempts: 4,
                retry_after: Some(Duration::from_secs(30)),
                said: String::new(),
            },
            SummariserError::Overflow {
                endpoint: endpoint(),
                model: "m".into(),
                overflow: Overflow {
                    tokens: Some(Tokens(9_000)),
                    limit: Some(Tokens(8_192)),
                    kind: OverflowKind::Tokens,
                },
            },
            SummariserError::Timeout {
                endpoint: endpoint(),
                waited: Waited::NextPart,
                limit: Duration::from_secs(60),
            },
        ];
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        https://api.example.com/v1/messages cannot be reached (3 tries): connection refused; is the address right, and the server running?
        https://api.example.com/v1/messages refuses the key (status 401): invalid x-api-key; check ANTHROPIC_API_KEY
        https://api.example.com/v1/messages limits the rate of requests (status 429, 4 tries); it asks to wait 30 s; try again later
        the request is too long for m at https://api.example.com/v1/messages (9000 tokens, it takes 8192); give a model with a larger window, or its window with --summarizer-window
        https://api.example.com/v1/messages: nothing more came within 60s; try again
        ");
    }

    #[test]
    fn what_a_failed_answer_used_is_known() {
        let usage = Some(Usage { output: Tokens(20), ..Usage::default() });
        let answer = |stop| Answer { stop, usage, ..Answer::ended("half a summ") };
        for stop in [Stop::Length, Stop::ToolCall, Stop::Refusal] {
            let error = answer(stop).usable("m").unwrap_err();
            assert!(error.is_answer() && error.usage() == usage, "{error}");
        }
        let blank = Answer { usage, ..Answer::ended(" \n") };
        assert_eq!(blank.usable("m"), Err(SummariserError::Empty { service: "m".into(), usage }));
        assert!(answer(Stop::Other("eos".into())).usable("m").is_ok());
        assert!(!SummariserError::Cancelled.is_answer());
    }
}
