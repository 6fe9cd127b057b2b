//! Where Codex keeps its sessions: rollouts by the day on which they began, each naming its working directory inside.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Candidate, FindError, GLANCE, Writer, folders, newest_first, only, sessions};

/// What the first line of a rollout says of it.
#[derive(Debug, Deserialize)]
struct Meta {
    payload: Option<Payload>,
}

#[derive(Debug, Deserialize)]
struct Payload {
    cwd: Option<PathBuf>,
    source: Option<serde_json::Value>,
}

/// The rollout of a working directory that was written to last. Those of subagents are not meant.
pub(super) fn last(root: &Path, project: &Path) -> Result<Candidate, FindError> {
    let looked = root.join("sessions");
    let mut found = rollouts(&looked, |_| true)?;
    newest_first(&mut found);
    let several = !found.is_empty();
    let is_one = |candidate: &Candidate| candidate.link || is_of(&candidate.path, project).unwrap_or(false);
    found.into_iter().find(is_one).ok_or_else(|| FindError::NoSession {
        writer: Writer::Codex,
        project: project.to_path_buf(),
        looked,
        next: if several {
            "there are some of other directories: run it in the one that codex was started in, or name a file"
                .to_owned()
        } else {
            "set CODEX_HOME if it keeps them elsewhere, or name a file".to_owned()
        },
    })
}

/// The rollout of an id, whatever its directory.
pub(super) fn by_id(root: &Path, id: &str) -> Result<Candidate, FindError> {
    let looked = root.join("sessions");
    let found = rollouts(&looked, |name| id_of(name).is_some_and(|own| own.starts_with(id)))?;
    let named = |candidate: Candidate| {
        let stem = candidate.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (id_of(&stem).unwrap_or_default().to_owned(), candidate)
    };
    only(found.into_iter().map(named).collect(), Writer::Codex, id, &looked)
}

/// The rollouts below `sessions/YYYY/MM/DD`.
fn rollouts(sessions_folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Candidate>, FindError> {
    let digits = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let mut found = Vec::new();
    for year in folders(sessions_folder, digits)? {
        for month in folders(&year, digits)? {
            for day in folders(&month, digits)? {
                found.extend(sessions(&day, |name| name.starts_with("rollout-") && wanted(name))?);
            }
        }
    }
    Ok(found)
}

/// The thread's id in `rollout-2026-11-30T09-12-40-<id>`.
fn id_of(stem: &str) -> Option<&str> {
    stem.get("rollout-2026-11-30T09-12-40-".len()..).filter(|id| !id.is_empty())
}

/// Whether a rollout is of a working directory, and of no subagent.
fn is_of(path: &Path, project: &Path) -> std::io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(GLANCE)).read_until(b'\n', &mut line)?;
    let Ok(Meta { payload: Some(payload) }) = serde_json::from_slice(&line) else { return Ok(false) };
    let subagent = payload.source.is_some_and(|source| source.get("subagent").is_some());
    Ok(payload.cwd.as_deref() == Some(project) && !subagent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stands_after_the_time() {
        assert_eq!(
            id_of("rollout-2026-11-30T09-12-40-01a22bba-5103-7d63-a8c9-c1be9c51a8c2"),
            Some("01a22bba-5103-7d63-a8c9-c1be9c51a8c2")
        );
        assert_eq!(id_of("rollout-2026-11-30T09-12-40-"), None);
        assert_eq!(id_of("rollout-ö"), None);
    }
}
