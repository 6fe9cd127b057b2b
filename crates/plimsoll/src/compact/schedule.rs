//! `schedule`: when a summary is started, waited for and put in place, as a pure decision.

use serde::Serialize;

use crate::budget::{Level, Permit, Trigger};

/// What there is of a summary for the history at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Supply {
    /// None is there, and none is being made.
    None,
    /// One is being made.
    Making,
    /// One is being made, and has been waited for as long as is reasonable.
    Late,
    /// One is there.
    Ready,
    /// It was tried for this very history, and there is nothing to put in place.
    Nothing,
}

/// What is known when a request is about to go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// How full the context is.
    pub level: Level,
    /// Why a compaction is considered.
    pub trigger: Trigger,
    /// Whether one may be tried.
    pub permit: Permit,
    /// What there is of a summary.
    pub supply: Supply,
    /// Whether a turn goes on whose reasoning is bound to the prefix, so that nothing before it may change now.
    pub bound_turn: bool,
    /// Whether nobody is there who could compact by hand once attempts have stopped.
    pub unattended: bool,
}

/// What is done about compaction with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Nothing: it goes out on the history as it is.
    Send,
    /// A summary is started; the request goes out on the history as it is.
    Start,
    /// The summary that is there is put in place first.
    Adopt,
    /// A summary is started, and the request waits for it.
    StartAndWait,
    /// The request waits for the summary that is being made.
    Wait,
    /// The request waits no longer: an extract takes the place of the summary that is late.
    Extract,
}

