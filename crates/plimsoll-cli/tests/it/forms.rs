//! The exact forms that other programs rely on.

use crate::{Bench, body, example};

fn keys(value: &serde_json::Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn count_of_text() {
    let bench = Bench::new();
    let ran = bench.pipe(["count", "--json"], b"one two three");
    insta::assert_snapshot!(ran.code(0).out().trim(), @r#"{"tokens":3,"method":"exact","tokenizer":"o200k_base","bytes":13}"#);
    let ran = bench.pipe(["count", "--json", "--tokenizer", "cl100k_base"], b"one two three");
    insta::assert_snapshot!(ran.code(0).out().trim(), @r#"{"tokens":3,"method":"exact","tokenizer":"cl100k_base","bytes":13}"#);
    let ran = bench.pipe(["count", "--json", "--model", "no-such-model"], b"one two three");
    assert_eq!(ran.code(0).json()["method"], "estimated");
}

#[test]
fn count_of_a_transcript_and_of_several_files() {
    let bench = Bench::new();
    bench.write("t.json", body(2));
    bench.write("note.txt", "Remember the milk.");
    let counted = bench.run(["count", "t.json", "--json"]).code(0).json();
    insta::assert_snapshot!(keys(&counted).join(" "), @"by_kind by_role bytes format messages method tokenizer tokens");
    assert_eq!(counted["format"], "anthropic");
    assert_eq!(counted["messages"], 9);
    let lines = bench.run(["count", "t.json", "note.txt", "--json"]).code(0).out();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["file"], "total");
    let sum = lines[0]["tokens"].as_u64().unwrap() + lines[1]["tokens"].as_u64().unwrap();
    assert_eq!(lines[2]["tokens"].as_u64().unwrap(), sum);
}

#[test]
fn context_shows_the_numbers_that_decisions_are_made_on() {
    let bench = Bench::new();
    let context = bench.run(["context", example().to_str().unwrap(), "--json"]).code(0).json();
    insta::assert_snapshot!(keys(&context).join(" "), @"budget by_kind by_role counting format largest messages model oddities orphans system thresholds tokens tools unrecorded window window_source");
    assert_eq!(context["window"], 200_000);
    let dry = bench.run(["compact", example().to_str().unwrap(), "--dry-run", "--json"]).code(0).json();
    assert_eq!(context["tokens"], dry["tokens_before"]);
    let shown = bench.run(["context", example().to_str().unwrap()]).code(0).out();
    assert!(shown.contains("tool results") && shown.contains('█'), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no escapes into a pipe");
}

#[test]
fn compact_json_has_its_fields() {
    let bench = Bench::new();
    let report = bench.run(["compact", example().to_str().unwrap(), "--json"]).code(0).json();
    for field in [
        "outcome",
        "reason",
        "format",
        "model",
        "tokens_before",
        "tokens_after",
        "counting",
        "window",
        "target",
        "messages_before",
        "messages_after",
        "kept_tail_messages",
        "summarizer",
        "summary_tokens",
        "fallback",
        "carried",
        "artifact",
        "epoch",
        "unrecorded",
    ] {
        assert!(report.get(field).is_some(), "{field} in {report}");
    }
}

#[test]
fn models_say_where_numbers_come_from() {
    let bench = Bench::new();
    let one = bench.run(["models", "anthropic/claude-sonnet-4.5", "--json"]).code(0).json();
    assert_eq!(one["resolved"], "claude-sonnet-4-5");
    assert_eq!(one["known"], true);
    assert_eq!(one["context_window"], 200_000);
    assert!(one["sources"]["context_window"].as_str().unwrap().starts_with("catalogue: "), "{one}");
    assert!(bench.run(["models", "sonnet", "--json"]).code(0).json().as_array().unwrap().len() > 1);
    let unknown = bench.run(["models", "no-such-model-anywhere", "--json"]);
    assert_eq!(unknown.code(1).json()["known"], false);
    assert!(unknown.err().contains("no-such-model-anywhere"));
}

#[test]
fn an_unknown_model_is_told_from_a_known_one_and_still_works() {
    let bench = Bench::new();
    let context =
        bench.run(["context", example().to_str().unwrap(), "--model", "mystery-1", "--json"]).code(0).json();
    assert_eq!(context["window"], 128_000);
    assert_eq!(context["window_source"], "fallback");
    let context =
        bench.run(["context", example().to_str().unwrap(), "--model", "mystery-1", "--window", "1M", "--json"]);
    assert_eq!(context.code(0).json()["window_source"], "user");
}

#[test]
fn completions_for_the_usual_shells() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(bench.run(["completions", shell]).code(0).out().contains("plimsoll"));
    }
}

#[test]
fn every_help_has_an_example() {
    let bench = Bench::new();
    for command in ["count", "context", "models", "compact", "restore", "completions"] {
        let help = bench.run([command, "--help"]).code(0).out();
        assert!(help.contains("Example: plimsoll"), "{help}");
    }
    bench.run(["--version"]).code(0);
}
