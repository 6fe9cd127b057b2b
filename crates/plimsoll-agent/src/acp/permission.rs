//! What an agent asks of the host: leave to use a tool, which is answered, and other things, which are not.

use serde_json::{Value, json};

use super::Acp;
use crate::driver::{Decision, Step};
use crate::event::EventKind;
use crate::json::{list, owned, text};
use crate::request::{Approvals, Permission};
use crate::rpc::NO_METHOD;

/// The answers that an agent offers, by what they mean.
#[derive(Debug)]
pub(super) struct Options {
    allow: Option<String>,
    deny: Option<String>,
}

impl Options {
    /// Reads them. The one that holds for this time is taken before the one that holds for ever.
    fn read(params: &Value) -> Self {
        let of = |kinds: [&str; 2]| {
            let find = |kind: &&str| list(params, "options").iter().find(|option| text(option, "kind") == *kind);
            kinds.iter().find_map(find).and_then(|option| owned(option, "optionId"))
        };
        Self { allow: of(["allow_once", "allow_always"]), deny: of(["reject_once", "reject_always"]) }
    }

    pub(super) fn answer(&self, decision: &Decision) -> Value {
        let chosen = match decision {
            Decision::Allow => &self.allow,
            Decision::Deny { .. } => &self.deny,
        };
        match chosen {
            Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option } }),
            None => cancelled(),
        }
    }
}

/// The answer that grants nothing, and is always possible.
pub(super) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

impl Acp {
    /// Takes a request of the agent's.
    pub(super) fn asked(&mut self, id: Value, method: &str, mut params: Value, steps: &mut Vec<Step>) {
        if method != "session/request_permission" {
            steps.push(Step::Write(self.rpc.decline(&id, NO_METHOD, "this host does not offer that")));
            steps.push(Step::Unknown(method.to_owned()));
            return;
        }
        let options = Options::read(&params);
        let mut asked = params.get_mut("toolCall").map(Value::take).unwrap_or_default();
        let call = text(&asked, "toolCallId").to_owned();
        let (reason, kind) = (owned(&asked, "title"), text(&asked, "kind").to_owned());
        steps.extend(self.calls.update(&mut asked, true).into_iter().map(Step::Event));
        let by_itself = match self.permission {
            Permission::Bypass => true,
            Permission::AcceptEdits => ["edit", "delete", "move"].contains(&kind.as_str()),
            Permission::Default | Permission::Plan => false,
        };
        let decision = if by_itself {
            Decision::Allow
        } else if self.approvals == Approvals::Deny || self.turn.is_none() {
            Decision::Deny { reason: String::new() }
        } else {
            let (tool, input) = self.calls.asked(&call);
            steps.push(match self.rpc.keep(id, options) {
                Ok(id) => Step::Event(EventKind::ApprovalRequest { id, tool, input, reason }),
                Err(refusal) => Step::Write(refusal),
            });
            return;
        };
        steps.push(Step::Write(self.rpc.answer(&id, &options.answer(&decision))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leave_for_once_is_taken_before_leave_for_ever() {
        let options = Options::read(&json!({ "options": [
            { "optionId": "a", "kind": "allow_always" }, { "optionId": "o", "kind": "allow_once" },
            { "optionId": "n", "kind": "reject_always" } ] }));
        let chosen = |decision| options.answer(&decision).pointer("/outcome/optionId").cloned();
        assert_eq!(chosen(Decision::Allow), Some(json!("o")));
        assert_eq!(chosen(Decision::Deny { reason: String::new() }), Some(json!("n")));
        let none = Options::read(&json!({}));
        assert_eq!(none.answer(&Decision::Allow), cancelled());
    }
}
