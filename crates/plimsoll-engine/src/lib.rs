//! The imperative shell of Plimsoll: it reads, lets the core decide, archives, and writes.

#![cfg_attr(
    test,
    allow(clippy::string_slice, clippy::format_collect, reason = "a test may stop at once, and be slow")
)]

pub mod config;
pub mod doctor;
pub mod event;
pub mod find;
pub mod hook;
pub mod install;
pub mod profiles;
pub mod session;
pub mod skills;
pub mod spill;
pub mod summarise;

mod catalogue;
mod clock;
mod compact;
mod context;
mod error;
mod file;
mod judge;
mod reduce;
mod report;
mod restore;

pub use catalogue::{CatalogueFileError, CatalogueFiles};
pub use compact::{CompactOptions, Compacted, Writing, compact, compact_by};
pub use context::{Context, Large, LargeResult, Marks, Moment, Odd, Picture, context, picture};
pub use error::EngineError;
pub use file::{Input, change_in_place, writable, write_whole};
pub use judge::{Judged, judge};
pub use reduce::{Piece, Reductions};
pub use report::{CountedBy, Outcome, Report};
pub use restore::later_messages;
