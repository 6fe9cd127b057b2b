//! What stands in an answer before its summary: the reasoning that some models write into it, and the draft.

use std::ops::Range;

use super::code::fences;
use super::cut;
use super::tag::{Name, Tag, from, tag, tags};

/// Takes away the reasoning that an answer begins with: up to its closer, which may stand alone, since templates open it
/// for the model. It may mention any other tag. Says whether it was never closed, and no summary was begun.
pub(super) fn without_reasoning(text: &str) -> (&str, bool) {
    let tags = tags(text);
    if tags.iter().all(|tag| tag.name != Name::Reasoning) {
        return (text, false);
    }
    let place = |tag: Option<&Tag>| tag.map_or(0, |tag| tag.place.end);
    let last_opener = place(tags.iter().rfind(|tag| tag.opens(Name::Summary)));
    let last_closer = place(tags.iter().rfind(|tag| tag.name == Name::Summary && tag.closes));
    let (mut end, mut open, mut in_summary) = (0, None, false);
    for tag in &tags {
        let at = tag.place.start;
        match (tag.name, tag.closes) {
            (Name::Summary, false) if open.is_none() => in_summary = true,
            (Name::Reasoning, false) if open.is_none() => {
                // It stands before the answer; later it is spoken of.
                let leads = text.get(end..at).is_some_and(|before| before.trim_start().is_empty());
                if leads || (!in_summary && last_opener > at) {
                    open = Some(tag.place.end);
                }
            }
            (Name::Reasoning, true) => {
                let follows = text.get(tag.place.end..).is_some_and(|after| !after.trim_start().is_empty());
                let spoken_of = in_summary && last_opener < at && last_closer > at;
                if open.take().is_some() || (follows && !spoken_of) {
                    (end, in_summary) = (tag.place.end, false);
                }
            }
            _ => {}
        }
    }
    let Some(open) = open else {
        return (text.get(end..).unwrap_or(""), false);
    };
    let begun = from(&tags, open).iter().find(|tag| tag.name != Name::Reasoning && !tag.closes);
    (begun.and_then(|tag| text.get(tag.place.start..)).unwrap_or(""), begun.is_none())
}

/// Removes code blocks that hold a draft and nothing else.
pub(super) fn without_fenced_drafts(text: &str) -> String {
    let first = tags(text).into_iter().find(|tag| tag.opens(Name::Summary));
    let end = first.map_or(text.len(), |tag| tag.place.start);
    let is_draft = |(start, end): &(usize, usize)| {
        let block = text.get(*start..*end).unwrap_or("").trim_end();
        let inside =
            block.split_once('\n').and_then(|(_, rest)| rest.rsplit_once('\n')).map_or("", |(inside, _)| inside);
        let inside = inside.trim();
        tag(inside).is_some_and(|(name, closes, _)| name != Name::Summary && !closes) && {
            let (left, reasons) = without_reasoning(inside);
            let (left, drafts) = without_analysis(left);
            !reasons && !drafts && left.trim().is_empty()
        }
    };
    let blocks = fences(text).take_while(|(start, _)| *start < end).filter(is_draft);
    cut(text, blocks.map(|(start, end)| start..end))
}

/// Removes analysis blocks. Says whether one was never closed (its text is removed up to the summary, or to the end).
pub(super) fn without_analysis(text: &str) -> (String, bool) {
    let mut tags = tags(text);
    tags.retain(|tag| tag.name != Name::Reasoning);
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
