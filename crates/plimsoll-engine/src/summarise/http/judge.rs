//! What became of a try, in the words of [`SummariserError`], and whether it may pass by itself.

use std::error::Error as _;
use std::time::{Duration, SystemTime};

use plimsoll::Bytes;
use plimsoll::wire::{OutputRefused, Overflow, StreamFailure, Tape, Value, output_refused, overflow};
use plimsoll_store::tls;
use reqwest::Url;

use super::address;
use super::key::{Key, Secret};
use super::patience::retry_after;
use crate::summarise::{SummariserError, Waited};

/// The most that is told of what a server said, in characters.
const SAID: usize = 300;

/// How long a key must be to be taken out of what is told, in characters. A shorter one is a word that local servers are
/// given for form's sake, and stands in other words.
const LEAST_MASKED: usize = 8;

/// A try that brought no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) error: SummariserError,
    /// Whether it may pass by itself, so that it is worth trying again, and safe: nothing of an answer had come.
    pub(super) passing: bool,
    /// How long the server asks to be left alone.
    pub(super) asked: Option<Duration>,
}

/// A refusal, as it came.
pub(super) struct Refusal<'r> {
    pub(super) status: u16,
    pub(super) location: Option<&'r str>,
    pub(super) retry_after: Option<&'r str>,
    pub(super) retry_after_ms: Option<&'r str>,
    /// Its body, or the beginning of it.
    pub(super) body: &'r [u8],
}

/// Judges what became of a try.
pub(super) struct Judge<'j> {
    pub(super) endpoint: &'j str,
    pub(super) model: &'j str,
    /// What must not be shown: the key, or a client's credentials. Empty if nothing of the kind was sent.
    pub(super) secrets: &'j [Secret],
    pub(super) source: &'j Key,
}

#[expect(clippy::unnecessary_box_returns, reason = "they end in results, where a large error costs every step")]
impl Judge<'_> {
    fn end(error: SummariserError) -> Box<Failure> {
        Box::new(Failure { error, passing: false, asked: None })
    }

    fn passing(error: SummariserError) -> Box<Failure> {
        Box::new(Failure { error, passing: true, asked: None })
    }

    fn endpoint(&self) -> String {
        self.endpoint.to_owned()
    }

    /// Nothing came in time. What the server makes of the request by then is unknown, so it is not sent again.
    pub(super) fn timeout(&self, waited: Waited, limit: Duration) -> Box<Failure> {
        Self::end(SummariserError::Timeout { endpoint: self.endpoint(), waited, limit })
    }

    /// No answer began.
    pub(super) fn unsent(&self, error: &reqwest::Error, connect: Duration) -> Box<Failure> {
        if let Some(reason) = tls::fault(error) {
            return Self::end(SummariserError::Tls { endpoint: self.endpoint(), reason });
        }
        if error.is_timeout() && error.is_connect() {
            let waited = Waited::Connection;
            let error = SummariserError::Timeout { endpoint: self.endpoint(), waited, limit: connect };
            return Self::passing(error);
        }
        let reason = self.clean(&deepest(error));
        if error.is_connect() {
            return Self::passing(SummariserError::Unreachable { endpoint: self.endpoint(), attempts: 1, reason });
        }
        // The request was on its way. A server that closes the connection without a word has answered nothing.
        Self::passing(SummariserError::Cut { endpoint: self.endpoint(), received: Bytes(0), reason })
    }

    /// The answer broke off.
    pub(super) fn cut(&self, received: Bytes, reason: &str, untouched: bool) -> Box<Failure> {
        let error = SummariserError::Cut { endpoint: self.endpoint(), received, reason: self.clean(reason) };
        Box::new(Failure { error, passing: untouched, asked: None })
    }

    pub(super) fn too_large(&self, limit: Bytes) -> Box<Failure> {
        Self::end(SummariserError::TooLarge { endpoint: self.endpoint(), limit })
    }

    pub(super) fn not_understood(&self, status: u16, content_type: &str, reason: &str) -> Box<Failure> {
        let content_type = if content_type.is_empty() { "no content type" } else { content_type };
        Self::end(SummariserError::NotUnderstood {
            endpoint: self.endpoint(),
            status,
            content_type: content_type.chars().filter(|c| !is_hidden(*c)).take(80).collect(),
            reason: self.clean(reason),
        })
    }

    /// The server reports a failure inside its answer. `untouched` says that no text had come by then.
    pub(super) fn failed(&self, failure: &StreamFailure, untouched: bool) -> Box<Failure> {
        if let Some(overflow) = failure.overflow {
            return Self::end(self.overflow(overflow));
        }
        let kind = failure.kind.to_ascii_lowercase();
        let passing =
            ["overloaded", "rate_limit", "unavailable", "server_error", "api_error", "timeout", "exhausted"];
        let passing = untouched && passing.iter().any(|word| kind.contains(word));
        let said = match (failure.kind.as_str(), failure.said.as_str()) {
            ("", said) => said.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, said) => format!("{kind}: {said}"),
        };
        let (endpoint, said) = (self.endpoint(), self.clean(&said));
        if kind.contains("quota") {
            return Self::end(SummariserError::Unpaid { endpoint, status: 200, said });
        }
        let error = SummariserError::Failed { endpoint, said };
        Box::new(Failure { error, passing, asked: None })
    }

    /// The server refuses.
    pub(super) fn refused(&self, refusal: &Refusal<'_>, base: &Url, now: SystemTime) -> Box<Failure> {
        let Refusal { status, body, .. } = *refusal;
        if let Some(found) = overflow(status, body) {
            return Self::end(self.overflow(found));
        }
        let endpoint = self.endpoint();
        let (said, code) = said(body);
        let said = self.clean(&said);
        let about_rate = is_about_rate(body);
        match output_refused(status, body) {
            Some(OutputRefused::TooMuch(limit)) => {
                return Self::end(SummariserError::OutputLimit { endpoint, model: self.model.to_owned(), limit });
            }
            Some(OutputRefused::Named(name)) => {
                return Self::end(SummariserError::OutputName { endpoint, name, said });
            }
            _ => {}
        }
        match status {
            300..=399 => {
                let to = refusal.location.map_or_else(|| "nowhere".to_owned(), |to| address::shown(base, to));
                Self::end(SummariserError::Redirected { endpoint, status, to: self.clean(&to) })
            }
            401 | 403 if self.secrets.is_empty() => {
                Self::end(SummariserError::NoKey { endpoint, status, variable: self.source.named() })
            }
            401 | 403 => {
                Self::end(SummariserError::KeyRefused { endpoint, status, key_source: self.source.named(), said })
            }
            404 | 405 => {
                Self::end(SummariserError::NotFound { endpoint, model: self.model.to_owned(), status, said })
            }
            400 | 422 if is_about_model(&code, &said) => {
                Self::end(SummariserError::NotFound { endpoint, model: self.model.to_owned(), status, said })
            }
            _ if status == 402 || is_about_money(&code, body) => {
                Self::end(SummariserError::Unpaid { endpoint, status, said })
            }
            _ if status == 429 || (status == 413 && about_rate) => {
                let asked = retry_after(refusal.retry_after, refusal.retry_after_ms, now);
                let error = SummariserError::RateLimited { endpoint, status, attempts: 1, retry_after: asked, said };
                Box::new(Failure { error, passing: true, asked })
            }
            // A server that does not know the method will not learn it.
            501 | 505 => Self::end(SummariserError::Refused { endpoint, status, said }),
            408 | 425 | 500..=599 => {
                let asked = retry_after(refusal.retry_after, refusal.retry_after_ms, now);
                let error = SummariserError::Unavailable { endpoint, status, attempts: 1, said };
                Box::new(Failure { error, passing: true, asked })
            }
            _ => Self::end(SummariserError::Refused { endpoint, status, said }),
        }
    }

    fn overflow(&self, overflow: Overflow) -> SummariserError {
        SummariserError::Overflow { endpoint: self.endpoint(), model: self.model.to_owned(), overflow }
    }

    /// Makes what came from outside fit to be shown: on one line, bounded, without the key.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets.iter().map(Secret::reveal).filter(|secret| secret.chars().count() >= LEAST_MASKED)
        {
            text = text.replace(secret, "[key]");
        }
        let words: Vec<&str> =
            text.split(|c: char| c.is_whitespace() || is_hidden(c)).filter(|w| !w.is_empty()).collect();
        let line = words.join(" ");
        let mut short: String = line.chars().take(SAID).collect();
        if short.len() < line.len() {
            short.push('…');
        }
        short
    }
}

