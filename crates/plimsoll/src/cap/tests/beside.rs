//! What stands out is shown of every kind of content, with the lines that belong to it.

#![expect(clippy::format_collect, clippy::string_slice, reason = "samples are small and plain")]

use super::*;

/// What is shown of a text under a cap of 2 KiB, and its kind.
fn shown(text: &str) -> (String, Kind) {
    let capped = cap(text.as_bytes(), &Policy::new(Bytes(2_048)), &Naming::unsaved());
    assert!(capped.was_capped && capped.text.len() <= 2_048);
    (capped.as_str().into_owned(), capped.kind)
}

#[test]
fn a_log_with_one_minified_line_is_a_log_and_shows_its_errors() {
    let code = "function a(e,t){return e.x=t,e}var b=(e)=>{return a(e,1)};".repeat(200);
    let step = |from: usize| (from..from + 800).map(|n| format!("[12:00:00] step {n} done\n")).collect::<String>();
    let (text, kind) = shown(&format!("{}{code}\n{}error: it broke at once\n{}", step(0), step(800), step(1_600)));
    assert_eq!(kind, Kind::Log);
    assert!(text.contains("error: it broke at once"), "{text}");
    // Code that is minified shows what stands on lines of their own.
    let (text, kind) = shown(&format!("{code}{code}\nerror: it broke at once\n{code}{code}"));
    assert_eq!(kind, Kind::Minified);
    assert!(text.contains("error: it broke at once"), "{text}");
}

#[test]
fn what_stands_out_between_rows_and_hunks_is_shown() {
    let rows = |from: usize| (from..from + 1_000).map(|n| format!("{n},ok,none\n")).collect::<String>();
    let (text, kind) = shown(&format!("id,status,error\n{}1000,failed,timeout after 30s\n{}", rows(0), rows(1_001)));
    assert_eq!(kind, Kind::Table);
    assert!(text.contains("a header and 2001 rows") && text.contains("1000,failed,timeout after 30s"), "{text}");

    let paths = |from: usize| (from..from + 1_000).map(|n| format!("./src/mod{n}/file.rs\n")).collect::<String>();
    let (text, kind) = shown(&format!("{}find: './private': Permission denied\n{}", paths(0), paths(1_000)));
    assert_eq!(kind, Kind::Listing);
    assert!(text.contains("1001: find: './private': Permission denied"), "{text}");

    let file = |n: usize| {
        format!(
            "diff --git a/f{n}.rs b/f{n}.rs\n--- a/f{n}.rs\n+++ b/f{n}.rs\n@@ -1 +1 @@\n-error: old {n}\n+error: new {n}\n"
        )
    };
    let files = |from: usize| (from..from + 200).map(file).collect::<String>();
    let (text, kind) = shown(&format!("{}fatal: bad object HEAD~7\n{}", files(0), files(200)));
    assert_eq!(kind, Kind::Diff);
    assert!(
        text.contains("the patch has 400 files, 400 hunks") && text.contains("fatal: bad object HEAD~7"),
        "{text}"
    );
    assert!(text.contains("stand out, of 1 in all"), "the content of a patch is none of it: {text}");
}

#[test]
fn members_of_json_that_tell_of_an_error_are_shown_with_their_bytes() {
    let row = |n: usize| match n {
        700 => r#"{"id":700,"level":"error","msg":"disk full"}"#.to_owned(),
        n => format!(r#"{{"id":{n},"level":"info","msg":"all is well","error":null}}"#),
    };
    let json = format!(r#"{{"rows":[{}],"next":null}}"#, (0..1_400).map(row).collect::<Vec<_>>().join(","));
    let (text, kind) = shown(&json);
    assert_eq!(kind, Kind::Json);
    let line = text.lines().find(|line| line.contains("disk full")).unwrap();
    let place = line.strip_prefix("byte ").unwrap().split(':').next().unwrap().parse::<usize>().unwrap();
    assert!(json[place..].starts_with("\"id\":700") && text.contains("of 1 in all"), "{text}");

    // In the middle of one long string.
    let block = format!("{}error: boom at 17\n{}", "ok line\n".repeat(3_000), "ok line\n".repeat(3_000));
    let (text, kind) = shown(&serde_json::json!([{ "type": "text", "text": block }]).to_string());
    assert_eq!(kind, Kind::Json);
    assert!(text.contains(": error: boom at 17\n"), "{text}");
}

#[test]
fn the_lines_around_a_failure_that_belong_to_it_are_shown() {
    let runs = |name: &str| {
        (0..1_000).map(|n| format!("=== RUN   {name}{n}\n--- PASS: {name}{n} (0.00s)\n")).collect::<String>()
    };
    let (text, _) = shown(&format!(
        "{}=== RUN   TestBad\n    bad_test.go:12: got 3, want 4\n--- FAIL: TestBad (0.00s)\n{}",
        runs("TestA"),
        runs("TestB")
    ));
    assert!(text.contains("\n2002-     bad_test.go:12: got 3, want 4\n2003: --- FAIL: TestBad"), "{text}");

    let passes = |name: &str| (0..1_000).map(|n| format!("PASS src/{name}{n}.test.js\n")).collect::<String>();
    let (text, _) = shown(&format!(
        "{}FAIL src/bad.test.js\n  ● adds › numbers\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n    Received: 3\n\n{}",
        passes("a"),
        passes("b")
    ));
    assert!(text.contains("-     Expected: 4\n") && text.contains("-     Received: 3\n"), "{text}");
}

#[test]
fn marks_and_words_of_other_languages_stand_out() {
    for (around, line) in [
        ("编译文件 foo.c\n", "错误：找不到符号 main"),
        ("コンパイル中 foo.c\n", "エラー: シンボルが見つかりません"),
        ("kompiliere foo.c\n", "foo.c:10: Fehler: nicht deklariert"),
        ("ok step\n", "  ✕ adds numbers (5 ms)"),
        ("ok 1 - a test\n", "not ok 2 - the bad one"),
        ("ok step\n", "CONFLICT (content): Merge conflict in src/a.rs"),
    ] {
        let (text, _) = shown(&format!("{}{line}\n{}", around.repeat(2_000), around.repeat(2_000)));
        assert!(text.contains(&format!("2001: {line}\n")), "{line}: {text}");
    }
}
