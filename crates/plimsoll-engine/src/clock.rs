//! Times as people and programs read them. The civil date is reckoned as in Howard Hinnant's "chrono-compatible low-level
//! date algorithms".

use std::time::{Duration, SystemTime};

/// A day in universal time: `2026-01-31`. What is before 1970 is its first day.
pub(crate) fn date(time: SystemTime) -> String {
    let days = seconds(time) / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A time in universal time, to the second: `2026-01-31T23:59:59Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let rest = seconds(time) % 86_400;
    format!("{}T{:02}:{:02}:{:02}Z", date(time), rest / 3_600, rest / 60 % 60, rest % 60)
}

/// Seconds since 1970; none before.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_and_days_civil() {
        let at = |seconds| timestamp(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_796_019_030), "2026-11-30T06:10:30Z");
        assert_eq!(timestamp(SystemTime::UNIX_EPOCH - Duration::from_secs(9)), "1970-01-01T00:00:00Z");
    }
}
