//! Where Plimsoll keeps what leaves a context: artifacts, epochs, recall.
//!
//! A [`Store`] does what the rest of Plimsoll asks for; a [`Backend`](backend::Backend) is the small interface
//! below it that a place of storage implements, and [`conformance`] holds every one of them to it. What is stored under
//! which key is one table: [`plimsoll::id`]. Everything is created once and never changed.

pub mod backend;
pub mod conformance;
pub mod local;
pub mod memory;
pub mod object;
pub mod prune;
#[cfg(feature = "tls")]
pub mod tls;

mod archive;
mod body;
mod chunk;
mod closed;
mod error;
mod inventory;
mod manifest;
mod open;
mod pattern;
mod quota;
mod recall;
mod results;
mod scan;
mod search;
mod store;
mod verify;

pub use archive::{Archived, Compaction, KEEP_BODY, LEND_BODY};
pub use body::ArchivedDocument;
pub use error::{Result, StoreError};
pub use inventory::{ArchiveUse, ArtifactUse, BodyNames, BodyUse, Inventory, SessionUse, Shown, Tombstone};
pub use open::{Location, Platform};
pub use pattern::Pattern;
pub use quota::Quotas;
pub use recall::{GrepLine, GrepPage, Grepped, MAY_MISS, PAGE, Page, RecallReader, Recalled};
pub use results::{NewResult, ResultDraft, ResultMeta, Saved, StoredResult, Whole};
pub use search::{Hit, Search, SearchPage, Searched};
pub use store::Store;
pub use verify::Verified;
