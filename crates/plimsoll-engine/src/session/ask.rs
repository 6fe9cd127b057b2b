//! Asking for a summary: once, once more with the reason if it is rejected, and then the extract.

use plimsoll::compact::{self, FRAME_BOUND, Request, SummaryJob, Verdict};
use plimsoll::transcript::Usage;

use crate::summarise::{
    Aborted, Cancel, Fallback, Job, Prompt, Summariser, SummariserError, Summary, SummaryRequest,
};

/// Gets a summary by whatever way there is.
pub(super) async fn write(summariser: &dyn Summariser, job: &Job<'_>, cancel: &Cancel) -> Result<Summary, Aborted> {
    let service = summariser.service();
    if service.format.is_none() && service.model.is_none() && service.name == "extract" {
        return Ok(extract_of(job));
    }
    let mut reason = String::new();
    let (mut calls, mut usage) = (0, Usage::default());
    for _ in 0..2 {
        let request = SummaryRequest::new(job, Prompt::Nothing, cancel);
        calls += 1;
        match summariser.summarise(request).await {
            Err(SummariserError::Cancelled) => return Err(Aborted),
            Err(error) => {
                reason = error.to_string();
                break;
            }
            Ok(answer) => {
                if let Some(used) = answer.usage {
                    usage.input += used.input;
                    usage.output += used.output;
                }
                let text = answer.text;
                match judge(job, &text) {
                    Ok(mut summary) => {
                        summary.by.clone_from(&service.name);
                        summary.model = answer.model;
                        (summary.calls, summary.usage) = (calls, usage);
                        return Ok(summary);
                    }
                    Err(why) => reason = why,
                }
            }
        }
    }
    let fallback = Some(Fallback { from: service.name.clone(), reason });
    Ok(Summary { calls, usage, fallback, ..extract_of(job) })
}

fn judge(job: &Job<'_>, text: &str) -> Result<Summary, String> {
    let count = |text: &str| (job.count)(text);
    let rounds = SummaryJob::new(job.document, job.plan, job.profile, job.instructions, &count);
    match rounds.accept(&compact::Answer::finished(text)) {
        Verdict::Accepted(accepted) => {
            let recall = Some(job.recall).filter(|recall| !recall.is_empty());
            let ledger = rounds.carried(recall);
            Ok(Summary {
                text: accepted.summary,
                facts: Some(ledger.render(job.recall)),
                carried: rounds.carried_counts(recall),
                ledger,
                by: String::new(),
                model: None,
                calls: 0,
                usage: Usage::default(),
                warnings: accepted.warnings.iter().map(ToString::to_string).collect(),
                fallback: None,
            })
        }
        Verdict::Rejected(reason) => Err(reason.to_string()),
    }
}

/// The extract of what a job removes.
pub(super) fn extract_of(job: &Job<'_>) -> Summary {
    let request = Request {
        budget: job.plan.continuation_budget - FRAME_BOUND,
        ledger: job.plan.ledger_budget,
        count: &|text| (job.count)(text),
        recall: job.recall,
        splits_turn: job.plan.splits_turn,
        profile: job.profile,
        instructions: job.instructions,
    };
    let extract = compact::extract(job.document.transcript(), job.plan.removed.clone(), &request);
    Summary {
        text: extract.summary,
        facts: None,
        ledger: extract.ledger,
        carried: extract.carried,
        by: "extract".to_owned(),
        model: None,
        calls: 0,
        usage: Usage::default(),
        warnings: Vec::new(),
        fallback: None,
    }
}
