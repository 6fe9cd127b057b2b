//! `Measure`: the tokens of a conversation, by message, by role and by kind of content.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;
use twox_hash::XxHash3_128;

use super::anchor::unrecorded;
use super::count::{CALL_OVERHEAD, Count, MESSAGE_OVERHEAD, TOOLS_OVERHEAD};
use crate::Tokens;
use crate::token::Method;
use crate::transcript::{Block, BlockKind, Message, Role, provider_compaction};
use crate::wire::{Document, Format, Text};

/// Tokens by kind of content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ByKind {
    /// Text of the messages.
    pub text: Tokens,
    /// The model's reasoning.
    pub thinking: Tokens,
    /// Names and arguments of tool calls.
    pub tool_call: Tokens,
    /// Text of tool results.
    pub tool_result: Tokens,
    /// Pictures, documents, recordings, also those in tool results.
    pub media: Tokens,
    /// A provider's own compaction.
    pub compaction: Tokens,
    /// Content of unknown types.
    pub opaque: Tokens,
    /// What messages, calls and results cost beside their content.
    pub overhead: Tokens,
}

impl ByKind {
    /// The sum over all kinds.
    pub fn total(&self) -> Tokens {
        let calls = self.tool_call + self.tool_result;
        self.text + self.thinking + calls + self.media + self.compaction + self.opaque + self.overhead
    }

    fn add(&mut self, other: &Self) {
        self.text += other.text;
        self.thinking += other.thinking;
        self.tool_call += other.tool_call;
        self.tool_result += other.tool_result;
        self.media += other.media;
        self.compaction += other.compaction;
        self.opaque += other.opaque;
        self.overhead += other.overhead;
    }
}

/// Tokens of the messages by the role they are sent under.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ByRole {
    /// System and developer messages among the messages.
    pub system: Tokens,
    /// The user's side.
    pub user: Tokens,
    /// The model's side.
    pub assistant: Tokens,
    /// Results, where they have a role of their own.
    pub tool: Tokens,
    /// Roles that are not known.
    pub other: Tokens,
}

impl ByRole {
    fn of(&mut self, role: Role) -> &mut Tokens {
        match role {
            Role::System => &mut self.system,
            Role::User => &mut self.user,
            Role::Assistant => &mut self.assistant,
            Role::Tool => &mut self.tool,
            Role::Other => &mut self.other,
        }
    }
}

/// The tokens of a conversation: what `context` shows, and what every decision is made on.
///
/// What stands before a provider's compaction counts nothing, since the model does not see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// The system prompt that stands outside the messages.
    pub system: Tokens,
    /// The tool definitions.
    pub tools: Tokens,
    /// All messages.
    pub messages: Tokens,
    /// System prompt, tools and messages.
    pub total: Tokens,
    /// The messages by role.
    pub by_role: ByRole,
    /// The messages by kind of content.
    pub by_kind: ByKind,
    /// For transcripts of programs, which record neither system prompt nor tools: what the last usage says was there
    /// beside what is counted. `None` where nothing tells, or nothing is missing.
    pub unrecorded: Option<Tokens>,
    /// The least certain method that was used.
    pub method: Method,
    /// The tokens before each message, and at last all of them: sums, so that any range costs one subtraction.
    #[serde(skip)]
    before: Vec<Tokens>,
}

