//! Recall: what an id names, whole, by byte range, by page, or by lines. `recall/grep.rs` has the lines that match.

use std::io;
use std::ops::{Range, RangeInclusive};

use plimsoll::Bytes;
use plimsoll::cap::RecallFooter;
use plimsoll::id::{ArtifactId, RecallId, Record};
use plimsoll::utf16::Utf16;

use crate::body::ArchivedDocument;
use crate::error::{Result, StoreError};
use crate::results::ResultMeta;
use crate::store::Store;

mod boundary;
mod grep;
mod reader;

use boundary::{last_boundary, last_unit};
pub use grep::{GrepLine, GrepPage, Grepped, MAY_MISS};
pub use reader::RecallReader;

/// How much is read at a time, in bytes.
const BLOCK: usize = 256 * 1024;
/// The size of a page in bytes: 48 KiB.
pub const PAGE: u64 = 48 * 1024;

/// What an id names, opened to be read in part.
#[derive(Debug)]
pub struct Recalled<'s> {
    store: &'s Store,
    id: RecallId,
    size: u64,
    source: Source<'s>,
}

#[derive(Debug)]
enum Source<'s> {
    /// A tool result, and its hash where one is recorded.
    /// And of what whole it is the beginning, if not all of it was kept.
    Text { artifact: ArtifactId, blake3: Option<String>, first_of: Option<Bytes> },
    /// What a compaction removed.
    Removed { document: ArchivedDocument<'s>, ranges: Vec<Range<u64>> },
}

/// A part of what an id names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where they stand in the whole.
    pub range: Range<u64>,
    /// The size of the whole.
    pub size: u64,
}

impl Page {
    /// What is said below a page: which bytes it holds, of how many, and where the next page begins.
    ///
    /// ```
    /// use plimsoll_store::Page;
    /// let page = Page { bytes: b"abc".to_vec(), range: 2..5, size: 9 };
    /// assert_eq!(page.footer(), "[bytes 2-5 of 9; next offset 5]");
    /// let last = Page { bytes: b"abc".to_vec(), range: 6..9, size: 9 };
    /// assert_eq!(last.footer(), "[bytes 6-9 of 9; end]");
    /// ```
    pub fn footer(&self) -> String {
        RecallFooter { bytes: self.range.clone(), size: self.size }.render()
    }
}

impl Store {
    /// Gives what an id names: a tool result whole; of an epoch, the part of the document that was removed.
    ///
    /// # Errors
    /// [`Unknown`](StoreError::Unknown) and [`Pruned`](StoreError::Pruned) say what to do instead,
    /// [`Damaged`](StoreError::Damaged) what is not as it was written.
    #[doc(alias = "LoadSpilled")]
    pub fn recall(&self, id: &RecallId) -> Result<Vec<u8>> {
        self.open_recall(id)?.whole()
    }

    /// Opens what an id names, to read parts of it.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Store};
    ///
    /// # let store = Store::memory();
    /// # let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    /// # let content = "één\ntwee\ndrie\n".as_bytes();
    /// # store.put_result(&NewResult { session: &session, call: &call, content, tool: None, arguments: None,
    /// #     kind: None, now: SystemTime::now() }, |_, _| None)?;
    /// let recalled = store.open_recall(&"s1/c1".parse()?)?;
    /// assert_eq!(recalled.lines(2..=3)?, b"twee\ndrie\n");
    /// // A page ends before a character that it cannot hold.
    /// assert_eq!(recalled.page(0, 3)?.bytes, "é".as_bytes());
    /// assert_eq!(recalled.page(2, 3)?.range, 2..5);
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// As [`recall`](Self::recall).
    pub fn open_recall(&self, id: &RecallId) -> Result<Recalled<'_>> {
        let (size, source) = match id {
            RecallId::Epoch(epoch) => {
                let document = self.document(epoch)?;
                let ranges = document.removed();
                (ranges.iter().map(|range| range.end - range.start).sum(), Source::Removed { document, ranges })
            }
            RecallId::Artifact(artifact) => match self.find(artifact)? {
                Some(found) => found,
                None => return Err(self.missing(id.clone())?),
            },
        };
        Ok(Recalled { store: self, id: id.clone(), size, source })
    }

    fn find(&self, artifact: &ArtifactId) -> Result<Option<(u64, Source<'_>)>> {
        let found = |size, meta: Option<ResultMeta>| {
            let (blake3, whole) = meta.map_or((None, None), |meta| (Some(meta.blake3), meta.whole));
            let first_of = whole.map(|whole| Bytes(whole.bytes));
            Some((size, Source::Text { artifact: artifact.clone(), blake3, first_of }))
        };
        let Some(entry) = self.backend().head(&Record::Text(artifact.clone()).key())? else {
            return Ok(None);
        };
        let meta = match self.result_meta(artifact) {
            // A damaged record is no reason to withhold a whole text: `verify` tells of it.
            Err(StoreError::Damaged { .. }) => None,
            meta => meta?,
        };
        match meta {
            // The writer was killed before it wrote the record; the text is whole all the same.
            None => Ok(found(entry.size, None)),
            Some(meta) if meta.may_be(artifact) => Ok(found(entry.size, Some(meta))),
            // The file system ignores case, and the name was taken: ours, if there is one, has a suffix.
            Some(_) => match self.variants(artifact)?.first() {
                Some(variant) => self.find(variant),
                None => Ok(None),
            },
        }
    }
}

