use proptest::prelude::*;

use super::super::{ParseOptions, parse};
use super::*;
use crate::compact::Chain;

/// Without a forced format a body whose first messages tell little would be taken for another format than a longer one.
fn options() -> ParseOptions {
    ParseOptions::default().with_format(Some(Format::Anthropic))
}

fn spans(body: &[u8]) -> Option<MessageSpans> {
    MessageSpans::of(&parse(body, &ParseOptions::default()).unwrap())
}

fn grown(before: &str, after: &str) -> Option<Grown> {
    let document = parse(before.as_bytes(), &options()).unwrap();
    let chain = Chain::of(&document);
    let spans = MessageSpans::of(&document).unwrap();
    spans.grown(before.as_bytes(), after.as_bytes(), document.format(), |index, view| chain.repeats(index, view))
}

const BEFORE: &str = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"} , {"role":"assistant","content":"Hello"}],"stream":true}"#;

#[test]
fn a_body_that_only_grew_is_compared_and_only_what_is_new_is_read() {
    let after = BEFORE.replace(r#""Hello"}]"#, r#""Hello"},{"role":"user","content":"Go on"} ]"#);
    let grown = grown(BEFORE, &after).unwrap();
    assert_eq!((grown.spans.len(), grown.respelled.as_slice(), grown.same_envelope), (3, &[][..], true));
    assert_eq!(Some(grown.spans), spans(after.as_bytes()));
}

#[test]
fn a_moved_mark_is_the_same_message_and_an_edit_is_not() {
    let marked = BEFORE.replace(
        r#""content":"Hi""#,
        r#""content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]"#,
    );
    for (before, after) in [(BEFORE, &*marked), (&*marked, BEFORE)] {
        let grown = grown(before, after).unwrap();
        assert_eq!((grown.spans.len(), grown.respelled.as_slice(), grown.same_envelope), (2, &[0][..], true));
    }
    assert!(grown(BEFORE, &BEFORE.replace("Hello", "Hullo")).is_none());
    assert!(grown(BEFORE, &BEFORE.replace(r#" , {"role":"assistant","content":"Hello"}"#, "")).is_none());
}

#[test]
fn another_envelope_is_seen_wherever_it_stands() {
    for (from, to) in [(r#""m""#, r#""another""#), ("true}", "false}"), ("9,", r#"9,"system":"S","#)] {
        let grown = grown(BEFORE, &BEFORE.replace(from, to)).unwrap();
        assert!(!grown.same_envelope && grown.respelled.is_empty(), "{to}");
    }
    let spans = spans(BEFORE.as_bytes()).unwrap();
    assert_eq!(spans.envelope(BEFORE.as_bytes()), br#"{"model":"m","max_tokens":9,"messages":[],"stream":true}"#);
}

#[test]
fn bodies_of_other_shapes_are_read_whole() {
    for body in [
        r#"{"model":"gpt-4o","input":"Hi"}"#,
        r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#,
        r#"{"messages":[{"role":"user","content":"no"}],"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#,
        r#"{"max_tokens":9,"messages":[{"role":"user","content":"Hi"},7]}"#,
        r#"[{"role":"user","content":"Hi"}]"#,
    ] {
        assert_eq!(spans(body.as_bytes()), None, "{body}");
    }
    // What is torn or goes on after its end is not taken for a body that grew.
    assert!(grown(BEFORE, BEFORE.split_at(BEFORE.len() - 20).0).is_none());
    assert!(grown(BEFORE, &BEFORE.replace(']', "")).is_none());
}

fn message() -> impl Strategy<Value = String> {
    let text = "[a-c \\\\\"é\n]{0,12}";
    (text, 0..4_u8, any::<bool>()).prop_map(|(text, kind, marked)| {
        let quoted = crate::wire::quote(&text);
        let mark = if marked { r#","cache_control":{"type":"ephemeral"}"# } else { "" };
        match kind {
            0 => format!(r#"{{"role":"user","content":{quoted}}}"#),
            1 => format!(r#"{{ "role":"assistant","content":[{{"type":"text","text":{quoted}{mark}}}]}}"#),
            2 => format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{quoted}{mark}}}]}}"#
            ),
            _ => format!(r#"{{"content":[{{"text":{quoted},"type":"text"}}],"role":"user"}}"#),
        }
    })
}

proptest! {
    /// Whatever the two bodies are: what is found by comparing is what is found by reading both whole.
    #[test]
    fn comparing_finds_what_reading_finds(
        old in prop::collection::vec(message(), 1..6),
        new in prop::collection::vec(message(), 0..4),
        changed in prop::option::of((0..6_usize, message())),
        space in "[ \n]{0,2}",
        foot in "(,\"stream\":true)?",
    ) {
        let body = |messages: &[String], foot: &str| {
            format!(r#"{{"max_tokens":9,"messages":[{space}{}{space}]{foot}}}"#, messages.join(&format!("{space},{space}")))
        };
        let before = body(&old, "");
        let mut messages = old.clone();
        if let Some((index, message)) = &changed && let Some(place) = messages.get_mut(*index) {
            place.clone_from(message);
        }
        messages.extend(new);
        let after = body(&messages, &foot);
        let document = parse(after.as_bytes(), &options()).unwrap();
        let (was, is) = (Chain::of(&parse(before.as_bytes(), &options()).unwrap()), Chain::of(&document));
        let begins = is.prefix(was.len()) == was.prefix(was.len());
        let beginning = MessageSpans::of(&parse(before.as_bytes(), &options()).unwrap()).unwrap();
        let repeats = |index: usize, view: &Document<'_>| was.repeats(index, view);
        let shared = beginning.shared(before.as_bytes(), after.as_bytes(), document.format(), repeats);
        let most = was.len().min(is.len());
        prop_assert_eq!(Some(shared), (0..=most).rev().find(|count| was.prefix(*count) == is.prefix(*count)));
        if let Some((bytes, spans)) = beginning.first(before.as_bytes(), shared) {
            let read = parse(&bytes, &options()).unwrap();
            prop_assert_eq!(Some(spans), MessageSpans::of(&read));
            prop_assert_eq!(Chain::of(&read), was.first(shared));
        }
        match grown(&before, &after) {
            None => prop_assert!(!begins),
            Some(grown) => {
                prop_assert!(begins);
                let read = MessageSpans::of(&document).unwrap();
                prop_assert_eq!(&grown.spans, &read);
                prop_assert_eq!(grown.same_envelope, foot.is_empty());
                // A view of the new messages reads and hashes as they do in the whole.
                let mut chain = was.clone();
                chain.extend(&grown.spans.view(after.as_bytes(), document.format(), old.len()..messages.len()));
                prop_assert_eq!(chain, is);
            }
        }
    }
}
