//! Local disk where there are no directory handles to walk by (Windows): the same layout with the standard library.
//!
//! Symbolic links below the root are looked for before use, which a fast attacker with access to the directory can
//! outrun; permissions are those the user's profile gives. Everything else is as on Unix.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plimsoll::id::{Folder, Key, Record};

use super::{ATTEMPTS, FileReader, TEMPORARY, each_folder, holds};
use crate::backend::{Backend, Created, Draft, Entry, Listing, Reader, Refused};
use crate::error::{Result, StoreError};

mod draft;

use draft::PlainDraft;

/// Files below a root directory. See the [module](crate::local) and [`Backend`] for what it guarantees.
///
/// Making one touches nothing: the root is created by the first write.
#[derive(Debug)]
pub struct PlainStore {
    root: PathBuf,
}

impl PlainStore {
    /// Names the root directory. The root itself may be reached by symbolic links; nothing below it may.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Gives the root directory.
    #[cfg_attr(unix, allow(dead_code))]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path_of(&self, folder: &Folder) -> PathBuf {
        folder.components().fold(self.root.clone(), |path, component| path.join(disk_name(component).as_ref()))
    }

    fn path_of_key(&self, key: &Key) -> PathBuf {
        self.path_of(key.folder()).join(disk_name(key.file_name()).as_ref())
    }

    /// Looks at every component of a folder; `None` if one is missing.
    fn look_at(&self, folder: &Folder) -> Result<Option<PathBuf>> {
        let mut path = self.root.clone();
        for component in folder.components() {
            path.push(disk_name(component).as_ref());
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(metadata) if metadata.is_symlink() => return Err(StoreError::Symlink { path }),
                Ok(_) => {
                    return Err(StoreError::Foreign { path, expected: "directory" });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(StoreError::from_io("look at", &path, 0, source)),
            }
        }
        Ok(Some(path))
    }

    fn open_record(&self, key: &Key) -> Result<Option<(File, u64, SystemTime)>> {
        if self.look_at(key.folder())?.is_none() {
            return Ok(None);
        }
        let path = self.path_of_key(key);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => return Err(StoreError::Symlink { path }),
            Ok(metadata) if !metadata.is_file() => {
                return Err(StoreError::Foreign { path, expected: "regular file" });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::from_io("look at", &path, 0, source)),
        }
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(StoreError::from_io("open", &path, 0, source)),
        };
        let metadata = file.metadata().map_err(|source| StoreError::from_io("look at", &path, 0, source))?;
        let modified = metadata.modified().map_err(|source| StoreError::from_io("look at", &path, 0, source))?;
        Ok(Some((file, metadata.len(), modified)))
    }

    /// Visits the names in a folder, as they are in keys.
    fn each(&self, folder: &Folder, mut visit: impl FnMut(&str, &Path) -> Result<()>) -> Result<()> {
        let Some(path) = self.look_at(folder)? else {
            return Ok(());
        };
        let failed = |source: io::Error| StoreError::from_io("list", &path, 0, source);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            if let Some(name) = entry.file_name().to_str() {
                visit(&name_of(name), &entry.path())?;
            }
        }
        Ok(())
    }
}

impl PlainStore {
    /// Removes the temporary files in a folder that were last written before `before`; says how many.
    fn sweep_folder(&self, folder: &Folder, before: SystemTime) -> Result<u64> {
        let mut swept = 0;
        self.each(folder, |name, path| {
            let old = |metadata: &fs::Metadata| {
                metadata.is_file() && metadata.modified().is_ok_and(|modified| modified < before)
            };
            let stale = name.starts_with(TEMPORARY) && fs::symlink_metadata(path).as_ref().is_ok_and(old);
            if stale && remove_quietly(path)? {
                swept += 1;
            }
            Ok(())
        })?;
        Ok(swept)
    }
}

