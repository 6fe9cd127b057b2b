//! `plimsoll restore`: the exact bytes from before a compaction.

use std::io::Write as _;

use anyhow::Result;
use plimsoll::id::EpochId;

use crate::args::{Global, RestoreArgs};
use crate::output::{Output, style};
use crate::resolve::{Done, Usage, open_store, output_path};

pub(crate) fn run(arguments: &RestoreArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let epoch: EpochId = arguments
        .epoch
        .parse()
        .map_err(|error| Usage(format!("{error}; an epoch is what `compact` reports, like session/~0123456789ab")))?;
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
            plimsoll_engine::write_whole(&path, &bytes)?;
            drop(progress);
            let (dim, end) = (style::DIM, style::END);
            output.print(&format!(
                "restored {} to {} {dim}({epoch}){end}\n",
                plimsoll::Bytes(document.size()),
                path.display()
            ))?;
        }
    }
    Ok(Done::Yes)
}
