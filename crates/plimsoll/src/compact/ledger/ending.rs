//! How a command's output ends: a program that says of itself that it failed is believed, whatever stands around its
//! output, since a mark of success there may only say that the shell came to its end.

use std::borrow::Cow;

use super::outcome::{clean, is_frame, is_named_error};
use super::shell;

/// How many of the last lines tell how a longer output ended.
const LAST: usize = 16;
/// An output of at most this many lines is its own end.
const WHOLE: usize = 24;
/// How many of the last lines may be a program's complaint about what it was given.
const COMPLAINT: usize = 3;

/// How a line begins by which a program tells that it failed, in lower case.
const STARTS: [&str; 14] = [
    "error:",
    "error[",
    "fatal:",
    "panic:",
    "npm err!",
    "npm error",
    "fail:",
    "fail\t",
    "--- fail",
    "failed:",
    "failed (",
    "e   ",
    "✗ ",
    "× ",
];

/// What tells of a failure wherever it stands in a line, in lower case.
const ANYWHERE: [&str; 21] = [
    "command not found",
    "segmentation fault",
    "core dumped",
    "build failure",
    "build failed",
    "compilation failed",
    "test result: failed",
    "linker command failed",
    "symbol(s) not found",
    "undefined reference to",
    ": error ts",
    ": error:",
    ": fatal error",
    ": *** [",
    "is not recognized as",
    "panicked at",
    "uncaught exception",
    "unhandledpromiserejection",
    "error response from daemon",
    "could not resolve host",
    "connection refused",
];

/// What a line says that tells of success, in lower case.
const SUCCEEDED: [&str; 8] = [
    "test result: ok",
    "build success",
    "build succeeded",
    "all tests passed",
    "all checks passed",
    "no errors",
    "no problems",
    "successfully",
];

/// What a program says after its name when it cannot do what it was told, in lower case.
const COMPLAINTS: [&str; 16] = [
    "cannot",
    "can't",
    "not found",
    "no such",
    "denied",
    "refused",
    "failed",
    "unable to",
    "could not",
    "error",
    "invalid",
    "fatal",
    "unrecognized",
    "illegal option",
    "unknown option",
    "missing operand",
];

/// Words before a colon that are no program's name.
const REMARKS: [&str; 14] = [
    "note", "info", "warning", "warn", "hint", "help", "debug", "tip", "ok", "pass", "usage", "trace", "todo",
    "remark",
];

/// The line by which the output of a command plainly ends in a failure: the first such line after which nothing says
/// that things went well. What a command prints that only looks is not its own.
pub(super) fn failure<'t>(output: &'t str, command: &str) -> Option<Cow<'t, str>> {
    let lines: Vec<Cow<'t, str>> = output
        .lines()
        .map(clean)
        .filter(|line| !line.is_empty() && !is_frame(line) && !line.starts_with("at "))
        .collect();
    let last = if lines.len() <= WHOLE { lines.len() } else { LAST };
    let looks = shell::only_looks(command);
    let mut telling = None;
    for (nth, line) in lines.into_iter().rev().take(last).enumerate() {
        let failed = if looks {
            nth < COMPLAINT && complains(&line, Some(command))
        } else {
            tells(&line) || (nth < COMPLAINT && complains(&line, None))
        };
        if failed {
            telling = Some(line);
        } else if succeeded(&line) {
            break;
        }
    }
    telling
}

/// Whether a line tells of a failure of the program that printed it.
fn tells(line: &str) -> bool {
    let lower = line.to_lowercase();
    if let Some(count) = failures(&lower) {
        return count > 0;
    }
    is_named_error(line)
        || ["FAILED", "FAIL "].iter().any(|start| line.starts_with(start))
        || matches!(lower.as_str(), "fail" | "killed" | "terminated" | "aborted")
        || STARTS.iter().any(|start| lower.starts_with(start))
        || ANYWHERE.iter().any(|words| lower.contains(words))
}

/// Whether a line tells that things went well.
fn succeeded(line: &str) -> bool {
    let lower = line.to_lowercase();
    failures(&lower) == Some(0) || SUCCEEDED.iter().any(|words| lower.contains(words))
}

