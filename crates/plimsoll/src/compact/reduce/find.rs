//! What could leave a conversation without a summary: results that later ones stand for, large old ones, media.

use std::collections::HashMap;
use std::ops::Range;

use super::carry_out::piece_tokens;
use super::placeholder::{SAMPLE_ID, is_placeholder, placeholder};
use super::{Cause, Reduction};
use crate::Tokens;
use crate::budget::{Count, Measure, Meter};
use crate::cap::RecallFooter;
use crate::compact::ledger::Touch;
use crate::compact::ledger::calls::{self, Reading};
use crate::compact::ledger::commands;
use crate::compact::ledger::line::one_line;
use crate::compact::ledger::notation::span;
use crate::compact::ledger::outcome::{self, Outcome, Told};
use crate::compact::ledger::shell::is_simple;
use crate::compact::ledger::verbs::{touch_of, verbs};
use crate::transcript::{Block, BlockKind, CallKind, Media, MediaKind, Obligations, Role, ToolCall, ToolResult};
use crate::wire::Document;

/// From how many tokens on a result is large.
const LARGE: Tokens = Tokens(1_000);
/// What replacing a piece must save at the least.
const WORTH: Tokens = Tokens(100);
/// How many bytes a text must have to be worth counting.
const LEAST: usize = 200;
/// From how many bytes on the same text is looked for again.
const REPEATED: usize = 400;

/// What could leave, by how little is lost with it. Each list ascends by place.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) superseded: Vec<Reduction>,
    pub(super) large: Vec<Reduction>,
    pub(super) media: Vec<Reduction>,
}

/// A call with its result.
struct Exchange<'t, 'a> {
    result: &'t ToolResult<'a>,
    at: (usize, usize),
    called: usize,
    name: String,
    arguments: String,
    reading: Reading,
    told: Told,
    recalled: bool,
}

/// Looks through the messages of `old` for what could leave; what stands after them counts only as what came later.
pub(super) fn find<C: Count>(
    document: &Document<'_>,
    obligations: &Obligations,
    measure: &Measure,
    meter: &Meter<C>,
    old: Range<usize>,
    window: Tokens,
) -> Found {
    let exchanges = exchanges(document, obligations);
    let later = Later::of(&exchanges);
    let finder = Finder { document, measure, meter, large: LARGE.min(Tokens((window.0 / 64).max(2 * WORTH.0))) };
    let mut found = Found::default();
    for exchange in exchanges.iter().filter(|exchange| old.contains(&exchange.at.0) && !exchange.recalled) {
        if measure.message(exchange.at.0) <= WORTH {
            continue;
        }
        let superseded = later.supersedes(exchange);
        for (part, inner) in exchange.result.content.iter().enumerate() {
            let place = (exchange.at.0, exchange.at.1, Some(part));
            match &inner.kind {
                BlockKind::Text(text) => {
                    if text.raw().len() < LEAST || is_placeholder(&text.decode_start(1_024)) {
                        continue;
                    }
                    let repeated = later.repeats(text.raw(), (exchange.at.0, exchange.at.1, part));
                    let why = superseded.or(repeated.map(|by| (Cause::Repeated, by)));
                    let (reason, by) = why.map_or((Cause::Old, None), |(reason, by)| (reason, Some(by)));
                    let Some(reduction) = finder.text(exchange, inner, place, reason, by) else {
                        continue;
                    };
                    if reason != Cause::Old {
                        found.superseded.push(reduction);
                    } else if reduction.tokens >= finder.large {
                        found.large.push(reduction);
                    }
                }
                BlockKind::Media(media) => found.media.extend(finder.media(inner, media, place)),
                _ => {}
            }
        }
    }
    for (index, message) in document.transcript().messages.iter().enumerate() {
        if old.contains(&index) && message.role == Role::User {
            for (at, block) in message.blocks.iter().enumerate() {
                if let BlockKind::Media(media) = &block.kind {
                    found.media.extend(finder.media(block, media, (index, at, None)));
                }
            }
        }
    }
    found.media.sort_by_key(Reduction::place);
    found
}

