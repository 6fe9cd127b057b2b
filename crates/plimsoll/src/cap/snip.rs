//! The classic cut: a head, `[...snipped N bytes...]`, and a short tail; and `snip`, the same in memory.

use std::borrow::Cow;

use super::limit::Cap;
use super::policy::{Naming, Saved};
use super::screen::floor_character;
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
/// assert!(cut.contains("x\n[...snipped 935 bytes. not saved]\nx"));
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
    let removed = |end: usize, tail: usize| text.len().saturating_sub(end).saturating_sub(tail) as u64;
    classic(text, text, removed, limit, notes).text
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

/// Cuts a text of which at least the first and the last `limit` bytes are at hand. `removed` tells how many are left out
/// between this many of the head and this many of the tail.
pub(super) fn classic(
    head: &[u8],
    tail: &[u8],
    removed: impl Fn(usize, usize) -> u64,
    limit: usize,
    notes: &[Cow<'_, str>],
) -> Cut {
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
            let removed = removed(end, tail_taken);
            let number = removed.to_string();
            if number.len() <= digits {
                let text = [&*head_text, opening, &number, &closing, &tail_text].concat();
                return Cut { text, removed };
            }
        }
    }
    let (end, text) = lossy_start(head, limit);
    Cut { text: text.into_owned(), removed: removed(end, 0) }
}

