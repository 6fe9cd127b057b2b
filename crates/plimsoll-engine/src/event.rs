//! `Event`: what happens in a session, for whoever watches: metrics, logs, a progress line. It holds no content.

use plimsoll::Tokens;
use plimsoll::transcript::Usage;

use crate::session::{CompactionReport, Reason};
use crate::summarise::Progress;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A summary is being made.
    Summarising {
        /// What the conversation counts.
        tokens: Tokens,
    },
    /// How far a summary is.
    Progress(Progress),
    /// A summary was made. What it is for is not in place yet.
    Summarised {
        /// Who wrote it.
        summarizer: String,
        /// Why it was not written by whom it was asked of.
        fallback: Option<String>,
        /// How often a model was asked.
        calls: u32,
        /// What that used, as far as it was reported.
        usage: Option<Usage>,
        /// What that came to, input and output together: as it was reported, else as it was counted.
        tokens: Tokens,
    },
    /// There is nothing to be put in place, and why.
    NotSummarised(Reason),
    /// An epoch is in place.
    Compacted(Box<CompactionReport>),
    /// An epoch that another process decided was found in the store.
    Found {
        /// The epoch.
        epoch: String,
    },
    /// An epoch that held in this process only is durable now.
    Durable {
        /// The epoch.
        epoch: String,
    },
    /// A request was too long for the model.
    Overflow {
        /// Whether it is sent again, compacted.
        recovered: bool,
    },
    /// A server seems to have dropped a part of a request without a word.
    Truncated {
        /// What was counted.
        counted: Tokens,
        /// What the server says it took.
        reported: Tokens,
    },
}
