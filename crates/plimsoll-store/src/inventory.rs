//! What a store holds, from names, sizes and times alone: no record is opened, so it is quick for any number.

use std::time::SystemTime;

use plimsoll::id::{ArtifactId, EpochId, Folder, Key, RecallId, Record, SessionId};

use crate::archive::last_uses_in;
use crate::backend::{Listing, Refused};
use crate::body::ArchivedDocument;
use crate::error::{Result, StoreError};
use crate::recall::Recalled;
use crate::results::ResultMeta;
use crate::store::Store;

/// A stored tool result, as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactUse {
    /// Its recall id.
    pub id: ArtifactId,
    /// The size of its content in bytes.
    pub bytes: u64,
    /// When it was stored.
    pub changed: SystemTime,
}

/// The results of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionUse {
    /// The session.
    pub session: SessionId,
    /// The size of all its records in bytes, contents and metadata, and of temporary files beside them.
    pub bytes: u64,
    /// The size of temporary files in bytes: of writers at work, and of killed ones until they are swept.
    pub temporary: u64,
    /// How many foreign things stand in its folder.
    pub foreign: u64,
    /// Its artifacts, in no particular order.
    pub artifacts: Vec<ArtifactUse>,
    /// When it last changed: the newest of the times of its folder and of all that stands in it. `None` if there is
    /// nothing that has a time.
    pub changed: Option<SystemTime>,
}

/// An archived document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyUse {
    /// Its recall id.
    pub id: EpochId,
    /// The size of its file in bytes: what it does not share with another body.
    pub bytes: u64,
    /// When it was last used: archived or replayed.
    pub used: SystemTime,
    /// What it relies on, if its manifest was read and is sound.
    pub names: Option<BodyNames>,
}

/// What an archived document relies on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodyNames {
    /// The bodies that it borrows from.
    pub lenders: Vec<EpochId>,
    /// The tool results that its epoch names.
    pub artifacts: Vec<ArtifactId>,
}

/// The archive of a session's compactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveUse {
    /// The session.
    pub session: SessionId,
    /// The size of all its records in bytes: bodies, epoch records and notes.
    pub bytes: u64,
    /// Its bodies.
    pub bodies: Vec<BodyUse>,
    /// The notes of replays: epoch and day.
    pub replays: Vec<(EpochId, u32)>,
}

/// A note that a session was pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// The session.
    pub session: SessionId,
    /// When that was.
    pub pruned: SystemTime,
}

/// What a store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The sessions that have results, the one that changed last first.
    pub sessions: Vec<SessionUse>,
    /// The sessions that have an archive, by name.
    pub archives: Vec<ArchiveUse>,
    /// Notes of what was pruned, by session.
    pub tombstones: Vec<Tombstone>,
    /// What stands under names of ours, and is refused.
    pub refused: Vec<Refused>,
}

/// Everything that is known of one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The id.
    pub id: RecallId,
    /// The size in bytes of what recall gives.
    pub bytes: u64,
    /// When it was stored.
    pub changed: SystemTime,
    /// Its file on this machine, if it has one.
    pub path: Option<std::path::PathBuf>,
    /// Of a tool result: what is recorded of it. `None` if its writer was killed before that.
    pub meta: Option<ResultMeta>,
    /// Of a tool result: further contents of the same call.
    pub variants: Vec<ArtifactId>,
    /// Of an epoch: the size of the document in bytes.
    pub document_bytes: Option<u64>,
    /// Of an epoch: what it relies on.
    pub names: Option<BodyNames>,
}

impl Inventory {
    /// Gives the size of all results in bytes: what [`max_total`](crate::Quotas::max_total) is about.
    pub fn results_bytes(&self) -> u64 {
        self.sessions.iter().map(|held| held.bytes).sum()
    }

    /// Gives the size of the archive of compactions in bytes.
    pub fn archive_bytes(&self) -> u64 {
        self.archives.iter().map(|archive| archive.bytes).sum()
    }

    /// Gives every artifact, the one stored last first.
    pub fn artifacts(&self) -> Vec<&ArtifactUse> {
        let mut all: Vec<&ArtifactUse> = self.sessions.iter().flat_map(|held| &held.artifacts).collect();
        all.sort_by(|one, other| other.changed.cmp(&one.changed).then_with(|| one.id.cmp(&other.id)));
        all
    }
}

impl SessionUse {
    pub(crate) fn of(session: SessionId, listing: &Listing) -> Self {
        let (temporary, foreign) = (listing.temporary, listing.foreign + listing.refused.len() as u64);
        let changed = listing.modified;
        let mut held = Self { session, bytes: temporary, temporary, foreign, artifacts: Vec::new(), changed };
        for entry in &listing.records {
            held.bytes += entry.size;
            held.changed = held.changed.max(Some(entry.modified));
            if let Some(Record::Text(id)) = entry.key.record() {
                held.artifacts.push(ArtifactUse { id, bytes: entry.size, changed: entry.modified });
            }
        }
        held
    }
}

