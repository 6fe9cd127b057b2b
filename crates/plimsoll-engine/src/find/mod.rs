//! Finding the session files of agent programs: the last one of a project, or one by its id.
//!
//! `claude:last` and `codex:last` mean what the programs' own `--continue` and `resume --last` mean: the session of this
//! working directory that was written to last. No symbolic link is followed to a session: its name would say one thing
//! and its content another. Where the programs keep their files is asked as they ask it themselves: `CLAUDE_CONFIG_DIR`,
//! `CODEX_HOME`, else below the home directory.

mod claude;
mod codex;
mod in_use;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

pub use in_use::{InUse, in_use, settled};

/// The most that is read of a file to learn whose it is, in bytes: first lines hold whole system prompts and pasted
/// pictures.
const GLANCE: u64 = 1 << 26;

/// A program whose sessions are found by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        })
    }
}

/// A session as people name it: `claude:last`, `codex:last`, or by the program's own id.
///
/// ```
/// use plimsoll_engine::find::SessionName;
/// let name: SessionName = "claude:last".parse()?;
/// assert_eq!(name.to_string(), "claude:last");
/// assert!(SessionName::is_one("codex:01a22bb9") && !SessionName::is_one("session.jsonl"));
/// assert!("claude:../../secret".parse::<SessionName>().is_err());
/// # Ok::<(), plimsoll_engine::find::FindError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionName {
    /// Whose session it is.
    pub writer: Writer,
    /// Its id, or the beginning of it; `None` is the last one.
    pub id: Option<String>,
}

impl SessionName {
    /// Says whether a text is meant as such a name, rather than as a path.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("claude:") || text.starts_with("codex:")
    }
}

impl FromStr for SessionName {
    type Err = FindError;

    fn from_str(text: &str) -> Result<Self, FindError> {
        let malformed =
            || FindError::Malformed { text: text.chars().take(80).flat_map(char::escape_debug).collect() };
        let (writer, id) = match text.split_once(':') {
            Some(("claude", id)) => (Writer::Claude, id),
            Some(("codex", id)) => (Writer::Codex, id),
            _ => return Err(malformed()),
        };
        if id == "last" {
            return Ok(Self { writer, id: None });
        }
        // Ids become parts of file names: nothing else may.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if id.len() < 4 || id.len() > 128 || !id.chars().all(plain) {
            return Err(malformed());
        }
        Ok(Self { writer, id: Some(id.to_owned()) })
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.writer, self.id.as_deref().unwrap_or("last"))
    }
}

/// Why a session is not found. Each says where was looked, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// No such form.
    #[error("`{text}` names no session; write claude:last, codex:last, or the program's name and a session's id")]
    Malformed {
        /// What was given.
        text: String,
    },
    /// The environment names no place.
    #[error("where {writer} keeps its sessions is not known: set HOME, or {variable}, to an absolute path")]
    NoHome {
        /// The program.
        writer: Writer,
        /// Its own variable.
        variable: &'static str,
    },
    /// No session there.
    #[error("{writer} has no session of {}: there is none in {}; {next}", project.display(), looked.display())]
    NoSession {
        /// The program.
        writer: Writer,
        /// The working directory.
        project: PathBuf,
        /// Where was looked.
        looked: PathBuf,
        /// What to do.
        next: String,
    },
    /// No session of this id.
    #[error("{writer} has no session `{id}`: no file of that name is below {}; `{writer}:last` names the last one of \
             this directory", looked.display())]
    Unknown {
        /// The program.
        writer: Writer,
        /// The id.
        id: String,
        /// Where was looked.
        looked: PathBuf,
    },
    /// Several sessions whose id begins so.
    #[error("`{id}` begins the ids of {count} sessions, {} and {} among them; write more of it", one.display(), other.display())]
    Ambiguous {
        /// What was given.
        id: String,
        /// How many there are.
        count: usize,
        /// One of them.
        one: PathBuf,
        /// Another.
        other: PathBuf,
    },
    /// A symbolic link.
    #[error("{} is a symbolic link, and sessions are not looked for through links; name the file it leads to", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot look into {}: {source}", path.display())]
    Read {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Where the programs keep their sessions, and for which directory they are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPlaces {
    claude: Option<PathBuf>,
    codex: Option<PathBuf>,
    directory: PathBuf,
}

impl SessionPlaces {
    /// Says where to look, from what the environment holds. `directory` is the working directory, without links.
    pub fn of(lookup: impl Fn(&str) -> Option<OsString>, directory: &Path) -> Self {
        let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
        let below = |own: &str, name: &str| absolute(own).or_else(|| home.as_ref().map(|home| home.join(name)));
        Self {
            claude: below("CLAUDE_CONFIG_DIR", ".claude"),
            codex: below("CODEX_HOME", ".codex"),
            directory: directory.to_path_buf(),
        }
    }

    /// Finds the file of a session.
    ///
    /// # Errors
    /// [`FindError`] says where was looked.
    pub fn find(&self, name: &SessionName) -> Result<PathBuf, FindError> {
        let writer = name.writer;
        let (root, variable) = match writer {
            Writer::Claude => (&self.claude, "CLAUDE_CONFIG_DIR"),
            Writer::Codex => (&self.codex, "CODEX_HOME"),
        };
        let root = root.as_deref().ok_or(FindError::NoHome { writer, variable })?;
        let found = match (writer, &name.id) {
            (Writer::Claude, None) => claude::last(root, &self.directory)?,
            (Writer::Claude, Some(id)) => claude::by_id(root, id)?,
            (Writer::Codex, None) => codex::last(root, &self.directory)?,
            (Writer::Codex, Some(id)) => codex::by_id(root, id)?,
        };
        if found.link { Err(FindError::Link { path: found.path }) } else { Ok(found.path) }
    }
}

/// A file that may be a session's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    path: PathBuf,
    modified: Option<SystemTime>,
    link: bool,
}

