//! From what a user names (a URL, or nothing) to a store.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Result, StoreError};
use crate::store::Store;

/// The directory below a user's data directory.
const DIRECTORY: &str = "plimsoll";

/// Where a store is, parsed from a URL.
///
/// | given | means |
/// |---|---|
/// | `file:///absolute/path` | a directory; `%20` and the like are decoded, the host is empty or `localhost` |
/// | `/absolute/path` | the same |
/// | `memory:` | this process's memory |
/// | `s3://bucket/prefix` and other schemes | refused for now |
///
/// ```
/// use plimsoll_store::Location;
/// assert_eq!("file:///srv/my%20store".parse::<Location>()?, Location::Local("/srv/my store".into()));
/// assert_eq!("memory:".parse::<Location>()?, Location::Memory);
/// assert!("s3://bucket/prefix".parse::<Location>().is_err());
/// # Ok::<(), plimsoll_store::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// Files below a directory.
    Local(PathBuf),
    /// The memory of this process.
    Memory,
}

/// Whose conventions say where a user's data lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other Unix systems: the XDG base directories.
    Unix,
    /// macOS: `~/Library/Application Support`.
    MacOs,
    /// Windows: the local application data.
    Windows,
}

impl Platform {
    /// The platform that this was built for.
    pub const CURRENT: Self = if cfg!(target_vendor = "apple") {
        Self::MacOs
    } else if cfg!(windows) {
        Self::Windows
    } else {
        Self::Unix
    };
}

impl FromStr for Location {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self> {
        let refuse = |reason| StoreError::Url { url: url.to_owned(), reason };
        if url == "memory:" || url == "memory://" {
            return Ok(Self::Memory);
        }
        if url.is_empty() {
            return Err(refuse("it is empty"));
        }
        if Path::new(url).is_absolute() {
            return Ok(Self::Local(url.into()));
        }
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(refuse("it has no scheme and is no absolute path"));
        };
        match scheme {
            "file" => {
                let rest = rest.strip_prefix("//").ok_or_else(|| refuse("`file:` is not followed by `//`"))?;
                let path = rest.strip_prefix("localhost").unwrap_or(rest);
                if !path.starts_with('/') {
                    return Err(refuse("its path is not absolute, or it names another host"));
                }
                let path = decode(path).ok_or_else(|| refuse("a `%` is not followed by two hex digits of UTF-8"))?;
                if path.contains('\0') {
                    return Err(refuse("its path contains NUL"));
                }
                // `/C:/Users` is how a URL writes `C:/Users`.
                let drive = path.strip_prefix('/').filter(|path| cfg!(windows) && path.get(1..2) == Some(":"));
                Ok(Self::Local(drive.unwrap_or(&path).into()))
            }
            "memory" => Err(refuse("`memory:` stands alone")),
            "s3" | "gs" | "az" | "abfs" | "abfss" | "http" | "https" => {
                Err(StoreError::NotBuiltIn { url: url.to_owned(), scheme: scheme.to_owned() })
            }
            _ => Err(refuse("its scheme is not known")),
        }
    }
}

