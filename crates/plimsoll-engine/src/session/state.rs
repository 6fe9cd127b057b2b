//! `State`: what a session keeps in memory: histories, epochs, summaries in the making, decisions about results.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use plimsoll::budget::{Attempt, Breaker, Counting, Meter};
use plimsoll::compact::{Chain, ChainHash};
use plimsoll::wire::Format;

use super::adopt::InForce;
use super::envelope::Limited;
use super::history::{History, SharedMeter};
use super::learned::Learned;
use super::report::At;
use super::results::Decided;
use super::work::{Work, has_grown};

/// How many epochs are kept in memory. Older ones are found in the store again.
const EPOCHS: usize = 64;
/// How many pieces of work are kept: those of histories that nobody comes back to go first.
const WORKS: usize = 16;
/// Of how many histories it is remembered that the store was asked about them.
const ASKED: usize = 64;
/// After what time the store is asked again about a history that only grew.
const AGAIN: Duration = Duration::from_secs(60);
/// How long a store is left alone that has failed.
const REST: Duration = Duration::from_secs(5);
/// How many models are counted for at a time.
const METERS: usize = 4;

/// That the store was asked about a history.
#[derive(Debug)]
struct Asked {
    hash: ChainHash,
    messages: usize,
    /// The message that began its latest turn.
    turn: Option<usize>,
    at: SystemTime,
}

/// What a session keeps in memory.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The latest one last.
    histories: Vec<Arc<History>>,
    epochs: Vec<InForce>,
    works: Vec<Arc<Work>>,
    breakers: HashMap<u64, Breaker>,
    meters: Vec<(Option<String>, SharedMeter)>,
    asked: VecDeque<Asked>,
    pub(super) decided: Decided,
    /// What overflows said that models take, which is less than was believed.
    pub(super) learned: HashMap<Limited, Learned>,
    lineages: u64,
    /// When the store last failed to answer a question that could wait.
    failed: Option<SystemTime>,
}

/// What was sent before of the history at hand.
#[derive(Debug, Clone)]
pub(super) struct SentBefore {
    pub(super) messages: usize,
    pub(super) chain: Option<ChainHash>,
    pub(super) epoch: Option<ChainHash>,
}

impl SentBefore {
    pub(super) fn of(history: &History) -> Self {
        let sent = history.sent_chain();
        Self { messages: sent.len(), chain: sent.prefix(sent.len()), epoch: history.epoch() }
    }

    /// Whether what a history sends extends it.
    pub(super) fn is_extended_by(&self, history: &History) -> bool {
        history.sent_chain().prefix(self.messages) == self.chain
    }
}

impl State {
    /// The histories of a format, the longest first.
    pub(super) fn candidates(&self, format: Format) -> Vec<Arc<History>> {
        let of_format = self.histories.iter().rev().filter(|history| history.format == format);
        let mut candidates: Vec<Arc<History>> = of_format.cloned().collect();
        candidates.sort_by_key(|history| std::cmp::Reverse(history.len()));
        candidates
    }

    /// The longest history that one with this chain has grown from.
    pub(super) fn grown_from(&self, format: Format, chain: &Chain) -> Option<Arc<History>> {
        let is_prefix =
            |history: &&Arc<History>| history.format == format && chain.prefix(history.len()) == history.hash();
        self.histories.iter().filter(is_prefix).max_by_key(|history| history.len()).cloned()
    }

    /// The history at a place, or one that has grown from it under the same epoch.
    pub(super) fn at_or_after(&self, at: &At) -> Vec<Arc<History>> {
        let grown = |history: &&Arc<History>| {
            has_grown(at, history.len(), history.epoch(), history.chain.prefix(at.messages))
        };
        self.histories.iter().filter(grown).cloned().collect()
    }

    /// Keeps a history in the place of the one that it has grown from, and fills in its bytes.
    ///
    /// The buffer of the other is used again where nobody else holds it: then only what is new is copied.
    pub(super) fn keep(
        &mut self,
        mut history: History,
        replaces: Option<Arc<History>>,
        body: &[u8],
        limits: (usize, usize),
    ) -> Arc<History> {
        let (hash, messages) = (history.hash(), history.len());
        let is_same =
            |other: &Arc<History>| other.format == history.format && other.len() == messages && other.hash() == hash;
        let mut freed = None;
        self.histories.retain(|other| {
            let replaced = replaces.as_ref().is_some_and(|replaced| Arc::ptr_eq(replaced, other));
            if is_same(other) && !replaced && other.epoch() == history.epoch() {
                // Another request was quicker with the same history; what was reported of it holds here too.
                if let Some(anchor) = other.anchor() {
                    history.set_anchor(anchor);
                }
            }
            let goes = is_same(other) || replaced;
            if goes && (replaced || freed.is_none()) {
                freed = Some(Arc::clone(other));
            }
            !goes
        });
        drop(replaces);
        let mut bytes =
            freed.and_then(|freed| Arc::try_unwrap(freed).ok()).map(|freed| freed.bytes).unwrap_or_default();
        let same = bytes.chunks(COMPARED).zip(body.chunks(COMPARED)).take_while(|(one, other)| one == other).count();
        bytes.truncate(same * COMPARED);
        bytes.extend_from_slice(body.get(bytes.len()..).unwrap_or(&[]));
        history.bytes = bytes;
        let history = Arc::new(history);
        self.histories.push(Arc::clone(&history));
        self.evict(limits);
        history
    }

