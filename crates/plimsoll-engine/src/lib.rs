//! The imperative shell of Plimsoll: it reads, lets the core decide, archives, and writes.

mod compact;
mod error;
mod file;
pub mod skills;

pub use compact::{CompactOptions, Compacted, CountedBy, Judged, Outcome, Report, compact, judge};
pub use error::EngineError;
pub use file::{Input, change_in_place, write_whole};
