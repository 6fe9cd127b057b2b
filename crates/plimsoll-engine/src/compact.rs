//! A compaction from end to end: measure, plan, extract, archive, apply. The only orchestration there is.

use std::time::SystemTime;

use plimsoll::Tokens;
use plimsoll::budget::{Counting, Meter, Policy, Trigger};
use plimsoll::compact::{
    Applied, Chain, ContinuationParts, Epoch, Extract, FRAME_BOUND, Plan, PlanOptions, Profile, Request, Summarise,
    acknowledgement, apply, continuation, extract, plan,
};
use plimsoll::id::{EpochId, SessionId};
use plimsoll::transcript::Obligations;
use plimsoll::wire::{Document, Edit};
use plimsoll_store::{Compaction, Store};

use crate::report::{CountedBy, Outcome, Report};
use crate::{EngineError, judge};

/// What a compaction by hand is asked for.
#[derive(Debug, Clone, Default)]
pub struct CompactOptions {
    /// The model to judge by; otherwise the one that the document names.
    pub model: Option<String>,
    /// The context window, where the user knows it better.
    pub window: Option<Tokens>,
    /// The model's output limit, where the user knows it better.
    pub max_output: Option<Tokens>,
    /// A bound on the whole result: met, or infeasible.
    pub target_tokens: Option<Tokens>,
    /// A bound on the tail.
    pub keep_tokens: Option<Tokens>,
    /// What the summary is to pay attention to.
    pub instructions: Option<String>,
    /// What kind of work it is.
    pub profile: Profile,
    /// Where the thresholds are; the target is what a compaction aims at.
    pub policy: Policy,
    /// Takes a conversation that is too short to be worth it.
    pub force: bool,
}

/// A compaction: what to tell, and what to change.
#[derive(Debug, Clone)]
pub struct Compacted {
    /// What to tell.
    pub report: Report,
    /// The edits of the document; none unless it was applied.
    pub edits: Vec<Edit<'static>>,
}

/// Compacts a document by hand, with the embedded summariser.
///
/// The document is archived, durably, before the edits that replace a part of it are returned. Without a store nothing
/// is archived and nothing may be written: that is a dry run. `stage` is told what is being done.
///
/// # Errors
/// [`EngineError`] if the store refuses the document, or the plan cannot be carried out. Nothing is to be written then.
pub fn compact(
    document: &Document<'_>,
    options: &CompactOptions,
    store: Option<&Store>,
    now: SystemTime,
    stage: &dyn Fn(&str),
) -> Result<Compacted, EngineError> {
    stage("counting");
    let judged = judge(document, options);
    let mut meter = Meter::new(Counting::for_model(judged.model.as_deref()));
    let measure = meter.measure(document);
    let transcript = document.transcript();
    let mut report = Report {
        outcome: Outcome::Skipped,
        reason: None,
        format: document.format(),
        model: judged.model.clone(),
        tokens_before: measure.total,
        tokens_after: measure.total,
        counting: CountedBy { method: measure.method, tokenizer: meter.count().name().to_owned() },
        window: judged.window.tokens,
        window_source: judged.window.source.to_string(),
        target: options.target_tokens.unwrap_or(judged.thresholds.target),
        messages_before: transcript.messages.len(),
        messages_after: transcript.messages.len(),
        kept_tail_messages: transcript.messages.len(),
        summarizer: None,
        summary_tokens: None,
        fallback: None,
        carried: None,
        artifact: None,
        epoch: None,
        unrecorded: measure.unrecorded,
        break_even_turns: None,
    };

    stage("planning");
    let obligations = Obligations::of(transcript);
    let mut plan_options = PlanOptions::new(document.format(), Trigger::Manual);
    plan_options.force = options.force;
    plan_options.keep_tokens = options.keep_tokens;
    plan_options.target_tokens = options.target_tokens;
    let summarise = match plan(transcript, &obligations, &measure, &judged.thresholds, &plan_options) {
        Plan::Summarise(summarise) => summarise,
        Plan::Skipped(skip) => {
            report.reason = Some(skip.to_string());
            return Ok(Compacted { report, edits: Vec::new() });
        }
        Plan::Infeasible { irreducible, limit } => {
            report.outcome = Outcome::Infeasible;
            report.reason = Some(infeasible(irreducible, limit, options));
            return Ok(Compacted { report, edits: Vec::new() });
        }
        other => return Err(EngineError::UnknownPlan(format!("{other:?}"))),
    };

    stage("summarising");
    let chain = Chain::of(document);
    let session = session_of(document, &chain);
    let prefix = chain.prefix(summarise.removed.end).ok_or(EngineError::Chain)?;
    let epoch = EpochId::new(&session, prefix.as_bytes());
    let made = make(document, &summarise, &epoch, options, &mut meter)?;
    report.break_even_turns = Some(summarise.break_even_turns);
    if let Some(target) = options.target_tokens.filter(|target| made.applied.tokens_after > *target) {
        report.outcome = Outcome::Infeasible;
        report.reason = Some(infeasible(made.applied.tokens_after, target, options));
        return Ok(Compacted { report, edits: Vec::new() });
    }

    if made.applied.tokens_after >= measure.total && !options.force {
        report.reason = Some(format!(
            "it would count {} tokens afterwards, no fewer than the {} it has; --force compacts all the same",
            made.applied.tokens_after.0, measure.total.0
        ));
        return Ok(Compacted { report, edits: Vec::new() });
    }

    let Some(store) = store else {
        finish(&mut report, &made, &summarise);
        return Ok(Compacted { report, edits: made.applied.edits });
    };
    stage("archiving");
    let (made, id) = archive(document, &chain, &summarise, made, &epoch, options, &mut meter, store, now)?;
    finish(&mut report, &made, &summarise);
    report.artifact = Some(id.to_string());
    report.epoch = Some(id.to_string());
    Ok(Compacted { report, edits: made.applied.edits })
}

