//! What a run came to.

use plimsoll::Tokens;
use serde::Serialize;

use crate::event::Usage;
use crate::request::{AgentSession, Input};

/// What a run came to, whether it failed or not.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The answer to the last prompt; of a run without prompts, what the last command said. A command that ran after a
    /// prompt does not replace the prompt's answer.
    pub text: String,
    /// The agent's own id of the session: what a later run resumes.
    pub session: Option<AgentSession>,
    /// What the run used, every message counted once.
    pub usage: Usage,
    /// What fills the context at the end, in tokens, if it is known.
    pub context_used: Option<Tokens>,
    /// The context window, in tokens, if it is known.
    pub context_window: Option<Tokens>,
    /// Why the last turn ended.
    pub stop: Stop,
    /// How many turns ended.
    pub turns: u64,
    /// How the process ended.
    pub exit: Exit,
    /// The last of what it wrote to standard error.
    pub stderr: String,
    /// What it wrote that was not understood.
    pub unparsed: Unparsed,
    /// What was acknowledged and could not be sent any more, because the run ended before.
    pub unsent: Vec<Input>,
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stop {
    /// It did not.
    #[default]
    None,
    /// The answer is complete.
    End,
    /// The answer is cut off at the most that the model may write.
    MaxTokens,
    /// The agent took as many steps as it may.
    MaxTurns,
    /// The model declined.
    Refusal,
    /// The host cancelled.
    Cancelled,
    /// The turn failed.
    Error,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
}

impl Exit {
    /// Says whether it exited with 0.
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("an unknown end"),
        }
    }
}

/// How many records were not understood. None of them ended the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Unparsed {
    /// Lines that are no JSON: torn, or meant for people.
    pub torn: u64,
    /// Lines over [`MAX_LINE`](crate::MAX_LINE), skipped.
    pub too_long: u64,
    /// Records of a kind that the driver does not know, passed on raw.
    pub unknown: u64,
}
