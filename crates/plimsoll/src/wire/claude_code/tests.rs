//! Sessions made by hand, generated, and real ones: read as the program reads them, resumed from at any cut.

mod generated;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use insta::assert_snapshot;

use super::super::{Document, Format, OddityKind, ParseOptions, Rewrite, Text, parse, splice, stamp};
use crate::transcript::{Author, BlockKind, Message, Role};
use crate::units::Tokens;

const CONTINUATION: &str = "<plimsoll_continuation epoch=\"e\">\n\"so far\"\n</plimsoll_continuation>";

fn read(bytes: &[u8]) -> Document<'_> {
    parse(bytes, &ParseOptions::default().with_format(Some(Format::ClaudeCode))).unwrap()
}

/// A message in one line: who, from which entries, holding what; then the oddities.
fn sketch(text: &str) -> String {
    let document = read(text.as_bytes());
    let mut out = String::new();
    for message in &document.transcript().messages {
        let blocks: Vec<String> = message
            .blocks
            .iter()
            .map(|block| match &block.kind {
                BlockKind::Text(text) => text.decode().into_owned(),
                BlockKind::ToolCall(call) => {
                    format!("call {}", call.id.map(Text::decode).unwrap_or_default())
                }
                BlockKind::ToolResult(result) => {
                    format!("result {}", result.call_id.map(Text::decode).unwrap_or_default())
                }
                other => other.name().to_owned(),
            })
            .collect();
        let usage = message.usage.map(|usage| format!(" ({} in)", usage.context())).unwrap_or_default();
        writeln!(out, "{:?} {:?}: {}{usage}", message.author, message.entries, blocks.join(" | ")).unwrap();
    }
    for oddity in document.oddities() {
        writeln!(out, "! {}", oddity.kind.describe()).unwrap();
    }
    out
}

/// What a model is sent of messages: roles and the exact bytes of their blocks.
fn content<'a>(document: &Document<'a>, messages: &[Message<'a>]) -> Vec<(Role, Vec<&'a [u8]>)> {
    messages
        .iter()
        .map(|message| (message.role, message.blocks.iter().map(|block| block.span.of(document.bytes())).collect()))
        .collect()
}

fn rewrite(removed: Range<usize>) -> Rewrite<'static> {
    Rewrite {
        removed,
        retained: &[],
        omitted: &[],
        continuation: CONTINUATION,
        acknowledgement: "",
        tokens_before: Tokens(1000),
        tokens_after: Tokens(100),
    }
}

/// Appends, and holds what must hold of every appendix. Gives the appended file.
fn append(document: &Document<'_>, rewrite: &Rewrite<'_>) -> Vec<u8> {
    let edits = document.rewrite(rewrite).unwrap();
    assert_eq!(edits, document.rewrite(rewrite).unwrap(), "the same input gives the same bytes");
    let bytes = splice(document.bytes(), &edits).unwrap().into_owned();
    assert!(bytes.starts_with(document.bytes()), "a session is only ever appended to");
    assert!(bytes.ends_with(b"\n"));

    let again = read(&bytes);
    let messages = &document.transcript().messages;
    let stays = |index: &usize| !rewrite.removed.contains(index) || rewrite.retained.contains(index);
    let mut expected = Vec::new();
    for index in (0..messages.len()).filter(stays) {
        let blocks: Vec<&[u8]> = messages[index]
            .blocks
            .iter()
            .enumerate()
            .filter(|(block, _)| !rewrite.omitted.contains(&(index, *block)))
            .map(|(_, block)| block.span.of(document.bytes()))
            .collect();
        if !blocks.is_empty() {
            expected.push((messages[index].role, blocks));
        }
    }
    let (first, tail) = again.transcript().messages.split_first().unwrap();
    assert_eq!(first.author, Author::Summary);
    assert_eq!(first.texts().next().unwrap().decode(), rewrite.continuation);
    assert_eq!(content(&again, tail), expected);
    // The appendix is no oddity itself.
    let odd =
        |document: &Document<'_>| document.oddities().iter().filter(|o| o.kind != OddityKind::NoFinalNewline).count();
    assert!(odd(&again) <= odd(document));
    times_rise(document, &bytes[document.bytes().len()..]);
    bytes
}

