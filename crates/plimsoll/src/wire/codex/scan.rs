//! `Scan`: a rollout's lines replayed into the history that they add up to.

use super::super::{Kind, Oddity, OddityKind, Span, Text, Value, stamp};
use crate::transcript::{Usage, is_summary, typed_words};
use crate::units::Tokens;

/// An item of the history.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// Where its JSON stands: a response item, or the string of a compaction's message.
    pub(super) span: Span,
    /// Which line it stands in.
    pub(super) line: usize,
    pub(super) usage: Option<Usage>,
    /// The model that was set when it was written.
    pub(super) model: Option<Text<'a>>,
    side: Side,
}

impl Item<'_> {
    /// Whether a person typed it.
    pub(super) fn is_typed(&self) -> bool {
        self.side == Side::Typed
    }
}

/// Whose an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// A message that a person typed.
    Typed,
    Model,
    Other,
}

/// What the first pass over a rollout gathers.
#[derive(Debug, Default)]
pub(super) struct Scan<'a> {
    pub(super) lines: Vec<Span>,
    /// The live history.
    pub(super) items: Vec<Item<'a>>,
    pub(super) model: Option<Text<'a>>,
    pub(super) session: Option<Text<'a>>,
    pub(super) window: Option<Tokens>,
    pub(super) latest: Option<i64>,
    pub(super) ordinal: Option<u64>,
    /// Whether the history was compacted.
    compacted: bool,
    /// What a person typed, as told beside the history: where its text stands, its line, and how many items came before.
    told: Vec<(Item<'a>, usize)>,
    /// Usage that was reported before the items of its response, and where it stands until the next of them.
    awaiting: Option<(Usage, Option<usize>)>,
}

/// Line types that are known to add nothing to the history.
const SILENT_TYPES: [&str; 4] = ["world_state", "inter_agent_communication_metadata", "ghost_snapshot", "state"];

impl<'a> Scan<'a> {
    /// Takes in a line's object.
    pub(super) fn take(&mut self, span: Span, value: Value<'_, 'a>, oddities: &mut Vec<Oddity>) {
        let line = self.lines.len();
        self.lines.push(span);
        let text = |name| value.get(name).and_then(Value::text);
        let time = text("timestamp").and_then(|time| stamp::parse(&time.decode()));
        self.latest = self.latest.max(time);
        self.ordinal = self.ordinal.max(value.get("ordinal").and_then(Value::u64));
        let kind = text("type").map(Text::decode);
        let payload = value.get("payload").filter(|payload| payload.kind() == Kind::Object);
        match (kind.as_deref().unwrap_or(""), payload) {
            ("session_meta", Some(meta)) => {
                // Forks repeat the records of what they were forked from: the first line is the rollout's own.
                let id = meta.get("id").and_then(Value::text);
                self.session = self.session.or(id);
            }
            ("turn_context", Some(context)) => {
                self.model = context.get("model").and_then(Value::text).or(self.model);
            }
            ("response_item", Some(item)) => self.push(line, item),
            ("event_msg", Some(event)) => self.event(line, event),
            ("compacted", Some(compaction)) => {
                // The program passes over a compaction without a time.
                if text("timestamp").is_some() {
                    self.compact(line, compaction);
                } else {
                    oddities.push(Oddity { kind: OddityKind::UnexpectedShape, span });
                }
            }
            // The first versions wrote items as lines of their own.
            (kind, None) if value.get("role").is_some() || is_item(kind) => {
                self.model = text("model").or(self.model);
                self.push(line, value);
            }
            ("", None) if value.get("instructions").is_some() => {
                self.session = self.session.or(text("id"));
            }
            (kind, _) if SILENT_TYPES.contains(&kind) || value.get("record_type").is_some() => {}
            _ => oddities.push(Oddity { kind: OddityKind::UnknownEntry, span }),
        }
    }

    fn push(&mut self, line: usize, value: Value<'_, 'a>) {
        let side = side(value);
        let at = self.items.len();
        let mut usage = None;
        match (&mut self.awaiting, side) {
            (Some((awaited, place)), Side::Model) => {
                // It is of the whole response: it moves on to the last item.
                if let Some(before) = place.and_then(|place| self.items.get_mut(place)) {
                    before.usage = None;
                }
                *place = Some(at);
                usage = Some(*awaited);
            }
            (awaiting, _) => *awaiting = None,
        }
        self.items.push(Item { span: value.span(), line, usage, model: self.model, side });
    }

