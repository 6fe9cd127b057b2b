//! The tools: what they are called, what they take, and what they answer. Every answer is bounded by a page.

use std::io;
use std::path::Path;

use plimsoll::Bytes;
use plimsoll::Tokens;
use plimsoll::id::{RecallId, SessionId};
use plimsoll::wire::{ParseOptions, parse};
use plimsoll_engine::{CompactOptions, Input, context};
use plimsoll_store::{PAGE, Pattern, Recalled, Store, StoreError};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::json;

use super::arguments::Arguments;
use super::refusal::Refusal;
use super::{listing, schema};

/// The largest transcript that is measured: 64 MiB.
const LARGEST: Bytes = Bytes(64 << 20);
/// The most lines around a match.
const CONTEXT: u64 = 50;

/// All tools.
pub(super) fn all() -> Vec<Tool> {
    let tool = |name: &'static str, title: &str, about: &'static str, arguments: serde_json::Value| {
        let hints =
            ToolAnnotations::from_raw(Some(title.to_owned()), Some(true), Some(false), Some(true), Some(false));
        Tool::new(name, about, schema(arguments)).with_annotations(hints)
    };
    vec![
        tool(
            "recall",
            "Recall what left the context",
            "Read a tool result or a part of the conversation that was cut from the context, by its recall id, exactly as it \
             was. Without further arguments: the first page of 48 KiB; the last line of the answer says where the next \
             one begins. To find something in it, give `grep`; to read a place, give `lines`.",
            json!({
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": "The recall id, as a marker or a summary names it: SESSION/CALL" },
                    "offset": { "type": "integer", "minimum": 0, "description": "Begin at this byte" },
                    "length": { "type": "integer", "minimum": 1, "description": "At most so many bytes (no more than a page)" },
                    "lines": { "type": "string", "description": "These lines, counted from 1, the last included: \"10:20\"" },
                    "grep": { "type": "string", "description": "Only lines that match this regular expression, with their numbers" },
                    "context": { "type": "integer", "minimum": 0, "maximum": CONTEXT, "description": "With grep: so many lines around each match" },
                },
                "required": ["id"],
                "additionalProperties": false,
            }),
        ),
        tool(
            "search",
            "Search what left the context",
            "Search everything that was cut from contexts for a text, the latest first. Answers with recall ids, line \
             numbers and lines; `recall` reads on from there.",
            json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "The text to look for, as it is written" },
                    "session": { "type": "string", "description": "Only in this session: the part of a recall id before the slash" },
                    "regex": { "type": "boolean", "description": "The query is a regular expression" },
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        ),
        tool(
            "list",
            "List what left the context",
            "List what can be recalled: with a session, its tool results and archived conversations, the latest first; \
             without, the sessions.",
            json!({
                "type": "object",
                "properties": {
                    "session": { "type": "string", "description": "The part of a recall id before the slash" },
                },
                "additionalProperties": false,
            }),
        ),
        tool(
            "context",
            "Show what fills a context",
            "Measure what fills the context of a conversation from its transcript file: tokens by role and by kind, the \
             window, the thresholds, the largest messages.",
            json!({
                "type": "object",
                "properties": {
                    "file": { "type": "string", "description": "The path of a transcript: a session file of an agent program, or a request body" },
                    "model": { "type": "string", "description": "Judge by this model, not by the one that the transcript names" },
                    "window": { "type": "integer", "minimum": 1, "description": "The context window in tokens, if it is known better" },
                },
                "required": ["file"],
                "additionalProperties": false,
            }),
        ),
    ]
}

/// Calls a tool. Blocks.
///
/// # Errors
/// [`Refusal`]: what is wrong, and what to do instead.
pub(super) fn call(name: &str, arguments: &JsonObject, store: &Store) -> Result<String, Refusal> {
    match name {
        "recall" => recall(arguments, store),
        "search" => search(arguments, store),
        "list" => {
            let arguments = Arguments::of(arguments, &["session"])?;
            let session = arguments.text("session")?.map(session_of).transpose()?;
            Ok(listing::list(store, session.as_ref())?)
        }
        "context" => measure(arguments),
        _ => {
            let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
            Err(format!("there is no tool `{name}`; there are recall, search, list and context").into())
        }
    }
}

