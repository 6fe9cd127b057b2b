//! Tests of verifying.

use std::fs;
use std::time::SystemTime;

use plimsoll::id::{EpochId, ToolCallId};

use super::*;
use crate::{Compaction, NewResult};

fn filled(store: &Store) {
    for session in ["s", "t"] {
        let session = SessionId::new(session);
        for call in ["a", "b", "c"] {
            let call = ToolCallId::new(call);
            let content = format!("content of {call}").repeat(100_000);
            let result = NewResult {
                session: &session,
                call: &call,
                content: content.as_bytes(),
                tool: None,
                arguments: None,
                kind: None,
                now: SystemTime::now(),
            };
            store.put_result(&result, |_, _| None).unwrap();
        }
        let epoch = EpochId::new(&session, &[1; 32]);
        let document = b"a document".repeat(10_000);
        let now = SystemTime::now();
        store
            .archive(&Compaction {
                epoch: &epoch,
                document: &document,
                removed: &[],
                artifacts: &[],
                record: b"{}",
                now,
            })
            .unwrap();
    }
}

#[test]
fn everything_as_written_is_sound() {
    let root = tempfile::tempdir().unwrap();
    for store in [Store::memory(), Store::local(root.path())] {
        filled(&store);
        let verified = store.verify(None);
        assert!(verified.is_sound() && verified.without_hash.is_empty());
        assert_eq!((verified.artifacts, verified.documents), (6, 2));
        assert_eq!(verified.bytes.0, 6 * 1_200_000 + 200_000);
        assert_eq!(store.verify(Some(&SessionId::new("t"))).artifacts, 3);
        assert_eq!(store.verify(Some(&SessionId::new("absent"))).artifacts, 0);
    }
}

#[test]
fn every_kind_of_damage_is_named_by_its_id() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    filled(&store);
    let path = |name: &str| root.path().join(name);
    let mut changed = fs::read(path("results/s/a.txt")).unwrap();
    changed[500_000] ^= 1;
    fs::write(path("results/s/a.txt"), &changed).unwrap();
    fs::write(path("results/s/b.txt"), &changed[..1000]).unwrap();
    fs::remove_file(path("results/s/c.txt")).unwrap();
    fs::write(path("results/t/a.json"), "{").unwrap();
    fs::write(path("results/t/b.json"), r#"{"form":9}"#).unwrap();
    fs::remove_file(path("results/t/c.json")).unwrap();
    let body = path("epochs/t/~010101010101.body");
    let mut bytes = fs::read(&body).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&body, bytes).unwrap();

    let verified = store.verify(None);
    let named: Vec<String> = verified.damaged.iter().map(|(id, _)| id.to_string()).collect();
    assert_eq!(named, ["s/a", "s/b", "s/c", "t/a", "t/b", "t/~010101010101"]);
    assert!(verified.damaged.iter().any(|(_, error)| matches!(error, StoreError::Newer { found: 9, .. })));
    assert_eq!(verified.without_hash, ["t/c".parse().unwrap()]);
    assert_eq!((verified.artifacts, verified.documents), (0, 1));
    assert!(!verified.is_sound());
}

#[cfg(unix)]
#[test]
fn links_and_pipes_under_names_of_ours_are_named() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    filled(&store);
    assert!(store.verify(None).is_sound() && store.inventory().unwrap().refused.is_empty());
    let link = |to: &str| std::os::unix::fs::symlink("/nonexistent", root.path().join(to)).unwrap();
    link("results/s/linked.txt");
    link("results/linked");
    link("results/s/a name of nobody's");
    assert!(
        std::process::Command::new("mkfifo").arg(root.path().join("results/t/pipe.json")).status().unwrap().success()
    );
    fs::create_dir(root.path().join("epochs/t/folder.body")).ok();
    let refused = store.inventory().unwrap().refused;
    let named: Vec<String> = refused
        .iter()
        .map(|refused| StoreError::from(refused).to_string().replace(root.path().to_str().unwrap(), ""))
        .map(|text| text.split([':', ';']).next().unwrap().to_owned())
        .collect();
    for expected in [
        "/results/linked is a symbolic link, and a store follows none",
        "/results/s/linked.txt is a symbolic link, and a store follows none",
        "/results/t/pipe.json is not a regular file",
    ] {
        assert!(named.iter().any(|text| text == expected), "{expected} in {named:?}");
    }
    assert!(!named.iter().any(|text| text.contains("nobody")));
    let verified = store.verify(None);
    assert!(!verified.is_sound() && verified.damaged.is_empty());
    assert_eq!((verified.errors.len(), verified.artifacts), (refused.len(), 6));
    assert_eq!(store.verify(Some(&SessionId::new("t"))).errors.len(), refused.len() - 2);
}
