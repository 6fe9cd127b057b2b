//! The calls of a session for asynchronous hosts. What may block runs on a thread for blocking work; a summary is
//! awaited without one.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use plimsoll::Tokens;
use plimsoll::wire::{Format, Overflow};

use super::flow::Late;
use super::see::Seen;
use super::{
    Begun, ByHand, Manual, OverflowError, Prepared, ROUNDS, Reason, Request, RequestReport, Session, Turn, Waiting,
};
use crate::summarise::OwnModel;

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
    /// Says of the bytes of the last message whether the client asks for a compaction of its own with it.
    pub own_compaction: Option<fn(&[u8], Format) -> bool>,
    /// Writes the summary, if one is made because of this request, instead of the options' summariser.
    pub own_model: Option<Arc<dyn OwnModel>>,
    /// A larger context window than the model's usual one, where the client opted into it beside the body.
    pub window: Option<Tokens>,
}

impl<B: AsRef<[u8]>> OwnedRequest<B> {
    /// Makes a request.
    pub const fn new(body: B, format: Format) -> Self {
        Self { body, format, recaller: None, replay_only: false, own_compaction: None, own_model: None, window: None }
    }

    fn request(&self) -> Request<'_> {
        Request {
            body: self.body.as_ref(),
            format: self.format,
            recaller: self.recaller,
            replay_only: self.replay_only,
            own_compaction: self.own_compaction,
            own_model: self.own_model.as_ref(),
            window: self.window,
        }
    }
}

/// What came of a first look.
enum Glanced<'b> {
    /// The request may go out.
    Ready(Box<Prepared<'b>>),
    /// It is seen what the request is; what follows may take time.
    Seen(Box<Seen>),
    /// It has to be read.
    Nothing,
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
        let mut glanced = match self.glance(&request.request()) {
            Glanced::Ready(prepared) => return *prepared,
            Glanced::Seen(seen) => Some(seen),
            Glanced::Nothing => None,
        };
        for round in 0..=ROUNDS + 1 {
            let (inner, owned, seen) = (Arc::clone(&self.inner), request.clone(), glanced.take());
            let step = move || match seen {
                Some(seen) => Stepped::of(inner.proceed(&owned.request(), *seen, late)),
                None => Stepped::of(inner.attempt(&owned.request(), late)),
            };
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

    /// Looks at a request on the thread of whoever asks, as far as that takes no time: most requests are of a known
    /// history, a turn longer, and far from any threshold. A thread for blocking work would take longer to be woken.
    fn glance<'b>(&self, request: &Request<'b>) -> Glanced<'b> {
        let glance = || match self.inner.glance(request) {
            None => Glanced::Nothing,
            Some(seen) if !self.inner.may_block(request, &seen) => {
                match self.inner.proceed(request, seen, Late::No) {
                    Begun::Ready(prepared) => Glanced::Ready(prepared),
                    // Nothing is waited for below the thresholds; if it were, it would be begun again.
                    Begun::Waits(_) => Glanced::Nothing,
                }
            }
            Some(seen) => Glanced::Seen(Box::new(seen)),
        };
        // What a thread of its own would catch is caught here too.
        catch_unwind(AssertUnwindSafe(glance))
            .unwrap_or_else(|_| Glanced::Ready(Box::new(self.inner.pass(request, Reason::Fault))))
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
        let (inner, owned, manual) = (Arc::clone(&self.inner), request.clone(), manual.clone());
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
