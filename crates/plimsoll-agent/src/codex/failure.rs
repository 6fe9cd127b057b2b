//! Codex's failures, told apart.

use serde_json::Value;

use crate::agent::Agent;
use crate::driver::Ended;
use crate::error::AgentError;
use crate::json::{owned, text};
use crate::rpc::{NO_METHOD, RpcError};

const AGENT: Agent = Agent::Codex;

/// Why a turn failed, by the error that ended it.
pub(super) fn of_turn(error: &Value) -> AgentError {
    let message = words(error);
    let info = error.get("codexErrorInfo").unwrap_or(&Value::Null);
    let kind = info.as_str().unwrap_or_default();
    if kind == "unauthorized" || matches!(status(info), Some(401 | 403)) || missing_key(&message) {
        return AgentError::NotLoggedIn { agent: AGENT, message };
    }
    if ["usageLimitExceeded", "rateLimitExceeded"].contains(&kind) || status(info) == Some(429) {
        return AgentError::RateLimited { agent: AGENT, message };
    }
    AgentError::Failed { agent: AGENT, message }
}

/// An error in the server's words.
pub(super) fn words(error: &Value) -> String {
    match (text(error, "message"), owned(error, "additionalDetails")) {
        ("", details) => details.unwrap_or_else(|| "the turn failed without words".to_owned()),
        (message, Some(details)) if !message.contains(&details) => format!("{message}: {details}"),
        (message, _) => message.to_owned(),
    }
}

/// The HTTP status that an error names, within whichever kind it is.
fn status(info: &Value) -> Option<u64> {
    info.as_object()?.values().find_map(|kind| kind.get("httpStatusCode")?.as_u64())
}

/// A provider whose key is to come from a variable that is not there.
fn missing_key(message: &str) -> bool {
    message.contains("Missing environment variable") || message.contains("401 Unauthorized")
}

/// Why a request was refused.
pub(super) fn of_request(error: &RpcError, version: Option<&str>) -> AgentError {
    let unknown = error.message.split_once("unknown variant `").map(|(_, rest)| rest);
    if let Some(method) = unknown.and_then(|rest| rest.split('`').next())
        && method.contains('/')
    {
        return rejected(method, version);
    }
    if error.code == NO_METHOD {
        return rejected("what was asked", version);
    }
    of_turn(&serde_json::json!({ "message": error.words(), "codexErrorInfo": error.data.get("codexErrorInfo") }))
}

fn rejected(method: &str, version: Option<&str>) -> AgentError {
    let version = version.map(str::to_owned);
    AgentError::FlagRejected {
        agent: AGENT,
        version,
        flag: method.to_owned(),
        instead: "a newer version may".to_owned(),
    }
}

/// Why a thread was not opened.
pub(super) fn of_thread(error: &RpcError, session: Option<&str>, version: Option<&str>) -> AgentError {
    let Some(session) = session else {
        return of_request(error, version);
    };
    let session = session.to_owned();
    if error.message.contains("model provider") {
        let words = error.words();
        let conflict = format!("belongs to another model provider ({words}); resume it with that one configured");
        return AgentError::SessionConflict { session, conflict };
    }
    let is_missing = ["no rollout found", "not found", "invalid session id", "invalid thread id"];
    if is_missing.iter().any(|words| error.message.contains(words)) {
        return AgentError::NoSession { agent: AGENT, session };
    }
    of_request(error, version)
}

/// Why a server ended, by what it left.
pub(super) fn ended(ended: &Ended<'_>, version: Option<&str>) -> Option<AgentError> {
    let stderr = ended.stderr;
    if stderr.contains("unrecognized subcommand") || stderr.contains("unexpected argument") {
        return Some(rejected("app-server", version));
    }
    let line = stderr.lines().find(|line| line.contains("Not logged in") || missing_key(line))?;
    Some(AgentError::NotLoggedIn { agent: AGENT, message: line.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rpc(message: &str) -> RpcError {
        RpcError { code: -32600, message: message.to_owned(), data: Value::Null }
    }

    #[test]
    fn failures_of_turns_are_told_apart() {
        let kind = |info: Value, message: &str| {
            of_turn(&json!({ "message": message, "codexErrorInfo": info, "additionalDetails": null })).kind()
        };
        assert_eq!(
            kind(json!({ "responseTooManyFailedAttempts": { "httpStatusCode": 429 } }), "retry"),
            "rate_limited"
        );
        assert_eq!(kind(json!("usageLimitExceeded"), "You've hit your usage limit."), "rate_limited");
        assert_eq!(kind(json!("unauthorized"), "no"), "not_logged_in");
        assert_eq!(kind(json!({ "httpConnectionFailed": { "httpStatusCode": 401 } }), "no"), "not_logged_in");
        assert_eq!(kind(json!("other"), "Missing environment variable: `LOCAL_KEY`."), "not_logged_in");
        assert_eq!(kind(json!("contextWindowExceeded"), "too long"), "failed");
        assert_eq!(kind(Value::Null, ""), "failed");
    }

    #[test]
    fn a_thread_that_cannot_be_resumed_says_why() {
        let of = |message: &str| of_thread(&rpc(message), Some("t"), None).kind();
        assert_eq!(of("no rollout found for thread id t"), "no_session");
        assert_eq!(of("invalid session id: invalid character"), "no_session");
        assert_eq!(of("Cannot change this thread's model provider"), "session_conflict");
        assert_eq!(of("This chat uses model provider “local”, which is no longer configured."), "session_conflict");
        assert_eq!(of("something else"), "failed");
    }

    #[test]
    fn a_method_that_a_version_does_not_have_is_named() {
        let error =
            of_request(&rpc("Invalid request: unknown variant `thread/compact/start`, expected"), Some("0.1.0"));
        assert!(error.to_string().starts_with("codex 0.1.0 does not take `thread/compact/start`"), "{error}");
    }
}
