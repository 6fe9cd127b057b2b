//! Tests of the local store on Unix: privacy, links, crashes, full disks, many writers.

#![allow(clippy::single_range_in_vec_init, reason = "one removed range is the usual case")]

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use plimsoll::id::{ArtifactId, EpochId, Folder, Key, Record, SessionId, ToolCallId};

use super::*;
use crate::backend::{Backend, Created};
use crate::error::StoreError;
use crate::{Compaction, NewResult, Store, conformance};

fn text(session: &str, call: &str) -> Key {
    Record::Text(ArtifactId::new(&SessionId::new(session), &ToolCallId::new(call))).key()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o777
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[test]
fn it_conforms() {
    let root = tempfile::tempdir().unwrap();
    let mut stores = 0;
    conformance::run(|| {
        stores += 1;
        Arc::new(LocalStore::new(root.path().join(stores.to_string()).join("deep/er")))
    })
    .unwrap();
}

/// Mechanism 49: files world-readable.
#[test]
fn mechanism_49_everything_written_is_private() {
    let root = tempfile::tempdir().unwrap();
    let store = LocalStore::new(root.path().join("new/store"));
    store.create(&text("s", "c"), &[b"secret"]).unwrap();
    for directory in ["new", "new/store", "new/store/results", "new/store/results/s"] {
        assert_eq!(mode(&root.path().join(directory)), 0o700, "{directory}");
    }
    assert_eq!(mode(&root.path().join("new/store/results/s/c.txt")), 0o600);
}

#[test]
fn looser_permissions_from_before_are_tightened_before_writing() {
    let root = tempfile::tempdir().unwrap();
    let session = root.path().join("results/s");
    fs::create_dir_all(&session).unwrap();
    fs::write(session.join("old.txt"), "old").unwrap();
    for (path, mode) in [(root.path(), 0o755), (&root.path().join("results"), 0o777), (&session, 0o755)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(session.join("old.txt"), Permissions::from_mode(0o644)).unwrap();
    let store = LocalStore::new(root.path());
    // Also when the write itself cannot happen, because the name is taken.
    assert_eq!(store.create(&text("s", "old"), &[b"new"]).unwrap(), Created::Different);
    for directory in ["", "results", "results/s"] {
        assert_eq!(mode(&root.path().join(directory)), 0o700, "`{directory}`");
    }
    assert_eq!(mode(&session.join("old.txt")), 0o600);
}

#[test]
fn a_root_with_other_things_in_it_keeps_its_permissions() {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
    fs::write(root.path().join("thesis.txt"), "the user's").unwrap();
    LocalStore::new(root.path()).create(&text("s", "c"), &[b"x"]).unwrap();
    assert_eq!((mode(root.path()), mode(&root.path().join("results"))), (0o755, 0o700));
}

/// Mechanism 51: a symlinked session directory was followed.
#[test]
fn mechanism_51_symbolic_links_are_refused_at_every_level() {
    for level in ["results", "results/s", "results/s/c.txt"] {
        for dangling in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let outside = tempfile::tempdir().unwrap();
            let (link, target) = (root.path().join(level), outside.path().join("target"));
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            match (dangling, level.contains('.')) {
                (true, _) => {}
                (false, true) => fs::write(&target, "outside").unwrap(),
                (false, false) => {
                    fs::create_dir_all(target.join("s")).unwrap();
                    fs::write(target.join("s/c.txt"), "outside").unwrap();
                    fs::write(target.join("c.txt"), "outside").unwrap();
                }
            }
            symlink(&target, &link).unwrap();
            let before = files_below(outside.path());
            let store = LocalStore::new(root.path());
            let key = text("s", "c");
            let refusals = [
                store.create(&key, &[b"inside"]).map(drop).unwrap_err(),
                store.get(&key).map(drop).unwrap_err(),
                store.get_ranges(&key, &[0..1]).map(drop).unwrap_err(),
                store.head(&key).map(drop).unwrap_err(),
                store.open(&key, 0).map(drop).unwrap_err(),
                store.delete(&key).map(drop).unwrap_err(),
                store.begin(&key).and_then(|mut draft| draft.publish(&key)).map(drop).unwrap_err(),
                if level.contains('.') {
                    store.delete(&key).map(drop).unwrap_err()
                } else {
                    store.remove_folder(key.folder(), SystemTime::now()).map(drop).unwrap_err()
                },
            ];
            for error in refusals {
                let StoreError::Symlink { path } = &error else { panic!("{level}: {error}") };
                assert_eq!(path, &link);
            }
            assert!(
                store
                    .list(&Folder::Results)
                    .map_or(true, |listing| listing.sessions.is_empty() || level.contains('.'))
            );
            let listed = store.list(&Folder::ResultsOf(SessionId::new("s")));
            assert!(listed.map_or(true, |listing| listing.records.is_empty()), "{level}");
            store.sweep(SystemTime::now() + Duration::from_secs(3600)).map(drop).unwrap_or_default();
            assert_eq!(files_below(outside.path()), before);
            assert!(link.is_symlink(), "{level}");
        }
    }
}

#[test]
fn a_folder_with_something_foreign_in_it_stays() {
    let root = tempfile::tempdir().unwrap();
    let store = LocalStore::new(root.path());
    let (key, later) = (text("s", "c"), SystemTime::now() + Duration::from_secs(3600));
    store.create(&key, &[b"x"]).unwrap();
    store.delete(&key).unwrap();
    let (stale, foreign) = (root.path().join("results/s/.tmp-1-2-3"), root.path().join("results/s/notes.md"));
    fs::write(&stale, "half").unwrap();
    fs::write(&foreign, "foreign").unwrap();
    assert!(!store.remove_folder(key.folder(), SystemTime::now() - Duration::from_secs(3600)).unwrap());
    assert!(stale.exists(), "its writer may be alive");
    assert!(!store.remove_folder(key.folder(), later).unwrap());
    assert!(foreign.exists() && !stale.exists());
    fs::remove_file(&foreign).unwrap();
    assert!(store.remove_folder(key.folder(), later).unwrap());
    assert!(!root.path().join("results/s").exists() && root.path().join("results").exists());
}

/// A stream that takes longer than a session stays in use keeps its session in use.
#[test]
fn what_is_being_written_counts_as_a_change() {
    let root = tempfile::tempdir().unwrap();
    let store = LocalStore::new(root.path());
    let key = text("s", "c");
    let mut draft = store.begin(&key).unwrap();
    let folder = root.path().join("results/s");
    let old = SystemTime::now() - Duration::from_secs(86_400);
    for path in [files_below(&folder).first().unwrap(), &folder] {
        fs::File::open(path).unwrap().set_times(fs::FileTimes::new().set_modified(old)).unwrap();
    }
    assert_eq!(store.list(key.folder()).unwrap().modified, Some(old));
    draft.write(b"more").unwrap();
    assert!(store.list(key.folder()).unwrap().modified.unwrap() > old + Duration::from_secs(3600));
}

#[test]
fn a_root_reached_by_a_symbolic_link_is_fine() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("real")).unwrap();
    symlink(place.path().join("real"), place.path().join("link")).unwrap();
    let store = LocalStore::new(place.path().join("link"));
    assert_eq!(store.create(&text("s", "c"), &[b"x"]).unwrap(), Created::New);
    assert_eq!(store.get(&text("s", "c")).unwrap(), Some(b"x".to_vec()));
}

