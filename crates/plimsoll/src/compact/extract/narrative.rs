//! The parts of an extract that are no carried facts: what the work is about, where it stands, what comes next.

use super::Request;
use crate::compact::ledger::line::{defuse, one_line};
use crate::compact::ledger::notation::{fenced, span};
use crate::compact::ledger::rank::Rank;
use crate::compact::ledger::trail::{Step, Trail};
use crate::compact::ledger::{Ledger, Outcome, paste, task};

/// How many lines of a text that was written are shown.
const SNIPPET_LINES: usize = 24;

/// What follows the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing.
    None,
    /// The user's next message.
    NextRequest,
    /// The rest of the turn.
    Rest,
    /// The rest of the turn, and further messages of the user.
    RestThenNextRequest,
}

/// A piece of a section, in forms from the fullest to the shortest.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) section: u8,
    /// The place in its section, after the facts.
    pub(super) order: u8,
    pub(super) rank: Rank,
    pub(super) forms: Vec<String>,
}

/// All pieces, in no order.
///
/// `chatter` says that what the user says after the cut asks for nothing by itself.
pub(super) fn pieces(
    ledger: &Ledger,
    trail: &Trail,
    (follows, chatter): (Tail, bool),
    request: &Request<'_>,
) -> Vec<Piece> {
    let mut pieces = Vec::new();
    super::concepts::concepts(ledger, &mut pieces);
    snippets(trail, &mut pieces);
    current(trail, follows, &mut pieces);
    next(ledger, trail, (follows, chatter), &mut pieces);
    let asked = request.instructions.unwrap_or("");
    if !asked.trim().is_empty() {
        let form =
            |limit: usize| format!("The user asked this summary to pay attention to: “{}”", one_line(asked, limit));
        pieces.push(Piece { section: 9, order: 1, rank: 1, forms: vec![form(600), form(120)] });
    }
    pieces
}

/// Section 3: what was written last, by its beginning.
fn snippets(trail: &Trail, pieces: &mut Vec<Piece>) {
    for ((path, written), nth) in trail.snippets.iter().rev().zip(0_u8..) {
        let form = |lines: usize, characters: usize| {
            let mut shown: String =
                written.lines().take(lines).map(|line| line.chars().take(200).collect::<String>() + "\n").collect();
            if shown.chars().count() > characters {
                shown = shown.chars().take(characters).collect();
            }
            let total = written.lines().count();
            let more = if total > lines { format!(" (first {lines} of {total} lines)") } else { String::new() };
            format!("Written to {}{more}:\n{}", span(path), fenced(&defuse(shown.trim_end().to_owned())))
        };
        if !written.trim().is_empty() {
            let forms = vec![form(SNIPPET_LINES, 1_600), form(10, 600)];
            pieces.push(Piece { section: 3, order: u8::MAX - nth, rank: 24 + 3 * nth, forms });
        }
    }
}

/// Section 8: what was being done right before the cut.
fn current(trail: &Trail, follows: Tail, pieces: &mut Vec<Piece>) {
    let work = if trail.turn == 0 { "the work".to_owned() } else { format!("the work on message {}", trail.turn) };
    let cut = match follows {
        Tail::None => "The conversation ends here.".to_owned(),
        Tail::NextRequest => {
            format!("Right before the user's next message, which follows, {work} had come to this point:")
        }
        Tail::Rest | Tail::RestThenNextRequest => {
            format!("The cut falls inside {work}; what was done on it since follows verbatim. Before the cut:")
        }
    };
    // Where nothing is told after it, it leads nowhere.
    let tells = !trail.steps.is_empty() || trail.last_text.is_some();
    let cut = match cut.strip_suffix(" Before the cut:").or_else(|| cut.strip_suffix(" had come to this point:")) {
        Some(bare) if !tells && follows == Tail::NextRequest => format!("{bare} had not begun."),
        Some(bare) if !tells => bare.to_owned(),
        _ => cut,
    };
    pieces.push(Piece { section: 8, order: 0, rank: 4, forms: vec![cut] });
    let steps: Vec<String> = trail.steps.iter().map(step).collect();
    if !steps.is_empty() {
        let list = |last: usize| {
            let start = steps.len().saturating_sub(last);
            let shown = steps.get(start..).unwrap_or(&[]);
            let first = if shown.len() == 1 {
                "The last call:".to_owned()
            } else {
                format!("The last {} calls:", shown.len())
            };
            format!("{first}\n{}", shown.join("\n"))
        };
        pieces.push(Piece { section: 8, order: 1, rank: 5, forms: vec![list(10), list(6), list(3), list(1)] });
    }
    if let Some(text) = &trail.last_text {
        let form = |limit: usize| {
            let length = text.chars().count();
            let shown = if length <= limit {
                text.trim().to_owned()
            } else {
                let head: String = text.trim_start().chars().take(limit * 2 / 3).collect();
                let end: String = text.trim_end().chars().skip(length.saturating_sub(limit / 3)).collect();
                format!("{head}\n[…]\n{end}")
            };
            format!("The assistant's last words:\n{}", fenced(&defuse(shown)))
        };
        pieces.push(Piece { section: 8, order: 2, rank: 7, forms: vec![form(2_400), form(900), form(300)] });
    }
}

