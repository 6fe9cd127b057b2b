//! What Claude Code's records mean.

use plimsoll::Tokens;
use plimsoll::command::Compaction;
use serde_json::Value;

use super::trouble::{failure, rate_limit, retry};
use super::{Claude, catalogue};
use crate::agent::Agent;
use crate::claude::control::Controls;
use crate::driver::{Step, TurnEnd};
use crate::event::{EventKind, Usage, bounded};
use crate::json::{LONGEST_ID, list, owned, pieces, small, text, tokens};
use crate::outcome::Stop;
use crate::request::AgentSession;

/// The model that the program names for words of its own.
const SYNTHETIC: &str = "<synthetic>";
impl Claude {
    /// Takes a record.
    pub(super) fn take(&mut self, mut record: Value, steps: &mut Vec<Step>) {
        let kind = text(&record, "type").to_owned();
        let subtype = text(&record, "subtype").to_owned();
        match (kind.as_str(), subtype.as_str()) {
            ("system", "init") => self.init(&record, steps),
            ("system", "status") => self.status(&record, steps),
            ("system", "compact_boundary") => self.boundary(&record, steps),
            ("system", "api_retry") => steps.push(Step::Event(retry(&record))),
            ("rate_limit_event", _) => rate_limit(&record, steps),
            ("assistant", _) => self.assistant(&mut record, steps),
            ("user", _) => user(&mut record, steps),
            ("stream_event", _) => self.stream_event(&mut record, steps),
            ("control_response", _) => self.control_response(&record, steps),
            ("control_request", _) => self.control_request(&mut record, steps),
            ("control_cancel_request", _) => self.controls.withdraw(text(&record, "request_id")),
            ("result", _) => self.result(&record, steps),
            ("system", _) => steps.push(Step::Unknown(format!("system/{subtype}"))),
            _ => steps.push(Step::Unknown(kind)),
        }
    }

    fn init(&mut self, record: &Value, steps: &mut Vec<Step>) {
        let Ok(session) = AgentSession::new(text(record, "session_id")) else {
            steps.push(Step::Unknown("system/init".to_owned()));
            return;
        };
        let version = owned(record, "claude_code_version");
        let model = owned(record, "model");
        self.session = Some(session.clone());
        self.version = version.clone().or(self.version.take());
        self.model.clone_from(&model);
        steps.push(Step::Event(EventKind::Started { agent: Agent::Claude, session, model, version }));
        let commands = catalogue(&self.listed, &names(record, "slash_commands"), &names(record, "skills"));
        steps.push(Step::Event(EventKind::Commands(commands)));
    }

    /// Whether a record is about the session that the run is in. What happened to another one must not be taken for
    /// this one's.
    fn is_here(&self, record: &Value) -> bool {
        let session = text(record, "session_id");
        session.is_empty() || self.session.as_ref().is_none_or(|here| here.as_str() == session)
    }

    fn status(&mut self, record: &Value, steps: &mut Vec<Step>) {
        let result = text(record, "compact_result");
        if !self.is_here(record) {
            steps.push(Step::Unknown("system/status".to_owned()));
        } else if text(record, "status") == "compacting" {
            steps.push(Step::Event(EventKind::Compaction(Compaction::Started)));
        } else if result == "success" {
            // The sizes follow in a record of their own.
            self.compacted = true;
        } else if !result.is_empty() {
            let reason = owned(record, "compact_error").unwrap_or_else(|| format!("it ended with `{result}`"));
            steps.push(Step::Event(EventKind::Compaction(Compaction::refused(reason))));
        }
    }

    fn boundary(&mut self, record: &Value, steps: &mut Vec<Step>) {
        if !self.is_here(record) {
            steps.push(Step::Unknown("system/compact_boundary".to_owned()));
            return;
        }
        let sizes = record.get("compact_metadata").unwrap_or(&Value::Null);
        self.finished(tokens(sizes, "pre_tokens"), tokens(sizes, "post_tokens"), steps);
    }

    fn finished(&mut self, before: Option<Tokens>, after: Option<Tokens>, steps: &mut Vec<Step>) {
        self.compacted = false;
        // What the program says of "after" is the messages alone, not the context.
        self.stale_context = true;
        steps.push(Step::Context { used: None, window: None });
        steps.push(Step::Event(EventKind::Compaction(Compaction::done(before, after))));
    }