/// Versions up to 2.1.20 pick the leaf by time: each appended line is strictly later than everything before it.
fn times_rise(document: &Document<'_>, appendix: &[u8]) {
    let times = |bytes: &[u8]| -> Vec<i64> {
        let lines = bytes.split(|byte| *byte == b'\n');
        let time = |line: &[u8]| {
            let line: serde_json::Value = serde_json::from_slice(line).ok()?;
            stamp::parse(line.get("timestamp")?.as_str()?)
        };
        lines.filter_map(time).collect()
    };
    let mut latest = times(document.bytes()).into_iter().max().unwrap_or(0);
    for time in times(appendix) {
        assert!(time > latest);
        latest = time;
    }
}

/// Every session of the corpus, where there is one.
fn corpus() -> Vec<(String, Vec<u8>)> {
    #[expect(clippy::disallowed_methods, reason = "the corpus is named by the environment, for tests only")]
    let Ok(data) = std::env::var("PLIMSOLL_DATA") else {
        return Vec::new();
    };
    let folder = std::fs::read_dir(format!("{data}/claude_code")).unwrap();
    let mut paths: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    #[expect(clippy::disallowed_methods, reason = "the corpus is files")]
    let file = |path| std::fs::read(path).unwrap();
    paths.iter().map(|path| (name(path), file(path))).collect()
}

#[test]
fn real_sessions_are_read_and_resumed_at_every_cut() {
    for (name, bytes) in corpus() {
        let document = parse(&bytes, &ParseOptions::default()).unwrap();
        assert_eq!(document.format(), Format::ClaudeCode, "{name}");
        let ordered = document.entries().windows(2).all(|pair| pair[0].span.end() <= pair[1].span.start());
        assert!(ordered, "{name}");
        for message in &document.transcript().messages {
            assert!(message.entries.is_sorted(), "{name}");
        }
        let messages = document.transcript().messages.len();
        for cut in (1..=messages).step_by(messages / 40 + 1) {
            let appended = append(&document, &rewrite(0..cut));
            if cut == messages / 2 + 1 {
                append(&read(&appended), &rewrite(0..(messages - cut).max(1)));
            }
        }
    }
}

#[test]
fn real_sessions_keep_every_call_with_its_result() {
    // Counts of what the real program sends of these sessions: nothing before the last boundary, all parallel calls.
    let expected = BTreeMap::from([
        ("codemie-196820da.jsonl", (65, 65)),
        ("codemie-subagents-turn1.jsonl", (7, 6)),
        ("entire-bd-7375936c5c-0.jsonl", (56, 56)),
        ("episodic-large.jsonl", (152, 152)),
        ("kimi-28-db10720a96-0.jsonl", (72, 72)),
        ("spotter-agent-a2898e3.jsonl", (33, 33)),
    ]);
    for (name, bytes) in corpus() {
        let document = read(&bytes);
        let messages = &document.transcript().messages;
        let calls = messages.iter().flat_map(Message::calls).count();
        let results = messages.iter().flat_map(Message::results).count();
        if let Some(counts) = expected.get(name.as_str()) {
            assert_eq!((calls, results), *counts, "{name}");
        }
    }
}

