//! Reading inputs whole and writing results whole: never a half-written file, never over a file that changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use plimsoll::Bytes;

use crate::EngineError;

/// An input: its bytes, and what it takes to tell later whether the file is still what was read.
#[derive(Debug)]
pub struct Input {
    bytes: Vec<u8>,
    state: Option<State>,
}

/// What changes when a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    len: u64,
    modified: Option<SystemTime>,
    identity: (u64, u64),
}

impl State {
    fn of(metadata: &fs::Metadata) -> Self {
        Self { len: metadata.len(), modified: metadata.modified().ok(), identity: identity(metadata) }
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

impl Input {
    /// Reads a file, if it is no larger than `limit`.
    ///
    /// # Errors
    /// [`EngineError`] if it is a directory, over the limit (it is not read then), or cannot be read.
    pub fn read(path: &Path, limit: Bytes) -> Result<Self, EngineError> {
        let failed = |source| EngineError::Read { path: path.to_path_buf(), source };
        let mut file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(EngineError::Directory { path: path.to_path_buf() });
        }
        if Bytes(metadata.len()) > limit {
            return Err(EngineError::TooLarge { path: path.to_path_buf(), size: Bytes(metadata.len()), limit });
        }
        let bytes = bounded(&mut file, metadata.len(), path, limit)?;
        let state = State { len: Bytes::from(bytes.len()).0, ..State::of(&metadata) };
        Ok(Self { bytes, state: metadata.is_file().then_some(state) })
    }

    /// Reads standard input, if it is no larger than `limit`.
    ///
    /// # Errors
    /// [`EngineError`] if it is over the limit or cannot be read.
    pub fn standard(limit: Bytes) -> Result<Self, EngineError> {
        let bytes = bounded(&mut io::stdin().lock(), 0, Path::new("standard input"), limit)?;
        Ok(Self { bytes, state: None })
    }

    /// What was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the file at `path` is still what was read.
    fn is_current(&self, path: &Path) -> bool {
        let now = fs::symlink_metadata(path).ok().map(|metadata| State::of(&metadata));
        now.is_some() && now == self.state
    }
}

/// Reads to the end, but never more than one byte past the limit.
fn bounded(source: &mut impl Read, expected: u64, path: &Path, limit: Bytes) -> Result<Vec<u8>, EngineError> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected.min(limit.0).saturating_add(1)).unwrap_or(0));
    let mut source = source.take(limit.0.saturating_add(1));
    source.read_to_end(&mut bytes).map_err(|source| EngineError::Read { path: path.to_path_buf(), source })?;
    let size = Bytes::from(bytes.len());
    if size > limit {
        return Err(EngineError::TooLarge { path: path.to_path_buf(), size, limit });
    }
    Ok(bytes)
}

/// Writes a file whole: readers see the old content or the new one, and a crash leaves one of them.
///
/// A new file is readable by its owner alone; one that exists keeps its permissions. What is no regular file (a pipe, a
/// terminal) is written to directly.
///
/// # Errors
/// [`EngineError::Write`] if the system refuses; the old content is still there then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), EngineError> {
    let failed = |source| EngineError::Write { path: path.to_path_buf(), source };
    // A link is followed, as every program's `-o` does; the file it leads to is what is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
        return Err(EngineError::Directory { path: path.to_path_buf() });
    }
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        let mut file = OpenOptions::new().write(true).open(&target).map_err(failed)?;
        return file.write_all(bytes).map_err(failed);
    }
    let folder = folder_of(&target);
    let mut partial = partial_in(folder).map_err(failed)?;
    partial.write_all(bytes).map_err(failed)?;
    if let Some(metadata) = existing {
        partial.as_file().set_permissions(metadata.permissions()).map_err(failed)?;
    }
    partial.as_file().sync_all().map_err(failed)?;
    partial.persist(&target).map_err(|error| failed(error.error))?;
    sync_folder(folder).map_err(failed)
}

/// Makes the file that a result is written to before it has its name. An error tells of the folder, not of that file.
fn partial_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let made = tempfile::Builder::new().prefix(".plimsoll-").tempfile_in(folder);
    made.map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            let text = format!("there is no directory {}; make it first", folder.display());
            return io::Error::new(io::ErrorKind::NotFound, text);
        }
        let cause = error.get_ref().and_then(|inner| inner.source()?.downcast_ref::<io::Error>()?.raw_os_error());
        cause.map_or(error, io::Error::from_raw_os_error)
    })
}

/// Looks whether [`write_whole`] could write a file: for what costs something before it is written.
///
/// # Errors
/// What [`write_whole`] would fail with.
pub fn writable(path: &Path) -> Result<(), EngineError> {
    let failed = |source| EngineError::Write { path: path.to_path_buf(), source };
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => Err(EngineError::Directory { path: path.to_path_buf() }),
        // It is opened when it is written to: a pipe would wait for its reader.
        Ok(metadata) if !metadata.is_file() => Ok(()),
        _ => partial_in(folder_of(&target)).map(drop).map_err(failed),
    }
}

