//! Capping results at admission: what is decided about a result when it first appears is repeated ever after.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use plimsoll::Bytes;
use plimsoll::cap::{self, Policy, cap_recalled};
use plimsoll::id::{ArtifactId, Folder, Record, SessionId, ToolCallId};
use plimsoll::transcript::{BlockKind, CallKind, Role};
use plimsoll::wire::{Document, Span, Text, quote};
use plimsoll_store::Store;

use super::envelope::is_recall;
use super::history::Cap;
use super::options::Recaller;
use super::report::Reason;
use crate::spill::{ToolResult, spill};

/// How many decisions are kept in memory. Those that were dropped are found in the store again.
const KEPT: usize = 1 << 16;

/// Results no longer than this are neither capped nor looked for in the store, unless the cap itself is smaller: of a large
/// batch each may have less, but the line that says what was left out would be longer than what it saves.
const SMALL: Bytes = Bytes(256);

/// A text in the result of a client's tool.
#[derive(Debug, Clone)]
pub(super) struct Leaf<'a> {
    /// The message's index in the view.
    pub(super) message: usize,
    /// Its number among the texts of the message's results.
    pub(super) number: usize,
    /// The inside of the JSON string that it is.
    pub(super) span: Span,
    pub(super) text: Text<'a>,
    pub(super) call: String,
    /// Its number among the texts of its result.
    part: usize,
}

/// What was decided about a text: what stands in its place, or that it goes as it came.
pub(super) type Decision = Option<Arc<[u8]>>;

/// What was decided about the texts of results, by call and content.
#[derive(Debug, Default)]
pub(super) struct Decided {
    known: HashMap<[u8; 32], Decision>,
    /// The calls that have something stored, once that was listed.
    stored: Option<HashSet<String>>,
}

/// What decides about new results.
pub(super) struct Admission<'s> {
    pub(super) store: &'s Store,
    pub(super) session: &'s SessionId,
    pub(super) recaller: Recaller,
    /// Whether the request's tools contain the recall tool.
    pub(super) has_recall: bool,
    /// The most that one text may take, and all of a batch together.
    pub(super) each: Bytes,
    pub(super) together: Bytes,
    /// How many bytes may be added uncapped before the hard threshold is reached.
    pub(super) room: Bytes,
    pub(super) now: SystemTime,
}

/// What came of looking at results.
#[derive(Debug, Default)]
pub(super) struct Admitted {
    pub(super) caps: Vec<Cap>,
    /// How many of them are new.
    pub(super) fresh: usize,
    pub(super) notes: Vec<Reason>,
    /// What was decided, to be kept.
    pub(super) decisions: Vec<([u8; 32], Decision)>,
    /// The calls that have something stored, if that was listed.
    pub(super) stored: Option<HashSet<String>>,
}

impl Decided {
    /// Keeps what was decided.
    pub(super) fn keep(&mut self, admitted: &mut Admitted) {
        if self.known.len() > KEPT {
            self.known.clear();
        }
        self.known.extend(admitted.decisions.drain(..));
        if let Some(stored) = admitted.stored.take() {
            self.stored = Some(stored);
        }
    }

    /// Gives what was decided about these texts; what was not is missing.
    pub(super) fn of(&self, leaves: &[Leaf<'_>]) -> (HashMap<[u8; 32], Decision>, Option<HashSet<String>>) {
        let known = leaves.iter().filter_map(|leaf| {
            let key = leaf.key();
            Some((key, self.known.get(&key)?.clone()))
        });
        (known.collect(), self.stored.clone())
    }
}

impl Leaf<'_> {
    /// Tells this text of this call from all others.
    fn key(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.call.len() as u64).to_le_bytes()).update(self.call.as_bytes());
        hasher.update(&(self.part as u64).to_le_bytes());
        // By what it reads as: clients spell the same text otherwise from time to time.
        hasher.update(self.text.decode().as_bytes());
        *hasher.finalize().as_bytes()
    }

    /// The name that it is stored under.
    fn call_id(&self) -> ToolCallId {
        match self.part {
            0 => ToolCallId::new(&self.call),
            part => ToolCallId::new(&format!("{}#{part}", self.call)),
        }
    }
}

