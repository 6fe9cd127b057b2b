//! Choosing what goes in under a bound: the user's words first, the weightiest passages before others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use super::notation::{Fact, facts};
use super::rank::{BULK, LAID_DOWN, REQUESTS, Rank, STANDING, VALUES, rank, rank_words};
use super::sentence::passages;
use super::{Ledger, LeftOut, Words, changes, earlier, parts, task, value};
use crate::units::Tokens;

/// A message of at most this many characters is kept whole before a longer one is searched.
const SHORT_MESSAGE: usize = 240;
/// The first and the current request are kept whole up to this many characters.
const REQUEST: usize = 1_600;
/// A single passage longer than this is shown by its beginning, in characters.
const PASSAGE: usize = 600;

const LATEST: u32 = 24;
/// What stands behind the beginning of a passage that was too long.
const SHORTENED: &str = " […]";

fn is_shortened(part: &Words) -> bool {
    part.text.ends_with(SHORTENED)
}

/// A fact that may be chosen.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    rank: Rank,
    /// Of what is laid down the shorter first: one long passage must not stand for many short ones.
    bulk: u8,
    /// What the user said in the last messages comes first, whatever it weighs.
    before_last: bool,
    /// Among equals: weightier first, then later ones first.
    score: Reverse<u8>,
    recency: Reverse<u32>,
    /// The place among all facts: two numbers, since a message may be cut into passages.
    place: (u32, u32),
    fact: Fact,
    /// How many passages it stands for.
    passages: u32,
    /// What it costs, once counted.
    cost: Option<Tokens>,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |candidate: &Self| {
            (
                candidate.rank,
                candidate.bulk,
                candidate.before_last,
                candidate.score,
                candidate.recency,
                candidate.place,
            )
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The facts of a ledger, waiting to be chosen under one or several bounds in turn.
pub(crate) struct Selection<'l> {
    ledger: &'l Ledger,
    waiting: BinaryHeap<Reverse<Candidate>>,
    refused: Vec<Candidate>,
    /// What is laid down and found no room: it does not wait again.
    barred: Vec<Candidate>,
    /// Whether something that is laid down found no room while it was its turn.
    closed: bool,
    chosen: BTreeMap<(u32, u32), Fact>,
    /// Per message that was cut: how many parts it has.
    cut: BTreeMap<u32, u32>,
    count: &'l dyn Fn(&str) -> Tokens,
    earlier_limit: Tokens,
    /// Whether an earlier summary is chosen too, which is long, and tells what no fact does.
    pub(crate) takes_earlier: bool,
    /// What the user asked to pay attention to: words of substance.
    wanted: Vec<String>,
    /// Whether there is too little room for whole messages: then each is offered by its parts, so that what stands
    /// for the rest of the work comes before what surrounds it.
    tight: bool,
    /// The messages that say what is to be done: the first, the current and the last.
    first: u32,
    current: u32,
    last: u32,
    /// Per message, the marks of its passages, if one of them was changed.
    marks: HashMap<u32, Vec<Option<u32>>>,
    /// The last message in which a passage stands.
    said_last: HashMap<&'l str, u32>,
}

impl<'l> Selection<'l> {
    /// Ranks the facts of a ledger and chooses of what is laid down as much as fits in `room`, whose cost is taken off
    /// it: in the order of its weight, up to the first that finds no room. So a larger room never holds less of it.
    /// Messages are whole where everything that is laid down finds room so, otherwise they are cut into parts.
    pub(crate) fn within(
        room: &mut Tokens,
        ledger: &'l Ledger,
        earlier_limit: Tokens,
        instructions: Option<&str>,
        takes_earlier: bool,
        count: &'l dyn Fn(&str) -> Tokens,
    ) -> Self {
        let choose = |tight: bool| {
            let mut left = *room;
            let mut selection = Self::new(ledger, earlier_limit, instructions, tight, count);
            selection.takes_earlier = takes_earlier;
            selection.lay_down(&mut left);
            (selection, left)
        };
        let (mut selection, mut left) = choose(true);
        if selection.barred.is_empty() {
            let (whole, left_so) = choose(false);
            if whole.barred.is_empty() {
                (selection, left) = (whole, left_so);
            }
        }
        *room = left;
        selection
    }

