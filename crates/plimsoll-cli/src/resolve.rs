//! From what was typed to what can be run: inputs are read, formats, counters and windows settled.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use plimsoll::Bytes;
use plimsoll::model::Catalogue;
use plimsoll::wire::{Format, ParseOptions};
use plimsoll_engine::config::{self, Config, Layer, Places};
use plimsoll_engine::find::{FindError, SessionName, SessionPlaces};
use plimsoll_engine::{CatalogueFiles, Input};
use plimsoll_store::{Location, Platform, Store};

use crate::args::{Global, Reading};
use crate::output::plain;

/// How a command ended, when it did not fail with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// Done, or nothing had to be done.
    Yes,
    /// Done as far as it goes, but the answer is a failure.
    Failed,
    /// It cannot fit.
    Infeasible,
    /// It asked for something that cannot be, and has said so.
    Misused,
    /// An agent could not be run at all, and it has been said why.
    NotRun,
    /// The user stopped it.
    Interrupted,
    /// A program that was run ended with this code.
    Exited(u8),
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        match done {
            Done::Yes => Self::SUCCESS,
            Done::Failed => Self::from(1),
            Done::Misused => Self::from(2),
            Done::Infeasible => Self::from(3),
            Done::NotRun => Self::from(4),
            // What a shell reports of a program that Ctrl-C ended.
            Done::Interrupted => Self::from(130),
            Done::Exited(code) => Self::from(code),
        }
    }
}

/// The command line asked for something that cannot be: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Finds the file that was named: a path, or a session as `claude:last` and `codex:ID` name it.
pub(crate) fn named(file: Option<&Path>) -> Result<Option<PathBuf>> {
    let Some(file) = file else { return Ok(None) };
    let Some(name) = file.to_str().filter(|name| SessionName::is_one(name)) else {
        return Ok(Some(file.to_path_buf()));
    };
    let name: SessionName = name.parse().map_err(|error: FindError| Usage(error.to_string()))?;
    let directory = std::env::current_dir().context("the working directory cannot be told")?;
    Ok(Some(SessionPlaces::of(|name| std::env::var_os(name), &directory).find(&name)?))
}

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

/// Reads the configuration and lays the command line over it. A mistake in it is wrong usage.
pub(crate) fn config(global: &Global) -> Result<Config> {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let loaded = Layer::from_environment(variable)
        .and_then(|environment| config::load(&places(global), environment, typed(global)?));
    loaded.map_err(|error| Usage(plain(&error.to_string())).into())
}

/// Where the files of the configuration are.
fn places(global: &Global) -> Places {
    let named = global.config.clone().or_else(|| std::env::var_os("PLIMSOLL_CONFIG").map(PathBuf::from));
    let directory = std::env::current_dir().ok();
    Places::of(|name| std::env::var_os(name), directory.as_deref())
        .with_named(named.filter(|path| !path.as_os_str().is_empty()))
}

/// Where the user's own profiles of compaction are.
pub(crate) fn profile_folder(global: &Global) -> Option<PathBuf> {
    places(global).profiles()
}

/// Where the files of the catalogue are: beside the user's configuration, or the one that was named, and in the cache.
pub(crate) fn catalogue_files(global: &Global) -> CatalogueFiles {
    let named = global.config.clone().or_else(|| std::env::var_os("PLIMSOLL_CONFIG").map(PathBuf::from));
    let places = Places::of(|name| std::env::var_os(name), None);
    let configuration = named.filter(|path| !path.as_os_str().is_empty()).or(places.user);
    CatalogueFiles::of(|name| std::env::var_os(name), configuration.as_deref())
}

/// Reads the catalogue with the user's files over it. A mistake in them is wrong usage.
pub(crate) fn catalogue(global: &Global) -> Result<Catalogue> {
    catalogue_files(global).load().map_err(|error| Usage(plain(&error.to_string())).into())
}

/// What the command line itself says of the configuration.
fn typed(global: &Global) -> Result<Layer, config::ConfigError> {
    Layer::default().with_option("store.url", "--store", global.store.as_deref())?.with_option(
        "log.file",
        "--log",
        global.log.as_deref(),
    )
}

/// The configuration without its files, and without an environment that is mistaken.
pub(crate) fn without_files(global: &Global) -> Result<Config> {
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let environment = Layer::from_environment(variable).unwrap_or_default();
    let options = typed(global).map_err(|error| Usage(plain(&error.to_string())))?;
    Ok(Config::resolve([environment, options]))
}

/// Where named sessions of agents are kept: beside what is stored, or where that would be if it is not in files.
pub(crate) fn sessions(global: &Global) -> Result<PathBuf> {
    let root = match location(&config(global)?)? {
        Location::Local(root) => root,
        _ => Store::default_root(Platform::CURRENT, |name| std::env::var_os(name))?,
    };
    Ok(root.join("sessions"))
}

/// Opens the store that the command line, the environment or the platform names.
pub(crate) fn open_store(global: &Global) -> Result<Store> {
    store_of(&config(global)?)
}

/// Opens the store of a configuration.
pub(crate) fn store_of(config: &Config) -> Result<Store> {
    Ok(Store::open(&location(config)?, |name| std::env::var_os(name))?.with_quotas(config.quotas()))
}

/// Opens the store of a configuration for what must go on without one: where it cannot be opened, or would end with
/// this process, all that is written to it is refused with the reason.
pub(crate) fn store_or_closed(config: &Config) -> Store {
    if matches!(location(config), Ok(Location::Memory)) {
        return Store::closed(
            "the store memory: ends with this process; give file:///… with --store or PLIMSOLL_STORE",
        );
    }
    store_of(config).unwrap_or_else(|error| Store::closed(sentence(&error)))
}

/// An error and its causes in one sentence. Many say their cause themselves; it is not said twice.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

/// Opens the store of a tenant of a gateway: a part of a configuration's store that nobody else reads.
pub(crate) fn tenant_store(config: &Config, tenant: Option<&str>) -> Result<Store> {
    let Some(tenant) = tenant else { return store_of(config) };
    let location = match location(config)? {
        Location::Local(root) => Location::Local(root.join("tenants").join(tenant)),
        Location::Object(place) => format!("{}/tenants/{tenant}", place.to_string().trim_end_matches('/')).parse()?,
        other => other,
    };
    Ok(Store::open(&location, |name| std::env::var_os(name))?.with_quotas(config.quotas()))
}

/// Says where a configuration's store is.
pub(crate) fn location(config: &Config) -> Result<Location> {
    match config.store() {
        Some((url, source)) => Ok(url.parse::<Location>().map_err(|error| Usage(format!("{source}: {error}")))?),
        None => Ok(Location::Local(Store::default_root(Platform::CURRENT, |name| std::env::var_os(name))?)),
    }
}
