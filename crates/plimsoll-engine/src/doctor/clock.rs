//! Whether the clock can be right: it must not stand before what was written by it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Check;

const AREA: &str = "clock";
/// Clocks of several machines differ by so much without harm.
const TOLERANCE: Duration = Duration::from_secs(120);
/// This program did not exist before: 1 January 2026, in seconds since 1970.
const EARLIEST: u64 = 1_767_225_600;

/// Judges the clock by the times of files, and by a server's time where one was asked.
///
/// `newest` is the latest time that something was stored at, `server` what a server says the time is.
pub fn clock(now: SystemTime, newest: Option<SystemTime>, server: Option<SystemTime>) -> Vec<Check> {
    const FIX: &str = "set the clock: the age of what is stored, and who was first, are told by it";
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if since < EARLIEST {
        return vec![Check::fail(AREA, "it stands before the year in which this program was made", FIX)];
    }
    let ahead = |time: SystemTime| time.duration_since(now).ok().filter(|ahead| *ahead > TOLERANCE);
    let mut checks = Vec::new();
    if let Some(ahead) = newest.and_then(ahead) {
        let says = format!("what was stored last is from {} in the future", span(ahead));
        checks.push(Check::fail(AREA, says, FIX));
    }
    if let Some(server) = server {
        let apart = server.duration_since(now).or_else(|_| now.duration_since(server)).unwrap_or_default();
        if apart > TOLERANCE {
            checks.push(Check::fail(AREA, format!("it differs from the server's by {}", span(apart)), FIX));
        }
    }
    if checks.is_empty() {
        checks.push(Check::ok(
            AREA,
            match (newest, server) {
                (_, Some(_)) => "agrees with the server's",
                (Some(_), None) => "stands after everything that is stored",
                (None, None) => "can be right: nothing is stored yet that it could be compared with",
            },
        ));
    }
    checks
}

/// A span of time in its largest unit.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (number, unit) = match seconds {
        0..120 => (seconds, "seconds"),
        120..7_200 => (seconds / 60, "minutes"),
        7_200..172_800 => (seconds / 3_600, "hours"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::super::{Level, told};
    use super::*;

    #[test]
    fn a_clock_that_stands_before_what_was_stored_is_wrong() {
        let now = UNIX_EPOCH + Duration::from_secs(EARLIEST + 1_000_000);
        let hour = Duration::from_secs(3_600);
        let level = |newest, server| clock(now, newest, server).iter().map(|check| check.level).max();
        assert_eq!(level(None, None), Some(Level::Ok));
        assert_eq!(level(Some(now - hour), None), Some(Level::Ok));
        assert_eq!(level(Some(now + Duration::from_secs(60)), None), Some(Level::Ok), "machines differ a little");
        assert_eq!(level(Some(now + hour * 3), None), Some(Level::Fail));
        assert_eq!(level(None, Some(now - hour)), Some(Level::Fail));
        assert_eq!(level(None, Some(now)), Some(Level::Ok));
        assert_eq!(clock(UNIX_EPOCH, None, None)[0].level, Level::Fail);
        insta::assert_snapshot!(told(&clock(now, Some(now + hour * 3), None)), @"Fail clock: what was stored last is from 3 hours in the future → set the clock: the age of what is stored, and who was first, are told by it");
    }
}
