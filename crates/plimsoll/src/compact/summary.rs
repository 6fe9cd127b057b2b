//! Reading a model's answer to the summary request: the draft is taken away, the summary unwrapped, broken tags endured.

use std::ops::Range;

/// Why an answer holds no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// Nothing is left once the draft and the tags are gone.
    #[error("the answer holds no summary: nothing is left of it once draft and tags are taken away")]
    Empty,
    /// The draft was never closed, and no summary was begun: the answer was cut short.
    #[error("the answer ends inside its draft (`<analysis>` is never closed), before any summary")]
    DraftOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Analysis,
    Summary,
}

#[derive(Debug, Clone)]
struct Tag {
    name: Name,
    closes: bool,
    place: Range<usize>,
}

/// Takes the summary out of a model's answer.
///
/// `<analysis>` blocks are removed, the `<summary>` block is unwrapped up to its last closer, several are joined; without
/// tags the answer itself is the summary. Tags are read in any case, with attributes and white space; those in code
/// count as text. Runs of three or more newlines become two.
///
/// # Errors
/// [`SummaryError`] if nothing is left, or the answer ends inside its draft.
///
/// ```
/// use plimsoll::compact::extract_summary;
/// let raw = "<analysis>First, I …</analysis>\n<summary>\n## 1. Primary request\nFix it.\n</summary>";
/// assert_eq!(extract_summary(raw).unwrap(), "## 1. Primary request\nFix it.");
/// ```
#[doc(alias = "formatCompactSummary")]
pub fn extract_summary(raw: &str) -> Result<String, SummaryError> {
    let raw = raw.replace("\r\n", "\n");
    let (text, unclosed) = without_analysis(unwrap_fence(raw.trim()));
    let tags: Vec<Tag> = tags(&text).into_iter().filter(|tag| tag.name == Name::Summary).collect();
    let summary = match blocks(&text, &tags) {
        Some(summary) => summary,
        None if unclosed => return Err(SummaryError::DraftOnly),
        None => cut(&text, tags.iter().map(|tag| tag.place.clone())),
    };
    let summary = squeeze(without_orphans(summary).trim());
    if summary.is_empty() { Err(SummaryError::Empty) } else { Ok(summary) }
}

/// What stands in an answer after its last summary block; `None` without one that is closed.
pub(super) fn after_summary(raw: &str) -> Option<&str> {
    let raw = unwrap_fence(raw.trim());
    let closer = tags(raw).into_iter().rev().find(|tag| tag.name == Name::Summary && tag.closes)?;
    raw.get(closer.place.end..)
}

/// A text without its code: of a fenced block only a line break stays, of a code span its backquotes.
pub(super) fn outside_code(text: &str) -> String {
    let mut outside = String::with_capacity(text.len());
    let mut code = Code::default();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['`', '~'])) {
        let start = at + found;
        outside.push_str(text.get(at..start).unwrap_or(""));
        let run = text.get(start..).map_or(1, |rest| rest.len() - rest.trim_start_matches(['`', '~']).len());
        if let Some(len) = code.at(text, start) {
            let inside = text.get(start..start + len).unwrap_or("");
            outside.push_str(if inside.contains('\n') {
                "\n"
            } else if inside.starts_with('`') {
                "``"
            } else {
                inside
            });
            at = start + len;
        } else {
            outside.push_str(text.get(start..start + run).unwrap_or(""));
            at = start + run;
        }
    }
    outside.push_str(text.get(at..).unwrap_or(""));
    outside
}

/// Takes away what is left of tags: orphans never reach the user. Taking one away may bring another out of code.
fn without_orphans(mut text: String) -> String {
    loop {
        let orphans = tags(&text);
        if orphans.is_empty() {
            return text;
        }
        text = cut(&text, orphans.into_iter().map(|tag| tag.place));
    }
}

