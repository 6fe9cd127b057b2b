//! `plimsoll models`: limits of models, where each number comes from, and how a name was resolved.

use anyhow::Result;
use plimsoll::Tokens;
use plimsoll::model::{Catalogue, Claim, Entry, Limit, Matches, Outcome, Resolution};
use serde::Serialize;

use crate::args::ModelsArgs;
use crate::output::{Output, plain, style};
use crate::resolve::Done;

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

pub(crate) fn run(arguments: &ModelsArgs, output: &mut Output) -> Result<Done> {
    let catalogue = Catalogue::embedded();
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
        let shown = limit.as_ref().map_or("unknown".to_owned(), |limit| grouped(limit.tokens));
        let from = limit.as_ref().map(source).unwrap_or_default();
        text.push_str(&format!("  {name:<15} {shown:>10}  {dim}{from}{end}\n"));
        for claim in entry.others.iter().filter(|claim| claim.field == field) {
            text.push_str(&format!(
                "  {dim}{:<15} {:>10}  {}, not used{end}\n",
                "",
                grouped(claim.tokens),
                claim.source
            ));
        }
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

/// A number with its thousands apart: limits are compared digit by digit.
fn grouped(tokens: Tokens) -> String {
    let digits = tokens.0.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(Tokens(1_000_000)), "1,000,000");
        assert_eq!(grouped(Tokens(272_000)), "272,000");
        assert_eq!(grouped(Tokens(999)), "999");
    }
}
