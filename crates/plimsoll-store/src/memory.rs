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

/// Large records are kept as blocks of this size, so that they can grow without being moved: 1 MiB.
const BLOCK: usize = 1 << 20;

/// The bytes of a record: blocks that are full but for the last one.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    blocks: Vec<Vec<u8>>,
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

impl Content {
    fn size(&self) -> u64 {
        self.blocks.iter().map(|block| block.len() as u64).sum()
    }

    fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.blocks.last_mut().filter(|block| block.len() < BLOCK) {
                None => self.blocks.push(Vec::with_capacity(if self.blocks.is_empty() { 0 } else { BLOCK })),
                Some(block) => {
                    let (now, later) = bytes.split_at_checked(BLOCK - block.len()).unwrap_or((bytes, &[]));
                    block.extend_from_slice(now);
                    bytes = later;
                }
            }
        }
    }

    /// Gives what stands from a byte on in its block; empty at the end and past it.
    fn rest_of_block(&self, from: u64) -> &[u8] {
        let (block, within) = (from / BLOCK as u64, from % BLOCK as u64);
        let block = usize::try_from(block).ok().and_then(|block| self.blocks.get(block));
        usize::try_from(within).ok().and_then(|within| block?.get(within..)).unwrap_or(&[])
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
    use super::*;
    use crate::conformance;

    #[test]
    fn it_conforms() {
        conformance::run(|| Arc::new(MemoryStore::new())).unwrap();
    }
}
