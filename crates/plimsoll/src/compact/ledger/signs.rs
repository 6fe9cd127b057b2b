//! `Signs`: words by which lines of a program's output are known, looked for in a whole text at once: of a long output few
//! lines have any, and only these are read.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::outcome::ESCAPE;

/// How a line begins that names an error, in lower case.
pub(super) const STARTS: [&str; 16] = [
    "error:",
    "error[",
    "error ",
    "fatal:",
    "panic:",
    "err!",
    "npm err!",
    "failed",
    "fail ",
    "fail:",
    "failure",
    "✗",
    "×",
    "e   ",
    "thread '",
    "exception",
];

/// What names an error wherever it stands in a line.
pub(super) const ANYWHERE: [&str; 2] = ["command not found", "no such file or directory"];

/// What may speak of an error.
pub(super) const DOUBTFUL: [&str; 12] = [
    "error",
    "failed",
    "failure",
    "panicked",
    "exception",
    "not found",
    "denied",
    "cannot",
    "could not",
    "unexpected",
    "invalid",
    "timed out",
];

/// What stands in a line that sums up what a command did, beside a number.
pub(super) const RESULTS: [&str; 12] = [
    "passed",
    "passing",
    "failed",
    "failing",
    "errors",
    "warnings",
    "test result",
    "tests:",
    "finished",
    "built in",
    "compiled",
    "ran ",
];

/// Every line that names an error or may speak of one holds one of these. Of `KeyWarning: …` it is the last.
pub(super) static ERRORS: LazyLock<Signs> = LazyLock::new(|| {
    let words = STARTS.into_iter().chain(ANYWHERE).chain(DOUBTFUL).chain(["warning: "]);
    Signs::of(words)
});
pub(super) static SUMS: LazyLock<Signs> = LazyLock::new(|| Signs::of(RESULTS));
pub(super) static STATUSES: LazyLock<Signs> = LazyLock::new(|| Signs::of(["exit", "returncode"]));

/// Words that are looked for all at once, in any case. Without an automaton every text may hold them.
pub(super) struct Signs(Option<AhoCorasick>);

impl Signs {
    fn of<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        Self(AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok())
    }

    /// Whether one of the words may stand in a text. Escape sequences may part a word, so with them it may.
    pub(super) fn stand_in(&self, text: &str) -> bool {
        match &self.0 {
            Some(words) => words.is_match(text) || text.contains(ESCAPE),
            None => true,
        }
    }

    /// The lines of a text in which one of the words may stand, in order.
    pub(super) fn lines<'s, 't: 's>(&'s self, text: &'t str) -> impl Iterator<Item = &'t str> + 's {
        let words = self.0.as_ref().filter(|_| !text.contains(ESCAPE));
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
            let found = match words {
                Some(words) => words.find(rest)?.start(),
                None => 0,
            };
            let start = rest.get(..found)?.rfind('\n').map_or(0, |before| before + 1);
            let end = rest.get(found..)?.find('\n').map_or(rest.len(), |after| found + after);
            at += end + 1;
            rest.get(start..end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_a_sign_are_read() {
        let text = "fine\nAn ERROR here\r\n\nfine\nnot Found\n\u{e9}";
        assert_eq!(ERRORS.lines(text).collect::<Vec<_>>(), ["An ERROR here\r", "not Found"]);
        assert_eq!(ERRORS.lines("fine").count(), 0);
        assert!(ERRORS.stand_in(text) && !ERRORS.stand_in("fine"));
    }

    #[test]
    fn escape_sequences_may_part_a_word_so_every_line_is_read() {
        let text = "er\u{1b}[31mror: x\nfine";
        assert_eq!(ERRORS.lines(text).count(), 2);
        assert!(SUMS.stand_in(text));
    }
}
