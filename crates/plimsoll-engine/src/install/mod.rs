//! Installing Plimsoll into agent programs: their hooks, their status line, their MCP servers, and taking it out again.
//!
//! What is to be changed is a plan, made of the files as they are; nothing is written before [`apply`]. Files are edited
//! by splicing: comments, order, unknown fields and white space stay. What stood in a file before is remembered, so that
//! taking Plimsoll out gives the very same file back; where others changed the file since, only our parts are taken out.

mod apply;
mod claude;
mod command;
mod diff;
mod json;
mod places;
mod record;
mod table;

use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use plimsoll::wire::{JsonError, SpliceError};

pub use apply::{Applied, apply};
pub use command::Program;
pub use diff::{DiffLine, diff};
pub use places::InstallPlaces;

use apply::File;
use claude::{Edited, Hook};
use places::Part;

/// An agent program that Plimsoll can be installed into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Agent {
    /// Claude Code: hooks, a status line, an MCP server.
    Claude,
    /// Codex: hooks around compactions, an MCP server.
    Codex,
    /// `OpenCode`: an MCP server.
    OpenCode,
}

impl Agent {
    /// The agents, by name.
    pub const ALL: [(&'static str, Self); 3] =
        [("claude", Self::Claude), ("codex", Self::Codex), ("opencode", Self::OpenCode)];
}

impl FromStr for Agent {
    type Err = InstallError;

    fn from_str(name: &str) -> Result<Self, InstallError> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, agent)| agent).ok_or_else(|| InstallError::Agent { name: name.to_owned() })
    }
}

/// For whom it is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For the user, everywhere.
    User,
    /// For everyone who works in a project's directory.
    Project,
}

/// A file that is to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file, as its program names it.
    pub path: PathBuf,
    /// What stands in it; `None` if there is no such file.
    pub before: Option<Vec<u8>>,
    /// What will; `None` if it is removed.
    pub after: Option<Vec<u8>>,
    /// What else is to be said about it.
    pub notes: Vec<String>,
    /// Where a symbolic link leads.
    pub leads_to: Option<PathBuf>,
}

impl Change {
    /// Whether there is anything to do.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }
}

/// What an installation changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallPlan {
    /// The files, also those in which there is nothing to do.
    pub changes: Vec<Change>,
    /// What else is to be said.
    pub notes: Vec<String>,
    /// Of what is taken out: which programs were called, and with which stores.
    pub calls: Vec<Called>,
    removes: bool,
}

/// A call of this program that stands in an agent program's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Called {
    /// The program, by its path or its name.
    pub program: PathBuf,
    /// The store that it is told to use.
    pub store: Option<String>,
}

impl InstallPlan {
    /// Whether there is anything to do.
    pub fn is_change(&self) -> bool {
        self.changes.iter().any(Change::is_change)
    }
}

