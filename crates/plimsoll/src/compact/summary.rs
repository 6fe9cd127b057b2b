//! Reading a model's answer to the summary request: the draft is taken away, the summary unwrapped, broken tags endured.

mod code;
mod draft;
mod tag;

use std::ops::Range;

pub(super) use self::code::outside_code;
use self::code::{unwrap_fence, unwrap_in_words};
use self::draft::{without_analysis, without_fenced_drafts, without_reasoning};
use self::tag::{Name, Tag, from, tags};

/// Why an answer holds no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// Nothing is left once the draft and the tags are gone.
    #[error("the answer holds no summary: nothing is left of it once draft and tags are taken away")]
    Empty,
    /// The draft was never closed, and no summary was begun: the answer was cut short.
    #[error("the answer ends inside its draft or its reasoning, which is never closed, before any summary")]
    DraftOnly,
}

/// Takes the summary out of a model's answer.
///
/// Reasoning that a model wrote into its answer (`<think>`) and `<analysis>` blocks are removed, the `<summary>` block is
/// unwrapped up to its last closer, several are joined; without tags the answer itself is the summary. Tags are read in
/// any case, with attributes and white space; those in code count as text, but a code block that all of it was put in is
/// none. Runs of three or more newlines become two.
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
    let (text, unclosed) = without_drafts(raw);
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
pub(super) fn after_summary(raw: &str) -> Option<String> {
    let (text, _) = without_drafts(raw);
    let closer = tags(&text).into_iter().rev().find(|tag| tag.name == Name::Summary && tag.closes)?;
    text.get(closer.place.end..).map(str::to_owned)
}

/// An answer without its reasoning and its draft, out of the code blocks that it or its parts were put in. Says whether
/// one of them was never closed, and no summary begun.
fn without_drafts(raw: &str) -> (String, bool) {
    let raw = raw.replace("\r\n", "\n");
    let text = without_fenced_drafts(raw.trim());
    let (text, endless) = without_reasoning(unwrap_fence(text.trim()));
    let (text, unclosed) = without_analysis(unwrap_fence(text.trim()));
    let text = unwrap_fence(text.trim());
    let begun = tags(text).iter().any(|tag| tag.opens(Name::Summary));
    let unwrapped = if begun { None } else { unwrap_in_words(text) };
    (unwrapped.unwrap_or_else(|| text.to_owned()), endless || unclosed)
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
    let contents = contents.into_iter().map(|content| unwrap_fence(content.trim()));
    let contents: Vec<&str> = contents.filter(|content| !content.is_empty()).collect();
    Some(contents.join("\n\n"))
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
mod tests;
