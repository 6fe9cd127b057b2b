//! Tests of pruning: what is chosen, and what is really removed.

use std::fs::{self, File, FileTimes};
use std::path::Path;

use plimsoll::id::{Record, ToolCallId};
use proptest::prelude::*;

use super::*;
use crate::inventory::{ArtifactUse, BodyNames, Tombstone};
use crate::{Compaction, NewResult, Store, StoreError};

const MINUTE: Duration = Duration::from_secs(60);

fn at(days: u32) -> SystemTime {
    SystemTime::UNIX_EPOCH + 20_000 * DAY + days * DAY
}

fn held(session: &str, bytes: u64, changed: SystemTime) -> SessionUse {
    let id = format!("{session}/c").parse().unwrap();
    let artifacts = vec![ArtifactUse { id, bytes, changed }];
    SessionUse {
        session: SessionId::new(session),
        bytes,
        temporary: 0,
        foreign: 0,
        artifacts,
        changed: Some(changed),
    }
}

fn chosen(sessions: &[SessionUse], policy: &Policy, now: SystemTime) -> Vec<(String, Why)> {
    let inventory = Inventory { sessions: sessions.to_vec(), ..Inventory::default() };
    let selection = select(&inventory, policy, now);
    selection.sessions.into_iter().map(|chosen| (chosen.session.to_string(), chosen.why)).collect()
}

#[test]
fn by_age_everything_older_than_thirty_days_goes() {
    let now = at(100);
    let sessions = [
        held("just-within", 1, now - 30 * DAY),
        held("older", 1, now - 30 * DAY - Duration::from_millis(1)),
        held("future", 1, now + 1000 * DAY),
        held("kept", 1, at(0)),
        SessionUse { changed: None, ..held("timeless", 1, now) },
    ];
    let policy = Policy { keep: vec![SessionId::new("kept")], ..Policy::default() };
    assert_eq!(chosen(&sessions, &policy, now), [("older".to_owned(), Why::Age)]);
}

#[test]
fn by_size_the_oldest_idle_sessions_go_until_the_rest_fits() {
    let now = at(100);
    let sessions = [
        held("kept", 50, now - 20 * DAY),
        held("active", 50, now - 15 * MINUTE),
        held("future", 50, now + DAY),
        held("idle", 30, now - 15 * MINUTE - Duration::from_millis(1)),
        held("older", 20, now - 2 * DAY),
        held("oldest", 10, now - 3 * DAY),
    ];
    let with = |max_total| Policy { keep: vec![SessionId::new("kept")], max_total, ..Policy::default() };
    let names =
        |max_total| chosen(&sessions, &with(max_total), now).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(210), Vec::<String>::new());
    assert_eq!(names(209), ["oldest"]);
    assert_eq!(names(200), ["oldest"]);
    assert_eq!(names(199), ["oldest", "older"]);
    assert_eq!(names(151), ["oldest", "older", "idle"]);
    assert_eq!(names(0), ["oldest", "older", "idle"]);
    let inventory = Inventory { sessions: sessions.to_vec(), ..Inventory::default() };
    assert_eq!(select(&inventory, &with(100), now).over, 50);
}

#[test]
fn what_goes_by_age_counts_before_size_does() {
    let now = at(100);
    let sessions = [held("old", 100, at(0)), held("idle", 100, now - DAY)];
    let policy = Policy { max_total: 100, ..Policy::default() };
    assert_eq!(chosen(&sessions, &policy, now), [("old".to_owned(), Why::Age)]);
}

