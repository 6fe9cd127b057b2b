//! Tests of archiving and restoring, over every backend that can be had here.

#![allow(clippy::single_range_in_vec_init, reason = "one removed range is the usual case")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use plimsoll::id::{Folder, Key, RecallId, SessionId};
use proptest::prelude::*;

use super::*;
use crate::backend::{Entry, Listing};
use crate::memory::MemoryStore;

const RECORD: &[u8] = br#"{"summary":"what was"}"#;

/// Transcript-like text that does not repeat itself, at least `bytes` long.
fn transcript(seed: u64, bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut state = seed;
    while out.len() < bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        out.extend_from_slice(format!("{{\"type\":\"user\",\"uuid\":\"{state:x}\"}}\n").as_bytes());
    }
    out
}

fn epoch(number: u8) -> EpochId {
    EpochId::new(&SessionId::new("s1"), &[number; 32])
}

fn compaction<'a>(epoch: &'a EpochId, document: &'a [u8], removed: &'a [Range<u64>]) -> Compaction<'a> {
    Compaction { epoch, document, removed, artifacts: &[], record: RECORD, now: SystemTime::now() }
}

fn restore(store: &Store, epoch: &EpochId) -> Result<Vec<u8>> {
    let document = store.document(epoch)?;
    document.pieces().collect::<Result<Vec<_>>>().map(|pieces| pieces.concat())
}

fn on_every_store(check: impl Fn(&Store)) {
    check(&Store::memory());
    let root = tempfile::tempdir().unwrap();
    check(&Store::local(root.path().join("store")));
}

fn size_on_disk(root: &Path) -> u64 {
    let mut size = 0;
    for entry in fs::read_dir(root).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        size += if metadata.is_dir() { size_on_disk(&entry.path()) } else { metadata.len() };
    }
    size
}

#[test]
fn a_document_comes_back_byte_for_byte() {
    on_every_store(|store| {
        let every_byte: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        for (number, document) in [&b""[..], b"x", &every_byte, &transcript(1, 3_000_000)].iter().enumerate() {
            let epoch = epoch(u8::try_from(number).unwrap());
            let middle = document.len() as u64 / 2;
            let removed = [0..middle / 2, middle..middle + middle / 3];
            let archived = store.archive(&compaction(&epoch, document, &removed)).unwrap();
            assert_eq!((&archived.epoch, archived.first), (&epoch, true));
            assert_eq!(archived.written.0 + archived.shared.0, document.len() as u64);
            assert_eq!(restore(store, &epoch).unwrap(), *document);
            let expected: Vec<u8> = removed
                .iter()
                .flat_map(|range| {
                    &document[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
                })
                .copied()
                .collect();
            assert_eq!(store.recall(&epoch.clone().into()).unwrap(), expected);
            assert_eq!(store.epoch_record(&epoch).unwrap().as_deref(), Some(RECORD));
        }
    });
}

#[test]
fn ranges_that_are_none_of_the_document_are_refused_and_nothing_is_written() {
    let store = Store::memory();
    #[expect(clippy::reversed_empty_ranges)]
    for removed in [&[0..4_u64][..], &[2..1], &[0..2, 1..3], &[2..3, 0..1], &[u64::MAX..u64::MAX]] {
        let error = store.archive(&compaction(&epoch(1), b"abc", removed)).unwrap_err();
        assert!(matches!(error, StoreError::Ranges { .. }), "{error}");
    }
    assert!(store.backend().list(&Folder::EpochsOf(SessionId::new("s1"))).unwrap().records.is_empty());
}

#[test]
fn epochs_of_one_growing_history_share_storage() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let whole = transcript(2, 4_000_000);
    let mut documents = Vec::new();
    for number in 0..10_usize {
        let document = &whole[..2_000_000 + number * 200_000];
        let epoch = epoch(u8::try_from(number).unwrap());
        let archived = store.archive(&compaction(&epoch, document, &[0..1_000])).unwrap();
        if number > 0 {
            assert!(archived.written.0 <= 200_000 + 256 * 1024, "{} written", archived.written);
        }
        documents.push((epoch, document));
    }
    let (size, last) = (size_on_disk(root.path()), documents.last().unwrap().1.len() as u64);
    assert!(size < last * 3 / 2, "{size} B on disk for a history of {last} B");
    for (epoch, document) in documents {
        assert_eq!(restore(&store, &epoch).unwrap(), document);
    }
}

