//! `plimsoll models`: limits of models, where each number comes from, and how a name was resolved.

use std::io::Read as _;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use plimsoll::Tokens;
use plimsoll::model::{Claim, Entry, Limit, Matches, Outcome, Priced, Resolution};
use serde::Serialize;

use crate::args::{Global, ModelsArgs};
use crate::output::{Output, plain, style};
use crate::resolve::{Done, catalogue, catalogue_files};

/// Where models.dev serves its collection.
const COLLECTION: &str = "https://models.dev/api.json";
/// More than ten times what the collection has: beyond this it is something else.
const LARGEST: u64 = 64 << 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Update(UpdateArgs),
}

/// Refresh the catalogue from models.dev
///
/// Nothing else is sent or fetched. The result is kept in the user's cache directory, and used while it is newer than the
/// catalogue of the program itself; numbers that were reviewed by hand stay as they are.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll models update --from api.json")]
pub(crate) struct UpdateArgs {
    /// A copy of models.dev's api.json, a file or a URL [default: the one that models.dev serves]
    #[arg(long, value_name = "FILE|URL")]
    pub(crate) from: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// One model as `models --json` prints it.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    query: &'a str,
    resolved: Option<&'a str>,
    known: bool,
    context_window: Option<Tokens>,
    max_input: Option<Tokens>,
    max_output: Option<Tokens>,
    sources: Sources,
    /// Dollars for a million tokens, and who states them.
    prices: Option<InDollars>,
    /// Numbers of other origins that disagree with those in force.
    others: Vec<Other>,
    /// What was done to the name, in order.
    steps: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct Sources {
    context_window: Option<String>,
    max_input: Option<String>,
    max_output: Option<String>,
}

/// Prices as `models --json` prints them.
#[derive(Debug, Serialize)]
struct InDollars {
    input: f64,
    cache_read: f64,
    cache_write: f64,
    output: f64,
    source: String,
}

impl From<&Priced> for InDollars {
    fn from(priced: &Priced) -> Self {
        let dollars = |millionths: u64| millionths as f64 / 1e6;
        let prices = priced.prices;
        Self {
            input: dollars(prices.input),
            cache_read: dollars(prices.cache_read),
            cache_write: dollars(prices.cache_write),
            output: dollars(prices.output),
            source: priced.source.to_string(),
        }
    }
}

/// What `models update` did, as JSON.
#[derive(Debug, Serialize)]
struct Updated<'a> {
    from: &'a str,
    file: String,
    models: usize,
}

#[derive(Debug, Serialize)]
struct Other {
    field: &'static str,
    tokens: Tokens,
    source: String,
}

impl From<&Claim> for Other {
    fn from(claim: &Claim) -> Self {
        Self { field: claim.field, tokens: claim.tokens, source: claim.source.to_string() }
    }
}

impl<'a> Shown<'a> {
    fn of(query: &'a str, entry: &'a Entry, steps: Vec<String>) -> Self {
        let tokens = |limit: &Option<Limit>| limit.as_ref().map(|limit| limit.tokens);
        let source = |limit: &Option<Limit>| limit.as_ref().map(source);
        let limits = &entry.limits;
        Self {
            query,
            resolved: Some(&entry.name),
            known: true,
            context_window: tokens(&limits.context_window),
            max_input: tokens(&limits.max_input),
            max_output: tokens(&limits.max_output),
            sources: Sources {
                context_window: source(&limits.context_window),
                max_input: source(&limits.max_input),
                max_output: source(&limits.max_output),
            },
            prices: entry.prices.as_ref().map(InDollars::from),
            others: entry.others.iter().map(Other::from).collect(),
            steps,
        }
    }

    fn unknown(query: &'a str, resolution: &Resolution) -> Self {
        let others = match &resolution.outcome {
            Outcome::Ambiguous { claims } => claims.iter().map(Other::from).collect(),
            _ => Vec::new(),
        };
        Self {
            query,
            resolved: None,
            known: false,
            context_window: None,
            max_input: None,
            max_output: None,
            sources: Sources::default(),
            prices: None,
            others,
            steps: steps(resolution),
        }
    }
}

fn source(limit: &Limit) -> String {
    if limit.suspect { format!("{} (suspect)", limit.source) } else { limit.source.to_string() }
}

fn steps(resolution: &Resolution) -> Vec<String> {
    resolution.steps.iter().map(|step| format!("{}: {}", step.rule, step.name)).collect()
}

pub(crate) fn run(arguments: &ModelsArgs, global: &Global, output: &mut Output) -> Result<Done> {
    if let Some(Action::Update(arguments)) = &arguments.action {
        return update(arguments, global, output);
    }
    let catalogue = catalogue(global)?;
    let Some(query) = &arguments.query else {
        return several("", &catalogue.models().collect::<Vec<_>>(), arguments.json, output);
    };
    match catalogue.matches(query) {
        Matches::One(resolution) => one(query, &resolution, arguments.json, output),
        Matches::Several(entries) => several(query, &entries, arguments.json, output),
        Matches::None(resolution) => {
            if arguments.json {
                output.json(&Shown::unknown(query, &resolution))?;
            }
            output.say(&unknown(query, &resolution))?;
            Ok(Done::Failed)
        }
    }
}

