//! Why a tool gives no answer, in words that a model can act on.

use plimsoll_store::StoreError;

/// What one who calls from elsewhere is told of a fault of the store: its own words name places of this machine.
const ELSEWHERE: &str =
    "the store does not give what it holds just now; try again later, or ask whoever runs this gateway";

/// Why a tool gives no answer, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The call is wrong.
    Wrong(String),
    /// Nothing is stored under the id, or not any more.
    Missing(String),
    /// The store does not give what it holds.
    Fault(String),
}

impl Refusal {
    /// Gives the words for a caller on this machine.
    pub(crate) fn words(&self) -> &str {
        let (Self::Wrong(words) | Self::Missing(words) | Self::Fault(words)) = self;
        words
    }

    /// Gives the words for a caller elsewhere.
    pub(crate) fn words_elsewhere(&self) -> &str {
        if matches!(self, Self::Fault(_)) { ELSEWHERE } else { self.words() }
    }
}

impl From<String> for Refusal {
    fn from(words: String) -> Self {
        Self::Wrong(words)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Unknown { id } => Self::Missing(format!(
                "nothing is stored as {id}: it was never stored here, or it was removed. Find it with `search` or \
                 `list`, or run the tool again"
            )),
            StoreError::Pruned { id, asked: true } => Self::Missing(format!(
                "{id} was stored, and is not any more: its session was removed on request. Run the tool again"
            )),
            StoreError::Pruned { id, asked: false } => Self::Missing(format!(
                "{id} was stored, and is not any more: results are kept for 30 days, and the oldest go first when room \
                 is short. Run the tool again"
            )),
            StoreError::Malformed(_) | StoreError::PastEnd { .. } | StoreError::Pattern { .. } => {
                Self::Wrong(error.to_string())
            }
            _ => Self::Fault(error.to_string()),
        }
    }
}
