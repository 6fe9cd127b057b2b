//! Putting a summary in the place of what leaves: the continuation and its edits, the archive, the record.

use std::time::SystemTime;

use plimsoll::Tokens;
use plimsoll::budget::{Counting, Meter};
use plimsoll::compact::{
    Applied, Carried, Chain, ContinuationParts, Epoch, FRAME_BOUND, Ledger, Request, Summarise, SummaryJob,
    acknowledgement, apply, continuation, extract,
};
use plimsoll::id::EpochId;
use plimsoll::wire::Document;
use plimsoll_store::{Compaction, Store};

use super::CompactOptions;
use crate::EngineError;
use crate::summarise::Summary;

/// How the embedded summariser is called.
pub(super) const EXTRACT: &str = "extract";

/// Where a summary's text comes from.
pub(super) enum Text {
    /// It is extracted, for whatever epoch it is.
    Extracted,
    /// It was written, once.
    Written(Box<Summary>),
}

/// What a plan came to.
pub(super) struct Made {
    pub(super) by: String,
    pub(super) summary: String,
    pub(super) ledger: Ledger,
    pub(super) carried: Carried,
    pub(super) continuation: String,
    pub(super) applied: Applied,
    pub(super) summary_tokens: Tokens,
}

/// Writes the continuation message and the edits, for an epoch of this name.
pub(super) fn make(
    document: &Document<'_>,
    summarise: &Summarise,
    epoch: &EpochId,
    text: &Text,
    options: &CompactOptions,
    meter: &mut Meter<Counting>,
) -> Result<Made, EngineError> {
    let counter = meter.count().clone();
    let count = |text: &str| counter.counter().count(text);
    let id = epoch.to_string();
    let instructions = options.instructions.as_deref();
    let (by, summary, ledger, carried, continuation) = match text {
        Text::Written(written) if written.facts.is_some() => {
            let job = SummaryJob::new(document, summarise, &options.profile, instructions, &count);
            let continuation = job.continuation(&written.text, &id, Some(&id));
            let ledger = job.carried(Some(&id));
            (written.by.clone(), written.text.clone(), ledger, job.carried_counts(Some(&id)), continuation)
        }
        text => {
            let (by, summary, ledger, carried) = match text {
                Text::Written(written) => {
                    (written.by.clone(), written.text.clone(), written.ledger.clone(), written.carried)
                }
                Text::Extracted => {
                    let request = Request {
                        budget: summarise.continuation_budget - FRAME_BOUND,
                        ledger: summarise.ledger_budget,
                        count: &count,
                        recall: &id,
                        splits_turn: summarise.splits_turn,
                        profile: &options.profile,
                        instructions,
                    };
                    let extract = extract(document.transcript(), summarise.removed.clone(), &request);
                    (EXTRACT.to_owned(), extract.summary, extract.ledger, extract.carried)
                }
            };
            let continuation = continuation(&ContinuationParts {
                epoch: &id,
                summary: &summary,
                ledger: None,
                keeps_tail: summarise.tail_messages() > 0,
                recall: Some(&id),
            });
            (by, summary, ledger, carried, continuation)
        }
    };
    let applied = apply(document, summarise, &continuation, acknowledgement(), meter)?;
    let summary_tokens = count(&summary);
    Ok(Made { by, summary, ledger, carried, continuation, applied, summary_tokens })
}

