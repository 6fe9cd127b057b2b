//! `plimsoll doctor`: looks over the set-up, and says what to do about what is not well.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Result;
use clap::Args;
use plimsoll_agent::{Agent, Environment, installed};
use plimsoll_engine::config::Places;
use plimsoll_engine::doctor::{self, Check, Examination, Level};
use plimsoll_engine::hook::log_path;
use plimsoll_engine::install::InstallPlaces;
use plimsoll_server::gateway::{ShownKey, Upstream, examine as look_over};
use serde::Serialize;

use crate::args::{Global, tokens};
use crate::output::{Output, plain, style};
use crate::resolve::{self, Done, Usage};

/// Look over the set-up, and say what to do about what is not well
///
/// Looks at the environment, the configuration, the store, the agent programs, what is installed into them, the models
/// that they are configured with, and the clock. With --upstream it looks over what a gateway would pass on to, too: whether
/// it answers, takes the key that the environment holds for it, and which
/// windows are not known. It changes nothing, and asks nobody but those and a store that is a server. Exits with 1 if
/// something does not work; a warning is no failure.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll doctor
         plimsoll doctor --upstream openai=http://127.0.0.1:11434
         plimsoll doctor --json | jq '.checks[] | select(.level == \"fail\")'")]
pub(crate) struct DoctorArgs {
    /// Look over an upstream, as `serve` would be given it; may be repeated
    #[arg(long, value_name = "NAME=URL")]
    pub(crate) upstream: Vec<String>,
    /// The window that `serve` would be given, so that unknown ones do not matter
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) window: Option<u64>,
    /// Show only what is not as it should be
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    version: &'static str,
    #[serde(flatten)]
    examination: &'a Examination,
}

pub(crate) fn run(arguments: &DoctorArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let progress = output.progress("looking");
    // Read here and not by the parser of arguments, which would print what was typed, a password in it too.
    let upstreams = arguments.upstream.iter().map(|upstream| upstream.parse::<Upstream>());
    let upstreams: Vec<Upstream> =
        upstreams.collect::<Result<_, _>>().map_err(|error| Usage(format!("--upstream NAME=URL: {error}")))?;
    let examination = examine(global, upstreams, arguments.window.is_some(), &|stage| progress.stage(stage))?;
    drop(progress);
    let ok = examination.is_well();
    if arguments.json {
        output.json(&Report { ok, version: env!("CARGO_PKG_VERSION"), examination: &examination })?;
    } else {
        output.print(&shown(&examination, arguments.quiet))?;
    }
    Ok(if ok { Done::Yes } else { Done::Failed })
}

