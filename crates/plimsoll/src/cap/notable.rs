//! Lines that a reader would look for: which words make one, and how much each weighs.

/// How much a line matters. Higher goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// A warning, or what looks like trouble and is only quoted.
    Warning,
    /// Something that speaks of an error, or a line of an outline.
    Mention,
    /// Something that failed.
    Failure,
}

/// Parts of words that are searched for. What is found is then read as a whole word by [`weigh`].
///
/// The first letter is left out where it may be a capital. A line feed stands for the beginning of a line.
///
/// Their order matters for speed alone: a vectorised search takes every eighth together, and looks closer wherever the
/// first bytes of one mixed with those of another of its eight might stand. In this order that hardly happens in prose,
/// logs and code; sorted by what they mean it did a dozen times in a KiB, and took half of the time.
pub(super) const TROUBLE: [&str; 30] = [
    "rror",
    "ot found",
    "Traceback",
    "ailed",
    "ERR!",
    "xit status ",
    "FATAL",
    "o such file",
    "ailure",
    "RROR",
    "arning",
    "egmentation fault",
    "imed out",
    "Panic",
    "FAIL",
    "ore dumped",
    "fatal",
    "Killed",
    "annot ",
    "WARN",
    "denied",
    "xited with",
    "\nE   ",
    "*** ",
    "undefined ",
    "PANIC",
    "panic",
    "xit code ",
    "Fatal",
    "xception",
];

/// Beginnings of lines that make an outline of a file: headings and definitions.
pub(super) const OUTLINE: [&str; 30] = [
    "\n# ",
    "\n## ",
    "\n### ",
    "\nfn ",
    "\npub fn ",
    "\npub(crate) fn ",
    "\nasync fn ",
    "\npub async fn ",
    "\nstruct ",
    "\npub struct ",
    "\nenum ",
    "\npub enum ",
    "\ntrait ",
    "\npub trait ",
    "\nimpl",
    "\nmod ",
    "\npub mod ",
    "\nclass ",
    "\ndef ",
    "\nasync def ",
    "\n    def ",
    "\nfunction ",
    "\nasync function ",
    "\nexport ",
    "\ninterface ",
    "\nfunc ",
    "\ntype ",
    "\npublic ",
    "\nnamespace ",
    "\nmodule ",
];

/// Weighs a line by one place in it where part of a word was found. None if that word means no harm there.
pub(super) fn weigh(line: &[u8], at: usize) -> Option<Weight> {
    let letter = |at: usize| line.get(at).is_some_and(u8::is_ascii_alphabetic);
    let mut start = at;
    while start > 0 && letter(start - 1) {
        start -= 1;
    }
    let mut end = at;
    while letter(end) {
        end += 1;
    }
    let word = line.get(start..end).unwrap_or_default();
    let before = line.get(..start).unwrap_or_default();
    let after = line.get(end..).unwrap_or_default();
    if word.is_empty() {
        // `make: *** [all] Error 2`.
        return after.starts_with(b"***").then_some(Weight::Failure).filter(|_| before.ends_with(b": "));
    }
    let is_type = word.ends_with(b"Exception") && word.len() > "Exception".len();
    if is_part_of_a_name(before, after) || !is_type && is_of_nothing(before, after) {
        return None;
    }
    let is = |what: &str| word.eq_ignore_ascii_case(what.as_bytes());
    let shouted = word.len() > 2 && word.iter().all(u8::is_ascii_uppercase);
    let leads = before.iter().all(|byte| !byte.is_ascii_alphanumeric());
    let counted = before.trim_ascii_end().last().is_some_and(u8::is_ascii_digit);
    let named = matches!(after.first(), Some(b':' | b'[' | b'!'));
    // What source code says of errors is no news; nor is a test that passed.
    let code = is_quoted(before, after) || matches!(line.trim_ascii_end().last(), Some(b'{' | b';' | b'('));
    if line.starts_with(b"PASSED") || line.trim_ascii_end().ends_with(b"PASSED") {
        return None;
    }
    let strong = |strong: bool| match (strong, code) {
        (true, false) => Some(Weight::Failure),
        (false, false) => Some(Weight::Mention),
        (true, true) => Some(Weight::Warning),
        (false, true) => None,
    };
    if is("error") || is("errors") || is("err") {
        strong(named || shouted || leads || counted || before.ends_with(b"\""))
    } else if word.ends_with(b"Error") || word.ends_with(b"Exception") {
        strong(after.first().is_none_or(|byte| matches!(byte, b':' | b'\r')))
    } else if is("exception") {
        strong(named || leads)
    } else if is("failed") || is("fail") || is("failure") || is("failures") {
        strong(shouted || leads || counted || named)
    } else if is("fatal") || is("traceback") || is("panicked") || is("segmentation") {
        Some(Weight::Failure)
    } else if is("panic") {
        strong(named || leads)
    } else if is("warning") || is("warnings") || is("warn") {
        Some(Weight::Warning)
    } else if is("undefined") {
        (after.starts_with(b" reference") || after.starts_with(b" symbol")).then_some(Weight::Failure)
    } else if is("exit") || is("exited") {
        exit_status(after).filter(|status| *status != 0).map(|_| Weight::Failure)
    } else if is("denied") || is("not") || is("cannot") || is("no") || is("timed") {
        // `ls: cannot access`: some program says so.
        strong(false).filter(|_| memchr::memmem::find(before, b": ").is_some())
    } else if is("core") {
        strong(true)
    } else if word == b"Killed" {
        strong(leads || after.trim_ascii().is_empty())
    } else {
        None
    }
}

