//! Tests of recall.

use std::fs;
use std::time::SystemTime;

use plimsoll::id::{EpochId, SessionId, ToolCallId};
use proptest::prelude::*;

use super::*;
use crate::{Compaction, NewResult};

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
    nothing is stored as s/c: it was never stored here, or it was removed long ago; list what there is with `plimsoll store ls`, or run the tool again
    s/c is not stored any more: older results of its session were pruned; run the tool again
    `../s` is not a recall id: it has a part `.` or `..`; an id is `session/call`, exactly as the marker or `plimsoll store ls` shows it
    ");
}

proptest! {
    #[test]
    fn consecutive_pages_joined_are_the_whole_and_end_on_characters(text in any::<String>(), length in 4_u64..40) {
        let store = Store::memory();
        let id = put(&store, text.as_bytes());
        let pages = pages(&store.open_recall(&id).unwrap(), length);
        prop_assert!(pages.iter().all(|page| std::str::from_utf8(page).is_ok()));
        prop_assert_eq!(pages.concat(), text.into_bytes());
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
