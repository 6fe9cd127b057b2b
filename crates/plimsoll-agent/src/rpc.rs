//! JSON-RPC over lines: requests of both sides, matched by their ids. Codex leaves the `jsonrpc` member out, ACP does not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::error::AgentError;
use crate::json::{LONGEST_ID, owned, text};

/// The most requests that may be open at a time on either side. A program that asks more is told so.
const MOST: usize = 256;

/// The code for a method that is not there.
pub(crate) const NO_METHOD: i64 = -32601;
/// The code for a request that cannot be taken.
const REFUSED: i64 = -32600;

/// What a line says.
#[derive(Debug)]
pub(crate) enum Message<K> {
    /// The answer to a request of ours.
    Answer(K, Result<Value, RpcError>),
    /// The program asks something.
    Request { id: Value, method: String, params: Value },
    /// The program tells something.
    Notification { method: String, params: Value },
    /// An answer to nothing that was asked, or no message at all.
    Stray,
}

/// An error, as the other side says it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl RpcError {
    fn read(error: &Value) -> Self {
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: owned(error, "message").unwrap_or_else(|| "an error without words".to_owned()),
            data: error.get("data").cloned().unwrap_or_default(),
        }
    }

    /// Gives the message, and what the data adds to it.
    pub(crate) fn words(&self) -> String {
        let details = match &self.data {
            Value::String(details) => Some(details.as_str()),
            data => ["details", "message", "error"].iter().find_map(|field| data.get(field)?.as_str()),
        };
        match details.filter(|details| !self.message.contains(details)) {
            Some(details) => format!("{}: {}", self.message, details.lines().next().unwrap_or_default().trim()),
            None => self.message.clone(),
        }
    }
}

/// What is open, on both sides. `K` says what a request of ours was about, `T` what is kept of the program's.
#[derive(Debug)]
pub(crate) struct Rpc<K, T> {
    /// Whether the lines say that they are JSON-RPC 2.0.
    says_version: bool,
    asked: u64,
    ours: BTreeMap<u64, K>,
    theirs: BTreeMap<String, (Value, T)>,
}

impl<K, T> Rpc<K, T> {
    pub(crate) fn new(says_version: bool) -> Self {
        Self { says_version, asked: 0, ours: BTreeMap::new(), theirs: BTreeMap::new() }
    }

    fn line(&self, mut message: Value) -> String {
        if let (true, Some(object)) = (self.says_version, message.as_object_mut()) {
            object.insert("jsonrpc".to_owned(), "2.0".into());
        }
        message.to_string()
    }

    /// Writes a request of ours.
    pub(crate) fn ask(&mut self, about: K, method: &str, params: &Value) -> String {
        self.asked += 1;
        self.ours.insert(self.asked, about);
        if self.ours.len() > MOST {
            // What was not answered for so long will not be.
            self.ours.pop_first();
        }
        self.line(json!({ "id": self.asked, "method": method, "params": params }))
    }

    /// Writes a notification of ours.
    pub(crate) fn tell(&self, method: &str, params: Option<&Value>) -> String {
        self.line(match params {
            Some(params) => json!({ "method": method, "params": params }),
            None => json!({ "method": method }),
        })
    }

    /// Reads a line. An answer is matched once; in which order answers come does not matter.
    pub(crate) fn read(&mut self, mut message: Value) -> Message<K> {
        let id = message.get("id").cloned().filter(|id| !id.is_null());
        let method = owned(&message, "method").filter(|method| !method.is_empty());
        let params = message.get_mut("params").map(Value::take).unwrap_or_default();
        match (method, id) {
            (Some(method), Some(id)) => Message::Request { id, method, params },
            (Some(method), None) => Message::Notification { method, params },
            (None, Some(id)) => {
                // Some programs give ids back as text.
                let number = id.as_u64().or_else(|| id.as_str()?.parse().ok());
                let Some(about) = number.and_then(|number| self.ours.remove(&number)) else {
                    return Message::Stray;
                };
                let answer = match message.get("error").filter(|error| !error.is_null()) {
                    Some(error) => Err(RpcError::read(error)),
                    None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
                };
                Message::Answer(about, answer)
            }
            (None, None) => Message::Stray,
        }
    }

