//! Recall ids: artifacts and epochs, and the strict parsing of what a person or a model hands in.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::name::{IdError, IdFault, SessionId, ToolCallId, check_name, digits_of, is_digits};

const WHAT: &str = "a recall id";
const FORM: &str = "an id is `session/call`, exactly as the marker or `plimsoll store ls` shows it";

/// The recall id of a stored tool result: `<session>/<call>`.
///
/// `FromStr` is strict: it takes what `Display` gives and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactId {
    session: SessionId,
    name: String,
}

/// Makes [`ArtifactId::variant`] from a content that arrives piece by piece.
///
/// ```
/// use plimsoll::id::{ArtifactId, SessionId, ToolCallId, VariantId};
/// let (session, call) = (SessionId::new("s1"), ToolCallId::new("toolu_01"));
/// let mut naming = VariantId::new(&session, &call);
/// naming.update(b"sec");
/// naming.update(b"ond");
/// assert_eq!(naming.finish(), ArtifactId::variant(&session, &call, b"second"));
/// ```
#[derive(Debug, Clone)]
pub struct VariantId {
    session: SessionId,
    call: String,
    hasher: blake3::Hasher,
}

impl VariantId {
    /// Begins with the raw ids.
    pub fn new(session: &SessionId, call: &ToolCallId) -> Self {
        let mut hasher = blake3::Hasher::new();
        for raw in [session.raw_or_name(), call.raw_or_name()] {
            hasher.update(&(raw.len() as u64).to_le_bytes()).update(raw.as_bytes());
        }
        Self { session: session.clone(), call: call.as_str().to_owned(), hasher }
    }

    /// Takes the next piece of the content. Pieces of 128 KiB and more are hashed fastest.
    pub fn update(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
    }

    /// Gives the name.
    pub fn finish(&self) -> ArtifactId {
        let digits = digits_of(self.hasher.finalize().as_bytes());
        ArtifactId { session: self.session.clone(), name: format!("{}~{digits}", self.call) }
    }
}

/// The recall id of an epoch: `<session>/~<12 hex>`.
///
/// One epoch may have several bodies (the same prefix replaced in documents that went on differently); each but the
/// first is named by a further suffix, `<session>/~<12 hex>~<12 hex>`. They share the one epoch record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EpochId {
    session: SessionId,
    digits: String,
    body: Option<String>,
}

/// What a recall id names: a tool result or an epoch.
///
/// Parsing is how every id from outside enters: nothing that looks like a path gets past it.
///
/// ```
/// use plimsoll::id::RecallId;
/// assert!(matches!("s1/toolu_01".parse(), Ok(RecallId::Artifact(_))));
/// assert!(matches!("s1/~0123456789ab".parse(), Ok(RecallId::Epoch(_))));
/// for hostile in ["", "../x", "a/../b", "a/b/c", "./b", "a\\b", "/etc/passwd", "a/%2e%2e"] {
///     assert!(hostile.parse::<RecallId>().is_err());
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RecallId {
    /// A stored tool result.
    Artifact(ArtifactId),
    /// A compaction: what it removed, and the document it was made from.
    Epoch(EpochId),
}

impl ArtifactId {
    /// Names the first content of a call.
    ///
    /// ```
    /// use plimsoll::id::{ArtifactId, SessionId, ToolCallId};
    /// let id = ArtifactId::new(&SessionId::new("s1"), &ToolCallId::new("toolu_01"));
    /// assert_eq!(id.to_string(), "s1/toolu_01");
    /// ```
    pub fn new(session: &SessionId, call: &ToolCallId) -> Self {
        Self { session: session.clone(), name: call.as_str().to_owned() }
    }

    /// Names a content that finds the call's plain name taken by another content, or by another raw id.
    ///
    /// The 12 digits are of BLAKE3 over the raw ids of session and call, each behind its length in bytes (u64,
    /// little-endian), and the content: so sessions whose names meet on a file system that ignores case stay apart.
    ///
    /// ```
    /// use plimsoll::id::{ArtifactId, SessionId, ToolCallId};
    /// let id = ArtifactId::variant(&SessionId::new("s1"), &ToolCallId::new("toolu_01"), b"second");
    /// assert_eq!(id.to_string(), "s1/toolu_01~f857449f04e9");
    /// ```
    pub fn variant(session: &SessionId, call: &ToolCallId, content: &[u8]) -> Self {
        let mut naming = VariantId::new(session, call);
        naming.update(content);
        naming.finish()
    }

    pub(super) fn from_name(session: SessionId, name: &str) -> Result<Self, IdFault> {
        if name.starts_with('~') {
            return Err(IdFault::Kind);
        }
        check_name(name, 2)?;
        Ok(Self { session, name: name.to_owned() })
    }

