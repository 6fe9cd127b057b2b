//! `Breaker`: stops automatic compaction when it does not help.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Attempts in a row that may fail to help before automatic compaction stops.
const ATTEMPTS: usize = 3;

/// Turns below the compaction threshold that a compaction must buy to have helped.
const TURNS: u8 = 3;

/// Who asks for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The compaction threshold was reached.
    Threshold,
    /// A request was, or would be, over the limit.
    Overflow,
    /// A person or program asked for it.
    Manual,
}

/// How an attempt at compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempt {
    /// Its result is in place. Whether it helped, the next turns tell.
    Applied,
    /// There was no result.
    Failed,
    /// There was a result, and it was not worth taking.
    Ineffective,
    /// The user aborted it. It counts as nothing.
    Aborted,
}

/// Why an attempt did not help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strike {
    /// There was no result.
    Failed,
    /// The result was not worth taking.
    Ineffective,
    /// The context was full again within three turns.
    Refilled,
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Failed => "failed",
            Self::Ineffective => "ineffective",
            Self::Refilled => "refilled",
        })
    }
}

/// Whether a compaction may be tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permit {
    /// It may.
    Granted,
    /// It may not: automatic compaction is off. An overflow is then the caller's error to report.
    AutoOff,
    /// It may not: the last attempts did not help, for these reasons, the oldest first.
    Tripped(Vec<Strike>),
}

impl fmt::Display for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted => f.write_str("compaction may be tried"),
            Self::AutoOff => f.write_str("automatic compaction is off (auto = false)"),
            Self::Tripped(strikes) => {
                write!(
                    f,
                    "automatic compaction stopped: {} attempts in a row did not buy {TURNS} turns (",
                    strikes.len()
                )?;
                for (index, strike) in strikes.iter().enumerate() {
                    write!(f, "{}{strike}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("); compact by hand, or make system prompt, tools or results smaller")
            }
        }
    }
}

/// Counts attempts at compaction that did not help, and stops automatic ones after three in a row. Plain data: it may
/// be stored with the session.
///
/// An attempt helped when three turns in a row after it stayed below the compaction threshold. One that failed, was
/// not worth taking, or was followed by a full context within three turns did not. Attempts by hand are always tried:
/// they never count against, and one that helps lets automatic compaction go on (rule: specification of compaction,
/// *When*).
///
/// ```
/// use plimsoll::budget::{Attempt, Breaker, Permit, Trigger};
/// let mut breaker = Breaker::default();
/// for _ in 0..3 {
///     assert_eq!(breaker.permit(true, Trigger::Threshold), Permit::Granted);
///     breaker.attempted(Trigger::Threshold, Attempt::Applied);
///     breaker.turn(false); // full again at once
/// }
/// assert!(matches!(breaker.permit(true, Trigger::Threshold), Permit::Tripped(_)));
/// assert_eq!(breaker.permit(true, Trigger::Manual), Permit::Granted);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Breaker {
    strikes: Vec<Strike>,
    watched: Option<Watched>,
}

/// A compaction that is in place and must still show that it helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Watched {
    turns: u8,
    manual: bool,
}

impl Breaker {
    /// Tells whether a compaction may be tried; `auto` is the policy's.
    pub fn permit(&self, auto: bool, trigger: Trigger) -> Permit {
        if trigger == Trigger::Manual {
            Permit::Granted
        } else if !auto {
            Permit::AutoOff
        } else if self.strikes.len() >= ATTEMPTS {
            Permit::Tripped(self.strikes.clone())
        } else {
            Permit::Granted
        }
    }

    /// Records how an attempt ended.
    pub fn attempted(&mut self, trigger: Trigger, attempt: Attempt) {
        let manual = trigger == Trigger::Manual;
        if attempt == Attempt::Aborted {
            return;
        }
        if !manual {
            // A new automatic attempt says itself that the one before it bought too little.
            self.refilled();
        }
        match attempt {
            Attempt::Applied => self.watched = Some(Watched { turns: 0, manual }),
            Attempt::Failed if !manual => self.strike(Strike::Failed),
            Attempt::Ineffective if !manual => self.strike(Strike::Ineffective),
            Attempt::Failed | Attempt::Ineffective | Attempt::Aborted => {}
        }
    }

    /// Records a turn that ended, and whether the context was below the compaction threshold at its end.
    pub fn turn(&mut self, below_compact: bool) {
        if !below_compact {
            self.refilled();
        } else if let Some(watched) = &mut self.watched {
            watched.turns = watched.turns.saturating_add(1);
            if watched.turns >= TURNS {
                *self = Self::default();
            }
        }
    }

    fn refilled(&mut self) {
        if let Some(watched) = self.watched.take()
            && !watched.manual
        {
            self.strike(Strike::Refilled);
        }
    }

