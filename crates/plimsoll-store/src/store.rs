//! The store as its users see it: a cheap handle on a backend, with the operations that the spec names.
//!
//! `archive.rs`, `results.rs`, `recall.rs`, `search.rs`, `prune.rs`, `inventory.rs` and `verify.rs` add the operations,
//! a room each.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll::id::{RecallId, Record};

use crate::backend::Backend;
use crate::closed::Closed;
use crate::error::{Result, StoreError};
use crate::local::LocalStore;
use crate::memory::MemoryStore;
use crate::prune::was_asked;
use crate::quota::{Quotas, Tally};

/// Where Plimsoll keeps what leaves a context. Cloning it is cheap and gives the same store.
///
/// All calls block; an asynchronous caller puts them on a thread for blocking work.
#[derive(Debug, Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
    quotas: Quotas,
    tally: Arc<Mutex<Tally>>,
}

impl Store {
    /// Takes any backend.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, quotas: Quotas::default(), tally: Arc::default() }
    }

    /// Sets how much is kept; see [`Quotas`] for the defaults.
    #[must_use]
    pub fn with_quotas(self, quotas: Quotas) -> Self {
        Self { quotas, ..self }
    }

    /// Gives how much is kept.
    pub fn quotas(&self) -> Quotas {
        self.quotas
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps files below a directory, which the first write creates.
    pub fn local(root: impl Into<PathBuf>) -> Self {
        Self::new(Arc::new(LocalStore::new(root)))
    }

    /// Keeps everything in memory, as long as this process lasts.
    pub fn memory() -> Self {
        Self::new(Arc::new(MemoryStore::new()))
    }

    /// Keeps nothing, and says why at every call: for a store that cannot be opened, where the work goes on without one.
    ///
    /// ```
    /// use plimsoll_store::Store;
    /// let store = Store::closed("no credentials");
    /// assert_eq!(store.recall(&"s1/c1".parse()?).unwrap_err().to_string(), "no credentials");
    /// # Ok::<(), plimsoll::id::IdError>(())
    /// ```
    pub fn closed(reason: impl Into<String>) -> Self {
        Self::new(Arc::new(Closed::new(reason.into())))
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
        let tombstone = self.backend().get(&Record::Pruned(session.clone()).key())?;
        let id = Box::new(id);
        Ok(match tombstone {
            Some(stone) => StoreError::Pruned { id, asked: was_asked(&stone) },
            None => StoreError::Unknown { id },
        })
    }
}
