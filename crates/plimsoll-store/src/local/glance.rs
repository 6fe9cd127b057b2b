//! What is known of a local store at a glance: a note of its size when it was counted last, and how old its sessions are.
//!
//! The note is no record: whoever counts replaces it, and whoever finds none counts.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use plimsoll::id::Folder;
use rustix::fs::{AtFlags, Mode, OFlags};

use super::posix::{PosixStore, modified};
use super::root::{NOTE, PRIVATE_FILE, RECORD};
use super::temporary_name;
use crate::backend::{Backend as _, Glance};
use crate::error::Result;

/// The most that a note has: two numbers.
const LONGEST: u64 = 64;

pub(super) fn glance(store: &PosixStore) -> Result<Option<Glance>> {
    let Some(root) = store.root.open_folder_of_root()? else {
        return Ok(None);
    };
    let Some((bytes, counted)) = read(&root) else {
        return Ok(None);
    };
    let mut oldest: Option<SystemTime> = None;
    if let Some(results) = store.root.open_folder(&Folder::Results, false)? {
        for session in store.list(&Folder::Results)?.sessions {
            let Ok(stat) = rustix::fs::statat(&results, session.as_str(), AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            oldest = Some(oldest.map_or(modified(&stat), |oldest| oldest.min(modified(&stat))));
        }
    }
    Ok(Some(Glance { bytes, counted, oldest }))
}

/// Reads the note: the bytes, and when they were counted in milliseconds since 1970.
fn read(root: &OwnedFd) -> Option<(u64, SystemTime)> {
    let file = File::from(rustix::fs::openat(root, NOTE, RECORD, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let (bytes, millis) = text.trim_end().split_once(' ')?;
    let counted = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis.parse().ok()?))?;
    Some((bytes.parse().ok()?, counted))
}

pub(super) fn remember(store: &PosixStore, bytes: u64, counted: SystemTime) {
    if let Ok(Some(root)) = store.root.open_folder_of_root() {
        // Lost is no more than the note.
        let _ = write(&root, bytes, counted);
    }
}

fn write(root: &OwnedFd, bytes: u64, counted: SystemTime) -> std::io::Result<()> {
    let millis = counted.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    let name = [NOTE, &temporary_name()].concat();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(root, name.as_str(), flags, PRIVATE_FILE)?);
    let written = file.write_all(format!("{bytes} {millis}\n").as_bytes());
    let placed = written.and_then(|()| Ok(rustix::fs::renameat(root, name.as_str(), root, NOTE)?));
    if placed.is_err() {
        let _ = rustix::fs::unlinkat(root, name.as_str(), AtFlags::empty());
    }
    placed
}
