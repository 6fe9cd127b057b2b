//! `plimsoll compact`: the compacted transcript, in the format it came in, and a report of what was done.

use std::path::Path;
use std::time::SystemTime;

use anyhow::{Result, bail};
use plimsoll::compact::{Carried, Form, Skip};
use plimsoll::wire::{parse, splice};
use plimsoll::{Tokens, counted, plural};
use plimsoll_engine::find::settled;
use plimsoll_engine::profiles::profile as profile_named;
use plimsoll_engine::summarise::{Cancel, Choice};
use plimsoll_engine::{
    CompactOptions, Compacted, EngineError, Outcome, Reductions, Report, Writing, change_in_place, compact,
    compact_by, writable, write_whole,
};
use plimsoll_store::Location;

use crate::args::{CompactArgs, Global};
use crate::cmd::summarizer::{Own, interruptible, show};
use crate::output::{Output, bar, carried_counts, percent, plain, style, word};
use crate::resolve::{
    About as _, Done, Usage, catalogue, config, input, input_name, limit, location, named, output_path,
    parse_options, profile_folder, store_of,
};

pub(crate) fn run(arguments: &CompactArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let config = config(global)?;
    let choice = arguments.summarizer.choice(&config)?;
    let profile = arguments.profile.as_deref().unwrap_or(config.profile());
    let profile = profile_named(profile, profile_folder(global).as_deref())
        .map_err(|error| Usage(plain(&error.to_string())))?
        .profile;
    let file = named(arguments.file.as_deref())?;
    let file = file.as_deref();
    let name = input_name(file);
    if arguments.in_place && file.is_none_or(|file| file.as_os_str() == "-") {
        return Err(Usage("--in-place needs a FILE to change".to_owned()).into());
    }
    let out = output_path(arguments.output.as_ref(), file)?;
    let store = match (arguments.dry_run, &choice) {
        (false, _) => Some(store_of(&config)?),
        (true, Choice::Extract) => None,
        // It is looked into for a summary that was written before.
        (true, _) => store_of(&config).ok(),
    };
    let forgets = matches!(location(&config), Ok(Location::Memory));
    if !arguments.dry_run {
        changeable(file.filter(|_| arguments.in_place), out.as_deref())?;
    }

    let progress = output.progress("reading");
    if let Some(path) = file.filter(|_| arguments.in_place && !arguments.force && !arguments.dry_run)
        && let Some(by) = settled(path)
    {
        return Err(EngineError::InUse { path: path.to_path_buf(), by }.into());
    }
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
        summary_only: arguments.summary_only,
        dry_run: arguments.dry_run,
        profile,
        policy: config.policy(),
        catalogue: catalogue(global)?,
    };
    let compacted = if choice == Choice::Extract {
        compact(&document, &options, store.as_ref(), SystemTime::now(), &|stage| progress.stage(stage))
            .about(&name)?
    } else {
        let own = Own {
            model: options.model.as_deref(),
            window: options.window,
            max_output: options.max_output,
            catalogue: &options.catalogue,
        };
        let summariser = arguments.summarizer.build(&choice, &config, &document, own)?;
        let cancel = Cancel::default();
        let writing = Writing { summariser: &*summariser, cancel: &cancel, progress: &|step| show(&progress, &step) };
        let stage = |stage: &str| progress.stage(stage);
        let work = compact_by(&document, &options, store.as_ref(), SystemTime::now(), &writing, &stage);
        match interruptible(&cancel, work)? {
            Err(EngineError::Aborted(aborted)) => {
                drop(progress);
                output.say(&format!("plimsoll: {aborted}\n"))?;
                return Ok(Done::Interrupted);
            }
            done => done.about(&name)?,
        }
    };
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
    // Where the transcript went is where it is restored: that undoes what was done there.
    let place = if arguments.in_place { file } else { out.as_deref() }.map(|path| word(&path.display().to_string()));
    let told = Told { written: written.as_deref(), place: place.as_deref(), dry_run: arguments.dry_run, forgets };
    let text = shown(&name, report, &told, advice(report));
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

