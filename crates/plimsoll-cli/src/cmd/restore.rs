//! `plimsoll restore`: the exact bytes from before a compaction.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use plimsoll::id::{EpochId, RecallId};
use plimsoll::{Bytes, counted};
use plimsoll_engine::find::{InUse, in_use};
use plimsoll_engine::{Input, change_in_place, later_messages, write_whole};

use crate::args::Global;
use crate::output::{Output, plain, style};
use crate::resolve::{Done, Usage, open_store, output_path};

/// Write the exact bytes from before a compaction
///
/// A file that -o names and that is there already is kept beside it as a backup. One that holds messages from after the
/// compaction, or that a program is at work on, is left as it is without --force.
#[derive(Debug, Args)]
#[command(after_help = "Example: plimsoll restore 'session/~0123456789ab' -o session.jsonl")]
pub(crate) struct RestoreArgs {
    /// The epoch, as `compact` reported it
    #[arg(value_name = "EPOCH")]
    epoch: String,
    /// Write here instead of standard output
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Write over OUT even if it holds messages from after the compaction, or a program is at work on it
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) fn run(arguments: &RestoreArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let epoch = epoch(&arguments.epoch)?;
    let store = open_store(global)?;
    let progress = output.progress("restoring");
    let document = store.document(&epoch)?;
    match output_path(arguments.output.as_ref(), None)? {
        None => {
            drop(progress);
            // Every piece is checked against its hash before it is handed out.
            for piece in document.pieces() {
                output.bytes(&piece?)?;
            }
        }
        Some(path) => {
            let mut bytes = Vec::new();
            for piece in document.pieces() {
                bytes.write_all(&piece?)?;
            }
            let backup = write(&path, &bytes, arguments.force)?;
            drop(progress);
            let (dim, end) = (style::DIM, style::END);
            let old = backup.map(|backup| format!(", the old one is {}", backup.display())).unwrap_or_default();
            output.print(&format!(
                "restored {} to {} {dim}({epoch}){end}\n",
                Bytes(document.size()),
                plain(&format!("{}{old}", path.display()))
            ))?;
        }
    }
    Ok(Done::Yes)
}

fn epoch(given: &str) -> Result<EpochId> {
    given.parse().map_err(|_| {
        let text = match given.parse() {
            Ok(RecallId::Artifact(_)) => {
                format!("{} is the id of a tool result; `plimsoll recall` gives it back", plain(given))
            }
            _ => format!("`{}` is no epoch; one is what `compact` reports, like session/~0123456789ab", plain(given)),
        };
        Usage(text).into()
    })
}

/// Writes a document over whatever is there, and says where that is kept now.
fn write(path: &Path, bytes: &[u8], force: bool) -> Result<Option<PathBuf>> {
    // A link is followed, as every program's `-o` does; the file it leads to is what is kept.
    let target = if path.is_symlink() { fs::canonicalize(path).ok() } else { None };
    let target = target.unwrap_or_else(|| path.to_path_buf());
    if !fs::metadata(&target).is_ok_and(|metadata| metadata.is_file()) {
        write_whole(path, bytes)?;
        return Ok(None);
    }
    let old = Input::read(&target, Bytes(u64::MAX))?;
    if old.bytes() == bytes {
        return Ok(None);
    }
    if !force {
        let left = format!("{} was left as it is", path.display());
        // To undo a compaction at once is no haste: what was just written to is not waited for.
        if let Some(by) = in_use(&target, SystemTime::now()).filter(|by| *by != InUse::JustWritten) {
            bail!("{left}, since {by}; end the program first (--force restores it all the same)");
        }
        let later = later_messages(old.bytes(), bytes);
        if later > 0 {
            bail!(
                "{left}, since it holds {} that the restored one would not; write elsewhere, or give --force, which \
                 keeps the file beside it as a backup",
                counted(later, "message", "messages")
            );
        }
    }
    Ok(Some(change_in_place(&target, &old, bytes)?))
}
