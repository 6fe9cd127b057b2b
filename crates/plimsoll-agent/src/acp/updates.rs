//! What an agent tells of its session (`session/update`).

use plimsoll::Tokens;
use plimsoll::command::{Commands, Compaction};
use serde_json::Value;

use super::Acp;
use crate::driver::{Record, Step};
use crate::event::{EventKind, MAX_TEXT};
use crate::json::{list, owned, pieces, text, tokens};

/// How much of what a command says is kept, in bytes: enough for the reason of a refusal.
const REASON: usize = 2 << 10;

impl Acp {
    /// Takes an update.
    pub(super) fn update(&mut self, mut params: Value, record: Record<'_>, steps: &mut Vec<Step>) {
        let session = text(&params, "sessionId").to_owned();
        let mut update = params.get_mut("update").map(Value::take).unwrap_or_default();
        let kind = text(&update, "sessionUpdate").to_owned();
        // What happens in another session is not this one's, whatever it is.
        if self.session.as_ref().is_some_and(|own| !session.is_empty() && own.as_str() != session) {
            steps.push(Step::Unknown(format!("session/update/{kind}")));
            return;
        }
        match kind.as_str() {
            "available_commands_update" => self.advertised(&update, steps),
            "usage_update" => self.measured(&update, steps),
            // What was said in earlier runs was reported by them.
            _ if self.replaying || self.session.is_none() => {}
            "agent_message_chunk" => match content(&update) {
                Some(said) => {
                    if let Some(turn) = self.turn.as_mut().filter(|turn| turn.said.len() < REASON) {
                        turn.said.push_str(said);
                    }
                    steps.extend(pieces(said, |text| EventKind::Text { text }).into_iter().map(Step::Event));
                }
                None => steps.push(Step::Event(raw(&kind, record))),
            },
            "agent_thought_chunk" => {
                let said = content(&update).unwrap_or_default();
                steps.extend(pieces(said, |text| EventKind::Thinking { text }).into_iter().map(Step::Event));
            }
            "tool_call" | "tool_call_update" => {
                steps.extend(self.calls.update(&mut update, false).into_iter().map(Step::Event));
            }
            "compaction_update" => self.compaction(&update, steps),
            "plan" => steps.push(Step::Event(raw(&kind, record))),
            "user_message_chunk"
            | "current_mode_update"
            | "config_option_update"
            | "session_info_update"
            | "compaction_summary_chunk" => {}
            _ => steps.push(Step::Unknown(format!("session/update/{kind}"))),
        }
    }

    fn advertised(&mut self, update: &Value, steps: &mut Vec<Step>) {
        // Some list a command once more with each of its words: `memory`, `memory show`.
        let names = list(update, "availableCommands").iter().filter_map(|command| owned(command, "name"));
        let names: Vec<String> = names.filter_map(|name| name.split_whitespace().next().map(str::to_owned)).collect();
        let unlisted = self.unlisted.iter().map(|name| (*name).to_owned());
        let commands = Commands::new(names.into_iter().chain(unlisted), [""; 0]);
        self.commands = Some(commands.clone());
        steps.push(Step::Event(EventKind::Commands(commands)));
        self.ready_if_settled(steps);
    }

    fn measured(&mut self, update: &Value, steps: &mut Vec<Step>) {
        // An answer that was cut off leaves some agents without a number, which they tell as none.
        let used = tokens(update, "used").filter(|used| *used > Tokens(0));
        let window = tokens(update, "size").filter(|size| *size > Tokens(0));
        self.context = used;
        if let Some(turn) = &mut self.turn {
            turn.measured = used.is_some();
        }
        steps.push(Step::Context { used, window });
    }

    /// A compaction, as a draft of the protocol tells it.
    fn compaction(&mut self, update: &Value, steps: &mut Vec<Step>) {
        let status = text(update, "status");
        let step = match status {
            "completed" => Compaction::done(None, self.context),
            "failed" | "cancelled" => {
                Compaction::refused(owned(update, "error").unwrap_or_else(|| format!("it ended with `{status}`")))
            }
            _ => {
                // One that was asked for is told to have started when it was asked for.
                if self.turn.as_ref().is_some_and(|turn| turn.compaction.is_some()) {
                    return;
                }
                Compaction::Started
            }
        };
        if let (Some(turn), Compaction::Finished { .. }) = (&mut self.turn, &step) {
            turn.told = true;
        }
        steps.push(Step::Event(EventKind::Compaction(step)));
    }
}

/// The text of a chunk; none if it is no text.
fn content(update: &Value) -> Option<&str> {
    update.get("content")?.get("text")?.as_str()
}

/// A record as it came.
fn raw(kind: &str, record: Record<'_>) -> EventKind {
    let json = record.json.get();
    EventKind::Raw {
        kind: format!("session/update/{kind}"),
        record: (json.len() <= MAX_TEXT).then(|| record.json.to_owned()),
        bytes: u64::try_from(json.len()).unwrap_or(u64::MAX),
    }
}
