//! The ledger as lines of text, and back: what the continuation message carries is enough to go on from.
//!
//! Every fact is one entry `- [label] …`. The user's words stand as they are, in a fence of tildes where they have
//! several lines; texts of tools and models are one line each, in code spans. So no text in an entry can pose as another
//! entry, and reading gives back what was written: `Ledger::parse(&ledger.render()) == ledger`.

use std::fmt::Write as _;

use super::items::{Item, Touch};
use super::outcome::Outcome;
use super::sentence::passages;
use super::todos::{Status, Todo};
use super::{Artifact, Command, Failure, Fix, Ledger, LeftOut, Note, PendingCall, Words};

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
                let times = if command.runs == 1 {
                    String::new()
                } else {
                    format!("; {} runs", command.runs)
                };
                format!(
                    "- [command] {}: {}{times}; at {}",
                    span(&command.line),
                    command.outcome.show(),
                    command.turn
                )
            }
            Self::Failure(failure) => failure_entry(failure),
            Self::Todo(todo) => format!("- [todo {}] {}", todo.status.name(), todo.what),
            Self::Note(note) => format!(
                "- [{} {}] {}",
                if note.decided { "decided" } else { "after" },
                note.turn,
                note.text
            ),
            Self::Name(name) => span(name),
            Self::Pending(call) => format!(
                "- [call] {}: {}; at {}",
                span(&call.tool),
                span(&call.about),
                call.turn
            ),
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
        let partly = if passages(&words.text).len() > 1 {
            "partly "
        } else {
            ""
        };
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
    let last = if alone {
        String::new()
    } else {
        format!("last {}, ", item.last.name())
    };
    format!(
        "- [item] {}: {touches}; {last}{}; at {}",
        span(&item.path),
        item.outcome.show(),
        item.turn
    )
}

