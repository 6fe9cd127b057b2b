use plimsoll::Tokens;
use plimsoll::command::{Command, Compaction};
use serde_json::value::RawValue;

use super::*;
use crate::conversation::{Conversation, Effect};
use crate::event::EventKind;
use crate::outcome::{Exit, Outcome, Stop};
use crate::request::Prompt;

/// Replays a recording as the program's answer to an input; gives events, what was written, and what it came to.
fn replay(
    recording: &str,
    resume: Option<&str>,
    input: Input,
) -> (Vec<EventKind>, Vec<String>, Outcome, Option<AgentError>) {
    let session = resume.map(|id| AgentSession::new(id).unwrap());
    let driver = Claude { session, ..Claude::default() };
    let mut conversation = Conversation::new(Agent::Claude, Box::new(driver), input);
    let (mut events, mut written) = (Vec::new(), Vec::new());
    let mut effects = conversation.start();
    let mut offset = 0;
    for line in recording.lines() {
        conversation.line(line.as_bytes(), offset, &mut effects);
        offset += u64::try_from(line.len()).unwrap() + 1;
    }
    for effect in effects {
        match effect {
            Effect::Emit(event, _) => events.push(event),
            Effect::Write(line) => written.push(line),
            _ => {}
        }
    }
    let (outcome, error) = conversation.finish(Exit { code: Some(0), signal: None }, String::new());
    (events, written, outcome, error)
}

fn compactions(events: &[EventKind]) -> Vec<Compaction> {
    let step = |event: &EventKind| match event {
        EventKind::Compaction(step) => Some(step.clone()),
        _ => None,
    };
    events.iter().filter_map(step).collect()
}

fn prompt() -> Input {
    Prompt::new("hello").unwrap().into()
}

fn compact() -> Input {
    Command::compact("").into()
}

