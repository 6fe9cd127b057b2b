//! What can go wrong in a store: each error names the thing, the place, and the next step.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll::Bytes;
use plimsoll::id::{Folder, IdError, Key, RecallId};

use crate::object::Fault;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why a store could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The id is not one: it is malformed or hostile.
    #[error(transparent)]
    Malformed(#[from] IdError),
    /// The id is well-formed, and nothing is stored under it.
    #[error(
        "nothing is stored as {id}: it was never stored here, or it was removed; \
             list what there is with `plimsoll store ls`, or run the tool again"
    )]
    Unknown {
        /// The id.
        id: Box<RecallId>,
    },
    /// The id is well-formed, and its session was pruned or removed, wholly or in part.
    #[error(
        "{id} is not stored any more: {}; run the tool again",
        if *asked { "its session was removed on request" } else { "older results of its session were pruned" }
    )]
    Pruned {
        /// The id.
        id: Box<RecallId>,
        /// Whether somebody asked for it.
        asked: bool,
    },
    /// A range begins past the end.
    #[error("{id} has {size} {unit}s: nothing stands at {unit} {start}; ask for a lower start")]
    PastEnd {
        /// The id.
        id: Box<RecallId>,
        /// What was asked for.
        start: u64,
        /// How many there are.
        size: u64,
        /// `byte` (counted from 0) or `line` (from 1).
        unit: &'static str,
    },
    /// What is stored is not what was written.
    #[error("{what} is damaged: {detail}; run `plimsoll store verify`, and restore {place} from a backup")]
    Damaged {
        /// What is damaged, as a person knows it.
        what: String,
        /// What differs, with position and size.
        detail: String,
        /// The file or key.
        place: String,
    },
    /// A record was written in a form that this version does not know.
    #[error(
        "{place} was written by a newer version of plimsoll (form {found}, this one reads up to {known}); \
             update plimsoll"
    )]
    Newer {
        /// The file or key.
        place: String,
        /// The form found.
        found: u32,
        /// The newest form known.
        known: u32,
    },
    /// Two contents meet under one name, although a hash was made part of it.
    #[error("{place} is taken by another content; move that file away, or use another --session")]
    Taken {
        /// The file or key.
        place: String,
    },
    /// The byte ranges given as removed are not ranges of the document.
    #[error("the removed range {start}..{end} of a document of {size} is out of order, or outside of it")]
    Ranges {
        /// Where the range begins.
        start: u64,
        /// Where it ends.
        end: u64,
        /// The document's size.
        size: Bytes,
    },
    /// The disk, or the quota on it, is full.
    #[error("no room to write {size} at {}: {source}; free some space, run `plimsoll store prune`, or choose another \
             place with --store", path.display())]
    Full {
        /// Where.
        path: PathBuf,
        /// How much was to be written.
        size: Bytes,
        /// The system's words.
        source: io::Error,
    },
    /// The place is not ours to use.
    #[error("no permission to {action} {}: {source}; make it yours, or choose another place with --store", path.display())]
    Denied {
        /// What was attempted.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A component below the root is a symbolic link.
    #[error("{} is a symbolic link, and a store follows none: someone may have put it there; look, then remove it", path.display())]
    Symlink {
        /// The link.
        path: PathBuf,
    },
    /// Something else stands where a directory or a regular file belongs.
    #[error("{} is not a {expected}; move it away, or choose another place with --store", path.display())]
    Foreign {
        /// What is in the way.
        path: PathBuf,
        /// What belongs there.
        expected: &'static str,
    },
    /// Another failure of the system.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Whoever asked for the content could not take it.
    #[error("could not pass on what was read: {source}")]
    Output {
        /// The system's words.
        source: io::Error,
    },
    /// A pattern that cannot be searched for.
    #[error("`{pattern}` is not a pattern to search for: {reason}; lines are searched one by one")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An object store refused, or was not reached.
    #[error("could not {action} {place}: {fault}")]
    Remote {
        /// What was attempted.
        action: &'static str,
        /// Where: `s3://bucket/prefix`, or something in it.
        place: String,
        /// What is wrong, and what to do.
        fault: Fault,
    },
    /// The environment sets up an object store in a way that cannot be.
    #[error("{variable} {reason}")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it, and what to do. Never its value, if that is secret.
        reason: String,
    },
    /// A store URL of an unknown form.
    #[error("`{url}` is not a store: {reason}; write file:///absolute/path, s3://bucket/prefix or memory:")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A store URL of a kind that this binary was built without.
    #[error(
        "`{url}` needs support for {scheme} stores, which is not built in; use file:///absolute/path, or \
             s3://bucket/prefix where the feature s3 is on"
    )]
    NotBuiltIn {
        /// What was given.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// It could not be opened, and whoever works with it goes on without it.
    #[error("{reason}")]
    Closed {
        /// Why, and what to do.
        reason: String,
    },
    /// The environment names no place for a user's data.
    #[error(
        "no directory for the store: neither {variables} holds an absolute path; \
             set one, or give --store file:///absolute/path"
    )]
    NoHome {
        /// The variables looked at.
        variables: &'static str,
    },
}

impl StoreError {
    /// Sorts a failure of the system by what a person can do about it.
    pub(crate) fn from_io(action: &'static str, path: &Path, size: usize, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::Full { path, size: Bytes(size as u64), source }
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { action, path, source }
            }
            _ => Self::Io { action, path, source },
        }
    }

    /// A fault of the caller in the use of a draft.
    pub(crate) fn misused(folder: &Folder, detail: &'static str) -> Self {
        Self::Io { action: "write a draft in", path: folder.to_string().into(), source: io::Error::other(detail) }
    }

    pub(crate) fn damaged(what: impl Into<String>, place: &Key, detail: impl Into<String>) -> Self {
        Self::Damaged { what: what.into(), detail: detail.into(), place: place.to_string() }
    }
}
