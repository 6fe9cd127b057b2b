//! Named sessions: which of an agent's own sessions a name stands for, and who may run it now.
//!
//! A record is one small file, replaced as a whole, and readable by its owner alone. It is written before the agent is
//! started, so that a crash leaves a name bound to the id that the agent was told, and again as soon as the agent says
//! which id it is. One run has a session at a time, across processes: a lock on a file beside it, which the system
//! takes back when its holder dies, however it dies.
//!
//! | file | what |
//! |---|---|
//! | `<name>.json` | the record, by the session's name |
//! | `<name>.lock`, `<agent>-<id>.lock` | what is locked, by name and by the agent's own id; never removed |

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use plimsoll::id::SessionId;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::error::AgentError;
use crate::request::AgentSession;

/// How often a session that another run has is tried again.
const AGAIN: Duration = Duration::from_millis(50);

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionRecord {
    /// The name.
    pub name: SessionId,
    /// The agent that the session belongs to.
    pub agent: Agent,
    /// The agent's own id; none until the agent has chosen one.
    pub session: Option<AgentSession>,
    /// Whether the agent has said that it has this session.
    pub confirmed: bool,
    /// The directory it was begun in.
    pub cwd: PathBuf,
}

/// A directory of named sessions.
#[derive(Debug, Clone)]
pub struct Sessions {
    folder: PathBuf,
}

/// The right to run a session, until it is dropped or its holder dies.
#[derive(Debug)]
pub struct Lease {
    /// Closing it lets go of the lock.
    _file: File,
}

impl Sessions {
    /// Names the directory. It is made by the first write.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Reads what a name stands for; `None` if it is new.
    ///
    /// # Errors
    /// If the record is there and cannot be read.
    pub fn read(&self, name: &SessionId) -> Result<Option<SessionRecord>, AgentError> {
        let path = self.path(name, "json");
        let failed = |source| AgentError::Record { action: "read", path: path.clone(), source };
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes what a name stands for, whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, record: &SessionRecord) -> Result<(), AgentError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = self.path(&record.name, "json");
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!(".{}-{count}.tmp", std::process::id()));
        let write = || -> io::Result<()> {
            make_private(&self.folder)?;
            let mut file = private().write(true).create(true).truncate(true).open(&temporary)?;
            file.write_all(&serde_json::to_vec(record)?)?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)
        };
        write().map_err(|source| {
            // What was not renamed is of no use.
            let _ = std::fs::remove_file(&temporary);
            AgentError::Record { action: "write", path, source }
        })
    }

    /// Takes the right to run the session of this name, at once or, with `wait`, as soon as it is free.
    ///
    /// # Errors
    /// [`AgentError::SessionBusy`] if another run has it.
    pub async fn lease(&self, name: &SessionId, wait: Option<Duration>) -> Result<Lease, AgentError> {
        let path = self.path(name, "lock");
        let failed = |source| AgentError::Record { action: "lock", path: path.clone(), source };
        make_private(&self.folder).map_err(failed)?;
        let file = private().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        let deadline = wait.map(|wait| Instant::now() + wait);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lease { _file: file }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) => {}
            }
            if deadline.is_none_or(|deadline| Instant::now() >= deadline) {
                return Err(AgentError::SessionBusy { session: name.to_string() });
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn path(&self, name: &SessionId, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }
}

/// The name under which an agent's own session is leased.
pub(crate) fn own_name(agent: Agent, session: &AgentSession) -> SessionId {
    SessionId::new(&format!("{agent}-{session}"))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes an id for a new session: a version 4 UUID. It need not be secret, only nobody else's.
pub(crate) fn new_id() -> Option<AgentSession> {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let half = || {
        // Each state has keys of its own, from the system's randomness.
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u128(now.as_nanos());
        hasher.write_u32(std::process::id());
        hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
        hasher.finish()
    };
    let random = (u128::from(half()) << 64) | u128::from(half());
    let bits = (random & !(0xf000 << 64) & !(0xc << 60)) | (0x4000 << 64) | (0x8 << 60);
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let id = format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32));
    AgentSession::new(id).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> SessionRecord {
        let session = Some(AgentSession::new("s-1").unwrap());
        let cwd = PathBuf::from("/srv");
        SessionRecord { name: SessionId::new(name), agent: Agent::Claude, session, confirmed: false, cwd }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(folder.path().join("deep/sessions"));
        let name = SessionId::new("../../etc/passwd");
        assert_eq!(sessions.read(&name).unwrap(), None);
        let record = record("../../etc/passwd");
        sessions.write(&record).unwrap();
        let read = sessions.read(&name).unwrap().unwrap();
        assert_eq!(read, record);
        let files: Vec<_> = std::fs::read_dir(&sessions.folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(std::fs::metadata(&sessions.folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_torn_record_is_an_error_and_not_a_new_session() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(folder.path());
        std::fs::write(folder.path().join("a.json"), "{\"name\":").unwrap();
        assert!(matches!(sessions.read(&SessionId::new("a")), Err(AgentError::Record { action: "read", .. })));
    }

    #[tokio::test]
    async fn one_run_has_a_session_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(folder.path());
        let name = SessionId::new("a");
        let first = sessions.lease(&name, None).await.unwrap();
        assert!(matches!(sessions.lease(&name, None).await, Err(AgentError::SessionBusy { .. })));
        sessions.lease(&SessionId::new("b"), None).await.unwrap();
        let waiting = sessions.lease(&name, Some(Duration::from_secs(60)));
        let freed = async {
            tokio::task::yield_now().await;
            drop(first);
        };
        tokio::join!(async { waiting.await.unwrap() }, freed);
    }

    #[test]
    fn new_ids_are_uuids_and_differ() {
        let ids: std::collections::BTreeSet<String> = (0..1_000).map(|_| new_id().unwrap().to_string()).collect();
        assert_eq!(ids.len(), 1_000);
        for id in ids {
            assert_eq!(id.len(), 36);
            assert_eq!(id.as_bytes()[14], b'4', "{id}");
            assert!(matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{id}");
        }
    }
}
