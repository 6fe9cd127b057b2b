//! The store as its users see it: a cheap handle on a backend, with the operations that the spec names.
//!
//! `archive.rs`, `results.rs` and `recall.rs` add the operations, a room each.

use std::path::PathBuf;
use std::sync::Arc;

use plimsoll::id::{RecallId, Record};

use crate::backend::Backend;
use crate::error::{Result, StoreError};
use crate::local::LocalStore;
use crate::memory::MemoryStore;

/// Where Plimsoll keeps what leaves a context. Cloning it is cheap and gives the same store.
///
/// All calls block; an asynchronous caller puts them on a thread for blocking work.
#[derive(Debug, Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
}

impl Store {
    /// Takes any backend.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }

    /// Keeps files below a directory, which the first write creates.
    pub fn local(root: impl Into<PathBuf>) -> Self {
        Self::new(Arc::new(LocalStore::new(root)))
    }

    /// Keeps everything in memory, as long as this process lasts.
    pub fn memory() -> Self {
        Self::new(Arc::new(MemoryStore::new()))
    }

    /// Gives the place of storage.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Says why an id names nothing: its session was pruned, or it is unknown.
    pub(crate) fn missing(&self, id: RecallId) -> Result<StoreError> {
        let session = match &id {
            RecallId::Artifact(id) => id.session(),
            RecallId::Epoch(id) => id.session(),
        };
        let tombstone = self.backend().head(&Record::Pruned(session.clone()).key())?;
        let id = Box::new(id);
        Ok(match tombstone {
            Some(_) => StoreError::Pruned { id },
            None => StoreError::Unknown { id },
        })
    }
}