    /// Chooses what is laid down; of a current request for which there is no room, its weightiest parts.
    fn lay_down(&mut self, room: &mut Tokens) {
        self.choose(room, LAID_DOWN, false);
        self.closed = false;
        if !self.chosen.is_empty() {
            return;
        }
        let is_current = |candidate: &Candidate| {
            candidate.passages > 1 && matches!(&candidate.fact, Fact::Words(words) if words.turn == self.current)
        };
        if let Some(at) = self.barred.iter().position(is_current) {
            let candidate = self.barred.swap_remove(at);
            if let Fact::Words(words) = &candidate.fact {
                self.split(words, candidate.place.0, candidate.rank);
                self.choose(room, LAID_DOWN, false);
                self.closed = false;
            }
        }
    }

    /// Ranks the facts of a ledger. An earlier summary is held to `earlier_limit`.
    fn new(
        ledger: &'l Ledger,
        earlier_limit: Tokens,
        instructions: Option<&str>,
        tight: bool,
        count: &'l dyn Fn(&str) -> Tokens,
    ) -> Self {
        let lower = instructions.unwrap_or("").to_lowercase();
        let mut wanted = changes::terms(&lower);
        wanted.extend(value::words(&lower).filter(|word| value::is_traceable(word)).map(str::to_owned));
        let changed = ledger.words.iter().any(|words| words.changed_by.is_some());
        let marks = if changed { changes::marks(&ledger.words) } else { Vec::new() };
        let of_whole = ledger.words.iter().zip(marks).filter(|(words, _)| !words.part && words.changed_by.is_some());
        let mut selection = Self {
            wanted,
            tight,
            takes_earlier: false,
            ledger,
            waiting: BinaryHeap::new(),
            refused: Vec::new(),
            barred: Vec::new(),
            closed: false,
            chosen: BTreeMap::new(),
            cut: BTreeMap::new(),
            count,
            earlier_limit,
            first: task::first(&ledger.words),
            current: task::current(&ledger.words),
            last: ledger.words.last().map_or(0, |words| words.turn),
            marks: of_whole.map(|(words, marks)| (words.turn, marks)).collect(),
            said_last: HashMap::new(),
        };
        if tight {
            let said = ledger
                .words
                .iter()
                .flat_map(|words| passages(&words.text).into_iter().map(|said| (said, words.turn)));
            selection.said_last = said.collect();
        }
        let mut seen = BTreeMap::new();
        let facts = facts(ledger);
        for (place, fact) in (0..).zip(facts) {
            let nth: &mut u32 = seen.entry(fact.kind()).or_default();
            *nth += 1;
            match fact {
                Fact::Words(words) => selection.offer_words(words, place),
                other => {
                    let (rank, recency) = rank(ledger, &other, *nth);
                    selection.offer(rank, 0, recency, (place, 0), other, 0);
                }
            }
        }
        selection
    }

    fn offer(&mut self, rank: Rank, score: u8, recency: u32, place: (u32, u32), fact: Fact, passages: u32) {
        // What was asked for comes right after what stands.
        let asked = !self.wanted.is_empty() && rank > STANDING && {
            let entry = fact.entry().to_lowercase();
            self.wanted.iter().any(|term| entry.contains(term.as_str()))
        };
        let rank = if asked { STANDING + 1 } else { rank };
        let bulk = match &fact {
            Fact::Words(words) if rank <= LAID_DOWN => match words.text.len() {
                ..=200 => 0,
                201..=600 => 1,
                _ => 2,
            },
            _ => 0,
        };
        self.waiting.push(Reverse(Candidate {
            before_last: matches!(&fact, Fact::Words(words) if words.turn + LATEST <= self.last),
            rank,
            bulk,
            score: Reverse(score),
            recency: Reverse(recency),
            place,
            fact,
            passages,
            cost: None,
        }));
    }