impl Backend for PlainStore {
    fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created> {
        let path = self.path_of_key(key);
        let size = parts.iter().map(|part| part.len()).sum();
        let failed = |source: io::Error| StoreError::from_io("write", &path, size, source);
        for _ in 0..ATTEMPTS {
            let Some(folder) = self.look_at(key.folder())? else {
                fs::create_dir_all(self.path_of(key.folder())).map_err(failed)?;
                continue;
            };
            if let Some((mut file, found, _)) = self.open_record(key)? {
                let same = holds(found, parts, |window| file.read_exact(window)).map_err(failed)?;
                return Ok(if same { Created::Same } else { Created::Different });
            }
            let Some(mut draft) = PlainDraft::begin(self, &folder, key.folder()).map_err(failed)? else {
                continue;
            };
            for part in parts {
                draft.append(part).map_err(failed)?;
            }
            if let Some(created) = draft.try_publish(key)? {
                return Ok(created);
            }
        }
        Err(failed(io::Error::other("the directory keeps vanishing")))
    }

    fn begin(&self, likely: &Key) -> Result<Box<dyn Draft + '_>> {
        let path = self.path_of_key(likely);
        let failed = |source: io::Error| StoreError::from_io("write", &path, 0, source);
        for _ in 0..ATTEMPTS {
            let Some(folder) = self.look_at(likely.folder())? else {
                fs::create_dir_all(self.path_of(likely.folder())).map_err(failed)?;
                continue;
            };
            if let Some(draft) = PlainDraft::begin(self, &folder, likely.folder()).map_err(failed)? {
                return Ok(Box::new(draft));
            }
        }
        Err(failed(io::Error::other("the directory keeps vanishing")))
    }

    fn open(&self, key: &Key, from: u64) -> Result<Option<Box<dyn Reader + '_>>> {
        let Some((mut file, size, _)) = self.open_record(key)? else {
            return Ok(None);
        };
        let path = self.path_of_key(key);
        let at = from.min(size);
        file.seek(SeekFrom::Start(at)).map_err(|source| StoreError::from_io("read", &path, 0, source))?;
        Ok(Some(Box::new(FileReader { file, path, size, at })))
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let Some((mut file, ..)) = self.open_record(key)? else {
            return Ok(None);
        };
        let mut content = Vec::new();
        file.read_to_end(&mut content)
            .map_err(|source| StoreError::from_io("read", &self.path_of_key(key), 0, source))?;
        Ok(Some(content))
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        let Some((mut file, size, _)) = self.open_record(key)? else {
            return Ok(None);
        };
        let mut read = |range: &Range<u64>| -> io::Result<Vec<u8>> {
            let (start, end) = (range.start.min(size), range.end.min(size));
            let mut content = vec![0; usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX)];
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut content)?;
            Ok(content)
        };
        let contents = ranges.iter().map(&mut read).collect::<io::Result<Vec<_>>>();
        contents.map(Some).map_err(|source| StoreError::from_io("read", &self.path_of_key(key), 0, source))
    }

    fn head(&self, key: &Key) -> Result<Option<Entry>> {
        Ok(self.open_record(key)?.map(|(_, size, modified)| Entry { key: key.clone(), size, modified }))
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        let mut listing = Listing::default();
        let time = |path: &Path| fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok();
        let mut newest = self.look_at(folder)?.as_deref().and_then(time);
        self.each(folder, |name, path| {
            let Ok(metadata) = fs::symlink_metadata(path) else {
                return Ok(());
            };
            let is_link = metadata.is_symlink();
            let refused = |expected| Refused { path: path.to_owned(), is_link, expected };
            if let Some(session) = folder.child(name).as_ref().and_then(Folder::session) {
                if metadata.is_dir() {
                    listing.sessions.push(session.clone());
                } else if metadata.is_file() {
                    listing.foreign += 1;
                } else {
                    listing.refused.push(refused("directory"));
                }
                return Ok(());
            }
            let modified = metadata.modified().map_err(|source| StoreError::from_io("look at", path, 0, source))?;
            newest = newest.max(Some(modified));
            match Record::from_file_name(folder, name) {
                Some(record) if metadata.is_file() => {
                    listing.records.push(Entry { key: record.key(), size: metadata.len(), modified });
                }
                Some(_) => listing.refused.push(refused("regular file")),
                None if metadata.is_file() && name.starts_with(TEMPORARY) => listing.temporary += metadata.len(),
                None => listing.foreign += 1,
            }
            Ok(())
        })?;
        listing.modified = newest;
        Ok(listing)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        // Opening refuses what is no regular file.
        match self.open_record(key)? {
            Some(_) => remove_quietly(&self.path_of_key(key)),
            None => Ok(false),
        }
    }

    fn remove_folder(&self, folder: &Folder, before: SystemTime) -> Result<bool> {
        if folder.session().is_none() {
            return Ok(false);
        }
        let Some(path) = self.look_at(folder)? else {
            return Ok(true);
        };
        self.sweep_folder(folder, before)?;
        match fs::remove_dir(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(source) => Err(StoreError::from_io("remove", &path, 0, source)),
        }
    }

    fn sweep(&self, before: SystemTime) -> Result<u64> {
        let mut swept = 0;
        each_folder(self, |folder| {
            swept += self.sweep_folder(folder, before)?;
            Ok(())
        })?;
        Ok(swept)
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.path_of_key(key))
    }
}