fn step(step: &Step) -> String {
    let about = if step.about.is_empty() { String::new() } else { format!(" {}", span(&one_line(&step.about, 160))) };
    let outcome = match step.outcome {
        Outcome::Unanswered => "no answer yet".into(),
        Outcome::Ended if step.line.is_some() => "ended; its output says".into(),
        outcome => outcome.show(),
    };
    let line = step.line.as_deref().map_or(String::new(), |line| format!(": {}", span(line)));
    format!("- {}{about} → {outcome}{line}", one_line(&step.tool, 60))
}

/// Section 9: how to go on, quoting the request that it follows from.
fn next(ledger: &Ledger, trail: &Trail, (follows, chatter): (Tail, bool), pieces: &mut Vec<Piece>) {
    let mut lines = Vec::new();
    let task = task::current(&ledger.words);
    let quoted = |limit: usize| {
        let mut parts = ledger.words.iter().filter(|words| words.turn == task).map(|words| words.text.as_str());
        let first = parts.next()?.to_owned();
        let text = parts.fold(first, |text, part| text + "\n" + part);
        Some((task, paste::spoken(&text, limit)))
    };
    let said_since = ledger.words.last().filter(|words| words.turn > task).map_or(String::new(), |words| {
        format!(" The user's last words since, in message {}: “{}”", words.turn, paste::spoken(&words.text, 80))
    });
    let open = ledger.todos.iter().filter(|todo| todo.is_open()).count();
    let failing: Vec<&str> = ledger
        .errors
        .iter()
        .filter(|failure| failure.fix.is_none() && failure.turn == trail.turn)
        .map(|failure| failure.source.as_str())
        .collect();
    let forms = match (follows, quoted(240)) {
        (Tail::NextRequest | Tail::RestThenNextRequest, Some(_)) if chatter => {
            lines.push("What the user says after this summary asks for nothing new.".to_owned());
            latest(&quoted, "")
        }
        (Tail::NextRequest, _) => {
            lines.push("The user's next message, after this summary, says what to do next.".to_owned());
            Vec::new()
        }
        (Tail::RestThenNextRequest, _) => {
            lines.push("Newer messages of the user follow after the summary; they say what to do next.".to_owned());
            Vec::new()
        }
        (_, None) if ledger.earlier.is_some() => {
            lines.push("What is being worked on, the earlier summary in section 1 tells. Go on with it.".to_owned());
            Vec::new()
        }
        (_, None) => {
            lines.push("No request of the user is known from this part.".to_owned());
            Vec::new()
        }
        (Tail::None | Tail::Rest, Some(_)) => latest(&quoted, &said_since),
    };
    if open > 0 {
        lines.push(format!(
            "{open} {} of the list in section 7 {} open.",
            if open == 1 { "entry" } else { "entries" },
            if open == 1 { "is" } else { "are" }
        ));
    }
    if let Some(last) = failing.last() {
        lines.push(format!("What still failed: {}.", span(last)));
    }
    let forms: Vec<String> = if forms.is_empty() {
        vec![lines.join("\n")]
    } else {
        forms
            .into_iter()
            .map(|form| std::iter::once(form).chain(lines.iter().cloned()).collect::<Vec<_>>().join("\n"))
            .collect()
    };
    pieces.push(Piece { section: 9, order: 0, rank: 4, forms });
}

/// How the latest request is told, at length and in short.
fn latest(quoted: &dyn Fn(usize) -> Option<(u32, String)>, since: &str) -> Vec<String> {
    let told = |limit: usize| {
        let (turn, text) = quoted(limit)?;
        Some(format!("The latest request, message {turn}, says: “{text}” Go on with it.{since}"))
    };
    [240, 80].into_iter().filter_map(told).collect()
}
