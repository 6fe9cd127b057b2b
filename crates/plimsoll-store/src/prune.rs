//! What is removed when, as a pure function of a listing and a clock. What carries it out is in `prune/execute.rs`.

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, SystemTime};

use plimsoll::id::{ArtifactId, EpochId, SessionId};

use crate::archive::KEEP_BODY;
use crate::inventory::{ArchiveUse, BodyUse, Inventory, SessionUse};
use crate::quota::Quotas;

mod execute;

pub(crate) use execute::was_asked;
pub use execute::{Pruned, Removed};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What may stay, and how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Sessions that stay whatever their age and size: the running ones. They count toward the total.
    pub keep: Vec<SessionId>,
    /// How long after its last change a session stays: 30 days.
    pub keep_session: Duration,
    /// A session that changed within this time is in use, and stays: 15 minutes. A change in the future counts as now.
    pub in_use: Duration,
    /// How much the results of one session may have together, in bytes.
    pub max_session: u64,
    /// How much all results may have together, in bytes.
    pub max_total: u64,
    /// How long after its last use an archived document stays: 90 days.
    pub keep_body: Duration,
    /// How long the note stays that a session was pruned: 30 days.
    pub keep_tombstone: Duration,
}

impl Policy {
    /// Makes the usual policy for quotas.
    pub fn new(quotas: &Quotas) -> Self {
        Self {
            keep: Vec::new(),
            keep_session: 30 * DAY,
            in_use: Duration::from_secs(15 * 60),
            max_session: quotas.max_session,
            max_total: quotas.max_total,
            keep_body: KEEP_BODY,
            keep_tombstone: 30 * DAY,
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(&Quotas::default())
    }
}

/// Why results of a session go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// The session has not changed for longer than sessions are kept.
    Age,
    /// The session has more than one session may have: its oldest results go.
    SessionQuota,
    /// The store has more than it may have, and of those not in use this session changed longest ago.
    TotalQuota,
    /// Somebody asked for it.
    Asked,
}

/// Results of a session that are to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The session.
    pub session: SessionId,
    /// Why.
    pub why: Why,
    /// What goes, in bytes; metadata is counted where the whole session goes.
    pub bytes: u64,
    /// What goes: all artifacts of the session, but those that a live epoch names.
    pub artifacts: Vec<ArtifactId>,
    /// Whether nothing that is ours stays of the session.
    pub whole: bool,
    /// The last change that was seen: if there is a later one, the session is in use again.
    pub changed: Option<SystemTime>,
}

/// What is to be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Results, in the order in which they were chosen.
    pub sessions: Vec<Chosen>,
    /// Archived documents.
    pub bodies: Vec<EpochId>,
    /// Notes of replays that say nothing any more.
    pub replays: Vec<(EpochId, u32)>,
    /// Notes of sessions pruned long ago.
    pub tombstones: Vec<SessionId>,
    /// By how many bytes the results will still be over the total, since everything else is in use or named.
    pub over: u64,
}

/// Chooses what is to be removed.
///
/// Of results: every session last changed longer than [`keep_session`](Policy::keep_session) ago; of a session over its
/// quota the oldest results; then, while everything together is over the total, the session that changed longest ago.
/// Never chosen are sessions to keep, sessions in use, and artifacts that a live epoch names.
///
/// Of the archive, apart from that: bodies last used longer than [`keep_body`](Policy::keep_body) ago, one by one,
/// unless one that stays borrows from it.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use plimsoll::id::SessionId;
/// use plimsoll_store::prune::{self, Policy};
/// use plimsoll_store::{Inventory, SessionUse};
///
/// let now = SystemTime::now();
/// let session = |name: &str, bytes, minutes: u64| SessionUse {
///     session: SessionId::new(name), bytes, temporary: 0, foreign: 0, artifacts: Vec::new(),
///     changed: Some(now - Duration::from_secs(60 * minutes)),
/// };
/// let sessions = vec![session("running", 50, 90), session("idle", 30, 60), session("older", 30, 90)];
/// let policy = Policy { max_total: 100, keep: vec![SessionId::new("running")], ..Policy::default() };
/// let selection = prune::select(&Inventory { sessions, ..Inventory::default() }, &policy, now);
/// assert_eq!(selection.sessions.len(), 1);
/// assert_eq!(selection.sessions[0].session.as_str(), "older");
/// ```
pub fn select(inventory: &Inventory, policy: &Policy, now: SystemTime) -> Selection {
    let mut selection = Selection::default();
    let mut protected = Protected::default();
    for archive in &inventory.archives {
        let expired = expired_bodies(archive, policy, now);
        for body in archive.bodies.iter().filter(|body| !expired.contains(&body.id)) {
            match &body.names {
                Some(names) => protected.artifacts.extend(names.artifacts.iter()),
                // What it names is not known, so everything of its session may be.
                None => {
                    protected.sessions.insert(&archive.session);
                }
            }
        }
        selection.replays.extend(spent_replays(archive, &expired));
        selection
            .bodies
            .extend(archive.bodies.iter().map(|body| &body.id).filter(|id| expired.contains(id)).cloned());
    }
    choose_sessions(inventory, &protected, policy, now, &mut selection);
    selection.tombstones = inventory
        .tombstones
        .iter()
        .filter(|tombstone| idle(Some(tombstone.pruned), now) > policy.keep_tombstone)
        .map(|tombstone| tombstone.session.clone())
        .collect();
    selection
}

/// How long ago a time was: not at all if it is in the future, or unknown.
fn idle(changed: Option<SystemTime>, now: SystemTime) -> Duration {
    changed.and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default()
}

