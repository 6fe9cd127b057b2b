//! Clients, gateways and a model, and what is held against what went out.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::join_all;
use plimsoll::Tokens;
use plimsoll::budget::Capacity;
use plimsoll::compact::{Chain, ChainHash};
use plimsoll::transcript::{Message, Obligations};
use plimsoll::wire::{Document, Format, ParseOptions, parse};
use plimsoll_engine::session::{Lookup, SessionOptions};
use plimsoll_store::Store;
use tokio::runtime::Runtime;

use super::super::scripted::ask;
use super::chance::Chance;
use super::model::Model;
use super::talk::{Talk, without_thinking};
use crate::gateway::{Gateway, Keep, Options, Upstream};

/// What a simulation is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scenario {
    pub(super) window: u64,
    /// What the model really takes, where that is less than is believed.
    pub(super) really: Option<u64>,
    pub(super) replicas: usize,
    /// Whether the store is asked as one is that stands across a network.
    pub(super) remote: bool,
    pub(super) thinks: bool,
    pub(super) steps: usize,
}

impl Default for Scenario {
    fn default() -> Self {
        Self { window: 6_000, really: None, replicas: 1, remote: false, thinks: false, steps: 100 }
    }
}

/// What is counted over a simulation.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) requests: usize,
    pub(super) epochs: usize,
    pub(super) capped: usize,
    pub(super) recovered: usize,
    /// Requests under an epoch that another gateway had put in place.
    pub(super) found: usize,
    pub(super) restarts: usize,
    pub(super) refused: usize,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.epochs += other.epochs;
        self.capped += other.capped;
        self.recovered += other.recovered;
        self.found += other.found;
        self.restarts += other.restarts;
        self.refused += other.refused;
    }
}

/// A gateway as a process would be: when its runtime is gone, so is all that it did.
struct Replica {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Replica {
    async fn start(scenario: Scenario, store: &Store, model: SocketAddr) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let capacity = Capacity { context_window: Some(Tokens(scenario.window)), ..Capacity::default() };
        let mut session = SessionOptions::default().with_capacity(capacity);
        if scenario.remote {
            session.lookup = Lookup::Threshold;
        }
        let store = store.clone();
        let upstream = Upstream::new("any", &format!("http://{model}")).unwrap();
        let mut options = Options::default().with_upstreams(vec![upstream]).unwrap();
        options.keep = Some(Keep::new(session, Arc::new(move |_| Ok(store.clone()))));
        let served = runtime.spawn(async move {
            let gateway = Gateway::bind("127.0.0.1:0".parse().unwrap(), options).await.unwrap();
            let address = gateway.address();
            tokio::spawn(gateway.serve(std::future::pending()));
            address
        });
        Self { address: served.await.unwrap(), runtime: Some(runtime) }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What was sent for a history.
struct Sent {
    chain: (usize, ChainHash),
    without_thinking: (usize, ChainHash),
    epoch: Option<String>,
    bytes: Vec<u8>,
}

/// What was sent at the same time as others: for which history, and what.
type AtOnce = ((Format, ChainHash), Sent);

/// A request and what came of it.
struct Exchanged {
    talk: usize,
    replica: usize,
    body: String,
    sent: Vec<Vec<u8>>,
    answer: String,
}

pub(super) struct World {
    scenario: Scenario,
    seed: u64,
    chance: Chance,
    model: Model,
    store: Store,
    replicas: Vec<Replica>,
    talks: Vec<Talk>,
    sent: HashMap<(Format, ChainHash), Sent>,
    /// Which gateway put an epoch in place.
    makers: HashMap<String, usize>,
    /// Conversations of which one gateway may know what another cannot: it recovered below the threshold.
    excused: HashSet<usize>,
    numbers: u64,
    tally: Tally,
}

const FORMATS: [Format; 3] = [Format::Anthropic, Format::OpenaiChat, Format::OpenaiResponses];

fn read(body: &[u8], format: Format) -> Document<'_> {
    parse(body, &ParseOptions::default().with_format(Some(format))).unwrap()
}

fn end(chain: &Chain) -> (usize, ChainHash) {
    (chain.len(), chain.prefix(chain.len()).unwrap())
}

/// Shows the first message in which one body differs from another.
fn first_difference(before: &Document<'_>, now: &Document<'_>) -> String {
    let (was, is) = (Chain::of(before), Chain::of(now));
    let index = (0..was.len()).find(|index| was.prefix(index + 1) != is.prefix(index + 1)).unwrap_or(was.len());
    let message = |document: &Document<'_>| {
        let span = document.transcript().messages.get(index).and_then(Message::span);
        span.map_or_else(String::new, |span| String::from_utf8_lossy(span.of(document.bytes())).into_owned())
    };
    format!("message {index} was\n{}\nand is\n{}", message(before), message(now))
}

