//! Summarisers: whoever writes the summary of what leaves a conversation, behind one small interface.
//!
//! A [`Summariser`] is asked once and answers once, or says which way it failed. [`summarise`] is the driver around it:
//! it makes the request, judges the answer, asks a second time with the reason where the first answer is no summary, and
//! takes the [`Extract`] where a model does not deliver. Nothing here changes a document or a store.

mod answer;
mod call;
mod cancel;
mod choice;
mod drive;
mod error;
mod extract;
#[cfg(feature = "http")]
mod http;
mod own;
#[cfg(test)]
pub(crate) mod sample;

pub use answer::{Answer, Progress, Service};
pub use cancel::{Cancel, Cancelled};
pub use choice::{Choice, UnknownSummariser};
pub use drive::{Aborted, Asked, Fallback, Job, Summary, request, summarise};
pub use error::{SummariserError, Waited};
pub use extract::Extract;
#[cfg(feature = "http")]
pub use http::{Key, Pace, Patience, Remote, SystemPace, http_date, variable};
pub use own::{OwnConversation, OwnModel};
pub use plimsoll::wire::Stop;

use std::fmt;
use std::pin::Pin;

/// A future that can be kept in a struct and sent to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Writes the summary of the part of a conversation that a plan removes.
///
/// A summariser only answers: it decides nothing about its answer, stores nothing and changes nothing. Dropping the
/// future, or [`SummaryRequest::cancel`], ends the call; an answer that comes later is nobody's.
///
/// ```
/// use plimsoll_engine::summarise::{Answer, BoxFuture, Service, Summariser, SummariserError, SummaryRequest};
///
/// #[derive(Debug)]
/// struct Parrot(Service);
///
/// impl Summariser for Parrot {
///     fn service(&self) -> &Service {
///         &self.0
///     }
///
///     fn summarise<'a>(&'a self, _: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
///         Box::pin(async { Ok(Answer::ended("<summary>…</summary>")) })
///     }
/// }
///
/// let parrot: Box<dyn Summariser> = Box::new(Parrot(Service::named("parrot")));
/// assert_eq!(parrot.service().name, "parrot");
/// ```
pub trait Summariser: fmt::Debug + Send + Sync {
    /// Says who answers, in which format it is asked, and what it can take.
    fn service(&self) -> &Service;

    /// Asks for one summary.
    ///
    /// # Errors
    /// [`SummariserError`], one variant for each way in which it can fail. Retries of what may pass by itself (a limit
    /// on requests, a server that is down) have been made by then.
    fn summarise<'a>(&'a self, request: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>>;
}

/// What a summariser is asked.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SummaryRequest<'a> {
    /// What the summary is of, for summarisers that read it themselves.
    pub job: &'a Job<'a>,
    /// What is put to a model: it has been counted, and fits its window. `None` where the service asks no model.
    pub prompt: Option<&'a plimsoll::compact::SummaryRequest>,
    /// Ends the call.
    pub cancel: &'a Cancel,
    /// Is told how far the call is.
    pub progress: &'a (dyn Fn(Progress) + Send + Sync),
}

impl<'a> SummaryRequest<'a> {
    /// Makes a request that nobody watches.
    pub fn new(job: &'a Job<'a>, prompt: Option<&'a plimsoll::compact::SummaryRequest>, cancel: &'a Cancel) -> Self {
        Self { job, prompt, cancel, progress: &|_| {} }
    }
}

impl fmt::Debug for SummaryRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is asked holds the conversation: it is not for logs.
        let bytes = self.prompt.map_or(0, |prompt| prompt.body.len());
        f.debug_struct("SummaryRequest").field("bytes", &bytes).finish_non_exhaustive()
    }
}