/// Makes a directory, and those above it, readable by their owner alone. One that is there stays as it is.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Changes an input file in place: a backup is kept beside it, and a file that changed since it was read is refused.
///
/// Where the new content only continues the old one, it is appended, so that a program which has the file open goes on
/// with it; otherwise the file is replaced whole. Returns the backup's path.
///
/// # Errors
/// [`EngineError`] if the file changed, is a symbolic link, or cannot be written.
pub fn change_in_place(path: &Path, input: &Input, bytes: &[u8]) -> Result<PathBuf, EngineError> {
    let failed = |source| EngineError::Write { path: path.to_path_buf(), source };
    if fs::symlink_metadata(path).map_err(failed)?.is_symlink() {
        return Err(EngineError::SymbolicLink { path: path.to_path_buf() });
    }
    let changed = || EngineError::Changed { path: path.to_path_buf() };
    if !input.is_current(path) {
        return Err(changed());
    }
    let backup = backup_path(path);
    write_whole(&backup, input.bytes())?;
    let permissions = fs::metadata(path).map_err(failed)?.permissions();
    fs::set_permissions(&backup, permissions)
        .map_err(|source| EngineError::Write { path: backup.clone(), source })?;
    if let Some(appended) = bytes.strip_prefix(input.bytes()) {
        let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        // Once more, on the very file that is written to: the window in which another program may write is that between
        // this look and the one write that follows.
        let now = file.metadata().map_err(failed)?;
        if Some(State::of(&now)) != input.state {
            return Err(changed());
        }
        file.write_all(appended).map_err(failed)?;
        file.sync_all().map_err(failed)?;
    } else {
        if !input.is_current(path) {
            return Err(changed());
        }
        write_whole(path, bytes)?;
    }
    Ok(backup)
}

/// Where the backup of a file goes: beside it, under the first free name.
pub(crate) fn backup_path(path: &Path) -> PathBuf {
    let named = |suffix: &str| {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(suffix);
        path.with_file_name(name)
    };
    let first = named(".plimsoll-backup");
    let free = |candidate: &PathBuf| fs::symlink_metadata(candidate).is_err();
    if free(&first) {
        return first;
    }
    (2..10_000_u32).map(|n| named(&format!(".plimsoll-backup-{n}"))).find(free).unwrap_or(first)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Bytes = Bytes(1 << 20);

    #[test]
    fn what_cannot_be_written_names_the_folder_and_no_file_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/out.json");
        for error in [writable(&path).unwrap_err(), write_whole(&path, b"x").unwrap_err()] {
            let text = error.to_string();
            assert!(text.contains("there is no directory") && !text.contains(".plimsoll-"), "{text}");
        }
    }

    #[test]
    fn a_directory_and_a_file_over_the_limit_are_refused_unread() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Input::read(folder.path(), LIMIT), Err(EngineError::Directory { .. })));
        let path = folder.path().join("big");
        fs::write(&path, vec![b'x'; 11]).unwrap();
        let error = Input::read(&path, Bytes(10)).unwrap_err();
        assert!(matches!(error, EngineError::TooLarge { size: Bytes(11), .. }), "{error}");
        assert_eq!(Input::read(&path, Bytes(11)).unwrap().bytes().len(), 11);
    }

    #[test]
    fn what_continues_the_file_is_appended_and_a_backup_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        fs::write(&path, "one\n").unwrap();
        let input = Input::read(&path, LIMIT).unwrap();
        let mut open = OpenOptions::new().read(true).open(&path).unwrap();
        let backup = change_in_place(&path, &input, b"one\ntwo\n").unwrap();
        let mut seen = String::new();
        open.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, "one\ntwo\n", "a program that has the file open sees what was appended");
        assert_eq!(fs::read(&backup).unwrap(), b"one\n");
        let again = Input::read(&path, LIMIT).unwrap();
        let second = change_in_place(&path, &again, b"other\n").unwrap();
        assert_ne!(backup, second, "an older backup is never overwritten");
        assert_eq!(fs::read(&path).unwrap(), b"other\n");
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        fs::write(&path, "one\n").unwrap();
        let input = Input::read(&path, LIMIT).unwrap();
        fs::write(&path, "one\nmore\n").unwrap();
        assert!(matches!(change_in_place(&path, &input, b"one\ntwo\n"), Err(EngineError::Changed { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"one\nmore\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no backup of what was not changed");
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_not_changed_in_place_and_new_files_are_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("session.jsonl"), folder.path().join("link.jsonl"));
        write_whole(&path, b"one\n").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let input = Input::read(&link, LIMIT).unwrap();
        assert!(matches!(change_in_place(&link, &input, b"two\n"), Err(EngineError::SymbolicLink { .. })));
    }
}
