//! What an installed program can do: asked of it, not assumed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use tokio::io::AsyncReadExt as _;

use crate::Agent;
use crate::environment::Environment;
use crate::process::{Child, Spawn};

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most that is read of what it says, in bytes.
const MOST: u64 = 256 << 10;

/// What a program says of itself: its version, and the help it prints.
///
/// ```
/// use plimsoll_agent::driver::Capabilities;
/// let can = Capabilities::new(Some("2.1.197 (Claude Code)"), "  --model <model>   Model for the session\n");
/// assert!(can.takes("--model") && !can.takes("--mode"));
/// assert_eq!(can.version(), Some("2.1.197"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    version: Option<String>,
    help: String,
}

impl Capabilities {
    /// Reads what `--version` and `--help` printed.
    pub fn new(version: Option<&str>, help: &str) -> Self {
        let number = |text: &str| {
            let words = text.split(|c: char| c.is_whitespace() || c == 'v').filter(|word| !word.is_empty());
            let mut versions =
                words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
            versions.next().map(str::to_owned)
        };
        Self { version: version.and_then(number), help: help.to_owned() }
    }

    /// Gives the version's number.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Says whether the program printed no help at all, in the time it had: then nothing is known of what it takes.
    pub fn is_silent(&self) -> bool {
        self.help.trim().is_empty()
    }

    /// Says whether the help names this option.
    pub fn takes(&self, flag: &str) -> bool {
        self.mentions(flag)
    }

    /// Says whether this word stands in the help, alone.
    pub fn mentions(&self, word: &str) -> bool {
        let inside = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        self.help.match_indices(word).any(|(at, _)| {
            let before = self.help.get(..at).and_then(|text| text.chars().next_back());
            let after = self.help.get(at + word.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(inside) && !after.is_some_and(inside)
        })
    }
}

/// An agent's program, as it is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Installed {
    /// Where it is.
    pub path: PathBuf,
    /// The version that it says it has; `None` if it says none in 20 seconds, or cannot be run.
    pub version: Option<String>,
}

/// Finds an agent's program as a run would, and asks it for its version. `None` if it is not there.
pub async fn installed(agent: Agent, cwd: &Path, environment: &Environment) -> Option<Installed> {
    let path = crate::find::program(Path::new(agent.program()?), cwd, environment)?;
    let said = output(&path, &["--version"], cwd, environment).await.unwrap_or_default();
    let version = Capabilities::new(Some(&said), "").version().map(str::to_owned);
    Some(Installed { path, version })
}

/// What was found out about programs, so that each is asked once in the life of a host.
#[derive(Debug, Default)]
pub(crate) struct Probes(Mutex<BTreeMap<(PathBuf, Option<SystemTime>), Capabilities>>);

impl Probes {
    /// Asks a program, unless it was asked before and is still the same file.
    pub(crate) async fn ask(
        &self,
        program: &Path,
        help: &[&str],
        cwd: &Path,
        environment: &Environment,
    ) -> std::io::Result<Capabilities> {
        let modified = std::fs::metadata(program).and_then(|file| file.modified()).ok();
        let key = (program.to_path_buf(), modified);
        let known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let (version, help) = tokio::try_join!(
            output(program, &["--version"], cwd, environment),
            output(program, help, cwd, environment)
        )?;
        let can = Capabilities::new(Some(&version), &help);
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(key, can.clone());
        Ok(can)
    }
}

/// What a program prints with these arguments, on either output: some print their help on the other one.
async fn output(
    program: &Path,
    arguments: &[&str],
    cwd: &Path,
    environment: &Environment,
) -> std::io::Result<String> {
    let spawn = Spawn {
        program: program.to_path_buf(),
        arguments: arguments.iter().map(Into::into).collect(),
        environment: environment.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
        cwd: cwd.to_path_buf(),
        grace: Duration::ZERO,
        watcher: None,
    };
    let Child { group, stdin, stdout, stderr, mut process } = spawn.start()?;
    drop(stdin);
    let (mut out, mut err) = (stdout.take(MOST), stderr.take(MOST));
    let (mut printed, mut said) = (Vec::new(), Vec::new());
    let asked = async {
        let reading = tokio::join!(out.read_to_end(&mut printed), err.read_to_end(&mut said));
        let waited = process.wait().await;
        reading.0.and(reading.1).and(waited)
    };
    // A program that does not answer has said nothing; what it cannot do shows when it is run.
    let _ = tokio::time::timeout(PATIENCE, asked).await;
    drop(group);
    Ok(format!("{}\n{}", String::from_utf8_lossy(&printed), String::from_utf8_lossy(&said)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_not_found_inside_another() {
        let can = Capabilities::new(None, "  --resume-last\n  -m, --model=<M>\n  --add-dir <d...>");
        assert!(!can.is_silent() && Capabilities::new(Some("1.0"), "\n").is_silent());
        assert!(!can.takes("--resume") && can.takes("--model") && can.takes("--add-dir") && !can.takes("dir"));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_is_found_and_asked_for_its_version() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mut environment = Environment::reduced([("PATH", folder.path())]);
        environment.set("PATH", format!("{}:/usr/bin:/bin", folder.path().display()));
        let path = folder.path().join("goose");
        std::fs::write(&path, "#!/bin/sh\necho goose 1.2.3\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let found = installed(Agent::Goose, folder.path(), &environment).await;
        assert_eq!(found, Some(Installed { path, version: Some("1.2.3".to_owned()) }));
        assert_eq!(installed(Agent::Acp, folder.path(), &environment).await, None);
    }

    #[test]
    fn versions_are_read_as_programs_print_them() {
        let version = |text| Capabilities::new(Some(text), "").version().map(str::to_owned);
        assert_eq!(version("2.1.197 (Claude Code)"), Some("2.1.197".to_owned()));
        assert_eq!(version("codex-cli 0.171.0"), Some("0.171.0".to_owned()));
        assert_eq!(version("v1.18.33\n"), Some("1.18.33".to_owned()));
        assert_eq!(version("no number"), None);
    }
}