/// Looks whether the result can be written, before a model is asked, and paid, for it.
fn changeable(in_place: Option<&Path>, out: Option<&Path>) -> Result<(), EngineError> {
    match (in_place, out) {
        (Some(file), _) if file.is_symlink() => Err(EngineError::SymbolicLink { path: file.to_path_buf() }),
        (Some(path), _) | (None, Some(path)) => writable(path),
        (None, None) => Ok(()),
    }
}

fn done(outcome: Outcome) -> Done {
    if outcome == Outcome::Infeasible { Done::Infeasible } else { Done::Yes }
}

/// What a report for a person tells beside what is in the report.
struct Told<'a> {
    /// What was written.
    written: Option<&'a str>,
    /// Where it was written, as a word of a shell.
    place: Option<&'a str>,
    dry_run: bool,
    /// Whether the store ends with this command.
    forgets: bool,
}

/// With no more messages than these nobody wonders why there are too few.
const FEW: usize = 8;

/// What can be done about a transcript that is skipped although it has many messages.
fn advice(report: &Report) -> Option<String> {
    let too_few = report.reason.as_deref() == Some(Skip::NotEnoughMessages.to_string().as_str());
    if !too_few || report.messages_before <= FEW {
        return None;
    }
    Some(format!(
        "nearly all of its {} messages ({} tokens) is the tail that stays verbatim; --keep-tokens or --target-tokens \
         compacts more",
        report.messages_before, report.tokens_before
    ))
}

