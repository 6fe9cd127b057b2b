//! `call`: one call of a summariser, which may be cancelled, and may panic: it takes nothing with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use super::cancel::until;
use super::{Answer, Cancel, Summariser, SummariserError, SummaryRequest};

/// Calls a summariser, and leaves it where the call is cancelled.
pub(super) async fn call(
    summariser: &dyn Summariser,
    request: SummaryRequest<'_>,
    cancel: &Cancel,
) -> Result<Answer, SummariserError> {
    if cancel.is_cancelled() {
        return Err(SummariserError::Cancelled);
    }
    // It may panic when it is asked, or while it is waited for.
    let asked = caught(async { summariser.summarise(request).await });
    match until(cancel, asked).await {
        None => Err(SummariserError::Cancelled),
        Some(None) => Err(SummariserError::Panicked { service: summariser.service().name.clone() }),
        Some(Some(answer)) => answer,
    }
}

/// Runs a future that others wrote. `None` if it panicked; it is not polled again.
async fn caught<F: Future>(future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        // What it leaves half done is its own, and is dropped with it.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}
