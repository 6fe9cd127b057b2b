//! One suite of checks that every backend passes: what [`Backend`] guarantees, as far as one process can see it.
//!
//! It is public, so that a backend from elsewhere can be held to it:
//!
//! ```
//! use std::sync::Arc;
//! use plimsoll_store::{conformance, memory::MemoryStore};
//! conformance::run(|| Arc::new(MemoryStore::new()))?;
//! # Ok::<(), String>(())
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::SystemTime;

use plimsoll::id::{ArtifactId, EpochId, Folder, Key, Record, SessionId, ToolCallId};

use crate::backend::{Backend, Created};

mod pieces;

use pieces::{
    drafts_appear_whole, drafts_take_another_name, empty_folders_go, one_of_many_drafts_wins, reads_in_order,
};

type Failure = Box<dyn Error + Send + Sync>;
type Check = fn(&dyn Backend) -> Result<(), Failure>;

/// The checks, by what must hold.
const CHECKS: [(&str, Check); 15] = [
    ("what is missing is nothing, and no error", missing_is_nothing),
    ("a created record reads back", created_reads_back),
    ("the first writer wins", first_writer_wins),
    ("ranges are cut to what there is", ranges_are_cut),
    ("listings show one level", listings_show_one_level),
    ("a deleted record can be created anew", deleted_can_be_created),
    ("every name of an id can be stored", every_name_is_stored),
    ("of racing writers one wins", one_of_many_wins),
    ("sixteen writers to one session lose nothing", many_writers_lose_nothing),
    ("a reader never sees a part", readers_see_wholes),
    ("a draft is seen when it is published, and not before", drafts_appear_whole),
    ("a draft finds its name taken and takes another", drafts_take_another_name),
    ("of racing drafts one wins", one_of_many_drafts_wins),
    ("a record is read in order from any byte", reads_in_order),
    ("the folder of a session goes when nothing is left in it", empty_folders_go),
];

/// Runs every check on a fresh, empty backend.
///
/// # Errors
/// The checks that failed, a line each.
pub fn run(mut open: impl FnMut() -> Arc<dyn Backend>) -> Result<(), String> {
    let failures: Vec<String> = CHECKS
        .iter()
        .filter_map(|(name, check)| check(&*open()).err().map(|failure| format!("{name}: {failure}")))
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

macro_rules! hold {
    ($condition:expr) => {
        if !$condition {
            return Err(format!("`{}` does not hold", stringify!($condition)).into());
        }
    };
}

macro_rules! same {
    ($left:expr, $right:expr) => {{
        let (left, right) = ($left, $right);
        if left != right {
            return Err(format!("`{}` is {left:?}, not {right:?}", stringify!($left)).into());
        }
    }};
}

use {hold, same};

fn text(session: &str, call: &str) -> Key {
    Record::Text(ArtifactId::new(&SessionId::new(session), &ToolCallId::new(call))).key()
}

fn names(backend: &dyn Backend, folder: &Folder) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = backend.list(folder)?.records.iter().map(|entry| entry.key.to_string()).collect();
    names.sort();
    Ok(names)
}

fn missing_is_nothing(backend: &dyn Backend) -> Result<(), Failure> {
    for round in 0..2 {
        let key = text("absent", "call");
        same!(backend.get(&key)?, None);
        same!(backend.get_ranges(&key, &[0..1, 2..3])?, None);
        same!(backend.head(&key)?, None);
        hold!(!backend.delete(&key)?);
        for folder in Folder::TOP {
            hold!(backend.list(&folder)?.records.is_empty());
        }
        hold!(backend.list(&Folder::EpochsOf(SessionId::new("absent")))?.records.is_empty());
        same!(backend.sweep(SystemTime::now())?, 0);
        // And again beside a record of another session.
        if round == 0 {
            backend.create(&text("present", "call"), &[b"x"])?;
        }
    }
    Ok(())
}

