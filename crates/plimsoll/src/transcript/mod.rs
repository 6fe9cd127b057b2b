//! The neutral view of a conversation: roles, messages, blocks — borrowed from the document, never re-encoded.

mod author;
mod block;
mod message;
mod pairing;
mod turn;

#[cfg(test)]
pub(crate) mod sample;

pub use author::{CONTINUATION_OPENING, author_of_user, is_summary, typed_words};
pub(crate) use author::{element, is_control_command};
pub use block::{Block, BlockKind, CallKind, Media, MediaKind, Tool, ToolCall, ToolResult};
pub use message::{Author, Message, Role, Usage};
pub use pairing::{Answer, Bond, BondKind, Obligations, OpenCall, Orphan, OrphanKind, Violation};
pub use turn::{Turns, provider_compaction};

/// A conversation as every wire format is read.
///
/// Order is the order in which a model sees it. What stands outside the messages (system prompt, tools) is kept apart,
/// because no plan ever removes it.
#[derive(Debug, Clone, Default)]
pub struct Transcript<'a> {
    /// The system prompt or instructions that stand outside the messages.
    pub system: Vec<Block<'a>>,
    /// The tools the model may call.
    pub tools: Vec<Tool<'a>>,
    /// The messages (for item formats: the items), oldest first.
    pub messages: Vec<Message<'a>>,
}
