//! `accept`: whether a model's answer is taken as the summary of a conversation. Whoever asks never puts anything else in
//! the history's place: a rejected answer is asked for once more with the reason, and then the extract stands in.

mod reason;
mod sections;
mod signs;

use super::ledger::Ledger;
use super::profile::Profile;
use super::prompt::Language;
use super::summary::{SummaryError, extract_summary};
use crate::units::Tokens;
use crate::wire::Stop;

pub use reason::{Reason, Warning};
use sections::Sections;

/// What a model answered to a summary request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<'a> {
    /// All the text it wrote, draft and tags included; of several text blocks, one after the other.
    pub text: &'a str,
    /// Why it stopped.
    pub stop: Stop,
    /// How many tools it called.
    pub tool_calls: usize,
}

impl<'a> Answer<'a> {
    /// An answer that was finished in words.
    pub const fn finished(text: &'a str) -> Self {
        Self { text, stop: Stop::End, tool_calls: 0 }
    }
}

/// What was asked for: what an answer is held against.
#[derive(Clone, Copy)]
pub struct Expected<'e> {
    /// The most that the summary may take.
    pub bound: Tokens,
    /// What the earlier summary took that it merges, if there is one.
    pub previous: Option<Tokens>,
    /// The values and names in what that lays down: rules, limits, preferences.
    pub laid_down: &'e [String],
    /// What the new part of the conversation counts: by that, a merged summary may grow.
    pub fresh: Tokens,
    /// The language asked for.
    pub language: Option<Language>,
    /// The kind of work, whose words are in the third heading.
    pub profile: &'e Profile,
    /// The facts of what is summarised.
    pub ledger: &'e Ledger,
    /// Counts tokens.
    pub count: &'e dyn Fn(&str) -> Tokens,
}

/// A summary that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The summary, its draft and tags taken away.
    pub summary: String,
    /// What the summary counts.
    pub tokens: Tokens,
    /// What is doubtful about it: for the report.
    pub warnings: Vec<Warning>,
}

/// What is decided about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Accepted(Accepted),
    /// It is not, and why.
    Rejected(Reason),
}

/// From how many values and names on their absence tells that an earlier summary was not merged.
const TELLING: usize = 4;
/// One of so many must be held at the least: a summary may drop what is done with.
const KEPT: usize = 4;

/// How much a merged summary may grow by in any case.
const LEAST_GROWTH: Tokens = Tokens(1_024);

/// The most that a summary may take which merges an earlier one: what that took, and a quarter of what is new, or 1,024
/// tokens if that is more.
///
/// ```
/// use plimsoll::{Tokens, compact::growth_bound};
/// assert_eq!(growth_bound(Tokens(3_000), Tokens(20_000)), Tokens(8_000));
/// assert_eq!(growth_bound(Tokens(3_000), Tokens(0)), Tokens(4_024));
/// ```
pub fn growth_bound(previous: Tokens, fresh: Tokens) -> Tokens {
    previous + Tokens(fresh.0 / 4).max(LEAST_GROWTH)
}

/// Decides whether an answer is taken as the summary. Pure: the same answer to the same request gets the same verdict.
///
/// Rejected is what is empty; was stopped by length, however complete it looks; calls tools or writes their markup; goes
/// on with the conversation; lacks one of the headings 1–9 in order; is over the bound of size or growth; holds
/// hardly anything of what the earlier summary lays down; or is a provider's error text. Doubtful, but taken with a warning, is what is in another language than asked for, speaks of
/// refusing, lacks identifiers of the ledger, or has sections without content where the ledger knows of some.
///
/// ```
/// use plimsoll::{Tokens, compact::{Answer, Expected, Ledger, Profile, Reason, Verdict, accept}};
/// let expected = Expected {
///     bound: Tokens(8_000),
///     previous: None,
///     laid_down: &[],
///     fresh: Tokens(50_000),
///     language: None,
///     profile: &Profile::default(),
///     ledger: &Ledger::default(),
///     count: &|text| Tokens::from(text.len() / 4 + 1),
/// };
/// let answer = Answer::finished("Sure, I have fixed the test.");
/// assert_eq!(accept(&answer, &expected), Verdict::Rejected(Reason::Continued));
/// ```
pub fn accept(answer: &Answer<'_>, expected: &Expected<'_>) -> Verdict {
    match judge(answer, expected) {
        Ok(accepted) => Verdict::Accepted(accepted),
        Err(reason) => Verdict::Rejected(reason),
    }
}