    fn offer_words(&mut self, words: Words, place: u32) {
        let is_current = words.turn == self.current;
        let request = !words.part && (words.turn == self.first || is_current);
        let length = words.text.chars().count();
        let parts = u32::try_from(passages(&words.text).len()).unwrap_or(u32::MAX);
        let whole = if self.tight { SHORT_MESSAGE } else { REQUEST };
        if request && length <= whole {
            // The current request before the first.
            let rank = if is_current { REQUESTS } else { REQUESTS + 1 };
            self.offer(rank, u8::MAX, words.turn, (place, 0), Fact::Words(words), parts);
        } else if words.part || parts == 1 || (length <= SHORT_MESSAGE && !self.tight) {
            let (mut rank, score) = rank_words(&words, self.last, true);
            if words.part && is_current && rank < BULK {
                rank = REQUESTS + 1;
            }
            self.offer(rank, score, words.turn, (place, 0), Fact::Words(words), parts);
        } else {
            self.split(&words, place, REQUESTS);
        }
    }

    /// Offers the parts of a message, none before `floor`. What a later message says again is carried there.
    fn split(&mut self, words: &Words, place: u32, floor: Rank) {
        let parts = parts::split(words, self.marks.get(&words.turn).map_or(&[], Vec::as_slice));
        let number = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        self.cut.insert(place, number);
        let (is_current, is_first) = (words.turn == self.current, words.turn == self.first);
        let mut here = HashSet::new();
        for (nth, part) in (1..).zip(parts) {
            let (mut part, apart, pasted) = (part.words, part.apart, part.pasted);
            let again = self.said_last.get(part.text.as_str()).is_some_and(|turn| *turn > part.turn);
            if (again && !is_current && !is_first) || !here.insert(part.text.clone()) {
                continue;
            }
            let (mut rank, score) = if pasted { (BULK, 0) } else { rank_words(&part, self.last, apart) };
            // A long request is known by how it begins and how it ends.
            if (is_current || is_first) && rank < BULK && (nth == 1 || nth == number) {
                rank = REQUESTS + 1;
            } else if is_current && rank > VALUES && rank < BULK {
                rank = VALUES;
            }
            if part.text.chars().count() > PASSAGE * 2 {
                part.text = part.text.chars().take(PASSAGE).chain(SHORTENED.chars()).collect();
            }
            self.offer(rank.max(floor), score, part.turn, (place, nth), Fact::Words(part), 1);
        }
    }

    /// The rank of the next candidate.
    pub(crate) fn next_rank(&self) -> Option<Rank> {
        self.waiting.peek().map(|Reverse(candidate)| candidate.rank)
    }

    /// Chooses candidates up to a rank while they fit; takes their cost off `room`. `work_only` passes the user's words
    /// over: they had their turn, and what was done must be told too.
    pub(crate) fn choose(&mut self, room: &mut Tokens, up_to: Rank, work_only: bool) {
        while self.next_rank().is_some_and(|rank| rank <= up_to) {
            let Some(Reverse(mut candidate)) = self.waiting.pop() else {
                break;
            };
            let waits = matches!(candidate.fact, Fact::Earlier(_)) && !self.takes_earlier;
            if waits || (work_only && matches!(candidate.fact, Fact::Words(_))) {
                self.refused.push(candidate);
                continue;
            }
            let laid_down = candidate.rank <= LAID_DOWN && !matches!(candidate.fact, Fact::Earlier(_));
            if room.0 < 4 || (laid_down && self.closed) {
                self.turn_away(candidate, laid_down);
                continue;
            }
            let mut reserved = None;
            if let Fact::Earlier(text) = &mut candidate.fact {
                // What it may take is counted, not what it takes, so that what comes after it has never less room.
                let limit = self.earlier_limit.0.min(room.0);
                reserved = Some(Tokens(limit.min((self.count)(text).0.saturating_add(12))));
                *text = earlier::shorten(text, limit.saturating_sub(12), self.count);
            }
            let between = if matches!(candidate.fact, Fact::Name(_)) { 2 } else { 1 };
            let counted = candidate.cost.filter(|_| reserved.is_none());
            let cost = counted.unwrap_or_else(|| (self.count)(&candidate.fact.entry()) + Tokens(between));
            candidate.cost = Some(cost);
            if cost <= *room {
                *room = *room - cost.max(reserved.unwrap_or_default());
                self.chosen.insert(candidate.place, candidate.fact);
                continue;
            }
            match &candidate.fact {
                _ if laid_down => self.turn_away(candidate, true),
                Fact::Words(words) if !words.part && candidate.passages > 1 => {
                    self.split(&words.clone(), candidate.place.0, candidate.rank);
                }
                _ => self.refused.push(candidate),
            }
        }
    }

