//! From what was typed to what can be run: inputs are read, formats, counters and windows settled.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use plimsoll::Bytes;
use plimsoll::wire::{Format, ParseOptions};
use plimsoll_engine::Input;
use plimsoll_store::{Location, Platform, Store};

use crate::args::{Global, Reading};

/// How a command ended, when it did not fail with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// Done, or nothing had to be done.
    Yes,
    /// Done as far as it goes, but the answer is a failure.
    Failed,
    /// It cannot fit.
    Infeasible,
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        match done {
            Done::Yes => Self::SUCCESS,
            Done::Failed => Self::from(1),
            Done::Infeasible => Self::from(3),
        }
    }
}

/// The command line asked for something that cannot be: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Reads a file, or standard input for `-` or none.
pub(crate) fn input(file: Option<&Path>, limit: Bytes) -> Result<Input> {
    match file {
        Some(path) if path != Path::new("-") => Ok(Input::read(path, limit)?),
        _ => Ok(Input::standard(limit)?),
    }
}

/// How an input is called in messages.
pub(crate) fn input_name(file: Option<&Path>) -> String {
    match file {
        Some(path) if path != Path::new("-") => path.display().to_string(),
        _ => "standard input".to_owned(),
    }
}

/// The options that a transcript is parsed with.
pub(crate) fn parse_options(reading: &Reading) -> Result<ParseOptions> {
    let format = match &reading.format {
        Some(name) => Some(name.parse::<Format>().map_err(|error| Usage(error.to_string()))?),
        None => None,
    };
    Ok(ParseOptions::default().with_format(format).with_max_bytes(limit(reading)))
}

/// The largest input taken.
pub(crate) fn limit(reading: &Reading) -> Bytes {
    Bytes(reading.max_size.saturating_mul(1 << 20))
}

/// Where a result goes: never over the input, unless that was asked for.
pub(crate) fn output_path(output: Option<&PathBuf>, input: Option<&Path>) -> Result<Option<PathBuf>> {
    let Some(output) = output.filter(|path| path.as_path() != Path::new("-")) else {
        return Ok(None);
    };
    let same = |a: &Path, b: &Path| {
        let (a, b) = (std::fs::canonicalize(a), std::fs::canonicalize(b));
        matches!((a, b), (Ok(a), Ok(b)) if a == b)
    };
    if input.is_some_and(|input| same(input, output)) {
        return Err(
            Usage(format!("the output {} is the input; use --in-place to change it", output.display())).into()
        );
    }
    Ok(Some(output.clone()))
}

/// Adds the input's name to an error about it.
pub(crate) trait About<T> {
    fn about(self, name: &str) -> Result<T>;
}

impl<T, E: Into<anyhow::Error>> About<T> for Result<T, E> {
    fn about(self, name: &str) -> Result<T> {
        self.map_err(Into::into).with_context(|| name.to_owned())
    }
}

/// Opens the store that the command line, the environment or the platform names.
pub(crate) fn open_store(global: &Global) -> Result<Store> {
    let location = match &global.store {
        Some(url) => url.parse::<Location>().map_err(|error| Usage(format!("--store: {error}")))?,
        None => Location::Local(Store::default_root(Platform::CURRENT, |name| std::env::var_os(name))?),
    };
    Ok(Store::open(&location, |name| std::env::var_os(name))?)
}
