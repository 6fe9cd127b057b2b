//! How much a store keeps, and when a write must make room first.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use plimsoll::id::SessionId;

use crate::backend::Glance;
use crate::error::Result;
use crate::inventory::Inventory;
use crate::prune::{Policy, Pruned};
use crate::store::Store;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// How long what one process counted will do for others: an hour.
const FRESH: Duration = Duration::from_secs(60 * 60);

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
    /// When the whole was counted, by this process or another.
    at: SystemTime,
    total: u64,
    sessions: HashMap<SessionId, u64>,
    /// What this process has written since; other processes may have written as much.
    written: u64,
    /// Whether the last count was over a quota, although room had been made: then everything is in use.
    full: bool,
}

impl Tally {
    fn has_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// Tells whether room is to be made before the next write to a session.
    ///
    /// Once a process, before its first write; when this process's own writes pass a quota; and after every sixteenth
    /// of the whole, since other processes write too.
    fn is_due(&self, session: &SessionId, quotas: &Quotas) -> bool {
        self.counted.as_ref().is_none_or(|counted| {
            counted.written >= (quotas.max_total / 16).max(1) || !counted.full && counted.is_over(session, quotas)
        })
    }

    /// Takes over what another process counted; says whether that will do.
    fn take_over(&mut self, glance: &Glance, quotas: &Quotas, keep_session: Duration, now: SystemTime) -> bool {
        let since = |then: SystemTime| now.duration_since(then).unwrap_or_default();
        let is_fresh = glance.counted <= now && since(glance.counted) < FRESH;
        let has_room = glance.bytes.saturating_add(quotas.max_total / 16) <= quotas.max_total;
        let is_young = glance.oldest.is_none_or(|oldest| since(oldest) <= keep_session);
        let will_do = is_fresh && has_room && is_young;
        if will_do {
            let (at, total) = (glance.counted, glance.bytes);
            self.counted = Some(Counted { at, total, sessions: HashMap::new(), written: 0, full: false });
        }
        will_do
    }

    fn count(&mut self, inventory: &Inventory, session: &SessionId, quotas: &Quotas, at: SystemTime) {
        let sessions: HashMap<SessionId, u64> =
            inventory.sessions.iter().map(|held| (held.session.clone(), held.bytes)).collect();
        let mut counted = Counted { at, total: sessions.values().sum(), sessions, written: 0, full: false };
        counted.full = counted.is_over(session, quotas);
        self.counted = Some(counted);
    }

    /// Notes a write of this process. Gives what is to be remembered for others: the total, and when it was counted.
    pub(crate) fn note(&mut self, session: &SessionId, bytes: u64) -> Option<(u64, SystemTime)> {
        self.counted.as_mut().map(|counted| {
            counted.written = counted.written.saturating_add(bytes);
            counted.total = counted.total.saturating_add(bytes);
            let held = counted.sessions.entry(session.clone()).or_default();
            *held = held.saturating_add(bytes);
            (counted.total, counted.at)
        })
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
    /// Of a local store, the first time costs no more than a look at each session's folder if somebody counted everything
    /// within the last hour, that left room, and no session is old enough to go.
    ///
    /// # Errors
    /// What the backend reports of listing the store. The write may go on all the same.
    pub fn make_room(&self, session: &SessionId, now: SystemTime) -> Result<Option<Pruned>> {
        let quotas = self.quotas();
        if !self.tally().is_due(session, &quotas) {
            return Ok(None);
        }
        let policy = Policy { keep: vec![session.clone()], ..Policy::new(&quotas) };
        if !self.tally().has_counted()
            && let Ok(Some(glance)) = self.backend().glance()
            && self.tally().take_over(&glance, &quotas, policy.keep_session, now)
        {
            return Ok(None);
        }
        let pruned = self.prune(&policy, now)?;
        self.tally().count(&pruned.left, session, &quotas, now);
        self.backend().remember(pruned.left.results_bytes(), now);
        Ok(Some(pruned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::SessionUse;

    fn held(session: &str, bytes: u64) -> SessionUse {
        SessionUse {
            session: SessionId::new(session),
            bytes,
            temporary: 0,
            foreign: 0,
            artifacts: Vec::new(),
            changed: None,
        }
    }

    #[test]
    fn room_is_due_once_and_then_when_a_quota_is_passed() {
        let quotas = Quotas { max_session: 100, max_total: 1600, ..Quotas::default() };
        let (session, other) = (SessionId::new("s"), SessionId::new("t"));
        let mut tally = Tally::default();
        assert!(tally.is_due(&session, &quotas));
        let inventory = Inventory { sessions: vec![held("s", 90), held("t", 10)], ..Inventory::default() };
        tally.count(&inventory, &session, &quotas, SystemTime::now());
        assert!(!tally.is_due(&session, &quotas));
        tally.note(&session, 11);
        assert!(tally.is_due(&session, &quotas) && !tally.is_due(&other, &quotas));
        tally.count(&inventory, &session, &quotas, SystemTime::now());
        tally.note(&other, 99);
        assert!(!tally.is_due(&session, &quotas));
        tally.note(&other, 1);
        assert!(tally.is_due(&session, &quotas), "another process may have filled the store meanwhile");
    }

    #[test]
    fn what_another_process_counted_will_do_if_it_is_fresh_and_leaves_room_and_nothing_is_old() {
        let quotas = Quotas { max_total: 1600, ..Quotas::default() };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let (minute, day) = (Duration::from_secs(60), Duration::from_secs(86_400));
        let good = Glance { bytes: 1500, counted: now - 59 * minute, oldest: Some(now - 30 * day) };
        let will_do = |glance| Tally::default().take_over(&glance, &quotas, 30 * day, now);
        assert!(will_do(good) && will_do(Glance { oldest: None, ..good }));
        assert!(!will_do(Glance { bytes: 1501, ..good }));
        assert!(!will_do(Glance { counted: now - 60 * minute, ..good }));
        assert!(!will_do(Glance { counted: now + minute, ..good }), "a clock was set back");
        assert!(!will_do(Glance { oldest: Some(now - 30 * day - minute), ..good }));
    }

    #[test]
    fn a_store_full_of_what_is_in_use_is_not_listed_before_every_write() {
        let quotas = Quotas { max_total: 1600, ..Quotas::default() };
        let session = SessionId::new("s");
        let mut tally = Tally::default();
        tally.count(
            &Inventory { sessions: vec![held("s", 5000)], ..Inventory::default() },
            &session,
            &quotas,
            SystemTime::now(),
        );
        tally.note(&session, 50);
        assert!(!tally.is_due(&session, &quotas));
        tally.note(&session, 50);
        assert!(tally.is_due(&session, &quotas));
    }
}
