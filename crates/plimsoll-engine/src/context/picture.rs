//! What a transcript looks like message by message: for a page that shows it.

use std::collections::HashMap;
use std::time::SystemTime;

use plimsoll::budget::{Counting, Meter};
use plimsoll::cap::{Marker, for_budget};
use plimsoll::transcript::{Author, BlockKind, Message, ToolResult, typed_words};
use plimsoll::wire::{Document, Text};
use plimsoll::{Bytes, Tokens};

use super::{Context, Measured, about};
use crate::{CompactOptions, EngineError, Outcome, Report, compact};

/// How many of the largest results are shown.
const RESULTS: usize = 12;
/// The most characters of a preview.
const WORDS: usize = 120;

/// What a page shows of a transcript.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Picture {
    /// What fills the context.
    pub context: Context,
    /// The messages, in order.
    pub moments: Vec<Moment>,
    /// The largest tool results, the largest first.
    pub results: Vec<LargeResult>,
    /// What a compaction would do, without doing it.
    pub compaction: Report,
    /// What a tool result may take where results are capped.
    pub cap: Bytes,
}

/// A message, as a picture shows it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Moment {
    /// Its index.
    pub message: usize,
    /// Its role.
    pub role: &'static str,
    /// Who wrote it.
    pub author: Author,
    /// What it mostly is.
    pub kind: &'static str,
    /// The tool it has to do with.
    pub tool: Option<String>,
    /// Its size.
    pub tokens: Tokens,
    /// How it begins: 120 characters at the most, on one line.
    pub words: String,
    /// Whether a compaction would take it out of the context.
    pub leaves: bool,
}

/// A large tool result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LargeResult {
    /// The message that it stands in.
    pub message: usize,
    /// The tool.
    pub tool: Option<String>,
    /// How the call's arguments begin.
    pub arguments: String,
    /// Its size.
    pub tokens: Tokens,
    /// The size of its JSON in bytes.
    pub bytes: Bytes,
    /// Where the whole of it is, if it was capped already.
    pub recall: Option<String>,
    /// A later message that holds the result of the same call: then this one is out of date.
    pub repeated_in: Option<usize>,
    /// Whether a compaction would take it out of the context.
    pub leaves: bool,
}

/// Looks at a document message by message, judged as [`context`](super::context) judges it.
///
/// # Errors
/// [`EngineError`] if it cannot be planned what a compaction would do.
pub fn picture(document: &Document<'_>, options: &CompactOptions) -> Result<Picture, EngineError> {
    // Without a store nothing is stored, and nothing is written here.
    let compaction = compact(document, options, None, SystemTime::UNIX_EPOCH, &|_| {})?.report;
    let measured = Measured::of(document, options);
    let Measured { judged, meter, measure, obligations, .. } = &measured;
    let messages = &document.transcript().messages;
    let tail = match compaction.outcome {
        Outcome::Applied => messages.len().saturating_sub(compaction.kept_tail_messages),
        _ => 0,
    };
    let moments = messages.iter().enumerate().map(|(index, message)| {
        let (kind, tool) = about(index, messages, obligations);
        let (tokens, leaves) = (measure.message(index), index < tail);
        let (role, author, words) = (message.role.name(), message.author, words(message));
        let tool = tool.map(|tool| line(&tool));
        Moment { message: index, role, author, kind, tool, tokens, words, leaves }
    });
    Ok(Picture {
        context: measured.context(),
        moments: moments.collect(),
        results: results(messages, meter, tail),
        compaction,
        cap: for_budget(judged.thresholds.budget).bytes(),
    })
}

/// How a message begins: what a person wrote, else a call, else whatever text there is.
fn words(message: &Message<'_>) -> String {
    if message.is_typed() {
        let typed = message.texts().map(|text| typed_words(&text.decode_start(4 * WORDS)).into_owned());
        let typed = typed.filter(|typed| !typed.is_empty()).collect::<Vec<_>>().join(" ");
        if !typed.is_empty() {
            return line(&typed);
        }
    }
    let shown = message.blocks.iter().find_map(|block| match &block.kind {
        BlockKind::Text(text) | BlockKind::Compaction(Some(text)) => (!text.is_blank()).then(|| start(*text)),
        BlockKind::ToolCall(call) => Some(called(call.arguments)),
        BlockKind::ToolResult(result) => result.texts().find(|text| !text.is_blank()).map(start),
        BlockKind::Media(media) => media.media_type.map(start),
        _ => None,
    });
    let thought = || {
        message.blocks.iter().find_map(|block| match &block.kind {
            BlockKind::Thinking { text: Some(text), .. } => Some(start(*text)),
            BlockKind::Thinking { text: None, .. } => Some("sealed reasoning".to_owned()),
            BlockKind::Opaque(kind) => Some(start(*kind)),
            _ => None,
        })
    };
    shown.or_else(thought).unwrap_or_default()
}

