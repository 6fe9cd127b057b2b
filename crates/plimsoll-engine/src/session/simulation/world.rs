//! A world for sessions: clients that edit, rewind and repeat, processes that die, a provider that counts otherwise.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use plimsoll::Tokens;
use plimsoll::budget::Capacity;
use plimsoll::compact::{Chain, ChainHash};
use plimsoll::id::SessionId;
use plimsoll::transcript::Usage;
use plimsoll::wire::{Document, Format, Overflow, OverflowKind, ParseOptions, parse};
use plimsoll_store::Store;

use super::super::{Begun, Manual, OverflowError, Prepared, Request, Session, SessionOptions, Waiting};
use super::script::{Chance, Flaky, Mood, Queue, Scripted};
use super::talk::Talk;

/// What a simulation is like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) format: Format,
    pub(crate) mood: Mood,
    pub(crate) window: u64,
    /// What the model really takes, where that is less than is believed.
    pub(crate) really: Option<u64>,
    pub(crate) thinks: bool,
    pub(crate) replicas: usize,
    /// Percent of steps in which the store fails or comes back.
    pub(crate) store_fails: usize,
    pub(crate) steps: usize,
    /// Percent of the results that are large.
    pub(crate) large: usize,
}

impl Scenario {
    pub(super) const fn new(format: Format, mood: Mood) -> Self {
        Self {
            format,
            mood,
            window: 6_000,
            really: None,
            thinks: false,
            replicas: 1,
            store_fails: 0,
            steps: 60,
            large: 15,
        }
    }
}

/// What was sent: how many messages, and their hash.
pub(super) type Sent = (usize, ChainHash);

pub(super) fn sent_of(chain: &Chain) -> Sent {
    (chain.len(), chain.prefix(chain.len()).unwrap())
}

/// One process: a session and the work beside it.
pub(super) struct Replica {
    pub(super) session: Session,
    pub(super) queue: Arc<Queue>,
}

/// What is counted over a simulation.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requests: usize,
    pub(crate) epochs: usize,
    /// Of these: reductions that were enough.
    pub(crate) reduced: usize,
    pub(crate) capped: usize,
    pub(crate) recovered: usize,
    pub(crate) refused: usize,
    pub(crate) repeated: usize,
    pub(crate) found: usize,
    pub(crate) summaries: usize,
}

pub(super) struct World {
    pub(super) scenario: Scenario,
    pub(super) seed: u64,
    pub(super) chance: Chance,
    pub(super) flaky: Arc<Flaky>,
    pub(super) store: Store,
    pub(super) summariser: Arc<Scripted>,
    pub(super) replicas: Vec<Replica>,
    pub(super) talks: Vec<Talk>,
    /// What was sent for each history, and under which epoch; beside it the same with thinking left out.
    pub(super) sent: HashMap<ChainHash, (Sent, Sent, Option<String>)>,
    /// Which process put an epoch in place.
    pub(super) makers: HashMap<String, usize>,
    pub(super) checked: HashSet<String>,
    /// Changes that may cost a summary each: edits, restarts, compactions by hand.
    pub(super) changes: usize,
    /// The conversations of which a decision may not be known everywhere, until their next one is recorded: the store was
    /// down, or another process compacted unseen. Their prefix may change meanwhile, and nothing else is let pass.
    pub(super) excused: HashSet<usize>,
    /// The epochs that could not be recorded when they were put in place.
    pub(super) unrecorded: HashSet<String>,
    pub(super) tally: Tally,
}

pub(super) fn session(scenario: &Scenario, store: &Store, summariser: &Arc<Scripted>, queue: &Arc<Queue>) -> Session {
    let capacity = Capacity { context_window: Some(Tokens(scenario.window)), ..Capacity::default() };
    let mut options = SessionOptions::default().with_capacity(capacity).with_summariser(summariser.clone());
    options.spawn = queue.clone();
    // Time flies, so that a store which failed is asked again.
    let now = AtomicU64::new(1_000_000);
    options.clock =
        Arc::new(move || SystemTime::UNIX_EPOCH + Duration::from_secs(now.fetch_add(60, Ordering::SeqCst)));
    options.pause = Arc::new(|_| {});
    Session::with_options(SessionId::new("sim"), store.clone(), options)
}

