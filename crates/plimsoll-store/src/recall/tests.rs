//! Tests of recall.

use std::fs;
use std::time::SystemTime;

use plimsoll::id::{EpochId, SessionId, ToolCallId};
use proptest::prelude::*;

use super::*;
use crate::{Compaction, NewResult, Pattern};

fn put(store: &Store, content: &[u8]) -> RecallId {
    let (session, call) = (SessionId::new("s"), ToolCallId::new("c"));
    let now = SystemTime::now();
    let result = NewResult { session: &session, call: &call, content, tool: None, arguments: None, kind: None, now };
    store.put_result(&result, |_, _| None).unwrap().id.into()
}

fn pages(recalled: &Recalled<'_>, length: u64) -> Vec<Vec<u8>> {
    let (mut pages, mut offset) = (Vec::new(), 0);
    while offset < recalled.size() {
        let page = recalled.page(offset, length).unwrap();
        assert_eq!((page.range.start, page.size), (offset, recalled.size()));
        assert!(page.bytes.len() as u64 <= length && !page.bytes.is_empty());
        offset = page.range.end;
        pages.push(page.bytes);
    }
    pages
}

#[test]
fn an_offset_at_or_past_the_end_states_the_size() {
    let store = Store::memory();
    let id = put(&store, b"0123456789");
    let recalled = store.open_recall(&id).unwrap();
    for offset in [10, 11, u64::MAX] {
        assert!(matches!(recalled.page(offset, 1), Err(StoreError::PastEnd { size: 10, .. })));
    }
    insta::assert_snapshot!(
        recalled.page(10, 1).unwrap_err(),
        @"s/c has 10 bytes: nothing stands at byte 10; ask for a lower start"
    );
    let store = Store::memory();
    let id = put(&store, b"");
    assert_eq!(store.recall(&id).unwrap(), b"");
    assert_eq!(store.open_recall(&id).unwrap().page(0, PAGE).unwrap().bytes, b"");
    assert_eq!(store.open_recall(&id).unwrap().lines(1..=5).unwrap(), b"");
}

#[test]
fn lines_count_from_one_and_include_both_ends() {
    let store = Store::memory();
    let id = put(&store, b"a\nb\r\n\nd");
    let recalled = store.open_recall(&id).unwrap();
    for (lines, expected) in [(1..=1, "a\n"), (2..=3, "b\r\n\n"), (4..=4, "d"), (0..=1, "a\n"), (3..=99, "\nd")] {
        assert_eq!(recalled.lines(lines.clone()).unwrap(), expected.as_bytes(), "{lines:?}");
    }
    assert!(matches!(recalled.lines(5..=6), Err(StoreError::PastEnd { size: 4, unit: "line", .. })));
}

#[test]
fn a_changed_text_is_found_out() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let id = put(&store, b"as it was");
    fs::write(root.path().join("results/s/c.txt"), "as it is!").unwrap();
    let error = store.recall(&id).unwrap_err().to_string();
    assert!(error.starts_with("s/c is damaged: BLAKE3 ") && error.contains("results/s/c.txt"), "{error}");
}

