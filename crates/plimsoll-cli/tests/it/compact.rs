//! `compact` and `restore`: what leaves comes back, and what stays is untouched.

use crate::{Bench, body, example};

#[test]
fn the_example_session_is_compacted_and_restored_byte_for_byte() {
    let bench = Bench::new();
    let original = std::fs::read(example()).unwrap();
    let ran = bench.run(["compact", example().to_str().unwrap(), "-o", "out.jsonl", "--json"]);
    let report = ran.code(0).json();
    assert_eq!(report["outcome"], "applied");
    assert_eq!(report["format"], "claude-code");
    let (before, after) = (report["tokens_before"].as_u64().unwrap(), report["tokens_after"].as_u64().unwrap());
    assert!(after * 2 < before, "{after} of {before}");
    let out = std::fs::read(bench.path("out.jsonl")).unwrap();
    assert!(out.starts_with(&original), "a session is appended to");
    let epoch = report["epoch"].as_str().unwrap();
    assert_eq!(bench.run(["restore", epoch]).code(0).bytes(), original);
    bench.run(["restore", epoch, "-o", "back.jsonl"]).code(0);
    assert_eq!(std::fs::read(bench.path("back.jsonl")).unwrap(), original);
}

#[test]
fn constraints_of_the_user_are_in_the_result_and_decoys_of_tools_are_not_among_them() {
    let bench = Bench::new();
    bench.run(["compact", example().to_str().unwrap(), "--keep-tokens", "1500", "-o", "out.jsonl"]).code(0);
    let out = std::fs::read_to_string(bench.path("out.jsonl")).unwrap();
    let summary = out.lines().find(|line| line.contains("isCompactSummary\":true")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
    let text = summary["message"]["content"]
        .as_str()
        .map_or_else(|| summary["message"]["content"][0]["text"].as_str().unwrap().to_owned(), ToOwned::to_owned);
    for constraint in [
        "Never touch migrations/0001 to 0003",
        "It must keep running on Python 3.9",
        "No new dependencies besides httpx",
        "A request to the gauge must never take longer than 2.5 s in total.",
        "the limit is 250 requests per hour, not 400",
        "round *down* to the centimetre",
        "Thursday 19 March, 17:00 CET",
        "MV Halcyon Strait (draught 7.35 m)",
        "BAR {name} {date} {basis}",
        "No string building for SQL, I mean it",
        "Don't deploy before I say so",
        "Exactly 1.5 still counts as calm.",
    ] {
        assert!(text.contains(constraint), "`{constraint}` is not in:\n{text}");
    }
    // What a tool's answer demanded never stands among the user's words; the model may have spoken of it.
    let of_user = |line: &&str| line.starts_with("- [") && line[3..].starts_with(|c: char| c.is_ascii_digit());
    for line in text.lines().filter(of_user) {
        assert!(!line.contains("certificate"), "{line}");
    }
}

#[test]
fn a_body_keeps_every_byte_that_no_decision_names() {
    let bench = Bench::new();
    let original = body(12);
    bench.write("t.json", &original);
    let ran = bench.run(["compact", "t.json", "--target-tokens", "4000", "--keep-tokens", "1200"]);
    let out = ran.code(0).out();
    assert!(out.starts_with(
        r#"{"model":"claude-sonnet-4-5", "max_tokens": 1024, "big": 123456789012345678901234567890, "messages":["#
    ));
    let tail_at = original.find(r#"{"role":"user","content":"Step 10:"#).unwrap();
    let kept = (0..12)
        .filter_map(|turn| original.find(&format!(r#"{{"role":"user","content":"Step {turn}:"#)))
        .filter(|at| out.ends_with(&original[*at..]))
        .count();
    assert!(kept > 0, "a tail of whole turns from {tail_at} on: {out}");
    assert!(ran.err().contains("before"), "the report goes to standard error");
}

#[test]
fn a_target_is_a_bound() {
    let bench = Bench::new();
    bench.write("t.json", body(40));
    for target in [2500, 4000, 6000, 9000] {
        let ran =
            bench.run(["compact", "t.json", "--json", "-o", "out.json", "--target-tokens", &target.to_string()]);
        let report = ran.code(0).json();
        assert_eq!(report["outcome"], "applied", "{report}");
        assert!(report["tokens_after"].as_u64().unwrap() <= target, "{report}");
        let counted = bench.run(["count", "out.json", "--json"]).code(0).json();
        assert_eq!(counted["tokens"], report["tokens_after"], "the report's number is the document's");
    }
}

#[test]
fn too_short_is_skipped_and_the_input_goes_through() {
    let bench = Bench::new();
    let short = r#"{ "max_tokens":5,"system":"s","messages":[{"role":"user","content":"Hi"}] }"#;
    bench.write("short.json", short);
    let ran = bench.run(["compact", "short.json"]);
    assert_eq!(ran.code(0).out(), short);
    assert!(ran.err().contains("not enough messages to compact"), "{}", ran.err());
    let report = bench.run(["compact", "short.json", "--json"]).code(0).json();
    assert_eq!(
        (&report["outcome"], &report["reason"]),
        (&"skipped".into(), &"not enough messages to compact".into())
    );
    let piped = bench.pipe(["compact"], short.as_bytes());
    assert_eq!(piped.code(0).out(), short);
    assert!(!bench.stored());
}

#[test]
fn a_transcript_of_only_a_system_prompt_goes_through() {
    let bench = Bench::new();
    let only = r#"{"messages":[{"role":"system","content":"You are kind."}]}"#;
    bench.write("only.json", only);
    let ran = bench.run(["compact", "only.json", "--force"]);
    assert_eq!(ran.code(0).out(), only);
    assert!(ran.err().contains("skipped"), "{}", ran.err());
}

#[test]
fn a_dry_run_stores_and_writes_nothing() {
    let bench = Bench::new();
    let ran =
        bench.run(["compact", example().to_str().unwrap(), "--dry-run", "--keep-tokens", "1500", "-o", "out.jsonl"]);
    assert!(ran.code(0).out().contains("dry run"), "{}", ran.out());
    assert!(!bench.stored());
    assert!(!bench.path("out.jsonl").exists());
}

#[test]
fn in_place_keeps_a_backup_and_can_be_done_again() {
    let bench = Bench::new();
    let original = std::fs::read(example()).unwrap();
    let path = bench.write("s.jsonl", &original);
    let report = bench.run(["compact", "s.jsonl", "--in-place", "--json"]).code(0).json();
    let once = std::fs::read(&path).unwrap();
    assert!(once.starts_with(&original) && once.len() > original.len());
    assert_eq!(std::fs::read(bench.path("s.jsonl.plimsoll-backup")).unwrap(), original);
    let again =
        bench.run(["compact", "s.jsonl", "--in-place", "--force", "--keep-tokens", "1000", "--json"]).code(0).json();
    assert_eq!(again["outcome"], "applied", "{again}");
    assert_ne!(again["epoch"], report["epoch"]);
    let first = report["epoch"].as_str().unwrap();
    let second = again["epoch"].as_str().unwrap();
    assert_eq!(bench.run(["restore", first]).code(0).bytes(), original);
    assert_eq!(bench.run(["restore", second]).code(0).bytes(), once);
}

/// A line that a session goes on with, after its last one.
fn goes_on(session: &str, words: &str) -> String {
    let line = session.lines().rev().find_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        line["uuid"].is_string().then_some(line)
    });
    let mut line = line.unwrap();
    line["parentUuid"] = line["uuid"].take();
    line["uuid"] = "11111111-2222-4333-8444-555555555555".into();
    line["type"] = "user".into();
    line["message"] = serde_json::json!({"role": "user", "content": words});
    for field in ["isCompactSummary", "isVisibleInTranscriptOnly", "requestId"] {
        line.as_object_mut().unwrap().remove(field);
    }
    format!("{line}\n")
}

#[test]
fn a_restore_over_a_file_keeps_it_and_refuses_to_lose_what_came_later() {
    let bench = Bench::new();
    let original = std::fs::read(example()).unwrap();
    let path = bench.write("s.jsonl", &original);
    let ran = bench.run(["compact", "s.jsonl", "--in-place"]);
    let undo = ran.code(0).out().lines().find_map(|line| line.strip_prefix("restore plimsoll ")).unwrap().to_owned();
    let undo: Vec<&str> = undo.split_once("  #").unwrap().0.split(' ').collect();
    assert_eq!(undo[2..], ["-o", "s.jsonl"], "the line that is printed undoes it");

    let compacted = std::fs::read_to_string(&path).unwrap();
    let later = compacted.clone() + &goes_on(&compacted, "And the docs, please.");
    std::fs::write(&path, &later).unwrap();
    let ran = bench.run(&undo);
    assert!(ran.code(1).err().contains("holds 1 message that") && ran.err().contains("--force"), "{}", ran.err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), later);
    let ran = bench.run(undo.iter().copied().chain(["--force"]));
    assert!(ran.code(0).out().contains("the old one is s.jsonl.plimsoll-backup-2"), "{}", ran.out());
    assert_eq!(std::fs::read(&path).unwrap(), original);
    assert_eq!(std::fs::read_to_string(bench.path("s.jsonl.plimsoll-backup-2")).unwrap(), later);

    // Nothing came after the compaction: nothing to refuse, and it is kept all the same. Once more changes nothing.
    std::fs::write(&path, &compacted).unwrap();
    assert!(bench.run(&undo).code(0).out().contains("s.jsonl.plimsoll-backup-3"));
    assert!(!bench.run(&undo).code(0).out().contains("backup"));
    // So is a file of anything else.
    bench.write("notes", "mine");
    bench.run(["restore", undo[1], "-o", "notes"]).code(0);
    assert_eq!(std::fs::read(bench.path("notes.plimsoll-backup")).unwrap(), b"mine");
    bench.run(["restore", undo[1], "--force"]).code(2);
}

#[test]
fn a_result_cannot_be_restored_and_it_is_said_what_can() {
    let ran = Bench::new().run(["restore", "session/toolu_01"]);
    assert!(ran.code(2).err().contains("`plimsoll recall` gives it back"), "{}", ran.err());
}

#[test]
fn what_is_skipped_is_told_why_and_what_compacts_it() {
    let bench = Bench::new();
    bench.run(["compact", example().to_str().unwrap(), "-o", "once.jsonl"]).code(0);
    let ran = bench.run(["compact", "once.jsonl", "-o", "twice.jsonl"]);
    assert!(ran.code(0).out().contains("skipped"), "{}", ran.out());
    assert!(
        ran.out().contains("the tail that stays verbatim") && ran.out().contains("--keep-tokens"),
        "{}",
        ran.out()
    );
}

#[test]
fn the_same_compaction_twice_gives_the_same_bytes() {
    let bench = Bench::new();
    let run = || {
        let ran = bench.run(["compact", example().to_str().unwrap()]);
        ran.code(0).bytes().to_vec()
    };
    assert_eq!(run(), run());
}

#[test]
fn recall_gives_the_part_that_was_removed() {
    let bench = Bench::new();
    let original = body(12);
    bench.write("t.json", &original);
    let report = bench.run(["compact", "t.json", "--target-tokens", "4000", "--json"]).code(0).json();
    let id = report["artifact"].as_str().unwrap();
    let removed = bench.run(["recall", id]).code(0).out();
    assert!(removed.starts_with(r#"{"role":"user","content":"Step 0:"#), "{removed}");
    assert!(original.contains(&removed), "entries in a row keep what stood between them");
    let first = bench.run(["recall", id, "--lines", "1:1"]).code(0).out();
    assert!(removed.starts_with(&first) && first.lines().count() == 1);
    let page = bench.run(["recall", id, "--offset", "10", "--length", "20"]);
    assert_eq!(page.code(0).out(), removed[10..30]);
    assert!(page.err().contains("next offset 30"), "{}", page.err());
    let past = bench.run(["recall", id, "--offset", "99999999"]);
    assert!(past.code(1).err().contains(&removed.len().to_string()), "{}", past.err());
}

#[test]
fn what_would_grow_is_skipped_unless_forced() {
    let bench = Bench::new();
    let messages: Vec<String> = (0..6)
        .map(|n| format!(r#"{{"role":"user","content":"q{n}"}},{{"role":"assistant","content":"a{n}"}}"#))
        .collect();
    let small = format!(r#"{{"max_tokens":5,"messages":[{}]}}"#, messages.join(","));
    bench.write("small.json", &small);
    let arguments = ["compact", "small.json", "--keep-tokens", "10", "--json"];
    let report = bench.run(arguments).code(0).json();
    assert_eq!(report["outcome"], "skipped", "{report}");
    assert!(!bench.stored());
    let forced = bench.run(arguments.into_iter().chain(["--force"])).code(0).json();
    assert_eq!(forced["outcome"], "applied", "{forced}");
}

/// A request body of an agent that reads much and says little.
fn reader(turns: usize) -> String {
    let turn = |turn: usize| {
        let text = format!("{turn}: one two three four\\n").repeat(900);
        format!(
            r#"{{"role":"user","content":"Step {turn}: never touch part {turn}."}},
{{"role":"assistant","content":[{{"type":"tool_use","id":"t{turn}","name":"Bash","input":{{"command":"make part{turn}"}}}}]}},
{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{turn}","content":"{text}"}}]}},
{{"role":"assistant","content":"Part {turn} is made."}}"#
        )
    };
    let messages: Vec<String> = (0..turns).map(turn).collect();
    format!(
        r#"{{"model":"claude-sonnet-4-5", "max_tokens": 1024, "messages":[{},{{"role":"user","content":"Go on."}}]}}"#,
        messages.join(",\n")
    )
}

#[test]
fn where_old_results_are_enough_they_leave_and_no_summary_is_written() {
    let bench = Bench::new();
    let original = reader(6);
    bench.write("t.json", &original);
    let arguments = ["compact", "t.json", "--target-tokens", "25000"];
    let dry = bench.run(arguments.into_iter().chain(["--dry-run"]));
    assert!(dry.code(0).out().contains("large old results; no summary was needed"), "{}", dry.out());
    assert!(dry.out().contains("result of Bash `make part0`"), "{}", dry.out());
    assert!(dry.out().contains("pays    for the rewritten prompt cache after"), "{}", dry.out());
    assert!(!bench.stored());

    let report = bench.run(arguments.into_iter().chain(["--json", "-o", "out.json"])).code(0).json();
    assert_eq!((&report["outcome"], &report["summarizer"]), (&"applied".into(), &serde_json::Value::Null));
    let pieces = report["reductions"]["pieces"].as_array().unwrap();
    assert_eq!(report["reductions"]["large"], pieces.len());
    let out = std::fs::read_to_string(bench.path("out.json")).unwrap();
    let counted = bench.run(["count", "out.json", "--json"]).code(0).json();
    assert_eq!(counted["tokens"], report["tokens_after"]);
    for piece in pieces {
        let id = piece["artifact"].as_str().unwrap();
        assert!(out.contains(&format!("recall id {id}]")), "{out}");
        assert!(bench.run(["recall", id]).code(0).out().ends_with(": one two three four\n"));
    }
    let epoch = report["epoch"].as_str().unwrap();
    assert_eq!(bench.run(["restore", epoch]).code(0).out(), original);
    bench.run(["store", "verify"]).code(0);

    let summary = bench.run(arguments.into_iter().chain(["--json", "--summary-only"])).code(0).json();
    assert_eq!((&summary["summarizer"], &summary["reductions"]), (&"extract".into(), &serde_json::Value::Null));
}
