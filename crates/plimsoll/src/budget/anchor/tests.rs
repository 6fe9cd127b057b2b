//! What an anchor says, and everything it dies of.

use super::*;
use crate::budget::{MESSAGE_OVERHEAD, Meter};
use crate::token::{Counter, Encoding};
use crate::wire::{ParseOptions, parse};

const USAGE: Usage =
    Usage { input: Tokens(100), cache_read: Tokens(800), cache_write: Tokens(100), output: Tokens(40) };

fn body(model: &str, system: &str, tools: &str, messages: &str) -> String {
    format!(r#"{{"model":"{model}","max_tokens":9,"system":{system},"tools":[{tools}],"messages":[{messages}]}}"#)
}

const LS: &str = r#"{"name":"ls","input_schema":{}}"#;
const FIRST: &str = r#"{"role":"user","content":"List the files"}"#;

fn anchor() -> Anchor {
    let sent = body("claude-sonnet-4-5", r#""be nice""#, LS, FIRST);
    let document = parse(sent.as_bytes(), &ParseOptions::default()).unwrap();
    Anchor::new(&document, &Chain::of(&document), USAGE).unwrap()
}

fn judge(body: &str) -> Result<Anchored, Death> {
    let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
    let measure = Meter::new(Counter::exact(Encoding::O200kBase)).measure(&document);
    anchor().measure(&document, &Chain::of(&document), &measure)
}

#[test]
fn the_answer_is_in_the_usage_and_what_follows_is_counted() {
    let answer = r#"{"role":"assistant","content":"There are none, I am afraid."}"#;
    let next = r#"{"role":"user","content":"one two three"}"#;
    let grown = body("claude-sonnet-4-5", r#""be nice""#, LS, &format!("{FIRST},{answer},{next}"));
    let anchored = judge(&grown).unwrap();
    let counted = Tokens(3) + MESSAGE_OVERHEAD;
    assert_eq!(
        anchored,
        Anchored { tokens: Tokens(1_040) + counted, reported: Tokens(1_040), counted, method: Method::Reported }
    );
    // The same request again: nothing came after it, and no answer is in it.
    let again = judge(&body("claude-sonnet-4-5", r#""be nice""#, LS, FIRST)).unwrap();
    assert_eq!((again.tokens, again.method), (Tokens(1_000), Method::Reported));
}

#[test]
fn marks_for_the_cache_and_a_snapshots_date_change_nothing() {
    let marked =
        r#"{"role":"user","content":[{"type":"text","text":"List the files","cache_control":{"type":"ephemeral"}}]}"#;
    let system = r#"[{"type":"text","text":"be nice","cache_control":{"type":"ephemeral"}}]"#;
    assert!(judge(&body("anthropic/claude-sonnet-4-5-20250929", system, LS, marked)).is_ok());
}

#[test]
fn mechanism_28_an_anchor_dies_with_any_change_of_what_precedes_it() {
    let nice = r#""be nice""#;
    let other = r#"{"role":"user","content":"The conversation so far: …"}"#;
    let compaction = r#"{"role":"assistant","content":[{"type":"compaction","content":"so far"}]}"#;
    for (death, changed) in [
        (Death::Model, body("claude-opus-4-7", nice, LS, FIRST)),
        (Death::System, body("claude-sonnet-4-5", r#""be brief""#, LS, FIRST)),
        (Death::Tools, body("claude-sonnet-4-5", nice, "", FIRST)),
        (Death::Tools, body("claude-sonnet-4-5", nice, &LS.replace("ls", "dir"), FIRST)),
        (Death::History, body("claude-sonnet-4-5", nice, LS, other)),
        (Death::History, body("claude-sonnet-4-5", nice, LS, &format!("{other},{FIRST}"))),
        (Death::Compacted, body("claude-sonnet-4-5", nice, LS, &format!("{FIRST},{compaction}"))),
    ] {
        assert_eq!(judge(&changed), Err(death), "{changed}");
    }
}

#[test]
fn a_usage_of_nothing_is_no_anchor() {
    let sent = body("m", r#""s""#, LS, FIRST);
    let document = parse(sent.as_bytes(), &ParseOptions::default()).unwrap();
    assert_eq!(Anchor::new(&document, &Chain::of(&document), Usage::default()), None);
}

fn session(model: &str, then: &str) -> String {
    let line = |uuid: &str, parent: &str, role: &str, more: &str| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","message":{{"role":"{role}","content":"hello"{more}}},"uuid":"{uuid}","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s"}}"#
        )
    };
    let usage = format!(r#","id":"m1","model":"{model}","usage":{{"input_tokens":5000,"output_tokens":5}}"#);
    let silent = format!(r#","id":"m2","model":"{then}""#);
    let lines = [
        line("a", "null", "user", ""),
        line("b", "\"a\"", "assistant", &usage),
        line("c", "\"b\"", "user", ""),
        line("d", "\"c\"", "assistant", &silent),
    ];
    lines.join("\n")
}

#[test]
fn mechanism_28_an_anchor_of_a_programs_file_dies_with_a_switch_of_the_model() {
    let unrecorded = |body: &str, counting: &crate::budget::Counting| {
        let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
        Meter::new(counting.clone()).measure(&document).unrecorded
    };
    let old = crate::budget::Counting::for_model(Some("claude-sonnet-4-5"));
    let same = session("claude-sonnet-4-5-20250929", "claude-sonnet-4-5");
    assert!(unrecorded(&same, &old).is_some());
    // The session went on with another model, or is judged for one.
    assert_eq!(unrecorded(&session("claude-sonnet-4-5", "claude-opus-4-7"), &old), None);
    let new = crate::budget::Counting::for_model(Some("claude-opus-4-7"));
    assert_eq!(unrecorded(&same, &new), None);
}