#[test]
fn what_is_neither_directory_nor_file_is_refused() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("results/s/c.txt")).unwrap();
    fs::write(root.path().join("epochs"), "").unwrap();
    let pipe = root.path().join("results/s/pipe.txt");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let store = LocalStore::new(root.path());
    for key in [text("s", "c"), text("s", "pipe"), Record::Body("s/~0123456789ab".parse().unwrap()).key()] {
        assert!(matches!(store.get(&key), Err(StoreError::Foreign { .. })), "{key}");
        assert!(matches!(store.create(&key, &[b"x"]), Err(StoreError::Foreign { .. })), "{key}");
    }
    let error = LocalStore::new(root.path().join("epochs")).create(&text("s", "c"), &[b"x"]).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
}

#[test]
fn foreign_files_are_not_listed() {
    let root = tempfile::tempdir().unwrap();
    let store = LocalStore::new(root.path());
    store.create(&text("s", "c"), &[b"x"]).unwrap();
    for foreign in ["results/s/notes.md", "results/s/~0123456789ab.txt", "results/s/.tmp-1", "results/stray.txt"] {
        fs::write(root.path().join(foreign), "foreign").unwrap();
    }
    fs::create_dir(root.path().join("results/not a session")).unwrap();
    let listing = store.list(&Folder::ResultsOf(SessionId::new("s"))).unwrap();
    assert_eq!(listing.records.iter().map(|entry| entry.key.to_string()).collect::<Vec<_>>(), ["results/s/c.txt"]);
    let top = store.list(&Folder::Results).unwrap();
    assert_eq!((top.records.len(), top.sessions), (0, vec![SessionId::new("s")]));
}

