//! What became of a call: whether it failed, its exit status, the line that tells.

use std::borrow::Cow;

use memchr::memmem;
use serde::{Deserialize, Serialize};

use super::line::one_line;
use super::refusal::{self, Refusal};
use super::signs::{self, ERRORS, SUMS};
use super::{ending, nested};
use crate::transcript::ToolResult;
use crate::wire::Text;

/// How much of each end of a result is looked at, in bytes.
const WINDOW: usize = 2_048;

/// What begins an escape sequence of a terminal.
pub(super) const ESCAPE: char = '\u{1b}';

/// How long the line that tells may be, in characters.
pub(crate) const LINE: usize = 200;

/// What became of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// It was answered, and nothing says that it failed.
    Ok,
    /// It failed.
    Failed,
    /// It ended, and its output tells of a failure that nothing around it tells of.
    Ended,
    /// It ended with this exit status.
    Exit(i32),
    /// The user would not have it.
    Refused,
    /// There is no answer.
    #[default]
    Unanswered,
}

impl Outcome {
    /// Whether it failed.
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Ended | Self::Refused => true,
            Self::Exit(status) => status != 0,
            Self::Ok | Self::Unanswered => false,
        }
    }

    pub(crate) fn show(self) -> Cow<'static, str> {
        match self {
            Self::Ok => Cow::Borrowed("ok"),
            Self::Failed => Cow::Borrowed("failed"),
            Self::Ended => Cow::Borrowed("ended, its output tells of a failure"),
            Self::Exit(status) => Cow::Owned(format!("exit {status}")),
            Self::Refused => Cow::Borrowed("refused by the user"),
            Self::Unanswered => Cow::Borrowed("no answer"),
        }
    }

    pub(super) fn read(text: &str) -> Option<Self> {
        Some(match text {
            "ok" => Self::Ok,
            "failed" => Self::Failed,
            "ended, its output tells of a failure" => Self::Ended,
            "refused by the user" => Self::Refused,
            "no answer" => Self::Unanswered,
            _ => Self::Exit(text.strip_prefix("exit ")?.parse().ok()?),
        })
    }
}

/// What a result tells.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) outcome: Outcome,
    /// The first line that looks like an error, of a failing result.
    pub(crate) error: Option<String>,
    /// A line that sums up (`test result: ok. 3 passed`), of a command's output.
    pub(crate) sum: Option<String>,
}

/// Reads a result; `command` is the line that was run, if one was. Of a long result only the two ends are looked at: a
/// status stands there.
pub(crate) fn read(result: &ToolResult<'_>, command: Option<&str>) -> Told {
    let texts: Vec<Text<'_>> = result.texts().collect();
    let head = texts.first().map_or(Cow::Borrowed(""), |text| text.decode_start(WINDOW));
    let tail = texts.last().map_or(Cow::Borrowed(""), |text| end_of(*text));
    match nested::inside(&head, &tail) {
        Some(nested) => told_with(&nested.head, &nested.tail, nested.status, result.is_error, command),
        None => told(&head, &tail, result.is_error, command),
    }
}

/// Reads what a command printed that no tool ran: what a user ran beside the conversation.
pub(crate) fn read_output(output: &str, command: &str) -> Told {
    let start = output.char_indices().map(|(at, _)| at).find(|at| output.len() - at <= WINDOW).unwrap_or(0);
    let end = output.char_indices().map(|(at, _)| at).take_while(|at| *at <= WINDOW).last().unwrap_or(0);
    let head = if output.len() <= WINDOW { output } else { output.get(..end).unwrap_or(output) };
    told(head, output.get(start..).unwrap_or(output), None, Some(command))
}

fn told(head: &str, tail: &str, is_error: Option<bool>, command: Option<&str>) -> Told {
    told_with(head, tail, None, is_error, command)
}