fn recall(arguments: &JsonObject, store: &Store) -> Result<String, Refusal> {
    let arguments = Arguments::of(arguments, &["id", "offset", "length", "lines", "grep", "context"])?;
    let id = arguments.needed("id", "give the recall id that a marker names, or find one with `search` or `list`")?;
    let id: RecallId = id.trim().parse().map_err(|error: plimsoll::id::IdError| {
        format!("{error}; a recall id is SESSION/CALL, as a marker names it; `list` shows what there is")
    })?;
    let (offset, length) = (arguments.number("offset")?, arguments.number("length")?);
    let (lines, grep, around) = (arguments.lines("lines")?, arguments.text("grep")?, arguments.number("context")?);
    if lines.is_some() && (offset.is_some() || length.is_some() || grep.is_some()) {
        return Err("`lines` stands alone: give it without offset, length and grep".to_owned().into());
    }
    let recalled = store.open_recall(&id)?;
    if length == Some(0) {
        return Err("`length` must be 1 or more; leave it out for a page".to_owned().into());
    }
    let length = length.unwrap_or(PAGE).clamp(1, PAGE);
    let answer = if let Some(expression) = grep {
        let pattern = Pattern::regex(expression)?;
        let around = usize::try_from(around.unwrap_or(0).min(CONTEXT)).unwrap_or(0);
        let page = recalled.grep_page(&pattern, around, offset.unwrap_or(0), length)?;
        closed(&page.text, &page.footer())
    } else if let Some((first, last)) = lines {
        some_lines(&recalled, first, last)?
    } else {
        a_page(&recalled, offset.unwrap_or(0), length)?
    };
    Ok(answer + &others(store, &id))
}

/// A page, from an offset on. Of a text in UTF-16 it is what the bytes say, in whole characters.
fn a_page(recalled: &Recalled<'_>, offset: u64, length: u64) -> Result<String, StoreError> {
    let Some(encoding) = recalled.encoding()? else {
        let page = recalled.page(offset, length)?;
        return Ok(closed(&page.bytes, &page.footer()));
    };
    // From where a unit begins; enough for any character, and no more than fits: two bytes may become three.
    let page = recalled.page(offset - offset % 2, (length / 3 * 2).max(4))?;
    let text = encoding.decode_part(&page.bytes, page.range.start);
    let says = format!("[{}, shown as UTF-8; offsets count the bytes as they are stored]", encoding.name());
    Ok(closed(text.as_bytes(), &format!("{says}\n{}", page.footer())))
}

/// Lines, as many whole ones as a page holds.
fn some_lines(recalled: &Recalled<'_>, first: u64, last: u64) -> Result<String, Refusal> {
    let page = usize::try_from(PAGE).unwrap_or(usize::MAX);
    let mut text: Vec<u8> = Vec::new();
    let full = || io::Error::other("the page is full");
    let outcome = recalled.copy_lines(first..=last, |piece| {
        text.extend_from_slice(piece.get(..(page + 1).saturating_sub(text.len())).unwrap_or(piece));
        if text.len() > page { Err(full()) } else { Ok(()) }
    });
    match outcome {
        Err(StoreError::Output { .. }) | Ok(()) => {}
        Err(error) => return Err(error.into()),
    }
    if text.len() <= page {
        let count = lines_in(&text) + u64::from(!text.ends_with(b"\n"));
        let footer = format!("[lines {first}-{}]", (first + count).saturating_sub(1));
        return Ok(closed(&text, &footer));
    }
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
    if end == 0 {
        let shown = String::from_utf8_lossy(text.get(..page).unwrap_or_default()).into_owned();
        let shown = shown.trim_end_matches(char::REPLACEMENT_CHARACTER);
        let footer = format!("[line {first} is longer than a page: give `grep`, or `offset` and `length` in bytes]");
        return Ok(closed(shown.as_bytes(), &footer));
    }
    text.truncate(end);
    let count = lines_in(&text);
    let next = first + count;
    let rest = if last == u64::MAX { String::new() } else { last.to_string() };
    Ok(closed(&text, &format!("[lines {first}-{}; a page is full; next lines \"{next}:{rest}\"]", next - 1)))
}

