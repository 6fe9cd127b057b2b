//! Making room: reductions where they are enough, else a summary; planned on what the model sees, recorded in terms of what
//! the client sends.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll::Bytes;
use plimsoll::Tokens;
use plimsoll::budget::{Capacity, Count, Counting, MESSAGE_OVERHEAD, Meter, Thresholds, Trigger};
use plimsoll::cap::Marker;
use plimsoll::compact::{Carried, ContinuationParts, Epoch, Summarise, acknowledgement, continuation};
use plimsoll::id::{ArtifactId, EpochId, SessionId};
use plimsoll::model::{Catalogue, Lookup};
use plimsoll::transcript::{Message, ToolResult};
use plimsoll::wire::{Document, ParseOptions, parse};
use plimsoll_store::{Compaction, Store};

use super::claim::Claim;
use super::history::History;
use super::options::SessionOptions;
use super::plan::{Room, unhashed};
use super::reduce::artifacts;
use super::report::Reason;
use super::work::Stage;
use crate::compact::removed_bytes;
use crate::event::Event;
use crate::summarise::{
    self, Aborted, Cancel, Extract, Fallback, Job, OwnConversation, OwnModel, Summariser, SummariserError, Summary,
};

/// What a summary is made of, and by what.
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of its own, and none excludes another")]
#[derive(Clone)]
pub(super) struct Brief {
    pub(super) history: Arc<History>,
    pub(super) thresholds: Thresholds,
    pub(super) trigger: Trigger,
    pub(super) force: bool,
    pub(super) instructions: Option<String>,
    pub(super) options: Arc<SessionOptions>,
    /// Writes the summary instead of the options' summariser. It is gone once the summary is made.
    pub(super) own_model: Option<Arc<dyn OwnModel>>,
    pub(super) meter: Arc<Mutex<Meter<Counting>>>,
    pub(super) store: Store,
    pub(super) session: SessionId,
    pub(super) cancel: Cancel,
    /// Asks nobody, and takes the extract.
    pub(super) extract_only: bool,
    /// Leaves the store alone: it has just failed.
    pub(super) unstored: bool,
    /// Whether something was made for this history before, and was of no use.
    pub(super) again: bool,
}

/// A summary that was made, as the epoch that it would be.
pub(super) struct Made {
    /// What it was made of.
    pub(super) brief: Brief,
    pub(super) epoch: Epoch,
    /// The name of the record.
    pub(super) name: EpochId,
    /// Whether the document is archived.
    pub(super) archived: bool,
    /// What is told of it; `None` if another process made it.
    pub(super) told: Option<Told>,
}

impl Made {
    /// What makes an extract at the same cut, and leaves the store alone.
    pub(super) fn without_store(&self) -> Brief {
        Brief { extract_only: true, unstored: true, cancel: Cancel::default(), ..self.brief.clone() }
    }
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").field("name", &self.name).field("told", &self.told).finish_non_exhaustive()
    }
}

/// What is told of a summary.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) by: String,
    pub(super) fallback: Option<Fallback>,
    pub(super) carried: Option<Carried>,
    /// How many pieces were reduced instead.
    pub(super) reduced: usize,
}

/// Makes a summary, or says why there is none.
pub(super) async fn make(brief: Brief) -> Stage {
    match try_make(&brief).await {
        Ok(made) => Stage::Made(Arc::new(made)),
        Err(reason) => {
            (brief.options.watch)(&Event::NotSummarised(reason.clone()));
            Stage::Nothing(reason)
        }
    }
}

