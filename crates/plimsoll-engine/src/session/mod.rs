//! Sessions: every request of a conversation goes through one on its way out, and comes back inside the window.
//!
//! A [`Session`] is given the body of each request before it is sent, and told what came of it. It finds out what of the
//! body is new, repeats what was decided before, caps new tool results, measures, and compacts where that is due. What
//! it gives back is to be sent; where nothing is to be done, that is the body itself.
//!
//! ```
//! use plimsoll::{Tokens, id::SessionId, transcript::Usage, wire::Format};
//! use plimsoll_engine::session::Session;
//! use plimsoll_store::Store;
//!
//! # fn send(bytes: &[u8]) -> Usage { Usage { input: Tokens(bytes.len() as u64 / 4), ..Usage::default() } }
//! # let body = br#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}"#;
//! let session = Session::new(SessionId::new("s1"), Store::memory());
//! let prepared = session.before_request(body, Format::Anthropic);
//! let usage = send(&prepared.bytes);
//! session.after_response(&prepared.turn, usage);
//! # assert_eq!(prepared.bytes.as_ref(), body);
//! ```
//!
//! That is all: with `memory:` as the store and the embedded summariser `extract` nothing else is needed. If the model
//! answers that the request is too long, [`Session::after_overflow`] gives a shorter one, once.
//!
//! # What is kept where
//!
//! The client sends its whole history with every request, as it came; the session never changes what the client has.
//! What was decided about a history is found by the chain hash of its messages, so an edited or rewound history does not
//! match and goes out as it came. Histories, counts and epochs are kept in memory; epochs and capped texts are durable
//! in the store before they are used, so that a restart forgets nothing, and of several processes that decide at once
//! the first one's word holds for all.
//!
//! Every call can be made from any thread. [`Session`] is cheap to clone. The calls block: they read and write the
//! store now and then, and [`Session::before_request`] waits for a summary where the context is full.
//! [`Session::begin`] does not wait, and with the feature `tokio` there are calls for asynchronous hosts.

mod adopt;
mod claim;
mod consider;
mod envelope;
mod flow;
mod history;
mod learned;
mod limits;
mod make;
mod options;
mod plan;
mod reduce;
mod report;
mod results;
mod see;
mod spawn;
mod state;
mod work;

#[cfg(feature = "tokio")]
mod asynchronous;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll::Tokens;
use plimsoll::id::SessionId;
use plimsoll::transcript::Usage;
use plimsoll::wire::{Format, Overflow};
use plimsoll_store::Store;

use crate::event::Event;
use flow::Late;
use history::Anchor;
pub use options::{Lookup, Recaller, SessionOptions};
pub use report::{
    Begun, ByHand, CompactionReport, Heard, Manual, OverflowError, Prefix, Prepared, Reason, Request, RequestReport,
    Turn,
};
pub use spawn::{Spawn, Threads};
use state::State;
pub use work::Waiting;
#[cfg(feature = "tokio")]
pub use {asynchronous::OwnedRequest, spawn::Tokio};

/// How often a request waits for another summary before it takes what there is.
const ROUNDS: usize = 3;

