//! Archiving what a compaction replaces: the whole document, and then the epoch record, both durable and create-only.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use plimsoll::Bytes;
use plimsoll::id::{EpochId, Record};

use crate::backend::{Backend, Created};
use crate::body::ArchivedDocument;
use crate::error::{Result, StoreError};
use crate::manifest::{Manifest, check_ranges, render};
use crate::store::Store;

mod lend;

pub use lend::LEND_BODY;
use lend::{Placed, known_chunks, place_chunks};

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
        let backend = self.backend();
        let body = write_body(backend, compaction)?;
        let key = Record::Epoch(body.epoch.clone()).key();
        // The loop is for a record that is pruned between being met and being read.
        loop {
            let created = backend.create(&key, &[compaction.record])?;
            if created != Created::Different {
                let (record, first) = (compaction.record.to_vec(), created == Created::New);
                return Ok(Archived {
                    record,
                    first,
                    ..body
                });
            }
            if let Some(record) = backend.get(&key)? {
                return Ok(Archived {
                    record,
                    first: false,
                    ..body
                });
            }
        }
    }

    /// Reads the record of an epoch; `None` if there is none.
    pub fn epoch_record(&self, epoch: &EpochId) -> Result<Option<Vec<u8>>> {
        self.backend().get(&Record::Epoch(epoch.clone()).key())
    }

    /// Notes that an epoch was replayed, so that its bodies are kept for [`KEEP_BODY`] from then on.
    ///
    /// At most one small record a day is written.
    pub fn mark_replayed(&self, epoch: &EpochId, now: SystemTime) -> Result<()> {
        let record = Record::Replayed {
            epoch: epoch.clone(),
            day: day_of(now),
        };
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
    let seconds = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    u32::try_from(seconds / DAY).unwrap_or(u32::MAX)
}

/// Writes the document, or finds it written; everything of the answer but the record is final.
fn write_body(backend: &dyn Backend, compaction: &Compaction<'_>) -> Result<Archived> {
    let Compaction {
        epoch, document, ..
    } = compaction;
    let size = document.len() as u64;
    let removed: Vec<(u64, u64)> = compaction
        .removed
        .iter()
        .map(|range| (range.start, range.end))
        .collect();
    check_ranges(&removed, size).map_err(|(start, end)| StoreError::Ranges {
        start,
        end,
        size: Bytes(size),
    })?;

    let hash = blake3::hash(document);
    let session = epoch.session().raw_or_name().to_owned();
    let mut apart = blake3::Hasher::new();
    apart.update(hash.as_bytes()).update(session.as_bytes());
    for (start, end) in &removed {
        apart
            .update(&start.to_le_bytes())
            .update(&end.to_le_bytes());
    }

    let known = known_chunks(backend, epoch.session(), compaction.now)?;
    let Placed {
        chunks,
        lenders,
        own,
    } = place_chunks(backend, document, &known);
    let blake3 = hash.to_hex().to_string();
    let manifest = Manifest {
        session,
        size,
        blake3,
        removed,
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

    for id in [epoch.plain(), epoch.with_body(apart.finalize().as_bytes())] {
        let key = Record::Body(id.clone()).key();
        let answer = |written: u64| Archived {
            epoch: id.clone(),
            record: Vec::new(),
            first: false,
            written: Bytes(written),
            shared: Bytes(size - written),
        };
        match backend.create(&key, &parts)? {
            Created::New => return Ok(answer(own_size)),
            Created::Same => return Ok(answer(0)),
            // The same document may stand there with other chunks borrowed. It counts only if it can be read back.
            Created::Different => match ArchivedDocument::open(backend, &id) {
                Ok(Some(present))
                    if present.manifest().is_of(&manifest) && reads_as(&present, document) =>
                {
                    let record = Record::Replayed {
                        epoch: id.plain(),
                        day: day_of(compaction.now),
                    };
                    backend.create(&record.key(), &[])?;
                    return Ok(answer(0));
                }
                Ok(_) | Err(StoreError::Damaged { .. } | StoreError::Newer { .. }) => {}
                Err(error) => return Err(error),
            },
        }
    }
    Err(StoreError::Taken {
        place: Record::Body((*epoch).clone()).key().to_string(),
    })
}

fn reads_as(archived: &ArchivedDocument<'_>, document: &[u8]) -> bool {
    let mut rest = document;
    for piece in archived.pieces() {
        match piece
            .ok()
            .and_then(|piece| rest.strip_prefix(piece.as_slice()))
        {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

impl Manifest {
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
