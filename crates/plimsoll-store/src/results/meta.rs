//! What is recorded of a stored tool result, and what came of storing it.

use plimsoll::Bytes;
use plimsoll::id::{ArtifactId, SessionId, ToolCallId};
use serde::{Deserialize, Serialize};

use super::draft::Digested;

/// What is recorded of a stored tool result. It is written once; unknown fields of later versions are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResultMeta {
    /// The form of this record.
    pub form: u32,
    /// The raw id of the session.
    pub session: String,
    /// The raw id of the call.
    pub call: String,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// A digest of the call's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The kind of content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The size in bytes of what is stored.
    pub bytes: u64,
    /// How many lines are stored; a last one without a line feed counts.
    pub lines: u64,
    /// BLAKE3 of what is stored, hex.
    pub blake3: String,
    /// Where only the first `bytes` were kept: what the whole was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
    /// When it was stored: milliseconds since 1970-01-01, UTC.
    pub created: u64,
    /// The capped text that was shown for it, frozen: it is shown again wherever it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<String>,
}

/// What a result was of which only the first bytes were kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its BLAKE3, hex.
    pub blake3: String,
}

/// How much of a result is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// All of it.
    Whole,
    /// The first bytes: as many as the quota allows. The marker must say so.
    First(Bytes),
}

/// What came of storing a tool result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResult {
    /// The exact recall id of this content.
    pub id: ArtifactId,
    /// The record that holds: the first that was written for this content.
    pub meta: ResultMeta,
    /// Whether that is the one which this call brought.
    pub first: bool,
}

impl StoredResult {
    /// Tells how much is stored.
    pub fn saved(&self) -> Saved {
        self.meta.saved()
    }

    /// Gives the frozen text if it takes no more than `most`, also where that would show more. Where it does not, or none
    /// was frozen, the text is cut anew, and the record stays as it is: so whoever asks again with a cap that the frozen
    /// text fits gets the same bytes as ever.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::Bytes;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Store};
    ///
    /// let store = Store::memory();
    /// let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    /// let result = NewResult {
    ///     session: &session, call: &call, content: b"0123456789", tool: None, arguments: None, kind: None,
    ///     now: SystemTime::now(),
    /// };
    /// store.put_result(&result, |_, _| Some("01...".to_owned()))?;
    /// let again = store.put_result(&result, |_, _| Some("another".to_owned()))?;
    /// assert_eq!((again.frozen(Bytes(9)), again.frozen(Bytes(4))), (Some("01..."), None));
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    pub fn frozen(&self, most: Bytes) -> Option<&str> {
        self.meta.capped.as_deref().filter(|frozen| Bytes::from(frozen.len()) <= most)
    }
}

impl ResultMeta {
    /// Tells how much of the result is stored.
    pub fn saved(&self) -> Saved {
        if self.whole.is_some() { Saved::First(Bytes(self.bytes)) } else { Saved::Whole }
    }

    pub(super) fn describes(&self, digested: &Digested) -> bool {
        self.blake3 == digested.blake3 && self.whole == digested.whole
    }

    pub(super) fn is_of(&self, session: &SessionId, call: &ToolCallId) -> bool {
        self.session == session.raw_or_name() && self.call == call.raw_or_name()
    }

    /// Tells whether `id` is the plain name of what this record describes.
    pub(super) fn names(&self, id: &ArtifactId) -> bool {
        ArtifactId::new(&SessionId::new(&self.session), &ToolCallId::new(&self.call)) == *id
    }

    /// Tells whether `id` may be what this record describes: its plain name or a variant of it.
    ///
    /// On a file system that ignores case, a record of another id may stand where this one would.
    pub(crate) fn may_be(&self, id: &ArtifactId) -> bool {
        let plain = ArtifactId::new(&SessionId::new(&self.session), &ToolCallId::new(&self.call));
        plain == *id || plain.may_have_variant(id)
    }
}