/// The conversations of one namespace, kept inside the window of their model. See the [module](self).
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    id: SessionId,
    store: Store,
    options: Arc<SessionOptions>,
    state: Mutex<State>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.inner.id)
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Opens a session with the default options: `extract` as the summariser, the model's limits as the catalogue has
    /// them. Nothing is read or written yet.
    pub fn new(id: SessionId, store: Store) -> Self {
        Self::with_options(id, store, SessionOptions::default())
    }

    /// Opens a session. Nothing is read or written yet.
    ///
    /// ```
    /// use plimsoll::{Tokens, budget::Capacity, id::SessionId};
    /// use plimsoll_engine::session::{Recaller, Session, SessionOptions};
    /// use plimsoll_store::Store;
    ///
    /// let capacity = Capacity { context_window: Some(Tokens(32_768)), ..Capacity::default() };
    /// let options = SessionOptions::default().with_capacity(capacity).with_recaller(Recaller::Always);
    /// let session = Session::with_options(SessionId::new("s1"), Store::memory(), options);
    /// # drop(session);
    /// ```
    pub fn with_options(id: SessionId, store: Store, options: SessionOptions) -> Self {
        let inner = Inner { id, store, options: Arc::new(options), state: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.inner.id
    }

    /// Its options.
    pub fn options(&self) -> &SessionOptions {
        &self.inner.options
    }

    /// Makes a request ready to go out. Never fails: what is not understood goes as it came, and the report says why.
    ///
    /// It waits for a summary where the context is full: no longer than the options' patience.
    ///
    /// ```
    /// use plimsoll::{id::SessionId, wire::Format};
    /// use plimsoll_engine::session::{Prefix, Session};
    /// use plimsoll_store::Store;
    ///
    /// let session = Session::new(SessionId::new("s1"), Store::memory());
    /// let first = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;
    /// let next = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},{"role":"user","content":"Bye"}]}"#;
    /// assert_eq!(session.before_request(first, Format::OpenaiChat).report.prefix, Prefix::New);
    /// assert_eq!(session.before_request(next, Format::OpenaiChat).report.prefix, Prefix::Extends);
    /// ```
    #[doc(alias = "prepare")]
    pub fn before_request<'b>(&self, body: &'b [u8], format: Format) -> Prepared<'b> {
        self.prepare(&Request::new(body, format))
    }

    /// Does what [`before_request`](Self::before_request) does, for a request about which more is known.
    pub fn prepare<'b>(&self, request: &Request<'b>) -> Prepared<'b> {
        let mut late = Late::No;
        for round in 0.. {
            match self.inner.attempt(request, late) {
                Begun::Ready(prepared) => return *prepared,
                Begun::Waits(waiting) if !waiting.wait() || round >= ROUNDS => late = Late::Yes,
                Begun::Waits(_) => {}
            }
        }
        self.inner.pass(request, Reason::SummaryLate)
    }

    /// Begins what [`prepare`](Self::prepare) does, and comes back instead of waiting for a summary.
    ///
    /// After [`Begun::Waits`] the same request is given again once the summary is there; what was read of it is not
    /// read again. If it was waited for as long as is reasonable, [`begin_late`](Self::begin_late) never waits.
    pub fn begin<'b>(&self, request: &Request<'b>) -> Begun<'b> {
        self.inner.attempt(request, Late::No)
    }

    /// Does what [`begin`](Self::begin) does for a request that has waited long enough: an extract takes the place of a
    /// summary that is not there.
    pub fn begin_late<'b>(&self, request: &Request<'b>) -> Prepared<'b> {
        match self.inner.attempt(request, Late::Yes) {
            Begun::Ready(prepared) => *prepared,
            Begun::Waits(_) => self.inner.pass(request, Reason::SummaryLate),
        }
    }

    /// Takes what a response reported: from then on this history is measured from there.
    ///
    /// ```
    /// use plimsoll::{Tokens, id::SessionId, transcript::Usage, wire::Format};
    /// use plimsoll_engine::session::{Heard, Session};
    /// use plimsoll_store::Store;
    ///
    /// let session = Session::new(SessionId::new("s1"), Store::memory());
    /// let body = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;
    /// let prepared = session.before_request(body, Format::OpenaiChat);
    /// let usage = Usage { input: Tokens(11), ..Usage::default() };
    /// assert_eq!(session.after_response(&prepared.turn, usage), Heard::Anchored);
    /// assert_eq!(session.before_request(body, Format::OpenaiChat).report.tokens_after, Tokens(11));
    /// ```
    pub fn after_response(&self, turn: &Turn, usage: Usage) -> Heard {
        let reported = usage.context();
        let Some(at) = turn.at.as_ref().filter(|_| reported > Tokens::ZERO && !turn.shadowed) else {
            return Heard::Nothing;
        };
        // A count errs high by a third or so; a server that took less than half has dropped the rest.
        if Tokens(reported.0.saturating_mul(2)) < turn.counted {
            let counted = turn.counted;
            (self.inner.options.watch)(&Event::Truncated { counted, reported });
            return Heard::Truncated { counted, reported };
        }
        let anchor = Anchor { messages: at.messages, tokens: reported };
        let of = self.inner.state().at_or_after(at);
        let mut heard = Heard::Nothing;
        if let Some(history) = of.first() {
            // What was taken cannot be more than the window: it is a sum over several calls, say.
            let known = self.inner.static_thresholds(&history.envelope);
            if reported > known.budget + known.reserve {
                return Heard::Nothing;
            }
            self.inner.unlearn(&history.envelope.limited(), reported);
        }
        for history in of {
            if history.set_anchor(anchor) {
                heard = Heard::Anchored;
            }
        }
        heard
    }

    /// Makes a request ready to go out again that was too long for the model: compacts once. It waits for the summary.
    ///
    /// What the answer says of the model's limit is remembered.
    ///
    /// # Errors
    /// [`OverflowError`] if it is not to be sent again: the answer is the client's then, as it came.
    pub fn after_overflow<'b>(
        &self,
        turn: &Turn,
        request: &Request<'b>,
        overflow: &Overflow,
    ) -> Result<Prepared<'b>, OverflowError> {
        let mut late = Late::No;
        for round in 0.. {
            match self.begin_recovery(turn, request, overflow, late == Late::Yes)? {
                Begun::Ready(prepared) => return Ok(*prepared),
                Begun::Waits(waiting) if !waiting.wait() || round >= ROUNDS => late = Late::Yes,
                Begun::Waits(_) => {}
            }
        }
        Err(OverflowError::NotCompacted(Reason::SummaryLate))
    }

    /// Begins what [`after_overflow`](Self::after_overflow) does, and comes back instead of waiting for a summary; `late`
    /// says that it was waited for long enough.
    ///
    /// # Errors
    /// As [`after_overflow`](Self::after_overflow).
    pub fn begin_recovery<'b>(
        &self,
        turn: &Turn,
        request: &Request<'b>,
        overflow: &Overflow,
        late: bool,
    ) -> Result<Begun<'b>, OverflowError> {
        let late = if late { Late::Yes } else { Late::No };
        let begun = self.inner.recover(turn, request, overflow, late);
        match &begun {
            Ok(Begun::Waits(_)) => {}
            other => (self.inner.options.watch)(&Event::Overflow { recovered: other.is_ok() }),
        }
        begun
    }

    /// Notes that a request was too long whose error the client has already got, since it came late in the answer: the next one
    /// of this history is compacted first. [`begin_recovery`](Self::begin_recovery) is for errors that it has not got.
    pub fn note_overflow(&self, turn: &Turn, overflow: &Overflow) {
        self.inner.learn_late(turn, overflow);
        (self.inner.options.watch)(&Event::Overflow { recovered: false });
    }

    /// Compacts a history by hand. Thresholds and breaker do not matter; the next request of this history goes out under
    /// the new epoch. It waits for the summary, as long as that takes; [`Manual::cancel`] ends it.
    ///
    /// ```
    /// use plimsoll::{id::SessionId, wire::Format};
    /// use plimsoll_engine::session::{ByHand, Manual, Session};
    /// use plimsoll_store::Store;
    ///
    /// let session = Session::new(SessionId::new("s1"), Store::memory());
    /// let body = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;
    /// let done = session.compact(body, Format::OpenaiChat, &Manual::default());
    /// assert!(matches!(done, ByHand::Left(reason) if reason.to_string() == "not enough messages to compact"));
    /// ```
    #[doc(alias = "/compact")]
    pub fn compact(&self, body: &[u8], format: Format, manual: &Manual) -> ByHand {
        self.inner.by_hand(&Request::new(body, format), manual)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, event: &Event) {
        (self.options.watch)(event);
    }
}
