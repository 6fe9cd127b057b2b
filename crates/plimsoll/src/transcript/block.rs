//! `Block`: a piece of a message — text, thinking, a tool call, a result, media — or `Opaque`.

use serde::{Deserialize, Serialize};

use crate::wire::{Span, Text};

/// A content block with its place in the document.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// The bytes of its JSON value in the document.
    pub span: Span,
    /// What it is.
    pub kind: BlockKind<'a>,
}

/// What a block is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum BlockKind<'a> {
    /// Text.
    Text(Text<'a>),
    /// The model's reasoning. Signed or encrypted reasoning is bound to what precedes it and is never altered.
    Thinking {
        /// The readable part, if any.
        text: Option<Text<'a>>,
        /// Whether a signature or encrypted content binds it.
        sealed: bool,
    },
    /// A call of a tool.
    ToolCall(ToolCall<'a>),
    /// The result of a call.
    ToolResult(ToolResult<'a>),
    /// An image, document, audio or other file.
    Media(Media<'a>),
    /// A provider's own compaction: what precedes it is ignored by the model.
    Compaction(Option<Text<'a>>),
    /// Anything else, by its type name: carried, never interpreted.
    Opaque(Text<'a>),
}

impl BlockKind<'_> {
    /// The kind's name as shown and serialised.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Thinking { .. } => "thinking",
            Self::ToolCall(_) => "tool_call",
            Self::ToolResult(_) => "tool_result",
            Self::Media(_) => "media",
            Self::Compaction(_) => "compaction",
            Self::Opaque(_) => "opaque",
        }
    }
}

/// Who carries out a call, and therefore who owes the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CallKind {
    /// The client runs it; the result comes in a later message.
    Client,
    /// The provider runs it; the result stands in the same or the next response.
    Server,
    /// A question whether a call may run; the answer comes from the user's side, perhaps much later.
    Approval,
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct ToolCall<'a> {
    /// The call's id; `None` where the program wrote none, or the format pairs by order.
    pub id: Option<Text<'a>>,
    /// The tool's name.
    pub name: Text<'a>,
    /// The arguments as they stand: a JSON value, or the inside of a JSON string that holds JSON or free text.
    pub arguments: Text<'a>,
    /// Who carries it out.
    pub kind: CallKind,
}

/// The result of a call.
#[derive(Debug, Clone)]
pub struct ToolResult<'a> {
    /// The id of the call it answers; `None` where the program wrote none, or the format pairs by order.
    pub call_id: Option<Text<'a>>,
    /// What it holds: text and media blocks. A string is one text block.
    pub content: Vec<Block<'a>>,
    /// Whether the program marked it as an error; `None` where it did not say.
    pub is_error: Option<bool>,
    /// Who carried the call out.
    pub kind: CallKind,
}

impl<'a> ToolResult<'a> {
    /// The text blocks in it, in order.
    pub fn texts(&self) -> impl Iterator<Item = Text<'a>> {
        self.content.iter().filter_map(|block| match &block.kind {
            BlockKind::Text(text) => Some(*text),
            _ => None,
        })
    }
}

/// What kind of media a block carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A PDF or other document.
    Document,
    /// Sound.
    Audio,
    /// Another file.
    File,
}

/// An image, document, audio or other file.
#[derive(Debug, Clone)]
pub struct Media<'a> {
    /// What kind it is.
    pub kind: MediaKind,
    /// The media type it claims (`image/png`), where it says so.
    pub media_type: Option<Text<'a>>,
    /// The base64 data, where it is inline; never counted as text.
    pub data: Option<Text<'a>>,
    /// Whether the request asks for it to be looked at in low detail (OpenAI's `detail: low`).
    pub low_detail: bool,
}

/// A tool definition: counted, never changed.
#[derive(Debug, Clone)]
pub struct Tool<'a> {
    /// The definition's bytes in the document.
    pub span: Span,
    /// The tool's name, where it has one.
    pub name: Option<Text<'a>>,
}