#[test]
fn stale_temporary_files_are_swept_by_age() {
    let root = tempfile::tempdir().unwrap();
    let store = LocalStore::new(root.path());
    store.create(&text("s", "c"), &[b"x"]).unwrap();
    let stale = root.path().join("results/s/.tmp-1-2-3");
    fs::write(&stale, "half").unwrap();
    let now = SystemTime::now();
    assert_eq!(store.sweep(now - Duration::from_secs(3600)).unwrap(), 0);
    assert_eq!(store.sweep(now + Duration::from_secs(3600)).unwrap(), 1);
    assert!(!stale.exists());
    assert_eq!(store.get(&text("s", "c")).unwrap(), Some(b"x".to_vec()));
}

#[test]
fn failures_of_the_system_say_what_to_do() {
    let cases = [
        (rustix::io::Errno::NOSPC, "no room to write 3.0 KiB at /store/x: "),
        (rustix::io::Errno::DQUOT, "no room to write 3.0 KiB at /store/x: "),
        (rustix::io::Errno::ACCESS, "no permission to write /store/x: "),
        (rustix::io::Errno::ROFS, "no permission to write /store/x: "),
    ];
    for (errno, start) in cases {
        let error = StoreError::from_io("write", Path::new("/store/x"), 3072, errno.into()).to_string();
        assert!(error.starts_with(start) && error.contains("--store"), "{error}");
    }
}

/// Runs one test of this binary as a process of its own, with the store's root in its environment.
fn child(test: &str, root: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", test]).env("PLIMSOLL_TEST_ROOT", root);
    command
}

fn child_root() -> PathBuf {
    std::env::var_os("PLIMSOLL_TEST_ROOT").expect("runs in a child process only").into()
}

/// Content that names its call and cannot be mistaken for a part of itself.
fn content(call: &str, size: usize) -> Vec<u8> {
    format!("{call}:").into_bytes().into_iter().cycle().take(size).collect()
}

/// Written in small parts, so that a write takes long enough to be killed in its middle.
const KILLED_SIZE: usize = 2_000_000;

