//! Codex's protocol, replayed.

use std::time::Duration;

use plimsoll::command::{Command, Compaction};
use plimsoll::id::SessionId;
use plimsoll_agent::{Agent, AgentError, AgentSession, Approvals, Decision, EventKind, Request, Stop};

use crate::{Bench, is_alive, prompt, shown, text};

const GREETED: &str = r#"
expect "method":"initialize"
print {"id":1,"result":{"userAgent":"x","codexHome":"/x"}}
print {"method":"remoteControl/status/changed","params":{"status":"disabled"}}
expect "method":"initialized"
expect "method":"account/read"
print {"id":2,"result":{"account":null,"requiresOpenaiAuth":false}}
"#;

/// A thread is open; `method` is what opens it.
fn opened(method: &str) -> String {
    format!(
        r#"{GREETED}
expect "method":"{method}"
print {{"id":3,"result":{{"thread":{{"id":"t-1","cliVersion":"0.171.0"}},"model":"m"}}}}
"#
    )
}

fn started(turn: &str) -> String {
    format!(
        r#"print {{"method":"turn/started","params":{{"threadId":"t-1","turn":{{"id":"{turn}","status":"inProgress"}}}}}}"#
    )
}

fn completed(turn: &str, status: &str, error: &str) -> String {
    format!(
        r#"print {{"method":"turn/completed","params":{{"threadId":"t-1","turn":{{"id":"{turn}","items":[],"status":"{status}","error":{error}}}}}}}"#
    )
}

fn said(text: &str) -> String {
    format!(
        r#"print {{"method":"item/started","params":{{"threadId":"t-1","turnId":"u-1","item":{{"type":"agentMessage","id":"msg","text":""}}}}}}
print {{"method":"item/agentMessage/delta","params":{{"threadId":"t-1","turnId":"u-1","itemId":"msg","delta":"{text}"}}}}
print {{"method":"item/completed","params":{{"threadId":"t-1","turnId":"u-1","item":{{"type":"agentMessage","id":"msg","text":"{text}"}}}}}}"#
    )
}

fn used(total: (u64, u64), last: (u64, u64), context: u64) -> String {
    format!(
        r#"print {{"method":"thread/tokenUsage/updated","params":{{"threadId":"t-1","turnId":"u-1","tokenUsage":{{"total":{{"inputTokens":{},"outputTokens":{}}},"last":{{"totalTokens":{context},"inputTokens":{},"outputTokens":{}}},"modelContextWindow":258400}}}}}}"#,
        total.0, total.1, last.0, last.1
    )
}

/// A turn that says `text`; `id` is that of the request.
fn answered(id: u64, turn: &str, text: &str) -> String {
    format!(
        "expect \"method\":\"turn/start\"\nprint {{\"id\":{id},\"result\":{{\"turn\":{{\"id\":\"{turn}\"}}}}}}\n{}\n{}\n{}\n",
        started(turn),
        said(text),
        completed(turn, "completed", "null")
    )
}

fn resuming(bench: &Bench, script: &str, input: impl Into<plimsoll_agent::Input>) -> Request {
    let mut request = bench.request(Agent::Codex, script, input);
    request.resume = Some(AgentSession::new("t-1").unwrap());
    request
}