impl Measure {
    /// Makes a measure of messages that count this much, for tests of what is decided on it.
    #[cfg(test)]
    pub(crate) fn of_tokens(outside: u64, messages: &[u64]) -> Self {
        let mut before = vec![Tokens::ZERO];
        for tokens in messages {
            before.push(before[before.len() - 1] + Tokens(*tokens));
        }
        let sum = before[before.len() - 1];
        Self {
            system: Tokens(outside),
            tools: Tokens::ZERO,
            messages: sum,
            total: sum + Tokens(outside),
            by_role: ByRole::default(),
            by_kind: ByKind::default(),
            unrecorded: None,
            method: Method::Exact,
            before,
        }
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.before.len().saturating_sub(1)
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens of a message; none past the end.
    pub fn message(&self, index: usize) -> Tokens {
        self.range(index..index.saturating_add(1))
    }

    /// The tokens of some messages in a row.
    pub fn range(&self, messages: Range<usize>) -> Tokens {
        let at = |index: usize| self.before.get(index).copied().unwrap_or(self.messages);
        at(messages.end) - at(messages.start)
    }

    /// What fills the context: all that is recorded, and what usage says beside it.
    pub fn context(&self) -> Tokens {
        self.total + self.unrecorded.unwrap_or_default()
    }
}

/// Measures documents, and counts only what it has not counted before.
///
/// Counts are kept by the hash of a message's bytes, so that a turn costs what is new in it, however long the
/// conversation is. The counts belong to one [`Count`]; another model needs another meter. The hash (XXH3, 128 bits) is
/// fast rather than secure: looking a conversation up costs little more than reading it.
///
/// ```
/// use plimsoll::budget::Meter;
/// use plimsoll::token::{Counter, Encoding};
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"max_tokens":9,"messages":[{"role":"user","content":"one two three"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let mut meter = Meter::new(Counter::exact(Encoding::O200kBase));
/// let measure = meter.measure(&document);
/// assert_eq!((measure.by_kind.text.0, measure.by_kind.overhead.0, measure.total.0), (3, 4, 7));
/// ```
#[derive(Debug, Clone)]
pub struct Meter<C> {
    count: C,
    /// By the hash of the bytes: the counts, and the latest measure that used them.
    known: HashMap<u128, (Counted, u64)>,
    /// How many documents were measured.
    measures: u64,
    seed: u64,
}

/// The counts of a message, or of what stands beside the messages.
#[derive(Debug, Clone, Copy)]
struct Counted {
    kinds: ByKind,
    method: Method,
}

/// How many counts a meter keeps beyond those of the conversation it measured last.
const KEPT_COUNTS: usize = 1 << 16;

impl<C: Count> Meter<C> {
    /// Makes a meter that knows no counts yet.
    pub fn new(count: C) -> Self {
        Self::with_seed(count, 0)
    }

    /// Makes a meter whose hash is seeded: for whoever measures conversations of people who may want to mislead it.
    pub fn with_seed(count: C, seed: u64) -> Self {
        Self { count, known: HashMap::new(), measures: 0, seed }
    }

    /// What it counts with.
    pub const fn count(&self) -> &C {
        &self.count
    }

    /// Measures a document.
    pub fn measure(&mut self, document: &Document<'_>) -> Measure {
        self.measures += 1;
        let transcript = document.transcript();
        let bytes = document.bytes();
        let mut method = self.count.method();
        let mut worst = |counted: &Counted| method = method.max(counted.method);

        let spans: Vec<&[u8]> = transcript.system.iter().map(|block| block.span.of(bytes)).collect();
        let system =
            self.counted(b"system", &spans, |meter| meter.blocks(&transcript.system, |block| block.span.len()));
        worst(&system);
        let spans: Vec<&[u8]> = transcript.tools.iter().map(|tool| tool.span.of(bytes)).collect();
        let tools = self.counted(b"tools", &spans, |meter| meter.tools(&spans));
        worst(&tools);

        let (first, first_block) = provider_compaction(transcript).unwrap_or((0, 0));
        let (mut by_kind, mut by_role) = (ByKind::default(), ByRole::default());
        let mut before = Vec::with_capacity(transcript.messages.len() + 1);
        let mut sum = Tokens::ZERO;
        for (index, message) in transcript.messages.iter().enumerate() {
            before.push(sum);
            if index < first {
                continue;
            }
            let skipped = if index == first { first_block } else { 0 };
            let counted = self.message(document, message, skipped);
            worst(&counted);
            let tokens = counted.kinds.total();
            by_kind.add(&counted.kinds);
            *by_role.of(message.role) += tokens;
            sum += tokens;
        }
        before.push(sum);
        if self.known.len() > KEPT_COUNTS {
            self.known.retain(|_, (_, used)| *used == self.measures);
        }
        let mut measure = Measure {
            system: system.kinds.total(),
            tools: tools.kinds.total(),
            messages: sum,
            total: system.kinds.total() + tools.kinds.total() + sum,
            by_role,
            by_kind,
            unrecorded: None,
            method,
            before,
        };
        measure.unrecorded = unrecorded(document, &measure, self.count.model());
        measure
    }

    /// The tokens of a single block, its share of a message's overhead not included.
    pub fn block_tokens(&self, block: &Block<'_>) -> Tokens {
        let blocks = std::slice::from_ref(block);
        let counted = self.blocks(blocks, |block| block.span.len());
        counted.kinds.total()
    }

    fn message(&mut self, document: &Document<'_>, message: &Message<'_>, skipped: usize) -> Counted {
        let bytes = document.bytes();
        let entries = message.entries.iter();
        let spans: Vec<&[u8]> = entries
            .filter_map(|entry| document.entries().get(*entry as usize))
            .map(|entry| entry.span.of(bytes))
            .collect();
        let tag = [message.role as u8, u8::from(skipped > 0)];
        let blocks = message.blocks.get(skipped..).unwrap_or(&[]);
        self.counted(&tag, &spans, |meter| {
            // The items of reasoning hold more than the parts that are shown: what is sealed is in the item itself.
            let thinks = |block: &Block<'_>| matches!(block.kind, BlockKind::Thinking { .. });
            let is_item =
                matches!(document.format(), Format::OpenaiResponses | Format::Codex) && blocks.iter().all(thinks);
            let size = |block: &Block<'_>| {
                if is_item {
                    spans.iter().map(|span| span.len()).sum::<usize>() / blocks.len().max(1)
                } else {
                    block.span.len()
                }
            };
            let mut counted = meter.blocks(blocks, size);
            counted.kinds.overhead += MESSAGE_OVERHEAD;
            counted
        })
    }

    /// Looks up the counts of these bytes, or counts.
    fn counted(&mut self, tag: &[u8], bytes: &[&[u8]], count: impl FnOnce(&Self) -> Counted) -> Counted {
        // Each part is hashed under the hash of what precedes it, so that where parts end matters too.
        let mut key = XxHash3_128::oneshot_with_seed(self.seed, tag);
        for part in bytes {
            let [low, high] = [key, key >> 64].map(|half| {
                #[expect(clippy::cast_possible_truncation, reason = "a half of it")]
                let half = half as u64;
                half
            });
            key = XxHash3_128::oneshot_with_seed(low ^ high.rotate_left(32), part);
        }
        if let Some((counted, used)) = self.known.get_mut(&key) {
            *used = self.measures;
            return *counted;
        }
        let counted = count(self);
        self.known.insert(key, (counted, self.measures));
        counted
    }

    fn tools(&self, definitions: &[&[u8]]) -> Counted {
        let mut kinds = ByKind::default();
        for definition in definitions {
            kinds.opaque += self.count.text(&String::from_utf8_lossy(definition));
        }
        if !definitions.is_empty() {
            kinds.overhead = TOOLS_OVERHEAD;
        }
        Counted { kinds, method: self.count.method() }
    }

    fn blocks(&self, blocks: &[Block<'_>], size: impl Fn(&Block<'_>) -> usize) -> Counted {
        let mut counted = Counted { kinds: ByKind::default(), method: self.count.method() };
        for block in blocks {
            self.block(block, size(block), &mut counted);
        }
        counted
    }

    /// Counts a block of `size` bytes.
    fn block(&self, block: &Block<'_>, size: usize, counted: &mut Counted) {
        let text = |text: &Text<'_>| self.count.text(&text.decode());
        let kinds = &mut counted.kinds;
        match &block.kind {
            BlockKind::Text(content) => kinds.text += text(content),
            BlockKind::Thinking { text: shown, sealed } => {
                let shown_size = shown.map_or(0, |shown| shown.raw().len());
                kinds.thinking += shown.as_ref().map_or(Tokens::ZERO, text);
                if *sealed {
                    // What is shown may be a summary of what is sealed: both count, which errs high.
                    kinds.thinking += sealed_tokens(size.saturating_sub(shown_size));
                    counted.method = Method::Estimated;
                }
            }
            BlockKind::ToolCall(call) => {
                kinds.tool_call += text(&call.name) + text(&call.arguments);
                kinds.overhead += CALL_OVERHEAD;
            }
            BlockKind::ToolResult(result) => {
                kinds.overhead += CALL_OVERHEAD;
                for inner in &result.content {
                    match &inner.kind {
                        BlockKind::Text(content) => counted.kinds.tool_result += text(content),
                        _ => self.block(inner, inner.span.len(), counted),
                    }
                }
            }
            BlockKind::Media(media) => {
                kinds.media += self.count.media(media);
                counted.method = Method::Estimated;
            }
            BlockKind::Compaction(Some(content)) => kinds.compaction += text(content),
            BlockKind::Compaction(None) => {
                kinds.compaction += sealed_tokens(size);
                counted.method = Method::Estimated;
            }
            // What it is nobody knows: it may be encrypted, so it is not counted as text.
            BlockKind::Opaque(_) => {
                kinds.opaque += Tokens::from(size / 4);
                counted.method = Method::Estimated;
            }
        }
    }
}

/// Estimates what encrypted content of some bytes of base64 stands for: three bytes in four characters, four bytes a
/// token.
fn sealed_tokens(base64: usize) -> Tokens {
    Tokens::from(base64 / 16 * 3)
}

#[cfg(test)]
#[path = "measure/tests.rs"]
mod tests;
