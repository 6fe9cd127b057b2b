//! Results that stand inside a JSON text: `{"output":"…","metadata":{"exit_code":1}}`.

use super::outcome::exit_status;
use crate::wire::Text;

/// How such a text begins, what stands before the output, and behind it.
const OPENINGS: [&str; 2] = ["{\"output\":", "{\"metadata\":"];
const BEFORE: [&str; 2] = ["\"output\":\"", "\"output\": \""];
const BEHIND: [&str; 2] = ["\",\"metadata\":", "\", \"metadata\":"];
/// How much may stand before the output, in bytes.
const METADATA: usize = 300;

/// What a command printed, by its two ends, and how it ended.
pub(super) struct Nested {
    pub(super) head: String,
    pub(super) tail: String,
    pub(super) status: Option<i32>,
}

/// The inside of a result whose two ends are `head` and `tail`, if it is such a text.
pub(super) fn inside(head: &str, tail: &str) -> Option<Nested> {
    let (before, head) = opened(head)?;
    let tail = opened(tail).map_or(tail, |(_, tail)| tail);
    let closed = |text: &str| {
        let ended = || text.trim_end().strip_suffix("\"}").map(str::len);
        BEHIND.iter().find_map(|behind| text.rfind(behind)).or_else(ended)
    };
    let (end, rest) = tail.split_at_checked(closed(tail)?)?;
    let head = closed(head).and_then(|at| head.get(..at)).unwrap_or(head);
    let status = exit_status(rest).or_else(|| exit_status(before));
    Some(Nested { head: unescaped(head), tail: unescaped(end), status })
}

/// What stands before the output of such a text, and the rest of it.
fn opened(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if !OPENINGS.iter().any(|opening| text.starts_with(opening)) {
        return None;
    }
    let (at, before) = BEFORE.iter().find_map(|before| Some((text.find(before)?, before)))?;
    let (metadata, output) = text.split_at_checked(at).filter(|_| at <= METADATA)?;
    Some((metadata, output.strip_prefix(before)?))
}

/// The text of a JSON string; an escape that the cut hit reads as garbage of one character.
fn unescaped(text: &str) -> String {
    Text::json(text.as_bytes(), true).decode().into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Outcome, Told, read};
    use crate::transcript::{Block, BlockKind, CallKind, ToolResult};
    use crate::wire::{Span, Text};

    fn told(text: &str) -> Told {
        let content = vec![Block { span: Span::default(), kind: BlockKind::Text(Text::plain(text)) }];
        read(&ToolResult { call_id: None, content, is_error: None, kind: CallKind::Client }, Some("make it"))
    }

    #[test]
    fn of_a_result_inside_a_json_text_the_inside_is_read() {
        let output =
            "\n> @x/y check-types /w\n> tsc --noEmit\n\nsrc/a.tsx(41,7): error TS2322: Type \"A\" is not {\"B\"}.\n";
        let long = format!("{}error: \"last\" of {{\"all\"}}\n", "a {\"fine\"} line\n".repeat(3_000));
        for wrap in [
            |output: &str, metadata: &str| format!(r#"{{"output":{output},"metadata":{metadata}}}"#),
            |output: &str, metadata: &str| format!(r#"{{"metadata": {metadata}, "output": {output}}}"#),
        ] {
            let read = |output: &str, status: i32| {
                let metadata = format!(r#"{{"exit_code":{status},"duration_seconds":4.1}}"#);
                told(&wrap(&serde_json::to_string(output).unwrap(), &metadata))
            };
            let failed = read(output, 2);
            assert_eq!(failed.outcome, Outcome::Exit(2));
            assert_eq!(failed.error.as_deref(), Some("src/a.tsx(41,7): error TS2322: Type \"A\" is not {\"B\"}."));
            let failed = read(&long, 1);
            assert_eq!(failed.outcome, Outcome::Exit(1));
            assert_eq!(failed.error.as_deref(), Some("error: \"last\" of {\"all\"}"));
            assert_eq!(read("it says exit code 3\n4 passed", 0).sum.as_deref(), Some("4 passed"));
            assert_eq!(read("it says exit code 3", 0).outcome, Outcome::Exit(0));
            assert_eq!(read("", 1).error, None);
        }
        assert_eq!(told("{\"output\": 3}").outcome, Outcome::Ok);
    }
}