#[test]
fn an_idle_session_over_its_own_quota_loses_its_oldest_results() {
    let now = at(100);
    let artifacts: Vec<ArtifactUse> = (0..5_u64)
        .map(|n| ArtifactUse {
            id: format!("s/c{n}").parse().unwrap(),
            bytes: 10,
            changed: at(90 + u32::try_from(n).unwrap()),
        })
        .collect();
    let session = SessionUse { artifacts, ..held("s", 50, at(94)) };
    let inventory = Inventory { sessions: vec![session], ..Inventory::default() };
    let policy = Policy { max_session: 35, ..Policy::default() };
    let selection = select(&inventory, &policy, now);
    let gone: Vec<String> = selection.sessions[0].artifacts.iter().map(ToString::to_string).collect();
    assert_eq!(gone, ["s/c0", "s/c1"]);
    assert!(!selection.sessions[0].whole);
    // And if the store is over its quota as well, the rest goes too, counted once.
    let selection = select(&inventory, &Policy { max_total: 20, ..policy.clone() }, now);
    assert_eq!((selection.sessions.len(), selection.sessions[0].bytes, selection.over), (1, 50, 0));
    // One that is in use is not touched.
    assert!(select(&inventory, &policy, at(94)).sessions.is_empty());
    let kept = Policy { keep: vec![SessionId::new("s")], ..policy };
    assert!(select(&inventory, &kept, now).sessions.is_empty());
}

fn body(id: &EpochId, used: SystemTime, lenders: &[&EpochId], artifacts: &[&str]) -> BodyUse {
    let lenders = lenders.iter().map(|id| (*id).clone()).collect();
    let artifacts = artifacts.iter().map(|id| id.parse().unwrap()).collect();
    BodyUse { id: id.clone(), bytes: 1, used, names: Some(BodyNames { lenders, artifacts }) }
}

fn epochs<const N: usize>() -> [EpochId; N] {
    std::array::from_fn(|n| EpochId::new(&SessionId::new("s"), &[u8::try_from(n).unwrap(); 32]))
}

fn archive(bodies: Vec<BodyUse>, replays: Vec<(EpochId, u32)>) -> Inventory {
    let archives = vec![ArchiveUse { session: SessionId::new("s"), bytes: 0, bodies, replays }];
    Inventory { archives, ..Inventory::default() }
}

#[test]
fn bodies_expire_one_by_one_unless_one_that_stays_borrows_from_them() {
    let now = at(100);
    let [a, b, c, d, late] = epochs();
    let bodies = vec![
        body(&a, at(0), &[], &[]),
        body(&b, at(0), &[&a], &[]),
        body(&c, at(10), &[&b], &[]),
        body(&d, at(0), &[], &[]),
        body(&late, at(9), &[&d], &[]),
    ];
    let replays = vec![(c.clone(), 5), (c.clone(), 7), (d.clone(), 7), (late.clone(), 1)];
    let selection = select(&archive(bodies, replays), &Policy::default(), now);
    assert_eq!(selection.bodies, [d.clone(), late.clone()]);
    assert_eq!(selection.replays, [(c, 5), (d, 7), (late, 1)]);
}

#[test]
fn a_body_that_cannot_be_read_keeps_what_it_may_rely_on() {
    let now = at(100);
    let [a, b] = epochs();
    let unreadable = BodyUse { names: None, ..body(&b, now, &[], &[]) };
    let mut inventory = archive(vec![body(&a, at(0), &[], &[]), unreadable], Vec::new());
    inventory.sessions = vec![held("s", 5, at(0)), held("t", 5, at(0))];
    let selection = select(&inventory, &Policy::default(), now);
    assert!(selection.bodies.is_empty());
    assert_eq!(selection.sessions.iter().map(|chosen| chosen.session.as_str()).collect::<Vec<_>>(), ["t"]);
}

/// Mechanism 47: spills expired while the session still named them.
#[test]
fn mechanism_47_artifacts_that_a_live_epoch_names_stay() {
    let now = at(100);
    let [live, dead] = epochs();
    let mut inventory =
        archive(vec![body(&live, at(50), &[], &["s/c", "other/c"]), body(&dead, at(0), &[], &["t/c"])], Vec::new());
    let mut mixed = held("s", 5, at(0));
    mixed.artifacts.push(ArtifactUse { id: "s/unnamed".parse().unwrap(), bytes: 7, changed: at(0) });
    mixed.bytes = 12;
    inventory.sessions = vec![mixed, held("other", 5, at(0)), held("t", 5, at(0))];
    for policy in [Policy::default(), Policy { keep_session: 365 * DAY, max_total: 0, ..Policy::default() }] {
        let selection = select(&inventory, &policy, now);
        let gone: Vec<String> =
            selection.sessions.iter().flat_map(|chosen| &chosen.artifacts).map(ToString::to_string).collect();
        assert_eq!(gone, ["s/unnamed", "t/c"]);
        assert!(!selection.sessions[0].whole && selection.sessions[1].whole);
    }
}

