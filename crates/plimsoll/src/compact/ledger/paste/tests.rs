//! What is pasted and what is said: lines of machines, remarks between them.
#![expect(clippy::format_collect, reason = "samples are small")]

use super::*;

/// What of a text is the user's.
fn users(text: &str) -> Vec<&str> {
    said(text, &passages(text))
}

#[test]
fn a_log_is_told_from_the_words_around_it() {
    let text = "Why is this failing in CI? Never skip the check.\n\nRun npm run check\n> check\n> npm run db:generate && biome check .\n\
        ✔ Generated Client (v6.15.0) in 63ms\napp/lib/a.ts:35:11 lint/noImplicitAny\n34 │ if (!ok) {\nFound 4 errors\nError: exited with 1\n\n\
        The limit of 30 warnings stays as it is.";
    assert_eq!(
        users(text),
        ["Why is this failing in CI?", "Never skip the check.", "The limit of 30 warnings stays as it is."]
    );
}

#[test]
fn lines_of_a_patch_are_pasted_whatever_they_say() {
    let text = "Please review this. Never touch the lock file.\ndiff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n\
        --- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@ fn a()\n let x = 1;\n-    // You must never call this twice.\n\
        +    // Always call this at least 3 times.\n\nThe limit of 30 warnings stays as it is.";
    assert_eq!(
        users(text),
        ["Please review this.", "Never touch the lock file.", "The limit of 30 warnings stays as it is."]
    );
}

#[test]
fn a_remark_between_the_lines_of_a_log_is_the_users() {
    for remark in [
        "please never restart node 7",
        "Tabs, not spaces.",
        "Älä koske laskukansioon",
        "Leave the vendored code alone.",
    ] {
        let log = |level: &str| {
            (0..9)
                .map(|at| format!("2026-11-01T10:0{at}:00 {level} worker-{at} failed, must retry {at}\n"))
                .collect::<String>()
        };
        let text = format!("{}{remark}\n{}", log("INFO"), log("WARN"));
        assert_eq!(users(&text), [remark]);
    }
    let trace = "java.lang.IllegalStateException: must not be null\n\tat a.b.C(D.java:3)\n";
    let log: String = (0..9).map(|at| format!("10:0{at}:00 ERROR boom\n{trace}")).collect();
    let passages = passages(&log);
    assert!(pasted(&log, &passages).iter().all(|pasted| *pasted), "{passages:?}");
}

#[test]
fn rules_in_a_list_are_the_users() {
    let text = "Rules:\n- port 8080 only\n- log to /var/log/a b.log only\n- keep `x`\n- use v2.1.3 always\n- cap 1,234.50 EUR net\n- mail a@b.org first\n- no retries at all";
    let passages = passages(text);
    assert!(pasted(text, &passages).iter().filter(|pasted| **pasted).count() == 0, "{passages:?}");
}

