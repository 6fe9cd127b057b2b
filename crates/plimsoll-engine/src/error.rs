//! What can go wrong in the shell, each with the thing, the value and the next step.

use std::io;
use std::path::PathBuf;

use plimsoll::Bytes;

/// A failure of the shell. Nothing was written when one is returned, unless the variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory where a file was expected.
    #[error("{} is a directory; give a transcript file in it", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// An input over the limit. It was not read.
    #[error("{} has {size}, over the limit of {limit}; raise it with --max-size if that is meant", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: Bytes,
        /// The limit.
        limit: Bytes,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file changed between reading and writing. It was left as it is.
    #[error("{} changed in the meantime, so it was left as it is; run the command again when nothing writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A symbolic link where a file is to be replaced.
    #[error("{} is a symbolic link; name the file it leads to", path.display())]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// A program is at work on the session. It was left as it is.
    #[error("{} was left as it is, since {by}; end the program first, or run /compact in it (--force compacts it all \
             the same)", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
        /// How it is in use.
        by: crate::find::InUse,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] plimsoll_store::StoreError),
    /// The plan cannot be carried out on the document.
    #[error("the compaction cannot be carried out: {0}")]
    Apply(#[from] plimsoll::compact::ApplyError),
    /// The record of the epoch cannot be written.
    #[error("the compaction cannot be recorded: {0}")]
    Epoch(#[from] plimsoll::compact::EpochError),
    /// The history has no hash at the cut.
    #[error("the history could not be hashed up to the cut; this is a fault of Plimsoll")]
    Chain,
    /// The compaction was cancelled before anything was archived.
    #[error(transparent)]
    Aborted(#[from] crate::summarise::Aborted),
    /// A plan of a kind that this version does not carry out.
    #[error("a plan that this version cannot carry out: {0}")]
    UnknownPlan(String),
}
