//! The Agent Client Protocol: JSON-RPC over lines, spoken by Gemini CLI, Goose, OpenCode and others.
//!
//! The host offers neither files nor terminals: agents that are denied them use their own. A command travels as the text
//! of a prompt, which is why only one that the agent advertises is sent at all. Agents advertise them a moment after the
//! session is there, so a run that begins with a command waits for that. Protocol version 1, recorded with OpenCode
//! 1.18.33 and Gemini CLI 0.61.0.

mod calls;
mod failure;
mod permission;
mod settings;
mod turn;
mod updates;

use std::time::Duration;

use plimsoll::Tokens;
use plimsoll::command::{Command, Commands, Compaction};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::driver::{Decision, Driver, Ended, Launch, Record, Step, Thread};
use crate::error::AgentError;
use crate::event::EventKind;
use crate::json::{owned, text};
use crate::outcome::Stop;
use crate::probe::Capabilities;
use crate::request::{AgentSession, Approvals, Input, Permission, Request};
use crate::rpc::{self, Message, Rpc, RpcError};

use calls::Calls;
use permission::Options;
use turn::{Before, Turn};

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;
/// How long an agent may take to say which commands it has, once its session is there.
const ADVERTISING: Duration = Duration::from_secs(10);
/// How long after a session was loaded its past may still be told.
const TELLING: Duration = Duration::from_secs(5);

/// What a request of ours was about. The number is the turn's, so that a late answer does not end a later turn.
#[derive(Debug)]
enum Asked {
    Initialize,
    Open,
    /// A setting, and what it sets, in words.
    Setting(String),
    /// The same in a run under way, where nothing waits for it.
    Later,
    Prompt(u64),
}

/// The state of one run's protocol.
#[derive(Debug)]
pub(crate) struct Acp {
    agent: Agent,
    rpc: Rpc<Asked, Options>,
    version: Option<String>,
    cwd: Value,
    resume: Option<AgentSession>,
    permission: Permission,
    approvals: Approvals,
    /// What the request wants of the session before its first turn.
    model: Option<String>,
    /// The first turn is a command, which cannot be judged before the agent's are known; or the session's past may still
    /// be told.
    waits_for_commands: bool,
    session: Option<AgentSession>,
    /// A new session that was not told yet: before its first turn some agents do not keep it.
    untold: Option<EventKind>,
    /// What the session was opened with: its modes, models and options.
    opened: Value,
    /// Settings that are not answered yet.
    unsettled: usize,
    /// The agent says again what was said in earlier runs.
    replaying: bool,
    is_ready: bool,
    /// Commands that the agent has and does not advertise.
    unlisted: &'static [&'static str],
    commands: Option<Commands>,
    turns: u64,
    turn: Option<Turn>,
    context: Option<Tokens>,
    calls: Calls,
}

impl Acp {
    pub(crate) fn new(agent: Agent) -> Self {
        Self {
            agent,
            rpc: Rpc::new(true),
            version: None,
            cwd: Value::Null,
            resume: None,
            permission: Permission::Default,
            approvals: Approvals::Deny,
            model: None,
            waits_for_commands: false,
            session: None,
            untold: None,
            opened: Value::Null,
            unsettled: 0,
            replaying: false,
            is_ready: false,
            unlisted: &[],
            commands: None,
            turns: 0,
            turn: None,
            context: None,
            calls: Calls::default(),
        }
    }
}

impl Driver for Acp {
    fn launch(&mut self, request: &Request, thread: &Thread, can: &Capabilities) -> Result<Launch, AgentError> {
        self.version = can.version().map(str::to_owned);
        if request.instructions.is_some() {
            return Err(self.unsupported("add text to its system prompt", "say it in the prompt"));
        }
        let arguments: &[&str] = match self.agent {
            Agent::Gemini if can.takes("--acp") || can.is_silent() => &["--acp"],
            Agent::Gemini if can.takes("--experimental-acp") => &["--experimental-acp"],
            Agent::Gemini => {
                return Err(AgentError::FlagRejected {
                    agent: self.agent,
                    version: self.version.clone(),
                    flag: "--acp".to_owned(),
                    instead: "it needs 0.2 or later".to_owned(),
                });
            }
            Agent::Goose | Agent::OpenCode => &["acp"],
            // How it is told to speak the protocol, the request says.
            _ => &[],
        };
        self.cwd = request.cwd.to_string_lossy().into();
        self.resume = match thread {
            Thread::New | Thread::NewAs(_) => None,
            Thread::Resume(id) => Some(id.clone()),
        };
        self.permission = request.permission;
        self.approvals = request.approvals;
        self.model.clone_from(&request.model);
        self.waits_for_commands = matches!(request.input, Input::Command(_));
        let arguments = arguments.iter().map(Into::into).collect();
        Ok(Launch { arguments, ..Launch::default() })
    }

