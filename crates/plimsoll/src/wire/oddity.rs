//! What a parser has to say about a document: why it is none, and what is not as its format has it.

use super::{Format, JsonError, Span};
use crate::units::Bytes;

/// Why bytes are not a transcript.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// There is nothing to read.
    #[error("the input is empty; give a transcript (a session file or a request body)")]
    Empty,
    /// Larger than allowed.
    #[error("the input has {size}, over the limit of {limit}; raise the limit if that is meant")]
    TooLarge {
        /// The input's size.
        size: Bytes,
        /// The limit.
        limit: Bytes,
    },
    /// Not text.
    #[error("the input is not text: {what} at byte {offset}; give a transcript in JSON or JSONL, as UTF-8")]
    Binary {
        /// What was found.
        what: &'static str,
        /// Where.
        offset: usize,
    },
    /// A body that is not JSON.
    #[error("the input is not a complete JSON document: {0}")]
    Json(#[from] JsonError),
    /// JSON or text, but no format that is known.
    #[error(
        "no transcript found: {found}; known formats are anthropic, openai-chat, openai-responses, gemini, claude-code and codex"
    )]
    Unrecognised {
        /// What it looks like.
        found: String,
    },
    /// A format was forced, and the input is not in it.
    #[error("the input is not in the format {format}: {reason}")]
    Mismatch {
        /// The forced format.
        format: Format,
        /// What is missing.
        reason: &'static str,
    },
}

/// Something in a document that is not as its format has it. It is kept as it is; nothing refuses because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oddity {
    /// What it is.
    pub kind: OddityKind,
    /// Where it stands.
    pub span: Span,
}

/// What kinds of oddity there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OddityKind {
    /// A byte order mark at the start.
    ByteOrderMark,
    /// A line that is not (complete) JSON: torn by a crash, or not meant to be.
    BrokenLine,
    /// A comment line (`//`).
    CommentLine,
    /// Complete objects glued on one line.
    GluedObjects,
    /// A line that holds JSON, but no object.
    NotAnObject,
    /// An entry of a type this version does not know.
    UnknownEntry,
    /// A message whose role this version does not know.
    UnknownRole,
    /// A content block of a type this version does not know.
    UnknownBlock,
    /// Content that has another shape than the format gives it.
    UnexpectedShape,
    /// A tool call without an id.
    CallWithoutId,
    /// An id that stands on two entries.
    DuplicateId,
    /// A parent that is not in the file.
    MissingParent,
    /// No newline at the end of the last line.
    NoFinalNewline,
}

impl OddityKind {
    /// A short description.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "byte order mark",
            Self::BrokenLine => "line that is not complete JSON",
            Self::CommentLine => "comment line",
            Self::GluedObjects => "objects glued on one line",
            Self::NotAnObject => "line that is no object",
            Self::UnknownEntry => "entry of unknown type",
            Self::UnknownRole => "message of unknown role",
            Self::UnknownBlock => "block of unknown type",
            Self::UnexpectedShape => "content of unexpected shape",
            Self::CallWithoutId => "tool call without id",
            Self::DuplicateId => "id that occurs twice",
            Self::MissingParent => "parent that is not in the file",
            Self::NoFinalNewline => "no final newline",
        }
    }
}
