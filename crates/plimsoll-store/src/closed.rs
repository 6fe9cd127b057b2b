//! A store that cannot be used: every call says why.

use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use plimsoll::id::{Folder, Key};

use crate::backend::{Backend, Created, Draft, Entry, Listing, Reader};
use crate::error::{Result, StoreError};

/// The place that is none.
#[derive(Debug)]
pub(crate) struct Closed {
    reason: String,
}

impl Closed {
    pub(crate) fn new(reason: String) -> Self {
        Self { reason }
    }

    fn refuse<T>(&self) -> Result<T> {
        Err(StoreError::Closed { reason: self.reason.clone() })
    }
}

impl Backend for Closed {
    fn create(&self, _: &Key, _: &[&[u8]]) -> Result<Created> {
        self.refuse()
    }

    fn begin(&self, _: &Key) -> Result<Box<dyn Draft + '_>> {
        self.refuse()
    }

    fn open(&self, _: &Key, _: u64) -> Result<Option<Box<dyn Reader + '_>>> {
        self.refuse()
    }

    fn get(&self, _: &Key) -> Result<Option<Vec<u8>>> {
        self.refuse()
    }

    fn get_ranges(&self, _: &Key, _: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        self.refuse()
    }

    fn head(&self, _: &Key) -> Result<Option<Entry>> {
        self.refuse()
    }

    fn list(&self, _: &Folder) -> Result<Listing> {
        self.refuse()
    }

    fn delete(&self, _: &Key) -> Result<bool> {
        self.refuse()
    }

    fn sweep(&self, _: SystemTime) -> Result<u64> {
        self.refuse()
    }

    fn path(&self, _: &Key) -> Option<PathBuf> {
        None
    }
}
