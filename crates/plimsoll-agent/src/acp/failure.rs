//! Failures of agents that speak ACP, told apart.

use crate::agent::Agent;
use crate::driver::Ended;
use crate::error::AgentError;
use crate::rpc::RpcError;

/// The protocol's code for "log in first".
const AUTH_REQUIRED: i64 = -32000;
/// The protocol's code for something that is not there.
const NOT_FOUND: i64 = -32002;

/// Why a request was refused, or failed.
pub(super) fn of_request(agent: Agent, error: &RpcError) -> AgentError {
    let message = error.words();
    let says = |words: &[&str]| {
        let lower = message.to_lowercase();
        words.iter().any(|words| lower.contains(words))
    };
    let keys = ["api key", "unauthorized", "unauthenticated", "not logged in", "authentication required"];
    if error.code == AUTH_REQUIRED || error.code == 401 || says(&keys) {
        return AgentError::NotLoggedIn { agent, message };
    }
    let limits = ["rate limit", "rate_limit", "quota", "resource has been exhausted", "too many requests"];
    if error.code == 429 || says(&limits) {
        return AgentError::RateLimited { agent, message };
    }
    AgentError::Failed { agent, message }
}

/// Why there is no session. What agents say of one that is not there differs; that they say it of a session does not.
pub(super) fn of_opening(agent: Agent, error: &RpcError, session: Option<&str>) -> AgentError {
    let failure = of_request(agent, error);
    let (AgentError::Failed { .. }, Some(session)) = (&failure, session) else {
        return failure;
    };
    let of_session = |text: &str| text.to_lowercase().contains("session");
    if error.code == NOT_FOUND || of_session(&error.message) || of_session(&error.data.to_string()) {
        return AgentError::NoSession { agent, session: session.to_owned() };
    }
    failure
}

/// Why an agent ended, by what it left.
pub(super) fn ended(agent: Agent, ended: &Ended<'_>, version: Option<&str>) -> Option<AgentError> {
    let line = |words: &[&str]| {
        let says = |line: &&str| words.iter().any(|words| line.contains(words));
        ended.stderr.lines().find(says).map(|line| line.trim().to_owned())
    };
    if let Some(message) =
        line(&["Please set an Auth method", "GEMINI_API_KEY", "not logged in", "No provider configured"])
    {
        return Some(AgentError::NotLoggedIn { agent, message });
    }
    line(&["Unknown argument", "unrecognized subcommand", "unknown command", "Unknown command"]).map(|said| {
        AgentError::FlagRejected {
            agent,
            version: version.map(str::to_owned),
            flag: "acp".to_owned(),
            instead: format!("it says: {said}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn error(code: i64, message: &str, data: Value) -> RpcError {
        RpcError { code, message: message.to_owned(), data }
    }

    #[test]
    fn a_session_that_is_not_there_is_told_from_other_failures() {
        let of = |error: RpcError| of_opening(Agent::OpenCode, &error, Some("s")).kind();
        // As OpenCode and Gemini CLI say it.
        assert_eq!(
            of(error(-32603, "Internal error: OpenCode service failure", json!({ "service": "session" }))),
            "no_session"
        );
        let details = "Invalid session identifier \"s\".";
        assert_eq!(of(error(-32603, "Internal error", json!({ "details": details }))), "no_session");
        assert_eq!(of(error(-32002, "Resource not found", Value::Null)), "no_session");
        assert_eq!(of(error(-32603, "disk full", Value::Null)), "failed");
        assert_eq!(of(error(-32000, "Authentication required", Value::Null)), "not_logged_in");
    }

    #[test]
    fn a_limit_and_a_missing_key_are_told_from_other_failures() {
        let of = |error: RpcError| of_request(Agent::Gemini, &error).kind();
        assert_eq!(of(error(429, "no", Value::Null)), "rate_limited");
        assert_eq!(of(error(500, "You exceeded your current quota", Value::Null)), "rate_limited");
        assert_eq!(of(error(400, "API key not valid", Value::Null)), "not_logged_in");
        assert_eq!(of(error(500, "oh", Value::Null)), "failed");
    }
}
