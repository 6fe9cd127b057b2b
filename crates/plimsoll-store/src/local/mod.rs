//! A store on local disk: files below one root directory, readable by their owner alone.
//!
//! On Unix every path is walked from the root by directory handles that follow no symbolic link, so that nothing below
//! the root can lead out of it, not even when it is swapped during the walk. Elsewhere the same layout is kept with
//! what the standard library offers.
//!
//! A record is written to a temporary file in its own directory, synced, published under its name by an operation that
//! fails if the name is taken, and the directory is synced. Nothing is locked, so nothing stays locked.

#[cfg(unix)]
mod glance;
#[cfg(any(not(unix), test))]
#[cfg_attr(unix, allow(unreachable_pub, reason = "on Unix it is compiled to be tested only"))]
mod plain;
#[cfg(unix)]
mod posix;
#[cfg(unix)]
mod root;
mod written;

#[cfg(not(unix))]
pub use plain::PlainStore as LocalStore;
#[cfg(unix)]
pub use posix::PosixStore as LocalStore;

use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use plimsoll::id::{Folder, Key};

use crate::backend::{Backend, Created, Reader};
use crate::error::{Result, StoreError};

/// What temporary files are called: no [`Key`](plimsoll::id::Key) begins with a dot.
const TEMPORARY: &str = ".tmp-";

/// How often a creation is tried anew when a directory vanishes or a name is taken and freed under it.
const ATTEMPTS: usize = 16;

/// How much is handed to the system in one write, in bytes. On ext4, writes of 1 MiB took five times as long as these.
const WRITTEN_AT_ONCE: usize = 128 * 1024;

/// How much of two contents is compared at a time, in bytes.
const COMPARED_AT_ONCE: usize = 128 * 1024;

/// Gives a name that no living writer on this machine uses. It is created exclusively, so a clash costs one more try.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.subsec_nanos());
    format!("{TEMPORARY}{}-{}-{nanos}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Tells whether a file of `size` bytes, read by `read`, holds exactly the joined `parts`.
fn holds(
    size: u64,
    parts: &[&[u8]],
    mut read: impl FnMut(&mut [u8]) -> std::io::Result<()>,
) -> std::io::Result<bool> {
    if size != parts.iter().map(|part| part.len() as u64).sum::<u64>() {
        return Ok(false);
    }
    let mut buffer = vec![0; COMPARED_AT_ONCE];
    for piece in parts.iter().flat_map(|part| part.chunks(COMPARED_AT_ONCE)) {
        let Some(window) = buffer.get_mut(..piece.len()) else {
            return Ok(false);
        };
        read(window)?;
        if window != piece {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Tells whether two files, read from their present places to their ends, have the same bytes.
fn are_equal(one: &mut impl std::io::Read, other: &mut impl std::io::Read) -> std::io::Result<bool> {
    let (mut left, mut right) = (vec![0; COMPARED_AT_ONCE], vec![0; COMPARED_AT_ONCE]);
    loop {
        let length = one.read(&mut left)?;
        let (Some(left), Some(right)) = (left.get(..length), right.get_mut(..length)) else {
            return Ok(false);
        };
        if length == 0 {
            return Ok(other.read(&mut [0])? == 0);
        }
        match other.read_exact(right) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if left != right {
            return Ok(false);
        }
    }
}

/// Refuses what may not be asked of a draft: anything once it is published, and to be published in another folder.
fn check_draft(folder: &Folder, is_spent: bool, key: Option<&Key>) -> Result<()> {
    if key.is_some_and(|key| key.folder() != folder) {
        return Err(StoreError::misused(folder, "it was to be published in another folder"));
    }
    if is_spent { Err(StoreError::misused(folder, "it is published already")) } else { Ok(()) }
}

/// What a draft is published as: not at all if somebody removed its temporary file.
fn published(folder: &Folder, created: Option<Created>) -> Result<Created> {
    created.ok_or_else(|| StoreError::misused(folder, "its temporary file was removed by someone else"))
}

/// Calls `visit` for every folder that a store has: those at the top, and the sessions in them.
fn each_folder(backend: &dyn Backend, mut visit: impl FnMut(&Folder) -> Result<()>) -> Result<()> {
    for top in Folder::TOP {
        visit(&top)?;
        for session in backend.list(&top)?.sessions {
            if let Some(folder) = top.child(session.as_str()) {
                visit(&folder)?;
            }
        }
    }
    Ok(())
}

/// Reads a file in order.
#[derive(Debug)]
struct FileReader {
    file: std::fs::File,
    path: PathBuf,
    size: u64,
    /// Where the next byte stands.
    at: u64,
}

impl Reader for FileReader {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let wanted = buffer.get_mut(..length).unwrap_or_default();
        let failed = |source| StoreError::from_io("read", &self.path, 0, source);
        let read = loop {
            match self.file.read(wanted) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.map_err(failed)?,
            }
        };
        if read == 0 && length > 0 {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
