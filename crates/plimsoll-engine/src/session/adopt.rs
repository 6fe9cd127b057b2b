//! Putting an epoch in place: durable before it is used, the first writer's, and found again after a restart.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::SystemTime;

use plimsoll::Tokens;
use plimsoll::budget::{Acceptance, Thresholds, Trigger, accept};
use plimsoll::compact::{ChainHash, Epoch};
use plimsoll::id::EpochId;
use plimsoll::wire::parse;
use plimsoll_store::Compaction;

use super::Inner;
use super::envelope::Envelope;
use super::history::History;
use super::make::{Made, Told, make, read_options};
use super::options::Lookup;
use super::reduce::{artifacts, key, rank, reductions_key, removed};
use super::report::{CompactionReport, Reason, Request};
use super::see::{Laid, Seen, Unseen};
use super::spawn::block_on;
use super::state::State;
use super::work::Stage;
use crate::clock;
use crate::compact::removed_bytes;
use crate::event::Event;

/// An epoch that is in force for a history. Clones share what is known of its record.
#[derive(Debug, Clone)]
pub(super) struct InForce {
    pub(super) epoch: Arc<Epoch>,
    /// The name of its record.
    pub(super) id: EpochId,
    /// Whether it is recorded in the store.
    durable: Arc<AtomicBool>,
    /// The day on which its replay was noted in the store.
    noted: Arc<AtomicU64>,
}

impl InForce {
    pub(super) fn new(epoch: Epoch, id: EpochId, durable: bool) -> Self {
        let durable = Arc::new(AtomicBool::new(durable));
        Self { epoch: Arc::new(epoch), id, durable, noted: Arc::default() }
    }

    /// What tells it from other epochs.
    pub(super) fn key(&self) -> ChainHash {
        key(&self.epoch)
    }

    /// What `restore` takes.
    pub(super) fn name(&self) -> String {
        self.epoch.artifact.clone().unwrap_or_else(|| self.id.to_string())
    }

    pub(super) fn is_durable(&self) -> bool {
        self.durable.load(Ordering::Acquire)
    }

    pub(super) fn made_durable(&self) {
        self.durable.store(true, Ordering::Release);
    }

    /// Whether its replay is to be noted on this day; says so once.
    pub(super) fn is_to_be_noted(&self, day: u64) -> bool {
        self.is_durable() && self.noted.swap(day, Ordering::AcqRel) != day
    }
}

