use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plimsoll::cap::Shape;
use plimsoll::id::{Folder, Key};
use plimsoll_store::backend::{Backend, Created, Draft, Entry, Listing, Reader};
use plimsoll_store::memory::MemoryStore;
use plimsoll_store::{Quotas, Result};
use proptest::prelude::*;

use super::*;

/// A store in memory that takes so many bytes and is full then.
#[derive(Debug)]
struct Full {
    memory: MemoryStore,
    room: AtomicU64,
}

impl Full {
    fn after(room: u64) -> Store {
        Store::new(Arc::new(Self { memory: MemoryStore::new(), room: AtomicU64::new(room) }))
    }

    fn take(&self, bytes: usize) -> Result<()> {
        let bytes = bytes as u64;
        let taken = self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(bytes));
        taken.map(drop).map_err(|_| StoreError::Full {
            path: "memory".into(),
            size: Bytes(bytes),
            source: std::io::Error::from(std::io::ErrorKind::StorageFull),
        })
    }
}

#[derive(Debug)]
struct FullDraft<'f> {
    full: &'f Full,
    draft: Box<dyn Draft + 'f>,
}

impl Draft for FullDraft<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.full.take(bytes.len())?;
        self.draft.write(bytes)
    }

    fn publish(&mut self, key: &Key) -> Result<Created> {
        self.draft.publish(key)
    }
}

impl Backend for Full {
    fn create(&self, key: &Key, parts: &[&[u8]]) -> Result<Created> {
        self.take(parts.iter().map(|part| part.len()).sum())?;
        self.memory.create(key, parts)
    }

    fn begin(&self, likely: &Key) -> Result<Box<dyn Draft + '_>> {
        Ok(Box::new(FullDraft { full: self, draft: self.memory.begin(likely)? }))
    }

    fn open(&self, key: &Key, from: u64) -> Result<Option<Box<dyn Reader + '_>>> {
        self.memory.open(key, from)
    }

    fn get(&self, key: &Key) -> Result<Option<Vec<u8>>> {
        self.memory.get(key)
    }

    fn get_ranges(&self, key: &Key, ranges: &[Range<u64>]) -> Result<Option<Vec<Vec<u8>>>> {
        self.memory.get_ranges(key, ranges)
    }

    fn head(&self, key: &Key) -> Result<Option<Entry>> {
        self.memory.head(key)
    }

    fn list(&self, folder: &Folder) -> Result<Listing> {
        self.memory.list(folder)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.memory.delete(key)
    }

    fn sweep(&self, before: SystemTime) -> Result<u64> {
        self.memory.sweep(before)
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        self.memory.path(key)
    }
}

fn ids() -> (SessionId, ToolCallId) {
    (SessionId::new("s"), ToolCallId::new("c"))
}

fn lines(count: usize) -> Vec<u8> {
    (0..count).map(|n| format!("line {n} of the output\n")).collect::<String>().into_bytes()
}

fn stream(store: &Store, content: &[u8], pieces: usize, policy: &Policy) -> Spilled {
    let (session, call) = ids();
    let mut stream = begin(store, ToolResult::new(&session, &call), policy);
    for piece in content.chunks(pieces.max(1)) {
        stream.write(piece);
    }
    stream.finish()
}

fn at_once(store: &Store, content: &[u8], policy: &Policy) -> Spilled {
    let (session, call) = ids();
    spill(store, &ToolResult::new(&session, &call), content, policy)
}

#[test]
fn the_frozen_text_is_shown_wherever_it_fits() {
    let (store, content) = (Store::memory(), lines(1_000));
    let first = at_once(&store, &content, &Policy::new(Bytes(2_000)));
    let classic = Policy::new(Bytes(5_000)).with_shape(Shape::Classic);
    assert_eq!(at_once(&store, &content, &classic).text, first.text, "a wider cap, another shape");
    assert_eq!(at_once(&store, &content, &Policy::new(Bytes(1 << 20))).text, first.text, "a cap that all would fit");
    assert_eq!(stream(&store, &content, 777, &Policy::new(Bytes(1 << 20))).text, first.text, "the same by stream");
    let narrow = at_once(&store, &content, &Policy::new(Bytes(500)));
    assert!(narrow.text.len() <= 500 && narrow.artifact == first.artifact);
    let again = at_once(&store, &content, &Policy::new(Bytes(2_000)));
    assert_eq!(again.text, first.text, "a narrower cap left the record alone");
    assert_eq!(
        (again.omitted, again.lines, again.kind, again.bytes),
        (first.omitted, 1_000, first.kind, first.bytes)
    );
}

