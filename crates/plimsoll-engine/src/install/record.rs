//! What is remembered of a file that was changed: what stood in it before, and how to know that it is as we left it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::InstallError;
use crate::file::{private_folder, write_whole};

/// What is remembered of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// What stood in it; `None` if there was none.
    pub(super) before: Option<Vec<u8>>,
    /// The hash of what we left.
    left: String,
    /// The directory that was made for it.
    pub(super) folder: Option<PathBuf>,
}

/// The part of a record that is JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    path: PathBuf,
    existed: bool,
    left: String,
    #[serde(default)]
    folder: Option<PathBuf>,
}

fn hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex().to_string()
}

fn names(folder: &Path, path: &Path) -> (PathBuf, PathBuf) {
    let name: String = hash(path.as_os_str().as_encoded_bytes()).chars().take(32).collect();
    (folder.join(format!("{name}.json")), folder.join(format!("{name}.before")))
}

impl Record {
    /// Remembers what stood in a file, and what stands in it now.
    pub(super) fn new(before: Option<Vec<u8>>, after: &[u8], folder: Option<PathBuf>) -> Self {
        Self { before, left: hash(after), folder }
    }

    /// Whether a file is as we left it.
    pub(super) fn is_current(&self, text: Option<&[u8]>) -> bool {
        text.is_some_and(|text| hash(text) == self.left)
    }

    /// Reads the record of a file. One that cannot be understood is none.
    pub(super) fn read(folder: &Path, path: &Path) -> Result<Option<Self>, InstallError> {
        let (json, before) = names(folder, path);
        let read = |path: &Path| match fs::read(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(InstallError::Read { path: path.to_path_buf(), source }),
        };
        let Some(written) = read(&json)?.and_then(|text| serde_json::from_slice::<Written>(&text).ok()) else {
            return Ok(None);
        };
        let before = if written.existed { read(&before)? } else { None };
        let whole = written.path == path && written.existed == before.is_some();
        Ok(whole.then_some(Self { before, left: written.left, folder: written.folder }))
    }

    /// Writes the record, readable by its owner alone: what stands in a file may be secret.
    pub(super) fn write(&self, folder: &Path, path: &Path) -> Result<(), InstallError> {
        let failed = |source| InstallError::Write { path: folder.to_path_buf(), source };
        private_folder(folder).map_err(failed)?;
        let (json, before) = names(folder, path);
        let write = |path: &Path, text: &[u8]| {
            // A new file is private; one that is there was written by us.
            write_whole(path, text).map_err(|error| failed(io::Error::other(error.to_string())))
        };
        if let Some(text) = &self.before {
            write(&before, text)?;
        }
        let (left, folder) = (self.left.clone(), self.folder.clone());
        let written = Written { path: path.to_path_buf(), existed: self.before.is_some(), left, folder };
        write(&json, &serde_json::to_vec(&written).map_err(|error| failed(error.into()))?)
    }

    /// Forgets a file.
    pub(super) fn forget(folder: &Path, path: &Path) {
        let (json, before) = names(folder, path);
        // What is left over is overwritten by the next record, and says nothing without it.
        let _ = fs::remove_file(json);
        let _ = fs::remove_file(before);
    }
}
