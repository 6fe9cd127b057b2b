//! What a host asks of an agent: a prompt or a command, and the circumstances of the run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll::Bytes;
use plimsoll::command::{Command, reads_as_command};
use plimsoll::id::SessionId;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::environment::Environment;
use crate::error::RequestError;

/// The longest prompt, and the longest line in either direction.
pub const MAX_LINE: Bytes = Bytes(8 << 20);

/// The longest id of an agent's own that is taken, in bytes.
const LONGEST_ID: usize = 256;

/// Words for the model. They are never taken for a command: a text that an agent would read as one is no prompt.
///
/// ```
/// use plimsoll_agent::Prompt;
/// assert!(Prompt::new("What does /compact do?").is_ok());
/// assert!(Prompt::new("/compact").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Prompt(String);

impl Prompt {
    /// Checks a text.
    ///
    /// # Errors
    /// If it is empty, longer than [`MAX_LINE`], or begins as a command does.
    pub fn new(text: impl Into<String>) -> Result<Self, RequestError> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err(RequestError::EmptyPrompt);
        }
        if let Some(name) = reads_as_command(&text) {
            return Err(RequestError::PromptReadsAsCommand { name: name.to_owned() });
        }
        let bytes = Bytes(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if bytes > MAX_LINE {
            return Err(RequestError::LongPrompt { bytes, most: MAX_LINE });
        }
        Ok(Self(text))
    }

    /// Gives the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Prompt {
    type Error = RequestError;

    fn try_from(text: String) -> Result<Self, RequestError> {
        Self::new(text)
    }
}

impl From<Prompt> for String {
    fn from(prompt: Prompt) -> Self {
        prompt.0
    }
}

/// An id that an agent gave one of its sessions. It is refused rather than cut if it cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentSession(String);

impl AgentSession {
    /// Checks an id: at most 256 printable characters without white space, and not one that reads as an option.
    ///
    /// ```
    /// use plimsoll_agent::AgentSession;
    /// assert!(AgentSession::new("f3d758ba-a7b7-41e1-9bdd-63cafe995f91").is_ok());
    /// assert!(AgentSession::new("--dangerous").is_err());
    /// ```
    ///
    /// # Errors
    /// If it is none of that.
    pub fn new(id: impl Into<String>) -> Result<Self, RequestError> {
        let id = id.into();
        let fits = (1..=LONGEST_ID).contains(&id.len()) && !id.starts_with('-');
        if fits && !id.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Ok(Self(id));
        }
        Err(RequestError::SessionId { id: id.chars().take(40).flat_map(char::escape_debug).collect() })
    }

    /// Gives the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentSession {
    type Error = RequestError;

    fn try_from(id: String) -> Result<Self, RequestError> {
        Self::new(id)
    }
}

impl From<AgentSession> for String {
    fn from(id: AgentSession) -> Self {
        id.0
    }
}

impl std::fmt::Display for AgentSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

/// What one turn is about: words, or a command. One never becomes the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Input {
    /// Words for the model.
    Prompt(Prompt),
    /// A command to the program.
    Command(Command),
}

impl From<Prompt> for Input {
    fn from(prompt: Prompt) -> Self {
        Self::Prompt(prompt)
    }
}

impl From<Command> for Input {
    fn from(command: Command) -> Self {
        Self::Command(command)
    }
}

/// What the agent may do by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Permission {
    /// What the program's own configuration says.
    #[default]
    Default,
    /// Look and plan, change nothing.
    Plan,
    /// Change files without asking; other things as configured.
    AcceptEdits,
    /// Everything, without asking.
    Bypass,
}

/// What becomes of the agent's requests for approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Approvals {
    /// Nobody is asked: what needs approval is denied.
    #[default]
    Deny,
    /// They are [events](crate::EventKind::ApprovalRequest), and the host answers them by [`Run::respond`](crate::Run::respond).
    Ask,
}

/// One run of an agent program: what is asked, and under which circumstances.
///
/// ```
/// use plimsoll_agent::{Agent, Environment, Prompt, Request};
/// let environment = Environment::reduced([("PATH", "/usr/bin")]);
/// let mut request = Request::new(Agent::Claude, Prompt::new("Say hello.")?, "/srv/project", environment);
/// request.model = Some("sonnet".to_owned());
/// # Ok::<(), plimsoll_agent::RequestError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// Who is asked.
    pub agent: Agent,
    /// The program, if it is not the one that `PATH` leads to.
    pub program: Option<PathBuf>,
    /// Arguments of the program itself, before those that the driver adds: how [`Agent::Acp`] programs are told to speak
    /// the protocol. They are public: every user of the machine can read them.
    pub arguments: Vec<OsString>,
    /// What the first turn is about. It goes by standard input, never as an argument.
    pub input: Input,
    /// The host's own name for a session. A name that is new begins one.
    pub session: Option<SessionId>,
    /// How long to wait for another run of the same session; none is refused at once.
    pub wait: Option<Duration>,
    /// The agent's own id of a session to go on with.
    pub resume: Option<AgentSession>,
    /// The model, by a name that the program knows.
    pub model: Option<String>,
    /// The directory that the agent works in.
    pub cwd: PathBuf,
    /// What it sees of the environment.
    pub environment: Environment,
    /// What it may do by itself.
    pub permission: Permission,
    /// What becomes of its requests for approval.
    pub approvals: Approvals,
    /// Text added to the program's own system prompt.
    pub instructions: Option<String>,
    /// One prompt and nothing else, by the program's own way for that, where it has one apart: Codex's `codex exec`.
    /// Others have none, and refuse it.
    pub one_shot: bool,
    /// The longest that the whole run may take.
    pub timeout: Option<Duration>,
    /// How long a program that is told to stop has to do so before it is killed.
    pub grace: Duration,
}

impl Request {
    /// Asks an agent for one thing, in a directory, with an environment; everything else as it comes.
    pub fn new(agent: Agent, input: impl Into<Input>, cwd: impl Into<PathBuf>, environment: Environment) -> Self {
        Self {
            agent,
            program: None,
            arguments: Vec::new(),
            input: input.into(),
            session: None,
            wait: None,
            resume: None,
            model: None,
            cwd: cwd.into(),
            environment,
            permission: Permission::Default,
            approvals: Approvals::Deny,
            instructions: None,
            one_shot: false,
            timeout: None,
            grace: Duration::from_secs(3),
        }
    }
}
