//! A turn under way, and what it came to.

use plimsoll::Tokens;
use plimsoll::command::Compaction;
use serde_json::Value;

use super::Acp;
use crate::driver::{Step, TurnEnd};
use crate::error::AgentError;
use crate::event::{EventKind, Usage};
use crate::json::{text, tokens};
use crate::outcome::Stop;

/// The turn under way.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// It is a `/compact`, and the context was this large before.
    pub(super) compaction: Option<Before>,
    /// The agent told of a compaction by itself.
    pub(super) told: bool,
    /// The context's size was told in this turn.
    pub(super) measured: bool,
    pub(super) said: String,
}

/// The context before a compaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before(pub(super) Option<Tokens>);

impl Acp {
    /// A prompt was answered.
    pub(super) fn end(&mut self, ended: &Value, steps: &mut Vec<Step>) {
        let stop = match text(ended, "stopReason") {
            "max_tokens" => Stop::MaxTokens,
            "max_turn_requests" => Stop::MaxTurns,
            "refusal" => Stop::Refusal,
            "cancelled" => Stop::Cancelled,
            _ => Stop::End,
        };
        self.finish(stop, usage(ended), None, steps);
    }

    pub(super) fn finish(
        &mut self,
        stop: Stop,
        usage: Option<Usage>,
        error: Option<AgentError>,
        steps: &mut Vec<Step>,
    ) {
        let turn = self.turn.take().unwrap_or_default();
        steps.extend(self.calls.settle().into_iter().map(Step::Event));
        if let (Some(Before(before)), false) = (turn.compaction, turn.told) {
            let after = self.context.filter(|_| turn.measured);
            let finished = match (&error, stop) {
                (Some(error), _) => Compaction::refused(error.to_string()),
                (None, Stop::Cancelled) => Compaction::refused("it was cancelled"),
                (None, _) if before.zip(after).is_none_or(|(before, after)| after < before) => {
                    Compaction::done(before, after)
                }
                (None, _) => Compaction::refused(match turn.said.trim() {
                    "" => "the agent did not make its context smaller",
                    said => said,
                }),
            };
            steps.push(Step::Event(EventKind::Compaction(finished)));
        }
        steps.push(Step::TurnEnded(TurnEnd { text: None, stop, usage, error }));
    }
}

/// What a turn used. Agents that say it say it of the turn.
pub(super) fn usage(ended: &Value) -> Option<Usage> {
    if let Some(usage) = ended.get("usage").filter(|usage| usage.is_object()) {
        let part = |name| tokens(usage, name).unwrap_or_default();
        let output = Tokens(part("outputTokens").0.saturating_add(part("thoughtTokens").0));
        return Some(Usage::new(part("inputTokens"), output, part("cachedReadTokens"), part("cachedWriteTokens")));
    }
    // Gemini CLI's own place for it.
    let count = ended.pointer("/_meta/quota/token_count")?;
    let part = |name| tokens(count, name).unwrap_or_default();
    Some(Usage::new(part("input_tokens"), part("output_tokens"), Tokens(0), Tokens(0)))
}
