//! The small interface that every place of storage implements, and what it guarantees.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use plimsoll::id::{Folder, Key, SessionId};

use crate::error::{Result, StoreError};

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

/// What stands in a folder, one level deep, in no particular order. Foreign files are only counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The records.
    pub records: Vec<Entry>,
    /// The sessions that have a folder here.
    pub sessions: Vec<SessionId>,
    /// When the folder last changed, where the place has folders: the newest of its own time and of the times of all
    /// that stands in it, foreign and temporary files too. `None` if it is not there, or has no time.
    pub modified: Option<SystemTime>,
    /// The size of the temporary files, in bytes: of writers at work, and of killed ones until they are swept.
    pub temporary: u64,
    /// How many things stand here that are none of ours.
    pub foreign: u64,
    /// What stands where a record or a session's folder belongs, and is refused.
    pub refused: Vec<Refused>,
}

/// Something under a name of ours that is not ours: a symbolic link, a named pipe and the like. It is neither read nor
/// written nor removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Where it stands.
    pub path: PathBuf,
    /// Whether it is a symbolic link.
    pub is_link: bool,
    /// What belongs there: a `regular file` or a `directory`.
    pub expected: &'static str,
}

/// What is known of all results at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    /// Their size in bytes when they were counted last, and what was written since by those who said so.
    pub bytes: u64,
    /// When they were counted.
    pub counted: SystemTime,
    /// The time of the session folder that changed longest ago; `None` if there is no session.
    pub oldest: Option<SystemTime>,
}

impl From<&Refused> for StoreError {
    fn from(refused: &Refused) -> Self {
        let path = refused.path.clone();
        if refused.is_link { Self::Symlink { path } } else { Self::Foreign { path, expected: refused.expected } }
    }
}

/// A record being written: nobody sees it before [`publish`](Self::publish), and dropped unpublished it is gone.
///
/// Blocks of 64 KiB and more suit every place best; each `write` may be a call to the system.
pub trait Draft: fmt::Debug + Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// The place is full or fails. The draft is of no use then.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// Appends a block that nobody changes any more. A place that is memory may keep it instead of copying it.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn write_block(&mut self, block: &Arc<Vec<u8>>) -> Result<()> {
        self.write(block)
    }

    /// Makes what was written a record under `key`, with all guarantees of [`Backend::create`].
    ///
    /// After [`Created::Different`] or an error the same draft may be published under another key. After
    /// [`Created::New`] and [`Created::Same`] nothing more may be asked of it.
    ///
    /// # Errors
    /// As [`Backend::create`]; also if `key` stands in another folder than the draft was begun in.
    fn publish(&mut self, key: &Key) -> Result<Created>;
}

/// A record opened to be read in order. It stays readable to its end where the place can do so, also when the record is
/// removed meanwhile; elsewhere that is an error, never a shorter content.
pub trait Reader: fmt::Debug + Send {
    /// Gives the size of the whole record in bytes.
    fn size(&self) -> u64;

    /// Fills the start of `buffer` with what comes next, and says how much that is: 0 only at the end, or if `buffer`
    /// is empty. Fewer bytes than the buffer holds do not mean the end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize>;
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

    /// Begins a record that is written piece by piece, and whose key may not be certain yet.
    ///
    /// It will be published in the folder of `likely`, most often as `likely` itself. Of a record of any size, no more
    /// than some MiB are in memory at a time (unless memory is the place).
    ///
    /// # Errors
    /// As [`create`](Self::create).
    fn begin(&self, likely: &Key) -> Result<Box<dyn Draft + '_>>;

    /// Opens a record to read it in order from a byte on, of which no more than some MiB are in memory at a time. From
    /// the end or past it there is nothing to read.
    fn open(&self, key: &Key, from: u64) -> Result<Option<Box<dyn Reader + '_>>>;

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

    /// Removes the folder of a session if there is nothing in it but temporary files of writers that died before
    /// `before`; says whether it is gone. Where there are no folders, there is nothing to do.
    ///
    /// Foreign files stay, and the folder with them. Any other folder is left alone.
    fn remove_folder(&self, folder: &Folder, before: SystemTime) -> Result<bool> {
        let _ = (folder, before);
        Ok(false)
    }

    /// Removes temporary files of writers that died before `before`; says how many.
    fn sweep(&self, before: SystemTime) -> Result<u64>;

    /// Gives what is known of all results without listing every session; `None` if nothing is, or it is not known well.
    fn glance(&self) -> Result<Option<Glance>> {
        Ok(None)
    }

    /// Remembers the size of all results for the next glance, of this process or another. What is not remembered costs a
    /// listing, and nothing else; so this neither fails nor is durable.
    fn remember(&self, bytes: u64, counted: SystemTime) {
        let _ = (bytes, counted);
    }

    /// Gives the path of a record on this machine, if it has one. The record need not exist.
    fn path(&self, key: &Key) -> Option<PathBuf>;

    /// Whether each question costs a round trip over a network, so that what can wait is not asked.
    fn is_remote(&self) -> bool {
        false
    }
}
