//! Ties a wrapped program to `wrap`: where that is killed, the system asks the program to end.
//!
//! The wish can only be said by the program's own process. So `wrap` starts this program, which says it and then becomes
//! the program that was meant; nothing of it stays.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::wrap::cannot_run;

/// The first argument under which this program ties another; the id of `wrap` and the command follow.
pub(crate) const TIE: &str = "__tie";

/// Gives what a command is started by, so that it is tied to this process. `None` where this program cannot be found again.
pub(crate) fn starter() -> Option<[OsString; 3]> {
    let own = std::env::current_exe().ok()?;
    Some([own.into(), TIE.into(), std::process::id().to_string().into()])
}

/// Becomes the program that the arguments name. Comes back only if it cannot be run.
pub(crate) fn tie(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|id| id.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let Some(program) = arguments.next() else { return ExitCode::from(2) };
    // Without the wish it runs as well, only that nobody ends it.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    if parent.is_some() && getppid() != parent {
        // It was killed before the wish was said.
        return ExitCode::from(1);
    }
    let error = Command::new(&program).args(arguments).exec();
    let says = format!("plimsoll: {}\n", cannot_run(&program, &error));
    // Nobody may be there to read it.
    let _ = std::io::stderr().lock().write_all(says.as_bytes());
    ExitCode::from(1)
}
