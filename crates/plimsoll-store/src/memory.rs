//! A store in memory (`memory:`): for tests, and for hosts that want nothing kept. It lasts as long as its process.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use plimsoll::id::{Folder, Key};

use crate::backend::{Backend, Created, Draft, Entry, Listing, Reader};
use crate::error::{Result, StoreError};

type Records = BTreeMap<Key, (Arc<Content>, SystemTime)>;

/// Large records are kept as blocks of about this size, so that they can grow without being moved: 1 MiB.
const BLOCK: usize = 1 << 20;
/// A block from this size on is kept as it was given: 64 KiB.
const WORTH_SHARING: usize = 1 << 16;

/// The bytes of a record, in blocks of any size.
#[derive(Debug, Default)]
struct Content {
    blocks: Vec<Arc<Vec<u8>>>,
    /// Where each block ends in the content.
    ends: Vec<u64>,
}

/// Records in a map. Guarantees 2 and 4 of [`Backend`] mean nothing here; the others hold.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Mutex<Records>,
}

impl MemoryStore {
    /// Makes an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// A writer that panicked leaves the map whole, since a record enters it by one insertion.
    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn content(&self, key: &Key) -> Option<Arc<Content>> {
        self.records().get(key).map(|(content, _)| Arc::clone(content))
    }

    fn insert(&self, key: &Key, content: &Arc<Content>) -> Created {
        let present = {
            let mut records = self.records();
            let Some((present, _)) = records.get(key) else {
                records.insert(key.clone(), (Arc::clone(content), SystemTime::now()));
                return Created::New;
            };
            Arc::clone(present)
        };
        // Compared with the map unlocked: it may take a while.
        if present == *content { Created::Same } else { Created::Different }
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        let mut at = 0;
        while at < self.size() && self.size() == other.size() {
            let (one, two) = (self.rest_of_block(at), other.rest_of_block(at));
            let length = one.len().min(two.len());
            if length == 0 || one.get(..length) != two.get(..length) {
                return false;
            }
            at += length as u64;
        }
        self.size() == other.size()
    }
}

impl Content {
    fn size(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let last = self.blocks.last_mut().and_then(Arc::get_mut).filter(|block| block.len() < BLOCK);
            if let (Some(block), Some(end)) = (last, self.ends.last_mut()) {
                let (now, later) = bytes.split_at_checked(BLOCK - block.len()).unwrap_or((bytes, &[]));
                block.extend_from_slice(now);
                *end += now.len() as u64;
                bytes = later;
            } else {
                self.ends.push(self.size());
                let capacity = if self.blocks.is_empty() { 0 } else { BLOCK };
                self.blocks.push(Arc::new(Vec::with_capacity(capacity)));
            }
        }
    }

    fn append_block(&mut self, block: &Arc<Vec<u8>>) {
        if block.len() < WORTH_SHARING {
            return self.append(block);
        }
        self.ends.push(self.size() + block.len() as u64);
        self.blocks.push(Arc::clone(block));
    }

    /// Gives what stands from a byte on in its block; empty at the end and past it.
    fn rest_of_block(&self, from: u64) -> &[u8] {
        let nth = self.ends.partition_point(|end| *end <= from);
        let start = nth.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let within = usize::try_from(from - start).ok();
        self.blocks.get(nth).and_then(|block| block.get(within?..)).unwrap_or(&[])
    }

    fn copy(&self, range: &Range<u64>) -> Vec<u8> {
        let end = range.end.min(self.size());
        let mut copied = Vec::with_capacity(usize::try_from(end.saturating_sub(range.start)).unwrap_or(0));
        let mut at = range.start;
        while at < end {
            let rest = self.rest_of_block(at);
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX);
            let piece = rest.get(..wanted).unwrap_or(rest);
            copied.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        copied
    }
}

#[derive(Debug)]
struct MemoryDraft<'s> {
    store: &'s MemoryStore,
    folder: Folder,
    content: Arc<Content>,
}