/// The client's calls with their results, in the order of the results.
fn exchanges<'t, 'a>(document: &'t Document<'a>, obligations: &Obligations) -> Vec<Exchange<'t, 'a>> {
    let block = |(message, block): (usize, usize)| -> Option<&'t Block<'a>> {
        document.transcript().messages.get(message)?.blocks.get(block)
    };
    let read = |answer: &crate::transcript::Answer| {
        let (BlockKind::ToolCall(call), BlockKind::ToolResult(result)) =
            (&block(answer.call)?.kind, &block(answer.result)?.kind)
        else {
            return None;
        };
        if result.kind != CallKind::Client || call.kind != CallKind::Client {
            return None;
        }
        Some(Exchange::read(call, result, answer))
    };
    obligations.answers().iter().filter_map(read).collect()
}

impl<'t, 'a> Exchange<'t, 'a> {
    fn read(call: &ToolCall<'_>, result: &'t ToolResult<'a>, answer: &crate::transcript::Answer) -> Self {
        let (name, arguments) = (call.name.decode().into_owned(), call.arguments.decode().into_owned());
        let reading = calls::read(&name, &arguments);
        let told = outcome::read(result, reading.command.as_deref());
        let recalled = is_recall(&name, &reading)
            || result.texts().any(|text| text.raw().ends_with(b"]") && RecallFooter::find(&text.decode()).is_some());
        Self { result, at: answer.result, called: answer.call.0, name, arguments, reading, told, recalled }
    }

    fn failed(&self) -> bool {
        self.told.outcome.is_failure()
    }

    /// Whether it only looks, so that the same call later gives what holds now.
    fn looks(&self) -> bool {
        let looks = |touch: Touch| matches!(touch, Touch::Read | Touch::Listed);
        let touches = &self.reading.touches;
        match &self.reading.command {
            Some(command) => {
                is_simple(command) && !touches.is_empty() && touches.iter().all(|(_, touch)| looks(*touch))
            }
            None if touches.is_empty() => {
                let tool = self.name.rsplit("__").next().unwrap_or(&self.name);
                touch_of(&verbs(tool)).is_some_and(looks)
            }
            None => touches.iter().all(|(_, touch)| looks(*touch)),
        }
    }

    /// The files that it reads, if it does nothing else.
    fn reads(&self) -> Option<Vec<&str>> {
        let touches = &self.reading.touches;
        let only = !touches.is_empty() && touches.iter().all(|(_, touch)| *touch == Touch::Read) && self.looks();
        only.then(|| touches.iter().map(|(path, _)| plain_path(path)).collect())
    }

    /// What it was, in one line.
    fn name_it(&self) -> String {
        let about = self.reading.command.as_deref().map(commands::shown);
        let about = about.or_else(|| self.reading.touches.first().map(|(path, _)| path.clone()));
        let about = one_line(&about.or_else(|| self.reading.about.clone()).unwrap_or_default(), 120);
        let tool = one_line(&self.name, 60);
        let tool = if tool.is_empty() { "a tool".to_owned() } else { tool };
        if about.is_empty() { format!("result of {tool}") } else { format!("result of {tool} {}", span(&about)) }
    }
}

fn plain_path(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

/// Whether a call asked for something that was stored: what recall gave is never taken away again.
fn is_recall(name: &str, reading: &Reading) -> bool {
    let tool = name.rsplit("__").next().unwrap_or(name);
    let words = verbs(tool);
    let asks = words.iter().any(|word| word == "recall") || name.contains("plimsoll");
    let runs = |command: &String| {
        let mut words = command.split_whitespace().map(|word| word.rsplit(['/', '\\']).next().unwrap_or(word));
        words.any(|word| word == "plimsoll") && (command.contains("recall") || command.contains("restore"))
    };
    asks || reading.command.as_ref().is_some_and(runs)
}

/// What came later, by what it stands for.
struct Later<'t> {
    /// The last call of each kind that only looks, and went well: where its result stands.
    read: HashMap<(&'t str, &'t str), (usize, usize)>,
    /// The last change of each file that went well: the message of its call.
    changed: HashMap<&'t str, usize>,
    /// Where the same text stands last.
    texts: HashMap<&'t [u8], (usize, usize, usize)>,
}

