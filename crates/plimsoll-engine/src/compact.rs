//! A compaction from end to end: measure, plan, summarise, archive, apply. The only orchestration there is.

mod told;
mod write;

use std::time::SystemTime;

use plimsoll::Tokens;
use plimsoll::budget::{Counting, Measure, Meter, Policy, Trigger};
use plimsoll::compact::{Chain, Epoch, Plan, PlanOptions, Profile, Summarise, plan_or_reduce};
use plimsoll::id::{EpochId, SessionId};
use plimsoll::model::Catalogue;
use plimsoll::transcript::Obligations;
use plimsoll::wire::{Document, Edit};
use plimsoll_store::Store;

use self::told::{finish, infeasible, reduced};
pub(crate) use self::write::removed_bytes;
use self::write::{EXTRACT, Text, archive, make};
use crate::judge::measured;
use crate::report::{CountedBy, Outcome, Report};
use crate::summarise::{Aborted, Asked, Cancel, Job, Progress, Service, Summariser, Summary, request, summarise};
use crate::{EngineError, judge, reduce};

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
    /// Always writes a summary, though leaving out old results might do.
    pub summary_only: bool,
    /// Stores nothing and asks nobody; a store is only looked into.
    pub dry_run: bool,
    /// What is known of models: the embedded catalogue, or one with the user's files over it.
    pub catalogue: Catalogue,
}

/// A compaction: what to tell, and what to change.
#[derive(Debug, Clone)]
pub struct Compacted {
    /// What to tell.
    pub report: Report,
    /// The edits of the document; none unless it was applied.
    pub edits: Vec<Edit<'static>>,
}

/// Who writes the summary, and who is told how far it is.
#[derive(Clone, Copy)]
pub struct Writing<'w> {
    /// Who writes it.
    pub summariser: &'w dyn Summariser,
    /// Ends the compaction, as long as nothing is archived.
    pub cancel: &'w Cancel,
    /// Is told how far the summary is.
    pub progress: &'w (dyn Fn(Progress) + Send + Sync),
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
    let store = store.filter(|_| !options.dry_run);
    match begin(document, options, store, now, stage)? {
        Begun::Done(compacted) => Ok(*compacted),
        Begun::Summarise(planned) => {
            stage("summarising");
            planned.end(document, None, options, store, now, stage)
        }
    }
}

/// Compacts a document by hand, with a summary by whom it is asked of.
///
/// What [`compact`] says holds; without a store, or in a dry run, nobody is asked either, and the report tells what would
/// be. A summary that was written before, for this very history, by the same summariser and to the same instructions, is
/// used again, `force` or not: what was decided once is not decided otherwise. Other instructions get another one.
///
/// # Errors
/// As [`compact`]; and [`EngineError::Aborted`] if it was cancelled before anything was archived: all is as it was.
pub async fn compact_by(
    document: &Document<'_>,
    options: &CompactOptions,
    store: Option<&Store>,
    now: SystemTime,
    by: &Writing<'_>,
    stage: &dyn Fn(&str),
) -> Result<Compacted, EngineError> {
    let (kept, store) = (store, store.filter(|_| !options.dry_run));
    let planned = match begin(document, options, store, now, stage)? {
        Begun::Done(compacted) => return Ok(*compacted),
        Begun::Summarise(planned) => planned,
    };
    let service = by.summariser.service();
    let epoch = planned.epoch(service.api.is_some().then_some(service), options)?;
    let counter = planned.meter.count().clone();
    let id = epoch.to_string();
    let job = Job {
        document,
        measure: &planned.measure,
        plan: &planned.summarise,
        profile: &options.profile,
        instructions: options.instructions.as_deref(),
        recall: &id,
        count: &|text| counter.counter().count(text),
    };
    let Some(store) = store else {
        // A store that cannot be looked into knows of none.
        if let Some(known) = kept.and_then(|kept| planned.written_before(kept, &epoch, service).ok().flatten()) {
            return planned.end(document, Some((known, epoch)), options, None, now, stage);
        }
        return match request(service, &job) {
            Some(Ok(prompt)) => Ok(planned.asked(service, Asked::of(&prompt))),
            // Nothing could be asked, so the extract is what would be written.
            Some(Err(error)) => {
                let fallback = crate::summarise::Fallback { from: service.name.clone(), reason: error.to_string() };
                let mut compacted = planned.end(document, None, options, None, now, stage)?;
                compacted.report.fallback = Some(fallback);
                Ok(compacted)
            }
            None => planned.end(document, None, options, None, now, stage),
        };
    };
    let known = planned.written_before(store, &epoch, service)?;
    let summary = if let Some(summary) = known {
        summary
    } else {
        stage("summarising");
        summarise(by.summariser, &job, by.cancel, by.progress).await?
    };
    if by.cancel.is_cancelled() {
        return Err(Aborted.into());
    }
    planned.end(document, Some((summary, epoch)), options, Some(store), now, stage)
}

