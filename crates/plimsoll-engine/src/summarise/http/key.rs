//! `Key`: what a provider knows its customer by, from the environment or from a command, and shown to nobody.

use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use crate::summarise::SummariserError;

/// How long a command may take: it may ask a person for a password.
const COMMAND: Duration = Duration::from_secs(60);

/// The most that is read of a key.
const LONGEST: u64 = 16 * 1024;

/// A text that is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(Arc<str>);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text itself: for a header, and for taking it out of what is shown.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// A key, and where it comes from. Nothing that is printed of it holds the key.
#[derive(Debug, Clone)]
pub struct Key {
    source: Source,
    /// What a command printed: it is run once.
    printed: Arc<OnceCell<Secret>>,
}

#[derive(Debug, Clone)]
enum Source {
    Environment {
        variable: String,
        value: Option<Secret>,
    },
    Command {
        line: String,
    },
    /// A client's own credentials stand in its headers.
    Client,
}

impl Key {
    /// The value of an environment variable, which the caller has read. Without one, no key is sent.
    pub fn of_environment(variable: &str, value: Option<&str>) -> Self {
        let value = value.map(str::trim).filter(|value| !value.is_empty()).map(Secret::new);
        Self { source: Source::Environment { variable: variable.to_owned(), value }, printed: Arc::default() }
    }

    /// What a command prints, run by the shell when the key is needed. What it says on standard error is passed on.
    pub fn of_command(line: impl Into<String>) -> Self {
        Self { source: Source::Command { line: line.into() }, printed: Arc::default() }
    }

    /// None of ours: a client's own credentials are shown.
    pub(super) fn of_client() -> Self {
        Self { source: Source::Client, printed: Arc::default() }
    }

    /// Whether it is known already that there is none.
    pub fn is_absent(&self) -> bool {
        matches!(self.source, Source::Environment { value: None, .. })
    }

    /// Where it comes from, for whoever is to check it.
    pub fn named(&self) -> String {
        match &self.source {
            Source::Environment { variable, .. } => variable.clone(),
            Source::Command { .. } => "the command that prints it".to_owned(),
            Source::Client => "the client's own credentials".to_owned(),
        }
    }

    /// The key, if there is one.
    pub(super) async fn get(&self, endpoint: &str) -> Result<Option<Secret>, SummariserError> {
        match &self.source {
            Source::Environment { value, .. } => Ok(value.clone()),
            Source::Client => Ok(None),
            Source::Command { line } => {
                let failed = |reason: String| SummariserError::KeyCommand { endpoint: endpoint.to_owned(), reason };
                self.printed.get_or_try_init(|| printed(line)).await.cloned().map(Some).map_err(failed)
            }
        }
    }
}

/// Whether a terminal may ask for a password, which only what is in its foreground can read; Ctrl-C then ends all of that.
#[cfg(unix)]
fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// The processes that a command started: where it is not waited for to its end, they end with it.
#[cfg(unix)]
struct Group(Option<Pid>);

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }
}

/// Runs a command, and gives the first line that it prints.
async fn printed(line: &str) -> Result<Secret, String> {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut command = Command::new(shell);
    command.args([option, line]).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    let alone = !has_terminal();
    #[cfg(unix)]
    if alone {
        command.process_group(0);
    }
    let mut child = command.spawn().map_err(|error| format!("the shell cannot be started: {error}"))?;
    #[cfg(unix)]
    let mut group = Group(child.id().filter(|_| alone).and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let mut text = Vec::new();
    let reading = async {
        if let Some(output) = child.stdout.take() {
            output.take(LONGEST).read_to_end(&mut text).await?;
        }
        child.wait().await
    };
    let status = match timeout(COMMAND, reading).await {
        Err(_) => return Err(format!("it did not end within {} s", COMMAND.as_secs())),
        Ok(Err(error)) => return Err(format!("it cannot be run: {error}")),
        Ok(Ok(status)) => status,
    };
    #[cfg(unix)]
    {
        group.0 = None;
    }
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    let text = String::from_utf8(text).map_err(|_| "what it printed is no text".to_owned())?;
    let key = text.trim();
    if key.is_empty() {
        return Err("it printed nothing".to_owned());
    }
    if key.contains(['\n', '\r']) {
        return Err("it printed more than one line".to_owned());
    }
    Ok(Secret::new(key))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn get(key: &Key) -> Result<Option<Secret>, SummariserError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(key.get("https://h.example"))
    }

    #[test]
    fn a_variable_gives_a_key_and_an_empty_one_gives_none() {
        let key = |value: &str| get(&Key::of_environment("V", Some(value))).unwrap();
        assert_eq!(key(" sk-1\n"), Some(Secret::new("sk-1")));
        assert_eq!(key("  "), None);
        assert_eq!(get(&Key::of_environment("V", None)).unwrap(), None);
    }

    #[test]
    fn a_command_is_run_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let key = Key::of_command(format!("echo run >>'{}'; echo ' sk-2 '", log.display()));
        for _ in 0..3 {
            assert_eq!(get(&key).unwrap(), Some(Secret::new("sk-2")));
        }
        assert_eq!(std::fs::read_to_string(log).unwrap(), "run\n");
    }

    #[test]
    fn what_a_command_started_ends_with_it() {
        if has_terminal() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let key = Key::of_command(format!("sleep 100 & echo $! >'{}'; wait", pid.display()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let started = || std::fs::read_to_string(&pid).ok().and_then(|text| text.trim().parse().ok());
        let pid: i32 = runtime.block_on(async {
            let asked = key.get("https://h.example");
            tokio::pin!(asked);
            loop {
                assert!(timeout(Duration::from_millis(20), &mut asked).await.is_err());
                if let Some(pid) = started() {
                    return pid;
                }
            }
        });
        let gone = || rustix::process::test_kill_process(Pid::from_raw(pid).unwrap()).is_err();
        // What nobody waits for any more may be left as a zombie for a moment.
        let ended = || std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
        for _ in 0..200 {
            if gone() || ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it goes on");
    }

    #[test]
    fn a_command_that_fails_says_how_and_nothing_that_it_printed() {
        for (line, how) in [
            ("echo canary; exit 3", "exit status: 3"),
            ("true", "printed nothing"),
            ("echo canary; echo canary", "more than one line"),
            ("printf 'canary\\377'", "no text"),
        ] {
            let error = get(&Key::of_command(line)).unwrap_err();
            assert!(error.to_string().contains(how), "{error}");
            assert!(!format!("{error:?} {error}").contains("canary"), "{error}");
        }
    }
}
