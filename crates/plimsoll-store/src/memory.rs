//! A store in memory (`memory:`): for tests, and for hosts that want nothing kept. It lasts as long as its process.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use plimsoll::id::{Folder, Key};

use crate::backend::{Backend, Created, Entry, Listing};
use crate::error::Result;

type Records = BTreeMap<Key, (Arc<[u8]>, SystemTime)>;

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

    fn content(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.records().get(key).map(|(content, _)| Arc::clone(content))
    }
}

impl Backend for MemoryStore {
    fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created> {
        let content: Arc<[u8]> = parts.concat().into();
        let mut records = self.records();
        if let Some((present, _)) = records.get(key) {
            return Ok(if *present == content { Created::Same } else { Created::Different });
        }
        records.insert(key.clone(), (content, SystemTime::now()));
        Ok(Created::New)
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        Ok(self.content(key).map(|content| content.to_vec()))
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        Ok(self.content(key).map(|content| {
            let within = |at: u64| usize::try_from(at).map_or(content.len(), |at| at.min(content.len()));
            let range = |r: &Range<u64>| content.get(within(r.start)..within(r.end).max(within(r.start)));
            ranges.iter().filter_map(range).map(<[u8]>::to_vec).collect()
        }))
    }

    fn head(&self, key: &Key) -> Result<Option<Entry>> {
        let records = self.records();
        Ok(records.get(key).map(|(content, modified)| Entry {
            key: key.clone(),
            size: content.len() as u64,
            modified: *modified,
        }))
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        let mut listing = Listing::default();
        for (key, (content, modified)) in &*self.records() {
            if key.folder() == folder {
                listing.records.push(Entry { key: key.clone(), size: content.len() as u64, modified: *modified });
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
