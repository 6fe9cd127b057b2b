//! Reductions from end to end: each piece is stored, then the document, then the epoch, and only then the edits given.

use std::time::SystemTime;

use plimsoll::Tokens;
use plimsoll::budget::{Counting, Meter};
use plimsoll::compact::{Chain, Epoch, Reduce, Reduced, Reduction, apply_reductions, body};
use plimsoll::id::{ArtifactId, EpochId, SessionId, ToolCallId};
use plimsoll::transcript::{BlockKind, Transcript};
use plimsoll::wire::{Document, Edit, parse, splice};
use plimsoll_store::{Compaction, NewResult, Saved, Store};
use serde::Serialize;

use crate::EngineError;

/// What was left out where that was enough, so that no summary was written. Field names are stable: `docs/json.md`.
#[derive(Debug, Clone, Serialize)]
pub struct Reductions {
    /// Results that later ones stand for: read again, changed since, or the same text again.
    pub superseded: usize,
    /// Large old results.
    pub large: usize,
    /// Pictures, documents and other files.
    pub media: usize,
    /// What left, the lines that stand in its place deducted.
    pub removed_tokens: Tokens,
    /// What stands after the first change, and is written to the prompt cache anew.
    pub rewritten_tokens: Tokens,
    /// Each piece.
    pub pieces: Vec<Piece>,
}

/// A piece that was left out.
#[derive(Debug, Clone, Serialize)]
pub struct Piece {
    /// The message's index.
    pub message: usize,
    /// Why: `read_again`, `changed`, `repeated`, `old` or `media`.
    pub reason: &'static str,
    /// What it was.
    pub what: String,
    /// What it counted.
    pub tokens: Tokens,
    /// Its recall id.
    pub artifact: String,
}

/// What came of reductions.
pub(crate) struct Done {
    pub(crate) edits: Vec<Edit<'static>>,
    pub(crate) tokens_after: Tokens,
    pub(crate) prefix: usize,
    pub(crate) messages_after: usize,
    pub(crate) reductions: Reductions,
    /// `None` where nothing was stored.
    pub(crate) epoch: Option<EpochId>,
}

/// Carries reductions out. Without a store nothing is stored, and the edits are those that would be made.
///
/// `None` if nothing could be left out after all: the store keeps only a part of what is over its quota, and such a
/// piece stays.
pub(crate) fn reduce(
    document: &Document<'_>,
    reduce: &Reduce,
    (session, chain): (&SessionId, &Chain),
    target: Option<Tokens>,
    meter: &mut Meter<Counting>,
    store: Option<&Store>,
    now: SystemTime,
) -> Result<Option<Done>, EngineError> {
    let ids = reduce.reductions.iter().map(|reduction| keep(document, reduction, session, store, now));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let named: Vec<Option<String>> = ids.iter().map(|id| id.as_ref().map(ToString::to_string)).collect();
    let reduced = apply_reductions(document, reduce, &named, meter)?;
    if reduced.replaced.is_empty() || target.is_some_and(|target| reduced.tokens_after > target) {
        return Ok(None);
    }
    let mut done = Done {
        edits: reduced.edits.clone(),
        tokens_after: reduced.tokens_after,
        prefix: reduced.prefix,
        messages_after: reduced.messages_after,
        reductions: told(reduce, &reduced),
        epoch: None,
    };
    if let Some(store) = store {
        let (edits, tokens_after, epoch) = archive(document, chain, session, &reduced, &ids, meter, store, now)?;
        (done.edits, done.tokens_after, done.epoch) = (edits, tokens_after, Some(epoch));
    }
    Ok(Some(done))
}

/// Stores a piece, durably; gives the id under which the whole of it is recalled.
pub(crate) fn keep(
    document: &Document<'_>,
    reduction: &Reduction,
    session: &SessionId,
    store: Option<&Store>,
    now: SystemTime,
) -> Result<Option<ArtifactId>, EngineError> {
    let Some(content) = body(document, reduction) else {
        return Ok(None);
    };
    let call = call_of(document.transcript(), reduction)
        .unwrap_or_else(|| format!("piece-{}", blake3::hash(&content).to_hex().chars().take(16).collect::<String>()));
    let call = ToolCallId::new(&call);
    let Some(store) = store else {
        return Ok(Some(ArtifactId::new(session, &call)));
    };
    let kind = if reduction.reason == plimsoll::compact::Cause::Media { "media" } else { "text" };
    let result =
        NewResult { session, call: &call, content: &content, tool: None, arguments: None, kind: Some(kind), now };
    let stored = store.put_result(&result, |_, _| None)?;
    Ok(Some(stored).filter(|stored| stored.saved() == Saved::Whole).map(|stored| stored.id))
}

