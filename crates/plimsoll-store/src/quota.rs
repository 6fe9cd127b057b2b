//! How much a store keeps, and when a write must make room first.

use std::collections::HashMap;
use std::time::SystemTime;

use plimsoll::id::SessionId;

use crate::error::Result;
use crate::inventory::Inventory;
use crate::prune::{Policy, Pruned};
use crate::store::Store;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How much is kept, in bytes.
///
/// The first two are hard: of a result or stream that is larger, its first bytes are kept, and that is said
/// ([`Saved::First`](crate::Saved::First)). The last two are soft: a write never fails for them, but room is made
/// before one that finds them exceeded ([`Store::make_room`]).
///
/// ```
/// use plimsoll_store::{Quotas, Store};
/// let store = Store::memory().with_quotas(Quotas { max_artifact: 1 << 20, ..Quotas::default() });
/// assert_eq!(store.quotas().max_total, 4 << 30);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// The most that is kept of one result: 256 MiB.
    pub max_artifact: u64,
    /// The most that is kept of one stream that somebody asked to have stored: 16 GiB.
    pub max_stream: u64,
    /// The most that one session's results should have together: 1 GiB.
    pub max_session: u64,
    /// The most that all sessions' results should have together: 4 GiB. The archive of compactions does not count.
    pub max_total: u64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self { max_artifact: 256 * MIB, max_stream: 16 * GIB, max_session: GIB, max_total: 4 * GIB }
    }
}

/// What this process knows of the store's size: as counted last, and what it has written since.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counted: Option<Counted>,
}

#[derive(Debug)]
struct Counted {
    total: u64,
    sessions: HashMap<SessionId, u64>,
    /// What this process has written since; other processes may have written as much.
    written: u64,
    /// Whether the last count was over a quota, although room had been made: then everything is in use.
    full: bool,
}

impl Tally {
    /// Tells whether room is to be made before the next write to a session.
    ///
    /// Once a process, before its first write; when this process's own writes pass a quota; and after every sixteenth
    /// of the whole, since other processes write too.
    fn is_due(&self, session: &SessionId, quotas: &Quotas) -> bool {
        self.counted.as_ref().is_none_or(|counted| {
            counted.written >= (quotas.max_total / 16).max(1) || !counted.full && counted.is_over(session, quotas)
        })
    }

    fn count(&mut self, inventory: &Inventory, session: &SessionId, quotas: &Quotas) {
        let sessions: HashMap<SessionId, u64> =
            inventory.sessions.iter().map(|held| (held.session.clone(), held.bytes)).collect();
        let mut counted = Counted { total: sessions.values().sum(), sessions, written: 0, full: false };
        counted.full = counted.is_over(session, quotas);
        self.counted = Some(counted);
    }

    /// Notes a write of this process.
    pub(crate) fn note(&mut self, session: &SessionId, bytes: u64) {
        if let Some(counted) = &mut self.counted {
            counted.written = counted.written.saturating_add(bytes);
            counted.total = counted.total.saturating_add(bytes);
            let held = counted.sessions.entry(session.clone()).or_default();
            *held = held.saturating_add(bytes);
        }
    }
}

impl Counted {
    fn is_over(&self, session: &SessionId, quotas: &Quotas) -> bool {
        self.total > quotas.max_total || self.sessions.get(session).is_some_and(|held| *held > quotas.max_session)
    }
}

impl Store {
    /// Makes room before a result of `session` is stored, if that is due: prunes by [`Policy::default`] and the store's
    /// quotas, sparing the session.
    ///
    /// It is due once in a process, when the session's or the store's quota is exceeded, and after every sixteenth of
    /// the store's quota that this process has written. `None` if it was not due: then it costs nothing.
    ///
    /// # Errors
    /// What the backend reports of listing the store. The write may go on all the same.
    pub fn make_room(&self, session: &SessionId, now: SystemTime) -> Result<Option<Pruned>> {
        let quotas = self.quotas();
        if !self.tally().is_due(session, &quotas) {
            return Ok(None);
        }
        let policy = Policy { keep: vec![session.clone()], ..Policy::new(&quotas) };
        let pruned = self.prune(&policy, now)?;
        self.tally().count(&pruned.left, session, &quotas);
        Ok(Some(pruned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::SessionUse;

    fn held(session: &str, bytes: u64) -> SessionUse {
        SessionUse { session: SessionId::new(session), bytes, temporary: 0, foreign: 0, artifacts: Vec::new(), changed: None }
    }

    #[test]
    fn room_is_due_once_and_then_when_a_quota_is_passed() {
        let quotas = Quotas { max_session: 100, max_total: 1600, ..Quotas::default() };
        let (session, other) = (SessionId::new("s"), SessionId::new("t"));
        let mut tally = Tally::default();
        assert!(tally.is_due(&session, &quotas));
        let inventory = Inventory { sessions: vec![held("s", 90), held("t", 10)], ..Inventory::default() };
        tally.count(&inventory, &session, &quotas);
        assert!(!tally.is_due(&session, &quotas));
        tally.note(&session, 11);
        assert!(tally.is_due(&session, &quotas) && !tally.is_due(&other, &quotas));
        tally.count(&inventory, &session, &quotas);
        tally.note(&other, 99);
        assert!(!tally.is_due(&session, &quotas));
        tally.note(&other, 1);
        assert!(tally.is_due(&session, &quotas), "another process may have filled the store meanwhile");
    }

    #[test]
    fn a_store_full_of_what_is_in_use_is_not_listed_before_every_write() {
        let quotas = Quotas { max_total: 1600, ..Quotas::default() };
        let session = SessionId::new("s");
        let mut tally = Tally::default();
        tally.count(&Inventory { sessions: vec![held("s", 5000)], ..Inventory::default() }, &session, &quotas);
        tally.note(&session, 50);
        assert!(!tally.is_due(&session, &quotas));
        tally.note(&session, 50);
        assert!(tally.is_due(&session, &quotas));
    }
}