/// Unwraps an answer that is one code fence as a whole.
fn unwrap_fence(text: &str) -> &str {
    let inside = || {
        let ticks = text.len() - text.trim_start_matches('`').len();
        if ticks < 3 {
            return None;
        }
        let fence = text.get(..ticks)?;
        let (first, rest) = text.split_once('\n')?;
        if first.get(ticks..)?.contains('`') {
            return None;
        }
        let inside = rest.strip_suffix(fence)?;
        // Only if the last line is this fence's own end: no other fence of its length stands in between, except in pairs.
        let is_fence = |line: &&str| line.trim_start().starts_with(fence);
        let mut open = false;
        let mut bare_closer = false;
        for line in inside.lines().filter(is_fence) {
            // A bare fence where none is open closes ours: what follows stands outside, and the answer is no single fence.
            bare_closer |= !open && line.trim().len() == ticks;
            open = !open;
        }
        let balanced = !open && !bare_closer;
        (inside.ends_with('\n') && balanced).then_some(inside.trim())
    };
    inside().unwrap_or(text)
}

/// Removes analysis blocks. Says whether one was never closed (its text is removed up to the summary, or to the end).
fn without_analysis(text: &str) -> (String, bool) {
    let tags = tags(text);
    let mut gone: Vec<Range<usize>> = Vec::new();
    let mut unclosed = false;
    let mut at = 0;
    while let Some(open) = from(&tags, at).iter().find(|tag| tag.name == Name::Analysis && !tag.closes) {
        let later = || from(&tags, open.place.end).iter();
        // The draft may mention the tags of the summary: it reaches to its own closer.
        let next_open =
            later().find(|tag| tag.name == Name::Analysis && !tag.closes).map_or(usize::MAX, |tag| tag.place.start);
        let closer =
            later().filter(|tag| tag.place.start < next_open).find(|tag| tag.name == Name::Analysis && tag.closes);
        let closer = closer.or_else(|| later().find(|tag| tag.name == Name::Analysis && tag.closes));
        let opens_summary = |tag: &&Tag| tag.name == Name::Summary && !tag.closes;
        let end =
            if let Some(closer) = closer {
                closer.place.end
            } else if tags.iter().filter(opens_summary).any(|tag| {
                tag.place.end <= open.place.start && gone.iter().all(|gone| !gone.contains(&tag.place.start))
            }) {
                // A draft precedes the summary: what is only mentioned inside it opens none.
                at = open.place.end;
                continue;
            } else {
                unclosed = true;
                later().find(|tag| tag.name == Name::Summary && !tag.closes).map_or(text.len(), |tag| tag.place.start)
            };
        gone.push(open.place.start..end);
        at = end;
    }
    (cut(text, gone), unclosed)
}

/// The tags from a place on.
fn from(tags: &[Tag], at: usize) -> &[Tag] {
    tags.get(tags.partition_point(|tag| tag.place.start < at)..).unwrap_or(&[])
}

/// The contents of the summary blocks, joined; `None` if none is opened.
fn blocks(text: &str, tags: &[Tag]) -> Option<String> {
    let first = tags.iter().find(|tag| !tag.closes)?;
    let mut contents: Vec<&str> = Vec::new();
    let mut open = first.place.end;
    loop {
        let later = || from(tags, open).iter();
        // A block is over where a closer is followed by another opener; else at the last closer.
        let boundary = later().zip(later().skip(1)).find(|(tag, next)| tag.closes && !next.closes);
        if let Some((closer, opener)) = boundary {
            contents.push(text.get(open..closer.place.start).unwrap_or(""));
            open = opener.place.end;
            continue;
        }
        let end = later().rfind(|tag| tag.closes).map_or(text.len(), |tag| tag.place.start);
        contents.push(text.get(open..end).unwrap_or(""));
        break;
    }
    let contents: Vec<&str> = contents.into_iter().map(str::trim).filter(|content| !content.is_empty()).collect();
    Some(contents.join("\n\n"))
}

/// The tags in a text that stand outside code.
fn tags(text: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut code = Code::default();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['<', '`', '~'])) {
        let start = at + found;
        let rest = text.get(start..).unwrap_or("");
        if let Some(len) = code.at(text, start) {
            at = start + len;
        } else if let Some((name, closes, len)) = tag(rest) {
            tags.push(Tag { name, closes, place: start..start + len });
            at = start + len;
        } else {
            // A run of marks that begins no code is passed as a whole.
            at = start + (rest.len() - rest.trim_start_matches(['`', '~']).len()).max(1);
        }
    }
    tags
}

