//! Verifying: everything is read, and compared with the hashes recorded when it was written.

use std::collections::HashSet;

use plimsoll::Bytes;
use plimsoll::id::{ArtifactId, Folder, RecallId, Record, SessionId};

use crate::error::{Result, StoreError};
use crate::store::Store;

/// What came of verifying.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verified {
    /// How many tool results are as they were written.
    pub artifacts: u64,
    /// How many archived documents are.
    pub documents: u64,
    /// How many bytes were read.
    pub bytes: Bytes,
    /// Tool results that have no hash to compare with, since their writer was killed before it wrote one. They are
    /// whole all the same.
    pub without_hash: Vec<ArtifactId>,
    /// What is not as it was written, or cannot be read.
    pub damaged: Vec<(RecallId, StoreError)>,
    /// Folders that cannot be listed, and what is refused: links and other things under names of ours.
    pub errors: Vec<StoreError>,
}

impl Verified {
    /// Tells whether everything is as it was written.
    pub fn is_sound(&self) -> bool {
        self.damaged.is_empty() && self.errors.is_empty()
    }
}

impl Store {
    /// Reads everything, or everything of one session, and compares it with the recorded hashes.
    ///
    /// ```
    /// use plimsoll_store::Store;
    /// assert!(Store::memory().verify(None).is_sound());
    /// ```
    pub fn verify(&self, session: Option<&SessionId>) -> Verified {
        let mut verified = Verified::default();
        let mut sessions = |top: &Folder| match (session, self.backend().list(top)) {
            (Some(session), _) => vec![session.clone()],
            (None, Ok(listing)) => {
                verified.errors.extend(listing.refused.iter().map(StoreError::from));
                listing.sessions
            }
            (None, Err(error)) => {
                verified.errors.push(error);
                Vec::new()
            }
        };
        let (with_results, with_epochs) = (sessions(&Folder::Results), sessions(&Folder::Epochs));
        for session in with_results {
            self.verify_folder(&Folder::ResultsOf(session), &mut verified);
        }
        for session in with_epochs {
            self.verify_folder(&Folder::EpochsOf(session), &mut verified);
        }
        verified.without_hash.sort();
        verified.damaged.sort_by(|one, other| one.0.cmp(&other.0));
        verified
    }

    fn verify_folder(&self, folder: &Folder, verified: &mut Verified) {
        let records = match self.backend().list(folder) {
            Ok(listing) => {
                verified.errors.extend(listing.refused.iter().map(StoreError::from));
                listing.records
            }
            Err(error) => return verified.errors.push(error),
        };
        let texts: HashSet<ArtifactId> = records
            .iter()
            .filter_map(|entry| match entry.key.record() {
                Some(Record::Text(id)) => Some(id),
                _ => None,
            })
            .collect();
        for entry in records {
            let (id, result) = match entry.key.record() {
                Some(Record::Text(id)) => {
                    let result = self.verify_text(&id, verified);
                    (RecallId::from(id), result)
                }
                // The text is written first and removed last.
                Some(Record::Meta(id)) if !texts.contains(&id) => {
                    let lost = self.verify_lost(&id);
                    (RecallId::from(id), lost)
                }
                Some(Record::Body(id)) => {
                    let result = self.document(&id).and_then(|document| {
                        for piece in document.pieces() {
                            verified.bytes.0 += piece?.len() as u64;
                        }
                        Ok(())
                    });
                    verified.documents += u64::from(result.is_ok());
                    (RecallId::from(id), result)
                }
                _ => continue,
            };
            match result {
                // Removed since it was listed.
                Ok(()) | Err(StoreError::Unknown { .. } | StoreError::Pruned { .. }) => {}
                Err(error) => verified.damaged.push((id, error)),
            }
        }
    }

    fn verify_text(&self, id: &ArtifactId, verified: &mut Verified) -> Result<()> {
        let key = Record::Text(id.clone()).key();
        let meta = self.result_meta(id)?;
        let Some(mut reader) = self.backend().open(&key, 0)? else {
            return Ok(());
        };
        let (mut hasher, mut bytes, mut buffer) = (blake3::Hasher::new(), 0, vec![0; 1 << 20]);
        loop {
            let length = reader.read(&mut buffer)?;
            let block = buffer.get(..length).unwrap_or_default();
            if block.is_empty() {
                break;
            }
            hasher.update(block);
            bytes += length as u64;
        }
        verified.bytes.0 += bytes;
        let Some(meta) = meta else {
            verified.without_hash.push(id.clone());
            return Ok(());
        };
        let found = hasher.finalize().to_hex();
        if found.as_str() != meta.blake3 {
            let detail = format!("BLAKE3 {} of {} B expected, {found} of {bytes} B found", meta.blake3, meta.bytes);
            return Err(StoreError::damaged(id.to_string(), &key, detail));
        }
        verified.artifacts += 1;
        Ok(())
    }

    /// Says that metadata stands without its text, if that is still so.
    fn verify_lost(&self, id: &ArtifactId) -> Result<()> {
        let key = Record::Text(id.clone()).key();
        let Some(meta) = self.result_meta(id)? else {
            return Ok(());
        };
        if self.backend().head(&key)?.is_some() {
            return Ok(());
        }
        let detail = format!("its {} B are missing, and their metadata is there", meta.bytes);
        Err(StoreError::damaged(id.to_string(), &key, detail))
    }
}

#[cfg(test)]
mod tests;
