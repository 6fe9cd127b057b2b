//! Transcripts for tests: short scripts of what happened, as messages or as items, orderly or not.

use proptest::prelude::*;

use super::{Author, Block, BlockKind, CallKind, Message, Role, ToolCall, ToolResult, Transcript};
use crate::wire::{Span, Text};

/// One message (in item formats: one item) of a made-up conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A person types.
    Typed,
    /// A program's reminder, as a user message.
    Machine,
    /// The operator speaks.
    System,
    /// The model answers.
    Say,
    /// A reasoning item.
    Reason,
    /// The model calls tools, in one message, thinking first or not.
    Calls { ids: Vec<Option<u8>>, thinks: bool },
    /// Results, in one user message, with or without text beside them.
    Results { ids: Vec<Option<u8>>, text: bool },
    /// The provider runs a tool; its result is in the same message or still to come.
    Server { id: u8, answered: bool },
    /// The provider's result in a later response.
    ServerResult(u8),
    /// A question whether a call may run.
    Ask(u8),
    /// The answer to it.
    Answer(u8),
    /// An entry of unknown role.
    Unknown,
}

const IDS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

fn id(number: u8) -> Text<'static> {
    Text::plain(IDS[usize::from(number) % IDS.len()])
}

pub(crate) fn text_block(text: &'static str) -> Block<'static> {
    block(BlockKind::Text(Text::plain(text)))
}

fn block(kind: BlockKind<'static>) -> Block<'static> {
    Block { span: Span::default(), kind }
}

fn call(number: Option<u8>, kind: CallKind) -> Block<'static> {
    block(BlockKind::ToolCall(ToolCall {
        id: number.map(id),
        name: Text::plain("run"),
        arguments: Text::plain("{}"),
        kind,
    }))
}

fn result(number: Option<u8>, kind: CallKind) -> Block<'static> {
    block(BlockKind::ToolResult(ToolResult {
        call_id: number.map(id),
        content: vec![text_block("done")],
        is_error: None,
        kind,
    }))
}

fn thinking() -> Block<'static> {
    block(BlockKind::Thinking { text: Some(Text::plain("hm")), sealed: true })
}

/// Writes out a script, one message a step.
pub(crate) fn transcript(script: &[Step]) -> Transcript<'static> {
    let messages = script.iter().enumerate().map(|(index, step)| {
        let (role, author, blocks) = match step {
            Step::Typed => (Role::User, Author::User, vec![text_block("do it")]),
            Step::Machine => (Role::User, Author::Machinery, vec![text_block("reminder")]),
            Step::System => (Role::System, Author::Operator, vec![text_block("be nice")]),
            Step::Say => (Role::Assistant, Author::Model, vec![text_block("yes")]),
            Step::Reason => (Role::Assistant, Author::Model, vec![thinking()]),
            Step::Calls { ids, thinks } => {
                let mut blocks: Vec<_> = thinks.then(thinking).into_iter().collect();
                blocks.extend(ids.iter().map(|id| call(*id, CallKind::Client)));
                (Role::Assistant, Author::Model, blocks)
            }
            Step::Results { ids, text } => {
                let mut blocks: Vec<_> = ids.iter().map(|id| result(*id, CallKind::Client)).collect();
                blocks.extend(text.then(|| text_block("and this too")));
                let author = if *text { Author::User } else { Author::Tool };
                (Role::User, author, blocks)
            }
            Step::Server { id, answered } => {
                let mut blocks = vec![text_block("searching"), call(Some(*id), CallKind::Server)];
                blocks.extend(answered.then(|| result(Some(*id), CallKind::Server)));
                (Role::Assistant, Author::Model, blocks)
            }
            Step::ServerResult(id) => {
                let blocks = vec![result(Some(*id), CallKind::Server), text_block("found")];
                (Role::Assistant, Author::Model, blocks)
            }
            Step::Ask(id) => {
                let blocks = vec![call(Some(*id), CallKind::Approval)];
                (Role::Assistant, Author::Model, blocks)
            }
            Step::Answer(id) => {
                let blocks = vec![result(Some(*id), CallKind::Approval)];
                (Role::User, Author::Machinery, blocks)
            }
            Step::Unknown => (Role::Other, Author::Machinery, vec![text_block("?")]),
        };
        Message::new(role, author, u32::try_from(index).unwrap(), blocks)
    });
    Transcript { messages: messages.collect(), ..Transcript::default() }
}

