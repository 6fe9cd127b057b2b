//! `plimsoll install` and `plimsoll uninstall`: show what would change in an agent program's files, and change it.

use anyhow::{Context as _, Result};
use clap::Args;
use plimsoll_engine::install::{
    Agent, Applied, Change, DiffLine, InstallPlaces, InstallPlan, Program, Scope, apply, diff, plan_install,
    plan_uninstall,
};
use serde_json::json;

use crate::args::Global;
use crate::output::{Output, plain, style};
use crate::resolve::{Done, Usage};

/// Install into an agent program: hooks, status line and MCP server, as far as it has them
///
/// Shows what would change; --apply changes it, and keeps a backup. `plimsoll uninstall` gives the very same files back.
/// With --store every command that is written names that store; without, they find theirs by the configuration.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll install claude --apply
         plimsoll install codex --store s3://bucket/prefix --apply")]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) what: Installation,
}

/// Take out what `plimsoll install` put in
///
/// Where nothing else was changed since, the files are as before, byte for byte; otherwise only our parts go. Shows what
/// would change; --apply changes it.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll uninstall claude --apply")]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    pub(crate) what: Installation,
}

/// What is installed or taken out.
#[derive(Debug, Args)]
pub(crate) struct Installation {
    /// The program: claude, codex or opencode
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,
    /// For the user, or for the project in the working directory
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub(crate) scope: ScopeName,
    /// Write it, rather than only show it
    #[arg(long)]
    pub(crate) apply: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ScopeName {
    User,
    Project,
}

pub(crate) fn install(arguments: &Installation, global: &Global, output: &mut Output) -> Result<Done> {
    let program = std::env::current_exe().context("the path of this program is not known")?;
    let program = Program::new(std::fs::canonicalize(&program).unwrap_or(program));
    let program = match &global.store {
        Some(url) => program.with_store(url).map_err(|error| Usage(plain(&error.to_string())))?,
        None => program,
    };
    let places = places()?;
    let plan = plan_install(agent(arguments)?, scope(arguments), &program, &places)?;
    carry_out(arguments, &plan, &places, output)
}

pub(crate) fn uninstall(arguments: &Installation, output: &mut Output) -> Result<Done> {
    let places = places()?;
    let plan = plan_uninstall(agent(arguments)?, scope(arguments), &places)?;
    carry_out(arguments, &plan, &places, output)
}

fn agent(arguments: &Installation) -> Result<Agent> {
    Ok(arguments
        .agent
        .parse()
        .map_err(|error: plimsoll_engine::install::InstallError| Usage(plain(&error.to_string())))?)
}

const fn scope(arguments: &Installation) -> Scope {
    match arguments.scope {
        ScopeName::User => Scope::User,
        ScopeName::Project => Scope::Project,
    }
}

fn places() -> Result<InstallPlaces> {
    let directory = std::env::current_dir().context("the working directory is not known")?;
    Ok(InstallPlaces::of(|name| std::env::var_os(name), &directory))
}

fn carry_out(
    arguments: &Installation,
    plan: &InstallPlan,
    places: &InstallPlaces,
    output: &mut Output,
) -> Result<Done> {
    if !arguments.json {
        output.print(&shown(plan))?;
    }
    let applied = if arguments.apply { apply(plan, places)? } else { Vec::new() };
    if arguments.json {
        output.json(&report(plan, &applied, arguments.apply))?;
        return Ok(Done::Yes);
    }
    for done in &applied {
        let path = plain(&done.path.display().to_string());
        let what = if done.removed { "removed" } else { "written" };
        let backup = done
            .backup
            .as_ref()
            .map(|backup| format!("; what was there is in {}", plain(&backup.display().to_string())));
        output.print(&format!("{path}: {what}{}\n", backup.unwrap_or_default()))?;
    }
    if plan.is_change() && !arguments.apply {
        output.say("Nothing was written. Run the command again with --apply to do this.\n")?;
    }
    Ok(Done::Yes)
}

fn report(plan: &InstallPlan, applied: &[Applied], apply: bool) -> serde_json::Value {
    let changes: Vec<serde_json::Value> = plan
        .changes
        .iter()
        .map(|change| {
            let done = applied.iter().find(|done| done.path == change.path);
            json!({
                "path": change.path,
                "change": kind(change),
                "backup": done.and_then(|done| done.backup.as_ref()),
                "notes": change.notes,
            })
        })
        .collect();
    json!({ "applied": apply && plan.is_change(), "changes": changes, "notes": plan.notes })
}

/// What becomes of a file, in a word.
fn kind(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        _ if !change.is_change() => "none",
        (None, _) => "create",
        (_, None) => "remove",
        _ => "edit",
    }
}

fn shown(plan: &InstallPlan) -> String {
    let (bold, dim, accent, warn, end) = (style::BOLD, style::DIM, style::ACCENT, style::WARN, style::END);
    let mut text = String::new();
    for change in &plan.changes {
        let what = match kind(change) {
            "none" => "nothing to do",
            "create" => "a new file",
            "remove" => "to be removed, since it was not there before",
            _ => "to be changed",
        };
        text.push_str(&format!("{bold}{}{end} {dim}· {what}{end}\n", plain(&change.path.display().to_string())));
        if let Some(leads_to) = &change.leads_to {
            text.push_str(&format!(
                "  {dim}a link to {}, which is what is changed{end}\n",
                plain(&leads_to.display().to_string())
            ));
        }
        if change.is_change() {
            let read =
                |bytes: &Option<Vec<u8>>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            for line in diff(&read(&change.before), &read(&change.after)) {
                text.push_str(&match line {
                    DiffLine::Same(line) => format!("    {dim}{}{end}\n", tame(&line)),
                    DiffLine::Removed(line) => format!("  {warn}- {}{end}\n", tame(&line)),
                    DiffLine::Added(line) => format!("  {accent}+ {}{end}\n", tame(&line)),
                    DiffLine::Gap => format!("    {dim}…{end}\n"),
                });
            }
        }
        for note in &change.notes {
            text.push_str(&format!("  {warn}note:{end} {}\n", plain(note)));
        }
    }
    for note in &plan.notes {
        text.push_str(&format!("{warn}note:{end} {}\n", plain(note)));
    }
    text
}

/// A line of a file, safe to show; tabs are spaces.
fn tame(line: &str) -> String {
    plain(&line.replace('\t', "    ").replace('\u{feff}', ""))
}
