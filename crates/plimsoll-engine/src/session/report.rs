//! What a session gives back for a request, and what it tells of it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use plimsoll::Tokens;
use plimsoll::budget::{Level, Thresholds};
use plimsoll::compact::{Carried, ChainHash};
use plimsoll::token::Method;
use plimsoll::wire::Format;
use serde::Serialize;

use super::options::Recaller;
use crate::summarise::{Fallback, OwnModel};

/// A request that is about to go out.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Request<'b> {
    /// Its body, decoded.
    pub body: &'b [u8],
    /// Its format.
    pub format: Format,
    /// Who can recall, where it is not as the session's options say.
    pub recaller: Option<Recaller>,
    /// Replays what was decided and decides nothing new: for a client's own compaction request.
    pub replay_only: bool,
    /// Says of the bytes of the last message whether the client asks for a compaction of its own with it; then the request
    /// is one that only replays.
    pub own_compaction: Option<fn(&[u8], Format) -> bool>,
    /// Writes the summary, if one is made because of this request, instead of the options' summariser.
    pub own_model: Option<&'b Arc<dyn OwnModel>>,
    /// A larger context window than the model's usual one, where the client opted into it beside the body: by a header,
    /// say. What the session's options say of the window goes before it.
    pub window: Option<Tokens>,
}

impl<'b> Request<'b> {
    /// Makes a request.
    pub const fn new(body: &'b [u8], format: Format) -> Self {
        Self { body, format, recaller: None, replay_only: false, own_compaction: None, own_model: None, window: None }
    }

    /// Says who can recall.
    #[must_use]
    pub const fn with_recaller(self, recaller: Recaller) -> Self {
        Self { recaller: Some(recaller), ..self }
    }

    /// Lets the conversation's own model write the summary, if one is made because of this request.
    #[must_use]
    pub const fn with_own_model(self, own_model: &'b Arc<dyn OwnModel>) -> Self {
        Self { own_model: Some(own_model), ..self }
    }

    /// Says which context window the client opted into beside the body.
    #[must_use]
    pub const fn with_window(self, window: Tokens) -> Self {
        Self { window: Some(window), ..self }
    }

    /// Lets only what was decided before be replayed.
    #[must_use]
    pub const fn replay_only(self) -> Self {
        Self { replay_only: true, ..self }
    }
}

/// A request, ready to go out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Prepared<'b> {
    /// What to send: the body itself, borrowed, where nothing was changed.
    pub bytes: Cow<'b, [u8]>,
    /// What was done.
    pub report: RequestReport,
    /// What [`after_response`](super::Session::after_response) and
    /// [`after_overflow`](super::Session::after_overflow) are told.
    pub turn: Turn,
}

/// A request that was prepared, or one that has to wait for a summary first.
#[derive(Debug)]
pub enum Begun<'b> {
    /// It may go out.
    Ready(Box<Prepared<'b>>),
    /// The context is full: a summary is being made, and the request is to be given again when it is there. Waiting is
    /// [`Waiting::wait`](super::Waiting::wait) on a thread, or awaiting it.
    Waits(super::Waiting),
}

/// Names a request that was sent, so that what comes of it is told of the right history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub(super) at: Option<At>,
    /// What it counts by the static counter, as it was sent.
    pub(super) counted: Tokens,
    /// What it was believed to take: by the last usage and what came after it, where there is one.
    pub(super) used: Tokens,
    /// Whether it was compacted after an overflow.
    pub(super) replayed: bool,
    /// Whether something else was sent than what was counted.
    pub(super) shadowed: bool,
    /// Whether nothing new was to be decided for it.
    pub(super) replay_only: bool,
}

impl Turn {
    /// Whether nothing new was to be decided for the request: the client asked for a compaction of its own, say.
    pub const fn is_replay_only(&self) -> bool {
        self.replay_only
    }
}

/// A place in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At {
    pub(super) messages: usize,
    pub(super) chain: ChainHash,
    pub(super) epoch: Option<ChainHash>,
}