    fn assistant(&mut self, record: &mut Value, steps: &mut Vec<Step>) {
        let within = owned(record, "parent_tool_use_id");
        let Some(message) = record.get_mut("message") else {
            steps.push(Step::Unknown("assistant".to_owned()));
            return;
        };
        let id = text(message, "id").to_owned();
        if text(message, "model") != SYNTHETIC {
            self.usage(&id, message.get("usage"), within.is_none(), steps);
        }
        let Some(Value::Array(blocks)) = message.get_mut("content").map(Value::take) else {
            return;
        };
        for mut block in blocks {
            let event = match text(&block, "type") {
                "text" if !self.streams.has_said(&id, false) => {
                    pieces(text(&block, "text"), |text| EventKind::Text { text })
                }
                "thinking" if !self.streams.has_said(&id, true) => {
                    pieces(text(&block, "thinking"), |text| EventKind::Thinking { text })
                }
                "tool_use" | "server_tool_use" | "mcp_tool_use" => tool_call(&mut block),
                "text" | "thinking" | "redacted_thinking" => Vec::new(),
                other => {
                    steps.push(Step::Unknown(format!("assistant/{other}")));
                    Vec::new()
                }
            };
            report(event, within.as_ref(), steps);
        }
    }

    fn stream_event(&mut self, record: &mut Value, steps: &mut Vec<Step>) {
        let within = owned(record, "parent_tool_use_id");
        let event = record.get("event").unwrap_or(&Value::Null);
        match text(event, "type") {
            "message_start" => {
                let message = event.get("message").unwrap_or(&Value::Null);
                self.streams.begin(within.as_deref(), text(message, "id"));
            }
            "message_delta" => {
                let message = self.streams.message(within.as_deref()).map(str::to_owned);
                if let (Some(id), Some(usage)) = (message, event.get("usage").and_then(usage_of)) {
                    steps.push(Step::Usage(Some(id), usage));
                }
            }
            "content_block_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                let (thinking, said) = match text(delta, "type") {
                    "text_delta" => (false, pieces(text(delta, "text"), |text| EventKind::Text { text })),
                    "thinking_delta" => (true, pieces(text(delta, "thinking"), |text| EventKind::Thinking { text })),
                    _ => return,
                };
                self.streams.said(within.as_deref(), thinking);
                report(said, within.as_ref(), steps);
            }
            _ => {}
        }
    }

    fn usage(&mut self, id: &str, reported: Option<&Value>, main: bool, steps: &mut Vec<Step>) {
        let Some(usage) = reported.and_then(usage_of) else {
            return;
        };
        if !id.is_empty() && id.len() <= LONGEST_ID {
            steps.push(Step::Usage(Some(id.to_owned()), usage));
        }
        if main {
            self.stale_context = false;
            steps.push(Step::Context { used: Some(usage.total()), window: None });
        }
    }

    fn result(&mut self, record: &Value, steps: &mut Vec<Step>) {
        if self.compacted {
            self.finished(None, None, steps);
        }
        if let Some(window) = self.window(record) {
            steps.push(Step::Window(window));
        }
        let failed = record.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let said = owned(record, "result");
        steps.push(Step::TurnEnded(TurnEnd {
            stop: if failed { failed_stop(record) } else { stop(text(record, "stop_reason")) },
            usage: record.get("usage").and_then(usage_of),
            error: failed.then(|| failure(record, said.as_deref())),
            text: if failed { None } else { said },
        }));
    }

    /// The window of the model that the session runs on: what several models used is reported by model.
    fn window(&self, record: &Value) -> Option<Tokens> {
        let models = record.get("modelUsage")?.as_object()?;
        let own = self.model.as_ref().and_then(|model| models.get(model));
        let model = own.or_else(|| models.values().max_by_key(|model| tokens(model, "inputTokens")))?;
        tokens(model, "contextWindow").filter(|window| *window > Tokens(0))
    }

    fn control_response(&mut self, record: &Value, steps: &mut Vec<Step>) {
        let response = record.get("response").unwrap_or(&Value::Null);
        let Some(asked) = self.controls.answered(text(response, "request_id")) else {
            steps.push(Step::Unknown("control_response".to_owned()));
            return;
        };
        let answer = response.get("response").filter(|_| text(response, "subtype") == "success");
        match (asked, answer) {
            ("initialize", Some(answer)) => {
                let commands = list(answer, "commands");
                self.listed = commands.iter().filter_map(|command| owned(command, "name")).collect();
                steps.push(Step::Ready(Some(catalogue(&self.listed, &[], &[]))));
            }
            // A version that does not know the request can still be prompted.
            ("initialize", None) => steps.push(Step::Ready(None)),
            ("get_context_usage", Some(answer)) => {
                let window = tokens(answer, "maxTokens").filter(|window| *window > Tokens(0));
                steps.push(Step::Context { used: tokens(answer, "totalTokens"), window });
            }
            _ => {}
        }
    }

    fn control_request(&mut self, record: &mut Value, steps: &mut Vec<Step>) {
        let id = text(record, "request_id").to_owned();
        let Some(request) = record.get_mut("request") else {
            steps.push(Step::Unknown("control_request".to_owned()));
            return;
        };
        let subtype = text(request, "subtype").to_owned();
        if id.is_empty() || id.len() > LONGEST_ID || subtype != "can_use_tool" {
            steps.push(Step::Write(Controls::decline(&id, "this host does not answer that")));
            steps.push(Step::Unknown(format!("control_request/{subtype}")));
            return;
        }
        let input = request.get_mut("input").map(Value::take).unwrap_or_default();
        if !self.controls.open(&id, input.clone()) {
            steps.push(Step::Write(Controls::decline(&id, "too many requests are open")));
            return;
        }
        let (tool, reason) = (text(request, "tool_name").to_owned(), owned(request, "description"));
        steps.push(Step::Event(EventKind::ApprovalRequest { id, tool, input: small(input), reason }));
    }
}