    fn help(&self) -> Option<&'static [&'static str]> {
        match self.agent {
            Agent::Gemini => Some(&["--help"]),
            // They have had the one way to be told all along.
            _ => None,
        }
    }

    fn start(&mut self) -> Vec<Step> {
        let params = json!({
            "protocolVersion": VERSION,
            "clientInfo": { "name": "plimsoll", "title": "Plimsoll", "version": env!("CARGO_PKG_VERSION") },
            "clientCapabilities": {
                "fs": { "readTextFile": false, "writeTextFile": false },
                "terminal": false,
                "session": { "compaction": {} },
            },
        });
        vec![Step::Write(self.rpc.ask(Asked::Initialize, "initialize", &params))]
    }

    fn waited(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        // It advertised nothing: then it has none.
        self.waits_for_commands = false;
        self.ready_if_settled(&mut steps);
        steps
    }

    fn record(&mut self, record: Record<'_>, steps: &mut Vec<Step>) {
        let Ok(message) = serde_json::from_str::<Value>(record.json.get()) else {
            steps.push(Step::Unknown(String::new()));
            return;
        };
        let name = rpc::name(&message);
        match self.rpc.read(message) {
            Message::Answer(asked, answer) => self.answered(asked, answer, steps),
            Message::Request { id, method, params } => self.asked(id, &method, params, steps),
            Message::Notification { method, params } if method == "session/update" => {
                self.update(params, record, steps);
            }
            Message::Notification { .. } | Message::Stray => steps.push(Step::Unknown(name)),
        }
    }

    fn turn(&mut self, input: &Input) -> Vec<Step> {
        self.turns += 1;
        let mut turn = Turn::default();
        let mut steps: Vec<Step> = self.untold.take().map(Step::Event).into_iter().collect();
        let text = match input {
            Input::Prompt(prompt) => prompt.as_str().to_owned(),
            Input::Command(command) => {
                if let Command::Compact { .. } = command {
                    turn.compaction = Some(Before(self.context));
                }
                command.wire()
            }
        };
        let session = self.session.as_ref().map_or("", AgentSession::as_str);
        let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        steps.push(Step::Write(self.rpc.ask(Asked::Prompt(self.turns), "session/prompt", &params)));
        if turn.compaction.is_some() {
            steps.push(Step::Event(EventKind::Compaction(Compaction::Started)));
        }
        self.turn = Some(turn);
        steps
    }

    fn respond(&mut self, approval: &str, decision: &Decision) -> Result<Vec<Step>, AgentError> {
        let (id, options) = self.rpc.take(approval)?;
        Ok(vec![Step::Write(self.rpc.answer(&id, &options.answer(decision)))])
    }

    fn interrupt(&mut self) -> Vec<Step> {
        // Whoever cancels owes an answer to every open request.
        let open = self.rpc.take_all();
        let mut lines: Vec<String> =
            open.iter().map(|(id, _)| self.rpc.answer(id, &permission::cancelled())).collect();
        lines.push(self.rpc.tell("session/cancel", Some(&json!({ "sessionId": self.session }))));
        lines.into_iter().map(Step::Write).collect()
    }

    fn set_model(&mut self, model: &str) -> Result<Vec<Step>, AgentError> {
        let (method, params) = settings::model(&self.opened, self.session.as_ref(), model)
            .map_err(|(what, instead)| self.unsupported(&what, &instead))?;
        Ok(vec![Step::Write(self.rpc.ask(Asked::Later, method, &params))])
    }

    fn explain(&self, ended: &Ended<'_>) -> Option<AgentError> {
        failure::ended(self.agent, ended, self.version.as_deref())
    }
}

impl Acp {
    fn answered(&mut self, asked: Asked, answer: Result<Value, RpcError>, steps: &mut Vec<Step>) {
        match (asked, answer) {
            (Asked::Initialize, Ok(said)) => self.greeted(&said, steps),
            (Asked::Open, Ok(opened)) => self.open(opened, steps),
            (Asked::Initialize | Asked::Open, Err(error)) => {
                let session = self.resume.as_ref().map(AgentSession::as_str);
                steps.push(Step::Fail(failure::of_opening(self.agent, &error, session)));
            }
            (Asked::Setting(_), Ok(_)) => {
                self.unsettled = self.unsettled.saturating_sub(1);
                self.ready_if_settled(steps);
            }
            (Asked::Setting(what), Err(error)) => {
                steps.push(Step::Fail(self.unsupported(&what, &format!("it says: {}", error.words()))));
            }
            (Asked::Prompt(number), answer) if number == self.turns && self.turn.is_some() => match answer {
                Ok(ended) => self.end(&ended, steps),
                Err(error) => {
                    let error = failure::of_request(self.agent, &error);
                    self.finish(Stop::Error, None, Some(error), steps);
                }
            },
            (Asked::Prompt(_) | Asked::Later, _) => {}
        }
    }

