//! Spilling: an oversized tool result is stored whole, and what fits the cap is shown, with the id of the rest.
//!
//! The artifact is durable before the text that names it exists. When the store fails, the text still fits the cap, says
//! that the rest could not be saved, and the fault is handed to the caller.
//!
//! ```
//! use plimsoll::Bytes;
//! use plimsoll::cap::Policy;
//! use plimsoll::id::{SessionId, ToolCallId};
//! use plimsoll_engine::spill::{ToolResult, spill};
//! use plimsoll_store::Store;
//!
//! let (store, session, call) = (Store::memory(), SessionId::new("s1"), ToolCallId::new("toolu_01"));
//! let output = "a line of a long log\n".repeat(10_000);
//! let capped = spill(&store, &ToolResult::new(&session, &call).of_tool("Bash"), output.as_bytes(), &Policy::new(Bytes(4_096)));
//!
//! assert!(capped.was_capped && capped.text.len() <= 4_096);
//! let id = capped.artifact.ok_or("it was stored")?;
//! assert_eq!(store.recall(&id.into())?, output.as_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;
use std::time::SystemTime;

use plimsoll::Bytes;
use plimsoll::cap::{Cap, Capped, Kind, Marker, Naming, Policy, Saved, batch, cap};
use plimsoll::id::{ArtifactId, Record, SessionId, ToolCallId};
use plimsoll_store::{NewResult, Store, StoreError, StoredResult};

mod stream;

pub use stream::{SpillStream, begin};

/// Which tool result it is.
#[derive(Debug, Clone, Copy)]
pub struct ToolResult<'a> {
    session: &'a SessionId,
    call: &'a ToolCallId,
    tool: Option<&'a str>,
    arguments: Option<&'a str>,
    shows_path: bool,
    now: SystemTime,
}

impl<'a> ToolResult<'a> {
    /// Names the result of a call, come in just now.
    pub fn new(session: &'a SessionId, call: &'a ToolCallId) -> Self {
        Self { session, call, tool: None, arguments: None, shows_path: false, now: SystemTime::now() }
    }

    /// Names the tool: what its results usually are decides how they are cut, unless their content says otherwise.
    #[must_use]
    pub fn of_tool(self, tool: &'a str) -> Self {
        Self { tool: Some(tool), ..self }
    }

    /// Adds a digest of the call's arguments, to be recorded.
    #[must_use]
    pub fn with_arguments(self, digest: &'a str) -> Self {
        Self { arguments: Some(digest), ..self }
    }

    /// Says that the reader can open local files: the marker then names the stored file as well.
    #[must_use]
    pub fn with_path(self) -> Self {
        Self { shows_path: true, ..self }
    }

    /// Sets the time that is recorded.
    #[must_use]
    pub fn at(self, now: SystemTime) -> Self {
        Self { now, ..self }
    }

    fn new_result(&self, content: &'a [u8], kind: Option<Kind>) -> NewResult<'a> {
        NewResult {
            session: self.session,
            call: self.call,
            content,
            tool: self.tool,
            arguments: self.arguments,
            kind: kind.map(Kind::name),
            now: self.now,
        }
    }

    fn policy(&self, policy: &Policy) -> Policy {
        self.tool.map_or(*policy, |tool| policy.for_tool(tool))
    }
}

/// A tool result inside its cap.
#[derive(Debug)]
#[non_exhaustive]
pub struct Spilled {
    /// What is shown: the result itself, byte for byte, where it is within the cap and was never capped before.
    pub text: Vec<u8>,
    /// Whether something was left out.
    pub was_capped: bool,
    /// The exact recall id; `None` if nothing was stored.
    pub artifact: Option<ArtifactId>,
    /// The file that holds the whole on this machine, if there is one.
    pub path: Option<PathBuf>,
    /// The size of the whole.
    pub bytes: Bytes,
    /// Its lines; a last one without a line feed counts.
    pub lines: u64,
    /// How many bytes are not shown.
    pub omitted: Bytes,
    /// The kind of content.
    pub kind: Kind,
    /// How much of it can be recalled. A text that was not capped is all there: [`Saved::Whole`].
    pub saved: Saved,
    /// Why it could not be stored: to be reported as a warning. The text says that the rest is not saved.
    pub fault: Option<StoreError>,
}

impl Spilled {
    fn unsaved(capped: Capped<'_>, fault: StoreError) -> Self {
        Self { saved: Saved::Not, fault: Some(fault), ..Self::shown(capped) }
    }

