//! Bad input: a clear message, the right exit code, nothing written.

use crate::{Bench, body};

#[track_caller]
fn refused(bench: &Bench, arguments: &[&str], code: i32, says: &[&str]) {
    let ran = bench.run(arguments);
    ran.code(code);
    assert_eq!(ran.bytes(), b"", "nothing on standard output");
    for part in says {
        assert!(ran.err().contains(part), "`{part}` in: {}", ran.err());
    }
    assert!(!ran.err().contains("panicked"), "{}", ran.err());
    assert!(!bench.stored(), "nothing is stored");
}

#[test]
fn an_empty_file() {
    let bench = Bench::new();
    bench.write("empty.jsonl", "");
    refused(&bench, &["compact", "empty.jsonl"], 1, &["empty.jsonl", "empty"]);
    bench.write("blank.json", " \n\n");
    refused(&bench, &["context", "blank.json"], 1, &["empty"]);
}

#[test]
fn a_directory_and_a_file_that_is_not_there() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("folder")).unwrap();
    refused(&bench, &["compact", "folder"], 1, &["folder is a directory"]);
    refused(&bench, &["compact", "no-such-file"], 1, &["no-such-file", "No such file"]);
}

#[test]
fn binary() {
    let bench = Bench::new();
    bench.write("program", b"\x7fELF\x02\x01\x01\x00\x00\x00".as_slice());
    refused(&bench, &["compact", "program"], 1, &["not text", "NUL byte at byte 7"]);
    bench.write("utf16.json", b"\xff\xfe{\x00".as_slice());
    refused(&bench, &["compact", "utf16.json"], 1, &["UTF-16"]);
}

#[test]
fn a_file_over_the_size_limit() {
    let bench = Bench::new();
    bench.write("big.jsonl", vec![b' '; (1 << 20) + 1]);
    refused(&bench, &["compact", "big.jsonl", "--max-size", "1"], 1, &["1.0 MiB", "--max-size"]);
    let ran = bench.pipe(["compact", "-", "--max-size", "1"], &vec![b' '; (1 << 20) + 1]);
    ran.code(1);
    assert!(ran.err().contains("standard input has 1.0 MiB"), "{}", ran.err());
}

#[test]
fn a_plain_log_named_jsonl() {
    let bench = Bench::new();
    bench.write("app.jsonl", "2026-03-09 INFO started\n2026-03-09 WARN slow\n");
    refused(&bench, &["compact", "app.jsonl"], 1, &["none of its 2 lines is a JSON object", "claude-code"]);
}

#[test]
fn ten_thousand_levels() {
    let bench = Bench::new();
    let deep = format!(r#"{{"messages":[{}{}]}}"#, "[".repeat(10_000), "]".repeat(10_000));
    bench.write("deep.json", deep);
    refused(&bench, &["compact", "deep.json"], 1, &["deeper than 128 levels"]);
}

#[test]
fn a_torn_body() {
    let bench = Bench::new();
    let torn = &body(2)[..600];
    bench.write("torn.json", torn);
    refused(&bench, &["compact", "torn.json"], 1, &["ends at byte 600"]);
}

#[test]
fn a_window_smaller_than_what_is_irreducible() {
    let bench = Bench::new();
    let body = format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":64,"system":"{}","messages":[{{"role":"user","content":"a"}},{{"role":"assistant","content":"b"}},{{"role":"user","content":"c"}}]}}"#,
        "rule upon rule ".repeat(2_000)
    );
    bench.write("wide.json", body);
    refused(
        &bench,
        &["compact", "wide.json", "--window", "2000", "--force"],
        3,
        &["infeasible", "system prompt", "tokens", "--window"],
    );
}

#[test]
fn wrong_usage_is_told_from_failure() {
    let bench = Bench::new();
    bench.write("t.json", body(1));
    refused(&bench, &["compact", "t.json", "--format", "yaml"], 2, &["unknown format `yaml`", "openai-chat"]);
    refused(&bench, &["compact", "t.json", "--window", "lots"], 2, &["lots"]);
    refused(&bench, &["compact", "t.json", "--summarizer", "psychic"], 2, &["psychic", "extract"]);
    refused(&bench, &["compact", "--in-place"], 2, &["--in-place needs a FILE"]);
    refused(&bench, &["compact", "t.json", "-o", "t.json"], 2, &["--in-place"]);
    refused(&bench, &["frobnicate"], 2, &["frobnicate"]);
    refused(&bench, &["count", "t.json", "--tokenizer", "p50k"], 2, &["p50k", "o200k_base"]);
}

#[test]
fn hostile_epochs_are_refused_and_unknown_ones_say_so() {
    let bench = Bench::new();
    for epoch in ["", "../x", "a/../b", "a/b/c", "/etc/passwd", "a\\b", "a/%2e%2e", "a/~xyz"] {
        let ran = bench.run(["restore", "--", epoch]);
        ran.code(2);
        assert!(!ran.err().is_empty());
    }
    let ran = bench.run(["restore", "session/~0123456789ab"]);
    ran.code(1);
    assert!(ran.err().contains("session/~0123456789ab"), "{}", ran.err());
}

#[test]
fn an_unwritable_output_loses_nothing() {
    let bench = Bench::new();
    bench.write("t.json", body(12));
    let ran = bench.run(["compact", "t.json", "--target-tokens", "4000", "-o", "no/such/folder/out.json"]);
    ran.code(1);
    assert!(ran.err().contains("no/such/folder/out.json"), "{}", ran.err());
    assert_eq!(std::fs::read_to_string(bench.path("t.json")).unwrap(), body(12));
}

#[test]
fn a_cause_is_not_said_twice() {
    let bench = Bench::new();
    bench.write("torn.json", "{");
    for (file, cause) in [("torn.json", "the JSON ends at byte 1"), ("missing.json", "No such file")] {
        let said = bench.run(["compact", file]).code(1).err();
        assert_eq!(said.matches(cause).count(), 1, "{said}");
    }
}

#[test]
fn one_file_that_cannot_be_read_keeps_nobody_from_the_counts_of_others() {
    let bench = Bench::new();
    bench.write("a.txt", "one two three");
    bench.write("c.txt", "four");
    let ran = bench.run(["count", "a.txt", "no-such-file", "c.txt"]);
    ran.code(1);
    for file in ["a.txt", "c.txt", "total"] {
        assert!(ran.out().contains(file), "{}", ran.out());
    }
    assert!(ran.err().contains("no-such-file"), "{}", ran.err());
    bench.run(["count", "a.txt", "c.txt"]).code(0);
}

#[test]
fn a_window_of_nothing() {
    let bench = Bench::new();
    bench.write("b.json", body(2));
    for command in ["context", "compact"] {
        refused(&bench, &[command, "b.json", "--window", "0"], 2, &["a window of 0 tokens"]);
    }
    refused(&bench, &["serve", "--window", "0"], 2, &["a window of 0 tokens"]);
    refused(&bench, &["serve", "--max-body", "0"], 2, &["a limit of 0 bytes", "64 MiB"]);
}
