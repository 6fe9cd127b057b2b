//! The searches for parts of words that make a line stand out: vectorised, many words at once.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Span, packed};

use super::words::{MARKS, OUTLINE, TROUBLE};

/// A search for many short strings at once: by SIMD where the machine has it, else by an automaton.
#[derive(Debug, Clone)]
pub(super) enum Search {
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
    Nothing,
}

pub(super) static SEARCH_TROUBLE: LazyLock<Search> = LazyLock::new(|| Search::new(&TROUBLE));
pub(super) static SEARCH_MARKS: LazyLock<Search> = LazyLock::new(|| Search::new(&MARKS));
pub(super) static SEARCH_OUTLINE: LazyLock<Search> = LazyLock::new(|| Search::new(&OUTLINE));
pub(super) static SEARCH_AFTER_ARROW: LazyLock<Search> =
    LazyLock::new(|| Search::new(&OUTLINE.map(|line| line.replace('\n', "→"))));
pub(super) static SEARCH_AFTER_TAB: LazyLock<Search> =
    LazyLock::new(|| Search::new(&OUTLINE.map(|line| line.replace('\n', "\t"))));

impl Search {
    fn new(words: &[impl AsRef<[u8]>]) -> Self {
        // With more than 32 words the search would take twice as many sets of words, each at a fraction of the speed.
        let mut builder = packed::Config::new().only_teddy_fat(Some(false)).builder();
        match builder.extend(words).build() {
            Some(packed) => Self::Packed(packed),
            None => AhoCorasick::new(words).map_or(Self::Nothing, Self::Automaton),
        }
    }

    fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        let span = Span { start: from.min(text.len()), end: text.len() };
        let found = match self {
            Self::Packed(packed) => packed.find_in(text, span),
            Self::Automaton(automaton) => automaton.find(aho_corasick::Input::new(text).span(span)),
            Self::Nothing => None,
        };
        found.map(|found| (found.start(), found.end()))
    }
}

/// From where on a search looked, and where what it found begins and ends.
type Found = (usize, Option<(usize, usize)>);

/// What one search finds, or two, in the order of the text.
pub(super) struct Hits<'s> {
    searches: [Option<&'s Search>; 2],
    /// What each found last, and from where on it looked: nothing stands between the two.
    found: [Option<Found>; 2],
}

impl<'s> Hits<'s> {
    pub(super) fn of(search: &'s Search) -> Self {
        Self { searches: [Some(search), None], found: [None, None] }
    }

    pub(super) fn of_both(one: &'s Search, other: &'s Search) -> Self {
        Self { searches: [Some(one), Some(other)], found: [None, None] }
    }

    pub(super) fn find(&mut self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        let both = self.searches.iter().zip(&mut self.found);
        let first = both.filter_map(|(search, found)| {
            let search = (*search)?;
            let known = found.filter(|(since, hit)| *since <= from && hit.is_none_or(|(start, _)| start >= from));
            let (_, hit) = *found.insert(known.unwrap_or_else(|| (from, search.find(text, from))));
            hit
        });
        first.min()
    }
}
