//! Local disk on Unix: directory handles all the way, nothing followed, nothing left readable to others.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll::id::{Folder, Key, Record};
use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use super::root::{RECORD, Root, failed, refused, sync, tighten};
use super::{ATTEMPTS, FileReader, TEMPORARY, each_folder, glance, holds};
use crate::backend::{Backend, Created, Draft, Entry, Glance, Listing, Reader, Refused};
use crate::error::{Result, StoreError};

mod draft;

use draft::{PosixDraft, Temporary};

/// Files below a root directory. See the [module](crate::local) and [`Backend`] for what it guarantees.
///
/// Making one touches nothing: the root is created by the first write.
#[derive(Debug)]
pub struct PosixStore {
    pub(super) root: Root,
}

impl PosixStore {
    /// Names the root directory. The root itself may be reached by symbolic links; nothing below it may.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: Root::new(root.into()) }
    }

    /// Gives the root directory.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Opens a record in its folder, if it is there and a regular file.
    fn open_in(&self, directory: &OwnedFd, key: &Key) -> Result<Option<(File, u64, SystemTime)>> {
        let path = || self.root.path_of_key(key);
        let file = match rustix::fs::openat(directory, key.file_name(), RECORD, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => {
                return Err(refused(directory.as_fd(), key.file_name(), &path(), "regular file", errno));
            }
        };
        let metadata = file.metadata().map_err(|source| StoreError::from_io("look at", &path(), 0, source))?;
        if !metadata.is_file() {
            return Err(StoreError::Foreign { path: path(), expected: "regular file" });
        }
        let modified = metadata.modified().map_err(|source| StoreError::from_io("look at", &path(), 0, source))?;
        Ok(Some((file, metadata.len(), modified)))
    }

    fn open_record(&self, key: &Key) -> Result<Option<(File, u64, SystemTime)>> {
        match self.root.open_folder(key.folder(), false)? {
            Some(directory) => self.open_in(&directory, key),
            None => Ok(None),
        }
    }

    /// Compares what stands under a key with what was to be written there; `None` if nothing does.
    fn compare(&self, directory: &OwnedFd, key: &Key, parts: &[&[u8]], path: &Path) -> Result<Option<Created>> {
        let Some((mut file, size, _)) = self.open_in(directory, key)? else {
            return Ok(None);
        };
        tighten(&file, path)?;
        let same = holds(size, parts, |window| file.read_exact(window))
            .map_err(|source| StoreError::from_io("read", path, 0, source))?;
        Ok(Some(if same { Created::Same } else { Created::Different }))
    }

    /// Begins a temporary file; `None` if the directory vanished.
    fn draft(&self, directory: OwnedFd, folder: &Folder, path: &Path) -> Result<Option<PosixDraft<'_>>> {
        match Temporary::create(directory) {
            Ok(temporary) => {
                let folder = folder.clone();
                Ok(Some(PosixDraft::new(self, folder, temporary)))
            }
            Err(Errno::NOENT | Errno::EXIST) => Ok(None),
            Err(errno) => Err(failed("write", path, 0, errno)),
        }
    }

    /// Removes the temporary files in a folder that were last written before `before`; says how many.
    fn sweep_folder(&self, directory: &OwnedFd, folder: &Folder, before: SystemTime) -> Result<u64> {
        let path = self.root.path_of(folder);
        let mut swept = 0;
        Self::each_name(directory, &path, |name, _| {
            let stale = name.starts_with(TEMPORARY)
                && rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
                    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && modified(&stat) < before
                });
            if stale && remove_quietly(directory, name, &path.join(name))? {
                swept += 1;
            }
            Ok(())
        })?;
        Ok(swept)
    }

    fn each_name(
        directory: &OwnedFd,
        path: &Path,
        mut visit: impl FnMut(&str, FileType) -> Result<()>,
    ) -> Result<()> {
        for entry in Dir::read_from(directory).map_err(|errno| failed("list", path, 0, errno))? {
            let entry = entry.map_err(|errno| failed("list", path, 0, errno))?;
            // Names that are not UTF-8 are none of ours.
            if let Ok(name) = entry.file_name().to_str() {
                visit(name, entry.file_type())?;
            }
        }
        Ok(())
    }
}

