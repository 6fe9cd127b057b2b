//! What every store promises, on a real S3 server.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use plimsoll::id::{EpochId, Folder, SessionId};
use plimsoll_store::backend::{Backend, Created, Reader};
use plimsoll_store::{Compaction, Store, conformance};

use crate::children::{Other, brought, key};
use crate::{Server, Tests, fresh, noise};

pub(crate) const TESTS: Tests = &[
    ("s3::it_conforms", it_conforms),
    ("s3::it_conforms_over_tls", it_conforms_over_tls),
    ("s3::it_conforms_below_any_prefix", it_conforms_below_any_prefix),
    ("s3::the_root_of_a_bucket_is_a_place", the_root_of_a_bucket_is_a_place),
    ("s3::of_eight_threads_one_creates", of_eight_threads_one_creates),
    ("s3::of_eight_processes_one_creates", of_eight_processes_one_creates),
    ("s3::of_large_racing_uploads_one_creates", of_large_racing_uploads_one_creates),
    ("s3::a_large_draft_is_uploaded_in_parts", a_large_draft_is_uploaded_in_parts),
    ("s3::ranges_far_apart_come_in_order", ranges_far_apart_come_in_order),
    ("s3::listings_go_on_over_pages", listings_go_on_over_pages),
    ("s3::a_killed_writer_leaves_nothing_visible", a_killed_writer_leaves_nothing_visible),
    ("s3::a_reader_of_a_removed_record_fails", a_reader_of_a_removed_record_fails),
    ("s3::epochs_are_archived_and_restored", epochs_are_archived_and_restored),
    ("s3::of_eight_archives_one_record_holds", of_eight_archives_one_record_holds),
    ("s3::other_runtimes_may_call_it", other_runtimes_may_call_it),
    ("s3::a_proxy_gets_nothing_of_this_machine", a_proxy_gets_nothing_of_this_machine),
];

fn it_conforms() {
    conformance::run(|| Arc::new(Server::get().open(&fresh("conform")))).unwrap();
}

fn it_conforms_over_tls() {
    // What is trusted is read from the environment of the process.
    let mut other = Other::start("secure", "secure", 0);
    other.go();
    assert_eq!(other.line(), "conforms");
    assert!(other.child.wait().unwrap().success());
}

fn it_conforms_below_any_prefix() {
    conformance::run(|| Arc::new(Server::get().open(&fresh("a b/ü~ 日本+&=%20/x")))).unwrap();
}

fn the_root_of_a_bucket_is_a_place() {
    let store = Server::get().open("");
    let (session, other) = (fresh("root"), fresh("other"));
    let (one, two) = (key(&session, "c"), key(&other, "c"));
    assert_eq!(store.create(&one, &[b"x"]).unwrap(), Created::New);
    assert_eq!(store.create(&two, &[b"x"]).unwrap(), Created::New);
    assert_eq!(store.get(&one).unwrap().unwrap(), b"x");
    assert_eq!(store.list(one.folder()).unwrap().records.len(), 1);
    let sessions = store.list(&Folder::Results).unwrap().sessions;
    assert!([session, other].iter().all(|name| sessions.contains(&SessionId::new(name))), "{sessions:?}");
    assert!(store.delete(&one).unwrap() && store.delete(&two).unwrap());
    assert!(store.list(one.folder()).unwrap().records.is_empty());
}

