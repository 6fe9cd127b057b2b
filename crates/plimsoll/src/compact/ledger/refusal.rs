//! Answers to calls that were never made: the user would not have them, or a policy forbids them.

use super::outcome::is_frame;

/// How an answer begins where the user refused the call.
const REFUSALS: [&str; 6] = [
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "[Request interrupted by user for tool use]",
    "exec command rejected by user",
    "rejected by user",
    "The user denied this operation",
];

/// How long an answer may be that says nothing else, in bytes.
const LONGEST: usize = 1_000;

/// What becomes of a call that is refused, in lower case.
const VERBS: [&str; 10] = [
    "rejected",
    "denied",
    "blocked",
    "refused",
    "declined",
    "disallowed",
    "forbidden",
    "prohibited",
    "not allowed",
    "not permitted",
];
/// Who refuses it: the user, or a rule.
const USERS: [&str; 6] = ["by user", "by the user", "user rejected", "user denied", "user declined", "user refused"];
const RULES: [&str; 3] = ["policy", "policies", "security"];
/// What is refused.
const OBJECTS: [&str; 14] = [
    "this action",
    "the action",
    "this tool",
    "tool use",
    "tool call",
    "this command",
    "the command",
    "exec command",
    "this operation",
    "the operation",
    "this request",
    "the request",
    "this call",
    "navigation",
];

/// Who refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    ByUser,
    ByRule,
}

/// Whether an answer says that the call was refused, and by whom.
pub(super) fn of(answer: &str) -> Option<Refusal> {
    if REFUSALS.iter().any(|refusal| answer.trim_start().starts_with(refusal)) {
        return Some(Refusal::ByUser);
    }
    if answer.len() > LONGEST {
        return None;
    }
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty() && !is_frame(line))?;
    let line = line.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let names = has(&OBJECTS) || VERBS.iter().any(|verb| line.starts_with(verb));
    if !line.starts_with(char::is_alphabetic) || !names || !has(&VERBS) {
        return None;
    }
    if has(&USERS) { Some(Refusal::ByUser) } else { has(&RULES).then_some(Refusal::ByRule) }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Outcome, Told, read};
    use crate::transcript::{Block, BlockKind, CallKind, ToolResult};
    use crate::wire::{Span, Text};

    fn told(text: &str, is_error: Option<bool>, is_command: bool) -> Told {
        let content = vec![Block { span: Span::default(), kind: BlockKind::Text(Text::plain(text)) }];
        read(
            &ToolResult { call_id: None, content, is_error, kind: CallKind::Client },
            is_command.then_some("make it"),
        )
    }

    #[test]
    fn what_a_policy_or_the_user_rejected_did_not_go_well() {
        for text in [
            "Browser use rejected this action due to browser security policy. Reason: none.",
            "This action was blocked by the organization's policy.",
            "Tool call denied by policy: network access",
            "Rejected due to the approval policy",
        ] {
            for is_command in [true, false] {
                let told = told(text, None, is_command);
                assert!(matches!(told.outcome, Outcome::Failed | Outcome::Ended), "{text}: {:?}", told.outcome);
                assert!(told.error.is_some_and(|error| text.starts_with(&error)), "{text}");
            }
        }
        for text in
            ["exec command rejected by user", "The tool call was declined by the user.", "User rejected this action"]
        {
            assert_eq!(told(text, None, false).outcome, Outcome::Refused, "{text}");
        }
        for text in [
            "The policy of the shop: returns are refused after 30 days.",
            "1\tThis action was denied by policy",
            "def rejected(policy): pass",
            "ok",
        ] {
            assert_eq!(told(text, None, false).outcome, Outcome::Ok, "{text}");
        }
        assert_eq!(told("Tool call denied by policy", Some(false), false).outcome, Outcome::Ok);
    }
}
