//! `Obligations`: which messages must stay or leave together, and where a conversation may be cut.
//!
//! This is the one obligation model of `spec/wire.md`: cutting, pruning, trimming for a retry and restoring all ask it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use serde::Serialize;

use super::{BlockKind, CallKind, Message, Role, ToolCall, ToolResult, Transcript};
use crate::wire::Text;

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
        Self { blocked: blocked.collect(), group: groups(messages.len(), &bonds), bonds, orphans, open }
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

/// A call that was met on the way.
#[derive(Debug, Clone, Copy)]
struct Met<'t> {
    call: &'t ToolCall<'t>,
    message: usize,
    block: usize,
    turn: usize,
    response: usize,
    stands_alone: bool,
    answered: bool,
}

/// The client's calls of one response, oldest first.
#[derive(Debug, Default)]
struct Response {
    calls: VecDeque<usize>,
    /// Those among them that were recorded without an id.
    without_id: VecDeque<usize>,
}

/// Pairs results with calls in one pass.
#[derive(Debug, Default)]
struct Pairing<'t> {
    calls: Vec<Met<'t>>,
    /// The calls of an id that wait, latest last. Questions and calls have ids of their own.
    waiting: HashMap<(bool, Cow<'t, str>), Vec<usize>>,
    /// The latest call of an id that has been answered.
    answered: HashMap<(bool, Cow<'t, str>), usize>,
    /// The client's calls by response, latest response last: results without an id answer them in order.
    responses: Vec<Response>,
    /// The provider's calls, oldest first, for its results without an id.
    server: VecDeque<usize>,
    /// Whether the message before was the model's, so that calls now join its response.
    in_response: bool,
    response: usize,
    turn: usize,
    model_turn: usize,
    bonds: Vec<Bond>,
    orphans: Vec<Orphan>,
}

impl<'t> Pairing<'t> {
    fn read(&mut self, index: usize, message: &'t Message<'_>) {
        if message.is_typed() {
            self.turn += 1;
        }
        let is_model = message.role == Role::Assistant;
        if is_model {
            self.model_turn = self.turn;
            if !self.in_response {
                self.response += 1;
                self.responses.push(Response::default());
            }
        }
        self.in_response = is_model;
        for (at, block) in message.blocks.iter().enumerate() {
            match &block.kind {
                BlockKind::ToolCall(call) => self.call(Met {
                    call,
                    message: index,
                    block: at,
                    turn: self.turn,
                    response: self.response,
                    stands_alone: message.blocks.len() == 1,
                    answered: false,
                }),
                BlockKind::ToolResult(result) => self.result(index, at, result),
                _ => {}
            }
        }
    }

    fn call(&mut self, met: Met<'t>) {
        let number = self.calls.len();
        if let Some(id) = met.call.id {
            let key = (met.call.kind == CallKind::Approval, id.decode());
            self.waiting.entry(key).or_default().push(number);
        }
        // A call outside of any response (a log that has only calls) opens one.
        if self.responses.is_empty() {
            self.responses.push(Response::default());
        }
        match (met.call.kind, self.responses.last_mut()) {
            (CallKind::Client, Some(response)) => {
                response.calls.push_back(number);
                if met.call.id.is_none() {
                    response.without_id.push_back(number);
                }
            }
            (CallKind::Server, _) => self.server.push_back(number),
            _ => {}
        }
        self.calls.push(met);
    }

    fn result(&mut self, message: usize, block: usize, result: &'t ToolResult<'_>) {
        let id = result.call_id.map(Text::decode);
        let found = match &id {
            Some(id) => self.by_id(&(result.kind == CallKind::Approval, id.clone())),
            None => self.by_order(result.kind, |response| &mut response.calls),
        };
        // An id that names no call answers a call that was recorded without an id, if one waits.
        let found = found.or_else(|| self.by_order(result.kind, |response| &mut response.without_id));
        let Some(number) = found else {
            self.orphans.push(Orphan {
                message,
                block,
                kind: OrphanKind::ResultWithoutCall,
                id: id.map(Cow::into_owned),
            });
            return;
        };
        let Some(met) = self.calls.get_mut(number) else {
            return;
        };
        met.answered = true;
        if let Some(id) = met.call.id {
            let key = (met.call.kind == CallKind::Approval, id.decode());
            self.answered.insert(key, number);
        }
        if met.message != message {
            self.bonds.push(Bond {
                first: met.message,
                last: message,
                kind: match met.call.kind {
                    CallKind::Client => BondKind::Client,
                    CallKind::Server => BondKind::Server,
                    CallKind::Approval => BondKind::Approval,
                },
            });
        }
    }

    /// The nearest call of this id that waits. A second answer belongs to the call that had the first.
    fn by_id(&mut self, key: &(bool, Cow<'t, str>)) -> Option<usize> {
        while let Some(number) = self.waiting.get_mut(key).and_then(Vec::pop) {
            if self.calls.get(number).is_some_and(|met| !met.answered) {
                return Some(number);
            }
        }
        self.answered.get(key).copied()
    }

    /// The first call that waits: of the provider's all, of the client's those of the latest response that has one.
    fn by_order(&mut self, kind: CallKind, of: impl Fn(&mut Response) -> &mut VecDeque<usize>) -> Option<usize> {
        match kind {
            CallKind::Client => {}
            CallKind::Server => return first_waiting(&self.calls, &mut self.server),
            CallKind::Approval => return None,
        }
        while let Some(response) = self.responses.last_mut() {
            if first_waiting(&self.calls, &mut response.calls).is_some() {
                return first_waiting(&self.calls, of(response));
            }
            // The response being read stays, empty, for the calls that may still join it.
            if self.in_response || self.responses.len() == 1 {
                return None;
            }
            self.responses.pop();
        }
        None
    }

    /// Sorts what was never answered into what still waits and what was interrupted.
    fn finish(mut self, messages: &[Message<'_>]) -> (Vec<Bond>, Vec<Orphan>, Vec<OpenCall>) {
        let last_spoken = messages.iter().rposition(|message| message.role == Role::Assistant);
        let mut open = Vec::new();
        // Those never answered are no part of a batch that anything depends on.
        let answered = self.calls.iter().filter(|met| met.answered);
        for (earlier, later) in answered.clone().zip(answered.skip(1)) {
            if earlier.response == later.response && earlier.message != later.message {
                self.bonds.push(Bond { first: earlier.message, last: later.message, kind: BondKind::Batch });
            }
        }
        for met in self.calls.iter().filter(|met| !met.answered) {
            let waits = match met.call.kind {
                // A question is answered whenever the user comes back to it.
                CallKind::Approval => true,
                CallKind::Client => met.turn >= self.model_turn,
                // The provider answers in the response or in the next one.
                CallKind::Server => last_spoken.is_none_or(|last| last <= met.message),
            };
            let id = met.call.id.map(|id| id.decode().into_owned());
            if waits {
                open.push(OpenCall {
                    message: met.message,
                    block: met.block,
                    kind: met.call.kind,
                    stands_alone: met.stands_alone,
                    id,
                });
            } else if !(met.call.kind == CallKind::Server && met.stands_alone) {
                // (An item of a server call carries its own outcome.)
                self.orphans.push(Orphan {
                    message: met.message,
                    block: met.block,
                    kind: OrphanKind::CallWithoutResult,
                    id,
                });
            }
        }
        (self.bonds, self.orphans, open)
    }
}

/// The first of some calls that waits. What is answered already is dropped, so that the work stays linear.
fn first_waiting(calls: &[Met<'_>], queue: &mut VecDeque<usize>) -> Option<usize> {
    while let Some(number) = queue.front() {
        if calls.get(*number).is_some_and(|met| !met.answered) {
            return Some(*number);
        }
        queue.pop_front();
    }
    None
}

/// Ties reasoning items to the rest of their response. In formats whose messages hold the reasoning there are none.
fn reasoning(messages: &[Message<'_>], bonds: &mut Vec<Bond>, orphans: &mut Vec<Orphan>) {
    // The first reasoning item of the response being read, and whether it is the last item so far.
    let mut response: Option<(usize, bool)> = None;
    for (index, message) in messages.iter().enumerate() {
        match (message.role, response) {
            (Role::Assistant, Some((first, _))) => {
                bonds.push(Bond { first, last: index, kind: BondKind::Reasoning });
                response = Some((first, false));
            }
            (Role::Assistant, None) if is_reasoning(message) => response = Some((index, true)),
            // Entries of unknown roles are no part of what the model sees, and separate nothing.
            (Role::Assistant | Role::Other, _) => {}
            (Role::System | Role::User | Role::Tool, _) => {
                if let Some((first, true)) = response.take() {
                    orphans.push(Orphan { message: first, block: 0, kind: OrphanKind::ReasoningAlone, id: None });
                }
            }
        }
    }
    // At the very end the item that belongs to it may be still to come: that is no orphan.
}

/// Whether a message is a reasoning item: reasoning and nothing else.
fn is_reasoning(message: &Message<'_>) -> bool {
    let thinks = |kind: &BlockKind<'_>| matches!(kind, BlockKind::Thinking { .. });
    !message.blocks.is_empty() && message.blocks.iter().all(|block| thinks(&block.kind))
}

/// For each message the earliest of those it is tied to.
fn groups(messages: usize, bonds: &[Bond]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..messages).collect();
    for bond in bonds {
        let (first, last) = (root(&mut parent, bond.first), root(&mut parent, bond.last));
        let (low, high) = (first.min(last), first.max(last));
        if let Some(entry) = parent.get_mut(high) {
            *entry = low;
        }
    }
    for index in 0..messages {
        // Ascending, so that each parent is final already.
        let above = parent.get(index).and_then(|above| parent.get(*above)).copied();
        if let (Some(entry), Some(above)) = (parent.get_mut(index), above) {
            *entry = above;
        }
    }
    parent
}

fn root(parent: &mut [usize], index: usize) -> usize {
    let mut at = index;
    while let Some(above) = parent.get(at).copied().filter(|above| *above != at) {
        // Halving the path keeps the walks short.
        let next = parent.get(above).copied().unwrap_or(above);
        if let Some(entry) = parent.get_mut(at) {
            *entry = next;
        }
        at = next;
    }
    at
}

#[cfg(test)]
mod tests;
