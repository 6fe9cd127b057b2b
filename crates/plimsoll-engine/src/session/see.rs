//! Seeing what a request is: what of it is known is compared, what is new is read, what was decided is repeated.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use plimsoll::Bytes;
use plimsoll::cap;
use plimsoll::compact::Chain;
use plimsoll::transcript::BlockKind;
use plimsoll::wire::{Document, Edit, Grown, MessageSpans, ParseOptions, parse, splice};

use super::adopt::InForce;
use super::envelope::Envelope;
use super::history::{Growth, History, Read, begins_turn};
use super::report::{Prefix, Reason, Request};
use super::results::{self, Admission, Admitted};
use super::state::SentBefore;
use super::{Inner, history};

/// What of a request may be read where nothing may take long, in bytes: a millisecond's work at the most.
#[cfg(feature = "tokio")]
const QUICK: usize = 16 << 10;
#[cfg(not(feature = "tokio"))]
const QUICK: usize = 0;

/// From how many bytes on a message tells one conversation from another.
const TELLING: usize = 128;

/// How long it may take to see what a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// As long as it takes.
    Any,
    /// No longer than waking another thread would, and without the store.
    #[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "only asynchronous hosts are in a hurry"))]
    Quick,
}

/// A request as it is seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) history: Arc<History>,
    /// What was sent before.
    pub(super) before: Option<SentBefore>,
    /// Whether it has messages that no earlier request had.
    pub(super) is_new: bool,
    /// Whether this process meets the history for the first time.
    pub(super) is_first: bool,
    /// How many texts of new results were capped.
    pub(super) capped: usize,
    pub(super) notes: Vec<Reason>,
}

impl Seen {
    /// The request, with what its last message says of it.
    pub(super) fn judged<'b>(&self, request: &Request<'b>) -> Request<'b> {
        let last = self.history.spans.messages().last().map(|span| span.of(request.body));
        let own = request.own_compaction.zip(last).is_some_and(|(asks, last)| asks(last, request.format));
        Request { replay_only: request.replay_only || own, ..*request }
    }

    /// How what goes out relates to what was sent before.
    pub(super) fn prefix(&self) -> Prefix {
        let Some(before) = &self.before else {
            return Prefix::New;
        };
        if before.is_extended_by(&self.history) {
            Prefix::Extends
        } else if before.epoch != self.history.epoch() {
            Prefix::Epoch
        } else if self.history.in_force.is_some() {
            Prefix::Released
        } else {
            Prefix::Broken
        }
    }
}

/// A request that was read whole, before anything of it is kept.
pub(super) struct Laid {
    pub(super) history: History,
    before: Option<SentBefore>,
    is_first: bool,
    admitted: Admitted,
}

/// A body that has no history here.
pub(super) enum Unseen<'b> {
    /// It goes as it came.
    Passed(Reason),
    /// The history stands on the server: its results are capped, and that is all.
    Results(Box<Document<'b>>),
}

