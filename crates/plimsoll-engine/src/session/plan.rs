//! What is to leave: planned on what the model sees, said in terms of what the client sends.

use plimsoll::Tokens;
use plimsoll::budget::{Measure, Thresholds, Trigger};
use plimsoll::compact::{Epoch, Plan, PlanOptions, Summarise, places, plan};
use plimsoll::transcript::Obligations;
use plimsoll::wire::Document;

use super::make::{Brief, Made};
use super::report::Reason;

/// How room is made.
pub(super) enum Room {
    /// By reductions, which are made.
    Made(Box<Made>),
    /// By a summary: the plan on what is sent, and in terms of what came.
    Planned(Box<(Summarise, Summarise)>),
}

impl Brief {
    /// Counts what is sent, with what usage says besides.
    pub(super) fn measure(&self, sent: &Document<'_>) -> Measure {
        let mut measure = self.lock_meter().measure(sent);
        measure.unrecorded = Some(self.history.used().0 - measure.total).filter(|more| *more > Tokens::ZERO);
        measure
    }

    /// Makes room by reductions, or plans a summary.
    pub(super) fn room(
        &self,
        sent: &Document<'_>,
        original: &Document<'_>,
        measure: &Measure,
    ) -> Result<Room, Reason> {
        if let Some(made) = self.reduce(sent, original, measure) {
            return Ok(Room::Made(Box::new(made)));
        }
        self.plan(sent, original, measure).map(|planned| Room::Planned(Box::new(planned)))
    }

    /// The same in other tokens. What a provider counts more than we do is first taken for something that stays, such as
    /// a system prompt of its own. If nothing fits beside that, its tokenizer may make more of each text instead: then the
    /// limits are smaller by as much, and what leaves takes its share with it.
    pub(super) fn rescaled(&self, measure: &mut Measure) -> Self {
        let thresholds = self.thresholds.scaled(measure.total, measure.context());
        measure.unrecorded = None;
        Self { thresholds, ..self.clone() }
    }

    /// What a plan is judged by.
    pub(super) fn judged_by(&self, sent: &Document<'_>, measure: &Measure) -> (Thresholds, PlanOptions) {
        let mut thresholds = self.thresholds;
        if self.trigger == Trigger::Threshold && measure.context() < thresholds.compact {
            // It is planned ahead: what is due at the compaction threshold is made now.
            thresholds.compact = thresholds.prepare;
        }
        let mut options = PlanOptions::new(sent.format(), self.trigger);
        options.auto = self.options.policy.auto;
        options.force = self.force;
        (thresholds, options)
    }

    /// Plans on what is sent, and says the plan in terms of what came.
    fn plan(
        &self,
        sent: &Document<'_>,
        original: &Document<'_>,
        measure: &Measure,
    ) -> Result<(Summarise, Summarise), Reason> {
        let (thresholds, mut options) = self.judged_by(sent, measure);
        let transcript = sent.transcript();
        let obligations = Obligations::of(transcript);
        let decide = |options: &PlanOptions| match plan(transcript, &obligations, measure, &thresholds, options) {
            Plan::Summarise(summarise) => Ok(summarise),
            Plan::Skipped(skip) => Err(Reason::Skipped(skip.to_string())),
            Plan::Infeasible { irreducible, limit } => Err(Reason::Infeasible { irreducible, limit }),
            other => Err(Reason::Skipped(format!("a plan that this version cannot carry out: {other:?}"))),
        };
        let mut summarise = decide(&options)?;
        let places = self.places(sent, original)?;
        if let Some(reduced) = self.in_force().filter(|epoch| epoch.is_of_reductions()) {
            // A summary stands for what was reduced before its cut; what was reduced after it would come back whole.
            let from = places.iter().position(|place| place.is_some_and(|place| place >= reduced.prefix));
            if let Some(from) = from.filter(|from| summarise.removed.end < *from) {
                options.keep_tokens = Some(measure.range(from..measure.len()));
                summarise = decide(&options).unwrap_or(summarise);
            }
        }
        let recorded = self.recorded(&summarise, &places, original)?;
        Ok((summarise, recorded))
    }

    pub(super) fn in_force(&self) -> Option<&Epoch> {
        self.history.in_force.as_ref().map(|in_force| &*in_force.epoch)
    }

    /// Which of the messages as they came each message that is sent is.
    fn places(&self, sent: &Document<'_>, original: &Document<'_>) -> Result<Vec<Option<usize>>, Reason> {
        let there = sent.transcript().messages.len();
        let (removed, retained) = match self.in_force() {
            Some(epoch) if !epoch.is_of_reductions() => (epoch.removed.clone(), &epoch.retained[..]),
            _ => (0..0, &[][..]),
        };
        places(original, &self.history.edits(), removed, retained, there).ok_or_else(unhashed)
    }

    /// The plan in terms of the messages as they came.
    fn recorded(
        &self,
        summarise: &Summarise,
        places: &[Option<usize>],
        original: &Document<'_>,
    ) -> Result<Summarise, Reason> {
        let Some(epoch) = self.in_force() else {
            return Ok(summarise.clone());
        };
        let after_cut = places.iter().skip(summarise.removed.end).find_map(|place| *place);
        // A summary takes the place of one before it only if it stands for more; of reductions it always does.
        let (start, least) = if epoch.is_of_reductions() {
            (places.get(summarise.removed.start).copied().flatten().unwrap_or(0), 0)
        } else {
            (epoch.removed.start, epoch.prefix)
        };
        let Some(cut) = after_cut.filter(|cut| *cut > least) else {
            return Err(Reason::Skipped("nothing came since the last compaction that could leave".to_owned()));
        };
        let retained = summarise.retained.iter().filter_map(|index| places.get(*index).copied().flatten());
        let mut recorded = summarise.clone();
        recorded.retained = retained.collect();
        recorded.removed = start..cut;
        recorded.omitted = Vec::new();
        recorded.messages = original.transcript().messages.len();
        Ok(recorded)
    }
}

pub(super) fn unhashed() -> Reason {
    Reason::Skipped("the history could not be hashed up to the cut; this is a fault of Plimsoll".to_owned())
}