fn lines_in(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// A text and the line below it.
fn closed(text: &[u8], footer: &str) -> String {
    let text = String::from_utf8_lossy(text);
    let feed = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{feed}{footer}")
}

/// Says that a call had other contents, too.
fn others(store: &Store, id: &RecallId) -> String {
    let RecallId::Artifact(id) = id else { return String::new() };
    let others = store.variants(id).unwrap_or_default();
    if others.is_empty() {
        return String::new();
    }
    let named: Vec<String> = others.iter().take(5).map(ToString::to_string).collect();
    let more = if others.len() > 5 { format!(" and {} more", others.len() - 5) } else { String::new() };
    format!("\n[this is the first content of its call; there are also {}{more}]", named.join(", "))
}

fn search(arguments: &JsonObject, store: &Store) -> Result<String, Refusal> {
    let arguments = Arguments::of(arguments, &["query", "session", "regex"])?;
    let query = arguments.needed("query", "give the text to look for")?;
    let session = arguments.text("session")?.map(session_of).transpose()?;
    let pattern = if arguments.switch("regex")? { Pattern::regex(query) } else { Pattern::literal(query) };
    let pattern = pattern?;
    let page = store.search_page(&pattern, session.as_ref(), PAGE)?;
    let footer = page.footer();
    let unknown = session.filter(|_| page.searched.looked_through == 0 && page.searched.errors.is_empty());
    let hint =
        unknown.map(|session| format!("\n[nothing is stored of session {session}; `list` shows what there is]"));
    Ok(closed(&page.text, &footer) + &hint.unwrap_or_default())
}

/// A session as a model names it: the part of a recall id before the slash, or a program's own id.
fn session_of(name: &str) -> Result<SessionId, String> {
    if name.contains('/') {
        let short: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        return Err(format!("`{short}` is no session: give the part of a recall id before the slash"));
    }
    Ok(name.parse().unwrap_or_else(|_| SessionId::new(name)))
}

fn measure(arguments: &JsonObject) -> Result<String, Refusal> {
    let arguments = Arguments::of(arguments, &["file", "model", "window"])?;
    let path = Path::new(arguments.needed("file", "give the path of a transcript")?);
    // A pipe or a device is not opened: it could be waited for without end.
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(format!("{} is no regular file; give a transcript", shown(path)).into()),
        Err(error) => {
            return Err(format!("cannot read {}: {error}; give the path of a transcript", shown(path)).into());
        }
    }
    let input = Input::read(path, LARGEST).map_err(|error| error.to_string())?;
    let document = parse(input.bytes(), &ParseOptions::default())
        .map_err(|error| format!("{} is no transcript that is known: {error}", shown(path)))?;
    let options = CompactOptions {
        model: arguments.text("model")?.map(str::to_owned),
        window: arguments.number("window")?.map(Tokens),
        ..CompactOptions::default()
    };
    let text = serde_json::to_string_pretty(&context(&document, &options)).map_err(|error| error.to_string())?;
    Ok(bounded(text))
}

fn shown(path: &Path) -> String {
    path.display().to_string().chars().filter(|c| !c.is_control()).take(300).collect()
}

/// Keeps an answer under a page.
pub(super) fn bounded(mut text: String) -> String {
    let page = usize::try_from(PAGE).unwrap_or(usize::MAX);
    if text.len() > page {
        let mut end = page;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("\n[cut: more than a page]");
    }
    text
}