/// Any script at all: orphans, reused ids, interleaved results, things in odd places.
pub(crate) fn disorder(steps: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let ids = || prop::collection::vec(prop::option::weighted(0.8, 0_u8..4), 1..4);
    let step = prop_oneof![
        3 => Just(Step::Typed),
        1 => Just(Step::Machine),
        1 => Just(Step::System),
        2 => Just(Step::Say),
        2 => Just(Step::Reason),
        4 => (ids(), any::<bool>()).prop_map(|(ids, thinks)| Step::Calls { ids, thinks }),
        4 => (ids(), any::<bool>()).prop_map(|(ids, text)| Step::Results { ids, text }),
        1 => (4_u8..6, any::<bool>()).prop_map(|(id, answered)| Step::Server { id, answered }),
        1 => (4_u8..6).prop_map(Step::ServerResult),
        1 => (6_u8..8).prop_map(Step::Ask),
        1 => (6_u8..8).prop_map(Step::Answer),
        1 => Just(Step::Unknown),
    ];
    prop::collection::vec(step, steps)
}

/// A script as agents really produce them: turns of calls and results, with a fault here and there.
pub(crate) fn session(turns: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let exchange = (1_usize..4, any::<bool>(), any::<bool>(), 0_u8..20).prop_map(|(calls, thinks, items, fault)| {
        let ids: Vec<Option<u8>> = (0..calls).map(|id| u8::try_from(id).ok()).collect();
        let mut steps = Vec::new();
        if items {
            steps.extend(thinks.then_some(Step::Reason));
            steps.extend(ids.iter().map(|id| Step::Calls { ids: vec![*id], thinks: false }));
        } else {
            steps.push(Step::Calls { ids: ids.clone(), thinks });
        }
        match fault {
            // Interrupted; one result missing; a reminder beside the results; the operator speaks up afterwards.
            0 => return steps,
            1 => steps.push(Step::Results { ids: ids[1..].to_vec(), text: true }),
            2 => steps.push(Step::Results { ids, text: true }),
            3 => steps.extend([Step::Results { ids, text: false }, Step::System]),
            _ if items => {
                steps.extend(ids.iter().map(|id| Step::Results { ids: vec![*id], text: false }));
            }
            _ => steps.push(Step::Results { ids, text: false }),
        }
        steps
    });
    let turn = (prop::collection::vec(exchange, 0..5), any::<bool>()).prop_map(|(exchanges, answers)| {
        let mut steps = vec![Step::Typed];
        steps.extend(exchanges.into_iter().flatten());
        steps.extend(answers.then_some(Step::Say));
        steps
    });
    (any::<bool>(), prop::collection::vec(turn, turns)).prop_map(|(system, turns)| {
        let mut steps: Vec<_> = system.then_some(Step::System).into_iter().collect();
        steps.extend(turns.into_iter().flatten());
        steps
    })
}