/// Refreshes the catalogue from a file or from the network.
fn update(arguments: &UpdateArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let from = arguments.from.as_deref().unwrap_or(COLLECTION);
    let progress = output.progress("fetching");
    let json = if from.starts_with("https://") || from.starts_with("http://") {
        download(from).with_context(|| {
            let shown = plain(from);
            format!(
                "cannot fetch {shown}; without a network, give a copy of it: plimsoll models update --from api.json"
            )
        })?
    } else {
        file(Path::new(from)).with_context(|| format!("cannot read {}", plain(from)))?
    };
    progress.stage("reading");
    let (file, models) = catalogue_files(global).update(&json, from, SystemTime::now())?;
    drop(progress);
    if arguments.json {
        output.json(&Updated { from, file: file.display().to_string(), models })?;
    } else {
        output.print(&format!(
            "{} known, in {}\n",
            plimsoll::counted(models, "model is", "models are"),
            plain(&file.display().to_string())
        ))?;
    }
    Ok(Done::Yes)
}

fn file(path: &Path) -> Result<Vec<u8>> {
    let mut json = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut json)?;
    anyhow::ensure!(json.len() as u64 <= LARGEST, "it has more than {} MiB", LARGEST >> 20);
    Ok(json)
}

/// Fetches a URL. Only a sound answer of a bounded size counts.
#[cfg(feature = "download")]
fn download(url: &str) -> Result<Vec<u8>> {
    use std::time::Duration;

    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(plimsoll_store::tls::client(true)?)
        .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(60))
        .build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut response = client.get(url).send().await?.error_for_status()?;
        let mut json = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            json.extend_from_slice(&chunk);
            anyhow::ensure!(json.len() as u64 <= LARGEST, "the answer has more than {} MiB", LARGEST >> 20);
        }
        Ok(json)
    })
}

#[cfg(not(feature = "download"))]
fn download(_: &str) -> Result<Vec<u8>> {
    anyhow::bail!("this build fetches nothing")
}

fn unknown(query: &str, resolution: &Resolution) -> String {
    let query = plain(query);
    match &resolution.outcome {
        Outcome::Ambiguous { claims } => {
            let numbers: Vec<String> = claims.iter().map(|claim| claim.tokens.to_string()).collect();
            format!(
                "plimsoll: the model `{query}` means models of different limits ({}); name its host or version, or \
                 give the window with --window\n",
                numbers.join(", ")
            )
        }
        _ => format!(
            "plimsoll: the model `{query}` is not known; `plimsoll models` lists what is, and --window gives a window \
             by hand\n"
        ),
    }
}

fn one(query: &str, resolution: &Resolution, json: bool, output: &mut Output) -> Result<Done> {
    let Outcome::Found(entry) = &resolution.outcome else {
        return Ok(Done::Failed);
    };
    if json {
        output.json(&Shown::of(query, entry, steps(resolution)))?;
        return Ok(Done::Yes);
    }
    let (bold, dim, end) = (style::BOLD, style::DIM, style::END);
    let mut text = format!("{bold}{}{end}\n", plain(&entry.name));
    let limits = &entry.limits;
    for (name, field, limit) in [
        ("context window", "context_window", &limits.context_window),
        ("input", "max_input", &limits.max_input),
        ("output", "max_output", &limits.max_output),
    ] {
        let shown = limit.as_ref().map_or("unknown".to_owned(), |limit| limit.tokens.grouped());
        let from = limit.as_ref().map(source).unwrap_or_default();
        text.push_str(&format!("  {name:<15} {shown:>10}  {dim}{from}{end}\n"));
        for claim in entry.others.iter().filter(|claim| claim.field == field) {
            text.push_str(&format!(
                "  {dim}{:<15} {:>10}  {}, not used{end}\n",
                "",
                claim.tokens.grouped(),
                claim.source
            ));
        }
    }
    if let Some(Priced { prices, source }) = &entry.prices {
        let title = "dollars a million";
        text.push_str(&format!("  {title:<17} {prices}  {dim}input/cached/cache write/output; {source}{end}\n"));
    }
    for step in steps(resolution) {
        text.push_str(&format!("  {dim}{}{end}\n", plain(&step)));
    }
    output.print(&text)?;
    Ok(Done::Yes)
}

fn several(query: &str, entries: &[Entry], json: bool, output: &mut Output) -> Result<Done> {
    if json {
        let shown: Vec<Shown<'_>> = entries.iter().map(|entry| Shown::of(query, entry, Vec::new())).collect();
        output.json(&shown)?;
        return Ok(Done::Yes);
    }
    let width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0).clamp(5, 60);
    let mut text =
        format!("{}{:<width$}  {:>8} {:>8} {:>8}{}\n", style::DIM, "model", "window", "input", "output", style::END);
    for entry in entries {
        let shown = |limit: &Option<Limit>| limit.as_ref().map_or("–".to_owned(), |limit| limit.tokens.to_string());
        let limits = &entry.limits;
        text.push_str(&format!(
            "{:<width$}  {:>8} {:>8} {:>8}\n",
            plain(&entry.name),
            shown(&limits.context_window),
            shown(&limits.max_input),
            shown(&limits.max_output)
        ));
    }
    output.print(&text)?;
    Ok(Done::Yes)
}
