//! The Agent Client Protocol, replayed.

use std::time::Duration;

use plimsoll::command::{Command, Compaction};
use plimsoll::id::SessionId;
use plimsoll_agent::{Agent, AgentSession, Approvals, Decision, Event, EventKind, Input, Permission, Request, Stop};

use crate::{Bench, is_alive, prompt, shown, text};

/// An agent that can go on with a session, by the methods named.
fn greeted(can: &str) -> String {
    format!(
        r#"
expect "method":"initialize"
print {{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentCapabilities":{can},"agentInfo":{{"name":"Acme","version":"1.2.3"}}}}}}
"#
    )
}

fn opened() -> String {
    format!(
        r#"{}
expect "method":"session/new"
print {{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"s-1"}}}}
"#,
        greeted(r#"{"loadSession":true}"#)
    )
}

fn update(fields: &str) -> String {
    format!(
        r#"print {{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s-1","update":{{{fields}}}}}}}"#
    )
}

fn said(text: &str) -> String {
    update(&format!(r#""sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}"#))
}

fn used(used: u64) -> String {
    update(&format!(r#""sessionUpdate":"usage_update","used":{used},"size":100000"#))
}

fn advertised(names: &[&str]) -> String {
    let commands = names.iter().map(|name| format!(r#"{{"name":"{name}","description":"d"}}"#)).collect::<Vec<_>>();
    update(&format!(r#""sessionUpdate":"available_commands_update","availableCommands":[{}]"#, commands.join(",")))
}

fn ended(id: u64, reason: &str) -> String {
    format!(
        r#"print {{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"{reason}","usage":{{"inputTokens":100,"outputTokens":9,"totalTokens":109}}}}}}"#
    )
}

fn request(bench: &Bench, lines: &[String], input: impl Into<Input>) -> Request {
    bench.request(Agent::Acp, &lines.join("\n"), input)
}

fn compactions(events: &[Event]) -> Vec<Compaction> {
    let step = |event: &Event| if let EventKind::Compaction(step) = &event.kind { Some(step.clone()) } else { None };
    events.iter().filter_map(step).collect()
}

#[tokio::test]
async fn a_prompt_with_thoughts_a_plan_and_a_tool_call_is_answered() {
    let bench = Bench::new();
    let script = [
        opened(),
        r#"expect "text":"What does /compact do?""#.to_owned(),
        advertised(&["init", "memory show", "memory"]),
        update(r#""sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}"#),
        update(r#""sessionUpdate":"plan","entries":[]"#),
        update(
            r#""sessionUpdate":"tool_call","toolCallId":"c","title":"ls","kind":"execute","status":"pending","rawInput":{}"#,
        ),
        update(
            r#""sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress","rawInput":{"command":"ls"}"#,
        ),
        update(
            r#""sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"a"}}]"#,
        ),
        said("one "),
        said("file"),
        used(7_754),
        ended(3, "end_turn"),
        "drain".to_owned(),
    ];
    let (events, outcome) = bench.run(request(&bench, &script, prompt("What does /compact do?"))).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.stop, outcome.unparsed.unknown), ("one file", Stop::End, 0));
    insta::assert_snapshot!(shown(&events), @r##"
    {"agent":"acp","event":"started","model":null,"session":"s-1","version":"1.2.3"}
    {"all":["init","memory"],"event":"commands","skills":[]}
    {"event":"thinking","text":"hm"}
    {"bytes":119,"event":"raw","kind":"session/update/plan","record":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{"entries":[],"sessionUpdate":"plan"}}}}
    {"event":"tool_call","id":"c","input":{"command":"ls"},"name":"execute"}
    {"event":"tool_result","id":"c","is_error":false,"omitted_bytes":0,"text":"a"}
    {"event":"text","text":"one "}
    {"event":"text","text":"file"}
    {"cache_read":0,"cache_write":0,"context_used":7754,"context_window":100000,"event":"usage","input":100,"output":9}
    "##);
}

#[tokio::test]
async fn a_command_waits_until_the_agent_says_which_it_has() {
    let bench = Bench::new();
    let script = [
        opened(),
        used(8_000),
        advertised(&["compact"]),
        r#"expect "text":"/compact keep it""#.to_owned(),
        used(700),
        ended(3, "end_turn"),
        "drain".to_owned(),
    ];
    let (events, outcome) = bench.run(request(&bench, &script, Command::compact("keep it"))).await;
    assert_eq!(outcome.unwrap().turns, 1);
    assert!(matches!(
        &compactions(&events)[..],
        [Compaction::Started, Compaction::Finished { ok: true, before: Some(before), after: Some(after), .. }]
            if (before.0, after.0) == (8_000, 700)
    ));
}

#[tokio::test]
async fn a_compaction_that_makes_nothing_smaller_is_a_refusal_and_no_failure() {
    let bench = Bench::new();
    let script = [
        opened(),
        used(8_000),
        advertised(&["compact"]),
        "expect /compact".to_owned(),
        said("Nothing to compact."),
        used(8_000),
        ended(3, "end_turn"),
        "drain".to_owned(),
    ];
    let (events, outcome) = bench.run(request(&bench, &script, Command::compact(""))).await;
    outcome.unwrap();
    assert!(matches!(
        &compactions(&events)[..],
        [Compaction::Started, Compaction::Finished { ok: false, error: Some(error), .. }] if error == "Nothing to compact."
    ));
}

#[tokio::test]
async fn a_compaction_that_the_agent_tells_itself_is_told_once() {
    let bench = Bench::new();
    let tells = |status: &str| {
        update(&format!(r#""sessionUpdate":"compaction_update","compactionId":"k","status":"{status}""#))
    };
    let script = [
        opened(),
        advertised(&["compact"]),
        "expect /compact".to_owned(),
        tells("in_progress"),
        tells("completed"),
        ended(3, "end_turn"),
        "drain".to_owned(),
    ];
    let (events, outcome) = bench.run(request(&bench, &script, Command::compact(""))).await;
    outcome.unwrap();
    assert!(matches!(&compactions(&events)[..], [Compaction::Started, Compaction::Finished { ok: true, .. }]));
}

#[tokio::test]
async fn an_unknown_command_is_refused_before_it_is_sent() {
    let bench = Bench::new();
    let script = [opened(), advertised(&["compact", "init"]), "keep @/sent".to_owned()];
    let (_, outcome) = bench.run(request(&bench, &script, Command::new("compcat", "").unwrap())).await;
    let failed = outcome.unwrap_err();
    assert_eq!(failed.error.kind(), "unknown_command");
    assert!(failed.error.to_string().contains("did you mean `/compact`?"), "{}", failed.error);
    assert_eq!(std::fs::read_to_string(bench.path("sent")).unwrap_or_default(), "");
}

#[tokio::test]
async fn an_agent_that_advertises_nothing_has_no_commands() {
    let bench = Bench::new();
    let script = [opened(), "keep @/sent".to_owned()];
    // The wait for it is ten seconds.
    let (_, outcome) = bench.run(request(&bench, &script, Command::compact(""))).await;
    assert_eq!(outcome.unwrap_err().error.kind(), "unknown_command");
    assert_eq!(std::fs::read_to_string(bench.path("sent")).unwrap_or_default(), "");
}

#[tokio::test]
async fn a_loaded_session_is_not_told_again() {
    for (can, method) in [
        (r#"{"loadSession":true}"#, "session/load"),
        (r#"{"loadSession":true,"sessionCapabilities":{"resume":{}}}"#, "session/resume"),
    ] {
        let bench = Bench::new();
        let script = [
            greeted(can),
            format!(r#"expect "method":"{method}""#),
            update(r#""sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old"}"#),
            said("old answer"),
            update(r#""sessionUpdate":"tool_call","toolCallId":"old","title":"t","status":"completed""#),
            r#"print {"jsonrpc":"2.0","id":2,"result":{}}"#.to_owned(),
            // Some answer first, and tell the past then.
            if method == "session/load" { said("older answer") } else { String::new() },
            if method == "session/load" { advertised(&["init"]) } else { String::new() },
            "expect session/prompt".to_owned(),
            said("new"),
            ended(3, "end_turn"),
            "drain".to_owned(),
        ];
        let mut request = request(&bench, &script, prompt("hello"));
        request.resume = Some(AgentSession::new("s-1").unwrap());
        let (events, outcome) = bench.run(request).await;
        assert_eq!(outcome.unwrap().text, "new");
        assert_eq!(text(&events), "new");
        assert!(!events.iter().any(|event| matches!(event.kind, EventKind::ToolCall { .. })));
    }
}

#[tokio::test]
async fn leave_to_use_a_tool_is_asked_of_the_host_or_given_by_the_mode() {
    let asks = |kind: &str| {
        format!(
            r#"print {{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{{"sessionId":"s-1","toolCall":{{"toolCallId":"c","title":"touch x","kind":"{kind}","rawInput":{{"command":"touch x"}}}},"options":[{{"optionId":"yes","kind":"allow_once","name":"y"}},{{"optionId":"no","kind":"reject_once","name":"n"}}]}}}}"#
        )
    };
    let deny = Decision::Deny { reason: "no".to_owned() };
    for (approvals, permission, kind, decision, option) in [
        (Approvals::Ask, Permission::Default, "execute", Some(Decision::Allow), "yes"),
        (Approvals::Ask, Permission::Default, "execute", Some(deny), "no"),
        (Approvals::Deny, Permission::Default, "execute", None, "no"),
        (Approvals::Deny, Permission::Bypass, "execute", None, "yes"),
        (Approvals::Deny, Permission::AcceptEdits, "edit", None, "yes"),
        (Approvals::Deny, Permission::AcceptEdits, "execute", None, "no"),
    ] {
        let bench = Bench::new();
        let script = [
            opened(),
            "expect session/prompt".to_owned(),
            asks(kind),
            format!(r#"expect "optionId":"{option}""#),
            ended(3, "end_turn"),
            "drain".to_owned(),
        ];
        let mut request = request(&bench, &script, prompt("hello"));
        (request.approvals, request.permission) = (approvals, permission);
        let mut run = bench.start(request).await;
        let mut asked = 0;
        while let Some(event) = run.next().await {
            if let EventKind::ApprovalRequest { id, tool, input, reason } = event.kind {
                assert_eq!((tool.as_str(), reason.as_deref()), ("execute", Some("touch x")));
                assert_eq!(input.to_string(), r#"{"command":"touch x"}"#);
                run.respond(&id, decision.clone().unwrap()).await.unwrap();
                asked += 1;
            }
        }
        run.finish().await.unwrap();
        assert_eq!(asked, usize::from(decision.is_some()));
    }
}

#[tokio::test]
async fn who_cancels_answers_what_is_open_and_waits_for_the_end_of_the_turn() {
    let bench = Bench::new();
    let script = [
        opened(),
        "expect session/prompt".to_owned(),
        said("word "),
        r#"print {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"c"},"options":[]}}"#.to_owned(),
        r#"expect "outcome":"cancelled""#.to_owned(),
        "expect session/cancel".to_owned(),
        ended(3, "cancelled"),
        "drain".to_owned(),
    ];
    let mut request = request(&bench, &script, prompt("slowly"));
    request.approvals = Approvals::Ask;
    let mut run = bench.start(request).await;
    while let Some(event) = run.next().await {
        if let EventKind::ApprovalRequest { .. } = event.kind {
            run.cancel();
        }
    }
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.stop, outcome.text.as_str()), (Stop::Cancelled, "word "));
    assert!(outcome.exit.success());
}

#[tokio::test]
async fn settings_are_made_before_the_first_turn_or_refused() {
    let bench = Bench::new();
    let script = [
        greeted("{}"),
        "expect session/new".to_owned(),
        r#"print {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s-1","modes":{"availableModes":[{"id":"plan"}]},"models":{"currentModelId":"a","availableModels":[{"modelId":"a"}]}}}"#.to_owned(),
        r#"expect "modeId":"plan""#.to_owned(),
        r#"expect "modelId":"b""#.to_owned(),
        // The answers come in another order.
        r#"print {"jsonrpc":"2.0","id":4,"result":{}}"#.to_owned(),
        r#"print {"jsonrpc":"2.0","id":3,"result":{}}"#.to_owned(),
        "expect session/prompt".to_owned(),
        ended(5, "end_turn"),
        "drain".to_owned(),
    ];
    let mut asked = request(&bench, &script, prompt("hello"));
    (asked.permission, asked.model) = (Permission::Plan, Some("b".to_owned()));
    bench.run(asked).await.1.unwrap();
    // An agent without modes cannot promise to only plan.
    let script = [opened(), "drain".to_owned()];
    let mut asked = request(&bench, &script, prompt("hello"));
    asked.permission = Permission::Plan;
    assert_eq!(bench.run(asked).await.1.unwrap_err().error.kind(), "unsupported");
    let mut asked = request(&bench, &script, prompt("hello"));
    asked.instructions = Some("be brief".to_owned());
    assert_eq!(plimsoll_agent::start(asked, &bench.host).await.unwrap_err().kind(), "unsupported");
}

#[tokio::test]
async fn torn_lines_unknown_updates_and_requests_are_counted_and_answered() {
    let bench = Bench::new();
    let script = [
        opened(),
        "print {\"jsonrpc\":\"2.0\",".to_owned(),
        update(r#""sessionUpdate":"hologram""#),
        r#"print {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-9","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not mine"}}}}"#.to_owned(),
        r#"print {"jsonrpc":"2.0","method":"_acme/news","params":{}}"#.to_owned(),
        r#"print {"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{"sessionId":"s-1","path":"/etc/passwd"}}"#.to_owned(),
        "expect session/prompt".to_owned(),
        "expect -32601".to_owned(),
        ended(99, "end_turn"),
        said("hi"),
        ended(3, "end_turn"),
        "drain".to_owned(),
    ];
    let (events, outcome) = bench.run(request(&bench, &script, prompt("hello"))).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.unparsed.torn, outcome.unparsed.unknown, outcome.turns), (1, 5, 1));
    assert_eq!(text(&events), "hi");
}

#[tokio::test]
async fn failures_are_told_apart() {
    let opening = |error: &str| {
        vec![
            greeted(r#"{"loadSession":true}"#),
            "expect session/load".to_owned(),
            format!(r#"print {{"id":2,"error":{error}}}"#),
            "drain".to_owned(),
        ]
    };
    let loaded = || {
        [
            greeted(r#"{"loadSession":true}"#),
            "expect session/load".to_owned(),
            r#"print {"id":2,"result":{}}"#.to_owned(),
            advertised(&["init"]),
        ]
        .join("\n")
    };
    let turn = |error: &str| {
        vec![
            loaded(),
            "expect session/prompt".to_owned(),
            format!(r#"print {{"id":3,"error":{error}}}"#),
            "drain".to_owned(),
        ]
    };
    let cases = [
        (
            opening(
                r#"{"code":-32603,"message":"Internal error","data":{"details":"Invalid session identifier \"s-1\"."}}"#,
            ),
            "no_session",
        ),
        (opening(r#"{"code":-32000,"message":"Authentication required"}"#), "not_logged_in"),
        (vec![greeted("{}"), "drain".to_owned()], "unsupported"),
        (vec!["expect initialize\nprint {\"id\":1,\"result\":{\"protocolVersion\":2}}\ndrain".to_owned()], "parse"),
        (turn(r#"{"code":429,"message":"Resource has been exhausted"}"#), "rate_limited"),
        (turn(r#"{"code":-32603,"message":"Internal error","data":{"details":"boom"}}"#), "failed"),
        (vec![loaded(), "expect session/prompt\nsay gone\nexit 0".to_owned()], "no_terminal_record"),
        (vec!["expect initialize\nsay Please set an Auth method\nexit 41".to_owned()], "not_logged_in"),
    ];
    for (script, kind) in cases {
        let bench = Bench::new();
        let mut request = request(&bench, &script, prompt("hello"));
        request.resume = Some(AgentSession::new("s-1").unwrap());
        let error = bench.run(request).await.1.unwrap_err().error;
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[tokio::test]
async fn an_agent_that_hangs_is_stopped_with_what_it_started() {
    let bench = Bench::new();
    let script = [opened(), "expect session/prompt\nfork @/pid\nstubborn\nhang".to_owned()];
    let mut request = request(&bench, &script, prompt("hello"));
    (request.timeout, request.grace) = (Some(Duration::from_millis(1_500)), Duration::from_millis(200));
    assert_eq!(bench.run(request).await.1.unwrap_err().error.kind(), "timeout");
    assert!(!is_alive(&bench.path("pid")));
}

#[tokio::test]
async fn two_runs_of_one_name_are_one_session() {
    let bench = Bench::with_sessions();
    let first =
        [opened(), "expect session/prompt".to_owned(), said("first"), ended(3, "end_turn"), "drain".to_owned()];
    let second = [
        greeted(r#"{"loadSession":true}"#),
        r#"expect "sessionId":"s-1""#.to_owned(),
        r#"print {"id":2,"result":{}}"#.to_owned(),
        advertised(&["init"]),
        "expect session/prompt".to_owned(),
        said("second"),
        ended(3, "end_turn"),
        "drain".to_owned(),
    ];
    for (script, text) in [(&first[..], "first"), (&second[..], "second")] {
        let mut request = request(&bench, script, prompt("hello"));
        request.session = Some(SessionId::new("docs"));
        assert_eq!(bench.run(request).await.1.unwrap().text, text);
    }
}

#[tokio::test]
async fn gemini_is_told_to_speak_the_protocol_in_the_way_that_its_version_has() {
    let bench = Bench::new();
    let script =
        format!("arguments @/arguments\n{}\nexpect session/prompt\n{}\ndrain", opened(), ended(3, "end_turn"));
    bench.run(bench.request(Agent::Gemini, &script, prompt("hello"))).await.1.unwrap();
    let arguments = std::fs::read_to_string(bench.path("arguments")).unwrap();
    assert!(arguments.ends_with("--acp") && !arguments.contains("hello"), "{arguments}");
}
