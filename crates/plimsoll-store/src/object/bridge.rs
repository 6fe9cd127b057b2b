//! From a caller that blocks to a client that does not: a small runtime of our own.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, sync_channel};

use tokio::runtime::{Builder, Runtime};

/// A runtime that starts with its first task.
///
/// The caller only waits for a channel, it never enters the runtime. So it may be called from anywhere, also from a
/// thread of another runtime, where `block_on` would panic; an asynchronous caller should use a thread for blocking
/// work all the same.
#[derive(Default)]
pub(super) struct Bridge {
    runtime: OnceLock<Runtime>,
}

/// A task on its way.
#[derive(Debug)]
pub(super) struct Task<T>(Receiver<T>);

impl Bridge {
    fn runtime(&self) -> io::Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_name("plimsoll-s3").enable_all().build()?;
        if let Err(second) = self.runtime.set(runtime) {
            // Another thread was faster.
            second.shutdown_background();
        }
        self.runtime.get().ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// Starts a task.
    pub(super) fn start<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> io::Result<Task<T>> {
        let (sender, receiver) = sync_channel(1);
        self.runtime()?.spawn(async move {
            // Nobody may wait any more.
            let _ = sender.send(task.await);
        });
        Ok(Task(receiver))
    }
}

impl<T> Task<T> {
    /// Waits for its end.
    pub(super) fn wait(self) -> io::Result<T> {
        self.0.recv().map_err(|_| io::Error::other("the task for the network ended early"))
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping it would wait for its threads, which panics inside another runtime.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bridge")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Bridge {
        fn run<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
            self.start(task)?.wait()
        }
    }

    #[test]
    fn it_runs_outside_and_inside_of_other_runtimes() {
        let bridge = Bridge::default();
        assert_eq!(bridge.run(async { 1 }).unwrap(), 1);
        let outer = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        outer.block_on(async {
            // On a thread for blocking work, as it should be.
            let moved = Bridge::default();
            let answer = tokio::task::spawn_blocking(move || moved.run(async { 2 }).unwrap()).await.unwrap();
            assert_eq!(answer, 2);
            // Inside a task, as it should not be; it is dropped there, too.
            let careless = Bridge::default();
            assert_eq!(careless.run(async { 3 }).unwrap(), 3);
        });
    }

    #[test]
    fn a_task_that_panics_is_an_error() {
        let bridge = Bridge::default();
        let error = bridge.run::<()>(async { panic!("as a test") }).unwrap_err();
        assert_eq!(error.to_string(), "the task for the network ended early");
        assert_eq!(bridge.run(async { 4 }).unwrap(), 4);
    }
}