/// Removes a file, and leaves its directory as old as it was, where directories can be opened to set that: removing is
/// no use of a session. `false` if it was gone already.
fn remove_quietly(path: &Path) -> Result<bool> {
    let directory = path.parent().and_then(|directory| File::open(directory).ok());
    let before = directory.as_ref().and_then(|directory| directory.metadata().ok()?.modified().ok());
    let removed = remove(path)?;
    if let (true, Some(directory), Some(before)) = (removed, directory, before) {
        // Where that cannot be set, the session stays a while longer.
        let _ = directory.set_modified(before);
    }
    Ok(removed)
}

/// Removes a file; `false` if it was gone already.
fn remove(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(StoreError::from_io("remove", path, 0, source)),
    }
}

/// Tells whether Windows reserves a name for a device, whatever its case and extension.
fn is_reserved(stem: &str) -> bool {
    let stem = stem.to_ascii_uppercase();
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL")
        || ["COM", "LPT"].iter().any(|device| {
            stem.strip_prefix(device).is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
        })
}

/// Puts a `~` behind the stem of a reserved name. No name in a key ends with `~`, so that none is met by it.
fn disk_name(name: &str) -> Cow<'_, str> {
    let (stem, extension) = name.split_once('.').map_or((name, None), |(stem, rest)| (stem, Some(rest)));
    match extension {
        _ if !is_reserved(stem) => Cow::Borrowed(name),
        Some(extension) => Cow::Owned(format!("{stem}~.{extension}")),
        None => Cow::Owned(format!("{stem}~")),
    }
}

/// Reads a name on disk as it is in keys.
fn name_of(disk: &str) -> Cow<'_, str> {
    let (stem, extension) = disk.split_once('.').map_or((disk, None), |(stem, rest)| (stem, Some(rest)));
    match (stem.strip_suffix('~').filter(|stem| is_reserved(stem)), extension) {
        (None, _) => Cow::Borrowed(disk),
        (Some(stem), Some(extension)) => Cow::Owned(format!("{stem}.{extension}")),
        (Some(stem), None) => Cow::Borrowed(stem),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::conformance;

    #[test]
    fn reserved_names_are_escaped_and_read_back() {
        for (name, disk) in [
            ("CON", "CON~"),
            ("nul.txt", "nul~.txt"),
            ("Com1.json", "Com1~.json"),
            ("LPT0", "LPT0~"),
            ("CONSOLE.txt", "CONSOLE.txt"),
            ("COM10", "COM10"),
            ("CON~0123456789ab.txt", "CON~0123456789ab.txt"),
        ] {
            assert_eq!(disk_name(name), disk);
            assert_eq!(name_of(disk), name);
        }
    }

    #[test]
    fn it_conforms() {
        let root = tempfile::tempdir().unwrap();
        let mut stores = 0;
        conformance::run(|| {
            stores += 1;
            Arc::new(PlainStore::new(root.path().join(stores.to_string())))
        })
        .unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn symbolic_links_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("results")).unwrap();
        let store = PlainStore::new(root.path());
        let key = Record::Text("s/c".parse().unwrap()).key();
        assert!(matches!(store.create(&key, &[b"x"]), Err(StoreError::Symlink { .. })));
        assert!(matches!(store.get(&key), Err(StoreError::Symlink { .. })));
        assert!(fs::read_dir(outside.path()).unwrap().next().is_none());
    }
}