/// Writes a script as a request body of Anthropic's format. What that has no word for becomes an unknown role.
pub(crate) fn anthropic(script: &[Step]) -> String {
    let messages = script.iter().enumerate().map(|(index, step)| {
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text} {index}"}}"#);
        let thinking = format!(r#"{{"type":"thinking","thinking":"hm {index}","signature":"s{index}"}}"#);
        let call = |id: &Option<u8>| {
            let id = id.map(|id| format!(r#""id":"c{id}","#)).unwrap_or_default();
            format!(r#"{{"type":"tool_use",{id}"name":"run","input":{{"at":{index}}}}}"#)
        };
        let result = |id: &Option<u8>| {
            let id = id.map(|id| format!(r#""tool_use_id":"c{id}","#)).unwrap_or_default();
            format!(r#"{{"type":"tool_result",{id}"content":"done {index}"}}"#)
        };
        let (role, blocks) = match step {
            Step::Typed => ("user", vec![text("do it")]),
            Step::Machine => {
                ("user", vec![text("<system-reminder>x</system-reminder>").replace(&format!(" {index}"), "")])
            }
            Step::System => ("system", vec![text("be nice")]),
            Step::Say => ("assistant", vec![text("yes")]),
            Step::Reason => ("assistant", vec![thinking]),
            Step::Calls { ids, thinks } => {
                let calls = ids.iter().map(call);
                ("assistant", thinks.then_some(thinking).into_iter().chain(calls).collect())
            }
            Step::Results { ids, text: with_text } => {
                let more = with_text.then(|| text("and this too"));
                ("user", ids.iter().map(result).chain(more).collect())
            }
            Step::Server { id, answered } => {
                let call = format!(r#"{{"type":"server_tool_use","id":"c{id}","name":"web_search","input":{{}}}}"#);
                let result = format!(r#"{{"type":"web_search_tool_result","tool_use_id":"c{id}","content":[]}}"#);
                ("assistant", std::iter::once(call).chain(answered.then_some(result)).collect())
            }
            Step::ServerResult(id) => (
                "assistant",
                vec![
                    format!(r#"{{"type":"web_search_tool_result","tool_use_id":"c{id}","content":[]}}"#),
                    text("found"),
                ],
            ),
            Step::Ask(_) | Step::Answer(_) | Step::Unknown => ("exit", vec![text("?")]),
        };
        format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
    });
    let messages: Vec<String> = messages.collect();
    format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":64,"system":"Be brief.","messages":[{}]}}"#,
        messages.join(",\n")
    )
}

/// Writes a script as a request body of the Responses format, one item a call, result or message.
pub(crate) fn responses(script: &[Step]) -> String {
    let mut items = Vec::new();
    for (index, step) in script.iter().enumerate() {
        let message = |role: &str, text: &str| {
            let kind = if role == "assistant" { "output_text" } else { "input_text" };
            format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text} {index}"}}]}}"#)
        };
        let reasoning =
            format!(r#"{{"type":"reasoning","id":"rs{index}","summary":[],"encrypted_content":"abcd{index}"}}"#);
        match step {
            Step::Typed => items.push(message("user", "do it")),
            Step::Machine => items
                .push(message("user", "<system-reminder>x</system-reminder>").replace(&format!("> {index}"), ">")),
            Step::System => items.push(message("developer", "be nice")),
            Step::Say => items.push(message("assistant", "yes")),
            Step::Reason => items.push(reasoning),
            Step::Calls { ids, thinks } => {
                items.extend(thinks.then_some(reasoning));
                items.extend(ids.iter().map(|id| {
                    let id = id.map(|id| format!(r#""call_id":"c{id}","#)).unwrap_or_default();
                    format!(r#"{{"type":"function_call",{id}"name":"run","arguments":"{{}}"}}"#)
                }));
            }
            Step::Results { ids, text } => {
                items.extend(ids.iter().map(|id| {
                    let id = id.map(|id| format!(r#""call_id":"c{id}","#)).unwrap_or_default();
                    format!(r#"{{"type":"function_call_output",{id}"output":"done {index}"}}"#)
                }));
                items.extend(text.then(|| message("user", "and this too")));
            }
            Step::Server { id, .. } | Step::ServerResult(id) => items.push(format!(
                r#"{{"type":"web_search_call","id":"c{id}","status":"completed","action":{{"type":"search"}}}}"#
            )),
            Step::Ask(id) => items
                .push(format!(r#"{{"type":"mcp_approval_request","id":"c{id}","name":"run","arguments":"{{}}"}}"#)),
            Step::Answer(id) => items
                .push(format!(r#"{{"type":"mcp_approval_response","approval_request_id":"c{id}","approve":true}}"#)),
            Step::Unknown => items.push(r#"{"type":"mystery"}"#.to_owned()),
        }
    }
    format!(r#"{{"model":"gpt-5","instructions":"Be brief.","input":[{}]}}"#, items.join(",\n"))
}
