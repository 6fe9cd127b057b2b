//! Drives agent programs as child processes: prompts and slash commands in, neutral events out.
//!
//! A [`Request`] says what is asked of which [`Agent`], [`start`] makes a [`Run`] of it, a run gives [`Event`]s and, at
//! the end, an [`Outcome`]. A command is a value and gets a turn of its own; words are a [`Prompt`] and are never run.
//!
//! ```no_run
//! use plimsoll::command::Command;
//! use plimsoll_agent::{Agent, Environment, Host, Prompt, Request, start};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut environment = Environment::reduced(std::env::vars_os());
//! environment.allow("ANTHROPIC_API_KEY");
//! let request = Request::new(Agent::Claude, Prompt::new("What is in this folder?")?, "/srv/project", environment);
//! let run = start(request, &Host::default()).await?;
//! // It waits until the answer is complete.
//! run.send(Command::compact("keep the file names")).await?;
//! let outcome = run.finish().await?;
//! println!("{}", outcome.text);
//! # Ok(())
//! # }
//! ```

mod acp;
mod agent;
mod claude;
mod codex;
mod conversation;
pub mod driver;
mod environment;
mod error;
mod event;
mod find;
mod json;
mod lines;
mod outcome;
mod probe;
mod process;
#[cfg(test)]
mod recorded;
mod request;
mod rpc;
mod run;
mod session;
mod start;
mod tail;
mod talk;
mod tally;
mod watch;

pub use agent::{Agent, UnknownAgent};
pub use driver::Decision;
pub use environment::Environment;
pub use error::{AgentError, Failed, RequestError};
pub use event::{Event, EventKind, MAX_TEXT, Usage};
pub use outcome::{Exit, Outcome, Stop, Unparsed};
pub use probe::{Installed, installed};
pub use request::{AgentSession, Approvals, Input, MAX_LINE, Permission, Prompt, Request};
pub use run::Run;
pub use session::{Lease, SessionRecord, Sessions};
pub use start::{Host, start, start_with};
pub use watch::watch;
