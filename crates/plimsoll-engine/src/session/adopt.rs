//! Putting an epoch in place: durable before it is used, the first writer's, and found again after a restart.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use plimsoll::budget::{Acceptance, Thresholds, Trigger, accept};
use plimsoll::compact::Epoch;
use plimsoll::id::EpochId;
use plimsoll::wire::parse;
use plimsoll_store::Compaction;

use super::Inner;
use super::history::{History, InForce};
use super::make::{Made, Told, make, read_options};
use super::report::{CompactionReport, Reason, Request};
use super::see::{Laid, Seen, Unseen};
use super::spawn::block_on;
use super::work::Stage;
use crate::compact::removed_bytes;
use crate::event::Event;

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
                (ours, laid, Some(made.told.clone()))
            }
            Ok(Some(first)) => {
                let laid = self.lay_under(request, history, &first)?;
                (first, laid, None)
            }
            Err(error) if !must => return Err(Reason::Store(error)),
            Err(_) if !made.archived => (ours, laid, Some(made.told.clone())),
            Err(_) => {
                // What a model wrote nobody else could repeat without the record: an extract at the same cut, then.
                let Stage::Made(again) = block_on(make(made.without_store())) else {
                    return Err(Reason::Store("the epoch cannot be recorded".to_owned()));
                };
                let extract = InForce::new(again.epoch.clone(), again.name.clone(), false);
                let laid = self.lay_under(request, history, &extract)?;
                judge(&laid)?;
                (extract, laid, Some(again.told.clone()))
            }
        };
        self.state().decide(&in_force);
        let kept = self.settle(request, laid).history;
        let report = told_of(&in_force, told.as_ref(), before, &kept);
        self.note_replay(&in_force);
        self.watch(&Event::Compacted(Box::new(report.clone())));
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
        if epoch.chain != ours.epoch.chain || epoch.format != ours.epoch.format {
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
        if !seen.is_new {
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
            Err(error) => seen.notes.push(Reason::Store(error)),
        }
    }

    fn make_durable(
        &self,
        request: &Request<'_>,
        history: &History,
        in_force: &InForce,
    ) -> Result<Option<InForce>, String> {
        let document = parse(request.body, &read_options(history)).map_err(|error| error.to_string())?;
        let compaction = Compaction {
            epoch: &in_force.id,
            document: request.body,
            removed: &removed_bytes(&document, in_force.epoch.removed.clone(), &in_force.epoch.retained),
            artifacts: &[],
            record: b"",
            now: (self.options.clock)(),
        };
        self.store.archive_body(&compaction).map_err(|error| error.to_string())?;
        self.record(in_force)
    }

    /// Notes once a day that an epoch is replayed, so that what it removed is kept.
    fn note_replay(&self, in_force: &InForce) {
        let now = (self.options.clock)();
        let day = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() / (24 * 60 * 60));
        if in_force.is_to_be_noted(day + 1) {
            // If that fails, the archive is kept a day less.
            let _ = self.store.mark_replayed(&in_force.id, now);
        }
    }

    /// Asks the store whether somebody has compacted a history, and takes that over.
    pub(super) fn ask(&self, request: &Request<'_>, seen: &mut Seen) {
        let history = Arc::clone(&seen.history);
        match self.find(&history) {
            Ok(found) => {
                self.state().note_asked(history.hash());
                let Some(found) = found else {
                    return;
                };
                match self.reread(request, &history, &found) {
                    Ok(history) => {
                        seen.history = history;
                        self.watch(&Event::Found { epoch: found.name() });
                        self.note_replay(&found);
                    }
                    Err(reason) => seen.notes.push(reason),
                }
            }
            Err(error) => seen.notes.push(Reason::Store(error)),
        }
    }

    /// Finds the epoch of the longest prefix of a history that is recorded, if that is longer than what is in force.
    fn find(&self, history: &History) -> Result<Option<InForce>, String> {
        let recorded = self.store.epochs(&self.id).map_err(|error| error.to_string())?;
        if recorded.is_empty() {
            return Ok(None);
        }
        let recorded: HashSet<EpochId> = recorded.into_iter().collect();
        let least = history.in_force.as_ref().map_or(1, |in_force| in_force.epoch.prefix + 1);
        for prefix in (least..history.len()).rev() {
            let Some(hash) = history.chain.prefix(prefix) else {
                continue;
            };
            let id = EpochId::new(&self.id, hash.as_bytes());
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
            {
                return Ok(Some(InForce::new(epoch, id, true)));
            }
        }
        Ok(None)
    }
}

fn told_of(in_force: &InForce, told: Option<&Told>, before: plimsoll::Tokens, history: &History) -> CompactionReport {
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
        removed: epoch.removed.len() - epoch.retained.len(),
        kept: history.len() - epoch.prefix,
        carried: told.map(|told| told.carried),
    }
}
