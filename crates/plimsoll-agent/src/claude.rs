//! Claude Code: JSON lines in both directions (`-p --input-format stream-json --output-format stream-json`).
//!
//! The program is asked for its commands by a control request before anything goes to a model. A turn is one user
//! record, and ends with one `result` record, whose `is_error` says whether it failed. Recorded with 2.1.197.

mod control;
mod records;
mod stream;
mod trouble;

use plimsoll::command::Commands;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::driver::{Decision, Driver, Ended, Launch, Record, Step, Thread};
use crate::error::AgentError;

use crate::probe::Capabilities;
use crate::request::{AgentSession, Approvals, Input, Permission, Request};

use control::Controls;
use stream::Streams;

/// The state of one run's protocol.
#[derive(Debug, Default)]
pub(crate) struct Claude {
    /// The session that the run is in, as far as it is known.
    session: Option<AgentSession>,
    version: Option<String>,
    model: Option<String>,
    instructions: Option<String>,
    /// What the answer to `initialize` named, without saying which are skills.
    listed: Vec<String>,
    controls: Controls,
    streams: Streams,
    /// A compaction is done; how large the context was and is comes in a record of its own.
    compacted: bool,
    /// The context's size is not what the last answer said any more.
    stale_context: bool,
}

impl Claude {
    fn begin(&mut self, request: &Request, thread: &Thread, can: &Capabilities) {
        self.session = match thread {
            Thread::New => None,
            Thread::NewAs(id) | Thread::Resume(id) => Some(id.clone()),
        };
        self.version = can.version().map(str::to_owned);
        self.model.clone_from(&request.model);
        self.instructions.clone_from(&request.instructions);
    }
}

impl Driver for Claude {
    fn launch(&mut self, request: &Request, thread: &Thread, can: &Capabilities) -> Result<Launch, AgentError> {
        self.begin(request, thread, can);
        let mut launch = Launch::default();
        let mut add = |arguments: &[&str]| launch.arguments.extend(arguments.iter().map(Into::into));
        add(&["-p", "--output-format", "stream-json", "--verbose", "--input-format", "stream-json"]);
        if !can.takes("--input-format") {
            return Err(AgentError::FlagRejected {
                agent: Agent::Claude,
                version: self.version.clone(),
                flag: "--input-format".to_owned(),
                instead: "it needs 2.0 or later".to_owned(),
            });
        }
        if can.takes("--include-partial-messages") {
            add(&["--include-partial-messages"]);
        }
        if request.approvals == Approvals::Ask {
            // Not in --help. Where it is unknown the program says so and ends.
            add(&["--permission-prompt-tool", "stdio"]);
        }
        match thread {
            Thread::New => {}
            Thread::NewAs(id) => add(&["--session-id", id.as_str()]),
            Thread::Resume(id) => add(&["--resume", id.as_str()]),
        }
        if let Some(model) = &request.model {
            add(&["--model", model]);
        }
        let mode = match request.permission {
            Permission::Default => None,
            Permission::Plan => Some("plan"),
            Permission::AcceptEdits => Some("acceptEdits"),
            Permission::Bypass => Some("bypassPermissions"),
        };
        if let Some(mode) = mode {
            if !can.mentions(mode) {
                return Err(AgentError::FlagRejected {
                    agent: Agent::Claude,
                    version: self.version.clone(),
                    flag: format!("--permission-mode {mode}"),
                    instead: "leave the permission mode to its own settings".to_owned(),
                });
            }
            add(&["--permission-mode", mode]);
        }
        Ok(launch)
    }

    fn help(&self) -> Option<&'static [&'static str]> {
        Some(&["--help"])
    }

    fn takes_id(&self) -> bool {
        true
    }

    fn start(&mut self) -> Vec<Step> {
        let mut request = json!({ "subtype": "initialize" });
        if let (Some(instructions), Some(object)) = (self.instructions.take(), request.as_object_mut()) {
            object.insert("appendSystemPrompt".to_owned(), Value::String(instructions));
        }
        vec![Step::Write(self.controls.ask("initialize", &request))]
    }

    fn record(&mut self, record: Record<'_>, steps: &mut Vec<Step>) {
        let Ok(value) = serde_json::from_str::<Value>(record.json.get()) else {
            steps.push(Step::Unknown(String::new()));
            return;
        };
        self.take(value, steps);
    }

    fn turn(&mut self, input: &Input) -> Vec<Step> {
        let text = match input {
            Input::Prompt(prompt) => prompt.as_str().to_owned(),
            Input::Command(command) => command.wire(),
        };
        self.compacted = false;
        let message = json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
        let session = self.session.as_ref().map_or("", AgentSession::as_str);
        let user = json!({
            "type": "user", "message": message, "parent_tool_use_id": null, "session_id": session,
        });
        vec![Step::Write(user.to_string())]
    }

    fn respond(&mut self, approval: &str, decision: &Decision) -> Result<Vec<Step>, AgentError> {
        self.controls.answer(approval, decision).map(|line| vec![Step::Write(line)])
    }

    fn interrupt(&mut self) -> Vec<Step> {
        vec![Step::Write(self.controls.ask("interrupt", &json!({ "subtype": "interrupt" })))]
    }

    fn set_model(&mut self, model: &str) -> Result<Vec<Step>, AgentError> {
        let request = json!({ "subtype": "set_model", "model": model });
        Ok(vec![Step::Write(self.controls.ask("set_model", &request))])
    }

    fn close(&mut self) -> Vec<Step> {
        if !self.stale_context {
            return Vec::new();
        }
        let request = json!({ "subtype": "get_context_usage" });
        vec![Step::Write(self.controls.ask("get_context_usage", &request))]
    }

    fn explain(&self, ended: &Ended<'_>) -> Option<AgentError> {
        let session = || self.session.as_ref().map_or_else(String::new, ToString::to_string);
        if let Some((_, rest)) = ended.stderr.split_once("unknown option '") {
            return Some(AgentError::FlagRejected {
                agent: Agent::Claude,
                version: self.version.clone(),
                flag: rest.split('\'').next().unwrap_or(rest).to_owned(),
                instead: "a newer version may; without what asked for it this one works".to_owned(),
            });
        }
        if ended.stderr.contains("No conversation found") {
            return Some(AgentError::NoSession { agent: Agent::Claude, session: session() });
        }
        if ended.stderr.contains("is already in use") {
            let conflict = "is already in use; resume it instead of beginning it anew".to_owned();
            return Some(AgentError::SessionConflict { session: session(), conflict });
        }
        trouble::login_or_limit(ended.stderr, None)
    }
}

/// The catalogue of what two records named.
fn catalogue(listed: &[String], named: &[String], skills: &[String]) -> Commands {
    Commands::new(listed.iter().chain(named), skills)
}

#[cfg(test)]
mod tests;
