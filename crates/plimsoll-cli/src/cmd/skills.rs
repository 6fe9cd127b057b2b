//! `plimsoll skills`: the skills and commands an agent may use, listed inside a budget.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum, ValueHint};
use plimsoll::budget::Counting;
use plimsoll::listing::{
    Advised, BUDGET_VARIABLE, Budget, Entry, EntryReport, Lint, Listing, Options, Reason, Report, Rule, Shadowed,
    State, Step, Strategy, advise, list,
};
use plimsoll::model::LimitKind;
use plimsoll::token::Method;
use plimsoll::{Bytes, Tokens};
use plimsoll_engine::skills::{Agent, Found, Places, mcp_prompts, read, read_folders};
use serde::Serialize;

use crate::args::{Global, tokens};
use crate::output::{Output, plain, style};
use crate::resolve::{About as _, Done, Usage, catalogue, input, input_name};

/// The largest `--from` file taken.
const LARGEST_INPUT: Bytes = Bytes(256 << 20);

/// List the skills and commands an agent may use, inside a budget
///
/// Without folders, looks where agents look: the user's and the project's skills and commands of Claude Code, Codex
/// and OpenCode, plugins included. The listing goes to standard output, what it costs to standard error.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll skills --model claude-sonnet-4-5 --explain")]
pub(crate) struct SkillsArgs {
    /// Projects, plugins, or folders of skills or commands [default: where agents look from here]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    dirs: Vec<PathBuf>,
    /// List the entries of a JSON file instead: an array of entries, or an MCP server's prompts; `-` is standard input
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath, conflicts_with_all = ["dirs", "agent"])]
    from: Option<PathBuf>,
    /// List what this agent alone would see
    #[arg(long, value_name = "AGENT", conflicts_with = "dirs")]
    agent: Option<OneAgent>,
    /// The context window in tokens; the listing may take a hundredth of it
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    window: Option<u64>,
    /// Take this model's window, and count as it does
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The most characters the listing may have
    #[arg(long, value_name = "N")]
    budget_chars: Option<u64>,
    /// The most tokens the listing may have; with --budget-chars, both hold
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    budget_tokens: Option<u64>,
    /// How descriptions give way: fair, classic or least-used
    #[arg(long, value_name = "STRATEGY", default_value_t, value_parser = strategy)]
    strategy: Strategy,
    /// Say on standard error what was cut, why, and what would help
    #[arg(long)]
    explain: bool,
    /// Print one JSON object: the text and a report
    #[arg(long)]
    json: bool,
}

/// An agent on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OneAgent {
    Claude,
    Codex,
    #[value(name = "opencode")]
    OpenCode,
}

fn strategy(word: &str) -> Result<Strategy, String> {
    word.parse::<Strategy>().map_err(|error| error.to_string())
}

/// What is to be listed, and what was met on the way to it.
#[derive(Default)]
struct Gathered {
    entries: Vec<Entry>,
    shadowed: Vec<Shadowed<Found>>,
    lint: Vec<Lint>,
    /// Where it was looked, in words, for the case that nothing was found.
    looked: String,
}

/// What `skills --json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    text: &'a str,
    report: &'a Report,
    counting: Counted,
    shadowed: Vec<Hidden<'a>>,
    advice: &'a Advised,
}

#[derive(Serialize)]
struct Counted {
    method: Method,
    tokenizer: &'static str,
}

/// An entry that another one of its name hides.
#[derive(Serialize)]
struct Hidden<'a> {
    name: &'a str,
    source: &'static str,
    path: String,
    by: &'static str,
}

impl<'a> Hidden<'a> {
    fn of(shadowed: &'a Shadowed<Found>) -> Self {
        let Found { entry, path, .. } = &shadowed.entry;
        let path = path.display().to_string();
        Self { name: &entry.name, source: entry.source.word(), path, by: shadowed.by.word() }
    }
}

pub(crate) fn run(arguments: &SkillsArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let gathered = gather(arguments)?;
    let counting = Counting::for_model(arguments.model.as_deref());
    let counter = |text: &str| counting.counter().count(text);
    let (budget, origin) = budget(arguments, global, &counter, output)?;
    let Listing { text, mut report, .. } = list(&gathered.entries, &budget, &Options::with(arguments.strategy));
    report.lint.extend(gathered.lint.iter().cloned());
    let total = counter(&text);
    report.tokens = Some(total);
    let advised = if arguments.json || arguments.explain {
        advise(&gathered.entries, &report, &counter)
    } else {
        Advised::default()
    };
    if arguments.json {
        let how = Counted { method: counting.counter().method(), tokenizer: counting.name() };
        let shadowed = gathered.shadowed.iter().map(Hidden::of).collect();
        output.json(&Shown { text: &text, report: &report, counting: how, shadowed, advice: &advised })?;
    } else if !text.is_empty() {
        output.bytes(text.as_bytes())?;
        output.bytes(b"\n")?;
    }
    if arguments.json && !arguments.explain {
        return Ok(Done::Yes);
    }
    let mut said = summary(&report, &gathered, total, &counting);
    if arguments.explain {
        said.push_str(&explanation(&report, &gathered, &advised, &origin));
    } else if report.shortened().next().is_some() || !report.lint.is_empty() {
        said.push_str("--explain tells more.\n");
    }
    output.say(&said)?;
    Ok(Done::Yes)
}

