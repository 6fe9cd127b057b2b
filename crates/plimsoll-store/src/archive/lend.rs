//! Which chunks of a document an archived body can borrow from the session's earlier ones.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use plimsoll::id::{EpochId, Folder, Record, SessionId};

use super::DAY;
use crate::backend::{Backend, Entry};
use crate::body::ArchivedDocument;
use crate::chunk;
use crate::error::Result;
use crate::manifest::Chunk;

/// How long after its last replay a body lends chunks: 60 days.
///
/// Shorter than [`KEEP_BODY`](super::KEEP_BODY) by more than any writer takes, so that none can borrow from a body that is just being
/// removed.
pub const LEND_BODY: Duration = Duration::from_secs(60 * DAY);
/// How many bodies, the latest used first, are asked for chunks. In a growing history the last one has them all.
const LENDERS: usize = 4;
/// How many borrowed chunks are read back at a time.
const COMPARED_AT_ONCE: usize = 16;

/// Where a chunk stands: in which body, from which byte of its file, how many bytes.
pub(super) type Place = (EpochId, u64, u64);

/// Tells for each body of a session when it was last used: created or replayed.
pub(super) fn last_uses(backend: &dyn Backend, session: &SessionId) -> Result<HashMap<EpochId, SystemTime>> {
    Ok(last_uses_in(&backend.list(&Folder::EpochsOf(session.clone()))?.records))
}

/// Tells the same from the records of the session's folder.
pub(crate) fn last_uses_in(records: &[Entry]) -> HashMap<EpochId, SystemTime> {
    let mut replayed: HashMap<EpochId, SystemTime> = HashMap::new();
    let mut uses = HashMap::new();
    for entry in records {
        match entry.key.record() {
            Some(Record::Body(id)) => {
                uses.insert(id, entry.modified);
            }
            Some(Record::Replayed { epoch, day }) => {
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(day) * DAY);
                let last = replayed.entry(epoch).or_insert(time);
                *last = time.max(*last);
            }
            _ => {}
        }
    }
    for (id, used) in &mut uses {
        *used = replayed.get(&id.plain()).map_or(*used, |replayed| *replayed.max(used));
    }
    uses
}

/// Tells whether a body last used then is safe to rely on for a good while. A time in the future counts as now.
pub(super) fn is_fresh(used: SystemTime, now: SystemTime) -> bool {
    now.duration_since(used).map_or(true, |idle| idle <= LEND_BODY)
}

/// Collects the chunks that the bodies used last, and not too long ago, hold: by hash.
pub(super) fn known_chunks(
    backend: &dyn Backend,
    uses: &HashMap<EpochId, SystemTime>,
    now: SystemTime,
) -> HashMap<String, Place> {
    let mut bodies: Vec<(SystemTime, &EpochId)> =
        uses.iter().filter(|(_, used)| is_fresh(**used, now)).map(|(id, used)| (*used, id)).collect();
    bodies.sort_by(|one, other| other.cmp(one));

    let mut known = HashMap::new();
    for (_, id) in bodies.into_iter().take(LENDERS) {
        // A body that cannot be read lends nothing; it is no reason not to archive.
        let Ok(Some(lender)) = ArchivedDocument::open(backend, id) else {
            continue;
        };
        for (hash, place) in lender.places() {
            known.entry(hash).or_insert(place);
        }
    }
    known
}

impl ArchivedDocument<'_> {
    /// Gives for each chunk its hash, and where it really stands.
    fn places(&self) -> impl Iterator<Item = (String, Place)> {
        let manifest = self.manifest();
        manifest.chunks.iter().filter_map(|Chunk(lender, offset, length, hash)| {
            let (holder, offset) = match lender.checked_sub(1) {
                Some(lender) => (manifest.lenders.get(lender)?, *offset),
                None => (self.id(), self.chunks_at() + offset),
            };
            Some((hash.clone(), (holder.clone(), offset, *length)))
        })
    }
}

/// Where the chunks of a document stand, and what of it must be written.
pub(super) struct Placed<'a> {
    pub(super) chunks: Vec<Chunk>,
    pub(super) lenders: Vec<EpochId>,
    pub(super) own: Vec<&'a [u8]>,
}

/// Decides for each chunk of a document whether it is borrowed.
pub(super) fn place_chunks<'a>(
    backend: &dyn Backend,
    document: &'a [u8],
    known: &HashMap<String, Place>,
) -> Placed<'a> {
    let cut: Vec<(&[u8], String)> =
        chunk::chunks(document).map(|bytes| (bytes, blake3::hash(bytes).to_hex().to_string())).collect();
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
            let lender = lenders.iter().position(|lender| lender == holder).unwrap_or_else(|| {
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
    Placed { chunks, lenders, own }
}

/// Reads known chunks back and tells which are still what they were.
fn compare_chunks(backend: &dyn Backend, cut: &[(&[u8], String)], known: &HashMap<String, Place>) -> Vec<bool> {
    let mut intact = vec![false; cut.len()];
    let mut by_holder: HashMap<&EpochId, Vec<(usize, Range<u64>)>> = HashMap::new();
    for (number, (bytes, hash)) in cut.iter().enumerate() {
        if let Some((holder, offset, length)) = known.get(hash).filter(|place| place.2 == bytes.len() as u64) {
            by_holder.entry(holder).or_default().push((number, *offset..offset + length));
        }
    }
    for (holder, wanted) in by_holder {
        let ranges: Vec<Range<u64>> = wanted.iter().map(|(_, range)| range.clone()).collect();
        // A lender that is gone or cannot be read lends nothing.
        let Ok(Some(contents)) = backend.get_ranges(&Record::Body(holder.clone()).key(), &ranges) else {
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