#[test]
fn parallel_calls_that_branch_off_the_chain_are_found() {
    let session = r#"
{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Both."}],"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":1}}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"A","input":{}}],"usage":{"input_tokens":3,"cache_read_input_tokens":4,"output_tokens":5}}}
{"type":"user","uuid":"r1","parentUuid":"a2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"1"}]}}
{"type":"progress","uuid":"p1","parentUuid":"r1"}
{"type":"assistant","uuid":"a3","parentUuid":"a2","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"B","input":{}}],"usage":{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":9}}}
{"type":"user","uuid":"r2","parentUuid":"a3","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"2"}]}}
{"type":"assistant","uuid":"a4","parentUuid":"p1","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"Done."}]}}
"#;
    assert_snapshot!(sketch(session), @r"
    User [0]: go
    Model [1, 2, 5]: Both. | call t1 | call t2 (8 in)
    Tool [6]: result t2
    Tool [3]: result t1
    Model [7]: Done.
    ");
}

#[test]
fn nothing_before_the_last_boundary_is_read_but_what_it_preserves() {
    let session = |metadata: &str, last: &str| {
        format!(
            r#"{{"type":"user","uuid":"u1","parentUuid":null,"message":{{"content":"old"}}}}
{{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{{"id":"m1","content":[{{"type":"thinking","thinking":"hm","signature":"s"}}]}}}}
{{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{{"id":"m1","content":[{{"type":"tool_use","id":"t1","name":"A","input":{{}}}}]}}}}
{{"type":"assistant","uuid":"a3","parentUuid":"a2","message":{{"id":"m1","content":[{{"type":"tool_use","id":"t2","name":"B","input":{{}}}}]}}}}
{{"type":"user","uuid":"r1","parentUuid":"a2","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"1"}}]}}}}
{{"type":"user","uuid":"r2","parentUuid":"a3","message":{{"content":[{{"type":"tool_result","tool_use_id":"t2","content":"2"}}]}}}}
{{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"r2","compactMetadata":{{{metadata}}}}}
{{"type":"user","uuid":"s","parentUuid":"b","isCompactSummary":true,"message":{{"content":"sum"}}}}
{last}"#
        )
    };
    let listed = r#""preservedMessages":{"anchorUuid":"s","uuids":["a2","a3","r1","r2"]}"#;
    let next = r#"{"type":"user","uuid":"u2","parentUuid":"r2","message":{"content":"on"}}
"#;
    assert_snapshot!(sketch(&session("", "")), @r"
    Summary [7]: sum
    ");
    assert_snapshot!(sketch(&session(listed, "")), @r"
    Summary [7]: sum
    Model [2, 3]: call t1 | call t2
    Tool [4]: result t1
    Tool [5]: result t2
    ");
    assert_snapshot!(sketch(&session(listed, next)), @r"
    Summary [7]: sum
    Model [2, 3]: call t1 | call t2
    Tool [4]: result t1
    Tool [5]: result t2
    User [8]: on
    ");
    // Only the ends are named: the parents between them are walked, and what branches off them is lost.
    let ends = r#""preservedSegment":{"headUuid":"a2","anchorUuid":"s","tailUuid":"r2"}"#;
    assert_snapshot!(sketch(&session(ends, next)), @r"
    Summary [7]: sum
    Model [2, 3]: call t1 | call t2
    Tool [5]: result t2
    User [8]: on
    ");
    // One line that is not in the file, and the whole tail is dropped.
    let unknown = r#""preservedMessages":{"anchorUuid":"s","uuids":["a2","a3","r1","r2","zz"]}"#;
    assert_snapshot!(sketch(&session(unknown, "")), @r"
    Summary [7]: sum
    ");
}

#[test]
fn a_summary_without_its_boundary_does_not_hide_the_history() {
    let session = r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"content":"old"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","content":"yes"}}
{"type":"user","uuid":"s","parentUuid":null,"isCompactSummary":true,"message":{"content":"sum"}}
"#;
    assert_snapshot!(sketch(session), @r"
    User [0]: old
    Model [1]: yes
    ");
}

#[test]
fn what_is_not_a_message_line_is_kept_and_passed_over() {
    let session = "// exported\n\
{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"a1\"}\n\
{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":\"gone\",\"message\":{\"content\":\"go\"}}{\"type\":\"assistant\",\"uuid\":\"a1\",\"parentUuid\":\"u1\",\"message\":{\"id\":\"m1\",\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}}\n\
42\n\
{\"type\":\"marble-quarry\",\"x\":1}\n\
{\"type\":\"user\",\"uuid\":\"x1\",\"parentUuid\":\"a1\",\"isSidechain\":true,\"message\":{\"content\":\"side\"}}\n\
{\"type\":\"assistant\",\"uuid\":\"e1\",\"parentUuid\":\"a1\",\"isApiErrorMessage\":true,\"message\":{\"id\":\"x\",\"model\":\"<synthetic>\",\"content\":[{\"type\":\"text\",\"text\":\"API Error\"}]}}\n\
{\"type\":\"user\",\"uuid\":\"u2\",\"parentUuid\":\"e1\",\"isMeta\":true,\"message\":{\"content\":\"Continue from where you left off.\"}}\n\
{\"type\":\"user\",\"uuid\":\"u1\",\"parentUuid\":\"gone\",\"message\":{\"content\":\"go\"}}\n\
{\"type\":\"assistant\",\"uuid\":\"a2\",\"parentU";
    assert_snapshot!(sketch(session), @r"
    User [7]: go
    Model [2]: ok
    Machinery [6]: Continue from where you left off.
    ! comment line
    ! parent that is not in the file
    ! objects glued on one line
    ! line that is no object
    ! entry of unknown type
    ! id that occurs twice
    ! parent that is not in the file
    ! line that is not complete JSON
    ! no final newline
    ");
}

#[test]
fn cycles_of_parents_end() {
    let session = r#"{"type":"user","uuid":"u1","parentUuid":"a1","message":{"content":"go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","content":"yes"}}
{"type":"user","uuid":"u2","parentUuid":"u2","message":{"content":"self"}}
"#;
    assert_snapshot!(sketch(session), @r"
    User [2]: self
    ");
}

#[test]
fn sessions_without_ids_are_read_line_by_line() {
    let session = r#"{"type":"user","message":{"role":"user","content":"go"}}
{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"A","input":{}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"1"}]}}
{"type":"assistant","message":{"id":"m2","content":"done"}}
"#;
    assert_snapshot!(sketch(session), @r"
    User [0]: go
    Model [1]: call t1
    Tool [2]: result t1
    Model [3]: done
    ");
    let appended = append(&read(session.as_bytes()), &rewrite(0..1));
    assert_eq!(read(&appended).transcript().messages.len(), 4);
}

#[test]
fn a_subagents_file_is_a_conversation_of_its_own() {
    let session = r#"{"type":"user","uuid":"u1","parentUuid":"elsewhere","isSidechain":true,"message":{"content":"note"}}
{"type":"user","uuid":"u2","parentUuid":"elsewhere2","isSidechain":true,"message":{"content":"task"}}
{"type":"assistant","uuid":"a1","parentUuid":"u2","isSidechain":true,"message":{"id":"m1","content":"done"}}
"#;
    assert_snapshot!(sketch(session), @r"
    User [0]: note
    User [1]: task
    Model [2]: done
    ! parent that is not in the file
    ! parent that is not in the file
    ");
    append(&read(session.as_bytes()), &rewrite(0..2));
}

/// A short session of some version, with what every line of the program has.
fn session(version: &str) -> String {
    let base = format!(
        r#""isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"{version}","gitBranch":"main""#
    );
    format!(
        r#"{{"parentUuid":null,{base},"type":"user","message":{{"role":"user","content":"first"}},"uuid":"u1","timestamp":"2026-01-01T00:00:00.000Z"}}
{{"parentUuid":"u1",{base},"message":{{"id":"m1","model":"claude-opus-4-5","role":"assistant","content":[{{"type":"thinking","thinking":"hm","signature":"s"}}],"usage":{{"input_tokens":150000,"output_tokens":1}}}},"type":"assistant","uuid":"a1","timestamp":"2026-01-01T00:00:01.000Z"}}
{{"parentUuid":"a1",{base},"message":{{"id":"m1","model":"claude-opus-4-5","role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"A","input":{{}}}}],"usage":{{"input_tokens":150000,"output_tokens":7}}}},"type":"assistant","uuid":"a2","timestamp":"2026-01-01T00:00:02.000Z"}}
{{"parentUuid":"a2",{base},"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"1"}}]}},"sourceToolAssistantUUID":"a2","uuid":"r1","timestamp":"2026-01-01T00:00:03.000Z"}}"#
    )
}

#[test]
fn newer_versions_get_the_tail_by_reference() {
    let session = session("2.1.197");
    let document = read(session.as_bytes());
    let cut = Rewrite { omitted: &[(1, 0)], ..rewrite(0..1) };
    let appended = append(&document, &cut);
    let appendix = String::from_utf8(appended[session.len()..].to_vec()).unwrap();
    assert_snapshot!(appendix, @r#"
    {"parentUuid":null,"logicalParentUuid":"r1","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"2.1.197","gitBranch":"main","type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"2026-01-01T00:00:03.001Z","uuid":"80361eb8-7a52-8479-9b91-915d235802a4","level":"info","compactMetadata":{"trigger":"manual","preTokens":1000,"postTokens":100,"preservedSegment":{"headUuid":"a2","anchorUuid":"cf20d771-5672-842f-a673-11bcc6f88154","tailUuid":"r1"},"preservedMessages":{"anchorUuid":"cf20d771-5672-842f-a673-11bcc6f88154","uuids":["a2","r1"],"allUuids":["a2","r1"]}}}
    {"parentUuid":"80361eb8-7a52-8479-9b91-915d235802a4","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"2.1.197","gitBranch":"main","type":"user","message":{"role":"user","content":"<plimsoll_continuation epoch=\"e\">\n\"so far\"\n</plimsoll_continuation>"},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid":"cf20d771-5672-842f-a673-11bcc6f88154","timestamp":"2026-01-01T00:00:03.002Z"}
    "#);
}

#[test]
fn older_versions_get_the_tail_by_copy_with_ids_of_its_own_and_no_usage() {
    let session = session("2.1.20");
    let document = read(session.as_bytes());
    let appended = append(&document, &rewrite(0..1));
    let appendix = String::from_utf8(appended[session.len()..].to_vec()).unwrap();
    assert_snapshot!(appendix, @r#"
    {"parentUuid":null,"logicalParentUuid":"r1","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"2.1.20","gitBranch":"main","type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"2026-01-01T00:00:03.001Z","uuid":"87bddd66-80de-8506-9ad4-8eef83e6bdc2","level":"info","compactMetadata":{"trigger":"manual","preTokens":1000,"postTokens":100}}
    {"parentUuid":"87bddd66-80de-8506-9ad4-8eef83e6bdc2","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"2.1.20","gitBranch":"main","type":"user","message":{"role":"user","content":"<plimsoll_continuation epoch=\"e\">\n\"so far\"\n</plimsoll_continuation>"},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid":"8960d68d-38d3-8961-90cd-f255c2f46aa2","timestamp":"2026-01-01T00:00:03.002Z"}
    {"parentUuid":"8960d68d-38d3-8961-90cd-f255c2f46aa2","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"2.1.20","gitBranch":"main","message":{"id":"msg_df7273742ec028a62a954f33","model":"claude-opus-4-5","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"}],"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"type":"assistant","uuid":"0aa733cb-d4b6-80d4-9870-3ff83d937ba1","timestamp":"2026-01-01T00:00:03.003Z"}
    {"parentUuid":"0aa733cb-d4b6-80d4-9870-3ff83d937ba1","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"2.1.20","gitBranch":"main","message":{"id":"msg_df7273742ec028a62a954f33","model":"claude-opus-4-5","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"A","input":{}}],"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"type":"assistant","uuid":"e0989f00-702e-8950-abe6-adfef6d621bb","timestamp":"2026-01-01T00:00:03.004Z"}
    {"parentUuid":"e0989f00-702e-8950-abe6-adfef6d621bb","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"S","version":"2.1.20","gitBranch":"main","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"1"}]},"sourceToolAssistantUUID":"e0989f00-702e-8950-abe6-adfef6d621bb","uuid":"028af0fe-bb11-8ed4-be88-261123c4ff8b","timestamp":"2026-01-01T00:00:03.005Z"}
    "#);
    // A program that takes the last usage for the size of the context must not compact again at once.
    assert!(read(&appended).transcript().messages.iter().all(|message| message.usage.is_none()));
}

#[test]
fn versions_are_compared_by_their_numbers() {
    let refers = |version: &str| super::append::reads_references(version.as_bytes());
    for newer in ["\"2.1.197\"", "\"2.1.332\"", "\"2.2.0\"", "\"3.0\"", "\"10.0.0-beta.1\""] {
        assert!(refers(newer), "{newer}");
    }
    for older in ["\"2.1.196\"", "\"2.1.20\"", "\"2.0.900\"", "\"1.0.56\"", "\"[trimmed]\"", "null", "\"2\""] {
        assert!(!refers(older), "{older}");
    }
}

#[test]
fn a_line_that_the_program_would_not_find_is_copied() {
    // Glued to another object, or with an id that occurs twice: by reference the whole tail would be dropped.
    let plain = session("2.1.332");
    let referred = |session: &str| {
        let appended = append(&read(session.as_bytes()), &rewrite(0..1));
        String::from_utf8(appended).unwrap().contains("preservedMessages")
    };
    assert!(referred(&plain));
    assert!(!referred(&plain.replace("\n{\"parentUuid\":\"a2\"", "{\"parentUuid\":\"a2\"")));
    let last = plain.lines().last().unwrap();
    assert!(!referred(&format!("{plain}\n{last}\n")));
    // Blocks of one line part only in a copy.
    let joined = plain.replace(
        r#"[{"type":"tool_use""#,
        r#"[{"type":"thinking","thinking":"x","signature":"s"},{"type":"tool_use""#,
    );
    let cut = Rewrite { omitted: &[(1, 0), (1, 1)], ..rewrite(0..1) };
    let appended = String::from_utf8(append(&read(joined.as_bytes()), &cut)).unwrap();
    assert!(!appended.contains("preservedMessages"));
}

#[test]
fn a_boundary_is_never_glued_to_a_torn_line() {
    for version in ["2.1.20", "2.1.197"] {
        let torn = format!("{}\n{{\"parentUuid\":\"r1\",\"type\":\"assist", session(version));
        append(&read(torn.as_bytes()), &rewrite(0..2));
    }
}

#[test]
fn messages_that_stay_among_what_leaves_follow_the_continuation() {
    for version in ["2.1.20", "2.1.197"] {
        let session = session(version);
        let cut = Rewrite { retained: &[0], ..rewrite(0..3) };
        append(&read(session.as_bytes()), &cut);
    }
}
