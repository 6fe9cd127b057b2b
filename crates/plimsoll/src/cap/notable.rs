//! Lines that a reader would look for: which words make one, and how much each weighs.

use super::words::MARKS;

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

/// What could not be done, where it is no turn of phrase: `could not connect`, `cannot open`.
const ATTEMPTS: [&str; 16] = [
    " access",
    " allocate",
    " bind",
    " compile",
    " connect",
    " create",
    " download",
    " find",
    " load",
    " locate",
    " open",
    " read",
    " resolve",
    " start",
    " write",
    " execute",
];

/// Weighs a line by one place in it where part of a word was found. None if that word means no harm there.
pub(super) fn weigh(line: &[u8], at: usize) -> Option<Weight> {
    if line.get(at).is_some_and(|byte| !byte.is_ascii()) {
        return weigh_mark(line, at);
    }
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
        // `! [rejected]  main -> main (fetch first)`, `! [remote rejected] ...`: git, of what it could not push or fetch.
        if after.starts_with(b"! [") {
            let leads = before.trim_ascii().is_empty();
            let told = after.starts_with(b"! [rejected]") || after.starts_with(b"! [remote rejected]");
            return (leads && told).then_some(Weight::Failure);
        }
        // `make: *** [all] Error 2`.
        return after.starts_with(b"***").then_some(Weight::Failure).filter(|_| before.ends_with(b": "));
    }
    if word == b"HTTP" {
        return match http_status(after)? {
            500..=599 => Some(Weight::Failure),
            401 | 403 | 429 => Some(Weight::Mention),
            _ => None,
        };
    }
    let is_type = word.ends_with(b"Exception") && word.len() > "Exception".len();
    if is_part_of_a_name(before, after) || !is_type && is_of_nothing(before, after) {
        return None;
    }
    if line.starts_with(b"PASSED") || line.trim_ascii_end().ends_with(b"PASSED") {
        return None;
    }
    // What source code says of errors is no news; nor is a test that passed.
    let code = is_quoted(before, after) || matches!(line.trim_ascii_end().last(), Some(b'{' | b';' | b'('));
    Place { word, before, after, code }.weigh()
}

/// A word and what stands on both sides of it.
#[derive(Debug, Clone, Copy)]
struct Place<'l> {
    word: &'l [u8],
    before: &'l [u8],
    after: &'l [u8],
    /// Whether it stands in source code.
    code: bool,
}