fn judge(answer: &Answer<'_>, expected: &Expected<'_>) -> Result<Accepted, Reason> {
    // A word that is not of the answer's own format may be of another one.
    let read = match &answer.stop {
        Stop::Other(word) => Stop::read(Some(word)),
        stop => stop.clone(),
    };
    match read {
        Stop::Length => return Err(Reason::Length),
        Stop::ToolCall => return Err(Reason::ToolCall),
        Stop::Refusal => return Err(Reason::Refused),
        Stop::End | Stop::Other(_) | Stop::Unsaid => {}
    }
    if answer.tool_calls > 0 {
        return Err(Reason::ToolCall);
    }
    if let Some(error) = signs::provider_error(answer.text) {
        return Err(Reason::ProviderError { error });
    }
    let summary = extract_summary(answer.text).map_err(|error| match error {
        SummaryError::Empty if signs::tool_markup(answer.text).is_some() => Reason::ToolMarkup,
        SummaryError::Empty => Reason::Empty,
        SummaryError::DraftOnly => Reason::DraftOnly,
    })?;
    // What stands around the blocks is thrown away, so only what is left can call a tool; without blocks that is all.
    if signs::tool_markup(&summary).is_some() || signs::calls_after_summary(answer.text) {
        return Err(Reason::ToolMarkup);
    }
    let tokens = (expected.count)(&summary);
    if tokens > expected.bound {
        return Err(Reason::TooLong { tokens, bound: expected.bound });
    }
    if let Some(previous) = expected.previous {
        let bound = growth_bound(previous, expected.fresh);
        if tokens > bound {
            return Err(Reason::Grown { tokens, previous, bound });
        }
    }
    let held = expected.laid_down.iter().filter(|name| summary.contains(name.as_str())).count();
    let of = expected.laid_down.len();
    if of >= TELLING && held * KEPT < of {
        return Err(Reason::Forgets { held, of });
    }
    let read = |summary| Sections::read(summary, expected.profile, expected.language);
    let sections = match read(&summary) {
        Ok(sections) => sections,
        Err(found) => {
            let in_code = signs::without_fences(&summary);
            let in_code = read(&in_code).map_or_else(|found| found, |_| 9);
            return Err(match found {
                _ if in_code > found.max(4) => Reason::InCode,
                0 if !signs::has_headings(&summary) => Reason::Continued,
                found => Reason::Headings { found },
            });
        }
    };
    if sections.last().is_some_and(signs::goes_on) {
        return Err(Reason::Continued);
    }
    if sections.are_all_blank() {
        return Err(Reason::Skeleton);
    }
    let warnings = warnings(&summary, &sections, expected);
    Ok(Accepted { summary, tokens, warnings })
}

/// How many absent identifiers a warning names.
const NAMED: usize = 12;

fn warnings(summary: &str, sections: &Sections<'_>, expected: &Expected<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let found = Language::detect(&sections.prose());
    if let Some((asked, found)) = expected.language.zip(found).filter(|(asked, found)| asked != found) {
        warnings.push(Warning::Language { asked, found });
    }
    if let Some(wording) = signs::refusal(summary) {
        warnings.push(Warning::Refusal { wording });
    }
    let ledger = expected.ledger;
    let touched = ledger
        .items
        .iter()
        .filter(|item| item.touches.iter().any(|(touch, _)| touch.changes()))
        .map(|item| item.path.as_str());
    let mut known: Vec<&str> = ledger.names.iter().map(String::as_str).chain(touched).collect();
    known.sort_unstable();
    known.dedup();
    let absent: Vec<&str> = known.iter().filter(|name| !signs::names(summary, name)).copied().collect();
    if !absent.is_empty() {
        let count = absent.len();
        let absent = absent.into_iter().take(NAMED).map(str::to_owned).collect();
        warnings.push(Warning::Identifiers { absent, count, of: known.len() });
    }
    let skeletons = sections.skeletons(ledger);
    if !skeletons.is_empty() {
        warnings.push(Warning::Sections { numbers: skeletons });
    }
    warnings
}

#[cfg(test)]
#[path = "accept/tests.rs"]
mod tests;