#[test]
fn tombstones_stay_thirty_days() {
    let stone = |session: &str, days| Tombstone { session: SessionId::new(session), pruned: at(days) };
    let inventory =
        Inventory { tombstones: vec![stone("a", 69), stone("b", 70), stone("c", 200)], ..Inventory::default() };
    assert_eq!(select(&inventory, &Policy::default(), at(100)).tombstones, [SessionId::new("a")]);
}

proptest! {
    #[test]
    fn whatever_the_store_holds_the_rules_hold(
        sessions in proptest::collection::vec((0_u64..100, 0_u32..60, 0_u32..60), 0..20),
        max_total in 0_u64..1000,
        keep in 0_usize..20,
    ) {
        let now = at(100);
        let sessions: Vec<SessionUse> = sessions.iter().enumerate()
            .map(|(n, (bytes, days, minutes))| held(&format!("s{n}"), *bytes, now - *days * DAY + 10 * MINUTE - *minutes * MINUTE))
            .collect();
        let policy = Policy { keep: vec![SessionId::new(&format!("s{keep}"))], max_total, ..Policy::default() };
        let inventory = Inventory { sessions: sessions.clone(), ..Inventory::default() };
        let selection = select(&inventory, &policy, now);
        let gone: HashSet<&SessionId> = selection.sessions.iter().map(|chosen| &chosen.session).collect();
        prop_assert_eq!(gone.len(), selection.sessions.len());
        let left: u64 = sessions.iter().filter(|held| !gone.contains(&held.session)).map(|held| held.bytes).sum();
        prop_assert_eq!(selection.over, left.saturating_sub(max_total));
        for held in &sessions {
            let idle = idle(held.changed, now);
            let spared = policy.keep.contains(&held.session) || idle <= policy.in_use;
            if spared {
                prop_assert!(!gone.contains(&held.session));
            } else if idle > policy.keep_session {
                prop_assert!(gone.contains(&held.session));
            } else if !gone.contains(&held.session) && held.bytes > 0 {
                prop_assert!(left <= max_total);
            }
        }
        // Nothing younger goes by size before something older.
        let by_size: Vec<_> = selection.sessions.iter().filter(|chosen| chosen.why == Why::TotalQuota).map(|chosen| chosen.changed).collect();
        prop_assert!(by_size.is_sorted());
    }
}

fn put(store: &Store, session: &str, call: &str, content: &[u8]) -> ArtifactId {
    let (session, call) = (SessionId::new(session), ToolCallId::new(call));
    let now = SystemTime::now();
    let result = NewResult { session: &session, call: &call, content, tool: None, arguments: None, kind: None, now };
    store.put_result(&result, |_, _| None).unwrap().id
}