/// Finds the texts in the results of client tools in a view, in order.
pub(super) fn leaves<'a>(view: &Document<'a>) -> Vec<Leaf<'a>> {
    let mut leaves = Vec::new();
    for (index, message) in view.transcript().messages.iter().enumerate() {
        let mut number = 0;
        for result in message.results().filter(|result| result.kind == CallKind::Client) {
            let Some(call) = result.call_id else {
                continue;
            };
            for (part, block) in result.content.iter().enumerate() {
                let BlockKind::Text(text) = block.kind else {
                    continue;
                };
                // Only what is a whole JSON string can be replaced by another.
                if let Some(span) = string_inside(view.bytes(), text) {
                    let call = call.decode().into_owned();
                    leaves.push(Leaf { message: index, number, span, text, call, part });
                    number += 1;
                }
            }
        }
    }
    leaves
}

/// Where a text of a message's results stands, in a view of that message alone.
pub(super) fn leaf_span(view: &Document<'_>, leaf: usize) -> Option<Span> {
    leaves(view).get(leaf).map(|leaf| leaf.span)
}

/// The place of a text that is the inside of a JSON string.
fn string_inside(bytes: &[u8], text: Text<'_>) -> Option<Span> {
    let start = (text.raw().as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
    let span = Span::new(start, start.checked_add(text.raw().len())?)?;
    let quoted = bytes.get(start.checked_sub(1)?) == Some(&b'"') && bytes.get(span.end()) == Some(&b'"');
    quoted.then_some(span)
}

/// The index of the first message that no model has answered yet: what stands from there on was never seen by one.
pub(super) fn pending_from(view: &Document<'_>) -> usize {
    let messages = &view.transcript().messages;
    messages.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |index| index + 1)
}

/// Whether all results in a view are so small, the new ones together too, that the store has no part in deciding about
/// them, where each may take as much as this.
pub(super) fn are_small(view: &Document<'_>, each: Bytes) -> bool {
    let pending = pending_from(view);
    let mut together = 0;
    for leaf in leaves(view) {
        let size = Bytes::from(leaf.text.raw().len());
        if leaf.message >= pending {
            together += size.0;
        } else if size > SMALL.min(each) {
            return false;
        }
    }
    // Together they may always take as much as one.
    Bytes(together) <= each
}

