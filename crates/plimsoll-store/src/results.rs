//! Tool results: the whole text under a call's name, and beside it one record with the raw ids and the frozen capped
//! text.

use std::time::SystemTime;

use plimsoll::id::{ArtifactId, Folder, Record, SessionId, ToolCallId};
use serde::{Deserialize, Serialize};

use crate::backend::Created;
use crate::error::{Result, StoreError};
use crate::store::Store;

/// The form of metadata that this version writes, and the newest it reads.
const FORM: u32 = 1;

/// A tool result, to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewResult<'a> {
    /// The session; made from the raw id, so that that can be compared.
    pub session: &'a SessionId,
    /// The tool call; made from the raw id, too.
    pub call: &'a ToolCallId,
    /// The whole result, as it came.
    pub content: &'a [u8],
    /// The tool's name, if known.
    pub tool: Option<&'a str>,
    /// A digest of the call's arguments, if known.
    pub arguments: Option<&'a str>,
    /// The kind of content, if known.
    pub kind: Option<&'a str>,
    /// The present time.
    pub now: SystemTime,
}

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
    /// The size in bytes.
    pub bytes: u64,
    /// How many lines; a last one without a line feed counts.
    pub lines: u64,
    /// BLAKE3 of the content, hex.
    pub blake3: String,
    /// When it was stored: milliseconds since 1970-01-01, UTC.
    pub created: u64,
    /// The capped text that was shown for it, frozen: it is shown again wherever it fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<String>,
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

impl Store {
    /// Stores a tool result whole, and freezes the capped text that `cap` makes of its recall id.
    ///
    /// When it returns, both survive a loss of power. The first content of a call takes the plain name; another one, or
    /// one of another raw id, takes [`ArtifactId::variant`]; the same content is one artifact, and everyone gets its
    /// first record. Two writes are synced.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Store};
    ///
    /// let store = Store::memory();
    /// let (session, call) = (SessionId::new("s1"), ToolCallId::new("toolu_01"));
    /// let result = NewResult {
    ///     session: &session, call: &call, content: b"long output",
    ///     tool: Some("Bash"), arguments: None, kind: None, now: SystemTime::now(),
    /// };
    /// let stored = store.put_result(&result, |id| Some(format!("long... [{id}]")))?;
    /// assert_eq!(stored.meta.capped.as_deref(), Some("long... [s1/toolu_01]"));
    /// assert_eq!(store.recall(&stored.id.into())?, b"long output");
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// What the backend reports: then the capped text must say that the middle could not be saved.
    pub fn put_result(
        &self,
        result: &NewResult<'_>,
        cap: impl Fn(&ArtifactId) -> Option<String>,
    ) -> Result<StoredResult> {
        let NewResult { session, call, content, .. } = *result;
        let blake3 = blake3::hash(content).to_hex().to_string();
        let plain = ArtifactId::new(session, call);
        for id in [plain.clone(), ArtifactId::variant(session, call, content)] {
            let created = self.backend().create(&Record::Text(id.clone()).key(), &[content])?;
            if created == Created::Different {
                continue;
            }
            // The text may be a killed writer's, and have no record yet; then the record becomes ours.
            let present = if created == Created::Same { self.result_meta(&id)? } else { None };
            let (meta, first) = match present {
                Some(meta) => (meta, false),
                None => self.freeze(&id, result.meta(&blake3, cap(&id)))?,
            };
            if meta.is_of(session, call) && meta.blake3 == blake3 {
                return Ok(StoredResult { id, meta, first });
            }
        }
        Err(StoreError::Taken { place: Record::Text(plain).key().to_string() })
    }

    /// Writes a record, or gives the one that is there.
    fn freeze(&self, id: &ArtifactId, meta: ResultMeta) -> Result<(ResultMeta, bool)> {
        let key = Record::Meta(id.clone()).key();
        let json = serde_json::to_vec(&meta).map_err(|error| StoreError::Io {
            action: "write",
            path: key.to_string().into(),
            source: error.into(),
        })?;
        // The loop is for a record that is pruned between being met and being read.
        loop {
            match self.backend().create(&key, &[&json])? {
                Created::New => return Ok((meta, true)),
                Created::Same => return Ok((meta, false)),
                Created::Different => {
                    if let Some(present) = self.result_meta(id)? {
                        return Ok((present, false));
                    }
                }
            }
        }
    }

    /// Reads what is recorded of a stored tool result; `None` if nothing is.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it cannot be read, [`StoreError::Newer`] if a later version wrote it.
    pub fn result_meta(&self, id: &ArtifactId) -> Result<Option<ResultMeta>> {
        /// What every form has.
        #[derive(Deserialize)]
        struct Form {
            form: u32,
        }
        let key = Record::Meta(id.clone()).key();
        let Some(json) = self.backend().get(&key)? else {
            return Ok(None);
        };
        let damaged =
            |error: serde_json::Error| StoreError::damaged(format!("the metadata of {id}"), &key, error.to_string());
        let Form { form } = serde_json::from_slice(&json).map_err(damaged)?;
        if form > FORM {
            return Err(StoreError::Newer { place: key.to_string(), found: form, known: FORM });
        }
        serde_json::from_slice(&json).map(Some).map_err(damaged)
    }

    /// Lists the further contents of the call that a plain id names, without opening more than those that may be one.
    pub fn variants(&self, id: &ArtifactId) -> Result<Vec<ArtifactId>> {
        let mut variants = Vec::new();
        for entry in self.backend().list(&Folder::ResultsOf(id.session().clone()))?.records {
            let Some(Record::Text(other)) = entry.key.record() else {
                continue;
            };
            if id.may_have_variant(&other) && self.result_meta(&other)?.is_some_and(|meta| meta.names(id)) {
                variants.push(other);
            }
        }
        variants.sort();
        Ok(variants)
    }
}

impl NewResult<'_> {
    fn meta(&self, blake3: &str, capped: Option<String>) -> ResultMeta {
        let since = self.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let feeds = memchr::memchr_iter(b'\n', self.content).count() as u64;
        let unfinished = self.content.last().is_some_and(|byte| *byte != b'\n');
        ResultMeta {
            form: FORM,
            session: self.session.raw_or_name().to_owned(),
            call: self.call.raw_or_name().to_owned(),
            tool: self.tool.map(str::to_owned),
            arguments: self.arguments.map(str::to_owned),
            kind: self.kind.map(str::to_owned),
            bytes: self.content.len() as u64,
            lines: feeds + u64::from(unfinished),
            blake3: blake3.to_owned(),
            created: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            capped,
        }
    }
}

impl ResultMeta {
    fn is_of(&self, session: &SessionId, call: &ToolCallId) -> bool {
        self.session == session.raw_or_name() && self.call == call.raw_or_name()
    }

    /// Tells whether `id` is the plain name of what this record describes.
    fn names(&self, id: &ArtifactId) -> bool {
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

#[cfg(test)]
mod tests;
