//! Claims: of several processes that would have a summary of one history written, one does, and the others use it.
//!
//! A claim is a create-only record that says who is at it and until when; beside it stands, once there is one, what was
//! made. Nothing is decided by either: an epoch is decided by its own record. Whatever goes wrong here, a summary is
//! made as if nobody else were there. It may then be paid for twice, and that is all.

use std::time::Duration;

use plimsoll::budget::Trigger;
use plimsoll::compact::{ChainHash, Epoch};
use plimsoll::id::{EpochId, SessionId};
use plimsoll_store::Store;
use serde::{Deserialize, Serialize};

use super::make::Brief;
use super::reduce::{is_enough, rank};
use super::state::seed;
use crate::clock::seconds;

/// How long a claim holds. Who has not come back by then is taken for dead. Until then nobody is held up but at the hard
/// threshold, and there for no longer than the patience.
const LEASE: Duration = Duration::from_secs(300);
/// How many claims on one history are looked through: those of dead processes, of branches, of results that did not help.
const CLAIMS: u32 = 16;
/// How long the first and the longest pause is before it is looked again whether others are done.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(4));

/// Whose a summary is to make.
pub(super) enum Claim {
    /// This process's.
    Ours(Held),
    /// Another's, which has made this.
    Theirs(Box<Epoch>),
    /// Nobody's: it is made without a claim.
    Nobodys,
}

/// What is recorded of a claim.
#[derive(Debug, Serialize, Deserialize)]
struct Lease {
    /// Seconds since 1970.
    until: u64,
    /// The history that is summarised: how many messages, and their hash.
    messages: usize,
    chain: ChainHash,
    /// Tells one process from another.
    by: u64,
}

/// A claim that this process holds. Dropped, it is given up, so that others need not wait for its end.
pub(super) struct Held {
    store: Store,
    result: EpochId,
    published: bool,
}

impl Held {
    /// Lets others use what was made.
    pub(super) fn publish(mut self, epoch: &Epoch) {
        if let Ok(json) = epoch.to_json() {
            self.published = self.store.record_epoch(&self.result, json.as_bytes()).is_ok();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.published {
            // If this fails, the lease ends by itself.
            let _ = self.store.record_epoch(&self.result, GIVEN_UP);
        }
    }
}

/// What stands in place of a result that there will not be.
const GIVEN_UP: &[u8] = b"null";

impl Brief {
    /// Claims the making of a summary, or waits for the one that another process makes of the same history.
    ///
    /// What is asked for by hand may be asked for in words, so it is made for whoever asks.
    pub(super) fn claim(&self) -> Claim {
        if self.trigger == Trigger::Manual || self.unstored || self.extract_only {
            return Claim::Nobodys;
        }
        for nth in 0..CLAIMS {
            let Some((claim, result)) = self.names(nth) else {
                return Claim::Nobodys;
            };
            let Some(lease) = self.lease().and_then(|lease| serde_json::to_vec(&lease).ok()) else {
                return Claim::Nobodys;
            };
            let Ok((holds, first)) = self.store.record_epoch(&claim, &lease) else {
                return Claim::Nobodys;
            };
            if first || holds == lease {
                return Claim::Ours(Held { store: self.store.clone(), result, published: false });
            }
            let theirs = serde_json::from_slice::<Lease>(&holds).ok();
            let ours = &self.history.chain;
            // Another branch of the conversation is none of ours.
            let Some(theirs) = theirs.filter(|theirs| ours.replaced(theirs.messages) == Some(theirs.chain)) else {
                continue;
            };
            if let Some(epoch) = self.wait_for(&result, theirs.until) {
                return Claim::Theirs(Box::new(epoch));
            }
            if self.cancel.is_cancelled() {
                return Claim::Nobodys;
            }
        }
        Claim::Nobodys
    }

    /// The names of the nth claim on a history and of what comes of it. A history is known by how it begins and what is in
    /// force for it: it may grow meanwhile.
    fn names(&self, nth: u32) -> Option<(EpochId, EpochId)> {
        let history = &self.history;
        let begins = history.chain.opening()?;
        let in_force = history.epoch().map_or([0; 32], |epoch| *epoch.as_bytes());
        // Filed apart: what lists the epochs of a session lists epochs.
        let apart = SessionId::new(&format!("{}-claims", self.session.as_str()));
        let name = |what: &str| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(what.as_bytes()).update(begins.as_bytes());
            let overflows = u8::from(self.trigger == Trigger::Overflow);
            hasher.update(&in_force).update(&[overflows]).update(&nth.to_le_bytes());
            EpochId::new(&apart, hasher.finalize().as_bytes())
        };
        Some((name("claim"), name("claimed")))
    }

    fn lease(&self) -> Option<Lease> {
        let until = seconds((self.options.clock)()) + LEASE.as_secs();
        Some(Lease { until, messages: self.history.len(), chain: self.history.conversation()?, by: seed() })
    }

    /// Waits for what another process makes: until it is there, is given up, or is overdue.
    fn wait_for(&self, result: &EpochId, until: u64) -> Option<Epoch> {
        let mut pause = PAUSES.0;
        // What was there before and did not help is no help now.
        let mut is_known = self.again;
        loop {
            if let Some(record) = self.store.epoch_record(result).ok()? {
                return Epoch::from_json(&record).ok().filter(|epoch| !is_known && self.is_served_by(epoch));
            }
            is_known = false;
            // A clock that is ahead by more than a lease says nothing.
            let left = until.saturating_sub(seconds((self.options.clock)()));
            if left == 0 || left > LEASE.as_secs() || self.cancel.is_cancelled() {
                return None;
            }
            (self.options.pause)(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Whether what another process made is for this history, and more than what is in force.
    fn is_served_by(&self, epoch: &Epoch) -> bool {
        let history = &self.history;
        let in_force = history.in_force.as_ref().map(|in_force| rank(&in_force.epoch));
        epoch.format == history.format
            && epoch.prefix < history.len()
            && epoch.matches(&history.chain)
            && in_force.is_none_or(|in_force| in_force < rank(epoch))
            && is_enough(epoch, history, &self.thresholds, self.trigger)
    }
}

#[cfg(test)]
mod tests;
