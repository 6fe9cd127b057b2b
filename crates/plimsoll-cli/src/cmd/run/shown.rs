//! What a run prints: JSON lines for machines; for people the answer as it comes, tools in brief, a bar at the end.

use std::io;

use anyhow::Result;
use plimsoll::Tokens;
use plimsoll::command::Compaction;
use plimsoll_agent::{AgentError, Event, EventKind, Outcome};
use serde::Serialize;
use serde_json::Value;

use crate::output::{Output, bar, percent, plain, plain_lines, style};

/// The most of a tool's input or result that is shown, in characters.
const BRIEF: usize = 100;

/// Prints a run.
pub(super) struct Shown<'o> {
    output: &'o mut Output,
    json: bool,
    /// Whether the answer's last line is not ended.
    open: bool,
    ended: bool,
}

/// The last line.
#[derive(Serialize)]
struct Finished<'a> {
    event: &'static str,
    ok: bool,
    error: Option<Why<'a>>,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

#[derive(Serialize)]
struct Why<'a> {
    kind: &'a str,
    message: String,
}

impl<'o> Shown<'o> {
    pub(super) fn new(output: &'o mut Output, json: bool) -> Self {
        Self { output, json, open: false, ended: false }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.output.finish()
    }

    pub(super) fn event(&mut self, event: &Event) -> io::Result<()> {
        if self.json {
            return self.output.json(event);
        }
        // A subagent's words are not the answer; what it does is shown like everything else.
        let inner = event.within.is_some();
        match &event.kind {
            EventKind::Text { text } if !inner => {
                let text = plain_lines(text);
                self.open = !text.ends_with('\n');
                self.output.bytes(text.as_bytes())
            }
            EventKind::ToolCall { name, input, .. } => {
                let brief = brief(&in_short(input));
                self.note(&format!("{}{}{} {brief}", style::ACCENT, plain(name), style::END))
            }
            EventKind::ToolResult { text, is_error: true, .. } => {
                self.note(&format!("{}  failed{}: {}", style::WARN, style::END, brief(text)))
            }
            EventKind::ToolResult { text, .. } => {
                let lines = text.lines().count();
                let first = brief(text.lines().next().unwrap_or_default());
                let more = if lines > 1 {
                    format!(" (+{})", plimsoll::counted(lines - 1, "line", "lines"))
                } else {
                    String::new()
                };
                self.note(&format!("{}  {first}{more}{}", style::DIM, style::END))
            }
            EventKind::ApprovalRequest { tool, input, .. } => {
                let (tool, input) = (plain(tool), brief(&in_short(input)));
                self.note(&format!("{}asks to use {tool}{}: {input}", style::WARN, style::END))
            }
            EventKind::RateLimit { message, retry_ms, .. } => {
                let again = retry_ms.map(|ms| format!(", again in {} s", ms.div_ceil(1_000))).unwrap_or_default();
                self.note(&format!("{}rate limit{}: {}{again}", style::WARN, style::END, brief(message)))
            }
            EventKind::Compaction(step) => self.compaction(step),
            _ => Ok(()),
        }
    }

    /// Asks the user on the terminal.
    pub(super) async fn ask(&mut self) -> io::Result<bool> {
        self.output.say("allow it? [y/N] ")?;
        // Reading a terminal blocks; the run goes on meanwhile.
        let read = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().read_line(&mut line).map(|_| line)
        });
        let line = read.await.map_err(io::Error::other)??;
        Ok(matches!(line.trim(), "y" | "Y" | "yes"))
    }

    pub(super) fn finished(&mut self, outcome: &Outcome, error: Option<&AgentError>) -> Result<()> {
        self.ended = true;
        if self.json {
            let why = error.map(|error| Why { kind: error.kind(), message: chain(error) });
            self.output.json(&Finished { event: "finished", ok: error.is_none(), error: why, outcome })?;
            return Ok(self.output.finish()?);
        }
        if outcome.turns > 0 {
            self.note(&usage(outcome))?;
        } else {
            self.end_line()?;
        }
        if let Some(session) = &outcome.session {
            self.note(&format!("{}session {}{}", style::DIM, plain(session.as_str()), style::END))?;
        }
        let lost = outcome.unsent.len();
        if lost > 0 && outcome.turns > 0 {
            self.note(&format!("{}not sent{}: {lost} of what was asked", style::WARN, style::END))?;
        }
        if let Some(error) = error {
            self.output.say(&format!("plimsoll: {}\n", plain(&chain(error))))?;
        }
        Ok(())
    }

    /// Something failed that is no part of a run: machines still get a last line.
    pub(super) fn failed(&mut self, error: &anyhow::Error) -> io::Result<()> {
        if !self.json || self.ended {
            return Ok(());
        }
        let kind = if error.downcast_ref::<crate::resolve::Usage>().is_some() { "usage" } else { "internal" };
        let why = Some(Why { kind, message: format!("{error:#}") });
        self.output.json(&Finished { event: "finished", ok: false, error: why, outcome: &Outcome::default() })?;
        self.output.finish()
    }

    fn compaction(&mut self, step: &Compaction) -> io::Result<()> {
        let text = match step {
            Compaction::Finished { ok: true, before, after, .. } => {
                let sizes = match (before, after) {
                    (Some(before), Some(after)) => format!(", {before} tokens before, {after} after"),
                    _ => String::new(),
                };
                format!("compacted{sizes}")
            }
            Compaction::Finished { error, .. } => {
                format!(
                    "{}not compacted{}: {}",
                    style::WARN,
                    style::END,
                    brief(error.as_deref().unwrap_or("no reason"))
                )
            }
            _ => "compacting …".to_owned(),
        };
        self.note(&text)
    }

    /// A line about the run, on a line of its own.
    fn note(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.output.say(&format!("{text}\n"))
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open) {
            self.output.bytes(b"\n")?;
        }
        Ok(())
    }
}

fn usage(outcome: &Outcome) -> String {
    let used = &outcome.usage;
    let cached = used.cache_read + used.cache_write;
    let mut text = format!("{}{} in", style::DIM, used.input + cached);
    if cached.0 > 0 {
        text.push_str(&format!(" ({} from the cache)", used.cache_read));
    }
    text.push_str(&format!(", {} out{}", used.output, style::END));
    if let (Some(context), Some(window)) = (outcome.context_used, outcome.context_window) {
        let bar = bar(context, window, 40);
        let (accent, end) = (style::ACCENT, style::END);
        let window = Tokens(window.0.max(context.0));
        text.push_str(&format!(
            "\ncontext {accent}{bar}{end} {context} of {window} tokens, {}",
            percent(context, window)
        ));
    }
    text
}

/// An error and its causes in one sentence; many say their cause themselves.
fn chain(error: &AgentError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(&format!(": {words}"));
        }
        cause = error.source();
    }
    text
}

/// A tool's input by what says most: its only text, or its command, path or pattern.
fn in_short(input: &Value) -> String {
    const TELLING: [&str; 8] = ["command", "file_path", "path", "pattern", "url", "query", "description", "prompt"];
    let telling = TELLING.iter().find_map(|name| input.get(name).and_then(Value::as_str));
    match (telling, input) {
        (Some(text), _) => text.to_owned(),
        (None, Value::Null) => String::new(),
        (None, other) => other.to_string(),
    }
}

fn brief(text: &str) -> String {
    let mut shown: String = plain(text.trim()).chars().take(BRIEF).collect();
    if text.trim().chars().nth(BRIEF).is_some() {
        shown.push('…');
    }
    shown
}
