//! `SummaryJob`: one summary from the request to the continuation message, with the same facts at every step.

use super::accept::{Answer, Expected, Verdict, accept, growth_bound};
use super::continuation::{ContinuationParts, continuation, parse_continuation};
use super::ledger::{Artifact, Ledger, earlier::told, words::laid_down};
use super::plan::Summarise;
use super::profile::Profile;
use super::prompt::{Language, Prompt};
use super::request::{RequestError, Summariser, SummaryRequest, summary_request};
use super::{Carried, Reason};
use crate::budget::Measure;
use crate::transcript::{Author, Transcript, is_summary};
use crate::units::Tokens;
use crate::wire::Document;

/// What a model's summary is asked for, judged and framed by.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::budget::{Capacity, Meter, Policy, Trigger, threshold};
/// use plimsoll::compact::{Answer, Plan, PlanOptions, Profile, SummaryJob, Verdict, plan};
/// use plimsoll::token::{Counter, Encoding};
/// use plimsoll::transcript::Obligations;
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Fix it. Never touch `main`."},
/// {"role":"assistant","content":"Done"},{"role":"user","content":"Go on"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let counter = Counter::exact(Encoding::O200kBase);
/// let mut options = PlanOptions::new(document.format(), Trigger::Manual);
/// options.force = true;
/// let thresholds = threshold(&Capacity::default(), &Policy::default(), None);
/// let measure = Meter::new(&counter).measure(&document);
/// let obligations = Obligations::of(document.transcript());
/// let Plan::Summarise(summarise) = plan(document.transcript(), &obligations, &measure, &thresholds, &options) else {
///     panic!()
/// };
/// let (profile, count) = (Profile::default(), |text: &str| counter.count(text));
/// let job = SummaryJob::new(&document, &summarise, &profile, None, &count);
/// let verdict = job.accept(&Answer::finished("I fixed it."));
/// assert!(matches!(verdict, Verdict::Rejected(_)));
/// let message = job.continuation("## 1. Primary request and intent\n…", "s1/~0a1b2c3d4e5f", Some("s1/~0a1b2c3d4e5f"));
/// assert!(message.contains("Never touch `main`."), "the facts are carried whatever the summary says");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct SummaryJob<'j> {
    document: &'j Document<'j>,
    summarise: &'j Summarise,
    profile: &'j Profile,
    instructions: Option<&'j str>,
    count: &'j (dyn Fn(&str) -> Tokens + Sync),
    /// All facts of what is summarised, those of earlier rounds included.
    pub ledger: Ledger,
    /// What the earlier summary counts that is to be merged, if there is one.
    pub previous: Option<Tokens>,
    /// The values and names in what that lays down.
    laid_down: Vec<String>,
    /// The user's language.
    pub language: Option<Language>,
    /// The most that the summary may take: its budget, no more than what it replaces, and no more than a merged summary
    /// may grow to.
    pub bound: Tokens,
}

/// The least bound that a summary is given, however little it replaces.
const LEAST_BOUND: Tokens = Tokens(512);

impl<'j> SummaryJob<'j> {
    /// Gathers what a summary of the plan's messages needs. `count` counts as the conversation's model does.
    pub fn new(
        document: &'j Document<'j>,
        summarise: &'j Summarise,
        profile: &'j Profile,
        instructions: Option<&'j str>,
        count: &'j (dyn Fn(&str) -> Tokens + Sync),
    ) -> Self {
        let transcript = document.transcript();
        let mut ledger = Ledger::of(transcript, summarise.removed.clone());
        // The earlier summary is merged by the model; beside the new one it would stand twice.
        ledger.earlier = None;
        let earlier = previous_summary(transcript, summarise);
        let laid_down = earlier.as_deref().map(laid_down).unwrap_or_default();
        let previous = earlier.map(|text| count(&text));
        let mut bound = summarise.summary_budget.min(summarise.removed_tokens.max(LEAST_BOUND));
        if let Some(previous) = previous {
            bound = bound.min(growth_bound(previous, summarise.removed_tokens - previous));
        }
        let language = Language::of_words(&ledger.words);
        Self { document, summarise, profile, instructions, count, ledger, previous, laid_down, language, bound }
    }

