//! Spilling a tool result that comes in piece by piece: one thread takes it in and stores it, one hashes it, and one
//! looks for what is worth showing.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use plimsoll::cap::{Capper, Naming, Policy};
use plimsoll::id::ArtifactId;
use plimsoll_store::{ResultDraft, Store, StoreError};

use super::{Spilled, ToolResult, make_room, named, shown_before, telling, with_naming};

/// How much is passed from thread to thread at a time: it fits the caches of most processors. 256 KiB.
const BLOCK: usize = 1 << 18;
/// How many blocks may wait to be looked through.
const WAITING: usize = 8;
/// How many blocks are kept to be used again.
const KEPT: usize = 32;

/// A tool result that comes in piece by piece: see [`begin`].
#[derive(Debug)]
pub struct SpillStream<'s> {
    store: &'s Store,
    result: ToolResult<'s>,
    policy: Policy,
    looking: Looking,
    /// Whether it is over the cap: from there on blocks are filled, before it all is in the capper.
    over: bool,
    draft: Option<ResultDraft<'s>>,
    fault: Option<StoreError>,
    /// What came last, of the size of a block, and how much of it is filled.
    block: Vec<u8>,
    filled: usize,
    /// Blocks that may still be in use elsewhere, to be used again after.
    used: VecDeque<Arc<Vec<u8>>>,
}

/// Begins a tool result of any size that comes in piece by piece: a few MiB of it are in memory at a time.
///
/// It does what [`spill`](super::spill) does, and shows the same text. What is stored is bounded by
/// [`Quotas::max_stream`](plimsoll_store::Quotas::max_stream). Two threads help once it is longer than the cap and some
/// hundred KiB.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::Policy;
/// use plimsoll::id::{SessionId, ToolCallId};
/// use plimsoll_engine::spill::{ToolResult, begin};
/// use plimsoll_store::Store;
///
/// let (store, session, call) = (Store::memory(), SessionId::new("s1"), ToolCallId::new("toolu_01"));
/// let mut stream = begin(&store, ToolResult::new(&session, &call), &Policy::new(Bytes(1_000)));
/// for n in 0..1_000 {
///     stream.write(format!("line {n}\n").as_bytes());
/// }
/// let capped = stream.finish();
/// assert!(capped.text.len() <= 1_000 && capped.lines == 1_000 && capped.fault.is_none());
/// ```
pub fn begin<'s>(store: &'s Store, result: ToolResult<'s>, policy: &Policy) -> SpillStream<'s> {
    let policy = result.policy(policy);
    SpillStream {
        store,
        result,
        policy,
        looking: Looking::new(Capper::new(policy)),
        over: false,
        draft: None,
        fault: None,
        block: Vec::new(),
        filled: 0,
        used: VecDeque::new(),
    }
}

