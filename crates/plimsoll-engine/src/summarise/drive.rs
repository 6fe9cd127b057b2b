//! `summarise`: from a plan to a summary that can take its place: asked for, judged, asked for once more, or extracted.

mod asking;

use std::fmt;

use plimsoll::Tokens;
use plimsoll::budget::Measure;
use plimsoll::compact::{
    self, Carried, Form, Ledger, Obstacle, Profile, Reason, RequestError, Shrunk, Summarise, Verdict,
};
use plimsoll::transcript::Usage;
use plimsoll::wire::Document;
use serde::Serialize;

use self::asking::{Asking, Learnt};
use super::call::call;
use super::extract::of_job;
use super::{Answer, Cancel, Progress, Service, Summariser, SummariserError, SummaryRequest};

/// What a summary is to be of: the part of a document that a plan removes.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The document.
    pub document: &'a Document<'a>,
    /// What it counts.
    pub measure: &'a Measure,
    /// What leaves it, and the bounds of what takes its place.
    pub plan: &'a Summarise,
    /// What kind of work it is.
    pub profile: &'a Profile,
    /// What the user asked this summary to pay attention to. It steers, it selects nothing away.
    pub instructions: Option<&'a str>,
    /// The id under which what is removed will be recalled; empty if it is not stored.
    pub recall: &'a str,
    /// Counts tokens, as the conversation's model does.
    pub count: &'a (dyn Fn(&str) -> Tokens + Send + Sync),
}

impl Job<'_> {
    fn recall(&self) -> Option<&str> {
        Some(self.recall).filter(|recall| !recall.is_empty())
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The document is not for logs.
        f.debug_struct("Job")
            .field("removed", &self.plan.removed)
            .field("profile", &self.profile.name)
            .field("recall", &self.recall)
            .finish_non_exhaustive()
    }
}

/// A summary that can take the place of what it is of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The nine sections.
    pub text: String,
    /// What is carried beside them: for [`ContinuationParts::ledger`](plimsoll::compact::ContinuationParts). `None` where
    /// the sections hold the facts themselves, as an extract's do.
    pub facts: Option<String>,
    /// The facts that are carried, wherever they stand.
    pub ledger: Ledger,
    /// How many of each kind.
    pub carried: Carried,
    /// Who wrote it.
    pub by: String,
    /// The model that wrote it, as its service names it.
    pub model: Option<String>,
    /// What was asked of a model last, if one was asked.
    pub asked: Option<Asked>,
    /// How often a model was asked, the service's own retries not counted.
    pub calls: u32,
    /// What all of these calls used together, as far as it was reported; `None` if nothing was.
    pub usage: Option<Usage>,
    /// What the reader of the report is to know of the summary.
    pub warnings: Vec<String>,
    /// Why it is not written by whom it was asked of.
    pub fallback: Option<Fallback>,
}

impl Summary {
    /// A model's summary that was written before, and is used again. What is carried beside it is made anew.
    pub(crate) fn known(text: String, service: &Service) -> Self {
        Self {
            text,
            facts: Some(String::new()),
            ledger: Ledger::default(),
            carried: Carried::default(),
            by: service.name.clone(),
            model: service.model.clone(),
            asked: None,
            calls: 0,
            usage: None,
            warnings: Vec::new(),
            fallback: None,
        }
    }
}

/// Why another summariser wrote the summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fallback {
    /// Who was to write it.
    pub from: String,
    /// Why they did not.
    pub reason: String,
}

/// What a model is asked, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Asked {
    /// How the conversation stands in the request.
    pub form: Form,
    /// Why it stands there as text although its own model is asked.
    pub obstacle: Option<Obstacle>,
    /// What the request counts.
    pub input: Tokens,
    /// The most that the answer may take.
    pub max_output: Tokens,
    /// What had to be left out of the request.
    pub left_out: Shrunk,
}

impl Asked {
    pub(crate) fn of(request: &compact::SummaryRequest) -> Self {
        let compact::SummaryRequest { form, obstacle, input, output, shrunk, .. } = request;
        Self { form: *form, obstacle: *obstacle, input: *input, max_output: *output, left_out: *shrunk }
    }
}

/// A compaction was cancelled: everything is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the compaction was cancelled; nothing was changed")]
pub struct Aborted;

/// Makes the request that a service would be sent first, without sending it; `None` if it asks no model.
///
/// # Errors
/// [`RequestError`] if nothing can be asked: the summary would then be an extract.
pub fn request(service: &Service, job: &Job<'_>) -> Option<Result<compact::SummaryRequest, RequestError>> {
    let asking = Asking::of(service, job)?;
    Some(asking.request(job, None))
}