#[test]
fn a_text_that_could_not_name_its_id_is_not_frozen() {
    let content = lines(1_000);
    for tiny in [0, 16, 20, 60] {
        let store = Store::memory();
        let first = at_once(&store, &content, &Policy::new(Bytes(tiny)));
        assert!(first.artifact.is_some() && first.text.len() as u64 <= tiny);
        let wide = at_once(&store, &content, &Policy::new(Bytes(2_000)));
        assert!(String::from_utf8_lossy(&wide.text).contains("recall id s/c"), "{tiny}");
        assert_eq!(at_once(&store, &content, &Policy::new(Bytes(1 << 20))).text, content, "{tiny}");
    }
}

#[test]
fn once_the_record_is_gone_the_text_is_made_anew() {
    let (store, content) = (Store::memory(), lines(1_000));
    let first = at_once(&store, &content, &Policy::new(Bytes(2_000)));
    store.backend().delete(&Record::Meta(first.artifact.clone().unwrap()).key()).unwrap();
    let wide = at_once(&store, &content, &Policy::new(Bytes(5_000)));
    assert!(wide.text.len() > 2_000);
    assert_eq!(at_once(&store, &content, &Policy::new(Bytes(9_000))).text, wide.text, "and frozen again");
}

#[test]
fn a_full_store_gives_the_snipped_text_an_honest_note_and_the_fault() {
    let content = lines(100_000);
    for room in [0, 1_000_000, content.len() as u64] {
        let policy = Policy::new(Bytes(3_000));
        for spilled in
            [at_once(&Full::after(room), &content, &policy), stream(&Full::after(room), &content, 4_096, &policy)]
        {
            let text = String::from_utf8(spilled.text).unwrap();
            assert!(text.len() <= 3_000 && text.contains("could NOT be saved"), "{room}: {text}");
            assert!(matches!(spilled.fault, Some(StoreError::Full { .. })) && spilled.artifact.is_none());
            assert_eq!((spilled.saved, spilled.bytes), (Saved::Not, Bytes::from(content.len())));
        }
    }
    let within = at_once(&Full::after(0), b"small", &Policy::default());
    assert!(within.fault.is_none() && within.text == b"small");
}

#[test]
fn over_the_quota_the_first_bytes_are_saved_and_the_text_says_how_many() {
    let quotas = Quotas { max_artifact: 5_000, max_stream: 7_000, ..Quotas::default() };
    let (content, policy) = (lines(1_000), Policy::new(Bytes(2_000)));
    let store = Store::memory().with_quotas(quotas);
    let spilled = at_once(&store, &content, &policy);
    assert_eq!((spilled.saved, spilled.lines), (Saved::First(Bytes(5_000)), 1_000));
    assert!(String::from_utf8_lossy(&spilled.text).contains("first 5000 bytes saved"));
    assert_eq!(store.recall(&spilled.artifact.unwrap().into()).unwrap(), &content[..5_000]);
    assert_eq!(at_once(&store, &content, &Policy::new(Bytes(1 << 20))).text, spilled.text, "found by its whole hash");
    let streamed = stream(&Store::memory().with_quotas(quotas), &content, 100, &policy);
    assert_eq!(streamed.saved, Saved::First(Bytes(7_000)));
}

#[test]
fn an_async_caller_gets_the_same() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (session, call) = ids();
    let content = lines(1_000);
    let policy = Policy::new(Bytes(2_000));
    let spilled = runtime.block_on(async {
        let store = Store::memory();
        spill_async(&store, &ToolResult::new(&session, &call).of_tool("Bash"), content.clone(), &policy).await
    });
    let result = ToolResult::new(&session, &call).of_tool("Bash");
    assert_eq!(spilled.text, spill(&Store::memory(), &result, &content, &policy).text);
}

