//! Carrying a selection out: one session's errors do not stop the others, and what is gone leaves a note.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use plimsoll::id::{ArtifactId, EpochId, Folder, Record, SessionId};
use serde::{Deserialize, Serialize};

use super::{Chosen, Policy, Selection, Why, idle, select};
use crate::error::{Result, StoreError};
use crate::inventory::{Inventory, SessionUse};
use crate::store::Store;

/// The form of tombstones.
const FORM: u32 = 1;
/// Temporary files whose writer has not written for so long are a dead writer's: a day.
const DEAD_WRITER: Duration = Duration::from_secs(24 * 60 * 60);

/// What came of pruning, or would.
#[derive(Debug)]
#[non_exhaustive]
pub struct Pruned {
    /// What was removed; in a dry run, what would be.
    pub removed: Selection,
    /// How many bytes of results and of the archive that is.
    pub freed: u64,
    /// How many temporary files of dead writers were removed.
    pub swept: u64,
    /// What could not be done.
    pub errors: Vec<StoreError>,
    /// What the store held before, less what was removed.
    pub left: Inventory,
}

/// What was removed on request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removed {
    /// The tool results.
    pub artifacts: Vec<ArtifactId>,
    /// How many records of compactions: epochs, archived documents, notes.
    pub archived: u64,
    /// How many bytes were freed.
    pub bytes: u64,
}

/// What stands under the name of a session and is another one's.
#[derive(Debug, Default)]
struct Others {
    results: HashSet<ArtifactId>,
    epochs: HashSet<EpochId>,
}

/// What is noted of a session that was pruned.
#[derive(Debug, Serialize, Deserialize)]
struct Stone {
    form: u32,
    /// The raw id.
    session: String,
    /// Milliseconds since 1970-01-01, UTC.
    pruned: u64,
    why: String,
    artifacts: usize,
    bytes: u64,
}

/// Tells whether a note says that its session was removed on request. One that cannot be read does not.
pub(crate) fn was_asked(stone: &[u8]) -> bool {
    serde_json::from_slice::<Stone>(stone).is_ok_and(|stone| stone.why == Why::Asked.as_str())
}

impl Pruned {
    /// Gives all errors, a line each; `None` if there were none.
    pub fn error(&self) -> Option<String> {
        let lines: Vec<String> = self.errors.iter().map(ToString::to_string).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Why {
    fn as_str(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::SessionQuota => "session quota",
            Self::TotalQuota => "store quota",
            Self::Asked => "asked",
        }
    }
}

impl Store {
    /// Says what [`prune`](Self::prune) would remove, and removes nothing.
    pub fn prune_dry_run(&self, policy: &Policy, now: SystemTime) -> Pruned {
        let mut errors = Vec::new();
        let inventory = self.stock_with_names(&mut errors);
        let removed = select(&inventory, policy, now);
        let freed = freed(&removed, &inventory);
        Pruned { removed, freed, swept: 0, errors, left: inventory }
    }

    /// Removes what [`select`] chooses, and what dead writers left.
    ///
    /// A store that is not there has nothing to prune. What cannot be removed does not stop the rest: it is in
    /// [`Pruned::errors`]. Of a session that goes, only our records go, and its folder if nothing foreign is in it; a
    /// note stays, so that a recall can say what became of it.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll_store::Store;
    /// use plimsoll_store::prune::Policy;
    ///
    /// let pruned = Store::local("/nonexistent/store").prune(&Policy::default(), SystemTime::now())?;
    /// assert!(pruned.removed.sessions.is_empty() && pruned.error().is_none());
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// The root itself cannot be listed.
    #[doc(alias = "PruneToolResults")]
    pub fn prune(&self, policy: &Policy, now: SystemTime) -> Result<Pruned> {
        self.backend().list(&Folder::Results)?;
        let Pruned { removed: selected, mut errors, left: mut inventory, .. } = self.prune_dry_run(policy, now);
        let mut removed = Selection { over: selected.over, ..Selection::default() };
        let mut note = |result: Result<bool>| match result {
            Ok(done) => done,
            Err(error) => {
                errors.push(error);
                false
            }
        };
        for chosen in selected.sessions {
            if note(self.remove_chosen(&chosen, policy, now)) {
                removed.sessions.push(chosen);
            }
        }
        for id in selected.bodies {
            if note(self.backend().delete(&Record::Body(id.clone()).key())) {
                removed.bodies.push(id);
            }
        }
        for (epoch, day) in selected.replays {
            if note(self.backend().delete(&Record::Replayed { epoch: epoch.clone(), day }.key())) {
                removed.replays.push((epoch, day));
            }
        }
        for session in selected.tombstones {
            if note(self.backend().delete(&Record::Pruned(session.clone()).key())) {
                removed.tombstones.push(session);
            }
        }
        let swept = now.checked_sub(DEAD_WRITER).map_or(Ok(0), |before| self.backend().sweep(before));
        let swept = swept.unwrap_or_else(|error| {
            errors.push(error);
            0
        });
        let freed = freed(&removed, &inventory);
        take_away(&mut inventory, &removed);
        Ok(Pruned { removed, freed, swept, errors, left: inventory })
    }