    /// Refuses what the user did not say, for now; bars the user's words.
    fn turn_away(&mut self, candidate: Candidate, laid_down: bool) {
        let said = match &candidate.fact {
            Fact::Words(_) => true,
            Fact::Note(note) => note.answered,
            _ => false,
        };
        self.closed |= laid_down;
        if laid_down && said { &mut self.barred } else { &mut self.refused }.push(candidate);
    }

    /// Lets what was refused wait again, for another bound.
    pub(crate) fn reconsider(&mut self) {
        self.waiting.extend(self.refused.drain(..).map(Reverse));
    }

    /// The ledger of what was chosen; everything else is counted.
    pub(crate) fn finish(self) -> Ledger {
        let mut ledger = Ledger { turns: self.ledger.turns, left_out: self.ledger.left_out, ..Ledger::default() };
        let mut left_out = LeftOut::default();
        let waiting = self.waiting.into_iter().map(|Reverse(candidate)| candidate);
        for candidate in self.refused.into_iter().chain(self.barred).chain(waiting) {
            let count = match candidate.fact {
                Fact::Words(_) => &mut left_out.passages,
                Fact::Item(_) => &mut left_out.items,
                Fact::Command(_) => &mut left_out.commands,
                Fact::Failure(_) => &mut left_out.errors,
                Fact::Todo(_) => &mut left_out.todos,
                Fact::Note(_) => &mut left_out.notes,
                Fact::Name(_) => &mut left_out.names,
                Fact::Pending(_) | Fact::Artifact(_) | Fact::Earlier(_) => &mut left_out.others,
            };
            *count = count.saturating_add(candidate.passages.max(1));
        }
        ledger.left_out.add(&left_out);
        let mut parts: BTreeMap<u32, Vec<Words>> = BTreeMap::new();
        for ((place, nth), fact) in self.chosen {
            match fact {
                Fact::Words(words) if nth > 0 => {
                    // Of a passage shown by its beginning, the rest is left out.
                    ledger.left_out.passages += u32::from(is_shortened(&words));
                    let of_message = parts.entry(place).or_default();
                    of_message.push(words);
                    if self.cut.get(&place).is_some_and(|number| *number as usize == of_message.len()) {
                        // All of it fits: the message stands as it was written.
                        let turn = of_message.first().map_or(0, |words| words.turn);
                        let whole = self.ledger.words.iter().find(|words| words.turn == turn && !words.part);
                        let uncut = !of_message.iter().any(is_shortened);
                        if let Some(whole) = whole.filter(|_| uncut) {
                            *of_message = vec![whole.clone()];
                        }
                    }
                }
                Fact::Words(words) => parts.entry(place).or_default().push(words),
                Fact::Item(item) => ledger.items.push(item),
                Fact::Command(command) => ledger.commands.push(command),
                Fact::Failure(failure) => ledger.errors.push(failure),
                Fact::Todo(todo) => ledger.todos.push(todo),
                Fact::Note(note) => ledger.notes.push(note),
                Fact::Name(name) => ledger.names.push(name),
                Fact::Pending(call) => ledger.pending.push(call),
                Fact::Artifact(artifact) => ledger.artifacts.push(artifact),
                Fact::Earlier(text) => ledger.earlier = Some(text),
            }
        }
        ledger.words = parts.into_values().flatten().collect();
        // What was answered stands with the user's words, behind the reports.
        ledger.notes.sort_by_key(|note| note.answered);
        ledger
    }
}
