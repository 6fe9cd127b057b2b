//! The file form of an archived document: a manifest, and those chunks that no earlier body of the session has.
//!
//! ```text
//! plimsoll body 1 <length of the manifest in bytes> <its BLAKE3, 64 hex digits> LF
//! <manifest, JSON> LF
//! <chunks>
//! ```
//!
//! A body is one file, so it is there whole or not at all, for one sync. It borrows the chunks it shares with earlier
//! bodies by naming file, offset, length and hash of each, flat: a borrower names the file that really holds the bytes.
//! Why so: `docs/design/0002-archive.md`.

use std::ops::Range;

use plimsoll::id::{ArtifactId, EpochId, Key};
use serde::{Deserialize, Serialize};

use crate::chunk;
use crate::error::{Result, StoreError};

/// The form that this version writes, and the newest it reads.
const FORM: u32 = 1;
const MAGIC: &str = "plimsoll body ";
/// No manifest is larger: that of a document of some 200 GB would be.
const LARGEST_MANIFEST: u64 = 256 << 20;
/// What a document is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The raw id of the session, compared on reading.
    pub(crate) session: String,
    /// The document's size in bytes.
    pub(crate) size: u64,
    /// BLAKE3 of the document, hex.
    pub(crate) blake3: String,
    /// The byte ranges that the compaction removed, in order: start, end.
    pub(crate) removed: Vec<(u64, u64)>,
    /// The tool results that the epoch names.
    pub(crate) artifacts: Vec<ArtifactId>,
    /// The bodies that chunks are borrowed from.
    pub(crate) lenders: Vec<EpochId>,
    /// The chunks, in order.
    pub(crate) chunks: Vec<Chunk>,
}

/// One chunk: lender (0 is this body, n the n-th of `lenders`), offset, length, BLAKE3 in hex.
///
/// An offset counts from the start of the lender's file; in this body, from the start of its chunks, since the length
/// of the manifest is not known while it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chunk(pub(crate) usize, pub(crate) u64, pub(crate) u64, pub(crate) String);

/// Renders what stands before the chunks.
pub(crate) fn render(manifest: &Manifest) -> std::result::Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(manifest)?;
    let mut head = format!("{MAGIC}{FORM} {} {}\n", json.len(), blake3::hash(&json).to_hex()).into_bytes();
    head.extend_from_slice(&json);
    head.push(b'\n');
    Ok(head)
}

/// Where the manifest stands in the file, and what it hashes to.
pub(crate) struct Head {
    pub(crate) json: Range<u64>,
    pub(crate) blake3: String,
}

impl Head {
    pub(crate) fn parse(first: &[u8], place: &Key) -> Result<Self> {
        let damaged = || StoreError::damaged("an archived document", place, "its first line is not one of a body");
        let line = first.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
        let line = line.ok_or_else(damaged)?;
        let mut fields = line.strip_prefix(MAGIC).ok_or_else(damaged)?.split(' ');
        let form: u32 = fields.next().and_then(|form| form.parse().ok()).ok_or_else(damaged)?;
        if form > FORM {
            return Err(StoreError::Newer { place: place.to_string(), found: form, known: FORM });
        }
        let length: u64 = fields.next().and_then(|length| length.parse().ok()).ok_or_else(damaged)?;
        let blake3 = fields.next().ok_or_else(damaged)?.to_owned();
        if length > LARGEST_MANIFEST {
            return Err(damaged());
        }
        let start = line.len() as u64 + 1;
        Ok(Self { json: start..start + length, blake3 })
    }
}

impl Manifest {
    /// Checks that the parts fit together, so that no reader has to.
    pub(crate) fn check(&self, id: &EpochId) -> std::result::Result<(), String> {
        let mut size: u64 = 0;
        for (number, Chunk(lender, offset, length, _)) in self.chunks.iter().enumerate() {
            if *lender > self.lenders.len() {
                return Err(format!("chunk {} names lender {lender} of {}", number + 1, self.lenders.len()));
            }
            if *length == 0
                || *length > 16 * chunk::LONGEST as u64
                || offset.checked_add(*length).is_none_or(|end| end > 1 << 60)
            {
                return Err(format!("chunk {} has offset {offset} and length {length}", number + 1));
            }
            size = size.saturating_add(*length);
        }
        if size != self.size {
            return Err(format!("its chunks have {size} B, the document {} B", self.size));
        }
        if self.lenders.iter().any(|lender| lender.session() != id.session()) {
            return Err("it borrows from another session".to_owned());
        }
        check_ranges(&self.removed, self.size)
            .map_err(|(start, end)| format!("the removed range {start}..{end} is not in it"))
    }
}

/// Checks that ranges are in order, do not overlap, and lie within `size`; gives the first that does not.
pub(crate) fn check_ranges(ranges: &[(u64, u64)], size: u64) -> std::result::Result<(), (u64, u64)> {
    let mut last = 0;
    for (start, end) in ranges {
        if *start < last || end < start || *end > size {
            return Err((*start, *end));
        }
        last = *end;
    }
    Ok(())
}
