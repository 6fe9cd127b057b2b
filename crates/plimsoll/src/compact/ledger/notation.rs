//! The ledger as lines of text, and back: what the continuation message carries is enough to go on from.
//!
//! Every fact is one entry `- [label] …`. The user's words stand as they are, in a fence of tildes where they have
//! several lines; texts of tools and models are one line each, in code spans. So no text in an entry can pose as another
//! entry, and reading gives back what was written: `Ledger::parse(&ledger.render()) == ledger`.

use std::fmt::Write as _;

use super::items::Item;
use super::sentence::passages;
use super::todos::Todo;
use super::{Artifact, Command, Failure, Ledger, LeftOut, Note, PendingCall, Words};

/// One entry of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    Words(Words),
    Item(Item),
    Command(Command),
    Failure(Failure),
    Todo(Todo),
    Note(Note),
    Name(String),
    Pending(PendingCall),
    Artifact(Artifact),
    Earlier(String),
}

impl Fact {
    /// A number for its kind.
    pub(crate) const fn kind(&self) -> u8 {
        match self {
            Self::Words(_) => 0,
            Self::Item(_) => 1,
            Self::Command(_) => 2,
            Self::Failure(_) => 3,
            Self::Todo(_) => 4,
            Self::Note(_) => 5,
            Self::Name(_) => 6,
            Self::Pending(_) => 7,
            Self::Artifact(_) => 8,
            Self::Earlier(_) => 9,
        }
    }

    /// The fact as an entry, without a final newline. Names are joined into one entry by [`names_entry`].
    pub(crate) fn entry(&self) -> String {
        match self {
            Self::Words(words) => words_entry(words),
            Self::Item(item) => item_entry(item),
            Self::Command(command) => {
                let times = if command.runs == 1 { String::new() } else { format!("; {} runs", command.runs) };
                format!("- [command] {}: {}{times}; at {}", span(&command.line), command.outcome.show(), command.turn)
            }
            Self::Failure(failure) => failure_entry(failure),
            Self::Todo(todo) => format!("- [todo {}] {}", todo.status.name(), todo.what),
            Self::Note(note) => {
                let label = match (note.answered, note.decided) {
                    (true, _) => "answered",
                    (false, true) => "decided",
                    (false, false) => "after",
                };
                format!("- [{label} {}] {}", note.turn, note.text)
            }
            Self::Name(name) => span(name),
            Self::Pending(call) => format!("- [call] {}: {}; at {}", span(&call.tool), span(&call.about), call.turn),
            Self::Artifact(artifact) => {
                format!("- [recall] {}: {}", span(&artifact.id), artifact.what)
            }
            Self::Earlier(text) => format!("- [earlier]\n{}", fenced(text)),
        }
    }
}

fn words_entry(words: &Words) -> String {
    let part = if words.part { "…" } else { "" };
    let changed = words.changed_by.map_or(String::new(), |by| {
        let partly = if passages(&words.text).len() > 1 { "partly " } else { "" };
        format!("; {partly}changed by {by}")
    });
    let label = format!("- [{}{part}{changed}]", words.turn);
    if words.text.contains('\n') {
        format!("{label}\n{}", fenced(&words.text))
    } else {
        format!("{label} {}", words.text)
    }
}

fn item_entry(item: &Item) -> String {
    let mut touches = String::new();
    for (touch, times) in &item.touches {
        let gap = if touches.is_empty() { "" } else { ", " };
        let _ = write!(touches, "{gap}{}", touch.name());
        if *times != 1 {
            let _ = write!(touches, " {times}×");
        }
    }
    let alone = matches!(item.touches.as_slice(), [(touch, _)] if *touch == item.last);
    let last = if alone { String::new() } else { format!("last {}, ", item.last.name()) };
    format!("- [item] {}: {touches}; {last}{}; at {}", span(&item.path), item.outcome.show(), item.turn)
}

fn failure_entry(failure: &Failure) -> String {
    let times = if failure.times == 1 { String::new() } else { format!("; {} times", failure.times) };
    let fix = match &failure.fix {
        None => "open".to_owned(),
        Some(fix) if fix.after.is_empty() => format!("fixed at {}", fix.turn),
        Some(fix) => format!(
            "fixed at {} after changing {}",
            fix.turn,
            fix.after.iter().map(|path| span(path)).collect::<Vec<_>>().join(", ")
        ),
    };
    format!(
        "- [error] {} from {}{times}; at {}; {fix}",
        span(&failure.signature),
        span(&failure.source),
        failure.turn
    )
}

/// The entry that holds all names.
pub(crate) fn names_entry(names: &[String]) -> String {
    format!("- [names] {}", names.iter().map(|name| span(name)).collect::<Vec<_>>().join(", "))
}

/// The entry that says how far the ledger reaches and what it does not show.
pub(crate) fn reach_entry(turns: u32, left_out: &LeftOut, recall: &str) -> String {
    let mut entry = format!("- [reach] {turns} user messages so far");
    let mut first = true;
    for (count, what) in left_out.counts() {
        if *count > 0 {
            let gap = if first { "; not shown: " } else { ", " };
            let _ = write!(entry, "{gap}{count} {what}");
            first = false;
        }
    }
    if !first && !recall.is_empty() {
        let _ = write!(entry, "; recall {}", span(recall));
    }
    entry
}

/// A text in a fence of tildes that is longer than any in it.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text
        .split('\n')
        .map(str::trim_start)
        .map(|line| line.len() - line.trim_start_matches('~').len())
        .max()
        .unwrap_or(0);
    let fence = "~".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

/// A text of one line as a code span.
pub(crate) fn span(text: &str) -> String {
    let (mut longest, mut run) = (0_usize, 0_usize);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let ticks = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// All facts of a ledger, in the order in which they are written.
pub(crate) fn facts(ledger: &Ledger) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    facts.extend(ledger.earlier.iter().cloned().map(Fact::Earlier));
    facts.extend(ledger.words.iter().cloned().map(Fact::Words));
    facts.extend(ledger.todos.iter().cloned().map(Fact::Todo));
    facts.extend(ledger.pending.iter().cloned().map(Fact::Pending));
    facts.extend(ledger.items.iter().cloned().map(Fact::Item));
    facts.extend(ledger.commands.iter().cloned().map(Fact::Command));
    facts.extend(ledger.errors.iter().cloned().map(Fact::Failure));
    facts.extend(ledger.notes.iter().cloned().map(Fact::Note));
    facts.extend(ledger.names.iter().cloned().map(Fact::Name));
    facts.extend(ledger.artifacts.iter().cloned().map(Fact::Artifact));
    facts
}
