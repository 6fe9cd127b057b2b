//! Recall: what an id names, whole or in part.

use plimsoll::id::RecallId;

use crate::error::Result;
use crate::store::Store;

impl Store {
    /// Gives what an id names: a tool result whole; of an epoch, the part of the document that was removed.
    ///
    /// # Errors
    /// [`Unknown`](crate::StoreError::Unknown) and [`Pruned`](crate::StoreError::Pruned) say what to do instead.
    pub fn recall(&self, id: &RecallId) -> Result<Vec<u8>> {
        match id {
            RecallId::Epoch(epoch) => {
                let document = self.document(epoch)?;
                let mut removed = Vec::new();
                for range in document.removed() {
                    removed.extend(document.read(range)?);
                }
                Ok(removed)
            }
            RecallId::Artifact(_) => Err(self.missing(id.clone())?),
        }
    }
}
