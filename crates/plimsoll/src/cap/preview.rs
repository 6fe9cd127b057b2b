//! Composing what is shown: head, marker, what stands out, tail, all within the cap.

use std::borrow::Cow;
use std::ops::Range;

use super::finds::Shown;
use super::json::Json;
use super::kind::Kind;
use super::marker::Marker;
use super::minified;
use super::outline::outline;
use super::policy::{Capped, Naming, Policy, Shape};
use super::rows;
use super::scan::Found;
use super::screen::{self, Part};
use super::snip;
use crate::Bytes;
use crate::utf16::{Utf16, stored_bytes};

/// What is known of a text that is over its cap. Of one in UTF-16 all but `stored` is about what it is as UTF-8.
pub(super) struct Seen<'s> {
    /// Its first bytes, more than the cap.
    pub(super) head: &'s [u8],
    /// Its last bytes, more than the cap; they may overlap the first.
    pub(super) tail: &'s [u8],
    pub(super) total: u64,
    pub(super) found: &'s Found,
    /// How it is stored, and how long it is so, if it is in UTF-16.
    pub(super) stored: Option<(Utf16, u64)>,
}

impl Seen<'_> {
    /// The size of the text as it is stored.
    fn bytes(&self) -> Bytes {
        Bytes(self.stored.map_or(self.total, |(_, bytes)| bytes))
    }

    /// What is left out of the text as it is stored, behind this much of the head and before this much of the tail.
    fn left_out(&self, head: usize, tail: usize) -> Range<u64> {
        let Some((_, bytes)) = self.stored else {
            return head as u64..self.total.saturating_sub(tail as u64).max(head as u64);
        };
        let shown = |part: &[u8], what: Range<usize>| stored_bytes(part.get(what).unwrap_or_default());
        // The mark goes with what follows it.
        let front = if head == 0 { 0 } else { 2 + shown(self.head, 0..head) };
        let back = shown(self.tail, self.tail.len().saturating_sub(tail)..self.tail.len());
        // What a byte that is left over stands for is taken for two.
        let back = back.saturating_sub(if tail > 0 { bytes % 2 } else { 0 });
        front.min(bytes)..bytes.saturating_sub(back).max(front.min(bytes))
    }
}

/// What stands between head and tail, below the marker.
#[derive(Default)]
struct Middle {
    /// A list or an outline under a heading.
    structure: String,
    /// Whether the structure could fill all the room there is: ends beside it would say nothing that it does not.
    alone: bool,
    heading: String,
    /// Lines under the heading; those that turn out to be in head or tail are left out.
    lines: Vec<Shown>,
}

impl Middle {
    fn text(&self, within: &Range<u64>) -> String {
        let mut text = self.structure.clone();
        let mut lines = self.lines.iter().filter(|shown| within.contains(&shown.at)).peekable();
        if lines.peek().is_some() {
            text.push_str(&self.heading);
            text.extend(lines.map(|shown| shown.text.as_str()));
        }
        text
    }
}

const ENDS: &str = "[plimsoll: the content goes on";

/// Composes the preview of a text that is over its cap.
pub(super) fn compose(seen: &Seen<'_>, policy: &Policy, limit: usize, naming: &Naming<'_>) -> Capped<'static> {
    let shaped = match policy.shape {
        Shape::Classic => None,
        Shape::Default => by_kind(seen, limit, naming),
    };
    let (text, omitted, marker) = shaped.unwrap_or_else(|| {
        // In UTF-16 it may be over the cap that it is not over as it is shown.
        if seen.total <= limit as u64 {
            return (String::from_utf8_lossy(seen.head).into_owned(), 0, None);
        }
        let notes = snip::notes(seen.bytes(), naming);
        let removed = |head, tail| {
            let left_out = seen.left_out(head, tail);
            left_out.end - left_out.start
        };
        let cut = snip::classic(seen.head, seen.tail, removed, limit, &notes);
        (cut.text, cut.removed, None)
    });
    Capped {
        text: Cow::Owned(text.into_bytes()),
        was_capped: true,
        omitted: Bytes(omitted),
        bytes: seen.bytes(),
        lines: seen.found.lines,
        kind: seen.found.kind,
        marker,
    }
}

