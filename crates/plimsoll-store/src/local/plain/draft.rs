//! A record on its way to disk: a temporary file in its folder, and the publishing of it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use plimsoll::id::{Folder, Key};

use super::super::written::Written;
use super::super::{ATTEMPTS, check_draft, published, temporary_name};
use super::PlainStore;
use crate::backend::{Created, Draft};
use crate::error::{Result, StoreError};

/// A temporary file that goes when this does: it is published by a further link, or not at all.
#[derive(Debug)]
struct Temporary(PathBuf);

/// A record being written to a temporary file in its folder.
#[derive(Debug)]
pub(super) struct PlainDraft<'s> {
    store: &'s PlainStore,
    folder: Folder,
    file: Written,
    temporary: Temporary,
    spent: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What cannot be removed now is swept later.
        let _ = fs::remove_file(&self.0);
    }
}

impl<'s> PlainDraft<'s> {
    /// Begins a temporary file; `None` if the directory vanished.
    pub(super) fn begin(store: &'s PlainStore, directory: &Path, folder: &Folder) -> io::Result<Option<Self>> {
        let temporary = Temporary(directory.join(temporary_name()));
        match OpenOptions::new().read(true).append(true).create_new(true).open(&temporary.0) {
            Ok(file) => {
                let folder = folder.clone();
                Ok(Some(Self { store, folder, file: Written::new(file), temporary, spent: false }))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {
                // Another's file is not ours to remove.
                std::mem::forget(temporary);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }

    /// Publishes the file under a key of its folder; `None` if somebody removed it.
    pub(super) fn try_publish(&mut self, key: &Key) -> Result<Option<Created>> {
        let path = self.store.path_of_key(key);
        let size = usize::try_from(self.file.size()).unwrap_or(usize::MAX);
        let failed = |source: io::Error| StoreError::from_io("write", &path, size, source);
        for _ in 0..ATTEMPTS {
            if let Some((mut present, size, _)) = self.store.open_record(key)? {
                let same = self.file.equals(&mut present, size).map_err(failed)?;
                return Ok(Some(if same { Created::Same } else { Created::Different }));
            }
            self.file.sync().map_err(failed)?;
            // A hard link, unlike a rename, fails if the name is taken.
            match fs::hard_link(&self.temporary.0, &path) {
                Ok(()) => {
                    self.spent = true;
                    return Ok(Some(Created::New));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::Error::other("the directory keeps vanishing")))
    }
}

impl Draft for PlainDraft<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        check_draft(&self.folder, self.spent, None)?;
        self.append(bytes)
            .map_err(|source| StoreError::from_io("write", &self.store.path_of(&self.folder), bytes.len(), source))
    }

    fn publish(&mut self, key: &Key) -> Result<Created> {
        check_draft(&self.folder, self.spent, Some(key))?;
        let created = self.try_publish(key)?;
        published(&self.folder, created)
    }
}