/// `known` is the exit status, where something else than the output tells it.
fn told_with(head: &str, tail: &str, known: Option<i32>, is_error: Option<bool>, command: Option<&str>) -> Told {
    let is_command = command.is_some();
    let said = || if is_command { exit_status(head).or_else(|| exit_status(tail)) } else { None };
    let status = known.or_else(said);
    let aborts = head.starts_with("<tool_use_error>") || head.starts_with("aborted");
    let error = || error_line(head).or_else(|| error_line(tail));
    let refusal = if is_error == Some(false) || status == Some(0) { None } else { refusal::of(head) };
    let refused = refusal == Some(Refusal::ByUser);
    // The status of several commands in a row is that of the last: `make | tail` ends well whatever `make` did.
    let says_little = match status {
        None => true,
        Some(status) => status == 0 && command.is_some_and(|command| command.contains(['|', ';'])),
    };
    let ending = if says_little && is_error != Some(true) && !refused {
        command.and_then(|command| ending::failure(tail, command))
    } else {
        None
    };
    let outcome = match (status, is_error) {
        _ if refused => Outcome::Refused,
        _ if ending.is_some() => Outcome::Ended,
        (Some(status), _) => Outcome::Exit(status),
        (None, Some(true)) => Outcome::Failed,
        (None, _) if refusal.is_some() => Outcome::Failed,
        (None, _) if aborts => Outcome::Failed,
        // Tools without a mark of errors say it in their first words.
        (None, None) if !is_command && head.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("error:")) => {
            Outcome::Failed
        }
        _ => Outcome::Ok,
    };
    let error = (outcome.is_failure() && outcome != Outcome::Refused).then(|| {
        let tells = |line: &Cow<'_, str>| !line.is_empty() && exit_status(line).is_none() && !is_frame(line);
        let last = || tail.lines().rev().map(clean).find(tells).filter(|_| is_command);
        ending
            .clone()
            .or_else(error)
            .or_else(last)
            .or_else(|| head.lines().map(clean).find(tells))
            .map(|line| one_line(&line, LINE))
    });
    let sum = (is_command && SUMS.stand_in(tail))
        .then(|| tail.lines().rev().take(40).map(clean).find(|line| sums_up(line)).map(|line| one_line(&line, LINE)));
    Told { outcome, error: error.flatten().filter(|line| !line.is_empty()), sum: sum.flatten() }
}

/// Whether a line is what a program writes around a command's output, and none of it.
pub(super) fn is_frame(line: &str) -> bool {
    ["Chunk ID:", "Wall time:", "Process exited", "Original token count:", "Output:", "Total output lines:"]
        .iter()
        .any(|frame| line.starts_with(frame))
}

/// The end of a text, read loosely: an escape that the cut hit reads as garbage of one character.
fn end_of(text: Text<'_>) -> Cow<'_, str> {
    let raw = text.raw();
    if raw.len() <= WINDOW {
        return text.decode();
    }
    let end = raw.get(raw.len() - WINDOW..).unwrap_or(raw);
    // A plain byte after a space begins neither an escape nor the middle of a character.
    let start = end.iter().position(|byte| *byte == b' ').map_or(0, |at| at + 1);
    Text::json(end.get(start..).unwrap_or(end), true).decode()
}

/// The exit status that a text names.
pub(super) fn exit_status(text: &str) -> Option<i32> {
    const CUES: [&str; 6] =
        ["exit code", "exit_code", "exited with code", "exit status", "returncode", "exited with status"];
    let start = text.get(..text.len().min(WINDOW)).unwrap_or(text);
    if !signs::STATUSES.stand_in(start) {
        return None;
    }
    let lower = start.to_ascii_lowercase();
    CUES.iter().find_map(|cue| {
        let after = lower.get(lower.find(cue)? + cue.len()..)?;
        let number = after.trim_start_matches([' ', ':', '=', '"', '\\', '>', '(', '`']);
        if after.len() - number.len() > 6 {
            return None;
        }
        let digits = number.strip_prefix('-').unwrap_or(number);
        let len = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let sign = number.len() - digits.len();
        (1..=9).contains(&len).then(|| number.get(..sign + len)?.parse().ok()).flatten()
    })
}

/// A line without escape sequences and surrounding space.
pub(super) fn clean(line: &str) -> Cow<'_, str> {
    let Some((before, mut rest)) = line.split_once(ESCAPE) else {
        return Cow::Borrowed(bare(line));
    };
    let mut clean = before.to_owned();
    loop {
        let inside = rest.strip_prefix('[').unwrap_or("");
        let skip = inside.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |at| at + 2);
        rest = rest.get(skip..).unwrap_or("");
        let Some((before, escape)) = rest.split_once(ESCAPE) else {
            clean.push_str(rest);
            return Cow::Owned(bare(&clean).to_owned());
        };
        clean.push_str(before);
        rest = escape;
    }
}

