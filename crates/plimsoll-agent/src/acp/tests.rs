use super::turn::usage;
use super::*;
use crate::event::Usage;
use crate::recorded::{lines, replay};
use crate::request::Prompt;

fn asking(agent: Agent) -> Box<Acp> {
    let mut driver = Acp::new(agent);
    driver.cwd = "/home/user/project".into();
    driver.approvals = Approvals::Ask;
    Box::new(driver)
}

#[test]
fn a_recorded_run_of_opencode_is_told_as_neutral_events() {
    let recording = include_bytes!("../../tests/recorded/opencode-compact.jsonl");
    let inputs = vec![Prompt::new("run: echo hi").unwrap().into(), Command::compact("").into()];
    let replayed = replay(Agent::OpenCode, asking(Agent::OpenCode), recording, inputs);
    assert!(replayed.error.is_none(), "{:?}", replayed.error);
    let outcome = &replayed.outcome;
    assert_eq!((outcome.text.as_str(), outcome.turns, outcome.unparsed.unknown), ("done", 2, 0));
    insta::assert_snapshot!(lines(&replayed.events), @r##"
    {"event":"commands","all":["compact"],"skills":[]}
    {"event":"started","agent":"opencode","session":"ses_dd4bbfea9ffeD7FuV4qn0mO443","model":"local/m1","version":"1.18.33"}
    {"event":"commands","all":["compact","customize-opencode","init","review"],"skills":[]}
    {"event":"tool_call","id":"call_24","name":"execute","input":{"command":"echo hi","cwd":"/home/user/project","description":"runs it"}}
    {"event":"approval_request","id":"0","tool":"execute","input":{"command":"echo hi"},"reason":"echo hi"}
    {"event":"tool_result","id":"call_24","text":"hi\n","omitted_bytes":0,"is_error":false}
    {"event":"text","text":"done"}
    {"event":"usage","input":7818,"output":9,"cache_read":0,"cache_write":0,"context_used":7818,"context_window":100000}
    {"event":"compaction","state":"started"}
    {"event":"text","text":"hello from the model"}
    {"event":"compaction","state":"finished","ok":true,"error":null,"before":7818,"after":581}
    {"event":"usage","input":7818,"output":9,"cache_read":0,"cache_write":0,"context_used":581,"context_window":100000}
    "##);
    insta::assert_snapshot!(replayed.written.join("\n").replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r##"
    {"id":1,"jsonrpc":"2.0","method":"initialize","params":{"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"session":{"compaction":{}},"terminal":false},"clientInfo":{"name":"plimsoll","title":"Plimsoll","version":"VERSION"},"protocolVersion":1}}
    {"id":2,"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/home/user/project","mcpServers":[]}}
    {"id":3,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"run: echo hi","type":"text"}],"sessionId":"ses_dd4bbfea9ffeD7FuV4qn0mO443"}}
    {"id":4,"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[{"text":"/compact","type":"text"}],"sessionId":"ses_dd4bbfea9ffeD7FuV4qn0mO443"}}
    "##);
}

#[test]
fn a_recorded_run_of_gemini_is_told_as_neutral_events() {
    let recording = include_bytes!("../../tests/recorded/gemini-tool.jsonl");
    let inputs = vec![Prompt::new("run: echo hi").unwrap().into()];
    let replayed = replay(Agent::Gemini, asking(Agent::Gemini), recording, inputs);
    assert!(replayed.error.is_none(), "{:?}", replayed.error);
    insta::assert_snapshot!(lines(&replayed.events), @r##"
    {"event":"started","agent":"gemini","session":"b87f3284-c5c8-4db1-8f47-5389be2cdbf5","model":"gemini-2.5-flash","version":"0.61.0"}
    {"event":"commands","all":["memory"],"skills":[]}
    {"event":"tool_call","id":"run_shell_command__run_shell_command_1796022279039_0","name":"execute","input":{"title":"echo hi"}}
    {"event":"tool_result","id":"run_shell_command__run_shell_command_1796022279039_0","text":"","omitted_bytes":0,"is_error":false}
    {"event":"text","text":"done"}
    {"event":"usage","input":24637,"output":18,"cache_read":0,"cache_write":0,"context_used":null,"context_window":null}
    "##);
}

#[test]
fn usage_is_read_from_either_place() {
    let said = usage(
        &json!({ "usage": { "inputTokens": 5, "outputTokens": 2, "thoughtTokens": 3, "cachedReadTokens": 7 } }),
    );
    assert_eq!(said, Some(Usage::new(Tokens(5), Tokens(5), Tokens(7), Tokens(0))));
    let said = usage(&json!({ "_meta": { "quota": { "token_count": { "input_tokens": 5, "output_tokens": 2 } } } }));
    assert_eq!(said, Some(Usage::new(Tokens(5), Tokens(2), Tokens(0), Tokens(0))));
    assert_eq!(usage(&json!({ "stopReason": "cancelled" })), None);
}