fn of_eight_threads_one_creates() {
    let prefix = fresh("threads");
    for round in 0..20 {
        let key = key("race", &round.to_string());
        let created: Vec<Created> = thread::scope(|scope| {
            // Each with connections of its own.
            let stores: Vec<_> = (0..8).map(|_| Server::get().open(&prefix)).collect();
            let threads: Vec<_> = stores
                .into_iter()
                .enumerate()
                .map(|(number, store)| {
                    let key = &key;
                    scope.spawn(move || store.create(key, &[&brought(number)]).unwrap())
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..8).filter(|number| created[*number] == Created::New).collect();
        assert_eq!(winners.len(), 1, "{created:?}");
        assert!(created.iter().all(|created| *created != Created::Same), "{created:?}");
        assert_eq!(Server::get().open(&prefix).get(&key).unwrap().unwrap(), brought(winners[0]));
    }
}

fn of_eight_processes_one_creates() {
    let prefix = fresh("processes");
    let mut others: Vec<Other> = (0..8).map(|number| Other::start("race", &prefix, number)).collect();
    others.iter_mut().for_each(Other::go);
    let mut said: Vec<Vec<String>> = Vec::new();
    for other in &mut others {
        said.push((0..5).map(|_| other.line()).collect());
        assert!(other.child.wait().unwrap().success());
    }
    let store = Server::get().open(&prefix);
    for round in 0..5 {
        let winners: Vec<usize> = (0..8).filter(|number| said[*number][round] == "New").collect();
        assert_eq!(winners.len(), 1, "{said:?}");
        assert_eq!(said.iter().filter(|said| said[round] == "Different").count(), 7, "{said:?}");
        assert_eq!(store.get(&key("race", &round.to_string())).unwrap().unwrap(), brought(winners[0]));
    }
}

fn of_large_racing_uploads_one_creates() {
    let prefix = fresh("uploads");
    let key = key("race", "large");
    let content = |number: u64| noise(number, 17 << 20);
    let created: Vec<Created> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|number| {
                let (prefix, key) = (&prefix, &key);
                scope.spawn(move || Server::get().open(prefix).create(key, &[&content(number / 2)]).unwrap())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count = |wanted: Created| created.iter().filter(|created| **created == wanted).count();
    assert_eq!((count(Created::New), count(Created::Same), count(Created::Different)), (1, 1, 2), "{created:?}");
    let winner = created.iter().position(|created| *created == Created::New).unwrap();
    let store = Server::get().open(&prefix);
    assert!(store.get(&key).unwrap().unwrap() == content(winner as u64 / 2));
    assert_eq!(store.sweep(SystemTime::now() + Duration::from_secs(3600)).unwrap(), 0);
}

fn a_large_draft_is_uploaded_in_parts() {
    let store = Server::get().open(&fresh("draft"));
    let (plain, other) = (key("s", "large"), key("s", "other"));
    let content = noise(7, (72 << 20) + 12_345);
    let write = |content: &[u8]| {
        let mut draft = store.begin(&plain).unwrap();
        content.chunks(64 << 10).for_each(|piece| draft.write(piece).unwrap());
        draft
    };
    assert_eq!(write(&content).publish(&plain).unwrap(), Created::New);
    assert_eq!(store.head(&plain).unwrap().unwrap().size, content.len() as u64);
    let read = drain(&mut *store.open(&plain, 0).unwrap().unwrap());
    assert!(read == content);
    // Another process with the same bytes learns so, and one with others can take another name with the same draft.
    assert_eq!(write(&content).publish(&plain).unwrap(), Created::Same);
    let mut changed = content.clone();
    *changed.last_mut().unwrap() ^= 1;
    let mut draft = write(&changed);
    assert_eq!(draft.publish(&plain).unwrap(), Created::Different);
    assert_eq!(draft.publish(&other).unwrap(), Created::New);
    assert!(drain(&mut *store.open(&other, 70 << 20).unwrap().unwrap()) == changed[70 << 20..]);
    assert_eq!(store.sweep(SystemTime::now() + Duration::from_secs(3600)).unwrap(), 0);
}

fn drain(reader: &mut dyn Reader) -> Vec<u8> {
    let (mut read, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
    loop {
        match reader.read(&mut buffer).unwrap() {
            0 => return read,
            length => read.extend_from_slice(&buffer[..length]),
        }
    }
}

fn ranges_far_apart_come_in_order() {
    let store = Server::get().open(&fresh("ranges"));
    let key = key("s", "c");
    let content = noise(3, 20 << 20);
    store.create(&key, &[&content]).unwrap();
    // From the end to the start, in pairs that overlap.
    let mut ranges = Vec::new();
    for number in (0..40_u64).rev() {
        let start = number * (1 << 19);
        ranges.extend([start + 100..start + 1_000, start..start + 200, start + 3..start + 3]);
    }
    ranges.push((20 << 20) - 5..1 << 40);
    ranges.push(1 << 40..1 << 41);
    let read = store.get_ranges(&key, &ranges).unwrap().unwrap();
    for (range, read) in ranges.iter().zip(read) {
        let within = |at: u64| usize::try_from(at).unwrap().min(content.len());
        assert!(read == content[within(range.start)..within(range.end)], "{range:?}");
    }
}

fn listings_go_on_over_pages() {
    const KEYS: usize = 2_500;
    let store = Server::get().open(&fresh("pages"));
    thread::scope(|scope| {
        for part in 0..10 {
            let store = &store;
            scope.spawn(move || {
                for number in (0..KEYS).filter(|number| number % 10 == part) {
                    store.create(&key("many", &format!("c{number:04}")), &[number.to_string().as_bytes()]).unwrap();
                }
            });
        }
    });
    let records = store.list(key("many", "c").folder()).unwrap().records;
    let names: std::collections::BTreeSet<String> = records.iter().map(|entry| entry.key.to_string()).collect();
    assert_eq!((records.len(), names.len()), (KEYS, KEYS));
    assert!(records.iter().all(|entry| (1..=4).contains(&entry.size)));
    assert_eq!(store.list(&Folder::Results).unwrap().sessions, [SessionId::new("many")]);
}

fn a_killed_writer_leaves_nothing_visible() {
    let later = SystemTime::now() + Duration::from_secs(3600);
    let mut unfinished = 0;
    for pause in [5, 20, 60, 120, 200, 300, 400, 500] {
        let prefix = fresh("killed");
        let mut other = Other::start("upload", &prefix, 0);
        other.go();
        assert_eq!(other.line(), "publishing");
        thread::sleep(Duration::from_millis(pause));
        other.child.kill().unwrap();
        other.child.wait().unwrap();
        let (store, large) = (Server::get().open(&prefix), key("killed", "large"));
        // Whole, or not there.
        let size = store.head(&large).unwrap().map(|entry| entry.size);
        assert!(matches!(size, None | Some(0x600_0000)), "{size:?}");
        assert_eq!(store.list(large.folder()).unwrap().records.len(), usize::from(size.is_some()));
        // What is young may be of a living writer.
        assert_eq!(store.sweep(SystemTime::now() - Duration::from_secs(3600)).unwrap(), 0);
        unfinished += store.sweep(later).unwrap();
        assert_eq!(store.sweep(later).unwrap(), 0);
        let expected = if size.is_some() { Created::Different } else { Created::New };
        assert_eq!(store.create(&large, &[b"another writer"]).unwrap(), expected);
    }
    assert!(unfinished > 0, "no writer was killed while it uploaded");
}

fn a_reader_of_a_removed_record_fails() {
    let store = Server::get().open(&fresh("removed"));
    let key = key("s", "c");
    for anew in [false, true] {
        store.create(&key, &[&noise(1, 30 << 20)]).unwrap();
        let mut reader = store.open(&key, 0).unwrap().unwrap();
        store.delete(&key).unwrap();
        if anew {
            store.create(&key, &[&noise(2, 30 << 20)]).unwrap();
        }
        let (mut buffer, mut read) = (vec![0; 1 << 20], 0);
        let error = loop {
            match reader.read(&mut buffer) {
                Ok(0) => panic!("{read} bytes were read of a record that is gone"),
                Ok(length) => read += length,
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("removed or replaced"), "{error}");
        drop(reader);
        store.delete(&key).unwrap();
    }
}

fn compaction<'a>(epoch: &'a EpochId, document: &'a [u8], record: &'a [u8]) -> Compaction<'a> {
    Compaction { epoch, document, removed: &[], artifacts: &[], record, now: SystemTime::now() }
}

fn restore(store: &Store, epoch: &EpochId) -> Vec<u8> {
    store.document(epoch).unwrap().pieces().collect::<Result<Vec<_>, _>>().unwrap().concat()
}

fn epochs_are_archived_and_restored() {
    let store = Server::get().store(&fresh("epochs"));
    let whole = noise(9, 3_000_000);
    let session = SessionId::new("a session/with a name");
    let mut archived = Vec::new();
    for number in 0..5_usize {
        let document = &whole[..2_000_000 + number * 200_000];
        let epoch = EpochId::new(&session, &[u8::try_from(number).unwrap(); 32]);
        let removed = [0..1_000, 500_000..900_000];
        let done = store.archive(&Compaction { removed: &removed, ..compaction(&epoch, document, b"{}") }).unwrap();
        assert!(done.first && done.epoch == epoch);
        // One history shares its storage here, too.
        assert!(number == 0 || done.shared.0 > 1_000_000, "{done:?}");
        archived.push((epoch, document));
    }
    for (epoch, document) in archived {
        assert!(restore(&store, &epoch) == document);
        let recalled = store.recall(&epoch.clone().into()).unwrap();
        assert!(recalled == [&document[..1_000], &document[500_000..900_000]].concat());
        let repeated = store.archive(&compaction(&epoch, document, b"{\"later\":1}")).unwrap();
        assert_eq!((repeated.first, repeated.record.as_slice()), (false, &b"{}"[..]));
    }
}

fn of_eight_archives_one_record_holds() {
    let prefix = fresh("archives");
    let epoch = EpochId::new(&SessionId::new("s"), &[1; 32]);
    let document = noise(4, 700_000);
    let records: Vec<(bool, Vec<u8>)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (prefix, epoch, document) = (&prefix, &epoch, &document);
                scope.spawn(move || {
                    let record = format!("{{\"replica\":{number}}}");
                    let archived =
                        Server::get().store(prefix).archive(&compaction(epoch, document, record.as_bytes())).unwrap();
                    (archived.first, archived.record)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(records.iter().filter(|(first, _)| *first).count(), 1);
    assert!(records.iter().all(|(_, record)| *record == records[0].1));
    assert!(restore(&Server::get().store(&prefix), &epoch) == document);
}

fn other_runtimes_may_call_it() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let blocking = tokio::task::spawn_blocking(|| {
            let store = Server::get().open(&fresh("blocking"));
            store.create(&key("s", "c"), &[b"x"]).unwrap()
        });
        assert_eq!(blocking.await.unwrap(), Created::New);
        // Not as it should be used; it may block, but not panic, and neither may its end.
        let store = Server::get().open(&fresh("task"));
        assert_eq!(store.create(&key("s", "c"), &[b"x"]).unwrap(), Created::New);
        drop(store);
    });
    let single = tokio::runtime::Builder::new_current_thread().build().unwrap();
    single.block_on(async {
        let store = Server::get().open(&fresh("single"));
        assert_eq!(store.create(&key("s", "c"), &[&noise(1, 9 << 20)]).unwrap(), Created::New);
        drop(store);
    });
}

fn a_proxy_gets_nothing_of_this_machine() {
    let server = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"]
        .into_iter()
        .fold(Server::get(), |server, name| server.with(name, "http://127.0.0.1:1"));
    assert_eq!(server.open(&fresh("proxy")).create(&key("s", "c"), &[b"x"]).unwrap(), Created::New);
}
