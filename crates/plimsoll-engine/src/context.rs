//! What fills a transcript's context: the report that `context --json` prints.

mod picture;

use std::collections::BTreeMap;

use plimsoll::Tokens;
use plimsoll::budget::{ByKind, ByRole, Counting, Measure, Meter};
use plimsoll::transcript::{BlockKind, Bond, BondKind, Message, Obligations};
use plimsoll::wire::{Document, Format, OddityKind};
use serde::Serialize;

use crate::judge::measured;
use crate::report::CountedBy;
use crate::{CompactOptions, Judged, judge};

pub use picture::{LargeResult, Moment, Picture, picture};

/// How many of the largest messages are shown.
const LARGEST: usize = 5;

/// What fills a transcript's context. Field names are stable: `docs/json.md`.
#[derive(Debug, Clone, Serialize)]
pub struct Context {
    /// The document's format.
    pub format: Format,
    /// The model it is judged by.
    pub model: Option<String>,
    /// All that is recorded, in tokens.
    pub tokens: Tokens,
    /// How tokens were counted.
    pub counting: CountedBy,
    /// The context window.
    pub window: Tokens,
    /// Who says so.
    pub window_source: String,
    /// What of the window input may use.
    pub budget: Tokens,
    /// Where things happen.
    pub thresholds: Marks,
    /// The system prompt outside the messages.
    pub system: Tokens,
    /// The tool definitions.
    pub tools: Tokens,
    /// The messages by role.
    pub by_role: ByRole,
    /// The messages by kind of content.
    pub by_kind: ByKind,
    /// How many messages there are.
    pub messages: usize,
    /// Tokens that usage reports and the transcript does not record.
    pub unrecorded: Option<Tokens>,
    /// The largest messages, the largest first.
    pub largest: Vec<Large>,
    /// Tool calls without result, and results without call.
    pub orphans: usize,
    /// What is not as the format has it.
    pub oddities: Vec<Odd>,
}

/// The thresholds that a transcript is judged by, in tokens.
#[derive(Debug, Clone, Serialize)]
pub struct Marks {
    /// Where to warn.
    pub warn: Tokens,
    /// Where a summary may be prepared.
    pub prepare: Tokens,
    /// Where to compact.
    pub compact: Tokens,
    /// Where requests wait.
    pub hard: Tokens,
    /// What a compaction aims at.
    pub target: Tokens,
}

/// A large message.
#[derive(Debug, Clone, Serialize)]
pub struct Large {
    /// Its index.
    pub message: usize,
    /// Its role.
    pub role: &'static str,
    /// What it mostly is.
    pub kind: &'static str,
    /// The tool it has to do with.
    pub name: Option<String>,
    /// Its size.
    pub tokens: Tokens,
}

/// A kind of oddity, and how often it was met.
#[derive(Debug, Clone, Serialize)]
pub struct Odd {
    /// What is odd.
    pub kind: &'static str,
    /// How often.
    pub count: usize,
}

/// Measures a document and says what fills its context, judged as a compaction would judge it.
pub fn context(document: &Document<'_>, options: &CompactOptions) -> Context {
    Measured::of(document, options).context()
}

/// A document with all that is found out about it once, whatever of it is shown.
struct Measured<'d, 'b> {
    document: &'d Document<'b>,
    judged: Judged,
    meter: Meter<Counting>,
    measure: Measure,
    obligations: Obligations,
}

impl<'d, 'b> Measured<'d, 'b> {
    fn of(document: &'d Document<'b>, options: &CompactOptions) -> Self {
        let judged = judge(document, options);
        let (meter, measure) = measured(document, judged.model.as_deref());
        let obligations = Obligations::of(document.transcript());
        Self { document, judged, meter, measure, obligations }
    }

    fn context(&self) -> Context {
        let Self { document, judged, meter, measure, obligations } = self;
        let thresholds = &judged.thresholds;
        Context {
            format: document.format(),
            model: judged.model.clone(),
            tokens: measure.total,
            counting: CountedBy::of(measure, meter),
            window: judged.window.tokens,
            window_source: judged.window.source.to_string(),
            budget: thresholds.budget,
            thresholds: Marks {
                warn: thresholds.warn,
                prepare: thresholds.prepare,
                compact: thresholds.compact,
                hard: thresholds.hard,
                target: thresholds.target,
            },
            system: measure.system,
            tools: measure.tools,
            by_role: measure.by_role,
            by_kind: measure.by_kind,
            messages: document.transcript().messages.len(),
            unrecorded: measure.unrecorded,
            largest: largest(document, measure, obligations),
            orphans: obligations.orphans().len(),
            oddities: oddities(document),
        }
    }
}

fn largest(document: &Document<'_>, measure: &Measure, obligations: &Obligations) -> Vec<Large> {
    let messages = &document.transcript().messages;
    let mut by_size: Vec<usize> = (0..messages.len()).collect();
    by_size.sort_by_key(|index| std::cmp::Reverse(measure.message(*index)));
    let large = |index: &usize| {
        let message = messages.get(*index)?;
        let (kind, name) = about(*index, messages, obligations);
        Some(Large { message: *index, role: message.role.name(), kind, name, tokens: measure.message(*index) })
    };
    by_size.iter().take(LARGEST).filter_map(large).collect()
}

/// What a message mostly is, and the tool it has to do with.
fn about(index: usize, messages: &[Message<'_>], obligations: &Obligations) -> (&'static str, Option<String>) {
    let Some(block) =
        messages.get(index).and_then(|message| message.blocks.iter().max_by_key(|block| block.span.len()))
    else {
        return ("empty", None);
    };
    let name = match &block.kind {
        BlockKind::ToolCall(call) => Some(call.name.decode().into_owned()),
        BlockKind::ToolResult(result) => result.call_id.and_then(|id| {
            let id = id.decode();
            let answers =
                |bond: &&Bond| bond.last == index && matches!(bond.kind, BondKind::Client | BondKind::Server);
            let asked = obligations.bonds().iter().filter(answers).filter_map(|bond| messages.get(bond.first));
            let call = asked.flat_map(Message::calls).find(|call| call.id.is_some_and(|other| other.is(&id)))?;
            Some(call.name.decode().into_owned())
        }),
        _ => None,
    };
    (block.kind.name(), name)
}

fn oddities(document: &Document<'_>) -> Vec<Odd> {
    let mut counts: BTreeMap<OddityKind, usize> = BTreeMap::new();
    for oddity in document.oddities() {
        *counts.entry(oddity.kind).or_default() += 1;
    }
    counts.into_iter().map(|(kind, count)| Odd { kind: kind.describe(), count }).collect()
}