pub(super) fn read(body: &[u8], format: Format) -> Document<'_> {
    parse(body, &ParseOptions::default().with_format(Some(format))).unwrap()
}

impl World {
    pub(super) fn new(scenario: Scenario, seed: u64) -> Self {
        let flaky = Arc::new(Flaky::default());
        let store = Store::new(flaky.clone());
        let summariser = Scripted::new(scenario.mood, seed);
        let replicas = (0..scenario.replicas).map(|_| {
            let queue = Arc::new(Queue::default());
            Replica { session: session(&scenario, &store, &summariser, &queue), queue }
        });
        Self {
            scenario,
            seed,
            chance: Chance(seed),
            replicas: replicas.collect(),
            flaky,
            store,
            summariser,
            talks: vec![Talk::new(scenario.format, 0, scenario.thinks)],
            sent: HashMap::new(),
            makers: HashMap::new(),
            checked: HashSet::new(),
            changes: 0,
            excused: HashSet::new(),
            unrecorded: HashSet::new(),
            tally: Tally::default(),
        }
    }

    pub(super) fn run(mut self) -> Tally {
        for _ in 0..self.scenario.steps {
            self.step();
        }
        self.tally.summaries = self.summariser.calls();
        // No loops: a compaction buys turns, or the breaker stops; and each change of a history may waste one.
        let lineages = self.talks.len();
        let bound = 2 * (4 * lineages + self.tally.requests / 3 + self.changes);
        assert!(self.tally.summaries <= bound, "{} summaries, {bound} at the most; {self:?}", self.tally.summaries);
        self.tally
    }

    pub(super) fn step(&mut self) {
        let main = self.chance.below(self.talks.len());
        match self.chance.below(100) {
            0..2 => {
                let mut chance = Chance(self.chance.next());
                self.talks[main].edit(&mut chance);
                self.changes += 1;
            }
            2..5 => {
                let mut chance = Chance(self.chance.next());
                self.talks[main].rewind(&mut chance);
                self.changes += 1;
            }
            5..7 if self.talks.len() < 4 => {
                // A side request: another conversation in the same namespace.
                let name = self.talks.len() as u64;
                self.talks.push(Talk::new(self.scenario.format, name, self.scenario.thinks));
            }
            7..10 => self.restart(),
            10..12 => self.by_hand(main),
            12..22 => {
                let replica = self.chance.below(self.replicas.len());
                while self.replicas[replica].queue.len() > 0 && self.chance.percent(70) {
                    self.run_one(replica);
                }
            }
            _ => {}
        }
        if self.chance.percent(self.scenario.store_fails) {
            let down = !self.flaky.down.load(Ordering::SeqCst);
            self.flaky.down.store(down, Ordering::SeqCst);
            self.excused.extend(0..self.talks.len());
        }
        let mut chance = Chance(self.chance.next());
        let talk = &mut self.talks[main];
        if !talk.is_to_send() {
            let words = if chance.percent(10) { 300 } else { 60 };
            talk.user(&mut chance, words);
        }
        let body = self.talks[main].body();
        let replica = self.chance.below(self.replicas.len());
        let answered = self.exchange(main, replica, &body);
        if self.chance.percent(15) {
            // The client repeats its request, or another one comes at the same time, elsewhere perhaps.
            let other = self.chance.below(self.replicas.len());
            self.exchange(main, other, &body);
            self.tally.repeated += 1;
        }
        if answered {
            self.talks[main].reply(&mut chance, 3_000, self.scenario.large);
        } else {
            // The user gives up this conversation, and begins anew.
            let name = 100 + self.tally.refused as u64;
            self.talks[main] = Talk::new(self.scenario.format, name, self.scenario.thinks);
            self.excused.remove(&main);
            self.changes += 1;
        }
        if self.chance.percent(10) {
            self.compare_with_a_new_process(main, &body);
        }
    }

    pub(super) fn run_one(&mut self, replica: usize) {
        let queue = &self.replicas[replica].queue;
        let index = self.chance.below(queue.len());
        queue.run(index);
    }

    pub(super) fn restart(&mut self) {
        let replica = self.chance.below(self.replicas.len());
        self.replicas[replica].queue.clear();
        let queue = Arc::new(Queue::default());
        let session = session(&self.scenario, &self.store, &self.summariser, &queue);
        self.replicas[replica] = Replica { session, queue };
        self.changes += 1;
    }

