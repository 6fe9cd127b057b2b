//! Tests of storing tool results.

use std::fs;

use plimsoll::Bytes;

use super::*;
use crate::Quotas;

fn result<'a>(session: &'a SessionId, call: &'a ToolCallId, content: &'a [u8]) -> NewResult<'a> {
    NewResult { session, call, content, tool: Some("Bash"), arguments: None, kind: None, now: SystemTime::now() }
}

fn put(store: &Store, session: &str, call: &str, content: &[u8]) -> StoredResult {
    let (session, call) = (SessionId::new(session), ToolCallId::new(call));
    store.put_result(&result(&session, &call, content), |id, _| Some(format!("[{id}]"))).unwrap()
}

fn on_every_store(check: impl Fn(&Store)) {
    check(&Store::memory());
    let root = tempfile::tempdir().unwrap();
    check(&Store::local(root.path().join("store")));
}

#[test]
fn the_first_content_takes_the_plain_name_and_another_one_a_variant() {
    on_every_store(|store| {
        let first = put(store, "s", "c", b"first\ncontent");
        assert_eq!((first.id.to_string().as_str(), first.first), ("s/c", true));
        assert_eq!((first.meta.bytes, first.meta.lines), (13, 2));
        let second = put(store, "s", "c", b"second");
        assert_eq!(
            second.id.to_string(),
            ArtifactId::variant(&SessionId::new("s"), &ToolCallId::new("c"), b"second").to_string()
        );
        assert_eq!(second.meta.capped, Some(format!("[{}]", second.id)));
        for (stored, content) in [(&first, &b"first\ncontent"[..]), (&second, b"second")] {
            assert_eq!(store.recall(&stored.id.clone().into()).unwrap(), content);
        }
        assert_eq!(store.variants(&first.id).unwrap(), [second.id]);
        assert_eq!(put(store, "s", "c2", b"").meta.lines, 0);
    });
}

/// The frozen capped text is replayed: a later version, model or setting never rewrites what a model has seen.
#[test]
fn the_same_content_is_one_artifact_and_its_first_record_holds() {
    on_every_store(|store| {
        let first = put(store, "s", "c", b"content");
        let (session, call) = (SessionId::new("s"), ToolCallId::new("c"));
        let again = store
            .put_result(&result(&session, &call, b"content"), |_, _| Some("cut by a later version".to_owned()))
            .unwrap();
        assert_eq!((again.id, again.meta, again.first), (first.id, first.meta, false));
    });
}

#[test]
fn a_text_whose_writer_was_killed_before_the_record_is_completed() {
    on_every_store(|store| {
        let id: ArtifactId = "s/c".parse().unwrap();
        store.backend().create(&Record::Text(id.clone()).key(), &[b"content"]).unwrap();
        assert_eq!(store.recall(&id.clone().into()).unwrap(), b"content");
        let stored = put(store, "s", "c", b"content");
        assert_eq!((stored.id, stored.first), (id, true));
    });
}

/// As on a file system that ignores case: what stands under the name of `ABC` is of `abc`.
#[test]
fn ids_that_differ_only_in_case_stay_apart_on_any_file_system() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    put(&store, "abc", "Call", b"of the lower one");
    fs::rename(root.path().join("results/abc"), root.path().join("results/ABC")).unwrap();
    let upper: ArtifactId = "ABC/Call".parse().unwrap();
    assert!(matches!(store.recall(&upper.clone().into()), Err(StoreError::Unknown { .. })));
    for content in [&b"of the upper one"[..], b"of the lower one"] {
        let stored = put(&store, "ABC", "Call", content);
        assert_eq!(stored.id, ArtifactId::variant(&SessionId::new("ABC"), &ToolCallId::new("Call"), content));
        assert_eq!(store.recall(&stored.id.into()).unwrap(), content);
    }
    // The plain id now finds what is its own.
    assert_ne!(store.recall(&upper.into()).unwrap(), b"");
}

/// Mechanism 43: a 1.5 KB tool call id was silently skipped.
#[test]
fn mechanism_43_a_call_id_of_1500_bytes_is_stored() {
    on_every_store(|store| {
        let raw = "call/".repeat(300);
        for content in [&b"one"[..], b"two"] {
            let stored = put(store, &raw, &raw, content);
            assert_eq!(stored.meta.call, raw);
            assert_eq!(store.recall(&stored.id.to_string().parse().unwrap()).unwrap(), content);
        }
    });
}

