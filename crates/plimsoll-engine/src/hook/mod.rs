//! Hooks: what an agent program is answered when it tells of a tool's result, a compaction, a new context, a status line.
//!
//! A hook is given one JSON object and answers with one, or with nothing. The decisions are functions of that object;
//! [`answer`] adds the effects. It never stands in the agent's way: whoever calls it logs a [`HookFault`] and goes on as
//! if nothing had been said.

mod announce;
mod answer;
mod archive;
mod input;
mod leaves;
mod log;
mod ours;
mod shell;
mod status;
mod tail;

use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::SystemTime;

use plimsoll::Bytes;
use plimsoll::budget::Policy;
use plimsoll::cap::{Cap, Shape};
use plimsoll::id::{Record, SessionId, ToolCallId};
use plimsoll::wire::{JsonError, SpliceError, Tape, quote};
use plimsoll_store::{Store, StoreError};

pub(crate) use log::state_folder;
pub use log::{log, log_path};

use crate::CatalogueFiles;
use answer::{Answer, cap_answer, may_exceed};
use input::HookInput;

/// The largest object that a hook takes: 64 MiB.
pub const LARGEST_INPUT: Bytes = Bytes(64 << 20);

/// Under this nothing is looked at where the cap follows from a window: no such cap is smaller.
const LEAST_CAP: Cap = Cap::Bytes(Bytes(2 * 1024));

/// What a hook is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookEvent {
    /// A tool has answered: long texts of the answer are capped.
    PostToolUse,
    /// A conversation is about to be compacted: its session file is archived.
    PreCompact,
    /// A context begins: after a compaction, what can be recalled is announced.
    SessionStart,
    /// The program wants a status line.
    StatusLine,
}

impl HookEvent {
    /// The events, by the names that agent programs have for them.
    pub const ALL: [(&'static str, Self); 4] = [
        ("PostToolUse", Self::PostToolUse),
        ("PreCompact", Self::PreCompact),
        ("SessionStart", Self::SessionStart),
        ("statusline", Self::StatusLine),
    ];

    /// How long a hook may take, in seconds, before it gives up. Less than what [`install`](crate::install) allows.
    pub const fn seconds(self) -> u64 {
        match self {
            Self::PostToolUse | Self::SessionStart => 8,
            Self::PreCompact => 25,
            Self::StatusLine => 2,
        }
    }
}

impl FromStr for HookEvent {
    type Err = HookFault;

    /// Reads a name, in any case, with or without dashes: `PostToolUse`, `post-tool-use`.
    fn from_str(name: &str) -> Result<Self, HookFault> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let found = Self::ALL.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(&plain));
        found.map(|(_, event)| event).ok_or_else(|| HookFault::Event { name: name.chars().take(60).collect() })
    }
}

/// What a hook works with.
#[derive(Debug)]
pub struct HookSetup<'s> {
    /// Where what leaves the context is kept.
    pub store: &'s Store,
    /// The cap of a tool result, if one is set; otherwise it follows from the model's window.
    pub cap: Option<Bytes>,
    /// How a capped text looks.
    pub shape: Shape,
    /// What of a window input may use.
    pub policy: Policy,
    /// Where the catalogue and the user's lines in it are; they are read where a window has to be looked up.
    pub catalogue: CatalogueFiles,
    /// The present time.
    pub now: SystemTime,
}

/// What a hook answers.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct HookAnswer {
    /// What goes to standard output; nothing, mostly.
    pub output: Vec<u8>,
    /// What went wrong all the same, to be logged.
    pub warning: Option<String>,
}