fn start(text: Text<'_>) -> String {
    line(&text.decode_start(4 * WORDS))
}

/// Arguments that say by themselves what a call is about, the most telling first.
const TELLING: [&str; 10] =
    ["command", "cmd", "file_path", "notebook_path", "path", "pattern", "query", "url", "prompt", "description"];
/// Larger arguments are shown as they begin.
const READ: usize = 64 << 10;

/// What a call is about: its most telling argument, or its arguments as they begin.
fn called(arguments: Text<'_>) -> String {
    if arguments.raw().len() > READ {
        return start(arguments);
    }
    let decoded = arguments.decode();
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(&decoded) else { return line(&decoded) };
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => Some(line(text)),
        serde_json::Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(serde_json::Value::as_str).collect();
            words.map(|words| line(&words.join(" ")))
        }
        _ => None,
    };
    let only = || fields.values().next().filter(|_| fields.len() == 1);
    TELLING.iter().find_map(|name| fields.get(*name)).or_else(only).and_then(text).unwrap_or_else(|| line(&decoded))
}

/// The beginning of a text on one line, white space folded.
fn line(text: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let space = (!shown.is_empty()).then_some(' ');
        for c in space.into_iter().chain(word.chars()) {
            if count == WORDS {
                // The last character gives way to the mark that something follows.
                shown.pop();
                shown.push('…');
                return shown;
            }
            shown.push(c);
            count += 1;
        }
    }
    shown
}

/// The largest results. The largest by bytes are counted, and the largest of these by tokens are shown.
fn results(messages: &[Message<'_>], meter: &Meter<Counting>, tail: usize) -> Vec<LargeResult> {
    let mut calls: HashMap<String, (Text<'_>, Text<'_>)> = HashMap::new();
    let mut last_of: HashMap<(String, Vec<u8>), usize> = HashMap::new();
    let mut found = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        for call in message.calls() {
            if let Some(id) = call.id {
                calls.insert(id.decode().into_owned(), (call.name, call.arguments));
            }
        }
        for block in &message.blocks {
            let BlockKind::ToolResult(result) = &block.kind else { continue };
            let call = result.call_id.and_then(|id| calls.get(&*id.decode())).copied();
            if let Some((name, arguments)) = call {
                last_of.insert((name.decode().into_owned(), arguments.raw().to_vec()), index);
            }
            found.push((index, block, result, call));
        }
    }
    found.sort_by_key(|(_, block, ..)| std::cmp::Reverse(block.span.len()));
    found.truncate(4 * RESULTS);
    let mut shown: Vec<LargeResult> = found
        .into_iter()
        .map(|(index, block, result, call)| {
            let last = call.and_then(|(name, arguments)| {
                last_of.get(&(name.decode().into_owned(), arguments.raw().to_vec())).copied()
            });
            LargeResult {
                message: index,
                tool: call.map(|(name, _)| line(&name.decode())),
                arguments: call.map(|(_, arguments)| called(arguments)).unwrap_or_default(),
                tokens: meter.block_tokens(block),
                bytes: Bytes::from(block.span.len()),
                recall: recall_id(result),
                repeated_in: last.filter(|last| *last > index),
                leaves: index < tail,
            }
        })
        .collect();
    shown.sort_by_key(|shown| (std::cmp::Reverse(shown.tokens), shown.message));
    shown.truncate(RESULTS);
    shown
}

/// The recall id in the marker of a result that was capped.
fn recall_id(result: &ToolResult<'_>) -> Option<String> {
    result.texts().find_map(|text| Marker::find(&text.decode())?.1.id.map(|id| id.to_string()))
}

#[cfg(test)]
mod tests {
    use plimsoll::wire::{ParseOptions, parse};

    use super::*;