    fn greeted(&mut self, said: &Value, steps: &mut Vec<Step>) {
        let version = said.get("protocolVersion").and_then(Value::as_u64).unwrap_or(VERSION);
        if version != VERSION {
            let message = format!("it speaks version {version} of the protocol, and this host {VERSION}");
            steps.push(Step::Fail(AgentError::Parse { agent: self.agent, message }));
            return;
        }
        let info = said.get("agentInfo").unwrap_or(&Value::Null);
        self.version = owned(info, "version").or_else(|| self.version.take());
        // It answers `/compact` and does not say so; what it does not know, it swallows without asking a model.
        if text(info, "name") == "OpenCode" {
            self.unlisted = &["compact"];
        }
        let mut params = json!({ "cwd": self.cwd, "mcpServers": [] });
        let Some(id) = &self.resume else {
            steps.push(Step::Write(self.rpc.ask(Asked::Open, "session/new", &params)));
            return;
        };
        let can = said.get("agentCapabilities").unwrap_or(&Value::Null);
        let resumes = can.pointer("/sessionCapabilities/resume").is_some_and(|resume| !resume.is_null());
        let loads = can.get("loadSession").and_then(Value::as_bool).unwrap_or(false);
        if !resumes && !loads {
            let instead = "begin a new session; this version of it cannot go on with an old one";
            steps.push(Step::Fail(self.unsupported("resume a session", instead)));
            return;
        }
        if let Some(params) = params.as_object_mut() {
            params.insert("sessionId".to_owned(), id.as_str().into());
        }
        // Loading says everything again that was ever said; resuming does not.
        let method = if resumes { "session/resume" } else { "session/load" };
        self.replaying = !resumes;
        steps.push(Step::Write(self.rpc.ask(Asked::Open, method, &params)));
    }

    fn open(&mut self, opened: Value, steps: &mut Vec<Step>) {
        let new = self.resume.clone().map_or_else(|| AgentSession::new(text(&opened, "sessionId")), Ok);
        let Ok(session) = new else {
            let message = "a session without an id that can be one".to_owned();
            steps.push(Step::Fail(AgentError::Parse { agent: self.agent, message }));
            return;
        };
        self.session = Some(session.clone());
        self.opened = opened;
        let model = self.model.clone().or_else(|| settings::current_model(&self.opened));
        let version = self.version.clone();
        self.untold = Some(EventKind::Started { agent: self.agent, session, model, version });
        if self.resume.is_some() {
            steps.extend(self.untold.take().map(Step::Event));
        }
        if let Err(error) = self.settle(steps) {
            steps.push(Step::Fail(error));
            return;
        }
        if self.waits_for_commands {
            steps.push(Step::Wait(ADVERTISING));
        } else if self.replaying {
            // Some agents (Gemini CLI) answer first and tell the past then; their commands are the last they say of it.
            self.waits_for_commands = true;
            steps.push(Step::Wait(TELLING));
        }
        self.ready_if_settled(steps);
    }

    /// Asks for the mode and the model that the request wants.
    fn settle(&mut self, steps: &mut Vec<Step>) -> Result<(), AgentError> {
        let session = self.session.clone();
        let mode = settings::mode(&self.opened, session.as_ref(), self.permission);
        let model = self.model.take().map(|model| settings::model(&self.opened, session.as_ref(), &model));
        for (setting, what) in [(mode, "take this permission mode"), (model, "use this model")] {
            let Some(setting) = setting else { continue };
            let (method, params) = setting.map_err(|(what, instead)| self.unsupported(&what, &instead))?;
            self.unsettled += 1;
            steps.push(Step::Write(self.rpc.ask(Asked::Setting(what.to_owned()), method, &params)));
        }
        Ok(())
    }

    fn ready_if_settled(&mut self, steps: &mut Vec<Step>) {
        let is_open = self.session.is_some() && self.unsettled == 0;
        if self.is_ready || !is_open || (self.waits_for_commands && self.commands.is_none()) {
            return;
        }
        self.is_ready = true;
        self.replaying = false;
        let unlisted = (!self.unlisted.is_empty()).then(|| Commands::new(self.unlisted, [""; 0]));
        steps.push(Step::Ready(self.commands.clone().or(unlisted)));
    }

    fn unsupported(&self, what: &str, instead: &str) -> AgentError {
        AgentError::Unsupported { agent: self.agent, what: what.to_owned(), instead: instead.to_owned() }
    }
}

#[cfg(test)]
mod tests;
