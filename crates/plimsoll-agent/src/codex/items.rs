//! Codex's items as events: messages, thinking, and what tools are called with and give back.
//!
//! An item is told when it starts and, whole, when it is completed; in between come pieces of some. A tool is called by
//! its item's type, one of an MCP server by the server and its name.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use crate::event::{EventKind, bounded};
use crate::json::{id, list, owned, pieces, small, text};

/// How many items of a turn are remembered.
const REMEMBERED: usize = 256;

/// Which items were told already.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// Said piece by piece.
    said: VecDeque<String>,
    /// Calls that were reported.
    called: VecDeque<String>,
}

impl Items {
    /// A new turn begins.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// A piece of this item was said.
    pub(super) fn said(&mut self, item: &str) {
        remember(&mut self.said, item);
    }

    /// Gives the events of an item; none if its kind is not known.
    pub(super) fn read(&mut self, mut item: Value, done: bool) -> Option<Vec<EventKind>> {
        let kind = text(&item, "type").to_owned();
        let is_said = self.said.iter().any(|said| said == text(&item, "id"));
        match kind.as_str() {
            "agentMessage" if done && !is_said => {
                return Some(pieces(text(&item, "text"), |text| EventKind::Text { text }));
            }
            "reasoning" if done && !is_said => {
                let summary = list(&item, "summary").iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
                return Some(pieces(&summary, |text| EventKind::Thinking { text }));
            }
            "agentMessage" | "reasoning" => return Some(Vec::new()),
            _ => {}
        }
        let call = call(&kind, &mut item)?;
        let Some(id) = id(&item, "id") else {
            return Some(Vec::new());
        };
        let mut events = Vec::new();
        if !self.called.contains(&id) {
            remember(&mut self.called, &id);
            let (name, input) = call;
            events.push(EventKind::ToolCall { id: id.clone(), name, input: small(input) });
        }
        if done {
            let (text, omitted_bytes) = bounded(result(&kind, &mut item));
            events.push(EventKind::ToolResult { id, text, omitted_bytes, is_error: failed(&item) });
        }
        Some(events)
    }
}

fn remember(list: &mut VecDeque<String>, item: &str) {
    if list.iter().any(|known| known == item) {
        return;
    }
    if list.len() >= REMEMBERED {
        list.pop_front();
    }
    list.push_back(item.to_owned());
}

/// The tool of an item, and what it is called with.
fn call(kind: &str, item: &mut Value) -> Option<(String, Value)> {
    let name = match kind {
        "mcpToolCall" => format!("{}/{}", text(item, "server"), text(item, "tool")),
        "dynamicToolCall" | "collabAgentToolCall" => text(item, "tool").to_owned(),
        "commandExecution" | "fileChange" | "webSearch" | "imageView" | "imageGeneration" | "sleep" => {
            kind.to_owned()
        }
        _ => return None,
    };
    let input = match kind {
        "mcpToolCall" | "dynamicToolCall" => item.get_mut("arguments").map(Value::take).unwrap_or_default(),
        "commandExecution" => fields(item, &["command", "cwd"]),
        "fileChange" => fields(item, &["changes"]),
        "collabAgentToolCall" => fields(item, &["prompt", "receiverThreadIds"]),
        _ => fields(item, &["query", "path", "prompt", "durationMs"]),
    };
    Some((name, input))
}

/// Those of these fields that say something.
fn fields(item: &Value, names: &[&str]) -> Value {
    let field = |name: &&str| Some(((*name).to_owned(), item.get(name).filter(|value| !value.is_null())?.clone()));
    Value::Object(names.iter().filter_map(field).collect::<Map<_, _>>())
}

/// What a tool gave back, as text.
fn result(kind: &str, item: &mut Value) -> String {
    if let Some(error) = item.get("error").and_then(|error| owned(error, "message")) {
        return error;
    }
    match kind {
        "commandExecution" => match item.get_mut("aggregatedOutput").map(Value::take) {
            Some(Value::String(output)) => output,
            _ => String::new(),
        },
        "mcpToolCall" => contents(list(item.get("result").unwrap_or(&Value::Null), "content")),
        "dynamicToolCall" => contents(list(item, "contentItems")),
        _ => text(item, "status").to_owned(),
    }
}

fn contents(parts: &[Value]) -> String {
    let part = |part: &Value| owned(part, "text").unwrap_or_else(|| format!("[{}]", text(part, "type")));
    parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn failed(item: &Value) -> bool {
    let code = item.get("exitCode").and_then(Value::as_i64).unwrap_or(0);
    code != 0
        || ["failed", "declined"].contains(&text(item, "status"))
        || item.get("success") == Some(&json!(false))
        || item.get("error").is_some_and(|error| !error.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(events: Option<Vec<EventKind>>) -> String {
        events.map_or_else(|| "unknown".to_owned(), |events| serde_json::to_string(&events).unwrap())
    }

    #[test]
    fn a_command_is_a_call_and_its_output_a_result() {
        let mut items = Items::default();
        let item = |status: &str, output: Value, code: Value| {
            json!({ "type": "commandExecution", "id": "call_2", "command": "bash -lc 'ls'", "cwd": "/w",
                    "status": status, "aggregatedOutput": output, "exitCode": code })
        };
        insta::assert_snapshot!(shown(items.read(item("inProgress", Value::Null, Value::Null), false)),
            @r#"[{"event":"tool_call","id":"call_2","name":"commandExecution","input":{"command":"bash -lc 'ls'","cwd":"/w"}}]"#);
        insta::assert_snapshot!(shown(items.read(item("completed", json!("a\n"), json!(2)), true)),
            @r#"[{"event":"tool_result","id":"call_2","text":"a\n","omitted_bytes":0,"is_error":true}]"#);
    }

    #[test]
    fn a_tool_of_a_server_is_called_by_both_names_even_if_its_start_was_missed() {
        let item = json!({ "type": "mcpToolCall", "id": "m", "server": "files", "tool": "read", "status": "completed",
            "arguments": { "p": 1 }, "error": null, "result": { "content": [{ "type": "text", "text": "a" }, { "type": "image" }] } });
        insta::assert_snapshot!(shown(Items::default().read(item, true)),
            @r#"[{"event":"tool_call","id":"m","name":"files/read","input":{"p":1}},{"event":"tool_result","id":"m","text":"a\n[image]","omitted_bytes":0,"is_error":false}]"#);
    }

    #[test]
    fn what_was_said_in_pieces_is_not_said_again() {
        let mut items = Items::default();
        let message = || json!({ "type": "agentMessage", "id": "msg_1", "text": "hello" });
        assert_eq!(shown(items.read(message(), true)), r#"[{"event":"text","text":"hello"}]"#);
        items.said("msg_1");
        assert_eq!(shown(items.read(message(), true)), "[]");
        assert_eq!(shown(items.read(json!({ "type": "hologram", "id": "h" }), true)), "unknown");
    }
}
