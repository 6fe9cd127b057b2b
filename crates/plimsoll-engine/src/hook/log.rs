//! The log of what went wrong in hooks: one line an event, private, bounded, never through a symbolic link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

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

fn private_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
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

/// A time as `2026-01-31T23:59:59Z`. The civil date is reckoned as in Howard Hinnant's "chrono-compatible low-level
/// date algorithms".
fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_dates() {
        let at = |seconds| timestamp(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_796_019_030), "2026-11-30T06:10:30Z");
    }

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