#[test]
fn unknown_pruned_and_malformed_ids_are_told_apart() {
    let store = Store::memory();
    let id: RecallId = "s/c".parse().unwrap();
    let unknown = store.recall(&id).unwrap_err().to_string();
    store.backend().create(&Record::Pruned(SessionId::new("s")).key(), &[b"{}"]).unwrap();
    let pruned = store.recall(&id).unwrap_err().to_string();
    let malformed = StoreError::from("../s".parse::<RecallId>().unwrap_err()).to_string();
    insta::assert_snapshot!([unknown, pruned, malformed].join("\n"), @r"
    nothing is stored as s/c: it was never stored here, or it was removed; list what there is with `plimsoll store ls`, or run the tool again
    s/c is not stored any more: older results of its session were pruned; run the tool again
    `../s` is not a recall id: it has a part `.` or `..`; an id is `session/call`, exactly as the marker or `plimsoll store ls` shows it
    ");
}

#[test]
fn copying_ends_with_an_error_if_what_was_passed_on_is_damaged_or_not_taken() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let content = b"as it was".repeat(100_000);
    let id = put(&store, &content);
    let mut copied = Vec::new();
    let mut take = |block: &[u8]| {
        copied.extend_from_slice(block);
        Ok(())
    };
    assert_eq!(store.open_recall(&id).unwrap().copy(0..u64::MAX, &mut take).unwrap(), 900_000);
    assert!(copied == content);
    let broken = |_: &[u8]| Err(io::ErrorKind::BrokenPipe.into());
    let error = store.open_recall(&id).unwrap().copy(0..u64::MAX, broken).unwrap_err();
    assert!(matches!(error, StoreError::Output { .. }));
    fs::write(root.path().join("results/s/c.txt"), b"as it is!".repeat(100_000)).unwrap();
    let error = store.open_recall(&id).unwrap().copy(0..u64::MAX, |_| Ok(())).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }));
    // A part has nothing to be compared with.
    assert_eq!(store.open_recall(&id).unwrap().copy(3..5, |_| Ok(())).unwrap(), 2);
}

#[test]
fn lines_of_any_length_are_found_across_blocks() {
    let store = Store::memory();
    let (one, two, three) = (vec![b'1'; 3 * BLOCK], vec![b'2'; BLOCK - 1], vec![b'3'; BLOCK / 2]);
    let id = put(&store, &[&one[..], &two, &three].join(&b'\n'));
    let recalled = store.open_recall(&id).unwrap();
    for (number, line) in [(1, &one), (2, &two), (3, &three)] {
        let feed: &[u8] = if number < 3 { b"\n" } else { b"" };
        assert!(recalled.lines(number..=number).unwrap() == [line.as_slice(), feed].concat(), "{number}");
    }
    assert_eq!(recalled.lines(2..=9).unwrap().len(), two.len() + 1 + three.len());
    assert!(matches!(recalled.lines(4..=4), Err(StoreError::PastEnd { size: 3, .. })));
}