/// Why a hook has nothing to say. It is logged; the agent goes on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HookFault {
    /// No event that is known.
    #[error("`{name}` is no event of a hook; there are PostToolUse, PreCompact, SessionStart and statusline")]
    Event {
        /// What was asked for.
        name: String,
    },
    /// The input is no JSON.
    #[error("the hook's input cannot be read: {0}")]
    Json(#[from] JsonError),
    /// The input is no object.
    #[error("the hook's input is no JSON object")]
    NoObject,
    /// A field is missing.
    #[error("the hook's input has no `{field}`")]
    Missing {
        /// Its name.
        field: &'static str,
    },
    /// The session file cannot be read.
    #[error("the session file {} cannot be read: {source}", path.display())]
    Transcript {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The session file is over the limit.
    #[error("the session file has {size}, over the limit of {limit}; it was not archived")]
    TooLarge {
        /// Its size.
        size: Bytes,
        /// The limit.
        limit: Bytes,
    },
    /// A record cannot be written.
    #[error("the record of the session file cannot be written: {0}")]
    Record(serde_json::Error),
    /// The answer cannot be put together.
    #[error("the answer cannot be spliced: {0}")]
    Splice(#[from] SpliceError),
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Answers a hook: `input` is what the program wrote to its standard input.
///
/// ```
/// use std::time::SystemTime;
/// use plimsoll::Bytes;
/// use plimsoll_engine::hook::{HookEvent, HookSetup, answer};
/// use plimsoll_store::Store;
///
/// let output = "a line of a long log\\n".repeat(500);
/// let input = format!(r#"{{"session_id":"s1","tool_name":"Bash","tool_use_id":"t1",
///     "tool_response":{{"stdout":"{output}","interrupted":false}}}}"#);
/// let store = Store::memory();
/// let setup = HookSetup {
///     store: &store, cap: Some(Bytes(2_048)), shape: Default::default(), policy: Default::default(),
///     catalogue: Default::default(), now: SystemTime::now(),
/// };
/// let said = answer(HookEvent::PostToolUse, input.as_bytes(), &setup)?.output;
/// let said = String::from_utf8(said)?;
/// assert!(said.starts_with(r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":""#));
/// assert!(said.contains("recall id s1/t1") && said.ends_with(r#""interrupted":false}}}"#));
/// assert_eq!(store.recall(&"s1/t1".parse()?)?.len(), 500 * "a line of a long log\n".len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`HookFault`]: nothing is to be said then.
pub fn answer(event: HookEvent, input: &[u8], setup: &HookSetup<'_>) -> Result<HookAnswer, HookFault> {
    let mut tape = Tape::default();
    let read = HookInput::parse(&mut tape, input)?;
    match event {
        HookEvent::PostToolUse => post_tool_use(input, read, setup),
        HookEvent::PreCompact => {
            let session = SessionId::new(&read.needed("session_id")?);
            let path = read.transcript().ok_or(HookFault::Missing { field: "transcript_path" })?;
            archive::archive(&path, &session, setup.store, setup.now)?;
            Ok(HookAnswer::default())
        }
        HookEvent::SessionStart => session_start(read, setup),
        HookEvent::StatusLine => {
            // Nobody reads a warning every few seconds.
            let line = status::status(read, || setup.catalogue.load_anyway().0);
            let output = if line.is_empty() { Vec::new() } else { format!("{line}\n").into_bytes() };
            Ok(HookAnswer { output, warning: None })
        }
    }
}

fn post_tool_use(document: &[u8], input: HookInput<'_, '_>, setup: &HookSetup<'_>) -> Result<HookAnswer, HookFault> {
    let Some(response) = input.get("tool_response") else {
        return Ok(HookAnswer::default());
    };
    let least = setup.cap.map_or(LEAST_CAP, Cap::Bytes);
    if !may_exceed(response.span(), least) {
        return Ok(HookAnswer::default());
    }
    let (limit, mistake) = if let Some(cap) = setup.cap {
        (Cap::Bytes(cap), None)
    } else {
        let said = input.text("model").map(std::borrow::Cow::into_owned);
        let last = input.transcript().map(|path| tail::LastAnswer::read(&path)).unwrap_or_default();
        let model = said.or(last.model);
        let (catalogue, mistake) = setup.catalogue.load_anyway();
        (tail::cap(&catalogue, model.as_deref(), last.window, &setup.policy), mistake)
    };
    let mistake = mistake.map(|mistake| mistake.to_string());
    if !may_exceed(response.span(), limit) {
        return Ok(HookAnswer { output: Vec::new(), warning: mistake });
    }
    let tool = input.text("tool_name").unwrap_or_default();
    let session = SessionId::new(&input.needed("session_id")?);
    let call = ToolCallId::new(&input.needed("tool_use_id")?);
    let root = root_of(setup.store, &session, &call);
    let answer = Answer {
        session: &session,
        call: &call,
        tool: &tool,
        shape: setup.shape,
        recalled: ours::is_recall(&tool, input.get("tool_input"), root.as_deref()),
        now: setup.now,
    };
    let Some(capped) = cap_answer(document, response, limit, &answer, setup.store)? else {
        return Ok(HookAnswer { output: Vec::new(), warning: mistake });
    };
    let mut output = br#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","#.to_vec();
    if let Some(note) = &capped.note {
        output.extend_from_slice(format!(r#""additionalContext":{},"#, quote(note)).as_bytes());
    }
    output.extend_from_slice(br#""updatedToolOutput":"#);
    output.extend_from_slice(&capped.response);
    output.extend_from_slice(b"}}");
    let warning = capped.fault.map(|fault| format!("{tool} of {session}: a result could not be stored: {fault}"));
    Ok(HookAnswer { output, warning: warning.or(mistake) })
}

/// The directory that holds the store's files, if it has one on this machine.
fn root_of(store: &Store, session: &SessionId, call: &ToolCallId) -> Option<PathBuf> {
    let id = plimsoll::id::ArtifactId::new(session, call);
    let path = store.backend().path(&Record::Text(id).key())?;
    // `ROOT/results/SESSION/CALL.txt`
    path.ancestors().nth(3).map(std::path::Path::to_path_buf)
}

fn session_start(input: HookInput<'_, '_>, setup: &HookSetup<'_>) -> Result<HookAnswer, HookFault> {
    if input.text("source").as_deref() != Some("compact") {
        return Ok(HookAnswer::default());
    }
    let session = SessionId::new(&input.needed("session_id")?);
    let Some(text) = announce::announcement(setup.store, &session)? else {
        return Ok(HookAnswer::default());
    };
    let output = format!(
        r#"{{"hookSpecificOutput":{{"hookEventName":"SessionStart","additionalContext":{}}}}}"#,
        quote(&text)
    );
    Ok(HookAnswer { output: output.into_bytes(), warning: None })
}

#[cfg(test)]
mod tests;