    fn body(messages: &str) -> String {
        format!(r#"{{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{messages}]}}"#)
    }

    fn look(body: &str) -> Picture {
        let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
        picture(&document, &CompactOptions::default()).unwrap()
    }

    fn call(id: &str, command: &str, result: &str) -> String {
        let result = plimsoll::wire::quote(result);
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}]}},
            {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":{result}}}]}}"#
        )
    }

    #[test]
    fn a_result_of_a_call_that_was_made_again_is_out_of_date() {
        let calls =
            [call("a", "make", &"old ".repeat(2_000)), call("b", "ls", "x"), call("c", "make", &"new ".repeat(300))];
        let seen = look(&body(&format!(r#"{{"role":"user","content":"Build it"}},{}"#, calls.join(","))));
        let shown: Vec<_> = seen.results.iter().map(|r| (r.message, r.tool.as_deref(), r.repeated_in)).collect();
        assert_eq!(shown, [(2, Some("Bash"), Some(6)), (6, Some("Bash"), None), (4, Some("Bash"), None)]);
        assert_eq!(seen.results[0].arguments, "make");
    }

    #[test]
    fn a_result_that_was_capped_says_where_the_whole_is() {
        let marker = Marker {
            kind: plimsoll::cap::Kind::Text,
            encoding: None,
            bytes: Bytes(90_000),
            lines: 3,
            left_out: Some(4..80_000),
            saved: plimsoll::cap::Saved::Whole,
            id: Some("s1/toolu_01".parse().unwrap()),
            path: None,
        };
        let capped = format!("head\n{}\ntail", marker.render());
        let seen = look(&body(&format!(r#"{{"role":"user","content":"Go"}},{}"#, call("a", "x", &capped))));
        assert_eq!(seen.results[0].recall.as_deref(), Some("s1/toolu_01"));
    }

    #[test]
    fn a_preview_is_one_short_line_of_what_was_typed() {
        let long = "word \\n\\t ".repeat(200);
        let seen = look(&body(&format!(
            r#"{{"role":"user","content":"<system-reminder>be nice</system-reminder>\nFix   the\ntest"}},
               {{"role":"assistant","content":"{long}"}}"#
        )));
        assert_eq!(seen.moments[0].words, "Fix the test");
        assert_eq!(seen.moments[1].words.chars().count(), WORDS);
        assert!(seen.moments[1].words.ends_with('…'));
        assert_eq!(line(&"x".repeat(500)).chars().count(), WORDS);
        assert_eq!(line("  \n"), "");
    }

    #[test]
    fn a_call_is_shown_by_its_most_telling_argument() {
        let about = |arguments: &str| {
            let arguments = arguments.replace('\'', "\"");
            let call = format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"T","input":{arguments}}}]}}"#
            );
            look(&body(&call)).moments[0].words.clone()
        };
        assert_eq!(about("{'old':'x','file_path':'/srv/a.rs'}"), "/srv/a.rs");
        assert_eq!(about("{'command':['bash','-lc','ls'],'timeout':9}"), "bash -lc ls");
        assert_eq!(about("{'city':'Oslo'}"), "Oslo");
        assert_eq!(about("{'a':1,'b':2}"), r#"{"a":1,"b":2}"#);
        assert_eq!(about("{'command':7}"), r#"{"command":7}"#);
        assert_eq!(about("{}"), "{}");
    }

    #[test]
    fn what_would_leave_is_what_stands_before_the_tail() {
        let turns: Vec<String> = (0..40)
            .map(|n| {
                format!(
                    r#"{{"role":"user","content":"Do {n}"}},{}"#,
                    call(&format!("t{n}"), "x", &"line ".repeat(300))
                )
            })
            .collect();
        let body = body(&turns.join(","));
        let document = parse(body.as_bytes(), &ParseOptions::default()).unwrap();
        let options = CompactOptions { keep_tokens: Some(Tokens(2_000)), ..CompactOptions::default() };
        let seen = picture(&document, &options).unwrap();
        assert_eq!(seen.compaction.outcome, Outcome::Applied, "{:?}", seen.compaction.reason);
        let leaving = seen.moments.iter().filter(|moment| moment.leaves).count();
        assert_eq!(leaving + seen.compaction.kept_tail_messages, seen.moments.len());
        assert!(seen.moments.iter().all(|moment| moment.leaves == (moment.message < leaving)));
        assert!(seen.compaction.epoch.is_none(), "nothing is stored");
    }
}
