//! `Epoch`: the record of a compaction, from which it is done again for the same history, always with the same result.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::apply::refuse_breaks;
use super::{ApplyError, Chain, ChainHash, Reduced, Replacement, Summarise, reduce, tail};
use crate::Tokens;
use crate::id::{EpochId, SessionId};
use crate::wire::{Document, Edit, Format, Rewrite};

/// The version of the record's layout.
const VERSION: u32 = 1;

/// The record of a compaction. It is created once, never changed, and whoever meets its history uses it.
///
/// It is named by the chain hash of the prefix that it replaces. It holds the text of the continuation message as it
/// was sent, so that no later version or setting changes what it says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Epoch {
    version: u32,
    /// The format of the history.
    pub format: Format,
    /// How many messages the prefix has that it replaces; leading operator messages among them stay.
    pub prefix: usize,
    /// The chain hash of what it replaces of that prefix: [`Chain::replaced`].
    pub chain: ChainHash,
    /// The messages that leave.
    pub removed: Range<usize>,
    /// Messages among them that stay.
    pub retained: Vec<usize>,
    /// The pieces that gave way to a line, where reductions were enough; then nothing else leaves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<Replacement>,
    /// How many messages the history had when this was planned.
    pub messages: usize,
    /// The text of the continuation message.
    pub continuation: String,
    /// What the assistant answers to it, where the format needs that.
    pub acknowledgement: String,
    /// The summary.
    pub summary: String,
    /// The carried facts.
    pub ledger: serde_json::Value,
    /// The recall id of what was removed.
    pub artifact: Option<String>,
    /// The settings that it was made under, for the reader.
    pub policy: serde_json::Value,
    /// What the conversation counted before.
    pub tokens_before: Tokens,
    /// What it counted afterwards.
    pub tokens_after: Tokens,
}

/// Why bytes are no record of an epoch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EpochError {
    /// No JSON of this shape.
    #[error("this is no record of an epoch: {0}")]
    Shape(#[from] serde_json::Error),
    /// Written by a later version.
    #[error("this record of an epoch has layout {found}; this version reads layout {VERSION}")]
    Version {
        /// The layout it has.
        found: u32,
    },
    /// Its numbers contradict each other.
    #[error("this record of an epoch contradicts itself: it removes messages {}..{} of {messages}, prefix {prefix}", removed.start, removed.end)]
    Contradiction {
        /// The messages that leave.
        removed: Range<usize>,
        /// The prefix.
        prefix: usize,
        /// All messages.
        messages: usize,
    },
}

/// Why an epoch cannot be replayed on a history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The history is not the one it was made from, grown.
    #[error("this epoch replaces another history: the first {prefix} messages are not those it was made from")]
    OtherHistory {
        /// How many messages it replaces.
        prefix: usize,
    },
    /// The history has grown so that it cannot be rewritten.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

impl Epoch {
    /// Records a plan that was carried out: `chain` is of the history that was planned for.
    ///
    /// Summary, ledger, artifact and policy are for the reader, and can be set afterwards. `None` if the chain does not
    /// reach over the prefix.
    pub fn new(
        format: Format,
        chain: &Chain,
        summarise: &Summarise,
        continuation: String,
        acknowledgement: String,
        tokens_after: Tokens,
    ) -> Option<Self> {
        let prefix = summarise.removed.end;
        Some(Self {
            version: VERSION,
            format,
            prefix,
            chain: chain.replaced(prefix)?,
            removed: summarise.removed.clone(),
            retained: summarise.retained.clone(),
            reductions: Vec::new(),
            messages: summarise.messages,
            continuation,
            acknowledgement,
            summary: String::new(),
            ledger: serde_json::Value::Null,
            artifact: None,
            policy: serde_json::Value::Null,
            tokens_before: summarise.tokens_before,
            tokens_after,
        })
    }

