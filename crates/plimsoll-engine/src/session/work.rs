//! `Work`: a summary in the making, shared by all requests of a history: one is made, whoever asks.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use plimsoll::budget::Trigger;
use plimsoll::compact::ChainHash;

use super::history::History;
use super::make::Made;
use super::report::{At, Reason};
use crate::summarise::Cancel;

/// How far a piece of work is.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    /// It goes on.
    Making,
    /// There is a summary.
    Made(Arc<Made>),
    /// There is none, and why.
    Nothing(Reason),
}

/// A summary in the making.
#[derive(Debug)]
pub(super) struct Work {
    /// How many messages the history has that it was planned for, their hash without those of the operator that lead, and the
    /// epoch that was in force.
    messages: usize,
    conversation: ChainHash,
    epoch: Option<ChainHash>,
    /// The hash of all its messages but the last.
    before_last: Option<ChainHash>,
    /// The attempts that it belongs to.
    pub(super) lineage: u64,
    /// Why it is made.
    pub(super) trigger: Trigger,
    /// Whether it was planned inside a turn whose reasoning is bound to its prefix.
    pub(super) in_bound_turn: bool,
    /// Ends it.
    pub(super) cancel: Cancel,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    waiting: Vec<Waker>,
    /// How many messages the history had that came to nothing.
    tried: usize,
    /// Whether it was put in place.
    is_used: bool,
}

impl Work {
    /// `None` if the history has no hash.
    pub(super) fn new(history: &History, trigger: Trigger, in_bound_turn: bool, cancel: Cancel) -> Option<Self> {
        let messages = history.len();
        // What begins alike in a message or two is no less another conversation.
        let before_last = messages.checked_sub(1).filter(|before| *before >= history.chain.leading() + 3);
        let state = State { stage: Stage::Making, waiting: Vec::new(), tried: messages, is_used: false };
        Some(Self {
            messages,
            conversation: history.conversation()?,
            epoch: history.epoch(),
            before_last: before_last.and_then(|before| history.chain.replaced(before)),
            lineage: history.lineage,
            trigger,
            in_bound_turn,
            cancel,
            state: Mutex::new(state),
            ended: Condvar::new(),
        })
    }

    /// Whether it serves a history: the one that it was planned for, or one that has grown from it under the same epoch. Of its
    /// last message a client may think better with every request, and a summary never stands for that.
    pub(super) fn serves(&self, history: &History) -> bool {
        if self.epoch != history.epoch() || history.len() < self.messages {
            return false;
        }
        if history.chain.replaced(self.messages) == Some(self.conversation) {
            return true;
        }
        self.before_last.is_some()
            && history.chain.replaced(self.messages.saturating_sub(1)) == self.before_last
            && match &self.lock().stage {
                Stage::Making | Stage::Nothing(_) => true,
                Stage::Made(made) => made.epoch.matches(&history.chain),
            }
    }

    pub(super) fn stage(&self) -> Stage {
        self.lock().stage.clone()
    }

    pub(super) fn is_making(&self) -> bool {
        matches!(self.lock().stage, Stage::Making)
    }

    /// Ends the work with what came of it, and wakes who waits. What ended stays as it ended.
    pub(super) fn end(&self, stage: Stage) {
        let waiting = {
            let mut state = self.lock();
            if !matches!(state.stage, Stage::Making) {
                return;
            }
            state.stage = stage;
            std::mem::take(&mut state.waiting)
        };
        self.ended.notify_all();
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Replaces what came of it: the summary was of no use for a history of so many messages.
    pub(super) fn spend(&self, reason: Reason, messages: usize) {
        let mut state = self.lock();
        (state.stage, state.tried) = (Stage::Nothing(reason), messages);
    }

    /// Notes that it was put in place.
    pub(super) fn used(&self) {
        self.lock().is_used = true;
    }

    /// Whether there is a summary that nobody has used.
    pub(super) fn is_unused(&self) -> bool {
        let state = self.lock();
        matches!(state.stage, Stage::Made(_)) && !state.is_used
    }

    /// Whether it came to nothing for a history of just so many messages.
    pub(super) fn was_tried_at(&self, messages: usize) -> bool {
        self.lock().tried == messages
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the work as failed if it is dropped before that: a thread that died, an executor that shut down.
#[derive(Debug)]
pub(super) struct Guard(pub(super) Arc<Work>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end(Stage::Nothing(Reason::Skipped("the making of the summary ended before its end".to_owned())));
    }
}

/// A summary that a request waits for. Awaiting it waits for as long as it takes.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub(super) work: Arc<Work>,
    pub(super) patience: Duration,
}

impl Waiting {
    /// Waits on this thread, no longer than the session's patience. Says whether it is there.
    pub fn wait(&self) -> bool {
        let deadline = Instant::now() + self.patience;
        let mut state = self.work.lock();
        while matches!(state.stage, Stage::Making) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.work.ended.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Whether it is there.
    pub fn is_over(&self) -> bool {
        !self.work.is_making()
    }

    /// How long a request waits at the most.
    pub const fn patience(&self) -> Duration {
        self.patience
    }
}

impl Future for Waiting {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.work.lock();
        if !matches!(state.stage, Stage::Making) {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            state.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

/// Whether the history at one place has grown from another under the same epoch; `prefix` gives its chain.
pub(super) fn has_grown(base: &At, messages: usize, epoch: Option<ChainHash>, prefix: Option<ChainHash>) -> bool {
    base.messages <= messages && base.epoch == epoch && prefix == Some(base.chain)
}
