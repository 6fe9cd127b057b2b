//! Cutting a document into chunks by its content, so that a document which grew shares most chunks with what it was.
//!
//! A rolling hash over the last 64 bytes decides where a chunk ends; an insertion moves the cuts around it and no
//! others. Below the normal size a cut is made rarer, above it more likely, which keeps sizes close together
//! (the normalisation of `FastCDC`, Xia et al., USENIX ATC 2016).
//!
//! The table and the sizes may change between versions: chunks are found again by their hash, so a change costs only
//! that documents do not share with those from before.

/// No chunk but the last is shorter, in bytes.
const SHORTEST: usize = 32 * 1024;
/// From here on a cut is likely, in bytes.
const NORMAL: usize = 64 * 1024;
/// No chunk is longer, in bytes.
pub(crate) const LONGEST: usize = 256 * 1024;
/// A cut before [`NORMAL`]: one in 2^18 bytes.
const RARE: u64 = !0 << (64 - 18);
/// A cut from [`NORMAL`] on: one in 2^14 bytes.
const LIKELY: u64 = !0 << (64 - 14);

/// A fixed random value for each byte (splitmix64 from a fixed seed).
static GEAR: [u64; 256] = gear();

#[expect(clippy::indexing_slicing, reason = "a constant: an index out of bounds would not compile")]
const fn gear() -> [u64; 256] {
    let mut table = [0; 256];
    let mut state: u64 = 0x506c_696d_736f_6c6c;
    let mut at = 0;
    while at < table.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = mixed ^ (mixed >> 31);
        at += 1;
    }
    table
}

/// Cuts a document; the chunks joined are the document. An empty one has no chunk.
pub(crate) fn chunks(document: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = document;
    std::iter::from_fn(move || {
        let (chunk, after) = rest.split_at_checked(end_of_first(rest)).filter(|(chunk, _)| !chunk.is_empty())?;
        rest = after;
        Some(chunk)
    })
}

/// Finds where the first chunk ends.
fn end_of_first(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(LONGEST);
    let mut hash: u64 = 0;
    for (from, to, mask) in [(SHORTEST, NORMAL.min(longest), RARE), (NORMAL, longest, LIKELY)] {
        for (at, byte) in bytes.get(from..to).unwrap_or(&[]).iter().enumerate() {
            #[expect(clippy::indexing_slicing, reason = "a byte is an index into 256 entries")]
            let value = GEAR[usize::from(*byte)];
            hash = (hash << 1).wrapping_add(value);
            if hash & mask == 0 {
                return from + at + 1;
            }
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// Text that does not repeat itself, about `bytes` long.
    fn text(seed: u64, bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut state = seed;
        while out.len() < bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            out.extend_from_slice(format!("{{\"n\":{state}}}\n").as_bytes());
        }
        out
    }

    #[test]
    fn sizes_stay_within_their_bounds() {
        for document in [text(1, 3_000_000), vec![b' '; 3_000_000], (0..=255).cycle().take(3_000_000).collect()] {
            let sizes: Vec<usize> = chunks(&document).map(<[u8]>::len).collect();
            assert!(sizes.iter().all(|size| *size <= LONGEST));
            assert!(sizes.iter().rev().skip(1).all(|size| *size >= SHORTEST));
        }
        let average = 3_000_000 / chunks(&text(1, 3_000_000)).count();
        assert!((48 * 1024..128 * 1024).contains(&average), "{average} B");
    }

    #[test]
    fn an_insertion_changes_only_the_chunks_around_it() {
        let before = text(2, 4_000_000);
        for at in [0, 1_000_000, 3_999_999] {
            let mut after = before.clone();
            after.splice(at..at, *b"inserted");
            let known: HashSet<&[u8]> = chunks(&before).collect();
            let new: usize = chunks(&after).filter(|chunk| !known.contains(chunk)).map(<[u8]>::len).sum();
            assert!(new <= 3 * LONGEST, "an insertion at {at} changed {new} B");
        }
    }

    proptest! {
        #[test]
        fn chunks_joined_are_the_document(seed in any::<u64>(), bytes in 0_usize..600_000) {
            let document = text(seed, bytes);
            prop_assert_eq!(chunks(&document).collect::<Vec<_>>().concat(), document);
        }
    }
}