/// What a plan came to.
struct Made {
    extract: Extract,
    continuation: String,
    applied: Applied,
    summary_tokens: Tokens,
}

/// Writes the continuation message and the edits, for an epoch of this name.
fn make(
    document: &Document<'_>,
    summarise: &Summarise,
    epoch: &EpochId,
    options: &CompactOptions,
    meter: &mut Meter<Counting>,
) -> Result<Made, EngineError> {
    let counter = meter.count().clone();
    let count = |text: &str| counter.counter().count(text);
    let id = epoch.to_string();
    let request = Request {
        budget: summarise.continuation_budget - FRAME_BOUND,
        ledger: summarise.ledger_budget,
        count: &count,
        recall: &id,
        splits_turn: summarise.splits_turn,
        profile: &options.profile,
        instructions: options.instructions.as_deref(),
    };
    let extract = extract(document.transcript(), summarise.removed.clone(), &request);
    let continuation = continuation(&ContinuationParts {
        epoch: &id,
        summary: &extract.summary,
        ledger: None,
        keeps_tail: summarise.tail_messages() > 0,
        recall: Some(&id),
    });
    let applied = apply(document, summarise, &continuation, acknowledgement(), meter)?;
    let summary_tokens = count(&extract.summary);
    Ok(Made { extract, continuation, applied, summary_tokens })
}

/// Archives the document and the epoch, and gives what holds: this compaction, or the one that was recorded first.
#[expect(clippy::too_many_arguments, reason = "one step of one orchestration; a type for it would only be unpacked")]
fn archive(
    document: &Document<'_>,
    chain: &Chain,
    summarise: &Summarise,
    mut made: Made,
    epoch: &EpochId,
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
            made = make(document, summarise, &archived.epoch, options, meter)?;
        }
        return Ok((made, archived.epoch));
    }
    // This very history was compacted before. What was decided then holds, if it is what is asked for now.
    if let Ok(first) = Epoch::from_json(&archived.record) {
        let within = |bound: Option<Tokens>| bound.is_none_or(|bound| first.tokens_after <= bound);
        let same = first.removed == summarise.removed && first.retained == summarise.retained;
        if same && within(options.target_tokens) && options.instructions.is_none() {
            let applied = apply(document, summarise, &first.continuation, &first.acknowledgement, meter)?;
            if options.target_tokens.is_none_or(|target| applied.tokens_after <= target) {
                made.applied = applied;
                made.continuation = first.continuation;
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
    let made = make(document, summarise, &own, options, meter)?;
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
    epoch.summary.clone_from(&made.extract.summary);
    epoch.ledger = serde_json::to_value(&made.extract.ledger).map_err(plimsoll::compact::EpochError::from)?;
    epoch.artifact = Some(id.to_string());
    Ok(epoch.to_json()?)
}

fn finish(report: &mut Report, made: &Made, summarise: &Summarise) {
    report.outcome = Outcome::Applied;
    report.tokens_after = made.applied.tokens_after;
    report.messages_after = summarise.messages - summarise.removed.len() + summarise.retained.len() + 1;
    report.kept_tail_messages = summarise.tail_messages();
    report.summarizer = Some("extract");
    report.summary_tokens = Some(made.summary_tokens);
    report.carried = Some(made.extract.carried);
}

fn infeasible(irreducible: Tokens, limit: Tokens, options: &CompactOptions) -> String {
    let next = if options.target_tokens.is_some() {
        "give a larger --target-tokens, or a smaller --keep-tokens"
    } else {
        "give a model with a larger window, or --window if it is larger than assumed"
    };
    format!(
        "the system prompt, the tools, the last request and the latest step are {} tokens together, and with a summary \
         they cannot be brought under {} tokens; {next}",
        irreducible.0, limit.0
    )
}

/// The session that a document's epochs are filed under: the program's own, or one named by how the history begins.
fn session_of(document: &Document<'_>, chain: &Chain) -> SessionId {
    if let Some(session) = document.session() {
        return SessionId::new(&session.decode());
    }
    // The first messages of a growing history stay, so all its epochs are filed together.
    let first = chain.prefix(chain.len().min(2)).map(|hash| hash.to_string()).unwrap_or_default();
    let short: String = first.chars().take(16).collect();
    SessionId::new(&format!("{}-{short}", document.format()))
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
