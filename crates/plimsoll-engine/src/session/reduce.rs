//! Cheap reductions in a session: what leaves without a summary is stored first, and said in terms of what came.

use std::ops::Range;

use plimsoll::Tokens;
use plimsoll::budget::{Measure, Thresholds, Trigger};
use plimsoll::compact::{ChainHash, Epoch, Plan, Reduce, Replacement, apply_reductions, places, plan_or_reduce};
use plimsoll::id::{ArtifactId, EpochId};
use plimsoll::transcript::Obligations;
use plimsoll::wire::Document;
use plimsoll_store::Compaction;

use super::history::History;
use super::make::{Brief, Made, Told};
use crate::reduce::keep;

/// Who is told of as having made the room.
pub(super) const REDUCTIONS: &str = "reductions";

/// What names an epoch in a session, and tells it from others of the same history.
///
/// A summary is named by the prefix that it replaces. Reductions have names of their own, since a summary may come to
/// stand for the very prefix that they changed.
pub(super) fn key(epoch: &Epoch) -> ChainHash {
    if epoch.is_of_reductions() { reductions_key(epoch.chain) } else { epoch.chain }
}

/// The key of reductions up to a prefix.
pub(super) fn reductions_key(prefix: ChainHash) -> ChainHash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(REDUCTIONS.as_bytes()).update(prefix.as_bytes());
    hasher.finalize().into()
}

/// How epochs that match one history go before each other: summaries before reductions, whose pieces a summary stands
/// for; of a kind the one of the longest prefix.
pub(super) fn rank(epoch: &Epoch) -> (bool, usize) {
    (!epoch.is_of_reductions(), epoch.prefix)
}

/// Whether an epoch is enough for what a history has come to since.
///
/// A summary is, unless the tail has become so long that the request would be too long all the same. Reductions save what
/// they save: where that leaves less room below the threshold than they must make, they would be made again at the next
/// turn.
pub(super) fn is_enough(epoch: &Epoch, history: &History, thresholds: &Thresholds, trigger: Trigger) -> bool {
    let after = history.used().0 - (epoch.tokens_before - epoch.tokens_after);
    if !epoch.is_of_reductions() {
        return trigger == Trigger::Manual || after < thresholds.hard;
    }
    let room = Tokens(20_000).min(Tokens((thresholds.budget + thresholds.reserve).0 / 10));
    after <= thresholds.target || (trigger == Trigger::Threshold && after + room <= thresholds.compact)
}

