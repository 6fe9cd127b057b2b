//! What happens to a request, from its body to what goes out: see, ask, schedule, put in place.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use plimsoll::Tokens;
use plimsoll::budget::{Attempt, Level, Permit, Thresholds, Trigger};
use plimsoll::compact::{Situation, Step, Supply, has_bound_turn, schedule};
use plimsoll::token::Method;
use plimsoll::wire::{Edit, Overflow, OverflowKind, parse, splice};

use super::Inner;
use super::history::History;
use super::make::{Brief, Made, make, read_options};
use super::options::Lookup;
use super::report::{
    Begun, ByHand, CompactionReport, Manual, OverflowError, Prefix, Prepared, Reason, Request, RequestReport, Turn,
};
use super::see::{Seen, Unseen};
use super::spawn::block_on;
use super::work::{Guard, Stage, Waiting, Work};
use crate::summarise::{BoxFuture, Cancel};

/// Whether a request has waited for a summary as long as is reasonable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    No,
    Yes,
}

/// What became of the question whether to compact.
enum Outcome {
    /// Nothing, for a reason that is worth telling.
    Left(Option<Reason>),
    /// A summary is being made meanwhile.
    Preparing,
    /// An epoch is in place.
    Compacted(Arc<History>, Box<CompactionReport>),
    /// The request waits.
    Waits(Waiting),
}