fn created_reads_back(backend: &dyn Backend) -> Result<(), Failure> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large = every_byte.repeat(3 * 4096);
    let contents: [&[&[u8]]; 5] = [&[], &[b""], &[b"one", b"", b" two"], &[&every_byte], &[&large, b"x", &large]];
    for (number, parts) in contents.iter().enumerate() {
        let key = text("s", &format!("c{number}"));
        same!(backend.create(&key, parts)?, Created::New);
        let whole = parts.concat();
        hold!(backend.get(&key)?.as_ref() == Some(&whole));
        let entry = backend.head(&key)?.ok_or("head finds nothing")?;
        same!(entry.size, whole.len() as u64);
        same!(&entry.key, &key);
        hold!(entry.modified.elapsed().unwrap_or_else(|early| early.duration()).as_secs() < 3600);
    }
    Ok(())
}

fn first_writer_wins(backend: &dyn Backend) -> Result<(), Failure> {
    let key = text("s", "c");
    same!(backend.create(&key, &[b"first"])?, Created::New);
    same!(backend.create(&key, &[b"fi", b"rst"])?, Created::Same);
    for other in [&b"other"[..], b"", b"first and more", b"firs"] {
        same!(backend.create(&key, &[other])?, Created::Different);
    }
    same!(backend.get(&key)?, Some(b"first".to_vec()));
    Ok(())
}

fn ranges_are_cut(backend: &dyn Backend) -> Result<(), Failure> {
    let key = text("s", "c");
    backend.create(&key, &[b"0123456789"])?;
    let ranges = [0..10, 3..5, 9..10, 5..5, 8..100, 10..20, 99..100, 0..u64::MAX, 0..1];
    let expected: [&[u8]; 9] = [b"0123456789", b"34", b"9", b"", b"89", b"", b"", b"0123456789", b"0"];
    same!(backend.get_ranges(&key, &ranges)?, Some(expected.iter().map(|bytes| bytes.to_vec()).collect::<Vec<_>>()));
    same!(backend.get_ranges(&key, &[])?, Some(Vec::new()));
    Ok(())
}

fn listings_show_one_level(backend: &dyn Backend) -> Result<(), Failure> {
    let (one, two) = (SessionId::new("one"), SessionId::new("two"));
    let epoch = EpochId::new(&one, &[1; 32]);
    for record in [
        Record::Text(ArtifactId::new(&one, &ToolCallId::new("a"))),
        Record::Meta(ArtifactId::new(&one, &ToolCallId::new("a"))),
        Record::Text(ArtifactId::new(&one, &ToolCallId::new("b"))),
        Record::Text(ArtifactId::new(&two, &ToolCallId::new("a"))),
        Record::Epoch(epoch.clone()),
        Record::Body(epoch.clone()),
        Record::Body(epoch.with_body(&[2; 32])),
        Record::Replayed { epoch: epoch.clone(), day: 20_787 },
        Record::Pruned(two.clone()),
    ] {
        same!(backend.create(&record.key(), &[b"1234"])?, Created::New);
    }
    same!(
        names(backend, &Folder::ResultsOf(one.clone()))?,
        ["results/one/a.json", "results/one/a.txt", "results/one/b.txt"]
    );
    same!(names(backend, &Folder::ResultsOf(two.clone()))?, ["results/two/a.txt"]);
    same!(names(backend, &Folder::EpochsOf(one.clone()))?.len(), 4);
    same!(names(backend, &Folder::Pruned)?, ["pruned/two.json"]);
    same!(names(backend, &Folder::Results)?, Vec::<String>::new());
    let mut sessions = backend.list(&Folder::Results)?.sessions;
    sessions.sort();
    same!(sessions, [one.clone(), two]);
    same!(backend.list(&Folder::Epochs)?.sessions, [one.clone()]);
    for entry in backend.list(&Folder::EpochsOf(one))?.records {
        same!(entry.size, 4);
        same!(backend.head(&entry.key)?.map(|head| head.size), Some(4));
    }
    Ok(())
}

fn deleted_can_be_created(backend: &dyn Backend) -> Result<(), Failure> {
    let (key, other) = (text("s", "c"), text("s", "d"));
    backend.create(&key, &[b"first"])?;
    backend.create(&other, &[b"stays"])?;
    hold!(backend.delete(&key)?);
    hold!(!backend.delete(&key)?);
    same!(backend.get(&key)?, None);
    same!(backend.create(&key, &[b"second"])?, Created::New);
    same!(backend.get(&key)?, Some(b"second".to_vec()));
    same!(backend.get(&other)?, Some(b"stays".to_vec()));
    Ok(())
}

