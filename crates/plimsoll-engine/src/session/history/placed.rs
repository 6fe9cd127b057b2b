//! Edits by the messages that they stand in.

use std::sync::Arc;

use plimsoll::wire::{MessageSpans, Span};

/// An end of an edit: a distance from where a message starts, or from where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Start(u32, usize),
    End(u32, usize),
}

/// An edit, by the messages it stands in, so that it finds its place when the messages move.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) from: Edge,
    pub(super) to: Edge,
    pub(super) with: Arc<[u8]>,
    /// Which text of the results of which message it replaces, where it is a cap.
    pub(super) cap: Option<(usize, usize)>,
}

/// Finds the messages that an edit stands in.
pub(super) fn place(spans: &MessageSpans, span: Span, with: &[u8], cap: Option<(usize, usize)>) -> Option<Placed> {
    let messages = spans.messages();
    // The last message that begins at or before the edit, and the first that ends at or after it.
    let from = messages.partition_point(|message| message.start() <= span.start()).checked_sub(1)?;
    let to = messages.partition_point(|message| message.end() < span.end());
    let narrow = |distance: usize| u32::try_from(distance).ok();
    let from = Edge::Start(narrow(span.start().checked_sub(messages.get(from)?.start())?)?, from);
    let to = match messages.get(to) {
        Some(message) if span.end() > message.start() => Edge::End(narrow(message.end() - span.end())?, to),
        // It ends between two messages, where the next one begins.
        Some(message) => Edge::Start(narrow(span.end().checked_sub(message.start())?)?, to),
        None => return None,
    };
    Some(Placed { from, to, with: with.into(), cap })
}