/// The report for a person.
fn shown(name: &str, report: &Report, told: &Told<'_>, advice: Option<String>) -> String {
    let Told { written, place, dry_run, forgets } = *told;
    let (bold, dim, accent, warn, end) = (style::BOLD, style::DIM, style::ACCENT, style::WARN, style::END);
    let model = report.model.as_deref().unwrap_or("unknown model");
    let mut text = format!(
        "{bold}{}{end} {dim}· {} · {} · {} ({}){end}\n",
        plain(name),
        report.format,
        plain(model),
        report.counting.words(),
        report.counting.tokenizer
    );
    let reason = report.reason.as_deref().unwrap_or_default();
    match report.outcome {
        Outcome::Skipped => {
            text.push_str(&format!("{warn}skipped{end}: {reason}; the transcript is unchanged\n"));
            text.extend(advice.map(|advice| format!("{dim}{advice}{end}\n")));
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
        format!(
            "{label:<7} {accent}{bar}{end} {:>6} tokens  {messages:>4} {}",
            tokens.to_string(),
            plural(messages, "message", "messages")
        )
    };
    text.push_str(&row("before", report.tokens_before, report.messages_before));
    text.push('\n');
    // What a model would write is known by its bound only.
    let unwritten = dry_run && report.request.is_some() && report.fallback.is_none();
    text.push_str(&row(if unwritten { "at most" } else { "after" }, report.tokens_after, report.messages_after));
    text.push_str(&format!(
        "  {dim}{} of before; {} kept verbatim{end}\n",
        percent(report.tokens_after, report.tokens_before),
        report.kept_tail_messages
    ));
    if let Some(carried) = &report.carried {
        text.push_str(&format!("carried {}\n", carried_words(carried)));
    }
    text.push_str(&summary_words(report, dry_run));
    if let Some(reductions) = &report.reductions {
        text.push_str(&format!("left out {}; no summary was needed\n", left_out_words(reductions)));
        for piece in reductions.pieces.iter().take(PIECES) {
            let tokens = piece.tokens.to_string();
            text.push_str(&format!(
                "  {tokens:>6} tokens  {}  {dim}{}{end}\n",
                plain(&piece.what),
                plain(&piece.artifact)
            ));
        }
        if reductions.pieces.len() > PIECES {
            text.push_str(&format!("  and {} more\n", reductions.pieces.len() - PIECES));
        }
    }
    if let Some(turns) = report.break_even_turns.filter(|_| dry_run) {
        text.push_str(&format!("pays    for the rewritten prompt cache after {}\n", counted(turns, "turn", "turns")));
    }
    if let Some(written) = written {
        text.push_str(&format!("wrote   {}\n", plain(written)));
    }
    if forgets && report.artifact.is_some() {
        text.push_str(&format!("{warn}gone{end}    what was removed: the store memory: ends with this command\n"));
        return text;
    }
    if let Some(artifact) = &report.artifact {
        text.push_str(&format!("recall  plimsoll recall {artifact}  {dim}# what was removed{end}\n"));
    }
    if let Some(epoch) = &report.epoch {
        let place = place.map(|place| format!(" -o {place}")).unwrap_or_default();
        text.push_str(&format!("restore plimsoll restore {epoch}{place}  {dim}# all of it as it was{end}\n"));
    }
    if dry_run {
        text.push_str(&format!("{dim}a dry run: nothing was stored or written{end}\n"));
    }
    text
}

/// Who wrote the summary, what that cost, and what it bought; nothing where no model had to do with it.
fn summary_words(report: &Report, dry_run: bool) -> String {
    let (dim, warn, end) = (style::DIM, style::WARN, style::END);
    let mut text = String::new();
    let by = plain(report.summarizer.as_deref().unwrap_or_default());
    if let Some(request) = &report.request {
        let form = match request.form {
            Form::SameConversation => "the conversation itself, so that its cached prefix is read again".to_owned(),
            _ => match request.obstacle {
                Some(obstacle) => format!("the conversation as text: {obstacle}"),
                None => "the conversation as text".to_owned(),
            },
        };
        let asks = if dry_run { "would ask" } else { "asked" };
        let whom = report.fallback.as_ref().map_or_else(|| by.clone(), |fallback| plain(&fallback.from));
        text.push_str(&format!(
            "{asks:<7} {whom}: {} tokens in, at most {} out  {dim}{form}{end}\n",
            request.input, request.max_output
        ));
        let left = request.left_out;
        if !left.is_nothing() {
            text.push_str(&format!(
                "        {dim}left out of the request: {}, {}, {}{end}\n",
                counted(left.results, "result", "results"),
                counted(left.turns, "turn", "turns"),
                counted(left.steps, "step", "steps")
            ));
        }
    }
    if report.calls == 0 && report.request.is_none() && !by.is_empty() && by != "extract" {
        let asked = if dry_run { "nobody would be asked" } else { "nobody was asked again" };
        text.push_str(&format!(
            "summary by {by}, written before for this very history; {asked}  {dim}# another --instructions gets a new one{end}\n"
        ));
    }
    if let Some(usage) = &report.usage {
        let calls = counted(report.calls, "call", "calls");
        let bought = report.tokens_before.0.saturating_sub(report.tokens_after.0);
        text.push_str(&format!(
            "used    {} tokens in ({} of them cached), {} out, {calls}; it bought {} tokens of room\n",
            usage.context(),
            usage.cache_read,
            usage.output,
            Tokens(bought)
        ));
    }
    for warning in &report.warnings {
        text.push_str(&format!("{warn}doubt{end}   {}\n", plain(warning)));
    }
    if let Some(fallback) = &report.fallback {
        text.push_str(&format!(
            "{warn}instead{end} of {} the extract was written: {}\n",
            plain(&fallback.from),
            plain(&fallback.reason)
        ));
    }
    text
}

/// How many of the pieces that were left out are named to a person.
const PIECES: usize = 12;

/// What there is any of, each with its count and the word for one or for many.
fn listed(counts: &[(usize, &str, &str)]) -> Vec<String> {
    let some = counts.iter().filter(|(count, ..)| *count > 0);
    some.map(|(count, one, many)| counted(*count, one, many)).collect()
}

fn left_out_words(reductions: &Reductions) -> String {
    let counts = [
        (reductions.superseded, "superseded result", "superseded results"),
        (reductions.large, "large old result", "large old results"),
        (reductions.media, "picture or file", "pictures or files"),
    ];
    listed(&counts).join(", ")
}

fn carried_words(carried: &Carried) -> String {
    let mut words = listed(&carried_counts(carried));
    if carried.left_out > 0 {
        words.push(format!("{} more by recall only", carried.left_out));
    }
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}