/// Takes as much from the front as fits `most` bytes when shown; gives how much it took.
pub(super) fn lossy_start(bytes: &[u8], most: usize) -> (usize, Cow<'_, str>) {
    let window = bytes.get(..most.saturating_add(4)).unwrap_or(bytes);
    let mut taken = 0;
    let mut text = Cow::Borrowed("");
    for chunk in window.utf8_chunks() {
        let room = most.saturating_sub(text.len());
        let valid = chunk.valid().get(..floor_character(chunk.valid(), room)).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts of characters of one to four bytes, long enough for any cap that is tried.
    fn widths() -> [String; 6] {
        ["a", "é", "日", "😀", "aé日😀", "e\u{301}\n"].map(|piece| piece.repeat(5_000 / piece.len() + 1))
    }

    /// Takes a classic cut apart: head, the number, the note, tail.
    fn parts(cut: &str) -> Option<(&str, u64, Option<&str>, &str)> {
        let (head, rest) = cut.split_once("\n[...snipped ")?;
        let (inside, tail) = rest.split_once("]\n")?;
        match inside.split_once(" bytes. ") {
            Some((number, note)) => Some((head, number.parse().ok()?, Some(note), tail)),
            None => Some((head, inside.strip_suffix(" bytes...")?.parse().ok()?, None, tail)),
        }
    }

    #[test]
    fn every_cap_and_width_is_kept_and_the_number_is_true() {
        for text in &widths() {
            for limit in 0..=4_096_usize {
                for note in [None, Some("the middle is gone")] {
                    let cut = snip(text, Bytes(limit as u64), note);
                    assert!(cut.len() <= limit);
                    let Some((head, removed, _, tail)) = parts(&cut) else {
                        // No room for a marker: as much of the head as fits.
                        assert!(text.starts_with(&*cut) && limit - cut.len() < 4, "{limit}: {cut:?}");
                        continue;
                    };
                    assert!(text.starts_with(head) && text.ends_with(tail));
                    assert_eq!(head.len() + tail.len() + usize::try_from(removed).unwrap(), text.len(), "{limit}");
                    let wanted = 256.min(limit / 4);
                    assert!(tail.len() <= wanted && wanted - tail.len() < 4, "{limit}: {}", tail.len());
                    // The head has the rest, but for what a character or a digit more does not leave room for.
                    assert!(limit - cut.len() < 5, "{limit}: {}", cut.len());
                }
            }
        }
    }

    #[test]
    fn a_text_of_exactly_the_cap_is_unchanged() {
        for text in &widths() {
            let of = |bytes: usize| snip(text, Bytes(bytes as u64), Some("note"));
            assert!(matches!(of(text.len()), Cow::Borrowed(whole) if whole == text));
            assert!(of(text.len() - 1).len() < text.len());
        }
    }

    #[test]
    fn tiny_caps_cut_the_head_between_characters() {
        let of = |text: &str, limit| snip(text, Bytes(limit), Some("note")).into_owned();
        assert_eq!([0, 1, 2, 5, 16].map(|limit| of(&"é".repeat(99), limit).len()), [0, 0, 2, 4, 16]);
        assert_eq!([0, 1, 2, 5, 16].map(|limit| of(&"日".repeat(99), limit).len()), [0, 0, 0, 3, 15]);
        assert_eq!([0, 1, 2, 5, 16].map(|limit| of(&"😀".repeat(99), limit).len()), [0, 0, 0, 4, 16]);
        // 31 is the first of them where a marker might fit, and its tail does not.
        assert_eq!(of(&"é".repeat(99), 31), "é".repeat(15));
    }

    #[test]
    fn the_note_of_a_stored_result_degrades_by_steps() {
        let id = "s1/toolu_01".parse().unwrap();
        let naming = Naming::whole(&id).at(Some("/data/results/s1/toolu_01.txt"));
        let text = "x".repeat(9_000);
        let mut seen: Vec<Option<String>> = Vec::new();
        for limit in (0..=400).rev() {
            let notes = notes(Bytes(9_000), &naming);
            let cut =
                classic(text.as_bytes(), text.as_bytes(), |head, tail| (9_000 - head - tail) as u64, limit, &notes);
            assert!(cut.text.len() <= limit);
            let step = parts(&cut.text).map(|(_, removed, note, _)| {
                assert_eq!(removed, cut.removed);
                note.unwrap_or("no note").to_owned()
            });
            if let Some(note) = step.as_ref().filter(|note| *note != "no note") {
                // The step is the first for which marker and tail fit.
                let marker = "\n[...snipped 9000 bytes. ]\n".len() + note.len();
                assert!(marker + 256.min(limit / 4) <= limit, "{limit}: {note}");
            }
            if seen.last() != Some(&step) {
                seen.push(step);
            }
        }
        let steps: Vec<&str> = seen.iter().map(|step| step.as_deref().unwrap_or("no marker")).collect();
        assert_eq!(
            steps,
            [
                "9000 bytes in all, in /data/results/s1/toolu_01.txt; recall with id s1/toolu_01",
                "9000 bytes in all; recall with id s1/toolu_01",
                "9000 bytes in all; recall with id",
                "TRUNCATED",
                "no note",
                "no marker",
            ]
        );
    }

    #[test]
    fn what_could_not_be_saved_is_said_in_the_note() {
        let notes = notes(Bytes(9_000), &Naming::unsaved());
        let text = "x".repeat(9_000);
        let cut = classic(text.as_bytes(), text.as_bytes(), |head, tail| (9_000 - head - tail) as u64, 1_000, &notes);
        assert!(cut.text.contains("the middle could NOT be saved: run again with narrower output"));
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_text_stay_within_the_cap(
            text in proptest::collection::vec(prop_oneof![any::<u8>(), 0x80..=0xBFu8, Just(0xF0)], 0..6_000),
            limit in 0..4_100usize,
        ) {
            let cut = snip_bytes(&text, Bytes(limit as u64), Some("a note"));
            if text.len() <= limit {
                prop_assert_eq!(&*cut, text.as_slice());
            } else {
                prop_assert!(cut.len() <= limit);
                prop_assert!(str::from_utf8(&cut).is_ok());
            }
        }

        #[test]
        fn the_front_shown_lossily_is_the_front(text in proptest::collection::vec(any::<u8>(), 0..200), most in 0..300usize) {
            let (taken, shown) = lossy_start(&text, most);
            prop_assert!(shown.len() <= most);
            prop_assert_eq!(String::from_utf8_lossy(&text[..taken]), shown);
        }
    }
}