/// Sorts candidates, the one that was written to last first. Equal times, as after a copy, are decided by name: ids and
/// names of both programs rise with time.
fn newest_first(candidates: &mut [Candidate]) {
    candidates.sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| other.path.cmp(&one.path)));
}

/// What a directory holds; nothing if it is not there.
fn listed(folder: &Path) -> Result<Vec<fs::DirEntry>, FindError> {
    let failed = |source| FindError::Read { path: folder.to_path_buf(), source };
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<Result<_, _>>().map_err(failed),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(Vec::new())
        }
        Err(error) => Err(failed(error)),
    }
}

/// The directories in a directory whose names are wanted. A link among them is refused: where it leads is not known.
fn folders(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, FindError> {
    let mut found = Vec::new();
    for entry in listed(folder)? {
        let path = entry.path();
        if !entry.file_name().to_str().is_some_and(&wanted) {
            continue;
        }
        let kind = entry.file_type().map_err(|source| FindError::Read { path: path.clone(), source })?;
        if kind.is_symlink() {
            return Err(FindError::Link { path });
        }
        if kind.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The files in a directory whose names, without `.jsonl`, are wanted.
fn sessions(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Candidate>, FindError> {
    let mut found = Vec::new();
    for entry in listed(folder)? {
        let name = entry.file_name();
        if !name.to_str().and_then(|name| name.strip_suffix(".jsonl")).is_some_and(&wanted) {
            continue;
        }
        let path = entry.path();
        // Of the link itself, where it is one. A file that is gone by now is no session.
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_file() || metadata.is_symlink() {
            found.push(Candidate { path, modified: metadata.modified().ok(), link: metadata.is_symlink() });
        }
    }
    Ok(found)
}

/// The one that was asked for by an id, or by the beginning of one.
fn only(
    mut found: Vec<(String, Candidate)>,
    writer: Writer,
    id: &str,
    looked: &Path,
) -> Result<Candidate, FindError> {
    found.sort_by(|one, other| one.1.path.cmp(&other.1.path));
    // A whole id counts before longer ones that begin with it.
    if let Some(at) = found.iter().position(|(name, _)| name == id)
        && found.iter().filter(|(name, _)| name == id).count() == 1
    {
        return Ok(found.swap_remove(at).1);
    }
    match found.as_slice() {
        [] => Err(FindError::Unknown { writer, id: id.to_owned(), looked: looked.to_path_buf() }),
        [(_, only)] => Ok(only.clone()),
        [(_, one), (_, other), ..] => Err(FindError::Ambiguous {
            id: id.to_owned(),
            count: found.len(),
            one: one.path.clone(),
            other: other.path.clone(),
        }),
    }
}

#[cfg(test)]
mod tests;
