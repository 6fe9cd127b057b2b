//! Tests of searching everything.

use std::time::Duration;

use plimsoll::id::{ArtifactId, EpochId, ToolCallId};

use super::*;
use crate::{Compaction, NewResult, PAGE};

fn put(store: &Store, session: &str, call: &str, content: &[u8]) -> ArtifactId {
    let (session, call) = (SessionId::new(session), ToolCallId::new(call));
    let now = SystemTime::now();
    let result = NewResult { session: &session, call: &call, content, tool: None, arguments: None, kind: None, now };
    store.put_result(&result, |_, _| None).unwrap().id
}

fn hits(store: &Store, pattern: &Pattern, session: Option<&str>) -> Vec<String> {
    let session = session.map(SessionId::new);
    let mut hits = Vec::new();
    let searched = store
        .search(&Search { pattern, session: session.as_ref(), of_one: None }, |hit| {
            hits.push(String::from_utf8(hit.render()).unwrap().trim_end().to_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(searched.hits, hits.len() as u64);
    hits
}

#[test]
fn what_was_stored_last_comes_first_and_sessions_can_be_chosen() {
    let store = Store::memory();
    for number in 0..200 {
        put(&store, &format!("s{}", number % 3), &format!("c{number}"), format!("one\nfound {number}\n").as_bytes());
    }
    let all = hits(&store, &Pattern::literal("found").unwrap(), None);
    let expected: Vec<String> =
        (0..200).rev().map(|number| format!("s{}/c{number}:2:found {number}", number % 3)).collect();
    assert_eq!(all, expected);
    let of_one = hits(&store, &Pattern::regex("^found 19[0-9]$").unwrap(), Some("s1"));
    assert_eq!(of_one, ["s1/c199:2:found 199", "s1/c196:2:found 196", "s1/c193:2:found 193", "s1/c190:2:found 190"]);
    assert!(hits(&store, &Pattern::literal("found.").unwrap(), None).is_empty());
    assert!(hits(&store, &Pattern::literal("found").unwrap(), Some("other")).is_empty());
}

#[test]
fn a_search_that_nobody_wants_more_of_ends() {
    let store = Store::memory();
    for number in 0..500 {
        put(&store, "s", &format!("c{number}"), b"found");
    }
    let pattern = Pattern::literal("found").unwrap();
    let mut taken = 0;
    let searched = store.search(&Search { pattern: &pattern, session: None, of_one: None }, |_| {
        taken += 1;
        if taken == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((taken, searched.unwrap().hits), (3, 3));
}

#[test]
fn a_page_is_bounded_and_says_that_there_is_more() {
    let store = Store::memory();
    for number in 0..100 {
        put(&store, "s", &format!("c{number}"), "an error, a long one, on each line\n".repeat(1000).as_bytes());
    }
    let page = store.search_page(&Pattern::literal("error").unwrap(), None, PAGE).unwrap();
    assert!(page.more && page.text.len() as u64 <= PAGE && page.text.len() as u64 > PAGE - 200);
    let text = String::from_utf8(page.text.clone()).unwrap();
    assert_eq!(text.lines().count() as u64 - text.matches("more matches").count() as u64, page.searched.hits);
    assert_eq!(text.matches("s/c99:").count(), SHOWN_OF_ONE + 1);
    assert!(page.footer().ends_with("; more was found: narrow the search]"), "{}", page.footer());
    let none = store.search_page(&Pattern::literal("absent").unwrap(), None, PAGE).unwrap();
    assert_eq!(none.footer(), "[0 matches in 100 artifacts; end]");
}

#[test]
fn it_reaches_into_what_compactions_removed_and_says_a_line_once() {
    let store = Store::memory();
    let session = SessionId::new("s");
    let mut document = Vec::new();
    let mut epochs = Vec::new();
    for round in 0..3_u8 {
        document.extend_from_slice(format!("decided in round {round}\n").as_bytes());
        let removed = 0..document.len() as u64;
        document.extend_from_slice(b"decided in the tail\n");
        let epoch = EpochId::new(&session, &[round; 32]);
        let now = SystemTime::now() + Duration::from_secs(u64::from(round));
        let compaction = Compaction {
            epoch: &epoch,
            document: &document,
            removed: &[removed],
            artifacts: &[],
            record: b"{}",
            now,
        };
        store.archive(&compaction).unwrap();
        store.mark_replayed(&epoch, SystemTime::now() + Duration::from_secs(86_400 * u64::from(round + 1))).unwrap();
        document.truncate(document.len() - b"decided in the tail\n".len());
        epochs.push(epoch);
    }
    let found = hits(&store, &Pattern::literal("decided").unwrap(), None);
    let last = &epochs[2];
    assert_eq!(
        found,
        [
            format!("{last}:1:decided in round 0"),
            format!("{last}:2:decided in round 1"),
            format!("{last}:3:decided in round 2"),
        ]
    );
}

#[test]
fn what_cannot_be_read_does_not_stop_it() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    put(&store, "s", "good", b"found");
    std::fs::write(root.path().join("results/s/c.txt"), b"found, though no metadata was written").unwrap();
    std::fs::create_dir_all(root.path().join("epochs/s")).unwrap();
    std::fs::write(root.path().join("epochs/s/~0123456789ab.body"), b"no body").unwrap();
    let pattern = Pattern::literal("found").unwrap();
    let searched =
        store.search(&Search { pattern: &pattern, session: None, of_one: None }, |_| ControlFlow::Continue(()));
    let searched = searched.unwrap();
    assert_eq!((searched.hits, searched.errors.len()), (2, 1));
    assert!(matches!(searched.errors[0], StoreError::Damaged { .. }));
}

#[test]
fn a_pattern_that_is_none_is_refused_in_one_line() {
    for pattern in ["(", "", "a\nb"] {
        let error = Pattern::regex(pattern).unwrap_err().to_string();
        assert!(error.contains("is not a pattern to search for") && error.matches('\n').count() <= 1, "{error}");
    }
}