/// Finds code in a text that is read from its start to its end.
#[derive(Debug, Default)]
struct Code {
    /// How many marks a fence must have to have no end, for backticks and tildes: what a fence was looked for in vain is
    /// not looked for again, so that reading takes no longer than the text is.
    endless: [Option<usize>; 2],
}

impl Code {
    /// How long the code that begins here is: a fenced block at the start of a line, or a code span. `None` if none
    /// begins, or it has no end (then it is no code).
    fn at(&mut self, text: &str, start: usize) -> Option<usize> {
        let rest = text.get(start..)?;
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let after = rest.trim_start_matches(mark);
        let length = rest.len() - after.len();
        let before = text.get(..start)?.trim_end_matches(|c: char| c != '\n' && c.is_whitespace());
        if length >= 3 && (before.is_empty() || before.ends_with('\n')) {
            let endless = self.endless.get_mut(usize::from(mark == '~'))?;
            if endless.is_some_and(|endless| length >= endless) {
                return None;
            }
            let end = fence_end(rest, mark, length);
            if end.is_none() {
                *endless = Some(length);
            }
            return end;
        }
        if mark == '~' {
            return Some(length);
        }
        // A code span ends at a run of backticks of the same length, in the same paragraph.
        let mut from = 0;
        while let Some(found) = after.get(from..).and_then(|rest| rest.find('`')) {
            let between = after.get(from..from + found)?;
            if between.contains("\n\n") {
                return None;
            }
            let run = after.get(from + found..)?;
            let len = run.len() - run.trim_start_matches('`').len();
            if len == length {
                return Some(length + from + found + len);
            }
            from += found + len;
        }
        None
    }
}

/// Where the fenced block ends that a text begins with.
fn fence_end(text: &str, mark: char, length: usize) -> Option<usize> {
    let mut at = text.find('\n').map(|newline| newline + 1)?;
    for line in text.get(at..)?.split_inclusive('\n') {
        let bare = line.trim();
        at += line.len();
        if bare.len() >= length && bare.chars().all(|c| c == mark) {
            return Some(at);
        }
    }
    None
}

/// How far from its name a tag ends, in bytes.
const ATTRIBUTES: usize = 201;

/// The tag that a text begins with, and its length.
fn tag(text: &str) -> Option<(Name, bool, usize)> {
    let inside = text.strip_prefix('<')?.trim_start();
    let (inside, closes) = match inside.strip_prefix('/') {
        Some(inside) => (inside.trim_start(), true),
        None => (inside, false),
    };
    let name = [("analysis", Name::Analysis), ("summary", Name::Summary)];
    let (len, name) = name.into_iter().find_map(|(spelled, name)| {
        inside.get(..spelled.len()).filter(|start| start.eq_ignore_ascii_case(spelled)).map(|_| (spelled.len(), name))
    })?;
    let rest = inside.get(len..)?;
    let attributes = rest.bytes().take(ATTRIBUTES).position(|byte| byte == b'>')?;
    let between = rest.get(..attributes)?;
    let proper = between.is_empty() || between.starts_with(char::is_whitespace) || between == "/";
    if !proper || between.contains('<') {
        return None;
    }
    let total = text.len() - rest.len() + attributes + 1;
    Some((name, closes, total))
}

/// A text without some ascending ranges of it.
fn cut(text: &str, gone: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut left = String::with_capacity(text.len());
    let mut at = 0;
    for range in gone {
        left.push_str(text.get(at..range.start).unwrap_or(""));
        at = range.end.max(at);
    }
    left.push_str(text.get(at..).unwrap_or(""));
    left
}

