use std::cell::RefCell;

use super::*;
use crate::wire::{ParseOptions, parse};

/// Counts a token a character, and remembers what it was asked.
#[derive(Debug, Default)]
struct Characters {
    asked: RefCell<Vec<String>>,
}

impl Count for Characters {
    fn text(&self, text: &str) -> Tokens {
        self.asked.borrow_mut().push(text.to_owned());
        Tokens::from(text.chars().count())
    }

    fn method(&self) -> Method {
        Method::Exact
    }
}

fn measure(body: &str) -> Measure {
    let options = ParseOptions::default().with_format(Some(Format::Anthropic));
    let document = parse(body.as_bytes(), &options).unwrap();
    Meter::new(Characters::default()).measure(&document)
}

const TOOL_BODY: &str = r#"{"max_tokens":9,"system":"be nice","tools":[{"name":"ls","input_schema":{}}],"messages":[
    {"role":"user","content":"List"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"tool_use","id":"a","name":"ls","input":{"x":1}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x.rs"}]}]}"#;

#[test]
fn mechanism_30_system_prompt_and_tools_are_counted() {
    let measured = measure(TOOL_BODY);
    assert_eq!(measured.system, Tokens(7));
    assert_eq!(measured.tools, Tokens(31) + TOOLS_OVERHEAD);
    assert_eq!(measured.total, measured.system + measured.tools + measured.messages);
    assert_eq!(measured.message(0), Tokens(4) + MESSAGE_OVERHEAD);
    assert_eq!(measured.range(0..99), measured.messages);
    insta::assert_snapshot!(serde_json::to_string(&measured).unwrap(), @r#"{"system":7,"tools":377,"messages":55,"total":439,"by_role":{"system":0,"user":28,"assistant":27,"tool":0,"other":0},"by_kind":{"text":4,"thinking":2,"tool_call":9,"tool_result":4,"media":0,"compaction":0,"opaque":0,"overhead":36},"unrecorded":null,"method":"exact"}"#);
}

#[test]
fn mechanism_32_base64_is_never_counted_as_text() {
    let data = "A".repeat(400_000);
    let body = format!(
        r#"{{"max_tokens":9,"messages":[{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}]}},
        {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":[{{"type":"image","source":{{"type":"base64","data":"{data}"}}}}]}}]}}]}}"#
    );
    let measured = measure(&body);
    assert_eq!(measured.by_kind.media, Tokens(2 * 1_568));
    assert!(measured.total < Tokens(4_000));
    assert_eq!(measured.method, Method::Estimated);
}

#[test]
fn mechanism_8_sealed_reasoning_is_estimated_by_its_size() {
    let signature = "s".repeat(1_600);
    let body = format!(
        r#"{{"max_tokens":9,"messages":[{{"role":"assistant","content":[{{"type":"thinking","thinking":"hm","signature":"{signature}"}}]}}]}}"#
    );
    let measured = measure(&body);
    assert!((300..330).contains(&measured.by_kind.thinking.0), "{}", measured.by_kind.thinking);
    assert_eq!(measured.method, Method::Estimated);
}

#[test]
fn a_turn_that_adds_one_message_counts_only_that_message() {
    let mut meter = Meter::new(Characters::default());
    let document = parse(TOOL_BODY.as_bytes(), &ParseOptions::default()).unwrap();
    let before = meter.measure(&document);
    let grown = TOOL_BODY.replace("}]}]}", r#"}]},{"role":"assistant","content":"There is one."}]}"#);
    assert_ne!(grown, TOOL_BODY);
    let document = parse(grown.as_bytes(), &ParseOptions::default()).unwrap();
    meter.count().asked.borrow_mut().clear();
    let after = meter.measure(&document);
    assert_eq!(*meter.count().asked.borrow(), ["There is one."]);
    assert_eq!(after.total, before.total + Tokens(13) + MESSAGE_OVERHEAD);
    // And what came from memory is what counting anew gives.
    assert_eq!(after, Meter::new(Characters::default()).measure(&document));
}

#[test]
fn what_precedes_a_providers_compaction_counts_nothing() {
    let measured = measure(
        r#"{"max_tokens":9,"messages":[{"role":"user","content":"a long way back"},
        {"role":"assistant","content":[{"type":"text","text":"gone"},{"type":"compaction","content":"so far"},{"type":"text","text":"on"}]},
        {"role":"user","content":"next"}]}"#,
    );
    assert_eq!(measured.message(0), Tokens::ZERO);
    assert_eq!(measured.by_kind.compaction, Tokens(6));
    assert_eq!(measured.by_kind.text, Tokens(6));
}

fn session(lines: &[String]) -> Measure {
    let body = lines.join("\n");
    let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
    assert_eq!(document.format(), Format::ClaudeCode);
    Meter::new(Characters::default()).measure(&document)
}

fn line(uuid: &str, parent: &str, role: &str, text: &str, more: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","message":{{"role":"{role}","content":"{text}"{more}}},"uuid":"{uuid}","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s"}}"#
    )
}

const USAGE: &str = r#","id":"m1","usage":{"input_tokens":10,"cache_read_input_tokens":900,"cache_creation_input_tokens":90,"output_tokens":5}"#;

#[test]
fn what_a_program_does_not_record_is_told_by_its_usage() {
    let lines = [line("a", "", "user", "hello", ""), line("b", "a", "assistant", "hi", USAGE)];
    let measured = session(&lines);
    // Cached tokens are a part of what filled the context, once.
    assert_eq!(measured.unrecorded, Some(Tokens(1_005) - measured.total));
    assert_eq!(measured.context(), Tokens(1_005));
    // What comes after the anchor is counted on top of it.
    let more = [lines[0].clone(), lines[1].clone(), line("c", "b", "user", "more", "")];
    assert_eq!(session(&more).context(), Tokens(1_005 + 4) + MESSAGE_OVERHEAD);
}

#[test]
fn mechanism_28_an_anchor_dies_with_a_compaction() {
    let summary = "This session is being continued from a previous conversation";
    let boundary = r#"{"parentUuid":null,"logicalParentUuid":"b","isSidechain":false,"type":"system","subtype":"compact_boundary","content":"","uuid":"x","timestamp":"2026-01-01T00:00:01.000Z","compactMetadata":{"trigger":"manual","preTokens":1,"preservedMessages":{"anchorUuid":"s","uuids":["a","b"]}}}"#;
    let lines = [
        line("a", "", "user", "hello", ""),
        line("b", "a", "assistant", "hi", USAGE),
        boundary.to_owned(),
        line("s", "x", "user", summary, "").replace("\"uuid\"", "\"isCompactSummary\":true,\"uuid\""),
    ];
    let measured = session(&lines);
    assert!(measured.len() >= 2, "the tail is kept by reference: {}", measured.len());
    assert_eq!(measured.unrecorded, None);
}