impl World {
    pub(super) async fn new(scenario: Scenario, seed: u64) -> Self {
        let mut chance = Chance(seed * 7_919 + scenario.window);
        let model = Model::start(scenario.really.unwrap_or(u64::MAX), 18 + chance.next() % 6).await;
        let store = Store::memory();
        let mut replicas = Vec::new();
        for _ in 0..scenario.replicas {
            replicas.push(Replica::start(scenario, &store, model.address).await);
        }
        // They all share one namespace, as sub-agents do.
        let formats =
            if scenario.thinks { vec![Format::Anthropic, Format::OpenaiResponses] } else { FORMATS.to_vec() };
        let talks = (0..).zip(formats).map(|(name, format)| Talk::new(format, name, scenario.thinks)).collect();
        Self {
            scenario,
            seed,
            chance,
            model,
            store,
            replicas,
            talks,
            sent: HashMap::new(),
            makers: HashMap::new(),
            excused: HashSet::new(),
            numbers: 0,
            tally: Tally::default(),
        }
    }

    pub(super) async fn end(mut self) -> Tally {
        for replica in 0..self.replicas.len() {
            self.look_at_metrics(replica).await;
        }
        std::mem::take(&mut self.tally)
    }

    pub(super) async fn step(&mut self) {
        let talk = self.chance.below(self.talks.len());
        let mut chance = Chance(self.chance.next());
        match self.chance.below(100) {
            0..3 => self.talks[talk].edit(&mut chance),
            3..7 => self.talks[talk].rewind(&mut chance),
            7..11 => {
                let replica = self.chance.below(self.replicas.len());
                self.look_at_metrics(replica).await;
                self.replicas[replica] = Replica::start(self.scenario, &self.store, self.model.address).await;
                self.tally.restarts += 1;
            }
            _ => {}
        }
        // One conversation goes on, or all of them at once; now and then a client sends its request twice.
        let all = self.chance.percent(20);
        let going: Vec<usize> = if all { (0..self.talks.len()).collect() } else { vec![talk] };
        let mut asked = Vec::new();
        for talk in going {
            let mut chance = Chance(self.chance.next());
            if !self.talks[talk].is_to_send() {
                let words = if chance.percent(10) { 300 } else { 60 };
                self.talks[talk].user(&mut chance, words);
            }
            let times = if self.chance.percent(15) { 2 } else { 1 };
            for _ in 0..times {
                let replica = self.chance.below(self.replicas.len());
                self.numbers += 1;
                asked.push((talk, replica, self.numbers, self.talks[talk].body()));
            }
        }
        let exchanges = asked.into_iter().map(|(talk, replica, number, body)| {
            let (address, format, model) = (self.replicas[replica].address, self.talks[talk].format, &self.model);
            async move {
                let path = match format {
                    Format::Anthropic => "/v1/messages",
                    Format::OpenaiChat => "/v1/chat/completions",
                    _ => "/v1/responses",
                };
                let answer =
                    ask(address, &format!("POST {path} HTTP/1.1\r\nx-number: {number}"), body.as_bytes()).await;
                Exchanged { talk, replica, sent: model.take(number), body, answer }
            }
        });
        let exchanged = join_all(exchanges).await;
        let mut answered: HashMap<usize, bool> = HashMap::new();
        let mut at_once = Vec::new();
        for exchange in &exchanged {
            self.tally.requests += 1;
            let well = self.hold(exchange, &mut at_once);
            answered.entry(exchange.talk).and_modify(|all| *all &= well).or_insert(well);
        }
        self.keep(at_once);
        for (talk, well) in answered {
            let mut chance = Chance(self.chance.next());
            if well {
                self.talks[talk].reply(&mut chance, 3_000, 15);
            } else {
                let (format, name) = (self.talks[talk].format, 100 + self.numbers);
                self.talks[talk] = Talk::new(format, name, self.scenario.thinks);
                self.excused.remove(&talk);
            }
        }
    }