/// Mechanism 50: path traversal through an id.
#[test]
fn mechanism_50_hostile_raw_ids_stay_inside() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("root");
    let store = Store::local(&root);
    for raw in ["../../x", "/etc/x", "..", ".", "", "a\0b", "C:\\x", "~/x", "a/../../../x"] {
        let stored = put(&store, raw, raw, raw.as_bytes());
        assert_eq!(store.recall(&stored.id.into()).unwrap(), raw.as_bytes());
    }
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["root"]);
    assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
}

#[test]
fn a_record_of_a_newer_version_is_named_as_such() {
    let store = Store::memory();
    let id: ArtifactId = "s/c".parse().unwrap();
    store.backend().create(&Record::Text(id.clone()).key(), &[b"x"]).unwrap();
    store.backend().create(&Record::Meta(id.clone()).key(), &[br#"{"form":2,"everything":"else"}"#]).unwrap();
    let error = store.recall(&id.into()).unwrap_err();
    insta::assert_snapshot!(
        error,
        @"results/s/c.json was written by a newer version of plimsoll (form 2, this one reads up to 1); update plimsoll"
    );
}

#[test]
fn a_record_of_a_newer_version_stands_in_no_other_ones_way() {
    on_every_store(|store| {
        let old = put(store, "s", "old", b"content");
        let newer: ArtifactId = "s/newer".parse().unwrap();
        store.backend().create(&Record::Text(newer.clone()).key(), &[b"x"]).unwrap();
        store.backend().create(&Record::Meta(newer.clone()).key(), &[br#"{"form":7}"#]).unwrap();
        assert_eq!(store.recall(&old.id.into()).unwrap(), b"content");
        assert!(matches!(store.recall(&newer.clone().into()), Err(StoreError::Newer { found: 7, .. })));
        // Nor is it taken for ours by a writer.
        let (session, call) = (SessionId::new("s"), ToolCallId::new("newer"));
        let refused = store.put_result(&result(&session, &call, b"x"), |_, _| None);
        assert!(matches!(refused, Err(StoreError::Newer { .. })));
    });
}

fn stream(store: &Store, call: &str, pieces: &[&[u8]], quota: u64) -> StoredResult {
    let (session, call) = (SessionId::new("s"), ToolCallId::new(call));
    let mut draft = store.begin_result(&result(&session, &call, b""), quota).unwrap();
    for piece in pieces {
        draft.write(piece).unwrap();
    }
    draft.finish(Some("log"), |id, _| Some(format!("[{id}]"))).unwrap()
}

#[test]
fn a_stream_is_stored_as_the_same_content_at_once_would_be() {
    let large: Vec<u8> =
        (0..5_300_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0]).collect();
    on_every_store(|store| {
        for (call, content) in [("empty", &b""[..]), ("small", b"one\ntwo"), ("large", &large)] {
            for step in [1_000_003, 4096, 8 << 20] {
                let pieces: Vec<&[u8]> = content.chunks(step).collect();
                let streamed = stream(store, call, &pieces, u64::MAX);
                let at_once = put(store, "s", call, content);
                assert_eq!((&streamed.id, &streamed.meta, at_once.first), (&at_once.id, &at_once.meta, false));
                assert_eq!(streamed.id.to_string(), format!("s/{call}"));
                assert_eq!(store.recall(&streamed.id.clone().into()).unwrap(), content);
            }
            let mut other = content.to_vec();
            other.push(b'!');
            let second = stream(store, call, &[&other], u64::MAX);
            assert_eq!(second.id, ArtifactId::variant(&SessionId::new("s"), &ToolCallId::new(call), &other));
            assert_eq!(stream(store, call, &[&other], u64::MAX), StoredResult { first: false, ..second });
        }
        assert!(store.verify(None).is_sound());
    });
}

#[test]
fn a_stream_that_ends_early_leaves_nothing() {
    on_every_store(|store| {
        let (session, call) = (SessionId::new("s"), ToolCallId::new("c"));
        let mut draft = store.begin_result(&result(&session, &call, b""), u64::MAX).unwrap();
        draft.write(&vec![7; 3 << 20]).unwrap();
        drop(draft);
        assert!(store.inventory().unwrap().artifacts().is_empty());
    });
}

/// Mechanism 41: silent discard at 1 MiB. Here the first bytes are kept, and everyone is told.
#[test]
fn mechanism_41_over_the_quota_the_first_bytes_are_kept_and_that_is_said() {
    on_every_store(|store| {
        let store = store.clone().with_quotas(Quotas { max_artifact: 10, ..Quotas::default() });
        for (call, content) in [("at", &b"0123456789"[..]), ("over", b"0123456789a"), ("over", b"0123456789b")] {
            for stored in [put(&store, "s", call, content), stream(&store, call, &[content], 10)] {
                assert_eq!(store.recall(&stored.id.into()).unwrap(), b"0123456789");
                let (saved, whole) = match content.len() {
                    10 => (Saved::Whole, None),
                    _ => (Saved::First(Bytes(10)), Some(11)),
                };
                assert_eq!((stored.meta.saved(), stored.meta.bytes), (saved, 10));
                assert_eq!(stored.meta.whole.as_ref().map(|whole| whole.bytes), whole);
                if let Some(whole) = stored.meta.whole {
                    assert_eq!(whole.blake3, blake3::hash(content).to_hex().as_str());
                }
            }
        }
        // Those that differ only behind what is kept are two artifacts: each has a frozen text of its own.
        let ids: Vec<ArtifactId> = [b"0123456789a", b"0123456789b"].map(|c| put(&store, "s", "over", c).id).to_vec();
        assert_ne!(ids[0], ids[1]);
        let long = vec![b'\n'; 3 << 20];
        let stored = stream(&store, "long", &[&long], (2 << 20) + 5);
        assert_eq!((stored.meta.bytes, stored.meta.lines), ((2 << 20) + 5, (2 << 20) + 5));
        assert!(store.verify(None).is_sound());
    });
}

#[test]
fn the_frozen_text_is_shown_wherever_it_fits_and_made_anew_only_if_it_is_gone() {
    on_every_store(|store| {
        let (session, call) = (SessionId::new("s"), ToolCallId::new("c"));
        let text = |cap: usize, version: &str| {
            let cut = |id: &ArtifactId| format!("{version} {id}").chars().take(cap).collect::<String>();
            let stored = store.put_result(&result(&session, &call, b"content"), |id, _| Some(cut(id))).unwrap();
            stored.frozen(plimsoll::Bytes::from(cap)).map_or_else(|| cut(&stored.id), str::to_owned)
        };
        assert_eq!(text(6, "v1"), "v1 s/c");
        assert_eq!(text(100, "v2, wider"), "v1 s/c");
        assert_eq!(text(4, "v2"), "v2 s");
        assert_eq!(text(6, "v2"), "v1 s/c");
        store.backend().delete(&Record::Meta("s/c".parse().unwrap()).key()).unwrap();
        assert_eq!(text(6, "v2"), "v2 s/c");
        assert_eq!(text(6, "v3"), "v2 s/c");
    });
}

#[test]
fn a_damaged_record_loses_neither_its_text_nor_its_call() {
    on_every_store(|store| {
        let (session, call) = (SessionId::new("s"), ToolCallId::new("c"));
        let first = store.put_result(&result(&session, &call, b"content"), |_, _| None).unwrap();
        let key = Record::Meta(first.id.clone()).key();
        store.backend().delete(&key).unwrap();
        store.backend().create(&key, &[b"{torn"]).unwrap();
        assert_eq!(store.recall(&first.id.clone().into()).unwrap(), b"content");
        let again = store.put_result(&result(&session, &call, b"content"), |_, _| None).unwrap();
        assert_ne!(again.id, first.id);
        assert_eq!(store.recall(&again.id.into()).unwrap(), b"content");
        let mut draft = store.begin_result(&result(&session, &call, b""), u64::MAX).unwrap();
        draft.write(b"content").unwrap();
        assert_ne!(draft.finish(None, |_, _| None).unwrap().id, first.id);
        assert!(!store.verify(None).is_sound());
    });
}

#[test]
fn the_record_reads_as_it_was_first_written() {
    let store = Store::memory();
    let (session, call) = (SessionId::new("s/1"), ToolCallId::new("c"));
    let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_234);
    let stored = store.put_result(&NewResult { now, ..result(&session, &call, b"x\n") }, |_, _| None).unwrap();
    let json = store.backend().get(&Record::Meta(stored.id).key()).unwrap().unwrap();
    insta::assert_snapshot!(
        String::from_utf8(json).unwrap(),
        @r#"{"form":1,"session":"s/1","call":"c","tool":"Bash","bytes":2,"lines":1,"blake3":"44c77418e27569db9213c6b43d9049ecffb5496f7d0e3d4254bb68410adecc3e","created":1234}"#
    );
}
