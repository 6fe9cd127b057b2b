//! `PostToolUse`: a tool's answer inside its cap, in the tool's own shape. Everything but the texts that are cut leaves
//! exactly as it came.
//!
//! One text over: it is stored and cut as any result is. Several: they are stored together as one artifact, joined line
//! by line, so that there are two durable writes at most; each is cut within its share, and its marker says where in
//! the artifact its missing part stands.

use std::borrow::Cow;
use std::time::SystemTime;

use plimsoll::Bytes;
use plimsoll::cap::{Cap, Marker, Naming, Policy, Saved, Shape, batch, cap, cap_recalled, snip_bytes};
use plimsoll::id::{ArtifactId, Record, SessionId, ToolCallId};
use plimsoll::wire::{Edit, Span, Value, splice};
use plimsoll_store::{NewResult, Store, StoreError};

use super::HookFault;
use super::leaves::{Leaf, Leaves};
use crate::spill::{ToolResult, spill};

/// What a text says that was cut, and whose rest could not be stored.
const LOST: &str = "The middle could NOT be saved: run again with narrower output";
/// Room for the offsets of a marker to grow when they are counted from the artifact's start, in bytes.
const GROWTH: u64 = 24;

/// An answer to be capped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer<'a> {
    pub(super) session: &'a SessionId,
    pub(super) call: &'a ToolCallId,
    pub(super) tool: &'a str,
    pub(super) shape: Shape,
    /// Whether it is an answer of our own recall: bounded, and never stored again.
    pub(super) recalled: bool,
    pub(super) now: SystemTime,
}

/// A capped answer.
#[derive(Debug)]
pub(super) struct CappedAnswer {
    /// What the program is given: the answer with its long texts cut.
    pub(super) response: Vec<u8>,
    /// What the model is told beside it.
    pub(super) note: Option<String>,
    /// Why the whole could not be stored. The texts say so too.
    pub(super) fault: Option<StoreError>,
}

/// Whether an answer of so many bytes may be over a cap at all.
pub(super) fn may_exceed(response: Span, cap: Cap) -> bool {
    Bytes::from(response.len()) > cap.bytes()
}

