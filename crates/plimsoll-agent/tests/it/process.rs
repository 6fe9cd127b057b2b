//! Processes that misbehave: they hang, flood, fork, ignore what they are told, or stop in the middle of a word.

use std::time::Duration;

use plimsoll_agent::{Agent, AgentError, EventKind, Stop, start};

use crate::claude::{GREETED, INIT, answer};
use crate::{Bench, PROGRAM, eventually, is_alive, prompt, text};

/// The start of a script: greeted, and the prompt read.
fn begun() -> String {
    format!("{GREETED}\nexpect hello\n{INIT}\n")
}

#[tokio::test]
async fn secrets_do_not_reach_the_child_and_prompts_are_no_arguments() {
    let bench = Bench::new();
    let script = format!("environment @/environment\narguments @/arguments\n{}{}drain", begun(), answer("hi"));
    let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
    request.environment.set("ADDED", "1");
    bench.run(request).await.1.unwrap();
    let environment = std::fs::read_to_string(bench.path("environment")).unwrap();
    assert!(!environment.contains("SECRET_TOKEN") && environment.contains("ADDED=1"), "{environment}");
    assert!(!std::fs::read_to_string(bench.path("arguments")).unwrap().contains("hello"));
    let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
    request.environment.allow("SECRET_TOKEN");
    bench.run(request).await.1.unwrap();
    assert!(std::fs::read_to_string(bench.path("environment")).unwrap().contains("SECRET_TOKEN=s3cret"));
}

#[tokio::test]
async fn an_end_without_an_end_of_the_turn_is_an_error_whatever_the_exit_code() {
    for code in [0, 3] {
        let bench = Bench::new();
        let script = format!("{}say something broke\nexit {code}", begun());
        let failed = bench.run(bench.request(Agent::Claude, &script, prompt("hello"))).await.1.unwrap_err();
        assert!(matches!(&failed.error, AgentError::NoTerminalRecord { exit, .. } if exit.code == Some(code)));
        assert!(failed.error.to_string().ends_with("something broke"), "{failed}");
        assert_eq!(failed.outcome.session.as_ref().unwrap().as_str(), "s-1");
    }
}

#[tokio::test]
async fn a_torn_line_is_counted_and_the_rest_is_read() {
    let bench = Bench::new();
    let script = format!(
        "{}print {{\"type\":\"assis\nprint words for people\n{}torn {{\"type\":\"resu",
        begun(),
        answer("hi")
    );
    let (events, outcome) = bench.run(bench.request(Agent::Claude, &script, prompt("hello"))).await;
    assert_eq!((text(&events).as_str(), outcome.unwrap().unparsed.torn), ("hi", 3));
}

#[tokio::test]
async fn a_line_of_five_megabytes_is_read_and_one_of_nine_skipped() {
    let bench = Bench::new();
    let script = format!("{}large 5000000\nlarge 9000000\n{}drain", begun(), answer("hi"));
    let (events, outcome) = bench.run(bench.request(Agent::Claude, &script, prompt("hello"))).await;
    let unparsed = outcome.unwrap().unparsed;
    assert_eq!((unparsed.unknown, unparsed.too_long), (1, 1));
    let raw: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Raw { kind, record, bytes } => Some((kind.as_str(), record.is_some(), *bytes)),
            _ => None,
        })
        .collect();
    // They are counted in full, and not carried: no event is larger than its bound.
    assert_eq!(raw, [("large", false, 5_000_000), ("", false, 9_000_000)]);
}

#[tokio::test]
async fn an_unknown_record_is_passed_on_as_it_came_with_its_place() {
    let bench = Bench::new();
    let record = r#"{"type":"news", "big":123456789012345678901234567890}"#;
    let script = format!("{}print {record}\n{}drain", begun(), answer("hi"));
    let (events, _) = bench.run(bench.request(Agent::Claude, &script, prompt("hello"))).await;
    let raw = events.iter().find(|event| matches!(event.kind, EventKind::Raw { .. })).unwrap();
    let EventKind::Raw { kind, record: Some(kept), bytes } = &raw.kind else { panic!("{raw:?}") };
    assert_eq!((kind.as_str(), kept.get(), *bytes), ("news", record, 53));
    let before = events.iter().take_while(|event| !matches!(event.kind, EventKind::Raw { .. })).last().unwrap();
    assert!(raw.offset > before.offset && before.offset > 0);
}

#[tokio::test]
async fn a_flood_on_standard_error_blocks_nobody_and_its_end_is_kept() {
    let bench = Bench::new();
    let script = format!("{}flood 3000000\nsay the last words\n{}drain", begun(), answer("hi"));
    let outcome = bench.run(bench.request(Agent::Claude, &script, prompt("hello"))).await.1.unwrap();
    assert!(outcome.stderr.len() <= 64 << 10 && outcome.stderr.ends_with("the last words\n"));
}

#[tokio::test]
async fn a_run_that_takes_too_long_is_killed_with_what_it_started() {
    for bench in [Bench::new(), Bench::watched()] {
        // It ignores what asks it to end, and so does what it started.
        let script = format!("{}stubborn\nfork @/child\nhang", begun());
        let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
        request.timeout = Some(Duration::from_secs(2));
        request.grace = Duration::from_millis(100);
        let failed = bench.run(request).await.1.unwrap_err();
        assert!(matches!(failed.error, AgentError::Timeout { .. }), "{failed}");
        assert_eq!(failed.outcome.stop, Stop::Error);
        eventually("the child is gone", || !is_alive(&bench.path("child"))).await;
    }
}