impl Inner {
    /// Makes a request ready to go out, or says what it has to wait for.
    pub(super) fn attempt<'b>(&self, request: &Request<'b>, late: Late) -> Begun<'b> {
        let mut seen = match self.see(request) {
            Ok(seen) => seen,
            Err(Unseen::Passed(reason)) => return Begun::Ready(Box::new(self.pass(request, reason))),
            Err(Unseen::Results(document)) => return Begun::Ready(Box::new(self.results_alone(request, &document))),
        };
        let thresholds = self.thresholds(&seen.history.envelope);
        self.keep_up(request, &mut seen);
        if self.is_to_ask(&seen, &thresholds) {
            self.ask(request, &mut seen);
        }
        let level = thresholds.level(seen.history.used().0);
        if seen.is_new && seen.before.is_some() {
            self.state().breaker(seen.history.lineage).turn(level < Level::Compact);
        }
        let mut report = None;
        let mut preparing = false;
        if request.replay_only {
            if level >= Level::Compact {
                seen.notes.push(Reason::ReplayOnly);
            }
        } else {
            match self.consider(request, &seen.history, &thresholds, level, Trigger::Threshold, late) {
                Outcome::Left(reason) => seen.notes.extend(reason),
                Outcome::Preparing => preparing = true,
                Outcome::Compacted(history, compacted) => {
                    seen.history = history;
                    report = Some(*compacted);
                }
                Outcome::Waits(waiting) => return Begun::Waits(waiting),
            }
        }
        if late == Late::Yes && report.as_ref().is_some_and(|report| report.summarizer == "extract") {
            seen.notes.push(Reason::SummaryLate);
        }
        Begun::Ready(Box::new(self.finish(request, seen, thresholds, report, preparing, false)))
    }

    /// Decides about compaction, and does what is decided.
    fn consider(
        &self,
        request: &Request<'_>,
        history: &Arc<History>,
        thresholds: &Thresholds,
        level: Level,
        trigger: Trigger,
        late: Late,
    ) -> Outcome {
        if trigger == Trigger::Threshold && level < Level::Prepare {
            return Outcome::Left(None);
        }
        let (permit, work) = {
            let mut state = self.state();
            (state.breaker(history.lineage).permit(self.options.policy.auto, trigger), state.work_for(history))
        };
        let is_due = trigger != Trigger::Threshold || level >= Level::Compact;
        let bound_turn = permit == Permit::Granted && is_bound(history);
        let (supply, stage) = supply(work.as_ref(), history, trigger, level, bound_turn, late);
        let step = schedule(&Situation { level, trigger, permit: permit.clone(), supply, bound_turn });
        match (step, stage) {
            (Step::Adopt, Some(Stage::Made(made))) => {
                self.put_in_place(request, history, &made, work.as_ref(), thresholds, trigger, level)
            }
            (Step::Extract, _) => {
                let brief = Brief { extract_only: true, ..self.brief(history, thresholds, trigger) };
                match block_on(make(brief)) {
                    Stage::Made(made) => {
                        let outcome =
                            self.put_in_place(request, history, &made, work.as_ref(), thresholds, trigger, level);
                        // What comes too late is nobody's.
                        if let (Outcome::Compacted(..), Some(late)) = (&outcome, &work) {
                            late.cancel.cancel();
                        }
                        outcome
                    }
                    Stage::Nothing(reason) => Outcome::Left(Some(reason)),
                    Stage::Making => Outcome::Left(None),
                }
            }
            (Step::Start | Step::StartAndWait, _) => match self.start(history, thresholds, trigger, bound_turn) {
                Some(work) if step == Step::StartAndWait => {
                    Outcome::Waits(Waiting { work, patience: self.options.patience })
                }
                Some(_) => Outcome::Preparing,
                None => Outcome::Left(None),
            },
            (Step::Wait, _) => match work {
                Some(work) => Outcome::Waits(Waiting { work, patience: self.options.patience }),
                None => Outcome::Left(None),
            },
            (_, Some(Stage::Making)) => Outcome::Preparing,
            (_, Some(Stage::Nothing(reason))) if permit == Permit::Granted => Outcome::Left(is_due.then_some(reason)),
            _ if !is_due => Outcome::Left(None),
            _ => Outcome::Left(match permit {
                Permit::AutoOff => Some(Reason::AutoOff),
                Permit::Tripped(_) => Some(Reason::Stopped(permit.to_string())),
                Permit::Granted => Some(Reason::Skipped(
                    "a turn with signed reasoning goes on; compaction waits for its end".to_owned(),
                )),
            }),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of one orchestration; a type for it would only be unpacked"
    )]
    fn put_in_place(
        &self,
        request: &Request<'_>,
        history: &Arc<History>,
        made: &Arc<Made>,
        work: Option<&Arc<Work>>,
        thresholds: &Thresholds,
        trigger: Trigger,
        level: Level,
    ) -> Outcome {
        // Below the hard threshold nothing has to be done without a store.
        let must = trigger != Trigger::Threshold || level >= Level::Hard;
        match self.adopt(request, history, made, thresholds, trigger, must, false) {
            Ok((adopted, report)) => {
                self.state().breaker(history.lineage).attempted(trigger, Attempt::Applied);
                Outcome::Compacted(adopted, Box::new(report))
            }
            // It may be tried again as it is.
            Err(reason @ Reason::Store(_)) => Outcome::Left(Some(reason)),
            Err(reason) => {
                let attempt =
                    if matches!(reason, Reason::Ineffective { .. }) { Attempt::Ineffective } else { Attempt::Failed };
                self.state().breaker(history.lineage).attempted(trigger, attempt);
                match work {
                    Some(work) if matches!(work.stage(), Stage::Made(_)) => {
                        work.spend(reason.clone(), history.len());
                    }
                    _ => {}
                }
                Outcome::Left(Some(reason))
            }
        }
    }

    /// Starts the making of a summary beside the requests.
    fn start(
        &self,
        history: &Arc<History>,
        thresholds: &Thresholds,
        trigger: Trigger,
        bound_turn: bool,
    ) -> Option<Arc<Work>> {
        let (work, running) = {
            let mut state = self.state();
            // Of two requests that come at once one begins, and both use what comes of it.
            if let Some(other) = state.work_for(history).filter(|other| other.is_making()) {
                return Some(other);
            }
            let (work, running) = begin(self.brief(history, thresholds, trigger), bound_turn)?;
            state.begin_work(&work, history);
            (work, running)
        };
        self.options.spawn.spawn(running);
        Some(work)
    }

    fn brief(&self, history: &Arc<History>, thresholds: &Thresholds, trigger: Trigger) -> Brief {
        Brief {
            history: Arc::clone(history),
            thresholds: *thresholds,
            trigger,
            force: false,
            instructions: None,
            options: Arc::clone(&self.options),
            meter: Arc::clone(&history.meter),
            store: self.store.clone(),
            session: self.id.clone(),
            cancel: Cancel::default(),
            extract_only: false,
            unstored: false,
        }
    }

    /// Whether the store is to be asked about a history now.
    fn is_to_ask(&self, seen: &Seen, thresholds: &Thresholds) -> bool {
        let history = &seen.history;
        let is_asked = self.state().is_asked(history.hash());
        let spoken = history.len() > 1 && seen.is_first;
        let first = self.options.lookup == Lookup::FirstSight && spoken && history.in_force.is_none();
        let full = history.counted_as_it_came().max(history.used().0) >= thresholds.prepare
            && (history.in_force.is_none() || history.used().0 >= thresholds.prepare);
        !is_asked && (first || full)
    }

    /// Makes a request ready to go out again that was too long.
    pub(super) fn recover<'b>(
        &self,
        turn: &Turn,
        request: &Request<'b>,
        overflow: &Overflow,
        late: Late,
    ) -> Result<Begun<'b>, OverflowError> {
        if !self.options.policy.auto {
            return Err(OverflowError::AutoOff);
        }
        if turn.replayed {
            return Err(OverflowError::StillTooLong { tokens: turn.counted });
        }
        let mut seen = match self.see(request) {
            Ok(seen) => seen,
            Err(Unseen::Passed(reason)) => return Err(OverflowError::NotCompacted(reason)),
            Err(Unseen::Results(_)) => return Err(OverflowError::NotCompacted(Reason::ServerHistory)),
        };
        self.learn(seen.history.envelope.model.as_ref(), turn, overflow);
        let thresholds = self.thresholds(&seen.history.envelope);
        if !self.state().is_asked(seen.history.hash()) {
            self.ask(request, &mut seen);
        }
        let mut report = None;
        let is_other = turn.at.as_ref().is_some_and(|at| at.epoch != seen.history.epoch());
        // Another request, or another process, may have compacted it meanwhile.
        if !(is_other && seen.history.counted() < turn.counted) {
            let level = thresholds.level(seen.history.used().0);
            match self.consider(request, &seen.history, &thresholds, level, Trigger::Overflow, late) {
                Outcome::Waits(waiting) => return Ok(Begun::Waits(waiting)),
                Outcome::Compacted(history, compacted) => {
                    seen.history = history;
                    report = Some(*compacted);
                }
                Outcome::Preparing => return Err(OverflowError::NotCompacted(Reason::SummaryLate)),
                Outcome::Left(reason) => {
                    let none = || Reason::Skipped("there is nothing to compact".to_owned());
                    return Err(OverflowError::NotCompacted(reason.unwrap_or_else(none)));
                }
            }
        }
        let prepared = self.finish(request, seen, thresholds, report, false, true);
        if self.options.shadow {
            return Err(OverflowError::NotCompacted(Reason::Shadow));
        }
        Ok(Begun::Ready(Box::new(prepared)))
    }

    /// Remembers what an overflow says that the model takes. Where it says nothing, it is less than was sent.
    fn learn(&self, model: Option<&String>, turn: &Turn, overflow: &Overflow) {
        if overflow.kind == OverflowKind::Bytes {
            return;
        }
        let limit = match (overflow.limit, overflow.tokens) {
            // What the provider counts more than we do is taken off, so that the limit is one in our tokens.
            (Some(limit), Some(tokens)) if tokens > turn.counted && turn.counted > Tokens::ZERO => {
                let scaled = u128::from(limit.0) * u128::from(turn.counted.0) / u128::from(tokens.0.max(1));
                Tokens(u64::try_from(scaled).unwrap_or(limit.0))
            }
            (Some(limit), _) => limit,
            (None, _) => Tokens(turn.counted.0 / 20 * 19),
        };
        if limit > Tokens::ZERO {
            let mut state = self.state();
            let learned = state.learned.entry(model.cloned()).or_insert(limit);
            *learned = limit.min(*learned);
        }
    }

    /// Compacts by hand.
    pub(super) fn by_hand(&self, request: &Request<'_>, manual: &Manual) -> ByHand {
        let mut seen = match self.see(request) {
            Ok(seen) => seen,
            Err(Unseen::Passed(reason)) => return ByHand::Left(reason),
            Err(Unseen::Results(_)) => return ByHand::Left(Reason::ServerHistory),
        };
        let thresholds = self.thresholds(&seen.history.envelope);
        self.ask(request, &mut seen);
        let history = seen.history;
        let brief = Brief {
            force: manual.force,
            instructions: manual.instructions.clone(),
            cancel: manual.cancel.clone(),
            ..self.brief(&history, &thresholds, Trigger::Manual)
        };
        let Some((work, running)) = begin(brief, false) else {
            return ByHand::Left(Reason::Skipped("the history has no hash; this is a fault of Plimsoll".to_owned()));
        };
        self.options.spawn.spawn(running);
        let waiting = Waiting { work: Arc::clone(&work), patience: Duration::from_millis(200) };
        while !waiting.wait() && !manual.cancel.is_cancelled() {}
        if manual.cancel.is_cancelled() {
            return ByHand::Aborted;
        }
        let made = match work.stage() {
            Stage::Made(made) => made,
            Stage::Nothing(reason) => return ByHand::Left(reason),
            Stage::Making => return ByHand::Aborted,
        };
        match self.adopt(request, &history, &made, &thresholds, Trigger::Manual, true, manual.force) {
            Ok((_, report)) => {
                self.state().breaker(history.lineage).attempted(Trigger::Manual, Attempt::Applied);
                ByHand::Compacted(Box::new(report))
            }
            Err(reason) => ByHand::Left(reason),
        }
    }

    /// What goes out, and what is told of it.
    fn finish<'b>(
        &self,
        request: &Request<'b>,
        mut seen: Seen,
        thresholds: Thresholds,
        compaction: Option<CompactionReport>,
        preparing: bool,
        replayed: bool,
    ) -> Prepared<'b> {
        let history = Arc::clone(&seen.history);
        let (used, method) = history.used();
        let unchanged = history.is_unchanged();
        let shadowed = self.options.shadow && !unchanged;
        let bytes =
            if unchanged || self.options.shadow { Cow::Borrowed(request.body) } else { history.sent(request.body) };
        if self.options.shadow {
            seen.notes.push(Reason::Shadow);
        }
        let report = RequestReport {
            tokens_before: if unchanged { used } else { history.counted_as_it_came() },
            tokens_after: used,
            method,
            thresholds: Some(thresholds),
            level: Some(thresholds.level(used)),
            epoch: history.in_force.as_ref().map(super::history::InForce::name),
            prefix: seen.prefix(),
            capped: seen.capped,
            compaction,
            preparing,
            notes: seen.notes,
            sent: history.sent_chain().prefix(history.sent_chain().len()),
        };
        let turn = Turn { at: history.at(), counted: history.counted(), replayed, shadowed };
        Prepared { bytes, report, turn }
    }

    /// Lets a body go as it came.
    pub(super) fn pass<'b>(&self, request: &Request<'b>, reason: Reason) -> Prepared<'b> {
        let tokens = Tokens::from(request.body.len() / 4);
        let notes = vec![reason];
        let report = told(tokens, tokens, 0, notes);
        let turn = Turn { at: None, counted: Tokens::ZERO, replayed: false, shadowed: self.options.shadow };
        Prepared { bytes: Cow::Borrowed(request.body), report, turn }
    }

    /// Caps results where the history stands on the server, and does nothing else.
    fn results_alone<'b>(&self, request: &Request<'b>, document: &plimsoll::wire::Document<'b>) -> Prepared<'b> {
        let admitted = self.admit_alone(request, document);
        let edits: Vec<Edit<'_>> = admitted.caps.iter().map(|cap| Edit::replace(cap.span, &cap.with[..])).collect();
        let bytes = match splice(request.body, &edits) {
            Ok(bytes) if !self.options.shadow => bytes,
            _ => Cow::Borrowed(request.body),
        };
        let mut notes = admitted.notes;
        notes.push(Reason::ServerHistory);
        let count = |bytes: &[u8]| Tokens::from(bytes.len() / 4);
        let report = told(count(request.body), count(&bytes), admitted.fresh, notes);
        let turn = Turn { at: None, counted: Tokens::ZERO, replayed: false, shadowed: self.options.shadow };
        Prepared { bytes, report, turn }
    }
}

