//! What a file holds that the document to be restored over it does not.

use std::collections::HashSet;

use plimsoll::Bytes;
use plimsoll::transcript::{Author, Message};
use plimsoll::wire::{ParseOptions, parse};

/// Counts the messages of a transcript, of the user and of the model, that an older document of it does not have.
///
/// A summary is none of them, nor is what a compaction kept, by reference or by copy. What is no transcript has no messages.
pub fn later_messages(file: &[u8], older: &[u8]) -> usize {
    let options = ParseOptions::default().with_max_bytes(Bytes(u64::MAX));
    let Ok(now) = parse(file, &options) else { return 0 };
    let before = parse(older, &options).ok();
    let known: HashSet<&[u8]> = before
        .iter()
        .flat_map(|document| &document.transcript().messages)
        .flat_map(|message| blocks(message, older))
        .collect();
    let is_later = |message: &&Message<'_>| {
        let said = matches!(message.author, Author::User | Author::Model) && !message.blocks.is_empty();
        // Pieces of a message that was kept may have been left out or replaced; of one that came later all is new.
        said && blocks(message, file).all(|block| !known.contains(block))
    };
    now.transcript().messages.iter().filter(is_later).count()
}

fn blocks<'a>(message: &Message<'_>, bytes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    message.blocks.iter().map(move |block| block.span.of(bytes))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use plimsoll::wire::splice;
    use plimsoll_store::Store;

    use super::*;
    use crate::{CompactOptions, compact};

    fn line(n: usize, role: &str, words: &str) -> String {
        let parent = n.checked_sub(1).map(|parent| format!("u{parent}"));
        let line = serde_json::json!({
            "parentUuid": parent, "isSidechain": false, "type": role, "uuid": format!("u{n}"), "sessionId": "s1",
            "timestamp": "2026-01-01T00:00:00Z", "version": "2.0.1", "message": {"role": role, "content": [{"type": "text", "text": words}]},
        });
        format!("{line}\n")
    }

    fn compacted(session: &str) -> String {
        let document = parse(session.as_bytes(), &ParseOptions::default()).unwrap();
        let options = CompactOptions { force: true, ..CompactOptions::default() };
        let store = Store::memory();
        let done = compact(&document, &options, Some(&store), SystemTime::now(), &|_| {}).unwrap();
        assert!(!done.edits.is_empty(), "{:?}", done.report);
        String::from_utf8(splice(session.as_bytes(), &done.edits).unwrap().into_owned()).unwrap()
    }

    #[test]
    fn a_compaction_adds_no_message_and_what_is_said_after_it_does() {
        let session: String = (0..40)
            .map(|n| line(n, ["user", "assistant"][n % 2], &format!("Step {n}. {}", "Look at it again. ".repeat(60))))
            .collect();
        let compacted = compacted(&session);
        assert_eq!(later_messages(compacted.as_bytes(), session.as_bytes()), 0);
        // Both stand behind the last line of the compaction.
        let last = compacted
            .lines()
            .rev()
            .find_map(|line| {
                serde_json::from_str::<serde_json::Value>(line).ok()?.get("uuid")?.as_str().map(ToOwned::to_owned)
            })
            .unwrap();
        let more = line(100, "user", "One more thing.").replace("\"u99\"", &format!("\"{last}\""))
            + &line(101, "assistant", "Done.");
        assert_eq!(later_messages((compacted + &more).as_bytes(), session.as_bytes()), 2);
    }

    #[test]
    fn what_is_no_transcript_has_no_messages() {
        assert_eq!(later_messages(b"notes of mine", b"{}"), 0);
        assert_eq!(later_messages(b"", b""), 0);
    }
}