/// Sets the times of a directory and of all that is in it.
fn age(directory: &Path, time: SystemTime) {
    for entry in fs::read_dir(directory).unwrap() {
        let file = File::open(entry.unwrap().path()).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }
    File::open(directory).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

#[test]
fn pruning_removes_sessions_leaves_a_note_and_spares_the_rest() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let now = SystemTime::now();
    for session in ["old", "kept", "busy", "foreign"] {
        put(&store, session, "c", b"content");
        put(&store, session, "c", b"another");
        age(&root.path().join("results").join(session), now - 31 * DAY);
    }
    // A file in it is younger than the directory says.
    let busy = File::open(root.path().join("results/busy/c.txt")).unwrap();
    busy.set_times(FileTimes::new().set_modified(now - MINUTE)).unwrap();
    for (path, content) in [("results/foreign/notes.md", "the user's"), ("results/stray.txt", "x")] {
        fs::write(root.path().join(path), content).unwrap();
    }
    fs::create_dir(root.path().join("results/not a session")).unwrap();
    age(&root.path().join("results/foreign"), now - 31 * DAY);

    let policy = Policy { keep: vec![SessionId::new("kept")], ..Policy::default() };
    let plan = store.prune_dry_run(&policy, now);
    assert_eq!(plan.removed.sessions.len(), 2);
    assert_eq!(store.inventory().unwrap().artifacts().len(), 8);

    let pruned = store.prune(&policy, now).unwrap();
    assert_eq!((pruned.error(), pruned.removed.sessions.len(), pruned.freed), (None, 2, plan.freed));
    assert_eq!(pruned.left.artifacts().len(), 4);
    assert!(!root.path().join("results/old").exists());
    for stays in [
        "results/kept/c.txt",
        "results/busy/c.txt",
        "results/foreign/notes.md",
        "results/stray.txt",
        "results/not a session",
    ] {
        assert!(root.path().join(stays).exists(), "{stays}");
    }
    assert!(!root.path().join("results/foreign/c.txt").exists());
    let recall = |id: &str| store.recall(&id.parse().unwrap());
    assert!(matches!(recall("old/c"), Err(StoreError::Pruned { .. })));
    assert!(matches!(recall("never/c"), Err(StoreError::Unknown { .. })));
    assert_eq!(recall("busy/c").unwrap(), b"content");

    // The session comes back, and is pruned again: there is one note of it.
    put(&store, "old", "d", b"new");
    assert_eq!(recall("old/d").unwrap(), b"new");
    age(&root.path().join("results/old"), now - 31 * DAY);
    assert_eq!(store.prune(&policy, now).unwrap().removed.sessions.len(), 1);
    assert_eq!(fs::read_dir(root.path().join("pruned")).unwrap().count(), 2);
    // After thirty days the note goes.
    let later = store.prune(&policy, now + 31 * DAY).unwrap();
    assert_eq!(later.removed.tombstones.len(), 2);
    assert!(matches!(recall("old/c"), Err(StoreError::Unknown { .. })));
}

#[test]
fn a_missing_root_has_nothing_to_prune() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path().join("absent"));
    let pruned = store.prune(&Policy::default(), SystemTime::now()).unwrap();
    assert_eq!((pruned.removed, pruned.freed, pruned.errors.len()), (Selection::default(), 0, 0));
    assert!(!root.path().join("absent").exists());
}

/// Mechanism 46: 63 GB of old spills, since cleanup parsed times from ids. Here time comes from the file system alone.
#[test]
fn mechanism_46_ids_say_nothing_of_times() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let now = SystemTime::now();
    for session in ["2099-01-01", "1700000000", "~x", "plain"] {
        put(&store, session, "20990101T000000", b"content");
        age(&root.path().join("results").join(SessionId::new(session).as_str()), now - 31 * DAY);
    }
    put(&store, "1970-01-01", "0", b"content");
    assert_eq!(store.prune(&Policy::default(), now).unwrap().removed.sessions.len(), 4);
    assert_eq!(store.inventory().unwrap().artifacts().len(), 1);
}

/// A session that only stores again what it has is in use, too.
#[test]
fn storing_the_same_again_counts_as_use() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let now = SystemTime::now();
    put(&store, "s", "c", b"content");
    age(&root.path().join("results/s"), now - 31 * DAY);
    put(&store, "s", "c", b"content");
    assert!(store.prune(&Policy::default(), now).unwrap().removed.sessions.is_empty());
}

