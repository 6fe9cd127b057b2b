//! A limit on the size of files (`ulimit -f`): writing past it is an error to be told, and not the end of the process.

/// Sees to it that a write past the limit fails like one on a full disk. Without a handler the signal that comes with it
/// would end the process in the middle of a write. What this process starts has the signal as it was.
#[cfg(unix)]
pub(crate) fn outlive() {
    use rustix::process::{Resource, Signal, getrlimit};
    use tokio::signal::unix::{SignalKind, signal};

    if getrlimit(Resource::Fsize).current.is_none() {
        return;
    }
    // The handler stays when the runtime, and whoever would hear of the signal, are gone.
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _inside = runtime.enter();
    let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
}

/// There is no such limit.
#[cfg(not(unix))]
pub(crate) fn outlive() {}
