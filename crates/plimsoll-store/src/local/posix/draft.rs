//! A record on its way to disk: a temporary file in its folder, and the publishing of it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use plimsoll::id::{Folder, Key};
use rustix::fs::{AtFlags, OFlags};
use rustix::io::Errno;

use super::super::root::{PRIVATE_FILE, failed, sync, tighten};
use super::super::written::Written;
use super::super::{ATTEMPTS, check_draft, published, temporary_name};
use super::{PosixStore, keeps_vanishing};
use crate::backend::{Created, Draft};
use crate::error::{Result, StoreError};

/// A temporary file that is removed again unless it was published.
#[derive(Debug)]
pub(super) struct Temporary {
    directory: OwnedFd,
    name: String,
    file: Written,
    published: bool,
}

/// A record being written to a temporary file in its folder.
#[derive(Debug)]
pub(super) struct PosixDraft<'s> {
    store: &'s PosixStore,
    folder: Folder,
    temporary: Temporary,
    spent: bool,
}

impl<'s> PosixDraft<'s> {
    pub(super) fn new(store: &'s PosixStore, folder: Folder, temporary: Temporary) -> Self {
        Self { store, folder, temporary, spent: false }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.temporary.file.append(bytes)
    }

    /// Publishes the file under a key of its folder; `None` if somebody removed it.
    pub(super) fn try_publish(&mut self, key: &Key) -> Result<Option<Created>> {
        let path = self.store.root.path_of_key(key);
        for _ in 0..ATTEMPTS {
            if let Some((mut present, size, _)) = self.store.open_in(&self.temporary.directory, key)? {
                tighten(&present, &path)?;
                let read = |source| StoreError::from_io("read", &path, 0, source);
                let same = self.temporary.file.equals(&mut present, size).map_err(read)?;
                // Its writer may not have come to this yet, and the caller will rely on the record.
                sync(self.temporary.directory.as_fd(), &path)?;
                return Ok(Some(if same { Created::Same } else { Created::Different }));
            }
            let size = usize::try_from(self.temporary.file.size()).unwrap_or(usize::MAX);
            self.temporary.file.sync().map_err(|source| StoreError::from_io("write", &path, size, source))?;
            match self.temporary.publish(key.file_name()) {
                Ok(()) => {
                    self.spent = true;
                    sync(self.temporary.directory.as_fd(), &path)?;
                    return Ok(Some(Created::New));
                }
                Err(Errno::EXIST) => {}
                Err(Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(failed("write", &path, size, errno)),
            }
        }
        Err(keeps_vanishing(path))
    }
}

impl Draft for PosixDraft<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        check_draft(&self.folder, self.spent, None)?;
        let size = bytes.len();
        self.append(bytes)
            .map_err(|source| StoreError::from_io("write", &self.store.root.path_of(&self.folder), size, source))
    }

    fn publish(&mut self, key: &Key) -> Result<Created> {
        check_draft(&self.folder, self.spent, Some(key))?;
        let created = self.try_publish(key)?;
        published(&self.folder, created)
    }
}

impl Temporary {
    pub(super) fn create(directory: OwnedFd) -> rustix::io::Result<Self> {
        let name = temporary_name();
        let flags =
            OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&directory, name.as_str(), flags, PRIVATE_FILE)?);
        Ok(Self { directory, name, file: Written::new(file), published: false })
    }

    /// Gives the file its final name, or fails with `EXIST` if that is taken.
    fn publish(&mut self, name: &str) -> rustix::io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(&self.directory, self.name.as_str(), &self.directory, name, flags) {
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
        rustix::fs::linkat(&self.directory, self.name.as_str(), &self.directory, name, AtFlags::empty())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            // What cannot be removed now is swept later.
            let _ = rustix::fs::unlinkat(&self.directory, self.name.as_str(), AtFlags::empty());
        }
    }
}
