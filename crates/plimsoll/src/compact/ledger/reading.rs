//! Reading the ledger's entries back from text: the other half of [`notation`](super::notation).

use super::items::{Item, Touch};
use super::outcome::Outcome;
use super::todos::{Status, Todo};
use super::{Artifact, Command, Failure, Fix, Ledger, Note, PendingCall, Words};

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
        let Some((label, rest)) = line.strip_prefix("- [").and_then(|rest| rest.split_once(']')) else {
            continue;
        };
        let body = match rest.strip_prefix(' ') {
            Some(body) => body.to_owned(),
            None if rest.is_empty() && (label == "earlier" || label.starts_with(|c: char| c.is_ascii_digit())) => {
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
    ledger.turns = ledger.words.iter().map(|words| words.turn).max().unwrap_or(0).max(ledger.turns);
    ledger
}

fn read_fence<'a>(fence: usize, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let held: Vec<&str> =
        lines.take_while(|line| !(line.len() == fence && line.bytes().all(|byte| byte == b'~'))).collect();
    held.join("\n")
}

fn take(label: &str, body: &str, ledger: &mut Ledger) -> Option<()> {
    let (kind, detail) = label.split_once(' ').unwrap_or((label, ""));
    match kind {
        "item" => {
            let (path, rest) = read_span(body)?;
            let mut fields = rest.strip_prefix(": ")?.split("; ");
            let touches: Option<Vec<(Touch, u32)>> = fields.next()?.split(", ").map(read_touch).collect();
            let touches = touches?;
            let state = fields.next()?;
            let (last, outcome) = match state.strip_prefix("last ") {
                Some(last) => {
                    last.split_once(", ").and_then(|(last, outcome)| Some((Touch::read(last)?, outcome)))?
                }
                None => (touches.first()?.0, state),
            };
            let outcome = Outcome::read(outcome)?;
            let turn = read_turn(fields.next()?)?;
            ledger.items.push(Item { path: path.to_owned(), touches, last, outcome, turn });
        }
        "command" => {
            let (line, rest) = read_span(body)?;
            let mut fields = rest.strip_prefix(": ")?.split("; ");
            let outcome = Outcome::read(fields.next()?)?;
            let mut field = fields.next()?;
            let runs = field.strip_suffix(" runs").and_then(|runs| runs.parse().ok());
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
            ledger.todos.push(Todo { what: body.to_owned(), status });
        }
        "after" | "decided" | "answered" => {
            let (decided, answered) = (kind == "decided", kind == "answered");
            ledger.notes.push(Note { turn: detail.parse().ok()?, text: body.to_owned(), decided, answered });
        }
        "names" => ledger.names.extend(read_spans(body)),
        "call" => {
            let (tool, rest) = read_span(body)?;
            let (about, rest) = read_span(rest.strip_prefix(": ")?)?;
            let turn = read_turn(rest.strip_prefix("; ")?)?;
            ledger.pending.push(PendingCall { tool: tool.to_owned(), about: about.to_owned(), turn });
        }
        "recall" => {
            let (id, rest) = read_span(body)?;
            ledger.artifacts.push(Artifact { id: id.to_owned(), what: rest.strip_prefix(": ")?.to_owned() });
        }
        "earlier" => ledger.earlier = Some(body.to_owned()),
        "reach" => read_reach(body, ledger),
        _ => {
            let (turn, changed) = label.split_once("; ").unwrap_or((label, ""));
            let changed_by = changed.rsplit_once("changed by ").and_then(|(_, by)| by.parse().ok());
            let part = turn.ends_with('…');
            let turn = turn.trim_end_matches('…').parse().ok()?;
            ledger.words.push(Words { turn, part, text: body.to_owned(), changed_by });
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
    let (times, rest) =
        rest.split_once(" times; ").and_then(|(times, rest)| Some((times.parse().ok()?, rest))).unwrap_or((1, rest));
    let (turn, fix) = rest.split_once("; ")?;
    let fix = match fix.strip_prefix("fixed at ") {
        None => None,
        Some(fixed) => {
            let (turn, after) = fixed.split_once(" after changing ").unwrap_or((fixed, ""));
            Some(Fix { turn: turn.parse().ok()?, after: read_spans(after) })
        }
    };
    Some(Failure { signature: signature.to_owned(), source: source.to_owned(), times, turn: read_turn(turn)?, fix })
}

fn read_reach(body: &str, ledger: &mut Ledger) {
    let mut fields = body.split("; ");
    let turns = fields.next().and_then(|field| field.split(' ').next()?.parse().ok());
    ledger.turns = turns.unwrap_or(0);
    let Some(counts) = fields.next().and_then(|field| field.strip_prefix("not shown: ")) else {
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