impl Backend for PosixStore {
    fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created> {
        let path = self.root.path_of_key(key);
        let size = parts.iter().map(|part| part.len()).sum();
        for _ in 0..ATTEMPTS {
            // A folder may be pruned between two of these steps; then all of them are taken again.
            let Some(directory) = self.root.open_folder(key.folder(), true)? else {
                continue;
            };
            if let Some(present) = self.compare(&directory, key, parts, &path)? {
                // Its writer may not have come to this yet, and the caller will rely on the record.
                sync(directory.as_fd(), &path)?;
                return Ok(present);
            }
            let Some(mut draft) = self.draft(directory, key.folder(), &path)? else {
                continue;
            };
            for part in parts {
                draft.append(part).map_err(|source| StoreError::from_io("write", &path, size, source))?;
            }
            if let Some(created) = draft.try_publish(key)? {
                return Ok(created);
            }
        }
        Err(keeps_vanishing(path))
    }

    fn begin(&self, likely: &Key) -> Result<Box<dyn Draft + '_>> {
        let path = self.root.path_of_key(likely);
        for _ in 0..ATTEMPTS {
            if let Some(directory) = self.root.open_folder(likely.folder(), true)?
                && let Some(draft) = self.draft(directory, likely.folder(), &path)?
            {
                return Ok(Box::new(draft));
            }
        }
        Err(keeps_vanishing(path))
    }

    fn open(&self, key: &Key, from: u64) -> Result<Option<Box<dyn Reader + '_>>> {
        let Some((mut file, size, _)) = self.open_record(key)? else {
            return Ok(None);
        };
        let path = self.root.path_of_key(key);
        let at = from.min(size);
        file.seek(SeekFrom::Start(at)).map_err(|source| StoreError::from_io("read", &path, 0, source))?;
        Ok(Some(Box::new(FileReader { file, path, size, at })))
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let Some((mut file, size, _)) = self.open_record(key)? else {
            return Ok(None);
        };
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.read_to_end(&mut content)
            .map_err(|source| StoreError::from_io("read", &self.root.path_of_key(key), 0, source))?;
        Ok(Some(content))
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        let Some((file, size, _)) = self.open_record(key)? else {
            return Ok(None);
        };
        let read = |range: &Range<u64>| -> io::Result<Vec<u8>> {
            let (start, end) = (range.start.min(size), range.end.min(size));
            let mut content = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut content, start)?;
            Ok(content)
        };
        ranges
            .iter()
            .map(read)
            .collect::<io::Result<Vec<_>>>()
            .map(Some)
            .map_err(|source| StoreError::from_io("read", &self.root.path_of_key(key), 0, source))
    }

    fn head(&self, key: &Key) -> Result<Option<Entry>> {
        Ok(self.open_record(key)?.map(|(_, size, modified)| Entry { key: key.clone(), size, modified }))
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        let mut listing = Listing::default();
        let Some(directory) = self.root.open_folder(folder, false)? else {
            return Ok(listing);
        };
        let path = self.root.path_of(folder);
        let stat = rustix::fs::fstat(&directory).map_err(|errno| failed("look at", &path, 0, errno))?;
        let mut newest = modified(&stat);
        Self::each_name(&directory, &path, |name, kind| {
            if matches!(name, "." | "..") {
                return Ok(());
            }
            let refused =
                |kind, expected| Refused { path: path.join(name), is_link: kind == FileType::Symlink, expected };
            if let Some(session) = folder.child(name).as_ref().and_then(Folder::session) {
                match known_type(&directory, name, kind) {
                    FileType::Directory => listing.sessions.push(session.clone()),
                    FileType::RegularFile | FileType::Unknown => listing.foreign += 1,
                    kind => listing.refused.push(refused(kind, "directory")),
                }
                return Ok(());
            }
            let stat = match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                // Removed since it was listed.
                Err(Errno::NOENT) => return Ok(()),
                Err(errno) => return Err(failed("look at", &path.join(name), 0, errno)),
            };
            newest = newest.max(modified(&stat));
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            match (FileType::from_raw_mode(stat.st_mode), Record::from_file_name(folder, name)) {
                (FileType::RegularFile, Some(record)) => {
                    listing.records.push(Entry { key: record.key(), size, modified: modified(&stat) });
                }
                (FileType::RegularFile, None) if name.starts_with(TEMPORARY) => listing.temporary += size,
                (kind, Some(_)) => listing.refused.push(refused(kind, "regular file")),
                (_, None) => listing.foreign += 1,
            }
            Ok(())
        })?;
        listing.modified = Some(newest);
        Ok(listing)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        let Some(directory) = self.root.open_folder(key.folder(), false)? else {
            return Ok(false);
        };
        let path = self.root.path_of_key(key);
        match rustix::fs::statat(&directory, key.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => remove_quietly(&directory, key.file_name(), &path),
                FileType::Symlink => Err(StoreError::Symlink { path }),
                _ => Err(StoreError::Foreign { path, expected: "regular file" }),
            },
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(failed("remove", &path, 0, errno)),
        }
    }

    fn remove_folder(&self, folder: &Folder, before: SystemTime) -> Result<bool> {
        let (Some(session), Some(parent)) = (folder.session(), folder.parent()) else {
            return Ok(false);
        };
        let Some(parent) = self.root.open_folder(&parent, false)? else {
            return Ok(true);
        };
        let Some(directory) = self.root.open_folder(folder, false)? else {
            return Ok(true);
        };
        self.sweep_folder(&directory, folder, before)?;
        match remove(&parent, session.as_str(), AtFlags::REMOVEDIR, &self.root.path_of(folder)) {
            Ok(_) => Ok(true),
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn sweep(&self, before: SystemTime) -> Result<u64> {
        let mut swept = 0;
        each_folder(self, |folder| {
            if let Some(directory) = self.root.open_folder(folder, false)? {
                swept += self.sweep_folder(&directory, folder, before)?;
            }
            Ok(())
        })?;
        Ok(swept)
    }

    fn glance(&self) -> Result<Option<Glance>> {
        glance::glance(self)
    }

    fn remember(&self, bytes: u64, counted: SystemTime) {
        glance::remember(self, bytes, counted);
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.root.path_of_key(key))
    }
}