#[tokio::test]
async fn a_prompt_with_a_tool_call_is_answered() {
    let bench = Bench::new();
    let call = r#"{"type":"commandExecution","id":"call_2","command":"bash -lc ls","cwd":"/w","status":"STATUS","aggregatedOutput":OUTPUT,"exitCode":CODE}"#;
    let item = |method: &str, status: &str, output: &str, code: &str| {
        let item = call.replace("STATUS", status).replace("OUTPUT", output).replace("CODE", code);
        format!(r#"print {{"method":"item/{method}","params":{{"threadId":"t-1","turnId":"u-1","item":{item}}}}}"#)
    };
    let script = [
        opened("thread/start"),
        r#"expect "text":"What does /compact do?""#.to_owned(),
        r#"print {"id":4,"result":{"turn":{"id":"u-1"}}}"#.to_owned(),
        started("u-1"),
        item("started", "inProgress", "null", "null"),
        item("completed", "completed", r#""a\n""#, "0"),
        used((100, 9), (100, 9), 109),
        said("one file"),
        used((220, 15), (120, 6), 126),
        used((220, 15), (120, 6), 126),
        completed("u-1", "completed", "null"),
        "drain".to_owned(),
    ]
    .join("\n");
    let (events, outcome) = bench.run(bench.request(Agent::Codex, &script, prompt("What does /compact do?"))).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns, outcome.stop), ("one file", 1, Stop::End));
    insta::assert_snapshot!(shown(&events), @r##"
    {"all":["clear","compact","context","review"],"event":"commands","skills":[]}
    {"agent":"codex","event":"started","model":"m","session":"t-1","version":"0.171.0"}
    {"event":"tool_call","id":"call_2","input":{"command":"bash -lc ls","cwd":"/w"},"name":"commandExecution"}
    {"event":"tool_result","id":"call_2","is_error":false,"omitted_bytes":0,"text":"a\n"}
    {"event":"text","text":"one file"}
    {"cache_read":0,"cache_write":0,"context_used":126,"context_window":258400,"event":"usage","input":220,"output":15}
    "##);
}

#[tokio::test]
async fn a_compaction_is_a_request_of_the_protocol_and_tells_its_sizes() {
    let bench = Bench::new();
    let item = |method: &str| {
        format!(
            r#"print {{"method":"item/{method}","params":{{"threadId":"t-1","turnId":"u-1","item":{{"type":"contextCompaction","id":"c"}}}}}}"#
        )
    };
    let script = [
        opened("thread/resume"),
        r#"expect "method":"thread/compact/start""#.to_owned(),
        r#"print {"id":4,"result":{}}"#.to_owned(),
        started("u-1"),
        item("started"),
        used((40_776, 36), (11_381, 9), 11_390),
        used((47_652, 45), (6_876, 9), 6_885),
        used((47_652, 45), (0, 0), 6_949),
        item("completed"),
        r#"print {"method":"thread/compacted","params":{"threadId":"t-1","turnId":"u-1"}}"#.to_owned(),
        completed("u-1", "completed", "null"),
        "drain".to_owned(),
    ]
    .join("\n");
    let (events, outcome) = bench.run(resuming(&bench, &script, Command::compact(""))).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.usage.total().0, outcome.context_used.map(|used| used.0)), (6_885, Some(6_949)));
    let compactions: Vec<_> = events.iter().filter(|event| matches!(event.kind, EventKind::Compaction(_))).collect();
    assert!(matches!(compactions[0].kind, EventKind::Compaction(Compaction::Started)));
    assert!(matches!(
        &compactions[1].kind,
        EventKind::Compaction(Compaction::Finished { ok: true, before: Some(before), after: Some(after), .. })
            if (before.0, after.0) == (11_390, 6_949)
    ));
    assert_eq!(compactions.len(), 2);
}

