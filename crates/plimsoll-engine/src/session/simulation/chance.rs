//! Chance by a seed: a run that fails is run again.

/// Chance by a seed.
#[derive(Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn words(&mut self, words: usize) -> String {
        const WORDS: [&str; 24] = [
            "importer", "ledger", "queue", "retry", "schema", "parser", "table", "commit", "branch", "config",
            "test", "worker", "stream", "cache", "index", "route", "token", "lease", "batch", "cursor", "page",
            "shard", "café", "naïve",
        ];
        let word = |chance: &mut Self| WORDS[chance.below(WORDS.len())];
        (0..words).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }
}