#[test]
fn the_artifacts_that_an_epoch_names_stand_in_its_body() {
    let store = Store::memory();
    let artifacts = ["s1/c".parse().unwrap(), "s1/d~0123456789ab".parse().unwrap()];
    let epoch = epoch(1);
    store.archive(&Compaction { artifacts: &artifacts, ..compaction(&epoch, b"document", &[]) }).unwrap();
    assert_eq!(store.document(&epoch).unwrap().artifacts(), artifacts);
}

#[test]
fn a_body_is_named_by_what_holds_its_bytes_not_by_a_chain_of_borrowers() {
    let store = Store::memory();
    let document = transcript(3, 1_000_000);
    for number in 0..4 {
        store.archive(&compaction(&epoch(number), &document, &[])).unwrap();
    }
    assert_eq!(store.document(&epoch(3)).unwrap().lenders(), [epoch(0)]);
}

#[test]
fn the_first_record_wins_and_everyone_gets_it() {
    on_every_store(|store| {
        let document = transcript(4, 300_000);
        let epoch = epoch(1);
        let archived: Vec<(String, Archived)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|number| {
                    let (epoch, document) = (&epoch, &document);
                    scope.spawn(move || {
                        let record = format!("{{\"writer\":{number}}}");
                        let compaction =
                            Compaction { record: record.as_bytes(), ..compaction(epoch, document, &[0..100_000]) };
                        let archived = store.archive(&compaction).unwrap();
                        (record, archived)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winner: Vec<&String> = archived.iter().filter(|(_, a)| a.first).map(|(record, _)| record).collect();
        assert_eq!(winner.len(), 1);
        for (_, archived) in &archived {
            assert_eq!(archived.record, winner[0].as_bytes());
            assert_eq!(archived.epoch, epoch);
        }
        assert_eq!(restore(store, &epoch).unwrap(), document);
    });
}

#[test]
fn archiving_again_comes_to_the_same_end() {
    on_every_store(|store| {
        let document = transcript(5, 500_000);
        let epoch = epoch(1);
        let first = store.archive(&compaction(&epoch, &document, &[0..10])).unwrap();
        let again = store.archive(&compaction(&epoch, &document, &[0..10])).unwrap();
        assert_eq!((again.epoch, again.record, again.first), (first.epoch, first.record, false));
        assert_eq!(again.written, Bytes(0));
    });
}

/// Runs over real transcripts where there are some: `PLIMSOLL_DATA` names a directory.
#[test]
fn real_documents_come_back_byte_for_byte() {
    fn visit(store: &Store, folder: &Path) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with("sealed") {
                visit(store, &path);
            } else if path.is_file() {
                let document = fs::read(&path).unwrap();
                let epoch = EpochId::new(&SessionId::new("real"), blake3::hash(&document).as_bytes());
                let removed = [0..document.len() as u64 / 2];
                let archived = store.archive(&compaction(&epoch, &document, &removed)).unwrap();
                assert!(restore(store, &archived.epoch).unwrap() == document, "{}", path.display());
                assert!(store.recall(&archived.epoch.into()).unwrap() == document[..document.len() / 2]);
            }
        }
    }
    let root = tempfile::tempdir().unwrap();
    if let Some(data) = std::env::var_os("PLIMSOLL_DATA") {
        visit(&Store::local(root.path()), Path::new(&data));
    }
}

/// The same prefix replaced in a history that went on differently: both documents are kept, the record is one.
#[test]
fn mechanism_70_a_second_document_of_one_epoch_gets_a_name_of_its_own() {
    on_every_store(|store| {
        let epoch = epoch(1);
        let (one, other) = (transcript(6, 300_000), transcript(7, 300_000));
        let first = store.archive(&compaction(&epoch, &one, &[0..10])).unwrap();
        let late = Compaction { record: b"{\"late\":1}", ..compaction(&epoch, &other, &[0..10]) };
        let second = store.archive(&late).unwrap();
        assert_ne!(first.epoch, second.epoch);
        assert_eq!(second.epoch.plain(), epoch);
        assert_eq!((second.record.as_slice(), second.first), (RECORD, false));
        assert_eq!(restore(store, &first.epoch).unwrap(), one);
        assert_eq!(restore(store, &second.epoch).unwrap(), other);
        assert_eq!(store.archive(&late).unwrap().epoch, second.epoch);
        assert_eq!(store.epoch_record(&second.epoch).unwrap().as_deref(), Some(RECORD));
    });
}

/// On a file system that ignores case, two sessions share a directory; the raw id in the manifest tells them apart.
#[test]
fn a_body_of_another_session_is_not_taken_for_ours() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let document = transcript(8, 100_000);
    let (lower, upper) =
        (EpochId::new(&SessionId::new("abc"), &[1; 32]), EpochId::new(&SessionId::new("ABC"), &[1; 32]));
    store.archive(&compaction(&lower, &document, &[])).unwrap();
    fs::rename(root.path().join("epochs/abc"), root.path().join("epochs/ABC")).unwrap();
    assert!(matches!(store.document(&upper), Err(StoreError::Unknown { .. })));
    let archived = store.archive(&compaction(&upper, &document, &[])).unwrap();
    assert_ne!(archived.epoch, upper);
    assert_eq!(restore(&store, &archived.epoch).unwrap(), document);
}

