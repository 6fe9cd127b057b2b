//! `plimsoll context`: what fills a transcript's context, as bars or as JSON.

use std::collections::BTreeMap;

use anyhow::Result;
use plimsoll::Tokens;
use plimsoll::budget::{ByKind, ByRole, Counting, Measure, Meter};
use plimsoll::transcript::{BlockKind, Message, Obligations};
use plimsoll::wire::{Document, Format, OddityKind, parse};
use plimsoll_engine::{CompactOptions, CountedBy, Judged, judge};
use serde::Serialize;

use crate::args::ContextArgs;
use crate::output::{Output, bar, kind_rows, percent, plain, style};
use crate::resolve::{About as _, Done, input, input_name, limit, parse_options};

/// How many of the largest messages are shown.
const LARGEST: usize = 5;

/// What `context --json` prints.
#[derive(Debug, Serialize)]
struct Context {
    format: Format,
    model: Option<String>,
    tokens: Tokens,
    counting: CountedBy,
    window: Tokens,
    window_source: String,
    budget: Tokens,
    thresholds: Marks,
    system: Tokens,
    tools: Tokens,
    by_role: ByRole,
    by_kind: ByKind,
    messages: usize,
    unrecorded: Option<Tokens>,
    largest: Vec<Large>,
    orphans: usize,
    oddities: Vec<Odd>,
}

#[derive(Debug, Serialize)]
struct Marks {
    warn: Tokens,
    prepare: Tokens,
    compact: Tokens,
    hard: Tokens,
    target: Tokens,
}

#[derive(Debug, Serialize)]
struct Large {
    message: usize,
    role: &'static str,
    kind: &'static str,
    name: Option<String>,
    tokens: Tokens,
}

#[derive(Debug, Serialize)]
struct Odd {
    kind: &'static str,
    count: usize,
}

pub(crate) fn run(arguments: &ContextArgs, output: &mut Output) -> Result<Done> {
    let file = arguments.file.as_deref();
    let name = input_name(file);
    let progress = output.progress("reading");
    let input = input(file, limit(&arguments.reading))?;
    let document = parse(input.bytes(), &parse_options(&arguments.reading)?).about(&name)?;
    progress.stage("counting");
    let options = CompactOptions {
        model: arguments.model.clone(),
        window: arguments.window.map(Tokens),
        ..CompactOptions::default()
    };
    let judged = judge(&document, &options);
    let mut meter = Meter::new(Counting::for_model(judged.model.as_deref()));
    let measure = meter.measure(&document);
    let context = context(&document, &measure, judged, meter.count().name());
    drop(progress);
    if arguments.json {
        output.json(&context)?;
    } else {
        output.print(&shown(&name, &context))?;
    }
    Ok(Done::Yes)
}

fn context(document: &Document<'_>, measure: &Measure, judged: Judged, tokenizer: &str) -> Context {
    let thresholds = &judged.thresholds;
    Context {
        format: document.format(),
        model: judged.model,
        tokens: measure.total,
        counting: CountedBy { method: measure.method, tokenizer: tokenizer.to_owned() },
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
        largest: largest(document, measure),
        orphans: Obligations::of(document.transcript()).orphans().len(),
        oddities: oddities(document),
    }
}

fn largest(document: &Document<'_>, measure: &Measure) -> Vec<Large> {
    let messages = &document.transcript().messages;
    let mut by_size: Vec<usize> = (0..messages.len()).collect();
    by_size.sort_by_key(|index| std::cmp::Reverse(measure.message(*index)));
    let large = |index: &usize| {
        let message = messages.get(*index)?;
        let (kind, name) = about(message, messages.get(..*index).unwrap_or(&[]));
        Some(Large { message: *index, role: message.role.name(), kind, name, tokens: measure.message(*index) })
    };
    by_size.iter().take(LARGEST).filter_map(large).collect()
}

/// What a message mostly is, and the tool it has to do with.
fn about(message: &Message<'_>, earlier: &[Message<'_>]) -> (&'static str, Option<String>) {
    let Some(block) = message.blocks.iter().max_by_key(|block| block.span.len()) else {
        return ("empty", None);
    };
    let name = match &block.kind {
        BlockKind::ToolCall(call) => Some(call.name.decode().into_owned()),
        BlockKind::ToolResult(result) => result.call_id.and_then(|id| {
            let id = id.decode();
            let calls = earlier.iter().rev().flat_map(Message::calls);
            calls
                .filter(|call| call.id.is_some_and(|other| other.is(&id)))
                .map(|call| call.name.decode().into_owned())
                .next()
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

fn shown(name: &str, context: &Context) -> String {
    let (bold, dim, accent, warn, end) = (style::BOLD, style::DIM, style::ACCENT, style::WARN, style::END);
    let model = context.model.as_deref().unwrap_or("unknown model");
    let mut text = format!(
        "{bold}{}{end} {dim}· {} · {} · {} messages · {} ({}){end}\n\n",
        plain(name),
        context.format,
        plain(model),
        context.messages,
        context.counting.method,
        context.counting.tokenizer
    );
    let used = context.tokens + context.unrecorded.unwrap_or_default();
    let outside = [("system prompt", context.system), ("tools", context.tools)];
    let unrecorded = [("unrecorded", context.unrecorded.unwrap_or_default())];
    let rows = outside.into_iter().chain(kind_rows(&context.by_kind)).chain(unrecorded);
    for (label, tokens) in rows.filter(|(_, tokens)| *tokens > Tokens::ZERO) {
        let bar = bar(tokens, used, 40);
        text.push_str(&format!(
            "  {label:<14} {accent}{bar}{end} {:>7} {:>5}\n",
            tokens.to_string(),
            percent(tokens, used)
        ));
    }
    let over = if used > context.budget { warn } else { "" };
    text.push_str(&format!(
        "\n  {:<14} {accent}{}{end} {over}{:>7}{end} of {} {dim}({} of the window; {}){end}\n",
        "all",
        bar(used, context.window, 40),
        used.to_string(),
        context.window,
        percent(used, context.window),
        context.window_source
    ));
    text.push_str(&format!(
        "  {dim}{:<14} warn {} · compact {} · hard {} · input budget {}{end}\n",
        "thresholds", context.thresholds.warn, context.thresholds.compact, context.thresholds.hard, context.budget
    ));
    if !context.largest.is_empty() {
        text.push_str("\nlargest messages\n");
        for large in &context.largest {
            let name = large.name.as_deref().map(plain).unwrap_or_default();
            text.push_str(&format!(
                "  {dim}#{:<6}{end} {:>7}  {} {} {name}\n",
                large.message,
                large.tokens.to_string(),
                large.role,
                large.kind
            ));
        }
    }
    if context.orphans > 0 || !context.oddities.is_empty() {
        text.push('\n');
    }
    if context.orphans > 0 {
        text.push_str(&format!("{warn}{} tool calls or results without their counterpart{end}\n", context.orphans));
    }
    for odd in &context.oddities {
        text.push_str(&format!("{dim}{} × {}{end}\n", odd.count, odd.kind));
    }
    text
}
