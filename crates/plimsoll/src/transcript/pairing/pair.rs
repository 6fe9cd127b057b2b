//! Pairing: walks over the messages once and finds what answers what.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use super::super::{BlockKind, CallKind, Message, Role, ToolCall, ToolResult};
use super::{Answer, Bond, BondKind, OpenCall, Orphan, OrphanKind};
use crate::wire::Text;

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
pub(super) struct Pairing<'t> {
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
    /// What answers what, in the order of the results.
    pub(super) answers: Vec<Answer>,
}

impl<'t> Pairing<'t> {
    pub(super) fn read(&mut self, index: usize, message: &'t Message<'_>) {
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
        // Entries of unknown roles are no part of what the model sees, and separate nothing.
        if message.role != Role::Other {
            self.in_response = is_model;
        }
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
        self.answers.push(Answer { call: (met.message, met.block), result: (message, block) });
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
    pub(super) fn finish(mut self, messages: &[Message<'_>]) -> (Vec<Bond>, Vec<Orphan>, Vec<OpenCall>) {
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
pub(super) fn reasoning(messages: &[Message<'_>], bonds: &mut Vec<Bond>, orphans: &mut Vec<Orphan>) {
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
pub(super) fn groups(messages: usize, bonds: &[Bond]) -> Vec<usize> {
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
