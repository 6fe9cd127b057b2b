//! Rollouts made by hand, generated, and real ones: read as the program reads them, resumed from at any cut.

use std::fmt::Write as _;
use std::ops::Range;

use insta::assert_snapshot;
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::{Document, Format, OddityKind, ParseOptions, Rewrite, Text, parse, splice, stamp};
use super::append::is_readded;
use crate::transcript::{Author, BlockKind, Message, Role};
use crate::units::Tokens;

const CONTINUATION: &str = "<plimsoll_continuation epoch=\"e\">\n\"so far\"\n</plimsoll_continuation>";

fn read(bytes: &[u8]) -> Document<'_> {
    parse(bytes, &ParseOptions::default().with_format(Some(Format::Codex))).unwrap()
}

/// A message in one line: who, from which entry, holding what; then what else is known, and the oddities.
fn sketch(text: &str) -> String {
    let document = read(text.as_bytes());
    let mut out = String::new();
    for message in &document.transcript().messages {
        let texts: Vec<String> = message
            .blocks
            .iter()
            .map(|block| match &block.kind {
                BlockKind::Text(text) => text.decode().into_owned(),
                BlockKind::ToolCall(call) => {
                    format!("call {} {}", call.id.map(Text::decode).unwrap_or_default(), call.arguments.decode())
                }
                BlockKind::ToolResult(result) => {
                    let texts: Vec<_> = result.texts().map(|text| text.decode().into_owned()).collect();
                    format!("result {} {texts:?}", result.call_id.map(Text::decode).unwrap_or_default())
                }
                other => other.name().to_owned(),
            })
            .collect();
        let usage =
            message.usage.map(|usage| format!(" ({} + {} in)", usage.input, usage.cache_read)).unwrap_or_default();
        writeln!(out, "{:?} {:?}: {}{usage}", message.author, message.entries, texts.join(" | ")).unwrap();
    }
    for (name, value) in [("model", document.model()), ("session", document.session())] {
        if let Some(value) = value {
            writeln!(out, "{name} {}", value.decode()).unwrap();
        }
    }
    if let Some(window) = document.window() {
        writeln!(out, "window {window}").unwrap();
    }
    for oddity in document.oddities() {
        writeln!(out, "! {}", oddity.kind.describe()).unwrap();
    }
    out
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
    assert!(bytes.starts_with(document.bytes()), "a rollout is only ever appended to");

    let again = read(&bytes);
    let messages = &document.transcript().messages;
    // Items stay verbatim; the bare message of a compaction without a history becomes an item.
    let content = |document: &Document<'_>, message: &Message<'_>| {
        let raw = document.entries()[message.entries[0] as usize].span.of(document.bytes());
        let item = String::from_utf8(raw.to_vec()).unwrap();
        if item.starts_with('"') {
            format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{item}}}]}}"#)
        } else {
            item
        }
    };
    let stays = |index: &usize| !rewrite.removed.contains(index) || rewrite.retained.contains(index);
    let whole = |index: &usize| !rewrite.omitted.iter().any(|(message, _)| message == index);
    let expected: Vec<_> = (0..messages.len())
        .filter(|index| stays(index) && whole(index) && !is_readded(&messages[*index]))
        .map(|index| content(document, &messages[index]))
        .collect();
    let (first, tail) = again.transcript().messages.split_first().unwrap();
    assert_eq!(first.author, Author::Summary);
    assert_eq!(first.texts().next().unwrap().decode(), rewrite.continuation);
    assert_eq!(tail.iter().map(|message| content(&again, message)).collect::<Vec<_>>(), expected);

    // Without a time the program passes over the line; without a number, where others have one, it dies.
    let last: serde_json::Value =
        serde_json::from_slice(bytes.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let line = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).ok();
    let before: Vec<_> = document.bytes().split(|byte| *byte == b'\n').filter_map(line).collect();
    let time = |line: &serde_json::Value| stamp::parse(line.get("timestamp")?.as_str()?);
    assert!(time(&last).unwrap() > before.iter().filter_map(time).max().unwrap_or(0));
    let ordinal = |line: &serde_json::Value| line.get("ordinal")?.as_u64();
    assert_eq!(ordinal(&last), before.iter().filter_map(ordinal).max().map(|last| last + 1));
    bytes
}

