//! Codex: its app server, JSON-RPC over lines without the `jsonrpc` member (`codex app-server`).
//!
//! A thread is a session. Words go by `turn/start`; `/compact` is a request of the protocol's own, which is why it never
//! reaches the model as words. There is no list of commands to ask for: those that the protocol can do are named here,
//! and what a version does not have, its server refuses without asking a model. Recorded with 0.171.0.

mod approval;
pub(crate) mod exec;
mod failure;
mod items;
mod meter;
mod notes;

use plimsoll::Tokens;
use plimsoll::command::{Command, Commands};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::driver::{Decision, Driver, Ended, Launch, Record, Step, Thread, TurnEnd};
use crate::error::AgentError;
use crate::event::EventKind;
use crate::json::{owned, text};
use crate::outcome::Stop;
use crate::probe::Capabilities;
use crate::request::{AgentSession, Approvals, Input, Permission, Request};
use crate::rpc::{self, Message, Rpc, RpcError};

use approval::Approval;
use items::Items;
use meter::{Compacting, Meters};

/// The commands that the protocol can do, each by a request of its own.
const COMMANDS: [&str; 4] = ["clear", "compact", "context", "review"];

/// What a request of ours was about. The number is the turn's, so that a late answer does not end a later turn.
#[derive(Debug)]
enum Asked {
    Initialize,
    Account,
    Thread,
    Turn(u64),
    Clear(u64),
    Keep(u64),
    Nothing,
}

/// The state of one run's protocol.
#[derive(Debug)]
pub(crate) struct Codex {
    rpc: Rpc<Asked, Approval>,
    version: Option<String>,
    /// What a thread is begun, or gone on, with.
    circumstances: Value,
    resume: Option<AgentSession>,
    approvals: Approvals,
    thread: Option<AgentSession>,
    /// A new thread that was not told yet: before its first turn there is nothing that could be resumed.
    untold: Option<EventKind>,
    /// The model from the next turn on.
    next_model: Option<String>,
    turns: u64,
    turn: Option<Turn>,
    meters: Meters,
    context: Option<Tokens>,
    window: Option<Tokens>,
    items: Items,
}

/// The turn under way.
#[derive(Debug, Default)]
struct Turn {
    /// Its id, once the server said it.
    id: Option<String>,
    /// The last whole message of the answer.
    answer: Option<String>,
    /// Whether the model said or did anything.
    spoke: bool,
    compacting: Option<Compacting>,
    compacted: bool,
}

impl Default for Codex {
    fn default() -> Self {
        Self {
            rpc: Rpc::new(false),
            version: None,
            circumstances: json!({}),
            resume: None,
            approvals: Approvals::Deny,
            thread: None,
            untold: None,
            next_model: None,
            turns: 0,
            turn: None,
            meters: Meters::default(),
            context: None,
            window: None,
            items: Items::default(),
        }
    }
}

impl Driver for Codex {
    fn launch(&mut self, request: &Request, thread: &Thread, can: &Capabilities) -> Result<Launch, AgentError> {
        self.version = can.version().map(str::to_owned);
        if !can.is_silent() && !can.mentions("app-server") {
            return Err(AgentError::FlagRejected {
                agent: Agent::Codex,
                version: self.version.clone(),
                flag: "app-server".to_owned(),
                instead: "a newer version does".to_owned(),
            });
        }
        self.resume = match thread {
            Thread::New | Thread::NewAs(_) => None,
            Thread::Resume(id) => Some(id.clone()),
        };
        self.approvals = request.approvals;
        self.circumstances = circumstances(request);
        Ok(Launch { arguments: vec!["app-server".into()], ..Launch::default() })
    }

