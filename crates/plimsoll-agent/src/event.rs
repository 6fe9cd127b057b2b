//! What happens during a run, said the same way for every agent.

use std::time::SystemTime;

use plimsoll::Tokens;
use plimsoll::command::{Commands, Compaction};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agent::Agent;
use crate::request::AgentSession;

/// The most text that one event carries, in bytes. What a program sent beyond that is counted, not carried.
pub const MAX_TEXT: usize = 256 << 10;

/// Something that happened, when, and where in the program's output it was said.
///
/// As JSON it is one object: the fields here, and those of its kind beside `"event"`, the kind's name.
#[doc(alias = "Event::Commands")]
#[doc(alias = "Event::Compaction")]
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
    /// When it was read; as JSON, in milliseconds since 1970.
    #[serde(rename = "at_ms", serialize_with = "milliseconds")]
    pub at: SystemTime,
    /// Where the record that says so begins in the program's standard output, in bytes.
    pub offset: u64,
    /// The tool call of the subagent that it happened in; none in the conversation itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A session runs. It is said once for a session, however often the program says it; again only under a new id.
    Started {
        /// The program.
        agent: Agent,
        /// Its own id of the session.
        session: AgentSession,
        /// The model, if it says.
        model: Option<String>,
        /// Its version, if it says.
        version: Option<String>,
    },
    /// What commands it has. Said again if it says more.
    Commands(Commands),
    /// A piece of the model's thinking.
    Thinking {
        /// The piece.
        text: String,
    },
    /// A piece of the answer. All pieces in their order are the answer; none is said twice.
    Text {
        /// The piece.
        text: String,
    },
    /// The model calls a tool.
    ToolCall {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// Its input; null if it is over [`MAX_TEXT`].
        input: Value,
    },
    /// What a tool gave back.
    ToolResult {
        /// The call's id.
        id: String,
        /// Its text, up to [`MAX_TEXT`].
        text: String,
        /// How much more there was, in bytes.
        omitted_bytes: u64,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// What was used so far.
    Usage {
        /// Of the whole run until now, every message counted once.
        #[serde(flatten)]
        usage: Usage,
        /// What fills the context now, in tokens, if it is known.
        context_used: Option<Tokens>,
        /// The context window, if it is known.
        context_window: Option<Tokens>,
    },
    /// The agent asks whether it may do something. [`Run::respond`](crate::Run::respond) answers.
    ApprovalRequest {
        /// What the answer names.
        id: String,
        /// The tool it wants to use.
        tool: String,
        /// With this input.
        input: Value,
        /// What it says about it.
        reason: Option<String>,
    },
    /// A provider holds the agent back.
    RateLimit {
        /// In the agent's words.
        message: String,
        /// When it goes on, in milliseconds from now, if it says.
        retry_ms: Option<u64>,
        /// Whether the agent waits and tries again by itself.
        retrying: bool,
    },
    /// A compaction of the agent's own began or ended.
    Compaction(#[serde(serialize_with = "compaction")] Compaction),
    /// A record that is none of these, as it came.
    Raw {
        /// What the record calls itself; empty if it does not.
        kind: String,
        /// The record, if it is JSON and not over [`MAX_TEXT`].
        record: Option<Box<RawValue>>,
        /// Its length in bytes.
        bytes: u64,
    },
}

/// What was used, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// Input that no cache held.
    pub input: Tokens,
    /// Output.
    pub output: Tokens,
    /// Input read from a cache.
    pub cache_read: Tokens,
    /// Input written to a cache.
    pub cache_write: Tokens,
}

impl Usage {
    /// Makes a usage of its parts.
    pub fn new(input: Tokens, output: Tokens, cache_read: Tokens, cache_write: Tokens) -> Self {
        Self { input, output, cache_read, cache_write }
    }

    /// Adds another, saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    /// Takes the larger of each part: two reports of one message.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.with(other, Ord::max)
    }

    /// Gives all of it together: what such a message's context holds after it.
    pub fn total(self) -> Tokens {
        self.input + self.output + self.cache_read + self.cache_write
    }

    fn with(self, other: Self, join: impl Fn(Tokens, Tokens) -> Tokens) -> Self {
        Self {
            input: join(self.input, other.input),
            output: join(self.output, other.output),
            cache_read: join(self.cache_read, other.cache_read),
            cache_write: join(self.cache_write, other.cache_write),
        }
    }
}

/// Cuts a text to what an event carries, at a character's edge; gives how many bytes are left out.
pub(crate) fn bounded(mut text: String) -> (String, u64) {
    if text.len() <= MAX_TEXT {
        return (text, 0);
    }
    let whole = text.len();
    text.truncate(edge(&text, MAX_TEXT));
    let omitted = whole - text.len();
    text.shrink_to_fit();
    (text, u64::try_from(omitted).unwrap_or(u64::MAX))
}

/// The last edge between characters that is not beyond `most`.
pub(crate) fn edge(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn milliseconds<S: Serializer>(at: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn compaction<S: Serializer>(step: &Compaction, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(tag = "state", rename_all = "snake_case")]
    enum Flat<'a> {
        Started,
        Finished { ok: bool, error: Option<&'a str>, before: Option<Tokens>, after: Option<Tokens> },
    }
    match step {
        Compaction::Finished { ok, error, before, after } => {
            Flat::Finished { ok: *ok, error: error.as_deref(), before: *before, after: *after }
        }
        _ => Flat::Started,
    }
    .serialize(serializer)
}
