//! Where the kept tail begins, and what of its thinking cannot stay.

use crate::Tokens;
use crate::budget::Measure;
use crate::transcript::{BlockKind, Message, Obligations, Role, Transcript, Turns, provider_compaction};
use crate::wire::Format;

/// The part of a conversation that a compaction may work on.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    /// The first message that may leave: after the leading operator messages.
    pub(super) start: usize,
    /// The first message that the model sees.
    pub(super) seen: usize,
    /// Where cuts may be, ascending: legal, something before them, the last message after them.
    pub(super) cuts: Vec<usize>,
}

impl Scope {
    pub(super) fn of(transcript: &Transcript<'_>, obligations: &Obligations, of_items: bool) -> Self {
        let messages = &transcript.messages;
        let leading = messages.iter().take_while(|message| message.role == Role::System);
        let mut start = leading.count();
        let mut least = start + 1;
        let mut seen = 0;
        if let Some((at, block)) = provider_compaction(transcript) {
            seen = at;
            // A continuation before it would not be seen.
            least = least.max(at + 1);
            let compaction = messages.get(at).and_then(|message| message.blocks.get(block));
            if compaction.is_some_and(|block| matches!(block.kind, BlockKind::Compaction(None))) {
                // Only the provider can read it, so no summary can stand for it: it stays, and work begins after it.
                start = start.max(at + 1);
                least = start + 1;
            }
        }
        // Where a message cannot be taken out of its surroundings, an open question holds up the cut after all.
        let most = match obligations.standing().first() {
            Some(standing) if !of_items => *standing,
            _ => messages.len().saturating_sub(1),
        };
        let cuts = obligations.legal_cuts();
        Self { start, seen, cuts: cuts.filter(|cut| (least..=most).contains(cut)).collect() }
    }

    /// How many messages that the model sees stand before a cut.
    pub(super) fn before(&self, cut: usize) -> usize {
        cut.saturating_sub(self.start.max(self.seen))
    }
}

/// Chooses the cut for a tail of at most `budget` tokens.
///
/// The tail grows back from the last message, which always stays, and moves to a legal cut: at a message that a person
/// typed, unless that would drop more than half of the tail because one turn is larger than all of it; then that turn
/// is split. Where not even the last legal group fits, it is the tail.
pub(super) fn choose(
    transcript: &Transcript<'_>,
    turns: &Turns,
    measure: &Measure,
    cuts: &[usize],
    budget: Tokens,
) -> Option<usize> {
    let messages = transcript.messages.len();
    let tail = |cut: usize| measure.range(cut..messages);
    let reach = cuts.partition_point(|cut| tail(*cut) > budget);
    let within = cuts.get(reach..).unwrap_or(&[]);
    let Some(first) = within.first() else {
        return cuts.last().copied();
    };
    let typed = within.iter().find(|cut| turns.starts_at(**cut));
    let split = typed.is_none_or(|typed| {
        let turn = turns.containing(*first).map_or(Tokens::ZERO, |turn| measure.range(turn));
        tail(*typed) < Tokens(budget.0 / 2) && turn > budget
    });
    match typed {
        Some(typed) if !split => Some(*typed),
        _ => Some(*first),
    }
}

/// Whether the last turn is in the middle of a tool loop: calls or results are the last that was said.
pub(super) fn in_tool_loop(messages: &[Message<'_>]) -> bool {
    for message in messages.iter().rev() {
        if message.results().next().is_some() || message.calls().next().is_some() {
            return true;
        }
        if message.is_typed() || (message.role == Role::Assistant && message.texts().next().is_some()) {
            return false;
        }
    }
    false
}

/// Whether reasoning in these messages is bound to what precedes it.
pub(super) fn has_sealed(messages: &[Message<'_>]) -> bool {
    let mut blocks = messages.iter().flat_map(|message| &message.blocks);
    blocks.any(|block| matches!(block.kind, BlockKind::Thinking { sealed: true, .. }))
}

/// Whether a turn goes on whose reasoning is bound to what precedes it: the model waits for results, or has just got
/// some, and has signed or sealed reasoning in this turn. No epoch should begin there (rule: specification of
/// compaction, *Putting it back*).
///
/// ```
/// use plimsoll::compact::has_bound_turn;
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = |signature: &str| format!(
///     r#"{{"max_tokens":9,"messages":[{{"role":"user","content":"Hi"}},{{"role":"assistant","content":[
///       {{"type":"thinking","thinking":"Look.","signature":"{signature}"}},{{"type":"tool_use","id":"a","name":"ls","input":{{}}}}]}},
///       {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"x"}}]}}]}}"#
/// );
/// let bound = |body: String| has_bound_turn(parse(body.as_bytes(), &ParseOptions::default()).unwrap().transcript());
/// assert!(bound(body("c2ln")) && !bound(body("")));
/// ```
pub fn has_bound_turn(transcript: &Transcript<'_>) -> bool {
    let messages = &transcript.messages;
    let turn = Turns::of(transcript).latest().unwrap_or(0..messages.len());
    in_tool_loop(messages) && has_sealed(messages.get(turn).unwrap_or(&[]))
}

/// The thinking blocks that cannot stay when the prefix before `cut` changes: those of earlier turns.
///
/// Only messages before `planned` count: later ones were signed over the changed prefix already. The turn that goes on
/// keeps its thinking, a message that answers a call not being the beginning of another (Anthropic's rule;
/// in formats of items reasoning leaves with its whole group only).
pub(super) fn omitted(
    transcript: &Transcript<'_>,
    format: Format,
    cut: usize,
    planned: usize,
) -> Vec<(usize, usize)> {
    if !matches!(format, Format::Anthropic | Format::ClaudeCode) {
        return Vec::new();
    }
    let messages = &transcript.messages;
    let begins = |message: &Message<'_>| message.is_typed() && message.results().next().is_none();
    let latest = messages.iter().rposition(begins).unwrap_or(0);
    let tail = messages.iter().enumerate().take(latest.min(planned)).skip(cut);
    tail.flat_map(|(index, message)| {
        let blocks = message.blocks.iter().enumerate();
        blocks
            .filter(|(_, block)| matches!(block.kind, BlockKind::Thinking { .. }))
            .map(move |(block, _)| (index, block))
    })
    .collect()
}