/// Decides what is done about compaction with a request. Pure and total.
///
/// Below the threshold for preparing nothing is. From there on a summary is made beside the requests, which go out as
/// they are. From the compaction threshold on it is put in place once it is there; from the hard threshold on, after an
/// overflow, and by hand, the request waits for it, and takes an extract if that is too long. While a turn with bound
/// reasoning goes on, nothing is put in place below the hard threshold; at it, only what was made for that case is, so
/// a summary that was prepared before does not count (rule: specification of compaction, *When* and *Putting it back*).
///
/// Attempts that did not help stop. Where nobody is there to compact by hand, a request that would be too long then still
/// takes an extract, which costs no call of a model.
///
/// ```
/// use plimsoll::budget::{Level, Permit, Trigger};
/// use plimsoll::compact::{Situation, Step, Supply, schedule};
/// let mut situation = Situation {
///     level: Level::Prepare,
///     trigger: Trigger::Threshold,
///     permit: Permit::Granted,
///     supply: Supply::None,
///     bound_turn: false,
///     unattended: false,
/// };
/// assert_eq!(schedule(&situation), Step::Start);
/// situation.supply = Supply::Ready;
/// assert_eq!(schedule(&situation), Step::Send);
/// situation.level = Level::Compact;
/// assert_eq!(schedule(&situation), Step::Adopt);
/// ```
pub fn schedule(situation: &Situation) -> Step {
    let must = situation.trigger != Trigger::Threshold || situation.level >= Level::Hard;
    match situation.permit {
        Permit::Granted => {}
        Permit::Tripped(_) if situation.unattended && must && situation.supply != Supply::Nothing => {
            return Step::Extract;
        }
        Permit::Tripped(_) | Permit::AutoOff => return Step::Send,
    }
    if must {
        return match situation.supply {
            Supply::None => Step::StartAndWait,
            Supply::Making => Step::Wait,
            Supply::Late => Step::Extract,
            Supply::Ready => Step::Adopt,
            Supply::Nothing => Step::Send,
        };
    }
    match (situation.level, situation.supply) {
        (Level::Fine | Level::Warn, _) | (_, Supply::Making | Supply::Late | Supply::Nothing) => Step::Send,
        // What is planned now would be of a turn that is not over.
        (_, _) if situation.bound_turn => Step::Send,
        (_, Supply::None) => Step::Start,
        (Level::Prepare, Supply::Ready) => Step::Send,
        (Level::Compact | Level::Hard, Supply::Ready) => Step::Adopt,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budget::Strike;

    fn situation(level: Level, supply: Supply) -> Situation {
        Situation {
            level,
            supply,
            trigger: Trigger::Threshold,
            permit: Permit::Granted,
            bound_turn: false,
            unattended: false,
        }
    }

    #[test]
    fn where_attempts_have_stopped_and_nobody_is_there_an_extract_keeps_a_request_from_being_too_long() {
        let stopped = |unattended, level, trigger| Situation {
            permit: Permit::Tripped(vec![Strike::Refilled; 3]),
            unattended,
            trigger,
            ..situation(level, Supply::None)
        };
        assert_eq!(schedule(&stopped(true, Level::Hard, Trigger::Threshold)), Step::Extract);
        assert_eq!(schedule(&stopped(true, Level::Warn, Trigger::Overflow)), Step::Extract);
        assert_eq!(schedule(&stopped(true, Level::Compact, Trigger::Threshold)), Step::Send);
        assert_eq!(schedule(&stopped(false, Level::Hard, Trigger::Threshold)), Step::Send);
        let off = Situation { permit: Permit::AutoOff, ..stopped(true, Level::Hard, Trigger::Threshold) };
        assert_eq!(schedule(&off), Step::Send);
    }

    #[test]
    fn each_threshold_does_its_own() {
        use Level::{Compact, Fine, Hard, Prepare, Warn};
        use Supply::{Late, Making, None, Nothing, Ready};
        for (level, supply, step) in [
            (Fine, Ready, Step::Send),
            (Warn, None, Step::Send),
            (Prepare, None, Step::Start),
            (Prepare, Making, Step::Send),
            (Prepare, Ready, Step::Send),
            (Compact, None, Step::Start),
            (Compact, Making, Step::Send),
            (Compact, Ready, Step::Adopt),
            (Compact, Nothing, Step::Send),
            (Hard, None, Step::StartAndWait),
            (Hard, Making, Step::Wait),
            (Hard, Late, Step::Extract),
            (Hard, Ready, Step::Adopt),
            (Hard, Nothing, Step::Send),
        ] {
            assert_eq!(schedule(&situation(level, supply)), step, "{level:?} {supply:?}");
        }
    }

    #[test]
    fn a_bound_turn_waits_for_its_end_below_the_hard_threshold() {
        for supply in [Supply::None, Supply::Ready] {
            for level in [Level::Prepare, Level::Compact] {
                let bound = Situation { bound_turn: true, ..situation(level, supply) };
                assert_eq!(schedule(&bound), Step::Send);
            }
        }
        let bound = Situation { bound_turn: true, ..situation(Level::Hard, Supply::None) };
        assert_eq!(schedule(&bound), Step::StartAndWait);
    }

    fn any_situation() -> impl Strategy<Value = Situation> {
        let levels =
            prop::sample::select(vec![Level::Fine, Level::Warn, Level::Prepare, Level::Compact, Level::Hard]);
        let supplies = vec![Supply::None, Supply::Making, Supply::Late, Supply::Ready, Supply::Nothing];
        let triggers = vec![Trigger::Threshold, Trigger::Overflow, Trigger::Manual];
        let permits = vec![Permit::Granted, Permit::AutoOff, Permit::Tripped(vec![Strike::Failed; 3])];
        (
            levels,
            prop::sample::select(supplies),
            prop::sample::select(triggers),
            prop::sample::select(permits),
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(|(level, supply, trigger, permit, bound_turn, unattended)| Situation {
                level,
                trigger,
                permit,
                supply,
                bound_turn,
                unattended,
            })
    }

    proptest! {
        #[test]
        fn nothing_is_done_without_a_permit_and_nothing_is_tried_twice(situation in any_situation()) {
            let step = schedule(&situation);
            if situation.permit == Permit::AutoOff || situation.supply == Supply::Nothing {
                prop_assert_eq!(step, Step::Send);
            }
            if situation.permit != Permit::Granted {
                prop_assert!(step == Step::Send || (situation.unattended && step == Step::Extract));
            }
            // Only what has to wait does, and only what is there is put in place.
            let must = situation.trigger != Trigger::Threshold || situation.level == Level::Hard;
            prop_assert!(must || !matches!(step, Step::StartAndWait | Step::Wait | Step::Extract));
            prop_assert!(step != Step::Adopt || situation.supply == Supply::Ready);
            prop_assert!(!matches!(step, Step::Start | Step::StartAndWait) || situation.supply == Supply::None);
        }
    }
}
