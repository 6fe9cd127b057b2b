//! Exact counts: pieces of the text, each looked up or encoded.

use std::cell::RefCell;

use super::Encoding;
use super::bpe::Encoder;
use super::layout::LONGEST_TOKEN;
use super::split::Split;
use super::vocabulary::Vocabulary;

/// The longest piece that is remembered, in bytes.
const REMEMBERED: usize = 15;
/// The shortest piece that is looked up before it is merged, in bytes.
const LOOKED_UP: usize = 5;
/// Pieces remembered, a power of two: 256 KiB, which stays in a core's own cache.
const MEMO_BITS: u32 = 14;

/// Counts the tokens of a text, up to a limit. `None` if there are more.
pub(super) fn count(encoding: Encoding, text: &str, limit: usize) -> Option<usize> {
    // A token has no more bytes than the longest.
    if text.len().div_ceil(LONGEST_TOKEN) > limit {
        return None;
    }
    match encoding {
        #[cfg(feature = "o200k")]
        Encoding::O200kBase | Encoding::O200kHarmony => {
            thread_local!(static STATE: RefCell<State> = const { RefCell::new(State::new()) });
            with(&STATE, |state| state.count::<super::split::O200k>(&super::vocabulary::O200K, text, limit))
        }
        #[cfg(feature = "cl100k")]
        Encoding::Cl100kBase => {
            thread_local!(static STATE: RefCell<State> = const { RefCell::new(State::new()) });
            with(&STATE, |state| state.count::<super::split::Cl100k>(&super::vocabulary::CL100K, text, limit))
        }
    }
}

/// Runs with the thread's state, or with a fresh one where the thread is ending and has none any more.
fn with<T>(key: &'static std::thread::LocalKey<RefCell<State>>, run: impl Fn(&mut State) -> T) -> T {
    key.try_with(|state| state.try_borrow_mut().ok().map(|mut state| run(&mut state)))
        .ok()
        .flatten()
        .unwrap_or_else(|| run(&mut State::new()))
}

/// What a thread keeps between counts of one encoding: it changes how fast a count is, never what it is.
struct State {
    /// Short pieces with their counts, each at the place its hash gives. See [`Key`].
    memo: Vec<u128>,
    encoder: Option<Encoder>,
}

impl State {
    const fn new() -> Self {
        Self { memo: Vec::new(), encoder: None }
    }

    fn count<S: Split>(&mut self, vocabulary: &Vocabulary, text: &str, limit: usize) -> Option<usize> {
        if self.memo.is_empty() {
            self.memo = vec![0; 1 << MEMO_BITS];
        }
        let encoder = self.encoder.get_or_insert_with(Encoder::default);
        let text = text.as_bytes();
        let (mut count, mut start) = (0, 0);
        while start < text.len() {
            let end = S::piece_end(text, start);
            let length = end - start;
            let piece = text.get(start..end)?;
            count += if length <= REMEMBERED {
                let key = Key::new(text, start, length);
                let place = self.memo.get_mut(key.place())?;
                if let Some(known) = key.count_in(*place) {
                    known
                } else {
                    let counted = count_piece(vocabulary, encoder, piece);
                    *place = key.with_count(counted);
                    counted
                }
            } else {
                if length.div_ceil(LONGEST_TOKEN) > limit.saturating_sub(count) {
                    return None;
                }
                count_piece(vocabulary, encoder, piece)
            };
            if count > limit {
                return None;
            }
            start = end;
        }
        Some(count)
    }
}

fn count_piece(vocabulary: &Vocabulary, encoder: &mut Encoder, piece: &[u8]) -> usize {
    // Merging arrives at every token: looking a piece up is only a shorter way there, unless it is very short.
    if (LOOKED_UP..=LONGEST_TOKEN).contains(&piece.len()) && vocabulary.contains(piece) {
        return 1;
    }
    encoder.count(vocabulary, piece)
}

/// A piece of up to 15 bytes as a number: its bytes, above them four bits of its length, above those four of its
/// count, which are zero in a key. No piece is empty, so no key equals an empty place.
#[derive(Clone, Copy)]
struct Key(u128);

impl Key {
    #[inline]
    fn new(text: &[u8], start: usize, length: usize) -> Self {
        let rest = text.get(start..).unwrap_or_default();
        let bytes = rest.first_chunk::<16>().copied().unwrap_or_else(|| {
            let mut padded = [0; 16];
            for (to, from) in padded.iter_mut().zip(rest) {
                *to = *from;
            }
            padded
        });
        let kept = (1_u128 << (8 * length)) - 1;
        Self((u128::from_le_bytes(bytes) & kept) | (length as u128) << 120)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the number")]
    fn place(self) -> usize {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let mixed = (low ^ high.wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - MEMO_BITS)) as usize
    }

    /// The count that a place holds for this key.
    #[inline]
    fn count_in(self, place: u128) -> Option<usize> {
        let difference = place ^ self.0;
        (difference << 4 == 0).then_some((difference >> 124) as usize)
    }

    fn with_count(self, count: usize) -> u128 {
        self.0 | (count as u128) << 124
    }
}
