//! The calls of a session for asynchronous hosts. What may block runs on a thread for blocking work; a summary is
//! awaited without one.

use std::borrow::Cow;

use plimsoll::wire::{Format, Overflow};

use super::flow::Late;
use super::{
    Begun, ByHand, Manual, OverflowError, Prepared, ROUNDS, Reason, Request, RequestReport, Session, Turn, Waiting,
};

/// A request as it is handed over to another thread.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OwnedRequest<B> {
    /// Its body: cheap to clone, such as `bytes::Bytes` or `Arc<[u8]>`.
    pub body: B,
    /// Its format.
    pub format: Format,
    /// Who can recall, where it is not as the session's options say.
    pub recaller: Option<super::Recaller>,
    /// Replays what was decided and decides nothing new.
    pub replay_only: bool,
}

impl<B: AsRef<[u8]>> OwnedRequest<B> {
    /// Makes a request.
    pub const fn new(body: B, format: Format) -> Self {
        Self { body, format, recaller: None, replay_only: false }
    }

    fn request(&self) -> Request<'_> {
        Request {
            body: self.body.as_ref(),
            format: self.format,
            recaller: self.recaller,
            replay_only: self.replay_only,
        }
    }
}

/// What came of one step, free of the body.
enum Stepped {
    Ready(Option<Vec<u8>>, Box<RequestReport>, Turn),
    Waits(Waiting),
}

impl Stepped {
    fn of(begun: Begun<'_>) -> Self {
        match begun {
            Begun::Waits(waiting) => Self::Waits(waiting),
            Begun::Ready(prepared) => {
                let Prepared { bytes, report, turn } = *prepared;
                let edited = match bytes {
                    Cow::Owned(bytes) => Some(bytes),
                    Cow::Borrowed(_) => None,
                };
                Self::Ready(edited, Box::new(report), turn)
            }
        }
    }
}

impl Session {
    /// Does what [`prepare`](Session::prepare) does, for an asynchronous host.
    ///
    /// Dropping the future leaves everything as it is; a summary that was begun is finished for the next request.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// use std::sync::Arc;
    /// use plimsoll::{id::SessionId, wire::Format};
    /// use plimsoll_engine::session::{OwnedRequest, Session};
    /// use plimsoll_store::Store;
    ///
    /// let session = Session::new(SessionId::new("s1"), Store::memory());
    /// let body: Arc<[u8]> = Arc::from(&br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#[..]);
    /// let request = OwnedRequest::new(body, Format::OpenaiChat);
    /// let prepared = session.prepare_async(&request).await;
    /// assert_eq!(prepared.bytes.as_ref(), request.body.as_ref());
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn prepare_async<'b, B>(&self, request: &'b OwnedRequest<B>) -> Prepared<'b>
    where
        B: AsRef<[u8]> + Clone + Send + Sync + 'static,
    {
        let mut late = Late::No;
        for round in 0..=ROUNDS + 1 {
            let (inner, owned) = (std::sync::Arc::clone(&self.inner), request.clone());
            let step = move || Stepped::of(inner.attempt(&owned.request(), late));
            match tokio::task::spawn_blocking(step).await {
                Ok(Stepped::Ready(edited, report, turn)) => return prepared(request, edited, *report, turn),
                Ok(Stepped::Waits(waiting)) => {
                    if !wait(waiting).await || round >= ROUNDS {
                        late = Late::Yes;
                    }
                }
                Err(_) => return self.inner.pass(&request.request(), Reason::Fault),
            }
        }
        self.inner.pass(&request.request(), Reason::SummaryLate)
    }

    /// Does what [`after_overflow`](Session::after_overflow) does, for an asynchronous host.
    ///
    /// # Errors
    /// As [`after_overflow`](Session::after_overflow).
    pub async fn after_overflow_async<'b, B>(
        &self,
        turn: &Turn,
        request: &'b OwnedRequest<B>,
        overflow: &Overflow,
    ) -> Result<Prepared<'b>, OverflowError>
    where
        B: AsRef<[u8]> + Clone + Send + Sync + 'static,
    {
        let mut late = false;
        for round in 0..=ROUNDS + 1 {
            let (session, owned, turn, overflow) = (self.clone(), request.clone(), turn.clone(), *overflow);
            let step = move || session.begin_recovery(&turn, &owned.request(), &overflow, late).map(Stepped::of);
            match tokio::task::spawn_blocking(step).await {
                Ok(Ok(Stepped::Ready(edited, report, turn))) => return Ok(prepared(request, edited, *report, turn)),
                Ok(Ok(Stepped::Waits(waiting))) => late = !wait(waiting).await || round >= ROUNDS,
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(OverflowError::NotCompacted(Reason::Fault)),
            }
        }
        Err(OverflowError::NotCompacted(Reason::SummaryLate))
    }

    /// Does what [`compact`](Session::compact) does, for an asynchronous host. Dropping the future does not end it;
    /// [`Manual::cancel`] does.
    pub async fn compact_async<B>(&self, request: &OwnedRequest<B>, manual: &Manual) -> ByHand
    where
        B: AsRef<[u8]> + Clone + Send + Sync + 'static,
    {
        let (inner, owned, manual) = (std::sync::Arc::clone(&self.inner), request.clone(), manual.clone());
        let done = tokio::task::spawn_blocking(move || inner.by_hand(&owned.request(), &manual)).await;
        done.unwrap_or(ByHand::Left(Reason::Fault))
    }
}

async fn wait(waiting: Waiting) -> bool {
    tokio::time::timeout(waiting.patience(), waiting).await.is_ok()
}

fn prepared<B: AsRef<[u8]>>(
    request: &OwnedRequest<B>,
    edited: Option<Vec<u8>>,
    report: RequestReport,
    turn: Turn,
) -> Prepared<'_> {
    let bytes = edited.map_or_else(|| Cow::Borrowed(request.body.as_ref()), Cow::Owned);
    Prepared { bytes, report, turn }
}