/// Why nothing can be installed or taken out. Nothing was written unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// An unknown agent.
    #[error("`{name}` is no agent that plimsoll can be installed into; there are claude, codex and opencode")]
    Agent {
        /// What was asked for.
        name: String,
    },
    /// No home directory.
    #[error("the home directory is not known: set HOME to an absolute path")]
    NoHome,
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A path that is not to be written through.
    #[error("{} {reason}; add what `plimsoll install` shows by hand", path.display())]
    Refused {
        /// The path.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The file changed since the plan was made.
    #[error("{} changed in the meantime and was left as it is; run the command again", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The file is no JSON.
    #[error("it is no JSON: {0}; mend it, and run the command again")]
    NoJson(JsonError),
    /// The file is no TOML.
    #[error("it is no TOML: {0}; mend it, and run the command again")]
    NoToml(String),
    /// A store that cannot be written into another program's files.
    #[error("--store cannot be installed: {reason}")]
    Store {
        /// Why.
        reason: String,
    },
    /// Something in the file is not what the agent program documents.
    #[error("`{what}` is not {wanted}; mend it, and run the command again")]
    Shape {
        /// What.
        what: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// The edits cannot be carried out.
    #[error("the edits cannot be carried out: {0}")]
    Splice(#[from] SpliceError),
    /// Something about one file.
    #[error("{}: {error}", path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What.
        error: Box<InstallError>,
    },
}

/// The hooks of Claude Code. Each is given up a little later than it gives up itself.
const CLAUDE: &[Hook] = &[
    Hook { event: "PostToolUse", matcher: Some("*"), timeout: 10 },
    Hook { event: "PreCompact", matcher: None, timeout: 30 },
    Hook { event: "SessionStart", matcher: Some("compact"), timeout: 10 },
];
/// The hooks of Codex. It bounds tool results itself, and no hook of it can replace one.
const CODEX: &[Hook] = &[
    Hook { event: "PreCompact", matcher: None, timeout: 30 },
    Hook { event: "SessionStart", matcher: Some("compact"), timeout: 10 },
];

/// Plans an installation: reads the files, and writes nothing.
///
/// # Errors
/// [`InstallError`] if a file cannot be read, or is not what its program documents.
pub fn plan_install(
    agent: Agent,
    scope: Scope,
    program: &Program,
    places: &InstallPlaces,
) -> Result<InstallPlan, InstallError> {
    let mut plan = InstallPlan::default();
    for (part, path) in places.files(agent, scope)? {
        let file = File::read(&path)?;
        // What was installed earlier, and not changed since, is planned anew from what stood there before.
        let base = match places.record(&path)?.filter(|record| record.is_current(file.text.as_deref())) {
            Some(record) => record.before,
            None => file.text.clone(),
        };
        let mut edited = Edited::new(base.as_deref().unwrap_or_default());
        add(&mut edited, part, program).map_err(|error| about(&path, error))?;
        plan.changes.push(file.change(Some(edited.text), edited.notes));
    }
    plan.notes.extend(program.hint());
    if let Some(store) = program.store() {
        plan.notes.push(format!(
            "what is installed uses the store {store}; `plimsoll` on a command line finds it with --store, or by store.url \
             of the configuration"
        ));
    }
    if scope == Scope::Project {
        plan.notes.push(
            "the files of a project are for everyone who works on it: the path of plimsoll in them is this machine's"
                .to_owned(),
        );
    }
    if agent == Agent::Codex {
        plan.notes.push(
            "Codex runs a new hook only after you have looked at it and trusted it: type /hooks in Codex".to_owned(),
        );
    }
    Ok(plan)
}

/// Plans to take an installation out: reads the files, and writes nothing.
///
/// # Errors
/// As [`plan_install`].
pub fn plan_uninstall(agent: Agent, scope: Scope, places: &InstallPlaces) -> Result<InstallPlan, InstallError> {
    let mut plan = InstallPlan { removes: true, ..InstallPlan::default() };
    for (part, path) in places.files(agent, scope)? {
        let file = File::read(&path)?;
        let Some(text) = file.text.clone() else {
            plan.changes.push(file.change(None, Vec::new()));
            continue;
        };
        let record = places.record(&path)?.filter(|record| record.is_current(Some(&text)));
        let mut edited = Edited::new(&text);
        let removed = remove(&mut edited, part).map_err(|error| about(&path, error));
        let called = |call: command::Call| {
            let store = call.store().map(str::to_owned);
            Called { program: call.program.into(), store }
        };
        plan.calls.extend(std::mem::take(&mut edited.calls).into_iter().map(called));
        if let Some(record) = record {
            plan.changes.push(file.change(record.before.map(|before| without(before, part)), Vec::new()));
            continue;
        }
        removed?;
        plan.changes.push(file.change(Some(edited.text), edited.notes));
    }
    Ok(plan)
}

/// What stood in a file before, without calls of ours: what it was changed for by others between two installations is
/// remembered with what the first one added.
fn without(before: Vec<u8>, part: Part) -> Vec<u8> {
    let mut edited = Edited::new(&before);
    if remove(&mut edited, part).is_ok() && !edited.calls.is_empty() { edited.text } else { before }
}

fn about(path: &std::path::Path, error: InstallError) -> InstallError {
    InstallError::In { path: path.to_path_buf(), error: Box::new(error) }
}

fn add(edited: &mut Edited, part: Part, program: &Program) -> Result<(), InstallError> {
    match part {
        Part::ClaudeSettings => {
            claude::add_hooks(edited, CLAUDE, program)?;
            claude::add_status_line(edited, program)
        }
        Part::ClaudeServers => {
            let entry =
                serde_json::json!({ "type": "stdio", "command": program.text(), "args": program.server_arguments() });
            claude::add_server(edited, "mcpServers", &entry, program)
        }
        Part::CodexHooks => claude::add_hooks(edited, CODEX, program),
        Part::CodexConfig => table::add_server(edited, program),
        Part::OpenCode => {
            let words: Vec<String> = std::iter::once(program.text()).chain(program.server_arguments()).collect();
            let entry = serde_json::json!({ "type": "local", "command": words, "enabled": true });
            claude::add_server(edited, "mcp", &entry, program)
        }
    }
}

fn remove(edited: &mut Edited, part: Part) -> Result<(), InstallError> {
    let events = |hooks: &[Hook]| -> Vec<&'static str> { hooks.iter().map(|hook| hook.event).collect() };
    match part {
        Part::ClaudeSettings => {
            claude::remove_hooks(edited, &events(CLAUDE))?;
            claude::remove_status_line(edited)
        }
        Part::ClaudeServers => claude::remove_server(edited, "mcpServers"),
        Part::CodexHooks => claude::remove_hooks(edited, &events(CODEX)),
        Part::CodexConfig => table::remove_server(edited),
        Part::OpenCode => claude::remove_server(edited, "mcp"),
    }
}

#[cfg(test)]
mod tests;
