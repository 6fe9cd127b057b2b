//! An encoding's vocabulary, searched in place in the tables that the build script wrote.

use super::layout::{
    NONE, OFFSET_MASK, TOKEN_LIMIT, filter_bit, pair_hash, pair_home, pair_key, piece_hash, piece_home, piece_slot,
};

/// A vocabulary: which byte strings are tokens, and which pairs of tokens merge into a third.
#[derive(Debug)]
pub(super) struct Vocabulary {
    pairs: &'static [[u8; 8]],
    filter: &'static [[u8; 8]],
    slots: &'static [[u8; 4]],
    of_byte: &'static [[u8; 4]],
    of_two: &'static [[u8; 4]],
    arena: &'static [u8],
}

macro_rules! tables {
    ($name:literal) => {
        Vocabulary {
            pairs: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".pairs")).as_chunks().0,
            filter: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".filter")).as_chunks().0,
            slots: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".slots")).as_chunks().0,
            of_byte: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bytes")).as_chunks().0,
            of_two: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".twos")).as_chunks().0,
            arena: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".arena")),
        }
    };
}

#[cfg(feature = "o200k")]
pub(super) static O200K: Vocabulary = tables!("o200k");
#[cfg(feature = "cl100k")]
pub(super) static CL100K: Vocabulary = tables!("cl100k");
#[cfg(feature = "qwen")]
pub(super) static QWEN2: Vocabulary = tables!("qwen2");
#[cfg(feature = "mistral")]
pub(super) static TEKKEN: Vocabulary = tables!("tekken");
#[cfg(feature = "llama3")]
pub(super) static LLAMA3: Vocabulary = tables!("llama3");
#[cfg(feature = "deepseek")]
pub(super) static DEEPSEEK_V3: Vocabulary = tables!("deepseek_v3");

impl Vocabulary {
    /// Says whether these bytes are one token.
    pub(super) fn contains(&self, piece: &[u8]) -> bool {
        let hash = piece_hash(piece);
        let home = piece_home(hash, self.slots.len() as u64);
        let tag = piece_slot(hash, 0);
        let Some(slots) = usize::try_from(home).ok().and_then(|home| self.slots.get(home..)) else {
            return false;
        };
        for slot in slots {
            let slot = u32::from_le_bytes(*slot);
            if slot == 0 {
                return false;
            }
            if (slot ^ tag) & !OFFSET_MASK == 0
                && let Some(found) = self.arena.get(((slot & OFFSET_MASK) - 1) as usize..)
                && let Some((length, bytes)) = found.split_first()
                && usize::from(*length) == piece.len()
                && bytes.starts_with(piece)
            {
                return true;
            }
        }
        false
    }

    /// The token of a single byte.
    pub(super) fn of_byte(&self, byte: u8) -> u32 {
        self.of_byte.get(usize::from(byte)).map_or(NONE, |token| u32::from_le_bytes(*token))
    }

    /// The token that two bytes merge into, or [`NONE`]. Half of all merges looked for are these, so they have a table
    /// that is small enough to stay in a core's own cache.
    pub(super) fn merge_bytes(&self, left: u8, right: u8) -> u32 {
        let at = usize::from(left) << 8 | usize::from(right);
        self.of_two.get(at).map_or(NONE, |token| u32::from_le_bytes(*token))
    }

    /// The token that two neighbouring tokens merge into, or [`NONE`].
    #[inline]
    pub(super) fn merge(&self, left: u32, right: u32) -> u32 {
        let key = pair_key(left, right);
        let hash = pair_hash(key);
        let (word, bit) = filter_bit(hash);
        if self.filter.get(word).is_none_or(|word| u64::from_le_bytes(*word) & bit == 0) {
            return NONE;
        }
        let home = pair_home(hash, self.pairs.len() as u64);
        let Some(slots) = usize::try_from(home).ok().and_then(|home| self.pairs.get(home..)) else {
            return NONE;
        };
        for slot in slots {
            let slot = u64::from_le_bytes(*slot);
            if slot == 0 {
                return NONE;
            }
            if let Ok(merged) = u32::try_from(slot ^ key)
                && merged < TOKEN_LIMIT
            {
                return merged;
            }
        }
        NONE
    }
}