/// Looks at everything. A further subject is a line here.
fn examine(global: &Global, upstreams: Vec<Upstream>, window: bool, stage: &dyn Fn(&str)) -> Result<Examination> {
    let mut examination = Examination::default();
    let directory = std::env::current_dir().unwrap_or_default();
    let now = SystemTime::now();
    let lookup = |name: &str| std::env::var_os(name);

    examination.extend(doctor::environment(&variables()));
    let named = global.config.clone().or_else(|| lookup("PLIMSOLL_CONFIG").map(PathBuf::from));
    let places = Places::of(lookup, Some(&directory)).with_named(named.filter(|path| !path.as_os_str().is_empty()));
    let resolved = resolve::config(global).ok();
    examination.extend(doctor::configuration(&places, resolved.as_ref()));

    stage("looking at the store");
    // With a mistaken configuration the store that it would name is not known; the default is looked at all the same.
    let config = resolved.or_else(|| resolve::without_files(global).ok()).unwrap_or_default();
    let mut newest = None;
    match resolve::location(&config) {
        Ok(location) => {
            let opened = resolve::store_of(&config);
            let seen = doctor::store(&location, opened.as_ref().map_err(|error| format!("{error:#}")));
            newest = seen.newest;
            examination.extend(seen.checks);
        }
        Err(error) => {
            let fix = "see `plimsoll config store --sources` for where it is set";
            examination.extend([Check::fail("store", format!("{error:#}"), fix)]);
        }
    }

    stage("looking for agent programs");
    examination.extend(agents(&directory));
    let installs = InstallPlaces::of(lookup, &directory);
    match std::env::current_exe() {
        Ok(program) => examination.extend(doctor::hooks(&installs, &program)),
        Err(error) => {
            let says = format!("where this program is cannot be told: {error}");
            examination.extend([Check::warn("hooks", says, "run it by its path")]);
        }
    }
    let log = config.log().map(PathBuf::from).or_else(|| log_path(lookup));
    examination.extend(doctor::log(log.as_deref(), now));
    examination.extend(doctor::models(&doctor::configured_models(&lookup), &resolve::catalogue_files(global)));
    let mut server = None;
    if !upstreams.is_empty() {
        stage("asking the upstreams");
        let key = |upstream: &Upstream| ShownKey::of(upstream, |name| std::env::var(name).ok());
        let keyed = upstreams.into_iter().map(|upstream| {
            let key = key(&upstream);
            (upstream, key)
        });
        let upstreams: Vec<_> = keyed.collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        match runtime.block_on(look_over(&upstreams, window)) {
            Ok(examined) => {
                server = examined.date;
                examination.extend(examined.checks);
            }
            Err(error) => {
                let fix = "on Debian, for example: apt-get install ca-certificates";
                examination.extend([Check::fail("upstream", error.to_string(), fix)]);
            }
        }
    }
    examination.extend(doctor::clock(SystemTime::now(), newest, server));
    Ok(examination)
}

fn variables() -> Vec<(String, String)> {
    let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// The agent programs that are installed, and their versions.
fn agents(directory: &std::path::Path) -> Vec<Check> {
    const AREA: &str = "agents";
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let environment = Environment::reduced(std::env::vars_os());
    let mut checks = Vec::new();
    for agent in Agent::ALL.into_iter().filter(|agent| agent.program().is_some()) {
        let found = runtime.block_on(installed(agent, directory, &environment));
        checks.extend(found.map(|found| {
            let path = found.path.display();
            match &found.version {
                Some(version) => Check::ok(AREA, format!("{agent} {version} is {path}")),
                None => Check::warn(
                    AREA,
                    format!("{agent} is {path}, and does not say its version"),
                    format!("see what `{path} --version` says; install it anew"),
                ),
            }
        }));
    }
    if checks.is_empty() {
        let says = "no agent program is in PATH; `plimsoll run` needs one, everything else does not";
        checks.push(Check::note(AREA, says));
    }
    checks
}

fn shown(examination: &Examination, quiet: bool) -> String {
    let (bold, dim, accent, warn, end) = (style::BOLD, style::DIM, style::ACCENT, style::WARN, style::END);
    let mut text = String::new();
    let mut area = "";
    let wanted = |check: &&Check| !quiet || matches!(check.level, Level::Warn | Level::Fail);
    for check in examination.checks.iter().filter(wanted) {
        if check.area != area {
            area = check.area;
            text.push_str(&format!("{bold}{area}{end}\n"));
        }
        let (mark, colour) = match check.level {
            Level::Ok => ("ok  ", accent),
            Level::Note => ("note", dim),
            Level::Warn => ("warn", warn),
            Level::Fail => ("FAIL", warn),
        };
        text.push_str(&format!("  {colour}{mark}{end} {}\n", plain(&check.says)));
        if let Some(fix) = &check.fix {
            text.push_str(&format!("       {dim}→{end} {}\n", plain(fix)));
        }
    }
    let (fails, warns) = (examination.count(Level::Fail), examination.count(Level::Warn));
    let all = examination.checks.len();
    text.push_str(&match (fails, warns) {
        (0, 0) => format!("{bold}all is well{end} {dim}({all} things looked at){end}\n"),
        (0, warns) => format!("{bold}it works{end}, with {warns} to look after {dim}(of {all}){end}\n"),
        (fails, warns) => format!(
            "{warn}{fails} of {all} {} not work{end}, {warns} to look after\n",
            plimsoll::plural(fails, "does", "do")
        ),
    });
    text
}