    /// Records reductions that were carried out: `chain` is of the history that was planned for.
    ///
    /// `None` if nothing was replaced, or the chain does not reach over the prefix.
    pub fn of_reductions(format: Format, chain: &Chain, reduced: &Reduced) -> Option<Self> {
        let prefix = Some(reduced.prefix).filter(|_| !reduced.replaced.is_empty())?;
        Some(Self {
            version: VERSION,
            format,
            prefix,
            chain: chain.replaced(prefix)?,
            removed: prefix..prefix,
            retained: Vec::new(),
            reductions: reduced.replaced.clone(),
            messages: reduced.messages,
            continuation: String::new(),
            acknowledgement: String::new(),
            summary: String::new(),
            ledger: serde_json::Value::Null,
            artifact: None,
            policy: serde_json::Value::Null,
            tokens_before: reduced.tokens_before,
            tokens_after: reduced.tokens_after,
        })
    }

    /// Whether it only leaves pieces out, and no summary stands in it.
    pub fn is_of_reductions(&self) -> bool {
        !self.reductions.is_empty()
    }

    /// Its id in a session.
    pub fn id(&self, session: &SessionId) -> EpochId {
        EpochId::new(session, self.chain.as_bytes())
    }

    /// Whether a history begins with the prefix that this replaces: it is the one it was made from, or that one grown.
    pub fn matches(&self, chain: &Chain) -> bool {
        chain.replaced(self.prefix) == Some(self.chain)
    }

    /// Rewrites a history that [matches](Self::matches), as it was rewritten the first time.
    ///
    /// Thinking that was signed over the old prefix is left out once its turn is over; what the model thought since
    /// stays.
    ///
    /// # Errors
    /// [`ReplayError`] if it is another history, or one that cannot be rewritten so any more.
    pub fn replay(&self, document: &Document<'_>, chain: &Chain) -> Result<Vec<Edit<'static>>, ReplayError> {
        let transcript = document.transcript();
        if !self.matches(chain) || document.format() != self.format || chain.len() > transcript.messages.len() {
            return Err(ReplayError::OtherHistory { prefix: self.prefix });
        }
        if self.is_of_reductions() {
            let omitted = reduce::omitted(document, &self.reductions, self.messages);
            return Ok(reduce::edits(document, &self.reductions, &omitted)?);
        }
        refuse_breaks(document, self.removed.clone(), &self.retained)?;
        let omitted = tail::omitted(transcript, self.format, self.removed.end, self.messages);
        let edits = document.rewrite(&Rewrite {
            removed: self.removed.clone(),
            retained: &self.retained,
            omitted: &omitted,
            continuation: &self.continuation,
            acknowledgement: &self.acknowledgement,
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
        });
        edits.map_err(|error| ApplyError::Rewrite(error).into())
    }

    /// Writes the record.
    ///
    /// # Errors
    /// [`EpochError`] if the carried facts or the policy cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, EpochError> {
        Ok(serde_json::to_string(self)?)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`EpochError`] if it is none, is of a later layout, or contradicts itself.
    pub fn from_json(json: &[u8]) -> Result<Self, EpochError> {
        #[derive(Deserialize)]
        struct Layout {
            version: u32,
        }
        let Layout { version } = serde_json::from_slice(json)?;
        if version != VERSION {
            return Err(EpochError::Version { found: version });
        }
        let epoch: Self = serde_json::from_slice(json)?;
        let (removed, prefix, messages) = (epoch.removed.clone(), epoch.prefix, epoch.messages);
        let ordered = epoch.retained.is_sorted() && epoch.retained.iter().all(|index| removed.contains(index));
        let places = epoch.reductions.iter().map(|piece| (piece.message, piece.block, piece.part));
        let pieces = if epoch.is_of_reductions() {
            removed.is_empty() && places.is_sorted() && epoch.reductions.iter().all(|piece| piece.message < prefix)
        } else {
            !removed.is_empty()
        };
        if !pieces || removed.end != prefix || prefix > messages || !ordered {
            return Err(EpochError::Contradiction { removed, prefix, messages });
        }
        Ok(epoch)
    }
}

#[cfg(test)]
#[path = "epoch/tests.rs"]
mod tests;
