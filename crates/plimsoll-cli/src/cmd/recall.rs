//! `plimsoll recall`: what left a context, whole, by bytes, by lines or by expression; or a search of all of it.

use std::io;
use std::ops::ControlFlow;

use anyhow::Result;
use plimsoll::id::{IdError, RecallId, SessionId};
use plimsoll::utf16::Utf16;
use plimsoll::{Bytes, counted};
use plimsoll_store::{MAY_MISS, PAGE, Pattern, Recalled, Search, Store};
use serde_json::json;

use crate::args::{Global, RecallArgs};
use crate::output::{Output, plain};
use crate::resolve::{Done, Usage, open_store};

pub(crate) fn run(arguments: &RecallArgs, global: &Global, output: &mut Output) -> Result<Done> {
    let store = open_store(global)?;
    let given = match (arguments.id.as_deref(), &arguments.search) {
        (Some(given), _) => given,
        (None, Some(query)) => return search(query, arguments, &store, output),
        (None, None) => {
            let text =
                "give an ID, or --search QUERY to look through all that is stored; `plimsoll store ls` lists it";
            return Err(Usage(text.to_owned()).into());
        }
    };
    let id: RecallId = given.parse().map_err(|error: IdError| Usage(error.to_string()))?;
    let recalled = store.open_recall(&id)?;
    let others: Vec<String> = match &id {
        RecallId::Artifact(id) => store.variants(id)?.iter().map(ToString::to_string).collect(),
        RecallId::Epoch(_) => Vec::new(),
    };
    if !others.is_empty() && !arguments.json {
        output.say(&format!(
            "plimsoll: {id} is the first content of its call; there are also {}\n",
            some_of(&others)
        ))?;
    }
    if let Some(whole) = recalled.first_of().filter(|_| !arguments.json || arguments.grep.is_some()) {
        output.say(&format!(
            "plimsoll: warning: of the {whole} of {id} only the first {} were saved; what came after is lost\n",
            Bytes(recalled.size())
        ))?;
    }
    if let Some(expression) = &arguments.grep {
        return grep(arguments, &pattern(expression, true)?, &recalled, output);
    }
    let encoding = recalled.encoding()?;
    let paged = arguments.offset.is_some() || arguments.length.is_some();
    if arguments.json {
        let stored = |bytes: &[u8], at: u64| match encoding {
            Some(encoding) => encoding.decode_part(bytes, at),
            None => String::from_utf8_lossy(bytes).into_owned(),
        };
        let (text, footer) = if let Some((first, last)) = arguments.lines {
            (String::from_utf8_lossy(&recalled.lines(first..=last)?).into_owned(), None)
        } else if paged {
            let page = recalled.page(arguments.offset.unwrap_or(0), arguments.length.unwrap_or(PAGE))?;
            (stored(&page.bytes, page.range.start), Some(page.footer()))
        } else {
            (stored(&recalled.whole()?, 0), None)
        };
        output.json(&json!({
            "id": id.to_string(), "size": recalled.size(), "first_of": recalled.first_of(),
            "encoding": encoding.map(Utf16::name), "text": text,
            "footer": footer, "others": others,
        }))?;
        return Ok(Done::Yes);
    }
    if let Some((first, last)) = arguments.lines {
        recalled.copy_lines(first..=last, |bytes| output.bytes(bytes))?;
        if let Some(encoding) = encoding {
            output.say(&format!("[{}, shown as UTF-8]\n", encoding.name()))?;
        }
    } else if paged {
        let page = recalled.page(arguments.offset.unwrap_or(0), arguments.length.unwrap_or(PAGE))?;
        output.bytes(&page.bytes)?;
        output.say(&format!("{}\n", page.footer()))?;
        if let Some(encoding) = encoding {
            let says = "the bytes are as they were stored; --lines and --grep give UTF-8";
            output.say(&format!("plimsoll: this is {}: {says}\n", encoding.name()))?;
        }
    } else {
        recalled.copy(0..recalled.size(), |bytes| output.bytes(bytes))?;
    }
    Ok(Done::Yes)
}

