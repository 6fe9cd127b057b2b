//! Archiving what a compaction replaces: the whole document, and then the epoch record, both durable and create-only.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use plimsoll::Bytes;
use plimsoll::id::{ArtifactId, EpochId, Folder, Record, SessionId};

use crate::backend::{Backend, Created};
use crate::body::ArchivedDocument;
use crate::error::{Result, StoreError};
use crate::manifest::{Manifest, check_ranges, render};
use crate::store::Store;

mod lend;

pub use lend::LEND_BODY;
pub(crate) use lend::last_uses_in;
use lend::{Place, Placed, is_fresh, known_chunks, last_uses, place_chunks};

/// How long after its last replay a body is kept: 90 days.
pub const KEEP_BODY: Duration = Duration::from_secs(90 * DAY);
const DAY: u64 = 24 * 60 * 60;

/// A compaction, to be archived.
#[derive(Debug, Clone, Copy)]
pub struct Compaction<'a> {
    /// The epoch; made from the raw session id, so that that can be compared.
    pub epoch: &'a EpochId,
    /// The document as it was before the compaction.
    pub document: &'a [u8],
    /// The byte ranges of the document that the compaction removes: in order, without overlap.
    pub removed: &'a [Range<u64>],
    /// The tool results that the epoch names: pruning spares them as long as the epoch lives.
    pub artifacts: &'a [ArtifactId],
    /// The epoch record: JSON, opaque here.
    pub record: &'a [u8],
    /// The present time.
    pub now: SystemTime,
}

/// What came of archiving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// What `restore` and `recall` take: the given epoch, with a suffix if its plain name has another document.
    pub epoch: EpochId,
    /// The epoch record that holds: the first that was written. Everyone uses it, whatever record they brought.
    pub record: Vec<u8>,
    /// Whether the record that holds is the one that this call brought.
    pub first: bool,
    /// How many bytes of the document were written.
    pub written: Bytes,
    /// How many bytes of it were there already.
    pub shared: Bytes,
}

impl Store {
    /// Archives a document and the record of the epoch that replaces a part of it.
    ///
    /// When it returns, both survive a loss of power, and the record never survives without the document: so the caller
    /// may write its result. The same call again, also after being killed at any moment, comes to the same end. Of
    /// several callers, in any number of processes, all get the one record that was written first.
    ///
    /// Two writes are synced: the document, and the record. Chunks that an earlier body of the session has are not
    /// written again; each is read back and compared first, so that damage there does not spread.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{EpochId, SessionId};
    /// use plimsoll_store::{Compaction, Store};
    ///
    /// let store = Store::memory();
    /// let epoch = EpochId::new(&SessionId::new("s1"), &[7; 32]);
    /// let archived = store.archive(&Compaction {
    ///     epoch: &epoch,
    ///     document: b"old and new",
    ///     removed: &[0..4],
    ///     artifacts: &[],
    ///     record: br#"{"summary":"..."}"#,
    ///     now: SystemTime::now(),
    /// })?;
    /// assert!(archived.first);
    /// let document = store.document(&archived.epoch)?;
    /// assert_eq!(document.pieces().collect::<Result<Vec<_>, _>>()?.concat(), b"old and new");
    /// assert_eq!(store.recall(&archived.epoch.into())?, b"old ");
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// [`StoreError::Ranges`] if the removed ranges are none of the document, and what the backend reports: nothing may
    /// be written in the document's place then.
    pub fn archive(&self, compaction: &Compaction<'_>) -> Result<Archived> {
        let body = self.archive_body(compaction)?;
        let (record, first) = self.record_epoch(&body.epoch, compaction.record)?;
        Ok(Archived { record, first, ..body })
    }