    /// Holds what went out against what went out before, and says whether the client got its answer.
    fn hold(&mut self, exchange: &Exchanged, at_once: &mut Vec<AtOnce>) -> bool {
        let Exchanged { talk, replica, body, sent, answer } = exchange;
        let format = self.talks[*talk].format;
        let told = answer.lines().find_map(|line| line.strip_prefix("x-plimsoll: ")).unwrap_or_default();
        assert!(!told.starts_with("bypass"), "{told} {self:?}");
        let epoch = told.split("epoch=").nth(1).map(|rest| rest.split(';').next().unwrap().to_owned());
        self.tally.capped += usize::from(told.contains("capped="));
        if !answer.starts_with("HTTP/1.1 200 ") {
            // Only a model that takes less than is believed may refuse, and its words are the client's.
            assert!(self.scenario.really.is_some() && answer.starts_with("HTTP/1.1 400 "), "{answer} {self:?}");
            self.tally.refused += 1;
            return false;
        }
        let recovered = sent.len() == 2;
        assert!(sent.len() == 1 || (recovered && self.scenario.really.is_some()), "{} {self:?}", sent.len());
        self.tally.recovered += usize::from(recovered);
        let went = sent.last().unwrap();
        let (original, document) = (read(body.as_bytes(), format), read(went, format));
        assert_eq!(Obligations::of(document.transcript()).orphans(), [], "{}", String::from_utf8_lossy(went));
        // What is said of a request is what was done with it.
        assert_eq!(went != body.as_bytes(), !told.is_empty(), "{told} {self:?}");
        // The mark for the cache has moved with the last message, and is there as it was.
        let mark = "\"cache_control\":{\"type\":\"ephemeral\"}";
        let marks = |text: &str| text.matches(mark).count();
        assert_eq!(marks(&String::from_utf8_lossy(went)), marks(body), "{self:?}");

        let (chain, now) = (Chain::of(&original), Chain::of(&document));
        let quiet = without_thinking(std::str::from_utf8(went).unwrap());
        let quiet = Chain::of(&read(quiet.as_bytes(), format));
        let earlier = (0..=chain.len()).rev().find_map(|prefix| self.sent.get(&(format, chain.prefix(prefix)?)));
        if let Some(before) = earlier {
            let extends = now.prefix(before.chain.0) == Some(before.chain.1);
            let moved = epoch.is_some() && epoch != before.epoch;
            let released = self.scenario.thinks
                && epoch.is_some()
                && quiet.prefix(before.without_thinking.0) == Some(before.without_thinking.1);
            let excused = self.excused.contains(talk);
            assert!(
                extends || moved || released || excused,
                "was under {:?}, now {told}, of {} messages {} at {replica}; {self:?}\n{}",
                before.epoch,
                chain.len(),
                before.chain.0,
                first_difference(&read(&before.bytes, format), &document),
            );
        }
        if let Some(epoch) = &epoch {
            match self.makers.get(epoch) {
                None => {
                    self.makers.insert(epoch.clone(), *replica);
                    self.tally.epochs += 1;
                }
                Some(maker) => self.tally.found += usize::from(maker != replica),
            }
        }
        if recovered && self.replicas.len() > 1 {
            self.excused.insert(*talk);
        }
        // Of requests that are under way at once one may go out before an epoch that another one goes out under; under
        // the same one they are the same.
        let key = (format, end(&chain).1);
        if let Some((_, other)) = at_once.iter().find(|(at, sent)| *at == key && sent.epoch == epoch) {
            assert_eq!(String::from_utf8_lossy(&other.bytes), String::from_utf8_lossy(went), "{self:?}");
        }
        let bytes = went.clone();
        at_once.push((key, Sent { chain: end(&now), without_thinking: end(&quiet), epoch, bytes }));
        true
    }

    /// Keeps what was sent at once: what went out under a new epoch is what later requests extend.
    fn keep(&mut self, mut at_once: Vec<AtOnce>) {
        let is_known = |sent: &Sent| self.sent.values().any(|known| known.epoch == sent.epoch);
        at_once.sort_by_cached_key(|(_, sent)| (sent.epoch.is_some(), !is_known(sent)));
        for (key, sent) in at_once {
            self.sent.insert(key, sent);
        }
    }

    /// What a gateway itself says of prefixes.
    async fn look_at_metrics(&self, replica: usize) {
        let text = ask(self.replicas[replica].address, "GET /metrics HTTP/1.1", b"").await;
        assert!(text.contains("plimsoll_prefix_total{prefix=\"broken\"} 0\n"), "{text} {self:?}");
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "seed {} of {:?}, after {:?}", self.seed, self.scenario, self.tally)
    }
}