#[test]
#[ignore = "writes until it is killed; run by the test below"]
fn child_that_writes_until_it_is_killed() {
    let store = Store::local(child_root());
    let mut document = Vec::new();
    for number in 0_u64.. {
        let call = format!("{}-{number}", std::process::id());
        let whole = content(&call, KILLED_SIZE);
        let parts: Vec<&[u8]> = whole.chunks(512).collect();
        store.backend().create(&text("s", &call), &parts).unwrap();
        println!("stored {call}");
        let (session, id) = (SessionId::new("streams"), ToolCallId::new(&call));
        let result = NewResult {
            session: &session,
            call: &id,
            content: b"",
            tool: None,
            arguments: None,
            kind: None,
            now: SystemTime::now(),
        };
        let mut draft = store.begin_result(&result, u64::MAX).unwrap();
        whole.chunks(8192).for_each(|piece| draft.write(piece).unwrap());
        draft.finish(None, |id, _| Some(format!("[{id}]"))).unwrap();
        println!("streamed {call}");
        document.extend_from_slice(&content(&call, 70_000));
        document.extend_from_slice(blake3::hash(&document).to_hex().as_bytes());
        let epoch = EpochId::new(&SessionId::new("s"), blake3::hash(call.as_bytes()).as_bytes());
        let record = format!("{{\"size\":{}}}", document.len());
        let compaction = Compaction {
            epoch: &epoch,
            document: &document,
            removed: &[0..10],
            artifacts: &[],
            record: record.as_bytes(),
            now: SystemTime::now(),
        };
        store.archive(&compaction).unwrap();
        println!("archived {epoch}");
    }
}

