//! `plimsoll recall`: what left a context, whole, by bytes or by lines.

use anyhow::Result;
use plimsoll::id::RecallId;
use plimsoll_store::PAGE;

use crate::args::{Global, RecallArgs};
use crate::output::Output;
use crate::resolve::{Done, Usage, open_store};

/// How much is read and written at a time, in bytes.
const AT_ONCE: u64 = 1 << 20;

pub(crate) fn run(arguments: &RecallArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let id: RecallId = arguments.id.parse().map_err(|error| Usage(format!("{error}")))?;
    let store = open_store(global)?;
    let recalled = store.open_recall(&id)?;
    if let Some((first, last)) = arguments.lines {
        output.bytes(&recalled.lines(first..=last)?)?;
        return Ok(Done::Yes);
    }
    if arguments.offset.is_some() || arguments.length.is_some() {
        let page = recalled.page(arguments.offset.unwrap_or(0), arguments.length.unwrap_or(PAGE))?;
        output.bytes(&page.bytes)?;
        output.say(&format!("{}\n", page.footer()))?;
        return Ok(Done::Yes);
    }
    let mut at = 0;
    while at < recalled.size() {
        let end = (at + AT_ONCE).min(recalled.size());
        output.bytes(&recalled.read(at..end)?)?;
        at = end;
    }
    Ok(Done::Yes)
}