/// Caps an answer; `None` if it is within the cap, or has nothing that may be cut.
pub(super) fn cap_answer(
    document: &[u8],
    response: Value<'_, '_>,
    limit: Cap,
    answer: &Answer<'_>,
    store: &Store,
) -> Result<Option<CappedAnswer>, HookFault> {
    let leaves = Leaves::of(response, answer.tool);
    let limit = limit.bytes();
    // Short texts stay, and take their part; at most half, so that something is left for the long ones.
    let room = Bytes(limit.0 - (leaves.short as u64).min(limit.0 / 2));
    let sizes: Vec<Bytes> = leaves.texts.iter().map(|leaf| Bytes::from(leaf.text.len())).collect();
    let over: Vec<(&Leaf<'_>, Bytes)> = leaves
        .texts
        .iter()
        .zip(batch(&sizes, room, room))
        .map(|(leaf, share)| (leaf, share.bytes()))
        .filter(|(leaf, share)| Bytes::from(leaf.text.len()) > *share)
        .collect();
    let (texts, fault) = match over.as_slice() {
        [] => return Ok(None),
        over if answer.recalled => (over.iter().map(|(leaf, share)| recalled(leaf, *share)).collect(), None),
        [(leaf, share)] => one(leaf, *share, answer, store),
        over => several(over, answer, store),
    };
    let note = over.iter().zip(&texts).find_map(|((leaf, _), text)| numbering(response, leaf, text));
    let mut edits = Vec::with_capacity(over.len());
    let base = response.span().start();
    for ((leaf, _), text) in over.iter().zip(&texts) {
        let span = Span::new(leaf.span.start().saturating_sub(base), leaf.span.end().saturating_sub(base));
        edits.push(Edit::replace(span.ok_or(HookFault::NoObject)?, leaf.spell(text).into_bytes()));
    }
    let response = splice(response.span().of(document), &edits)?.into_owned();
    Ok(Some(CappedAnswer { response, note, fault }))
}

fn recalled(leaf: &Leaf<'_>, share: Bytes) -> String {
    cap_recalled(&leaf.text, share).into_string()
}

fn one(leaf: &Leaf<'_>, share: Bytes, answer: &Answer<'_>, store: &Store) -> (Vec<String>, Option<StoreError>) {
    let result = ToolResult::new(answer.session, answer.call).of_tool(answer.tool).with_path().at(answer.now);
    let policy = Policy::new(share).with_shape(answer.shape);
    let spilled = spill(store, &result, leaf.text.as_bytes(), &policy);
    (vec![String::from_utf8_lossy(&spilled.text).into_owned()], spilled.fault)
}

fn several(over: &[(&Leaf<'_>, Bytes)], answer: &Answer<'_>, store: &Store) -> (Vec<String>, Option<StoreError>) {
    // Each text begins on a line of its own.
    let mut joined = String::new();
    let mut starts = Vec::with_capacity(over.len());
    for (leaf, _) in over {
        if !joined.is_empty() && !joined.ends_with('\n') {
            joined.push('\n');
        }
        starts.push(joined.len() as u64);
        joined.push_str(&leaf.text);
    }
    let cut = |id: &ArtifactId, saved: Saved| -> Vec<String> {
        let path = store.backend().path(&Record::Text(id.clone()).key());
        let naming = Naming { id: Some(id), path: path.as_deref().and_then(std::path::Path::to_str), saved };
        let pieces = over.iter().zip(&starts);
        pieces.map(|((leaf, share), start)| cut_part(&leaf.text, *share, *start, answer, &naming)).collect()
    };
    let _ = store.make_room(answer.session, answer.now);
    let result = NewResult {
        session: answer.session,
        call: answer.call,
        content: joined.as_bytes(),
        tool: Some(answer.tool),
        arguments: None,
        kind: None,
        now: answer.now,
    };
    // Frozen as the texts are: an array, in the order of the answer.
    let frozen = |id: &ArtifactId, saved| serde_json::to_string(&cut(id, told(saved))).ok();
    match store.put_result(&result, frozen) {
        Ok(stored) => {
            let kept =
                stored.meta.capped.as_deref().and_then(|frozen| serde_json::from_str::<Vec<String>>(frozen).ok());
            let fits = |texts: &Vec<String>| {
                let within = texts.iter().zip(over).all(|(text, (_, share))| Bytes::from(text.len()) <= *share);
                texts.len() == over.len() && within
            };
            (kept.filter(fits).unwrap_or_else(|| cut(&stored.id, told(stored.saved()))), None)
        }
        Err(fault) => {
            let texts = over.iter().map(|(leaf, share)| lost(&leaf.text, *share)).collect();
            (texts, Some(fault))
        }
    }
}

fn lost(text: &str, share: Bytes) -> String {
    String::from_utf8_lossy(&snip_bytes(text.as_bytes(), share, Some(LOST))).into_owned()
}

/// Cuts one of several texts: its marker counts from the start of the artifact that holds them all.
fn cut_part(text: &str, share: Bytes, start: u64, answer: &Answer<'_>, naming: &Naming<'_>) -> String {
    let room = if start == 0 { share } else { Bytes(share.0.saturating_sub(GROWTH)) };
    let policy = Policy::new(room).with_shape(answer.shape).for_tool(answer.tool);
    let shown = cap(text.as_bytes(), &policy, naming).into_string();
    let moved = Marker::find(&shown).and_then(|(span, mut marker)| {
        let left_out = marker.left_out.as_mut()?;
        *left_out = left_out.start.saturating_add(start)..left_out.end.saturating_add(start);
        Some([shown.get(..span.start)?, &marker.render(), shown.get(span.end..)?].concat())
    });
    moved.filter(|moved| Bytes::from(moved.len()) <= share).unwrap_or(shown)
}

const fn told(saved: plimsoll_store::Saved) -> Saved {
    match saved {
        plimsoll_store::Saved::Whole => Saved::Whole,
        plimsoll_store::Saved::First(bytes) => Saved::First(bytes),
    }
}

/// What a reader of numbered lines must know: a program that numbers what it is given counts on behind the gap.
fn numbering(response: Value<'_, '_>, leaf: &Leaf<'_>, shown: &str) -> Option<String> {
    let file = response.get("file").filter(|file| file.get("content").map(Value::span) == Some(leaf.span))?;
    let first = file.get("startLine")?.u64()?;
    let (span, marker) = Marker::find(shown)?;
    let end = usize::try_from(marker.left_out?.end).ok()?;
    let lines = |text: &[u8]| memchr::memchr_iter(b'\n', text).count() as u64;
    let real = first.saturating_add(lines(leaf.text.as_bytes().get(..end)?));
    let numbered = first.saturating_add(lines(shown.as_bytes().get(..span.end)?)).saturating_add(1);
    (real != numbered).then(|| {
        let name: Cow<'_, str> = file.get("filePath").and_then(Value::text).map_or("the file".into(), plimsoll::wire::Text::decode);
        let name: String = name.chars().filter(|c| !c.is_control()).take(200).collect();
        format!(
            "plimsoll cut the middle of {name}: behind its marker the line shown with number {numbered} is line {real} of \
             the file, and so on"
        )
    })
}

#[cfg(test)]
mod tests;