    /// A compaction's history takes the place of everything before it.
    fn compact(&mut self, line: usize, compaction: Value<'_, 'a>) {
        self.awaiting = None;
        self.compacted = true;
        if let Some(history) = compaction.get("replacement_history").filter(|history| history.kind() == Kind::Array) {
            self.items.clear();
            for item in history.elements() {
                self.push(line, item);
            }
            return;
        }
        self.items.retain(|item| item.side == Side::Typed);
        if let Some(message) = compaction.get("message").filter(|message| message.kind() == Kind::String) {
            self.items.push(Item { span: message.span(), line, usage: None, model: self.model, side: Side::Other });
        }
    }

    /// Ends the scan. A rollout in which no item is a person's, though the program told of prompts, gets these as items: what was
    /// asked is nowhere else.
    pub(super) fn finish(mut self) -> Self {
        if self.compacted || self.told.is_empty() || self.items.iter().any(|item| item.side == Side::Typed) {
            return self;
        }
        for (item, before) in self.told.drain(..).rev() {
            let at = before.min(self.items.len());
            self.items.insert(at, item);
        }
        self
    }

    fn event(&mut self, line: usize, event: Value<'_, 'a>) {
        let is = |name| event.get("type").and_then(Value::text).is_some_and(|kind| kind.is(name));
        if let Some(message) = event.get("message").filter(|text| is("user_message") && text.kind() == Kind::String) {
            if message.text().is_some_and(|text| !typed_words(&text.decode()).is_empty()) {
                let item = Item { span: message.span(), line, usage: None, model: self.model, side: Side::Typed };
                self.told.push((item, self.items.len()));
            }
            return;
        }
        let window = |value: Value<'_, 'a>| {
            let size = value.get("model_context_window").and_then(Value::u64);
            size.filter(|size| *size > 0).map(Tokens)
        };
        if is("task_started") {
            self.window = window(event).or(self.window);
        }
        let info = event.get("info").filter(|info| is("token_count") && info.kind() == Kind::Object);
        let Some(info) = info else { return };
        self.window = window(info).or(self.window);
        let Some(usage) = info.get("last_token_usage").and_then(usage) else {
            return;
        };
        // Some versions write the count after the items of its response, some before.
        match self.items.last_mut().filter(|item| item.side == Side::Model) {
            Some(last) => {
                last.usage = Some(usage);
                self.awaiting = None;
            }
            None => self.awaiting = Some((usage, None)),
        }
    }
}

/// Reads a usage. In this format input includes what came from the cache; here the numbers do not overlap.
fn usage(value: Value<'_, '_>) -> Option<Usage> {
    let tokens = |name| value.get(name).and_then(Value::u64).map(Tokens);
    let input = tokens("input_tokens")?;
    let cache_read = tokens("cached_input_tokens").unwrap_or_default();
    let cache_write = tokens("cache_write_input_tokens").unwrap_or_default();
    let usage = Usage {
        input: input - cache_read - cache_write,
        cache_read,
        cache_write,
        output: tokens("output_tokens").unwrap_or_default(),
    };
    (usage != Usage::default()).then_some(usage)
}

/// Whether a line of this type is an item without an envelope.
fn is_item(kind: &str) -> bool {
    matches!(kind, "message" | "reasoning") || kind.ends_with("_call") || kind.ends_with("_call_output")
}

fn side(value: Value<'_, '_>) -> Side {
    let text = |name| value.get(name).and_then(Value::text).map(Text::decode);
    let kind = text("type");
    let kind = kind.as_deref().unwrap_or("message");
    match text("role").as_deref() {
        Some("assistant") => Side::Model,
        Some("user") if kind == "message" && is_typed(value) => Side::Typed,
        None if kind == "reasoning" || kind.ends_with("_call") => Side::Model,
        _ => Side::Other,
    }
}

/// Whether a person wrote a user message: neither the program's own notes nor an earlier compaction's summary.
fn is_typed(message: Value<'_, '_>) -> bool {
    let written = |text: Text<'_>| {
        let text = text.decode();
        !is_summary(&text) && !typed_words(&text).is_empty()
    };
    match message.get("content").or_else(|| message.get("message")) {
        Some(content) if content.kind() == Kind::Array => {
            content.elements().any(|part| match part.get("text").and_then(Value::text) {
                Some(text) => written(text),
                None => true,
            })
        }
        Some(content) => content.text().is_some_and(written),
        None => false,
    }
}
