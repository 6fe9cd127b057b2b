//! `Spawn`: where work beside the requests is done.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use crate::summarise::BoxFuture;

/// Runs work beside the requests: the making of a summary. It may block, and it ends by itself.
pub trait Spawn: Send + Sync {
    /// Runs a piece of work at any later time. One that is dropped unrun counts as failed.
    fn spawn(&self, work: BoxFuture<'static, ()>);
}

/// A thread for each piece of work.
#[derive(Debug, Clone, Copy, Default)]
pub struct Threads;

impl Spawn for Threads {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        // Where no thread can be had the work is dropped, and whoever waits for it is told.
        let _ = std::thread::Builder::new().name("plimsoll-summary".to_owned()).spawn(move || block_on(work));
    }
}

/// The blocking threads of a tokio runtime, so that a summariser may use its timers and sockets.
#[cfg(feature = "tokio")]
#[derive(Debug, Clone)]
pub struct Tokio(tokio::runtime::Handle);

#[cfg(feature = "tokio")]
impl Tokio {
    /// Uses a runtime.
    pub const fn new(handle: tokio::runtime::Handle) -> Self {
        Self(handle)
    }
}

#[cfg(feature = "tokio")]
impl Spawn for Tokio {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        let handle = self.0.clone();
        drop(self.0.spawn_blocking(move || handle.block_on(work)));
    }
}

/// Wakes a thread that is parked.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which sleeps while it waits.
pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

impl fmt::Debug for dyn Spawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spawn")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarise::Cancel;

    #[test]
    fn a_future_that_waits_is_woken_from_another_thread() {
        let cancel = Cancel::default();
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.cancel());
        block_on(cancel.cancelled());
        thread.join().unwrap();
    }
}