/// What a line says: nothing, if it only draws.
fn bare(line: &str) -> &str {
    // Progress is drawn over with carriage returns; what stands last is what one sees.
    let line = line.trim().rsplit('\r').next().unwrap_or("").trim();
    let line = line.strip_prefix("<tool_use_error>").unwrap_or(line);
    let line = line.strip_suffix("</tool_use_error>").unwrap_or(line);
    // A frame drawn around a message tells nothing.
    let is_tag = line.starts_with('<') && line.ends_with('>') && !line.contains(' ');
    if is_tag || line.chars().filter(|c| c.is_alphabetic()).nth(2).is_none() { "" } else { line.trim() }
}

/// The first line that looks like an error.
fn error_line(text: &str) -> Option<Cow<'_, str>> {
    const TRACEBACK: &str = "Traceback (most recent call last)";
    // A Python traceback names the error in its last line, which is not indented.
    if let Some(at) = memmem::find(text.as_bytes(), TRACEBACK.as_bytes()) {
        let named = text
            .get(at + TRACEBACK.len()..)
            .unwrap_or("")
            .lines()
            .skip(1)
            .find(|line| !line.starts_with([' ', '\t']) && line.contains(|c: char| c.is_alphabetic()));
        if let Some(line) = named {
            return Some(clean(line));
        }
    }
    let mut doubtful = None;
    for line in ERRORS.lines(text).map(clean) {
        if is_plain_error(&line) {
            return Some(line);
        }
        if doubtful.is_none() && looks_like_error(&line) {
            doubtful = Some(line);
        }
    }
    doubtful
}

/// Whether a line names an error at its start, as compilers, shells and interpreters do.
fn is_plain_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    let warns = line.split_once(": ").is_some_and(|(kind, rest)| {
        !rest.is_empty() && !kind.contains(' ') && kind.ends_with("Warning") && kind.len() > 7
    });
    warns
        || is_named_error(line)
        || signs::STARTS.iter().any(|start| lower.starts_with(start)) && !lower.starts_with("error handling")
        || signs::ANYWHERE.iter().any(|words| lower.contains(words))
}

/// Whether a line names an exception at its start, as interpreters do: `KeyError: 'q'`.
pub(super) fn is_named_error(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(kind, rest)| {
        !rest.is_empty() && !kind.contains(' ') && (kind.ends_with("Error") || kind.ends_with("Exception"))
    })
}

/// Whether a line speaks of an error somewhere.
fn looks_like_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    signs::DOUBTFUL.iter().any(|word| lower.contains(word))
}

