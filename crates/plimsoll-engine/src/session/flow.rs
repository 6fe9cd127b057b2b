//! What happens to a request, from its body to what goes out: see, ask, schedule, put in place.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use plimsoll::Tokens;
use plimsoll::budget::{Attempt, Level, Thresholds, Trigger};
use plimsoll::token::Method;
use plimsoll::wire::{Edit, Overflow, splice};

use super::Inner;
use super::adopt::InForce;
use super::consider::{Outcome, begin};
use super::envelope::Limited;
use super::learned::{Learned, Refusal};
use super::make::Brief;
use super::report::{
    Begun, ByHand, CompactionReport, Manual, OverflowError, Prefix, Prepared, Reason, Request, RequestReport, Turn,
};
use super::see::{Seen, Unseen};
use super::work::{Stage, Waiting};

/// From how many tokens on a refusal says by itself that there were too many.
const TELLING: Tokens = Tokens(2_000);

/// Whether a request has waited for a summary as long as is reasonable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    No,
    Yes,
}

impl Inner {
    /// Makes a request ready to go out, or says what it has to wait for.
    pub(super) fn attempt<'b>(&self, request: &Request<'b>, late: Late) -> Begun<'b> {
        match self.see(request) {
            Ok(seen) => self.proceed(request, seen, late),
            Err(Unseen::Passed(reason)) => Begun::Ready(Box::new(self.pass(request, reason))),
            Err(Unseen::Results(document)) => Begun::Ready(Box::new(self.results_alone(request, &document))),
        }
    }

    /// Whether what follows for a request that was seen may take time: the store is asked, or a summary is made.
    #[cfg(feature = "tokio")]
    pub(super) fn may_block(&self, request: &Request<'_>, seen: &Seen) -> bool {
        let thresholds = self.thresholds_of(&seen.history);
        let is_full = !request.replay_only && thresholds.level(seen.history.used().0) >= Level::Prepare;
        is_full || self.has_to_keep_up(seen) || self.is_to_ask(seen, &thresholds)
    }

    /// Makes a request ready that was seen, or says what it has to wait for.
    pub(super) fn proceed<'b>(&self, request: &Request<'b>, mut seen: Seen, late: Late) -> Begun<'b> {
        let request = &seen.judged(request);
        let thresholds = self.thresholds_of(&seen.history);
        self.keep_up(request, &mut seen);
        if self.is_to_ask(&seen, &thresholds) {
            self.ask(request, &mut seen);
        }
        self.catch_up(request, &mut seen);
        let level = thresholds.level(seen.history.used().0);
        if seen.is_new && !seen.is_first {
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
        let refusal = Refusal::of(turn, seen.history.envelope.max_output, overflow, (self.options.clock)());
        let learned = match refusal {
            Refusal::Input(learned) => Some(learned),
            Refusal::Nothing => None,
            Refusal::Output => {
                let says =
                    "the refusal is of the output that was asked for; give the request a smaller limit of output";
                return Err(OverflowError::NotCompacted(Reason::Skipped(says.to_owned())));
            }
        };
        let thresholds = self.thresholds_with(&seen.history, learned);
        if !self.state().is_asked(seen.history.conversation()) {
            self.ask(request, &mut seen);
        }
        self.catch_up(request, &mut seen);
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
        // A refusal of what cannot be made shorter says nothing that others are to be held to.
        if let Some(learned) = learned {
            self.remember(seen.history.envelope.limited(), learned);
        }
        let prepared = self.finish(request, seen, thresholds, report, false, true);
        if self.options.shadow {
            return Err(OverflowError::NotCompacted(Reason::Shadow));
        }
        Ok(Begun::Ready(Box::new(prepared)))
    }

    /// Remembers a limit that was learned.
    fn remember(&self, of: Limited, learned: Learned) {
        let mut state = self.state();
        let learned = learned.with(state.learned.get(&of));
        state.learned.insert(of, learned);
    }

    /// Remembers what an overflow says of the model's limit, where nothing is sent again now.
    pub(super) fn learn_late(&self, turn: &Turn, overflow: &Overflow) {
        let of = turn.at.as_ref().map(|at| self.state().at_or_after(at)).unwrap_or_default();
        let Some(envelope) = of.first().map(|history| &history.envelope) else { return };
        let now = (self.options.clock)();
        let is_telling = overflow.limit.is_some() || turn.used >= TELLING;
        if let Refusal::Input(learned) = Refusal::of(turn, envelope.max_output, overflow, now)
            && is_telling
        {
            self.remember(envelope.limited(), learned);
        }
    }

    /// Forgets what was learned where it is refuted: so much was taken, in the provider's tokens.
    pub(super) fn unlearn(&self, of: &Limited, taken: Tokens) {
        if let Some(learned) = self.state().learned.get_mut(of) {
            learned.refuted(taken);
        }
    }

    /// Compacts by hand.
    pub(super) fn by_hand(&self, request: &Request<'_>, manual: &Manual) -> ByHand {
        let mut seen = match self.see(request) {
            Ok(seen) => seen,
            Err(Unseen::Passed(reason)) => return ByHand::Left(reason),
            Err(Unseen::Results(_)) => return ByHand::Left(Reason::ServerHistory),
        };
        let thresholds = self.thresholds_of(&seen.history);
        self.ask(request, &mut seen);
        let history = seen.history;
        let brief = Brief {
            force: manual.force,
            instructions: manual.instructions.clone(),
            cancel: manual.cancel.clone(),
            ..self.brief(request, &history, &thresholds, Trigger::Manual)
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
            epoch: history.in_force.as_ref().map(InForce::name),
            prefix: seen.prefix(),
            capped: seen.capped,
            compaction,
            preparing,
            notes: seen.notes,
            sent: history.sent_chain().prefix(history.sent_chain().len()),
        };
        let replay_only = request.replay_only;
        let turn = Turn {
            at: history.at(),
            counted: history.counted(),
            used: history.used().0,
            replayed,
            shadowed,
            replay_only,
        };
        Prepared { bytes, report, turn }
    }

    /// Lets a body go as it came.
    pub(super) fn pass<'b>(&self, request: &Request<'b>, reason: Reason) -> Prepared<'b> {
        let tokens = Tokens::from(request.body.len() / 4);
        let notes = vec![reason];
        let report = told(tokens, tokens, 0, notes);
        Prepared { bytes: Cow::Borrowed(request.body), report, turn: self.alone(request) }
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
        Prepared { bytes, report, turn: self.alone(request) }
    }

    /// The turn of a request that has no history here.
    fn alone(&self, request: &Request<'_>) -> Turn {
        Turn {
            at: None,
            counted: Tokens::ZERO,
            used: Tokens::ZERO,
            replayed: false,
            shadowed: self.options.shadow,
            replay_only: request.replay_only,
        }
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