/// Mechanism 56: a restart lost everything; and kill -9 at any moment leaves whole records or none.
#[test]
fn mechanism_56_a_writer_killed_at_any_moment_leaves_whole_records_and_no_lock() {
    let root = tempfile::tempdir().unwrap();
    let mut reported = HashSet::new();
    for round in 0..32_u64 {
        let mut writer = child("local::tests::child_that_writes_until_it_is_killed", root.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(std::io::Result::ok);
        // So that on a slow machine, too, each kind of write is met.
        let awaited = match round % 3 {
            0 => "stored ",
            1 => "streamed ",
            _ => "archived ",
        };
        let first = lines.by_ref().find(|line| line.starts_with(awaited));
        reported.extend(first);
        std::thread::sleep(Duration::from_micros(round * 7_919 % 40_000));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let kinds = ["stored ", "streamed ", "archived "];
        reported.extend(lines.filter(|line| kinds.iter().any(|kind| line.starts_with(kind))));
    }

    let store = Store::local(root.path());
    let session = SessionId::new("s");
    for line in &reported {
        let (kind, id) = line.split_once(' ').unwrap();
        let key = match kind {
            "stored" => text("s", id),
            "streamed" => text("streams", id),
            _ => Record::Epoch(id.parse().unwrap()).key(),
        };
        assert!(store.backend().head(&key).unwrap().is_some(), "{line}, and is gone");
    }
    assert!(reported.len() >= 32);
    for entry in store.backend().list(&Folder::ResultsOf(session.clone())).unwrap().records {
        let Some(Record::Text(id)) = entry.key.record() else { panic!("{}", entry.key) };
        assert!(
            store.backend().get(&entry.key).unwrap() == Some(content(id.name(), KILLED_SIZE)),
            "{id} is not whole"
        );
    }
    let mut streams = 0;
    for entry in store.backend().list(&Folder::ResultsOf(SessionId::new("streams"))).unwrap().records {
        match entry.key.record() {
            Some(Record::Text(id)) => {
                let whole = store.backend().get(&entry.key).unwrap();
                assert!(whole == Some(content(id.name(), KILLED_SIZE)), "{id} is not whole");
                streams += 1;
            }
            // Never metadata without its text.
            Some(Record::Meta(id)) => {
                assert_eq!(store.result_meta(&id).unwrap().unwrap().capped, Some(format!("[{id}]")));
                assert!(store.backend().head(&Record::Text(id).key()).unwrap().is_some());
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(streams > 0);
    assert!(store.verify(None).is_sound());
    let mut epochs = 0;
    for entry in store.backend().list(&Folder::EpochsOf(session)).unwrap().records {
        match entry.key.record() {
            // Never a record without its body.
            Some(Record::Epoch(epoch)) => {
                let document = store.document(&epoch).unwrap();
                let record = store.epoch_record(&epoch).unwrap().unwrap();
                assert_eq!(record, format!("{{\"size\":{}}}", document.size()).into_bytes());
                assert!(document.pieces().all(|piece| piece.is_ok()), "{epoch}");
                epochs += 1;
            }
            Some(Record::Body(epoch)) => assert!(store.document(&epoch).unwrap().pieces().all(|piece| piece.is_ok())),
            other => panic!("{other:?}"),
        }
    }
    assert!(epochs > 0);
    // The next writer needs nobody's help, and what was left is swept.
    store.backend().create(&text("s", "after"), &[b"x"]).unwrap();
    let swept = store.backend().sweep(SystemTime::now() + Duration::from_secs(60)).unwrap();
    assert!(swept > 0, "no writer was killed in the middle of a write");
    assert!(
        files_below(root.path()).iter().all(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'))
    );
}

#[test]
#[ignore = "one of sixteen processes; run by the test below"]
fn child_that_writes_to_a_shared_session() {
    let store = LocalStore::new(child_root());
    for number in 0..10 {
        let call = format!("{}-{number}", std::process::id());
        assert_eq!(store.create(&text("shared", &call), &[&content(&call, 20_000)]).unwrap(), Created::New);
        if store.create(&text("shared", &format!("contended-{number}")), &[call.as_bytes()]).unwrap() == Created::New
        {
            println!("\nwon {number} {call}");
        }
    }
}

#[test]
fn sixteen_processes_writing_to_one_session_lose_nothing() {
    let root = tempfile::tempdir().unwrap();
    let writers: Vec<_> = (0..16)
        .map(|_| {
            child("local::tests::child_that_writes_to_a_shared_session", root.path())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let store = LocalStore::new(root.path());
    let mut won = HashSet::new();
    for writer in writers {
        let (id, output) = (writer.id(), writer.wait_with_output().unwrap());
        assert!(output.status.success());
        for number in 0..10 {
            let call = format!("{id}-{number}");
            assert!(store.get(&text("shared", &call)).unwrap() == Some(content(&call, 20_000)));
        }
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let Some((number, call)) = line.strip_prefix("won ").and_then(|won| won.split_once(' ')) else {
                continue;
            };
            assert!(won.insert(number.to_owned()), "two processes won {number}");
            let contended = store.get(&text("shared", &format!("contended-{number}"))).unwrap();
            assert_eq!(contended, Some(call.as_bytes().to_vec()));
        }
    }
    assert_eq!(won.len(), 10);
    assert_eq!(files_below(root.path()).len(), 16 * 10 + 10);
}

#[test]
#[ignore = "runs with a limit on the size of files; run by the test below"]
fn child_that_has_no_room() {
    let root = child_root();
    let store = LocalStore::new(&root);
    let error = store.create(&text("s", "large"), &[&vec![7; 1 << 20]]).unwrap_err();
    let StoreError::Full { path, .. } = &error else { panic!("{error}") };
    assert!(path.ends_with("results/s/large.txt"));
    assert_eq!(store.get(&text("s", "large")).unwrap(), None);
    let mut draft = store.begin(&text("s", "stream")).unwrap();
    let error = (0..1000).find_map(|_| draft.write(&[7; 1000]).err()).unwrap();
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    drop(draft);
    assert_eq!(store.create(&text("s", "small"), &[b"x"]).unwrap(), Created::New);
    assert_eq!(files_below(&root).len(), 1);
}

/// The limit cuts a write in the middle, as a full disk does; the signal that comes with it is ignored.
#[test]
fn a_write_that_finds_no_room_leaves_nothing_and_says_so() {
    let root = tempfile::tempdir().unwrap();
    let inner = child("local::tests::child_that_has_no_room", root.path());
    // Its output goes into a pipe: into a file, the limit would cut it too.
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("PLIMSOLL_TEST_ROOT", root.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(root.path().join("results/s/small.txt").exists(), "the child did not run its test");
}