    /// Lists the store, and reads what the archived documents rely on.
    fn stock_with_names(&self, errors: &mut Vec<StoreError>) -> Inventory {
        let mut inventory = self.take_stock(None, errors);
        for body in inventory.archives.iter_mut().flat_map(|archive| &mut archive.bodies) {
            match self.body_names(&body.id) {
                Ok(names) => body.names = names,
                Err(error) => errors.push(error),
            }
        }
        inventory
    }

    /// Removes what was chosen of a session; `false` if it is in use again.
    fn remove_chosen(&self, chosen: &Chosen, policy: &Policy, now: SystemTime) -> Result<bool> {
        let backend = self.backend();
        let folder = Folder::ResultsOf(chosen.session.clone());
        // The listing is older by all that was removed before; another process may have come back to the session.
        let present = SessionUse::of(chosen.session.clone(), &backend.list(&folder)?);
        if present.changed > chosen.changed && idle(present.changed, now) <= policy.in_use {
            return Ok(false);
        }
        if !chosen.artifacts.is_empty() {
            self.bury(chosen, now)?;
        }
        if chosen.whole {
            self.remove_records(&folder, |_| true)?;
            backend.remove_folder(&folder, now.checked_sub(policy.in_use).unwrap_or(now))?;
        } else {
            for id in &chosen.artifacts {
                self.remove_artifact_records(id)?;
            }
        }
        Ok(true)
    }

    /// Notes that a session was pruned, in place of an earlier such note.
    fn bury(&self, chosen: &Chosen, now: SystemTime) -> Result<()> {
        let key = Record::Pruned(chosen.session.clone()).key();
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let stone = Stone {
            form: FORM,
            session: chosen.session.raw_or_name().to_owned(),
            pruned: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            why: chosen.why.as_str().to_owned(),
            artifacts: chosen.artifacts.len(),
            bytes: chosen.bytes,
        };
        let json = serde_json::to_vec(&stone).map_err(|error| StoreError::Io {
            action: "write",
            path: key.to_string().into(),
            source: error.into(),
        })?;
        self.backend().delete(&key)?;
        self.backend().create(&key, &[&json]).map(drop)
    }

    /// Finds what stands in the folders of a session and is another one's. On a file system that ignores case, sessions
    /// whose names differ in nothing else share them.
    fn of_others(&self, session: &SessionId) -> Result<Others> {
        let mut others = Others::default();
        for folder in [Folder::ResultsOf(session.clone()), Folder::EpochsOf(session.clone())] {
            for entry in self.backend().list(&folder)?.records {
                match entry.key.record() {
                    // What has no record, or a damaged one, is the session's whose name it stands under.
                    Some(Record::Meta(id)) => match self.result_meta(&id) {
                        Ok(Some(meta)) if SessionId::new(&meta.session) != *session => {
                            others.results.insert(id);
                        }
                        Ok(_) | Err(StoreError::Damaged { .. } | StoreError::Newer { .. }) => {}
                        Err(error) => return Err(error),
                    },
                    Some(Record::Body(id)) => match self.body_names(&id) {
                        Ok(None) => {
                            others.epochs.insert(id.plain());
                        }
                        Ok(Some(_)) | Err(StoreError::Damaged { .. } | StoreError::Newer { .. }) => {}
                        Err(error) => return Err(error),
                    },
                    _ => {}
                }
            }
        }
        Ok(others)
    }

    /// Removes the records in a folder that are ours; says how many, and their bytes.
    fn remove_records(&self, folder: &Folder, is_ours: impl Fn(Option<Record>) -> bool) -> Result<(u64, u64)> {
        let (mut count, mut bytes) = (0, 0);
        let mut records = self.backend().list(folder)?.records;
        records.retain(|entry| is_ours(entry.key.record()));
        // Metadata goes before its text: a text alone is still an artifact, metadata alone would be a loss.
        records.sort_by_key(|entry| !matches!(entry.key.record(), Some(Record::Meta(_))));
        for entry in records {
            if self.backend().delete(&entry.key)? {
                count += 1;
                bytes += entry.size;
            }
        }
        Ok((count, bytes))
    }

    fn remove_artifact_records(&self, id: &ArtifactId) -> Result<bool> {
        self.backend().delete(&Record::Meta(id.clone()).key())?;
        self.backend().delete(&Record::Text(id.clone()).key())
    }

