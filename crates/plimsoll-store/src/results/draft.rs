//! Tool results that arrive piece by piece: written and hashed as they come, named when they have ended.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use plimsoll::Bytes;
use plimsoll::id::{ArtifactId, Record, SessionId, ToolCallId, VariantId};

use super::{NewResult, Saved, StoredResult, Whole};
use crate::backend::{Created, Draft};
use crate::error::{Result, StoreError};
use crate::store::Store;

/// How much is written and hashed at a time: 1 MiB.
const BLOCK: usize = 1 << 20;
/// How many blocks may wait to be hashed.
const WAITING: usize = 4;

/// What is known of a content when it has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Digested {
    /// How many bytes are kept.
    pub(super) bytes: u64,
    /// How many lines of them there are.
    pub(super) lines: u64,
    /// BLAKE3 of the bytes kept.
    pub(super) blake3: String,
    /// The whole, if more came than is kept.
    pub(super) whole: Option<Whole>,
    /// The name that it takes if the plain one is taken: made of the whole.
    pub(super) variant: ArtifactId,
}

impl Digested {
    pub(super) fn saved(&self) -> Saved {
        if self.whole.is_some() { Saved::First(Bytes(self.bytes)) } else { Saved::Whole }
    }
}

/// Counts and hashes a content piece by piece.
#[derive(Debug)]
pub(super) struct Digest {
    quota: u64,
    bytes: u64,
    feeds: u64,
    last: Option<u8>,
    content: blake3::Hasher,
    variant: VariantId,
    /// BLAKE3 of the bytes kept, once more have come.
    kept: Option<blake3::Hash>,
}

impl Digest {
    pub(super) fn new(session: &SessionId, call: &ToolCallId, quota: u64) -> Self {
        Self {
            quota,
            bytes: 0,
            feeds: 0,
            last: None,
            content: blake3::Hasher::new(),
            variant: VariantId::new(session, call),
            kept: None,
        }
    }

    pub(super) fn update(&mut self, piece: &[u8]) {
        let room = usize::try_from(self.quota.saturating_sub(self.bytes)).unwrap_or(usize::MAX);
        let (kept, beyond) = piece.split_at_checked(room).unwrap_or((piece, &[]));
        self.feeds += memchr::memchr_iter(b'\n', kept).count() as u64;
        self.last = kept.last().copied().or(self.last);
        self.content.update(kept);
        if !beyond.is_empty() {
            self.kept.get_or_insert_with(|| self.content.finalize());
            self.content.update(beyond);
        }
        self.variant.update(piece);
        self.bytes += piece.len() as u64;
    }

    pub(super) fn finish(&self) -> Digested {
        let all = self.content.finalize().to_hex().to_string();
        let (blake3, whole) = match self.kept {
            Some(kept) => (kept.to_hex().to_string(), Some(Whole { bytes: self.bytes, blake3: all })),
            None => (all, None),
        };
        Digested {
            bytes: self.bytes.min(self.quota),
            lines: self.feeds + u64::from(self.last.is_some_and(|byte| byte != b'\n')),
            blake3,
            whole,
            variant: self.variant.finish(),
        }
    }
}

/// A thread that hashes blocks beside the one that writes them.
#[derive(Debug)]
struct Beside {
    blocks: SyncSender<Arc<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Beside {
    /// Starts it; `None` if no thread is to be had.
    fn start(digest: Arc<Mutex<Digest>>) -> Option<Self> {
        let (blocks, arriving) = sync_channel::<Arc<Vec<u8>>>(WAITING);
        let hash = move || {
            for block in arriving {
                lock(&digest).update(&block);
            }
        };
        let thread = thread::Builder::new().name("plimsoll-hash".to_owned()).spawn(hash).ok()?;
        Some(Self { blocks, thread })
    }
}

/// A digest whose thread panicked is not used: joining that thread fails first.
fn lock(digest: &Mutex<Digest>) -> MutexGuard<'_, Digest> {
    digest.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tool result that is being stored. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct ResultDraft<'s> {
    store: &'s Store,
    result: NewResult<'s>,
    draft: Box<dyn Draft + 's>,
    digest: Arc<Mutex<Digest>>,
    /// From the first full block on: a short content is hashed on the caller's thread.
    beside: Option<Beside>,
    /// What came last, up to a block.
    buffer: Vec<u8>,
    /// Blocks that may still be being hashed, to be used again after.
    used: VecDeque<Arc<Vec<u8>>>,
    room: u64,
}

