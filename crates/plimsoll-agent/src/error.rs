//! Why a request cannot be made, and why a run failed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll::Bytes;

use crate::agent::Agent;
use crate::outcome::{Exit, Outcome};

/// Why something cannot be asked of any agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A prompt without words.
    #[error("the prompt is empty")]
    EmptyPrompt,
    /// A prompt that an agent would run as a command.
    #[error(
        "the prompt begins with `/{name}` and would be run as a command; send it as a command, or begin with a word"
    )]
    PromptReadsAsCommand {
        /// The command's name.
        name: String,
    },
    /// A prompt that does not fit into a line.
    #[error("the prompt has {bytes}, and {most} is the most; name a file for the agent to read instead")]
    LongPrompt {
        /// Its length.
        bytes: Bytes,
        /// The most.
        most: Bytes,
    },
    /// An id of a session that cannot be one.
    #[error(
        "`{id}` cannot be the id of a session: it is 1 to 256 characters without spaces, and does not begin with `-`"
    )]
    SessionId {
        /// The id, shortened to be shown.
        id: String,
    },
}

/// Why a run failed, or never began.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The program is not there.
    #[error("{agent}: the program `{}` is not installed or not in PATH; {}", program.display(), agent.installation())]
    NotInstalled {
        /// Who was asked.
        agent: Agent,
        /// What was looked for.
        program: PathBuf,
    },
    /// The program or its provider wants a login.
    #[error("{agent} is not logged in ({message}); {}", agent.login())]
    NotLoggedIn {
        /// Who was asked.
        agent: Agent,
        /// In its words.
        message: String,
    },
    /// The program is there and could not be started.
    #[error("cannot start `{}` in {}", program.display(), cwd.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The directory it was to work in.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The run took too long, and was killed.
    #[error("{what} took longer than {after:?}; the agent and everything it started were stopped")]
    Timeout {
        /// What took so long.
        what: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// A provider holds the agent back.
    #[error("{agent} is rate-limited: {message}; try again later")]
    RateLimited {
        /// Who was asked.
        agent: Agent,
        /// In its words.
        message: String,
    },
    /// What the program wrote cannot be what its protocol says.
    #[error("{agent} wrote what its protocol does not have: {message}; this version of it may be too new or too old")]
    Parse {
        /// Who was asked.
        agent: Agent,
        /// What was wrong.
        message: String,
    },
    /// This version of the program does not take an option.
    #[error("{agent}{} does not take `{flag}`; {instead}", version.as_deref().map(|v| format!(" {v}")).unwrap_or_default())]
    FlagRejected {
        /// Who was asked.
        agent: Agent,
        /// Its version, if it is known.
        version: Option<String>,
        /// The option.
        flag: String,
        /// What would work.
        instead: String,
    },
    /// The driver cannot do what the request asks.
    #[error("{agent} cannot {what}; {instead}")]
    Unsupported {
        /// Who was asked.
        agent: Agent,
        /// What was asked.
        what: String,
        /// What would work.
        instead: String,
    },
    /// A command that neither the agent nor its driver knows. It was not sent.
    #[error("{agent} has no command `/{name}`; {}", meant(near))]
    UnknownCommand {
        /// Who was asked.
        agent: Agent,
        /// The command's name.
        name: String,
        /// What may have been meant.
        near: Vec<String>,
    },
    /// Another run has the session.
    #[error("another run has the session `{session}`; wait for it, or take another session")]
    SessionBusy {
        /// The session.
        session: String,
    },
    /// What is asked does not agree with what the session is.
    #[error("the session `{session}` {conflict}")]
    SessionConflict {
        /// The session.
        session: String,
        /// What does not agree, and what would work.
        conflict: String,
    },
    /// The agent does not have the session.
    #[error("{agent} has no session `{session}`; begin a new one, or give an id that it has")]
    NoSession {
        /// Who was asked.
        agent: Agent,
        /// The session.
        session: String,
    },
    /// A record of a session cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    Record {
        /// What was to be done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The agent says that a turn failed.
    #[error("{agent} failed: {message}")]
    Failed {
        /// Who was asked.
        agent: Agent,
        /// In its words.
        message: String,
    },
    /// The program ended, and never said what its turn came to.
    #[error("{agent} ended with {exit} before its turn did{}", said(stderr))]
    NoTerminalRecord {
        /// Who was asked.
        agent: Agent,
        /// How it ended.
        exit: Exit,
        /// The last of what it wrote to standard error.
        stderr: String,
    },
    /// The program's output could not be read, or its input not written.
    #[error("cannot {action} {agent}")]
    Io {
        /// Who was asked.
        agent: Agent,
        /// What was to be done.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The run is over; nothing can be asked of it any more.
    #[error("the run is over; begin a new one that resumes its session")]
    Over,
    /// No request for approval of this id is open.
    #[error("no request for approval `{id}` is open")]
    NoApproval {
        /// The id.
        id: String,
    },
    /// What was asked cannot be asked.
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// A run that failed, with what it came to until then.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct Failed {
    /// Why.
    #[source]
    pub error: AgentError,
    /// What there was until then.
    pub outcome: Box<Outcome>,
}

impl AgentError {
    /// Gives a short name for the kind of failure, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotInstalled { .. } => "not_installed",
            Self::NotLoggedIn { .. } => "not_logged_in",
            Self::Spawn { .. } => "spawn",
            Self::Timeout { .. } => "timeout",
            Self::RateLimited { .. } => "rate_limited",
            Self::Parse { .. } => "parse",
            Self::FlagRejected { .. } => "flag_rejected",
            Self::Unsupported { .. } => "unsupported",
            Self::UnknownCommand { .. } => "unknown_command",
            Self::SessionBusy { .. } => "session_busy",
            Self::SessionConflict { .. } => "session_conflict",
            Self::NoSession { .. } => "no_session",
            Self::Record { .. } => "record",
            Self::Failed { .. } => "failed",
            Self::NoTerminalRecord { .. } => "no_terminal_record",
            Self::Io { .. } => "io",
            Self::Over => "over",
            Self::NoApproval { .. } => "no_approval",
            Self::Request(_) => "request",
        }
    }
}

fn meant(near: &[String]) -> String {
    match near {
        [] => "nothing was sent; the event `commands` lists those it has".to_owned(),
        near => {
            let names: Vec<String> = near.iter().map(|name| format!("`/{name}`")).collect();
            format!("nothing was sent; did you mean {}?", names.join(" or "))
        }
    }
}

fn said(stderr: &str) -> String {
    match stderr.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) => format!(": {}", line.chars().take(300).collect::<String>()),
        None => String::new(),
    }
}
