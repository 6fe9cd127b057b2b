//! `places`: which message of the original each message of a rewritten conversation is.

use std::ops::Range;

use crate::wire::{Document, Edit};

/// Tells which message of the original each message of a rewritten conversation is; `None` for those that were written.
///
/// `edits` rewrote `original` so that its messages `removed` left, but for those `retained`, and `rewritten` is how many
/// messages there are now. What is planned on the rewritten conversation, which is what the model sees, can so be
/// recorded in terms of the original, which is what the client sends. `None` if the numbers contradict each other.
///
/// ```
/// use plimsoll::compact::places;
/// use plimsoll::wire::{Edit, ParseOptions, parse};
/// let body = br#"{"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let entries = document.entries();
/// let leaves = entries[0].span.join(entries[1].span);
/// let edits = [Edit::replace(leaves, &br#"{"role":"user","content":"what was"}"#[..])];
/// assert_eq!(places(&document, &edits, 0..2, &[], 2), Some(vec![None, Some(2)]));
/// ```
pub fn places(
    original: &Document<'_>,
    edits: &[Edit<'_>],
    removed: Range<usize>,
    retained: &[usize],
    rewritten: usize,
) -> Option<Vec<Option<usize>>> {
    let messages = original.transcript().messages.iter().enumerate();
    let is_gone = |entry: u32| {
        let entry = original.entries().get(entry as usize);
        entry.is_some_and(|entry| edits.iter().any(|edit| edit.with.is_empty() && edit.span.contains(entry.span)))
    };
    let tail = messages.skip(removed.end).filter(|(_, message)| !message.entries.iter().all(|entry| is_gone(*entry)));
    let tail: Vec<usize> = tail.map(|(index, _)| index).collect();
    let written = rewritten.checked_sub(removed.start + retained.len() + tail.len())?;
    let stay = |index: usize| Some(index);
    let mut places: Vec<Option<usize>> = (0..removed.start).map(stay).collect();
    places.extend(std::iter::repeat_n(None, written));
    places.extend(retained.iter().copied().map(stay));
    places.extend(tail.into_iter().map(stay));
    Some(places)
}
