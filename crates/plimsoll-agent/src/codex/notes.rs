//! What Codex's notifications mean.

use plimsoll::command::Compaction;
use serde_json::Value;

use super::Codex;
use super::failure;
use super::meter::Compacting;
use crate::driver::{Record, Step};
use crate::event::{EventKind, MAX_TEXT};
use crate::json::{id, owned, pieces, text};
use crate::outcome::Stop;

/// Notifications that say nothing about the conversation, or say again what others say.
const IGNORED: [&str; 27] = [
    "account/updated",
    "app/list/updated",
    "command/exec/outputDelta",
    "fs/changed",
    "hook/completed",
    "hook/started",
    "item/commandExecution/outputDelta",
    "item/commandExecution/terminalInteraction",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/mcpToolCall/progress",
    "item/plan/delta",
    "item/reasoning/summaryPartAdded",
    "mcpServer/startupStatus/updated",
    "rawResponse/completed",
    "rawResponseItem/completed",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/closed",
    "thread/goal/cleared",
    "thread/goal/updated",
    "thread/name/updated",
    "thread/queue/changed",
    "thread/settings/updated",
    "thread/started",
    "thread/status/changed",
    "turn/diff/updated",
];

/// Notifications for people: passed on as they are.
const PASSED_ON: [&str; 7] = [
    "configWarning",
    "deprecationNotice",
    "guardianWarning",
    "model/rerouted",
    "model/verification",
    "turn/plan/updated",
    "warning",
];

impl Codex {
    /// Takes a notification.
    pub(super) fn note(&mut self, method: &str, mut params: Value, record: Record<'_>, steps: &mut Vec<Step>) {
        let thread = text(&params, "threadId").to_owned();
        let within = self.thread.as_ref().filter(|own| !thread.is_empty() && own.as_str() != thread).map(|_| thread);
        if within.is_none() && (method.starts_with("turn/") || method.starts_with("item/")) {
            self.tell(steps);
        }
        match method {
            "turn/started" if within.is_none() => self.turn_started(&params),
            "turn/completed" if within.is_none() => self.turn_completed(&params, steps),
            "item/started" | "item/completed" => {
                let done = method == "item/completed";
                let item = params.get_mut("item").map(Value::take).unwrap_or_default();
                self.item(item, done, within.as_deref(), steps);
            }
            "item/agentMessage/delta" => {
                self.delta(&params, within.as_deref(), |text| EventKind::Text { text }, steps);
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.delta(&params, within.as_deref(), |text| EventKind::Thinking { text }, steps);
            }
            "thread/tokenUsage/updated" => self.usage(&params, within.as_deref(), steps),
            "thread/compacted" if within.is_none() => self.compaction_ended(None, steps),
            "error" if within.is_none() => retry(&params, steps),
            // What a subagent's turn does is told by its items.
            "turn/started" | "turn/completed" | "thread/compacted" | "error" => {}
            "account/rateLimits/updated" => rate_limit(&params, steps),
            "serverRequest/resolved" => self.rpc.withdraw(params.get("requestId").unwrap_or(&Value::Null)),
            _ if IGNORED.contains(&method) => {}
            _ if PASSED_ON.contains(&method) => steps.push(Step::Event(raw(method, record))),
            _ => steps.push(Step::Unknown(method.to_owned())),
        }
    }

    fn turn_started(&mut self, params: &Value) {
        let id = params.get("turn").and_then(|turn| id(turn, "id"));
        if let (Some(turn), Some(id)) = (&mut self.turn, id) {
            turn.id.get_or_insert(id);
        }
    }

    fn turn_completed(&mut self, params: &Value, steps: &mut Vec<Step>) {
        let ended = params.get("turn").unwrap_or(&Value::Null);
        let Some(turn) = &self.turn else {
            return;
        };
        // The end of an earlier turn is not this one's.
        if turn.id.as_ref().is_some_and(|id| !text(ended, "id").is_empty() && id != text(ended, "id")) {
            return;
        }
        let (stop, error) = match text(ended, "status") {
            "failed" => (Stop::Error, Some(failure::of_turn(ended.get("error").unwrap_or(&Value::Null)))),
            "interrupted" => (Stop::Cancelled, None),
            _ => (Stop::End, None),
        };
        if turn.compacting.is_some() {
            let why = error.as_ref().map_or_else(|| "it was interrupted".to_owned(), ToString::to_string);
            self.compaction_ended(Some(why), steps);
        }
        self.end(stop, error, steps);
    }

