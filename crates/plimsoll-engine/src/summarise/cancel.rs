//! `Cancel`: a word from outside that ends a call.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Ends calls that wait for it. Clones share one state; once cancelled it stays so.
///
/// ```
/// use plimsoll_engine::summarise::Cancel;
/// let cancel = Cancel::default();
/// let kept = cancel.clone();
/// assert!(!kept.is_cancelled());
/// cancel.cancel();
/// assert!(kept.is_cancelled());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Cancel {
    /// Ends every call that waits, and those to come.
    pub fn cancel(&self) {
        // The flag is set under the lock, so that nobody who saw it unset is missed below.
        let waiting = {
            let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.cancelled.store(true, Ordering::Release);
            std::mem::take(&mut *waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Says whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Waits until it is cancelled.
    pub const fn cancelled(&self) -> Cancelled<'_> {
        Cancelled(self)
    }
}

/// Waits until a [`Cancel`] is cancelled.
#[derive(Debug)]
pub struct Cancelled<'c>(&'c Cancel);

impl Future for Cancelled<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0.is_cancelled() {
            return Poll::Ready(());
        }
        let mut waiting = self.0.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.is_cancelled() {
            return Poll::Ready(());
        }
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_waits_is_woken_once_and_who_comes_late_does_not_wait() {
        let cancel = Cancel::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let mut context = Context::from_waker(&waker);
        let mut waits = cancel.cancelled();
        for _ in 0..3 {
            assert!(Pin::new(&mut waits).poll(&mut context).is_pending());
        }
        cancel.cancel();
        cancel.cancel();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(Pin::new(&mut waits).poll(&mut context).is_ready());
        assert!(Pin::new(&mut cancel.clone().cancelled()).poll(&mut context).is_ready());
    }

    #[test]
    fn a_cancel_on_another_thread_is_seen_by_whoever_polls() {
        for _ in 0..200 {
            let cancel = Cancel::default();
            let count = Arc::new(Count::default());
            let waker = Waker::from(count.clone());
            let other = cancel.clone();
            let thread = std::thread::spawn(move || other.cancel());
            let pending = Pin::new(&mut cancel.cancelled()).poll(&mut Context::from_waker(&waker)).is_pending();
            thread.join().unwrap();
            assert_eq!(count.0.load(Ordering::SeqCst), usize::from(pending));
        }
    }
}
