//! What is read of messages: which begin a turn, and which tools they call.

use std::collections::HashMap;

use plimsoll::transcript::{BlockKind, CallKind, Message, Transcript};
use plimsoll::wire::Document;

/// The indices of the messages that begin a turn, where the first stands at `from`.
pub(super) fn turns(transcript: &Transcript<'_>, from: usize) -> impl Iterator<Item = usize> {
    let messages = transcript.messages.iter().enumerate();
    messages.filter(|(_, message)| begins_turn(message)).map(move |(index, _)| from + index)
}

/// Whether a message begins a turn: a person typed it, and it answers no call.
pub(in super::super) fn begins_turn(message: &Message<'_>) -> bool {
    message.is_typed() && message.results().next().is_none()
}

/// Notes which tool each call is of.
pub(in super::super) fn note_tools(document: &Document<'_>, tools: &mut HashMap<String, String>) {
    for block in document.transcript().messages.iter().flat_map(|message| &message.blocks) {
        if let BlockKind::ToolCall(call) = &block.kind
            && call.kind == CallKind::Client
            && let Some(id) = call.id
        {
            tools.insert(id.decode().into_owned(), call.name.decode().into_owned());
        }
    }
}
