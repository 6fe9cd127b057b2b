//! `extract`: a complete summary without any model, from the ledger and the transcript.
//!
//! The embedded default, the fallback when a model's summary fails, and the baseline that one must beat. The same nine
//! sections as the summary request asks for; the facts in them are the ledger's entries, so that
//! the next round reads them back as they were.

mod compose;
mod concepts;
mod narrative;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod model_rounds;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod survival;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::ledger::gather::gather;
use super::ledger::{Artifact, Ledger, task};
use super::profile::Profile;
use crate::transcript::{Author, Message, Transcript, typed_words};
use crate::units::Tokens;

/// What an extract is to be like.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// How many tokens the whole summary may take. A hard bound.
    pub budget: Tokens,
    /// How many of them belong to carried facts before anything else; [`ledger_bound`](super::ledger_bound) of the target.
    pub ledger: Tokens,
    /// Counts tokens.
    pub count: &'r dyn Fn(&str) -> Tokens,
    /// The id under which what is removed will be recalled; empty if it is not stored.
    pub recall: &'r str,
    /// Whether the cut falls inside a turn, so that the kept tail begins in the middle of it.
    pub splits_turn: bool,
    /// What kind of work it is.
    pub profile: &'r Profile,
    /// What the user asked this summary to pay attention to. It steers, it selects nothing away.
    pub instructions: Option<&'r str>,
}

/// A summary made without a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extract {
    /// The nine sections.
    pub summary: String,
    /// The facts in them: what [`Ledger::parse`] reads from the summary.
    pub ledger: Ledger,
    /// How many facts of each kind are carried.
    pub carried: Carried,
}

/// How many facts of each kind a summary carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Messages of the user, or passages of them, verbatim.
    pub user_messages: usize,
    /// Of these: standing instructions, limits, values.
    pub constraints: usize,
    /// Items touched.
    pub items: usize,
    /// Commands run.
    pub commands: usize,
    /// Errors, by signature.
    pub errors: usize,
    /// Entries of the work's list that are open.
    pub open_todos: usize,
    /// What the model reported and decided.
    pub notes: usize,
    /// Identifiers that the user and a tool call both named.
    pub identifiers: usize,
    /// Calls without an answer.
    pub pending_calls: usize,
    /// What can be recalled.
    pub artifacts: usize,
    /// What did not fit, over all rounds.
    pub left_out: u32,
}

impl Carried {
    /// Counts the facts of a ledger.
    pub fn of(ledger: &Ledger) -> Self {
        Self {
            user_messages: ledger.words.len(),
            constraints: ledger.constraints(),
            items: ledger.items.len(),
            commands: ledger.commands.len(),
            errors: ledger.errors.len(),
            open_todos: ledger.todos.iter().filter(|todo| todo.is_open()).count(),
            notes: ledger.notes.len(),
            identifiers: ledger.names.len(),
            pending_calls: ledger.pending.len(),
            artifacts: ledger.artifacts.len(),
            left_out: ledger.left_out.total(),
        }
    }
}

/// Summarises the messages that are to be removed, without a model.
///
/// The summary takes at most `request.budget` tokens, whatever the budget; the user's words come first. It is a pure
/// function of its arguments.
///
/// ```
/// use plimsoll::compact::{Ledger, Profile, Request, extract, ledger_bound};
/// use plimsoll::{Tokens, wire::{ParseOptions, parse}};
/// let body = br#"{"model":"claude-sonnet-4-5","messages":[
///   {"role":"user","content":"Fix the flaky test. Never touch `main`."},
///   {"role":"assistant","content":[{"type":"text","text":"I look at it."},
///     {"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test"}}]},
///   {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 101\nerror: test failed"}]}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let request = Request {
///     budget: Tokens(2_000),
///     ledger: ledger_bound(Tokens(4_000)),
///     count: &|text| Tokens::from(text.len() / 4 + 1),
///     recall: "s1/~0a1b2c3d4e5f",
///     splits_turn: true,
///     profile: &Profile::default(),
///     instructions: None,
/// };
/// let extract = extract(document.transcript(), 0..3, &request);
/// assert!(extract.summary.contains("Never touch `main`."));
/// assert!(extract.summary.contains("`cargo test`: exit 101"));
/// assert_eq!(Ledger::parse(&extract.summary), extract.ledger);
/// ```
pub fn extract(transcript: &Transcript<'_>, removed: Range<usize>, request: &Request<'_>) -> Extract {
    let (mut ledger, trail) = gather(transcript, removed.clone());
    if !request.recall.is_empty() {
        ledger.artifacts.push(Artifact::of_messages(request.recall, removed.len(), ledger.turns));
    }
    let rest = transcript.messages.get(removed.end..).unwrap_or(&[]);
    let follows = if rest.first().is_some_and(|message| message.author == Author::User) && !request.splits_turn {
        narrative::Tail::NextRequest
    } else if rest.iter().any(|message| message.author == Author::User) {
        narrative::Tail::RestThenNextRequest
    } else if rest.is_empty() {
        narrative::Tail::None
    } else {
        narrative::Tail::Rest
    };
    let pieces = narrative::pieces(&ledger, &trail, (follows, only_chatter(rest)), request);
    let (summary, ledger) = compose::compose(&ledger, &pieces, request);
    Extract { carried: Carried::of(&ledger), summary, ledger }
}

/// Whether all that the user says in some messages asks for nothing by itself. A picture may ask for anything.
fn only_chatter(messages: &[Message<'_>]) -> bool {
    messages.iter().filter(|message| message.author == Author::User).all(|message| {
        let mut texts = message.texts().peekable();
        texts.peek().is_some() && texts.all(|text| task::is_chatter(&typed_words(&text.decode_start(400))))
    })
}
