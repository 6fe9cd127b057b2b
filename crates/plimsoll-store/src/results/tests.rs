//! Tests of storing tool results.

use std::fs;

use super::*;

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
