//! What may be sent: thresholds, feasibility, and when to stop trying.

mod anchor;
mod breaker;
mod count;
mod counting;
mod feasibility;
mod learn;
mod measure;
mod threshold;

pub use anchor::{Anchor, Anchored, Death};
pub use breaker::{Attempt, Breaker, Permit, Strike, Trigger};
pub use count::{CALL_OVERHEAD, Count, MESSAGE_OVERHEAD, TOOLS_OVERHEAD};
pub use counting::Counting;
pub use feasibility::{Acceptance, Feasibility, accept, feasibility, tail_budget};
pub use learn::learned;
pub use measure::{ByKind, ByRole, Measure, Meter};
pub use threshold::{Capacity, Level, Mark, Policy, RESERVE_CAP, TAIL_CAP, Thresholds, threshold};
