//! Local disk on Unix: directory handles all the way, nothing followed, nothing left readable to others.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use plimsoll::id::{Folder, Key, Record};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{ATTEMPTS, TEMPORARY, holds, temporary_name};
use crate::backend::{Backend, Created, Entry, Listing};
use crate::error::{Result, StoreError};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
/// `NONBLOCK`, so that a named pipe in a file's place is found out instead of waited for.
const RECORD: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);
const PRIVATE_DIRECTORY: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Files below a root directory. See the [module](crate::local) and [`Backend`] for what it guarantees.
///
/// Making one touches nothing: the root is created by the first write.
#[derive(Debug)]
pub struct PosixStore {
    root: PathBuf,
    /// Directories, by device and inode, that this process knows to be private and to survive a loss of power.
    settled: Mutex<HashSet<(u64, u64)>>,
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
        Self {
            root: root.into(),
            settled: Mutex::default(),
        }
    }

    /// Gives the root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path_of(&self, folder: &Folder) -> PathBuf {
        folder
            .components()
            .fold(self.root.clone(), |path, component| path.join(component))
    }

    fn open_root(&self, make: bool) -> Result<Option<OwnedFd>> {
        match rustix::fs::open(&self.root, DIRECTORY, Mode::empty()) {
            Ok(root) => Ok(Some(root)),
            Err(Errno::NOENT) if make => {
                self.make_root()?;
                rustix::fs::open(&self.root, DIRECTORY, Mode::empty())
                    .map(Some)
                    .map_err(|errno| failed("open", &self.root, 0, errno))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR) => Err(StoreError::Foreign {
                path: self.root.clone(),
                expected: "directory",
            }),
            Err(errno) => Err(failed("open", &self.root, 0, errno)),
        }
    }

    /// Makes the root and what is missing above it, and syncs every directory that got a new entry.
    fn make_root(&self) -> Result<()> {
        let present = self.root.ancestors().find(|ancestor| ancestor.is_dir());
        let error =
            |path: &Path, source| StoreError::from_io("create the directory", path, 0, source);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.root)
            .map_err(|source| error(&self.root, source))?;
        for directory in self
            .root
            .ancestors()
            .skip(1)
            .filter(|path| !path.as_os_str().is_empty())
        {
            let handle = File::open(directory).map_err(|source| error(directory, source))?;
            sync(handle.as_fd(), directory)?;
            if present == Some(directory) {
                break;
            }
        }
        Ok(())
    }

    /// Walks to a folder; `make` creates what is missing, and makes private and durable what is there.
    fn open_folder(&self, folder: &Folder, make: bool) -> Result<Option<OwnedFd>> {
        let Some(mut directory) = self.open_root(make)? else {
            return Ok(None);
        };
        let mut path = self.root.clone();
        if make {
            self.settle_root(&directory)?;
        }
        for component in folder.components() {
            path.push(component);
            let flags = DIRECTORY | OFlags::NOFOLLOW;
            let next = match rustix::fs::openat(&directory, component, flags, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match rustix::fs::mkdirat(&directory, component, PRIVATE_DIRECTORY) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(failed("create the directory", &path, 0, errno)),
                    }
                    rustix::fs::openat(&directory, component, flags, Mode::empty())
                }
                other => other,
            };
            let next = match next {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => {
                    return Err(refused(
                        directory.as_fd(),
                        component,
                        &path,
                        "directory",
                        errno,
                    ));
                }
            };
            if make {
                self.settle(&directory, &next, &path)?;
            }
            directory = next;
        }
        Ok(Some(directory))
    }

    /// Makes the root private if it is a store's and nothing else: a user may have named a directory with other things
    /// in it, whose permissions are not ours to change. What is below the root is private in any case.
    fn settle_root(&self, root: &OwnedFd) -> Result<()> {
        let stat =
            rustix::fs::fstat(root).map_err(|errno| failed("look at", &self.root, 0, errno))?;
        if !self.is_unsettled(&stat) {
            return Ok(());
        }
        if is_loose(&stat) {
            let entries =
                Dir::read_from(root).map_err(|errno| failed("list", &self.root, 0, errno))?;
            let mut ours = true;
            for entry in entries {
                let entry = entry.map_err(|errno| failed("list", &self.root, 0, errno))?;
                let name = entry.file_name().to_bytes();
                ours &= matches!(name, b"." | b"..")
                    || Folder::TOP
                        .iter()
                        .flat_map(Folder::components)
                        .any(|top| top.as_bytes() == name);
            }
            if ours {
                rustix::fs::fchmod(root, PRIVATE_DIRECTORY)
                    .map_err(|errno| failed("make private", &self.root, 0, errno))?;
            }
        }
        self.note_settled(&stat);
        Ok(())
    }

    /// Makes a directory private, with the files in it if it was not, and its entry in `parent` durable.
    ///
    /// The entry is synced also when another process made the directory: that one may be about to do so, but what we
    /// are going to write must not depend on it.
    fn settle(&self, parent: &OwnedFd, directory: &OwnedFd, path: &Path) -> Result<()> {
        let stat =
            rustix::fs::fstat(directory).map_err(|errno| failed("look at", path, 0, errno))?;
        if is_loose(&stat) {
            let private = |errno| failed("make private", path, 0, errno);
            rustix::fs::fchmod(directory, PRIVATE_DIRECTORY).map_err(private)?;
            for entry in Dir::read_from(directory).map_err(private)? {
                let entry = entry.map_err(private)?;
                if !matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown) {
                    continue;
                }
                match rustix::fs::openat(directory, entry.file_name(), RECORD, Mode::empty()) {
                    Ok(file) => tighten(&File::from(file), path)?,
                    Err(Errno::LOOP | Errno::MLINK | Errno::NOENT | Errno::NXIO) => {}
                    Err(errno) => return Err(private(errno)),
                }
            }
        }
        if self.is_unsettled(&stat) {
            sync(parent.as_fd(), path)?;
            self.note_settled(&stat);
        }
        Ok(())
    }

    fn is_unsettled(&self, stat: &Stat) -> bool {
        !self
            .settled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&identity(stat))
    }

    fn note_settled(&self, stat: &Stat) {
        self.settled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(identity(stat));
    }

    /// Opens a record in its folder, if it is there and a regular file.
    fn open_in(&self, directory: &OwnedFd, key: &Key) -> Result<Option<(File, u64, SystemTime)>> {
        let path = || self.path_of(key.folder()).join(key.file_name());
        let file = match rustix::fs::openat(directory, key.file_name(), RECORD, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => {
                return Err(refused(
                    directory.as_fd(),
                    key.file_name(),
                    &path(),
                    "regular file",
                    errno,
                ));
            }
        };
        let metadata = file
            .metadata()
            .map_err(|source| StoreError::from_io("look at", &path(), 0, source))?;
        if !metadata.is_file() {
            return Err(StoreError::Foreign {
                path: path(),
                expected: "regular file",
            });
        }
        let modified = metadata
            .modified()
            .map_err(|source| StoreError::from_io("look at", &path(), 0, source))?;
        Ok(Some((file, metadata.len(), modified)))
    }

    fn open(&self, key: &Key) -> Result<Option<(File, u64, SystemTime)>> {
        match self.open_folder(key.folder(), false)? {
            Some(directory) => self.open_in(&directory, key),
            None => Ok(None),
        }
    }

    /// Compares what stands under a key with what was to be written there; `None` if nothing does.
    fn compare(
        &self,
        directory: &OwnedFd,
        key: &Key,
        parts: &[&[u8]],
        path: &Path,
    ) -> Result<Option<Created>> {
        let Some((mut file, size, _)) = self.open_in(directory, key)? else {
            return Ok(None);
        };
        tighten(&file, path)?;
        let same = holds(size, parts, |window| file.read_exact(window))
            .map_err(|source| StoreError::from_io("read", path, 0, source))?;
        Ok(Some(if same {
            Created::Same
        } else {
            Created::Different
        }))
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
        let path = self.path_of(key.folder()).join(key.file_name());
        let size = parts.iter().map(|part| part.len()).sum();
        for _ in 0..ATTEMPTS {
            // A folder may be pruned between two of these steps; then all of them are taken again.
            let Some(directory) = self.open_folder(key.folder(), true)? else {
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
            write(&mut temporary)
                .map_err(|source| StoreError::from_io("write", &path, size, source))?;
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
        Err(StoreError::Io {
            action: "write",
            path,
            source,
        })
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let Some((mut file, size, _)) = self.open(key)? else {
            return Ok(None);
        };
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        file.read_to_end(&mut content).map_err(|source| {
            StoreError::from_io(
                "read",
                &self.path_of(key.folder()).join(key.file_name()),
                0,
                source,
            )
        })?;
        Ok(Some(content))
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        let Some((file, size, _)) = self.open(key)? else {
            return Ok(None);
        };
        let read = |range: &Range<u64>| -> io::Result<Vec<u8>> {
            let (start, end) = (range.start.min(size), range.end.min(size));
            let mut content =
                vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)];
            file.read_exact_at(&mut content, start)?;
            Ok(content)
        };
        ranges
            .iter()
            .map(read)
            .collect::<io::Result<Vec<_>>>()
            .map(Some)
            .map_err(|source| {
                StoreError::from_io(
                    "read",
                    &self.path_of(key.folder()).join(key.file_name()),
                    0,
                    source,
                )
            })
    }

    fn head(&self, key: &Key) -> Result<Option<Entry>> {
        Ok(self.open(key)?.map(|(_, size, modified)| Entry {
            key: key.clone(),
            size,
            modified,
        }))
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        let mut listing = Listing::default();
        let Some(directory) = self.open_folder(folder, false)? else {
            return Ok(listing);
        };
        let path = self.path_of(folder);
        Self::each_name(&directory, &path, |name, kind| {
            if let Some(session) = folder.child(name).as_ref().and_then(Folder::session) {
                if is_a(&directory, name, kind, FileType::Directory) {
                    listing.sessions.push(session.clone());
                }
            } else if let Some(record) = Record::from_file_name(folder, name) {
                match rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                        let size = u64::try_from(stat.st_size).unwrap_or(0);
                        listing.records.push(Entry {
                            key: record.key(),
                            size,
                            modified: modified(&stat),
                        });
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
        let Some(directory) = self.open_folder(key.folder(), false)? else {
            return Ok(false);
        };
        match rustix::fs::unlinkat(&directory, key.file_name(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(failed(
                "remove",
                &self.path_of(key.folder()).join(key.file_name()),
                0,
                errno,
            )),
        }
    }

    fn sweep(&self, before: SystemTime) -> Result<u64> {
        let mut swept = 0;
        for top in Folder::TOP {
            let sessions = self.list(&top)?.sessions;
            let below: Vec<Folder> = sessions
                .iter()
                .filter_map(|session| top.child(session.as_str()))
                .collect();
            for folder in std::iter::once(top).chain(below) {
                let Some(directory) = self.open_folder(&folder, false)? else {
                    continue;
                };
                let path = self.path_of(&folder);
                Self::each_name(&directory, &path, |name, _| {
                    if !name.starts_with(TEMPORARY) {
                        return Ok(());
                    }
                    let Ok(stat) = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    else {
                        return Ok(());
                    };
                    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
                        && modified(&stat) < before
                    {
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
        Some(self.path_of(key.folder()).join(key.file_name()))
    }
}

impl<'d> Temporary<'d> {
    fn create(directory: BorrowedFd<'d>) -> rustix::io::Result<Self> {
        let name = temporary_name();
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(
            directory,
            name.as_str(),
            flags,
            PRIVATE_FILE,
        )?);
        Ok(Self {
            directory,
            name,
            file,
            published: false,
        })
    }

    /// Gives the file its final name, or fails with `EXIST` if that is taken.
    fn publish(&mut self, name: &str) -> rustix::io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(
                self.directory,
                self.name.as_str(),
                self.directory,
                name,
                flags,
            ) {
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
        rustix::fs::linkat(
            self.directory,
            self.name.as_str(),
            self.directory,
            name,
            AtFlags::empty(),
        )
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

fn failed(action: &'static str, path: &Path, size: usize, errno: Errno) -> StoreError {
    StoreError::from_io(action, path, size, errno.into())
}

/// Explains why something below the root could not be opened: a symbolic link, something foreign, or the system.
fn refused(
    parent: BorrowedFd<'_>,
    name: &str,
    path: &Path,
    expected: &'static str,
    errno: Errno,
) -> StoreError {
    let path = path.to_owned();
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)
        .map(|stat| FileType::from_raw_mode(stat.st_mode))
    {
        Ok(FileType::Symlink) => StoreError::Symlink { path },
        Ok(FileType::Directory) if expected == "directory" => failed("open", &path, 0, errno),
        Ok(FileType::RegularFile) if expected == "regular file" => failed("open", &path, 0, errno),
        Ok(_) => StoreError::Foreign { path, expected },
        Err(_) => failed("open", &path, 0, errno),
    }
}

fn sync(directory: BorrowedFd<'_>, path: &Path) -> Result<()> {
    match rustix::fs::fsync(directory) {
        // Some file systems have nothing to sync in a directory, and say so.
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        Err(errno) => Err(failed("sync the directory of", path, 0, errno)),
    }
}

fn tighten(file: &File, path: &Path) -> Result<()> {
    let private = |source| StoreError::from_io("make private", path, 0, source);
    let metadata = file.metadata().map_err(private)?;
    if metadata.is_file() && metadata.mode() & 0o077 != 0 {
        rustix::fs::fchmod(file, PRIVATE_FILE).map_err(|errno| private(errno.into()))?;
    }
    Ok(())
}

fn is_loose(stat: &Stat) -> bool {
    stat.st_mode & 0o077 != 0
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_fallible_conversions,
    clippy::cast_sign_loss
)]
fn identity(stat: &Stat) -> (u64, u64) {
    // The width and sign of both differ from system to system; only equality counts.
    #[allow(clippy::unnecessary_cast)]
    (stat.st_dev as u64, stat.st_ino as u64)
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
    whole
        .and_then(|time| time.checked_add(nanos))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
