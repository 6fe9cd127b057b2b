//! Wire formats as views over the original bytes: detection, tolerant parsing, splicing.
//!
//! [`parse`] lays a [`Document`] over bytes; [`Document::rewrite`] turns a decision into [`Edit`]s; [`splice`] applies
//! them. Nothing is translated between formats, and nothing is ever re-encoded.

mod anthropic;
mod claude_code;
mod codex;
mod detect;
mod document;
mod gemini;
mod grown;
mod json;
mod lines;
mod media;
mod oddity;
mod openai_chat;
mod openai_responses;
mod overflow;
mod replace;
mod rewrite;
mod span;
mod splice;
mod sse;
mod stamp;
mod stream;
mod text;
mod usage;

pub use detect::detect;
pub use document::{Document, Entry, ParseOptions, parse};
pub use grown::{Grown, MessageSpans};
pub use json::{JsonError, Kind, MAX_DEPTH, Tape, Value};
pub use oddity::{Oddity, OddityKind, ParseError};
pub use overflow::{OutputRefused, Overflow, OverflowKind, output_refused, overflow};
pub use replace::Replace;
pub(crate) use rewrite::without;
pub use rewrite::{Rewrite, RewriteError};
pub use span::Span;
pub use splice::{Edit, SpliceError, splice};
pub use sse::{Frame, Frames, MAX_FRAME, StreamError};
pub use stream::{Stop, StreamEnd, StreamFailure, StreamReader, Streamed, read_response};
pub use text::{Text, quote};
pub use usage::response_usage;

use serde::{Deserialize, Serialize};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// A request body of Anthropic's Messages API.
    Anthropic,
    /// A request body of `OpenAI`'s Chat Completions API, or a log of such messages.
    OpenaiChat,
    /// A request body of `OpenAI`'s Responses API.
    OpenaiResponses,
    /// A request body of Gemini's `generateContent`.
    Gemini,
    /// A session file of Claude Code (JSONL).
    ClaudeCode,
    /// A rollout file of Codex (JSONL).
    Codex,
}

impl Format {
    /// Every format, in the order in which detection tries them.
    pub const ALL: [Self; 6] =
        [Self::Anthropic, Self::OpenaiChat, Self::OpenaiResponses, Self::Gemini, Self::ClaudeCode, Self::Codex];

    /// The format's name, as `--format` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Gemini => "gemini",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// Whether the program that owns such a file resumes from what is appended to it.
    pub const fn is_appended(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// A format name that is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{0}`; known are anthropic, openai-chat, openai-responses, gemini, claude-code, codex")]
pub struct UnknownFormat(pub String);

#[cfg(test)]
mod tests;