impl Brief {
    /// Reduces, where that is enough; `None` where a summary is to be made.
    ///
    /// What a summary stands for is not in the conversation as it came in a way that reductions could be recorded beside
    /// it, so while one is in force there are none. Without a store there are none either: what leaves must come back.
    pub(super) fn reduce(&self, sent: &Document<'_>, original: &Document<'_>, measure: &Measure) -> Option<Made> {
        // Whoever says what a summary should heed wants one.
        let wants_words = self.trigger == Trigger::Manual && (self.instructions.is_some() || self.force);
        let in_force = self.history.in_force.as_ref().map(|in_force| &*in_force.epoch);
        if self.extract_only
            || self.unstored
            || wants_words
            || in_force.is_some_and(|epoch| !epoch.is_of_reductions())
        {
            return None;
        }
        let (thresholds, options) = self.judged_by(sent, measure);
        // Candidates are counted without holding up requests that count meanwhile.
        let mut meter = self.lock_meter().clone();
        let obligations = Obligations::of(sent.transcript());
        let planned = plan_or_reduce(sent, &obligations, measure, &meter, &thresholds, &options);
        let Plan::Reduce(planned) = planned else {
            return None;
        };
        // Each batch finds less to reduce. Upon reductions only what makes room for long is none too little.
        if in_force.is_some() && planned.tokens_after > thresholds.target {
            return None;
        }
        let reduce = self.as_it_came(planned, sent, original)?;
        let earlier = in_force.map_or(&[][..], |epoch| &epoch.reductions);
        // What is named must be named by more than what is in force, or it would never be found.
        let reaches = reduce.reductions.last().map_or(0, |last| last.message + 1);
        if in_force.is_some_and(|epoch| reaches <= epoch.prefix) {
            return None;
        }
        let now = (self.options.clock)();
        let stored =
            reduce.reductions.iter().map(|piece| keep(original, piece, &self.session, Some(&self.store), now));
        let stored: Vec<Option<ArtifactId>> = stored.collect::<Result<_, _>>().ok()?;
        let ids: Vec<Option<String>> = stored.iter().map(|id| id.as_ref().map(ToString::to_string)).collect();
        let mut reduced = apply_reductions(original, &reduce, &ids, &mut meter).ok()?;
        if reduced.replaced.len() < reduce.reductions.len() {
            // A part could not be kept whole, and the rest was not planned to be enough.
            return None;
        }
        let pieces = reduced.replaced.len();
        reduced.replaced.extend(earlier.iter().cloned());
        reduced.replaced.sort_by_key(place);
        let mut epoch = Epoch::of_reductions(original.format(), &self.history.chain, &reduced)?;
        (epoch.tokens_before, epoch.tokens_after) = (reduce.tokens_before, reduce.tokens_after);
        let name = EpochId::new(&self.session, key(&epoch).as_bytes());
        let compaction = Compaction {
            epoch: &name,
            document: original.bytes(),
            removed: &removed(original, &epoch)?,
            artifacts: &artifacts(&epoch),
            record: b"",
            now,
        };
        let archived = self.store.archive_body(&compaction).ok()?;
        epoch.artifact = Some(archived.epoch.to_string());
        epoch.policy = serde_json::json!({
            "trigger": self.trigger, "summarizer": REDUCTIONS, "thresholds": self.thresholds,
        });
        // What cannot be done again for this very history is not done.
        epoch.replay(original, &self.history.chain).ok()?;
        let told = Told { by: REDUCTIONS.to_owned(), fallback: None, carried: None, reduced: pieces };
        Some(Made { brief: self.served(), epoch, name, archived: true, told: Some(told) })
    }

    /// A plan of what is sent, in terms of the messages as they came.
    fn as_it_came(&self, mut reduce: Reduce, sent: &Document<'_>, original: &Document<'_>) -> Option<Reduce> {
        let (came, goes) = (&original.transcript().messages, &sent.transcript().messages);
        reduce.messages = came.len();
        if self.history.in_force.is_none() {
            return Some(reduce);
        }
        let places = places(original, &self.history.edits(), 0..0, &[], goes.len())?;
        for piece in &mut reduce.reductions {
            let message = places.get(piece.message).copied().flatten()?;
            // Thinking that left a message moves its other blocks; no result stands in such a one.
            if came.get(message)?.blocks.len() != goes.get(piece.message)?.blocks.len() {
                return None;
            }
            piece.message = message;
        }
        Some(reduce)
    }
}

fn place(piece: &Replacement) -> (usize, usize, Option<usize>) {
    (piece.message, piece.block, piece.part)
}

/// The bytes that reductions leave out of a document.
pub(super) fn removed(document: &Document<'_>, epoch: &Epoch) -> Option<Vec<Range<u64>>> {
    let spans = epoch.reductions.iter().map(|piece| document.replaceable(piece.message, piece.block, piece.part));
    let spans: Option<Vec<_>> = spans.collect();
    let mut removed: Vec<Range<u64>> =
        spans?.into_iter().map(|span| span.start() as u64..span.end() as u64).collect();
    removed.sort_by_key(|range| range.start);
    Some(removed)
}

/// What reductions stored of what they leave out.
pub(super) fn artifacts(epoch: &Epoch) -> Vec<ArtifactId> {
    let mut ids: Vec<ArtifactId> = epoch.reductions.iter().filter_map(|piece| piece.artifact.parse().ok()).collect();
    ids.sort();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests;