/// Every rollout of the corpus, where there is one.
fn corpus() -> Vec<(String, Vec<u8>)> {
    #[expect(clippy::disallowed_methods, reason = "the corpus is named by the environment, for tests only")]
    let Ok(data) = std::env::var("PLIMSOLL_DATA") else {
        return Vec::new();
    };
    let folder = std::fs::read_dir(format!("{data}/codex")).unwrap();
    let mut paths: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let name = |path: &std::path::Path| path.file_name().unwrap().to_string_lossy().into_owned();
    #[expect(clippy::disallowed_methods, reason = "the corpus is files")]
    let file = |path| std::fs::read(path).unwrap();
    paths.iter().map(|path| (name(path), file(path))).collect()
}

#[test]
fn real_rollouts_are_read_and_resumed_at_every_cut() {
    for (name, bytes) in corpus() {
        let document = parse(&bytes, &ParseOptions::default()).unwrap();
        assert_eq!(document.format(), Format::Codex, "{name}");
        let ordered = document.entries().windows(2).all(|pair| pair[0].span.end() <= pair[1].span.start());
        assert!(ordered, "{name}");
        let messages = document.transcript().messages.len();
        for cut in (1..=messages).step_by(messages / 40 + 1) {
            let appended = append(&document, &rewrite(0..cut));
            append(&read(&appended), &rewrite(0..1));
        }
    }
}