impl<'s> ResultDraft<'s> {
    pub(super) fn begin(store: &'s Store, result: &NewResult<'s>, quota: u64) -> Result<Self> {
        let plain = ArtifactId::new(result.session, result.call);
        Ok(Self {
            store,
            result: *result,
            draft: store.backend().begin(&Record::Text(plain).key())?,
            digest: Arc::new(Mutex::new(Digest::new(result.session, result.call, quota))),
            beside: None,
            buffer: Vec::new(),
            used: VecDeque::new(),
            room: quota,
        })
    }

    /// Takes the next bytes. What is beyond the quota is counted and hashed, and not kept.
    ///
    /// # Errors
    /// What the backend reports: the place is full, say. The draft is of no use then.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at_checked(BLOCK - self.buffer.len()).unwrap_or((bytes, &[]));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == BLOCK {
                self.pass_on()?;
            }
        }
        Ok(())
    }

    /// Has the block at hand hashed and written, and puts an empty one in its place.
    fn pass_on(&mut self) -> Result<()> {
        let empty = match self.used.pop_front().map(Arc::try_unwrap) {
            Some(Ok(mut block)) => {
                block.clear();
                block
            }
            Some(Err(busy)) => {
                self.used.push_front(busy);
                Vec::with_capacity(BLOCK)
            }
            None => Vec::with_capacity(BLOCK),
        };
        let block = Arc::new(std::mem::replace(&mut self.buffer, empty));
        self.hash(&block)?;
        self.keep(&block)?;
        self.used.push_back(block);
        Ok(())
    }

    /// Takes the next bytes, a block that the caller shares: it is copied nowhere on the way to the store, and not even
    /// there if memory is the place. Blocks of some hundred KiB suit best.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_block(&mut self, block: &Arc<Vec<u8>>) -> Result<()> {
        if !self.buffer.is_empty() {
            self.pass_on()?;
        }
        self.hash(block)?;
        if (block.len() as u64) <= self.room {
            self.draft.write_block(block)?;
            self.room -= block.len() as u64;
            return Ok(());
        }
        self.keep(block)
    }

    fn hash(&mut self, block: &Arc<Vec<u8>>) -> Result<()> {
        if self.beside.is_none() {
            self.beside = Beside::start(Arc::clone(&self.digest));
        }
        let Some(beside) = &self.beside else {
            lock(&self.digest).update(block);
            return Ok(());
        };
        beside.blocks.send(Arc::clone(block)).map_err(|_| hashing_failed())
    }

    fn keep(&mut self, block: &[u8]) -> Result<()> {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let kept = block.get(..room).unwrap_or(block);
        if !kept.is_empty() {
            self.draft.write(kept)?;
            self.room -= kept.len() as u64;
        }
        Ok(())
    }

    /// Stores what came, and freezes the capped text; see [`Store::put_result`]. `kind` is the kind of content, which
    /// may be known only now.
    ///
    /// # Errors
    /// As [`Store::put_result`].
    pub fn finish(
        mut self,
        kind: Option<&str>,
        cap: impl Fn(&ArtifactId, Saved) -> Option<String>,
    ) -> Result<StoredResult> {
        let rest = std::mem::take(&mut self.buffer);
        self.keep(&rest)?;
        if let Some(Beside { blocks, thread }) = self.beside.take() {
            drop(blocks);
            thread.join().map_err(|_| hashing_failed())?;
        }
        let digested = {
            let mut digest = lock(&self.digest);
            digest.update(&rest);
            digest.finish()
        };
        let result = NewResult { kind: kind.or(self.result.kind), ..self.result };
        let NewResult { session, call, .. } = result;
        let plain = ArtifactId::new(session, call);
        for id in [plain.clone(), digested.variant.clone()] {
            // Looked at first, since a draft can be published once only.
            let present = match self.store.result_meta(&id) {
                Err(StoreError::Damaged { .. }) => continue,
                present => present?,
            };
            if present.as_ref().is_some_and(|meta| !meta.is_of(session, call) || !meta.describes(&digested)) {
                continue;
            }
            let created = self.draft.publish(&Record::Text(id.clone()).key())?;
            if created == Created::Different {
                continue;
            }
            let (meta, first) = match present {
                Some(meta) => (meta, false),
                None => self.store.freeze(&id, result.meta(&digested, cap(&id, digested.saved())))?,
            };
            if meta.is_of(session, call) && meta.describes(&digested) {
                self.store.note_stored(&id, created, &meta);
                return Ok(StoredResult { id, meta, first });
            }
            if created == Created::New {
                // Another content's record came in between our look and our text.
                break;
            }
        }
        Err(StoreError::Taken { place: Record::Text(plain).key().to_string() })
    }
}

fn hashing_failed() -> StoreError {
    let source = std::io::Error::other("the thread that hashes it ended early");
    StoreError::Io { action: "hash", path: "a tool result".into(), source }
}
