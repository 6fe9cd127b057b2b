//! Going back: what a history was when it had fewer messages.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::{Edge, History, Placed};

impl History {
    /// Makes the history of the first messages alone, as it was when there were no more. `None` where that is not known:
    /// under an epoch what is sent depends on what there was when it was decided.
    pub(in super::super) fn first(&self, messages: usize) -> Option<Self> {
        if self.in_force.is_some() || self.counted_from > 0 || messages >= self.len() {
            return None;
        }
        let (bytes, spans) = self.spans.first(&self.bytes, messages)?;
        let stays =
            |edge: Edge| matches!(edge, Edge::Start(_, message) | Edge::End(_, message) if message < messages);
        let edits: Vec<Placed> =
            self.edits.iter().filter(|edit| stays(edit.from) && stays(edit.to)).cloned().collect();
        let sent_chain = self.sent_chain.as_ref().filter(|_| !edits.is_empty()).map(|chain| chain.first(messages));
        let sums = self.sums.get(..=messages)?.to_vec();
        let original_sums = self.original_sums.get(..=messages)?.to_vec();
        Some(Self {
            format: self.format,
            bytes,
            spans,
            chain: self.chain.first(messages),
            sent_chain,
            envelope: self.envelope.clone(),
            edits,
            in_force: None,
            original_tokens: original_sums.last().copied()?,
            sent_tokens: sums.last().copied()?,
            sums,
            counted_from: 0,
            original_sums,
            method: self.method,
            anchor: Mutex::new(self.anchor().filter(|anchor| anchor.messages <= messages)),
            tools: Arc::clone(&self.tools),
            typed: self.typed.iter().copied().filter(|typed| *typed < messages).collect(),
            lineage: self.lineage,
            second: self.second,
            meter: Arc::clone(&self.meter),
            asked: Arc::new(AtomicBool::new(messages <= 1)),
        })
    }
}

#[cfg(test)]
mod tests;