/// Decides about the texts of results in a view whose first message is message `first` of the conversation.
///
/// What was decided is repeated. What a model has seen before goes as it came, unless a capped form of it is stored:
/// then that is what the model saw. What no model has seen is capped if somebody can recall it.
pub(super) fn admit(
    admission: &Admission<'_>,
    view: &Document<'_>,
    first: usize,
    leaves: &[Leaf<'_>],
    tool_of: &dyn Fn(&str) -> Option<String>,
    (known, stored): (HashMap<[u8; 32], Decision>, Option<HashSet<String>>),
) -> Admitted {
    let pending = pending_from(view);
    let mut admitted = Admitted::default();
    let mut seen: Vec<(&Leaf<'_>, [u8; 32])> = Vec::new();
    let mut fresh: Vec<(&Leaf<'_>, [u8; 32])> = Vec::new();
    for leaf in leaves {
        let key = leaf.key();
        match known.get(&key) {
            Some(Some(with)) => admitted.cap(first, leaf, Arc::clone(with)),
            Some(None) => {}
            None if leaf.message < pending => seen.push((leaf, key)),
            None => fresh.push((leaf, key)),
        }
    }
    admission.replay(&mut admitted, first, &seen, stored.as_ref());
    admission.cap_new(&mut admitted, first, &fresh, tool_of);
    admitted.caps.sort_by_key(|cap| cap.span.start());
    admitted
}

impl Admitted {
    fn cap(&mut self, first: usize, leaf: &Leaf<'_>, with: Arc<[u8]>) {
        self.caps.push(Cap { message: first + leaf.message, leaf: leaf.number, span: leaf.span, with });
    }

    fn decide(&mut self, first: usize, leaf: &Leaf<'_>, key: [u8; 32], shown: Option<&str>) {
        let with: Decision = shown.map(|text| inside(&quote(text)).into());
        if let Some(with) = &with {
            self.cap(first, leaf, Arc::clone(with));
        }
        self.decisions.push((key, with));
    }
}

/// What stands between the quotes.
fn inside(quoted: &str) -> &[u8] {
    quoted.as_bytes().get(1..quoted.len().saturating_sub(1)).unwrap_or(&[])
}

impl Admission<'_> {
    /// What no cap is below.
    fn least(&self) -> Bytes {
        SMALL.min(self.each)
    }

    /// Repeats what other processes, or this one before it was started again, showed of results.
    fn replay(
        &self,
        admitted: &mut Admitted,
        first: usize,
        seen: &[(&Leaf<'_>, [u8; 32])],
        stored: Option<&HashSet<String>>,
    ) {
        let large = |leaf: &Leaf<'_>| Bytes::from(leaf.text.raw().len()) > self.least();
        if !seen.iter().any(|(leaf, _)| large(leaf)) {
            admitted.decisions.extend(seen.iter().map(|(_, key)| (*key, None)));
            return;
        }
        // One listing the first time, and then a look at those alone that may be there.
        let listed = match stored {
            Some(_) => None,
            None => match self.list() {
                Ok(listed) => Some(listed),
                Err(error) => {
                    admitted.notes.push(Reason::Store(error));
                    return;
                }
            },
        };
        for (leaf, key) in seen {
            let call = leaf.call_id();
            let may_be = listed.as_ref().is_none_or(|listed| listed.contains(call.as_str()));
            if !large(leaf) || !may_be {
                admitted.decide(first, leaf, *key, None);
                continue;
            }
            let text = leaf.text.decode();
            match self.store.find_result(self.session, &call, text.as_bytes()) {
                Ok(found) => {
                    let shown = found.and_then(|found| found.meta.capped);
                    admitted.decide(first, leaf, *key, shown.as_deref());
                }
                // Not decided: it may be found the next time.
                Err(error) => admitted.notes.push(Reason::Store(error.to_string())),
            }
        }
        admitted.stored = listed;
    }

    fn list(&self) -> Result<HashSet<String>, String> {
        let folder = Folder::ResultsOf(self.session.clone());
        let listing = self.store.backend().list(&folder).map_err(|error| error.to_string())?;
        let plain = |id: ArtifactId| id.name().split('~').next().unwrap_or_default().to_owned();
        let mut names = HashSet::new();
        for entry in listing.records {
            if let Some(Record::Meta(id)) = entry.key.record() {
                // A variant of a call is found by way of its plain name.
                names.insert(id.name().to_owned());
                if let Some((call, _)) = id.name().rsplit_once('~') {
                    names.insert(call.to_owned());
                }
                names.insert(plain(id));
            }
        }
        Ok(names)
    }

    /// Caps what no model has seen yet: each text within the cap, all of them within what a batch may take.
    fn cap_new(
        &self,
        admitted: &mut Admitted,
        first: usize,
        fresh: &[(&Leaf<'_>, [u8; 32])],
        tool_of: &dyn Fn(&str) -> Option<String>,
    ) {
        let sizes: Vec<Bytes> = fresh.iter().map(|(leaf, _)| Bytes::from(leaf.text.decode().len())).collect();
        let caps = cap::batch(&sizes, self.each, self.together);
        let may_cap = match self.recaller {
            Recaller::Nobody => false,
            Recaller::Tool => self.has_recall,
            Recaller::Always | Recaller::Files => true,
        };
        let mut room = self.room.0;
        for (((leaf, key), size), cap) in fresh.iter().zip(&sizes).zip(caps) {
            let tool = tool_of(&leaf.call);
            let cap = cap::Cap::Bytes(cap.bytes().max(self.least()));
            // What holds no characters, such as a lone surrogate, cannot be stored as it is.
            if *size <= cap.bytes() || !may_cap || leaf.text.is_lossy() {
                admitted.decide(first, leaf, *key, None);
                continue;
            }
            let text = leaf.text.decode();
            if tool.as_deref().is_some_and(is_recall) {
                // What was recalled is bounded, and never stored again.
                let shown = cap_recalled(&text, cap.bytes());
                admitted.decide(first, leaf, *key, Some(&shown.as_str()));
                admitted.fresh += 1;
                continue;
            }
            let call = leaf.call_id();
            let mut result = ToolResult::new(self.session, &call).at(self.now);
            if let Some(tool) = &tool {
                result = result.of_tool(tool);
            }
            if self.recaller == Recaller::Files {
                result = result.with_path();
            }
            let spilled = spill(self.store, &result, text.as_bytes(), &Policy::new(cap));
            if let Some(fault) = &spilled.fault {
                if size.0 <= room {
                    // It fits as it is, and so nothing has to be lost. Any replica comes to the same without a record.
                    room -= size.0;
                    admitted.notes.push(Reason::Store(fault.to_string()));
                    admitted.decide(first, leaf, *key, None);
                    continue;
                }
                admitted.notes.push(Reason::Unsaved(fault.to_string()));
            }
            let shown = String::from_utf8_lossy(&spilled.text);
            admitted.decide(first, leaf, *key, spilled.was_capped.then_some(&*shown));
            admitted.fresh += usize::from(spilled.was_capped);
        }
    }
}