    /// Gives the session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Gives the part after the `/`: the call's name, with a suffix where it names a further content.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Says whether `other` may be a further content of the call that this id names.
    ///
    /// Names alone cannot tell it from a mapped raw id with the same safe characters; the metadata can.
    pub fn may_have_variant(&self, other: &Self) -> bool {
        self.session == other.session
            && other
                .name
                .strip_prefix(self.name.as_str())
                .and_then(|rest| rest.strip_prefix('~'))
                .is_some_and(is_digits)
    }
}

impl EpochId {
    /// Names the epoch that replaces the prefix with this chain hash.
    ///
    /// ```
    /// use plimsoll::id::{EpochId, SessionId};
    /// let epoch = EpochId::new(&SessionId::new("s1"), &[0xab; 32]);
    /// assert_eq!(epoch.to_string(), "s1/~abababababab");
    /// ```
    pub fn new(session: &SessionId, chain_hash: &[u8; 32]) -> Self {
        Self { session: session.clone(), digits: digits_of(chain_hash), body: None }
    }

    /// Names a further body of this epoch by a hash over what sets it apart.
    #[must_use]
    pub fn with_body(&self, hash: &[u8; 32]) -> Self {
        Self { body: Some(digits_of(hash)), ..self.clone() }
    }

    /// Gives the id under which the epoch's record stands: this id without the suffix of a body.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self { body: None, ..self.clone() }
    }

    pub(super) fn from_name(session: SessionId, name: &str) -> Result<Self, IdFault> {
        let rest = name.strip_prefix('~').ok_or(IdFault::Kind)?;
        let (digits, body) = match rest.split_once('~') {
            Some((digits, body)) => (digits, Some(body)),
            None => (rest, None),
        };
        if !is_digits(digits) || !body.is_none_or(is_digits) {
            return Err(IdFault::Suffix);
        }
        Ok(Self { session, digits: digits.to_owned(), body: body.map(str::to_owned) })
    }

    /// Gives the session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Gives the part after the `/`, such as `~0123456789ab`.
    pub fn name(&self) -> String {
        match &self.body {
            Some(body) => format!("~{}~{body}", self.digits),
            None => format!("~{}", self.digits),
        }
    }
}

/// Splits `<session>/<name>`, naming the worst fault first, so that the answer to a hostile id says what it is.
fn split(given: &str) -> Result<(SessionId, &str), IdFault> {
    if given.is_empty() {
        return Err(IdFault::Empty);
    }
    if given.starts_with('/') {
        return Err(IdFault::Absolute);
    }
    if let Some(character) = given.chars().find(|c| matches!(c, '\\' | '%' | ':') || c.is_control()) {
        return Err(IdFault::Character(character));
    }
    if given.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(IdFault::Traversal);
    }
    let found = given.split('/').count();
    let Some((session, name)) = given.split_once('/').filter(|_| found == 2) else {
        return Err(IdFault::Parts { found, expected: 2 });
    };
    if name.is_empty() {
        return Err(IdFault::EmptyPart);
    }
    let session = session.parse::<SessionId>().map_err(|error| error.fault().clone())?;
    Ok((session, name))
}

macro_rules! text_form {
    ($name:ident, |$given:ident| $parse:expr) => {
        impl FromStr for $name {
            type Err = IdError;

            fn from_str($given: &str) -> Result<Self, IdError> {
                let parsed: Result<Self, IdFault> = $parse;
                parsed.map_err(|fault| IdError::new($given, WHAT, FORM, fault))
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
                id.to_string()
            }
        }
    };
}

text_form!(ArtifactId, |given| split(given).and_then(|(session, name)| Self::from_name(session, name)));
text_form!(EpochId, |given| split(given).and_then(|(session, name)| Self::from_name(session, name)));
text_form!(RecallId, |given| split(given).and_then(|(session, name)| {
    if name.starts_with('~') {
        EpochId::from_name(session, name).map(Self::Epoch)
    } else {
        ArtifactId::from_name(session, name).map(Self::Artifact)
    }
}));

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session, self.name)
    }
}

impl fmt::Display for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.session, self.name())
    }
}

impl fmt::Display for RecallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Artifact(id) => id.fmt(f),
            Self::Epoch(id) => id.fmt(f),
        }
    }
}

impl From<ArtifactId> for RecallId {
    fn from(id: ArtifactId) -> Self {
        Self::Artifact(id)
    }
}

impl From<EpochId> for RecallId {
    fn from(id: EpochId) -> Self {
        Self::Epoch(id)
    }
}
