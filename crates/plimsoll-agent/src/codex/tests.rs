use proptest::prelude::*;

use super::*;
use crate::environment::Environment;
use crate::recorded::{lines, replay};
use crate::request::Prompt;

/// A prompt with a tool call, then a compaction, as Codex 0.171.0 answered them.
const RECORDING: &str = include_str!("../../tests/recorded/codex-compact.jsonl");

fn inputs() -> Vec<Input> {
    vec![Prompt::new("run: echo hi").unwrap().into(), Command::compact("").into()]
}

#[test]
fn a_recorded_run_is_told_as_neutral_events() {
    let replayed = replay(Agent::Codex, Box::<Codex>::default(), RECORDING.as_bytes(), inputs());
    assert!(replayed.error.is_none(), "{:?}", replayed.error);
    let outcome = &replayed.outcome;
    assert_eq!((outcome.text.as_str(), outcome.turns, outcome.unparsed.unknown), ("done", 2, 0));
    insta::assert_snapshot!(lines(&replayed.events), @r##"
    {"event":"raw","kind":"configWarning","record":{"method":"configWarning","params":{"summary":"Codex could not find bubblewrap on PATH. Install bubblewrap with your OS package manager. See the sandbox prerequisites: https://developers.openai.com/codex/concepts/sandboxing#prerequisites. Codex will use the bundled bubblewrap in the meantime.","details":null},"emittedAtMs":1796022187106},"bytes":339}
    {"event":"commands","all":["clear","compact","context","review"],"skills":[]}
    {"event":"raw","kind":"warning","record":{"method":"warning","params":{"threadId":"01a22b43-b46a-78f1-bc38-8a041e199c25","message":"Model metadata for `gpt-5.1-codex` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."},"emittedAtMs":1796022187262},"bytes":247}
    {"event":"started","agent":"codex","session":"01a22b43-b46a-78f1-bc38-8a041e199c25","model":"gpt-5.1-codex","version":"0.171.0"}
    {"event":"tool_call","id":"call_20","name":"commandExecution","input":{"command":"/bin/bash -lc 'echo hi'","cwd":"/home/user/project"}}
    {"event":"tool_result","id":"call_20","text":"hi\n","omitted_bytes":0,"is_error":false}
    {"event":"text","text":"done"}
    {"event":"usage","input":20657,"output":18,"cache_read":0,"cache_write":0,"context_used":10385,"context_window":258400}
    {"event":"compaction","state":"started"}
    {"event":"compaction","state":"finished","ok":true,"error":null,"before":10385,"after":6048}
    {"event":"usage","input":26567,"output":27,"cache_read":0,"cache_write":0,"context_used":6048,"context_window":258400}
    "##);
    insta::assert_snapshot!(replayed.written.join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r##"
    {"id":1,"method":"initialize","params":{"capabilities":{"experimentalApi":false,"requestAttestation":false},"clientInfo":{"name":"plimsoll","title":"Plimsoll","version":"VERSION"}}}
    {"method":"initialized"}
    {"id":2,"method":"account/read","params":{}}
    {"id":3,"method":"thread/start","params":{}}
    {"id":4,"method":"turn/start","params":{"input":[{"text":"run: echo hi","type":"text"}],"threadId":"01a22b43-b46a-78f1-bc38-8a041e199c25"}}
    {"id":5,"method":"thread/compact/start","params":{"threadId":"01a22b43-b46a-78f1-bc38-8a041e199c25"}}
    "##);
}

#[test]
fn a_request_is_taken_over_into_the_thread() {
    let mut request = Request::new(Agent::Codex, Command::Clear, "/srv/project", Environment::default());
    assert_eq!(circumstances(&request).to_string(), r#"{"approvalPolicy":"never","cwd":"/srv/project"}"#);
    request.approvals = Approvals::Ask;
    request.permission = Permission::Plan;
    request.model = Some("m".to_owned());
    request.instructions = Some("be brief".to_owned());
    insta::assert_snapshot!(circumstances(&request),
        @r#"{"cwd":"/srv/project","developerInstructions":"be brief","model":"m","sandbox":"read-only"}"#);
    request.permission = Permission::Bypass;
    assert!(circumstances(&request).to_string().contains(r#""approvalPolicy":"never""#));
}

proptest! {
    #[test]
    fn whatever_is_lost_or_torn_nothing_breaks_and_no_turn_ends_twice(
        kept in prop::collection::vec(0_u8..8, 1..80),
    ) {
        let mut recording = Vec::new();
        for (line, fate) in RECORDING.lines().zip(kept.iter().cycle()) {
            match fate {
                0 => {}
                1 => recording.extend(line.as_bytes().iter().take(line.len() / 2)),
                2 => recording.extend([line, "\n", line].concat().bytes()),
                _ => recording.extend(line.bytes()),
            }
            recording.push(b'\n');
        }
        let replayed = replay(Agent::Codex, Box::<Codex>::default(), &recording, inputs());
        prop_assert!(replayed.outcome.turns <= 2);
        prop_assert!(replayed.error.is_some() || replayed.outcome.turns == 2);
        prop_assert!(replayed.outcome.usage.output.0 <= 3 * 9);
        let compacts = replayed.written.iter().filter(|line| line.contains("thread/compact/start")).count();
        prop_assert!(compacts <= 1);
    }
}
