//! `plimsoll context`: what fills a transcript's context, as bars, as JSON, or as a page.

use anyhow::Result;
use plimsoll::Tokens;
use plimsoll::wire::parse;
use plimsoll_engine::{CompactOptions, Context, context, picture, write_whole};

use crate::args::{ContextArgs, Global};
use crate::output::{Output, bar, kind_rows, percent, plain, style};
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

/// A path as one word of a shell.
fn word(path: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+@:=,~".contains(c);
    if !path.is_empty() && path.chars().all(safe) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
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
        context.counting.words(),
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
