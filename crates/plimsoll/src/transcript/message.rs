//! `Message`: who says it, who wrote it, and the blocks it is made of.

use serde::{Deserialize, Serialize};

use super::{Block, BlockKind};
use crate::units::Tokens;
use crate::wire::{Span, Text};

/// The role a message is sent under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// Instructions of the operator, in a message (`system`, `developer`).
    System,
    /// The user's side.
    User,
    /// The model's side.
    Assistant,
    /// Results of tool calls, where the format gives them a role of their own.
    Tool,
    /// A role that this version does not know.
    Other,
}

impl Role {
    /// The role's name as shown and serialised.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }
}

/// Who wrote a message. A role does not tell: tool results, reminders and earlier summaries travel as `user`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Author {
    /// A person, or whoever instructs the agent.
    User,
    /// The model.
    Model,
    /// Tools: the message holds results only.
    Tool,
    /// The operator: system and developer messages.
    Operator,
    /// The agent program: reminders, environment notes, echoes of commands.
    Machinery,
    /// An earlier compaction's summary.
    Summary,
}

/// Token usage as a provider reported it for one response.
///
/// Providers disagree on whether `input` includes cached tokens; a parser turns both conventions into this one, in
/// which the three input numbers never overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to a cache.
    pub input: Tokens,
    /// Input tokens read from a cache.
    pub cache_read: Tokens,
    /// Input tokens written to a cache.
    pub cache_write: Tokens,
    /// Output tokens, reasoning included.
    pub output: Tokens,
}

impl Usage {
    /// All input of the request: what filled the context when it was sent.
    pub fn context(self) -> Tokens {
        self.input + self.cache_read + self.cache_write
    }
}

/// One message; in item formats (Responses, Codex) one item.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The role it is sent under.
    pub role: Role,
    /// Who wrote it.
    pub author: Author,
    /// The entries of the document that make it up, ascending: usually one; a response of Claude Code is several lines.
    pub entries: Vec<u32>,
    /// The id that ties the lines of one response together, where the format has one.
    pub id: Option<Text<'a>>,
    /// What it holds, in order.
    pub blocks: Vec<Block<'a>>,
    /// The usage its response reported.
    pub usage: Option<Usage>,
    /// The model that wrote it, or was set when it was written, where the program records that.
    pub model: Option<Text<'a>>,
}

impl<'a> Message<'a> {
    /// Makes a message of one entry.
    pub fn new(role: Role, author: Author, entry: u32, blocks: Vec<Block<'a>>) -> Self {
        Self { role, author, entries: vec![entry], id: None, blocks, usage: None, model: None }
    }

    /// Whether a person typed (part of) it: the preferred place for a cut.
    pub fn is_typed(&self) -> bool {
        self.author == Author::User
    }

    /// The tool calls in it, in order.
    pub fn calls(&self) -> impl Iterator<Item = &super::ToolCall<'a>> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results in it, in order.
    pub fn results(&self) -> impl Iterator<Item = &super::ToolResult<'a>> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// The plain text blocks in it, in order.
    pub fn texts(&self) -> impl Iterator<Item = Text<'a>> {
        self.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::Text(text) => Some(*text),
            _ => None,
        })
    }

    /// The bytes of its blocks, smallest span that covers them; `None` for a message without blocks.
    pub fn span(&self) -> Option<Span> {
        self.blocks.iter().map(|block| block.span).reduce(Span::join)
    }
}
