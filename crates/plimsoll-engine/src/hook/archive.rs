//! `PreCompact`: the session file is archived before the agent program replaces a part of its conversation.
//!
//! The archive is an epoch: `restore` gives the file byte for byte, `recall` the conversation that is about to go. Its
//! record carries what the user said that stands for the rest of the work, for the announcement that follows.

use std::io::Read as _;
use std::path::Path;
use std::time::SystemTime;

use plimsoll::compact::Ledger;
use plimsoll::id::{EpochId, Folder, Record, SessionId};
use plimsoll::wire::{Document, ParseOptions, parse};
use plimsoll::{Bytes, Tokens};
use plimsoll_store::{Archived, Compaction, Store, StoreError};
use serde::{Deserialize, Serialize};

use super::HookFault;
use super::tail::open_regular;

/// The largest session file that is archived: 256 MiB.
const LARGEST: u64 = 256 << 20;
/// The largest session file that is also read for what the user said: 64 MiB.
const READ: usize = 64 << 20;
/// What the record's ledger may take, at four bytes a token.
const LEDGER: Tokens = Tokens(2_000);
/// What a record of ours says that it is.
const KIND: &str = "transcript";

/// The record of an archived session file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Archive {
    /// Tells it from the record of a compaction that Plimsoll made.
    kind: String,
    version: u32,
    /// The size of the file in bytes.
    pub(super) bytes: u64,
    /// How many messages the conversation had.
    pub(super) messages: usize,
    /// What is carried on: the user's words, across all compactions of the session so far.
    pub(super) ledger: Ledger,
}

/// Archives a session file.
pub(super) fn archive(
    path: &Path,
    session: &SessionId,
    store: &Store,
    now: SystemTime,
) -> Result<Archived, HookFault> {
    let document = read(path)?;
    let previous = latest(store, session)?;
    let mut archive = Archive {
        kind: KIND.to_owned(),
        version: 1,
        bytes: document.len() as u64,
        messages: 0,
        ledger: Ledger::default(),
    };
    let mut removed = 0..document.len() as u64;
    if document.len() <= READ
        && let Ok(parsed) = parse(&document, &ParseOptions::default())
    {
        let messages = parsed.transcript().messages.len();
        removed = conversation(&parsed);
        archive.messages = messages;
        archive.ledger = carried(Ledger::of(parsed.transcript(), 0..messages), previous.map(|(_, archive)| archive));
    } else if let Some((_, previous)) = previous {
        archive.ledger = previous.ledger;
    }
    let record = serde_json::to_vec(&archive).map_err(HookFault::Record)?;
    // Named by its content: the same file is the same epoch, whoever asks and how often.
    let epoch = EpochId::new(session, blake3::hash(&document).as_bytes());
    let compaction = Compaction {
        epoch: &epoch,
        document: &document,
        removed: std::slice::from_ref(&removed),
        artifacts: &[],
        record: &record,
        now,
    };
    Ok(store.archive(&compaction)?)
}

