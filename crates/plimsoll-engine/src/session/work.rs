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
    /// The history that it was planned for.
    base: At,
    /// The hash of all its messages but the last.
    before_last: Option<ChainHash>,
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
}

impl Work {
    /// `None` if the history has no hash.
    pub(super) fn new(history: &History, trigger: Trigger, in_bound_turn: bool, cancel: Cancel) -> Option<Self> {
        let base = history.at()?;
        // What begins alike in a message or two is no less another conversation.
        let before_last = base.messages.checked_sub(1).filter(|messages| *messages >= 3);
        let before_last = before_last.and_then(|messages| history.chain.prefix(messages));
        let state = Mutex::new(State { stage: Stage::Making, waiting: Vec::new(), tried: base.messages });
        Some(Self { base, before_last, trigger, in_bound_turn, cancel, state, ended: Condvar::new() })
    }

    /// Whether it serves a history: the one that it was planned for, or one that has grown from it under the same epoch. Of its
    /// last message a client may think better with every request, and a summary never stands for that.
    pub(super) fn serves(&self, history: &History) -> bool {
        let Self { base, before_last, .. } = self;
        if base.epoch != history.epoch() || history.len() < base.messages {
            return false;
        }
        let prefix = |messages| history.chain.prefix(messages);
        if prefix(base.messages) == Some(base.chain) {
            return true;
        }
        before_last.is_some()
            && prefix(base.messages.saturating_sub(1)) == *before_last
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