impl<'t> Later<'t> {
    fn of<'a>(exchanges: &'t [Exchange<'t, 'a>]) -> Self {
        let mut later = Self { read: HashMap::new(), changed: HashMap::new(), texts: HashMap::new() };
        for exchange in exchanges {
            let gone = |text: &crate::wire::Text<'_>| is_placeholder(&text.decode_start(1_024));
            if exchange.looks() && !exchange.failed() && !exchange.result.texts().any(|text| gone(&text)) {
                later.read.insert((&exchange.name, &exchange.arguments), exchange.at);
            }
            if !exchange.failed() {
                for (path, _) in exchange.reading.touches.iter().filter(|(_, touch)| touch.changes()) {
                    later.changed.insert(plain_path(path), exchange.called);
                }
            }
            for (part, inner) in exchange.result.content.iter().enumerate() {
                if let BlockKind::Text(text) = &inner.kind
                    && text.raw().len() >= REPEATED
                {
                    later.texts.insert(text.raw(), (exchange.at.0, exchange.at.1, part));
                }
            }
        }
        later
    }

    /// The message that makes a result say nothing more, and how.
    fn supersedes(&self, exchange: &Exchange<'_, '_>) -> Option<(Cause, usize)> {
        if exchange.looks()
            && let Some(again) = self.read.get(&(exchange.name.as_str(), exchange.arguments.as_str()))
            && *again > exchange.at
        {
            return Some((Cause::ReadAgain, again.0));
        }
        let changes = exchange.reads()?.into_iter().map(|path| self.changed.get(path).copied());
        // Of several files every one must have changed, or something is still true.
        let first = changes.collect::<Option<Vec<usize>>>()?.into_iter().min()?;
        (first > exchange.at.0).then_some((Cause::Changed, first))
    }

    fn repeats(&self, text: &[u8], place: (usize, usize, usize)) -> Option<usize> {
        self.texts.get(text).filter(|again| **again > place).map(|again| again.0)
    }
}

struct Finder<'f, 'd, C> {
    document: &'f Document<'d>,
    measure: &'f Measure,
    meter: &'f Meter<C>,
    large: Tokens,
}

impl<C: Count> Finder<'_, '_, C> {
    fn text(
        &self,
        exchange: &Exchange<'_, '_>,
        inner: &Block<'_>,
        (message, block, part): (usize, usize, Option<usize>),
        reason: Cause,
        by: Option<usize>,
    ) -> Option<Reduction> {
        let BlockKind::Text(text) = &inner.kind else {
            return None;
        };
        self.document.replaceable(message, block, part)?;
        let text = text.decode();
        let (bytes, lines) = (text.len(), text.lines().count());
        let ended = match exchange.told.outcome {
            Outcome::Exit(status) if status != 0 => Some(format!("exit code {status}")),
            Outcome::Failed => Some("failed".to_owned()),
            Outcome::Refused => Some("refused by the user".to_owned()),
            _ => None,
        };
        let reduction = Reduction {
            message,
            block,
            part,
            reason,
            by,
            what: format!("{}, {bytes} bytes, {lines} lines", exchange.name_it()),
            error: exchange.told.error.clone().filter(|_| ended.is_some()),
            ended,
            tokens: piece_tokens(self.document.transcript(), self.measure, self.meter, (message, inner)),
            saved: Tokens::ZERO,
        };
        self.worth(reduction)
    }

    fn media(
        &self,
        inner: &Block<'_>,
        media: &Media<'_>,
        (message, block, part): (usize, usize, Option<usize>),
    ) -> Option<Reduction> {
        self.document.replaceable(message, block, part)?;
        let name = match media.kind {
            MediaKind::Image => "image",
            MediaKind::Document => "document",
            MediaKind::Audio => "audio",
            MediaKind::File => "file",
        };
        let kind = media.media_type.map(|kind| format!(", {}", one_line(&kind.decode(), 60))).unwrap_or_default();
        let size = match media.data {
            Some(data) => format!(", {} bytes", data.raw().len() as u64 * 3 / 4),
            None => ", by address".to_owned(),
        };
        self.worth(Reduction {
            message,
            block,
            part,
            reason: Cause::Media,
            by: None,
            what: format!("{name}{kind}{size}"),
            ended: None,
            error: None,
            tokens: self.meter.block_tokens(inner),
            saved: Tokens::ZERO,
        })
    }

    fn worth(&self, mut reduction: Reduction) -> Option<Reduction> {
        let stands = self.meter.count().text(&placeholder(&reduction, SAMPLE_ID));
        reduction.saved = reduction.tokens - stands;
        (reduction.saved >= WORTH).then_some(reduction)
    }
}