#[test]
fn usage_is_found_before_and_after_the_items_it_counts() {
    let count = |input: u32, cached: u32| {
        format!(
            r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{{"type":"token_count","info":{{"last_token_usage":{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":1}},"model_context_window":272000}}}}}}"#
        )
    };
    let item = |payload: &str| {
        format!(r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{payload}}}"#)
    };
    let call = |id: u32| {
        item(&format!(r#"{{"type":"function_call","name":"f","arguments":"{{\"a\": 1","call_id":"c{id}"}}"#))
    };
    let output = |id: u32, output: &str| {
        item(&format!(r#"{{"type":"function_call_output","call_id":"c{id}","output":{output}}}"#))
    };
    let reasoning = item(r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#);
    let user = item(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#);
    let answer = item(r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#);
    let null =
        r#"{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{"type":"token_count","info":null}}"#
            .to_owned();
    let lines = [
        user.clone(),
        count(100, 60),
        reasoning.clone(),
        call(1),
        output(1, r#""{\"output\":\"a\",\"metadata\":{}}""#),
        count(200, 90),
        reasoning,
        call(1),
        output(1, "null"),
        null,
        call(2),
        output(2, r#"[{"type":"input_text","text":"b"}]"#),
        user,
        answer,
        count(300, 250),
    ];
    assert_snapshot!(sketch(&(lines.join("\n") + "\n")), @r#"
    User [0]: go
    Model [2]: thinking
    Model [3]: call c1 {"a": 1 (40 + 60 in)
    Tool [4]: result c1 ["{\"output\":\"a\",\"metadata\":{}}"]
    Model [6]: thinking
    Model [7]: call c1 {"a": 1 (110 + 90 in)
    Tool [8]: result c1 []
    Model [10]: call c2 {"a": 1
    Tool [11]: result c2 ["b"]
    User [12]: go
    Model [13]: done (50 + 250 in)
    window 272.0K
    "#);
}

#[test]
fn the_last_compaction_sets_the_history() {
    let compacted = |payload: &str| {
        format!(
            r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{{"id":"S","cwd":"/w"}}}}
{{"timestamp":"2026-01-01T00:00:00Z","type":"turn_context","payload":{{"model":"gpt-5-codex"}}}}
{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{{"type":"message","role":"developer","content":[{{"type":"input_text","text":"rules"}}]}}}}
{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"<environment_context>\n<cwd>/w</cwd>\n</environment_context>"}}]}}}}
{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"first"}}]}}}}
{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"yes"}}]}}}}
{{"timestamp":"2026-01-01T00:00:00Z","type":"compacted","payload":{payload}}}
{{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"next"}}]}}}}
"#
        )
    };
    let history = r#"{"message":"sum","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]},{"type":"compaction","encrypted_content":"x"}]}"#;
    assert_snapshot!(sketch(&compacted(history)), @r"
    User [6]: kept
    Summary [7]: compaction
    User [8]: next
    model gpt-5-codex
    session S
    ");
    let none = compacted(r#"{"message":"sum","replacement_history":null}"#);
    assert_snapshot!(sketch(&none), @r"
    User [4]: first
    Summary [6]: sum
    User [7]: next
    model gpt-5-codex
    session S
    ");
    append(&read(none.as_bytes()), &rewrite(0..1));
    // The program passes over a compaction without a time.
    let timeless = compacted(history)
        .replace(r#"{"timestamp":"2026-01-01T00:00:00Z","type":"compacted""#, r#"{"type":"compacted""#);
    assert_snapshot!(sketch(&timeless), @r"
    Operator [2]: rules
    Machinery [3]: <environment_context>
    <cwd>/w</cwd>
    </environment_context>
    User [4]: first
    Model [5]: yes
    User [7]: next
    model gpt-5-codex
    session S
    ! content of unexpected shape
    ");
}

#[test]
fn prompts_that_are_only_told_of_are_read_where_they_were_typed() {
    let told = |text: &str| {
        format!(
            r#"{{"timestamp":"2026-01-01T00:00:00Z","type":"event_msg","payload":{{"type":"user_message","message":"{text}"}}}}"#
        )
    };
    let item = |role: &str, text: &str| {
        format!(
            r#"{{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}}}"#
        )
    };
    let rollout =
        [told("Fix the parser"), item("assistant", "Done."), told("Never touch main"), item("assistant", "I see.")];
    let rollout = rollout.join("\n");
    assert_snapshot!(sketch(&rollout), @r"
    User [0]: Fix the parser
    Model [1]: Done.
    User [2]: Never touch main
    Model [3]: I see.
    ! no final newline
    ");
    // What is appended holds them as items, so they are not told twice.
    let document = read(rollout.as_bytes());
    let after = append(&document, &rewrite(0..2));
    let texts = sketch(std::str::from_utf8(&after).unwrap());
    assert_eq!(texts.matches("Never touch main").count(), 1, "{texts}");
    // Where the history holds what was typed, it is the history that counts.
    let both = [told("Fix the parser"), item("user", "Fix the parser"), item("assistant", "Done.")].join("\n");
    assert_eq!(sketch(&both).matches("Fix the parser").count(), 1);
}

#[test]
fn early_and_unknown_shapes_are_read_as_far_as_they_go() {
    let rollout = r#"{"id":"S","timestamp":"2025-05-01T00:00:00Z","instructions":null}
{"record_type":"state"}
{"created_at":"2025-05-01T00:00:01Z","role":"user","message":"Translate","model":"gpt-4o-mini"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hola"}]}
{"type":"function_call","call_id":"c1","name":"f","arguments":{"x":1}}
{"timestamp":"2025-05-01T00:00:02Z","type":"response_item","payload":{"type":"ghost_snapshot"}}
{"timestamp":"2025-05-01T00:00:02Z","type":"lunar_phase","payload":{}}
[]
{"timestamp":"2025-05-01T00:00:03Z","type":"response_item","pay"#;
    assert_eq!(parse(rollout.as_bytes(), &ParseOptions::default()).unwrap().format(), Format::Codex);
    assert_snapshot!(sketch(rollout), @r#"
    User [2]: Translate
    Model [3]: hola
    Model [4]: call c1 {"x":1}
    Machinery [5]: opaque
    model gpt-4o-mini
    session S
    ! entry of unknown type
    ! entry of unknown type
    ! line that is no object
    ! line that is not complete JSON
    ! no final newline
    "#);
}

#[test]
fn one_line_is_appended_with_the_number_that_is_due() {
    let rollout = r#"{"timestamp":"2026-01-01T00:00:00.100Z","ordinal":0,"type":"session_meta","payload":{"id":"S"}}
{"timestamp":"2026-01-01T00:00:00.200Z","ordinal":1,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"first"}]}}
{"timestamp":"2026-01-01T00:00:00.300Z","ordinal":2,"type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}}
{"timestamp":"2026-01-01T00:00:00.400Z","ordinal":3,"type":"response_item","payload":{ "role":"assistant", "type":"message","content":[{"type":"output_text","text":"yes","n":123456789012345678901234567890}]}}"#;
    let appended = append(&read(rollout.as_bytes()), &rewrite(0..1));
    assert_snapshot!(String::from_utf8(appended[rollout.len()..].to_vec()).unwrap(), @r#"
    {"timestamp":"2026-01-01T00:00:00.401Z","ordinal":4,"type":"compacted","payload":{"message":"<plimsoll_continuation epoch=\"e\">\n\"so far\"\n</plimsoll_continuation>","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"<plimsoll_continuation epoch=\"e\">\n\"so far\"\n</plimsoll_continuation>"}]},{ "role":"assistant", "type":"message","content":[{"type":"output_text","text":"yes","n":123456789012345678901234567890}]}]}}
    "#);
}

fn line() -> impl Strategy<Value = String> {
    let text = "[a-z\"\\\\é 😀<>]{1,10}x".prop_map(|text| serde_json::to_string(&text).unwrap());
    let message = |role: &'static str, kind: &'static str| {
        move |text| format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]}}"#)
    };
    let item = prop_oneof![
        4 => text.clone().prop_map(message("user", "input_text")),
        4 => text.clone().prop_map(message("assistant", "output_text")),
        1 => text.clone().prop_map(message("developer", "input_text")),
        2 => text.clone().prop_map(|text| format!(r#"{{"type":"reasoning","summary":[{{"type":"summary_text","text":{text}}}],"encrypted_content":"e"}}"#)),
        3 => (0..4, text.clone()).prop_map(|(id, text)| format!(r#"{{"type":"function_call","name":"f","arguments":{text},"call_id":"c{id}"}}"#)),
        3 => (0..4, text.clone()).prop_map(|(id, text)| format!(r#"{{"type":"function_call_output","call_id":"c{id}","output":{text}}}"#)),
        1 => Just(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}"#.to_owned()),
        1 => text.clone().prop_map(|text| format!(r#"{{"type":"opal","n":123456789012345678901234567890,"t":{text}}}"#)),
    ];
    let enveloped = |kind: &str, payload: &str| {
        format!(r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","payload":{payload}}}"#)
    };
    prop_oneof![
        12 => item.clone().prop_map(move |item| enveloped("response_item", &item)),
        1 => (text, prop::option::of(prop::collection::vec(item, 0..4))).prop_map(move |(text, history)| {
            let history = history.map_or("null".to_owned(), |items| format!("[{}]", items.join(",")));
            enveloped("compacted", &format!(r#"{{"message":{text},"replacement_history":{history}}}"#))
        }),
        1 => Just(enveloped("event_msg", r#"{"type":"token_count","info":{"last_token_usage":{"input_tokens":9,"cached_input_tokens":4,"output_tokens":2}}}"#)),
        1 => prop::sample::select(vec!["{\"timestamp\":\"2026", "// note", "7", "{\"type\":\"x\"}{\"type\":\"y\"}", ""]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn a_rollout_resumes_from_any_cut_again_and_again(lines in prop::collection::vec(line(), 0..20), cuts in any::<[Index; 3]>(), ended: bool, sealed: bool) {
        let first = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":"begin"}}"#;
        let mut bytes = format!("{}\n{first}{}", lines.join("\n"), if ended { "\n" } else { "" }).into_bytes();
        for cut in cuts {
            let document = read(&bytes);
            let messages = &document.transcript().messages;
            for message in messages {
                prop_assert_eq!(message.entries.len(), 1);
                if let Some(usage) = message.usage {
                    prop_assert_eq!(message.role, Role::Assistant);
                    prop_assert_eq!(usage.context(), Tokens(9), "cached tokens are counted once");
                }
            }
            for pair in document.entries().windows(2) {
                prop_assert!(pair[0].span.end() <= pair[1].span.start());
            }
            let omitted: Vec<(usize, usize)> = messages.iter().enumerate()
                .filter(|(_, message)| sealed && matches!(message.blocks.first().map(|block| &block.kind), Some(BlockKind::Thinking { .. })))
                .flat_map(|(at, message)| (0..message.blocks.len()).map(move |block| (at, block)))
                .collect();
            let cut = Rewrite { omitted: &omitted, ..rewrite(0..1 + cut.index(messages.len())) };
            bytes = append(&document, &cut);
        }
        prop_assert!(read(&bytes).oddities().iter().all(|oddity| oddity.kind != OddityKind::NoFinalNewline));
    }
}