fn keeps_vanishing(path: PathBuf) -> StoreError {
    StoreError::Io { action: "write", path, source: io::Error::other("the directory keeps vanishing") }
}

/// Removes a file, and leaves its directory as old as it was; `false` if it was gone already.
///
/// Removing is no use of a session: else a sweep would make the sessions young that it cleans. What another process
/// creates meanwhile has a time of its own, so the session is seen to be in use all the same.
fn remove_quietly(directory: &OwnedFd, name: &str, path: &Path) -> Result<bool> {
    let before = rustix::fs::fstat(directory).map_err(|errno| failed("look at", path, 0, errno))?;
    let removed = remove(directory, name, AtFlags::empty(), path)?;
    if removed && let Ok(tv_nsec) = before.st_mtime_nsec.try_into() {
        let last_modification = Timespec { tv_sec: before.st_mtime, tv_nsec };
        let last_access = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
        // Where that cannot be set, the session stays a while longer.
        let _ = rustix::fs::futimens(directory, &Timestamps { last_access, last_modification });
    }
    Ok(removed)
}

/// Removes a name; `false` if it was gone already.
fn remove(directory: &OwnedFd, name: &str, flags: AtFlags, path: &Path) -> Result<bool> {
    match rustix::fs::unlinkat(directory, name, flags) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(failed("remove", path, 0, errno)),
    }
}

/// What a name is, where the listing does not say so: unknown if it is gone.
fn known_type(directory: &OwnedFd, name: &str, listed: FileType) -> FileType {
    match listed {
        FileType::Unknown => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
        listed => listed,
    }
}

pub(super) fn modified(stat: &Stat) -> SystemTime {
    #[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions)]
    let nanos = Duration::from_nanos(u64::try_from(stat.st_mtime_nsec).unwrap_or(0));
    let seconds = Duration::from_secs(stat.st_mtime.unsigned_abs());
    let whole = if stat.st_mtime < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(seconds)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(seconds)
    };
    whole.and_then(|time| time.checked_add(nanos)).unwrap_or(SystemTime::UNIX_EPOCH)
}
