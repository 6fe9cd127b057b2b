//! `plimsoll hook`: answers an agent program's hook. It never stands in its way: whatever goes wrong, it exits with 0,
//! prints nothing on standard output, and adds a line to the log.

#![expect(clippy::doc_markdown, reason = "some of these comments are what --help prints")]

use std::any::Any;
use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Result, anyhow};
use clap::Args;
use plimsoll::cap::Shape;
use plimsoll_engine::hook::{HookAnswer, HookEvent, HookSetup, LARGEST_INPUT, answer, log, log_path};
use plimsoll_store::{Location, Store};

use crate::args::Global;
use crate::resolve::{catalogue_files, config, location, sentence, store_of, store_or_closed};

/// Answer a hook of an agent program
///
/// Reads what the program says of the event on standard input, as JSON, and prints what it is answered, if anything.
/// Events: PostToolUse (long results are capped), PreCompact (the session file is archived), SessionStart (after a
/// compaction: what can be recalled), statusline. Whatever goes wrong: exit code 0, nothing on standard output, a line
/// in the log.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll hook PostToolUse < event.json")]
pub(crate) struct HookArgs {
    /// What happened
    #[arg(value_name = "EVENT")]
    pub(crate) event: String,
}

pub(crate) fn run(arguments: HookArgs, global: Global) -> ExitCode {
    let name = arguments.event;
    let event = match name.parse::<HookEvent>() {
        Ok(event) => event,
        Err(fault) => return note(&global, &name, &fault.to_string()),
    };
    let (global, place) = (global.clone(), global);
    let (said, answered) = mpsc::channel();
    // The work has a thread of its own, so that it can be given up: what it was writing is whole or not there.
    std::panic::set_hook(Box::new(|_| {}));
    let work = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(event, &global)));
        let outcome = outcome.unwrap_or_else(|panic| Err(anyhow!("it panicked: {}", words(&*panic))));
        // Nobody listens any more if it took too long.
        let _ = said.send(outcome.map_err(|error| sentence(&error)));
    };
    if let Err(error) = thread::Builder::new().name("hook".to_owned()).spawn(work) {
        return note(&place, &name, &format!("no thread: {error}"));
    }
    match answered.recv_timeout(Duration::from_secs(event.seconds())) {
        Ok(Ok(answer)) => {
            // A program that has stopped listening has its reasons.
            let mut out = io::stdout().lock();
            let _ = out.write_all(&answer.output).and_then(|()| out.flush());
            match answer.warning {
                Some(warning) => note(&place, &name, &warning),
                None => ExitCode::SUCCESS,
            }
        }
        Ok(Err(fault)) => note(&place, &name, &fault),
        Err(_) => note(&place, &name, &format!("given up after {} seconds", event.seconds())),
    }
}

fn work(event: HookEvent, global: &Global) -> Result<HookAnswer> {
    let config = config(global)?;
    // A result is capped also where it cannot be stored, and says so; the other events have nothing to say then.
    let store = match event {
        HookEvent::PostToolUse => store_or_closed(&config),
        HookEvent::StatusLine => Store::closed("a status line needs no store"),
        _ if matches!(location(&config)?, Location::Memory) => {
            return Err(anyhow!(
                "a store in memory ends with the hook: give it a file:///… with PLIMSOLL_STORE or store.url"
            ));
        }
        _ => store_of(&config)?,
    };
    let mut input = Vec::new();
    io::stdin().lock().take(LARGEST_INPUT.0 + 1).read_to_end(&mut input)?;
    if input.len() as u64 > LARGEST_INPUT.0 {
        return Err(anyhow!("the input is over {LARGEST_INPUT}"));
    }
    let shape = if config.classic() { Shape::Classic } else { Shape::Default };
    let policy = config.policy();
    let (catalogue, now) = (catalogue_files(global), SystemTime::now());
    let setup = HookSetup { store: &store, cap: config.cap(), shape, policy, catalogue, now };
    Ok(answer(event, &input, &setup)?)
}

/// Adds a line to the log. Where that cannot be done nobody can be told.
fn note(global: &Global, event: &str, message: &str) -> ExitCode {
    let configured = config(global).ok().and_then(|config| config.log().map(PathBuf::from));
    // Also a configuration with a mistake in it must not hide where that is written down.
    let given = || global.log.clone().or_else(|| std::env::var("PLIMSOLL_LOG").ok()).map(PathBuf::from);
    let place = configured.or_else(given).or_else(|| log_path(|name| std::env::var_os(name)));
    if let Some(place) = place {
        let event: String = event.chars().take(60).collect();
        let _ = log(&place, SystemTime::now(), &format!("hook {event}: {message}"));
    }
    ExitCode::SUCCESS
}

/// A command line that cannot be read, in a place where that must not hurt: an exit code of 2 would stop the agent.
pub(crate) fn unreadable(error: &clap::Error) -> ExitCode {
    let global = Global { store: None, config: None, log: None, color: crate::args::ColorWhen::Never };
    let text = error.to_string();
    let _ = io::stderr().write_all(text.as_bytes());
    note(&global, "?", text.lines().next().unwrap_or_default())
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