    /// A piece of an item.
    fn delta(&mut self, params: &Value, within: Option<&str>, event: fn(String) -> EventKind, steps: &mut Vec<Step>) {
        self.items.said(text(params, "itemId"));
        self.spoke(within);
        report(pieces(text(params, "delta"), event), within, steps);
    }

    fn item(&mut self, item: Value, done: bool, within: Option<&str>, steps: &mut Vec<Step>) {
        match text(&item, "type") {
            "userMessage" | "hookPrompt" | "enteredReviewMode" | "exitedReviewMode" | "subAgentActivity" | "plan" => {
            }
            "contextCompaction" if within.is_some() => {}
            "contextCompaction" if done => self.compaction_ended(None, steps),
            "contextCompaction" => {
                let begun = Compacting::begin(self.context);
                if let Some(turn) = &mut self.turn {
                    turn.compacting = Some(begun);
                }
                steps.push(Step::Event(EventKind::Compaction(Compaction::Started)));
            }
            kind => {
                self.spoke(within);
                if done
                    && kind == "agentMessage"
                    && within.is_none()
                    && let Some(turn) = &mut self.turn
                {
                    turn.answer = owned(&item, "text").filter(|text| !text.is_empty()).or(turn.answer.take());
                }
                let kind = kind.to_owned();
                match self.items.read(item, done) {
                    Some(events) => report(events, within, steps),
                    None => steps.push(Step::Unknown(format!("item/{kind}"))),
                }
            }
        }
    }

    fn spoke(&mut self, within: Option<&str>) {
        if let (Some(turn), None) = (&mut self.turn, within) {
            turn.spoke = true;
        }
    }

    fn usage(&mut self, params: &Value, within: Option<&str>, steps: &mut Vec<Step>) {
        let own = self.thread.as_ref().map_or("", |thread| thread.as_str());
        let report = params.get("tokenUsage").unwrap_or(&Value::Null);
        let spoke = self.turn.as_ref().is_some_and(|turn| turn.spoke);
        let reading = self.meters.read(within.unwrap_or(own), report, spoke);
        steps.push(Step::Usage(None, reading.rose));
        if within.is_some() {
            return;
        }
        self.context = reading.context;
        self.window = reading.window.or(self.window);
        if let Some(compacting) = self.turn.as_mut().and_then(|turn| turn.compacting.as_mut()) {
            compacting.read(reading);
        }
        steps.push(Step::Context { used: reading.context, window: reading.window });
    }

    /// A compaction ended, once: newer versions say it in one way, older ones in another, some in both.
    fn compaction_ended(&mut self, error: Option<String>, steps: &mut Vec<Step>) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.compacting.is_some() || !turn.compacted) else {
            return;
        };
        turn.compacted = true;
        let (before, after) = turn.compacting.take().map(|compacting| compacting.sizes()).unwrap_or_default();
        let finished = match error {
            Some(error) => Compaction::refused(error),
            None => Compaction::done(before, after),
        };
        steps.push(Step::Event(EventKind::Compaction(finished)));
    }
}

fn report(events: Vec<EventKind>, within: Option<&str>, steps: &mut Vec<Step>) {
    steps.extend(events.into_iter().map(|event| match within {
        Some(thread) => Step::EventWithin(thread.to_owned(), event),
        None => Step::Event(event),
    }));
}

/// An error that the server gets over by itself; one that it does not comes again as the end of the turn.
fn retry(params: &Value, steps: &mut Vec<Step>) {
    if params.get("willRetry").and_then(Value::as_bool) == Some(true) {
        let message = failure::words(params.get("error").unwrap_or(&Value::Null));
        steps.push(Step::Event(EventKind::RateLimit { message, retry_ms: None, retrying: true }));
    }
}

/// Limits are told after every answer; only one that is reached is news.
fn rate_limit(params: &Value, steps: &mut Vec<Step>) {
    let limits = params.get("rateLimits").unwrap_or(&Value::Null);
    if let Some(reached) = owned(limits, "rateLimitReachedType") {
        steps.push(Step::Event(EventKind::RateLimit { message: reached, retry_ms: None, retrying: false }));
    }
}

/// A record as it came.
fn raw(method: &str, record: Record<'_>) -> EventKind {
    let json = record.json.get();
    EventKind::Raw {
        kind: method.to_owned(),
        record: (json.len() <= MAX_TEXT).then(|| record.json.to_owned()),
        bytes: u64::try_from(json.len()).unwrap_or(u64::MAX),
    }
}
