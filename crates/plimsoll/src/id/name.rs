//! Session and tool call ids: how a raw id becomes a name, and how a name that is handed in is checked.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest id that is kept as it is, in bytes.
const LONGEST: usize = 128;
/// How many safe characters of a mapped id are kept.
const KEPT: usize = 64;
/// Hex digits of a hash in a name.
pub(super) const DIGITS: usize = 12;
/// Stands for the safe characters of a raw id that has none: a name that began with `~` would be an epoch's.
const NOTHING_KEPT: char = '_';

fn is_safe(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || character == '-'
}

fn is_kept_as_is(raw: &str) -> bool {
    (1..=LONGEST).contains(&raw.len()) && raw.chars().all(is_safe)
}

/// Takes the first 12 hex digits of a hash.
pub(super) fn digits_of(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().chars().take(DIGITS).collect()
}

pub(super) fn is_digits(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn name_of(raw: &str) -> String {
    if is_kept_as_is(raw) {
        return raw.to_owned();
    }
    let mut name: String = raw.chars().filter(|c| is_safe(*c)).take(KEPT).collect();
    if name.is_empty() {
        name.push(NOTHING_KEPT);
    }
    name.push('~');
    name.push_str(&digits_of(blake3::hash(raw.as_bytes()).as_bytes()));
    name
}

/// Checks a name that was handed in: safe characters, then at most `suffixes` times `~` and 12 hex digits.
pub(super) fn check_name(name: &str, suffixes: usize) -> Result<(), IdFault> {
    match name {
        "" => return Err(IdFault::EmptyPart),
        "." | ".." => return Err(IdFault::Traversal),
        _ => {}
    }
    if let Some(character) = name.chars().find(|c| !is_safe(*c) && *c != '~') {
        return Err(IdFault::Character(character));
    }
    let mut parts = name.split('~');
    let base = parts.next().unwrap_or(name);
    let mut found = 0_usize;
    for part in parts {
        found += 1;
        if found > suffixes || !is_digits(part) {
            return Err(IdFault::Suffix);
        }
    }
    if base.is_empty() {
        return Err(IdFault::Suffix);
    }
    // Only a mapped id has as many suffixes as are allowed at most, and a mapped id keeps fewer characters.
    let longest = if found == suffixes { KEPT } else { LONGEST };
    if base.len() > longest {
        return Err(IdFault::TooLong { bytes: base.len(), longest });
    }
    Ok(())
}

/// An id that was refused: which, and why.
///
/// Its text shows the id with control characters escaped and cut to 80 characters, says what is wrong with it, and
/// what an id looks like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{shown}` is not {what}: {fault}; {form}")]
pub struct IdError {
    shown: String,
    what: &'static str,
    form: &'static str,
    fault: IdFault,
}

/// What is wrong with an id that was handed in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdFault {
    /// Nothing was given.
    #[error("it is empty")]
    Empty,
    /// A part is empty, as in `a/` or `/b`.
    #[error("a part of it is empty")]
    EmptyPart,
    /// It begins with `/`, like an absolute path.
    #[error("it is an absolute path")]
    Absolute,
    /// A part is `.` or `..`.
    #[error("it has a part `.` or `..`")]
    Traversal,
    /// It has another number of parts than it should.
    #[error("{} separated by `/`, where it takes {expected}", crate::counted(*found, "part", "parts"))]
    Parts {
        /// How many parts it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// It has a character that no id contains, such as `\`, `%`, NUL or a letter beyond ASCII.
    #[error("the character {0:?} never occurs in one")]
    Character(char),
    /// A part is longer than any that is written.
    #[error("a part of it is {bytes} B long, {longest} B is the most")]
    TooLong {
        /// The part's length.
        bytes: usize,
        /// The most that part may have.
        longest: usize,
    },
    /// What stands around a `~` is not what is written there.
    #[error("`~` must be followed by 12 hex digits, and stand where an id has it")]
    Suffix,
    /// An epoch where an artifact was asked for, or the reverse.
    #[error("it names another kind of record")]
    Kind,
}

impl IdError {
    pub(super) fn new(given: &str, what: &'static str, form: &'static str, fault: IdFault) -> Self {
        const SHOWN: usize = 80;
        let mut shown: String = given.chars().take(SHOWN).flat_map(char::escape_debug).collect();
        if given.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        Self { shown, what, form, fault }
    }

    /// Says what is wrong with the id.
    pub fn fault(&self) -> &IdFault {
        &self.fault
    }
}

macro_rules! named_by_raw_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $form:literal) => {
        $(#[$doc])*
        ///
        /// Ids are equal when their names are. `Display` and serde give the name, `FromStr` and serde take nothing
        /// but a name; [`new`](Self::new) takes any raw id. Rule: `[A-Za-z0-9_-]{1,128}` as it is, anything else
        /// mapped (see the [module](crate::id)).
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name {
            name: String,
            /// Only where it differs from the name and is known.
            raw: Option<String>,
        }

        impl $name {
            /// Maps any raw id to its name.
            ///
            /// The same raw id gives the same name on every machine and in every version.
            ///
            /// ```
            #[doc = concat!("use plimsoll::id::", stringify!($name), ";")]
            #[doc = concat!("assert_eq!(", stringify!($name), "::new(\"toolu_01-A\").as_str(), \"toolu_01-A\");")]
            #[doc = concat!("let mapped = ", stringify!($name), "::new(\"../etc/passwd\");")]
            /// assert_eq!(mapped.as_str(), "etcpasswd~f5d0da9f8b89");
            /// assert_eq!(mapped.raw(), Some("../etc/passwd"));
            /// ```
            pub fn new(raw: &str) -> Self {
                let name = name_of(raw);
                let raw = (name != raw).then(|| raw.to_owned());
                Self { name, raw }
            }

            /// Gives the name: one path component of at most 128 bytes.
            pub fn as_str(&self) -> &str {
                &self.name
            }

            /// Gives the raw id, for the metadata; `None` if only the name is known, as after parsing a mapped one.
            pub fn raw(&self) -> Option<&str> {
                match &self.raw {
                    Some(raw) => Some(raw),
                    None if self.name.contains('~') => None,
                    None => Some(&self.name),
                }
            }

            /// Gives the raw id, or the name where the raw id is not known.
            pub fn raw_or_name(&self) -> &str {
                self.raw.as_deref().unwrap_or(&self.name)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(given: &str) -> Result<Self, IdError> {
                let fault = if given.is_empty() { Err(IdFault::Empty) } else { check_name(given, 1) };
                match fault {
                    Ok(()) => Ok(Self { name: given.to_owned(), raw: None }),
                    Err(fault) => Err(IdError::new(given, $what, $form, fault)),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(given: String) -> Result<Self, IdError> {
                given.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.name
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.name)
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.name.cmp(&other.name)
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.name.hash(state);
            }
        }
    };
}

named_by_raw_id!(
    /// The name of a session: what is stored for one conversation stands under it.
    SessionId,
    "the name of a session",
    "a session is named by letters, digits, `_` and `-`, as `plimsoll store ls` lists it"
);
named_by_raw_id!(
    /// The name of a tool call within a session.
    ToolCallId,
    "the name of a tool call",
    "a tool call is named by letters, digits, `_` and `-`, as `plimsoll store ls` lists it"
);
