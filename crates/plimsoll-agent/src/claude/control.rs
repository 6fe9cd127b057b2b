//! Control requests of both sides, matched by their ids.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::driver::Decision;
use crate::error::AgentError;

/// The most requests that may be open at a time on either side. A program that asks more is not answered.
const MOST: usize = 256;

/// What is open.
#[derive(Debug, Default)]
pub(super) struct Controls {
    asked: u64,
    /// Ours: id and subtype.
    ours: BTreeMap<String, &'static str>,
    /// The program's requests to use a tool: id and input.
    theirs: BTreeMap<String, Value>,
}

impl Controls {
    /// Writes a request of ours.
    pub(super) fn ask(&mut self, subtype: &'static str, request: &Value) -> String {
        self.asked += 1;
        let id = format!("plimsoll-{}", self.asked);
        let line = json!({ "type": "control_request", "request_id": id, "request": request }).to_string();
        self.ours.insert(id, subtype);
        line
    }

    /// Matches an answer with what was asked, once.
    pub(super) fn answered(&mut self, id: &str) -> Option<&'static str> {
        self.ours.remove(id)
    }

    /// Keeps a request to use a tool; gives whether there is room for it.
    pub(super) fn open(&mut self, id: &str, input: Value) -> bool {
        let room = self.theirs.len() < MOST;
        if room {
            self.theirs.insert(id.to_owned(), input);
        }
        room
    }

    /// The program does not want an answer any more.
    pub(super) fn withdraw(&mut self, id: &str) {
        self.theirs.remove(id);
    }

    /// Writes the answer to a request to use a tool.
    pub(super) fn answer(&mut self, id: &str, decision: &Decision) -> Result<String, AgentError> {
        let input = self.theirs.remove(id).ok_or_else(|| AgentError::NoApproval { id: id.to_owned() })?;
        let response = match decision {
            Decision::Allow => json!({ "behavior": "allow", "updatedInput": input }),
            Decision::Deny { reason } => json!({ "behavior": "deny", "message": reason }),
        };
        Ok(json!({
            "type": "control_response",
            "response": { "subtype": "success", "request_id": id, "response": response },
        })
        .to_string())
    }

    /// Writes that a request cannot be answered, so that the program does not wait for it.
    pub(super) fn decline(id: &str, why: &str) -> String {
        json!({
            "type": "control_response",
            "response": { "subtype": "error", "request_id": id, "error": why },
        })
        .to_string()
    }
}
