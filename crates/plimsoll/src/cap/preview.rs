//! Composing what is shown: head, marker, what stands out, tail, all within the cap.

use std::borrow::Cow;

use super::marker::Marker;
use super::policy::{Capped, Naming, Policy, Shape};
use super::scan::Found;
use super::screen::{self, Part};
use super::snip;
use crate::Bytes;

/// What is known of a text that is over its cap.
pub(super) struct Seen<'s> {
    /// Its first bytes, more than the cap.
    pub(super) head: &'s [u8],
    /// Its last bytes, more than the cap; they may overlap the first.
    pub(super) tail: &'s [u8],
    pub(super) total: u64,
    pub(super) found: &'s Found,
}

/// Composes the preview of a text that is over its cap.
pub(super) fn compose(seen: &Seen<'_>, policy: &Policy, limit: usize, naming: &Naming<'_>) -> Capped<'static> {
    let shaped = match policy.shape {
        Shape::Classic => None,
        Shape::Default => by_kind(seen, limit, naming),
    };
    let (text, omitted, marker) = shaped.unwrap_or_else(|| {
        let notes = snip::notes(Bytes(seen.total), naming);
        let cut = snip::classic(seen.head, seen.tail, seen.total, limit, &notes);
        (cut.text, cut.removed, None)
    });
    Capped {
        text: Cow::Owned(text.into_bytes()),
        was_capped: true,
        omitted: Bytes(omitted),
        bytes: Bytes(seen.total),
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
        bytes: Bytes(seen.total),
        lines: seen.found.lines,
        // As wide as it can get: what is left out is known only when the parts are cut.
        left_out: Some(seen.total..seen.total),
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
    let front = screen::front(seen.head, room * kind.head_share() / 100);
    let back = back(seen, front.end as u64, room - front.text.len());
    let left_out = front.end as u64..seen.total - (back.end - back.start) as u64;
    if marker.left_out.is_some() {
        marker.left_out = Some(left_out.clone());
    }
    let mut text = front.text;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&marker.render());
    text.push('\n');
    text.push_str(&back.text);
    Some((text, left_out.end - left_out.start, Some(marker)))
}

/// The tail, from where the head ends at the earliest.
fn back(seen: &Seen<'_>, from: u64, most: usize) -> Part {
    let begins = seen.total - seen.tail.len() as u64;
    // Enough raw text for what can be shown, and no more than that costs.
    let wanted = most.saturating_mul(8).max(64 * 1024) as u64;
    let start = from.max(begins).max(seen.total.saturating_sub(wanted));
    let window = usize::try_from(start - begins).ok().and_then(|skip| seen.tail.get(skip..)).unwrap_or_default();
    screen::back(window, most, start == from)
}
