//! Request bodies to measure with: made here, shaped like those that coding agents send.

use std::fmt::Write as _;

use plimsoll::wire::quote;

use crate::text::Random;

/// What tool results are cut from: code, so that newlines, quotes and backslashes are escaped as often as in real ones.
const SOURCES: [&str; 3] = [
    include_str!("text.rs"),
    include_str!("../../crates/plimsoll/src/units.rs"),
    include_str!("../../crates/plimsoll/src/wire/rewrite.rs"),
];

/// Makes the body of a Messages request of about `bytes` bytes: turns of thinking, a call, and a result of 2–10 KB.
pub fn anthropic(bytes: usize) -> Vec<u8> {
    body(bytes, true)
}

/// Makes the same without thinking: nothing in it is bound to what precedes it.
pub fn anthropic_unsigned(bytes: usize) -> Vec<u8> {
    body(bytes, false)
}

fn body(bytes: usize, signed: bool) -> Vec<u8> {
    let mut random = Random::new(7);
    let mut body = String::from(
        r#"{"model":"claude-sonnet-4-5","max_tokens":32000,"stream":true,"system":[{"type":"text","text":"You write code.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"bash","description":"Runs a command.","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}],"messages":[{"role":"user","content":"Make the tests pass."}"#,
    );
    let mut turn = 0;
    while body.len() < bytes {
        turn += 1;
        let source = random.pick(&SOURCES).unwrap_or("");
        let from = random.below(source.len() / 2);
        let length = 2_000 + random.below(8_000);
        let result: String = source.chars().skip(from).take(length).collect();
        let thought = if signed {
            format!(r#"{{"type":"thinking","thinking":"Look at file {turn} next.","signature":"c2lnbmF0dXJl"}},"#)
        } else {
            String::new()
        };
        let written = write!(
            body,
            r#",{{"role":"assistant","content":[{thought}{{"type":"tool_use","id":"toolu_{turn:06}","name":"bash","input":{{"command":"cat src/file_{turn}.rs"}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{turn:06}","content":[{{"type":"text","text":{}}}]}}]}}"#,
            quote(&result)
        );
        // Writing to a string does not fail.
        if written.is_err() {
            break;
        }
    }
    body.push_str("]}");
    body.into_bytes()
}