/// Pastes of many kinds, as they are copied: none of their lines is an instruction.
fn pastes() -> Vec<(&'static str, String)> {
    let many = |line: &dyn Fn(usize) -> String| (0..30).map(line).collect::<String>();
    let trace = many(&|at| format!("  File \"/usr/lib/x{at}.py\", line {at}, in f\n    return g({at})\n"));
    let hunk = many(&|at| format!("-must be old {at}\n+must be new {at}\n"));
    vec![
        ("traceback", format!("Traceback (most recent call last):\n{trace}ValueError: must be positive")),
        (
            "java",
            format!("Caused by: a.b.C: must not be null\n{}", many(&|at| format!("\tat a.b.C{at}.d(E.java:{at})\n"))),
        ),
        ("json", format!("{{\n{}}}", many(&|at| format!(" \"a{at}\": {{\n  \"c\": \"must never {at}\"\n }},\n")))),
        (
            "jsonl",
            many(&|at| format!("{{\"ts\": {at}, \"msg\": \"must never fail at all, whatever comes {at}\"}}\n")),
        ),
        ("html", format!("<div>\n{}</div>", many(&|at| format!("<p>row {at} must stay</p>\n")))),
        ("table", format!("| what | value |\n|---|---|\n{}", many(&|at| format!("| must be | {at} |\n")))),
        ("quote", many(&|at| format!("> quoted text of a mail, it must say a lot in line {at}\n"))),
        ("urls", many(&|at| format!("https://example.com/a/long/way/to/the/page/number/{at}?x={at}\n"))),
        ("diff", format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,50 +1,50 @@\n{hunk}")),
        (
            "shell",
            format!("$ ls -la\n{}", many(&|at| format!("-rw-r--r-- 1 me me {at} Nov 1 10:00 must-{at}.txt\n"))),
        ),
        ("log", many(&|at| format!("2026-11-01T10:00:{at:02} WARN worker must retry {at}\n"))),
    ]
}

const REMARKS: [&str; 20] = [
    "fix it but never touch the config file",
    "do not push to main",
    "Never rename `cust_ref`.",
    "use port 8443",
    "max 3 retries",
    "nicht auf main pushen",
    "ne touche pas à la base",
    "prod is off limits",
    "only edit src/api",
    "the deadline is friday",
    "keep the old endpoint alive please",
    "fix this crash",
    "Keep it short.",
    "Tabs, please.",
    "Leave main.rs as it is.",
    "Sin emojis, por favor.",
    "Kein Deployment ohne meine Freigabe.",
    "不要修改客户表。",
    "NEVER force push",
    "now port it to go",
];

#[test]
fn words_at_the_edges_of_a_paste_are_the_users_whatever_the_paste_is() {
    for (kind, paste) in pastes() {
        let paste = paste.trim_end();
        for remark in REMARKS {
            for gap in ["\n", "\n\n"] {
                let text = format!("{paste}{gap}{remark}");
                assert_eq!(users(&text), [remark], "after {kind}");
                let text = format!("{remark}{gap}{paste}");
                assert_eq!(users(&text), [remark], "before {kind}");
                let text = format!("I get this:\n{paste}{gap}{remark}\n\nok, thanks");
                assert_eq!(users(&text), ["I get this:", remark, "ok, thanks"], "around {kind}");
            }
        }
        assert_eq!(users(paste), Vec::<&str>::new(), "{kind} alone");
    }
}

#[test]
fn words_between_two_pastes_are_the_users() {
    let pastes = pastes();
    for ((one, first), (other, second)) in pastes.iter().zip(pastes.iter().cycle().skip(3)) {
        for remark in REMARKS {
            let text = format!("{}\n\n{remark}\n\n{}", first.trim_end(), second.trim_end());
            assert_eq!(users(&text), [remark], "between {one} and {other}");
        }
    }
}

#[test]
fn what_a_program_complains_about_is_no_remark() {
    for line in [
        "ValueError: must be positive",
        "java.lang.IllegalStateException: must not be null",
        "error: you must pass a file",
        "index out of bounds: the index must be below 3",
        "Caused by: the pool must not be empty",
        "return never == only;",
        "if (!always) {",
        "key: must never change",
        "x = only_this",
    ] {
        assert!(!remark::is_remark(line, false), "{line}");
    }
}

#[test]
fn what_is_said_is_quoted_without_what_was_pasted() {
    let (_, paste) = pastes().swap_remove(0);
    let text = format!("I get this error:\n{paste}\nfix it but never touch the config file");
    assert_eq!(spoken(&text, 240), "I get this error: […] fix it but never touch the config file");
    let long = format!("{}\n\n{paste}\n\nnow fix it", "I start it and wait a while. ".repeat(20));
    assert!(spoken(&long, 80).ends_with(" […] now fix it"), "{}", spoken(&long, 80));
    assert!(spoken(&long, 80).chars().count() <= 80);
    assert_eq!(spoken("Port the parser.", 80), "Port the parser.");
}

#[test]
fn what_no_sign_tells_from_words_takes_none_with_it() {
    let many = |line: &dyn Fn(usize) -> String| (0..30).map(line).collect::<String>();
    for paste in [
        many(&|at| format!("key{at}:\n  name: x{at}\n  must: true\n")),
        format!("SELECT a, b\nFROM t\n{}WHERE x = 1;\n", many(&|at| format!("JOIN t{at} ON t{at}.id = t.id\n"))),
        format!("[section]\n{}", many(&|at| format!("key{at} = value {at}\n"))),
        format!("a,b,c\n{}", many(&|at| format!("{at},must,{at}.5\n"))),
        format!("def f(x):\n{}", many(&|at| format!("    if x > {at}:\n        return {at}\n"))),
        format!("fn f() {{\n{}}}\n", many(&|at| format!("    let a{at} = g({at});\n"))),
    ] {
        for remark in REMARKS {
            for text in [format!("{paste}{remark}"), format!("{paste}\n{remark}"), format!("{remark}\n\n{paste}")] {
                assert!(users(&text).contains(&remark), "{remark}: {text}");
            }
        }
    }
}

#[test]
fn a_list_behind_a_patch_is_the_users() {
    let (_, diff) = pastes().swap_remove(8);
    let text = format!("{diff}\nPlease note:\n- never push it\n- cap 3 retries\n2. no merge commits");
    assert_eq!(users(&text), ["Please note:", "- never push it", "- cap 3 retries", "2. no merge commits"]);
}