fn every_name_is_stored(backend: &dyn Backend) -> Result<(), Failure> {
    let longest = "x".repeat(128);
    let raw_ids = ["-", "_", "--help", "CON", "nul", "Com1", "", "..", "a/b", "日本語", longest.as_str(), "~"];
    for (number, raw) in raw_ids.iter().enumerate() {
        let (session, call) = (SessionId::new(raw), ToolCallId::new(raw));
        let content = number.to_string();
        for id in [ArtifactId::new(&session, &call), ArtifactId::variant(&session, &call, content.as_bytes())] {
            for record in [Record::Text(id.clone()), Record::Meta(id)] {
                same!(backend.create(&record.key(), &[content.as_bytes()])?, Created::New);
                same!(backend.get(&record.key())?, Some(content.clone().into_bytes()));
            }
        }
        same!(backend.list(&Folder::ResultsOf(session))?.records.len(), 4);
    }
    same!(backend.list(&Folder::Results)?.sessions.len(), raw_ids.len());
    Ok(())
}

/// Runs sixteen threads at once and joins what they say.
fn sixteen<T: Send>(run: impl Fn(usize) -> Result<T, Failure> + Sync) -> Result<Vec<T>, Failure> {
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..16).map(|number| scope.spawn(move || run(number))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a writer panicked")?).collect()
    })
}

fn one_of_many_wins(backend: &dyn Backend) -> Result<(), Failure> {
    for round in 0..4 {
        let key = text("race", &round.to_string());
        let content = |number: usize| vec![u8::try_from(number).unwrap_or(u8::MAX); 100_000 + number];
        let created = sixteen(|number| Ok(backend.create(&key, &[&content(number)])?))?;
        let winners: Vec<usize> =
            created.iter().enumerate().filter(|(_, created)| **created == Created::New).map(|(n, _)| n).collect();
        same!(winners.len(), 1);
        hold!(backend.get(&key)? == winners.first().map(|winner| content(*winner)));
        let same = sixteen(|_| Ok(backend.create(&text("race", "same"), &[&content(round)])?))?;
        hold!(round > 0 || same.iter().all(|created| *created != Created::Different));
    }
    Ok(())
}

fn many_writers_lose_nothing(backend: &dyn Backend) -> Result<(), Failure> {
    sixteen(|writer| {
        for number in 0..8 {
            let name = format!("w{writer}-{number}");
            same!(backend.create(&text("busy", &name), &[name.as_bytes()])?, Created::New);
        }
        Ok(())
    })?;
    let entries = backend.list(&Folder::ResultsOf(SessionId::new("busy")))?.records;
    same!(entries.len(), 16 * 8);
    for entry in entries {
        let content = backend.get(&entry.key)?.ok_or("a listed record is gone")?;
        hold!(entry.key.file_name().strip_suffix(".txt").is_some_and(|name| name.as_bytes() == content));
    }
    Ok(())
}

fn readers_see_wholes(backend: &dyn Backend) -> Result<(), Failure> {
    let content = vec![7; 4 << 20];
    let keys: Vec<Key> = (0..4).map(|number| text("large", &number.to_string())).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<(), Failure> {
            while !done.load(Ordering::Acquire) {
                for key in &keys {
                    if let Some(found) = backend.get(key)? {
                        same!(found.len(), content.len());
                    }
                    if let Some(found) = backend.head(key)? {
                        same!(found.size, content.len() as u64);
                    }
                }
                for entry in backend.list(&Folder::ResultsOf(SessionId::new("large")))?.records {
                    same!(entry.size, content.len() as u64);
                }
            }
            Ok(())
        });
        let written = keys.iter().try_for_each(|key| backend.create(key, &[&content]).map(drop));
        done.store(true, Ordering::Release);
        reader.join().map_err(|_| "the reader panicked")??;
        Ok(written?)
    })
}