/// What was done with a request.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct RequestReport {
    /// What the request counts as it came.
    pub tokens_before: Tokens,
    /// What it counts as it goes out: by the last reported usage, where that still holds.
    pub tokens_after: Tokens,
    /// How that was obtained.
    pub method: Method,
    /// The thresholds it was judged by; `None` where it was not understood.
    pub thresholds: Option<Thresholds>,
    /// How full the context is as it goes out.
    pub level: Option<Level>,
    /// The epoch that it goes out under: what `restore` takes.
    pub epoch: Option<String>,
    /// How what is sent relates to what was sent before.
    pub prefix: Prefix,
    /// How many texts of new results were capped.
    pub capped: usize,
    /// The compaction that was put in place with this request.
    pub compaction: Option<CompactionReport>,
    /// Whether a summary is being made while this request goes out.
    pub preparing: bool,
    /// What was not done, or not as it should be, and why.
    pub notes: Vec<Reason>,
    /// What was sent, as a hash over the meaning of its messages: what later requests of this history extend.
    pub sent: Option<ChainHash>,
}

impl RequestReport {
    /// Why the request goes out as it came though something should have been done; `None` if nothing should.
    pub fn bypass(&self) -> Option<&Reason> {
        self.notes.iter().find(|reason| reason.is_bypass())
    }

    /// Why not all was done that should have been: a [`bypass`](Self::bypass), or a compaction that was due and for which the
    /// context is too full now. `None` where nothing is amiss, and where compaction is off because somebody said so.
    pub fn hindrance(&self) -> Option<&Reason> {
        let too_full = self.compaction.is_none() && self.level >= Some(Level::Hard);
        let left = |reason: &&Reason| {
            matches!(
                reason,
                Reason::Stopped(_) | Reason::Infeasible { .. } | Reason::Ineffective { .. } | Reason::Skipped(_)
            )
        };
        self.bypass().or_else(|| self.notes.iter().find(left).filter(|_| too_full))
    }
}

/// How what is sent relates to what was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Prefix {
    /// Nothing of this history was sent by this process before, or the client itself changed it.
    New,
    /// It extends what was sent.
    Extends,
    /// An epoch took the place of its beginning.
    Epoch,
    /// Reasoning that was bound to a prefix that is gone is left out, now that its turn is over.
    Released,
    /// It does not extend what was sent: a decision was lost.
    Broken,
}

/// A compaction that was put in place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CompactionReport {
    /// The epoch: what `restore` takes.
    pub epoch: String,
    /// The recall id of what was removed; `None` if it could not be stored.
    pub artifact: Option<String>,
    /// Whether it is durable. Where it is not, it holds in this process.
    pub durable: bool,
    /// Whether another request or process had decided it first.
    pub adopted: bool,
    /// Who wrote the summary; `reductions` where none was needed.
    pub summarizer: String,
    /// Why it was not written by whom it was asked of.
    pub fallback: Option<Fallback>,
    /// What the conversation counted before.
    pub tokens_before: Tokens,
    /// What it counts afterwards.
    pub tokens_after: Tokens,
    /// How many pieces gave way to a line with their recall id. Where there are any, that was enough, and no summary was
    /// made.
    pub reduced: usize,
    /// How many messages the summary stands for.
    pub removed: usize,
    /// How many stay after it.
    pub kept: usize,
    /// What is carried.
    pub carried: Option<Carried>,
}

/// Why something was not done, or not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason", content = "detail")]
#[non_exhaustive]
pub enum Reason {
    /// The body is not understood: it goes as it came.
    NotUnderstood(String),
    /// Plimsoll itself failed at it: it goes as it came. What failed is not repeated here, since it may hold content.
    Fault,
    /// The history stands on the provider's server: only results are capped.
    ServerHistory,
    /// Automatic compaction is off, and one would be due.
    AutoOff,
    /// Automatic compaction stopped, since it did not help.
    Stopped(String),
    /// No compaction can help.
    Infeasible {
        /// What can never leave.
        irreducible: Tokens,
        /// The most that it and a minimal summary may be together.
        limit: Tokens,
    },
    /// There is nothing to compact, or not yet.
    Skipped(String),
    /// A summary was made, and its result was not worth taking.
    Ineffective {
        /// What the conversation counts.
        before: Tokens,
        /// What it would have counted.
        after: Tokens,
    },
    /// The summary did not come in time: the extract took its place.
    SummaryLate,
    /// The store cannot be used for this: what was done holds in this process only, or was not done.
    Store(String),
    /// A result could not be stored, so what is left out of it is gone for the model; the text says so.
    Unsaved(String),
    /// An epoch cannot be replayed on this history any more.
    NotReplayed(String),
    /// Nothing is to be decided for this request.
    ReplayOnly,
    /// The session only looks on.
    Shadow,
}