/// Whether a line sums up what a command did: it names a result and a number.
fn sums_up(line: &str) -> bool {
    let lower = line.to_lowercase();
    line.len() <= 240
        && line.contains(|c: char| c.is_ascii_digit())
        && signs::RESULTS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Block, BlockKind, CallKind};
    use crate::wire::Span;

    fn told(text: &str, is_error: Option<bool>, is_command: bool) -> Told {
        let content = vec![Block { span: Span::default(), kind: BlockKind::Text(Text::plain(text)) }];
        let command = is_command.then_some("make it");
        read(&ToolResult { call_id: None, content, is_error, kind: CallKind::Client }, command)
    }

    #[test]
    fn exit_statuses_are_read_as_many_programs_write_them() {
        for (text, status) in [
            ("Exit code 101\nerror: x", 101),
            (r#"{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}"#, 2),
            ("Wall time: 0.1\nProcess exited with code 0\nOutput:\nok", 0),
            ("<returncode>1</returncode>\n<output>x</output>", 1),
            ("done\n[Command finished with exit code -1]", -1),
        ] {
            assert_eq!(told(text, None, true).outcome, Outcome::Exit(status), "{text}");
        }
        assert_eq!(told("the exit code of a program tells", None, true).outcome, Outcome::Ok);
    }

    #[test]
    fn a_mark_of_success_does_not_outweigh_what_the_output_says() {
        for is_error in [None, Some(false)] {
            let told = told("collected 4 items\n==== 1 failed, 3 passed in 0.1s ====", is_error, true);
            assert_eq!(told.outcome, Outcome::Ended);
            assert_eq!(told.error.as_deref(), Some("==== 1 failed, 3 passed in 0.1s ===="));
        }
        assert_eq!(told("Exit code: 0\n3 failed", Some(false), true).outcome, Outcome::Exit(0));
        let of_several = super::told("Exit code: 0\n3 failed", "Exit code: 0\n3 failed", None, Some("make | tail"));
        assert_eq!(of_several.outcome, Outcome::Ended);
        assert_eq!(Outcome::read(&Outcome::Ended.show()), Some(Outcome::Ended));
        assert_eq!(read_output(&format!("{}FAILED", "fine\n".repeat(2_000)), "make").outcome, Outcome::Ended);
    }

    #[test]
    fn what_the_user_refused_is_no_error() {
        let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
        let told = told(refusal, Some(true), false);
        assert_eq!((told.outcome, told.error), (Outcome::Refused, None));
        assert_eq!(Outcome::read(&Outcome::Refused.show()), Some(Outcome::Refused));
    }

    #[test]
    fn of_a_failure_without_a_word_for_it_the_last_line_tells() {
        let error = |text| told(text, None, true).error;
        assert_eq!(
            error("Exit code 1\n=== Looking at the structure ===\n3 of 4 parts match").as_deref(),
            Some("3 of 4 parts match")
        );
        assert_eq!(error("Chunk ID: 1d7024\nWall time: 0.1\nProcess exited with code 1\nOutput:\n"), None);
    }

    #[test]
    fn the_telling_line_is_found() {
        let error = |text| told(text, Some(true), true).error.unwrap();
        assert_eq!(
            error("Exit code 1\n   Compiling x\n\u{1b}[31merror[E0308]\u{1b}[0m: mismatched types\n --> src/a.rs"),
            "error[E0308]: mismatched types"
        );
        assert_eq!(
            error("Traceback (most recent call last):\n  File \"a.py\", line 1\n    x\nKeyError: 'q'\n"),
            "KeyError: 'q'"
        );
        assert_eq!(error("Exit code 1\nsomething odd"), "something odd");
        assert_eq!(
            told("running\ntest result: ok. 3 passed; 0 failed", Some(false), true).sum.as_deref(),
            Some("test result: ok. 3 passed; 0 failed")
        );
    }

    #[test]
    fn what_a_file_says_is_no_failure() {
        assert_eq!(told("1\terror: bad\n", None, false).outcome, Outcome::Ok);
        assert_eq!(told("1\terror: bad\n", Some(false), false).error, None);
        assert_eq!(told("Error: no such file", None, false).outcome, Outcome::Failed);
    }

    #[test]
    fn long_results_are_read_at_their_ends() {
        let long = format!("{}\nerror: last", "fine line\n".repeat(10_000));
        assert_eq!(told(&long, Some(true), true).error.as_deref(), Some("error: last"));
    }
}