/// Whether a line is a program's complaint: `rm: cannot remove 'x'`. Of a command that only looks, only its own.
fn complains(line: &str, own: Option<&str>) -> bool {
    let Some((program, said)) = line.split_once(": ") else {
        return false;
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '+');
    let is_program = (2..=24).contains(&program.len())
        && program.starts_with(|c: char| c.is_ascii_lowercase())
        && program.chars().all(plain)
        && !REMARKS.contains(&program);
    let is_own = own.is_none_or(|command| {
        matches!(program, "bash" | "sh" | "zsh")
            || shell::unquoted(command).split_whitespace().any(|word| word == program)
    });
    let said = said.to_lowercase();
    is_program && is_own && COMPLAINTS.iter().any(|words| said.contains(words))
}

/// How many failures a line counts: `3 failed`, `errors=0`, `Failures: 2`. Of several counts the greatest.
fn failures(lower: &str) -> Option<u64> {
    let mut found: Option<u64> = None;
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut before: Option<u64> = None;
    let mut rest = lower;
    while let Some(start) = rest.find(word) {
        rest = rest.get(start..).unwrap_or("");
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        let failing = matches!(token, "failed" | "failures" | "failing" | "errors")
            || (matches!(token, "failure" | "error") && before == Some(1));
        if failing {
            let counted = after
                .strip_prefix([':', '='])
                .map(|number| number.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>())
                .and_then(|digits| digits.parse().ok());
            found = counted.or(before).map_or(found, |count| Some(found.map_or(count, |known| known.max(count))));
        }
        before = token.parse().ok();
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_say_when_they_fail_is_believed() {
        for output in [
            "bash: foo: command not found",
            "rm: cannot remove 'x': Permission denied",
            "fatal: not a git repository (or any of the parent directories): .git",
            "npm ERR! code E404\nnpm ERR! 404 Not Found",
            "Error: Cannot find module 'x'\n    at Function.Module",
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad",
            "cc -c a.c\nmake: *** [Makefile:3: all] Error 2",
            "error[E0502]: cannot borrow `x`\n  --> src/a.rs:3",
            "FAILED (failures=3)",
            "==== 1 failed, 3 passed in 0.1s ====",
            "Segmentation fault (core dumped)",
            "[INFO] BUILD FAILURE",
            "Tests:       3 failed, 9 passed, 12 total\nSnapshots:   2 passed, 2 total\nTime: 1 s",
            "--- FAIL: TestA (0.00s)\nFAIL\tpkg 0.1s",
            "src/a.ts(3,1): error TS2304: Cannot find name 'x'.",
            "Killed",
            "ERROR: could not resolve host",
            "curl: (7) Failed to connect to localhost port 80",
            "docker: Error response from daemon: conflict.",
            "ld: symbol(s) not found\nclang: error: linker command failed",
            "panic: runtime error: index out of range",
            "thread 'main' panicked at src/main.rs:2:5",
            "psql: error: connection refused",
            "The term 'x' is not recognized as the name of a cmdlet",
            "Tests run: 5, Failures: 2, Errors: 0",
            "Found 3 errors in 2 files.",
            "\u{1b}[31mFAIL\u{1b}[0m src/a.test.js",
        ] {
            assert!(failure(output, "make it").is_some(), "{output}");
        }
    }

    #[test]
    fn success_is_no_failure_whatever_words_it_uses() {
        for output in [
            "",
            "0 failed, 5 passed",
            "test result: ok. 5 passed; 0 failed; 0 ignored",
            "no errors found",
            "docs/error-handling.md\nsrc/errors.rs",
            "src/a.rs:10: return Err(Error::Fatal)",
            "warning: unused variable",
            "Already up to date.",
            "12:00 INFO failed=0 errors=0",
            "Fixed: the failure of test_a",
            "a.log: 3 lines with FAILED",
            "All tests passed. 0 failures",
            "DeprecationWarning: old",
            "Tests run: 5, Failures: 0, Errors: 0",
            "1 failed, 4 passed\nrunning the failed ones again\n0 failed, 5 passed",
        ] {
            assert_eq!(failure(output, "make it"), None, "{output}");
        }
    }

    #[test]
    fn what_a_command_shows_that_only_looks_is_not_its_own() {
        assert_eq!(failure("error: bad\nBUILD FAILURE", "cat build.log"), None);
        assert!(failure("cat: x: No such file or directory", "cat x").is_some());
        assert_eq!(failure("rm: cannot remove 'x'", "tail build.log"), None);
    }

    #[test]
    fn of_a_long_output_the_end_counts() {
        let fine = "compiling\n".repeat(40);
        assert_eq!(failure(&format!("error: first try\n{fine}"), "make"), None);
        assert_eq!(failure(&format!("{fine}error: last\nmore"), "make").as_deref(), Some("error: last"));
    }
}