impl Place<'_> {
    fn is(&self, what: &str) -> bool {
        self.word.eq_ignore_ascii_case(what.as_bytes())
    }

    fn shouted(&self) -> bool {
        self.word.len() > 2 && self.word.iter().all(u8::is_ascii_uppercase)
    }

    /// Whether the line begins with it.
    fn leads(&self) -> bool {
        self.before.iter().all(|byte| !byte.is_ascii_alphanumeric())
    }

    fn counted(&self) -> bool {
        self.before.trim_ascii_end().last().is_some_and(u8::is_ascii_digit)
    }

    fn named(&self) -> bool {
        matches!(self.after.first(), Some(b':' | b'[' | b'!')) || begins_with_a_code(self.after)
    }

    /// Whether some program says it: `ls: cannot access`.
    fn told(&self) -> bool {
        memchr::memmem::find(self.before, b": ").is_some()
    }

    fn attempted(&self, not: &str) -> bool {
        let after = self.after.strip_prefix(not.as_bytes());
        after.is_some_and(|after| ATTEMPTS.iter().any(|verb| after.starts_with(verb.as_bytes())))
    }

    fn strong(&self, strong: bool) -> Option<Weight> {
        match (strong, self.code) {
            (true, false) => Some(Weight::Failure),
            (false, false) => Some(Weight::Mention),
            (true, true) => Some(Weight::Warning),
            (false, true) => None,
        }
    }

    /// Weighs words that mean an error wherever they stand.
    fn weigh(&self) -> Option<Weight> {
        let Self { word, before, after, .. } = *self;
        if self.is("error") || self.is("errors") || self.is("err") {
            let of_a_server = before.ends_with(b"Internal Server ");
            self.strong(
                self.named()
                    || self.shouted()
                    || self.leads()
                    || self.counted()
                    || of_a_server
                    || before.ends_with(b"\""),
            )
        } else if word.ends_with(b"Error") || word.ends_with(b"Exception") {
            self.strong(after.first().is_none_or(|byte| matches!(byte, b':' | b'\r')))
        } else if self.is("exception") {
            self.strong(self.named() || self.leads())
        } else if self.is("failed") || self.is("fail") || self.is("failure") || self.is("failures") {
            self.strong(self.shouted() || self.leads() || self.counted() || self.named())
        } else if self.is("fatal") || self.is("traceback") || self.is("panicked") || self.is("segmentation") {
            Some(Weight::Failure)
        } else if self.is("panic") {
            self.strong(self.named() || self.leads())
        } else if self.is("warning") || self.is("warnings") || self.is("warn") {
            Some(Weight::Warning)
        } else if self.is("undefined") {
            (after.starts_with(b" reference") || after.starts_with(b" symbol")).then_some(Weight::Failure)
        } else {
            self.symptom()
        }
    }

    /// Weighs what tells of one kind of failure only.
    fn symptom(&self) -> Option<Weight> {
        let Self { word, before, after, .. } = *self;
        if self.is("exit") || self.is("exited") {
            let says = [" status", " code", " with"].iter().any(|says| after.starts_with(says.as_bytes()));
            exit_status(after).filter(|status| says && *status != 0).map(|_| Weight::Failure)
        } else if word == b"not" && before.is_empty() {
            // TAP: a test that is expected to fail is marked.
            let excused =
                [b"# TODO".as_slice(), b"# SKIP"].iter().any(|mark| memchr::memmem::find(after, mark).is_some());
            (after.starts_with(b" ok") && !excused).then_some(Weight::Failure)
        } else if word == b"E" && before.is_empty() {
            // pytest: what was expected, and what came.
            after.starts_with(b"   ").then_some(Weight::Mention)
        } else if self.is("cannot") || self.is("could") {
            let tried = self.attempted(if self.is("could") { " not" } else { "" });
            self.strong(tried && self.leads()).filter(|_| self.told() || tried && self.leads())
        } else if self.is("denied") || self.is("not") || self.is("no") {
            // `ls: x: No such file`: some program says so.
            self.strong(false).filter(|_| self.told())
        } else if self.is("timed") {
            self.strong(false).filter(|_| self.leads() || self.told())
        } else if self.is("forbidden") {
            self.strong(self.counted()).filter(|_| self.counted() || self.told())
        } else if self.is("unavailable") {
            self.strong(false).filter(|_| before.ends_with(b"Service ") || before.ends_with(b"temporarily "))
        } else if self.is("bad") || word == b"Gateway" {
            self.strong(self.counted()).filter(|_| self.counted() || self.told() || self.leads())
        } else if self.is("core") || word == b"CRITICAL" || word == b"SEVERE" {
            self.strong(true)
        } else if word == b"Killed" {
            self.strong(self.leads() || after.trim_ascii().is_empty())
        } else if word == b"OOMKilled" || self.is("segfault") || self.is("segfaulted") || word.ends_with(b"BackOff") {
            self.strong(true)
        } else if word == b"CONFLICT" {
            after.starts_with(b" (").then_some(Weight::Failure)
        } else if self.is("unhandled") || word.starts_with(b"UnhandledPromise") {
            self.strong(self.leads() || self.named() || self.told())
        } else if self.is("unresolved") {
            self.strong(after.starts_with(b" external"))
        } else if self.is("stack") {
            self.strong(self.leads() || self.told())
        } else if self.is("deadlock") || self.is("deadlocked") {
            let ends =
                after.trim_ascii().is_empty() || after.starts_with(b" detected") || after.starts_with(b" found");
            self.strong(true).filter(|_| ends || after.first() == Some(&b'!'))
        } else if self.is("caused") {
            self.strong(self.leads())
        } else if word == b"goroutine" {
            let runs = memchr::memmem::find(after.get(..40).unwrap_or(after), b" [running").is_some();
            self.strong(runs).filter(|_| self.leads() && after.get(1).is_some_and(u8::is_ascii_digit))
        } else if self.is("fehler") || self.is("erreur") || self.is("erreurs") {
            is_head(after).then_some(Weight::Failure)
        } else {
            None
        }
    }
}

/// Weighs a place where one of the [`MARKS`] stands.
fn weigh_mark(line: &[u8], at: usize) -> Option<Weight> {
    let (before, from) = line.split_at_checked(at)?;
    let mark = MARKS.iter().find(|mark| from.starts_with(mark.as_bytes()))?;
    let after = from.get(mark.len()..).unwrap_or_default();
    if mark.chars().next().is_some_and(char::is_alphabetic) {
        return is_head(after).then_some(Weight::Failure);
    }
    let nothing = after.trim_ascii_start().strip_prefix(b"0").is_some_and(|rest| rest.first() == Some(&b' '));
    let leads = before.iter().all(|byte| !byte.is_ascii_alphanumeric());
    if leads && !nothing && !after.trim_ascii().is_empty() {
        Some(Weight::Failure)
    } else {
        // Behind what it is about.
        (after.trim_ascii().is_empty() && !leads).then_some(Weight::Mention)
    }
}

