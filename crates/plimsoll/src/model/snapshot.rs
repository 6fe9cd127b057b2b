//! Dates and numbers at the end of a model's name, which tell its snapshots apart and are never its version.

/// Splits off a date, a three-digit snapshot number, or `-latest`.
pub(super) fn snapshot(base: &str) -> Option<(String, String)> {
    if let Some(rest) = base.strip_suffix("-latest") {
        let is_name = rest.starts_with(|first: char| first.is_ascii_alphabetic());
        return is_name.then(|| (rest.to_owned(), "latest".to_owned()));
    }
    let mut parts = base.rsplitn(4, '-');
    let (last, second, third) = (parts.next()?, parts.next(), parts.next());
    let cut = |pieces: &[&str], snapshot: String| {
        let length = pieces.iter().map(|piece| piece.len() + 1).sum::<usize>();
        let rest = base.get(..base.len().checked_sub(length)?)?;
        // What is left must still be a name.
        rest.starts_with(|first: char| first.is_ascii_alphabetic()).then(|| (rest.to_owned(), snapshot))
    };
    if let (Some(month), Some(year)) = (second, third)
        && is_date(year, month, last)
    {
        return cut(&[last, month, year], format!("{year}{month}{last}"));
    }
    if let Some(first) = second {
        let month_of_year = is_month(first) && is_year(last);
        let day_of_month = is_month(first) && is_day(last);
        if month_of_year || day_of_month {
            return cut(&[last, first], format!("{first}-{last}"));
        }
    }
    let split = |at: usize| Some((last.get(..at)?, last.get(at..)?));
    let dated = match last.len() {
        8 => split(4).is_some_and(|(year, rest)| rest.split_at_checked(2).is_some_and(|(m, d)| is_date(year, m, d))),
        6 => split(2).is_some_and(|(year, rest)| {
            is_short_year(year) && rest.split_at_checked(2).is_some_and(|(month, day)| is_month(month) && is_day(day))
        }),
        4 => split(2).is_some_and(|(first, second)| {
            (is_short_year(first) && is_month(second)) || (is_month(first) && is_day(second))
        }),
        3 => last.starts_with("00") && in_range(last, 1, 9),
        _ => false,
    };
    if dated { cut(&[last], last.to_owned()) } else { None }
}

fn in_range(digits: &str, low: u32, high: u32) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.parse::<u32>().is_ok_and(|value| (low..=high).contains(&value))
}

fn is_year(text: &str) -> bool {
    text.len() == 4 && in_range(text, 2019, 2039)
}

fn is_short_year(text: &str) -> bool {
    text.len() == 2 && in_range(text, 22, 39)
}

fn is_month(text: &str) -> bool {
    text.len() == 2 && in_range(text, 1, 12)
}

fn is_day(text: &str) -> bool {
    text.len() == 2 && in_range(text, 1, 31)
}

fn is_date(year: &str, month: &str, day: &str) -> bool {
    is_year(year) && is_month(month) && is_day(day)
}
