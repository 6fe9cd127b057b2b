//! Named sessions across runs: bound before the start, confirmed by the agent, one run at a time.

use std::time::Duration;

use plimsoll::command::Command;
use plimsoll::id::SessionId;
use plimsoll_agent::{Agent, AgentError, AgentSession, start};

use crate::claude::{GREETED, INIT, answer};
use crate::{Bench, prompt};

fn script() -> String {
    format!("arguments @/arguments\n{GREETED}\nexpect hello\n{INIT}\n{}drain", answer("hi"))
}

fn arguments(bench: &Bench) -> String {
    std::fs::read_to_string(bench.path("arguments")).unwrap().replace('\n', " ")
}

#[tokio::test]
async fn a_name_is_bound_before_the_start_and_resumed_by_what_the_agent_said() {
    let bench = Bench::with_sessions();
    let name = SessionId::new("docs");
    let sessions = bench.host.sessions.clone().unwrap();
    let mut request = bench.request(Agent::Claude, &script(), prompt("hello"));
    request.session = Some(name.clone());
    let run = bench.start(request.clone()).await;
    let bound = sessions.read(&name).unwrap().unwrap();
    assert!(bound.session.is_some());
    run.finish().await.unwrap();
    assert!(arguments(&bench).contains(&format!("--session-id {}", bound.session.unwrap())));
    // What the agent says is what counts.
    let confirmed = sessions.read(&name).unwrap().unwrap();
    assert_eq!((confirmed.session.unwrap().as_str(), confirmed.confirmed), ("s-1", true));
    bench.run(request).await.1.unwrap();
    assert!(arguments(&bench).contains("--resume s-1"));
}

#[tokio::test]
async fn a_session_that_was_never_confirmed_is_begun_anew() {
    let bench = Bench::with_sessions();
    let mut request = bench.request(Agent::Claude, "exit 1", prompt("hello"));
    request.session = Some(SessionId::new("docs"));
    bench.run(request).await.1.unwrap_err();
    let mut request = bench.request(Agent::Claude, &script(), prompt("hello"));
    request.session = Some(SessionId::new("docs"));
    bench.run(request).await.1.unwrap();
    assert!(arguments(&bench).contains("--session-id"));
}

#[tokio::test]
async fn a_cleared_session_goes_on_under_its_new_id() {
    let bench = Bench::with_sessions();
    let cleared = INIT.replace("s-1", "s-2");
    let done = r#"print {"type":"result","is_error":false,"num_turns":0,"result":"","session_id":"s-2","usage":{}}"#;
    let script = format!("{GREETED}\nexpect hello\n{INIT}\n{}expect /clear\n{cleared}\n{done}\ndrain", answer("hi"));
    let mut request = bench.request(Agent::Claude, &script, prompt("hello"));
    request.session = Some(SessionId::new("docs"));
    let run = bench.start(request).await;
    run.send(Command::Clear).await.unwrap();
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.session.unwrap().as_str()), ("hi", "s-2"));
    let record = bench.host.sessions.as_ref().unwrap().read(&SessionId::new("docs")).unwrap().unwrap();
    assert_eq!(record.session.unwrap().as_str(), "s-2");
}

#[tokio::test]
async fn two_runs_on_one_session_are_refused_or_wait() {
    let bench = Bench::with_sessions();
    let slow = format!("{GREETED}\nexpect hello\n{INIT}\nhang");
    let mut first = bench.request(Agent::Claude, &slow, prompt("hello"));
    first.resume = Some(AgentSession::new("s-1").unwrap());
    first.grace = Duration::from_millis(50);
    let running = bench.start(first).await;
    let mut second = bench.request(Agent::Claude, &script(), prompt("hello"));
    // By its own id and by a name: it is the same session.
    second.resume = Some(AgentSession::new("s-1").unwrap());
    assert!(matches!(start(second.clone(), &bench.host).await, Err(AgentError::SessionBusy { .. })));
    second.session = Some(SessionId::new("docs"));
    assert!(matches!(start(second.clone(), &bench.host).await, Err(AgentError::SessionBusy { .. })));
    second.wait = Some(Duration::from_secs(60));
    let (waited, ()) = tokio::join!(start(second, &bench.host), async {
        running.cancel();
        running.finish().await.unwrap();
    });
    assert_eq!(waited.unwrap().finish().await.unwrap().text, "hi");
}

#[tokio::test]
async fn a_name_means_one_session_of_one_agent_in_one_place() {
    let bench = Bench::with_sessions();
    let mut request = bench.request(Agent::Claude, &script(), prompt("hello"));
    request.session = Some(SessionId::new("docs"));
    bench.run(request.clone()).await.1.unwrap();
    let mut other = request.clone();
    other.resume = Some(AgentSession::new("s-9").unwrap());
    insta::assert_snapshot!(start(other, &bench.host).await.unwrap_err(), @"the session `docs` stands for s-1; leave the other id out, or take another name");
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    request.cwd = bench.path("elsewhere");
    assert!(matches!(start(request, &bench.host).await, Err(AgentError::SessionConflict { .. })));
}
