//! `Obligations`: which messages must stay or leave together, and where a conversation may be cut.
//!
//! This is the one obligation model of all wire formats: cutting, pruning, trimming for a retry and restoring all ask it.

mod pair;

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::{CallKind, Message, Transcript};
use pair::{Pairing, groups, reasoning};

/// Why two messages belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum BondKind {
    /// A call that the client carries out, and its result.
    Client,
    /// A call that the provider carries out, and its result in a later response.
    Server,
    /// A question whether a call may run, and the answer.
    Approval,
    /// Calls of one response, each in a message of its own: a batch is atomic.
    Batch,
    /// A reasoning item, and an item of the same response that follows it.
    Reasoning,
}

/// Two messages that stay or leave together, and all between them on the same side of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Bond {
    /// The earlier message's index.
    pub first: usize,
    /// The later message's index.
    pub last: usize,
    /// Why.
    pub kind: BondKind,
}

/// What is missing beside an orphan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OrphanKind {
    /// A call that was never answered, though the model has spoken in a later turn: interrupted.
    CallWithoutResult,
    /// A result without a call before it.
    ResultWithoutCall,
    /// A reasoning item that nothing of the model follows.
    ReasoningAlone,
}

/// Something that already lacks its counterpart. Orphans are reported, and no edit makes more of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Orphan {
    /// The message's index.
    pub message: usize,
    /// The block's index in it.
    pub block: usize,
    /// What it lacks.
    pub kind: OrphanKind,
    /// The call's id, where there is one.
    pub id: Option<String>,
}

/// A call that still waits for its result: it is never summarised away.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct OpenCall {
    /// The message's index.
    pub message: usize,
    /// The block's index in it.
    pub block: usize,
    /// Who owes the answer.
    pub kind: CallKind,
    /// Whether its message holds nothing else, so that it may stay verbatim while what surrounds it leaves.
    pub stands_alone: bool,
    /// The call's id, where there is one.
    pub id: Option<String>,
}

/// A result with the call that it answers, each as (message, block).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Answer {
    /// Where the call stands.
    pub call: (usize, usize),
    /// Where its result stands.
    pub result: (usize, usize),
}

/// What keeping only some messages would newly break.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Violation {
    /// One side of a bond would stay without the other.
    Parted(Bond),
    /// A call that waits for its result would leave.
    OpenCallLost(OpenCall),
}

/// The obligations between the messages of a transcript.
///
/// Made in time linear in the number of blocks. A cut at index `i` lets the messages before `i` leave and keeps the
/// rest.
///
/// ```
/// use plimsoll::transcript::Obligations;
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[
///   {"role":"user","content":"List the files"},
///   {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]},
///   {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x.rs"}]},
///   {"role":"assistant","content":"There is one."}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let obligations = Obligations::of(document.transcript());
/// assert_eq!(obligations.legal_cuts().collect::<Vec<_>>(), [0, 1, 3, 4]);
/// assert_eq!(obligations.closure([2]), [1, 2]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Obligations {
    bonds: Vec<Bond>,
    /// For each cut, `0..=messages`, whether something would be parted by it.
    blocked: Vec<bool>,
    /// For each message, the earliest message that it is tied to, directly or not.
    group: Vec<usize>,
    orphans: Vec<Orphan>,
    open: Vec<OpenCall>,
    answers: Vec<Answer>,
}

impl Obligations {
    /// Reads the obligations of a transcript.
    pub fn of(transcript: &Transcript<'_>) -> Self {
        Self::of_messages(&transcript.messages)
    }

