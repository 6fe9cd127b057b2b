//! `Asking`: a model that is asked for a summary, and what is learnt of it from its refusals.

use plimsoll::Tokens;
use plimsoll::budget::{Count as _, Counting};
use plimsoll::compact::{self, Reason, RequestError, SummaryJob};
use plimsoll::model::DEFAULT_LIMIT;
use plimsoll::wire::OverflowKind;

use super::Job;
use crate::summarise::{Service, SummariserError};

/// What a service's refusals have taught: each is heeded once.
#[derive(Default)]
pub(super) struct Learnt {
    window: bool,
    output: bool,
    name: bool,
}

/// A model that is asked, and what it is asked.
pub(super) struct Asking<'a> {
    pub(super) job: SummaryJob<'a>,
    api: compact::Api,
    model: &'a str,
    window: Tokens,
    max_output: Option<Tokens>,
    /// How the limit of the answer is called there, where the service said so.
    output_name: Option<&'static str>,
    continues: bool,
    counting: Counting,
}

impl<'a> Asking<'a> {
    pub(super) fn of(service: &'a Service, job: &Job<'a>) -> Option<Self> {
        let (api, model) = service.api.zip(service.model.as_deref())?;
        Some(Self {
            job: SummaryJob::new(job.document, job.plan, job.profile, job.instructions, job.count),
            api,
            model,
            window: service.window.unwrap_or(DEFAULT_LIMIT),
            max_output: service.max_output,
            output_name: None,
            continues: service.continues,
            counting: Counting::for_model(Some(model)),
        })
    }

    pub(super) fn request(
        &self,
        job: &Job<'_>,
        retry: Option<&Reason>,
    ) -> Result<compact::SummaryRequest, RequestError> {
        let to = compact::Summariser {
            api: self.api,
            model: self.model,
            window: self.window,
            max_output: self.max_output,
            carries_conversation: self.continues,
            stream: true,
        };
        let mut request = self.job.request(job.measure, &to, retry, &|text| self.counting.text(text))?;
        if let Some(name) = self.output_name {
            request.name_output(name);
        }
        Ok(request)
    }

    /// Learns from a refusal what to ask otherwise; says whether it is worth asking again.
    pub(super) fn learn(
        &mut self,
        error: &SummariserError,
        sent: &compact::SummaryRequest,
        learnt: &mut Learnt,
    ) -> bool {
        match error {
            SummariserError::Overflow { .. } => {
                !std::mem::replace(&mut learnt.window, true) && self.shorten(error, sent)
            }
            SummariserError::OutputLimit { limit, .. } => {
                self.max_output = Some(*limit);
                !std::mem::replace(&mut learnt.output, true) && *limit < sent.output
            }
            SummariserError::OutputName { name, .. } => {
                self.output_name = Some(name);
                !std::mem::replace(&mut learnt.name, true)
            }
            _ => false,
        }
    }

    /// Learns from an answer that a request was too long: how much the model really takes, by our own count.
    fn shorten(&mut self, error: &SummariserError, sent: &compact::SummaryRequest) -> bool {
        let SummariserError::Overflow { overflow, .. } = error else { return false };
        if overflow.kind != OverflowKind::Tokens {
            return false;
        }
        let ours = sent.input + sent.output;
        // The server counts otherwise than we do: its limit is brought to our measure by how much it was off.
        let window = match (overflow.tokens, overflow.limit) {
            (Some(theirs), Some(limit)) if theirs > limit => {
                let whole = if theirs >= sent.input + sent.output { ours } else { sent.input };
                Tokens(scaled(limit.0, whole.0, theirs.0))
            }
            (_, Some(limit)) => limit.min(Tokens(ours.0 / 2)),
            (_, None) => Tokens(ours.0 / 2),
        };
        // Less than it says, since what is left out is chosen by estimates; and never more than before.
        self.window = Tokens(window.0 / 10 * 9).min(Tokens(self.window.0.saturating_sub(1)));
        true
    }
}

fn scaled(number: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(number) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX).min(number)
}