/// How far a compaction comes without a summary.
enum Begun {
    /// All the way: there is nothing to do.
    Done(Box<Compacted>),
    /// To where a summary is needed.
    Summarise(Box<Planned>),
}

/// A compaction that lacks only its summary.
struct Planned {
    report: Report,
    meter: Meter<Counting>,
    measure: Measure,
    summarise: Summarise,
    chain: Chain,
    session: SessionId,
}

fn begin(
    document: &Document<'_>,
    options: &CompactOptions,
    store: Option<&Store>,
    now: SystemTime,
    stage: &dyn Fn(&str),
) -> Result<Begun, EngineError> {
    stage("counting");
    let judged = judge(document, options);
    let (mut meter, measure) = measured(document, judged.model.as_deref());
    let transcript = document.transcript();
    let mut report = Report {
        outcome: Outcome::Skipped,
        reason: None,
        format: document.format(),
        model: judged.model.clone(),
        tokens_before: measure.total,
        tokens_after: measure.total,
        counting: CountedBy::of(&measure, &meter),
        window: judged.window.tokens,
        window_source: judged.window.source.to_string(),
        target: options.target_tokens.unwrap_or(judged.thresholds.target),
        messages_before: transcript.messages.len(),
        messages_after: transcript.messages.len(),
        kept_tail_messages: transcript.messages.len(),
        summarizer: None,
        summary_tokens: None,
        fallback: None,
        request: None,
        calls: 0,
        usage: None,
        warnings: Vec::new(),
        carried: None,
        artifact: None,
        epoch: None,
        unrecorded: measure.unrecorded,
        reductions: None,
        break_even_turns: None,
    };

    stage("planning");
    let obligations = Obligations::of(transcript);
    let mut plan_options = PlanOptions::new(document.format(), Trigger::Manual);
    plan_options.force = options.force;
    plan_options.keep_tokens = options.keep_tokens;
    plan_options.target_tokens = options.target_tokens;
    plan_options.cache = judged.cache;
    // Whoever says what a summary should heed wants one.
    plan_options.reduce = !options.summary_only && options.instructions.is_none();
    let decide = |plan_options: &PlanOptions, meter: &Meter<Counting>| {
        plan_or_reduce(document, &obligations, &measure, meter, &judged.thresholds, plan_options)
    };
    let mut planned = decide(&plan_options, &meter);
    let chain = Chain::of(document);
    let session = session_of(document, &chain);
    if let Plan::Reduce(reduce) = &planned {
        stage(if store.is_some() { "archiving" } else { "reducing" });
        let named = (&session, &chain);
        let done = reduce::reduce(document, reduce, named, options.target_tokens, &mut meter, store, now)?;
        if let Some(done) = done {
            reduced(&mut report, reduce, &done);
            return Ok(Begun::Done(Box::new(Compacted { report, edits: done.edits })));
        }
        // What was to leave could not be kept whole: then a summary is made after all.
        plan_options.reduce = false;
        planned = decide(&plan_options, &meter);
    }
    let summarise = match planned {
        Plan::Summarise(summarise) => summarise,
        Plan::Skipped(skip) => {
            report.reason = Some(skip.to_string());
            return Ok(Begun::Done(Box::new(Compacted { report, edits: Vec::new() })));
        }
        Plan::Infeasible { irreducible, limit } => {
            report.outcome = Outcome::Infeasible;
            report.reason = Some(infeasible(irreducible, limit, options));
            return Ok(Begun::Done(Box::new(Compacted { report, edits: Vec::new() })));
        }
        other => return Err(EngineError::UnknownPlan(format!("{other:?}"))),
    };
    report.break_even_turns = Some(summarise.break_even_turns);
    Ok(Begun::Summarise(Box::new(Planned { report, meter, measure, summarise, chain, session })))
}