#[test]
fn links_are_not_followed_and_one_sessions_error_does_not_stop_the_others() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let now = SystemTime::now();
    fs::write(outside.path().join("c.txt"), "outside").unwrap();
    for session in ["a", "b", "z"] {
        put(&store, session, "c", b"content");
    }
    let link = root.path().join("results/b/link.txt");
    std::os::unix::fs::symlink(outside.path().join("c.txt"), &link).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("results/linked")).unwrap();
    for session in ["a", "b", "z"] {
        age(&root.path().join("results").join(session), now - 31 * DAY);
    }
    let pruned = store.prune(&Policy::default(), now + DAY).unwrap();
    assert_eq!(pruned.error(), None);
    assert!(link.is_symlink() && root.path().join("results/linked").is_symlink());
    assert_eq!(fs::read(outside.path().join("c.txt")).unwrap(), b"outside");
    assert!(!root.path().join("results/a").exists() && !root.path().join("results/z").exists());

    // A tombstone that cannot be written stops the removal of its session only.
    for session in ["a", "z"] {
        put(&store, session, "c", b"content");
        age(&root.path().join("results").join(session), now - 31 * DAY);
    }
    fs::remove_file(root.path().join("pruned/a.json")).unwrap();
    fs::create_dir(root.path().join("pruned/a.json")).unwrap();
    let pruned = store.prune(&Policy::default(), now).unwrap();
    assert_eq!(pruned.errors.len(), 1);
    assert!(pruned.error().unwrap().contains("pruned/a.json"));
    assert!(root.path().join("results/a/c.txt").exists() && !root.path().join("results/z").exists());
}

#[test]
fn the_archive_is_not_pruned_with_its_session() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let now = SystemTime::now();
    let named = put(&store, "s", "named", b"named");
    put(&store, "s", "other", b"other");
    let epoch = EpochId::new(&SessionId::new("s"), &[1; 32]);
    let compaction = Compaction {
        epoch: &epoch,
        document: b"document",
        removed: &[],
        artifacts: std::slice::from_ref(&named),
        record: b"{}",
        now,
    };
    store.archive(&compaction).unwrap();
    age(&root.path().join("results/s"), now - 31 * DAY);
    let pruned = store.prune(&Policy::default(), now).unwrap();
    assert_eq!(pruned.removed.sessions[0].artifacts.len(), 1);
    assert_eq!(store.recall(&named.clone().into()).unwrap(), b"named");
    assert!(matches!(store.recall(&"s/other".parse().unwrap()), Err(StoreError::Pruned { .. })));
    assert!(store.document(&epoch).is_ok());
    // Replayed, it lives on; ninety days later it goes, and with it what it named.
    store.mark_replayed(&epoch, now + 80 * DAY).unwrap();
    assert!(store.prune(&Policy::default(), now + 169 * DAY).unwrap().removed.bodies.is_empty());
    let pruned = store.prune(&Policy::default(), now + 172 * DAY).unwrap();
    assert_eq!(pruned.removed.bodies, std::slice::from_ref(&epoch));
    assert!(matches!(store.document(&epoch), Err(StoreError::Pruned { .. } | StoreError::Unknown { .. })));
    assert!(matches!(store.recall(&named.into()), Err(StoreError::Pruned { .. })));
    assert!(store.backend().head(&Record::Epoch(epoch).key()).unwrap().is_some());
}

#[test]
fn removing_a_session_takes_all_of_it_and_says_what() {
    let root = tempfile::tempdir().unwrap();
    for store in [Store::memory(), Store::local(root.path())] {
        let now = SystemTime::now();
        let session = SessionId::new("s");
        let id = put(&store, "s", "a", b"12345");
        put(&store, "s", "b", b"12345");
        put(&store, "t", "b", b"12345");
        let epoch = EpochId::new(&session, &[1; 32]);
        store
            .archive(&Compaction {
                epoch: &epoch,
                document: b"document",
                removed: &[],
                artifacts: &[],
                record: b"{}",
                now,
            })
            .unwrap();
        let removed = store.remove(&id).unwrap();
        assert_eq!(removed.artifacts, std::slice::from_ref(&id));
        assert!(removed.bytes > 5);
        assert!(matches!(store.remove(&id), Err(StoreError::Unknown { .. })));
        let removed = store.remove_session(&session, now).unwrap();
        assert_eq!((removed.artifacts.len(), removed.archived), (1, 2));
        assert_eq!(store.remove_session(&session, now).unwrap(), Removed::default());
        assert!(matches!(store.recall(&epoch.into()), Err(StoreError::Pruned { .. })));
        assert_eq!(store.inventory().unwrap().artifacts().len(), 1);
    }
}