/// Archives the document and the epoch, and gives what holds: this compaction, or the one that was recorded first.
#[expect(clippy::too_many_arguments, reason = "one step of one orchestration; a type for it would only be unpacked")]
pub(super) fn archive(
    document: &Document<'_>,
    chain: &Chain,
    summarise: &Summarise,
    mut made: Made,
    epoch: &EpochId,
    text: &Text,
    options: &CompactOptions,
    meter: &mut Meter<Counting>,
    store: &Store,
    now: SystemTime,
) -> Result<(Made, EpochId), EngineError> {
    let removed = removed_bytes(document, summarise.removed.clone(), &summarise.retained);
    let record = record(document, chain, summarise, &made, epoch)?;
    let store_as = |epoch: &EpochId, record: &str| {
        let (document, record) = (document.bytes(), record.as_bytes());
        store.archive(&Compaction { epoch, document, removed: &removed, artifacts: &[], record, now })
    };
    let archived = store_as(epoch, &record)?;
    if archived.first || archived.record == record.as_bytes() {
        if archived.epoch != *epoch {
            // Another document has this history too (other white space, say): its name differs, and so must the text.
            made = make(document, summarise, &archived.epoch, text, options, meter)?;
        }
        return Ok((made, archived.epoch));
    }
    // This very history was compacted before. What was decided then holds, if it is what is asked for now.
    if let Ok(first) = Epoch::from_json(&archived.record) {
        let within = |bound: Option<Tokens>| bound.is_none_or(|bound| first.tokens_after <= bound);
        let same = first.removed == summarise.removed && first.retained == summarise.retained;
        // A model's epoch is named by its instructions; an extract's is not.
        let as_asked = options.instructions.is_none() || matches!(text, Text::Written(_));
        if same && within(options.target_tokens) && as_asked {
            let applied = apply(document, summarise, &first.continuation, &first.acknowledgement, meter)?;
            if options.target_tokens.is_none_or(|target| applied.tokens_after <= target) {
                made.applied = applied;
                made.continuation = first.continuation;
                made.summary = first.summary;
                store.mark_replayed(&archived.epoch, now)?;
                return Ok((made, archived.epoch));
            }
        }
    }
    // Asked for otherwise: an epoch of its own, named by what it says as well.
    let mut name = blake3::Hasher::new();
    name.update(epoch.to_string().as_bytes());
    name.update(made.continuation.as_bytes());
    let own = EpochId::new(epoch.session(), name.finalize().as_bytes());
    let made = make(document, summarise, &own, text, options, meter)?;
    let record = self::record(document, chain, summarise, &made, &own)?;
    let archived = store_as(&own, &record)?;
    Ok((made, archived.epoch))
}

/// Writes the record of an epoch.
fn record(
    document: &Document<'_>,
    chain: &Chain,
    summarise: &Summarise,
    made: &Made,
    id: &EpochId,
) -> Result<String, EngineError> {
    let after = made.applied.tokens_after;
    let acknowledgement = acknowledgement().to_owned();
    let continuation = made.continuation.clone();
    let mut epoch = Epoch::new(document.format(), chain, summarise, continuation, acknowledgement, after)
        .ok_or(EngineError::Chain)?;
    epoch.summary.clone_from(&made.summary);
    epoch.ledger = serde_json::to_value(&made.ledger).map_err(plimsoll::compact::EpochError::from)?;
    epoch.artifact = Some(id.to_string());
    Ok(epoch.to_json()?)
}

/// The byte ranges of a document that a plan removes: ascending, joined where they touch.
pub(crate) fn removed_bytes(
    document: &Document<'_>,
    removed: std::ops::Range<usize>,
    retained: &[usize],
) -> Vec<std::ops::Range<u64>> {
    let messages = document.transcript().messages.iter().enumerate();
    let leaving = messages.filter(|(index, _)| removed.contains(index) && retained.binary_search(index).is_err());
    let mut entries: Vec<u32> = leaving.flat_map(|(_, message)| message.entries.iter().copied()).collect();
    entries.sort_unstable();
    entries.dedup();
    let spans = entries.iter().filter_map(|entry| document.entries().get(*entry as usize)).map(|entry| entry.span);
    let mut ranges: Vec<std::ops::Range<u64>> = Vec::new();
    for span in spans {
        let (start, end) = (span.start() as u64, span.end() as u64);
        // Entries in a row are kept with the separators between them, so that what is recalled reads as it stood.
        let between = |last: &std::ops::Range<u64>| {
            let from = usize::try_from(last.end).unwrap_or(usize::MAX);
            let gap = document.bytes().get(from..span.start()).unwrap_or(&[]);
            last.end <= start && gap.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b',')
        };
        match ranges.last_mut() {
            Some(last) if between(last) => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    ranges
}