/// What live epochs name.
#[derive(Debug, Default)]
struct Protected<'a> {
    artifacts: HashSet<&'a ArtifactId>,
    sessions: HashSet<&'a SessionId>,
}

impl Protected<'_> {
    fn holds(&self, id: &ArtifactId) -> bool {
        self.artifacts.contains(id) || self.sessions.contains(id.session())
    }
}

fn choose_sessions(
    inventory: &Inventory,
    protected: &Protected<'_>,
    policy: &Policy,
    now: SystemTime,
    selection: &mut Selection,
) {
    let mut total = inventory.results_bytes();
    let mut candidates: Vec<&SessionUse> = inventory
        .sessions
        .iter()
        .filter(|held| !policy.keep.contains(&held.session) && idle(held.changed, now) > policy.in_use)
        // A folder in which there is nothing of ours is not ours to remove, whatever it is called.
        .filter(|held| held.bytes > 0 || held.foreign == 0)
        .collect();
    candidates.sort_by(|one, other| one.changed.cmp(&other.changed).then_with(|| one.session.cmp(&other.session)));

    let mut staying = Vec::new();
    for held in candidates {
        let chosen = if idle(held.changed, now) > policy.keep_session {
            choose(held, protected, Why::Age)
        } else if held.bytes.saturating_sub(held.temporary) > policy.max_session {
            // What a killed writer left does not drive results out: it is swept, or goes with the session.
            choose_oldest(
                held,
                protected,
                held.bytes.saturating_sub(held.temporary).saturating_sub(policy.max_session),
            )
        } else {
            staying.push(held);
            continue;
        };
        total -= chosen.bytes.min(total);
        if !chosen.whole && chosen.why == Why::SessionQuota {
            staying.push(held);
        }
        if chosen.whole || !chosen.artifacts.is_empty() {
            selection.sessions.push(chosen);
        }
    }
    for held in staying {
        if total <= policy.max_total {
            break;
        }
        let chosen = choose(held, protected, Why::TotalQuota);
        if chosen.bytes == 0 {
            continue;
        }
        // Some of it may be chosen already, for the session's own quota.
        let earlier = selection.sessions.iter().position(|earlier| earlier.session == held.session);
        let counted = earlier.map_or(0, |at| selection.sessions.remove(at).bytes);
        total -= chosen.bytes.saturating_sub(counted).min(total);
        selection.sessions.push(chosen);
    }
    selection.over = total.saturating_sub(policy.max_total);
}

/// Chooses all that may go of a session.
fn choose(held: &SessionUse, protected: &Protected<'_>, why: Why) -> Chosen {
    let going: Vec<_> = held.artifacts.iter().filter(|artifact| !protected.holds(&artifact.id)).collect();
    let whole = going.len() == held.artifacts.len() && !protected.sessions.contains(&held.session);
    Chosen {
        session: held.session.clone(),
        why,
        bytes: if whole { held.bytes } else { going.iter().map(|artifact| artifact.bytes).sum() },
        artifacts: going.into_iter().map(|artifact| artifact.id.clone()).collect(),
        whole,
        changed: held.changed,
    }
}

/// Chooses the oldest artifacts of a session until enough bytes go.
fn choose_oldest(held: &SessionUse, protected: &Protected<'_>, excess: u64) -> Chosen {
    let mut going: Vec<_> = held.artifacts.iter().filter(|artifact| !protected.holds(&artifact.id)).collect();
    going.sort_by(|one, other| one.changed.cmp(&other.changed).then_with(|| one.id.cmp(&other.id)));
    let mut chosen = Chosen {
        session: held.session.clone(),
        why: Why::SessionQuota,
        bytes: 0,
        artifacts: Vec::new(),
        whole: false,
        changed: held.changed,
    };
    for artifact in going {
        if chosen.bytes >= excess {
            break;
        }
        chosen.bytes += artifact.bytes;
        chosen.artifacts.push(artifact.id.clone());
    }
    chosen
}

/// Tells which bodies are used by nobody any more: neither replayed for long, nor borrowed from by one that stays.
fn expired_bodies<'a>(archive: &'a ArchiveUse, policy: &Policy, now: SystemTime) -> HashSet<&'a EpochId> {
    let mut expired: HashSet<&EpochId> = archive
        .bodies
        .iter()
        .filter(|body| idle(Some(body.used), now) > policy.keep_body)
        .map(|body| &body.id)
        .collect();
    loop {
        let staying: Vec<&BodyUse> = archive.bodies.iter().filter(|body| !expired.contains(&body.id)).collect();
        // One that stays and cannot be read may borrow from any.
        if staying.iter().any(|body| body.names.is_none()) {
            return HashSet::new();
        }
        let before = expired.len();
        for lender in staying.iter().filter_map(|body| body.names.as_ref()).flat_map(|names| &names.lenders) {
            expired.remove(lender);
        }
        if expired.len() == before {
            return expired;
        }
    }
}

/// Gives the notes whose epoch has no body left, and all but the last of the others.
fn spent_replays(archive: &ArchiveUse, expired: &HashSet<&EpochId>) -> Vec<(EpochId, u32)> {
    let living: BTreeSet<EpochId> =
        archive.bodies.iter().filter(|body| !expired.contains(&body.id)).map(|body| body.id.plain()).collect();
    let is_last =
        |epoch: &EpochId, day: u32| !archive.replays.iter().any(|(other, later)| other == epoch && *later > day);
    let spent = |(epoch, day): &&(EpochId, u32)| !living.contains(epoch) || !is_last(epoch, *day);
    archive.replays.iter().filter(spent).cloned().collect()
}

#[cfg(test)]
mod tests;