    fn evict(&mut self, (count, bytes): (usize, usize)) {
        let size = |histories: &[Arc<History>]| histories.iter().map(|history| history.bytes.len()).sum::<usize>();
        while self.histories.len() > 1 && (self.histories.len() > count || size(&self.histories) > bytes) {
            self.histories.remove(0);
        }
        let lineages: Vec<u64> = self.histories.iter().map(|history| history.lineage).collect();
        self.breakers.retain(|lineage, _| lineages.contains(lineage));
    }

    /// Marks a history as the latest one. Says whether it is kept.
    pub(super) fn touch(&mut self, history: &Arc<History>) -> bool {
        let at = self.histories.iter().position(|other| Arc::ptr_eq(other, history));
        if let Some(at) = at {
            let touched = self.histories.remove(at);
            self.histories.push(touched);
        }
        at.is_some()
    }

    /// The lineage of a history, and whether it is a new one: no history in memory begins alike.
    pub(super) fn lineage(&mut self, format: Format, chain: &Chain, second: Option<blake3::Hash>) -> (u64, bool) {
        let of_format = || self.histories.iter().rev().filter(|history| history.format == format);
        let alike = |history: &&Arc<History>| history.chain.opening() == chain.opening();
        // A client that changes its first message each time says the rest again all the same.
        let goes_on_alike = |history: &&Arc<History>| second.is_some() && history.second == second;
        if let Some(history) = of_format().find(alike).or_else(|| of_format().find(goes_on_alike)) {
            return (history.lineage, false);
        }
        self.lineages += 1;
        (self.lineages, true)
    }

    pub(super) fn breaker(&mut self, lineage: u64) -> &mut Breaker {
        self.breakers.entry(lineage).or_default()
    }

    /// The epochs that match a history, something being left after them.
    pub(super) fn matching(&self, format: Format, chain: &Chain) -> Vec<InForce> {
        let fits = |known: &&InForce| {
            known.epoch.format == format && known.epoch.prefix < chain.len() && known.epoch.matches(chain)
        };
        self.epochs.iter().filter(fits).cloned().collect()
    }

    /// Keeps an epoch, in the place of another one of its kind and prefix. Says whether there was none.
    pub(super) fn decide(&mut self, decided: &InForce) -> bool {
        let known = self.epochs.len();
        self.epochs.retain(|known| known.key() != decided.key());
        let is_new = self.epochs.len() == known;
        self.epochs.push(decided.clone());
        let surplus = self.epochs.len().saturating_sub(EPOCHS);
        self.epochs.drain(..surplus);
        is_new
    }

    /// The work that serves a history.
    pub(super) fn work_for(&self, history: &History) -> Option<Arc<Work>> {
        self.works.iter().rev().find(|work| work.serves(history)).cloned()
    }

    /// Keeps a piece of work, in the place of others that serve the same history.
    pub(super) fn begin_work(&mut self, work: &Arc<Work>, history: &History) {
        let mut wasted = false;
        self.works.retain(|other| {
            let gone = other.lineage == history.lineage && !other.serves(history) && other.is_unused();
            wasted |= gone;
            !gone && !other.serves(history)
        });
        if wasted {
            // What was made is of no use any more, since the client has changed what it is of.
            self.breaker(history.lineage).attempted(work.trigger, Attempt::Failed);
        }
        self.works.push(Arc::clone(work));
        let surplus = self.works.len().saturating_sub(WORKS);
        for gone in self.works.drain(..surplus) {
            gone.cancel.cancel();
        }
    }

    /// Notes that the store failed to answer a question that could wait.
    pub(super) fn note_failed(&mut self, now: SystemTime) {
        self.failed = Some(now);
    }

    /// Whether the store has just failed: what can wait is not asked of it for a while, since each answer may be long in
    /// coming.
    pub(super) fn has_just_failed(&self, now: SystemTime) -> bool {
        let since = self.failed.and_then(|failed| now.duration_since(failed).ok());
        since.is_some_and(|since| since < REST)
    }

    /// Whether the store was asked about just this history.
    pub(super) fn is_asked(&self, hash: Option<ChainHash>) -> bool {
        hash.is_some_and(|hash| self.asked.iter().any(|asked| asked.hash == hash))
    }

    /// Whether the store was asked a short while ago about what a history has grown from; `in_turn` counts only what was
    /// asked in the turn that goes on.
    pub(super) fn is_asked_lately(&self, history: &History, now: SystemTime, in_turn: bool) -> bool {
        self.asked.iter().rev().any(|asked| {
            now.duration_since(asked.at).is_ok_and(|since| since < AGAIN)
                && (!in_turn || asked.turn == history.latest_typed())
                && history.chain.replaced(asked.messages) == Some(asked.hash)
        })
    }

    pub(super) fn note_asked(&mut self, history: &History, now: SystemTime) {
        let asked = |hash| Asked { hash, messages: history.len(), turn: history.latest_typed(), at: now };
        self.asked.extend(history.conversation().map(asked));
        let surplus = self.asked.len().saturating_sub(ASKED);
        self.asked.drain(..surplus);
    }

    /// What counts for a model.
    pub(super) fn meter(&mut self, model: Option<&str>) -> SharedMeter {
        if let Some((_, meter)) = self.meters.iter().find(|(known, _)| known.as_deref() == model) {
            return Arc::clone(meter);
        }
        if self.meters.len() >= METERS {
            self.meters.remove(0);
        }
        let meter = Arc::new(Mutex::new(Meter::with_seed(Counting::for_model(model), seed())));
        self.meters.push((model.map(str::to_owned), Arc::clone(&meter)));
        meter
    }
}

/// A number that nobody can guess: a meter cannot be misled by who would like to, and processes are told apart.
pub(super) fn seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// In what portions bodies are compared when a buffer is used again.
const COMPARED: usize = 4096;