impl SpillStream<'_> {
    /// Takes the next bytes. A failing store is noted, and the result goes on without it.
    pub fn write(&mut self, mut bytes: &[u8]) {
        if !self.over {
            let mut capper = self.looking.capper();
            if !capper.would_exceed(bytes.len()) {
                return capper.push(bytes);
            }
            drop(capper);
            self.exceed();
        }
        while !bytes.is_empty() {
            let room = self.room();
            let (now, later) = bytes.split_at_checked(room.len()).unwrap_or((bytes, &[]));
            if let Some(room) = room.get_mut(..now.len()) {
                room.copy_from_slice(now);
            }
            bytes = later;
            self.fill(now.len());
        }
    }

    /// Takes everything that a reader gives, up to its end: at less cost than [`write`](Self::write) does, since a long
    /// result is not copied.
    ///
    /// ```
    /// use plimsoll::Bytes;
    /// use plimsoll::cap::Policy;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_engine::spill::{ToolResult, begin};
    /// use plimsoll_store::Store;
    ///
    /// let (store, session, call) = (Store::memory(), SessionId::new("s1"), ToolCallId::new("toolu_01"));
    /// let mut stream = begin(&store, ToolResult::new(&session, &call), &Policy::new(Bytes(1_000)));
    /// stream.read_from("a line\n".repeat(1_000).as_bytes())?;
    /// assert_eq!(stream.finish().bytes, Bytes(7_000));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the reader reports. What came before is taken, and can be [finished](Self::finish).
    pub fn read_from(&mut self, mut reader: impl Read) -> io::Result<()> {
        let mut read = |into: &mut [u8]| loop {
            match reader.read(into) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        };
        let mut buffer = vec![0; BLOCK / 4];
        while !self.over {
            match read(&mut buffer)? {
                0 => return Ok(()),
                length => self.write(buffer.get(..length).unwrap_or_default()),
            }
        }
        drop(buffer);
        loop {
            match read(self.room())? {
                0 => return Ok(()),
                length => self.fill(length),
            }
        }
    }

    /// Begins to store it, with what was held.
    fn exceed(&mut self) {
        self.over = true;
        let quota = self.store.quotas().max_stream;
        make_room(self.store, &self.result);
        let begun = self.store.begin_result(&self.result.new_result(b"", None), quota);
        let capper = self.looking.capper();
        match begun.and_then(|mut draft| draft.write(capper.held()).map(|()| draft)) {
            Ok(draft) => self.draft = Some(draft),
            Err(fault) => self.fault = Some(fault),
        }
    }

    /// What is free of the block at hand: never nothing.
    fn room(&mut self) -> &mut [u8] {
        if self.block.is_empty() {
            let free = self.used.pop_front().map(Arc::try_unwrap);
            self.block = match free {
                Some(Ok(block)) => block,
                Some(Err(busy)) => {
                    self.used.push_front(busy);
                    vec![0; BLOCK]
                }
                None => vec![0; BLOCK],
            };
        }
        self.block.get_mut(self.filled..).unwrap_or_default()
    }

    /// Notes that so much of the room was filled, and passes the block on if it is full.
    fn fill(&mut self, length: usize) {
        self.filled += length;
        if self.filled == self.block.len() {
            let block = Arc::new(std::mem::take(&mut self.block));
            self.filled = 0;
            self.store(|draft| draft.write_block(&block));
            self.looking.pass(&block);
            // Where memory is the place, a block stays in use for good.
            if self.used.len() == KEPT {
                self.used.pop_front();
            }
            self.used.push_back(block);
        }
    }

    fn store(&mut self, write: impl FnOnce(&mut ResultDraft<'_>) -> Result<(), StoreError>) {
        if let Some(draft) = &mut self.draft
            && let Err(fault) = write(draft)
        {
            (self.draft, self.fault) = (None, Some(fault));
        }
    }

    /// Ends the result.
    pub fn finish(mut self) -> Spilled {
        let mut rest = std::mem::take(&mut self.block);
        rest.truncate(self.filled);
        self.store(|draft| draft.write(&rest));
        let Self { store, result, policy, looking, over, draft, fault, .. } = self;
        let mut capper = looking.end();
        if !over {
            return shown_before(store, &result, capper.held(), &policy);
        }
        capper.push(&rest);
        let ended = capper.end();
        let (lines, cut) = (ended.lines(), |naming: &Naming<'_>| ended.show(naming));
        let frozen = |id: &ArtifactId, saved| telling(with_naming(store, &result, id, saved, cut), id);
        match (draft, fault) {
            (Some(draft), _) => match draft.finish(Some(ended.kind().name()), frozen) {
                Ok(stored) => Spilled { lines, ..named(store, &result, &stored, policy.cap.bytes(), cut) },
                Err(fault) => Spilled::unsaved(cut(&Naming::unsaved()), fault),
            },
            (None, Some(fault)) => Spilled::unsaved(cut(&Naming::unsaved()), fault),
            (None, None) => Spilled::shown(cut(&Naming::unsaved())),
        }
    }
}

/// A thread that is fed blocks.
type Fed = (SyncSender<Arc<Vec<u8>>>, JoinHandle<()>);

/// The capper, and the thread that feeds it once there is a full block.
#[derive(Debug)]
struct Looking {
    capper: Arc<Mutex<Capper>>,
    beside: Option<Fed>,
}

impl Looking {
    fn new(capper: Capper) -> Self {
        Self { capper: Arc::new(Mutex::new(capper)), beside: None }
    }

    /// The capper, as long as no block was passed.
    fn capper(&self) -> MutexGuard<'_, Capper> {
        lock(&self.capper)
    }

    fn pass(&mut self, block: &Arc<Vec<u8>>) {
        if self.beside.is_none() {
            let (blocks, arriving) = sync_channel::<Arc<Vec<u8>>>(WAITING);
            let capper = Arc::clone(&self.capper);
            let look = move || arriving.into_iter().for_each(|block| lock(&capper).push_block(&block));
            self.beside = thread::Builder::new()
                .name("plimsoll-look".to_owned())
                .spawn(look)
                .ok()
                .map(|thread| (blocks, thread));
        }
        match &self.beside {
            // It takes no more if it panicked: then its end says so.
            Some((blocks, _)) => drop(blocks.send(Arc::clone(block))),
            // No thread is to be had.
            None => lock(&self.capper).push_block(block),
        }
    }

    fn end(self) -> Capper {
        if let Some((blocks, thread)) = self.beside {
            drop(blocks);
            if let Err(panicked) = thread.join() {
                std::panic::resume_unwind(panicked);
            }
        }
        match Arc::try_unwrap(self.capper) {
            Ok(capper) => capper.into_inner().unwrap_or_else(PoisonError::into_inner),
            Err(shared) => lock(&shared).clone(),
        }
    }
}

/// A capper whose thread panicked is not used: joining that thread panics, too.
fn lock(capper: &Mutex<Capper>) -> MutexGuard<'_, Capper> {
    capper.lock().unwrap_or_else(PoisonError::into_inner)
}
