//! Thousands of random turns against scripted models, stores and clients; the invariants hold at every step.
//!
//! `PLIMSOLL_SIMULATION=500` runs as many seeds of each kind as it says; a failure names its seed.

pub(crate) mod script;
pub(crate) mod talk;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use plimsoll::Tokens;
use plimsoll::budget::Capacity;
use plimsoll::cap::Marker;
use plimsoll::compact::{Chain, ChainHash, Epoch};
use plimsoll::id::{EpochId, RecallId, SessionId};
use plimsoll::transcript::{Obligations, Usage};
use plimsoll::wire::{Document, Format, Overflow, OverflowKind, ParseOptions, parse};
use plimsoll_store::Store;

use super::{Begun, Manual, OverflowError, Prefix, Prepared, Request, Session, SessionOptions};
use script::{Chance, Flaky, Mood, Queue, Scripted};
use talk::Talk;

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
}

impl Scenario {
    const fn new(format: Format, mood: Mood) -> Self {
        Self { format, mood, window: 6_000, really: None, thinks: false, replicas: 1, store_fails: 0, steps: 60 }
    }
}

/// One process: a session and the work beside it.
struct Replica {
    session: Session,
    queue: Arc<Queue>,
}

/// What is counted over a simulation.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requests: usize,
    pub(crate) epochs: usize,
    pub(crate) capped: usize,
    pub(crate) recovered: usize,
    pub(crate) refused: usize,
    pub(crate) repeated: usize,
    pub(crate) found: usize,
    pub(crate) summaries: usize,
}

struct World {
    scenario: Scenario,
    seed: u64,
    chance: Chance,
    flaky: Arc<Flaky>,
    store: Store,
    summariser: Arc<Scripted>,
    replicas: Vec<Replica>,
    talks: Vec<Talk>,
    /// What was sent for each history: the hash of what was sent, how many messages that were, and under which epoch.
    sent: HashMap<ChainHash, (usize, ChainHash, Option<String>)>,
    checked: HashSet<String>,
    /// Changes that may cost a summary each: edits, restarts, compactions by hand.
    changes: usize,
    /// Whether a decision may have been lost: the store was down, or another process compacted unseen.
    excused: bool,
    tally: Tally,
}

fn session(scenario: &Scenario, store: &Store, summariser: &Arc<Scripted>, queue: &Arc<Queue>) -> Session {
    let capacity = Capacity { context_window: Some(Tokens(scenario.window)), ..Capacity::default() };
    let mut options = SessionOptions::default().with_capacity(capacity).with_summariser(summariser.clone());
    options.spawn = queue.clone();
    options.clock = Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
    Session::with_options(SessionId::new("sim"), store.clone(), options)
}

fn read(body: &[u8], format: Format) -> Document<'_> {
    parse(body, &ParseOptions::default().with_format(Some(format))).unwrap()
}

