//! Configuration: layers of settings, resolved once into a value that knows where each of its parts comes from.
//!
//! | layer, later ones win | what it is |
//! |---|---|
//! | default | what this version does by itself |
//! | system | `/etc/plimsoll/config.toml` |
//! | user | `config.toml` in the user's configuration directory |
//! | project | `.plimsoll.toml` in the working directory, or above it up to the root of the repository |
//! | environment | the variables named in [`SETTINGS`] |
//! | command line | what an option says |
//!
//! A project's file comes with the project, not from its user: it sets only what [`Setting::project`] allows. It can
//! say how results are capped there; it cannot send what is stored to another place.

mod layer;
mod load;
mod setting;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use plimsoll::budget::{Mark, Policy};
use plimsoll::{Bytes, Tokens};
use plimsoll_store::Quotas;

pub use layer::{ConfigError, Layer};
pub use load::{Places, load};
pub use setting::{SETTINGS, Setting};
pub use value::{Kind, Value, bytes};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// This version's own.
    Default,
    /// A file, with the line, counted from 1.
    File {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
    },
    /// An environment variable.
    Environment(&'static str),
    /// An option of the command line.
    CommandLine(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::CommandLine(option) => write!(f, "command line {option}"),
        }
    }
}

/// A resolved configuration: every setting has a value, and every value a source.
#[derive(Debug, Clone)]
pub struct Config {
    values: BTreeMap<&'static str, (Value, Source)>,
}

impl Default for Config {
    fn default() -> Self {
        Self::resolve([])
    }
}

impl Config {
    /// Lays layers over each other, the first lowest. What none of them sets has its default.
    ///
    /// ```
    /// use plimsoll_engine::config::{Config, Layer};
    /// let user = Layer::from_toml("[cap]\nmax_bytes = \"64 KiB\"\n", "config.toml".as_ref(), false)?;
    /// let config = Config::resolve([user]);
    /// let (value, source) = config.get("cap.max_bytes").ok_or("every setting has a value")?;
    /// assert_eq!((value.to_string().as_str(), source.to_string().as_str()), ("64.0 KiB", "config.toml:2"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolve(layers: impl IntoIterator<Item = Layer>) -> Self {
        let defaults = SETTINGS.iter().map(|setting| (setting.key, (setting.default.clone(), Source::Default)));
        let mut values: BTreeMap<_, _> = defaults.collect();
        for layer in layers {
            values.extend(layer.into_values());
        }
        Self { values }
    }

    /// Gives a setting's value and where it comes from; `None` for a key that is no setting.
    pub fn get(&self, key: &str) -> Option<(&Value, &Source)> {
        self.values.get(key).map(|(value, source)| (value, source))
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.get(key).map(|(value, _)| value)
    }

    fn text(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    fn size(&self, key: &str) -> Option<Bytes> {
        match self.value(key) {
            Some(Value::Bytes(bytes)) => Some(*bytes),
            _ => None,
        }
    }

    /// Gives the store's URL; `None` is the user's data directory.
    pub fn store(&self) -> Option<(&str, &Source)> {
        let (_, source) = self.get("store.url")?;
        Some((self.text("store.url")?, source))
    }

    /// Gives the file that events are logged to; `None` is the user's state directory.
    pub fn log(&self) -> Option<&str> {
        self.text("log.file")
    }

    /// Gives the cap of tool results, if one is set; otherwise it follows from the window, or is 128 KiB.
    pub fn cap(&self) -> Option<Bytes> {
        self.size("cap.max_bytes")
    }

    /// Says whether the classic shape of capped results is wanted.
    pub fn classic(&self) -> bool {
        self.text("cap.shape") == Some("classic")
    }

    /// Gives how much the store keeps.
    pub fn quotas(&self) -> Quotas {
        let mut quotas = Quotas::default();
        for (key, quota) in [
            ("store.max_artifact", &mut quotas.max_artifact),
            ("store.max_stream", &mut quotas.max_stream),
            ("store.max_session", &mut quotas.max_session),
            ("store.max_total", &mut quotas.max_total),
        ] {
            if let Some(Bytes(bytes)) = self.size(key) {
                *quota = bytes;
            }
        }
        quotas
    }

    /// Gives the profile of compactions.
    pub fn profile(&self) -> &str {
        self.text("compact.profile").unwrap_or("coding")
    }

    /// Gives who writes summaries, as it is named; otherwise the embedded summariser does.
    pub fn summarizer(&self) -> Option<&str> {
        self.text("compact.summarizer")
    }

    /// Gives the base address of the summariser's API.
    pub fn summarizer_url(&self) -> Option<&str> {
        self.text("compact.summarizer_url")
    }

    /// Gives the environment variable that holds the summariser's key.
    pub fn summarizer_key_env(&self) -> Option<&str> {
        self.text("compact.summarizer_key_env")
    }

    /// Gives the command that prints the summariser's key.
    pub fn summarizer_key_command(&self) -> Option<&str> {
        self.text("compact.summarizer_key_command")
    }

    /// Gives the summariser's context window.
    pub fn summarizer_window(&self) -> Option<Tokens> {
        match self.value("compact.summarizer_window") {
            Some(Value::Tokens(tokens)) => Some(*tokens),
            _ => None,
        }
    }

    /// Gives when to compact.
    pub fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        let mark = |key: &str, default: Mark| match self.value(key) {
            Some(Value::Mark(mark)) => *mark,
            _ => default,
        };
        if let Some(Value::Switch(auto)) = self.value("compact.auto") {
            policy.auto = *auto;
        }
        policy.warn = mark("compact.warn", policy.warn);
        policy.prepare = mark("compact.prepare", policy.prepare);
        policy.compact = mark("compact.compact", policy.compact);
        policy.hard = mark("compact.hard", policy.hard);
        policy.target = mark("compact.target", policy.target);
        if let Some(Value::Tokens(tokens)) = self.value("compact.reserve") {
            policy.reserve = *tokens;
        }
        policy
    }
}

#[cfg(test)]
mod tests;