/// Decodes `%XX`.
fn decode(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
            let (high, low) = (digit()?, digit()?);
            decoded.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

impl Store {
    /// Opens a store. Nothing is read or written yet: a directory is created by the first write.
    pub fn open(location: &Location) -> Self {
        match location {
            Location::Local(root) => Self::local(root),
            Location::Memory => Self::memory(),
        }
    }

    /// Says where the store of a user is, from what their environment holds.
    ///
    /// | platform | root |
    /// |---|---|
    /// | Unix | `$XDG_DATA_HOME/plimsoll`, else `$HOME/.local/share/plimsoll` |
    /// | macOS | `$XDG_DATA_HOME/plimsoll` if set, else `$HOME/Library/Application Support/plimsoll` |
    /// | Windows | `%LOCALAPPDATA%\plimsoll`, else `%USERPROFILE%\AppData\Local\plimsoll` |
    ///
    /// Variables that are empty or hold no absolute path count as not set, as the XDG Base Directory Specification
    /// demands. `lookup` gives a variable's value, as [`std::env::var_os`] does.
    ///
    /// ```
    /// use plimsoll_store::{Platform, Store};
    /// let root = Store::default_root(Platform::Unix, |name| (name == "HOME").then(|| "/home/alice".into()))?;
    /// assert_eq!(root, std::path::Path::new("/home/alice/.local/share/plimsoll"));
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::NoHome`] if no variable names a place.
    #[doc(alias = "ToolResultsBaseDir")]
    pub fn default_root(platform: Platform, lookup: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
        let absolute = |name| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let (first, second, below, variables) = match platform {
            Platform::Unix => ("XDG_DATA_HOME", "HOME", ".local/share", "XDG_DATA_HOME nor HOME"),
            Platform::MacOs => ("XDG_DATA_HOME", "HOME", "Library/Application Support", "XDG_DATA_HOME nor HOME"),
            Platform::Windows => ("LOCALAPPDATA", "USERPROFILE", "AppData/Local", "LOCALAPPDATA nor USERPROFILE"),
        };
        absolute(first)
            .or_else(|| absolute(second).map(|home| home.join(below)))
            .map(|data| data.join(DIRECTORY))
            .ok_or(StoreError::NoHome { variables })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_places() {
        for (url, path) in [
            ("file:///srv/store", "/srv/store"),
            ("file://localhost/srv/store", "/srv/store"),
            ("file:///a%20b/%E6%97%A5", "/a b/日"),
            ("/srv/store", "/srv/store"),
            ("/srv/100%", "/srv/100%"),
        ] {
            assert_eq!(url.parse::<Location>().unwrap(), Location::Local(path.into()), "{url}");
        }
        assert_eq!("memory:".parse::<Location>().unwrap(), Location::Memory);
    }

    #[test]
    fn other_urls_are_refused_with_a_next_step() {
        for url in [
            "",
            "store",
            "./store",
            "file:store",
            "file:/srv",
            "file://host/srv",
            "file://localhostess/srv",
            "file:///%2",
            "file:///%ff",
            "file:///a%00",
            "memory:x",
            "redis://x",
            "s3://bucket",
            "gs://bucket",
        ] {
            let error = url.parse::<Location>().expect_err(url).to_string();
            assert!(error.contains("file:///absolute/path"), "{error}");
        }
        let error = "s3://bucket/prefix".parse::<Location>().unwrap_err();
        assert!(matches!(&error, StoreError::NotBuiltIn { scheme, .. } if scheme == "s3"));
        insta::assert_snapshot!(
            error,
            @"`s3://bucket/prefix` needs support for s3 stores, which is not built in; use file:///absolute/path for now"
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_default_root_follows_the_environment() {
        use Platform::{MacOs, Unix, Windows};
        type Environment = &'static [(&'static str, &'static str)];
        let cases: [(Platform, Environment, Option<&str>); 9] = [
            (Unix, &[("XDG_DATA_HOME", "/data"), ("HOME", "/home/a")], Some("/data/plimsoll")),
            (Unix, &[("HOME", "/home/a")], Some("/home/a/.local/share/plimsoll")),
            (Unix, &[("XDG_DATA_HOME", ""), ("HOME", "/home/a")], Some("/home/a/.local/share/plimsoll")),
            (Unix, &[("XDG_DATA_HOME", "data"), ("HOME", "/home/a")], Some("/home/a/.local/share/plimsoll")),
            (Unix, &[("HOME", "home")], None),
            (Unix, &[], None),
            (MacOs, &[("HOME", "/Users/a")], Some("/Users/a/Library/Application Support/plimsoll")),
            (MacOs, &[("XDG_DATA_HOME", "/data"), ("HOME", "/Users/a")], Some("/data/plimsoll")),
            (Windows, &[("HOME", "/home/a")], None),
        ];
        for (platform, environment, expected) in cases {
            let lookup = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
            let root = Store::default_root(platform, lookup).ok();
            assert_eq!(root.as_deref(), expected.map(Path::new), "{platform:?} {environment:?}");
        }
    }
}