async fn try_make(brief: &Brief) -> Result<Made, Reason> {
    let aborted = |_: Aborted| Reason::Skipped("the making of the summary was cancelled".to_owned());
    if brief.cancel.is_cancelled() {
        return Err(aborted(Aborted));
    }
    let history = &brief.history;
    let not_understood = |error: plimsoll::wire::ParseError| Reason::NotUnderstood(error.to_string());
    let options = read_options(history);
    let original = parse(&history.bytes, &options).map_err(not_understood)?;
    let sent = history.sent(&history.bytes);
    let document = parse(&sent, &options).map_err(not_understood)?;
    let mut measure = brief.measure(&document);
    let planned = match brief.room(&document, &original, &measure) {
        Err(Reason::Infeasible { .. }) if measure.unrecorded.is_some() => {
            brief.rescaled(&mut measure).room(&document, &original, &measure)
        }
        planned => planned,
    };
    let (summarise, recorded) = match planned? {
        Room::Made(made) => return Ok(*made),
        Room::Planned(planned) => *planned,
    };
    // An extract is free, and the same everywhere.
    let asks = brief.own_model.is_some() || brief.options.summariser.service().api.is_some();
    let claim = if asks { brief.claim() } else { Claim::Nobodys };
    let held = match claim {
        Claim::Ours(held) => Some(held),
        Claim::Theirs(epoch) => {
            let name = EpochId::new(&brief.session, epoch.chain.as_bytes());
            return Ok(Made { brief: brief.served(), epoch: *epoch, name, archived: true, told: None });
        }
        Claim::Nobodys => None,
    };
    if brief.cancel.is_cancelled() {
        return Err(aborted(Aborted));
    }
    (brief.options.watch)(&Event::Summarising { tokens: summarise.tokens_before });

    let prefix = history.chain.replaced(recorded.removed.end).ok_or_else(unhashed)?;
    let name = EpochId::new(&brief.session, prefix.as_bytes());
    let artifact = brief.archive((&original, &recorded), (&document, &summarise), &name);
    let recall = artifact.as_ref().map(ToString::to_string);
    // The lock is taken for as long as that takes; texts are counted without it.
    let counting = brief.lock_meter().count().clone();
    let count = |text: &str| counting.text(text);
    let job = Job {
        document: &document,
        measure: &measure,
        plan: &summarise,
        profile: &brief.options.profile,
        instructions: brief.instructions.as_deref().or(brief.options.instructions.as_deref()),
        recall: recall.as_deref().unwrap_or_default(),
        count: &count,
    };
    // Without a store nobody else could repeat what a model says; what is extracted, everybody can.
    let embedded = Extract::default();
    let alone = brief.extract_only || artifact.is_none();
    let own = if alone { None } else { brief.own_model() };
    let (asked, unasked): (&dyn Summariser, _) = match &own {
        Some(Ok(own)) => (&**own, None),
        Some(Err(reason)) => (&embedded, Some(Fallback { from: OWN.to_owned(), reason: reason.clone() })),
        None => (&*brief.options.summariser, None),
    };
    let summariser = if alone { &embedded } else { asked };
    let watch = |progress| (brief.options.watch)(&Event::Progress(progress));
    let mut summary = summarise::summarise(summariser, &job, &brief.cancel, &watch).await.map_err(aborted)?;
    summary.fallback = summary.fallback.or(unasked);
    let from = match &own {
        None if brief.own_model.is_some() => OWN,
        _ => &asked.service().name,
    };
    let because = |reason: String| Some(Fallback { from: from.to_owned(), reason });
    if alone && !brief.extract_only && (brief.own_model.is_some() || asked.service().name != summary.by) {
        summary.fallback =
            because("the store cannot be used, and without it only an extract can be repeated".to_owned());
    }
    let mut text = framed(&job, &summary, &name);
    if (job.count)(&text) > summarise.continuation_budget {
        // It must shrink: what is over its bound gives way to what keeps to it.
        let extract = summarise::summarise(&embedded, &job, &brief.cancel, &watch).await.map_err(aborted)?;
        let reason = because(format!("it is over its bound of {} tokens", summarise.continuation_budget.0));
        summary = Summary { calls: summary.calls, usage: summary.usage, fallback: reason, ..extract };
        text = framed(&job, &summary, &name);
    }
    if brief.cancel.is_cancelled() {
        return Err(aborted(Aborted));
    }
    (brief.options.watch)(&Event::Summarised {
        summarizer: summary.by.clone(),
        fallback: summary.fallback.as_ref().map(|fallback| fallback.reason.clone()),
        calls: summary.calls,
        usage: summary.usage,
        tokens: spent(&summary, &job),
    });
    let after = summarise.fixed_tokens + summarise.tail_tokens + (job.count)(&text) + MESSAGE_OVERHEAD;
    let acknowledged = acknowledgement().to_owned();
    let epoch = Epoch::new(history.format, &history.chain, &recorded, text, acknowledged, after);
    let mut epoch = epoch.ok_or_else(unhashed)?;
    epoch.summary = summary.text;
    epoch.ledger = serde_json::to_value(&summary.ledger).unwrap_or_default();
    epoch.artifact = recall;
    epoch.policy = serde_json::json!({
        "trigger": brief.trigger, "summarizer": summary.by, "thresholds": brief.thresholds,
    });
    if let Some(held) = held.filter(|_| artifact.is_some()) {
        held.publish(&epoch);
    }
    let told = Told { by: summary.by, fallback: summary.fallback, carried: Some(summary.carried), reduced: 0 };
    Ok(Made { brief: brief.served(), epoch, name, archived: artifact.is_some(), told: Some(told) })
}

