//! Sessions from a generator that writes lines the way the program does, and knows what it would send.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::Index;

use super::super::super::{Rewrite, parse};
use super::{CONTINUATION, append, content, read, rewrite};
use crate::transcript::{Author, BlockKind, Role};

/// A step of a conversation, or something that stands between its lines.
#[derive(Debug, Clone)]
enum Step {
    Typed(String),
    /// A response: thinking, text, calls. `linked` is the call on whose result the conversation goes on; results may
    /// stand between the calls.
    Response {
        thinking: bool,
        text: String,
        calls: Vec<bool>,
        linked: usize,
        between: bool,
        several_blocks_a_line: bool,
    },
    Meta(String),
    Error,
    /// A link of the chain that is no message.
    Progress,
    Sidechain,
    /// Lines that hang on nothing.
    Noise(u8),
    /// A line once more, as resuming copies it.
    Again(Index),
}

fn step() -> impl Strategy<Value = Step> {
    let text = "[a-z\"\\\\é 😀<>]{1,12}x";
    let response = (
        any::<bool>(),
        text,
        prop::collection::vec(prop::bool::weighted(0.9), 0..4),
        0_usize..4,
        any::<bool>(),
        any::<bool>(),
    );
    prop_oneof![
        3 => text.prop_map(Step::Typed),
        6 => response.prop_map(|(thinking, text, calls, linked, between, several_blocks_a_line)| {
            Step::Response { thinking, text, calls, linked, between, several_blocks_a_line }
        }),
        1 => text.prop_map(Step::Meta),
        1 => Just(Step::Error),
        2 => Just(Step::Progress),
        1 => Just(Step::Sidechain),
        2 => (0_u8..6).prop_map(Step::Noise),
        1 => any::<Index>().prop_map(Step::Again),
    ]
}

#[derive(Debug, Default)]
struct Written {
    text: String,
    lines: Vec<String>,
    parent: Option<String>,
    count: usize,
    /// What the program sends: roles and blocks.
    sent: Vec<(Role, Vec<String>)>,
}

impl Written {
    fn line(&mut self, line: String) {
        self.text.push_str(&line);
        self.text.push('\n');
        self.lines.push(line);
    }

    /// Writes a line that hangs on `parent`; gives its id.
    fn linked(&mut self, parent: Option<&str>, version: &str, fields: &str) -> String {
        self.count += 1;
        let uuid = format!("id-{}", self.count);
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let time = super::stamp::format(1_760_000_000_000 + 1000 * i64::try_from(self.count).unwrap());
        self.line(format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"S","version":"{version}","cwd":"/w",{fields},"uuid":"{uuid}","timestamp":"{time}"}}"#
        ));
        uuid
    }

    fn next(&mut self, version: &str, fields: &str) {
        let parent = self.parent.take();
        self.parent = Some(self.linked(parent.as_deref(), version, fields));
    }
}

