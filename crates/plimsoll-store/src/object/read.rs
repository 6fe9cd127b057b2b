//! Reading records: whole, by ranges that are fetched together where they lie close, and in order.

use std::ops::Range;

use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore as _};
use plimsoll::id::Key;

use super::bridge::Task;
use super::server::{Answer, Client, Server};
use super::witness::{Failed, witnessed};
use crate::backend::{Entry, Reader};
use crate::error::{Result, StoreError};

/// Ranges with no more than this between them are fetched as one: 256 KiB take about as long as a request.
const GAP: u64 = 256 << 10;
/// How many fetches run at a time.
const AT_A_TIME: usize = 8;
/// How much a reader fetches at a time: 4 MiB. Two of these are in memory.
const BLOCK: u64 = 4 << 20;
/// How often a reading is begun anew because the record was removed and created under it.
const ATTEMPTS: usize = 3;

/// Part of a record, and what the answer said of the whole.
#[derive(Debug, Clone)]
struct Piece {
    bytes: Bytes,
    /// `None` if the piece lies behind the end.
    whole: Option<Whole>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Whole {
    size: u64,
    tag: Option<String>,
}

impl Server {
    pub(super) fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        let path = self.path(&key.to_string());
        match self.call(move |client| async move {
            client.s3.get_opts(&path, GetOptions::default()).await?.bytes().await
        })? {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(failed) => self.missing("read", key, &failed),
        }
    }

    pub(super) fn head(&self, key: &Key) -> Result<Option<Entry>> {
        Ok(self.meta(key)?.map(|meta| Entry {
            key: key.clone(),
            size: meta.size,
            modified: meta.last_modified.into(),
        }))
    }

    fn meta(&self, key: &Key) -> Result<Option<ObjectMeta>> {
        let path = self.path(&key.to_string());
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.call(move |client| async move { Ok(client.s3.get_opts(&path, options).await?.meta) })? {
            Ok(meta) => Ok(Some(meta)),
            Err(failed) => self.missing("look at", key, &failed),
        }
    }

    pub(super) fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        let fetches = together(ranges);
        if fetches.is_empty() {
            return Ok(self.head(key)?.map(|_| vec![Vec::new(); ranges.len()]));
        }
        for _ in 0..ATTEMPTS {
            let (path, wanted) = (self.path(&key.to_string()), fetches.clone());
            let client = self.client.clone();
            let task = self.start_raw(async move {
                let fetch = |range| fetch(client.clone(), path.clone(), range, None);
                futures_util::stream::iter(wanted.into_iter().map(fetch))
                    .buffered(AT_A_TIME)
                    .collect::<Vec<_>>()
                    .await
            })?;
            let mut pieces = Vec::with_capacity(fetches.len());
            for piece in self.wait(task)? {
                match piece {
                    Ok(piece) => pieces.push(piece),
                    Err(failed) => return self.missing("read", key, &failed),
                }
            }
            self.note_bucket();
            let mut wholes = pieces.iter().filter_map(|piece| piece.whole.as_ref());
            let first = wholes.next();
            if wholes.all(|whole| Some(whole) == first) {
                return Ok(Some(ranges.iter().map(|range| cut(range, &fetches, &pieces)).collect()));
            }
        }
        Err(self.changed(key))
    }

    pub(super) fn open(&self, key: &Key, from: u64) -> Result<Option<S3Reader<'_>>> {
        let client = self.client.clone();
        let first = fetch(client, self.path(&key.to_string()), from..from.saturating_add(BLOCK), None);
        let piece = match self.wait(self.start_raw(first)?)? {
            Ok(piece) => piece,
            Err(failed) => return self.missing("read", key, &failed),
        };
        let whole = match piece.whole {
            Some(whole) => whole,
            None => match self.meta(key)? {
                Some(meta) => Whole { size: meta.size, tag: meta.e_tag },
                None => return Ok(None),
            },
        };
        let at = from.saturating_add(piece.bytes.len() as u64).max(from);
        let mut reader = S3Reader { server: self, key: key.clone(), whole, block: piece.bytes, at, next: None };
        reader.fetch_ahead()?;
        Ok(Some(reader))
    }

    fn changed(&self, key: &Key) -> StoreError {
        StoreError::Damaged {
            what: self.place.join(&key.to_string()),
            detail: "it was removed or replaced while it was read".to_owned(),
            place: key.to_string(),
        }
    }
}

/// Fetches a range. One that begins at the end or behind it is an empty piece.
async fn fetch(client: Client, path: Path, range: Range<u64>, tag: Option<String>) -> Answer<Piece> {
    // Some servers read the end of a range as a signed number.
    let range =
        if i64::try_from(range.end).is_ok() { GetRange::Bounded(range) } else { GetRange::Offset(range.start) };
    let options = GetOptions { range: Some(range), if_match: tag, ..GetOptions::default() };
    let fetched = witnessed(async move {
        let found = client.s3.get_opts(&path, options).await?;
        let whole = Whole { size: found.meta.size, tag: found.meta.e_tag.clone() };
        Ok(Piece { bytes: found.bytes().await?, whole: Some(whole) })
    });
    match fetched.await {
        Err(failed) if failed.status() == Some(416) => Ok(Piece { bytes: Bytes::new(), whole: None }),
        other => other,
    }
}

