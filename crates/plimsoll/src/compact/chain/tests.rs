use proptest::prelude::*;

use super::*;
use crate::transcript::sample::{anthropic, responses, session};
use crate::wire::{ParseOptions, parse};

fn chain_in(body: &str, format: Option<Format>) -> Chain {
    Chain::of(&parse(body.as_bytes(), &ParseOptions::default().with_format(format)).unwrap())
}

fn chain(body: &str) -> Chain {
    chain_in(body, Some(Format::Anthropic))
}

fn hash(message: &str) -> ChainHash {
    chain(&format!(r#"{{"messages":[{message}]}}"#)).prefix(1).unwrap()
}

#[test]
fn cache_control_that_moves_changes_nothing() {
    let marked = r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}"#;
    let plain = r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#;
    assert_eq!(hash(marked), hash(plain));
    let inside = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"a","cache_control":null}]}]}"#;
    let bare = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"a"}]}"#;
    assert_eq!(hash(inside), hash(bare));
    // In a tool's arguments the key means something.
    let argument =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"n","input":{"cache_control":1}}]}"#;
    assert_ne!(hash(argument), hash(&argument.replace(r#""cache_control":1"#, "")));
}

#[test]
fn string_content_reads_as_one_text_block() {
    assert_eq!(
        hash(r#"{"role":"user","content":"a"}"#),
        hash(r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#)
    );
    assert_ne!(
        hash(r#"{"role":"user","content":"ab"}"#),
        hash(r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#)
    );
    let input = |item: &str| chain_in(&format!(r#"{{"model":"gpt-5","input":[{item}]}}"#), None).prefix(1).unwrap();
    for (role, kind) in [("user", "input_text"), ("assistant", "output_text")] {
        let blocks = format!(r#"{{"role":"{role}","content":[{{"type":"{kind}","text":"a","annotations":[]}}]}}"#);
        assert_eq!(input(&format!(r#"{{"role":"{role}","content":"a"}}"#)), input(&blocks));
    }
}

#[test]
fn spelling_is_no_meaning_and_numbers_are_their_bytes() {
    let call = |input: &str| {
        hash(&format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"x","name":"n","input":{input}}}]}}"#
        ))
    };
    assert_eq!(call(r#"{"a":"\u00e9","b":1}"#), call(r#"{ "b" : 1, "a":"é" }"#));
    assert_eq!(call(r#"{"a":1,"a":2}"#), call(r#"{"a":2}"#));
    assert_ne!(call(r#"{"a":1}"#), call(r#"{"a":1.0}"#));
    assert_ne!(call(r#"{"a":18446744073709551617}"#), call(r#"{"a":18446744073709551616}"#));
    assert_ne!(call(r#"{"a":"1"}"#), call(r#"{"a":1}"#));
    assert_ne!(call(r#"{"a":"\ud800"}"#), call(r#"{"a":"\ud801"}"#));
}

#[test]
fn a_programs_entry_is_its_message() {
    let line = |uuid: &str, time: u8| {
        format!(
            r#"{{"parentUuid":null,"isSidechain":false,"type":"user","message":{{"role":"user","content":"hi"}},"uuid":"{uuid}","timestamp":"2026-01-01T00:00:0{time}.000Z","sessionId":"s"}}"#
        ) + "\n"
    };
    let session_chain = |line: &str| chain_in(line, Some(Format::ClaudeCode));
    assert_eq!(session_chain(&line("a", 0)).prefix(1), session_chain(&line("b", 1)).prefix(1));
    assert_ne!(session_chain(&line("a", 0)).prefix(1), session_chain(&line("a", 0).replace("hi", "ho")).prefix(1));
}

#[test]
fn a_hash_reads_back() {
    let hash = hash(r#"{"role":"user","content":"a"}"#);
    let json = serde_json::to_string(&hash).unwrap();
    assert_eq!(serde_json::from_str::<ChainHash>(&json).unwrap(), hash);
    assert!(serde_json::from_str::<ChainHash>(r#""../etc""#).is_err());
    // The hash names what is stored: it must never change under a later version.
    insta::assert_snapshot!(hash, @"80c11d089abdddf466ddddefe714fd8f58bee5ab4be9632c3ab4787c98282b1c");
}

proptest! {
    #[test]
    fn a_spelling_that_is_kept_is_the_one_that_would_be_written(
        text in r#"[a"\\\\\n\r\t\x08\x01é\u{fffd}]{0,12}"#,
        raw in r#"([aé/\x{fffd}]|\\["\\/nrtbf]|\\u00(0a|1f|E9)|\\ud83d){0,8}"#,
    ) {
        let quoted = quote(&text);
        let inside = quoted.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
        for text in [Text::plain(&text), Text::json(inside.as_bytes(), inside.contains('\\')),
            Text::json(raw.as_bytes(), raw.contains('\\'))] {
            let (mut kept, mut anew) = (Vec::new(), Vec::new());
            super::write_string(text, &mut kept);
            super::write_anew(text, &mut anew);
            // A text without escapes is copied, whatever characters it has.
            if text.is_escaped() || !text.decode().contains('\u{fffd}') {
                prop_assert_eq!(kept, anew);
            }
        }
    }

    #[test]
    fn growing_is_hashing_anew(script in session(1..5), cut in 0_usize..40) {
        for write in [anthropic, responses] {
            let body = write(&script);
            let start = write(&script[..cut.min(script.len())]);
            let document = parse(body.as_bytes(), &ParseOptions::default().with_format(None)).unwrap();
            let whole = Chain::of(&document);
            let options = ParseOptions::default().with_format(Some(document.format()));
            let mut grown = Chain::of(&parse(start.as_bytes(), &options).unwrap());
            let before = grown.clone();
            grown.grow(&document);
            prop_assert_eq!(&grown, &whole);
            for messages in 0..=before.len() {
                prop_assert_eq!(before.prefix(messages), whole.prefix(messages));
            }
            prop_assert_eq!(whole.prefix(whole.len() + 1), None);
        }
    }

    #[test]
    fn another_message_is_another_chain(script in session(1..4), at in 0_usize..20) {
        let body = anthropic(&script);
        let at = at % script.len();
        // Every text carries its step's number.
        let changed = body.replacen(&format!(" {at}\""), " changed\"", 1);
        prop_assume!(changed != body);
        let (before, after) = (chain(&body), chain(&changed));
        prop_assert_eq!(before.prefix(at), after.prefix(at));
        for messages in at + 1..=before.len() {
            prop_assert_ne!(before.prefix(messages), after.prefix(messages));
        }
    }
}
