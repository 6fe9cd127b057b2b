//! Local disk on Unix: directory handles all the way, nothing followed, nothing left readable to others.

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use plimsoll::id::{Folder, Key, Record};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::root::{PRIVATE_FILE, RECORD, Root, failed, refused, sync, tighten};
use super::{ATTEMPTS, TEMPORARY, holds, temporary_name};
use crate::backend::{Backend, Created, Entry, Listing};
use crate::error::{Result, StoreError};

/// Files below a root directory. See the [module](crate::local) and [`Backend`] for what it guarantees.
///
/// Making one touches nothing: the root is created by the first write.
#[derive(Debug)]
pub struct PosixStore {
    root: Root,
}

/// A temporary file that is removed again unless it was published.
struct Temporary<'d> {
    directory: BorrowedFd<'d>,
    name: String,
    file: File,
    published: bool,
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

    fn open(&self, key: &Key) -> Result<Option<(File, u64, SystemTime)>> {
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
            let mut temporary = match Temporary::create(directory.as_fd()) {
                Ok(temporary) => temporary,
                Err(Errno::NOENT | Errno::EXIST) => continue,
                Err(errno) => return Err(failed("write", &path, size, errno)),
            };
            let write = |temporary: &mut Temporary<'_>| -> io::Result<()> {
                for part in parts {
                    temporary.file.write_all(part)?;
                }
                temporary.file.sync_all()
            };
            write(&mut temporary).map_err(|source| StoreError::from_io("write", &path, size, source))?;
            match temporary.publish(key.file_name()) {
                Ok(()) => {
                    sync(directory.as_fd(), &path)?;
                    return Ok(Created::New);
                }
                Err(Errno::EXIST | Errno::NOENT) => {}
                Err(errno) => return Err(failed("write", &path, size, errno)),
            }
        }
        let source = io::Error::other("the directory keeps vanishing");
        Err(StoreError::Io { action: "write", path, source })
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let Some((mut file, size, _)) = self.open(key)? else {
            return Ok(None);
        };
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.read_to_end(&mut content)
            .map_err(|source| StoreError::from_io("read", &self.root.path_of_key(key), 0, source))?;
        Ok(Some(content))
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        let Some((file, size, _)) = self.open(key)? else {
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
        Ok(self.open(key)?.map(|(_, size, modified)| Entry { key: key.clone(), size, modified }))
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        let mut listing = Listing::default();
        let Some(directory) = self.root.open_folder(folder, false)? else {
            return Ok(listing);
        };
        let path = self.root.path_of(folder);
        Self::each_name(&directory, &path, |name, kind| {
            if let Some(session) = folder.child(name).as_ref().and_then(Folder::session) {
                if is_a(&directory, name, kind, FileType::Directory) {
                    listing.sessions.push(session.clone());
                }
            } else if let Some(record) = Record::from_file_name(folder, name) {
                match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                        let size = u64::try_from(stat.st_size).unwrap_or(0);
                        listing.records.push(Entry { key: record.key(), size, modified: modified(&stat) });
                    }
                    // Not ours, or removed since it was listed.
                    Ok(_) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(failed("look at", &path.join(name), 0, errno)),
                }
            }
            Ok(())
        })?;
        Ok(listing)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        let Some(directory) = self.root.open_folder(key.folder(), false)? else {
            return Ok(false);
        };
        match rustix::fs::unlinkat(&directory, key.file_name(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(failed("remove", &self.root.path_of_key(key), 0, errno)),
        }
    }

    fn sweep(&self, before: SystemTime) -> Result<u64> {
        let mut swept = 0;
        for top in Folder::TOP {
            let sessions = self.list(&top)?.sessions;
            let below: Vec<Folder> = sessions.iter().filter_map(|session| top.child(session.as_str())).collect();
            for folder in std::iter::once(top).chain(below) {
                let Some(directory) = self.root.open_folder(&folder, false)? else {
                    continue;
                };
                let path = self.root.path_of(&folder);
                Self::each_name(&directory, &path, |name, _| {
                    if !name.starts_with(TEMPORARY) {
                        return Ok(());
                    }
                    let Ok(stat) = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
                        return Ok(());
                    };
                    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && modified(&stat) < before {
                        match rustix::fs::unlinkat(&directory, name, AtFlags::empty()) {
                            Ok(()) => swept += 1,
                            Err(Errno::NOENT) => {}
                            Err(errno) => return Err(failed("remove", &path.join(name), 0, errno)),
                        }
                    }
                    Ok(())
                })?;
            }
        }
        Ok(swept)
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.root.path_of_key(key))
    }
}

impl<'d> Temporary<'d> {
    fn create(directory: BorrowedFd<'d>) -> rustix::io::Result<Self> {
        let name = temporary_name();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(directory, name.as_str(), flags, PRIVATE_FILE)?);
        Ok(Self { directory, name, file, published: false })
    }

    /// Gives the file its final name, or fails with `EXIST` if that is taken.
    fn publish(&mut self, name: &str) -> rustix::io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(self.directory, self.name.as_str(), self.directory, name, flags) {
                Ok(()) => {
                    self.published = true;
                    return Ok(());
                }
                // Some file systems do not know this flag.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                Err(errno) => return Err(errno),
            }
        }
        // A hard link fails likewise if the name is taken; the temporary name then goes in `drop`.
        rustix::fs::linkat(self.directory, self.name.as_str(), self.directory, name, AtFlags::empty())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.published {
            // What cannot be removed now is swept later.
            let _ = rustix::fs::unlinkat(self.directory, self.name.as_str(), AtFlags::empty());
        }
    }
}

fn is_a(directory: &OwnedFd, name: &str, listed: FileType, kind: FileType) -> bool {
    match listed {
        FileType::Unknown => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == kind),
        listed => listed == kind,
    }
}

fn modified(stat: &Stat) -> SystemTime {
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