/// What a summary came to: as it was reported, else what was asked and what is left of the answers.
fn spent(summary: &Summary, job: &Job<'_>) -> Tokens {
    match (summary.usage, &summary.asked) {
        (Some(usage), _) => usage.context() + usage.output,
        (None, Some(asked)) => {
            Tokens(asked.input.0.saturating_mul(summary.calls.into())) + (job.count)(&summary.text)
        }
        (None, None) => Tokens::ZERO,
    }
}

/// How the conversation's own model is called where it could not be asked.
const OWN: &str = "same";

/// How a body of a history is read again: as it was read before.
pub(super) fn read_options(history: &History) -> ParseOptions {
    ParseOptions::default().with_format(Some(history.format)).with_max_bytes(Bytes(u64::MAX))
}

impl Brief {
    /// What is kept of it once there is a summary: what the client showed to its server has served.
    pub(super) fn served(&self) -> Self {
        Self { own_model: None, ..self.clone() }
    }

    pub(super) fn lock_meter(&self) -> std::sync::MutexGuard<'_, Meter<Counting>> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation's own model, where it is to write the summary, or why it cannot.
    fn own_model(&self) -> Option<Result<Arc<dyn Summariser>, String>> {
        let own = self.own_model.as_ref()?;
        let Some(model) = self.history.envelope.model.as_deref() else {
            return Some(Err("the conversation names no model".to_owned()));
        };
        let max_output = match self.options.capacity {
            Some(capacity) => capacity.max_output,
            None => match Catalogue::embedded().lookup(model) {
                Lookup::Known(limits) => Capacity::from(&limits).max_output,
                Lookup::Unknown => None,
            },
        };
        let window = self.thresholds.budget + self.thresholds.reserve;
        let of = OwnConversation { format: self.history.format, model, window, max_output };
        Some(own.summariser(&of).map_err(|error: SummariserError| error.to_string()))
    }

    /// The stored results that capped texts and reductions among the removed messages name: a summary may name them too, so
    /// pruning spares them as long as the epoch lives.
    fn named(&self, sent: &Document<'_>, planned: &Summarise) -> Vec<ArtifactId> {
        let removed = sent.transcript().messages.get(planned.removed.clone()).unwrap_or(&[]);
        let texts = removed.iter().flat_map(Message::results).flat_map(ToolResult::texts);
        let named = texts.filter_map(|text| Marker::find(&text.decode()).and_then(|(_, marker)| marker.id));
        let mut named: Vec<ArtifactId> = named.collect();
        named.extend(self.in_force().map(artifacts).unwrap_or_default());
        named.sort();
        named.dedup();
        named
    }

    /// Archives the document as it came; `None` if that cannot be done.
    fn archive(
        &self,
        (original, recorded): (&Document<'_>, &Summarise),
        (sent, planned): (&Document<'_>, &Summarise),
        name: &EpochId,
    ) -> Option<EpochId> {
        if self.unstored {
            return None;
        }
        let compaction = Compaction {
            epoch: name,
            document: original.bytes(),
            removed: &removed_bytes(original, recorded.removed.clone(), &recorded.retained),
            artifacts: &self.named(sent, planned),
            record: b"",
            now: (self.options.clock)(),
        };
        self.store.archive_body(&compaction).ok().map(|archived| archived.epoch)
    }
}

/// Writes the continuation message.
fn framed(job: &Job<'_>, summary: &Summary, name: &EpochId) -> String {
    let recall = Some(job.recall).filter(|recall| !recall.is_empty());
    let name = name.to_string();
    continuation(&ContinuationParts {
        epoch: recall.unwrap_or(&name),
        summary: &summary.text,
        ledger: summary.facts.as_deref(),
        keeps_tail: job.plan.tail_messages() > 0,
        recall,
    })
}