impl ArchiveUse {
    pub(crate) fn of(session: SessionId, listing: &Listing) -> Self {
        let uses = last_uses_in(&listing.records);
        let mut archive = Self { session, bytes: 0, bodies: Vec::new(), replays: Vec::new() };
        for entry in &listing.records {
            archive.bytes += entry.size;
            match entry.key.record() {
                Some(Record::Body(id)) => {
                    let used = uses.get(&id).copied().unwrap_or(entry.modified);
                    archive.bodies.push(BodyUse { id, bytes: entry.size, used, names: None });
                }
                Some(Record::Replayed { epoch, day }) => archive.replays.push((epoch, day)),
                _ => {}
            }
        }
        archive
    }
}

impl Store {
    /// Lists what the store holds, without opening a record: for `store ls` and `store du`.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Store};
    ///
    /// # let store = Store::memory();
    /// # let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    /// # store.put_result(&NewResult { session: &session, call: &call, content: b"12345", tool: None, arguments: None,
    /// #     kind: None, now: SystemTime::now() }, |_, _| None)?;
    /// let inventory = store.inventory()?;
    /// let listed: Vec<_> = inventory.artifacts().iter().map(|a| format!("{} {}", a.id, a.bytes)).collect();
    /// assert_eq!(listed, ["s1/c1 5"]);
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// What the backend reports of the first folder that cannot be listed.
    pub fn inventory(&self) -> Result<Inventory> {
        self.inventory_of(None)
    }

    /// Lists what the store holds of one session, or of all.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn inventory_of(&self, session: Option<&SessionId>) -> Result<Inventory> {
        let mut errors = Vec::new();
        let inventory = self.take_stock(session, &mut errors);
        match errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(inventory),
        }
    }

    /// Lists the results of one session; an unknown one has none.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn session_use(&self, session: &SessionId) -> Result<SessionUse> {
        let listing = self.backend().list(&Folder::ResultsOf(session.clone()))?;
        Ok(SessionUse::of(session.clone(), &listing))
    }

    /// Lists what can be listed, and collects what is in the way.
    pub(crate) fn take_stock(&self, session: Option<&SessionId>, errors: &mut Vec<StoreError>) -> Inventory {
        let backend = self.backend();
        let only = session;
        let mut refused = Vec::new();
        let mut list = |folder: &Folder| {
            let listing = backend.list(folder).map_err(|error| errors.push(error)).unwrap_or_default();
            refused.extend_from_slice(&listing.refused);
            listing
        };
        let mut inventory = Inventory::default();
        for session in only.map_or_else(|| list(&Folder::Results).sessions, |only| vec![only.clone()]) {
            let listing = list(&Folder::ResultsOf(session.clone()));
            inventory.sessions.push(SessionUse::of(session, &listing));
        }
        for session in only.map_or_else(|| list(&Folder::Epochs).sessions, |only| vec![only.clone()]) {
            let listing = list(&Folder::EpochsOf(session.clone()));
            inventory.archives.push(ArchiveUse::of(session, &listing));
        }
        for entry in list(&Folder::Pruned).records {
            if let Some(Record::Pruned(session)) = entry.key.record() {
                inventory.tombstones.push(Tombstone { session, pruned: entry.modified });
            }
        }
        refused.sort_by(|one, other| one.path.cmp(&other.path));
        inventory.refused = refused;
        inventory
            .sessions
            .sort_by(|one, other| other.changed.cmp(&one.changed).then_with(|| one.session.cmp(&other.session)));
        inventory.archives.sort_by(|one, other| one.session.cmp(&other.session));
        inventory.tombstones.sort_by(|one, other| one.session.cmp(&other.session));
        inventory
    }

    /// Reads what a body relies on; `None` if it is gone.
    pub(crate) fn body_names(&self, id: &EpochId) -> Result<Option<BodyNames>> {
        Ok(ArchivedDocument::open(self.backend(), id)?.map(|document| BodyNames {
            lenders: document.lenders().to_vec(),
            artifacts: document.artifacts().to_vec(),
        }))
    }

    /// Gives everything that is known of an id, but its content.
    ///
    /// # Errors
    /// As [`recall`](Self::recall).
    pub fn show(&self, id: &RecallId) -> Result<Shown> {
        let recalled = self.open_recall(id)?;
        let key = recalled.key();
        let Some(entry) = self.backend().head(&key)? else {
            return Err(self.missing(id.clone())?);
        };
        let mut shown = Shown {
            id: id.clone(),
            bytes: recalled.size(),
            changed: entry.modified,
            path: self.backend().path(&key),
            meta: None,
            variants: Vec::new(),
            document_bytes: None,
            names: None,
        };
        match id {
            RecallId::Artifact(plain) => {
                let exact = recalled.artifact().unwrap_or(plain);
                shown.meta = self.result_meta(exact)?;
                shown.variants = self.variants(plain)?;
            }
            RecallId::Epoch(epoch) => {
                let document = self.document(epoch)?;
                shown.document_bytes = Some(document.size());
                shown.names = Some(BodyNames {
                    lenders: document.lenders().to_vec(),
                    artifacts: document.artifacts().to_vec(),
                });
            }
        }
        Ok(shown)
    }
}

impl Recalled<'_> {
    /// Gives the key of the record that is read.
    pub(crate) fn key(&self) -> Key {
        match (self.artifact(), self.id()) {
            (Some(artifact), _) | (None, RecallId::Artifact(artifact)) => Record::Text(artifact.clone()).key(),
            (None, RecallId::Epoch(epoch)) => Record::Body(epoch.clone()).key(),
        }
    }
}