/// The first few of many ids, and how many there are besides.
fn some_of(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = ids.get(..SHOWN).unwrap_or(ids).join(", ");
    let more = ids.len().saturating_sub(SHOWN);
    if more == 0 { shown } else { format!("{shown} and {more} more: `plimsoll store ls` lists them") }
}

fn pattern(text: &str, regex: bool) -> Result<Pattern> {
    let pattern = if regex { Pattern::regex(text) } else { Pattern::literal(text) };
    Ok(pattern.map_err(|error| Usage(error.to_string()))?)
}

/// Keeps the first failure to write, and stops there.
fn passed_on(written: io::Result<()>, failed: &mut Option<io::Error>) -> ControlFlow<()> {
    match written {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            *failed = Some(error);
            ControlFlow::Break(())
        }
    }
}

fn grep(arguments: &RecallArgs, pattern: &Pattern, recalled: &Recalled<'_>, output: &mut Output) -> Result<Done> {
    let (mut matches, mut first, mut failed) = (0_u64, true, None);
    let grepped = recalled.grep(pattern, arguments.context, |line| {
        matches += u64::from(line.matches);
        let written = if arguments.json {
            let text = String::from_utf8_lossy(&line.text);
            output.json(&json!({"line": line.line, "offset": line.offset, "text": text, "matches": line.matches}))
        } else {
            let parted = line.gap && arguments.context > 0 && !first;
            first = false;
            if parted { output.bytes(b"--\n") } else { Ok(()) }.and_then(|()| output.bytes(&line.render()))
        };
        passed_on(written, &mut failed)
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    let missed = if grepped.may_miss { format!("; {MAY_MISS}") } else { String::new() };
    output.say(&format!("[{} in {} bytes{missed}]\n", counted(matches, "match", "matches"), recalled.size()))?;
    // As grep has it: nothing found is a failure that scripts can test for.
    Ok(if matches == 0 { Done::Failed } else { Done::Yes })
}

fn search(query: &str, arguments: &RecallArgs, store: &Store, output: &mut Output) -> Result<Done> {
    let pattern = pattern(query, arguments.regex)?;
    let session = arguments.session.as_deref().map(|given| given.parse().unwrap_or_else(|_| SessionId::new(given)));
    let (mut hits, mut more, mut failed) = (0_usize, false, None);
    // One more than are shown, even of a single text: else nothing would tell that there is more.
    let wanted =
        Search { pattern: &pattern, session: session.as_ref(), of_one: Some(arguments.limit.saturating_add(1)) };
    let searched = store.search(&wanted, |hit| {
        if hits == arguments.limit {
            more = true;
            return ControlFlow::Break(());
        }
        hits += 1;
        let written = if arguments.json {
            let text = String::from_utf8_lossy(&hit.line.text);
            output.json(&json!({
                "id": hit.id.to_string(), "line": hit.line.line, "offset": hit.line.offset, "text": text,
            }))
        } else {
            output.bytes(&hit.render())
        };
        passed_on(written, &mut failed)
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    for error in &searched.errors {
        output.say(&format!("plimsoll: {}\n", plain(&error.to_string())))?;
    }
    if let Some(session) = session.filter(|_| searched.looked_through == 0 && searched.errors.is_empty()) {
        output.say(&format!(
            "plimsoll: nothing is stored of session {session}; `plimsoll store ls` lists what there is\n"
        ))?;
    }
    let end = if more { "there is more: raise --limit, or narrow the search" } else { "that is all" };
    let missed = if searched.may_miss > 0 { format!("; {MAY_MISS}") } else { String::new() };
    output.say(&format!(
        "[{} in {}; {end}{missed}]\n",
        counted(hits, "match", "matches"),
        counted(searched.looked_through, "artifact", "artifacts")
    ))?;
    Ok(if hits == 0 { Done::Failed } else { Done::Yes })
}
