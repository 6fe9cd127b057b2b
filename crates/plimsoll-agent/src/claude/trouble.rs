//! What Claude Code says when something is in the way: limits, missing logins, turns that fail.

use serde_json::Value;

use super::records::names;
use crate::agent::Agent;
use crate::driver::Step;
use crate::error::AgentError;
use crate::event::EventKind;
use crate::json::text;

pub(super) fn retry(record: &Value) -> EventKind {
    let status = record.get("error_status").and_then(Value::as_u64);
    let error = text(record, "error");
    let attempt = record.get("attempt").and_then(Value::as_u64).unwrap_or(0);
    let message = match status {
        Some(status) => format!("{error} (HTTP {status}), attempt {attempt}"),
        None => format!("{error}, attempt {attempt}"),
    };
    EventKind::RateLimit { message, retry_ms: record.get("retry_delay_ms").and_then(milliseconds), retrying: true }
}

pub(super) fn rate_limit(record: &Value, steps: &mut Vec<Step>) {
    let info = record.get("rate_limit_info").unwrap_or(&Value::Null);
    let (status, kind) = (text(info, "status"), text(info, "rateLimitType"));
    // It is said before every turn; only a limit that is near or reached is news.
    if status.is_empty() || status == "allowed" {
        return;
    }
    let message = format!("{status} {kind}").trim().to_owned();
    steps.push(Step::Event(EventKind::RateLimit { message, retry_ms: None, retrying: status != "rejected" }));
}

fn milliseconds(value: &Value) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float to integer cast saturates")]
    value.as_u64().or_else(|| value.as_f64().map(|number| number.round() as u64))
}

/// Why a turn failed, in the program's words.
pub(super) fn failure(record: &Value, said: Option<&str>) -> AgentError {
    let errors = names(record, "errors").join("; ");
    let subtype = text(record, "subtype");
    let words = said.filter(|said| !said.is_empty()).or(Some(errors.as_str()).filter(|errors| !errors.is_empty()));
    let message = words.unwrap_or(subtype).to_owned();
    let status = record.get("api_error_status").and_then(Value::as_u64);
    if message.contains("No conversation found") {
        return AgentError::NoSession { agent: Agent::Claude, session: text(record, "session_id").to_owned() };
    }
    login_or_limit(&message, status).unwrap_or(AgentError::Failed { agent: Agent::Claude, message })
}

/// Tells a missing login and a limit from other failures, by HTTP status or by the words.
pub(super) fn login_or_limit(message: &str, status: Option<u64>) -> Option<AgentError> {
    let says = |words: &[&str]| words.iter().any(|words| message.contains(words));
    let line = || message.lines().next().unwrap_or_default().to_owned();
    let agent = Agent::Claude;
    if matches!(status, Some(401 | 403)) || says(&["Not logged in", "Please run /login", "Invalid API key"]) {
        return Some(AgentError::NotLoggedIn { agent, message: line() });
    }
    if status == Some(429) || says(&["rate limit", "usage limit", "hit your limit", "Request rejected (429)"]) {
        return Some(AgentError::RateLimited { agent, message: line() });
    }
    None
}