    /// Keeps a request of the program's until the host answers it; gives the name that the answer needs.
    ///
    /// # Errors
    /// The line that refuses it, if its id is none or too many are open.
    pub(crate) fn keep(&mut self, id: Value, kept: T) -> Result<String, String> {
        let name = match &id {
            Value::String(id) if id.len() <= LONGEST_ID => id.clone(),
            Value::Number(id) => id.to_string(),
            _ => return Err(self.decline(&id, REFUSED, "an id is a number or a short text")),
        };
        if self.theirs.len() >= MOST || self.theirs.contains_key(&name) {
            return Err(self.decline(&id, REFUSED, "too many requests are open, or one of this id"));
        }
        self.theirs.insert(name.clone(), (id, kept));
        Ok(name)
    }

    /// Gives a request of the program's that is open, and closes it.
    ///
    /// # Errors
    /// If none of this name is open.
    pub(crate) fn take(&mut self, name: &str) -> Result<(Value, T), AgentError> {
        self.theirs.remove(name).ok_or_else(|| AgentError::NoApproval { id: name.to_owned() })
    }

    /// Gives all requests of the program's that are open, and closes them.
    pub(crate) fn take_all(&mut self) -> Vec<(Value, T)> {
        std::mem::take(&mut self.theirs).into_values().collect()
    }

    /// The program does not want an answer any more.
    pub(crate) fn withdraw(&mut self, id: &Value) {
        self.theirs.retain(|_, (open, _)| open != id);
    }

    /// Writes an answer.
    pub(crate) fn answer(&self, id: &Value, result: &Value) -> String {
        self.line(json!({ "id": id, "result": result }))
    }

    /// Writes that a request cannot be answered, so that the program does not wait for it.
    pub(crate) fn decline(&self, id: &Value, code: i64, why: &str) -> String {
        self.line(json!({ "id": id, "error": { "code": code, "message": why } }))
    }
}

/// What a message calls itself, for those that are passed on raw.
pub(crate) fn name(message: &Value) -> String {
    match text(message, "method") {
        "" => "answer".to_owned(),
        method => method.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_matched_by_id_in_whatever_order_and_once() {
        let mut rpc: Rpc<&str, ()> = Rpc::new(false);
        assert_eq!(rpc.ask("first", "a", &json!({})), r#"{"id":1,"method":"a","params":{}}"#);
        rpc.ask("second", "b", &json!({}));
        let second = rpc.read(json!({ "id": 2, "result": 5 }));
        assert!(matches!(second, Message::Answer("second", Ok(value)) if value == 5));
        let first = rpc.read(json!({ "id": "1", "error": { "code": -1, "message": "no" } }));
        assert!(matches!(first, Message::Answer("first", Err(error)) if error.message == "no"));
        assert!(matches!(rpc.read(json!({ "id": 2, "result": 5 })), Message::Stray));
        assert!(matches!(rpc.read(json!({ "id": 77, "result": 5 })), Message::Stray));
        assert!(matches!(rpc.read(json!([1])), Message::Stray));
    }

    #[test]
    fn a_program_that_asks_without_end_is_refused() {
        let mut rpc: Rpc<(), ()> = Rpc::new(true);
        let kept = (0..1_000).filter(|id| rpc.keep(json!(id), ()).is_ok()).count();
        assert_eq!(kept, MOST);
        assert!(rpc.keep(json!({}), ()).unwrap_err().contains("-32600"));
        assert!(rpc.keep(json!(3), ()).is_err());
        assert!(rpc.take("3").is_ok() && rpc.take("3").is_err());
        assert!(rpc.keep(json!("x".repeat(LONGEST_ID + 1)), ()).is_err());
    }

    #[test]
    fn the_details_of_an_error_are_told() {
        let error = |data| RpcError { code: 1, message: "Internal error".to_owned(), data };
        assert_eq!(error(json!({ "details": "No session.\n  Searched" })).words(), "Internal error: No session.");
        assert_eq!(error(json!("why")).words(), "Internal error: why");
        assert_eq!(error(Value::Null).words(), "Internal error");
    }
}
