//! Starts a program without a shell, in a process group of its own, and makes sure that the whole group ends.
//!
//! | how the run ends | what is killed |
//! |---|---|
//! | the program ends | what it left behind in its group; under a [watcher](crate::watch), every descendant |
//! | cancelled, timed out, [`Run`](crate::Run) dropped | the same: a request to end, then by force after the grace |
//! | the runtime goes away in mid-run | the same, at once and by force |
//! | the host is killed (`kill -9`) | under a watcher, every descendant; without one, only what notices that its input ended |
//!
//! On Windows it is the program alone that is killed.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

use crate::outcome::Exit;

/// What is started, and how.
pub(crate) struct Spawn {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
    pub(crate) grace: Duration,
    /// The program, with its arguments, that calls [`crate::watch`]; the watched program's follow.
    pub(crate) watcher: Option<Vec<OsString>>,
}

/// A program that runs.
pub(crate) struct Child {
    pub(crate) process: tokio::process::Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) group: Group,
}

impl Spawn {
    /// Starts it.
    pub(crate) fn start(self) -> io::Result<Child> {
        let watched = self.watcher.is_some();
        let mut command = match self.watcher.as_deref() {
            Some([watcher, arguments @ ..]) => {
                let mut command = Command::new(watcher);
                command.args(arguments).arg(self.grace.as_millis().to_string()).arg(&self.program);
                command
            }
            _ => Command::new(&self.program),
        };
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment)
            .current_dir(&self.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A watcher that were killed at once could not kill what it watches.
            .kill_on_drop(!watched);
        #[cfg(unix)]
        command.process_group(0);
        let mut process = command.spawn()?;
        let group = Group { id: process.id(), watched, over: false };
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("the program has no pipes"));
        };
        Ok(Child { process, stdin, stdout, stderr, group })
    }
}

/// The processes that belong to a run. Dropping it kills them.
pub(crate) struct Group {
    /// The leader's id, which is the group's.
    id: Option<u32>,
    watched: bool,
    over: bool,
}

impl Group {
    /// Asks all of them to end. A watcher passes it on to those outside the group.
    pub(crate) fn terminate(&self) {
        self.signal(Force::Ask);
    }

    /// How much longer than its grace a group gets: a watcher has its own work to do after it.
    pub(crate) fn margin(&self) -> Duration {
        if self.watched { Duration::from_secs(2) } else { Duration::ZERO }
    }

    /// Ends them.
    pub(crate) fn kill(&self) {
        self.signal(Force::Kill);
    }

    /// The leader is gone, and its id may be another's soon.
    ///
    /// What it left in its group is killed first: as long as anything is in the group, nobody else gets its id.
    pub(crate) fn leader_ended(&mut self) {
        if !self.watched {
            self.kill();
        }
        self.over = true;
    }

    #[cfg(unix)]
    fn signal(&self, force: Force) {
        use rustix::process::{Pid, Signal, kill_process, kill_process_group};
        let Some(id) = self.id.filter(|_| !self.over).and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
        else {
            return;
        };
        // What cannot be signalled is gone already.
        let _ = match force {
            Force::Ask if self.watched => kill_process(id, Signal::TERM),
            Force::Ask => kill_process_group(id, Signal::TERM),
            Force::Kill => kill_process_group(id, Signal::KILL),
        };
    }

    #[cfg(not(unix))]
    fn signal(&self, _: Force) {
        // `kill_on_drop` ends the program itself.
    }
}

#[derive(Clone, Copy)]
enum Force {
    Ask,
    Kill,
}

impl Drop for Group {
    fn drop(&mut self) {
        // A watcher sees that nobody reads any more, and kills more than a signal to the group would.
        if self.watched {
            self.terminate();
        } else {
            self.kill();
        }
    }
}

/// Reads how a process ended.
pub(crate) fn exit(status: std::process::ExitStatus) -> Exit {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    Exit { code: status.code(), signal }
}