/// Whether a colon follows, of either width, and not that there were none: `Fehler: x`, `错误：x`, `erreur : x`.
fn is_head(after: &[u8]) -> bool {
    let after = after.trim_ascii_start();
    let said = after.strip_prefix(b":").or_else(|| after.strip_prefix("：".as_bytes()));
    said.is_some_and(|said| {
        let said = said.trim_ascii();
        !said.is_empty() && said.strip_prefix(b"0").is_none_or(|rest| rest.first().is_some_and(u8::is_ascii_digit))
    })
}

/// `error LNK2019: ...`, `error TS2304: ...`: a code of letters and digits between the word and its colon.
fn begins_with_a_code(after: &[u8]) -> bool {
    let Some(code) = after.strip_prefix(b" ").and_then(|after| after.get(..memchr::memchr(b':', after)?)) else {
        return false;
    };
    code.first().is_some_and(u8::is_ascii_uppercase)
        && code.last().is_some_and(u8::is_ascii_digit)
        && code.iter().all(u8::is_ascii_alphanumeric)
}

/// The status in `HTTP/1.1 500 Internal Server Error`, or behind the request in a server's log.
fn http_status(after: &[u8]) -> Option<u16> {
    let version = after.strip_prefix(b"/")?;
    let end = version.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.')?;
    let rest = version.get(end..)?;
    let rest = rest.strip_prefix(b"\"").unwrap_or(rest).strip_prefix(b" ")?;
    let (status, after) = rest.split_at_checked(3)?;
    if after.first().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    str::from_utf8(status).ok()?.parse().ok()
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
    use super::super::words::TROUBLE;
    use super::*;

    /// The weight of a line as the scan finds it: the best of all places.
    fn of(line: &str) -> Option<Weight> {
        TROUBLE
            .iter()
            .chain(&MARKS)
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
            " ! [rejected]        main -> main (fetch first)",
            " ! [remote rejected] main -> main (pre-receive hook declined)",
            "error: failed to push some refs to 'origin'",
            "error: Your local changes to the following files would be overwritten by merge:",
            "error: pathspec 'x' did not match any file(s) known to git",
            "remote: error: GH006: Protected branch update failed for refs/heads/main.",
            "fatal: refusing to merge unrelated histories",
            "not ok 2000 - the bad one",
            "  ✕ adds numbers (5 ms)",
            "✖ 12 problems (3 errors, 9 warnings)",
            "  × a > b",
            "CONFLICT (content): Merge conflict in src/a.rs",
            "2026-01-02 10:00:00 CRITICAL disk full",
            "SEVERE: Servlet.service() threw",
            "Unhandled rejection TypeError",
            "(node:1) UnhandledPromiseRejectionWarning: x",
            "Could not resolve dependencies for project a:b",
            "Could not resolve host: example.test",
            "main.obj : error LNK2019: unresolved external symbol f",
            "src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
            "kernel: a.out[12]: segfault at 0 ip 0",
            "stack overflow",
            "ERROR:  deadlock detected",
            "Caused by: java.io.IOException: disk",
            "goroutine 1 [running]:",
            "pod-bad  0/1  CrashLoopBackOff  57  5d",
            "    Reason: OOMKilled",
            "< HTTP/1.1 500 Internal Server Error",
            "10.0.0.1 - - [x] \"GET /a HTTP/1.1\" 502 157",
            "<title>502 Bad Gateway</title>",
            "403 Forbidden",
            "Cannot find module './x'",
            "cannot open shared object file",
            "foo.c:10: Fehler: nicht deklariert",
            "erreur : symbole inconnu",
            "错误：找不到符号 main",
            "エラー: シンボルが見つかりません",
            "오류: 실패",
            "Ошибка: нет файла",
        ] {
            assert_eq!(of(line), Some(Weight::Failure), "{line}");
        }
    }

    #[test]
    fn mentions_and_warnings_weigh_less() {
        for line in [
            "an error occurred",
            "bash: foo: command not found",
            "ls: cannot access 'x': No such file",
            "curl: (6) Could not resolve host: example.test",
            "Timed out waiting for selector",
            "upstream: Service Unavailable",
            "10.0.0.1 - - [x] \"GET /a HTTP/1.1\" 403 157",
            "E   assert 1 == 2",
            "git@github.com: Permission denied (publickey).",
            "Automatic merge failed; fix conflicts and then commit the result.",
            "Patch failed at 0001 Add a file",
        ] {
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
            "0 failed",
            "error: 0",
            "not ok 3 # TODO later",
            "this could not be simpler",
            "It cannot be said",
            "the catalog of mechanics",
            "GET /a HTTP/1.1\" 200 5000",
            "3 × 4 = 12",
            "✖ 0 problems",
            "错误：0",
            "keine Fehler gefunden",
            "how a deadlock is avoided",
            "see Stack Overflow",
            "exit 3",
            "src/deadlock.rs",
            "see the diagram ! [rejected] by all",
            " = [up to date]      main -> main",
            " + 1a2b3c4...5d6e7f8 main -> main (forced update)",
            "hint: Updates were rejected because the remote contains work",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
