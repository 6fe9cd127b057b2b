//! What a setting can hold, and how it is written: in a file, in a variable, on the command line.

use std::fmt;

use plimsoll::budget::Mark;
use plimsoll::{Bytes, Tokens};
use serde::Serialize;

/// What a setting holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing is set, which the setting's description explains.
    Unset,
    /// A text, or one of several words.
    Text(String),
    /// A size.
    Bytes(Bytes),
    /// A number of tokens.
    Tokens(Tokens),
    /// A threshold: a fraction of the input budget, or a number of tokens.
    Mark(Mark),
    /// On or off.
    Switch(bool),
}

/// What a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A size: a number of bytes, or a number with a unit, such as `64 KiB`.
    Bytes,
    /// A number of tokens.
    Tokens,
    /// A fraction from 0.0 to 1.0, or a whole number of tokens.
    Mark,
    /// `true` or `false`.
    Switch,
}

impl Kind {
    /// Says what is taken, as the end of a sentence.
    pub(super) fn wanted(self) -> String {
        match self {
            Self::Text => "a text in quotes".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Bytes => "a size like 65536 or \"64 KiB\"".to_owned(),
            Self::Tokens => "a whole number of tokens like 20000".to_owned(),
            Self::Mark => "a fraction from 0.0 to 1.0, or a whole number of tokens".to_owned(),
            Self::Switch => "true or false".to_owned(),
        }
    }

    /// Reads a value as text holds it: a variable, an option, or the inside of a quoted text in a file.
    pub(super) fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
            Self::Word(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Bytes => bytes(text).map(Value::Bytes),
            Self::Tokens => whole(text).map(|tokens| Value::Tokens(Tokens(tokens))),
            Self::Mark => match whole(text) {
                Some(tokens) => Some(Value::Mark(Mark::Tokens(Tokens(tokens)))),
                None => text.trim().parse().ok().and_then(fraction),
            },
            Self::Switch => match text.trim() {
                "true" => Some(Value::Switch(true)),
                "false" => Some(Value::Switch(false)),
                _ => None,
            },
        }
    }

    /// Reads a whole number, as a file holds it without quotes.
    pub(super) fn of_number(self, number: u64) -> Option<Value> {
        match self {
            Self::Bytes => Some(Value::Bytes(Bytes(number))),
            Self::Tokens => Some(Value::Tokens(Tokens(number))),
            Self::Mark => Some(Value::Mark(Mark::Tokens(Tokens(number)))),
            Self::Text | Self::Word(_) | Self::Switch => None,
        }
    }

    /// Reads a decimal number.
    pub(super) fn of_decimal(self, number: f64) -> Option<Value> {
        if self == Self::Mark { fraction(number) } else { None }
    }
}

fn fraction(number: f64) -> Option<Value> {
    (0.0..=1.0).contains(&number).then_some(Value::Mark(Mark::Fraction(number)))
}

fn whole(text: &str) -> Option<u64> {
    text.trim().replace('_', "").parse().ok()
}

/// Reads a size: digits (`_` may part them) and a unit. `K`, `M`, `G`, `T` and `KiB` … `TiB` count by 1,024, `KB` …
/// `TB` by 1,000, as the tools of GNU do; case does not matter.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll_engine::config::bytes;
/// assert_eq!(bytes("64 KiB"), Some(Bytes(65_536)));
/// assert_eq!(bytes("64k"), Some(Bytes(65_536)));
/// assert_eq!(bytes("64KB"), Some(Bytes(64_000)));
/// assert_eq!(bytes("1.5 KiB"), Some(Bytes(1_536)));
/// assert_eq!((bytes("1.5"), bytes("1.k"), bytes("lots")), (None, None, None));
/// ```
pub fn bytes(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '_' | '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let (digits, fraction) = number.split_once('.').map_or((number, None), |(digits, after)| (digits, Some(after)));
    let number = whole(digits)?;
    let unit = unit.trim().to_ascii_lowercase();
    let (letter, base) = match unit.strip_suffix("ib") {
        Some(letter) => (letter, 1024_u64),
        None if unit == "b" => ("", 1024),
        None => unit.strip_suffix('b').map_or((unit.as_str(), 1024), |letter| (letter, 1000)),
    };
    let power = match letter {
        "" if unit.is_empty() || unit == "b" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let scale = base.checked_pow(power)?;
    // A part of a byte is none.
    let part = match fraction {
        None => 0,
        Some(_) if power == 0 => return None,
        Some(fraction) => {
            let digits = fraction.get(..fraction.len().min(6))?;
            let tenths = 10_u64.checked_pow(u32::try_from(digits.len()).ok()?)?;
            whole(fraction)?;
            u64::try_from(u128::from(whole(digits)?) * u128::from(scale) / u128::from(tenths)).ok()?
        }
    };
    number.checked_mul(scale)?.checked_add(part).map(Bytes)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => f.write_str("unset"),
            Self::Text(text) => f.write_str(text),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Tokens(tokens) | Self::Mark(Mark::Tokens(tokens)) => {
                write!(f, "{} {}", tokens.grouped(), plimsoll::plural(tokens.0, "token", "tokens"))
            }
            Self::Mark(Mark::Fraction(fraction)) => write!(f, "{fraction:?}"),
            Self::Switch(switch) => switch.fmt(f),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unset => serializer.serialize_none(),
            Self::Text(text) => text.serialize(serializer),
            Self::Bytes(bytes) => bytes.serialize(serializer),
            Self::Tokens(tokens) => tokens.serialize(serializer),
            Self::Mark(mark) => mark.serialize(serializer),
            Self::Switch(switch) => switch.serialize(serializer),
        }
    }
}
