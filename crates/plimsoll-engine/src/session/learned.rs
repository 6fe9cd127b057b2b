//! What a refusal says of how much a model takes.

use std::time::{Duration, SystemTime};

use plimsoll::Tokens;
use plimsoll::wire::{Overflow, OverflowKind};

use super::report::Turn;

/// How many times more tokens than we count a provider may name for the same request.
const UNBELIEVABLE: u64 = 4;
/// For how long a limit is believed: a server may be started with a larger one, and nothing near it would ever be sent.
const BELIEVED: Duration = Duration::from_secs(3_600);

/// A limit that was learned from a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Learned {
    /// What the provider takes, in its own tokens.
    limit: Tokens,
    /// What the refused request counted by the static counter, and by the provider, where that is more.
    counted: (Tokens, Tokens),
    at: SystemTime,
}

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The input is too long for a limit that was not known.
    Input(Learned),
    /// The output that was asked for has no room. The input has enough, so there is nothing to compact.
    Output,
    /// Nothing that can be believed.
    Nothing,
}

impl Refusal {
    /// Reads a refusal of a request that asked for so much output.
    pub(super) fn of(turn: &Turn, max_output: Option<Tokens>, overflow: &Overflow, now: SystemTime) -> Self {
        if overflow.kind == OverflowKind::Bytes || turn.used == Tokens::ZERO {
            return Self::Nothing;
        }
        let (mut tokens, mut limit) = (overflow.tokens, overflow.limit);
        // Some count the output that was asked for as if it were there.
        if let (Some(all), Some(output)) = (tokens, max_output) {
            let input = all - output;
            if input > Tokens::ZERO && input.0.abs_diff(turn.used.0) < all.0.abs_diff(turn.used.0) {
                (tokens, limit) = (Some(input), limit.map(|limit| limit - output));
            }
        }
        // Numbers that cannot be of this request are a fault elsewhere, and would be one here for all that follow.
        if tokens.is_some_and(|tokens| tokens.0 / UNBELIEVABLE > turn.used.0) {
            (tokens, limit) = (None, None);
        }
        if let Some(stated) = overflow.limit.filter(|_| limit.is_some()) {
            let input = tokens.unwrap_or(turn.used);
            let least = if tokens.is_some() { stated.0 / 2 } else { stated.0 / UNBELIEVABLE };
            if input.0 < least {
                return Self::Output;
            }
        }
        let counted = match tokens {
            Some(tokens) if tokens > turn.counted && turn.counted > Tokens::ZERO => (turn.counted, tokens),
            _ => (Tokens(1), Tokens(1)),
        };
        // Whatever was said, it is less than what was sent.
        let sent = tokens.unwrap_or(turn.used).max(Tokens(1));
        let limit = limit.unwrap_or(sent).min(Tokens(sent.0 / 20 * 19)).max(Tokens(1));
        Self::Input(Learned { limit, counted, at: now })
    }
}

impl Learned {
    /// The limit: in the provider's tokens for what is known by its usage, else in those of the static counter.
    pub(super) fn limit(&self, is_reported: bool) -> Tokens {
        if is_reported {
            return self.limit;
        }
        let (ours, theirs) = self.counted;
        let scaled = u128::from(self.limit.0) * u128::from(ours.0) / u128::from(theirs.0.max(1));
        Tokens(u64::try_from(scaled).unwrap_or(u64::MAX))
    }

    pub(super) fn is_believed(&self, now: SystemTime) -> bool {
        now.duration_since(self.at).is_ok_and(|age| age < BELIEVED)
    }

    /// The smaller of two limits, as what was learned last.
    pub(super) fn with(self, earlier: Option<&Self>) -> Self {
        match earlier.filter(|earlier| earlier.is_believed(self.at) && earlier.limit < self.limit) {
            Some(earlier) => Self { limit: earlier.limit, ..self },
            None => self,
        }
    }

    /// Takes back what is refuted: so much was taken, in the provider's tokens.
    pub(super) fn refuted(&mut self, taken: Tokens) {
        self.limit = self.limit.max(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(counted: u64, used: u64) -> Turn {
        let (counted, used) = (Tokens(counted), Tokens(used));
        Turn { at: None, counted, used, replayed: false, shadowed: false, replay_only: false }
    }

    fn read(turn: &Turn, output: Option<u64>, tokens: Option<u64>, limit: Option<u64>) -> Refusal {
        let overflow = Overflow { tokens: tokens.map(Tokens), limit: limit.map(Tokens), kind: OverflowKind::Tokens };
        Refusal::of(turn, output.map(Tokens), &overflow, SystemTime::UNIX_EPOCH)
    }

    fn limits(refusal: Refusal) -> (u64, u64) {
        match refusal {
            Refusal::Input(learned) => (learned.limit(true).0, learned.limit(false).0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_limit_is_kept_in_the_tokens_it_was_stated_in() {
        assert_eq!(limits(read(&turn(40_000, 40_000), None, Some(80_000), Some(60_000))), (60_000, 30_000));
        // What is counted with usage is near the provider's count already.
        assert_eq!(limits(read(&turn(40_000, 78_000), None, Some(80_000), Some(60_000))), (60_000, 30_000));
        assert_eq!(limits(read(&turn(10_000, 10_000), None, None, None)), (9_500, 9_500));
        assert_eq!(limits(read(&turn(10_000, 10_000), None, None, Some(8_000))), (8_000, 8_000));
    }

    #[test]
    fn a_refusal_of_the_output_that_was_asked_for_says_nothing_of_the_input() {
        // vLLM: the input alone; others: input and output together.
        assert_eq!(read(&turn(3_440, 3_440), Some(30_000), Some(3_151), Some(32_000)), Refusal::Output);
        assert_eq!(read(&turn(3_440, 3_440), Some(30_000), Some(33_151), Some(32_000)), Refusal::Output);
        assert_eq!(read(&turn(12, 12), None, None, Some(60_000)), Refusal::Output);
        // Where the input is most of it, less of it leaves room for the output.
        assert_eq!(limits(read(&turn(30_000, 30_000), Some(4_000), Some(34_000), Some(32_000))).0, 28_000);
    }

    #[test]
    fn numbers_that_cannot_be_of_the_request_are_passed_over() {
        assert_eq!(limits(read(&turn(1_000, 1_000), None, Some(900_000), Some(2))), (950, 950));
        assert_eq!(read(&turn(0, 0), None, None, None), Refusal::Nothing);
    }

    #[test]
    fn what_was_learned_is_forgotten_after_an_hour_and_where_it_is_refuted() {
        let Refusal::Input(mut learned) = read(&turn(10_000, 10_000), None, None, Some(8_000)) else { panic!() };
        let later = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert!(learned.is_believed(later(3_599)) && !learned.is_believed(later(3_600)));
        learned.refuted(Tokens(9_000));
        assert_eq!(learned.limit(true), Tokens(9_000));
    }
}