    fn help(&self) -> Option<&'static [&'static str]> {
        Some(&["app-server", "--help"])
    }

    fn refuses(&self, command: &Command) -> Option<AgentError> {
        let unsupported = |what: &str, instead: &str| AgentError::Unsupported {
            agent: Agent::Codex,
            what: what.to_owned(),
            instead: instead.to_owned(),
        };
        match command {
            Command::Compact { instructions: Some(_) } => Some(unsupported(
                "be told how to compact: its protocol has no place for it",
                "send `/compact` alone, after a prompt that says what must be kept",
            )),
            _ => None,
        }
    }

    fn start(&mut self) -> Vec<Step> {
        let params = json!({
            "clientInfo": { "name": "plimsoll", "title": "Plimsoll", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": { "experimentalApi": false, "requestAttestation": false },
        });
        vec![Step::Write(self.rpc.ask(Asked::Initialize, "initialize", &params))]
    }

    fn record(&mut self, record: Record<'_>, steps: &mut Vec<Step>) {
        let Ok(message) = serde_json::from_str::<Value>(record.json.get()) else {
            steps.push(Step::Unknown(String::new()));
            return;
        };
        let name = rpc::name(&message);
        match self.rpc.read(message) {
            Message::Answer(asked, answer) => self.answered(asked, answer, steps),
            Message::Request { id, method, params } => self.approval(id, &method, params, steps),
            Message::Notification { method, params } => self.note(&method, params, record, steps),
            Message::Stray => steps.push(Step::Unknown(name)),
        }
    }

    fn turn(&mut self, input: &Input) -> Vec<Step> {
        self.turns += 1;
        self.turn = Some(Turn::default());
        self.items.forget();
        let number = self.turns;
        let thread = self.thread.as_ref().map_or("", AgentSession::as_str);
        match input {
            Input::Prompt(prompt) => {
                let words = json!([{ "type": "text", "text": prompt.as_str() }]);
                let mut params = json!({ "threadId": thread, "input": words });
                if let (Some(model), Some(params)) = (self.next_model.take(), params.as_object_mut()) {
                    params.insert("model".to_owned(), model.into());
                }
                vec![Step::Write(self.rpc.ask(Asked::Turn(number), "turn/start", &params))]
            }
            Input::Command(Command::Compact { .. }) => {
                let params = json!({ "threadId": thread });
                vec![Step::Write(self.rpc.ask(Asked::Turn(number), "thread/compact/start", &params))]
            }
            Input::Command(Command::Clear) => {
                let mut params = self.circumstances.clone();
                if let Some(params) = params.as_object_mut() {
                    params.insert("sessionStartSource".to_owned(), "clear".into());
                }
                vec![Step::Write(self.rpc.ask(Asked::Clear(number), "thread/start", &params))]
            }
            Input::Command(Command::Context) => self.tell_context(),
            Input::Command(command) => {
                let target = match command.arguments() {
                    Some(words) => json!({ "type": "custom", "instructions": words }),
                    None => json!({ "type": "uncommittedChanges" }),
                };
                let params = json!({ "threadId": thread, "target": target, "delivery": "inline" });
                vec![Step::Write(self.rpc.ask(Asked::Turn(number), "review/start", &params))]
            }
        }
    }

    fn respond(&mut self, approval: &str, decision: &Decision) -> Result<Vec<Step>, AgentError> {
        let (id, kept) = self.rpc.take(approval)?;
        Ok(vec![Step::Write(self.rpc.answer(&id, &kept.answer(decision)))])
    }

    fn interrupt(&mut self) -> Vec<Step> {
        let Some(turn) = self.turn.as_ref().and_then(|turn| turn.id.as_deref()) else {
            return Vec::new();
        };
        let params = json!({ "threadId": self.thread, "turnId": turn });
        vec![Step::Write(self.rpc.ask(Asked::Nothing, "turn/interrupt", &params))]
    }

    fn set_model(&mut self, model: &str) -> Result<Vec<Step>, AgentError> {
        self.next_model = Some(model.to_owned());
        Ok(Vec::new())
    }

    fn explain(&self, ended: &Ended<'_>) -> Option<AgentError> {
        failure::ended(ended, self.version.as_deref())
    }
}

impl Codex {
    fn answered(&mut self, asked: Asked, answer: Result<Value, RpcError>, steps: &mut Vec<Step>) {
        match (asked, answer) {
            (Asked::Initialize, Ok(_)) => {
                steps.push(Step::Write(self.rpc.tell("initialized", None)));
                steps.push(Step::Write(self.rpc.ask(Asked::Account, "account/read", &json!({}))));
            }
            (Asked::Initialize, Err(error)) => steps.push(Step::Fail(self.refused(&error))),
            (Asked::Account, answer) => {
                // A version that cannot be asked says it when a model is.
                let account = answer.unwrap_or_default();
                let wants = account.get("requiresOpenaiAuth").and_then(Value::as_bool).unwrap_or(false);
                if wants && account.get("account").is_none_or(Value::is_null) {
                    let message = "its provider wants an account, and there is none".to_owned();
                    steps.push(Step::Fail(AgentError::NotLoggedIn { agent: Agent::Codex, message }));
                    return;
                }
                steps.push(Step::Write(self.open_thread()));
            }
            (Asked::Thread, Ok(opened)) => {
                let resumed = self.resume.is_some();
                if self.opened(&opened, resumed, steps) {
                    if resumed {
                        self.tell(steps);
                    }
                    steps.push(Step::Ready(Some(Commands::new(COMMANDS, [""; 0]))));
                }
            }
            (Asked::Thread, Err(error)) => {
                let session = self.resume.as_ref().map(AgentSession::as_str);
                steps.push(Step::Fail(failure::of_thread(&error, session, self.version.as_deref())));
            }
            (Asked::Turn(number), answer) if number == self.turns && self.turn.is_some() => match answer {
                Ok(answer) => {
                    self.tell(steps);
                    let id = answer.get("turn").and_then(|turn| owned(turn, "id"));
                    if let (Some(turn), Some(id)) = (&mut self.turn, id) {
                        turn.id.get_or_insert(id);
                    }
                }
                Err(error) => self.end(Stop::Error, Some(self.refused(&error)), steps),
            },
            (Asked::Clear(number), answer) if number == self.turns && self.turn.is_some() => match answer {
                Ok(opened) => {
                    if self.opened(&opened, false, steps) {
                        // A thread without a turn is not kept, one with a name is.
                        let params = json!({ "threadId": self.thread, "name": "A cleared conversation" });
                        steps.push(Step::Write(self.rpc.ask(Asked::Keep(number), "thread/name/set", &params)));
                    }
                }
                Err(error) => self.end(Stop::Error, Some(self.refused(&error)), steps),
            },
            (Asked::Keep(number), answer) if number == self.turns && self.turn.is_some() => {
                let error = answer.err().map(|error| self.refused(&error));
                if error.is_none() {
                    self.tell(steps);
                    steps.push(Step::Context { used: None, window: None });
                }
                self.end(if error.is_some() { Stop::Error } else { Stop::End }, error, steps);
            }
            (Asked::Turn(_) | Asked::Clear(_) | Asked::Keep(_) | Asked::Nothing, _) => {}
        }
    }

