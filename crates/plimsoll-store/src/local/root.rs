//! Walking below the root on Unix: by directory handles that follow no link, making private and durable what is met.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use plimsoll::id::{Folder, Key};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::error::{Result, StoreError};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// `NONBLOCK`, so that a named pipe in a file's place is found out instead of waited for.
pub(super) const RECORD: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const PRIVATE_DIRECTORY: Mode = Mode::RWXU;
/// The note of the store's size, in its root; its temporary files begin so, too.
pub(super) const NOTE: &str = ".counted";
pub(super) const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The root directory of a store.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    /// Directories, by device and inode, that this process knows to be private and to survive a loss of power.
    settled: Mutex<HashSet<(u64, u64)>>,
}

impl Root {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, settled: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn path_of_key(&self, key: &Key) -> PathBuf {
        self.path_of(key.folder()).join(key.file_name())
    }

    pub(super) fn path_of(&self, folder: &Folder) -> PathBuf {
        folder.components().fold(self.path.clone(), |path, component| path.join(component))
    }

    fn open_root(&self, make: bool) -> Result<Option<OwnedFd>> {
        match rustix::fs::open(&self.path, DIRECTORY, Mode::empty()) {
            Ok(root) => Ok(Some(root)),
            Err(Errno::NOENT) if make => {
                self.make_root()?;
                rustix::fs::open(&self.path, DIRECTORY, Mode::empty())
                    .map(Some)
                    .map_err(|errno| failed("open", &self.path, 0, errno))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR) => Err(StoreError::Foreign { path: self.path.clone(), expected: "directory" }),
            Err(errno) => Err(failed("open", &self.path, 0, errno)),
        }
    }

    /// Makes the root and what is missing above it, and syncs every directory that got a new entry.
    fn make_root(&self) -> Result<()> {
        let present = self.path.ancestors().find(|ancestor| ancestor.is_dir());
        let error = |path: &Path, source| StoreError::from_io("create the directory", path, 0, source);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)
            .map_err(|source| error(&self.path, source))?;
        for directory in self.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()) {
            let handle = File::open(directory).map_err(|source| error(directory, source))?;
            sync(handle.as_fd(), directory)?;
            if present == Some(directory) {
                break;
            }
        }
        Ok(())
    }

    /// Opens the root itself, if it is there.
    pub(super) fn open_folder_of_root(&self) -> Result<Option<OwnedFd>> {
        self.open_root(false)
    }

    /// Walks to a folder; `make` creates what is missing, and makes private and durable what is there.
    pub(super) fn open_folder(&self, folder: &Folder, make: bool) -> Result<Option<OwnedFd>> {
        let Some(mut directory) = self.open_root(make)? else {
            return Ok(None);
        };
        let mut path = self.path.clone();
        if make {
            self.settle_root(&directory)?;
        }
        for component in folder.components() {
            path.push(component);
            let flags = DIRECTORY | OFlags::NOFOLLOW;
            let mut made = false;
            let next = match rustix::fs::openat(&directory, component, flags, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    match rustix::fs::mkdirat(&directory, component, PRIVATE_DIRECTORY) {
                        Ok(()) => made = true,
                        Err(Errno::EXIST) => {}
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
                    return Err(refused(directory.as_fd(), component, &path, "directory", errno));
                }
            };
            if make {
                self.settle(&directory, &next, &path, made)?;
            }
            directory = next;
        }
        Ok(Some(directory))
    }

    /// Makes the root private if it is a store's and nothing else: a user may have named a directory with other things
    /// in it, whose permissions are not ours to change. What is below the root is private in any case.
    fn settle_root(&self, root: &OwnedFd) -> Result<()> {
        let stat = rustix::fs::fstat(root).map_err(|errno| failed("look at", &self.path, 0, errno))?;
        if !self.is_unsettled(&stat) {
            return Ok(());
        }
        if is_loose(&stat) {
            let entries = Dir::read_from(root).map_err(|errno| failed("list", &self.path, 0, errno))?;
            let mut ours = true;
            for entry in entries {
                let entry = entry.map_err(|errno| failed("list", &self.path, 0, errno))?;
                let name = entry.file_name().to_bytes();
                ours &= matches!(name, b"." | b"..")
                    || name.starts_with(NOTE.as_bytes())
                    || Folder::TOP.iter().flat_map(Folder::components).any(|top| top.as_bytes() == name);
            }
            if ours {
                rustix::fs::fchmod(root, PRIVATE_DIRECTORY)
                    .map_err(|errno| failed("make private", &self.path, 0, errno))?;
            }
        }
        self.note_settled(&stat);
        Ok(())
    }

    /// Makes a directory private, with the files in it if it was not, and its entry in `parent` durable.
    ///
    /// The entry is synced also when another process made the directory: that one may be about to do so, but what we
    /// are going to write must not depend on it.
    ///
    /// What was `made` just now may have the inode of a directory that was settled and then pruned.
    fn settle(&self, parent: &OwnedFd, directory: &OwnedFd, path: &Path, made: bool) -> Result<()> {
        let stat = rustix::fs::fstat(directory).map_err(|errno| failed("look at", path, 0, errno))?;
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
        if made || self.is_unsettled(&stat) {
            sync(parent.as_fd(), path)?;
            self.note_settled(&stat);
        }
        Ok(())
    }

    fn is_unsettled(&self, stat: &Stat) -> bool {
        !self.settled.lock().unwrap_or_else(PoisonError::into_inner).contains(&identity(stat))
    }

    fn note_settled(&self, stat: &Stat) {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).insert(identity(stat));
    }
}

pub(super) fn failed(action: &'static str, path: &Path, size: usize, errno: Errno) -> StoreError {
    StoreError::from_io(action, path, size, errno.into())
}

/// Explains why something below the root could not be opened: a symbolic link, something foreign, or the system.
pub(super) fn refused(
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

pub(super) fn sync(directory: BorrowedFd<'_>, path: &Path) -> Result<()> {
    match rustix::fs::fsync(directory) {
        // Some file systems have nothing to sync in a directory, and say so.
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
        Err(errno) => Err(failed("sync the directory of", path, 0, errno)),
    }
}

pub(super) fn tighten(file: &File, path: &Path) -> Result<()> {
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

#[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions, clippy::cast_sign_loss)]
fn identity(stat: &Stat) -> (u64, u64) {
    // The width and sign of both differ from system to system; only equality counts.
    #[allow(clippy::unnecessary_cast)]
    (stat.st_dev as u64, stat.st_ino as u64)
}
