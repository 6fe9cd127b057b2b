//! Compaction: the older part of a conversation is replaced by a summary and carried facts, the tail stays verbatim.

mod continuation;
mod extract;
mod ledger;
mod profile;
mod summary;

pub use continuation::{
    Continuation, ContinuationParts, acknowledgement, continuation, parse_continuation,
};
pub use extract::{Carried, Extract, Request, extract};
pub use ledger::{
    Artifact, Command, Failure, Fix, Item, Ledger, LeftOut, Note, Outcome, PendingCall, Status,
    Todo, Touch, Words,
};
pub use profile::Profile;
pub use summary::{SummaryError, extract_summary};