#[tokio::test]
async fn what_outlives_the_agent_is_killed_and_not_waited_for() {
    for bench in [Bench::new(), Bench::watched()] {
        // The child keeps the agent's pipes open.
        let script = format!("fork @/child\n{}{}drain", begun(), answer("hi"));
        let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
        request.grace = Duration::from_millis(100);
        let outcome = bench.run(request).await.1.unwrap();
        assert_eq!((outcome.text.as_str(), outcome.exit.code), ("hi", Some(0)));
        eventually("the child is gone", || !is_alive(&bench.path("child"))).await;
    }
}

#[tokio::test]
async fn under_a_watcher_nothing_escapes_into_a_session_of_its_own() {
    let bench = Bench::watched();
    let script = format!("escape @/child\n{}{}drain\nexit 7", begun(), answer("hi"));
    let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
    request.grace = Duration::from_millis(100);
    let outcome = bench.run(request).await.1.unwrap();
    assert_eq!(outcome.exit.code, Some(7));
    assert!(!is_alive(&bench.path("child")));
}

#[tokio::test]
async fn a_dropped_run_kills_everything() {
    for bench in [Bench::new(), Bench::watched()] {
        let script = format!("{}fork @/child\nprint {{\"type\":\"ready\"}}\nhang", begun());
        let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
        request.grace = Duration::from_millis(100);
        let mut run = bench.start(request).await;
        while !matches!(run.next().await.unwrap().kind, EventKind::Raw { .. }) {}
        assert!(is_alive(&bench.path("child")));
        drop(run);
        eventually("the child is gone", || !is_alive(&bench.path("child"))).await;
    }
}

#[test]
fn a_runtime_that_goes_away_takes_the_agent_with_it() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = runtime.block_on(async {
        let script = format!("{}stubborn\nfork @/child\nprint {{\"type\":\"ready\"}}\nhang", begun());
        let mut run = bench.start(bench.request(Agent::Claude, &script, prompt("hello"))).await;
        while !matches!(run.next().await.unwrap().kind, EventKind::Raw { .. }) {}
        run
    });
    assert!(is_alive(&bench.path("child")));
    drop(runtime);
    drop(run);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(eventually("the child is gone", || !is_alive(&bench.path("child"))));
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_nothing_behind() {
    let bench = Bench::new();
    let script = bench.path("script");
    let steps = format!("stubborn\nfork @/near\nescape @/far\n{}touch @/ready\nhang", begun());
    std::fs::write(&script, steps.replace('@', &bench.folder.path().display().to_string())).unwrap();
    let mut host = std::process::Command::new(PROGRAM);
    let mut host = host.arg("--host").arg(&script).arg(bench.folder.path()).spawn().unwrap();
    eventually("the agent is under way", || bench.path("ready").exists()).await;
    assert!(is_alive(&bench.path("near")) && is_alive(&bench.path("far")));
    // SIGKILL: it has no chance to clean up.
    host.kill().unwrap();
    host.wait().unwrap();
    eventually("both are gone", || !is_alive(&bench.path("near")) && !is_alive(&bench.path("far"))).await;
}

#[tokio::test]
async fn a_cancelled_run_says_what_it_had_and_what_it_did_not_send() {
    let bench = Bench::new();
    let partial = r#"print {"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"half an ans"}},"parent_tool_use_id":null}"#;
    let interrupted =
        r#"print {"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s-1","usage":{}}"#;
    let script = format!("{}{partial}\nexpect \"subtype\":\"interrupt\"\n{interrupted}\ndrain\nexit 1", begun());
    let mut run = bench.start(bench.request(Agent::Claude, &script, prompt("hello"))).await;
    run.send(prompt("and then")).await.unwrap();
    while !matches!(run.next().await.unwrap().kind, EventKind::Text { .. }) {}
    run.cancel();
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.stop), ("half an ans", Stop::Cancelled));
    assert_eq!(outcome.unsent, [prompt("and then").into()]);
}

#[tokio::test]
async fn a_cancelled_agent_that_does_not_listen_is_killed() {
    let bench = Bench::new();
    let script = format!("{}stubborn\nprint {{\"type\":\"ready\"}}\nhang", begun());
    let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
    request.grace = Duration::from_millis(100);
    let mut run = bench.start(request).await;
    while !matches!(run.next().await.unwrap().kind, EventKind::Raw { .. }) {}
    run.cancel();
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.stop, outcome.exit.signal), (Stop::Cancelled, Some(9)));
}

#[tokio::test]
async fn an_agent_of_no_name_must_be_named_by_its_program() {
    let bench = Bench::new();
    let mut request = bench.request(Agent::Acp, "", prompt("x"));
    request.program = None;
    assert!(matches!(start(request, &bench.host).await, Err(AgentError::Unsupported { .. })));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_to_be_missing() {
    let bench = Bench::new();
    let mut request = bench.request(Agent::Claude, "", prompt("hello"));
    request.program = None;
    let error = start(request, &bench.host).await.unwrap_err();
    insta::assert_snapshot!(error, @"claude: the program `claude` is not installed or not in PATH; npm install -g @anthropic-ai/claude-code");
}

#[tokio::test]
async fn a_host_that_takes_no_events_holds_the_agent_up_and_loses_none() {
    let bench = Bench::new();
    let piece = r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"{n},"}},"parent_tool_use_id":null}"#;
    let script = format!("{}repeat 5000 {piece}\ntouch @/written\n{}drain", begun(), answer("hi"));
    let mut run = bench.start(bench.request(Agent::Claude, &script, prompt("hello"))).await;
    // The program cannot write it all as long as nobody takes it: it is more than queue and pipe hold.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!bench.path("written").exists());
    let mut pieces = 0;
    while let Some(event) = run.next().await {
        if let EventKind::Text { text } = event.kind {
            assert!(text == format!("{pieces},") || text == "hi");
            pieces += 1;
        }
    }
    assert_eq!(pieces, 5_001);
    run.finish().await.unwrap();
}