    pub(super) fn by_hand(&mut self, main: usize) {
        if !self.talks[main].is_to_send() {
            return;
        }
        let body = self.talks[main].body();
        let replica = self.chance.below(self.replicas.len());
        let Replica { session, queue } = &self.replicas[replica];
        queue.inline.store(true, Ordering::SeqCst);
        session.compact(body.as_bytes(), self.scenario.format, &Manual::default());
        queue.inline.store(false, Ordering::SeqCst);
        self.changes += 1;
        // The other processes are told of it only when they ask.
        if self.replicas.len() > 1 {
            self.excused.insert(main);
        }
    }

    /// Waits for a summary as the script has it: all work is run, in any order, or it is late.
    pub(super) fn wait(&mut self, replica: usize, waiting: &Waiting) -> bool {
        if self.chance.percent(12) {
            return false;
        }
        while !waiting.is_over() && self.replicas[replica].queue.len() > 0 {
            self.run_one(replica);
        }
        waiting.is_over()
    }

    pub(super) fn prepare<'b>(&mut self, replica: usize, body: &'b str) -> Prepared<'b> {
        let request = Request::new(body.as_bytes(), self.scenario.format);
        for _ in 0..3 {
            match self.replicas[replica].session.begin(&request) {
                Begun::Ready(prepared) => return *prepared,
                Begun::Waits(waiting) => {
                    if !self.wait(replica, &waiting) {
                        break;
                    }
                }
            }
        }
        self.replicas[replica].session.begin_late(&request)
    }

    /// Sends a request, and says whether it was answered.
    pub(super) fn exchange(&mut self, main: usize, replica: usize, body: &str) -> bool {
        self.tally.requests += 1;
        let prepared = self.prepare(replica, body);
        self.check(main, replica, body, &prepared);
        // The same again, with nothing in between, is the same again.
        if prepared.report.compaction.is_none() && self.chance.percent(20) {
            let request = Request::new(body.as_bytes(), self.scenario.format);
            if let Begun::Ready(again) = self.replicas[replica].session.begin(&request) {
                assert_eq!(again.bytes, prepared.bytes, "{self:?}");
            }
        }
        let tokens = self.counts(&prepared.bytes);
        let takes = self.scenario.really.unwrap_or(self.scenario.window);
        if tokens <= takes {
            self.answered(replica, &prepared, tokens);
            return true;
        }
        let overflow =
            Overflow { tokens: Some(Tokens(tokens)), limit: Some(Tokens(takes)), kind: OverflowKind::Tokens };
        let request = Request::new(body.as_bytes(), self.scenario.format);
        let mut late = false;
        for _ in 0..4 {
            match self.replicas[replica].session.begin_recovery(&prepared.turn, &request, &overflow, late) {
                Ok(Begun::Waits(waiting)) => late = !self.wait(replica, &waiting),
                Ok(Begun::Ready(again)) => {
                    self.check(main, replica, body, &again);
                    if self.replicas.len() > 1 {
                        self.excused.insert(main);
                    }
                    let tokens = self.counts(&again.bytes);
                    if tokens <= takes {
                        self.tally.recovered += 1;
                        self.answered(replica, &again, tokens);
                        return true;
                    }
                    // Compacted once, sent again once, and no more.
                    let third = self.replicas[replica].session.begin_recovery(&again.turn, &request, &overflow, true);
                    assert!(matches!(third, Err(OverflowError::StillTooLong { .. })), "{self:?}");
                    break;
                }
                Err(_) => break,
            }
        }
        self.tally.refused += 1;
        false
    }

    pub(super) fn answered(&self, replica: usize, prepared: &Prepared<'_>, tokens: u64) {
        let usage = Usage { input: Tokens(tokens), output: Tokens(50), ..Usage::default() };
        self.replicas[replica].session.after_response(&prepared.turn, usage);
    }

    /// What the provider counts.
    pub(super) fn counts(&self, bytes: &[u8]) -> u64 {
        // Another ratio than ours, and another one for each seed.
        bytes.len() as u64 * (18 + self.seed % 5) / 100
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {} of {:?}, after {:?}", self.seed, self.scenario, self.tally)
    }
}
