//! A record on its way to disk: a temporary file in its folder, and the publishing of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use plimsoll::id::{Folder, Key};

use super::super::{ATTEMPTS, WRITTEN_AT_ONCE, are_equal, check_draft, published, temporary_name};
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
    file: File,
    temporary: Temporary,
    size: u64,
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
                Ok(Some(Self { store, folder, file, temporary, size: 0, spent: false }))
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
        for piece in bytes.chunks(WRITTEN_AT_ONCE) {
            self.file.write_all(piece)?;
        }
        self.size += bytes.len() as u64;
        Ok(())
    }

    /// Publishes the file under a key of its folder; `None` if somebody removed it.
    pub(super) fn try_publish(&mut self, key: &Key) -> Result<Option<Created>> {
        let path = self.store.path_of_key(key);
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let failed = |source: io::Error| StoreError::from_io("write", &path, size, source);
        for _ in 0..ATTEMPTS {
            if let Some((mut present, size, _)) = self.store.open_record(key)? {
                let same = size == self.size && {
                    self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
                    are_equal(&mut self.file, &mut present).map_err(failed)?
                };
                return Ok(Some(if same { Created::Same } else { Created::Different }));
            }
            self.file.sync_all().map_err(failed)?;
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