impl Reason {
    /// Whether the request goes out as it came though a decision should have changed it.
    pub const fn is_bypass(&self) -> bool {
        matches!(self, Self::NotUnderstood(_) | Self::Fault | Self::NotReplayed(_) | Self::Store(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUnderstood(why) => write!(f, "the body is not understood: {why}"),
            Self::Fault => f.write_str("plimsoll failed at this request; please report it"),
            Self::ServerHistory => f.write_str("the history stands on the provider's server"),
            Self::AutoOff => f.write_str("automatic compaction is off (auto = false)"),
            Self::Stopped(why) | Self::Skipped(why) => f.write_str(why),
            Self::Infeasible { irreducible, limit } => write!(
                f,
                "what cannot be removed is {} tokens, and with a summary it cannot be brought under {}",
                irreducible.0, limit.0
            ),
            Self::Ineffective { before, after } => {
                write!(f, "a compaction would have left {} of {} tokens, too many to be worth it", after.0, before.0)
            }
            Self::SummaryLate => f.write_str("the summary was late, and the extract took its place"),
            Self::Store(why) => write!(f, "the store cannot be used: {why}"),
            Self::Unsaved(why) => write!(f, "a result could not be stored: {why}"),
            Self::NotReplayed(why) => write!(f, "an epoch cannot be replayed: {why}"),
            Self::ReplayOnly => f.write_str("nothing new is decided for this request"),
            Self::Shadow => f.write_str("the session only looks on"),
        }
    }
}

/// What the usage of a response says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heard {
    /// It is the truth about what was sent: later requests are measured from there.
    Anchored,
    /// It says nothing, or of a history that is not known.
    Nothing,
    /// The server seems to have dropped a part of the request without a word.
    Truncated {
        /// What was counted.
        counted: Tokens,
        /// What the server says it took.
        reported: Tokens,
    },
}

/// Why a request that was too long is not sent again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverflowError {
    /// Automatic compaction is off.
    #[error(
        "the request is too long for the model, and automatic compaction is off (auto = false); compact by hand, or start a new conversation"
    )]
    AutoOff,
    /// It was compacted already, and is still too long.
    #[error(
        "the request was compacted to {tokens} tokens and is still too long for the model; make the system prompt, the tools or the last message smaller"
    )]
    StillTooLong {
        /// What it counts.
        tokens: Tokens,
    },
    /// It cannot be compacted.
    #[error("the request is too long for the model and cannot be compacted: {0}")]
    NotCompacted(Reason),
}

/// A compaction by hand.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Manual {
    /// What the summary is to pay attention to, beside what the session's options say.
    pub instructions: Option<String>,
    /// Takes a conversation that is too short to be worth it.
    pub force: bool,
    /// Ends it: everything stays as it was.
    pub cancel: crate::summarise::Cancel,
}

impl Manual {
    /// Asks the summary to pay attention to something.
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        Self { instructions: Some(instructions.into()), ..self }
    }

    /// Takes a conversation that is too short to be worth it.
    #[must_use]
    pub fn forced(self) -> Self {
        Self { force: true, ..self }
    }
}

/// What came of a compaction by hand.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ByHand {
    /// It is in place: the next request of this history goes out under it.
    Compacted(Box<CompactionReport>),
    /// Nothing was done, and why.
    Left(Reason),
    /// It was cancelled: everything is as it was.
    Aborted,
}