/// Decides what to fetch so that every range is in one fetch: in order, without overlap. Empty ranges need none.
fn together(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut wanted: Vec<Range<u64>> = ranges.iter().filter(|range| range.start < range.end).cloned().collect();
    wanted.sort_by_key(|range| (range.start, range.end));
    let mut fetches: Vec<Range<u64>> = Vec::new();
    for range in wanted {
        match fetches.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP) => last.end = last.end.max(range.end),
            _ => fetches.push(range),
        }
    }
    fetches
}

/// Cuts a range out of the fetch that it is in; what lies behind the end is left out.
fn cut(range: &Range<u64>, fetches: &[Range<u64>], pieces: &[Piece]) -> Vec<u8> {
    let holder = fetches.iter().zip(pieces).find(|(fetch, _)| fetch.start <= range.start && range.end <= fetch.end);
    let Some((fetch, piece)) = holder.filter(|_| range.start < range.end) else {
        return Vec::new();
    };
    let within = |at: u64| usize::try_from(at - fetch.start).unwrap_or(usize::MAX).min(piece.bytes.len());
    piece.bytes.get(within(range.start)..within(range.end)).unwrap_or_default().to_vec()
}

/// Reads a record in blocks, of which the next is fetched while one is read.
#[derive(Debug)]
pub(super) struct S3Reader<'s> {
    server: &'s Server,
    key: Key,
    whole: Whole,
    block: Bytes,
    /// Where the next block begins.
    at: u64,
    next: Option<Task<Answer<Piece>>>,
}

impl S3Reader<'_> {
    fn fetch_ahead(&mut self) -> Result<()> {
        if self.at < self.whole.size && self.next.is_none() {
            let range = self.at..self.whole.size.min(self.at.saturating_add(BLOCK));
            let (client, path) = (self.server.client.clone(), self.server.path(&self.key.to_string()));
            self.next = Some(self.server.start_raw(fetch(client, path, range, self.whole.tag.clone()))?);
        }
        Ok(())
    }

    fn explain(&self, failed: &Failed) -> StoreError {
        // Removed, or removed and created anew.
        if failed.is_missing() || failed.status() == Some(412) {
            return self.server.changed(&self.key);
        }
        self.server.explain("read", Some(&self.key), failed)
    }
}

impl Reader for S3Reader<'_> {
    fn size(&self) -> u64 {
        self.whole.size
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.block.is_empty() {
            self.fetch_ahead()?;
            let Some(task) = self.next.take() else {
                return Ok(0);
            };
            let piece = self.server.wait(task)?.map_err(|failed| self.explain(&failed))?;
            if piece.bytes.is_empty() || piece.whole.as_ref() != Some(&self.whole) {
                return Err(self.server.changed(&self.key));
            }
            self.at += piece.bytes.len() as u64;
            self.block = piece.bytes;
            self.fetch_ahead()?;
        }
        let piece = self.block.split_to(buffer.len().min(self.block.len()));
        if let Some(into) = buffer.get_mut(..piece.len()) {
            into.copy_from_slice(&piece);
        }
        Ok(piece.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    #[expect(clippy::reversed_empty_ranges, clippy::single_range_in_vec_init, reason = "ranges are what is tested")]
    fn near_ranges_are_fetched_together() {
        assert_eq!(together(&[5..5, 9..3]), []);
        assert_eq!(together(&[0..10, 20..30, 5..8]), [0..30]);
        let far = 30 + GAP + 1;
        assert_eq!(together(&[far..far + 1, 0..10, 20..30]), [0..30, far..far + 1]);
        assert_eq!(together(&[0..u64::MAX, 7..9]), [0..u64::MAX]);
        assert_eq!(together(&[u64::MAX - 1..u64::MAX, 0..1]), [0..1, u64::MAX - 1..u64::MAX]);
    }

    proptest! {
        #[test]
        fn what_is_fetched_gives_every_range(
            size in 0_u64..2_000_000,
            ranges in prop::collection::vec((0_u64..2_500_000, 0_u64..400_000), 0..12),
        ) {
            let content: Vec<u8> = (0..size).map(|at| at.to_le_bytes().iter().fold(0, |a, b| a ^ b)).collect();
            let ranges: Vec<Range<u64>> = ranges.iter().map(|(start, length)| *start..start + length).collect();
            let fetches = together(&ranges);
            prop_assert!(fetches.is_sorted_by(|one, other| one.end + GAP < other.start));
            let part = |range: &Range<u64>| {
                let within = |at: u64| usize::try_from(at.min(size)).unwrap();
                content[within(range.start)..within(range.end)].to_vec()
            };
            let pieces: Vec<Piece> =
                fetches.iter().map(|fetch| Piece { bytes: part(fetch).into(), whole: None }).collect();
            for range in &ranges {
                prop_assert_eq!(cut(range, &fetches, &pieces), part(range));
            }
        }
    }
}
