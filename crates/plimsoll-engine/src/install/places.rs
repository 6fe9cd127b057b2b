//! Where agent programs keep the files that are changed, and where it is remembered what stood in them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::record::Record;
use super::{Agent, InstallError, Scope};
use crate::hook::state_folder;

/// What a file is to its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Hooks and status line.
    ClaudeSettings,
    /// MCP servers.
    ClaudeServers,
    /// Hooks.
    CodexHooks,
    /// Everything else, MCP servers among it.
    CodexConfig,
    /// All.
    OpenCode,
}

/// Where things are, from what the environment holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallPlaces {
    home: Option<PathBuf>,
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    config: Option<PathBuf>,
    state: Option<PathBuf>,
    project: PathBuf,
}

impl InstallPlaces {
    /// Says where things are. `directory` is the project's, for [`Scope::Project`].
    ///
    /// Programs are asked where they look themselves: `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `XDG_CONFIG_HOME`.
    pub fn of(lookup: impl Fn(&str) -> Option<OsString>, directory: &Path) -> Self {
        let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Self {
            home: absolute("HOME").or_else(|| absolute("USERPROFILE")),
            claude: absolute("CLAUDE_CONFIG_DIR"),
            codex: absolute("CODEX_HOME"),
            config: absolute("XDG_CONFIG_HOME"),
            state: state_folder(&lookup),
            project: directory.to_path_buf(),
        }
    }

    /// A directory of a program's own, or one below the home directory.
    fn folder(&self, own: Option<&PathBuf>, below: &str) -> Result<PathBuf, InstallError> {
        match (own, &self.home) {
            (Some(own), _) => Ok(own.clone()),
            (None, Some(home)) => Ok(home.join(below)),
            (None, None) => Err(InstallError::NoHome),
        }
    }

    /// The files of an agent.
    pub(super) fn files(&self, agent: Agent, scope: Scope) -> Result<Vec<(Part, PathBuf)>, InstallError> {
        let project = &self.project;
        Ok(match (agent, scope) {
            (Agent::Claude, Scope::User) => {
                // With a directory of its own the program keeps both files in it.
                let settings = self.folder(self.claude.as_ref(), ".claude")?;
                let servers = self.folder(self.claude.as_ref(), "")?;
                vec![
                    (Part::ClaudeSettings, settings.join("settings.json")),
                    (Part::ClaudeServers, servers.join(".claude.json")),
                ]
            }
            (Agent::Claude, Scope::Project) => vec![
                (Part::ClaudeSettings, project.join(".claude").join("settings.json")),
                (Part::ClaudeServers, project.join(".mcp.json")),
            ],
            (Agent::Codex, scope) => {
                let folder = match scope {
                    Scope::User => self.folder(self.codex.as_ref(), ".codex")?,
                    Scope::Project => project.join(".codex"),
                };
                vec![(Part::CodexConfig, folder.join("config.toml")), (Part::CodexHooks, folder.join("hooks.json"))]
            }
            (Agent::OpenCode, scope) => {
                let folder = match scope {
                    Scope::User => self.folder(self.config.as_ref(), ".config")?.join("opencode"),
                    Scope::Project => project.clone(),
                };
                let commented = folder.join("opencode.jsonc");
                let file = if commented.exists() { commented } else { folder.join("opencode.json") };
                vec![(Part::OpenCode, file)]
            }
        })
    }

    /// The directory of what is remembered.
    pub(super) fn records(&self) -> Result<PathBuf, InstallError> {
        Ok(self.state.as_ref().ok_or(InstallError::NoHome)?.join("installed"))
    }

    /// What is remembered of a file.
    pub(super) fn record(&self, path: &Path) -> Result<Option<Record>, InstallError> {
        Record::read(&self.records()?, path)
    }
}