/// Whether a character is not seen but acts: controls, and what turns the direction of a line.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn deepest(error: &reqwest::Error) -> String {
    // What reqwest itself says names the URL; the cause says what happened.
    let mut cause = error.source();
    let mut said = "the connection failed".to_owned();
    while let Some(error) = cause {
        said = error.to_string();
        cause = error.source();
    }
    said
}

fn contains(text: &[u8], words: &[&str]) -> bool {
    let text = String::from_utf8_lossy(text).to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

fn is_about_rate(body: &[u8]) -> bool {
    contains(body, &["rate_limit", "rate limit", "too many requests", "tokens per minute"])
}

fn is_about_money(code: &str, body: &[u8]) -> bool {
    code == "insufficient_quota" || contains(body, &["insufficient_quota", "billing_hard_limit", "credit balance"])
}

fn is_about_model(code: &str, said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    let unknown = ["does not exist", "not found", "unknown", "not a valid model", "invalid model", "no such model"];
    code == "model_not_found" || (said.contains("model") && unknown.iter().any(|words| said.contains(words)))
}

/// What an error's body says, and its code. Servers put it in a few places; a page says it in its title.
fn said(body: &[u8]) -> (String, String) {
    let mut tape = Tape::default();
    let trimmed = body.trim_ascii();
    if tape.parse(trimmed, 0).is_ok()
        && let Some(root) = tape.root(trimmed)
    {
        let word = |value: Value<'_, '_>, key: &str| value.get(key)?.text().map(|text| text.decode().into_owned());
        let error = root.get("error").unwrap_or(root);
        let text = error.text().map(|text| text.decode().into_owned());
        let message = text.or_else(|| {
            ["message", "detail", "error_description", "msg"]
                .iter()
                .find_map(|key| word(error, key).or_else(|| word(root, key)))
        });
        let code = word(error, "code").or_else(|| word(error, "type")).unwrap_or_default();
        return (message.unwrap_or_else(|| String::from_utf8_lossy(trimmed).into_owned()), code);
    }
    let text = String::from_utf8_lossy(trimmed);
    if text.starts_with('<') {
        let lower = text.to_ascii_lowercase();
        let title = lower.find("<title>").and_then(|at| text.get(at + 7..)).and_then(|rest| rest.split('<').next());
        let title = title.map(str::trim).filter(|title| !title.is_empty());
        return (
            title.map_or_else(|| "a web page".to_owned(), |title| format!("a web page, “{title}”")),
            String::new(),
        );
    }
    (text.into_owned(), String::new())
}

impl SummariserError {
    /// Says how often it was tried.
    pub(super) fn after(mut self, tries: u32) -> Self {
        match &mut self {
            Self::Unreachable { attempts, .. }
            | Self::RateLimited { attempts, .. }
            | Self::Unavailable { attempts, .. } => *attempts = tries,
            _ => {}
        }
        self
    }
}

#[cfg(test)]
mod tests;
