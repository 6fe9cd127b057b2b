//! From what a user names (a URL, or nothing) to a store.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Result, StoreError};
use crate::object::Place;
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
/// | `s3://bucket/prefix` | a bucket on S3, or on a server that speaks its protocol; the prefix is taken as it is |
/// | `gs://…`, `az://…` and other schemes | refused |
///
/// ```
/// use plimsoll_store::Location;
/// assert_eq!("file:///srv/my%20store".parse::<Location>()?, Location::Local("/srv/my store".into()));
/// assert_eq!("memory:".parse::<Location>()?, Location::Memory);
/// assert_eq!("s3://bucket/prefix".parse::<Location>()?, Location::Object("s3://bucket/prefix".parse().unwrap()));
/// assert!("gs://bucket/prefix".parse::<Location>().is_err());
/// # Ok::<(), plimsoll_store::StoreError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// Files below a directory.
    Local(PathBuf),
    /// The memory of this process.
    Memory,
    /// A bucket, and a prefix in it.
    Object(Place),
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
        let refuse = |reason| StoreError::Url { url: without_user(url), reason };
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
            "s3" => url.parse().map(Self::Object).map_err(refuse),
            "gs" | "az" | "abfs" | "abfss" => {
                Err(StoreError::NotBuiltIn { url: without_user(url), scheme: scheme.to_owned() })
            }
            "http" | "https" => Err(refuse("it names a server, not a store: set AWS_ENDPOINT_URL to it")),
            _ => Err(refuse("its scheme is not known")),
        }
    }
}

/// Takes out what stands before an `@` in a URL's authority: it may be a password, and errors are shown and logged.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("//") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}//…@{host}{path}"),
        None => url.to_owned(),
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
    /// Opens a store. Nothing is read or written yet: a directory is created by the first write, a server is asked at
    /// the first call.
    ///
    /// `lookup` gives an environment variable's value, as [`std::env::var_os`] does: an object store's endpoint, region
    /// and credentials come from there (the `object` room lists the variables).
    ///
    /// ```
    /// use plimsoll_store::Store;
    /// let store = Store::open(&"file:///srv/store".parse()?, |name| std::env::var_os(name))?;
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Setting`] and [`StoreError::Remote`] if a variable, or a missing one, rules an object store out;
    /// [`StoreError::NotBuiltIn`] without the feature `s3`.
    pub fn open(location: &Location, lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        match location {
            Location::Local(root) => Ok(Self::local(root)),
            Location::Memory => Ok(Self::memory()),
            #[cfg(feature = "s3")]
            Location::Object(place) => {
                let access = crate::object::Access::from_env(lookup)?;
                Ok(Self::new(std::sync::Arc::new(crate::object::S3Store::new(place.clone(), &access)?)))
            }
            #[cfg(not(feature = "s3"))]
            Location::Object(place) => {
                let _ = lookup;
                Err(StoreError::NotBuiltIn { url: place.to_string(), scheme: "s3".to_owned() })
            }
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
            "s3://",
            "s3://bucket/a//b",
            "s3://bucket:9000/a",
            "https://s3.example.com/bucket",
            "gs://bucket",
        ] {
            let error = url.parse::<Location>().expect_err(url).to_string();
            assert!(error.contains("file:///absolute/path"), "{error}");
        }
        let error = "gs://bucket/prefix".parse::<Location>().unwrap_err();
        assert!(matches!(&error, StoreError::NotBuiltIn { scheme, .. } if scheme == "gs"));
        insta::assert_snapshot!(
            error,
            @"`gs://bucket/prefix` needs support for gs stores, which is not built in; use file:///absolute/path, or s3://bucket/prefix where the feature s3 is on"
        );
    }

    #[test]
    fn what_may_be_a_password_is_not_repeated() {
        for url in [
            "s3://AKIA:canary@bucket/p",
            "s3://canary@bucket",
            "https://user:canary@host/x",
            "gs://canary@bucket/a@b",
            "redis://x:can@ary:canary@h",
        ] {
            let error = url.parse::<Location>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
        let error = "s3://bucket/a@b//".parse::<Location>().unwrap_err().to_string();
        assert!(error.contains("s3://bucket/a@b//"), "{error}");
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