/// As on a file system that ignores case: what stands under the name of `ABC` is of `abc`.
#[test]
fn an_id_that_differs_in_case_does_not_remove_anothers() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    put(&store, "abc", "c", b"content");
    fs::rename(root.path().join("results/abc"), root.path().join("results/ABC")).unwrap();
    assert!(matches!(store.remove(&"ABC/c".parse().unwrap()), Err(StoreError::Unknown { .. })));
    assert!(root.path().join("results/ABC/c.txt").exists());
    // What is damaged can be removed all the same.
    put(&store, "s", "c", b"content");
    fs::write(root.path().join("results/s/c.json"), "{").unwrap();
    assert_eq!(store.remove(&"s/c".parse().unwrap()).unwrap().artifacts.len(), 1);
}

/// Mechanism 55: concurrent writers passed the quota, and nobody noticed.
#[test]
fn mechanism_55_room_is_made_before_a_write_that_finds_a_quota_exceeded() {
    let root = tempfile::tempdir().unwrap();
    let quotas = Quotas { max_total: 4000, ..Quotas::default() };
    let (one, other) = (Store::local(root.path()).with_quotas(quotas), Store::local(root.path()).with_quotas(quotas));
    let (session, now) = (SessionId::new("running"), SystemTime::now());
    put(&one, "idle", "c", &[b'x'; 3000]);
    age(&root.path().join("results/idle"), now - DAY);
    assert!(one.make_room(&session, now).unwrap().unwrap().removed.sessions.is_empty());
    // Another process, as it were, fills the store: this one notices after a sixteenth of the quota.
    put(&other, "running", "a", &[b'x'; 2000]);
    assert!(one.make_room(&session, now).unwrap().is_none());
    put(&one, "running", "b", &[b'x'; 300]);
    let pruned = one.make_room(&session, now).unwrap().unwrap();
    assert_eq!(pruned.removed.sessions[0].session, SessionId::new("idle"));
    assert_eq!(one.inventory().unwrap().sessions.len(), 1);
}

