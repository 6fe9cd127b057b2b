//! The agent programs that can be driven: their names, and what they are called on a machine.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An agent program, or a family of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Agent {
    /// Claude Code, by its JSON stream.
    Claude,
    /// Codex, by its app server.
    Codex,
    /// Gemini CLI, by the Agent Client Protocol.
    Gemini,
    /// Goose, by the Agent Client Protocol.
    Goose,
    /// OpenCode, by the Agent Client Protocol.
    OpenCode,
    /// Any other program that speaks the Agent Client Protocol; the request names it.
    Acp,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Claude, Self::Codex, Self::Gemini, Self::Goose, Self::OpenCode, Self::Acp];

    /// Gives the name that a user types.
    ///
    /// ```
    /// use plimsoll_agent::Agent;
    /// assert_eq!(Agent::Claude.name(), "claude");
    /// assert_eq!("claude".parse(), Ok(Agent::Claude));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Goose => "goose",
            Self::OpenCode => "opencode",
            Self::Acp => "acp",
        }
    }

    /// Gives the program's name as it is looked for in `PATH`; `None` if the request must name it.
    pub fn program(self) -> Option<&'static str> {
        (self != Self::Acp).then(|| self.name())
    }

    /// Says how the program is installed.
    pub(crate) fn installation(self) -> &'static str {
        match self {
            Self::Claude => "npm install -g @anthropic-ai/claude-code",
            Self::Codex => "npm install -g @openai/codex",
            Self::Gemini => "npm install -g @google/gemini-cli",
            Self::OpenCode => "npm install -g opencode-ai",
            Self::Goose => "see its own documentation",
            Self::Acp => "see the documentation of the program that you named",
        }
    }

    /// Says how a user logs in to it.
    pub(crate) fn login(self) -> &'static str {
        match self {
            Self::Claude => "run `claude` and its /login, or let ANTHROPIC_API_KEY through with --env",
            Self::Codex => "run `codex login`, or let OPENAI_API_KEY through with --env",
            Self::Gemini => "run `gemini` once, or let GEMINI_API_KEY through with --env",
            Self::OpenCode => "run `opencode auth login`",
            Self::Goose => "run `goose configure`",
            Self::Acp => "log in with the program itself",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no agent has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an agent that can be driven; there are claude, codex, gemini, goose, opencode and acp")]
pub struct UnknownAgent(String);

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Self, UnknownAgent> {
        let found = Self::ALL.into_iter().find(|agent| agent.name() == name);
        found.ok_or_else(|| UnknownAgent(name.chars().take(40).flat_map(char::escape_debug).collect()))
    }
}