impl Inner {
    /// Sees what a request is.
    pub(super) fn see<'b>(&self, request: &Request<'b>) -> Result<Seen, Unseen<'b>> {
        let candidates = self.state().candidates(request.format);
        for known in candidates {
            let grown = known
                .spans
                .grown(&known.bytes, request.body, request.format, |index, view| known.chain.repeats(index, view));
            if let Some(grown) = grown {
                match self.grow(request, known, grown, Pace::Any) {
                    Some(seen) => return Ok(seen),
                    None => break,
                }
            }
        }
        if let Some(seen) = self.rewind(request) {
            return Ok(seen);
        }
        self.lay(request, None).map(|laid| self.settle(request, laid))
    }

    /// Takes over what is known of the history that the request has most of its beginning in common with: it was rewound, or
    /// edited towards its end. `None` if it has to be read whole.
    fn rewind(&self, request: &Request<'_>) -> Option<Seen> {
        let candidates = self.state().candidates(request.format);
        let shared = |known: &Arc<History>| {
            let repeats = |index: usize, view: &Document<'_>| known.chain.repeats(index, view);
            known.spans.shared(&known.bytes, request.body, request.format, repeats)
        };
        let (messages, known) =
            candidates.into_iter().map(|known| (shared(&known), known)).max_by_key(|(shared, _)| *shared)?;
        let first = known.first(messages)?;
        let repeats = |index: usize, view: &Document<'_>| first.chain.repeats(index, view);
        let grown = first.spans.grown(&first.bytes, request.body, request.format, repeats)?;
        let mut seen = self.grow(request, Arc::new(first), grown, Pace::Any)?;
        // What was sent before is what was sent of this very history: the client has left the other.
        seen.before = None;
        Some(seen)
    }

    /// Sees what a request is that is a known history and little more. `None` if that takes time to tell.
    #[cfg(feature = "tokio")]
    pub(super) fn glance(&self, request: &Request<'_>) -> Option<Seen> {
        let candidates = self.state().candidates(request.format);
        let mut left = QUICK;
        for known in candidates {
            let grown = known.spans.grown(&known.bytes, request.body, request.format, |index, view| {
                let size = view.entries().iter().map(|entry| entry.span.len()).sum();
                let afforded = left >= size;
                left = left.saturating_sub(size);
                afforded && known.chain.repeats(index, view)
            });
            if let Some(grown) = grown {
                return self.grow(request, known, grown, Pace::Quick);
            }
        }
        None
    }

    /// Takes over what is known of a history that the request continues. `None` if it has to be read whole after all, or
    /// takes longer than it may.
    fn grow(&self, request: &Request<'_>, known: Arc<History>, grown: Grown, pace: Pace) -> Option<Seen> {
        let Grown { spans, respelled, same_envelope, .. } = grown;
        // Another window is told outside the body.
        let same_envelope = same_envelope && known.envelope.window == request.window;
        let (old, body) = (known.len(), request.body);
        let is_new = spans.len() > old;
        let before = Some(SentBefore::of(&known));
        if !is_new && respelled.is_empty() && same_envelope && known.bytes.len() == body.len() {
            let mut state = self.state();
            if self.held_by_now(&state, &known).is_some() {
                return None;
            }
            // One that was only cut from a longer one is not kept yet.
            if state.touch(&known) {
                return Some(Seen { history: known, before, is_new, is_first: false, capped: 0, notes: Vec::new() });
            }
        }
        let new = spans.messages().get(old..).unwrap_or(&[]).iter().map(|span| span.len()).sum::<usize>();
        // Counting waits while another conversation is counted whole.
        if pace == Pace::Quick && (new > QUICK || !same_envelope || known.meter.try_lock().is_err()) {
            return None;
        }
        let envelope = if same_envelope { known.envelope.clone() } else { envelope_of(&known, &spans, request)? };
        let view = spans.view(body, known.format, old..spans.len());
        let messages = &view.transcript().messages;
        if messages.len() != spans.len() - old
            || messages
                .iter()
                .flat_map(|message| &message.blocks)
                .any(|block| matches!(block.kind, BlockKind::Compaction(_)))
        {
            return None;
        }
        if let Some(in_force) = &known.in_force {
            // A new turn releases reasoning that was kept only while the one before it went on.
            let loose = known.latest_typed().unwrap_or(0) < in_force.epoch.messages;
            if loose && messages.iter().any(begins_turn) {
                return None;
            }
        }
        if pace == Pace::Quick && !results::are_small(&view, self.caps(&envelope).0) {
            return None;
        }
        let mut admitted = self.admit(request, &view, (old, 0..0), &envelope, Some(&known));
        let growth = Growth { body, spans, respelled: &respelled, envelope, view: &view, caps: &admitted.caps };
        let history = known.grow(growth)?;
        let mut state = self.state();
        state.decided.keep(&mut admitted);
        if self.held_by_now(&state, &history).is_some() {
            return None;
        }
        let history = state.keep(history, Some(known), body, (self.options.histories, self.options.memory));
        let Admitted { fresh, notes, .. } = admitted;
        Some(Seen { history, before, is_new, is_first: false, capped: fresh, notes })
    }

    /// Reads a request whole, under an epoch that is considered or the one that is known for it. Nothing is kept.
    pub(super) fn lay<'b>(
        &self,
        request: &Request<'b>,
        decided: Option<(&InForce, &History)>,
    ) -> Result<Laid, Unseen<'b>> {
        let pass = |reason: String| Unseen::Passed(Reason::NotUnderstood(reason));
        let options = ParseOptions::default().with_format(Some(request.format)).with_max_bytes(Bytes(u64::MAX));
        let document = parse(request.body, &options).map_err(|error| pass(error.to_string()))?;
        if document.previous().is_some() {
            return Err(Unseen::Results(Box::new(document)));
        }
        let spans =
            MessageSpans::of(&document).ok_or_else(|| pass("its messages are no array of objects".to_owned()))?;
        // What was just hashed is not hashed again.
        let same = decided.map(|(_, history)| history).filter(|history| history.bytes == request.body);
        let chain = same.map_or_else(|| Chain::of(&document), |history| history.chain.clone());
        let second = spans.messages().get(chain.leading() + 1).map(|span| span.of(request.body));
        let second = second.filter(|bytes| bytes.len() >= TELLING).map(blake3::hash);
        let model = document.model().map(|model| model.decode().into_owned());
        let (matching, before, (lineage, is_first), meter) = {
            let mut state = self.state();
            let before = state.grown_from(request.format, &chain).map(|history| SentBefore::of(&history));
            let matching = state.matching(request.format, &chain);
            let lineage = match decided {
                Some((_, history)) => (history.lineage, false),
                None => state.lineage(request.format, &chain, second),
            };
            (matching, before, lineage, state.meter(model.as_deref()))
        };
        let mut notes = Vec::new();
        let envelope =
            Envelope::of(&document, request.window, &mut meter.lock().unwrap_or_else(PoisonError::into_inner));
        let held = before.as_ref().and_then(|before| before.epoch);
        let as_it_came = || meter.lock().unwrap_or_else(PoisonError::into_inner).measure(&document).total;
        let in_force = decided
            .map(|(in_force, _)| in_force.clone())
            .or_else(|| self.holding(matching, held, &envelope, as_it_came));
        let replayed =
            in_force.map(|in_force| in_force.epoch.replay(&document, &chain).map(|edits| (in_force, edits)));
        let (in_force, edits) = match replayed {
            Some(Ok((in_force, edits))) => (Some(in_force), edits),
            Some(Err(error)) => {
                if decided.is_some() {
                    return Err(Unseen::Passed(Reason::NotReplayed(error.to_string())));
                }
                notes.push(Reason::NotReplayed(error.to_string()));
                (None, Vec::new())
            }
            None => (None, Vec::new()),
        };
        // What leaves needs no cap.
        let left = in_force.as_ref().map_or(0..0, |in_force| in_force.epoch.removed.clone());
        let mut admitted = self.admit(request, &document, (0, left), &envelope, None);
        notes.append(&mut admitted.notes);
        let touched = |cap: &history::Cap| edits.iter().any(|edit| edit.span.contains(cap.span));
        admitted.caps.retain(|cap| !touched(cap));
        let mut all: Vec<Edit<'_>> = edits.clone();
        all.extend(admitted.caps.iter().map(|cap| Edit::replace(cap.span, &cap.with[..])));
        all.sort_by_key(|edit| (edit.span.start(), edit.span.end()));
        // What goes as it came is not read twice.
        let (bytes, read_again);
        let sent = if all.is_empty() {
            &document
        } else {
            bytes = splice(request.body, &all).map_err(|error| pass(error.to_string()))?;
            read_again = parse(&bytes, &options).map_err(|error| pass(error.to_string()))?;
            &read_again
        };
        let read = Read {
            document: &document,
            envelope,
            spans,
            chain,
            in_force,
            edits: &edits,
            caps: &admitted.caps,
            lineage,
            second,
        };
        let mut history = History::read(read, sent, &meter);
        if let Some((_, known)) = decided {
            history.asked = Arc::clone(&known.asked);
        }
        Ok(Laid { history, before, is_first, admitted: Admitted { notes, ..admitted } })
    }

    /// Keeps what was laid out: from now on it is what was sent.
    pub(super) fn settle(&self, request: &Request<'_>, laid: Laid) -> Seen {
        let Laid { history, before, is_first, mut admitted } = laid;
        let mut state = self.state();
        state.decided.keep(&mut admitted);
        let older = state.grown_from(request.format, &history.chain);
        let is_new = older.as_ref().is_none_or(|older| older.len() < history.len());
        let history = state.keep(history, older, request.body, (self.options.histories, self.options.memory));
        Seen { history, before, is_new, is_first, capped: admitted.fresh, notes: admitted.notes }
    }

    /// Decides about the results in a view, or repeats what was decided.
    fn admit(
        &self,
        request: &Request<'_>,
        view: &Document<'_>,
        (first, left): (usize, std::ops::Range<usize>),
        envelope: &Envelope,
        known: Option<&History>,
    ) -> Admitted {
        let mut leaves = results::leaves(view);
        leaves.retain(|leaf| !left.contains(&leaf.message));
        if leaves.is_empty() {
            return Admitted::default();
        }
        let decided = self.state().decided.of(&leaves);
        let used = known.map_or(envelope.tokens(), |known| known.used().0);
        let (each, together) = self.caps(envelope);
        let hard = self.thresholds(envelope, known.is_some_and(|known| known.anchor().is_some()), None).hard;
        let admission = Admission {
            store: &self.store,
            session: &self.id,
            recaller: request.recaller.unwrap_or(self.options.recaller),
            has_recall: envelope.has_recall,
            each,
            together,
            room: cap::Cap::Tokens(hard - used).bytes(),
            now: (self.options.clock)(),
        };
        let mut named = HashMap::new();
        super::history::note_tools(view, &mut named);
        let tool_of = |call: &str| named.get(call).or_else(|| known?.tools.get(call)).cloned();
        results::admit(&admission, view, first, &leaves, &tool_of, decided)
    }

    /// Caps the new results of a body whose history stands on the server.
    pub(super) fn admit_alone<'b>(&self, request: &Request<'b>, document: &Document<'b>) -> Admitted {
        let model = document.model().map(|model| model.decode().into_owned());
        let meter = self.state().meter(model.as_deref());
        let envelope =
            Envelope::of(document, request.window, &mut meter.lock().unwrap_or_else(PoisonError::into_inner));
        let mut admitted = self.admit(request, document, (0, 0..0), &envelope, None);
        self.state().decided.keep(&mut admitted);
        admitted
    }
}

/// Reads what stands around the messages. `None` if it is of another model, or is not understood.
fn envelope_of(known: &History, spans: &MessageSpans, request: &Request<'_>) -> Option<Envelope> {
    let envelope = spans.envelope(request.body);
    let options = ParseOptions::default().with_format(Some(known.format));
    let document = parse(&envelope, &options).ok()?;
    if document.previous().is_some() || !document.transcript().messages.is_empty() {
        return None;
    }
    let mut meter = known.meter.lock().unwrap_or_else(PoisonError::into_inner);
    let read = Envelope::of(&document, request.window, &mut meter);
    (read.model == known.envelope.model).then_some(read)
}
