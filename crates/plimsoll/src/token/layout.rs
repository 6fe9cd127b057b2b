//! How the vocabulary tables lie in memory: shared by the build script, which writes them, and by the counter.
//!
//! Everything is little-endian and read in place, so that a process that counts one small file pays nothing to load
//! a vocabulary: the tables are pages of the program itself.

/// Marks "no such token" where a token is expected. Tokens are below [`TOKEN_LIMIT`].
pub(crate) const NONE: u32 = u32::MAX;
/// Token numbers fit this many bits, so that a pair and what it merges into fit one 64-bit slot.
pub(crate) const TOKEN_BITS: u32 = 18;
/// One more than the largest token number that fits.
pub(crate) const TOKEN_LIMIT: u32 = 1 << TOKEN_BITS;
/// Offsets into the arena of token bytes fit this many bits of a slot; the rest is a tag of the hash.
pub(crate) const OFFSET_BITS: u32 = 21;

/// The longest token of any encoding, in bytes.
pub(crate) const LONGEST_TOKEN: usize = 128;
/// The shortest piece that is looked up before it is merged, in bytes.
pub(crate) const LOOKED_UP: usize = 5;
/// Slots at the end of a table where no search starts, so that none needs to wrap around. The last is always empty.
pub(crate) const SPARE: u64 = 256;

/// The bits of a slot that hold an offset, plus one.
pub(crate) const OFFSET_MASK: u32 = (1 << OFFSET_BITS) - 1;

const SCRAMBLE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads 64 bits over 64 bits.
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 32)).wrapping_mul(SCRAMBLE);
    (value ^ (value >> 29)).wrapping_mul(SCRAMBLE)
}

/// Packs a pair of tokens as the upper part of a slot; the lower [`TOKEN_BITS`] bits take what they merge into.
pub(crate) const fn pair_key(left: u32, right: u32) -> u64 {
    ((left as u64) << (2 * TOKEN_BITS)) | ((right as u64) << TOKEN_BITS)
}

/// Hashes a pair.
pub(crate) const fn pair_hash(key: u64) -> u64 {
    mix(key)
}

/// Gives the slot where the search for a pair starts, in a table of `slots`.
pub(crate) const fn pair_home(hash: u64, slots: u64) -> u64 {
    ((hash >> 32) * slots.saturating_sub(SPARE)) >> 32
}

/// Words of the filter that says which pairs may merge: 128 KiB, which stay in a core's own cache where the table of
/// pairs does not. Most pairs asked for do not merge, and four in five of these are told by it.
pub(crate) const FILTER_WORDS: usize = 1 << 14;

/// Gives the word and the bit of a pair in the filter.
pub(crate) const fn filter_bit(hash: u64) -> (usize, u64) {
    ((hash >> 6) as usize % FILTER_WORDS, 1 << (hash & 63))
}

/// Hashes the bytes of a token, or of a piece of text that may be one.
pub(crate) fn piece_hash(piece: &[u8]) -> u64 {
    let (words, rest) = piece.as_chunks::<8>();
    let mut hash = piece.len() as u64;
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word)).rotate_left(5);
    }
    let mut last = [0_u8; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    mix(hash ^ u64::from_le_bytes(last))
}

/// Gives the slot where the search for a piece starts, in a table of `slots`.
pub(crate) const fn piece_home(hash: u64, slots: u64) -> u64 {
    ((hash >> 32) * slots.saturating_sub(SPARE)) >> 32
}

/// Packs where a token's bytes lie, with a tag of its hash. Never zero: zero is an empty slot.
#[expect(clippy::cast_possible_truncation, reason = "the low bits of the hash are what is wanted")]
pub(crate) const fn piece_slot(hash: u64, offset: u32) -> u32 {
    ((hash as u32) << OFFSET_BITS) | (offset + 1)
}
