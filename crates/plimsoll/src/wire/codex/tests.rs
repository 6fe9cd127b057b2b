use std::fmt::Write as _;

use proptest::prelude::*;

use super::super::{Document, Format, ParseOptions, Rewrite, parse, splice};
use super::append::is_readded;
use crate::transcript::{Author, Message, Role};
use crate::units::Tokens;

fn read(bytes: &[u8]) -> Document<'_> {
    parse(
        bytes,
        &ParseOptions::default().with_format(Some(Format::Codex)),
    )
    .unwrap()
}

fn rewrite(removed: std::ops::Range<usize>) -> Rewrite<'static> {
    Rewrite {
        removed,
        retained: &[],
        omitted: &[],
        continuation: "<plimsoll_continuation epoch=\"e\">so far</plimsoll_continuation>",
        acknowledgement: "",
        tokens_before: Tokens(1000),
        tokens_after: Tokens(100),
    }
}

fn content<'a>(document: &Document<'a>, messages: &[Message<'a>]) -> Vec<(Role, Vec<&'a [u8]>)> {
    let messages = messages.iter().filter(|message| !is_readded(message));
    messages
        .map(|message| {
            (
                message.role,
                message
                    .blocks
                    .iter()
                    .map(|block| block.span.of(document.bytes()))
                    .collect(),
            )
        })
        .collect()
}

fn check_append(document: &Document<'_>, rewrite: &Rewrite<'_>) -> Vec<u8> {
    let edits = document.rewrite(rewrite).unwrap();
    let appended = splice(document.bytes(), &edits).unwrap().into_owned();
    assert!(
        appended.starts_with(document.bytes()),
        "only ever appended to"
    );
    let again = read(&appended);
    let kept = document
        .transcript()
        .messages
        .get(rewrite.removed.end..)
        .unwrap();
    let (first, tail) = again.transcript().messages.split_first().unwrap();
    assert_eq!(first.author, Author::Summary);
    assert_eq!(first.texts().next().unwrap().decode(), rewrite.continuation);
    assert_eq!(content(&again, tail), content(document, kept));
    appended
}

fn corpus() -> Vec<(String, Vec<u8>)> {
    let Ok(data) = std::env::var("PLIMSOLL_DATA") else {
        return Vec::new();
    };
    let mut files: Vec<_> = std::fs::read_dir(format!("{data}/codex"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn real_rollouts_are_read_and_resumed_at_every_cut() {
    for (name, bytes) in corpus() {
        let document = parse(&bytes, &ParseOptions::default()).unwrap();
        assert_eq!(document.format(), Format::Codex, "{name}");
        let messages = &document.transcript().messages;
        let calls = messages.iter().flat_map(Message::calls).count();
        let results = messages.iter().flat_map(Message::results).count();
        eprintln!(
            "{name}: {} entries, {} messages, {calls} calls, {results} results, {:?} {:?} {:?} usage {:?} n {}; odd {:?}",
            document.entries().len(),
            messages.len(),
            document.model(),
            document.session(),
            document.window(),
            messages.iter().rev().find_map(|m| m.usage),
            messages.iter().filter(|m| m.usage.is_some()).count(),
            document
                .oddities()
                .iter()
                .fold(std::collections::BTreeMap::new(), |mut m, o| {
                    *m.entry(o.kind).or_insert(0) += 1;
                    m
                })
        );
        for pair in document.entries().windows(2) {
            assert!(pair[0].span.end() <= pair[1].span.start(), "{name}");
        }
        let step = messages.len() / 25 + 1;
        for cut in (1..=messages.len()).step_by(step) {
            check_append(&document, &rewrite(0..cut));
        }
    }
}
