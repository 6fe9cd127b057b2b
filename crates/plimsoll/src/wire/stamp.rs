//! Times and ids of appended entries, derived from what stands before them: the core has no clock and no chance.

/// Milliseconds in a day.
const DAY: i64 = 86_400_000;

/// Reads an RFC 3339 time as milliseconds since 1970, rounded up, so that what is later than it is later than the
/// exact time too. Tolerates a space for the `T`, lower case, a missing zone (UTC), any number of decimals.
pub(super) fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = bytes.get(range)?;
        let mut value = 0;
        for digit in digits {
            value = value * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
        }
        Some(value)
    };
    let mark = |at: usize, marks: &[u8]| bytes.get(at).is_some_and(|byte| marks.contains(byte));
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let shape = mark(4, b"-") && mark(7, b"-") && mark(10, b"Tt ") && mark(13, b":") && mark(16, b":");
    // The last years are refused so that a later time can always be written with four digits.
    if !shape || year > 9998 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut at = 19;
    let mut millis = 0;
    if mark(19, b".,") {
        let decimals = bytes.iter().skip(20).take_while(|byte| byte.is_ascii_digit()).count();
        at = 20 + decimals;
        for place in 20..23 {
            millis = millis * 10 + if place < at { number(place..place + 1)? } else { 0 };
        }
        millis += i64::from(bytes.iter().take(at).skip(23).any(|digit| *digit != b'0'));
    }
    let offset = match bytes.get(at) {
        None => 0,
        Some(b'Z' | b'z') if at + 1 == bytes.len() => 0,
        Some(sign @ (b'+' | b'-')) if at + 6 == bytes.len() && mark(at + 3, b":") => {
            let minutes = number(at + 1..at + 3)? * 60 + number(at + 4..at + 6)?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        Some(_) => return None,
    };
    let seconds = (hour * 60 + minute - offset) * 60 + second;
    Some(days_of(year, month, day) * DAY + seconds * 1000 + millis)
}

/// Writes milliseconds since 1970 as programs write their times: UTC, three decimals.
pub(super) fn format(millis: i64) -> String {
    let (days, rest) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

/// Days since 1970 of a date of the Gregorian calendar. Years begin in March here: the leap day comes last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
        - 719_469
}

fn date_of(days: i64) -> (i64, i64, i64) {
    // An estimate of the year that is at most one too high or too low, then corrected.
    let mut year = (days + 719_468).saturating_mul(400).div_euclid(146_097);
    while days_of(year, 3, 1) > days {
        year -= 1;
    }
    while days_of(year + 1, 3, 1) <= days {
        year += 1;
    }
    let of_year = days - days_of(year, 3, 1);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let calendar_month = (month + 2) % 12 + 1;
    (if calendar_month <= 2 { year + 1 } else { year }, calendar_month, day)
}

/// Makes ids from content: the same file and the same continuation give the same ids.
#[derive(Debug)]
pub(super) struct Ids {
    seed: blake3::Hash,
    made: u64,
}

impl Ids {
    /// Seeds the ids with all that makes an appendix what it is.
    pub(super) fn new(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"plimsoll appendix 1\0");
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self { seed: hasher.finalize(), made: 0 }
    }

    fn next(&mut self) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.seed.as_bytes());
        hasher.update(&self.made.to_le_bytes());
        self.made += 1;
        let mut bytes = [0; 16];
        hasher.finalize_xof().fill(&mut bytes);
        bytes
    }

    /// The next id in the shape of a UUID of version 8 (RFC 9562: the maker's own scheme).
    pub(super) fn uuid(&mut self) -> String {
        let bits = u128::from_be_bytes(self.next());
        let bits = bits & !(0xf << 76) | 8 << 76;
        let bits = bits & !(0b11 << 62) | 0b10 << 62;
        let part = |shift: u32| (bits >> shift) & 0xffff;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            bits >> 96,
            part(80),
            part(64),
            part(48),
            bits & 0xffff_ffff_ffff
        )
    }

    /// The next id in the shape of an Anthropic message id.
    pub(super) fn message(&mut self) -> String {
        format!("msg_{:024x}", u128::from_be_bytes(self.next()) >> 32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_read_in_every_shape_that_programs_write() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse("2026-01-23T15:42:39.681Z"), Some(1_769_182_959_681));
        assert_eq!(parse("2026-01-23T15:42:39.6810001Z"), Some(1_769_182_959_682));
        assert_eq!(parse("2026-01-23 15:42:39.5"), Some(1_769_182_959_500));
        assert_eq!(parse("2026-01-23T17:42:39+02:00"), parse("2026-01-23T15:42:39Z"));
        assert_eq!(parse("2000-02-29T00:00:00Z").map(format).as_deref(), Some("2000-02-29T00:00:00.000Z"));
        for odd in [
            "",
            "[trimmed for fixture]",
            "2026-13-01T00:00:00Z",
            "2026-01-23",
            "9999-12-31T00:00:00Z",
            "2026-01-23T15:42:39.681ZZ",
            "é026-01-23T15:42:39Z",
        ] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn ids_are_shaped_like_uuids_and_follow_from_the_content() {
        let mut ids = Ids::new(&[b"a", b"bc"]);
        let (first, second) = (ids.uuid(), ids.uuid());
        assert_ne!(first, second);
        assert_eq!(first, Ids::new(&[b"a", b"bc"]).uuid());
        assert_ne!(first, Ids::new(&[b"ab", b"c"]).uuid(), "parts do not run together");
        let shape: String = first.chars().map(|c| if c == '-' { '-' } else { 'x' }).collect();
        assert_eq!(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
        assert_eq!(first.chars().nth(14), Some('8'));
        assert!(matches!(first.chars().nth(19), Some('8' | '9' | 'a' | 'b')));
        assert_eq!(ids.message().len(), 28);
    }

    proptest! {
        #[test]
        fn times_read_back(millis in 0_i64..253_000_000_000_000) {
            prop_assert_eq!(parse(&format(millis)), Some(millis));
        }

        #[test]
        fn reading_times_is_total(text: String, digits in "[0-9TZ:.+-]{0,30}") {
            let _ = (parse(&text), parse(&digits));
        }
    }
}
