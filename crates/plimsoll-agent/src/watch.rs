//! The watcher: a small process between a host and an agent, which outlives neither and leaves nothing behind.
//!
//! A host that is killed cannot clean up. So the host's program starts itself again as a watcher, and the watcher starts
//! the agent. It holds the far end of the pipe that is the agent's standard error: as long as the host lives, somebody
//! reads it. When nobody does any more, the watcher kills the agent and everything the agent started.
//!
//! On Linux it adopts whatever its descendants leave behind (`PR_SET_CHILD_SUBREAPER`), so it finds all of them, also
//! those that left the group and the session. Elsewhere on Unix it kills the group. On Windows it only passes on how
//! the program ended.

use std::ffi::OsString;
use std::process::ExitCode;

/// How the watcher ends when it cannot start the program.
pub(crate) const CANNOT_START: u8 = 126;

/// Watches over a program; gives how it ended. A host calls it as the first thing, when it was started with the arguments
/// that its [`Host::watcher`](crate::Host::watcher) names; `arguments` are those that follow.
///
/// Arguments: the grace in milliseconds, the program, its arguments. Standard input and output are the program's. The
/// program's exit code is given back, 128 and the signal's number if a signal ended it, 126 if it cannot be started.
pub fn watch(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let grace = arguments.next().and_then(|grace| grace.to_str()?.parse().ok()).map(std::time::Duration::from_millis);
    let (Some(grace), Some(program)) = (grace, arguments.next()) else {
        return ExitCode::from(2);
    };
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    platform::watch(command, grace)
}

/// Says why the program cannot be started, where the host looks for it.
fn cannot_start(command: &std::process::Command, error: &std::io::Error) -> ExitCode {
    use std::io::Write as _;
    // Nobody may be left to tell.
    let _ = writeln!(std::io::stderr(), "cannot start {}: {error}", command.get_program().display());
    ExitCode::from(CANNOT_START)
}

#[cfg(not(unix))]
mod platform {
    use std::process::{Command, ExitCode};
    use std::time::Duration;

    pub(super) fn watch(mut command: Command, _: Duration) -> ExitCode {
        match command.status() {
            Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
            Err(error) => super::cannot_start(&command, &error),
        }
    }
}

#[cfg(unix)]
mod platform {
    use std::process::{Command, ExitCode};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, WaitOptions};

    /// What the watcher waits for.
    enum Sign {
        /// Nobody reads the program's standard error: the host is gone.
        HostGone,
        /// The host wants an end.
        Asked,
        /// The program ended, with this code.
        Ended(u8),
        /// Nothing is left.
        Childless,
    }

    pub(super) fn watch(mut command: Command, grace: Duration) -> ExitCode {
        #[cfg(target_os = "linux")]
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let (sender, signs) = channel();
        // Signals are caught before there is anything that they could orphan.
        listen(sender.clone());
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return super::cannot_start(&command, &error),
        };
        let Some(program) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
            return ExitCode::FAILURE;
        };
        drop(command);
        let ended = sender.clone();
        std::thread::spawn(move || reap(program, &ended));
        std::thread::spawn(move || lifeline(&sender));
        ExitCode::from(guard(&signs, grace))
    }

    /// Waits for the end, and brings it about if it has to. Gives the program's exit code.
    fn guard(signs: &Receiver<Sign>, grace: Duration) -> u8 {
        let mut code = 128 + 9;
        let mut deadline: Option<Instant> = None;
        loop {
            let sign = match deadline {
                None => signs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(deadline) => signs.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            };
            match sign {
                Ok(Sign::Childless) | Err(RecvTimeoutError::Disconnected) => return code,
                Ok(Sign::Ended(ended)) => {
                    code = ended;
                    // What it left behind has had its chance if the program was asked to end before.
                    if deadline.is_none() {
                        signal(Signal::TERM);
                        deadline = Some(Instant::now() + grace);
                    }
                }
                Ok(Sign::Asked | Sign::HostGone) => {
                    if deadline.is_none() {
                        signal(Signal::TERM);
                        deadline = Some(Instant::now() + grace);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    // Who forks faster than this is met again at the next turn.
                    signal(Signal::KILL);
                    deadline = Some(Instant::now() + Duration::from_millis(20));
                }
            }
        }
    }

    /// Signals every descendant.
    #[cfg(target_os = "linux")]
    fn signal(signal: Signal) {
        for pid in descendants() {
            // What cannot be signalled is gone already.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Signals the group, and with it this process, which hears itself asked once more or ends with the others.
    #[cfg(not(target_os = "linux"))]
    fn signal(signal: Signal) {
        let _ = rustix::process::kill_current_process_group(signal);
    }

    /// Waits for children, adopted ones too, until there are none.
    fn reap(program: Pid, signs: &Sender<Sign>) {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == program => {
                    let by_signal = status.terminating_signal().map(|signal| 128 + signal);
                    let code = status.exit_status().or(by_signal).unwrap_or(1);
                    let _ = signs.send(Sign::Ended(u8::try_from(code).unwrap_or(1)));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    let _ = signs.send(Sign::Childless);
                    return;
                }
            }
        }
    }

    /// Waits until nobody reads standard error.
    fn lifeline(signs: &Sender<Sign>) {
        use rustix::event::{PollFd, PollFlags, poll};
        let stderr = std::io::stderr();
        loop {
            // An error or a hang-up is told without being asked for.
            let mut watched = [PollFd::new(&stderr, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => {
                    let _ = signs.send(Sign::HostGone);
                    return;
                }
            }
        }
    }

    /// Passes the signals that ask for an end on.
    fn listen(signs: Sender<Sign>) {
        let (ready, is_ready) = channel();
        std::thread::spawn(move || {
            use tokio::signal::unix::{SignalKind, signal as caught};
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
                return;
            };
            runtime.block_on(async {
                let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
                let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = kinds.map(caught) else {
                    return;
                };
                let _ = ready.send(());
                loop {
                    tokio::select! {
                        _ = terminate.recv() => {}
                        _ = interrupt.recv() => {}
                        _ = hangup.recv() => {}
                    }
                    if signs.send(Sign::Asked).is_err() {
                        return;
                    }
                }
            });
        });
        let _ = is_ready.recv();
    }

    /// Everything that descends from this process.
    #[cfg(target_os = "linux")]
    fn descendants() -> Vec<Pid> {
        let parents: Vec<(i32, i32)> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
            .filter_map(|pid| {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
                // The name stands in brackets and may hold anything, brackets too.
                let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()?;
                Some((pid, parent))
            })
            .collect();
        let mut family = vec![rustix::process::getpid().as_raw_nonzero().get()];
        let mut next = 0;
        while let Some(parent) = family.get(next).copied() {
            family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        family.into_iter().skip(1).filter_map(Pid::from_raw).collect()
    }
}