    fn open_thread(&mut self) -> String {
        let mut params = self.circumstances.clone();
        let Some(id) = &self.resume else {
            return self.rpc.ask(Asked::Thread, "thread/start", &params);
        };
        if let Some(params) = params.as_object_mut() {
            params.insert("threadId".to_owned(), id.as_str().into());
            params.insert("excludeTurns".to_owned(), true.into());
        }
        self.rpc.ask(Asked::Thread, "thread/resume", &params)
    }

    /// A thread is there; gives whether it can be used.
    fn opened(&mut self, opened: &Value, resumed: bool, steps: &mut Vec<Step>) -> bool {
        let thread = opened.get("thread").unwrap_or(&Value::Null);
        let Ok(session) = AgentSession::new(text(thread, "id")) else {
            let message = "a thread without an id".to_owned();
            steps.push(Step::Fail(AgentError::Parse { agent: Agent::Codex, message }));
            return false;
        };
        self.thread = Some(session.clone());
        self.meters.open(session.as_str(), resumed);
        self.context = None;
        let version = owned(thread, "cliVersion").or_else(|| self.version.clone());
        let model = owned(opened, "model").or_else(|| owned(thread, "model"));
        self.untold = Some(EventKind::Started { agent: Agent::Codex, session, model, version });
        true
    }

    /// The thread can be resumed from now on: it is told, once.
    fn tell(&mut self, steps: &mut Vec<Step>) {
        steps.extend(self.untold.take().map(Step::Event));
    }

    /// The protocol tells the context's size by itself, so that nothing needs to be asked.
    fn tell_context(&mut self) -> Vec<Step> {
        let text = match (self.context, self.window) {
            (Some(used), Some(window)) => format!("The context holds {used} of {window} tokens."),
            (Some(used), None) => format!("The context holds {used} tokens."),
            (None, _) => "Codex says how large the context is when the model has answered.".to_owned(),
        };
        let mut steps = vec![Step::Event(EventKind::Text { text })];
        self.end(Stop::End, None, &mut steps);
        steps
    }

    /// The turn is over.
    fn end(&mut self, stop: Stop, error: Option<AgentError>, steps: &mut Vec<Step>) {
        let turn = self.turn.take().unwrap_or_default();
        steps.push(Step::TurnEnded(TurnEnd { text: turn.answer, stop, usage: None, error }));
    }

    fn refused(&self, error: &RpcError) -> AgentError {
        failure::of_request(error, self.version.as_deref())
    }
}

/// Codex's word for what it may do by itself; none where its own configuration says.
fn sandbox(permission: Permission) -> Option<&'static str> {
    match permission {
        Permission::Default => None,
        Permission::Plan => Some("read-only"),
        Permission::AcceptEdits => Some("workspace-write"),
        Permission::Bypass => Some("danger-full-access"),
    }
}

/// What a thread is begun with. What the request leaves to the program's own configuration is not named.
fn circumstances(request: &Request) -> Value {
    let mut params = serde_json::Map::new();
    params.insert("cwd".to_owned(), request.cwd.to_string_lossy().into());
    if let Some(model) = &request.model {
        params.insert("model".to_owned(), model.as_str().into());
    }
    if let Some(instructions) = &request.instructions {
        params.insert("developerInstructions".to_owned(), instructions.as_str().into());
    }
    if let Some(sandbox) = sandbox(request.permission) {
        params.insert("sandbox".to_owned(), sandbox.into());
    }
    // Where nobody is asked, the model is told at once what its sandbox does not allow.
    if request.approvals == Approvals::Deny || request.permission == Permission::Bypass {
        params.insert("approvalPolicy".to_owned(), "never".into());
    }
    Value::Object(params)
}

#[cfg(test)]
mod tests;
