//! `History`: one conversation as it was last sent, with all that was read, hashed, counted and decided about it.

mod messages;
mod placed;
mod rewind;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll::Tokens;
use plimsoll::budget::{Counting, Meter};
use plimsoll::compact::{Chain, ChainHash};
use plimsoll::token::Method;
use plimsoll::wire::{Document, Edit, Format, MessageSpans, Span, splice};

use super::adopt::InForce;
use super::envelope::Envelope;
use super::report::At;
use messages::turns;
pub(super) use messages::{begins_turn, note_tools};
use placed::{Edge, Placed, place};

/// The capped form of a text in a result.
#[derive(Debug, Clone)]
pub(super) struct Cap {
    pub(super) message: usize,
    /// The text's number among the texts of the message's results.
    pub(super) leaf: usize,
    /// Its place: the inside of a JSON string.
    pub(super) span: Span,
    /// What stands there.
    pub(super) with: Arc<[u8]>,
}

/// The last reported usage: the truth about what stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Anchor {
    pub(super) messages: usize,
    pub(super) tokens: Tokens,
}

/// One conversation as it was last sent.
pub(super) struct History {
    pub(super) format: Format,
    /// The body as it came; filled when the history is kept.
    pub(super) bytes: Vec<u8>,
    pub(super) spans: MessageSpans,
    /// Over the messages as they came.
    pub(super) chain: Chain,
    /// Over the messages as they were sent; `None` while that is the same.
    sent_chain: Option<Chain>,
    pub(super) envelope: Envelope,
    edits: Vec<Placed>,
    pub(super) in_force: Option<InForce>,
    /// The tokens of the messages as they came, and as they were sent.
    pub(super) original_tokens: Tokens,
    sent_tokens: Tokens,
    /// The tokens of the messages as they were sent, summed up to each number of original messages from
    /// `counted_from` on.
    sums: Vec<Tokens>,
    counted_from: usize,
    /// The tokens of the messages as they came, summed up to each number of them.
    original_sums: Vec<Tokens>,
    pub(super) method: Method,
    anchor: Mutex<Option<Anchor>>,
    /// The names of the tools by the ids of their calls.
    pub(super) tools: Arc<HashMap<String, String>>,
    /// The indices of the messages that begin a turn.
    typed: Vec<usize>,
    /// The attempts at compaction that this history and its like share.
    pub(super) lineage: u64,
    /// The hash of its second message's bytes, where that is no mere word.
    pub(super) second: Option<blake3::Hash>,
    /// Counts as the model does that it is for.
    pub(super) meter: SharedMeter,
    /// Whether it is known if others have compacted it: it was met from its beginning, or the store was asked. It holds for
    /// all that it grows to.
    pub(super) asked: Arc<AtomicBool>,
}

/// What counts the conversations of one model.
pub(super) type SharedMeter = Arc<Mutex<Meter<Counting>>>;

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What was said is not for logs.
        f.debug_struct("History").field("format", &self.format).field("at", &self.at()).finish_non_exhaustive()
    }
}

/// What is needed to make a history of a body that was read whole.
pub(super) struct Read<'r, 'd> {
    pub(super) document: &'r Document<'d>,
    pub(super) envelope: Envelope,
    pub(super) spans: MessageSpans,
    pub(super) chain: Chain,
    pub(super) in_force: Option<InForce>,
    /// The edits of the epoch.
    pub(super) edits: &'r [Edit<'static>],
    pub(super) caps: &'r [Cap],
    pub(super) lineage: u64,
    pub(super) second: Option<blake3::Hash>,
}

