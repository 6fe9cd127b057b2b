//! The seam between one agent's protocol and everything that is the same for all: a driver translates, and does nothing.
//!
//! A [`Driver`] is a state machine without effects. It is handed what was read and what is wanted, and answers with
//! [`Step`]s: lines to write, events to report, the end of a turn. It starts no process, reads no clock and keeps no
//! queue: which input goes when, that a command gets a turn of its own, that an unknown one is never sent, and what a
//! run comes to, is decided once, for all drivers, in `conversation.rs`; the process is `talk.rs`'s affair. So a
//! driver is tested with recorded lines alone.

use std::ffi::OsString;
use std::time::Duration;

use plimsoll::command::{Command, Commands};
use serde_json::value::RawValue;

use crate::error::AgentError;
use crate::event::{EventKind, Usage};
use crate::outcome::{Exit, Stop};
pub use crate::probe::Capabilities;
use crate::request::{AgentSession, Input, Request};

/// How a program is started for one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// Its arguments. They are public: never a prompt, never a secret.
    pub arguments: Vec<OsString>,
    /// Variables set for it, beside the request's.
    pub environment: Vec<(OsString, OsString)>,
}

/// Which session a run goes on with, or begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thread {
    /// A new one, whose id the agent chooses.
    New,
    /// A new one of this id, if the agent lets the host choose ([`Driver::takes_id`]).
    NewAs(AgentSession),
    /// The one of this id.
    Resume(AgentSession),
}

/// What a driver wants done, in order.
#[derive(Debug)]
#[non_exhaustive]
pub enum Step {
    /// Write a line; the line break is added.
    Write(String),
    /// Close standard input once everything is written: the program reads it to its end before it begins.
    Shut,
    /// Report an event of the conversation. [`Started`](EventKind::Started) and [`Commands`](EventKind::Commands) may be
    /// said again and again: what says nothing new is not reported.
    Event(EventKind),
    /// Report an event of a subagent, under the tool call that it works for.
    EventWithin(String, EventKind),
    /// The agent takes input now. Its commands, if it says at this point; the event is reported for it.
    Ready(Option<Commands>),
    /// Call [`Driver::waited`] after this long. A later one takes its place.
    Wait(Duration),
    /// What the message of this id used until now; said again, it is the same usage. Without an id it is further usage.
    Usage(Option<String>, Usage),
    /// How many tokens the context can hold.
    Window(plimsoll::Tokens),
    /// What fills the context now, or that it is unknown; and the window, if it is known.
    Context {
        /// Tokens in the context.
        used: Option<plimsoll::Tokens>,
        /// Tokens that it can hold.
        window: Option<plimsoll::Tokens>,
    },
    /// The turn that was begun last is over.
    TurnEnded(TurnEnd),
    /// A record of a kind that the driver does not know: counted, and passed on raw.
    Unknown(String),
    /// The run cannot go on.
    Fail(AgentError),
}

/// How a turn ended.
#[derive(Debug)]
pub struct TurnEnd {
    /// What was said, if the protocol says it at the end. None: the pieces of [`EventKind::Text`] are it.
    pub text: Option<String>,
    /// Why it ended.
    pub stop: Stop,
    /// What the turn used in all, if the protocol says: it counts where it is more than what the messages said.
    pub usage: Option<Usage>,
    /// Why it failed, if it did.
    pub error: Option<AgentError>,
}

/// A line that a program wrote: JSON, whatever it says.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The line.
    pub json: &'a RawValue,
    /// Where it begins in the output, in bytes.
    pub offset: u64,
}

/// What a host answers to a request for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The tool may run, as asked.
    Allow,
    /// It may not; the reason is told to the model where the protocol can carry it (Claude Code's can).
    Deny {
        /// The reason.
        reason: String,
    },
}

/// A process that ended, for its driver to say why.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// How it ended.
    pub exit: Exit,
    /// The last of what it wrote to standard error.
    pub stderr: &'a str,
    /// Whether it wrote any record.
    pub spoke: bool,
}

/// One agent's protocol. See the [module](self).
pub trait Driver: Send {
    /// Says how the program is started. Nothing is asked of a version that it does not have.
    ///
    /// # Errors
    /// [`AgentError::Unsupported`] or [`AgentError::FlagRejected`], with what would work instead.
    fn launch(&mut self, request: &Request, thread: &Thread, can: &Capabilities) -> Result<Launch, AgentError>;

    /// Says what `--help` must be asked for to know what the program takes; none if its help is not looked at.
    fn help(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Says whether the host may choose the id of a new session.
    fn takes_id(&self) -> bool {
        false
    }

    /// Names the commands that the protocol itself has, whether or not the program reports them.
    fn offers(&self, command: &Command) -> bool {
        let _ = command;
        false
    }

    /// Says why a command that the agent has cannot be given in this form; none if it can. It is asked before anything is
    /// sent.
    fn refuses(&self, command: &Command) -> Option<AgentError> {
        let _ = command;
        None
    }

    /// The process runs: greets it. Ends, now or later, in [`Step::Ready`].
    fn start(&mut self) -> Vec<Step>;

    /// A wait that was asked for by [`Step::Wait`] is over.
    fn waited(&mut self) -> Vec<Step> {
        Vec::new()
    }

    /// Takes a record.
    fn record(&mut self, record: Record<'_>, steps: &mut Vec<Step>);

    /// Begins a turn. It is only called when the agent is ready and no turn is under way.
    fn turn(&mut self, input: &Input) -> Vec<Step>;

    /// Answers a request for approval.
    ///
    /// # Errors
    /// [`AgentError::NoApproval`] if none of this id is open.
    fn respond(&mut self, approval: &str, decision: &Decision) -> Result<Vec<Step>, AgentError>;

    /// Asks the agent to stop the turn under way, if the protocol has a way; nothing otherwise.
    fn interrupt(&mut self) -> Vec<Step>;

    /// Asks for another model from the next turn on.
    ///
    /// # Errors
    /// [`AgentError::Unsupported`] if the protocol cannot.
    fn set_model(&mut self, model: &str) -> Result<Vec<Step>, AgentError>;

    /// Everything is said: what is still to be written before standard input is closed.
    fn close(&mut self) -> Vec<Step> {
        Vec::new()
    }

    /// Says why a process ended before its turn did, if it can tell from what it left.
    fn explain(&self, ended: &Ended<'_>) -> Option<AgentError>;
}
