//! `plimsoll compact`: the compacted transcript, in the format it came in, and a report of what was done.

use std::time::SystemTime;

use anyhow::{Result, bail};
use plimsoll::Tokens;
use plimsoll::compact::{Carried, Profile};
use plimsoll::wire::{parse, splice};
use plimsoll_engine::{CompactOptions, Compacted, Outcome, Report, change_in_place, compact, write_whole};

use crate::args::{CompactArgs, Global};
use crate::output::{Output, bar, percent, plain, style};
use crate::resolve::{
    About as _, Done, Usage, catalogue, config, input, input_name, limit, output_path, parse_options, store_of,
};

pub(crate) fn run(arguments: &CompactArgs, global: &Global, output: &mut Output) -> Result<Done> {
    if arguments.summarizer != "extract" {
        return Err(Usage(format!(
            "--summarizer {}: only `extract` is built in; it works offline and needs no key",
            plain(&arguments.summarizer)
        ))
        .into());
    }
    let config = config(global)?;
    let profile = arguments.profile.as_deref().unwrap_or(config.profile());
    let profile = Profile::named(profile).ok_or_else(|| {
        let name = plain(profile);
        Usage(format!("--profile {name}: built in are coding, workspace, research and chat"))
    })?;
    let file = arguments.file.as_deref();
    let name = input_name(file);
    if arguments.in_place && file.is_none_or(|file| file.as_os_str() == "-") {
        return Err(Usage("--in-place needs a FILE to change".to_owned()).into());
    }
    let out = output_path(arguments.output.as_ref(), file)?;
    let store = if arguments.dry_run { None } else { Some(store_of(&config)?) };

    let progress = output.progress("reading");
    let input = input(file, limit(&arguments.reading))?;
    let document = parse(input.bytes(), &parse_options(&arguments.reading)?).about(&name)?;
    let options = CompactOptions {
        model: arguments.model.clone(),
        window: arguments.window.map(Tokens),
        max_output: arguments.max_output.map(Tokens),
        target_tokens: arguments.target_tokens.map(Tokens),
        keep_tokens: arguments.keep_tokens.map(Tokens),
        instructions: arguments.instructions.clone(),
        force: arguments.force,
        profile,
        policy: config.policy(),
        catalogue: catalogue(global)?,
    };
    let compacted = compact(&document, &options, store.as_ref(), SystemTime::now(), &|stage| progress.stage(stage))
        .about(&name)?;
    let Compacted { report, edits } = &compacted;

    // What is skipped leaves unchanged, so that a pipeline goes on. What is infeasible leaves nothing.
    let mut written = None;
    if report.outcome != Outcome::Infeasible && !arguments.dry_run {
        progress.stage("writing");
        let bytes = splice(document.bytes(), edits)?;
        if arguments.in_place {
            if report.outcome == Outcome::Applied
                && let Some(file) = file
            {
                written = Some(format!(
                    "{}, the old one is {}",
                    file.display(),
                    change_in_place(file, &input, &bytes)?.display()
                ));
            }
        } else if let Some(out) = &out {
            write_whole(out, &bytes)?;
            written = Some(out.display().to_string());
        } else if !arguments.json {
            output.bytes(&bytes)?;
        }
    }
    drop(progress);

    if arguments.json {
        output.json(report)?;
        return Ok(done(report.outcome));
    }
    let text = shown(&name, report, written.as_deref(), arguments.dry_run);
    // Standard output carries the transcript, unless that goes elsewhere.
    let free = arguments.in_place || out.is_some() || arguments.dry_run;
    if report.outcome == Outcome::Infeasible {
        output.say(&text)?;
    } else if free {
        output.print(&text)?;
    } else {
        output.say(&text)?;
    }
    if report.outcome == Outcome::Infeasible && report.reason.is_none() {
        bail!("{name}: infeasible");
    }
    Ok(done(report.outcome))
}

fn done(outcome: Outcome) -> Done {
    if outcome == Outcome::Infeasible { Done::Infeasible } else { Done::Yes }
}

/// The report for a person.
fn shown(name: &str, report: &Report, written: Option<&str>, dry_run: bool) -> String {
    let (bold, dim, accent, warn, end) = (style::BOLD, style::DIM, style::ACCENT, style::WARN, style::END);
    let model = report.model.as_deref().unwrap_or("unknown model");
    let mut text = format!(
        "{bold}{}{end} {dim}· {} · {} · {} ({}){end}\n",
        plain(name),
        report.format,
        plain(model),
        report.counting.method,
        report.counting.tokenizer
    );
    let reason = report.reason.as_deref().unwrap_or_default();
    match report.outcome {
        Outcome::Skipped => {
            text.push_str(&format!("{warn}skipped{end}: {reason}; the transcript is unchanged\n"));
            return text;
        }
        Outcome::Infeasible => {
            text.push_str(&format!("{warn}infeasible{end}: {reason}\n"));
            return text;
        }
        Outcome::Applied => {}
    }
    let whole = report.tokens_before.max(report.tokens_after);
    let row = |label: &str, tokens: Tokens, messages: usize| {
        let bar = bar(tokens, whole, 40);
        format!("{label:<7} {accent}{bar}{end} {:>6} tokens  {messages:>4} messages", tokens.to_string())
    };
    text.push_str(&row("before", report.tokens_before, report.messages_before));
    text.push('\n');
    text.push_str(&row("after", report.tokens_after, report.messages_after));
    text.push_str(&format!(
        "  {dim}{} of before; {} kept verbatim{end}\n",
        percent(report.tokens_after, report.tokens_before),
        report.kept_tail_messages
    ));
    if let Some(carried) = &report.carried {
        text.push_str(&format!("carried {}\n", carried_words(carried)));
    }
    if let Some(turns) = report.break_even_turns.filter(|_| dry_run) {
        text.push_str(&format!("pays    for the rewritten prompt cache after {turns} turns\n"));
    }
    if let Some(written) = written {
        text.push_str(&format!("wrote   {}\n", plain(written)));
    }
    if let Some(artifact) = &report.artifact {
        text.push_str(&format!("recall  plimsoll recall {artifact}  {dim}# what was removed{end}\n"));
    }
    if let Some(epoch) = &report.epoch {
        text.push_str(&format!("restore plimsoll restore {epoch}  {dim}# all of it as it was{end}\n"));
    }
    if dry_run {
        text.push_str(&format!("{dim}a dry run: nothing was stored or written{end}\n"));
    }
    text
}

fn carried_words(carried: &Carried) -> String {
    let counts = [
        (carried.user_messages, "user message", "user messages"),
        (carried.constraints, "constraint among them", "constraints among them"),
        (carried.items, "item touched", "items touched"),
        (carried.commands, "command", "commands"),
        (carried.errors, "error", "errors"),
        (carried.open_todos, "open to-do", "open to-dos"),
        (carried.notes, "note of the model", "notes of the model"),
        (carried.identifiers, "identifier", "identifiers"),
        (carried.pending_calls, "pending call", "pending calls"),
    ];
    let mut words: Vec<String> = counts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    if carried.left_out > 0 {
        words.push(format!("{} more by recall only", carried.left_out));
    }
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}
