//! The classic cut: a head, `[...snipped N bytes...]`, and a short tail; and `snip`, the same in memory.

use std::borrow::Cow;

use super::limit::Cap;
use super::policy::{Naming, Saved};
use crate::Bytes;

/// The most that a classic tail takes.
const TAIL: usize = 256;

/// What a note says when nothing longer fits.
const TRUNCATED: &str = "TRUNCATED";

/// Cuts a text in memory: head, a marker with the true number of removed bytes, and a tail of `min(256, cap / 4)` bytes.
///
/// The result is never longer than the cap. Cuts fall on character boundaries. A note that does not fit is shortened
/// to `TRUNCATED` and then left out; a cap without room for a marker gives a plain cut of the head, a cap of 0 nothing.
/// A text at or under the cap is returned as it is.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::snip;
/// let text = "x".repeat(1_000);
/// let cut = snip(&text, Bytes(100), Some("not saved"));
/// assert_eq!(cut.len(), 100);
/// assert!(cut.contains("x\n[...snipped 938 bytes. not saved]\nx"));
/// assert_eq!(snip("short", Bytes(100), None), "short");
/// assert_eq!(snip("日本語", Bytes(5), None), "日");
/// ```
#[doc(alias = "SnipToolResult")]
pub fn snip<'t>(text: &'t str, cap: impl Into<Cap>, note: Option<&str>) -> Cow<'t, str> {
    let limit = cap.into().limit();
    if text.len() <= limit { Cow::Borrowed(text) } else { Cow::Owned(in_memory(text.as_bytes(), limit, note)) }
}

/// Cuts bytes that need not be UTF-8, as [`snip`] does.
///
/// Where they are not, the cut text shows U+FFFD in their place; a result at or under the cap is returned as it is.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::snip_bytes;
/// assert_eq!(&*snip_bytes(b"\xff\xfe", Bytes(2), None), b"\xff\xfe");
/// assert_eq!(&*snip_bytes(b"\xff\xfe", Bytes(1), None), b"");
/// ```
pub fn snip_bytes<'t>(text: &'t [u8], cap: impl Into<Cap>, note: Option<&str>) -> Cow<'t, [u8]> {
    let limit = cap.into().limit();
    if text.len() <= limit { Cow::Borrowed(text) } else { Cow::Owned(in_memory(text, limit, note).into_bytes()) }
}

fn in_memory(text: &[u8], limit: usize, note: Option<&str>) -> String {
    let notes: Vec<Cow<'_, str>> = note.map(Cow::Borrowed).into_iter().chain([Cow::Borrowed(TRUNCATED)]).collect();
    let notes = if note.is_some() { notes.as_slice() } else { &[] };
    classic(text, text, text.len() as u64, limit, notes).text
}

/// A classic cut, and how many bytes are not in it.
pub(super) struct Cut {
    pub(super) text: String,
    pub(super) removed: u64,
}

/// What the note of a stored result says, from the most to the least.
pub(super) fn notes(total: Bytes, naming: &Naming<'_>) -> Vec<Cow<'static, str>> {
    let total = total.0;
    let mut steps = Vec::new();
    let what = match naming.saved {
        Saved::Whole => format!("{total} bytes in all"),
        Saved::First(Bytes(first)) => format!("{total} bytes in all, first {first} bytes saved"),
        Saved::Not => {
            steps
                .push(format!("{total} bytes in all, the middle could NOT be saved: run again with narrower output"));
            format!("{total} bytes in all, NOT saved")
        }
    };
    match (naming.path, naming.id) {
        (Some(path), Some(id)) => steps.push(format!("{what}, in {path}; recall with id {id}")),
        (Some(path), None) => steps.push(format!("{what}, in {path}")),
        _ => {}
    }
    if let Some(id) = naming.id {
        steps.push(format!("{what}; recall with id {id}"));
        steps.push(format!("{what}; recall with id"));
    } else {
        steps.push(what);
    }
    steps.into_iter().map(Cow::Owned).chain([Cow::Borrowed(TRUNCATED)]).collect()
}

/// Cuts a text of which at least the first and the last `limit` bytes are at hand.
pub(super) fn classic(head: &[u8], tail: &[u8], total: u64, limit: usize, notes: &[Cow<'_, str>]) -> Cut {
    let tail_most = TAIL.min(limit / 4);
    let (tail_taken, tail_text) = lossy_end(tail, tail_most);
    let steps = notes.iter().map(|note| format!(" bytes. {note}]\n")).chain([" bytes...]\n".to_owned()]);
    for closing in steps {
        let opening = "\n[...snipped ";
        // The number is part of what it counts around, so its length is tried from one digit up.
        for digits in 1..=20 {
            let marker = opening.len() + digits + closing.len();
            if marker.saturating_add(tail_most) > limit {
                break;
            }
            let (end, head_text) = lossy_start(head, limit.saturating_sub(marker + tail_text.len()));
            let removed = total.saturating_sub(end as u64).saturating_sub(tail_taken as u64);
            let number = removed.to_string();
            if number.len() <= digits {
                let text = [&*head_text, opening, &number, &closing, &tail_text].concat();
                return Cut { text, removed };
            }
        }
    }
    let (end, text) = lossy_start(head, limit);
    Cut { text: text.into_owned(), removed: total.saturating_sub(end as u64) }
}

/// Takes as much from the front as fits `most` bytes when shown; gives how much it took.
pub(super) fn lossy_start(bytes: &[u8], most: usize) -> (usize, Cow<'_, str>) {
    let window = bytes.get(..most.saturating_add(4)).unwrap_or(bytes);
    let mut taken = 0;
    let mut text = Cow::Borrowed("");
    for chunk in window.utf8_chunks() {
        let room = most.saturating_sub(text.len());
        let valid = floor(chunk.valid(), room);
        append(&mut text, valid);
        taken += valid.len();
        if valid.len() < chunk.valid().len() {
            break;
        }
        let invalid = chunk.invalid();
        // What the window cuts off may be the start of a good character.
        let whole = taken + invalid.len() < window.len() || window.len() == bytes.len();
        if invalid.is_empty() || !whole || text.len() + char::REPLACEMENT_CHARACTER.len_utf8() > most {
            break;
        }
        append(&mut text, "\u{fffd}");
        taken += invalid.len();
    }
    (taken, text)
}

/// Takes at most `most` bytes from the end, from a character start on, so that they fit when shown.
fn lossy_end(bytes: &[u8], most: usize) -> (usize, Cow<'_, str>) {
    let mut start = bytes.len().saturating_sub(most);
    let is_continuation = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    for _ in 0..3 {
        if start > 0 && is_continuation(start) {
            start += 1;
        }
    }
    loop {
        let rest = bytes.get(start..).unwrap_or_default();
        let text = String::from_utf8_lossy(rest);
        if text.len() <= most {
            return (rest.len(), text);
        }
        // Each replacement adds at most two bytes, and goes with the byte it stands for.
        start += (text.len() - most).div_ceil(3).max(1);
    }
}

fn append<'t>(text: &mut Cow<'t, str>, part: &'t str) {
    if text.is_empty() {
        *text = Cow::Borrowed(part);
    } else if !part.is_empty() {
        text.to_mut().push_str(part);
    }
}

fn floor(text: &str, most: usize) -> &str {
    (0..=most.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}
