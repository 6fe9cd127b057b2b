//! `Turns`: a conversation by the messages that a person typed.

use std::ops::Range;

use super::{BlockKind, Transcript};

/// The turns of a transcript. A turn begins with a message that a person typed; what stands before the first such
/// message belongs to no turn.
///
/// ```
/// use plimsoll::transcript::Turns;
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},
///   {"role":"user","content":"Fix it"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let turns = Turns::of(document.transcript());
/// assert_eq!(turns.starts(), [0, 2]);
/// assert_eq!(turns.containing(1), Some(0..2));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turns {
    starts: Vec<usize>,
    messages: usize,
}

impl Turns {
    /// Reads the turns of a transcript.
    pub fn of(transcript: &Transcript<'_>) -> Self {
        let messages = transcript.messages.iter().enumerate();
        Self {
            starts: messages.filter(|(_, message)| message.is_typed()).map(|(index, _)| index).collect(),
            messages: transcript.messages.len(),
        }
    }

    /// The indices of the messages that begin a turn, ascending.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// How many turns there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether nobody typed anything.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Whether a turn begins with this message.
    pub fn starts_at(&self, message: usize) -> bool {
        self.starts.binary_search(&message).is_ok()
    }

    /// The messages of the turn that a message belongs to.
    pub fn containing(&self, message: usize) -> Option<Range<usize>> {
        if message >= self.messages {
            return None;
        }
        let after = self.starts.partition_point(|start| *start <= message);
        let start = self.starts.get(after.checked_sub(1)?)?;
        let end = self.starts.get(after).copied().unwrap_or(self.messages);
        Some(*start..end)
    }

    /// The messages of the latest turn.
    pub fn latest(&self) -> Option<Range<usize>> {
        self.starts.last().map(|start| *start..self.messages)
    }
}

/// The last block in which a provider compacted, as (message, block): the model sees nothing before it.
///
/// Anthropic's API ignores what precedes a `compaction` block, so counts start there too.
pub fn provider_compaction(transcript: &Transcript<'_>) -> Option<(usize, usize)> {
    let is_compaction = |kind: &BlockKind<'_>| matches!(kind, BlockKind::Compaction(_));
    let mut latest_first = transcript.messages.iter().enumerate().rev();
    latest_first.find_map(|(index, message)| {
        let mut blocks = message.blocks.iter();
        Some((index, blocks.rposition(|block| is_compaction(&block.kind))?))
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::{Step, transcript};
    use super::*;

    #[test]
    fn turns_begin_where_a_person_types() {
        let mixed = Step::Results { ids: vec![Some(0)], text: false };
        let script = [Step::System, Step::Machine, Step::Typed, Step::Say, mixed, Step::Machine, Step::Typed];
        let turns = Turns::of(&transcript(&script));
        assert_eq!(turns.starts(), [2, 6]);
        assert_eq!(turns.containing(1), None);
        assert_eq!(turns.containing(5), Some(2..6));
        assert_eq!(turns.containing(6), Some(6..7));
        assert_eq!(turns.containing(7), None);
        assert_eq!(turns.latest(), Some(6..7));
        assert!(turns.starts_at(6) && !turns.starts_at(5));
        assert!(Turns::of(&transcript(&[])).is_empty());
    }
}