#[test]
fn matches_are_given_by_pages_that_miss_and_repeat_nothing() {
    let store = Store::memory();
    let lines: Vec<String> =
        (0..3000).map(|n| format!("line {n} {}\n", if n % 7 == 0 { "error" } else { "fine" })).collect();
    let content = lines.concat();
    let id = put(&store, content.as_bytes());
    let recalled = store.open_recall(&id).unwrap();
    let pattern = Pattern::regex("err[o]r").unwrap();
    for context in [0, 1, 5] {
        let (mut text, mut from, mut matches, mut pages) = (String::new(), 0, 0, 0);
        loop {
            let page = recalled.grep_page(&pattern, context, from, 1000).unwrap();
            assert!(page.text.len() <= 1000);
            text += &String::from_utf8(page.text.clone()).unwrap();
            (matches, pages) = (matches + page.matches, pages + 1);
            match page.next {
                Some(next) => from = next,
                None => break,
            }
        }
        assert!(pages > 5);
        assert_eq!(matches, 3000_u64.div_ceil(7));
        let numbers: Vec<u64> =
            text.lines().filter_map(|line| line.split([':', '-']).next().unwrap().parse().ok()).collect();
        let near = |n: u64| (n.saturating_sub(context as u64)..=n + context as u64).any(|n| n % 7 == 0 && n < 3000);
        assert_eq!(numbers, (0..3000).filter(|n| near(*n)).map(|n| n + 1).collect::<Vec<_>>());
        assert_eq!(text.contains("--\n"), context == 1);
    }
    let page = recalled.grep_page(&pattern, 1, 0, 100).unwrap();
    insta::assert_snapshot!(String::from_utf8(page.text.clone()).unwrap() + &page.footer(), @r"
    1:line 0 error
    2-line 1 fine
    --
    7-line 6 fine
    8:line 7 error
    9-line 8 fine
    --
    14-line 13 fine
    [2 matches shown of 44319 bytes; next offset 174]
    ");
    assert_eq!(
        recalled.grep_page(&Pattern::literal("absent").unwrap(), 0, 0, PAGE).unwrap().footer(),
        "[0 matches in 44319 bytes; end]"
    );
}

/// Mechanism 42: a page of a file of one line must not be that line again.
#[test]
fn mechanism_42_pages_of_one_long_line_go_on_from_match_to_match() {
    let store = Store::memory();
    let content = (0..20_000).map(|n| format!("{{\"key{n}\":{n}}},")).collect::<Vec<_>>().concat();
    let id = put(&store, content.as_bytes());
    let recalled = store.open_recall(&id).unwrap();
    let pattern = Pattern::regex("key[0-9]*99\"").unwrap();
    let (mut found, mut from) = (0, 0);
    while let Some(next) = {
        let page = recalled.grep_page(&pattern, 2, from, 8192).unwrap();
        assert!(page.text.len() <= 8192);
        found += page.matches;
        page.next
    } {
        assert!(next > from);
        from = next;
    }
    assert_eq!(found, 200);
}

#[test]
fn everything_known_of_an_id_is_shown() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let id = put(&store, b"first");
    let other = put(&store, b"second");
    let shown = store.show(&id).unwrap();
    assert_eq!((shown.bytes, shown.meta.unwrap().bytes), (5, 5));
    assert_eq!(shown.variants.into_iter().map(RecallId::from).collect::<Vec<_>>(), std::slice::from_ref(&other));
    assert_eq!(shown.path, Some(root.path().join("results/s/c.txt")));
    assert_eq!(store.show(&other).unwrap().bytes, 6);
    let epoch = EpochId::new(&SessionId::new("s"), &[1; 32]);
    #[allow(clippy::single_range_in_vec_init, reason = "one removed range is the usual case")]
    let removed = [2..5];
    let now = SystemTime::now();
    let named = ["s/c".parse().unwrap()];
    let compaction = Compaction {
        epoch: &epoch,
        document: b"0123456789",
        removed: &removed,
        artifacts: &named,
        record: b"{}",
        now,
    };
    store.archive(&compaction).unwrap();
    let shown = store.show(&epoch.into()).unwrap();
    assert_eq!((shown.bytes, shown.document_bytes), (3, Some(10)));
    assert_eq!(shown.names.unwrap().artifacts, named);
    assert!(matches!(store.show(&"s/absent".parse().unwrap()), Err(StoreError::Unknown { .. })));
}

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn lines_and_matches_in_utf_16_are_read_as_utf_8_and_offsets_are_those_of_the_stored_bytes() {
    let store = Store::memory();
    let line = |n: usize| format!("línea {n} 😀 {}\n", if n.is_multiple_of(20_000) { "error" } else { "" });
    let text: String = (1..=60_000).map(line).collect();
    let raw = utf16(&text);
    let id = put(&store, &raw);
    let recalled = store.open_recall(&id).unwrap();
    assert_eq!(recalled.encoding().unwrap(), Some(Utf16::Le));
    assert_eq!(recalled.whole().unwrap(), raw);
    assert_eq!(String::from_utf8(recalled.lines(2..=3).unwrap()).unwrap(), "línea 2 😀 \nlínea 3 😀 \n");
    let mut found = Vec::new();
    let pattern = Pattern::regex("^línea .* error$").unwrap();
    recalled
        .grep(&pattern, 1, |line| {
            let at = usize::try_from(line.offset).unwrap();
            let page = recalled.page(line.offset, 20).unwrap();
            assert_eq!(page.bytes, raw[at..at + 20]);
            assert!(line.text.starts_with(Utf16::Le.decode_part(&page.bytes, line.offset).as_bytes()));
            found.push((line.line, line.matches));
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let near = |n| [(n - 1, false), (n, true), (n + 1, false)];
    assert_eq!(found, [near(20_000).as_slice(), &near(40_000), &near(60_000)[..2]].concat());
    let page = store.search_page(&Pattern::literal("60000 😀 error").unwrap(), None, PAGE).unwrap();
    assert_eq!(String::from_utf8(page.text).unwrap(), "s/c:60000:línea 60000 😀 error\n");
}

proptest! {
    #[test]
    fn lines_read_as_a_look_at_the_whole_finds_them(
        content in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a'), Just(0xff)], 0..40),
        first in 0_u64..12,
        count in 0_u64..12,
    ) {
        let store = Store::memory();
        let id = put(&store, &content);
        let all: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
        let last = first + count;
        let found = store.open_recall(&id).unwrap().lines(first..=last);
        let start = usize::try_from(first.max(1)).unwrap() - 1;
        if start >= all.len() && !(all.is_empty() && start == 0) && last >= first.max(1) {
            let stated = match found {
                Err(StoreError::PastEnd { size, .. }) => size,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            prop_assert_eq!(stated, all.len() as u64);
        } else {
            let end = usize::try_from(last).unwrap().min(all.len());
            prop_assert_eq!(found.unwrap(), all.get(start..end).unwrap_or_default().concat());
        }
    }

    #[test]
    fn consecutive_pages_joined_are_the_whole_and_end_on_characters(text in any::<String>(), length in 4_u64..40) {
        let store = Store::memory();
        let id = put(&store, text.as_bytes());
        let pages = pages(&store.open_recall(&id).unwrap(), length);
        prop_assert!(pages.iter().all(|page| std::str::from_utf8(page).is_ok()));
        prop_assert_eq!(pages.concat(), text.into_bytes());
    }

    #[test]
    fn pages_of_utf_16_joined_are_the_whole_and_end_on_characters(text in "[a-z日😀\n]{1,60}", length in 4_u64..40) {
        let store = Store::memory();
        let id = put(&store, &utf16(&text));
        let (mut read, mut at) = (String::new(), 0);
        let pages = pages(&store.open_recall(&id).unwrap(), length);
        for page in &pages {
            read += &Utf16::Le.decode_part(page, at);
            at += page.len() as u64;
        }
        prop_assert_eq!(pages.concat(), utf16(&text));
        prop_assert_eq!(read, text);
    }

    #[test]
    fn pages_of_any_bytes_of_any_length_join_to_the_whole(
        content in proptest::collection::vec(prop_oneof![Just(0xe6_u8), Just(0x97), Just(0xf0), any::<u8>()], 0..200),
        length in 1_u64..9,
    ) {
        let store = Store::memory();
        let id = put(&store, &content);
        prop_assert_eq!(pages(&store.open_recall(&id).unwrap(), length).concat(), content);
    }

    #[test]
    fn parts_of_what_an_epoch_removed_read_as_of_the_whole(
        ends in proptest::collection::vec(0_u64..5_000, 0..8),
        start in 0_u64..6_000,
        length in 0_u64..6_000,
    ) {
        let document: Vec<u8> = (0..5_000_u32).flat_map(u32::to_le_bytes).take(5_000).collect();
        let mut ends = ends;
        ends.sort_unstable();
        let removed: Vec<Range<u64>> =
            ends.as_chunks::<2>().0.iter().map(|[start, end]| *start..*end).collect();
        let store = Store::memory();
        let epoch = EpochId::new(&SessionId::new("s"), &[1; 32]);
        let now = SystemTime::now();
        store.archive(&Compaction { epoch: &epoch, document: &document, removed: &removed, artifacts: &[], record: b"{}", now }).unwrap();
        let recalled = store.open_recall(&epoch.into()).unwrap();
        let slice = |range: &Range<u64>, of: &[u8]| {
            let within = |at: u64| usize::try_from(at).unwrap().min(of.len());
            of[within(range.start)..within(range.end).max(within(range.start))].to_vec()
        };
        let whole: Vec<u8> = removed.iter().flat_map(|range| slice(range, &document)).collect();
        prop_assert_eq!(recalled.size(), whole.len() as u64);
        let part = start..start + length;
        prop_assert_eq!(recalled.read(part.clone()).unwrap(), slice(&part, &whole));
        prop_assert_eq!(recalled.whole().unwrap(), whole);
    }
}
