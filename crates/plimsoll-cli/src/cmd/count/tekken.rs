//! Tekken: Mistral's vocabularies, read from the `tekken.json` that is published beside the weights of its models.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fancy_regex::Regex;
use serde::Deserialize;

/// A vocabulary with the pattern that splits text before it is encoded.
#[derive(Debug)]
pub(super) struct Tekken {
    split: Regex,
    /// The rank of each token by its bytes: the lower, the earlier it is merged.
    ranks: HashMap<Vec<u8>, u32>,
}

#[derive(Deserialize)]
struct File {
    config: Config,
    vocab: Vec<Entry>,
}

#[derive(Deserialize)]
struct Config {
    pattern: String,
    default_vocab_size: usize,
    default_num_special_tokens: usize,
}

#[derive(Deserialize)]
struct Entry {
    rank: u32,
    token_bytes: String,
}

impl Tekken {
    /// Reads a file. The error is what is wrong with it.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let File { config, vocab } = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let split = Regex::new(&config.pattern).map_err(|error| format!("its pattern: {error}"))?;
        // The file holds more tokens than models use: those of the highest ranks are left out, to make room for special ones.
        let used = config.default_vocab_size.saturating_sub(config.default_num_special_tokens);
        let used = u32::try_from(used).unwrap_or(u32::MAX);
        let mut ranks = HashMap::with_capacity(vocab.len());
        for Entry { rank, token_bytes } in vocab {
            if rank < used {
                let token =
                    BASE64_STANDARD.decode(&token_bytes).map_err(|_| format!("token {rank} is not base64"))?;
                ranks.insert(token, rank);
            }
        }
        match (0..=u8::MAX).find(|byte| !ranks.contains_key(&[*byte][..])) {
            Some(byte) => Err(format!("it has no token for the byte {byte}")),
            None => Ok(Self { split, ranks }),
        }
    }

    /// Counts the tokens of a text; `None` where its pattern cannot be carried out on it.
    pub(super) fn count(&self, text: &str) -> Option<usize> {
        let mut tokens = 0;
        let mut end = 0;
        for piece in self.split.find_iter(text) {
            let piece = piece.ok()?;
            // What the pattern passes over is encoded as it stands.
            tokens += self.merge(text.get(end..piece.start()).unwrap_or_default().as_bytes());
            tokens += self.merge(piece.as_str().as_bytes());
            end = piece.end();
        }
        Some(tokens + self.merge(text.get(end..).unwrap_or_default().as_bytes()))
    }

    /// How many tokens are left of a piece when no two neighbours make a token any more, the lowest rank merged first. Time
    /// is that of a heap of its bytes.
    fn merge(&self, piece: &[u8]) -> usize {
        if piece.is_empty() || self.ranks.contains_key(piece) {
            return usize::from(!piece.is_empty());
        }
        // Each part that is left: where it ends; and where the one before it starts.
        let mut ends: Vec<usize> = (1..=piece.len()).collect();
        let mut befores: Vec<Option<usize>> = (0..piece.len()).map(|at| at.checked_sub(1)).collect();
        let end_of = |ends: &[usize], start: usize| ends.get(start).copied().filter(|end| *end > start);
        let rank = |start: usize, end: usize| piece.get(start..end).and_then(|bytes| self.ranks.get(bytes)).copied();
        let mut heap: BinaryHeap<Reverse<(u32, usize, usize)>> = (0..piece.len().saturating_sub(1))
            .filter_map(|start| Some(Reverse((rank(start, start + 2)?, start, start + 2))))
            .collect();
        let mut left = piece.len();
        while let Some(Reverse((_, start, end))) = heap.pop() {
            // Of what was merged meanwhile, its old neighbours still speak.
            let Some(middle) = end_of(&ends, start) else { continue };
            if middle >= end || end_of(&ends, middle) != Some(end) {
                continue;
            }
            if let (Some(first), Some(gone)) = (ends.get(start).copied(), ends.get(middle).copied()) {
                if let Some(slot) = ends.get_mut(start) {
                    *slot = gone;
                }
                if let Some(slot) = ends.get_mut(first) {
                    *slot = 0;
                }
            }
            if let Some(slot) = befores.get_mut(end) {
                *slot = Some(start);
            }
            left -= 1;
            let before = befores.get(start).copied().flatten();
            let pairs = [before.map(|before| (before, end)), end_of(&ends, end).map(|after| (start, after))];
            for (from, to) in pairs.into_iter().flatten() {
                heap.extend(rank(from, to).map(|rank| Reverse((rank, from, to))));
            }
        }
        left
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file with a token for every byte, then these.
    pub(in super::super) fn file(more: &[&str], used: usize) -> String {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        let tokens = bytes.chain(more.iter().map(|token| token.as_bytes().to_vec()));
        let vocab: Vec<_> = tokens
            .enumerate()
            .map(
                |(rank, token)| serde_json::json!({ "rank": rank, "token_bytes": BASE64_STANDARD.encode(&token), "token_str": null }),
            )
            .collect();
        let config = serde_json::json!({
            "pattern": r"[a-z]+|\s+(?!\S)|\s+|[0-9]", "num_vocab_tokens": vocab.len(), "default_vocab_size": used + 10,
            "default_num_special_tokens": 10, "version": "v3",
        });
        serde_json::json!({ "config": config, "vocab": vocab }).to_string()
    }

    #[test]
    fn the_lowest_rank_is_merged_first_and_tokens_beyond_the_size_are_unknown() {
        let tekken = Tekken::read(file(&["bc", "ab", "abc", "abcd"], 259).as_bytes()).unwrap();
        // `bc` goes before `ab`, so `abd` is two tokens and `abc` one.
        for (text, tokens) in
            [("", 0), ("abc", 1), ("abd", 2), ("abcd", 2), ("abcabc", 2), ("xbc 12", 5), ("\u{e9}", 2)]
        {
            assert_eq!(tekken.count(text), Some(tokens), "{text}");
        }
    }

    #[test]
    fn merging_is_the_same_as_by_the_plain_rule() {
        let more = ["aa", "ab", "ba", "aab", "abab", "aaaa", "bb", "abb"];
        let tekken = Tekken::read(file(&more, 256 + more.len()).as_bytes()).unwrap();
        let plain = |text: &str| {
            let mut parts: Vec<Vec<u8>> = text.bytes().map(|byte| vec![byte]).collect();
            loop {
                let pairs = parts.windows(2).enumerate();
                let lowest = pairs.filter_map(|(at, pair)| Some((*tekken.ranks.get(&pair.concat())?, at))).min();
                let Some((_, at)) = lowest else { return parts.len() };
                let right = parts.remove(at + 1);
                parts[at].extend(right);
            }
        };
        for number in 0..4_096_u32 {
            let text: String = (0..12).map(|bit| if number >> bit & 1 == 0 { 'a' } else { 'b' }).collect();
            assert_eq!(tekken.merge(text.as_bytes()), plain(&text), "{text}");
        }
    }

    #[test]
    fn a_damaged_file_says_what_is_wrong_with_it() {
        let good = file(&[], 256);
        for (bad, says) in [
            (good.replace("\"AA==\"", "\"?\""), "token 0 is not base64"),
            (good.replace("\"AA==\"", "\"AAA=\""), "no token for the byte 0"),
            (good.replace("[a-z]+", "[a-z"), "its pattern"),
        ] {
            let error = Tekken::read(bad.as_bytes()).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