#[tokio::test]
async fn a_compaction_that_fails_is_told_and_fails_the_run() {
    let bench = Bench::new();
    let script = [
        opened("thread/start"),
        "expect thread/compact/start".to_owned(),
        r#"print {"id":4,"result":{}}"#.to_owned(),
        started("u-1"),
        r#"print {"method":"item/started","params":{"threadId":"t-1","turnId":"u-1","item":{"type":"contextCompaction","id":"c"}}}"#.to_owned(),
        completed("u-1", "failed", r#"{"message":"last status: 429","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}"#),
        "drain".to_owned(),
    ]
    .join("\n");
    let (events, outcome) = bench.run(bench.request(Agent::Codex, &script, Command::compact(""))).await;
    assert_eq!(outcome.unwrap_err().error.kind(), "rate_limited");
    let told = |event: &plimsoll_agent::Event| {
        matches!(&event.kind, EventKind::Compaction(Compaction::Finished { ok: false, .. }))
    };
    assert_eq!(events.iter().filter(|event| told(event)).count(), 1);
}

#[tokio::test]
async fn what_the_protocol_cannot_do_is_refused_before_it_is_sent() {
    let cases = [
        (Command::new("compcat", "").unwrap(), "unknown_command", "did you mean `/compact`?"),
        (Command::new("model", "x").unwrap(), "unknown_command", "nothing was sent"),
        (Command::compact("keep it"), "unsupported", "send `/compact` alone"),
    ];
    for (command, kind, words) in cases {
        let bench = Bench::new();
        let script = format!("{}\nkeep @/sent", opened("thread/start"));
        let (_, outcome) = bench.run(bench.request(Agent::Codex, &script, command)).await;
        let failed = outcome.unwrap_err();
        assert_eq!(failed.error.kind(), kind);
        assert!(failed.error.to_string().contains(words), "{}", failed.error);
        assert_eq!(failed.outcome.unsent.len(), 1);
        assert_eq!(std::fs::read_to_string(bench.path("sent")).unwrap_or_default(), "");
    }
}

#[tokio::test]
async fn a_cleared_session_goes_on_under_a_new_id() {
    let bench = Bench::new();
    let script = format!(
        "{}\nexpect \"sessionStartSource\":\"clear\"\nprint {{\"id\":4,\"result\":{{\"thread\":{{\"id\":\"t-2\"}},\"model\":\"m\"}}}}\n\
         expect thread/name/set\nprint {{\"id\":5,\"result\":{{}}}}\n\
         expect \"threadId\":\"t-2\"\nprint {{\"id\":6,\"result\":{{\"turn\":{{\"id\":\"u-2\"}}}}}}\n\
         print {{\"method\":\"turn/completed\",\"params\":{{\"threadId\":\"t-2\",\"turn\":{{\"id\":\"u-2\",\"status\":\"completed\"}}}}}}\ndrain",
        opened("thread/start")
    );
    let run = bench.start(bench.request(Agent::Codex, &script, Command::Clear)).await;
    run.send(prompt("hello")).await.unwrap();
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.session.unwrap().as_str(), outcome.turns), ("t-2", 2));
}

#[tokio::test]
async fn an_approval_is_asked_of_the_host_or_denied_without_one() {
    let asks = r#"print {"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"t-1","turnId":"u-1","itemId":"call_2","command":"touch x","reason":"to write"}}"#;
    for (approvals, decision, answer) in [
        (Approvals::Ask, Some(Decision::Allow), "accept"),
        (Approvals::Ask, Some(Decision::Deny { reason: "no".to_owned() }), "decline"),
        (Approvals::Deny, None, "decline"),
    ] {
        let bench = Bench::new();
        let script = format!(
            "{}\nexpect turn/start\nprint {{\"id\":4,\"result\":{{\"turn\":{{\"id\":\"u-1\"}}}}}}\n{asks}\n\
             expect {{\"id\":0,\"result\":{{\"decision\":\"{answer}\"}}}}\n{}\ndrain",
            opened("thread/start"),
            completed("u-1", "completed", "null"),
        );
        let mut request = bench.request(Agent::Codex, &script, prompt("hello"));
        request.approvals = approvals;
        let mut run = bench.start(request).await;
        let mut asked = 0;
        while let Some(event) = run.next().await {
            if let EventKind::ApprovalRequest { id, tool, reason, .. } = event.kind {
                assert_eq!((tool.as_str(), reason.as_deref()), ("commandExecution", Some("to write")));
                run.respond(&id, decision.clone().unwrap()).await.unwrap();
                assert!(matches!(run.respond(&id, Decision::Allow).await, Err(AgentError::NoApproval { .. })));
                asked += 1;
            }
        }
        run.finish().await.unwrap();
        assert_eq!(asked, usize::from(decision.is_some()));
    }
}

