//! Sums over the pieces of a text, each looked up or encoded: exact counts, and weights for estimates.

use std::cell::RefCell;

use super::Encoding;
use super::bpe::Encoder;
use super::layout::{LONGEST_TOKEN, LOOKED_UP};
use super::split::{self, Split};
use super::vocabulary::{self, Vocabulary};

/// Pieces remembered, a power of two: 256 KiB, which stays in a core's own cache.
const MEMO_BITS: u32 = 14;

/// Counts the tokens of a text, up to a limit. `None` if there are more.
pub(super) fn count(encoding: Encoding, text: &str, limit: usize) -> Option<usize> {
    // Each encoding keeps a state of its own in each thread.
    macro_rules! by {
        ($split:ident, $vocabulary:ident, $text:expr) => {{
            thread_local!(static STATE: RefCell<State> = const { RefCell::new(State::new()) });
            let text = $text;
            // A token has no more bytes than the longest.
            if text.len().div_ceil(LONGEST_TOKEN) > limit {
                return None;
            }
            with(&STATE, |state| {
                state.sum::<split::$split, Ones, 15>(&vocabulary::$vocabulary, Ones, text, limit)
            })
        }};
    }
    match encoding {
        #[cfg(feature = "o200k")]
        Encoding::O200kBase | Encoding::O200kHarmony => by!(O200k, O200K, text),
        #[cfg(feature = "cl100k")]
        Encoding::Cl100kBase => by!(Cl100k, CL100K, text),
        #[cfg(feature = "qwen")]
        Encoding::Qwen2 => {
            let text = composed(text);
            by!(Qwen2, QWEN2, text.as_ref())
        }
        #[cfg(feature = "mistral")]
        Encoding::Tekken => by!(Tekken, TEKKEN, text),
        #[cfg(feature = "llama3")]
        Encoding::Llama3 => by!(Cl100k, LLAMA3, text),
        #[cfg(feature = "deepseek")]
        Encoding::DeepseekV3 => by!(DeepseekV3, DEEPSEEK_V3, text),
    }
}

/// The text in normal form C.
#[cfg(feature = "qwen")]
fn composed(text: &str) -> std::borrow::Cow<'_, str> {
    use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfc_quick};
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => text.into(),
        _ => text.nfc().collect::<String>().into(),
    }
}

/// The state of a thread for one table of weights.
#[cfg(feature = "o200k")]
pub(super) type Memory = std::thread::LocalKey<RefCell<State>>;

/// Adds up weights of the tokens of `o200k_base`, one for each token, up to a limit. `None` if they are more.
#[cfg(feature = "o200k")]
pub(super) fn weigh(memory: &'static Memory, weights: &'static [u8], text: &str, limit: usize) -> Option<usize> {
    let weights = Weights(weights);
    with(memory, |state| state.sum::<split::O200k, Weights, 14>(&vocabulary::O200K, weights, text, limit))
}

/// What a piece of text is worth.
trait Worth: Copy {
    /// What it is worth at least.
    fn least(length: usize) -> usize;
    fn of(self, vocabulary: &Vocabulary, encoder: &mut Encoder, piece: &[u8]) -> usize;
}

/// A piece is worth its tokens.
#[derive(Clone, Copy)]
struct Ones;

impl Worth for Ones {
    #[inline]
    fn least(length: usize) -> usize {
        length.div_ceil(LONGEST_TOKEN)
    }

    #[inline]
    fn of(self, vocabulary: &Vocabulary, encoder: &mut Encoder, piece: &[u8]) -> usize {
        // Merging arrives at every token: looking a piece up is only a shorter way there, unless it is very short.
        if (LOOKED_UP..=LONGEST_TOKEN).contains(&piece.len()) && vocabulary.contains(piece) {
            return 1;
        }
        encoder.count(vocabulary, piece)
    }
}

/// A piece is worth the weights of its tokens.
#[cfg(feature = "o200k")]
#[derive(Clone, Copy)]
struct Weights(&'static [u8]);

#[cfg(feature = "o200k")]
impl Worth for Weights {
    #[inline]
    fn least(_: usize) -> usize {
        0
    }

    #[inline]
    fn of(self, vocabulary: &Vocabulary, encoder: &mut Encoder, piece: &[u8]) -> usize {
        encoder.weigh(vocabulary, self.0, piece)
    }
}

/// Runs with the thread's state, or with a fresh one where the thread is ending and has none any more.
fn with<T>(key: &'static std::thread::LocalKey<RefCell<State>>, run: impl Fn(&mut State) -> T) -> T {
    key.try_with(|state| state.try_borrow_mut().ok().map(|mut state| run(&mut state)))
        .ok()
        .flatten()
        .unwrap_or_else(|| run(&mut State::new()))
}

/// What a thread keeps between sums of one kind: it changes how fast a sum is, never what it is.
pub(super) struct State {
    /// Short pieces with what they are worth, each at the place its hash gives. See [`Key`].
    memo: Vec<u128>,
    encoder: Option<Encoder>,
}

impl State {
    pub(super) const fn new() -> Self {
        Self { memo: Vec::new(), encoder: None }
    }

    /// Pieces of up to `SHORT` bytes are remembered.
    fn sum<S: Split, W: Worth, const SHORT: usize>(
        &mut self,
        vocabulary: &Vocabulary,
        worth: W,
        text: &str,
        limit: usize,
    ) -> Option<usize> {
        if self.memo.is_empty() {
            self.memo = vec![0; 1 << MEMO_BITS];
        }
        let encoder = self.encoder.get_or_insert_with(Encoder::default);
        let text = text.as_bytes();
        let (mut sum, mut start) = (0, 0);
        while start < text.len() {
            let end = S::piece_end(text, start);
            let length = end - start;
            let piece = text.get(start..end)?;
            sum += if length <= SHORT {
                let key = Key::<SHORT>::new(text, start, length);
                let place = self.memo.get_mut(key.place())?;
                if let Some(known) = key.worth_in(*place) {
                    known
                } else {
                    let found = worth.of(vocabulary, encoder, piece);
                    *place = key.with_worth(found);
                    found
                }
            } else {
                if W::least(length) > limit.saturating_sub(sum) {
                    return None;
                }
                worth.of(vocabulary, encoder, piece)
            };
            if sum > limit {
                return None;
            }
            start = end;
        }
        Some(sum)
    }
}

/// A piece of up to `SHORT` bytes as a number: its bytes, above them four bits of its length, above those what it is
/// worth, which is zero in a key. No piece is empty, so no key equals an empty place. With 15 bytes there are four bits for
/// a count; with 14 there are twelve, enough for 14 weights of a byte.
#[derive(Clone, Copy)]
struct Key<const SHORT: usize>(u128);

impl<const SHORT: usize> Key<SHORT> {
    /// Where the length ends and the worth begins.
    const WORTH: usize = 8 * SHORT + 4;

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
        Self((u128::from_le_bytes(bytes) & kept) | (length as u128) << (8 * SHORT))
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the number")]
    fn place(self) -> usize {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let mixed = (low ^ high.wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - MEMO_BITS)) as usize
    }

    /// What a place says that this piece is worth.
    #[inline]
    fn worth_in(self, place: u128) -> Option<usize> {
        let difference = place ^ self.0;
        (difference << (128 - Self::WORTH) == 0).then_some((difference >> Self::WORTH) as usize)
    }

    fn with_worth(self, worth: usize) -> u128 {
        self.0 | (worth as u128) << Self::WORTH
    }
}
