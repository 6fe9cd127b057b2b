//! `plimsoll context`: what fills a transcript's context, as bars, as JSON, or as a page.

use anyhow::Result;
use plimsoll::wire::parse;
use plimsoll::{Tokens, counted, plural};
use plimsoll_engine::{CompactOptions, Context, context, picture, write_whole};

use crate::args::{ContextArgs, Global};
use crate::output::{Output, bar, kind_rows, percent, plain, shares, style, word};
use crate::page;
use crate::resolve::{
    About as _, Done, catalogue, config, input, input_name, limit, named, output_path, parse_options,
};

pub(crate) fn run(arguments: &ContextArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let file = named(arguments.file.as_deref())?;
    let file = file.as_deref();
    let name = input_name(file);
    let out = output_path(arguments.output.as_ref(), file)?;
    let progress = output.progress("reading");
    let input = input(file, limit(&arguments.reading))?;
    let document = parse(input.bytes(), &parse_options(&arguments.reading)?).about(&name)?;
    progress.stage("counting");
    let options = CompactOptions {
        model: arguments.model.clone(),
        window: arguments.window.map(Tokens),
        policy: config(global)?.policy(),
        catalogue: catalogue(global)?,
        ..CompactOptions::default()
    };
    if arguments.html {
        let picture = picture(&document, &options).about(&name)?;
        let argument = arguments
            .file
            .as_ref()
            .filter(|file| file.as_os_str() != "-")
            .map(|file| word(&file.display().to_string()));
        let about = page::About { name: &name, argument: argument.as_deref(), version: env!("CARGO_PKG_VERSION") };
        let html = page::render(&about, &picture);
        drop(progress);
        match out {
            Some(path) => {
                write_whole(&path, html.as_bytes())?;
                output.print(&format!(
                    "wrote {} {}({}){}\n",
                    plain(&path.display().to_string()),
                    style::DIM,
                    plimsoll::Bytes::from(html.len()),
                    style::END
                ))?;
            }
            None => output.bytes(html.as_bytes())?,
        }
        return Ok(Done::Yes);
    }
    let context = context(&document, &options);
    drop(progress);
    if arguments.json {
        output.json(&context)?;
    } else {
        output.print(&shown(&name, &context))?;
    }
    Ok(Done::Yes)
}

fn shown(name: &str, context: &Context) -> String {
    let (bold, dim, accent, warn, end) = (style::BOLD, style::DIM, style::ACCENT, style::WARN, style::END);
    let model = context.model.as_deref().unwrap_or("unknown model");
    let mut text = format!(
        "{bold}{}{end} {dim}· {} · {} · {} · {} ({}){end}\n\n",
        plain(name),
        context.format,
        plain(model),
        counted(context.messages, "message", "messages"),
        context.counting.words(),
        context.counting.tokenizer
    );
    let used = context.tokens + context.unrecorded.unwrap_or_default();
    let outside = [("system prompt", context.system), ("tools", context.tools)];
    let unrecorded = [("unrecorded", context.unrecorded.unwrap_or_default())];
    let rows = outside.into_iter().chain(kind_rows(&context.by_kind)).chain(unrecorded);
    let (labels, tokens): (Vec<_>, Vec<_>) = rows.filter(|(_, tokens)| *tokens > Tokens::ZERO).unzip();
    for ((label, tokens), share) in labels.into_iter().zip(tokens.iter().copied()).zip(shares(&tokens)) {
        let bar = bar(tokens, used, 40);
        text.push_str(&format!("  {label:<14} {accent}{bar}{end} {:>7} {:>5}\n", tokens.to_string(), share));
    }
    let over = if used > context.budget { warn } else { "" };
    // The counts of other commands are of what is in the file.
    let recorded = context.unrecorded.filter(|tokens| *tokens > Tokens::ZERO).map_or(String::new(), |unrecorded| {
        format!("  {dim}{:<14} {} recorded in the file + {unrecorded} unrecorded{end}\n", "", context.tokens)
    });
    text.push_str(&format!(
        "\n  {:<14} {accent}{}{end} {over}{:>7}{end} of {} {dim}({} of the window; {}){end}\n{recorded}",
        "all",
        bar(used, context.window, 40),
        used.to_string(),
        context.window,
        percent(used, context.window),
        short_source(&context.window_source)
    ));
    text.push_str(&format!(
        "  {dim}{:<14} warn {} · prepare {} · compact {} · hard {} · input budget {}{end}\n",
        "thresholds",
        context.thresholds.warn,
        context.thresholds.prepare,
        context.thresholds.compact,
        context.thresholds.hard,
        context.budget
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
        text.push_str(&format!(
            "{warn}{} without {} counterpart{end}\n",
            counted(context.orphans, "tool call or result", "tool calls or results"),
            plural(context.orphans, "its", "their")
        ));
    }
    for odd in &context.oddities {
        text.push_str(&format!("{dim}{} × {}{end}\n", odd.count, odd.kind));
    }
    text
}

/// Who says what the window is, in short: what stands in brackets, and that it was reviewed, `plimsoll models` tells.
fn short_source(source: &str) -> String {
    let source = source.strip_prefix("catalogue: ").unwrap_or(source);
    let source = source.strip_prefix("review after ").unwrap_or(source);
    match (source.split_once(" ("), source.rsplit_once("), ")) {
        (Some((origin, _)), Some((_, date))) => format!("{origin}, {date}"),
        _ => source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_named_in_short() {
        let long = "catalogue: review after Anthropic models overview (opted into by a header or [1m]), 2026-11-30";
        assert_eq!(short_source(long), "Anthropic models overview, 2026-11-30");
        assert_eq!(short_source("catalogue: models.dev 0.2, 2026-08-18"), "models.dev 0.2, 2026-08-18");
        assert_eq!(short_source("fallback"), "fallback");
    }
}
