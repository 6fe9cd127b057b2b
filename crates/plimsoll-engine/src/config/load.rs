//! Finding and reading the files of a configuration: the part with effects.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Config, ConfigError, Layer};

/// The name of a project's file.
const PROJECT: &str = ".plimsoll.toml";

/// Where the files of a configuration are. A file that is not there sets nothing, unless it was named by the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The system's file.
    pub system: Option<PathBuf>,
    /// The user's file.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: Option<PathBuf>,
    /// A file named with `--config` or `PLIMSOLL_CONFIG`: it stands in for the user's and the project's.
    pub named: Option<PathBuf>,
}

impl Places {
    /// Says where to look, from what the environment holds. `directory` is the working directory.
    ///
    /// The user's file is `plimsoll/config.toml` in `$XDG_CONFIG_HOME`, else in `$HOME/.config`; on Windows in
    /// `%APPDATA%`. A project's file is looked for in the working directory and above it, up to the first directory
    /// that holds `.git`; outside of a repository, in the working directory only.
    pub fn of(lookup: impl Fn(&str) -> Option<OsString>, directory: Option<&Path>) -> Self {
        let absolute = |name: &str| lookup(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || absolute("HOME").map(|home| home.join(".config"));
        let user = if cfg!(windows) { absolute("APPDATA") } else { absolute("XDG_CONFIG_HOME").or_else(home) };
        Self {
            system: cfg!(unix).then(|| PathBuf::from("/etc/plimsoll/config.toml")),
            user: user.map(|folder| folder.join("plimsoll").join("config.toml")),
            project: directory.map(project_file),
            named: None,
        }
    }

    /// Where the user's own profiles of compaction are: the folder `profiles` beside the user's file, or beside the one
    /// that was named instead. A project has none: what shapes a summary is its user's.
    pub fn profiles(&self) -> Option<PathBuf> {
        let file = self.named.as_ref().or(self.user.as_ref())?;
        Some(file.parent()?.join("profiles"))
    }

    /// Names a file instead of the user's and the project's.
    #[must_use]
    pub fn with_named(mut self, named: Option<PathBuf>) -> Self {
        self.named = named;
        self
    }
}

fn project_file(directory: &Path) -> PathBuf {
    let root = directory.ancestors().find(|folder| folder.join(".git").exists());
    let within = directory.ancestors().take_while(|folder| root.is_some_and(|root| folder.starts_with(root)));
    within.map(|folder| folder.join(PROJECT)).find(|file| file.exists()).unwrap_or_else(|| directory.join(PROJECT))
}

/// Reads the layers and lays them over each other: files, then `environment`, then `options`.
///
/// # Errors
/// [`ConfigError`] names the file and line, or the variable.
pub fn load(places: &Places, environment: Layer, options: Layer) -> Result<Config, ConfigError> {
    let mut layers = Vec::new();
    let mut add = |path: Option<&PathBuf>, project: bool, needed: bool| {
        let Some(path) = path else { return Ok(()) };
        match fs::read_to_string(path) {
            Ok(text) => layers.push(Layer::from_toml(&text, path, project)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !needed => {}
            Err(source) => return Err(ConfigError::Read { path: path.clone(), source }),
        }
        Ok(())
    };
    add(places.system.as_ref(), false, false)?;
    if places.named.is_some() {
        add(places.named.as_ref(), false, true)?;
    } else {
        add(places.user.as_ref(), false, false)?;
        add(places.project.as_ref(), true, false)?;
    }
    layers.extend([environment, options]);
    Ok(Config::resolve(layers))
}