impl Recalled<'_> {
    /// Gives the id.
    pub fn id(&self) -> &RecallId {
        &self.id
    }

    /// Gives the size of the whole in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Gives the size of the result of which only the beginning was kept, for a quota: what is recalled is not all of it.
    pub fn first_of(&self) -> Option<Bytes> {
        match &self.source {
            Source::Text { first_of, .. } => *first_of,
            Source::Removed { .. } => None,
        }
    }

    /// Gives the exact id of the tool result that is read: another one than was asked for where the file system ignores
    /// case and the plain name is another session's or call's. `None` of an epoch.
    pub fn artifact(&self) -> Option<&ArtifactId> {
        match &self.source {
            Source::Text { artifact, .. } => Some(artifact),
            Source::Removed { .. } => None,
        }
    }

    /// Tells whether it is a text in UTF-16. Bytes and pages of it are as they are stored, lines and matches are UTF-8.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn encoding(&self) -> Result<Option<Utf16>> {
        match &self.source {
            // The beginning alone is not verified, as no part is.
            Source::Text { .. } => Ok(self.reader(0..reader::SAMPLE as u64)?.decoded()?.encoding()),
            Source::Removed { .. } => Ok(None),
        }
    }

    /// Begins to read all of it as text: as UTF-8, if it is in UTF-16.
    fn text_reader(&self) -> Result<RecallReader<'_>> {
        let reader = self.reader(0..self.size)?;
        match &self.source {
            Source::Text { .. } => reader.decoded(),
            Source::Removed { .. } => Ok(reader),
        }
    }

    /// Begins to read a range of bytes in order, cut to what there is.
    ///
    /// # Errors
    /// The content was pruned since it was opened, or the backend fails.
    pub fn reader(&self, range: Range<u64>) -> Result<RecallReader<'_>> {
        let end = range.end.min(self.size);
        match &self.source {
            Source::Text { artifact, .. } => {
                match self.store.backend().open(&Record::Text(artifact.clone()).key(), range.start)? {
                    Some(reader) => Ok(RecallReader::text(reader, end.saturating_sub(range.start))),
                    None => Err(self.store.missing(self.id.clone())?),
                }
            }
            Source::Removed { document, ranges } => Ok(RecallReader::removed(document, ranges, range.start..end)),
        }
    }

    /// Passes a range of bytes on, block by block, cut to what there is; says how many. No more than some MiB are in
    /// memory.
    ///
    /// If the range is all of a tool result, the recorded hash is compared at its end; of an epoch every byte is verified
    /// before it is passed on.
    ///
    /// # Errors
    /// [`StoreError::Output`] if `pass` fails, [`StoreError::Damaged`] at the end if what was passed on is not as it was
    /// written.
    pub fn copy(&self, range: Range<u64>, mut pass: impl FnMut(&[u8]) -> io::Result<()>) -> Result<u64> {
        let expected = match &self.source {
            Source::Text { blake3: Some(blake3), .. } if range.start == 0 && range.end >= self.size => Some(blake3),
            _ => None,
        };
        let mut hasher = blake3::Hasher::new();
        let mut reader = self.reader(range)?;
        let mut copied = 0;
        let mut buffer = vec![0; BLOCK];
        loop {
            let length = reader.read(&mut buffer)?;
            let block = buffer.get(..length).unwrap_or_default();
            if block.is_empty() {
                break;
            }
            if expected.is_some() {
                hasher.update(block);
            }
            pass(block).map_err(|source| StoreError::Output { source })?;
            copied += length as u64;
        }
        match (expected, &self.source) {
            (Some(expected), Source::Text { artifact, .. }) => {
                let found = hasher.finalize().to_hex();
                if found.as_str() == expected {
                    return Ok(copied);
                }
                let detail = format!("BLAKE3 {expected} expected, {found} found in {copied} B");
                Err(StoreError::damaged(artifact.to_string(), &Record::Text(artifact.clone()).key(), detail))
            }
            _ => Ok(copied),
        }
    }

    /// Reads everything, and compares it with the recorded hash.
    pub fn whole(&self) -> Result<Vec<u8>> {
        self.collect(0..self.size)
    }

    /// Reads a range of bytes, cut to what there is.
    ///
    /// Of an epoch every byte is verified; of a tool result, whose hash is over the whole, none is unless the range is
    /// the whole.
    pub fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        self.collect(range)
    }

    fn collect(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let length = range.end.min(self.size).saturating_sub(range.start);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        self.copy(range, |block| {
            bytes.extend_from_slice(block);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Reads at most `length` bytes from `offset` on, ending where a character ends.
    ///
    /// Consecutive pages, each from the end of the one before, joined are the whole. A character longer than `length`
    /// is cut, since nothing would be left otherwise: pages of one byte are single bytes, whatever the text. Of a text in
    /// [UTF-16](Self::encoding) a page holds the bytes as they are stored, and ends with a whole character of it.
    ///
    /// # Errors
    /// [`StoreError::PastEnd`] if `offset` is at or past the end, unless the whole is empty.
    pub fn page(&self, offset: u64, length: u64) -> Result<Page> {
        if offset >= self.size && (offset, self.size) != (0, 0) {
            let id = Box::new(self.id.clone());
            return Err(StoreError::PastEnd { id, start: offset, size: self.size, unit: "byte" });
        }
        let end = offset.saturating_add(length).min(self.size);
        let mut bytes = self.read(offset..end)?;
        if end < self.size {
            let order =
                if offset == 0 && bytes.len() >= reader::SAMPLE { Utf16::of(&bytes) } else { self.encoding()? };
            bytes.truncate(match order {
                Some(order) => last_unit(&bytes, offset, order),
                None => last_boundary(&bytes),
            });
        }
        let range = offset..offset + bytes.len() as u64;
        Ok(Page { bytes, range, size: self.size })
    }

    /// Reads lines, counted from 1, both ends included, with their line feeds. An end past the last line is cut. Lines of a
    /// text in [UTF-16](Self::encoding) are read as UTF-8.
    ///
    /// # Errors
    /// [`StoreError::PastEnd`] if the first line is past the last one.
    pub fn lines(&self, lines: RangeInclusive<u64>) -> Result<Vec<u8>> {
        let mut wanted = Vec::new();
        self.copy_lines(lines, |piece| {
            wanted.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(wanted)
    }

    /// Passes lines on, as [`lines`](Self::lines) reads them, but piece by piece: a line may be of any length.
    ///
    /// # Errors
    /// As [`lines`](Self::lines), and [`StoreError::Output`] if `pass` fails.
    pub fn copy_lines(
        &self,
        lines: RangeInclusive<u64>,
        mut pass: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<()> {
        let (first, last) = ((*lines.start()).max(1), *lines.end());
        if last < first {
            return Ok(());
        }
        // The line that the next byte is of, and whether it has begun.
        let (mut line, mut begun) = (1_u64, false);
        let mut reader = self.text_reader()?;
        let mut buffer = vec![0; BLOCK];
        while line <= last {
            let length = reader.read(&mut buffer)?;
            let Some(mut rest) = buffer.get(..length).filter(|block| !block.is_empty()) else {
                break;
            };
            // Up to the first wanted line, then up to the end of the last one.
            while line < first
                && let Some(feed) = memchr::memchr(b'\n', rest)
            {
                rest = rest.get(feed + 1..).unwrap_or_default();
                (line, begun) = (line + 1, false);
            }
            begun |= !rest.is_empty();
            if line < first || rest.is_empty() {
                continue;
            }
            let mut end = 0;
            while line <= last
                && let Some(feed) = memchr::memchr(b'\n', rest.get(end..).unwrap_or_default())
            {
                end += feed + 1;
                line += 1;
                begun = end < rest.len();
            }
            let wanted = if line > last { rest.get(..end).unwrap_or(rest) } else { rest };
            pass(wanted).map_err(|source| StoreError::Output { source })?;
        }
        let found = if begun { line } else { line - 1 };
        if found < first && !(found == 0 && first == 1) {
            let id = Box::new(self.id.clone());
            return Err(StoreError::PastEnd { id, start: first, size: found, unit: "line" });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
