//! Listings: the sessions of a store, or what a session holds, the latest first, within a page.

use std::time::{Duration, SystemTime};

use plimsoll::id::SessionId;
use plimsoll::{counted, plural};
use plimsoll_store::{Inventory, Store, StoreError};

/// How many entries a listing shows.
const SHOWN: usize = 100;

/// Lists a session, or the sessions.
pub(super) fn list(store: &Store, session: Option<&SessionId>) -> Result<String, StoreError> {
    let inventory = store.inventory_of(session)?;
    let lines = match session {
        Some(_) => held(store, &inventory),
        None => sessions(&inventory),
    };
    let (total, what) = (
        lines.len(),
        if session.is_some() {
            plural(lines.len(), "entry", "entries")
        } else {
            plural(lines.len(), "session", "sessions")
        },
    );
    if lines.is_empty() {
        return Ok(match session {
            Some(session) => {
                format!("nothing is stored of session {session}; `list` without a session shows which there are")
            }
            None => "nothing is stored yet".to_owned(),
        });
    }
    let mut text = String::new();
    let shown = lines.iter().take(SHOWN).map(|(_, line)| text.push_str(line)).count();
    text.push_str(&format!("[{shown} of {total} {what}, the latest first]"));
    Ok(super::tools::bounded(text))
}

type Line = (SystemTime, String);

fn held(store: &Store, inventory: &Inventory) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (n, artifact) in inventory.artifacts().into_iter().enumerate() {
        // What it is stands in a record of its own: only what is shown is opened.
        let meta = if n < SHOWN { store.result_meta(&artifact.id).ok().flatten() } else { None };
        let words = meta.map(|meta| [meta.tool, meta.kind].into_iter().flatten().collect::<Vec<_>>().join(", "));
        let what: String = words.unwrap_or_default().chars().filter(|c| !c.is_control()).take(80).collect();
        let what = if what.is_empty() { String::new() } else { format!(" {what},") };
        let line = format!("{}:{what} {} bytes, {}\n", artifact.id, artifact.bytes, ago(artifact.changed));
        lines.push((artifact.changed, line));
    }
    for body in inventory.archives.iter().flat_map(|archive| &archive.bodies) {
        lines.push((body.used, format!("{}: archived conversation, {}\n", body.id, ago(body.used))));
    }
    lines.sort_by(|one, other| other.cmp(one));
    lines
}

fn sessions(inventory: &Inventory) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for session in &inventory.sessions {
        let bodies = inventory.archives.iter().find(|archive| archive.session == session.session);
        let archived = bodies.map_or(0, |archive| archive.bodies.len());
        let changed = session.changed.unwrap_or(SystemTime::UNIX_EPOCH);
        let line = format!(
            "{}: {}, {}, {} bytes, {}\n",
            session.session,
            counted(session.artifacts.len(), "result", "results"),
            archived_conversations(archived),
            session.bytes,
            ago(changed)
        );
        lines.push((changed, line));
    }
    for archive in &inventory.archives {
        if inventory.sessions.iter().all(|session| session.session != archive.session) {
            let used = archive.bodies.iter().map(|body| body.used).max().unwrap_or(SystemTime::UNIX_EPOCH);
            let count = archive.bodies.len();
            lines.push((used, format!("{}: {}, {}\n", archive.session, archived_conversations(count), ago(used))));
        }
    }
    lines.sort_by(|one, other| other.cmp(one));
    lines
}

fn archived_conversations(count: usize) -> String {
    counted(count, "archived conversation", "archived conversations")
}

/// How long ago, in the largest unit that fits.
fn ago(time: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(time).unwrap_or(Duration::ZERO).as_secs();
    let (number, one, many) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "minute", "minutes"),
        3_600..86_400 => (seconds / 3_600, "hour", "hours"),
        _ => (seconds / 86_400, "day", "days"),
    };
    format!("{} ago", counted(number, one, many))
}