/// Brings runs of three or more newlines down to two.
fn squeeze(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    let mut newlines = 0;
    for c in text.chars() {
        newlines = if c == '\n' { newlines + 1 } else { 0 };
        if newlines <= 2 {
            squeezed.push(c);
        }
    }
    squeezed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn answers_are_read() {
        let cases: &[(&str, Result<&str, SummaryError>)] = &[
            ("<analysis>a</analysis><summary>s</summary>", Ok("s")),
            ("plain words", Ok("plain words")),
            ("  \n ", Err(SummaryError::Empty)),
            ("<summary></summary>", Err(SummaryError::Empty)),
            ("<analysis>a</analysis>", Err(SummaryError::Empty)),
            ("<analysis>a", Err(SummaryError::DraftOnly)),
            ("<analysis>a <summary>s</summary>", Ok("s")),
            ("<summary>s", Ok("s")),
            ("intro <summary>s", Ok("s")),
            ("s</summary>", Ok("s")),
            ("</analysis>s", Ok("s")),
            ("s <summary/>", Err(SummaryError::Empty)),
            ("<SUMMARY lang=\"en\">s</ Summary >", Ok("s")),
            ("< summary >s</summary\n>", Ok("s")),
            ("<analysis>I will write <summary> and </summary> later</analysis><summary>s</summary>", Ok("s")),
            ("<summary>a</summary> b</summary>", Ok("a b")),
            ("<summary>a</summary>\n<summary>b</summary>", Ok("a\n\nb")),
            ("<summary>one</summary> between <summary>two", Ok("one\n\ntwo")),
            ("<summary>say `</summary>` in code</summary>", Ok("say `</summary>` in code")),
            (
                "<summary>x\n```html\n</summary>\n<analysis>\n```\ny</summary>",
                Ok("x\n```html\n</summary>\n<analysis>\n```\ny"),
            ),
            ("```xml\n<analysis>a</analysis>\n<summary>s</summary>\n```", Ok("s")),
            ("```\ncode\n```\ntext\n```\nmore\n```", Ok("```\ncode\n```\ntext\n```\nmore\n```")),
            ("<summary>a\n\n\n\nb</summary>", Ok("a\n\nb")),
            ("<summaryx>s</summaryx>", Ok("<summaryx>s</summaryx>")),
            ("<analysis>a</analysis> then <analysis>b</analysis> s", Ok("then  s")),
            ("<summary>unclosed ` tick</summary>", Ok("unclosed ` tick")),
            ("Sure! <analysis>a</analysis>\n<summary>s</summary>\nHope it helps", Ok("s")),
            ("<summary>é <b>x</b></summary>", Ok("é <b>x</b>")),
            ("<summary>a ` b\n\n</summary> c ` d</summary>", Ok("a ` b\n\n c ` d")),
            ("<summary>````\n```\n</summary>\n```", Ok("````\n```\n</summary>\n```")),
        ];
        for (raw, expected) in cases {
            assert_eq!(extract_summary(raw).as_deref(), expected.as_ref().copied(), "{raw}");
        }
    }

    /// A closer quoted in code truncates the summary; an unclosed opener leaks into the conversation.
    #[test]
    fn mechanism_21_a_closer_quoted_in_code_ends_nothing_and_an_unclosed_opener_leaks_nothing() {
        let quoted =
            "It ends in `</summary>`:\n```xml\n<summary>a</summary>\n```\n~~~\n</analysis>\n~~~\nand goes on.";
        for raw in [
            format!("<summary>{quoted}</summary>"),
            format!("<summary>{quoted}"),
            format!("{quoted}</summary>"),
            format!("<analysis>about `<summary>`</analysis>\n<summary>\n{quoted}\n</summary>\nthe end"),
        ] {
            assert_eq!(extract_summary(&raw).as_deref(), Ok(quoted), "{raw}");
        }
    }

    /// What each of these made reading look at again and again would take minutes, not milliseconds.
    #[test]
    fn a_huge_answer_is_read_in_one_go() {
        for piece in
            ["` ", "`a` ", "```x\n", "~~~x\n", "<summary ", "<analysis>", "</summary>", "<summary>", "a\n\n\n"]
        {
            let raw = piece.repeat(400_000 / piece.len());
            if let Ok(summary) = extract_summary(&raw) {
                assert!(summary.len() <= raw.len());
            }
            assert!(outside_code(&raw).len() <= raw.len());
        }
    }

    proptest! {
        #[test]
        fn reading_is_total_and_leaves_no_tag(raw in "(<summary>|</summary>|<analysis>|</analysis>|< summary a=1>|</ANALYSIS >|```\n|`|\n|text|é| ){0,16}") {
            if let Ok(summary) = extract_summary(&raw) {
                prop_assert!(!summary.trim().is_empty());
                prop_assert!(tags(&summary).is_empty(), "{:?}", summary);
                prop_assert!(!summary.contains("\n\n\n"));
            }
        }
    }
}
