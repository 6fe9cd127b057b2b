//! The imperative shell of Plimsoll: it reads, lets the core decide, archives, and writes.

#![cfg_attr(
    test,
    allow(clippy::string_slice, clippy::format_collect, reason = "a test may stop at once, and be slow")
)]

pub mod config;
pub mod hook;
pub mod install;

mod compact;
mod context;
mod error;
pub mod event;
mod file;
mod judge;
mod report;
pub mod session;
pub mod skills;
pub mod spill;
pub mod summarise;

pub use compact::{CompactOptions, Compacted, compact};
pub use context::{Context, Large, Marks, Odd, context};
pub use error::EngineError;
pub use file::{Input, change_in_place, write_whole};
pub use judge::{Judged, judge};
pub use report::{CountedBy, Outcome, Report};
