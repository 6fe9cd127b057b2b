//! Archiving what a compaction replaces: the whole document, and then the epoch record, both durable and create-only.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use plimsoll::Bytes;
use plimsoll::id::{EpochId, Folder, Record};

use crate::backend::{Backend, Created};
use crate::body::{ArchivedDocument, Chunk, Manifest, check_ranges, render};
use crate::chunk;
use crate::error::{Result, StoreError};
use crate::store::Store;

/// How long after its last replay a body is kept: 90 days.
pub const KEEP_BODY: Duration = Duration::from_secs(90 * DAY);
/// How long after its last replay a body lends chunks: 60 days.
///
/// Shorter than [`KEEP_BODY`] by more than any writer takes, so that none can borrow from a body that is just being
/// removed.
pub const LEND_BODY: Duration = Duration::from_secs(60 * DAY);
/// How many bodies, the latest used first, are asked for chunks. In a growing history the last one has them all.
const LENDERS: usize = 4;
/// How many borrowed chunks are read back at a time.
const COMPARED_AT_ONCE: usize = 16;

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

    let known = known_chunks(backend, compaction)?;
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

/// Where a chunk stands: in which body, from which byte of its file, how many bytes.
type Place = (EpochId, u64, u64);

/// Collects the chunks that recent bodies of the session hold, by hash.
fn known_chunks(
    backend: &dyn Backend,
    compaction: &Compaction<'_>,
) -> Result<HashMap<String, Place>> {
    let mut used: HashMap<EpochId, SystemTime> = HashMap::new();
    let mut bodies = Vec::new();
    for entry in backend
        .list(&Folder::EpochsOf(compaction.epoch.session().clone()))?
        .records
    {
        match entry.key.record() {
            Some(Record::Body(id)) => bodies.push((entry.modified, id)),
            Some(Record::Replayed { epoch, day }) => {
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(day) * DAY);
                let last = used.entry(epoch).or_insert(time);
                *last = time.max(*last);
            }
            _ => {}
        }
    }
    for (time, id) in &mut bodies {
        *time = used
            .get(&id.plain())
            .copied()
            .map_or(*time, |replayed| replayed.max(*time));
    }
    // A time in the future counts as now.
    bodies.retain(|(time, _)| {
        compaction
            .now
            .duration_since(*time)
            .map_or(true, |idle| idle <= LEND_BODY)
    });
    bodies.sort_by(|one, other| other.cmp(one));

    let mut known = HashMap::new();
    for (_, id) in bodies.into_iter().take(LENDERS) {
        // A body that cannot be read lends nothing; it is no reason not to archive.
        let Ok(Some(lender)) = ArchivedDocument::open(backend, &id) else {
            continue;
        };
        for (hash, place) in lender.places() {
            known.entry(hash).or_insert(place);
        }
    }
    Ok(known)
}

impl ArchivedDocument<'_> {
    /// Gives for each chunk its hash, and where it really stands.
    fn places(&self) -> impl Iterator<Item = (String, Place)> {
        let manifest = self.manifest();
        manifest
            .chunks
            .iter()
            .filter_map(|Chunk(lender, offset, length, hash)| {
                let (holder, offset) = match lender.checked_sub(1) {
                    Some(lender) => (manifest.lenders.get(lender)?, *offset),
                    None => (self.id(), self.chunks_at() + offset),
                };
                Some((hash.clone(), (holder.clone(), offset, *length)))
            })
    }
}

/// Where the chunks of a document stand, and what of it must be written.
struct Placed<'a> {
    chunks: Vec<Chunk>,
    lenders: Vec<EpochId>,
    own: Vec<&'a [u8]>,
}

/// Decides for each chunk of a document whether it is borrowed.
fn place_chunks<'a>(
    backend: &dyn Backend,
    document: &'a [u8],
    known: &HashMap<String, Place>,
) -> Placed<'a> {
    let cut: Vec<(&[u8], String)> = chunk::chunks(document)
        .map(|bytes| (bytes, blake3::hash(bytes).to_hex().to_string()))
        .collect();
    let mut borrowed: Vec<bool> = Vec::with_capacity(cut.len());
    for some in cut.chunks(COMPARED_AT_ONCE) {
        borrowed.extend(compare_chunks(backend, some, known));
    }

    let mut chunks = Vec::with_capacity(cut.len());
    let mut lenders: Vec<EpochId> = Vec::new();
    let mut own: Vec<&[u8]> = Vec::new();
    let mut own_places: HashMap<&str, u64> = HashMap::new();
    let mut own_size: u64 = 0;
    for ((bytes, hash), borrowed) in cut.iter().zip(borrowed) {
        let length = bytes.len() as u64;
        if let Some((holder, offset, _)) = known.get(hash).filter(|_| borrowed) {
            let lender = lenders
                .iter()
                .position(|lender| lender == holder)
                .unwrap_or_else(|| {
                    lenders.push(holder.clone());
                    lenders.len() - 1
                });
            chunks.push(Chunk(lender + 1, *offset, length, hash.clone()));
            continue;
        }
        let offset = *own_places.entry(hash).or_insert_with(|| {
            own.push(bytes);
            own_size += length;
            own_size - length
        });
        chunks.push(Chunk(0, offset, length, hash.clone()));
    }
    Placed {
        chunks,
        lenders,
        own,
    }
}

/// Reads known chunks back and tells which are still what they were.
fn compare_chunks(
    backend: &dyn Backend,
    cut: &[(&[u8], String)],
    known: &HashMap<String, Place>,
) -> Vec<bool> {
    let mut intact = vec![false; cut.len()];
    let mut by_holder: HashMap<&EpochId, Vec<(usize, Range<u64>)>> = HashMap::new();
    for (number, (bytes, hash)) in cut.iter().enumerate() {
        if let Some((holder, offset, length)) = known
            .get(hash)
            .filter(|place| place.2 == bytes.len() as u64)
        {
            by_holder
                .entry(holder)
                .or_default()
                .push((number, *offset..offset + length));
        }
    }
    for (holder, wanted) in by_holder {
        let ranges: Vec<Range<u64>> = wanted.iter().map(|(_, range)| range.clone()).collect();
        // A lender that is gone or cannot be read lends nothing.
        let Ok(Some(contents)) = backend.get_ranges(&Record::Body(holder.clone()).key(), &ranges)
        else {
            continue;
        };
        for ((number, _), content) in wanted.iter().zip(contents) {
            if let (Some(intact), Some((bytes, _))) = (intact.get_mut(*number), cut.get(*number)) {
                *intact = content == *bytes;
            }
        }
    }
    intact
}

#[cfg(test)]
mod tests;
