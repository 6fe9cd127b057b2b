//! Claude Code's protocol, replayed.

use plimsoll::command::{Command, Compaction};
use plimsoll_agent::{Agent, AgentError, EventKind};

use crate::{Bench, prompt, shown, text};

pub(crate) const GREETED: &str = r#"
expect "subtype":"initialize"
print {"type":"control_response","response":{"subtype":"success","request_id":"plimsoll-1","response":{"commands":[{"name":"compact"},{"name":"clear"},{"name":"context"},{"name":"review"}]}}}
"#;

pub(crate) const INIT: &str = r#"print {"type":"system","subtype":"init","session_id":"s-1","model":"m","slash_commands":["compact","clear","context","review"],"skills":["review"],"claude_code_version":"2.1.197"}"#;

pub(crate) fn answer(text: &str) -> String {
    format!(
        r#"print {{"type":"assistant","message":{{"id":"msg_1","model":"m","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":100,"output_tokens":1}}}},"parent_tool_use_id":null,"session_id":"s-1"}}
print {{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"{text}","stop_reason":"end_turn","session_id":"s-1","usage":{{"input_tokens":100,"output_tokens":9}},"modelUsage":{{"m":{{"contextWindow":200000}}}}}}
"#
    )
}

#[tokio::test]
async fn a_prompt_is_answered() {
    let bench = Bench::new();
    let script = format!("{GREETED}\nexpect \"text\":\"hello\"\n{INIT}\n{}drain", answer("hi"));
    let (events, outcome) = bench.run(bench.request(Agent::Claude, &script, prompt("hello"))).await;
    let outcome = outcome.unwrap();
    assert_eq!((outcome.text.as_str(), text(&events).as_str()), ("hi", "hi"));
    assert_eq!(outcome.session.unwrap().as_str(), "s-1");
    insta::assert_snapshot!(shown(&events), @r#"
    {"all":["clear","compact","context","review"],"event":"commands","skills":[]}
    {"agent":"claude","event":"started","model":"m","session":"s-1","version":"2.1.197"}
    {"all":["clear","compact","context","review"],"event":"commands","skills":["review"]}
    {"event":"text","text":"hi"}
    {"cache_read":0,"cache_write":0,"context_used":101,"context_window":200000,"event":"usage","input":100,"output":9}
    "#);
}

#[tokio::test]
async fn an_unknown_command_is_refused_before_it_is_sent() {
    let bench = Bench::new();
    let script = format!("{GREETED}\ndrain");
    let command = Command::new("compcat", "").unwrap();
    let (_, outcome) = bench.run(bench.request(Agent::Claude, &script, command)).await;
    let failed = outcome.unwrap_err();
    assert!(matches!(&failed.error, AgentError::UnknownCommand { near, .. } if near == &["compact"]));
    assert_eq!(failed.outcome.unsent.len(), 1);
}

#[tokio::test]
async fn a_command_sent_during_a_turn_waits_and_does_not_take_its_answer() {
    let bench = Bench::new();
    let boundary = r#"print {"type":"system","subtype":"compact_boundary","session_id":"s-1","compact_metadata":{"pre_tokens":19834,"post_tokens":575}}"#;
    let done = r#"print {"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"","session_id":"s-1","usage":{"input_tokens":0,"output_tokens":0}}"#;
    // The command must not be there before the answer is: what is read then is what was sent since.
    let script = format!(
        "{GREETED}\nexpect hello\n{INIT}\n{}expect \"text\":\"/compact keep it\"\n{INIT}\n{boundary}\n{done}\ndrain",
        answer("hi")
    );
    let mut run = bench.start(bench.request(Agent::Claude, &script, prompt("hello"))).await;
    run.send(Command::compact("keep it")).await.unwrap();
    let (mut started, mut compactions) = (0, Vec::new());
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Started { .. } => started += 1,
            EventKind::Compaction(step) => compactions.push(step),
            _ => {}
        }
    }
    let outcome = run.finish().await.unwrap();
    assert_eq!((outcome.text.as_str(), outcome.turns, started), ("hi", 2, 1));
    assert_eq!(outcome.usage.output.0, 9);
    assert!(matches!(&compactions[..], [Compaction::Finished { ok: true, before: Some(_), after: Some(_), .. }]));
}
