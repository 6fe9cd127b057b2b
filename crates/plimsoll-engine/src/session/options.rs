//! What a session is told once: limits, policy, who summarises, who can recall, and the effects it works through.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use plimsoll::budget::{Capacity, Policy};
use plimsoll::cap::Cap;
use plimsoll::compact::Profile;
use plimsoll::model::Catalogue;

use super::spawn::{Spawn, Threads};
use crate::event::Event;
use crate::summarise::{Extract, Summariser};

/// Who can recall what a capped result leaves out: results are capped only where somebody can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recaller {
    /// The model, if the request's tools contain Plimsoll's recall tool; otherwise nobody.
    #[default]
    Tool,
    /// The model, by a tool of whatever name.
    Always,
    /// The model, which can open the files that a marker names.
    Files,
    /// Nobody: results go as they came.
    Nobody,
}

/// When the store is asked whether others have compacted a history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lookup {
    /// When this process meets a history that a model has already spoken in and that has grown from none it knows, and from
    /// the threshold on: where asking costs no round trip, or a session is one conversation.
    #[default]
    FirstSight,
    /// Only when the history as it came reaches the threshold by the static counter, after an overflow, and for a
    /// compaction by hand: for a session whose requests are not related, so that an ordinary one pays no round trip.
    Threshold,
}

/// How a session works. By default `extract` writes summaries, and all thresholds are at their documented fractions.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Where the thresholds are; `auto = false` means never, on an overflow neither.
    pub policy: Policy,
    /// What the model can take, where the caller knows; otherwise the catalogue is asked for the model that a request
    /// names, and 128,000 tokens are taken for an unknown one.
    pub capacity: Option<Capacity>,
    /// What is known of models: the embedded catalogue, unless the user's lines are laid over it.
    pub catalogue: Catalogue,
    /// Who writes summaries.
    pub summariser: Arc<dyn Summariser>,
    /// What kind of work it is.
    pub profile: Profile,
    /// What every summary is to pay attention to.
    pub instructions: Option<String>,
    /// Who can recall.
    pub recaller: Recaller,
    /// The most that one tool result may take; otherwise 5 % of the input budget within 2–64 KiB.
    pub cap: Option<Cap>,
    /// How long a request waits for a summary at the hard threshold before it takes the extract: 120 s.
    pub patience: Duration,
    /// When the store is asked for epochs of others.
    pub lookup: Lookup,
    /// Whether nobody is there who could compact by hand where automatic compaction has stopped. A request that would be too
    /// long takes an extract then.
    pub unattended: bool,
    /// Decides and reports, but gives every request back as it came.
    pub shadow: bool,
    /// How many histories are kept in memory: 8. Side requests, rewinds and sub-agents have one each.
    pub histories: usize,
    /// How many bytes of histories are kept in memory: 64 MiB. The latest one is kept whatever its size.
    pub memory: usize,
    /// Where work beside the requests is done.
    pub spawn: Arc<dyn Spawn>,
    /// The clock.
    pub clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// Pauses the thread that makes a summary while another process makes the same one.
    pub pause: Arc<dyn Fn(Duration) + Send + Sync>,
    /// Is told what happens.
    pub watch: Arc<dyn Fn(&Event) + Send + Sync>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            capacity: None,
            catalogue: Catalogue::embedded(),
            summariser: Arc::new(Extract::default()),
            profile: Profile::default(),
            instructions: None,
            recaller: Recaller::default(),
            cap: None,
            patience: Duration::from_secs(120),
            lookup: Lookup::default(),
            unattended: false,
            shadow: false,
            histories: 8,
            memory: 64 << 20,
            spawn: Arc::new(Threads),
            clock: Arc::new(SystemTime::now),
            pause: Arc::new(std::thread::sleep),
            watch: Arc::new(|_| {}),
        }
    }
}

impl SessionOptions {
    /// Sets who writes summaries.
    #[must_use]
    pub fn with_summariser(self, summariser: Arc<dyn Summariser>) -> Self {
        Self { summariser, ..self }
    }

    /// Sets what the model can take.
    #[must_use]
    pub fn with_capacity(self, capacity: Capacity) -> Self {
        Self { capacity: Some(capacity), ..self }
    }

    /// Sets where the thresholds are.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Sets who can recall.
    #[must_use]
    pub fn with_recaller(self, recaller: Recaller) -> Self {
        Self { recaller, ..self }
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("policy", &self.policy)
            .field("capacity", &self.capacity)
            .field("summariser", &self.summariser)
            .field("profile", &self.profile.name)
            .field("recaller", &self.recaller)
            .field("patience", &self.patience)
            .field("lookup", &self.lookup)
            .field("unattended", &self.unattended)
            .field("shadow", &self.shadow)
            .finish_non_exhaustive()
    }
}
