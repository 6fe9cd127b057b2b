//! What is the same for every agent: turns one after the other, commands checked before they are sent, what a run comes to.
//!
//! Pure: it is handed records and wishes, and answers with [`Effect`]s.

use std::collections::VecDeque;
use std::time::Duration;

use plimsoll::command::{Command, Commands, Compaction};
use serde_json::value::RawValue;

use crate::agent::Agent;
use crate::driver::{Decision, Driver, Ended, Record, Step, TurnEnd};
use crate::error::AgentError;
use crate::event::{EventKind, MAX_TEXT, edge};
use crate::outcome::{Exit, Outcome, Stop};
use crate::request::{AgentSession, Input, MAX_LINE};
use crate::tally::Tally;

/// What is to be done, in order.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Write a line.
    Write(String),
    /// Close the program's input when everything is written; it goes on.
    Shut,
    /// Report an event; the subagent's call it belongs to.
    Emit(EventKind, Option<String>),
    /// The session is this one: keep it.
    Session(AgentSession),
    /// Come back after this long.
    Wait(Duration),
    /// Nothing more is to be said: close the program's input, and let it end.
    Close,
    /// It failed: stop the program.
    Stop,
}

enum Phase {
    /// Greeted; it does not take input yet.
    Starting,
    /// It waits for input.
    Idle,
    /// A turn is under way.
    Turn(Input),
    /// Nothing more is sent.
    Over,
}

#[expect(clippy::struct_excessive_bools, reason = "each says something of its own")]
pub(crate) struct Conversation {
    agent: Agent,
    driver: Box<dyn Driver>,
    phase: Phase,
    queue: VecDeque<Input>,
    commands: Option<Commands>,
    /// What was said in this turn.
    said: String,
    /// Whether this turn's compaction was said to be finished.
    compacted: bool,
    /// Whether the outcome's text answers a prompt.
    answered: bool,
    cancelled: bool,
    spoke: bool,
    tally: Tally,
    outcome: Outcome,
    error: Option<AgentError>,
}

impl Conversation {
    pub(crate) fn new(agent: Agent, driver: Box<dyn Driver>, input: Input) -> Self {
        Self {
            agent,
            driver,
            phase: Phase::Starting,
            queue: VecDeque::from([input]),
            commands: None,
            said: String::new(),
            compacted: false,
            answered: false,
            cancelled: false,
            spoke: false,
            tally: Tally::default(),
            outcome: Outcome::default(),
            error: None,
        }
    }

    /// The process runs.
    pub(crate) fn start(&mut self) -> Vec<Effect> {
        let steps = self.driver.start();
        let mut effects = Vec::new();
        self.take(steps, &mut effects);
        effects
    }

    /// The wait that the driver asked for is over.
    pub(crate) fn waited(&mut self) -> Vec<Effect> {
        let steps = self.driver.waited();
        let mut effects = Vec::new();
        self.take(steps, &mut effects);
        effects
    }

