//! Reading an archived document: its chunks from wherever they stand, each verified before it is given.
//!
//! The form of the file is described in `manifest.rs`.

use std::ops::Range;

use plimsoll::id::{ArtifactId, EpochId, Key, Record, SessionId};

use crate::backend::Backend;
use crate::error::{Result, StoreError};
use crate::manifest::{Chunk, Head, Manifest};

/// What is read first: for documents of up to some 20 MB the whole manifest.
const FIRST_READ: u64 = 32 * 1024;
/// At most this much is read at a time, in bytes, unless one chunk is larger.
const READ_AT_ONCE: u64 = 1 << 20;

/// An archived document, opened: its manifest is read and sound; its chunks are verified as they are read.
#[derive(Debug)]
pub struct ArchivedDocument<'s> {
    backend: &'s dyn Backend,
    id: EpochId,
    manifest: Manifest,
    /// Where the chunks begin in this body's file.
    chunks_at: u64,
}

impl<'s> ArchivedDocument<'s> {
    /// Opens a body; `None` if there is none by that id.
    pub(crate) fn open(backend: &'s dyn Backend, id: &EpochId) -> Result<Option<Self>> {
        let key = Record::Body(id.clone()).key();
        let Some(first) = read_one(backend, &key, 0..FIRST_READ)? else {
            return Ok(None);
        };
        let head = Head::parse(&first, &key)?;
        let within = |range: &Range<u64>| -> Option<Range<usize>> {
            Some(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
        };
        let json = match within(&head.json).and_then(|range| first.get(range)) {
            Some(json) => json.to_vec(),
            None => match read_one(backend, &key, head.json.clone())? {
                Some(json) => json,
                None => return Ok(None),
            },
        };
        let damaged = |detail: String| StoreError::damaged(format!("the manifest of {id}"), &key, detail);
        let found = blake3::hash(&json).to_hex();
        if found.as_str() != head.blake3 {
            return Err(damaged(format!("BLAKE3 {} expected, {found} found", head.blake3)));
        }
        let manifest: Manifest = serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))?;
        manifest.check(id).map_err(damaged)?;
        // On a file system that ignores case, this is what stands under another session's name.
        if SessionId::new(&manifest.session) != *id.session() {
            return Ok(None);
        }
        Ok(Some(Self { backend, id: id.clone(), manifest, chunks_at: head.json.end + 1 }))
    }

    /// Gives the id of this body.
    pub fn id(&self) -> &EpochId {
        &self.id
    }

    /// Gives the document's size in bytes.
    pub fn size(&self) -> u64 {
        self.manifest.size
    }

    /// Gives BLAKE3 of the document, in hex.
    pub fn blake3(&self) -> &str {
        &self.manifest.blake3
    }

    /// Gives the byte ranges of the document that the compaction removed, in order.
    pub fn removed(&self) -> Vec<Range<u64>> {
        self.manifest.removed.iter().map(|(start, end)| *start..*end).collect()
    }

    /// Gives the bodies that this one borrows chunks from: they must be kept as long as this one is.
    pub fn lenders(&self) -> &[EpochId] {
        &self.manifest.lenders
    }

    /// Gives the tool results that the epoch names: they must be kept as long as this body is.
    pub fn artifacts(&self) -> &[ArtifactId] {
        &self.manifest.artifacts
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(crate) fn chunks_at(&self) -> u64 {
        self.chunks_at
    }

    /// Reads a range of bytes, cut to what there is. Every chunk it touches is verified against its hash.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] names the chunk, its bytes in the document, and the file it was read from.
    pub fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        let mut start: u64 = 0;
        let mut wanted = Vec::new();
        for (number, chunk) in self.manifest.chunks.iter().enumerate() {
            if start < range.end && start + chunk.2 > range.start {
                wanted.push((number, start));
            }
            start += chunk.2;
        }
        for batch in self.batches(&wanted) {
            for ((_, start), content) in batch.iter().zip(self.read_batch(batch)?) {
                let within =
                    |at: u64| usize::try_from(at.saturating_sub(*start)).unwrap_or(usize::MAX).min(content.len());
                out.extend_from_slice(content.get(within(range.start)..within(range.end)).unwrap_or(&[]));
            }
        }
        Ok(out)
    }

    /// Gives the whole document piece by piece, about 1 MiB at a time.
    ///
    /// Every byte is verified before it is given; after the last piece the hash of the whole is compared, and what does
    /// not match is an error in place of a further piece. An error ends the pieces.
    pub fn pieces(&self) -> impl Iterator<Item = Result<Vec<u8>>> + '_ {
        let mut start = 0;
        let all: Vec<(usize, u64)> = self
            .manifest
            .chunks
            .iter()
            .enumerate()
            .map(|(number, chunk)| {
                let at = start;
                start += chunk.2;
                (number, at)
            })
            .collect();
        let batches: Vec<Vec<(usize, u64)>> = self.batches(&all).map(<[_]>::to_vec).collect();
        let mut batches = batches.into_iter();
        let mut hasher = Some(blake3::Hasher::new());
        std::iter::from_fn(move || {
            let Some(batch) = batches.next() else {
                let found = hasher.take()?.finalize().to_hex();
                let matches = found.as_str() == self.manifest.blake3;
                return (!matches).then(|| {
                    Err(self.damaged(&self.id, format!("BLAKE3 {} expected, {found} found", self.manifest.blake3)))
                });
            };
            let hashing = hasher.as_mut()?;
            let piece = self.read_batch(&batch).map(|contents| contents.concat());
            match &piece {
                Ok(bytes) => {
                    hashing.update(bytes);
                }
                Err(_) => hasher = None,
            }
            Some(piece)
        })
    }

    /// Splits chunks into runs that stand one after the other in one file.
    fn batches<'a>(&'a self, chunks: &'a [(usize, u64)]) -> impl Iterator<Item = &'a [(usize, u64)]> {
        let chunk = |number: usize| self.manifest.chunks.get(number);
        let mut size = 0;
        chunks.chunk_by(move |(one, _), (next, _)| {
            let (Some(one), Some(next)) = (chunk(*one), chunk(*next)) else {
                return false;
            };
            size += one.2;
            let together = one.0 == next.0 && one.1.checked_add(one.2) == Some(next.1) && size < READ_AT_ONCE;
            if !together {
                size = 0;
            }
            together
        })
    }

    fn damaged(&self, holder: &EpochId, detail: String) -> StoreError {
        StoreError::damaged(format!("the archived document {}", self.id), &Record::Body(holder.clone()).key(), detail)
    }

    /// Reads and verifies chunks that stand one after the other in one file.
    fn read_batch(&self, batch: &[(usize, u64)]) -> Result<Vec<Vec<u8>>> {
        let chunks: Vec<(&Chunk, usize, u64)> = batch
            .iter()
            .filter_map(|(number, start)| self.manifest.chunks.get(*number).map(|chunk| (chunk, *number, *start)))
            .collect();
        let Some((first, ..)) = chunks.first() else {
            return Ok(Vec::new());
        };
        let (holder, base) = match first.0.checked_sub(1).and_then(|lender| self.manifest.lenders.get(lender)) {
            Some(lender) => (lender, 0),
            None => (&self.id, self.chunks_at),
        };
        let ranges: Vec<Range<u64>> =
            chunks.iter().map(|(chunk, ..)| base + chunk.1..base + chunk.1 + chunk.2).collect();
        let contents = self.backend.get_ranges(&Record::Body(holder.clone()).key(), &ranges)?;
        let all = self.manifest.chunks.len();
        let contents = contents.ok_or_else(|| {
            let (chunk, number, start) = (first, batch.first().map_or(0, |b| b.0), batch.first().map_or(0, |b| b.1));
            let end = start + chunk.2;
            self.damaged(
                holder,
                format!("chunk {} of {all} (bytes {start}..{end}) is missing with its file", number + 1),
            )
        })?;
        for ((chunk, number, start), content) in chunks.iter().zip(&contents) {
            let found = blake3::hash(content).to_hex();
            if found.as_str() != chunk.3 {
                let what = format!("chunk {} of {all} (bytes {start}..{})", number + 1, start + chunk.2);
                let detail = if (content.len() as u64) < chunk.2 {
                    format!("{what} is cut short: {} B of {} B are there", content.len(), chunk.2)
                } else {
                    format!("{what} was changed: BLAKE3 {} expected, {found} found", chunk.3)
                };
                return Err(self.damaged(holder, detail));
            }
        }
        Ok(contents)
    }
}

fn read_one(backend: &dyn Backend, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
    Ok(backend.get_ranges(key, &[range])?.and_then(|contents| contents.into_iter().next()))
}
