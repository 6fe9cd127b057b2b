//! Whether a program is at work on a session file: it would go on from what it has in mind, past what is appended.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Deserialize;

/// A file that was written to this recently may be written to again in a moment.
const QUIET: Duration = Duration::from_secs(1);

/// How a session is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InUse {
    /// The program says so itself, in its list of running sessions.
    Running {
        /// The process.
        pid: u32,
    },
    /// A process has the file open for writing.
    Open {
        /// The process.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// It was written to a moment ago.
    JustWritten,
}

impl fmt::Display for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { pid } => write!(f, "its program is at work on it (process {pid})"),
            Self::Open { pid, name } => write!(f, "{name} has it open for writing (process {pid})"),
            Self::JustWritten => f.write_str("it was written to less than a second ago"),
        }
    }
}

/// Says whether, and how, a session file is in use.
///
/// Claude Code keeps no session file open, but lists the sessions that run in `sessions/PID.json` of its configuration
/// directory, with the process's start time; Codex has its rollout open. The latter is seen on Linux only, where a user
/// may look at their own processes. What cannot be looked at is not in use.
pub fn in_use(path: &Path, now: SystemTime) -> Option<InUse> {
    let written = fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
    let just = || written.and_then(|at| now.duration_since(at).ok()).is_some_and(|ago| ago < QUIET);
    registered(path).or_else(|| open_by(path)).or_else(|| just().then_some(InUse::JustWritten))
}

/// Waits until what was just written is so no more, and says how the file is in use then; `None` if it is not.
///
/// A program at work is not waited for: that could take all day. Who writes again and again is at work.
pub fn settled(path: &Path) -> Option<InUse> {
    for _ in 0..6 {
        match in_use(path, SystemTime::now()) {
            Some(InUse::JustWritten) => std::thread::sleep(QUIET / 2),
            other => return other,
        }
    }
    Some(InUse::JustWritten)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registered {
    pid: u32,
    session_id: String,
    /// When the process began, as the system counts it: a process id alone comes round again.
    proc_start: Option<String>,
}

/// Whether Claude Code lists the session of a file in `<root>/projects/<project>/<id>.jsonl` as running.
fn registered(path: &Path) -> Option<InUse> {
    let session = path.file_stem()?.to_str()?;
    let projects = path.parent()?.parent()?;
    if projects.file_name()? != "projects" {
        return None;
    }
    for entry in fs::read_dir(projects.parent()?.join("sessions")).ok()?.flatten() {
        // The lists are small; a large file of that name is something else.
        let small = entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 16);
        let text = fs::read(entry.path()).ok().filter(|_| small);
        let listed = text.and_then(|text| serde_json::from_slice::<Registered>(&text).ok());
        let ours =
            listed.filter(|listed| listed.session_id == session && lives(listed.pid, listed.proc_start.as_deref()));
        if let Some(Registered { pid, .. }) = ours {
            return Some(InUse::Running { pid });
        }
    }
    None
}

/// Whether a process lives, and is the one that began then.
#[cfg(target_os = "linux")]
fn lives(pid: u32, start: Option<&str>) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The name in the second field may hold spaces and parentheses; the start time is the 20th field after it.
    let began = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
    start.is_none_or(|start| began == Some(start))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn lives(pid: u32, _: Option<&str>) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

#[cfg(not(unix))]
fn lives(_: u32, _: Option<&str>) -> bool {
    false
}

/// A process that has the file open for writing.
#[cfg(target_os = "linux")]
fn open_by(path: &Path) -> Option<InUse> {
    use std::os::unix::fs::MetadataExt as _;
    let wanted = fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))?;
    let number = |name: std::ffi::OsString| name.to_str().and_then(|name| name.parse::<u32>().ok());
    for pid in fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| number(entry.file_name())) {
        if pid == std::process::id() {
            continue;
        }
        // Other users' processes cannot be looked into.
        let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        for file in files.flatten().filter_map(|entry| number(entry.file_name())) {
            let is_it = fs::metadata(format!("/proc/{pid}/fd/{file}"))
                .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == wanted);
            if is_it && writes(pid, file) {
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                let name = name.trim_end().chars().filter(|c| !c.is_control()).collect();
                return Some(InUse::Open { pid, name });
            }
        }
    }
    None
}

/// Whether a process may write to one of its open files: the last octal digit of the flags is how it was opened.
#[cfg(target_os = "linux")]
fn writes(pid: u32, file: u32) -> bool {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{file}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & 0o3 != 0)
}

#[cfg(not(target_os = "linux"))]
fn open_by(_: &Path) -> Option<InUse> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time at which nothing that was written now is recent any more.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(60)
    }

    #[test]
    fn what_was_written_a_moment_ago_is_in_use_for_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, "x").unwrap();
        assert_eq!(in_use(&path, fs::metadata(&path).unwrap().modified().unwrap()), Some(InUse::JustWritten));
        assert_eq!(in_use(&path, later()), None);
        assert_eq!(settled(&path), None, "it is waited for");
        assert_eq!(in_use(&folder.path().join("none"), later()), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_writes_a_file_is_found_and_a_reader_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, "x").unwrap();
        let hold = |redirect: &str| {
            let script = format!("exec 9{redirect}'{}'; echo ready; read line", path.display());
            let mut child = std::process::Command::new("sh")
                .args(["-c", &script])
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let mut ready = [0; 6];
            std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
            child
        };
        for (redirect, writes) in [(">>", true), ("<", false)] {
            let mut child = hold(redirect);
            let found = in_use(&path, later());
            drop(child.stdin.take());
            child.wait().unwrap();
            assert_eq!(matches!(found, Some(InUse::Open { pid, .. }) if pid == child.id()), writes, "{found:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_session_that_its_program_lists_is_in_use_while_that_process_lives() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("projects/-p");
        let list = folder.path().join("sessions");
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(&list).unwrap();
        let path = project.join("5e55.jsonl");
        fs::write(&path, "x").unwrap();
        let me = std::process::id();
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let start = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(19).unwrap().to_owned();
        let say = |session: &str, start: &str| {
            let line =
                format!(r#"{{"pid":{me},"sessionId":"{session}","procStart":"{start}","kind":"interactive"}}"#);
            fs::write(list.join(format!("{me}.json")), line).unwrap();
            in_use(&path, later())
        };
        assert_eq!(say("5e55", &start), Some(InUse::Running { pid: me }));
        assert_eq!(say("other", &start), None);
        assert_eq!(say("5e55", "1"), None, "the process id has come round");
        fs::write(list.join("0.json"), "no JSON").unwrap();
        assert_eq!(say("5e55", &start), Some(InUse::Running { pid: me }));
    }
}
