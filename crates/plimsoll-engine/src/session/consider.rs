//! Whether to compact now: what is known is put together, [`schedule`] decides, and that is done.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll::budget::{Attempt, Level, Permit, Thresholds, Trigger};
use plimsoll::compact::{Situation, Step, Supply, has_bound_turn, schedule};
use plimsoll::wire::parse;

use super::Inner;
use super::flow::Late;
use super::history::History;
use super::make::{Brief, Made, make, read_options};
use super::options::Lookup;
use super::reduce::is_enough;
use super::report::{CompactionReport, Reason, Request};
use super::see::Seen;
use super::spawn::block_on;
use super::work::{Guard, Stage, Waiting, Work};
use crate::summarise::{BoxFuture, Cancel};

/// What became of the question whether to compact.
pub(super) enum Outcome {
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
    /// Decides about compaction, and does what is decided.
    pub(super) fn consider(
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
        let (supply, stage) = supply(work.as_ref(), history, thresholds, trigger, level, bound_turn, late);
        let step = schedule(&Situation {
            level,
            trigger,
            permit: permit.clone(),
            supply,
            bound_turn,
            unattended: self.options.unattended,
        });
        match (step, stage) {
            (Step::Adopt, Some(Stage::Made(made))) => {
                self.put_in_place(request, history, &made, work.as_ref(), thresholds, trigger, level)
            }
            (Step::Extract, _) => {
                let brief = Brief { extract_only: true, ..self.brief(request, history, thresholds, trigger) };
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
            (Step::Start | Step::StartAndWait, _) => {
                match self.start(request, history, thresholds, trigger, bound_turn) {
                    Some(work) if step == Step::StartAndWait => {
                        Outcome::Waits(Waiting { work, patience: self.options.patience })
                    }
                    Some(_) => Outcome::Preparing,
                    None => Outcome::Left(None),
                }
            }
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
                if let Some(work) = work {
                    work.used();
                }
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
        request: &Request<'_>,
        history: &Arc<History>,
        thresholds: &Thresholds,
        trigger: Trigger,
        bound_turn: bool,
    ) -> Option<Arc<Work>> {
        let (work, running) = {
            let mut state = self.state();
            // Of two requests that come at once one begins, and both use what comes of it.
            let other = state.work_for(history);
            if other.as_ref().is_some_and(|other| other.is_making()) {
                return other;
            }
            // What there was is of no use, or it would not be begun anew.
            let again = other.is_some();
            let brief = Brief { again, ..self.brief(request, history, thresholds, trigger) };
            let (work, running) = begin(brief, bound_turn)?;
            state.begin_work(&work, history);
            (work, running)
        };
        self.options.spawn.spawn(running);
        Some(work)
    }

    pub(super) fn brief(
        &self,
        request: &Request<'_>,
        history: &Arc<History>,
        thresholds: &Thresholds,
        trigger: Trigger,
    ) -> Brief {
        Brief {
            own_model: request.own_model.cloned(),
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
            again: false,
        }
    }

    /// Whether the store is to be asked about a history now.
    pub(super) fn is_to_ask(&self, seen: &Seen, thresholds: &Thresholds) -> bool {
        let history = &seen.history;
        let now = (self.options.clock)();
        // From the compaction threshold on others put their epochs in place, so each step looks for them. Below it once a
        // turn is enough, and now and then where nothing came of an attempt, however full it is.
        let came_to_nothing = |work: Arc<Work>| matches!(work.stage(), Stage::Nothing(_));
        let (is_asked, is_asked_lately) = {
            let state = self.state();
            let hopeless = state.work_for(history).is_some_and(came_to_nothing);
            let early = history.used().0 < thresholds.compact;
            let lately = (hopeless || early) && state.is_asked_lately(history, now, !hopeless);
            (state.is_asked(history.conversation()) || state.has_just_failed(now), lately)
        };
        let met = history.in_force.is_some() || history.asked.load(Ordering::Acquire);
        let first = self.options.lookup == Lookup::FirstSight && !met;
        let full = (self.options.policy.auto || seen.is_first)
            && history.counted_as_it_came().max(history.used().0) >= thresholds.prepare
            && (history.in_force.is_none() || history.used().0 >= thresholds.prepare);
        !is_asked && (first || (full && !is_asked_lately))
    }
}

/// Begins a piece of work: what others wait for, and what is to be run.
pub(super) fn begin(brief: Brief, bound_turn: bool) -> Option<(Arc<Work>, BoxFuture<'static, ()>)> {
    let work = Arc::new(Work::new(&brief.history, brief.trigger, bound_turn, brief.cancel.clone())?);
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
    thresholds: &Thresholds,
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
        // What has become too little; what was made for this very history is judged when it is put in place.
        Stage::Made(made)
            if !(is_enough(&made.epoch, history, thresholds, trigger)
                || work.was_tried_at(history.len()) && work.trigger == trigger) =>
        {
            Supply::None
        }
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