    /// Reads the obligations of some messages in order.
    pub fn of_messages(messages: &[Message<'_>]) -> Self {
        let mut pairing = Pairing::default();
        for (index, message) in messages.iter().enumerate() {
            pairing.read(index, message);
        }
        let answers = std::mem::take(&mut pairing.answers);
        let (mut bonds, mut orphans, open) = pairing.finish(messages);
        reasoning(messages, &mut bonds, &mut orphans);
        bonds.sort_unstable();
        bonds.dedup();
        orphans.sort_unstable();

        // A cut c parts a bond if first < c <= last: mark where that begins and ends, then sum up.
        let mut steps = vec![0_isize; messages.len() + 2];
        let mut step = |at: usize, by: isize| {
            if let Some(step) = steps.get_mut(at) {
                *step += by;
            }
        };
        for bond in &bonds {
            step(bond.first + 1, 1);
            step(bond.last + 1, -1);
        }
        for call in open.iter().filter(|call| !call.may_be_retained()) {
            step(call.message + 1, 1);
        }
        let mut depth = 0;
        let blocked = steps.iter().take(messages.len() + 1).map(|step| {
            depth += step;
            depth > 0
        });
        Self { blocked: blocked.collect(), group: groups(messages.len(), &bonds), bonds, orphans, open, answers }
    }

    /// How many messages there are.
    pub fn messages(&self) -> usize {
        self.group.len()
    }

    /// Whether the messages before `index` may leave and the others stay. False past the end.
    pub fn is_legal_cut(&self, index: usize) -> bool {
        self.blocked.get(index).is_some_and(|blocked| !blocked)
    }

    /// Every legal cut, ascending, `0` (nothing leaves) included.
    pub fn legal_cuts(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let cuts = self.blocked.iter().enumerate();
        cuts.filter(|(_, blocked)| !**blocked).map(|(at, _)| at)
    }

    /// The bonds, ascending.
    pub fn bonds(&self) -> &[Bond] {
        &self.bonds
    }

    /// Each result with the call that it answers, in the order of the results.
    ///
    /// ```
    /// use plimsoll::transcript::Obligations;
    /// use plimsoll::wire::{ParseOptions, parse};
    /// let body = br#"{"model":"claude-sonnet-4-5","messages":[
    ///   {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]},
    ///   {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x.rs"}]}]}"#;
    /// let document = parse(body, &ParseOptions::default()).unwrap();
    /// let obligations = Obligations::of(document.transcript());
    /// assert_eq!((obligations.answers()[0].call, obligations.answers()[0].result), ((0, 0), (1, 0)));
    /// ```
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// What already lacks its counterpart, ascending.
    pub fn orphans(&self) -> &[Orphan] {
        &self.orphans
    }

    /// The calls that wait for their result, ascending.
    pub fn open_calls(&self) -> &[OpenCall] {
        &self.open
    }

    /// The messages that stay verbatim wherever the cut is: open approvals that stand alone, with all they are tied to.
    pub fn standing(&self) -> Vec<usize> {
        let alone = self.open.iter().filter(|call| call.may_be_retained());
        self.closure(alone.map(|call| call.message))
    }

    /// The smallest set that contains these messages and parts nothing: what must leave, or stay, together with them.
    ///
    /// Ascending; indices past the end are passed over.
    pub fn closure(&self, messages: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let seeds: HashSet<usize> = messages.into_iter().filter_map(|index| self.group.get(index).copied()).collect();
        if seeds.is_empty() {
            return Vec::new();
        }
        let members = self.group.iter().enumerate();
        members.filter(|(_, group)| seeds.contains(group)).map(|(index, _)| index).collect()
    }

    /// What would be newly broken if only the messages for which `keeps` holds stayed.
    pub fn violations(&self, keeps: impl Fn(usize) -> bool) -> Vec<Violation> {
        let parted = self
            .bonds
            .iter()
            .filter(|bond| keeps(bond.first) != keeps(bond.last))
            .map(|bond| Violation::Parted(*bond));
        let lost = self.open.iter().filter(|call| !keeps(call.message));
        parted.chain(lost.map(|call| Violation::OpenCallLost(call.clone()))).collect()
    }

    /// The orphans in here that an earlier state did not have: what an edit between the two broke.
    ///
    /// Orphans are told apart by what they lack and by their call's id, since indices move.
    pub fn new_orphans(&self, before: &Self) -> Vec<&Orphan> {
        let mut known: HashMap<(OrphanKind, Option<&str>), usize> = HashMap::new();
        let open = before.open.iter().map(|call| (OrphanKind::CallWithoutResult, call.id.as_deref()));
        let orphans = before.orphans.iter();
        for key in open.chain(orphans.map(|orphan| (orphan.kind, orphan.id.as_deref()))) {
            *known.entry(key).or_default() += 1;
        }
        let fresh = self.orphans.iter().filter(|orphan| match known.get_mut(&(orphan.kind, orphan.id.as_deref())) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        });
        fresh.collect()
    }
}

impl OpenCall {
    /// Whether it can be kept verbatim out of its surroundings, so that it does not hold up a cut.
    pub fn may_be_retained(&self) -> bool {
        self.kind == CallKind::Approval && self.stands_alone
    }
}

#[cfg(test)]
mod tests;