#[test]
fn damage_is_found_and_named() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let document = transcript(9, 1_000_000);
    let first = store.archive(&compaction(&epoch(1), &document, &[0..400_000])).unwrap().epoch;
    let longer = [document.as_slice(), b"and more"].concat();
    let second = store.archive(&compaction(&epoch(2), &longer, &[0..400_000])).unwrap().epoch;
    let path = store.backend().path(&Record::Body(first.clone()).key()).unwrap();
    let sound = fs::read(&path).unwrap();

    let mut changed = sound.clone();
    let at = sound.len() - 500_000;
    changed[at] ^= 1;
    fs::write(&path, &changed).unwrap();
    for epoch in [&first, &second] {
        let error = restore(&store, epoch).unwrap_err();
        let StoreError::Damaged { what, detail, place } = &error else { panic!("{error}") };
        assert_eq!(what, &format!("the archived document {epoch}"));
        assert!(detail.starts_with("chunk ") && detail.contains("was changed: BLAKE3 "), "{detail}");
        assert_eq!(place, "epochs/s1/~010101010101.body");
    }
    // What the damage does not touch still comes back.
    assert_eq!(store.document(&first).unwrap().read(0..1_000).unwrap(), document[..1_000]);

    // An archive made now does not borrow what is damaged.
    let third = store.archive(&compaction(&epoch(3), &document, &[])).unwrap();
    assert!(third.written.0 > 0 && third.shared.0 > 0);
    assert_eq!(restore(&store, &third.epoch).unwrap(), document);
    // Nor does archiving the same again rely on it.
    let again = store.archive(&compaction(&epoch(1), &document, &[0..400_000])).unwrap();
    assert_ne!(again.epoch, first);
    assert_eq!(restore(&store, &again.epoch).unwrap(), document);

    fs::write(&path, &sound[..sound.len() - 10]).unwrap();
    let error = restore(&store, &first).unwrap_err().to_string();
    assert!(error.contains("is cut short"), "{error}");

    fs::remove_file(&path).unwrap();
    assert!(matches!(restore(&store, &first), Err(StoreError::Unknown { .. })));
    let error = restore(&store, &second).unwrap_err().to_string();
    assert!(error.contains("is missing with its file"), "{error}");

    let mut manifest = sound.clone();
    let at = sound.iter().position(|byte| *byte == b'{').unwrap() + 20;
    manifest[at] ^= 1;
    fs::write(&path, &manifest).unwrap();
    let error = restore(&store, &first).unwrap_err().to_string();
    assert!(error.contains("the manifest of s1/~010101010101 is damaged"), "{error}");

    fs::write(&path, "plimsoll body 2 something else\n").unwrap();
    assert!(matches!(restore(&store, &first), Err(StoreError::Newer { found: 2, known: 1, .. })));
    fs::write(&path, "").unwrap();
    assert!(matches!(restore(&store, &first), Err(StoreError::Damaged { .. })));
}

/// A body that may soon expire lends nothing, so that nothing new depends on it.
#[test]
fn a_body_unused_for_sixty_days_lends_nothing() {
    let store = Store::memory();
    let document = transcript(10, 300_000);
    store.archive(&compaction(&epoch(1), &document, &[])).unwrap();
    let later = SystemTime::now() + LEND_BODY + Duration::from_secs(2 * DAY);
    let at = |now, number| {
        let epoch = epoch(number);
        store.archive(&Compaction { now, ..compaction(&epoch, &document, &[]) }).unwrap()
    };
    assert_eq!(at(later, 2).shared, Bytes(0));
    store.mark_replayed(&epoch(1), later - LEND_BODY / 2).unwrap();
    assert_eq!(at(later, 3).written, Bytes(0));
}

