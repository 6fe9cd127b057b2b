//! Scripted surroundings of a session: a store that fails, a summariser of many moods, a queue in
//! place of threads.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use plimsoll::Tokens;
use plimsoll::compact::Api;
use plimsoll::id::{Folder, Key};
use plimsoll_store::StoreError;
use plimsoll_store::backend::{Backend, Created, Draft, Entry, Listing, Reader};
use plimsoll_store::memory::MemoryStore;

pub(crate) use super::chance::Chance;
use crate::session::spawn::{Spawn, block_on};
use crate::summarise::sample::summary;
use crate::summarise::{Answer, BoxFuture, Service, Summariser, SummariserError, SummaryRequest};

/// A store in memory that can be taken down, and counts what is asked of it.
#[derive(Debug, Default)]
pub(crate) struct Flaky {
    inner: MemoryStore,
    pub(crate) down: AtomicBool,
    /// Only what makes an epoch a decision fails.
    pub(crate) refuses_records: AtomicBool,
    pub(crate) reads: AtomicUsize,
    pub(crate) writes: AtomicUsize,
}

impl Flaky {
    fn up(&self, counter: &AtomicUsize) -> plimsoll_store::Result<()> {
        counter.fetch_add(1, Ordering::SeqCst);
        if self.down.load(Ordering::SeqCst) {
            let source = std::io::Error::other("the store is down");
            return Err(StoreError::Io { action: "reach", path: PathBuf::from("memory"), source });
        }
        Ok(())
    }
}

impl Backend for Flaky {
    fn create(&self, key: &Key, parts: &[&[u8]]) -> plimsoll_store::Result<Created> {
        self.up(&self.writes)?;
        if self.refuses_records.load(Ordering::SeqCst)
            && key.to_string().starts_with("epochs")
            && key.to_string().contains(".json")
        {
            let source = std::io::Error::other("no records today");
            return Err(StoreError::Io { action: "write", path: PathBuf::from("memory"), source });
        }
        self.inner.create(key, parts)
    }

    fn begin(&self, likely: &Key) -> plimsoll_store::Result<Box<dyn Draft + '_>> {
        self.up(&self.writes)?;
        self.inner.begin(likely)
    }

    fn open(&self, key: &Key, from: u64) -> plimsoll_store::Result<Option<Box<dyn Reader + '_>>> {
        self.up(&self.reads)?;
        self.inner.open(key, from)
    }

    fn get(&self, key: &Key) -> plimsoll_store::Result<Option<Vec<u8>>> {
        self.up(&self.reads)?;
        self.inner.get(key)
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> plimsoll_store::Result<Option<Vec<Vec<u8>>>> {
        self.up(&self.reads)?;
        self.inner.get_ranges(key, ranges)
    }

    fn head(&self, key: &Key) -> plimsoll_store::Result<Option<Entry>> {
        self.up(&self.reads)?;
        self.inner.head(key)
    }

    fn list(&self, folder: &Folder) -> plimsoll_store::Result<Listing> {
        self.up(&self.reads)?;
        self.inner.list(folder)
    }

    fn delete(&self, key: &Key) -> plimsoll_store::Result<bool> {
        self.up(&self.writes)?;
        self.inner.delete(key)
    }

    fn sweep(&self, before: SystemTime) -> plimsoll_store::Result<u64> {
        self.inner.sweep(before)
    }

    fn path(&self, _: &Key) -> Option<PathBuf> {
        None
    }
}

/// Work that waits until the script runs it.
#[derive(Default)]
pub(crate) struct Queue {
    work: Mutex<Vec<BoxFuture<'static, ()>>>,
    /// Runs work at once.
    pub(crate) inline: AtomicBool,
}

impl Spawn for Queue {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        if self.inline.load(Ordering::SeqCst) {
            block_on(work);
        } else {
            self.work.lock().unwrap().push(work);
        }
    }
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.work.lock().unwrap().len()
    }

    /// Runs one piece of work.
    pub(crate) fn run(&self, index: usize) {
        let work = self.work.lock().unwrap().remove(index);
        block_on(work);
    }

    /// Loses all work, as a process that dies does.
    pub(crate) fn clear(&self) {
        let lost = std::mem::take(&mut *self.work.lock().unwrap());
        drop(lost);
    }
}

/// How a summariser behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Good,
    Empty,
    Inflated,
    Continues,
    Fails,
    Overflows,
    Moody,
}

/// A summariser that does as its mood says.
#[derive(Debug)]
pub(crate) struct Scripted {
    service: Service,
    mood: Mood,
    chance: AtomicU64,
    pub(crate) calls: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(mood: Mood, seed: u64) -> Arc<Self> {
        let service = Service::of_model("scripted", Api::Anthropic, "scripted-1");
        Arc::new(Self { service, mood, chance: AtomicU64::new(seed), calls: AtomicUsize::new(0) })
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Summariser for Scripted {
    fn service(&self) -> &Service {
        &self.service
    }

    fn summarise<'a>(&'a self, request: SummaryRequest<'a>) -> BoxFuture<'a, Result<Answer, SummariserError>> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let mut chance = Chance(self.chance.load(Ordering::SeqCst).wrapping_add(call as u64));
        let mood = match self.mood {
            Mood::Moody => [Mood::Good, Mood::Empty, Mood::Inflated, Mood::Continues, Mood::Fails, Mood::Overflows]
                [chance.below(6)],
            mood => mood,
        };
        let endpoint = || "http://scripted".to_owned();
        let answer = match mood {
            _ if request.cancel.is_cancelled() => Err(SummariserError::Cancelled),
            Mood::Good | Mood::Moody => Ok(Answer::ended(summary(&format!("Call {call}: {}", chance.words(12))))),
            Mood::Empty => Ok(Answer::ended("<summary></summary>")),
            Mood::Inflated => Ok(Answer::ended(summary(&chance.words(6_000)))),
            Mood::Continues => Ok(Answer::ended("Sure, next I run the tests.")),
            Mood::Fails => Err(SummariserError::Unavailable {
                endpoint: endpoint(),
                status: 503,
                attempts: 3,
                said: String::new(),
            }),
            Mood::Overflows => Err(SummariserError::Overflow {
                endpoint: endpoint(),
                model: "scripted-1".to_owned(),
                overflow: plimsoll::wire::Overflow {
                    tokens: Some(Tokens(9_000)),
                    limit: Some(Tokens(8_000)),
                    kind: plimsoll::wire::OverflowKind::Tokens,
                },
            }),
        };
        Box::pin(std::future::ready(answer))
    }
}