fn failure_entry(failure: &Failure) -> String {
    let times = if failure.times == 1 {
        String::new()
    } else {
        format!("; {} times", failure.times)
    };
    let fix = match &failure.fix {
        None => "open".to_owned(),
        Some(fix) if fix.after.is_empty() => format!("fixed at {}", fix.turn),
        Some(fix) => format!(
            "fixed at {} after changing {}",
            fix.turn,
            fix.after
                .iter()
                .map(|path| span(path))
                .collect::<Vec<_>>()
                .join(", ")
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
    format!(
        "- [names] {}",
        names
            .iter()
            .map(|name| span(name))
            .collect::<Vec<_>>()
            .join(", ")
    )
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
        .map(|line| line.trim_start())
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
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Reads a code span at the start of a text; gives what it holds and what follows.
fn read_span(text: &str) -> Option<(&str, &str)> {
    let inside = text.trim_start_matches('`');
    let ticks = text.len() - inside.len();
    if ticks == 0 {
        return None;
    }
    let mut from = 0;
    loop {
        let at = from + inside.get(from..)?.find('`')?;
        let run = inside.get(at..)?;
        let len = run.len() - run.trim_start_matches('`').len();
        if len == ticks {
            let held = inside.get(..at)?;
            let bare = held
                .strip_prefix(' ')
                .and_then(|held| held.strip_suffix(' '))
                .filter(|bare| bare.starts_with('`') || bare.ends_with('`'));
            return Some((bare.unwrap_or(held), inside.get(at + len..)?));
        }
        from = at + len;
    }
}

/// Reads code spans parted by commas.
fn read_spans(mut text: &str) -> Vec<String> {
    let mut spans = Vec::new();
    while let Some((held, rest)) = read_span(text) {
        spans.push(held.to_owned());
        let Some(next) = rest.strip_prefix(", ") else {
            break;
        };
        text = next;
    }
    spans
}

/// Reads the entries in a text into a ledger. What is no entry is passed over.
pub(crate) fn parse(text: &str) -> Ledger {
    let mut ledger = Ledger::default();
    let mut lines = text.split('\n');
    while let Some(line) = lines.next() {
        let fence = line.len() - line.trim_start_matches('~').len();
        if fence >= 3 {
            read_fence(fence, &mut lines);
            continue;
        }
        let Some((label, rest)) = line
            .strip_prefix("- [")
            .and_then(|rest| rest.split_once(']'))
        else {
            continue;
        };
        let body = match rest.strip_prefix(' ') {
            Some(body) => body.to_owned(),
            None if rest.is_empty()
                && (label == "earlier" || label.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                let opening = lines.next().unwrap_or("");
                let fence = opening.len() - opening.trim_start_matches('~').len();
                if fence < 3 || fence != opening.len() {
                    continue;
                }
                read_fence(fence, &mut lines)
            }
            None => continue,
        };
        // An entry that cannot be read is narrative, not a fault.
        let _ = take(label, &body, &mut ledger);
    }
    // The requests stand in a section of their own, out of order; passages of one message stay as they stand.
    ledger.words.sort_by_key(|words| words.turn);
    ledger.turns = ledger
        .words
        .iter()
        .map(|words| words.turn)
        .max()
        .unwrap_or(0)
        .max(ledger.turns);
    ledger
}

fn read_fence<'a>(fence: usize, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let held: Vec<&str> = lines
        .take_while(|line| !(line.len() == fence && line.bytes().all(|byte| byte == b'~')))
        .collect();
    held.join("\n")
}

fn take(label: &str, body: &str, ledger: &mut Ledger) -> Option<()> {
    let (kind, detail) = label.split_once(' ').unwrap_or((label, ""));
    match kind {
        "item" => {
            let (path, rest) = read_span(body)?;
            let mut fields = rest.strip_prefix(": ")?.split("; ");
            let touches: Option<Vec<(Touch, u32)>> =
                fields.next()?.split(", ").map(read_touch).collect();
            let touches = touches?;
            let state = fields.next()?;
            let (last, outcome) = match state.strip_prefix("last ") {
                Some(last) => last
                    .split_once(", ")
                    .and_then(|(last, outcome)| Some((Touch::read(last)?, outcome)))?,
                None => (touches.first()?.0, state),
            };
            let outcome = Outcome::read(outcome)?;
            let turn = read_turn(fields.next()?)?;
            ledger.items.push(Item {
                path: path.to_owned(),
                touches,
                last,
                outcome,
                turn,
            });
        }
        "command" => {
            let (line, rest) = read_span(body)?;
            let mut fields = rest.strip_prefix(": ")?.split("; ");
            let outcome = Outcome::read(fields.next()?)?;
            let mut field = fields.next()?;
            let runs = field
                .strip_suffix(" runs")
                .and_then(|runs| runs.parse().ok());
            if runs.is_some() {
                field = fields.next()?;
            }
            ledger.commands.push(Command {
                line: line.to_owned(),
                runs: runs.unwrap_or(1),
                outcome,
                turn: read_turn(field)?,
            });
        }
        "error" => ledger.errors.push(read_failure(body)?),
        "todo" => {
            let status = [Status::Open, Status::Active, Status::Done, Status::Dropped]
                .into_iter()
                .find(|status| status.name() == detail)?;
            ledger.todos.push(Todo {
                what: body.to_owned(),
                status,
            });
        }
        "after" | "decided" => {
            ledger.notes.push(Note {
                turn: detail.parse().ok()?,
                text: body.to_owned(),
                decided: kind == "decided",
            });
        }
        "names" => ledger.names.extend(read_spans(body)),
        "call" => {
            let (tool, rest) = read_span(body)?;
            let (about, rest) = read_span(rest.strip_prefix(": ")?)?;
            let turn = read_turn(rest.strip_prefix("; ")?)?;
            ledger.pending.push(PendingCall {
                tool: tool.to_owned(),
                about: about.to_owned(),
                turn,
            });
        }
        "recall" => {
            let (id, rest) = read_span(body)?;
            ledger.artifacts.push(Artifact {
                id: id.to_owned(),
                what: rest.strip_prefix(": ")?.to_owned(),
            });
        }
        "earlier" => ledger.earlier = Some(body.to_owned()),
        "reach" => read_reach(body, ledger),
        _ => {
            let (turn, changed) = label.split_once("; ").unwrap_or((label, ""));
            let changed_by = changed
                .rsplit_once("changed by ")
                .and_then(|(_, by)| by.parse().ok());
            let part = turn.ends_with('…');
            let turn = turn.trim_end_matches('…').parse().ok()?;
            ledger.words.push(Words {
                turn,
                part,
                text: body.to_owned(),
                changed_by,
            });
        }
    }
    Some(())
}

fn read_turn(field: &str) -> Option<u32> {
    field.strip_prefix("at ")?.parse().ok()
}

fn read_touch(field: &str) -> Option<(Touch, u32)> {
    match field.split_once(' ') {
        Some((name, times)) => Some((Touch::read(name)?, times.strip_suffix('×')?.parse().ok()?)),
        None => Some((Touch::read(field)?, 1)),
    }
}

fn read_failure(body: &str) -> Option<Failure> {
    let (signature, rest) = read_span(body)?;
    let (source, rest) = read_span(rest.strip_prefix(" from ")?)?;
    let rest = rest.strip_prefix("; ")?;
    let (times, rest) = rest
        .split_once(" times; ")
        .and_then(|(times, rest)| Some((times.parse().ok()?, rest)))
        .unwrap_or((1, rest));
    let (turn, fix) = rest.split_once("; ")?;
    let fix = match fix.strip_prefix("fixed at ") {
        None => None,
        Some(fixed) => {
            let (turn, after) = fixed.split_once(" after changing ").unwrap_or((fixed, ""));
            Some(Fix {
                turn: turn.parse().ok()?,
                after: read_spans(after),
            })
        }
    };
    Some(Failure {
        signature: signature.to_owned(),
        source: source.to_owned(),
        times,
        turn: read_turn(turn)?,
        fix,
    })
}

fn read_reach(body: &str, ledger: &mut Ledger) {
    let mut fields = body.split("; ");
    let turns = fields
        .next()
        .and_then(|field| field.split(' ').next()?.parse().ok());
    ledger.turns = turns.unwrap_or(0);
    let Some(counts) = fields
        .next()
        .and_then(|field| field.strip_prefix("not shown: "))
    else {
        return;
    };
    for field in counts.split(", ") {
        let Some((count, what)) = field.split_once(' ') else {
            continue;
        };
        for (known, name) in ledger.left_out.counts_mut() {
            if name == what {
                *known = count.parse().unwrap_or(0);
            }
        }
    }
}