#[test]
fn a_compaction_is_told_from_start_to_end_with_its_sizes() {
    let session = "fd5398d7-5337-4a64-a813-bdccfb4516f8";
    let recording = include_str!("../../tests/recorded/claude-compact.jsonl");
    let (events, written, outcome, error) = replay(recording, Some(session), Command::compact("keep the API").into());
    assert!(error.is_none(), "{error:?}");
    assert!(written[1].contains(r#""text":"/compact keep the API""#));
    let expected = [Compaction::Started, Compaction::done(Some(Tokens(21_815)), Some(Tokens(578)))];
    assert_eq!(compactions(&events), expected);
    // No message and no turn of the model: that is no failure.
    assert_eq!((outcome.text.as_str(), outcome.turns, outcome.stop), ("", 1, Stop::End));
    let starts = events.iter().filter(|event| matches!(event, EventKind::Started { .. })).count();
    assert_eq!(starts, 1);
    assert_eq!(outcome.unparsed.unknown, 0);
}

#[test]
fn a_compaction_of_another_session_is_not_taken_for_this_ones() {
    let recording = include_str!("../../tests/recorded/claude-compact.jsonl");
    let stale: String = recording.split_inclusive('\n').take(3).collect();
    let (events, _, outcome, _) = replay(&stale, Some("another-session"), compact());
    assert!(compactions(&events).is_empty());
    assert_eq!(outcome.unparsed.unknown, 2);
}

#[test]
fn a_refused_compaction_is_an_answer() {
    let recording = include_str!("../../tests/recorded/claude-compact-refused.jsonl");
    let (events, _, outcome, error) = replay(recording, None, compact());
    assert!(error.is_none());
    assert_eq!(compactions(&events), [Compaction::Started, Compaction::refused("Not enough messages to compact.")]);
    assert_eq!(outcome.text, "Not enough messages to compact.");
}

#[test]
fn a_compaction_of_an_empty_session_is_refused_though_no_record_says_so() {
    let recording = include_str!("../../tests/recorded/claude-compact-empty.jsonl");
    let (events, _, _, error) = replay(recording, None, compact());
    assert!(error.is_none());
    assert_eq!(compactions(&events), [Compaction::refused("Error: No messages to compact")]);
}

#[test]
fn clearing_goes_on_under_a_new_id() {
    let recording = include_str!("../../tests/recorded/claude-clear.jsonl");
    let (_, _, outcome, error) =
        replay(recording, Some("fd5398d7-5337-4a64-a813-bdccfb4516f8"), Command::Clear.into());
    assert!(error.is_none());
    assert_eq!(outcome.session.unwrap().as_str(), "89e2a41d-092d-471e-80aa-6e475b84d51f");
}

#[test]
fn the_answer_to_context_is_text() {
    let recording = include_str!("../../tests/recorded/claude-context.jsonl");
    let (events, _, outcome, _) = replay(recording, None, Command::Context.into());
    assert!(outcome.text.starts_with("## Context Usage"));
    // Words of the program's own are no usage, and leave the context as it is.
    assert_eq!((outcome.usage.total(), outcome.context_used), (Tokens(0), None));
    assert!(events.iter().any(|event| matches!(event, EventKind::Text { text } if text.starts_with("## Context"))));
}

#[test]
fn pieces_and_the_whole_message_are_said_once() {
    let recording = include_str!("../../tests/recorded/claude-two-turns.jsonl");
    let first: String = recording.split_inclusive('\n').take(11).collect();
    let (events, _, outcome, _) = replay(&first, None, prompt());
    let said: Vec<_> = events.iter().filter(|event| matches!(event, EventKind::Text { .. })).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(outcome.text, "hi there");
    // The message says 1 token of output, its delta and the result 9: one message, counted once.
    assert_eq!((outcome.usage.input, outcome.usage.output), (Tokens(24_589), Tokens(9)));
    assert_eq!(outcome.context_used, Some(Tokens(24_590)));
    assert_eq!(outcome.context_window, Some(Tokens(1_000_000)));
}

#[test]
fn a_tool_is_called_and_answers_once() {
    let recording = include_str!("../../tests/recorded/claude-two-turns.jsonl");
    let mut lines: Vec<&str> = recording.lines().collect();
    lines.drain(1..12);
    let (events, _, outcome, _) = replay(&lines.join("\n"), None, prompt());
    let calls: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventKind::ToolCall { name, input, .. } => Some(format!("{name} {input}")),
            EventKind::ToolResult { text, is_error, .. } => Some(format!("{text:?} {is_error}")),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [r#"Bash {"command":"seq 1 3","description":"runs it"}"#, r#""1\n2\n3" false"#]);
    assert_eq!((outcome.text.as_str(), outcome.usage.input), ("done", Tokens(24_626 + 24_694)));
}

#[test]
fn an_approval_is_asked_answered_once_and_refused_after() {
    let recording = include_str!("../../tests/recorded/claude-approval.jsonl");
    let mut driver = Claude::default();
    driver.start();
    let mut steps = Vec::new();
    for line in recording.lines().take(4) {
        let json = serde_json::from_str::<&RawValue>(line).unwrap();
        driver.record(Record { json, offset: 0 }, &mut steps);
    }
    let asked = steps.iter().find_map(|step| match step {
        Step::Event(EventKind::ApprovalRequest { id, tool, .. }) => Some((id.clone(), tool.clone())),
        _ => None,
    });
    let (id, tool) = asked.unwrap();
    assert_eq!(tool, "Bash");
    let answer = driver.respond(&id, &Decision::Allow).unwrap();
    let [Step::Write(line)] = &answer[..] else { panic!("{answer:?}") };
    assert!(line.contains(r#""behavior":"allow""#) && line.contains("touch /srv/project/xx") && line.contains(&id));
    assert!(matches!(driver.respond(&id, &Decision::Allow), Err(AgentError::NoApproval { .. })));
}

#[test]
fn a_missing_login_is_told_by_its_words() {
    let recording = include_str!("../../tests/recorded/claude-no-login.jsonl");
    let (_, _, outcome, error) = replay(recording, None, prompt());
    assert!(matches!(error, Some(AgentError::NotLoggedIn { .. })), "{error:?}");
    assert_eq!(outcome.stop, Stop::Error);
}

#[test]
fn failures_are_told_apart_by_what_the_program_leaves() {
    let driver = Claude { session: Some(AgentSession::new("s-1").unwrap()), ..Claude::default() };
    let explain = |stderr| {
        let exit = Exit { code: Some(1), signal: None };
        driver.explain(&Ended { exit, stderr, spoke: false }).map(|error| error.kind())
    };
    assert_eq!(explain("error: unknown option '--session-id'\n"), Some("flag_rejected"));
    assert_eq!(explain("No conversation found with session ID: s-1\n"), Some("no_session"));
    assert_eq!(explain("Error: Session ID s-1 is already in use.\n"), Some("session_conflict"));
    assert_eq!(explain("Invalid API key · Please run /login"), Some("not_logged_in"));
    assert_eq!(explain("segmentation fault"), None);
}

#[test]
fn a_request_that_no_host_answers_is_declined_and_not_left_open() {
    let mut driver = Claude::default();
    let mut steps = Vec::new();
    let line = r#"{"type":"control_request","request_id":"r-9","request":{"subtype":"hook_callback"}}"#;
    driver.record(Record { json: serde_json::from_str(line).unwrap(), offset: 0 }, &mut steps);
    let [Step::Write(answer), Step::Unknown(kind)] = &steps[..] else { panic!("{steps:?}") };
    assert!(answer.contains("r-9") && answer.contains("error"));
    assert_eq!(kind, "control_request/hook_callback");
}

#[test]
fn a_version_is_not_asked_for_what_it_does_not_have() {
    let environment = crate::Environment::reduced([("PATH", "/bin")]);
    let mut request = Request::new(Agent::Claude, Prompt::new("x").unwrap(), "/", environment);
    let old = Capabilities::new(Some("1.0.3"), "--print --output-format");
    let refused = Claude::default().launch(&request, &Thread::New, &old).unwrap_err();
    insta::assert_snapshot!(refused, @"claude 1.0.3 does not take `--input-format`; it needs 2.0 or later");
    let new = Capabilities::new(Some("2.1.197"), "--input-format --include-partial-messages (acceptEdits, plan)");
    request.permission = Permission::Bypass;
    assert!(matches!(Claude::default().launch(&request, &Thread::New, &new), Err(AgentError::FlagRejected { .. })));
    request.permission = Permission::AcceptEdits;
    let launch = Claude::default().launch(&request, &Thread::New, &new).unwrap();
    assert!(launch.arguments.iter().any(|argument| argument == "--include-partial-messages"));
}