#[tokio::test]
async fn a_turn_is_interrupted_and_the_program_ends_by_itself() {
    let bench = Bench::new();
    let script = format!(
        "{}\nexpect turn/start\nprint {{\"id\":4,\"result\":{{\"turn\":{{\"id\":\"u-1\"}}}}}}\n{}\nexpect \"turnId\":\"u-1\"\n\
         print {{\"id\":5,\"result\":{{}}}}\n{}\ndrain",
        opened("thread/start"),
        said("word "),
        completed("u-1", "interrupted", "null"),
    );
    let mut run = bench.start(bench.request(Agent::Codex, &script, prompt("slowly"))).await;
    while let Some(event) = run.next().await {
        if let EventKind::Text { .. } = event.kind {
            run.cancel();
        }
    }
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.stop, outcome.text.as_str()), (Stop::Cancelled, "word "));
    assert!(outcome.exit.success());
}

#[tokio::test]
async fn answers_may_come_late_and_ends_of_other_turns_end_nothing() {
    let bench = Bench::new();
    let script = [
        opened("thread/start"),
        "expect turn/start".to_owned(),
        // A subagent's thread, and a turn that nobody began.
        r#"print {"method":"item/agentMessage/delta","params":{"threadId":"t-9","turnId":"v","itemId":"m","delta":"sub"}}"#.to_owned(),
        r#"print {"method":"turn/completed","params":{"threadId":"t-9","turn":{"id":"v","status":"completed"}}}"#.to_owned(),
        started("u-1"),
        completed("u-0", "completed", "null"),
        said("first"),
        completed("u-1", "completed", "null"),
        "expect turn/start".to_owned(),
        // The answer to the first request, when the second turn is under way.
        r#"print {"id":4,"error":{"code":-32603,"message":"too late"}}"#.to_owned(),
        r#"print {"id":5,"result":{"turn":{"id":"u-2"}}}"#.to_owned(),
        said("second"),
        completed("u-2", "completed", "null"),
        "drain".to_owned(),
    ]
    .join("\n");
    let mut run = bench.start(bench.request(Agent::Codex, &script, prompt("one"))).await;
    run.send(prompt("two")).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns), ("second", 2));
    assert_eq!(text(&events), "firstsecond");
    assert!(events.iter().any(|event| event.within.as_deref() == Some("t-9")));
}

#[tokio::test]
async fn torn_lines_and_unknown_notifications_are_counted_and_passed_on() {
    let bench = Bench::new();
    let script = [
        opened("thread/start"),
        "print {\"method\":\"item/agentMess".to_owned(),
        r#"print {"method":"hologram/projected","params":{}}"#.to_owned(),
        r#"print {"id":99,"result":{}}"#.to_owned(),
        r#"print {"id":7,"method":"attestation/generate","params":{}}"#.to_owned(),
        r#"print {"method":"warning","params":{"threadId":"t-1","message":"careful"}}"#.to_owned(),
        "large 9000000".to_owned(),
        "expect turn/start".to_owned(),
        "expect {\"error\":{\"code\":-32601".to_owned(),
        completed("u-1", "completed", "null"),
        "drain".to_owned(),
    ]
    .join("\n");
    let (events, outcome) = bench.run(bench.request(Agent::Codex, &script, prompt("hello"))).await;
    let unparsed = outcome.unwrap().unparsed;
    assert_eq!((unparsed.torn, unparsed.unknown, unparsed.too_long), (1, 3, 1));
    assert!(events.iter().any(|event| matches!(&event.kind, EventKind::Raw { kind, .. } if kind == "warning")));
}

