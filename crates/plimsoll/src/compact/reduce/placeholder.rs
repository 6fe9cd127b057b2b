//! The line that stands where a result or a picture stood: what it was, how it ended, why it left, how to get it back.

use std::fmt::Write as _;

use super::{Cause, Reduction};
use crate::compact::ledger::line::one_line;

/// How a placeholder begins, as every marker of ours does: agents copy what they read into files.
const OPENING: &str = "[plimsoll, not part of the content: ";
const LEFT_OUT: &str = "; left out here";
const ID: &str = "; recall id ";

/// The longest id that a placeholder is planned with.
pub(super) const SAMPLE_ID: &str = "01234567-89ab-cdef-0123-456789abcdef/toolu_0123456789ABCDEFGHabcd~0123456789ab";

/// Writes a placeholder: one line, and the line that tells of a failure below it. No time and no counter stand in it.
pub(super) fn placeholder(reduction: &Reduction, id: &str) -> String {
    let Reduction { what, reason, ended, error, .. } = reduction;
    let mut text = format!("{OPENING}{what}");
    if let Some(ended) = ended {
        let _ = write!(text, "; {ended}");
    }
    text.push_str(LEFT_OUT);
    text.push_str(match reason {
        Cause::ReadAgain => ", since the same was read again later",
        Cause::Changed => ", since what was read has been changed later",
        Cause::Repeated => ", since the same text stands again later",
        Cause::Old | Cause::Media => " to make room",
    });
    let _ = write!(text, "{ID}{}]", one_line(id, 300));
    if let Some(error) = error {
        let _ = write!(text, "\n{error}");
    }
    text
}

/// Whether a text is a placeholder. Nothing more can be left out of it.
pub(super) fn is_placeholder(text: &str) -> bool {
    let line = text.lines().next().unwrap_or("");
    line.starts_with(OPENING)
        && line.contains(LEFT_OUT)
        && line.contains(ID)
        && line.ends_with(']')
        && text.len() < 1_024
}

/// The recall id that a placeholder names; `None` for every other text.
pub(in crate::compact) fn id_in(text: &str) -> Option<&str> {
    let line = text.lines().next().filter(|_| is_placeholder(text))?;
    line.rsplit_once(ID)?.1.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;

    fn reduction(reason: Cause) -> Reduction {
        Reduction {
            message: 3,
            block: 0,
            part: Some(0),
            reason,
            by: None,
            what: "result of Bash `cargo test`, 12345 bytes, 230 lines".into(),
            ended: Some("exit code 101".into()),
            error: Some("error: assertion failed".into()),
            tokens: Tokens(3_000),
            saved: Tokens(2_900),
        }
    }

    #[test]
    fn a_placeholder_says_what_stood_there_and_how_to_get_it() {
        insta::assert_snapshot!(placeholder(&reduction(Cause::Old), "s1/toolu_1"), @r"
        [plimsoll, not part of the content: result of Bash `cargo test`, 12345 bytes, 230 lines; exit code 101; left out here to make room; recall id s1/toolu_1]
        error: assertion failed
        ");
        for reason in [Cause::ReadAgain, Cause::Changed, Cause::Repeated, Cause::Old, Cause::Media] {
            let text = placeholder(&reduction(reason), "s1/toolu_1");
            assert_eq!(id_in(&text), Some("s1/toolu_1"));
        }
        assert_eq!(id_in("[plimsoll, not part of the content: log, 9 bytes"), None);
    }

    #[test]
    fn mechanism_54_a_placeholder_says_that_it_is_not_part_of_the_content() {
        let marker = crate::cap::Marker {
            kind: crate::cap::Kind::Text,
            encoding: None,
            bytes: crate::Bytes(9),
            lines: 1,
            left_out: None,
            saved: crate::cap::Saved::Not,
            id: None,
            path: None,
        };
        assert!(marker.render().starts_with(OPENING), "one opening for every line of ours");
        assert!(!is_placeholder(&marker.render()));
    }
}
