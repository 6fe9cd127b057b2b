//! Compaction: the older part of a conversation is replaced by a summary and carried facts, the tail stays verbatim.
//!
//! [`plan`] decides, as plain data, without calling anything; somebody writes a summary; [`apply`] turns both into
//! edits. An [`Epoch`] records what was decided, named by the [`Chain`] hash of the prefix that it replaces.

mod apply;
mod chain;
mod epoch;
mod plan;
mod policy;
mod tail;

pub use apply::{Applied, ApplyError, apply};
pub use chain::{Chain, ChainHash};
pub use epoch::{Epoch, EpochError, ReplayError};
pub use plan::{Plan, Skip, Summarise, plan};
pub use policy::{
    FRAME_BOUND, MINIMAL_CONTINUATION, MINIMUM_MESSAGES, PlanOptions, SUMMARY_BOUND, ledger_bound,
};