    /// Removes one tool result, whoever names it.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] or [`StoreError::Pruned`] if it is not there.
    pub fn remove(&self, id: &ArtifactId) -> Result<Removed> {
        // Where the file system ignores case, what stands under this name may be another session's or call's. What is
        // damaged, or from a newer version, can be removed by its very name.
        let exact = match self.open_recall(&id.clone().into()) {
            Ok(recalled) => recalled.artifact().unwrap_or(id).clone(),
            Err(StoreError::Damaged { .. } | StoreError::Newer { .. }) => id.clone(),
            Err(error) => return Err(error),
        };
        let id = &exact;
        let Some(entry) = self.backend().head(&Record::Text(id.clone()).key())? else {
            return Err(self.missing(id.clone().into())?);
        };
        let meta = self.backend().head(&Record::Meta(id.clone()).key())?;
        self.remove_artifact_records(id)?;
        let bytes = entry.size + meta.map_or(0, |entry| entry.size);
        Ok(Removed { artifacts: vec![id.clone()], archived: 0, bytes })
    }

    /// Removes everything of a session: its tool results, and the archive of its compactions. A note stays that it was
    /// there.
    ///
    /// A session that is not there is none to remove: the answer then says that nothing was.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Store, StoreError};
    ///
    /// # let store = Store::memory();
    /// # let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    /// # let now = SystemTime::now();
    /// # let result = NewResult { session: &session, call: &call, content: b"12345", tool: None, arguments: None,
    /// #     kind: None, now };
    /// # store.put_result(&result, |_, _| None)?;
    /// let removed = store.remove_session(&session, now)?;
    /// assert_eq!(removed.artifacts.len(), 1);
    /// assert!(matches!(store.recall(&"s1/c1".parse()?), Err(StoreError::Pruned { .. })));
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// What the backend reports.
    pub fn remove_session(&self, session: &SessionId, now: SystemTime) -> Result<Removed> {
        let (results, epochs) = (Folder::ResultsOf(session.clone()), Folder::EpochsOf(session.clone()));
        let held = SessionUse::of(session.clone(), &self.backend().list(&results)?);
        let others = self.of_others(session)?;
        let is_ours = |record: Option<Record>| match record {
            Some(Record::Text(id) | Record::Meta(id)) => !others.results.contains(&id),
            Some(Record::Body(id) | Record::Epoch(id) | Record::Replayed { epoch: id, .. }) => {
                !others.epochs.contains(&id.plain())
            }
            _ => true,
        };
        let artifacts: Vec<ArtifactId> = held
            .artifacts
            .iter()
            .map(|artifact| &artifact.id)
            .filter(|id| !others.results.contains(id))
            .cloned()
            .collect();
        let archived = self.backend().list(&epochs)?.records;
        let archived = archived.iter().filter(|entry| is_ours(entry.key.record())).count();
        if !artifacts.is_empty() || archived > 0 {
            self.bury(
                &Chosen {
                    session: session.clone(),
                    why: Why::Asked,
                    bytes: held.bytes,
                    artifacts: artifacts.clone(),
                    whole: true,
                    changed: held.changed,
                },
                now,
            )?;
        }
        let (_, results_bytes) = self.remove_records(&results, is_ours)?;
        let (archived, epochs_bytes) = self.remove_records(&epochs, is_ours)?;
        for folder in [results, epochs] {
            self.backend().remove_folder(&folder, now)?;
        }
        Ok(Removed { artifacts, archived, bytes: results_bytes + epochs_bytes })
    }
}

/// Counts the bytes of what was removed.
fn freed(removed: &Selection, inventory: &Inventory) -> u64 {
    let results: u64 = removed.sessions.iter().map(|chosen| chosen.bytes).sum();
    let bodies = inventory.archives.iter().flat_map(|archive| &archive.bodies);
    results + bodies.filter(|body| removed.bodies.contains(&body.id)).map(|body| body.bytes).sum::<u64>()
}

/// Takes what was removed out of a listing.
fn take_away(inventory: &mut Inventory, removed: &Selection) {
    for chosen in &removed.sessions {
        if let Some(held) = inventory.sessions.iter_mut().find(|held| held.session == chosen.session) {
            held.bytes = held.bytes.saturating_sub(chosen.bytes);
            let gone: HashSet<&ArtifactId> = chosen.artifacts.iter().collect();
            held.artifacts.retain(|artifact| !gone.contains(&artifact.id));
        }
    }
    let gone = |session: &SessionId| removed.sessions.iter().any(|chosen| chosen.whole && chosen.session == *session);
    inventory.sessions.retain(|held| !gone(&held.session));
    for archive in &mut inventory.archives {
        for body in archive.bodies.iter().filter(|body| removed.bodies.contains(&body.id)) {
            archive.bytes = archive.bytes.saturating_sub(body.bytes);
        }
        archive.bodies.retain(|body| !removed.bodies.contains(&body.id));
        archive.replays.retain(|replay| !removed.replays.contains(replay));
    }
    inventory.tombstones.retain(|tombstone| !removed.tombstones.contains(&tombstone.session));
}