    /// Archives the document of a compaction alone: nothing is decided by that yet. Its record is not looked at.
    ///
    /// [`Archived::epoch`] is the recall id of what is archived, for the text that is to name it;
    /// [`record_epoch`](Self::record_epoch) makes it a decision. A document that is never recorded expires like any other.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{EpochId, SessionId};
    /// use plimsoll_store::{Compaction, Store};
    ///
    /// let store = Store::memory();
    /// let epoch = EpochId::new(&SessionId::new("s1"), &[7; 32]);
    /// let now = SystemTime::now();
    /// let body = store.archive_body(&Compaction {
    ///     epoch: &epoch, document: b"old and new", removed: &[0..4], artifacts: &[], record: b"", now,
    /// })?;
    /// assert_eq!(store.epoch_record(&epoch)?, None);
    /// let record = format!(r#"{{"summary":"...","artifact":"{}"}}"#, body.epoch);
    /// let (holds, first) = store.record_epoch(&epoch, record.as_bytes())?;
    /// assert!(first && holds == record.as_bytes());
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// As [`archive`](Self::archive).
    pub fn archive_body(&self, compaction: &Compaction<'_>) -> Result<Archived> {
        write_body(self.backend(), compaction)
    }

    /// Records an epoch whose document is archived, and gives the record that holds: the first that was written, and
    /// whether that is this one. Everyone uses it, whatever record they brought.
    ///
    /// # Errors
    /// What the backend reports: nothing is decided then.
    pub fn record_epoch(&self, epoch: &EpochId, record: &[u8]) -> Result<(Vec<u8>, bool)> {
        let key = Record::Epoch(epoch.clone()).key();
        // The loop is for a record that is pruned between being met and being read.
        loop {
            let created = self.backend().create(&key, &[record])?;
            if created != Created::Different {
                return Ok((record.to_vec(), created == Created::New));
            }
            if let Some(record) = self.backend().get(&key)? {
                return Ok((record, false));
            }
        }
    }

    /// Lists the epochs of a session that are recorded, by their plain names; opens nothing.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn epochs(&self, session: &SessionId) -> Result<Vec<EpochId>> {
        let records = self.backend().list(&Folder::EpochsOf(session.clone()))?.records;
        let recorded = records.into_iter().filter_map(|entry| match entry.key.record() {
            Some(Record::Epoch(epoch)) => Some(epoch),
            _ => None,
        });
        Ok(recorded.collect())
    }

    /// Reads the record of an epoch; `None` if there is none.
    pub fn epoch_record(&self, epoch: &EpochId) -> Result<Option<Vec<u8>>> {
        self.backend().get(&Record::Epoch(epoch.clone()).key())
    }

    /// Notes that an epoch was replayed, so that its bodies are kept for [`KEEP_BODY`] from then on.
    ///
    /// At most one small record a day is written.
    pub fn mark_replayed(&self, epoch: &EpochId, now: SystemTime) -> Result<()> {
        let record = Record::Replayed { epoch: epoch.clone(), day: day_of(now) };
        self.backend().create(&record.key(), &[]).map(drop)
    }

    /// Opens the document that was archived for an epoch.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] or [`StoreError::Pruned`] if it is not there, [`StoreError::Damaged`] if its manifest is
    /// not as written.
    pub fn document(&self, epoch: &EpochId) -> Result<ArchivedDocument<'_>> {
        match ArchivedDocument::open(self.backend(), epoch)? {
            Some(document) => Ok(document),
            None => Err(self.missing(epoch.clone().into())?),
        }
    }
}

fn day_of(time: SystemTime) -> u32 {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    u32::try_from(seconds / DAY).unwrap_or(u32::MAX)
}

/// Writes the document, or finds it written; everything of the answer but the record is final.
fn write_body(backend: &dyn Backend, compaction: &Compaction<'_>) -> Result<Archived> {
    let size = compaction.document.len() as u64;
    let ranges: Vec<(u64, u64)> = compaction.removed.iter().map(|range| (range.start, range.end)).collect();
    check_ranges(&ranges, size).map_err(|(start, end)| StoreError::Ranges { start, end, size: Bytes(size) })?;

    let uses = last_uses(backend, compaction.epoch.session())?;
    let known = known_chunks(backend, &uses, compaction.now);
    if let Some(archived) = try_body(backend, compaction, &uses, &known)? {
        return Ok(archived);
    }
    // A lender was removed by hand in the meantime: nothing is borrowed then.
    match try_body(backend, compaction, &uses, &HashMap::new())? {
        Some(archived) => Ok(archived),
        None => Err(StoreError::Taken { place: Record::Body(compaction.epoch.clone()).key().to_string() }),
    }
}