/// And is not relied on itself, though it has the very document.
#[test]
fn a_body_unused_for_sixty_days_is_archived_anew() {
    let store = Store::memory();
    let document = transcript(11, 300_000);
    let epoch = epoch(1);
    let first = store.archive(&compaction(&epoch, &document, &[])).unwrap().epoch;
    let mut names = vec![first];
    for days in [61, 61, 62] {
        let now = SystemTime::now() + Duration::from_secs(days * DAY);
        let archived = store.archive(&Compaction { now, ..compaction(&epoch, &document, &[]) }).unwrap();
        assert_eq!(restore(&store, &archived.epoch).unwrap(), document);
        names.push(archived.epoch);
    }
    // The clock of the memory store says that the second body is old, too; so the third name has the day in it.
    assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), 4);
}

/// A body must not outlive the removal of its lender, nor borrow from what once had its own name.
#[test]
fn a_lender_removed_meanwhile_is_noticed() {
    /// Removes the body of the first epoch just before the second body is created.
    #[derive(Debug)]
    struct Removing(MemoryStore, AtomicUsize);
    impl Backend for Removing {
        fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created> {
            if matches!(key.record(), Some(Record::Body(_))) && self.1.fetch_add(1, Ordering::Relaxed) == 1 {
                self.0.delete(&Record::Body(epoch(1)).key())?;
            }
            self.0.create(key, parts)
        }
        fn begin(&self, likely: &Key) -> Result<Box<dyn crate::backend::Draft + '_>> {
            self.0.begin(likely)
        }
        fn open(&self, key: &Key, from: u64) -> Result<Option<Box<dyn crate::backend::Reader + '_>>> {
            self.0.open(key, from)
        }
        fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
            self.0.get(key)
        }
        fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
            self.0.get_ranges(key, ranges)
        }
        fn head(&self, key: &Key) -> Result<Option<Entry>> {
            self.0.head(key)
        }
        fn list(&self, folder: &Folder) -> Result<Listing> {
            self.0.list(folder)
        }
        fn delete(&self, key: &Key) -> Result<bool> {
            self.0.delete(key)
        }
        fn sweep(&self, before: SystemTime) -> Result<u64> {
            self.0.sweep(before)
        }
        fn path(&self, key: &Key) -> Option<PathBuf> {
            self.0.path(key)
        }
    }
    let document = transcript(12, 300_000);
    for target in [epoch(1), epoch(2)] {
        let store = Store::new(Arc::new(Removing(MemoryStore::new(), AtomicUsize::new(0))));
        store.archive(&compaction(&epoch(1), &document, &[])).unwrap();
        let archived = store.archive(&compaction(&target, &document, &[])).unwrap();
        assert_eq!(restore(&store, &archived.epoch).unwrap(), document, "{target}");
    }
}

/// Mechanism 71: history cleared before its replacement is durable. A body that cannot be written stops the archive.
#[test]
fn mechanism_71_no_record_without_its_body() {
    let root = tempfile::tempdir().unwrap();
    let store = Store::local(root.path());
    let key = Record::Body(epoch(1)).key();
    fs::create_dir_all(store.backend().path(&key).unwrap()).unwrap();
    let error = store.archive(&compaction(&epoch(1), b"document", &[])).unwrap_err();
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert_eq!(store.epoch_record(&epoch(1)).unwrap(), None);
}

#[test]
fn an_unknown_epoch_and_a_pruned_one_are_told_apart() {
    let store = Store::memory();
    let id: RecallId = epoch(1).into();
    assert!(matches!(store.recall(&id), Err(StoreError::Unknown { .. })));
    store.backend().create(&Record::Pruned(SessionId::new("s1")).key(), &[b"{}"]).unwrap();
    assert!(matches!(store.recall(&id), Err(StoreError::Pruned { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn any_range_of_any_document_reads_back(seed in any::<u64>(), size in 0_usize..700_000, edit in any::<prop::sample::Index>(), ends in any::<(prop::sample::Index, prop::sample::Index)>()) {
        let store = Store::memory();
        let before = transcript(seed, size);
        store.archive(&compaction(&epoch(1), &before, &[])).unwrap();
        let mut document = before.clone();
        let at = edit.index(before.len() + 1);
        document.splice(at..at, *b"an edit in the middle");
        store.archive(&compaction(&epoch(2), &document, &[])).unwrap();
        prop_assert_eq!(restore(&store, &epoch(2)).unwrap(), document.clone());
        let (a, b) = (ends.0.index(document.len() + 1), ends.1.index(document.len() + 1));
        let range = a.min(b)..a.max(b);
        let read = store.document(&epoch(2)).unwrap().read(range.start as u64..range.end as u64).unwrap();
        prop_assert!(read == document[range]);
    }
}