/// Has a summary written: by a summariser if it can, and otherwise by the embedded one. Nothing is changed by it.
///
/// A model's answer is taken only if it is [accepted](plimsoll::compact::accept). One that is not is asked for once more,
/// with the reason; then, and when the service fails, the extract stands in, and the summary says why. Where the service
/// says that the request was too long for it, it is asked once more with as much less; likewise where it says how much it
/// writes at most, or how the limit of the answer is called.
///
/// # Errors
/// [`Aborted`] if it was cancelled, and never anything else: there is always a summary.
pub async fn summarise(
    summariser: &dyn Summariser,
    job: &Job<'_>,
    cancel: &Cancel,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Summary, Aborted> {
    let service = summariser.service();
    let mut account = Account::default();
    let Some(mut asking) = Asking::of(service, job) else {
        let request = SummaryRequest { job, prompt: None, cancel, progress };
        return match call(summariser, request, cancel).await {
            Ok(answer) => Ok(own(service, answer)),
            Err(SummariserError::Cancelled) => Err(Aborted),
            Err(error) => Ok(account.fall_back(job, service, error.to_string(), progress)),
        };
    };
    let (mut retry, mut learnt) = (None, Learnt::default());
    loop {
        let prompt = match asking.request(job, retry.as_ref()) {
            Ok(prompt) => prompt,
            Err(error) => {
                let reason = SummariserError::Request { service: service.name.clone(), reason: error.to_string() };
                return Ok(account.fall_back(job, service, reason.to_string(), progress));
            }
        };
        account.asked = Some(Asked::of(&prompt));
        account.calls += 1;
        progress(Progress::Asking { service: service.name.clone(), input: prompt.input });
        let request = SummaryRequest { job, prompt: Some(&prompt), cancel, progress };
        let reason = match call(summariser, request, cancel).await {
            Ok(answer) => {
                account.add(answer.usage);
                match asking.job.accept(&answer.judged()) {
                    Verdict::Accepted(accepted) => return Ok(account.take(job, &asking, service, answer, accepted)),
                    Verdict::Rejected(reason) => reason,
                }
            }
            Err(SummariserError::Cancelled) => return Err(Aborted),
            Err(error) => {
                account.add(error.usage());
                if asking.learn(&error, &prompt, &mut learnt) {
                    progress(Progress::Rejected { reason: error.to_string() });
                    continue;
                }
                match reason_of(&error) {
                    Some(reason) => reason,
                    None => return Ok(account.fall_back(job, service, error.to_string(), progress)),
                }
            }
        };
        if let Some(first) = retry {
            let reason = if first == reason {
                format!("{reason}, twice")
            } else {
                format!("{reason} (at the second try; at the first: {first})")
            };
            return Ok(account.fall_back(job, service, reason, progress));
        }
        progress(Progress::Rejected { reason: reason.to_string() });
        retry = Some(reason);
    }
}

/// What has been spent so far.
#[derive(Default)]
struct Account {
    asked: Option<Asked>,
    calls: u32,
    usage: Option<Usage>,
}

impl Account {
    fn add(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        let sum = self.usage.get_or_insert_default();
        sum.input += usage.input;
        sum.cache_read += usage.cache_read;
        sum.cache_write += usage.cache_write;
        sum.output += usage.output;
    }

    fn take(
        self,
        job: &Job<'_>,
        asking: &Asking<'_>,
        service: &Service,
        answer: Answer,
        accepted: compact::Accepted,
    ) -> Summary {
        let ledger = asking.job.carried(job.recall());
        Summary {
            text: accepted.summary,
            facts: Some(ledger.render(job.recall)),
            carried: asking.job.carried_counts(job.recall()),
            ledger,
            by: service.name.clone(),
            model: answer.model.or_else(|| service.model.clone()),
            asked: self.asked,
            calls: self.calls,
            usage: self.usage,
            warnings: accepted.warnings.iter().map(ToString::to_string).collect(),
            fallback: None,
        }
    }

    fn fall_back(
        self,
        job: &Job<'_>,
        service: &Service,
        reason: String,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Summary {
        progress(Progress::FallingBack { reason: reason.clone() });
        let extract = of_job(job);
        Summary {
            text: extract.summary,
            facts: None,
            ledger: extract.ledger,
            carried: extract.carried,
            by: "extract".to_owned(),
            model: None,
            asked: self.asked,
            calls: self.calls,
            usage: self.usage,
            warnings: Vec::new(),
            fallback: Some(Fallback { from: service.name.clone(), reason }),
        }
    }
}

/// The summary of a service that asks no model: it holds its facts itself.
fn own(service: &Service, answer: Answer) -> Summary {
    let ledger = Ledger::parse(&answer.text);
    Summary {
        carried: Carried::of(&ledger),
        ledger,
        text: answer.text,
        facts: None,
        by: service.name.clone(),
        model: answer.model,
        asked: None,
        calls: 0,
        usage: answer.usage,
        warnings: Vec::new(),
        fallback: None,
    }
}

/// Why an answer cannot be a summary, where a service said so itself.
fn reason_of(error: &SummariserError) -> Option<Reason> {
    Some(match error {
        SummariserError::Length { .. } => Reason::Length,
        SummariserError::ToolCall { .. } => Reason::ToolCall,
        SummariserError::Declined { .. } => Reason::Refused,
        SummariserError::Empty { .. } => Reason::Empty,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