fn gather(arguments: &SkillsArgs) -> Result<Gathered> {
    if let Some(file) = &arguments.from {
        let name = input_name(Some(file));
        let entries = entries_of(input(Some(file), LARGEST_INPUT)?.bytes()).about(&name)?;
        return Ok(Gathered { entries, looked: name, ..Gathered::default() });
    }
    let (skills, looked) = if arguments.dirs.is_empty() {
        let agents = match arguments.agent {
            None => Agent::ALL.to_vec(),
            Some(OneAgent::Claude) => vec![Agent::Claude],
            Some(OneAgent::Codex) => vec![Agent::Codex],
            Some(OneAgent::OpenCode) => vec![Agent::OpenCode],
        };
        (
            read(&places()?, &agents),
            "the folders of agents in your home and from here up to the repository".to_owned(),
        )
    } else {
        let folders: Vec<PathBuf> = arguments.dirs.iter().map(|dir| folder(dir)).collect::<Result<_>>()?;
        let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        (read_folders(&folders), shown.join(", "))
    };
    Ok(Gathered { entries: skills.entries(), shadowed: skills.shadowed, lint: skills.lint, looked })
}

/// A folder that can be looked into; for a `SKILL.md`, the one it lies in.
fn folder(path: &Path) -> Result<PathBuf> {
    let metadata = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    if metadata.is_dir() {
        return Ok(path.to_owned());
    }
    let is_skill = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    match path.parent() {
        Some(parent) if is_skill && parent == Path::new("") => Ok(PathBuf::from(".")),
        Some(parent) if is_skill => Ok(parent.to_owned()),
        _ => {
            Err(Usage(format!("{} is a file; give a folder, or a list of entries with --from", path.display()))
                .into())
        }
    }
}

/// Reads entries, or the prompts of an MCP server, from JSON.
fn entries_of(json: &[u8]) -> Result<Vec<Entry>> {
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let first = json.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') {
        return mcp_prompts(json, None).context("the object holds no MCP prompts; a list of entries is an array");
    }
    serde_json::from_slice(json).context("it is not a JSON array of entries, each with at least a \"name\"")
}

fn places() -> Result<Places> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let here = std::env::current_dir().context("cannot tell the current folder")?;
    let mut places = Places::of_project(here).with_system_folders();
    places.home = folder("HOME").or_else(|| folder("USERPROFILE"));
    places.claude_config = folder("CLAUDE_CONFIG_DIR");
    places.codex_home = folder("CODEX_HOME");
    places.config_home = folder("XDG_CONFIG_HOME");
    Ok(places)
}

/// The budget, and in words where it comes from.
fn budget<'a>(
    arguments: &SkillsArgs,
    global: &Global,
    counter: &'a dyn Fn(&str) -> Tokens,
    output: &mut Output,
) -> Result<(Budget<'a>, String)> {
    let given = |what: &str| format!("given with {what}");
    match (arguments.budget_chars, arguments.budget_tokens.map(Tokens)) {
        (Some(most), None) => return Ok((Budget::characters(most), given("--budget-chars"))),
        (None, Some(most)) => return Ok((Budget::tokens(most, counter), given("--budget-tokens"))),
        (Some(most), Some(tokens)) => {
            let both = Budget::characters(most).and_tokens(tokens, counter);
            return Ok((both, given("--budget-chars and --budget-tokens")));
        }
        (None, None) => {}
    }
    let variable = match std::env::var(BUDGET_VARIABLE) {
        Err(std::env::VarError::NotUnicode(_)) => bail!("{BUDGET_VARIABLE} is not a number"),
        variable => variable.ok(),
    };
    let (window, of) = window(arguments, global, output)?;
    let budget = Budget::from_window(window, variable.as_deref());
    // A value that states nothing leaves the budget to the window, whichever that is.
    let is_stated = Budget::from_window(Some(Tokens(400)), variable.as_deref()).max_characters()
        == Budget::from_window(Some(Tokens(800)), variable.as_deref()).max_characters();
    let origin = match window {
        _ if is_stated => format!("set by {BUDGET_VARIABLE}"),
        Some(window) => format!("a hundredth of {of}, {window} tokens, at four characters each"),
        None => "the default for an unknown window; --window or --model tells it".to_owned(),
    };
    Ok((budget, origin))
}