/// The default shape; none if the cap is too small for its marker.
fn by_kind(seen: &Seen<'_>, limit: usize, naming: &Naming<'_>) -> Option<(String, u64, Option<Marker>)> {
    let kind = seen.found.kind;
    let mut marker = Marker {
        kind,
        encoding: seen.stored.map(|(encoding, _)| encoding),
        bytes: seen.bytes(),
        lines: seen.found.lines,
        // As wide as it can get: what is left out is known only when the parts are cut.
        left_out: Some(seen.bytes().0..seen.bytes().0),
        saved: naming.saved,
        id: naming.id.cloned(),
        path: naming.path.map(str::to_owned),
    };
    // Markers that would take more than a quarter of a small cap say less.
    if marker.render().len() > limit / 4 {
        marker.path = None;
    }
    if marker.render().len() > limit / 3 {
        marker.left_out = None;
    }
    // A line feed before it, and one after.
    let room = limit.checked_sub(marker.render().len() + 2).filter(|room| *room >= limit / 2)?;
    // Once to learn what is left out, and what of it stands out; then with the room that this leaves.
    let first = Ends::cut(seen, kind, room - room / 4);
    let middle = middle(seen, kind, (limit, room), &first.left_out);
    let text = middle.text(&first.left_out);
    let closing = if text.is_empty() { 0 } else { closing(seen, &Part::default()).len() };
    let beside = if middle.alone { 0 } else { room.saturating_sub(text.len() + closing) };
    let ends = Ends::cut(seen, kind, beside);
    // Wider ends may show more of what stood between them, but not more of it stands between.
    let text = middle.text(&ends.left_out);
    let left_out = seen.left_out(ends.front.end, ends.back.end - ends.back.start);
    // Nothing is left out where escape sequences were what made the text long.
    marker.left_out = marker.left_out.map(|_| left_out.clone()).filter(|left_out| !left_out.is_empty());
    let mut shown = ends.front.text;
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown.push_str(&marker.render());
    shown.push('\n');
    if !text.is_empty() {
        shown.push_str(&text);
        if !ends.back.text.is_empty() {
            shown.push_str(&self::closing(seen, &ends.back));
        }
    }
    shown.push_str(&ends.back.text);
    Some((shown, left_out.end - left_out.start, Some(marker)))
}

/// Head and tail, and what is between them.
struct Ends {
    front: Part,
    back: Part,
    left_out: Range<u64>,
}

impl Ends {
    fn cut(seen: &Seen<'_>, kind: Kind, room: usize) -> Self {
        // Scraps of JSON beside its outline say nothing.
        let room = if kind == Kind::Json && room < 256 { 0 } else { room };
        let mut front = screen::front(seen.head, room * kind.head_share() / 100);
        if kind == Kind::Minified {
            end_with_a_statement(&mut front, seen.head);
        }
        let mut back = back(seen, front.end as u64, room - front.text.len());
        if kind == Kind::Minified {
            begin_with_a_statement(&mut back, seen.tail);
        }
        let left_out = front.end as u64..seen.total - (back.end - back.start) as u64;
        Self { front, back, left_out }
    }
}

/// Shortens the head of code in one line to where a statement ends, if what goes is shown as it is in the text.
fn end_with_a_statement(front: &mut Part, head: &[u8]) {
    let Some(at) = minified::cut_before_end(&front.text).filter(|_| !front.text.ends_with('\n')) else {
        return;
    };
    let end = front.end.saturating_sub(front.text.len() - at);
    if head.get(end..front.end) == front.text.as_bytes().get(at..) {
        front.text.truncate(at);
        front.end = end;
    }
}

/// Shortens the tail of code in one line to where a statement begins, likewise.
fn begin_with_a_statement(back: &mut Part, tail: &[u8]) {
    let start = tail.len().saturating_sub(back.end - back.start);
    let begins_a_line = start.checked_sub(1).and_then(|before| tail.get(before)) == Some(&b'\n');
    let Some(at) = minified::cut_after_start(&back.text).filter(|_| !begins_a_line) else {
        return;
    };
    if tail.get(start..start + at) == back.text.as_bytes().get(..at) {
        back.text.drain(..at);
        back.start += at;
    }
}

/// The tail, from where the head ends at the earliest.
fn back(seen: &Seen<'_>, from: u64, most: usize) -> Part {
    let begins = seen.total - seen.tail.len() as u64;
    let since =
        |start: u64| usize::try_from(start - begins).ok().and_then(|skip| seen.tail.get(skip..)).unwrap_or_default();
    let last = |wanted: usize| from.max(begins).max(seen.total.saturating_sub(wanted as u64));
    // Enough raw text for what can be shown, and no more than that costs: escape sequences collapse, plain text does not.
    let mut start = last(most.saturating_mul(8).max(64 * 1024));
    let plain = last(most.saturating_add(16 * 1024));
    if plain > start && screen::is_plain(since(plain)) {
        start = plain;
    }
    let window = since(start);
    screen::back(window, most, start == from)
}

