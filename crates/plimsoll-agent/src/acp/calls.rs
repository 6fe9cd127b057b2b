//! Tool calls, which an agent tells piece by piece: what is told later completes what was told before.
//!
//! The protocol has no names of tools. A call is named by its kind (`read`, `edit`, `execute`…), or by its title where
//! it has none. It is reported once its input can be taken to be whole: when it runs, or when the agent asks for leave.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::event::{EventKind, bounded};
use crate::json::{id, list, owned, small, text};

/// How many calls are remembered.
const REMEMBERED: usize = 256;

/// The calls of a run.
#[derive(Debug, Default)]
pub(super) struct Calls(VecDeque<Call>);

#[derive(Debug, Default)]
struct Call {
    id: String,
    title: String,
    kind: String,
    input: Value,
    content: String,
    output: Value,
    is_told: bool,
    is_done: bool,
}

impl Calls {
    /// Takes what is told of a call; gives what is to be reported. `asks`: the agent asks for leave to run it.
    pub(super) fn update(&mut self, update: &mut Value, asks: bool) -> Vec<EventKind> {
        let Some(id) = id(update, "toolCallId") else {
            return Vec::new();
        };
        let Some(call) = self.call(&id) else {
            return Vec::new();
        };
        call.merge(update);
        let status = text(update, "status");
        let is_over = matches!(status, "completed" | "failed");
        let mut events = Vec::new();
        if asks || is_over || status == "in_progress" {
            events.extend(call.told());
        }
        if is_over && !call.is_done {
            call.is_done = true;
            let (text, omitted_bytes) = bounded(call.result());
            events.push(EventKind::ToolResult {
                id: call.id.clone(),
                text,
                omitted_bytes,
                is_error: status == "failed",
            });
        }
        events
    }

    /// Gives a call's name and input, for a request to run it.
    pub(super) fn asked(&self, id: &str) -> (String, Value) {
        self.0.iter().rev().find(|call| call.id == id).map(|call| (call.name(), call.input())).unwrap_or_default()
    }

    /// The turn is over: gives the calls that never ran.
    pub(super) fn settle(&mut self) -> Vec<EventKind> {
        self.0.drain(..).filter_map(|mut call| call.told()).collect()
    }

    fn call(&mut self, id: &str) -> Option<&mut Call> {
        if !self.0.iter().any(|call| call.id == id) {
            if self.0.len() >= REMEMBERED {
                self.0.pop_front();
            }
            self.0.push_back(Call { id: id.to_owned(), ..Call::default() });
        }
        self.0.iter_mut().rev().find(|call| call.id == id)
    }
}

impl Call {
    fn merge(&mut self, update: &mut Value) {
        for (field, part) in [("title", &mut self.title), ("kind", &mut self.kind)] {
            if let Some(text) = owned(update, field).filter(|text| !text.is_empty()) {
                *part = text;
            }
        }
        for (field, part) in [("rawInput", &mut self.input), ("rawOutput", &mut self.output)] {
            if let Some(value) = update.get_mut(field).map(Value::take).filter(|value| !value.is_null()) {
                *part = value;
            }
        }
        // What is said of the content replaces what was said of it before.
        if update.get("content").is_some_and(Value::is_array) {
            self.content = list(update, "content").iter().map(part).collect::<Vec<_>>().join("\n");
        }
    }

    fn told(&mut self) -> Option<EventKind> {
        if std::mem::replace(&mut self.is_told, true) {
            return None;
        }
        Some(EventKind::ToolCall { id: self.id.clone(), name: self.name(), input: self.input() })
    }

    fn name(&self) -> String {
        match self.kind.as_str() {
            "" | "other" => self.title.clone(),
            kind => kind.to_owned(),
        }
    }

    fn input(&self) -> Value {
        if self.input.is_null() { json!({ "title": self.title }) } else { small(self.input.clone()) }
    }

    fn result(&mut self) -> String {
        if !self.content.is_empty() {
            return std::mem::take(&mut self.content);
        }
        match self.output.take() {
            Value::Null => String::new(),
            Value::String(text) => text,
            output => match ["output", "error"].iter().find_map(|field| owned(&output, field)) {
                Some(text) => text,
                None => output.to_string(),
            },
        }
    }
}

/// A part of a call's content; what is not text is named.
fn part(part: &Value) -> String {
    match text(part, "type") {
        "content" => {
            let content = part.get("content").unwrap_or(&Value::Null);
            owned(content, "text").unwrap_or_else(|| format!("[{}]", text(content, "type")))
        }
        "diff" => format!("[diff {}]", text(part, "path")),
        other => format!("[{other}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(calls: &mut Calls, mut update: Value) -> String {
        serde_json::to_string(&calls.update(&mut update, false)).unwrap()
    }

    #[test]
    fn a_call_is_told_once_with_its_whole_input_and_ended_once() {
        // As OpenCode tells it.
        let mut calls = Calls::default();
        let pending = json!({ "toolCallId": "c", "title": "bash", "kind": "execute", "status": "pending",
                              "rawInput": { "cwd": "/w" } });
        assert_eq!(take(&mut calls, pending), "[]");
        let running = json!({ "toolCallId": "c", "title": "echo hi", "status": "in_progress",
                              "rawInput": { "command": "echo hi" } });
        insta::assert_snapshot!(take(&mut calls, running.clone()),
            @r#"[{"event":"tool_call","id":"c","name":"execute","input":{"command":"echo hi"}}]"#);
        assert_eq!(take(&mut calls, running), "[]");
        let done = json!({ "toolCallId": "c", "status": "completed",
            "content": [{ "type": "content", "content": { "type": "text", "text": "hi\n" } }, { "type": "diff", "path": "a" }] });
        insta::assert_snapshot!(take(&mut calls, done.clone()),
            @r#"[{"event":"tool_result","id":"c","text":"hi\n\n[diff a]","omitted_bytes":0,"is_error":false}]"#);
        assert_eq!(take(&mut calls, done), "[]");
    }

    #[test]
    fn a_call_of_no_kind_is_named_by_its_title_and_its_raw_output_read() {
        let mut calls = Calls::default();
        let failed = json!({ "toolCallId": "c", "title": "Guess", "kind": "other", "status": "failed",
                             "rawOutput": { "error": "no" } });
        insta::assert_snapshot!(take(&mut calls, failed),
            @r#"[{"event":"tool_call","id":"c","name":"Guess","input":{"title":"Guess"}},{"event":"tool_result","id":"c","text":"no","omitted_bytes":0,"is_error":true}]"#);
    }

    #[test]
    fn a_call_that_never_ran_is_told_at_the_end_of_the_turn() {
        let mut calls = Calls::default();
        take(&mut calls, json!({ "toolCallId": "c", "title": "t", "kind": "read" }));
        assert_eq!(calls.settle().len(), 1);
        assert!(calls.settle().is_empty());
    }
}