    /// Takes a line that the program wrote.
    pub(crate) fn line(&mut self, line: &[u8], offset: u64, effects: &mut Vec<Effect>) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let Ok(json) = serde_json::from_slice::<&RawValue>(line) else {
            self.outcome.unparsed.torn += 1;
            effects.push(Effect::Emit(EventKind::Raw { kind: String::new(), record: None, bytes }, None));
            return;
        };
        self.spoke = true;
        let mut steps = Vec::new();
        self.driver.record(Record { json, offset }, &mut steps);
        for step in &mut steps {
            if let Step::Unknown(kind) = step {
                let record = (line.len() <= MAX_TEXT).then(|| json.to_owned());
                let kind = std::mem::take(kind);
                self.outcome.unparsed.unknown += 1;
                *step = Step::Event(EventKind::Raw { kind, record, bytes });
            }
        }
        self.take(steps, effects);
    }

    /// A line was longer than any that is taken, and skipped.
    pub(crate) fn skipped(&mut self, bytes: u64, effects: &mut Vec<Effect>) {
        self.outcome.unparsed.too_long += 1;
        effects.push(Effect::Emit(EventKind::Raw { kind: String::new(), record: None, bytes }, None));
    }

    /// Takes a further input: its turn comes after those before it.
    pub(crate) fn send(&mut self, input: Input) -> Result<Vec<Effect>, AgentError> {
        if matches!(self.phase, Phase::Over) {
            return Err(AgentError::Over);
        }
        if let (Input::Command(command), Some(_)) = (&input, &self.commands) {
            self.known(command)?;
        }
        self.queue.push_back(input);
        let mut effects = Vec::new();
        self.next(&mut effects);
        Ok(effects)
    }

    pub(crate) fn respond(&mut self, approval: &str, decision: &Decision) -> Result<Vec<Effect>, AgentError> {
        let steps = self.driver.respond(approval, decision)?;
        let mut effects = Vec::new();
        self.take(steps, &mut effects);
        Ok(effects)
    }

    pub(crate) fn set_model(&mut self, model: &str) -> Result<Vec<Effect>, AgentError> {
        if matches!(self.phase, Phase::Over) {
            return Err(AgentError::Over);
        }
        let steps = self.driver.set_model(model)?;
        let mut effects = Vec::new();
        self.take(steps, &mut effects);
        Ok(effects)
    }

    /// The host has enough. A turn under way is interrupted; without one there is nothing to wait for.
    pub(crate) fn cancel(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.cancelled || matches!(self.phase, Phase::Over) {
            return effects;
        }
        self.cancelled = true;
        if matches!(self.phase, Phase::Turn(_)) {
            let steps = self.driver.interrupt();
            if steps.is_empty() {
                self.over(&mut effects, Effect::Stop);
            }
            self.take(steps, &mut effects);
        } else {
            self.over(&mut effects, Effect::Stop);
        }
        effects
    }

    /// Something outside the conversation failed.
    pub(crate) fn fail(&mut self, error: AgentError) {
        self.error.get_or_insert(error);
        if matches!(self.phase, Phase::Turn(_)) {
            self.keep_text(None, true);
        }
        self.unsent();
        self.phase = Phase::Over;
    }

    /// Whether the agent has said that it takes input, or nothing is asked of it any more.
    pub(crate) fn is_greeted(&self) -> bool {
        !matches!(self.phase, Phase::Starting)
    }

    /// The process is gone: what the run came to.
    pub(crate) fn finish(mut self, exit: Exit, stderr: String) -> (Outcome, Option<AgentError>) {
        let unfinished = !matches!(self.phase, Phase::Over);
        if unfinished && self.error.is_none() && !self.cancelled {
            let ended = Ended { exit, stderr: &stderr, spoke: self.spoke };
            let unexplained = || AgentError::NoTerminalRecord { agent: self.agent, exit, stderr: stderr.clone() };
            self.error = Some(self.driver.explain(&ended).unwrap_or_else(unexplained));
        }
        // A turn that was cut off said what it said.
        if matches!(self.phase, Phase::Turn(_)) {
            self.keep_text(None, true);
        }
        self.unsent();
        if self.cancelled {
            self.outcome.stop = Stop::Cancelled;
        } else if self.error.is_some() {
            self.outcome.stop = Stop::Error;
        }
        self.tally.end_turn(None);
        self.outcome.usage = self.tally.total();
        self.outcome.exit = exit;
        self.outcome.stderr = stderr;
        (self.outcome, self.error)
    }

    fn take(&mut self, steps: Vec<Step>, effects: &mut Vec<Effect>) {
        for step in steps {
            self.step(step, effects);
        }
    }

    fn step(&mut self, step: Step, effects: &mut Vec<Effect>) {
        match step {
            Step::Write(line) => effects.push(Effect::Write(line)),
            Step::Shut => effects.push(Effect::Shut),
            Step::Event(kind) => {
                if self.is_news(&kind, effects) {
                    effects.push(Effect::Emit(kind, None));
                }
            }
            Step::EventWithin(call, kind) => effects.push(Effect::Emit(kind, Some(call))),
            Step::Ready(commands) => {
                if let Some(commands) = commands {
                    self.step(Step::Event(EventKind::Commands(commands)), effects);
                }
                if matches!(self.phase, Phase::Starting) {
                    self.phase = Phase::Idle;
                    self.next(effects);
                }
            }
            Step::Wait(how_long) => effects.push(Effect::Wait(how_long)),
            Step::Usage(message, usage) => self.tally.add(message, usage),
            Step::Context { used, window } => {
                self.outcome.context_used = used;
                self.outcome.context_window = window.or(self.outcome.context_window);
            }
            Step::Window(window) => self.outcome.context_window = Some(window),
            Step::TurnEnded(end) => self.turn_ended(end, effects),
            // Turned into an event where the record is at hand.
            Step::Unknown(_) => {}
            Step::Fail(error) => {
                self.error.get_or_insert(error);
                self.over(effects, Effect::Stop);
            }
        }
    }

    /// Notes what an event says, and whether it says anything new.
    fn is_news(&mut self, kind: &EventKind, effects: &mut Vec<Effect>) -> bool {
        match kind {
            EventKind::Started { session, .. } => {
                // A resumed session, and each of its turns, is greeted again.
                if self.outcome.session.as_ref() == Some(session) {
                    return false;
                }
                self.outcome.session = Some(session.clone());
                effects.push(Effect::Session(session.clone()));
            }
            EventKind::Commands(commands) => {
                if self.commands.as_ref() == Some(commands) {
                    return false;
                }
                self.commands = Some(commands.clone());
            }
            EventKind::Text { text } => {
                let room = usize::try_from(MAX_LINE.0).unwrap_or(usize::MAX).saturating_sub(self.said.len());
                self.said.push_str(text.get(..edge(text, room)).unwrap_or(text));
            }
            EventKind::Compaction(Compaction::Finished { .. }) => self.compacted = true,
            _ => {}
        }
        true
    }

    /// Begins the next turn, if nothing is under way and something waits.
    fn next(&mut self, effects: &mut Vec<Effect>) {
        while matches!(self.phase, Phase::Idle) {
            let Some(input) = self.queue.pop_front() else {
                let closing = self.driver.close();
                self.take(closing, effects);
                self.over(effects, Effect::Close);
                return;
            };
            if let Input::Command(command) = &input
                && let Err(error) = self.known(command)
            {
                self.error.get_or_insert(error);
                self.queue.push_front(input);
                self.over(effects, Effect::Stop);
                return;
            }
            self.said.clear();
            self.compacted = false;
            let steps = self.driver.turn(&input);
            self.phase = Phase::Turn(input);
            self.take(steps, effects);
        }
    }

    fn turn_ended(&mut self, end: TurnEnd, effects: &mut Vec<Effect>) {
        let input = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Turn(input) => input,
            // The end of a turn that nobody began ends nothing.
            other => {
                self.phase = other;
                return;
            }
        };
        self.tally.end_turn(end.usage);
        self.outcome.turns += 1;
        self.outcome.stop = if self.cancelled { Stop::Cancelled } else { end.stop };
        let is_prompt = matches!(input, Input::Prompt(_));
        // A refusal may come as nothing but words, or as nothing: it is an answer all the same.
        if let Input::Command(Command::Compact { .. }) = &input
            && !self.compacted
            && end.error.is_none()
            && !self.cancelled
        {
            let words = end.text.as_deref().filter(|text| !text.is_empty()).unwrap_or(&self.said);
            let reason = if words.is_empty() { "the agent reported no compaction" } else { words };
            effects.push(Effect::Emit(EventKind::Compaction(Compaction::refused(reason.trim())), None));
        }
        self.keep_text(end.text, is_prompt);
        effects.push(Effect::Emit(self.usage_event(), None));
        if self.cancelled {
            self.over(effects, Effect::Close);
        } else if let Some(error) = end.error {
            self.error.get_or_insert(error);
            self.over(effects, Effect::Close);
        } else {
            self.next(effects);
        }
    }

    /// Keeps what a turn said: an answer to a prompt always, what a command said only where no prompt was answered.
    fn keep_text(&mut self, text: Option<String>, is_prompt: bool) {
        let said = std::mem::take(&mut self.said);
        let text = text.filter(|text| !text.is_empty()).unwrap_or(said);
        if is_prompt || !self.answered {
            self.outcome.text = text;
            self.answered |= is_prompt;
        }
    }

    fn usage_event(&self) -> EventKind {
        EventKind::Usage {
            usage: self.tally.total(),
            context_used: self.outcome.context_used,
            context_window: self.outcome.context_window,
        }
    }

    fn known(&self, command: &Command) -> Result<(), AgentError> {
        let none = Commands::default();
        let commands = self.commands.as_ref().unwrap_or(&none);
        if commands.has(command.name()) || self.driver.offers(command) {
            return self.driver.refuses(command).map_or(Ok(()), Err);
        }
        let near = commands.near(command.name()).into_iter().map(str::to_owned).collect();
        Err(AgentError::UnknownCommand { agent: self.agent, name: command.name().to_owned(), near })
    }

    fn over(&mut self, effects: &mut Vec<Effect>, how: Effect) {
        if matches!(self.phase, Phase::Over) {
            return;
        }
        if let Phase::Turn(_) = self.phase {
            self.keep_text(None, true);
        }
        self.unsent();
        self.phase = Phase::Over;
        effects.push(how);
    }

    fn unsent(&mut self) {
        self.outcome.unsent.extend(self.queue.drain(..));
    }
}

#[cfg(test)]
mod tests;
