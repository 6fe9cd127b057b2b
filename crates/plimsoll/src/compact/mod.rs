//! Compaction: the older part of a conversation is replaced by a summary and carried facts, the tail stays verbatim.
//!
//! [`plan_or_reduce`] decides whether results that say nothing more are to be left out, or a part is to be summarised;
//! [`apply_reductions`] does the one. For the other [`plan`] decides, as plain data, without calling anything; somebody writes a summary, [`extract`] for one, without a
//! model; [`continuation`] frames it; [`apply`] turns all of it into edits. An [`Epoch`] records what was decided, named
//! by the [`Chain`] hash of the prefix that it replaces.
//!
//! Where a model writes the summary, a [`SummaryJob`] goes along from end to end: [`prompt`] is the instruction,
//! [`summary_request`] the bytes that are sent, [`extract_summary`] and [`accept`] read and judge what comes back.

mod accept;
mod apply;
mod chain;
mod continuation;
mod epoch;
mod extract;
mod ledger;
mod places;
mod plan;
mod policy;
mod profile;
mod prompt;
mod reduce;
mod request;
mod schedule;
mod summary;
mod summary_job;
mod tail;

pub use accept::{Accepted, Answer, Expected, Reason, Verdict, Warning, accept, growth_bound};
pub use apply::{Applied, ApplyError, apply};
pub use chain::{Chain, ChainHash};
pub use continuation::{Continuation, ContinuationParts, acknowledgement, continuation, parse_continuation};
pub use epoch::{Epoch, EpochError, ReplayError};
pub use extract::{Carried, Extract, Request, extract};
pub use ledger::{
    Artifact, Command, Failure, Fix, Item, Ledger, LeftOut, Note, Outcome, PendingCall, Status, Todo, Touch, Words,
};
pub use places::places;
pub use plan::{Plan, Skip, Summarise, plan};
pub use policy::{FRAME_BOUND, MINIMAL_CONTINUATION, MINIMUM_MESSAGES, PlanOptions, SUMMARY_BOUND, ledger_bound};
pub use profile::Profile;
pub use prompt::{Form, Language, Prompt, prompt};
pub use reduce::{
    CacheCost, Cause, Reduce, Reduced, Reduction, Replacement, apply_reductions, body, break_even, plan_or_reduce,
};
pub use request::{
    Admission, Api, MOST_OUTPUT, Obstacle, Part, PartKind, RequestError, Room, Shrunk, Summariser, SummaryRequest,
    admit, least_output, summary_request,
};
pub use schedule::{Situation, Step, Supply, schedule};
pub use summary::{SummaryError, extract_summary};
pub use summary_job::SummaryJob;
pub use tail::has_bound_turn;