/// Writes a session, and what the program would send of it.
fn write(steps: &[Step], version: &str) -> Written {
    let mut session = Written::default();
    let quote = |text: &str| serde_json::to_string(text).unwrap();
    for step in steps {
        let number = session.count;
        match step {
            Step::Typed(text) | Step::Meta(text) => {
                let meta = if matches!(step, Step::Meta(_)) { r#""isMeta":true,"# } else { "" };
                let text = quote(text);
                session.next(version, &format!(r#"{meta}"type":"user","message":{{"role":"user","content":{text}}}"#));
                session.sent.push((Role::User, vec![text]));
            }
            Step::Response { thinking, text, calls, linked, between, several_blocks_a_line } => {
                let mut heads = Vec::new();
                if *thinking {
                    heads.push(r#"{"type":"thinking","thinking":"hm","signature":"sig"}"#.to_owned());
                }
                heads.push(format!(r#"{{"type":"text","text":{}}}"#, quote(text)));
                let response = |blocks: &str, output: usize| {
                    format!(
                        r#""type":"assistant","message":{{"id":"msg-{number}","role":"assistant","model":"claude-x","content":[{blocks}],"usage":{{"input_tokens":9,"output_tokens":{output}}}}}"#
                    )
                };
                let mut blocks = heads.clone();
                if *several_blocks_a_line {
                    session.next(version, &response(&heads.join(","), 1));
                } else {
                    for head in &heads {
                        session.next(version, &response(head, 1));
                    }
                }
                let mut results: Vec<(usize, String, Option<String>)> = Vec::new();
                let mut call_lines = Vec::new();
                for (at, answered) in calls.iter().enumerate() {
                    let call = format!(r#"{{"type":"tool_use","id":"t-{number}-{at}","name":"Run","input":{{"n":1e400}}}}"#);
                    session.next(version, &response(&call, 2 + at));
                    blocks.push(call);
                    let line = session.parent.clone().unwrap();
                    if *answered {
                        let result = format!(r#"{{"type":"tool_result","tool_use_id":"t-{number}-{at}","content":"ok {at}"}}"#);
                        let fields = format!(r#""type":"user","toolUseResult":"ok","sourceToolAssistantUUID":"{line}","message":{{"role":"user","content":[{result}]}}"#);
                        let written = between.then(|| session.linked(Some(&line), version, &fields));
                        results.push((at, result, written));
                        call_lines.push((line, fields));
                    }
                }
                session.sent.push((Role::Assistant, blocks));
                for ((_, _, written), (line, fields)) in results.iter_mut().zip(&call_lines) {
                    if written.is_none() {
                        *written = Some(session.linked(Some(line), version, fields));
                    }
                }
                // The conversation goes on from one of the results; that one is on the chain, the others are found.
                if !results.is_empty() {
                    let on = results.remove(linked % results.len());
                    session.parent.clone_from(&on.2);
                    results.push(on);
                }
                session.sent.extend(results.into_iter().map(|(_, result, _)| (Role::User, vec![result])));
            }
            Step::Error => session.next(
                version,
                r#""type":"assistant","isApiErrorMessage":true,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]}"#,
            ),
            Step::Progress => session.next(version, r#""type":"progress","data":{"message":{"content":"not context"}}"#),
            Step::Sidechain => {
                let line = format!(r#"{{"type":"assistant","isSidechain":true,"uuid":"side-{}","parentUuid":"id-1","message":{{"id":"side","content":"aside"}}}}"#, session.lines.len());
                session.line(line);
            }
            Step::Noise(kind) => {
                let noise = [
                    r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{}}"#,
                    r#"{"type":"opal-mine","uuid":"noise","n":123456789012345678901234567890}"#,
                    r#"{"type":"assistant","uuid":"torn","parentUuid":"id-1","message":{"con"#,
                    "// a comment",
                    "[1, 2]",
                    r#"{"type":"queue-operation"}{"type":"summary","leafUuid":"id-1"}"#,
                ];
                session.line(noise[usize::from(*kind)].to_owned());
            }
            Step::Again(index) => {
                if !session.lines.is_empty() {
                    let line = index.get(&session.lines).clone();
                    session.line(line);
                }
            }
        }
    }
    session
}

/// Sessions that begin with a typed message and end with an answer.
fn session() -> impl Strategy<Value = (Written, bool)> {
    (prop::collection::vec(step(), 0..14), any::<bool>()).prop_map(|(mut steps, newer)| {
        steps.insert(0, Step::Typed("begin".to_owned()));
        steps.push(Step::Typed("last".to_owned()));
        (write(&steps, if newer { "2.1.332" } else { "2.1.20" }), newer)
    })
}

fn expected(written: &Written) -> Vec<(Role, Vec<&[u8]>)> {
    written.sent.iter().map(|(role, blocks)| (*role, blocks.iter().map(String::as_bytes).collect())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_session_is_read_as_its_program_sends_it((written, _) in session()) {
        let document = read(written.text.as_bytes());
        prop_assert_eq!(content(&document, &document.transcript().messages), expected(&written));
        for message in &document.transcript().messages {
            if message.role == Role::Assistant {
                let calls = message.calls().count();
                let output = if calls == 0 { 1 } else { 1 + calls };
                prop_assert_eq!(message.usage.unwrap().output.0, u64::try_from(output).unwrap(), "the last line's usage counts");
            }
        }
    }

    #[test]
    fn a_session_resumes_from_any_cut(
        (written, newer) in session(),
        (from, cut, retained) in any::<(Index, Index, Index)>(),
        thinking in any::<bool>(),
        torn in any::<bool>(),
    ) {
        let mut text = written.text;
        if torn {
            let kept = text.len() - 1;
            text.truncate(kept);
            write!(text, "\n{{\"type\":\"assistant\",\"mess").unwrap();
        }
        let document = read(text.as_bytes());
        let messages = &document.transcript().messages;
        let cut = 1 + cut.index(messages.len());
        let from = from.index(cut);
        let retained = [from + retained.index(cut - from)];
        let omitted: Vec<(usize, usize)> = messages.iter().enumerate()
            .flat_map(|(at, message)| message.blocks.iter().enumerate().map(move |(block, kind)| (at, block, kind)))
            .filter(|(_, _, block)| thinking && matches!(block.kind, BlockKind::Thinking { .. }))
            .map(|(message, block, _)| (message, block))
            .collect();
        let cut = Rewrite { retained: &retained, omitted: &omitted, ..rewrite(from..cut) };
        let appended = append(&document, &cut);
        if !newer {
            let appendix = appended.get(text.len()..).unwrap();
            prop_assert!(!String::from_utf8_lossy(appendix).contains("preservedMessages"), "older versions do not read it");
        }
    }

    /// The second and third compaction obey the same obligations as the first; the program writes on in between.
    #[test]
    fn chained_compactions_hold((written, newer) in session(), cuts in any::<[Index; 3]>()) {
        let version = if newer { "2.1.332" } else { "2.1.20" };
        let mut bytes = written.text.into_bytes();
        for (round, cut) in cuts.into_iter().enumerate() {
            let document = read(&bytes);
            let messages = document.transcript().messages.len();
            let cut = 1 + cut.index(messages);
            let mut appended = append(&document, &rewrite(0..cut));
            let again = read(&appended);
            // The program's next prompt hangs on the last line that it sends.
            let last = again.transcript().messages.last().unwrap();
            let last = last.blocks.last().unwrap().span;
            let entry = again.entries().iter().find(|entry| entry.span.contains(last)).unwrap();
            let parent = entry.id.unwrap().decode().into_owned();
            let time = super::stamp::format(1_770_000_000_000 + i64::try_from(round).unwrap());
            let before = again.transcript().messages.len();
            let prompt = format!(
                "{{\"parentUuid\":\"{parent}\",\"isSidechain\":false,\"version\":\"{version}\",\"type\":\"user\",\"message\":{{\"content\":\"prompt {round}\"}},\"uuid\":\"prompt-{round}\",\"timestamp\":\"{time}\"}}\n"
            );
            appended.extend_from_slice(prompt.as_bytes());
            let document = read(&appended);
            let messages = &document.transcript().messages;
            prop_assert_eq!(messages.len(), before + 1);
            prop_assert_eq!(messages[0].author, Author::Summary);
            let summary = messages[0].texts().next().unwrap().decode().into_owned();
            prop_assert_eq!(summary, CONTINUATION);
            bytes = appended;
        }
    }

    #[test]
    fn torn_anywhere_a_session_is_still_read((written, _) in session(), at: Index) {
        let at = at.index(written.text.len());
        let torn = &written.text.as_bytes()[..at];
        if let Ok(document) = parse(torn, &super::ParseOptions::default()) {
            for pair in document.entries().windows(2) {
                prop_assert!(pair[0].span.end() <= pair[1].span.start());
            }
        }
    }
}