impl Inner {
    /// Puts a summary in place for a history: judged first, then durable, then used.
    ///
    /// Without a store it is put in place only if it `must` be: as an extract, which anybody can repeat.
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of one orchestration; a type for it would only be unpacked"
    )]
    pub(super) fn adopt(
        &self,
        request: &Request<'_>,
        history: &History,
        made: &Made,
        thresholds: &Thresholds,
        trigger: Trigger,
        must: bool,
        force: bool,
    ) -> Result<(Arc<History>, CompactionReport), Reason> {
        if !made.archived && !must {
            return Err(Reason::Store("what is to be removed cannot be archived".to_owned()));
        }
        let before = history.counted();
        let ours = InForce::new(made.epoch.clone(), made.name.clone(), false);
        let laid = self.lay_under(request, history, &ours)?;
        let judge = |laid: &Laid| {
            let after = laid.history.counted();
            let taken = match trigger {
                Trigger::Manual => force || after < before,
                _ => accept(before, after, thresholds.target) == Acceptance::Accepted,
            };
            if taken { Ok(()) } else { Err(Reason::Ineffective { before, after }) }
        };
        judge(&laid)?;
        let recorded = if made.archived { self.record(&ours) } else { Err(String::new()) };
        let (in_force, laid, told) = match recorded {
            Ok(None) => {
                ours.made_durable();
                (ours, laid, made.told.clone())
            }
            Ok(Some(first)) => {
                let laid = self.lay_under(request, history, &first)?;
                (first, laid, None)
            }
            Err(error) if !must => return Err(Reason::Store(error)),
            Err(_) if !made.archived => (ours, laid, made.told.clone()),
            Err(_) => {
                // What a model wrote nobody else could repeat without the record: an extract at the same cut, then.
                let Stage::Made(again) = block_on(make(made.without_store())) else {
                    return Err(Reason::Store("the epoch cannot be recorded".to_owned()));
                };
                let extract = InForce::new(again.epoch.clone(), again.name.clone(), false);
                let laid = self.lay_under(request, history, &extract)?;
                judge(&laid)?;
                (extract, laid, again.told.clone())
            }
        };
        let is_new = self.state().decide(&in_force);
        let kept = self.settle(request, laid).history;
        let report = told_of(&in_force, told.as_ref(), before, &kept);
        self.note_replay(&in_force);
        if is_new {
            // Of requests that put it in place at once, one has done so.
            self.watch(&Event::Compacted(Box::new(report.clone())));
        }
        Ok((kept, report))
    }

    /// Reads a request under an epoch that is considered.
    fn lay_under(&self, request: &Request<'_>, history: &History, in_force: &InForce) -> Result<Laid, Reason> {
        match self.lay(request, Some((in_force, history))) {
            Ok(laid) => Ok(laid),
            Err(Unseen::Passed(reason)) => Err(reason),
            Err(Unseen::Results(_)) => Err(Reason::ServerHistory),
        }
    }

    /// Reads a request again under an epoch that is decided.
    fn reread(&self, request: &Request<'_>, history: &History, in_force: &InForce) -> Result<Arc<History>, Reason> {
        let laid = self.lay_under(request, history, in_force)?;
        self.state().decide(in_force);
        Ok(self.settle(request, laid).history)
    }

    /// Records an epoch. Gives the one that was recorded first, if that is another.
    fn record(&self, ours: &InForce) -> Result<Option<InForce>, String> {
        let json = ours.epoch.to_json().map_err(|error| error.to_string())?;
        let (holds, first) = self.store.record_epoch(&ours.id, json.as_bytes()).map_err(|error| error.to_string())?;
        if first || holds == json.as_bytes() {
            return Ok(None);
        }
        let epoch = Epoch::from_json(&holds).map_err(|error| error.to_string())?;
        if key(&epoch) != ours.key() || epoch.format != ours.epoch.format {
            return Err(format!("{} is the name of another history's epoch", ours.id));
        }
        Ok(Some(InForce::new(epoch, ours.id.clone(), true)))
    }

    /// Does for a history what could not be done before: makes its epoch durable, and notes that it is replayed.
    pub(super) fn keep_up(&self, request: &Request<'_>, seen: &mut Seen) {
        let Some(in_force) = seen.history.in_force.clone() else {
            return;
        };
        if in_force.is_durable() {
            self.note_replay(&in_force);
            return;
        }
        let now = (self.options.clock)();
        if !seen.is_new || self.state().has_just_failed(now) {
            return;
        }
        match self.make_durable(request, &seen.history, &in_force) {
            Ok(None) => {
                in_force.made_durable();
                self.watch(&Event::Durable { epoch: in_force.name() });
            }
            Ok(Some(first)) => {
                if let Ok(history) = self.reread(request, &seen.history, &first) {
                    seen.history = history;
                }
            }
            Err(error) => {
                self.state().note_failed(now);
                seen.notes.push(Reason::Store(error));
            }
        }
    }

    fn make_durable(
        &self,
        request: &Request<'_>,
        history: &History,
        in_force: &InForce,
    ) -> Result<Option<InForce>, String> {
        let document = parse(request.body, &read_options(history)).map_err(|error| error.to_string())?;
        let epoch = &in_force.epoch;
        let removed = match removed(&document, epoch) {
            Some(pieces) if epoch.is_of_reductions() => pieces,
            _ => removed_bytes(&document, epoch.removed.clone(), &epoch.retained),
        };
        let compaction = Compaction {
            epoch: &in_force.id,
            document: request.body,
            removed: &removed,
            artifacts: &artifacts(epoch),
            record: b"",
            now: (self.options.clock)(),
        };
        self.store.archive_body(&compaction).map_err(|error| error.to_string())?;
        self.record(in_force)
    }

    /// Whether [`keep_up`](Self::keep_up) has something to do.
    #[cfg(feature = "tokio")]
    pub(super) fn has_to_keep_up(&self, seen: &Seen) -> bool {
        let Some(in_force) = &seen.history.in_force else {
            return false;
        };
        let day = day_of((self.options.clock)());
        if in_force.is_durable() { in_force.noted.load(Ordering::Acquire) != day } else { seen.is_new }
    }

    /// Notes once a day that an epoch is replayed, so that what it removed is kept.
    fn note_replay(&self, in_force: &InForce) {
        let now = (self.options.clock)();
        if in_force.is_to_be_noted(day_of(now)) {
            // If that fails, the archive is kept a day less.
            let _ = self.store.mark_replayed(&in_force.id, now);
        }
    }

    /// Asks the store whether somebody has compacted a history, and takes that over.
    pub(super) fn ask(&self, request: &Request<'_>, seen: &mut Seen) {
        let history = Arc::clone(&seen.history);
        let now = (self.options.clock)();
        match self.find(&history) {
            Ok(found) => {
                if let Some(found) = found {
                    match self.reread(request, &history, &found) {
                        Ok(history) => {
                            seen.history = history;
                            self.watch(&Event::Found { epoch: found.name() });
                            self.note_replay(&found);
                        }
                        Err(reason) => seen.notes.push(reason),
                    }
                }
                // Now, and not before: who comes at the same time relies on what was found.
                history.asked.store(true, Ordering::Release);
                self.state().note_asked(&history, now);
            }
            Err(error) => {
                self.state().note_failed(now);
                seen.notes.push(Reason::Store(error));
            }
        }
    }

    /// The epoch that holds for a history among those that match it: the first by [`rank`].
    ///
    /// One is held on to that was in force for what the history has grown from. Where the store is asked from the threshold on
    /// only, any other holds from there on only, too: a history that was rewound below it goes out the same, whether a process
    /// remembers what came after or not.
    pub(super) fn holding(
        &self,
        mut matching: Vec<InForce>,
        held: Option<ChainHash>,
        envelope: &Envelope,
        as_it_came: impl FnOnce() -> Tokens,
    ) -> Option<InForce> {
        let is_held = |known: &InForce| held == Some(known.key());
        let from_the_threshold_on = self.options.lookup == Lookup::Threshold && !matching.iter().all(is_held);
        if from_the_threshold_on && as_it_came() < self.static_thresholds(envelope).prepare {
            matching.retain(is_held);
        }
        matching.into_iter().max_by_key(|known| rank(&known.epoch))
    }

    /// The epoch that holds for a history by now, if it is another than the one that it was read under.
    pub(super) fn held_by_now(&self, state: &State, history: &History) -> Option<InForce> {
        let mut matching = state.matching(history.format, &history.chain);
        // Its own may have been dropped from memory among others; it goes on to hold.
        matching.extend(history.in_force.clone());
        let as_it_came = || history.counted_as_it_came();
        let holds = self.holding(matching, history.epoch(), &history.envelope, as_it_came);
        holds.filter(|holds| Some(holds.key()) != history.epoch())
    }

    /// Takes over what another request has put in place, or found, since this one was seen.
    pub(super) fn catch_up(&self, request: &Request<'_>, seen: &mut Seen) {
        let history = Arc::clone(&seen.history);
        let holds = self.held_by_now(&self.state(), &history);
        let Some(holds) = holds else {
            return;
        };
        match self.reread(request, &history, &holds) {
            Ok(history) => seen.history = history,
            Err(reason) => seen.notes.push(reason),
        }
    }

    /// Finds the recorded epoch that holds for a history, if that is another than what is in force.
    fn find(&self, history: &History) -> Result<Option<InForce>, String> {
        let recorded = self.store.epochs(&self.id).map_err(|error| error.to_string())?;
        if recorded.is_empty() {
            return Ok(None);
        }
        let recorded: HashSet<EpochId> = recorded.into_iter().collect();
        let mut best: Option<InForce> = None;
        let mut least = history.in_force.as_ref().map(|in_force| rank(&in_force.epoch));
        for prefix in (1..history.len()).rev() {
            // A summary goes before reductions, and what is longer before what is shorter.
            if least.is_some_and(|least| least >= (true, prefix)) {
                break;
            }
            let Some(hash) = history.chain.replaced(prefix) else {
                continue;
            };
            for key in [hash, reductions_key(hash)] {
                let id = EpochId::new(&self.id, key.as_bytes());
                if !recorded.contains(&id) {
                    continue;
                }
                let Some(record) = self.store.epoch_record(&id).map_err(|error| error.to_string())? else {
                    continue;
                };
                // A record of a later version, or of another history that is named alike, is none of ours.
                if let Ok(epoch) = Epoch::from_json(&record)
                    && epoch.format == history.format
                    && epoch.matches(&history.chain)
                    && least.is_none_or(|least| least < rank(&epoch))
                {
                    least = Some(rank(&epoch));
                    best = Some(InForce::new(epoch, id, true));
                }
            }
        }
        Ok(best)
    }
}

/// The number of a day, from 1 on: 0 is none.
fn day_of(now: SystemTime) -> u64 {
    clock::seconds(now) / (24 * 60 * 60) + 1
}

fn told_of(in_force: &InForce, told: Option<&Told>, before: Tokens, history: &History) -> CompactionReport {
    let epoch = &in_force.epoch;
    CompactionReport {
        epoch: in_force.name(),
        artifact: epoch.artifact.clone(),
        durable: in_force.is_durable(),
        adopted: told.is_none(),
        summarizer: told.map_or_else(|| "another process".to_owned(), |told| told.by.clone()),
        fallback: told.and_then(|told| told.fallback.clone()),
        tokens_before: before,
        tokens_after: history.counted(),
        reduced: told.map_or(epoch.reductions.len(), |told| told.reduced),
        removed: epoch.removed.len() - epoch.retained.len(),
        kept: if epoch.is_of_reductions() { history.len() } else { history.len() - epoch.prefix },
        carried: told.and_then(|told| told.carried),
    }
}