/// `printf("error: %s")`, but not `msg="error: refused"`, `"msg": "error: refused"` or `"error"`.
fn is_quoted(before: &[u8], after: &[u8]) -> bool {
    if memchr::memchr_iter(b'"', before).count().is_multiple_of(2)
        || before.ends_with(b"\"") && after.starts_with(b"\"")
    {
        return false;
    }
    let outside = memchr::memrchr(b'"', before).and_then(|quote| before.get(..quote)).unwrap_or_default();
    !(outside.ends_with(b"=") || outside.trim_ascii_end().ends_with(b":"))
}

/// `error_count`, `errors.rs`, `--fail-fast`, `on_error`, `log.error(`: names, not news.
fn is_part_of_a_name(before: &[u8], after: &[u8]) -> bool {
    let joined = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b'_' | b'-' | b'/' | b'\\' | b'$'));
    let digit = after.first().is_some_and(u8::is_ascii_digit);
    joined(before.last())
        || joined(after.first())
        || digit
        || after.first() == Some(&b'(') && !after.starts_with(b"(s)")
        || after.first() == Some(&b'.') && after.get(1).is_some_and(u8::is_ascii_alphanumeric)
}

/// `0 errors`, `no error`, `errors: 0`, `"error": null`.
fn is_of_nothing(before: &[u8], after: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let word = before.rsplit(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.').next().unwrap_or_default();
    if [b"0".as_slice(), b"no", b"No", b"without", b"zero", b"non"].contains(&word) {
        return true;
    }
    let after = after.trim_ascii_start();
    let after = after.strip_prefix(b"\"").unwrap_or(after);
    let Some(value) = after.strip_prefix(b":").or_else(|| after.strip_prefix(b"=")) else {
        return false;
    };
    let value = value.trim_ascii_start();
    let nothing = [b"null".as_slice(), b"None", b"nil", b"false", b"\"\"", b"[]", b"<nil>"];
    if nothing.iter().any(|nothing| value.starts_with(nothing)) {
        return true;
    }
    value.first() == Some(&b'0')
        && value.get(1).is_none_or(|byte| !byte.is_ascii_digit() && *byte != b'.' && *byte != b'x')
}

fn exit_status(after: &[u8]) -> Option<u64> {
    let digits = after.iter().position(u8::is_ascii_digit).filter(|at| *at <= 24)?;
    let number = after.get(digits..)?;
    let end = number.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(number.len());
    str::from_utf8(number.get(..end)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weight of a line as the scan finds it: the best of all places.
    fn of(line: &str) -> Option<Weight> {
        TROUBLE
            .iter()
            .flat_map(|word| line.match_indices(word.trim_start_matches('\n')))
            .filter_map(|(at, _)| weigh(line.as_bytes(), at))
            .max()
    }

    #[test]
    fn lines_that_report_a_failure_weigh_most() {
        for line in [
            "error[E0308]: mismatched types",
            "src/a.c:12:5: error: expected ';'",
            "make: *** [all] Error 2",
            "make[1]: *** [Makefile:12: all] Error 1",
            "Traceback (most recent call last):",
            "ValueError: invalid literal",
            "java.lang.NullPointerException: null",
            "thread 'main' panicked at src/main.rs:2:5:",
            "FAILED tests/test_a.py::test_b - AssertionError",
            "[ERROR] Failed to execute goal",
            "npm ERR! code ELIFECYCLE",
            "1 failed, 80 passed in 2.53s",
            "test result: FAILED. 1 passed; 1 failed",
            "Process exited with code 2",
            "a.o: undefined reference to `f'",
            "{\"level\":\"error\",\"msg\":\"refused\"}",
            "time=12:00 level=info msg=\"error: refused\"",
            "{\"t\": 1, \"msg\": \"error: refused\"}",
            "Segmentation fault (core dumped)",
            "fatal: not a git repository",
        ] {
            assert_eq!(of(line), Some(Weight::Failure), "{line}");
        }
    }

    #[test]
    fn mentions_and_warnings_weigh_less() {
        for line in ["an error occurred", "bash: foo: command not found", "ls: cannot access 'x': No such file"] {
            assert_eq!(of(line), Some(Weight::Mention), "{line}");
        }
        for line in [
            "warning: unused variable",
            "[WARN] deprecated",
            "a.c:1: warning: x",
            "  asprintf(str, \"Unknown error: %d (%s)\",",
            "if let Err(Error: e) {",
        ] {
            assert_eq!(of(line), Some(Weight::Warning), "{line}");
        }
    }

    #[test]
    fn names_and_counts_of_nothing_are_no_news() {
        for line in [
            "0 errors, 0 warnings",
            "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0",
            "error_count=3",
            "compiling src/errors.rs",
            "cargo test --fail-fast",
            "log.error(e)",
            "\"error\": null",
            "the mirror and the catalog",
            "completed without error",
            "exit code 0",
            "StrictErrorReporter started",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