impl World {
    fn new(scenario: Scenario, seed: u64) -> Self {
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
            checked: HashSet::new(),
            changes: 0,
            excused: false,
            tally: Tally::default(),
        }
    }

    fn run(mut self) -> Tally {
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

    fn step(&mut self) {
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
            self.excused = true;
        }
        let mut chance = Chance(self.chance.next());
        let talk = &mut self.talks[main];
        if !talk.is_to_send() {
            let words = if chance.percent(10) { 300 } else { 60 };
            talk.user(&mut chance, words);
        }
        let body = self.talks[main].body();
        let replica = self.chance.below(self.replicas.len());
        let answered = self.exchange(replica, &body);
        if self.chance.percent(15) {
            // The client repeats its request, or another one comes at the same time, elsewhere perhaps.
            let other = self.chance.below(self.replicas.len());
            self.exchange(other, &body);
            self.tally.repeated += 1;
        }
        if answered {
            self.talks[main].reply(&mut chance, 3_000);
        } else {
            // The user gives up this conversation, and begins anew.
            let name = 100 + self.tally.refused as u64;
            self.talks[main] = Talk::new(self.scenario.format, name, self.scenario.thinks);
            self.changes += 1;
        }
        if self.chance.percent(10) {
            self.compare_with_a_new_process(&body);
        }
    }

    fn run_one(&mut self, replica: usize) {
        let queue = &self.replicas[replica].queue;
        let index = self.chance.below(queue.len());
        queue.run(index);
    }

    fn restart(&mut self) {
        let replica = self.chance.below(self.replicas.len());
        self.replicas[replica].queue.clear();
        let queue = Arc::new(Queue::default());
        let session = session(&self.scenario, &self.store, &self.summariser, &queue);
        self.replicas[replica] = Replica { session, queue };
        self.changes += 1;
    }

    fn by_hand(&mut self, main: usize) {
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
        self.excused |= self.replicas.len() > 1;
    }

    /// Waits for a summary as the script has it: all work is run, in any order, or it is late.
    fn wait(&mut self, replica: usize, waiting: &super::Waiting) -> bool {
        if self.chance.percent(12) {
            return false;
        }
        while !waiting.is_over() && self.replicas[replica].queue.len() > 0 {
            self.run_one(replica);
        }
        waiting.is_over()
    }

    fn prepare<'b>(&mut self, replica: usize, body: &'b str) -> Prepared<'b> {
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
    fn exchange(&mut self, replica: usize, body: &str) -> bool {
        self.tally.requests += 1;
        let prepared = self.prepare(replica, body);
        self.check(body, &prepared);
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
                    self.excused |= self.replicas.len() > 1;
                    self.check(body, &again);
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

    fn answered(&self, replica: usize, prepared: &Prepared<'_>, tokens: u64) {
        let usage = Usage { input: Tokens(tokens), output: Tokens(50), ..Usage::default() };
        self.replicas[replica].session.after_response(&prepared.turn, usage);
    }

    /// What the provider counts.
    fn counts(&self, bytes: &[u8]) -> u64 {
        // Another ratio than ours, and another one for each seed.
        bytes.len() as u64 * (18 + self.seed % 5) / 100
    }

    /// Holds what goes out against the invariants.
    fn check(&mut self, body: &str, prepared: &Prepared<'_>) {
        let format = self.scenario.format;
        let (original, sent) = (read(body.as_bytes(), format), read(&prepared.bytes, format));
        // Obligations: what is whole as it comes is whole as it goes.
        let orphans = |document: &Document<'_>| Obligations::of(document.transcript()).orphans().to_vec();
        assert_eq!(orphans(&original), [], "the script writes whole conversations");
        assert_eq!(orphans(&sent), [], "{self:?}\n{}", String::from_utf8_lossy(&prepared.bytes));
        let last = |document: &Document<'_>| document.transcript().messages.len() - 1;
        let chain = Chain::of(&original);
        let sent_chain = Chain::of(&sent);
        assert!(last(&sent) <= last(&original) + 2);

        // Prefix integrity, held against what was sent, not against what the session says.
        let epoch = prepared.report.epoch.clone();
        let earlier = (0..=chain.len()).rev().find_map(|prefix| self.sent.get(&chain.prefix(prefix)?));
        if let Some((messages, hash, under)) = earlier {
            let extends = sent_chain.prefix(*messages) == Some(*hash);
            let moved = *under != epoch && epoch.is_some();
            let released = prepared.report.prefix == Prefix::Released && self.scenario.thinks;
            assert!(extends || moved || released || self.excused, "{:?} {self:?}", prepared.report);
            assert!(prepared.report.prefix != Prefix::Broken || self.excused, "{:?} {self:?}", prepared.report);
        }
        let hash = sent_chain.prefix(sent_chain.len()).unwrap();
        assert_eq!(prepared.report.sent, Some(hash), "what is logged is what was sent");
        self.sent.insert(chain.prefix(chain.len()).unwrap(), (sent_chain.len(), hash, epoch.clone()));

        // Nothing is changed but by a decision.
        if epoch.is_none() && prepared.report.capped == 0 && prepared.bytes.as_ref() == body.as_bytes() {
            return;
        }
        if let Some(compaction) = &prepared.report.compaction {
            self.tally.epochs += 1;
            assert!(compaction.tokens_after < compaction.tokens_before, "{compaction:?}");
            assert!(compaction.durable || self.flaky.down.load(Ordering::SeqCst), "{compaction:?} {self:?}");
        } else if epoch.is_some() && !self.checked.contains(epoch.as_deref().unwrap_or_default()) {
            self.tally.found += 1;
        }
        self.tally.capped += prepared.report.capped;
        if self.flaky.down.load(Ordering::SeqCst) || self.excused {
            return;
        }
        if let Some(epoch) = epoch {
            self.check_epoch(&epoch, &chain);
        }
        self.check_caps(&original, &sent);
    }

    /// Whatever an epoch removed is archived as it was.
    fn check_epoch(&mut self, epoch: &str, chain: &Chain) {
        if !self.checked.insert(epoch.to_owned()) {
            return;
        }
        let RecallId::Epoch(id) = epoch.parse().unwrap() else { panic!("{epoch}") };
        let record = self.store.epoch_record(&id).unwrap().expect("an epoch is durable before it is used");
        let record = Epoch::from_json(&record).unwrap();
        assert!(record.matches(chain), "it is of this history");
        assert_eq!(id.plain(), EpochId::new(id.session(), record.chain.as_bytes()));
        let document = self.store.document(&id).unwrap();
        let bytes = document.pieces().collect::<Result<Vec<_>, _>>().unwrap().concat();
        let archived = read(&bytes, self.scenario.format);
        assert_eq!(Chain::of(&archived).prefix(record.prefix), chain.prefix(record.prefix), "{self:?}");
        // What is recalled is the removed messages, whole.
        let recalled = String::from_utf8(self.store.recall(&id.into()).unwrap()).unwrap();
        for (index, message) in archived.transcript().messages.iter().enumerate() {
            if record.removed.contains(&index) && !record.retained.contains(&index) {
                let entry = archived.entries()[message.entries[0] as usize].span;
                let text = std::str::from_utf8(entry.of(&bytes)).unwrap();
                assert!(recalled.contains(text), "{text}");
            }
        }
    }

    /// Whatever a capped result leaves out is stored as it was.
    fn check_caps(&self, original: &Document<'_>, sent: &Document<'_>) {
        let texts = |document: &Document<'_>| {
            let mut texts = HashMap::new();
            for message in &document.transcript().messages {
                for result in message.results() {
                    let id = result.call_id.unwrap().decode().into_owned();
                    let text: String = result.texts().map(|text| text.decode().into_owned()).collect();
                    texts.insert(id, text);
                }
            }
            texts
        };
        let (whole, shown) = (texts(original), texts(sent));
        for (id, shown) in shown {
            let whole = &whole[&id];
            if *whole == shown {
                continue;
            }
            let (_, marker) = Marker::find(&shown).expect("what was left out is said");
            let stored = self.store.recall(&marker.id.expect("and where it is").into()).unwrap();
            assert_eq!(String::from_utf8(stored).unwrap(), *whole);
        }
    }

    /// A process that never saw this conversation sends the same, and counts the same.
    fn compare_with_a_new_process(&mut self, body: &str) {
        if self.excused || self.replicas.len() > 1 {
            return;
        }
        let request = Request::new(body.as_bytes(), self.scenario.format).replay_only();
        let known = match self.replicas[0].session.begin(&request) {
            Begun::Ready(known) => known,
            Begun::Waits(_) => panic!("nothing is to be decided"),
        };
        let queue = Arc::new(Queue::default());
        let fresh = session(&self.scenario, &self.store, &self.summariser, &queue);
        let Begun::Ready(fresh) = fresh.begin(&request) else { panic!("nothing is to be decided") };
        assert_eq!(
            String::from_utf8_lossy(&fresh.bytes),
            String::from_utf8_lossy(&known.bytes),
            "{:?} {:?} {self:?}",
            fresh.report,
            known.report
        );
        assert_eq!(fresh.turn.counted, known.turn.counted, "{self:?}");
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {} of {:?}, after {:?}", self.seed, self.scenario, self.tally)
    }
}

