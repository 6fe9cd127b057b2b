//! How early a fact is chosen: the user's words first, the weightiest passages before others, then the work.

use super::notation::Fact;
use super::shell;
use super::standing::Tier;
use super::todos::Status;
use super::{Ledger, Words, task};

/// How early something is chosen. Lower goes first; narrative takes ranks in between.
pub(crate) type Rank = u8;

pub(crate) const REQUESTS: Rank = 0;
pub(crate) const STANDING: Rank = 2;
pub(crate) const VALUES: Rank = 8;
/// Short messages and lines: in a language whose words are not known they may be instructions.
const SHORT: Rank = 10;
/// The last rank of what is laid down, and chosen before all else.
pub(crate) const LAID_DOWN: Rank = 10;
const WORK: Rank = 12;
const CHANGED: Rank = 14;
const SAID: Rank = 18;
const REPORTED: Rank = 20;
const SEEN: Rank = 26;
const OLD: Rank = 32;
const CHATTER: Rank = 36;
pub(super) const BULK: Rank = 38;

/// How many of the last compactions come before what was changed.
const COMPACTIONS: usize = 8;

/// `apart` says whether the words stand on lines of their own, rather than in the middle of prose.
pub(super) fn rank_words(words: &Words, last: u32, apart: bool) -> (Rank, u8) {
    if task::is_chatter(&words.text) {
        return (CHATTER, 0);
    }
    let (tier, score) = words.weigh();
    let recent = words.turn + 3 > last;
    let rank = match (tier, words.changed_by) {
        (Tier::Bulk, _) => BULK,
        (Tier::Standing | Tier::Value, Some(_)) | (Tier::Value, None) => VALUES,
        (Tier::Standing, None) => STANDING,
        (Tier::Short, _) if apart => SHORT,
        _ if recent => SAID,
        (Tier::Short, _) => SAID + 2,
        (Tier::Plain, _) => REPORTED + 2,
    };
    (rank, score)
}

/// The rank of a fact that is not the user's words, and how recent it is.
pub(super) fn rank(ledger: &Ledger, fact: &Fact, nth: u32) -> (Rank, u32) {
    let old = |turn: u32, rank: Rank| {
        if turn + 6 > ledger.turns { rank } else { rank + 4 }
    };
    match fact {
        Fact::Earlier(_) => (STANDING + 1, 0),
        // A long list is shown by its beginning, and what is being worked on.
        Fact::Todo(todo) if todo.status == Status::Active || (todo.is_open() && nth <= 12) => (WORK, u32::MAX - nth),
        Fact::Todo(todo) if todo.is_open() => (SEEN, u32::MAX - nth),
        Fact::Todo(_) => (SEEN + 2, nth),
        Fact::Pending(call) => (WORK, call.turn),
        Fact::Item(item) if item.is_changed() => (old(item.turn, CHANGED), nth),
        Fact::Item(item) => (old(item.turn, SEEN + 1), nth),
        Fact::Failure(failure) if failure.fix.is_none() => (old(failure.turn, CHANGED), failure.turn),
        Fact::Failure(failure) => (old(failure.turn, SEEN), failure.turn),
        Fact::Note(note) if note.answered => (STANDING, note.turn),
        Fact::Note(note) => (old(note.turn, if note.decided { REPORTED + 1 } else { REPORTED }), nth),
        Fact::Name(_) => (REPORTED + 1, u32::MAX - nth),
        Fact::Command(command) if command.outcome.is_failure() => (old(command.turn, SEEN), nth),
        Fact::Command(command) if shell::only_looks(&command.line) => (OLD + 2, nth),
        Fact::Command(command) => (old(command.turn, SEEN + 2), nth),
        // By these everything is found that went before, and they take little room.
        Fact::Artifact(artifact) if artifact.is_compaction() => {
            let later = ledger.artifacts.iter().skip(nth as usize).filter(|later| later.is_compaction()).count();
            (if later < COMPACTIONS { CHANGED - 1 } else { SEEN }, nth)
        }
        Fact::Artifact(_) | Fact::Words(_) => (OLD, nth),
    }
}
