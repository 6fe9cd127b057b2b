//! `Extract`: the summariser that needs no model.

use plimsoll::compact::{FRAME_BOUND, Request, extract};

use super::{Answer, BoxFuture, Job, Service, Summariser, SummariserError, SummaryRequest};

/// Summarises without a model, in milliseconds, offline: [`plimsoll::compact::extract`] behind the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extract(Service);

impl Default for Extract {
    fn default() -> Self {
        Self(Service::named("extract"))
    }
}

impl Summariser for Extract {
    fn service(&self) -> &Service {
        &self.0
    }

    fn summarise<'a>(&'a self, request: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
        let answer = if request.cancel.is_cancelled() {
            Err(SummariserError::Cancelled)
        } else {
            Ok(Answer::ended(of_job(request.job).summary))
        };
        Box::pin(std::future::ready(answer))
    }
}

/// The extract of what a job removes. It takes the whole room of the continuation, since it holds its facts itself.
pub(super) fn of_job(job: &Job<'_>) -> plimsoll::compact::Extract {
    let request = Request {
        budget: job.plan.continuation_budget - FRAME_BOUND,
        ledger: job.plan.ledger_budget,
        count: &|text| (job.count)(text),
        recall: job.recall,
        splits_turn: job.plan.splits_turn,
        profile: job.profile,
        instructions: job.instructions,
    };
    extract(job.document.transcript(), job.plan.removed.clone(), &request)
}