    fn shown(capped: Capped<'_>) -> Self {
        Self {
            was_capped: capped.was_capped,
            artifact: None,
            path: None,
            bytes: capped.bytes,
            lines: capped.lines,
            omitted: capped.omitted,
            kind: capped.kind,
            saved: Saved::Whole,
            fault: None,
            text: capped.text.into_owned(),
        }
    }
}

/// Caps a tool result that is at hand, and stores it whole if something is left out.
///
/// Within the cap it comes back unchanged and nothing is stored; but where this very content was capped before, the text
/// that was shown then is shown again, since a model has seen it. Otherwise the whole is stored first, durably, and the
/// first text that was made of it is frozen beside it: it is shown again wherever it fits the cap, whatever the version
/// or the settings. Of a result over [`Quotas::max_artifact`](plimsoll_store::Quotas::max_artifact) the first bytes are
/// stored, and the text says so.
///
/// It never fails: see [`Spilled::fault`].
#[doc(alias = "CapToolResult")]
pub fn spill(store: &Store, result: &ToolResult<'_>, content: &[u8], policy: &Policy) -> Spilled {
    let policy = result.policy(policy);
    let limit = policy.cap.bytes();
    if Bytes::from(content.len()) <= limit {
        return shown_before(store, result, content, &policy);
    }
    make_room(store, result);
    let kind = policy.kind.unwrap_or_else(|| Kind::detect(content, policy.hint));
    let cut = |naming: &Naming<'_>| cap(content, &policy, naming).into_owned();
    let frozen = |id: &ArtifactId, saved| telling(with_naming(store, result, id, saved, cut), id);
    match store.put_result(&result.new_result(content, Some(kind)), frozen) {
        Ok(stored) => Spilled { lines: lines(content), ..named(store, result, &stored, limit, cut) },
        Err(fault) => Spilled::unsaved(cap(content, &policy, &Naming::unsaved()), fault),
    }
}

/// Does what [`spill`] does on a thread for blocking work.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use plimsoll::cap::Policy;
/// use plimsoll::id::{SessionId, ToolCallId};
/// use plimsoll_engine::spill::{ToolResult, spill_async};
/// use plimsoll_store::Store;
///
/// let (store, session, call) = (Store::memory(), SessionId::new("s1"), ToolCallId::new("toolu_01"));
/// let output = vec![b'x'; 1 << 20];
/// let capped = spill_async(&store, &ToolResult::new(&session, &call), output, &Policy::default()).await;
/// assert!(capped.text.len() <= 128 * 1024);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Panics
/// If it is called outside of a tokio runtime.
#[cfg(feature = "tokio")]
pub async fn spill_async(
    store: &Store,
    result: &ToolResult<'_>,
    content: impl Into<std::sync::Arc<[u8]>>,
    policy: &Policy,
) -> Spilled {
    let (store, policy, content) = (store.clone(), *policy, content.into());
    let (session, call) = (result.session.clone(), result.call.clone());
    let (tool, arguments) = (result.tool.map(str::to_owned), result.arguments.map(str::to_owned));
    let (shows_path, now, shared) = (result.shows_path, result.now, std::sync::Arc::clone(&content));
    let spilled = tokio::task::spawn_blocking(move || {
        let (tool, arguments) = (tool.as_deref(), arguments.as_deref());
        let result = ToolResult { session: &session, call: &call, tool, arguments, shows_path, now };
        spill(&store, &result, &shared, &policy)
    });
    spilled.await.unwrap_or_else(|error| {
        let source = std::io::Error::other(error.to_string());
        let fault = StoreError::Io { action: "store", path: "a tool result".into(), source };
        Spilled::unsaved(cap(&content, &policy, &Naming::unsaved()), fault)
    })
}

/// Spills the results of one parallel batch: each within the policy's cap, and all together within `together`.
///
/// Small ones keep everything, large ones share what is left, so that ten results of nine tenths of the cap do not
/// overflow a context together.
pub fn spill_batch(
    store: &Store,
    results: &[(ToolResult<'_>, &[u8])],
    policy: &Policy,
    together: Bytes,
) -> Vec<Spilled> {
    let sizes: Vec<Bytes> = results.iter().map(|(_, content)| Bytes::from(content.len())).collect();
    let caps = batch(&sizes, policy.cap, Cap::Bytes(together));
    let one = |((result, content), cap): (&(ToolResult<'_>, &[u8]), Cap)| {
        let mut policy = *policy;
        policy.cap = cap;
        spill(store, result, content, &policy)
    };
    results.iter().zip(caps).map(one).collect()
}

/// Makes room for a result. A store that cannot be listed may still be written to: that fault is not the result's.
fn make_room(store: &Store, result: &ToolResult<'_>) {
    let _ = store.make_room(result.session, result.now);
}

/// A content within the cap: as it is, or as it was shown before.
fn shown_before(store: &Store, result: &ToolResult<'_>, content: &[u8], policy: &Policy) -> Spilled {
    // A store that cannot be read is no reason to withhold a text that fits.
    match store.find_result(result.session, result.call, content) {
        Ok(Some(stored)) if stored.meta.capped.is_some() => {
            let cut = |naming: &Naming<'_>| cap(content, policy, naming).into_owned();
            Spilled { lines: lines(content), ..named(store, result, &stored, policy.cap.bytes(), cut) }
        }
        _ => Spilled::shown(cap(content, policy, &Naming::unsaved())),
    }
}

/// What is shown of a stored result: the frozen text where it fits, else one cut anew.
fn named(
    store: &Store,
    result: &ToolResult<'_>,
    stored: &StoredResult,
    limit: Bytes,
    cut: impl Fn(&Naming<'_>) -> Capped<'static>,
) -> Spilled {
    let saved = told(stored.saved());
    let anew = || with_naming(store, result, &stored.id, stored.saved(), &cut);
    let shown = match stored.frozen(limit) {
        Some(frozen) => {
            let frozen = if result.shows_path { Cow::Borrowed(frozen) } else { without_path(frozen, &stored.id) };
            let bytes = stored.meta.whole.as_ref().map_or(stored.meta.bytes, |whole| whole.bytes);
            Spilled {
                text: frozen.as_bytes().to_vec(),
                was_capped: true,
                artifact: None,
                path: None,
                bytes: Bytes(bytes),
                lines: stored.meta.lines,
                omitted: omitted(&frozen, bytes),
                kind: stored.meta.kind.as_deref().and_then(Kind::named).unwrap_or(Kind::Text),
                saved,
                fault: None,
            }
        }
        None => Spilled { saved, ..Spilled::shown(anew()) },
    };
    Spilled { path: path_of(store, &stored.id), artifact: Some(stored.id.clone()), ..shown }
}

/// The text to freeze: only one that names the id. Under a cap too small for that a text says less than it should, and
/// must not be all that is ever shown.
fn telling(capped: Capped<'_>, id: &ArtifactId) -> Option<String> {
    Some(capped.into_string()).filter(|text| text.contains(&id.to_string()))
}

/// Counts lines; a last one without a line feed counts.
fn lines(content: &[u8]) -> u64 {
    let feeds = memchr::memchr_iter(b'\n', content).count() as u64;
    feeds + u64::from(content.last().is_some_and(|byte| *byte != b'\n'))
}

/// The frozen text for a reader who is not to see paths: the same but for the path, so that it stays what was shown.
fn without_path<'t>(frozen: &'t str, id: &ArtifactId) -> Cow<'t, str> {
    let replaced = |span: Range<usize>, by: &str| {
        Some(Cow::Owned([frozen.get(..span.start)?, by, frozen.get(span.end..)?].concat()))
    };
    if let Some((span, mut marker)) = Marker::find(frozen) {
        return match marker.path.take() {
            Some(_) => replaced(span, &marker.render()).unwrap_or(Cow::Borrowed(frozen)),
            None => Cow::Borrowed(frozen),
        };
    }
    // The classic note: "... bytes in all, in PATH; recall with id ID]".
    let span = || {
        let end = frozen.rfind(&format!("; recall with id {id}]\n"))?;
        let start = frozen.get(..end)?.rfind("\n[...snipped ")?;
        let path = frozen.get(start..end)?.find(", in ")?;
        Some(start + path..end)
    };
    span().and_then(|span| replaced(span, "")).unwrap_or(Cow::Borrowed(frozen))
}

/// How many bytes of a whole a capped text leaves out, by its own word.
fn omitted(text: &str, whole: u64) -> Bytes {
    let marked = Marker::find(text).and_then(|(_, marker)| marker.left_out);
    let classic = || {
        let (_, after) = text.rsplit_once("\n[...snipped ")?;
        after.split_once(" bytes")?.0.parse().ok()
    };
    let by_size = || whole.saturating_sub(text.len() as u64);
    Bytes(marked.map(|range| range.end - range.start).or_else(classic).unwrap_or_else(by_size))
}

fn told(saved: plimsoll_store::Saved) -> Saved {
    match saved {
        plimsoll_store::Saved::Whole => Saved::Whole,
        plimsoll_store::Saved::First(bytes) => Saved::First(bytes),
    }
}

fn path_of(store: &Store, id: &ArtifactId) -> Option<PathBuf> {
    store.backend().path(&Record::Text(id.clone()).key())
}

fn with_naming<T>(
    store: &Store,
    result: &ToolResult<'_>,
    id: &ArtifactId,
    saved: plimsoll_store::Saved,
    cut: impl FnOnce(&Naming<'_>) -> T,
) -> T {
    let path = path_of(store, id).filter(|_| result.shows_path);
    let naming = Naming { id: Some(id), path: path.as_deref().and_then(std::path::Path::to_str), saved: told(saved) };
    cut(&naming)
}

#[cfg(test)]
mod tests;
