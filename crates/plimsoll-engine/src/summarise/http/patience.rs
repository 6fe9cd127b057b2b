//! `Patience`: how long is waited, and how often something is tried again. Pure.

use std::time::{Duration, SystemTime};

use super::date;

/// How long is waited for an answer, and how often it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patience {
    /// The most that a connection may take to be made.
    pub connect: Duration,
    /// The longest silence before an answer begins, and between its parts. Local models read a long request for minutes
    /// before they say anything.
    pub silence: Duration,
    /// The most that a call may take, all tries and pauses together.
    pub total: Duration,
    /// How often it is tried at the most.
    pub tries: u32,
    /// The pause before the second try; each further one is twice as long.
    pub pause: Duration,
    /// The longest pause. Where a server asks for a longer one, it is not asked again.
    pub longest: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(300),
            total: Duration::from_secs(1_200),
            tries: 4,
            pause: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }
    }
}

impl Patience {
    /// Decides how long to pause before the next try, after so many of them; `None` gives up.
    ///
    /// A server that asks to wait is never asked sooner. Without that the pause doubles from try to try. `jitter`, from 0
    /// to 1, spreads it: over its upper half, or over a tenth more than was asked for.
    pub fn pause(&self, tries: u32, asked: Option<Duration>, elapsed: Duration, jitter: f64) -> Option<Duration> {
        if tries >= self.tries {
            return None;
        }
        let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
        let pause = match asked {
            Some(asked) if asked > self.longest => return None,
            Some(asked) => asked + asked.mul_f64(jitter / 10.0),
            None => {
                let doubled = 2_u32.saturating_pow(tries.saturating_sub(1).min(16));
                self.pause.saturating_mul(doubled).min(self.longest).mul_f64(0.5 + jitter / 2.0)
            }
        };
        (elapsed.saturating_add(pause) < self.total).then_some(pause)
    }
}

/// Reads how long a server asks to be left alone: seconds or a date in `Retry-After` (RFC 9110, section 10.2.3), or
/// milliseconds in `retry-after-ms`, which is more exact where both are given. A date in the past asks for no pause.
pub(super) fn retry_after(after: Option<&str>, millis: Option<&str>, now: SystemTime) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    if let Some(pause) = millis.and_then(number).and_then(|millis| seconds(millis / 1_000.0)) {
        return Some(pause);
    }
    let after = after?.trim();
    match number(after) {
        Some(number) => seconds(number),
        None => Some(date::parse(after)?.duration_since(now).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn pauses_double_and_are_bounded() {
        let patience = Patience { tries: 9, ..Patience::default() };
        let pauses = |jitter| (1..=9).map(move |tries| patience.pause(tries, None, s(0), jitter));
        let whole: Vec<Option<Duration>> = pauses(1.0).collect();
        assert_eq!(whole, [1, 2, 4, 8, 16, 32, 60, 60, 0].map(|n| Some(s(n)).filter(|n| !n.is_zero())));
        assert_eq!(pauses(0.0).next().unwrap(), Some(Duration::from_millis(500)));
    }

    #[test]
    fn what_a_server_asks_for_is_honoured_or_given_up() {
        let patience = Patience::default();
        assert_eq!(patience.pause(1, Some(s(20)), s(0), 0.0), Some(s(20)));
        assert_eq!(patience.pause(1, Some(s(20)), s(0), 0.5), Some(s(21)));
        assert_eq!(patience.pause(1, Some(s(61)), s(0), 0.0), None, "longer than is worth it");
        assert_eq!(patience.pause(1, Some(s(20)), s(1_190), 0.0), None, "no time is left");
        assert_eq!(patience.pause(4, Some(s(0)), s(0), 0.0), None, "often enough");
    }

    #[test]
    fn retry_after_is_read_as_seconds_date_or_milliseconds() {
        let now = SystemTime::UNIX_EPOCH + s(784_111_777);
        let cases = [
            (Some("30"), None, Some(s(30))),
            (Some(" 0 "), None, Some(s(0))),
            (Some("1.5"), None, Some(Duration::from_millis(1_500))),
            (Some("Sun, 06 Nov 1994 08:50:07 GMT"), None, Some(s(30))),
            (Some("Sun, 06 Nov 1994 08:00:00 GMT"), None, Some(s(0))),
            (Some("30"), Some("250"), Some(Duration::from_millis(250))),
            (Some("30"), Some("soon"), Some(s(30))),
            (Some("-1"), None, None),
            (Some("soon"), None, None),
            (Some("inf"), None, None),
            (Some("1e300"), None, None),
            (None, None, None),
        ];
        for (after, millis, expected) in cases {
            assert_eq!(retry_after(after, millis, now), expected, "{after:?} {millis:?}");
        }
    }

    proptest! {
        #[test]
        fn a_pause_is_never_shorter_than_asked_and_never_past_the_end(
            tries: u32, asked in proptest::option::of(0_u64..100), elapsed in 0_u64..2_000, jitter: f64
        ) {
            let patience = Patience::default();
            if let Some(pause) = patience.pause(tries, asked.map(s), s(elapsed), jitter) {
                prop_assert!(pause >= asked.map_or(s(0), s));
                prop_assert!(pause <= patience.longest.mul_f64(1.1));
                prop_assert!(s(elapsed) + pause < patience.total);
                prop_assert!(tries < patience.tries);
            }
        }

        #[test]
        fn any_text_is_read(after: Option<String>, millis: Option<String>) {
            let _ = retry_after(after.as_deref(), millis.as_deref(), SystemTime::UNIX_EPOCH);
        }
    }
}