/// What is told of a request that has no history here.
fn told(before: Tokens, after: Tokens, capped: usize, notes: Vec<Reason>) -> RequestReport {
    RequestReport {
        tokens_before: before,
        tokens_after: after,
        method: Method::Estimated,
        thresholds: None,
        level: None,
        epoch: None,
        prefix: Prefix::New,
        capped,
        compaction: None,
        preparing: false,
        notes,
        sent: None,
    }
}

/// Begins a piece of work: what others wait for, and what is to be run.
fn begin(brief: Brief, bound_turn: bool) -> Option<(Arc<Work>, BoxFuture<'static, ()>)> {
    let base = brief.history.at()?;
    let work = Arc::new(Work::new(base, brief.trigger, bound_turn, brief.cancel.clone()));
    let guard = Guard(Arc::clone(&work));
    let running = Box::pin(async move {
        let stage = make(brief).await;
        guard.0.end(stage);
    });
    Some((work, running))
}

/// What there is of a summary for a history, and the stage of the work that it comes from.
fn supply(
    work: Option<&Arc<Work>>,
    history: &History,
    trigger: Trigger,
    level: Level,
    bound_turn: bool,
    late: Late,
) -> (Supply, Option<Stage>) {
    let Some(work) = work else {
        return (Supply::None, None);
    };
    let must = trigger != Trigger::Threshold || level >= Level::Hard;
    let stage = work.stage();
    let supply = match &stage {
        Stage::Making if late == Late::Yes => Supply::Late,
        Stage::Making => Supply::Making,
        // What was planned before this turn leaves too much of its reasoning behind a changed prefix.
        Stage::Made(_) if bound_turn && must && !work.in_bound_turn => Supply::None,
        Stage::Made(_) => Supply::Ready,
        // A history that has grown since, or is in greater need, may be tried again.
        Stage::Nothing(_) if work.was_tried_at(history.len()) && (work.trigger == trigger || !must) => {
            Supply::Nothing
        }
        Stage::Nothing(_) => Supply::None,
    };
    (supply, Some(stage))
}

/// Whether a turn with bound reasoning goes on.
fn is_bound(history: &History) -> bool {
    let sent = history.sent(&history.bytes);
    parse(&sent, &read_options(history)).is_ok_and(|document| has_bound_turn(document.transcript()))
}