    /// What the instruction is made from; `retry` is why the first answer was not taken.
    pub fn prompt<'p>(&'p self, retry: Option<&'p Reason>) -> Prompt<'p> {
        Prompt {
            profile: self.profile,
            instructions: self.instructions,
            language: self.language,
            merges: self.previous.is_some(),
            splits_turn: self.summarise.splits_turn,
            bound: self.bound,
            retry,
        }
    }

    /// Makes the request; see [`summary_request`]. `count` counts as the summariser does.
    ///
    /// # Errors
    /// [`RequestError`] if nothing can be sent.
    pub fn request(
        &self,
        measure: &Measure,
        to: &Summariser<'_>,
        retry: Option<&Reason>,
        count: &dyn Fn(&str) -> Tokens,
    ) -> Result<SummaryRequest, RequestError> {
        let removed = self.summarise.removed.clone();
        let mut prompt = self.prompt(retry);
        // The draft comes out of what the model can write too.
        prompt.bound = prompt.bound.min(Tokens(to.max_output.unwrap_or(Tokens::MAX).0 / 4 * 3));
        let request = summary_request(self.document, removed.clone(), measure, &prompt, to, count)?;
        let room = Tokens(request.output.0 / 4 * 3);
        if prompt.bound <= room {
            return Ok(request);
        }
        // What is left of the window for the answer is known now: to allow more would be to have it cut off.
        prompt.bound = room;
        summary_request(self.document, removed, measure, &prompt, to, count)
    }

    /// Decides whether an answer is taken; see [`accept`].
    pub fn accept(&self, answer: &Answer<'_>) -> Verdict {
        accept(
            answer,
            &Expected {
                bound: self.bound,
                previous: self.previous,
                laid_down: &self.laid_down,
                fresh: self.summarise.removed_tokens - self.previous.unwrap_or_default(),
                language: self.language,
                profile: self.profile,
                ledger: &self.ledger,
                count: self.count,
            },
        )
    }

    /// The facts that stand beside a model's summary: within the ledger's budget, constraints first.
    pub fn carried(&self, recall: Option<&str>) -> Ledger {
        let mut ledger = self.ledger.clone();
        if let Some(id) = recall {
            ledger.artifacts.push(Artifact::of_messages(id, self.summarise.removed.len(), ledger.turns));
        }
        ledger.bounded(self.summarise.ledger_budget, self.count)
    }

    /// How many facts of each kind stand beside the summary: for the report.
    pub fn carried_counts(&self, recall: Option<&str>) -> Carried {
        Carried::of(&self.carried(recall))
    }

    /// Writes the continuation message: a model's summary, and beside it the carried facts.
    ///
    /// It is within the plan's budget: its frame, a summary that was [accepted](Self::accept), and the ledger's budget.
    pub fn continuation(&self, summary: &str, epoch: &str, recall: Option<&str>) -> String {
        let facts = self.carried(recall).render(recall.unwrap_or(""));
        continuation(&ContinuationParts {
            epoch,
            summary,
            ledger: Some(&facts),
            keeps_tail: self.summarise.tail_messages() > 0,
            recall,
        })
    }
}

/// The text of the earlier summary among the messages that leave, ours or a program's: without its frame and without the
/// facts beside it.
fn previous_summary(transcript: &Transcript<'_>, summarise: &Summarise) -> Option<String> {
    let removed = transcript.messages.get(summarise.removed.clone())?;
    let message = removed.iter().rev().find(|message| message.author == Author::Summary)?;
    let texts = message.texts().map(|text| text.decode().into_owned()).find(|text| is_summary(text))?;
    let summary = match parse_continuation(&texts) {
        Some(ours) => ours.narrative.unwrap_or(ours.summary).to_owned(),
        None => told(&texts),
    };
    Some(summary).filter(|summary| !summary.trim().is_empty())
}