#[tokio::test]
async fn failures_are_told_apart() {
    let opening = |error: &str| format!("{GREETED}\nexpect thread/\nprint {{\"id\":3,\"error\":{error}}}\ndrain");
    let turn = |error: &str| {
        format!("{}\nexpect turn/start\n{}\ndrain", opened("thread/resume"), completed("u-1", "failed", error))
    };
    let cases = [
        (GREETED.replace("\"requiresOpenaiAuth\":false", "\"requiresOpenaiAuth\":true") + "drain", "not_logged_in"),
        (opening(r#"{"code":-32600,"message":"no rollout found for thread id t-1"}"#), "no_session"),
        (opening(r#"{"code":-32600,"message":"Cannot change this thread's model provider"}"#), "session_conflict"),
        (turn(r#"{"message":"Missing environment variable: `KEY`.","codexErrorInfo":"other"}"#), "not_logged_in"),
        (turn(r#"{"message":"limit","codexErrorInfo":"usageLimitExceeded"}"#), "rate_limited"),
        (turn(r#"{"message":"boom","codexErrorInfo":"internalServerError"}"#), "failed"),
        (
            format!(
                "{}\nexpect turn/start\nprint {{\"id\":4,\"error\":{{\"code\":-32603,\"message\":\"boom\"}}}}\ndrain",
                opened("thread/resume")
            ),
            "failed",
        ),
        (format!("{}\nexpect turn/start\nsay gone\nexit 0", opened("thread/resume")), "no_terminal_record"),
        (format!("{}\nexpect turn/start\nsay gone\nexit 3", opened("thread/resume")), "no_terminal_record"),
    ];
    for (script, kind) in cases {
        let bench = Bench::new();
        let (_, outcome) = bench.run(resuming(&bench, &script, prompt("hello"))).await;
        let error = outcome.unwrap_err().error;
        assert_eq!(error.kind(), kind, "{error}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_stopped_with_what_it_started() {
    let bench = Bench::new();
    let script = format!("{}\nexpect turn/start\nfork @/pid\nhang", opened("thread/start"));
    let mut request = bench.request(Agent::Codex, &script, prompt("hello"));
    request.timeout = Some(Duration::from_millis(1_500));
    request.grace = Duration::from_millis(200);
    let (_, outcome) = bench.run(request).await;
    assert_eq!(outcome.unwrap_err().error.kind(), "timeout");
    assert!(!is_alive(&bench.path("pid")));
}

#[tokio::test]
async fn two_runs_of_one_name_are_one_thread() {
    let bench = Bench::with_sessions();
    for (method, text) in [("thread/start", "first"), ("thread/resume", "second")] {
        let script = format!("{}{}drain", opened(method), answered(4, "u-1", text));
        let mut request = bench.request(Agent::Codex, &script, prompt("hello"));
        request.session = Some(SessionId::new("docs"));
        let (_, outcome) = bench.run(request).await;
        assert_eq!(outcome.unwrap().text, text);
    }
}

#[tokio::test]
async fn a_name_does_not_stand_for_a_thread_that_was_never_begun() {
    let bench = Bench::with_sessions();
    for command in [true, false] {
        // The server keeps no thread without a turn: the second run must begin another one.
        let script = if command {
            format!("{}drain", opened("thread/start"))
        } else {
            format!("{}{}drain", opened("thread/start"), answered(4, "u-1", "hi"))
        };
        let input = if command { Command::new("compcat", "").unwrap().into() } else { prompt("hello").into() };
        let mut request = bench.request(Agent::Codex, &script, plimsoll_agent::Input::clone(&input));
        request.session = Some(SessionId::new("docs"));
        assert_eq!(bench.run(request).await.1.is_err(), command);
    }
}

#[tokio::test]
async fn a_version_without_the_server_is_refused() {
    let bench = Bench::new();
    let mut request = bench.request(Agent::Codex, "drain", prompt("hello"));
    request.program = Some("/bin/true".into());
    let error = plimsoll_agent::start(request, &bench.host).await.unwrap_err();
    assert_eq!(error.kind(), "flag_rejected", "{error}");
}

#[tokio::test]
async fn the_context_is_told_without_asking_anybody() {
    let bench = Bench::new();
    let script = [
        opened("thread/start"),
        "expect turn/start".to_owned(),
        r#"print {"id":4,"result":{"turn":{"id":"u-1"}}}"#.to_owned(),
        said("hi"),
        used((100, 9), (100, 9), 109),
        completed("u-1", "completed", "null"),
        "keep @/sent".to_owned(),
    ]
    .join("\n");
    let mut run = bench.start(bench.request(Agent::Codex, &script, prompt("hello"))).await;
    run.send(Command::Context).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    assert_eq!(run.finish().await.unwrap().text, "hi");
    assert!(text(&events).contains("109 of 258"), "{}", text(&events));
    assert_eq!(std::fs::read_to_string(bench.path("sent")).unwrap(), "");
}