#[test]
fn results_of_one_batch_are_within_its_budget_together() {
    let (store, session) = (Store::memory(), SessionId::new("s"));
    let calls: Vec<ToolCallId> = (0..10).map(|n| ToolCallId::new(&format!("c{n}"))).collect();
    let content = lines(400);
    let results: Vec<(ToolResult<'_>, &[u8])> =
        calls.iter().map(|call| (ToolResult::new(&session, call), content.as_slice())).collect();
    let cap = Bytes::from(content.len() * 10 / 9);
    let spilled = spill_batch(&store, &results, &Policy::new(cap), Bytes(20_000));
    assert!(spilled.iter().map(|one| one.text.len()).sum::<usize>() <= 20_000);
    assert!(spilled.iter().all(|one| one.was_capped && one.text.len() > 1_000), "each gets a fair share");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_stream_shows_what_the_whole_shows(count in 0..400usize, piece in 1..3_000usize, limit in 0..6_000u64) {
        let (content, policy) = (lines(count), Policy::new(Bytes(limit)));
        let (whole, streamed) = (at_once(&Store::memory(), &content, &policy), stream(&Store::memory(), &content, piece, &policy));
        prop_assert!(whole.text.len() as u64 <= limit);
        prop_assert_eq!(&whole.text, &streamed.text);
        prop_assert_eq!((whole.bytes, whole.lines, whole.kind, whole.omitted), (streamed.bytes, streamed.lines, streamed.kind, streamed.omitted));
        prop_assert_eq!(whole.artifact, streamed.artifact);
    }
}

#[test]
fn a_long_stream_of_many_blocks_shows_and_stores_what_the_whole_does() {
    let mut content = lines(80_000);
    content.extend_from_slice(b"error: near the end\nwithout a line feed");
    let policy = Policy::new(Bytes(6_000));
    let whole = at_once(&Store::memory(), &content, &policy);
    let root = tempfile::tempdir().unwrap();
    for store in [Store::memory(), Store::local(root.path())] {
        let (session, call) = ids();
        let mut stream = begin(&store, ToolResult::new(&session, &call), &policy);
        let (first, rest) = content.split_at(300_001);
        stream.read_from(first).unwrap();
        stream.write(b"");
        stream.read_from(Halting(rest, 7)).unwrap();
        let streamed = stream.finish();
        assert_eq!(streamed.text, whole.text);
        assert_eq!((streamed.lines, streamed.bytes, streamed.omitted), (whole.lines, whole.bytes, whole.omitted));
        assert_eq!(store.recall(&streamed.artifact.unwrap().into()).unwrap(), content);
        assert!(store.verify(None).is_sound());
    }
}

/// A reader that is interrupted before each piece, and gives pieces of uneven sizes.
struct Halting<'t>(&'t [u8], usize);

impl std::io::Read for Halting<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(2) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let length = (self.1 * 7_919 % 90_000 + 1).min(into.len());
        self.0.read(&mut into[..length])
    }
}

#[test]
fn what_came_before_a_failure_to_read_is_stored() {
    struct Broken(usize);
    impl std::io::Read for Broken {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(std::io::ErrorKind::ConnectionReset)?;
            into.fill(b'\n');
            Ok(into.len())
        }
    }
    for reads in [0, 1, 40] {
        let (store, (session, call)) = (Store::memory(), ids());
        let mut stream = begin(&store, ToolResult::new(&session, &call), &Policy::new(Bytes(1_000)));
        assert!(stream.read_from(Broken(reads)).is_err());
        let spilled = stream.finish();
        assert_eq!(spilled.artifact.is_some(), reads > 0);
        assert_eq!(spilled.bytes.0, spilled.lines);
    }
}

#[test]
fn a_replay_without_the_path_is_what_was_shown_but_for_the_path() {
    let root = tempfile::tempdir().unwrap();
    let (session, content) = (SessionId::new("s"), lines(1_000));
    for shape in [Shape::Default, Shape::Classic] {
        let call = ToolCallId::new(if shape == Shape::Classic { "classic" } else { "default" });
        let (store, result) = (Store::local(root.path()), ToolResult::new(&session, &call));
        let policy = Policy::new(Bytes(4_000)).with_shape(shape);
        let shown = spill(&store, &result.with_path(), &content, &policy);
        let path = shown.path.unwrap().display().to_string();
        let (shown, part) = (
            String::from_utf8(shown.text).unwrap(),
            match shape {
                Shape::Default => format!("; file \"{path}\""),
                Shape::Classic => format!(", in {path}"),
            },
        );
        assert!(shown.contains(&part), "{shown}");
        let without = spill(&store, &result, &content, &policy);
        assert_eq!(String::from_utf8(without.text).unwrap(), shown.replace(&part, ""));
        let again = spill(&store, &result.with_path(), &content, &policy);
        assert_eq!(String::from_utf8(again.text).unwrap(), shown);
    }
}
