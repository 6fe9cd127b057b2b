//! The log of what went wrong in hooks: one line an event, private, bounded, never through a symbolic link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::clock::timestamp;
use crate::file::private_folder;

/// The size at which a log begins anew, in bytes. The old one stays beside it, with `.1` at the end of its name.
const LARGEST: u64 = 1 << 20;
/// The most of one line, in bytes.
const LINE: usize = 2 * 1024;

/// Says where the log is, from what the environment holds: `plimsoll/log` in `$XDG_STATE_HOME`, else in
/// `$HOME/.local/state`; on macOS in `~/Library/Application Support`, on Windows in `%LOCALAPPDATA%`.
pub fn log_path(lookup: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    Some(state_folder(lookup)?.join("log"))
}

/// The directory for what belongs to a user and a machine, and is neither data nor configuration.
pub(crate) fn state_folder(lookup: impl Fn(&str) -> Option<std::ffi::OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join("Library/Application Support")))
    } else {
        absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
    };
    own.map(|folder| folder.join("plimsoll"))
}

/// Appends a line to a log. What goes wrong with that is returned, and nobody need care.
///
/// # Errors
/// The path leads through a symbolic link or to something that is no file, or the system refuses.
pub fn log(path: &Path, now: SystemTime, message: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    if let Ok(metadata) = fs::symlink_metadata(path) {
        if !metadata.is_file() {
            return Err(io::Error::other("the log is no regular file"));
        }
        if metadata.len() > LARGEST {
            let mut old = path.as_os_str().to_owned();
            old.push(".1");
            fs::rename(path, old)?;
        }
    }
    let mut text: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    while text.len() > LINE {
        text.pop();
    }
    // One write: lines of processes that run at once do not mix.
    open(path)?.write_all(format!("{} {text}\n", timestamp(now)).as_bytes())
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.mode(0o600).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("the log is no regular file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_one_line_an_event_and_begins_anew_when_it_is_large() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/log");
        log(&path, SystemTime::UNIX_EPOCH, "one\nline\u{1b}[31m").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1970-01-01T00:00:00Z one line [31m\n");
        log(&path, SystemTime::UNIX_EPOCH, &"é".repeat(5_000)).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 2_200);
        fs::write(&path, vec![b'x'; 2 << 20]).unwrap();
        log(&path, SystemTime::UNIX_EPOCH, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1970-01-01T00:00:00Z new\n");
        assert_eq!(fs::metadata(folder.path().join("deep/er/log.1")).unwrap().len(), 2 << 20);
    }

    #[cfg(unix)]
    #[test]
    fn a_log_is_private_and_no_link_is_followed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("log"), folder.path().join("precious"));
        fs::write(&path, "old\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        log(&path, SystemTime::UNIX_EPOCH, "x").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&target, "precious").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(log(&link, SystemTime::UNIX_EPOCH, "x").is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
        assert!(log(folder.path(), SystemTime::UNIX_EPOCH, "x").is_err());
    }
}
