//! The small interface that every place of storage implements, and what it guarantees.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use plimsoll::id::{Folder, Key, SessionId};

use crate::error::Result;

/// What came of creating a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// It is written.
    New,
    /// It was there already, with the same bytes.
    Same,
    /// It was there already, with other bytes, which stay.
    Different,
}

/// A record in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: Key,
    /// Its size in bytes.
    pub size: u64,
    /// When it was created, by the clock of the place of storage.
    pub modified: SystemTime,
}

/// What stands in a folder, one level deep, in no particular order. Foreign files are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The records.
    pub records: Vec<Entry>,
    /// The sessions that have a folder here.
    pub sessions: Vec<SessionId>,
}

/// A place of storage: bytes under keys, created once, never changed.
///
/// The calls block. A backend that needs an asynchronous runtime brings its own, so that the command line needs none;
/// asynchronous callers put the call on a thread for blocking work.
///
/// # Guarantees
///
/// 1. **Create-only.** Of any number of concurrent creations of one key, in any number of processes, one is
///    [`Created::New`]; all others learn whether its bytes are theirs. No record is ever changed.
/// 2. **Durable.** When [`create`](Self::create) returns `Ok`, whichever [`Created`] it is, the record survives a loss
///    of power. A record created after another has returned never survives without it.
/// 3. **Whole or nothing.** A reader sees all bytes of a record or no record, also while it is being written, and after
///    its writer was killed at any moment. A killed writer leaves at most temporary files that nobody sees, that are
///    in nobody's way, and that [`sweep`](Self::sweep) removes.
/// 4. **Private.** What is written is readable by its owner alone, as far as the place has owners.
/// 5. **Confined.** Nothing outside the root is read or written, whatever stands below the root.
///
/// A missing record, folder or root is `None`, `false` or empty, never an error.
/// [`conformance`](crate::conformance) holds every backend to this.
pub trait Backend: fmt::Debug + Send + Sync {
    /// Creates a record from parts, joined in order.
    ///
    /// # Errors
    /// The place is full, not writable, or something foreign is in the way. The key may then be taken as absent, unless
    /// the failure was to make it durable.
    fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created>;

    /// Reads a record whole.
    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>>;

    /// Reads byte ranges of one record, in the order given. A range that reaches past the end gives what there is.
    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>>;

    /// Tells a record's size and time.
    fn head(&self, key: &Key) -> Result<Option<Entry>>;

    /// Lists a folder without opening its records.
    fn list(&self, folder: &Folder) -> Result<Listing>;

    /// Removes a record; says whether it was there.
    fn delete(&self, key: &Key) -> Result<bool>;

    /// Removes temporary files of writers that died before `before`; says how many.
    fn sweep(&self, before: SystemTime) -> Result<u64>;

    /// Gives the path of a record on this machine, if it has one. The record need not exist.
    fn path(&self, key: &Key) -> Option<PathBuf>;
}
