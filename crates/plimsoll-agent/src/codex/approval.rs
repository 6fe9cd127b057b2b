//! Codex's requests to the host: approvals, which a host can answer, and others, which it cannot.

use serde_json::{Value, json};

use super::Codex;
use crate::driver::{Decision, Step};
use crate::event::EventKind;
use crate::json::{owned, small};
use crate::request::Approvals;
use crate::rpc::NO_METHOD;

/// What is kept of a request for approval: how it is answered.
#[derive(Debug)]
pub(super) enum Approval {
    /// By one word or another.
    Word { allow: &'static str, deny: &'static str },
    /// By the permissions that it asks for, or none.
    Permissions(Value),
}

impl Approval {
    pub(super) fn answer(&self, decision: &Decision) -> Value {
        match (self, decision) {
            (Self::Word { allow, .. }, Decision::Allow) => json!({ "decision": allow }),
            (Self::Word { deny, .. }, Decision::Deny { .. }) => json!({ "decision": deny }),
            (Self::Permissions(asked), Decision::Allow) => json!({ "permissions": asked, "scope": "turn" }),
            (Self::Permissions(_), Decision::Deny { .. }) => json!({ "permissions": {}, "scope": "turn" }),
        }
    }
}

impl Codex {
    /// Takes a request of the server's.
    pub(super) fn approval(&mut self, id: Value, method: &str, mut params: Value, steps: &mut Vec<Step>) {
        let word = |allow, deny| Approval::Word { allow, deny };
        let (tool, kept) = match method {
            "item/commandExecution/requestApproval" => ("commandExecution", word("accept", "decline")),
            "item/fileChange/requestApproval" => ("fileChange", word("accept", "decline")),
            "execCommandApproval" => ("commandExecution", word("approved", "denied")),
            "applyPatchApproval" => ("fileChange", word("approved", "denied")),
            "item/permissions/requestApproval" => {
                ("permissions", Approval::Permissions(params.get("permissions").cloned().unwrap_or_default()))
            }
            // Nobody is there to fill in a form.
            "mcpServer/elicitation/request" => {
                let declined = json!({ "action": "decline", "content": null, "_meta": null });
                steps.push(Step::Write(self.rpc.answer(&id, &declined)));
                return;
            }
            "item/tool/requestUserInput" => {
                steps.push(Step::Write(self.rpc.answer(&id, &json!({ "answers": {} }))));
                return;
            }
            _ => {
                steps.push(Step::Write(self.rpc.decline(&id, NO_METHOD, "this host does not answer that")));
                steps.push(Step::Unknown(method.to_owned()));
                return;
            }
        };
        if self.approvals == Approvals::Deny {
            let denied = kept.answer(&Decision::Deny { reason: String::new() });
            steps.push(Step::Write(self.rpc.answer(&id, &denied)));
            return;
        }
        let reason = owned(&params, "reason");
        if let Some(params) = params.as_object_mut() {
            params
                .retain(|name, value| !value.is_null() && !["threadId", "turnId", "startedAtMs"].contains(&&**name));
        }
        match self.rpc.keep(id, kept) {
            Ok(id) => {
                let input = small(params);
                steps.push(Step::Event(EventKind::ApprovalRequest { id, tool: tool.to_owned(), input, reason }));
            }
            Err(refusal) => steps.push(Step::Write(refusal)),
        }
    }
}