/// How many seeds of each kind are run.
fn seeds() -> u64 {
    std::env::var("PLIMSOLL_SIMULATION").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(1)
}

fn simulate(scenario: Scenario) -> Tally {
    let mut all = Tally::default();
    for seed in 1..=seeds() {
        let tally = World::new(scenario, seed * 7_919 + scenario.window).run();
        all.requests += tally.requests;
        all.epochs += tally.epochs;
        all.capped += tally.capped;
        all.recovered += tally.recovered;
        all.refused += tally.refused;
        all.repeated += tally.repeated;
        all.found += tally.found;
        all.summaries += tally.summaries;
    }
    all
}

const FORMATS: [Format; 3] = [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses];

#[test]
fn sessions_go_on_whatever_the_summariser_does() {
    for format in FORMATS {
        for mood in [Mood::Good, Mood::Moody, Mood::Inflated, Mood::Fails] {
            let tally = simulate(Scenario::new(format, mood));
            assert!(tally.epochs > 0 && tally.capped > 0 && tally.refused == 0, "{format} {mood:?} {tally:?}");
        }
    }
}

#[test]
fn sessions_with_bound_reasoning_change_their_past_between_turns() {
    for format in [Format::Anthropic, Format::OpenaiResponses] {
        let tally = simulate(Scenario { thinks: true, ..Scenario::new(format, Mood::Moody) });
        assert!(tally.epochs > 0, "{format} {tally:?}");
    }
}

#[test]
fn sessions_outlive_a_model_that_takes_less_than_is_believed() {
    for format in FORMATS {
        let tally = simulate(Scenario { window: 30_000, really: Some(5_000), ..Scenario::new(format, Mood::Moody) });
        assert!(tally.recovered > 0 && tally.epochs > 0, "{format} {tally:?}");
        // A conversation is given up only where nothing can help.
        assert!(tally.refused * 20 <= tally.requests, "{format} {tally:?}");
    }
}

#[test]
fn two_processes_on_one_store_send_the_same() {
    for format in FORMATS {
        let tally = simulate(Scenario { replicas: 2, ..Scenario::new(format, Mood::Good) });
        assert!(tally.epochs > 0 && tally.found > 0, "{format} {tally:?}");
    }
}

#[test]
fn sessions_go_on_while_the_store_comes_and_goes() {
    for format in FORMATS {
        let tally = simulate(Scenario { store_fails: 8, ..Scenario::new(format, Mood::Moody) });
        assert!(tally.epochs > 0 && tally.refused == 0, "{format} {tally:?}");
    }
}