/// Writes the document, borrowing from what is known; `None` if a lender was gone when that was done.
fn try_body(
    backend: &dyn Backend,
    compaction: &Compaction<'_>,
    uses: &HashMap<EpochId, SystemTime>,
    known: &HashMap<String, Place>,
) -> Result<Option<Archived>> {
    let Compaction { epoch, document, now, .. } = *compaction;
    let Placed { chunks, lenders, own } = place_chunks(backend, document, known);
    let manifest = Manifest {
        session: epoch.session().raw_or_name().to_owned(),
        size: document.len() as u64,
        blake3: blake3::hash(document).to_hex().to_string(),
        removed: compaction.removed.iter().map(|range| (range.start, range.end)).collect(),
        artifacts: compaction.artifacts.to_vec(),
        lenders,
        chunks,
    };
    let head = render(&manifest).map_err(|error| StoreError::Io {
        action: "write the manifest of",
        path: epoch.to_string().into(),
        source: error.into(),
    })?;
    let own_size: u64 = own.iter().map(|part| part.len() as u64).sum();
    let parts: Vec<&[u8]> = std::iter::once(head.as_slice()).chain(own).collect();

    let today = day_of(now);
    let names = [epoch.plain(), manifest.name(epoch, None), manifest.name(epoch, Some(today))];
    for (tried, id) in names.iter().enumerate() {
        // A body that may be removed before long is not relied on, though it has all that is asked for. The last name
        // has the day in it, so that it is never an old one.
        if tried < 2 && uses.get(id).is_some_and(|used| !is_fresh(*used, now)) {
            continue;
        }
        let answer = |written: u64| Archived {
            epoch: id.clone(),
            record: Vec::new(),
            first: false,
            written: Bytes(written),
            shared: Bytes(manifest.size - written),
        };
        match backend.create(&Record::Body(id.clone()).key(), &parts)? {
            Created::New if !all_there(backend, id, &manifest.lenders)? => {
                backend.delete(&Record::Body(id.clone()).key())?;
                return Ok(None);
            }
            Created::New => return Ok(Some(answer(own_size))),
            // The same document may stand there with other chunks borrowed. It counts only if it can be read back.
            Created::Same | Created::Different => match ArchivedDocument::open(backend, id) {
                Ok(Some(present)) if present.manifest().is_of(&manifest) && reads_as(&present, document) => {
                    backend.create(&Record::Replayed { epoch: id.plain(), day: today }.key(), &[])?;
                    return Ok(Some(answer(0)));
                }
                Ok(_) | Err(StoreError::Damaged { .. } | StoreError::Newer { .. }) => {}
                Err(error) => return Err(error),
            },
        }
    }
    Err(StoreError::Taken { place: Record::Body(epoch.clone()).key().to_string() })
}

/// Tells whether every lender is still there, and none is the borrower itself, written anew under the same name.
fn all_there(backend: &dyn Backend, borrower: &EpochId, lenders: &[EpochId]) -> Result<bool> {
    for lender in lenders {
        if lender == borrower || backend.head(&Record::Body(lender.clone()).key())?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn reads_as(archived: &ArchivedDocument<'_>, document: &[u8]) -> bool {
    let mut rest = document;
    for piece in archived.pieces() {
        match piece.ok().and_then(|piece| rest.strip_prefix(piece.as_slice())) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

impl Manifest {
    /// Names a further body of an epoch by what sets its document apart from the first one's.
    fn name(&self, epoch: &EpochId, day: Option<u32>) -> EpochId {
        let mut apart = blake3::Hasher::new();
        apart.update(self.blake3.as_bytes()).update(self.session.as_bytes());
        for (start, end) in &self.removed {
            apart.update(&start.to_le_bytes()).update(&end.to_le_bytes());
        }
        if let Some(day) = day {
            apart.update(&day.to_le_bytes());
        }
        epoch.with_body(apart.finalize().as_bytes())
    }

    /// Tells whether both are of one document, whoever holds its chunks.
    fn is_of(&self, other: &Self) -> bool {
        self.session == other.session
            && self.size == other.size
            && self.blake3 == other.blake3
            && self.removed == other.removed
    }
}

#[cfg(test)]
mod tests;
