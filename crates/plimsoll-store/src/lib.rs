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

mod archive;
mod body;
mod chunk;
mod error;
mod manifest;
mod open;
mod recall;
mod results;
mod store;

pub use archive::{Archived, Compaction, KEEP_BODY, LEND_BODY};
pub use body::ArchivedDocument;
pub use error::{Result, StoreError};
pub use open::{Location, Platform};
pub use recall::{PAGE, Page, Recalled};
pub use results::{NewResult, ResultMeta, StoredResult};
pub use store::Store;
