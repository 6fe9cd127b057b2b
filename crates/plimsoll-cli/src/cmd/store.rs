//! `plimsoll store`: looking after what is stored.

#![expect(clippy::doc_markdown, reason = "some of these comments are what --help prints")]

use std::time::SystemTime;

use anyhow::Result;
use clap::{Args, Subcommand};
use plimsoll::id::{RecallId, SessionId};
use plimsoll::{Bytes, counted, plural};
use plimsoll_store::prune::{Policy, Pruned, Why};
use plimsoll_store::{Store, StoreError};
use serde_json::json;

use crate::args::Global;
use crate::output::{Output, age, millis, plain, style};
use crate::resolve::{Done, Usage, open_store};

/// Look after what is stored: list, show, size, remove, prune, verify
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll store ls")]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// List tool results and archived documents, the most recent first
    #[command(after_help = "Example: plimsoll store ls my-session")]
    Ls {
        /// This session only
        #[arg(value_name = "SESSION")]
        session: Option<String>,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Show what is recorded of an id
    #[command(after_help = "Example: plimsoll store show my-session/toolu_01")]
    Show {
        /// The recall id
        #[arg(value_name = "ID")]
        id: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show how much each session holds, and all together
    #[command(after_help = "Example: plimsoll store du")]
    Du {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a tool result, or everything of a session
    #[command(after_help = "Example: plimsoll store rm my-session/toolu_01")]
    Rm {
        /// Recall ids of tool results, or names of sessions
        #[arg(value_name = "ID|SESSION", required = true)]
        ids: Vec<String>,
        /// Print one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Remove what is old, and the oldest while the store is over its quota
    ///
    /// Sessions unchanged for 30 days go; then, while all results together are over store.max_total, the one that is
    /// idle longest. A session that changed within 15 minutes stays. Archived documents go 90 days after their last use.
    #[command(after_help = "Example: plimsoll store prune --dry-run")]
    Prune {
        /// Keep this session whatever its age; one of which nothing is stored is warned of
        #[arg(long, value_name = "SESSION")]
        keep: Vec<String>,
        /// Say what would go, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Read everything and compare it with the hashes recorded when it was written; exit 1 on damage
    #[command(after_help = "Example: plimsoll store verify")]
    Verify {
        /// This session only
        #[arg(value_name = "SESSION")]
        session: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: &StoreArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let store = open_store(global)?;
    match &arguments.command {
        StoreCommand::Ls { session, json } => ls(&store, session.as_deref(), *json, output),
        StoreCommand::Show { id, json } => show(&store, id, *json, output),
        StoreCommand::Du { json } => du(&store, *json, output),
        StoreCommand::Rm { ids, json } => rm(&store, ids, *json, output),
        StoreCommand::Prune { keep, dry_run, json } => prune(&store, keep, *dry_run, *json, output),
        StoreCommand::Verify { session, json } => verify(&store, session.as_deref(), *json, output),
    }
}

/// Takes a session as it is shown, or as the agent calls it.
fn session(given: &str) -> SessionId {
    given.parse().unwrap_or_else(|_| SessionId::new(given))
}

fn recall_id(given: &str) -> Result<RecallId> {
    Ok(given.parse().map_err(|error: plimsoll::id::IdError| Usage(error.to_string()))?)
}

fn ls(store: &Store, only: Option<&str>, json: bool, output: &mut Output) -> Result<Done> {
    let only = only.map(session);
    let inventory = match &only {
        Some(only) => store.inventory_of(Some(only))?,
        None => store.inventory()?,
    };
    let artifacts = inventory.sessions.iter().flat_map(|held| &held.artifacts);
    let artifacts = artifacts.map(|artifact| (artifact.changed, artifact.id.to_string(), artifact.bytes, "result"));
    let bodies = inventory.archives.iter().flat_map(|archive| &archive.bodies);
    let bodies = bodies.map(|body| (body.used, body.id.to_string(), body.bytes, "epoch"));
    let mut rows: Vec<(SystemTime, String, u64, &str)> = artifacts.chain(bodies).collect();
    rows.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    if rows.is_empty() && !json {
        let of =
            only.as_ref().map(|session| format!("of session {session}; `plimsoll store ls` lists what there is"));
        output.say(&format!("nothing is stored {}\n", of.as_deref().unwrap_or("here")))?;
    }
    for refused in &inventory.refused {
        output.say(&format!("plimsoll: {}\n", plain(&StoreError::from(refused).to_string())))?;
    }
    let now = SystemTime::now();
    let (dim, end) = (style::DIM, style::END);
    for (changed, id, bytes, kind) in rows {
        if json {
            output.json(&json!({"id": id, "kind": kind, "bytes": bytes, "changed": millis(changed)}))?;
        } else {
            let size = Bytes(bytes).to_string();
            output.print(&format!("{size:>10}  {dim}{:>8}  {kind:<6}{end}  {id}\n", age(now, changed)))?;
        }
    }
    Ok(Done::Yes)
}

fn show(store: &Store, given: &str, json: bool, output: &mut Output) -> Result<Done> {
    let shown = store.show(&recall_id(given)?)?;
    let variants: Vec<String> = shown.variants.iter().map(ToString::to_string).collect();
    let names = shown.names.as_ref();
    let artifacts = names.map(|names| names.artifacts.iter().map(ToString::to_string).collect::<Vec<_>>());
    if json {
        output.json(&json!({
            "id": shown.id.to_string(), "bytes": shown.bytes, "changed": millis(shown.changed), "path": shown.path,
            "meta": shown.meta, "variants": variants, "document_bytes": shown.document_bytes, "artifacts": artifacts,
        }))?;
        return Ok(Done::Yes);
    }
    let (bold, dim, end) = (style::BOLD, style::DIM, style::END);
    let mut row = |name: &str, value: &str| output.print(&format!("{dim}{name:<9}{end} {}\n", plain(value)));
    row("id", &shown.id.to_string())?;
    row("size", &format!("{} ({} bytes)", Bytes(shown.bytes), shown.bytes))?;
    row("stored", &format!("{} ago", age(SystemTime::now(), shown.changed)))?;
    if let Some(bytes) = shown.document_bytes {
        row("document", &format!("{} before the compaction", Bytes(bytes)))?;
    }
    if let Some(meta) = &shown.meta {
        row("session", &meta.session)?;
        row("call", &meta.call)?;
        for (name, value) in [("tool", &meta.tool), ("arguments", &meta.arguments), ("kind", &meta.kind)] {
            if let Some(value) = value {
                row(name, value)?;
            }
        }
        row("lines", &meta.lines.to_string())?;
        row("blake3", &meta.blake3)?;
        if let Some(whole) = &meta.whole {
            row("first of", &format!("{}: the rest was over the quota", Bytes(whole.bytes)))?;
        }
    }
    if let Some(path) = &shown.path {
        row("file", &path.display().to_string())?;
    }
    for variant in &variants {
        row("also", variant)?;
    }
    for artifact in artifacts.iter().flatten() {
        row("names", artifact)?;
    }
    if let Some(capped) = shown.meta.as_ref().and_then(|meta| meta.capped.as_deref()) {
        output.print(&format!("{bold}shown as{end} {dim}({}){end}\n", Bytes::from(capped.len())))?;
        output.bytes(capped.as_bytes())?;
        if !capped.ends_with('\n') {
            output.bytes(b"\n")?;
        }
    }
    Ok(Done::Yes)
}

fn du(store: &Store, json: bool, output: &mut Output) -> Result<Done> {
    let inventory = store.inventory()?;
    let quotas = store.quotas();
    let (results, archive) = (inventory.results_bytes(), inventory.archive_bytes());
    if json {
        let sessions: Vec<_> = inventory
            .sessions
            .iter()
            .map(|held| json!({"session": held.session.as_str(), "bytes": held.bytes, "artifacts": held.artifacts.len()}))
            .collect();
        let archives: Vec<_> = inventory
            .archives
            .iter()
            .map(|held| json!({"session": held.session.as_str(), "bytes": held.bytes, "epochs": held.bodies.len()}))
            .collect();
        output.json(&json!({
            "results": results, "archive": archive, "max_total": quotas.max_total, "max_session": quotas.max_session,
            "sessions": sessions, "archives": archives,
        }))?;
        return Ok(Done::Yes);
    }
    let (bold, dim, end) = (style::BOLD, style::DIM, style::END);
    for held in &inventory.sessions {
        let size = Bytes(held.bytes).to_string();
        output.print(&format!(
            "{size:>10}  {dim}{:>6} {:<7}{end}  {}\n",
            held.artifacts.len(),
            plural(held.artifacts.len(), "result", "results"),
            held.session
        ))?;
    }
    for held in &inventory.archives {
        let size = Bytes(held.bytes).to_string();
        output.print(&format!(
            "{size:>10}  {dim}{:>6} {:<7}{end}  {}\n",
            held.bodies.len(),
            plural(held.bodies.len(), "epoch", "epochs"),
            held.session
        ))?;
    }
    output.print(&format!(
        "{bold}{:>10}{end}  of {} results may take; {} archived beside them\n",
        Bytes(results).to_string(),
        Bytes(quotas.max_total),
        Bytes(archive)
    ))?;
    Ok(Done::Yes)
}

fn rm(store: &Store, ids: &[String], json: bool, output: &mut Output) -> Result<Done> {
    let mut ended = Done::Yes;
    for given in ids {
        let removed = if given.contains('/') {
            match recall_id(given)? {
                RecallId::Artifact(id) => match store.remove(&id) {
                    Ok(removed) => removed,
                    Err(miss @ (StoreError::Unknown { .. } | StoreError::Pruned { .. })) => {
                        output.say(&format!("plimsoll: {}\n", plain(&miss.to_string())))?;
                        ended = Done::Failed;
                        continue;
                    }
                    Err(error) => return Err(error.into()),
                },
                RecallId::Epoch(id) => {
                    return Err(Usage(format!(
                        "{id} is an epoch: it goes by itself 90 days after its last use, or with its session"
                    ))
                    .into());
                }
            }
        } else {
            store.remove_session(&session(given), SystemTime::now())?
        };
        let (artifacts, archived, bytes) = (removed.artifacts.len(), removed.archived, removed.bytes);
        if json {
            let names: Vec<String> = removed.artifacts.iter().map(ToString::to_string).collect();
            output.json(&json!({"removed": given, "artifacts": names, "archived": archived, "bytes": bytes}))?;
        } else if artifacts == 0 && archived == 0 {
            output.say(&format!("plimsoll: no session {} is stored here\n", plain(given)))?;
        } else {
            let archived = if archived == 0 {
                String::new()
            } else {
                format!(" and {}", counted(archived, "record of a compaction", "records of compactions"))
            };
            output.print(&format!(
                "removed {}{archived}, {}\n",
                counted(artifacts, "result", "results"),
                Bytes(bytes)
            ))?;
        }
        if artifacts == 0 && archived == 0 {
            ended = Done::Failed;
        }
    }
    Ok(ended)
}

fn prune(store: &Store, keep: &[String], dry_run: bool, json: bool, output: &mut Output) -> Result<Done> {
    let keep: Vec<SessionId> = keep.iter().map(|given| session(given)).collect();
    let mut unknown = Vec::new();
    for session in &keep {
        if store.session_use(session)?.artifacts.is_empty() {
            unknown.push(session.as_str().to_owned());
            output.say(&format!(
                "plimsoll: warning: --keep {session}: no results of such a session are stored here\n"
            ))?;
        }
    }
    let policy = Policy { keep, ..Policy::new(&store.quotas()) };
    let now = SystemTime::now();
    let pruned = if dry_run { store.prune_dry_run(&policy, now) } else { store.prune(&policy, now)? };
    let Pruned { removed, freed, swept, .. } = &pruned;
    if json {
        let sessions: Vec<_> = removed
            .sessions
            .iter()
            .map(|chosen| {
                let session = chosen.session.as_str();
                json!({"session": session, "why": why(chosen.why), "bytes": chosen.bytes, "whole": chosen.whole})
            })
            .collect();
        let bodies: Vec<String> = removed.bodies.iter().map(ToString::to_string).collect();
        let errors: Vec<String> = pruned.errors.iter().map(ToString::to_string).collect();
        output.json(&json!({
            "dry_run": dry_run, "sessions": sessions, "epochs": bodies, "freed": freed, "swept": swept,
            "left": pruned.left.results_bytes(), "errors": errors, "unknown": unknown,
        }))?;
    } else {
        let (dim, end) = (style::DIM, style::END);
        for chosen in &removed.sessions {
            let size = Bytes(chosen.bytes).to_string();
            output.print(&format!("{size:>10}  {dim}{:<13}{end}  {}\n", why(chosen.why), chosen.session))?;
        }
        for body in &removed.bodies {
            output.print(&format!("{:>10}  {dim}{:<13}{end}  {body}\n", "", "unused epoch"))?;
        }
        let verb = if dry_run { "would free" } else { "freed" };
        output.print(&format!(
            "{verb} {}; {} of results stay\n",
            Bytes(*freed),
            Bytes(pruned.left.results_bytes())
        ))?;
        if let Some(errors) = pruned.error() {
            output.say(&format!("plimsoll: not everything could be pruned:\n{errors}\n"))?;
        }
    }
    Ok(if pruned.errors.is_empty() { Done::Yes } else { Done::Failed })
}

fn why(why: Why) -> &'static str {
    match why {
        Why::Age => "30 days old",
        Why::SessionQuota => "session quota",
        Why::TotalQuota => "store quota",
        _ => "asked",
    }
}

fn verify(store: &Store, only: Option<&str>, json: bool, output: &mut Output) -> Result<Done> {
    let progress = output.progress("verifying");
    let verified = store.verify(only.map(session).as_ref());
    drop(progress);
    if json {
        let damaged: Vec<_> = verified
            .damaged
            .iter()
            .map(|(id, error)| json!({"id": id.to_string(), "error": error.to_string()}))
            .collect();
        let without: Vec<String> = verified.without_hash.iter().map(ToString::to_string).collect();
        let errors: Vec<String> = verified.errors.iter().map(ToString::to_string).collect();
        output.json(&json!({
            "sound": verified.is_sound(), "artifacts": verified.artifacts, "documents": verified.documents,
            "bytes": verified.bytes, "without_hash": without, "damaged": damaged, "errors": errors,
        }))?;
    } else {
        for (id, error) in &verified.damaged {
            output.print(&format!("{}damaged{} {id}: {}\n", style::WARN, style::END, plain(&error.to_string())))?;
        }
        for error in &verified.errors {
            output.say(&format!("plimsoll: {}\n", plain(&error.to_string())))?;
        }
        for id in &verified.without_hash {
            output.print(&format!("whole, but without a hash to compare with: {id}\n"))?;
        }
        output.print(&format!(
            "{} and {} are as written, {}\n",
            counted(verified.artifacts, "result", "results"),
            counted(verified.documents, "archived document", "archived documents"),
            verified.bytes
        ))?;
    }
    Ok(if verified.is_sound() { Done::Yes } else { Done::Failed })
}