fn window(arguments: &SkillsArgs, global: &Global, output: &mut Output) -> Result<(Option<Tokens>, String)> {
    if let Some(window) = arguments.window {
        return Ok((Some(Tokens(window)).filter(|window| window.0 > 0), "the window".to_owned()));
    }
    let Some(model) = &arguments.model else {
        return Ok((None, String::new()));
    };
    let limit = catalogue(global)?.limit_or_default(model);
    let shown = plain(model);
    if !limit.is_known() {
        output.say(&format!(
            "plimsoll: the model `{shown}` is not known, so its window is taken as unknown; --window gives it\n"
        ))?;
        return Ok((None, String::new()));
    }
    let what = if limit.kind == LimitKind::ContextWindow { "window" } else { "input limit" };
    Ok((Some(limit.tokens), format!("the {what} of {shown}")))
}

/// One line: how many, in which shape, at what cost.
fn summary(report: &Report, gathered: &Gathered, tokens: Tokens, counting: &Counting) -> String {
    if gathered.entries.is_empty() {
        return format!("No skills or commands in {}.\n", plain(&gathered.looked));
    }
    let mut parts = Vec::new();
    for (count, what) in [
        (report.full, "in full"),
        (report.cut, "shortened"),
        (report.name_only, "by name only"),
        (report.omitted, "left out"),
        (report.hidden, "hidden"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    let (bold, warn, end) = (style::BOLD, style::WARN, style::END);
    let mut said = format!("{bold}{}{end}: {}. ", entries(gathered.entries.len()), parts.join(", "));
    for limit in &report.limits {
        let over = if limit.used > limit.budget { warn } else { "" };
        let _ = write!(
            said,
            "{over}{} of {} {}{}; ",
            limit.used,
            limit.budget,
            limit.unit.word(),
            if over.is_empty() { "" } else { end }
        );
    }
    let about = if counting.counter().method() == Method::Exact { "" } else { "about " };
    let _ = write!(said, "{about}{tokens} tokens in every request ({}).", counting.name());
    if report.over_budget {
        let _ = write!(said, " {warn}Over budget.{end}");
    }
    if !report.lint.is_empty() {
        let _ = write!(said, " {}.", problems(report.lint.len()));
    }
    said.push('\n');
    said
}

fn entries(count: usize) -> String {
    plimsoll::counted(count, "entry", "entries")
}

fn problems(count: usize) -> String {
    plimsoll::counted(count, "problem", "problems")
}

fn explanation(report: &Report, gathered: &Gathered, advised: &Advised, origin: &str) -> String {
    let (bold, dim, end) = (style::BOLD, style::DIM, style::END);
    let mut said = format!("{dim}The budget is {origin}.{end}\n");
    let width = report.entries.iter().map(|it| it.name.chars().count()).max().unwrap_or(0).min(40);
    let lost: Vec<&EntryReport> = report.shortened().collect();
    if !lost.is_empty() {
        let _ = writeln!(said, "\n{bold}What was cut{end} {dim}(characters of the description shown){end}");
    }
    for it in lost {
        let what = match (it.state, it.reason) {
            (State::Omitted, _) => "left out: not even the names fit".to_owned(),
            (State::NameOnly, _) => format!("0 of {}: no room for a description", it.characters),
            (_, Some(Reason::EntryCap)) => {
                format!("{} of {}: longer than any may be", it.shown, it.characters)
            }
            _ => format!("{} of {}", it.shown, it.characters),
        };
        let _ = writeln!(said, "  {:<width$}  {dim}{:<8}{end} {what}", plain(&it.name), it.source.word());
    }
    if !advised.steps.is_empty() {
        let _ = writeln!(
            said,
            "\n{bold}What would help{end} {dim}(in full it takes {} tokens, {} too many){end}",
            advised.in_full, advised.missing
        );
    }
    for it in &advised.steps {
        let what = match it.step {
            Step::Pin => format!("pin it: it is used often; all of it costs {} tokens more", it.costs),
            Step::Shorten { to } => format!("shorten its description to {to} characters: saves {} tokens", it.saves),
            Step::NameOnly => format!("show its name only: saves {} tokens", it.saves),
            _ => continue,
        };
        let _ = writeln!(said, "  {:<width$}  {what}", plain(&it.name));
    }
    if !gathered.shadowed.is_empty() {
        let _ = writeln!(said, "\n{bold}Hidden by another of the same name{end}");
    }
    for it in &gathered.shadowed {
        let hidden = Hidden::of(it);
        let (name, path) = (plain(hidden.name), plain(&hidden.path));
        let _ = writeln!(said, "  {name:<width$}  {} by {}  {dim}{path}{end}", hidden.source, hidden.by);
    }
    if !report.lint.is_empty() {
        let _ = writeln!(said, "\n{bold}Problems{end}");
    }
    for lint in &report.lint {
        let name = if lint.name.is_empty() { rule(lint.rule) } else { &lint.name };
        let path = lint.path.as_deref().map(|path| format!("  {dim}{}{end}", plain(path))).unwrap_or_default();
        let _ = writeln!(said, "  {:<width$}  {}{path}", plain(name), plain(&lint.message));
    }
    said
}

fn rule(rule: Rule) -> &'static str {
    match rule {
        Rule::Unreadable => "unreadable",
        _ => "unnamed",
    }
}