impl Draft for MemoryDraft<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match Arc::get_mut(&mut self.content) {
            Some(content) => content.append(bytes),
            None => return Err(StoreError::misused(&self.folder, "it is published already")),
        }
        Ok(())
    }

    fn write_block(&mut self, block: &Arc<Vec<u8>>) -> Result<()> {
        match Arc::get_mut(&mut self.content) {
            Some(content) => content.append_block(block),
            None => return Err(StoreError::misused(&self.folder, "it is published already")),
        }
        Ok(())
    }

    fn publish(&mut self, key: &Key) -> Result<Created> {
        if *key.folder() != self.folder {
            return Err(StoreError::misused(&self.folder, "it was to be published in another folder"));
        }
        Ok(self.store.insert(key, &self.content))
    }
}

#[derive(Debug)]
struct MemoryReader {
    content: Arc<Content>,
    at: u64,
}

impl Reader for MemoryReader {
    fn size(&self) -> u64 {
        self.content.size()
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let rest = self.content.rest_of_block(self.at);
        let length = rest.len().min(buffer.len());
        if let (Some(into), Some(piece)) = (buffer.get_mut(..length), rest.get(..length)) {
            into.copy_from_slice(piece);
        }
        self.at += length as u64;
        Ok(length)
    }
}

impl Backend for MemoryStore {
    fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created> {
        let mut content = Content::default();
        for part in parts {
            content.append(part);
        }
        Ok(self.insert(key, &Arc::new(content)))
    }

    fn begin(&self, likely: &Key) -> Result<Box<dyn Draft + '_>> {
        Ok(Box::new(MemoryDraft { store: self, folder: likely.folder().clone(), content: Arc::default() }))
    }

    fn open(&self, key: &Key, from: u64) -> Result<Option<Box<dyn Reader + '_>>> {
        let reader = |content| Box::new(MemoryReader { content, at: from }) as Box<dyn Reader + '_>;
        Ok(self.content(key).map(reader))
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        Ok(self.content(key).map(|content| content.copy(&(0..u64::MAX))))
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        Ok(self.content(key).map(|content| ranges.iter().map(|range| content.copy(range)).collect()))
    }

    fn head(&self, key: &Key) -> Result<Option<Entry>> {
        let records = self.records();
        Ok(records.get(key).map(|(content, modified)| Entry {
            key: key.clone(),
            size: content.size(),
            modified: *modified,
        }))
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        let mut listing = Listing::default();
        for (key, (content, modified)) in &*self.records() {
            if key.folder() == folder {
                listing.records.push(Entry { key: key.clone(), size: content.size(), modified: *modified });
            } else if let Some(session) = key.folder().session()
                && folder.child(session.as_str()).as_ref() == Some(key.folder())
                && listing.sessions.last() != Some(session)
            {
                listing.sessions.push(session.clone());
            }
        }
        Ok(listing)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        Ok(self.records().remove(key).is_some())
    }

    fn sweep(&self, _before: SystemTime) -> Result<u64> {
        Ok(0)
    }

    fn path(&self, _key: &Key) -> Option<PathBuf> {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::conformance;

    proptest! {
        #[test]
        fn blocks_of_any_size_are_one_content(
            pieces in proptest::collection::vec((any::<bool>(), any::<u8>(), 0..150_000usize), 0..12),
            from in 0..600_000u64, length in 0..300_000u64,
        ) {
            let (mut content, mut other, mut plain) = (Content::default(), Content::default(), Vec::new());
            for (shared, byte, size) in pieces {
                let piece = vec![byte; size];
                plain.extend_from_slice(&piece);
                other.append(&piece);
                if shared {
                    content.append_block(&Arc::new(piece));
                } else {
                    content.append(&piece);
                }
            }
            prop_assert_eq!(content.size(), plain.len() as u64);
            let cut = |at: u64| usize::try_from(at).unwrap().min(plain.len());
            prop_assert_eq!(content.copy(&(from..from + length)), &plain[cut(from)..cut(from + length)]);
            prop_assert!(content == other);
            other.append(b"!");
            prop_assert!(content != other);
        }
    }

    #[test]
    fn it_conforms() {
        conformance::run(|| Arc::new(MemoryStore::new())).unwrap();
    }
}
