//! Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads a date as HTTP writes it, in the form that is in use. The two obsolete ones no server of these APIs writes.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// let date = plimsoll_engine::summarise::http_date("Sun, 06 Nov 1994 08:49:37 GMT");
/// assert_eq!(date, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)));
/// ```
pub fn parse(text: &str) -> Option<SystemTime> {
    let (_, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = (1..).zip(MONTHS).find(|(_, name)| *name == month)?.0;
    let year: u64 = words.next()?.parse().ok()?;
    let mut time = words.next()?.split(':').map(|number| number.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let fits = (1970..10_000).contains(&year) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if words.next()? != "GMT" || words.next().is_some() || time.next().is_some() || !fits {
        return None;
    }
    let seconds = ((days(year, month, day)? * 24 + hour) * 60 + minute) * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// The days from 1970-01-01 to a date of the Gregorian calendar; years are counted from March, so that a leap day is
/// the last of its year.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    (year * 365 + leaps + (month * 153 + 2) / 5 + day).checked_sub(719_469)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        for (text, seconds) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Tue, 29 Feb 2000 23:59:60 GMT", Some(951_868_800)),
            ("Mon, 30 Nov 2026 09:00:00 GMT", Some(1_796_029_200)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("Sun, 06 Now 1994 08:49:37 GMT", None),
            ("06 Nov 1994", None),
            ("", None),
        ] {
            let expected = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