/// Reads the results of tools. What else is in a user record is an echo of what was sent, or the program's own words.
fn user(record: &mut Value, steps: &mut Vec<Step>) {
    let within = owned(record, "parent_tool_use_id");
    let Some(Value::Array(blocks)) = record.pointer_mut("/message/content").map(Value::take) else {
        return;
    };
    for mut block in blocks {
        if text(&block, "type") != "tool_result" {
            continue;
        }
        let id = text(&block, "tool_use_id").to_owned();
        if id.is_empty() || id.len() > LONGEST_ID {
            steps.push(Step::Unknown("user/tool_result".to_owned()));
            continue;
        }
        let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let content = block.get_mut("content").map(Value::take).unwrap_or_default();
        let (text, omitted_bytes) = bounded(result_text(content));
        let event = EventKind::ToolResult { id, text, omitted_bytes, is_error };
        report(vec![event], within.as_ref(), steps);
    }
}

/// The text of a result; what is not text is named.
fn result_text(content: Value) -> String {
    match content {
        Value::String(text) => text,
        Value::Array(parts) => {
            let part = |part: &Value| match part.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => format!("[{}]", text(part, "type")),
            };
            parts.iter().map(part).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn tool_call(block: &mut Value) -> Vec<EventKind> {
    let (id, name) = (text(block, "id").to_owned(), text(block, "name").to_owned());
    if id.is_empty() || id.len() > LONGEST_ID {
        return Vec::new();
    }
    let input = small(block.get_mut("input").map(Value::take).unwrap_or_default());
    vec![EventKind::ToolCall { id, name, input }]
}

fn report(events: Vec<EventKind>, within: Option<&String>, steps: &mut Vec<Step>) {
    steps.extend(events.into_iter().map(|event| match within {
        Some(call) => Step::EventWithin(call.clone(), event),
        None => Step::Event(event),
    }));
}

fn stop(reason: &str) -> Stop {
    match reason {
        "max_tokens" => Stop::MaxTokens,
        "refusal" => Stop::Refusal,
        _ => Stop::End,
    }
}

fn failed_stop(record: &Value) -> Stop {
    if text(record, "subtype") == "error_max_turns" { Stop::MaxTurns } else { Stop::Error }
}

fn usage_of(usage: &Value) -> Option<Usage> {
    usage.is_object().then(|| {
        let part = |name| tokens(usage, name).unwrap_or_default();
        Usage::new(
            part("input_tokens"),
            part("output_tokens"),
            part("cache_read_input_tokens"),
            part("cache_creation_input_tokens"),
        )
    })
}

pub(super) fn names(value: &Value, field: &str) -> Vec<String> {
    list(value, field).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