impl Planned {
    /// Names the epoch: by the history that it replaces, and where a model writes the summary, by what that was asked.
    fn epoch(&self, model: Option<&Service>, options: &CompactOptions) -> Result<EpochId, EngineError> {
        let prefix = self.chain.replaced(self.summarise.removed.end).ok_or(EngineError::Chain)?;
        let Some(model) = model else {
            return Ok(EpochId::new(&self.session, prefix.as_bytes()));
        };
        let mut name = blake3::Hasher::new();
        name.update(prefix.as_bytes());
        for part in [&model.name, options.profile.name.as_ref(), options.instructions.as_deref().unwrap_or("")] {
            name.update(&(part.len() as u64).to_le_bytes());
            name.update(part.as_bytes());
        }
        Ok(EpochId::new(&self.session, name.finalize().as_bytes()))
    }

    /// A summary that was written before, for this very history and by the same model, if it is as short as is asked.
    fn written_before(
        &self,
        store: &Store,
        epoch: &EpochId,
        service: &Service,
    ) -> Result<Option<Summary>, EngineError> {
        if service.api.is_none() {
            return Ok(None);
        }
        let record = store.epoch_record(epoch)?;
        let first = record.and_then(|record| Epoch::from_json(&record).ok());
        let counter = self.meter.count().counter();
        let first = first.filter(|first| {
            counter.count(&first.summary) <= self.summarise.summary_budget
                && first.removed == self.summarise.removed
                && first.retained == self.summarise.retained
                && !first.summary.trim().is_empty()
        });
        Ok(first.map(|first| Summary::known(first.summary, service)))
    }

    /// What is told of a dry run that would ask a model: nobody is asked, so the result is known by its bound only.
    fn asked(self, service: &Service, asked: Asked) -> Compacted {
        let Self { mut report, summarise, .. } = self;
        report.outcome = Outcome::Applied;
        report.tokens_after = summarise.tokens_after_bound().min(report.tokens_before);
        report.messages_after = summarise.messages - summarise.removed.len() + summarise.retained.len() + 1;
        report.kept_tail_messages = summarise.tail_messages();
        report.summarizer = Some(service.name.clone());
        report.request = Some(asked);
        Compacted { report, edits: Vec::new() }
    }

    /// Puts a summary in the place of what leaves: the given one with its epoch, or the extract.
    fn end(
        self,
        document: &Document<'_>,
        summary: Option<(Summary, EpochId)>,
        options: &CompactOptions,
        store: Option<&Store>,
        now: SystemTime,
        stage: &dyn Fn(&str),
    ) -> Result<Compacted, EngineError> {
        let plain = self.epoch(None, options)?;
        let Self { mut report, mut meter, measure, summarise, chain, .. } = self;
        if let Some((summary, _)) = &summary {
            report.request = summary.asked;
            report.calls = summary.calls;
            report.usage = summary.usage;
            report.warnings.clone_from(&summary.warnings);
            report.fallback.clone_from(&summary.fallback);
        }
        // An extract that stands in for a model is an extract, and known by its name.
        let summary = summary.filter(|(summary, _)| summary.fallback.is_none() && summary.by != EXTRACT);
        let (text, epoch) = match summary {
            Some((summary, epoch)) => (Text::Written(Box::new(summary)), epoch),
            None => (Text::Extracted, plain),
        };
        let made = make(document, &summarise, &epoch, &text, options, &mut meter)?;
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
        let (made, id) = archive(document, &chain, &summarise, made, &epoch, &text, options, &mut meter, store, now)?;
        finish(&mut report, &made, &summarise);
        report.artifact = Some(id.to_string());
        report.epoch = Some(id.to_string());
        Ok(Compacted { report, edits: made.applied.edits })
    }
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