/// The id of the call whose result a piece is of, where the format writes one.
fn call_of(transcript: &Transcript<'_>, reduction: &Reduction) -> Option<String> {
    reduction.part?;
    let block = transcript.messages.get(reduction.message)?.blocks.get(reduction.block)?;
    match &block.kind {
        BlockKind::ToolResult(result) => {
            result.call_id.map(|id| id.decode().into_owned()).filter(|id| !id.is_empty())
        }
        _ => None,
    }
}

/// Archives the document and the epoch, and gives what holds: these edits, or those that were recorded first.
#[expect(clippy::too_many_arguments, reason = "one step of one orchestration; a type for it would only be unpacked")]
fn archive(
    document: &Document<'_>,
    chain: &Chain,
    session: &SessionId,
    reduced: &Reduced,
    ids: &[Option<ArtifactId>],
    meter: &mut Meter<Counting>,
    store: &Store,
    now: SystemTime,
) -> Result<(Vec<Edit<'static>>, Tokens, EpochId), EngineError> {
    let prefix = chain.replaced(reduced.prefix).ok_or(EngineError::Chain)?;
    let mut epoch = EpochId::new(session, prefix.as_bytes());
    let mut artifacts: Vec<ArtifactId> = ids.iter().flatten().cloned().collect();
    artifacts.sort();
    artifacts.dedup();
    let record = |epoch: &EpochId| {
        let mut made = Epoch::of_reductions(document.format(), chain, reduced).ok_or(EngineError::Chain)?;
        made.artifact = Some(epoch.to_string());
        Ok::<_, EngineError>(made.to_json()?)
    };
    let store_as = |epoch: &EpochId, record: &str| {
        let (document, removed) = (document.bytes(), reduced.removed.as_slice());
        store.archive(&Compaction { epoch, document, removed, artifacts: &artifacts, record: record.as_bytes(), now })
    };
    let mine = record(&epoch)?;
    let archived = store_as(&epoch, &mine)?;
    if archived.first || archived.record == mine.as_bytes() {
        return Ok((reduced.edits.clone(), reduced.tokens_after, archived.epoch));
    }
    // This very history was reduced before: what was decided then holds, if it leaves out what is to leave now.
    if let Ok(first) = Epoch::from_json(&archived.record) {
        let places = |replaced: &[plimsoll::compact::Replacement]| -> Vec<_> {
            replaced.iter().map(|piece| (piece.message, piece.block, piece.part)).collect()
        };
        if first.is_of_reductions()
            && places(&first.reductions) == places(&reduced.replaced)
            && let Ok(edits) = first.replay(document, chain)
        {
            let tokens_after = counted(document, &edits, meter).unwrap_or(first.tokens_after);
            store.mark_replayed(&archived.epoch, now)?;
            return Ok((edits, tokens_after, archived.epoch));
        }
    }
    // Decided otherwise under this name: an epoch of its own, named by what it leaves out as well.
    let mut name = blake3::Hasher::new();
    name.update(epoch.to_string().as_bytes());
    for piece in &reduced.replaced {
        name.update(piece.text.as_bytes());
    }
    epoch = EpochId::new(session, name.finalize().as_bytes());
    let archived = store_as(&epoch, &record(&epoch)?)?;
    Ok((reduced.edits.clone(), reduced.tokens_after, archived.epoch))
}

/// Counts what comes of edits.
fn counted(document: &Document<'_>, edits: &[Edit<'_>], meter: &mut Meter<Counting>) -> Option<Tokens> {
    let bytes = splice(document.bytes(), edits).ok()?;
    let options = plimsoll::wire::ParseOptions::default()
        .with_format(Some(document.format()))
        .with_max_bytes(plimsoll::Bytes(u64::MAX));
    let after = parse(&bytes, &options).ok()?;
    Some(meter.measure(&after).total)
}

fn told(reduce: &Reduce, reduced: &Reduced) -> Reductions {
    let artifact = |reduction: &Reduction| {
        let same =
            |piece: &&plimsoll::compact::Replacement| (piece.message, piece.block, piece.part) == reduction.place();
        reduced.replaced.iter().find(same).map(|piece| piece.artifact.clone())
    };
    let done: Vec<(&Reduction, String)> =
        reduce.reductions.iter().filter_map(|reduction| Some((reduction, artifact(reduction)?))).collect();
    let count = |of: &dyn Fn(&Reduction) -> bool| done.iter().filter(|(reduction, _)| of(reduction)).count();
    let media = |reduction: &Reduction| reduction.reason == plimsoll::compact::Cause::Media;
    let superseded = |reduction: &Reduction| reduction.reason.is_superseded();
    Reductions {
        superseded: count(&superseded),
        large: count(&|reduction| !superseded(reduction) && !media(reduction)),
        media: count(&media),
        removed_tokens: reduced.tokens_before - reduced.tokens_after,
        rewritten_tokens: reduce.rewritten_tokens,
        pieces: done
            .into_iter()
            .map(|(reduction, artifact)| Piece {
                message: reduction.message,
                reason: reduction.reason.name(),
                what: reduction.what.clone(),
                tokens: reduction.tokens,
                artifact,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;