impl History {
    /// Makes the history of a body that was read whole. `sent` is a view of what is sent.
    pub(super) fn read(read: Read<'_, '_>, sent: &Document<'_>, shared: &SharedMeter) -> Self {
        let Read { document, envelope, spans, chain, in_force, edits, caps, lineage, second } = read;
        let meter = &mut *shared.lock().unwrap_or_else(PoisonError::into_inner);
        let messages = spans.len();
        let original = meter.measure(document);
        let unchanged = edits.is_empty() && caps.is_empty();
        let measure = if unchanged { original.clone() } else { meter.measure(sent) };
        // Where messages have left, only what is sent of all of them together is known.
        let counted_from = if in_force.is_some() || measure.len() != messages { messages } else { 0 };
        let sums = match counted_from {
            0 => (0..=messages).map(|count| measure.range(0..count)).collect(),
            _ => vec![measure.messages],
        };
        let sent_chain = (!unchanged).then(|| Chain::of(sent));
        let mut placed: Vec<Placed> =
            edits.iter().filter_map(|edit| place(&spans, edit.span, &edit.with, None)).collect();
        placed
            .extend(caps.iter().filter_map(|cap| place(&spans, cap.span, &cap.with, Some((cap.message, cap.leaf)))));
        let mut tools = HashMap::new();
        note_tools(document, &mut tools);
        let transcript = document.transcript();
        Self {
            format: document.format(),
            bytes: Vec::new(),
            typed: turns(transcript, 0).collect(),
            spans,
            chain,
            sent_chain,
            envelope,
            edits: placed,
            in_force,
            original_tokens: original.messages,
            original_sums: (0..=messages).map(|count| original.range(0..count)).collect(),
            sent_tokens: measure.messages,
            sums,
            counted_from,
            method: measure.method,
            anchor: Mutex::new(None),
            tools: Arc::new(tools),
            lineage,
            second,
            meter: Arc::clone(shared),
            asked: Arc::new(AtomicBool::new(messages <= 1)),
        }
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The hash of all messages as they came.
    pub(super) fn hash(&self) -> Option<ChainHash> {
        self.chain.prefix(self.len())
    }

    /// The hash of all messages but those of the operator that lead.
    pub(super) fn conversation(&self) -> Option<ChainHash> {
        self.chain.replaced(self.len())
    }

    /// Which epoch is in force.
    pub(super) fn epoch(&self) -> Option<ChainHash> {
        self.in_force.as_ref().map(InForce::key)
    }

    /// Where this history is now.
    pub(super) fn at(&self) -> Option<At> {
        Some(At { messages: self.len(), chain: self.hash()?, epoch: self.epoch() })
    }

    /// The hashes of the messages as they were sent.
    pub(super) fn sent_chain(&self) -> &Chain {
        self.sent_chain.as_ref().unwrap_or(&self.chain)
    }

    /// Whether what is sent is the body itself.
    pub(super) fn is_unchanged(&self) -> bool {
        self.edits.is_empty()
    }

    /// What was sent, of the body as it came.
    pub(super) fn sent<'b>(&self, body: &'b [u8]) -> Cow<'b, [u8]> {
        let edits = self.edits();
        // The edits were placed by us, in order: what cannot be spliced goes as it came.
        splice(body, &edits).unwrap_or(Cow::Borrowed(body))
    }

    /// The edits by bytes, in order.
    pub(super) fn edits(&self) -> Vec<Edit<'_>> {
        let edges = self.edits.iter().filter_map(|placed| {
            let span = Span::new(self.offset(placed.from)?, self.offset(placed.to)?)?;
            Some(Edit::replace(span, &placed.with[..]))
        });
        let mut edits: Vec<Edit<'_>> = edges.collect();
        edits.sort_by_key(|edit| (edit.span.start(), edit.span.end()));
        edits
    }

    fn offset(&self, edge: Edge) -> Option<usize> {
        match edge {
            Edge::Start(by, message) => Some(self.spans.message(message)?.start() + by as usize),
            Edge::End(by, message) => self.spans.message(message)?.end().checked_sub(by as usize),
        }
    }

    /// What is sent counts this much by the static counter.
    pub(super) fn counted(&self) -> Tokens {
        self.envelope.tokens() + self.sent_tokens
    }

    /// What came counts this much by the static counter.
    pub(super) fn counted_as_it_came(&self) -> Tokens {
        self.envelope.tokens() + self.original_tokens
    }

    /// What is sent counts this much: by the last usage and what came after it, where there is one.
    pub(super) fn used(&self) -> (Tokens, Method) {
        match self.anchor() {
            Some(anchor) => {
                let after = self.sent_tokens - self.sum(anchor.messages);
                (anchor.tokens + after, Method::Reported)
            }
            None => (self.counted(), self.method),
        }
    }

    fn sum(&self, messages: usize) -> Tokens {
        let at = messages.saturating_sub(self.counted_from);
        self.sums.get(at).copied().unwrap_or(self.sent_tokens)
    }

    pub(super) fn anchor(&self) -> Option<Anchor> {
        *self.anchor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a reported usage, if it is of no earlier place than the one that is known.
    pub(super) fn set_anchor(&self, anchor: Anchor) -> bool {
        if anchor.messages < self.counted_from || anchor.messages > self.len() {
            return false;
        }
        let mut held = self.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none_or(|held| held.messages <= anchor.messages) {
            *held = Some(anchor);
        }
        true
    }

    /// The index of the last message that begins a turn.
    pub(super) fn latest_typed(&self) -> Option<usize> {
        self.typed.last().copied()
    }

    /// Makes the history that this one has grown to. `None` if decisions cannot be carried over: then it is read whole.
    pub(super) fn grow(&self, growth: Growth<'_, '_>) -> Option<Self> {
        let meter = &mut *self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        let Growth { body, spans, respelled, envelope, view, caps } = growth;
        let mut edits = self.edits.clone();
        for index in respelled {
            let touches =
                |edge: Edge| matches!(edge, Edge::Start(_, message) | Edge::End(_, message) if message == *index);
            for edit in edits.iter_mut().filter(|edit| touches(edit.from) || touches(edit.to)) {
                let whole = edit.from == Edge::Start(0, *index) || edit.to == Edge::End(0, *index);
                match edit.cap {
                    Some((_, leaf)) => {
                        // The text stands elsewhere in the message now.
                        let one = spans.view(body, self.format, *index..*index + 1);
                        let span = super::results::leaf_span(&one, leaf)?;
                        *edit = place(&spans, span, &edit.with, edit.cap)?;
                    }
                    None if whole => {}
                    None => return None,
                }
            }
        }
        edits.extend(caps.iter().filter_map(|cap| place(&spans, cap.span, &cap.with, Some((cap.message, cap.leaf)))));
        let old = self.len();
        let mut chain = self.chain.clone();
        chain.extend(view);
        let anchor = self.anchor().filter(|_| envelope.keeps_anchor(&self.envelope));
        let mut tools = Arc::clone(&self.tools);
        if view.transcript().messages.iter().any(|message| message.calls().next().is_some()) {
            note_tools(view, Arc::make_mut(&mut tools));
        }
        let mut typed = self.typed.clone();
        typed.extend(turns(view.transcript(), old));
        let measure = meter.measure(view);
        let mut original_sums = self.original_sums.clone();
        original_sums.extend((1..=measure.len()).map(|count| self.original_tokens + measure.range(0..count)));
        let mut grown = Self {
            format: self.format,
            bytes: Vec::new(),
            sent_chain: self.sent_chain.clone(),
            envelope,
            edits,
            in_force: self.in_force.clone(),
            original_tokens: self.original_tokens + measure.messages,
            sent_tokens: self.sent_tokens,
            sums: self.sums.clone(),
            counted_from: self.counted_from,
            original_sums,
            method: self.method.max(measure.method),
            anchor: Mutex::new(anchor),
            tools,
            typed,
            lineage: self.lineage,
            second: self.second,
            meter: Arc::clone(&self.meter),
            asked: Arc::clone(&self.asked),
            spans,
            chain,
        };
        if caps.is_empty() {
            grown.count(measure.len(), |index| measure.message(index));
            if let Some(sent) = &mut grown.sent_chain {
                sent.extend(view);
            }
        } else {
            // What is sent of the new messages is not what came: they are read as they are sent.
            let sent = grown.sent(body);
            let shift = |at: usize| {
                let before = grown
                    .edits()
                    .iter()
                    .filter(|edit| edit.span.end() <= at)
                    .fold((0, 0), |(more, less), edit| (more + edit.with.len(), less + edit.span.len()));
                at + before.0 - before.1
            };
            let new = grown.spans.messages().get(old..)?.iter();
            let spans: Option<Vec<Span>> =
                new.map(|span| Span::new(shift(span.start()), shift(span.end()))).collect();
            let view = MessageSpans::view_spans(&sent, self.format, &spans?);
            let measure = meter.measure(&view);
            let mut sent_chain = self.sent_chain().clone();
            sent_chain.extend(&view);
            grown.sent_chain = Some(sent_chain);
            grown.method = grown.method.max(measure.method);
            grown.count(measure.len(), |index| measure.message(index));
        }
        Some(grown)
    }

    fn count(&mut self, messages: usize, tokens: impl Fn(usize) -> Tokens) {
        for index in 0..messages {
            self.sent_tokens += tokens(index);
            self.sums.push(self.sent_tokens);
        }
    }
}

/// What a history has grown by.
pub(super) struct Growth<'g, 'b> {
    pub(super) body: &'b [u8],
    pub(super) spans: MessageSpans,
    pub(super) respelled: &'g [usize],
    pub(super) envelope: Envelope,
    /// A view of the new messages as they came.
    pub(super) view: &'g Document<'b>,
    /// The caps of their results.
    pub(super) caps: &'g [Cap],
}