fn read(path: &Path) -> Result<Vec<u8>, HookFault> {
    let failed = |source| HookFault::Transcript { path: path.to_path_buf(), source };
    let file = open_regular(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    if size > LARGEST {
        return Err(HookFault::TooLarge { size: Bytes(size), limit: Bytes(LARGEST) });
    }
    let mut document = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(LARGEST).read_to_end(&mut document).map_err(failed)?;
    Ok(document)
}

/// The part of the file that holds the conversation as the model sees it: from its first entry to its last one.
fn conversation(document: &Document<'_>) -> std::ops::Range<u64> {
    let entries = document.transcript().messages.iter().flat_map(|message| message.entries.iter());
    let mut spans = entries.filter_map(|entry| document.entries().get(*entry as usize)).map(|entry| entry.span);
    let Some(first) = spans.next() else {
        return 0..document.bytes().len() as u64;
    };
    let all = spans.fold(first, plimsoll::wire::Span::join);
    all.start() as u64..all.end() as u64
}

/// The facts that an announcement is made of, with those of the last one, under the bound. Calls and their like are left
/// to the program's own summary.
fn carried(ledger: Ledger, previous: Option<Archive>) -> Ledger {
    let words = |ledger: Ledger| Ledger { turns: ledger.turns, words: ledger.words, ..Ledger::default() };
    let merged = match previous {
        Some(previous) => Ledger::merge(previous.ledger, words(ledger)),
        None => words(ledger),
    };
    // The first request says what the work is about.
    let first = merged.words.first().map_or(0, |words| words.turn);
    let stands = |words: &plimsoll::compact::Words| words.turn == first || words.is_standing();
    let standing = Ledger { words: merged.words.into_iter().filter(stands).collect(), ..merged };
    standing.bounded(LEDGER, &|text| Tokens(text.len() as u64 / 4))
}

/// Finds the session file that was archived last, and its record.
pub(super) fn latest(store: &Store, session: &SessionId) -> Result<Option<(EpochId, Archive)>, StoreError> {
    let mut records = store.backend().list(&Folder::EpochsOf(session.clone()))?.records;
    records.sort_by_key(|entry| std::cmp::Reverse(entry.modified));
    let epochs = records.into_iter().filter_map(|entry| match entry.key.record() {
        Some(Record::Epoch(epoch)) => Some(epoch),
        _ => None,
    });
    for epoch in epochs.take(16) {
        let record = store.epoch_record(&epoch)?.unwrap_or_default();
        if let Ok(archive) = serde_json::from_slice::<Archive>(&record)
            && archive.kind == KIND
        {
            return Ok(Some((epoch, archive)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(role: &str, uuid: &str, parent: Option<&str>, text: &str) -> String {
        serde_json::json!({
            "parentUuid": parent, "isSidechain": false, "type": role, "uuid": uuid, "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w", "version": "2.1.197",
            "message": { "role": role, "content": text },
        })
        .to_string()
    }

    #[test]
    fn the_file_comes_back_byte_for_byte_and_what_the_user_demanded_goes_along() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s1.jsonl");
        let text = format!(
            "{}\n{}\n{}\n",
            r#"{"type":"summary","summary":"x","leafUuid":"y"}"#,
            line("user", "u1", None, "Rename the module. Never push to main without asking."),
            line("assistant", "a1", Some("u1"), "Renamed.")
        );
        std::fs::write(&path, &text).unwrap();
        let (store, session) = (Store::memory(), SessionId::new("s1"));
        let archived = archive(&path, &session, &store, SystemTime::now()).unwrap();
        let document = store.document(&archived.epoch).unwrap();
        assert_eq!(document.pieces().collect::<Result<Vec<_>, _>>().unwrap().concat(), text.as_bytes());
        let recalled = String::from_utf8(store.recall(&archived.epoch.clone().into()).unwrap()).unwrap();
        assert!(recalled.contains("Never push to main") && recalled.contains("Renamed."), "{recalled}");

        let (epoch, record) = latest(&store, &session).unwrap().unwrap();
        assert_eq!(epoch, archived.epoch);
        assert_eq!((record.messages, record.bytes), (2, text.len() as u64));
        assert!(record.ledger.words[0].text.contains("Never push to main"), "{record:?}");
        let again = archive(&path, &session, &store, SystemTime::now()).unwrap();
        assert_eq!(again.epoch, archived.epoch, "the same file is archived once");
    }

    #[test]
    fn what_was_demanded_before_an_earlier_compaction_is_carried_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s1.jsonl");
        let (store, session) = (Store::memory(), SessionId::new("s1"));
        for (uuid, words) in [("u1", "Never push to main."), ("u2", "Always answer in French, at most 3 lines.")] {
            std::fs::write(&path, line("user", uuid, None, words) + "\n").unwrap();
            archive(&path, &session, &store, SystemTime::now()).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let (_, record) = latest(&store, &session).unwrap().unwrap();
        let words: Vec<&str> = record.ledger.words.iter().map(|words| words.text.as_str()).collect();
        assert_eq!(words, ["Never push to main.", "Always answer in French, at most 3 lines."]);
    }

    #[test]
    fn what_is_no_transcript_is_archived_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd");
        std::fs::write(&path, b"\xff\xfe no transcript").unwrap();
        let (store, session) = (Store::memory(), SessionId::new("s1"));
        let archived = archive(&path, &session, &store, SystemTime::now()).unwrap();
        assert_eq!(store.recall(&archived.epoch.into()).unwrap(), b"\xff\xfe no transcript");
        assert!(archive(folder.path(), &session, &store, SystemTime::now()).is_err(), "a directory is none");
    }
}