/// The line between what stands out and the tail: where the tail begins. For an empty tail it is as long as it gets.
fn closing(seen: &Seen<'_>, back: &Part) -> String {
    let line = if back.text.is_empty() {
        seen.found.lines
    } else {
        let end = seen.tail.len();
        let shown = seen.tail.get(end - (back.end - back.start)..).unwrap_or_default();
        let feeds = memchr::memchr_iter(b'\n', shown).count() as u64;
        let unfinished = u64::from(shown.last().is_some_and(|byte| *byte != b'\n'));
        (seen.found.lines + 1).saturating_sub(feeds + unfinished)
    };
    format!("{ENDS} at line {line}]\n")
}

fn middle(seen: &Seen<'_>, kind: Kind, (limit, room): (usize, usize), left_out: &Range<u64>) -> Middle {
    let found = seen.found;
    let closing = closing(seen, &Part::default()).len();
    let quarter = (limit / 4).min(room / 2);
    let lines = |heading: String| {
        let most = quarter.saturating_sub(heading.len() + closing);
        Middle { lines: found.passed.finds.choose(left_out, most), heading, ..Middle::default() }
    };
    // How many there are says how much is not shown of them.
    let trouble = || {
        let finds = &found.passed.finds;
        let (least, count) = (if finds.more { "at least " } else { "" }, finds.count);
        let heading = format!("[plimsoll: lines left out that stand out, of {least}{count} in all]\n");
        // A flood of lines that begins where it is shown is told in a line, and takes no more room.
        let floods = finds.floods(left_out, quarter.saturating_sub(closing) / 2);
        let most = quarter.saturating_sub(heading.len() + closing + floods.len());
        Middle { structure: floods, lines: finds.choose(left_out, most), heading, ..Middle::default() }
    };
    // Beside a structure, what stands out has a part of the room; what it does not need, the structure has.
    let beside = |share: usize| {
        let finds = &found.passed.finds;
        let (least, count) = (if finds.more { "at least " } else { "" }, finds.count);
        let what = if kind == Kind::Json { "members" } else { "lines" };
        let heading = format!("[plimsoll: {what} left out that stand out, of {least}{count} in all]\n");
        let lines = finds.choose(left_out, share.saturating_sub(heading.len()));
        let size = lines.iter().map(|shown| shown.text.len()).sum::<usize>();
        let size = if size == 0 { 0 } else { size + heading.len() };
        (Middle { heading, lines, ..Middle::default() }, size)
    };
    match kind {
        Kind::Output | Kind::Log | Kind::Text => trouble(),
        Kind::File => lines("[plimsoll: headings and definitions left out, with their lines]\n".to_owned()),
        Kind::Diff => {
            let (lines, size) = beside(quarter / 2);
            let heading = "[plimsoll: the patch has ";
            let list = found.passed.diff.list((room / 2).saturating_sub(heading.len() + closing + 1 + size));
            let structure = list.map(|list| {
                let (first, rest) = list.split_once('\n').unwrap_or((&list, ""));
                format!("{heading}{first}]\n{rest}")
            });
            Middle { structure: structure.unwrap_or_default(), ..lines }
        }
        Kind::Json => {
            let (lines, size) = beside(quarter / 2);
            let heading = "[plimsoll: its structure]\n";
            // What is broken off is shown with its end: something may have gone wrong there.
            let open = found.json.as_ref().is_some_and(Json::is_open);
            let most = if open { room / 2 } else { room }.saturating_sub(heading.len() + closing + size);
            let shown = found.json.as_ref().and_then(|json| outline(json, most));
            let (outline, more) =
                shown.map_or_else(Default::default, |(outline, more)| ([heading, &outline].concat(), more));
            Middle { structure: outline, alone: more && !open, ..lines }
        }
        Kind::JsonLines => {
            let heading = "[plimsoll: the structure of the first value]\n";
            let first = found.json.as_ref().and_then(|json| outline(json, quarter.saturating_sub(heading.len())));
            let first = first.map(|(outline, _)| [heading, &outline].concat());
            let lines = trouble();
            Middle { structure: first.unwrap_or_default() + &lines.structure, ..lines }
        }
        Kind::Table => {
            let header = screen::shown_line(&rows::header(seen.head), room / 8);
            let rows = found.passed.rows.count();
            let structure = format!("[plimsoll: a header and {rows} rows; the header again]\n{header}\n");
            Middle { structure, ..beside(quarter.saturating_sub(closing)).0 }
        }
        Kind::Minified => {
            let (lines, size) = beside(quarter / 2);
            let heading = "[plimsoll: what it gives names to]\n";
            let list = found.passed.names.list(quarter.saturating_sub(heading.len() + closing + size));
            Middle { structure: list.map(|list| [heading, &list].concat()).unwrap_or_default(), ..lines }
        }
        Kind::Listing => beside(quarter.saturating_sub(closing)).0,
        Kind::Binary => Middle::default(),
    }
}