    fn strike(&mut self, strike: Strike) {
        self.strikes.push(strike);
        // The latest are the reason; a session that goes on by hand must not grow this.
        let surplus = self.strikes.len().saturating_sub(ATTEMPTS);
        self.strikes.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tripped(breaker: &Breaker) -> bool {
        matches!(breaker.permit(true, Trigger::Threshold), Permit::Tripped(_))
    }

    #[test]
    fn mechanism_26_a_loop_of_successes_trips() {
        let mut breaker = Breaker::default();
        for round in 0..3 {
            assert!(!tripped(&breaker), "round {round}");
            breaker.attempted(Trigger::Threshold, Attempt::Applied);
            breaker.turn(true);
            breaker.turn(true);
            breaker.turn(false);
        }
        insta::assert_snapshot!(breaker.permit(true, Trigger::Threshold), @"automatic compaction stopped: 3 attempts in a row did not buy 3 turns (refilled, refilled, refilled); compact by hand, or make system prompt, tools or results smaller");
    }

    #[test]
    fn mechanism_26_compactions_without_a_turn_between_trip() {
        let mut breaker = Breaker::default();
        for _ in 0..4 {
            breaker.attempted(Trigger::Overflow, Attempt::Applied);
        }
        assert!(tripped(&breaker));
    }

    #[test]
    fn mixed_reasons_count_together_and_three_turns_forgive() {
        let mut breaker = Breaker::default();
        breaker.attempted(Trigger::Threshold, Attempt::Failed);
        breaker.attempted(Trigger::Threshold, Attempt::Ineffective);
        breaker.attempted(Trigger::Threshold, Attempt::Applied);
        for _ in 0..3 {
            breaker.turn(true);
        }
        assert_eq!(breaker, Breaker::default());
        breaker.attempted(Trigger::Threshold, Attempt::Failed);
        breaker.attempted(Trigger::Overflow, Attempt::Ineffective);
        breaker.attempted(Trigger::Threshold, Attempt::Applied);
        assert!(!tripped(&breaker));
        breaker.turn(false);
        assert_eq!(
            breaker.permit(true, Trigger::Overflow),
            Permit::Tripped(vec![Strike::Failed, Strike::Ineffective, Strike::Refilled])
        );
    }

    #[test]
    fn an_abort_counts_as_nothing() {
        let mut breaker = Breaker::default();
        breaker.attempted(Trigger::Threshold, Attempt::Applied);
        let before = breaker.clone();
        for _ in 0..10 {
            breaker.attempted(Trigger::Threshold, Attempt::Aborted);
        }
        assert_eq!(breaker, before);
    }

    #[test]
    fn a_manual_attempt_is_always_tried_and_can_close_the_breaker() {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            breaker.attempted(Trigger::Threshold, Attempt::Failed);
        }
        assert!(tripped(&breaker));
        assert_eq!(breaker.permit(false, Trigger::Manual), Permit::Granted);
        breaker.attempted(Trigger::Manual, Attempt::Failed);
        breaker.attempted(Trigger::Manual, Attempt::Applied);
        breaker.turn(false);
        assert!(tripped(&breaker));
        breaker.attempted(Trigger::Manual, Attempt::Applied);
        for _ in 0..3 {
            breaker.turn(true);
        }
        assert!(!tripped(&breaker));
    }

    #[test]
    fn mechanism_27_auto_false_holds_on_an_overflow_too() {
        let breaker = Breaker::default();
        assert_eq!(breaker.permit(false, Trigger::Threshold), Permit::AutoOff);
        assert_eq!(breaker.permit(false, Trigger::Overflow), Permit::AutoOff);
        assert_eq!(breaker.permit(false, Trigger::Manual), Permit::Granted);
    }

    #[test]
    fn it_can_be_stored() {
        let mut breaker = Breaker::default();
        breaker.attempted(Trigger::Threshold, Attempt::Failed);
        breaker.attempted(Trigger::Threshold, Attempt::Applied);
        let stored = serde_json::to_string(&breaker).unwrap();
        assert_eq!(serde_json::from_str::<Breaker>(&stored).unwrap(), breaker);
    }

    proptest! {
        /// However turns and attempts fall, automatic attempts without three good turns between them end.
        #[test]
        fn automatic_attempts_end(gaps in prop::collection::vec(0u8..3, 0..40)) {
            let mut breaker = Breaker::default();
            let mut granted = 0;
            for gap in gaps {
                if breaker.permit(true, Trigger::Threshold) == Permit::Granted {
                    granted += 1;
                    breaker.attempted(Trigger::Threshold, Attempt::Applied);
                }
                for _ in 0..gap {
                    breaker.turn(true);
                }
                breaker.turn(false);
            }
            prop_assert!(granted <= ATTEMPTS);
        }
    }
}
