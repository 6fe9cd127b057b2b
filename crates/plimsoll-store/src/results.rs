//! Tool results: the whole text under a call's name, and beside it one record with the raw ids and the frozen capped
//! text.

use std::time::SystemTime;

use plimsoll::id::{ArtifactId, Folder, Record, SessionId, ToolCallId};
use serde::Deserialize;

use crate::backend::Created;
use crate::error::{Result, StoreError};
use crate::store::Store;

mod draft;
mod meta;

use draft::Digest;
pub use draft::ResultDraft;
pub use meta::{ResultMeta, Saved, StoredResult, Whole};

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

impl Store {
    /// Stores a tool result, and freezes the capped text that `cap` makes of its recall id and of how much is stored.
    ///
    /// Of a result over [`Quotas::max_artifact`](crate::Quotas::max_artifact) the first bytes are kept. Two results that
    /// differ only behind them are two artifacts all the same.
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
    /// let stored = store.put_result(&result, |id, _| Some(format!("long... [{id}]")))?;
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
        cap: impl Fn(&ArtifactId, Saved) -> Option<String>,
    ) -> Result<StoredResult> {
        let NewResult { session, call, content, .. } = *result;
        let quota = self.quotas().max_artifact;
        let kept = usize::try_from(quota).ok().and_then(|quota| content.get(..quota)).unwrap_or(content);
        let mut digest = Digest::new(session, call, quota);
        digest.update(content);
        let digested = digest.finish();
        let plain = ArtifactId::new(session, call);
        for id in [plain.clone(), digested.variant.clone()] {
            let created = self.backend().create(&Record::Text(id.clone()).key(), &[kept])?;
            if created == Created::Different {
                continue;
            }
            // The text may be a killed writer's, and have no record yet; then the record becomes ours.
            let present = if created == Created::Same { self.result_meta(&id) } else { Ok(None) };
            let present = match present {
                // A record that cannot be read may be of another content: this one takes its other name.
                Err(StoreError::Damaged { .. }) => continue,
                present => present?,
            };
            let (meta, first) = match present {
                Some(meta) => (meta, false),
                None => self.freeze(&id, result.meta(&digested, cap(&id, digested.saved())))?,
            };
            if meta.is_of(session, call) && meta.describes(&digested) {
                self.note_stored(&id, created, &meta);
                return Ok(StoredResult { id, meta, first });
            }
        }
        Err(StoreError::Taken { place: Record::Text(plain).key().to_string() })
    }

    /// Begins to store a tool result that arrives piece by piece: of any size, no more than some MiB are in memory.
    ///
    /// The `content` of `result` is not looked at. The first `quota` bytes are kept:
    /// [`max_artifact`](crate::Quotas::max_artifact), or [`max_stream`](crate::Quotas::max_stream) for what somebody
    /// asked to have stored.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Saved, Store};
    ///
    /// let store = Store::memory();
    /// let (session, call) = (SessionId::new("s1"), ToolCallId::new("toolu_01"));
    /// let about = NewResult {
    ///     session: &session, call: &call, content: b"",
    ///     tool: Some("Bash"), arguments: None, kind: None, now: SystemTime::now(),
    /// };
    /// let mut draft = store.begin_result(&about, 9)?;
    /// draft.write(b"one, ")?;
    /// draft.write(b"two, three")?;
    /// let stored = draft.finish(Some("log"), |id, saved| Some(format!("[{id}: {saved:?}]")))?;
    /// assert_eq!(store.recall(&stored.id.clone().into())?, b"one, two,");
    /// assert_eq!((stored.meta.bytes, stored.saved()), (9, Saved::First(plimsoll::Bytes(9))));
    /// assert_eq!(stored.meta.whole.map(|whole| whole.bytes), Some(15));
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// What the backend reports.
    pub fn begin_result<'s>(&'s self, result: &NewResult<'s>, quota: u64) -> Result<ResultDraft<'s>> {
        ResultDraft::begin(self, result, quota)
    }

    /// Notes that a result was stored, or found stored.
    fn note_stored(&self, id: &ArtifactId, created: Created, meta: &ResultMeta) {
        if created == Created::New {
            let known = self.tally().note(id.session(), meta.bytes);
            if let Some((bytes, counted)) = known {
                self.backend().remember(bytes, counted);
            }
        } else {
            // Beginning a draft changes the time of a local folder: so the session is seen to be in use, and no other
            // process prunes what is relied on from now on. If that fails, the result is stored all the same.
            drop(self.backend().begin(&Record::Text(id.clone()).key()));
        }
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

    /// Finds what is stored of this very content of a call, and stores nothing. It costs a look at one record, and a
    /// second where the call has several contents.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Store};
    ///
    /// let store = Store::memory();
    /// let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    /// let result = NewResult {
    ///     session: &session, call: &call, content: b"one", tool: None, arguments: None, kind: None,
    ///     now: SystemTime::now(),
    /// };
    /// let stored = store.put_result(&result, |_, _| None)?;
    /// assert_eq!(store.find_result(&session, &call, b"one")?, Some(stored).map(|s| plimsoll_store::StoredResult { first: false, ..s }));
    /// assert_eq!(store.find_result(&session, &call, b"two")?, None);
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// As [`result_meta`](Self::result_meta).
    pub fn find_result(
        &self,
        session: &SessionId,
        call: &ToolCallId,
        content: &[u8],
    ) -> Result<Option<StoredResult>> {
        let id = ArtifactId::new(session, call);
        let Some(meta) = self.result_meta(&id)? else {
            return Ok(None);
        };
        let mut digest = Digest::new(session, call, u64::MAX);
        digest.update(content);
        let digested = digest.finish();
        // Of a content over the quota the whole is told by its hash.
        let is_it = |meta: &ResultMeta| {
            let blake3 = meta.whole.as_ref().map_or(&meta.blake3, |whole| &whole.blake3);
            meta.is_of(session, call) && *blake3 == digested.blake3
        };
        if is_it(&meta) {
            return Ok(Some(StoredResult { id, meta, first: false }));
        }
        let variant = self.result_meta(&digested.variant)?.filter(is_it);
        Ok(variant.map(|meta| StoredResult { id: digested.variant, meta, first: false }))
    }

    /// Lists the further contents of the call that a plain id names, without opening more than those that may be one.
    pub fn variants(&self, id: &ArtifactId) -> Result<Vec<ArtifactId>> {
        let mut variants = Vec::new();
        for entry in self.backend().list(&Folder::ResultsOf(id.session().clone()))?.records {
            let Some(Record::Text(other)) = entry.key.record() else {
                continue;
            };
            if !id.may_have_variant(&other) {
                continue;
            }
            match self.result_meta(&other) {
                Ok(Some(meta)) if meta.names(id) => variants.push(other),
                Ok(_) | Err(StoreError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        variants.sort();
        Ok(variants)
    }
}

impl NewResult<'_> {
    fn meta(&self, digested: &draft::Digested, capped: Option<String>) -> ResultMeta {
        let since = self.now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        ResultMeta {
            form: FORM,
            session: self.session.raw_or_name().to_owned(),
            call: self.call.raw_or_name().to_owned(),
            tool: self.tool.map(str::to_owned),
            arguments: self.arguments.map(str::to_owned),
            kind: self.kind.map(str::to_owned),
            bytes: digested.bytes,
            lines: digested.lines,
            blake3: digested.blake3.clone(),
            whole: digested.whole.clone(),
            created: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            capped,
        }
    }
}

#[cfg(test)]
mod tests;
