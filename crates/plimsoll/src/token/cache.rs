//! Counts kept by content, so that a turn costs what is new in it and not what is old.

use std::collections::HashMap;
use std::mem;

use twox_hash::XxHash3_128;

use super::Counter;
use crate::{Bytes, Tokens};

/// Remembers what texts counted, by a 128-bit hash of their bytes and the counter.
///
/// Bounded: it holds two generations; when the younger is full the older is forgotten, and what is asked for again
/// moves to the younger. The hash (XXH3) is fast rather than secure, so that looking up a conversation costs little more
/// than reading it: whoever counts text of people who may want to mislead the count gives each process a secret seed.
///
/// ```
/// use plimsoll::{Bytes, Tokens};
/// use plimsoll::token::{CountCache, Counter, Encoding};
/// let counter = Counter::exact(Encoding::O200kBase);
/// let mut cache = CountCache::new(10_000);
/// assert_eq!(cache.get_or_count("one two three", &counter), Tokens(3));
/// assert_eq!(cache.get_or_count("one two three", &counter), Tokens(3));
/// assert_eq!((cache.hits(), cache.misses(), cache.bytes_counted()), (1, 1, Bytes(13)));
/// ```
#[derive(Debug, Clone)]
pub struct CountCache {
    young: HashMap<Key, Tokens>,
    old: HashMap<Key, Tokens>,
    capacity: usize,
    seed: u64,
    hits: u64,
    misses: u64,
    bytes_counted: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    content: u128,
    counter: Counter,
}

impl CountCache {
    /// Makes an empty cache that holds at least the last `capacity` counts and at most twice as many.
    pub fn new(capacity: usize) -> Self {
        Self::with_seed(capacity, 0)
    }

    /// The same with a seed for the hash.
    pub fn with_seed(capacity: usize, seed: u64) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            capacity: capacity.max(1),
            seed,
            hits: 0,
            misses: 0,
            bytes_counted: Bytes(0),
        }
    }

    /// Gives the tokens of a text: from memory, or by counting it.
    pub fn get_or_count(&mut self, text: &str, counter: &Counter) -> Tokens {
        let content = XxHash3_128::oneshot_with_seed(self.seed, text.as_bytes());
        let key = Key {
            content,
            counter: counter.clone(),
        };
        if let Some(tokens) = self.young.get(&key) {
            self.hits += 1;
            return *tokens;
        }
        let tokens = if let Some(tokens) = self.old.remove(&key) {
            self.hits += 1;
            tokens
        } else {
            self.misses += 1;
            self.bytes_counted += Bytes::from(text.len());
            counter.count(text)
        };
        if self.young.len() >= self.capacity {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, tokens);
        tokens
    }

    /// How often a count was known.
    pub const fn hits(&self) -> u64 {
        self.hits
    }

    /// How often a text had to be counted.
    pub const fn misses(&self) -> u64 {
        self.misses
    }

    /// Bytes of text that had to be counted.
    pub const fn bytes_counted(&self) -> Bytes {
        self.bytes_counted
    }

    /// The number of counts held.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// Says whether no count is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::Family;
    use super::*;

    fn counter() -> Counter {
        Counter::estimated(Family::Generic)
    }

    #[test]
    fn a_second_pass_counts_only_what_is_new() {
        let mut messages: Vec<String> = (0..200)
            .map(|number| format!("message {number} ").repeat(20))
            .collect();
        let mut cache = CountCache::new(1_000);
        let count = |cache: &mut CountCache, messages: &[String]| -> Tokens {
            messages
                .iter()
                .map(|message| cache.get_or_count(message, &counter()))
                .sum()
        };
        let first = count(&mut cache, &messages);
        assert_eq!((cache.hits(), cache.misses()), (0, 200));
        let before = cache.bytes_counted();
        messages.push("one more".to_owned());
        let second = count(&mut cache, &messages);
        assert_eq!((cache.hits(), cache.misses()), (200, 201));
        assert_eq!(cache.bytes_counted() - before, Bytes(8));
        assert_eq!(second - first, counter().count("one more"));
    }

    #[test]
    fn counters_do_not_answer_for_each_other() {
        let mut cache = CountCache::new(10);
        let (generic, claude) = (counter(), Counter::estimated(Family::Claude));
        let text = "Counting is what this exists for. ".repeat(40);
        assert_eq!(cache.get_or_count(&text, &generic), generic.count(&text));
        assert_eq!(cache.get_or_count(&text, &claude), claude.count(&text));
        assert_ne!(generic.count(&text), claude.count(&text));
    }

    #[test]
    fn its_size_is_bounded_and_what_is_used_stays() {
        let mut cache = CountCache::new(50);
        for number in 0..1_000 {
            cache.get_or_count("asked for every time", &counter());
            cache.get_or_count(&number.to_string(), &counter());
            assert!(cache.len() <= 100);
        }
        assert_eq!((cache.hits(), cache.misses()), (999, 1_001));
    }
}
