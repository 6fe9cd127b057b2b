//! Carrying a plan out: a backup, the file whole, and what is remembered of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::record::Record;
use super::{Change, InstallError, InstallPlaces, InstallPlan};
use crate::file::{backup_path, private_folder, write_whole};

/// The largest file that is edited: 64 MiB.
const LARGEST: u64 = 64 << 20;

/// A file as it is.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    pub(super) text: Option<Vec<u8>>,
    leads_to: Option<PathBuf>,
}

impl File {
    /// Reads a file. A symbolic link, as people who keep their settings elsewhere have it, is followed to a regular file
    /// of the same owner, and to nothing else.
    pub(super) fn read(path: &Path) -> Result<Self, InstallError> {
        let failed = |source| InstallError::Read { path: path.to_path_buf(), source };
        let refused = |reason| InstallError::Refused { path: path.to_path_buf(), reason };
        let link = match fs::symlink_metadata(path) {
            Ok(link) => link,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path: path.to_path_buf(), text: None, leads_to: None });
            }
            Err(source) => return Err(failed(source)),
        };
        let leads_to = if link.is_symlink() {
            Some(fs::canonicalize(path).map_err(|_| refused("is a symbolic link that leads nowhere"))?)
        } else {
            None
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(refused("is no regular file"));
        }
        if leads_to.is_some() && owner(&metadata) != owner(&link) {
            return Err(refused("is a symbolic link to a file of another user"));
        }
        if metadata.len() > LARGEST {
            return Err(refused("is larger than 64 MiB"));
        }
        let text = fs::read(path).map_err(failed)?;
        Ok(Self { path: path.to_path_buf(), text: Some(text), leads_to })
    }

    /// What is to become of it. A file that is not there is not made for nothing.
    pub(super) fn change(self, after: Option<Vec<u8>>, notes: Vec<String>) -> Change {
        let after = after.filter(|after| self.text.is_some() || !after.is_empty());
        Change { path: self.path, before: self.text, after, notes, leads_to: self.leads_to }
    }
}

#[cfg(unix)]
fn owner(metadata: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(metadata)
}

#[cfg(not(unix))]
fn owner(_: &fs::Metadata) -> u32 {
    0
}

/// What was done with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The file.
    pub path: PathBuf,
    /// Where the old content is kept.
    pub backup: Option<PathBuf>,
    /// Whether the file was removed, since it was not there before.
    pub removed: bool,
}

/// Carries a plan out. A file that changed since the plan was made is left as it is.
///
/// # Errors
/// [`InstallError`]; the files before the one that is named were written.
pub fn apply(plan: &InstallPlan, places: &InstallPlaces) -> Result<Vec<Applied>, InstallError> {
    let (mut done, mut folders) = (Vec::new(), Vec::new());
    for change in plan.changes.iter().filter(|change| change.is_change()) {
        if File::read(&change.path)?.text != change.before {
            return Err(InstallError::Changed { path: change.path.clone() });
        }
        done.push(if plan.removes { take_out(change, places, &mut folders)? } else { put_in(change, places)? });
    }
    for folder in folders {
        // Only if nothing else has come into it.
        let _ = fs::remove_dir(folder);
    }
    Ok(done)
}

fn put_in(change: &Change, places: &InstallPlaces) -> Result<Applied, InstallError> {
    let records = places.records()?;
    let after = change.after.as_deref().unwrap_or_default();
    let earlier = places.record(&change.path)?.filter(|record| record.is_current(change.before.as_deref()));
    let folder = match &earlier {
        Some(earlier) => earlier.folder.clone(),
        None => make_folder(&change.path)?,
    };
    // What was there before we first came; a copy beside the file is for people, once.
    let backup = match (&change.before, &earlier) {
        (Some(before), None) => Some(write_backup(&change.path, before)?),
        _ => None,
    };
    let before = earlier.map_or_else(|| change.before.clone(), |earlier| earlier.before);
    // First the record: without the file that it speaks of it is not used.
    Record::new(before, after, folder).write(&records, &change.path)?;
    write(&change.path, after)?;
    Ok(Applied { path: change.path.clone(), backup, removed: false })
}

fn take_out(change: &Change, places: &InstallPlaces, folders: &mut Vec<PathBuf>) -> Result<Applied, InstallError> {
    let records = places.records()?;
    let record = places.record(&change.path)?.filter(|record| record.is_current(change.before.as_deref()));
    let exact = record.as_ref().is_some_and(|record| record.before == change.after);
    let Some(after) = &change.after else {
        let path = change.leads_to.as_ref().unwrap_or(&change.path);
        fs::remove_file(path).map_err(|source| InstallError::Write { path: path.clone(), source })?;
        folders.extend(record.and_then(|record| record.folder));
        Record::forget(&records, &change.path);
        return Ok(Applied { path: change.path.clone(), backup: None, removed: true });
    };
    let backup = match &change.before {
        Some(before) if !exact => Some(write_backup(&change.path, before)?),
        _ => None,
    };
    write(&change.path, after)?;
    if exact {
        drop_backup(&change.path, after);
    }
    Record::forget(&records, &change.path);
    Ok(Applied { path: change.path.clone(), backup, removed: false })
}

fn write(path: &Path, text: &[u8]) -> Result<(), InstallError> {
    let failed = |error: crate::EngineError| InstallError::Write {
        path: path.to_path_buf(),
        source: io::Error::other(error.to_string()),
    };
    write_whole(path, text).map_err(failed)
}

/// Keeps the old content beside the file, as readable as the file is.
fn write_backup(path: &Path, text: &[u8]) -> Result<PathBuf, InstallError> {
    let backup = backup_path(path);
    let failed = |source| InstallError::Write { path: backup.clone(), source };
    let permissions = fs::metadata(path).map_err(failed)?.permissions();
    write(&backup, text)?;
    fs::set_permissions(&backup, permissions).map_err(failed)?;
    Ok(backup)
}

/// The copy that was made when we came has served, if the file is again what it holds.
fn drop_backup(path: &Path, text: &[u8]) {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".plimsoll-backup");
    let backup = path.with_file_name(name);
    let same = fs::symlink_metadata(&backup).is_ok_and(|metadata| metadata.is_file())
        && fs::read(&backup).is_ok_and(|kept| kept == text);
    if same {
        let _ = fs::remove_file(backup);
    }
}

/// Makes the directory of a file, if there is none; gives it then.
fn make_folder(path: &Path) -> Result<Option<PathBuf>, InstallError> {
    let Some(folder) = path.parent().filter(|folder| !folder.exists()) else {
        return Ok(None);
    };
    private_folder(folder).map_err(|source| InstallError::Write { path: folder.to_path_buf(), source })?;
    Ok(Some(folder.to_path_buf()))
}