#[test]
fn what_was_counted_is_remembered_for_the_next_process() {
    use std::os::unix::fs::PermissionsExt as _;

    let root = tempfile::tempdir().unwrap();
    let (session, now) = (SessionId::new("running"), SystemTime::now());
    let one = Store::local(root.path());
    put(&one, "idle", "c", &[b'x'; 3000]);
    assert!(one.make_room(&session, now).unwrap().is_some());
    put(&one, "running", "c", &[b'x'; 5000]);
    let glance = one.backend().glance().unwrap().unwrap();
    assert!(glance.bytes >= 8000 && glance.oldest.is_some());
    let other = Store::local(root.path());
    assert!(other.make_room(&session, now).unwrap().is_none());
    // One that is old is found all the same, and so is that nothing is known.
    age(&root.path().join("results/idle"), now - 31 * DAY);
    let pruned = Store::local(root.path()).make_room(&session, now).unwrap().unwrap();
    assert_eq!(pruned.removed.sessions.len(), 1);
    fs::write(root.path().join(".counted"), "what?").unwrap();
    assert!(Store::local(root.path()).make_room(&session, now).unwrap().is_some());
    // The note makes the root no less ours to keep private.
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    put(&Store::local(root.path()), "s", "c", b"x");
    assert_eq!(fs::metadata(root.path()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn sweeping_and_removing_leave_a_session_as_old_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let now = SystemTime::now();
    for call in ["a", "b"] {
        put(&store, "s", call, &[b'x'; 1000]);
    }
    let folder = root.path().join("results/s");
    fs::write(folder.join(".tmp-dead"), [b'x'; 5000]).unwrap();
    let old = now - 20 * DAY;
    age(&folder, old);
    let changed = || store.session_use(&SessionId::new("s")).unwrap().changed;
    let before = store.session_use(&SessionId::new("s")).unwrap();
    assert!(before.temporary == 5000 && before.bytes > 7000, "what a killed writer left counts");
    assert_eq!(store.prune(&Policy::default(), now).unwrap().swept, 1);
    assert_eq!(changed(), Some(old));
    store.remove(&"s/a".parse().unwrap()).unwrap();
    assert_eq!(changed(), Some(old));
    assert_eq!(store.prune(&Policy::default(), now + 11 * DAY).unwrap().removed.sessions.len(), 1);
}

#[test]
fn what_a_killed_writer_left_drives_no_results_out_but_goes_with_its_session() {
    let now = at(100);
    let artifacts = vec![ArtifactUse { id: "s/c".parse().unwrap(), bytes: 10, changed: at(90) }];
    let session = SessionUse { temporary: 90, artifacts, ..held("s", 100, at(94)) };
    let inventory = Inventory { sessions: vec![session], ..Inventory::default() };
    let policy = Policy { max_session: 35, ..Policy::default() };
    assert!(select(&inventory, &policy, now).sessions.is_empty());
    let selection = select(&inventory, &Policy { max_total: 50, ..policy }, now);
    assert_eq!((selection.sessions[0].bytes, selection.sessions[0].whole), (100, true));
}

#[test]
fn a_folder_with_nothing_of_ours_in_it_is_not_chosen() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let now = SystemTime::now();
    for folder in ["results/foreign", "results/empty"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    fs::write(root.path().join("results/foreign/notes.md"), "the user's").unwrap();
    let later = now + 31 * DAY;
    let chosen = |pruned: &Pruned| pruned.removed.sessions.iter().map(|s| s.session.to_string()).collect::<Vec<_>>();
    assert_eq!(chosen(&store.prune_dry_run(&Policy::default(), later)), ["empty"]);
    assert_eq!(chosen(&store.prune(&Policy::default(), later).unwrap()), ["empty"]);
    assert!(root.path().join("results/foreign/notes.md").exists() && !root.path().join("results/empty").exists());
}

/// As on a file system that ignores case: what stands under the name of `ABC` is of `abc`.
#[test]
fn a_session_that_differs_in_case_does_not_remove_anothers() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let (one, other, now) = (SessionId::new("abc"), SessionId::new("ABC"), SystemTime::now());
    put(&store, "abc", "c", b"content");
    let epoch = EpochId::new(&one, &[1; 32]);
    let compaction =
        Compaction { epoch: &epoch, document: b"document", removed: &[], artifacts: &[], record: b"{}", now };
    store.archive(&compaction).unwrap();
    for folder in ["results", "epochs"] {
        fs::rename(root.path().join(folder).join("abc"), root.path().join(folder).join("ABC")).unwrap();
    }
    put(&store, "ABC", "d", b"its own");
    assert_eq!(store.remove_session(&other, now).unwrap().artifacts, ["ABC/d".parse().unwrap()]);
    assert!(root.path().join("results/ABC/c.txt").exists() && root.path().join("results/ABC/c.json").exists());
    assert_eq!(fs::read_dir(root.path().join("epochs/ABC")).unwrap().count(), 2);
    assert_eq!(store.remove_session(&other, now).unwrap(), Removed::default());
}

#[test]
fn a_miss_says_whether_it_was_pruned_or_removed_on_request() {
    let store = Store::memory();
    put(&store, "s", "c", b"content");
    store.remove_session(&SessionId::new("s"), SystemTime::now()).unwrap();
    let miss = store.recall(&"s/c".parse().unwrap()).unwrap_err();
    insta::assert_snapshot!(miss, @"s/c is not stored any more: its session was removed on request; run the tool again");
    let pruned = StoreError::Pruned { id: Box::new("s/c".parse().unwrap()), asked: false };
    insta::assert_snapshot!(pruned, @"s/c is not stored any more: older results of its session were pruned; run the tool again");
}
