//! Gathering the facts of a transcript in one pass over its messages.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::calls::{self, Reading};
use super::commands::{self, Commands};
use super::errors::Failures;
use super::items::Items;
use super::lexicon::LEXICON;
use super::line::{one_line, opening};
use super::outcome::{self, Outcome};
use super::sentence::passages;
use super::standing::plain_words;
use super::todos::checklist;
use super::trail::{Step, Trail};
use super::{Ledger, Note, PendingCall, Words, value};
use crate::compact::continuation::{acknowledgement, parse_continuation};
use crate::transcript::{
    Author, BlockKind, CONTINUATION_OPENING, Message, Role, ToolCall, ToolResult, Transcript, is_summary, typed_words,
};

/// How long a report or decision may be, in characters.
const NOTE: usize = 320;
/// How much of a call's arguments is searched for identifiers, in bytes.
const SEARCHED: usize = 8_192;
/// How many identifiers are followed.
const NAMES: usize = 200;

/// A call that waits for its result.
pub(super) struct OpenCall {
    pub(super) id: Option<String>,
    pub(super) tool: String,
    pub(super) reading: Reading,
    pub(super) turn: u32,
    /// The number of the model's response that made it.
    pub(super) response: u32,
}

#[derive(Default)]
pub(super) struct Gather {
    pub(super) ledger: Ledger,
    pub(super) items: Items,
    pub(super) commands: Commands,
    pub(super) failures: Failures,
    pub(super) open: Vec<OpenCall>,
    pub(super) by_id: HashMap<String, usize>,
    pub(super) terms: HashSet<String>,
    pub(super) known: HashSet<String>,
    pub(super) trail: Trail,
    /// The last text of the model in the current turn.
    pub(super) report: Option<String>,
    /// Whether something that had failed just went well: the model's next text says why.
    pub(super) fixed: bool,
    pub(super) added: u32,
    /// Whether something was said already: a continuation of ours stands before all that.
    pub(super) begun: bool,
    /// How many responses the model gave, and how many of them before the last summary.
    pub(super) responses: u32,
    pub(super) summarised: u32,
    /// Whether the message before was the model's, so that the next of its own joins its response.
    pub(super) in_response: bool,
    /// A command that the user ran beside the conversation, whose output is told by a message to come.
    pub(super) typed: Option<String>,
}

/// Gathers the facts of the messages in `range`, and the trail that leads to its end.
pub(crate) fn gather(transcript: &Transcript<'_>, range: Range<usize>) -> (Ledger, Trail) {
    let messages = transcript.messages.get(range.clone()).unwrap_or(&[]);
    let before = transcript.messages.get(..range.start).unwrap_or(&[]);
    let mut gather = Gather { begun: before.iter().any(is_said), ..Gather::default() };
    for message in messages {
        gather.learn_terms(message);
    }
    for message in messages {
        gather.message(message);
    }
    let answered_later: HashSet<String> = transcript
        .messages
        .get(range.end..)
        .unwrap_or(&[])
        .iter()
        .flat_map(Message::results)
        .filter_map(|result| result.call_id.map(|id| id.decode().into_owned()))
        .collect();
    gather.finish(&answered_later)
}

impl Gather {
    /// Learns which identifiers the user names, wherever in the range.
    fn learn_terms(&mut self, message: &Message<'_>) {
        if message.author != Author::User {
            return;
        }
        for text in message.texts() {
            let room = 10_000_usize.saturating_sub(self.terms.len());
            self.terms.extend(traceable(&typed_words(&text.decode())).into_iter().take(room));
        }
    }

    fn message(&mut self, message: &Message<'_>) {
        if matches!(message.author, Author::User | Author::Machinery) {
            self.typed_commands(message);
        }
        self.count_response(message);
        match message.author {
            Author::User | Author::Summary => self.user(message),
            Author::Model => self.model(message),
            _ => {}
        }
        self.begun |= is_said(message);
        for block in &message.blocks {
            match &block.kind {
                BlockKind::ToolCall(call) => self.call(call),
                BlockKind::ToolResult(result) => self.result(result),
                BlockKind::Compaction(Some(text)) => {
                    self.ledger.earlier = Some(super::earlier::told(&text.decode())).filter(|told| !told.is_empty());
                }
                _ => {}
            }
        }
    }

    fn count_response(&mut self, message: &Message<'_>) {
        let is_model = message.role == Role::Assistant && !is_acknowledgement(message);
        self.responses += u32::from(is_model && !self.in_response);
        // Entries of unknown roles separate nothing.
        if message.role != Role::Other {
            self.in_response = is_model;
        }
    }

    fn user(&mut self, message: &Message<'_>) {
        let mut words = String::new();
        for text in message.texts() {
            let text = text.decode();
            let trimmed = text.trim();
            if self.begun && trimmed.starts_with(CONTINUATION_OPENING) {
                // Somebody pasted it: it is what is spoken of, and no ledger of this conversation.
                append(&mut words, trimmed);
            } else if is_summary(trimmed) {
                let rest = self.summary(trimmed);
                append(&mut words, &typed_words(rest));
            } else {
                append(&mut words, &typed_words(trimmed));
            }
        }
        if words.is_empty() && message.author == Author::Summary {
            return;
        }
        self.end_turn();
        self.ledger.turns = self.ledger.turns.saturating_add(1);
        if !words.is_empty() {
            self.ledger.words.push(Words { turn: self.ledger.turns, part: false, text: words, changed_by: None });
        }
    }

    /// Takes in an earlier summary; gives what follows it in the same text.
    fn summary<'t>(&mut self, text: &'t str) -> &'t str {
        self.end_turn();
        let Some(earlier) = parse_continuation(text) else {
            self.ledger.earlier = Some(super::earlier::told(text)).filter(|told| !told.is_empty());
            return "";
        };
        let before = std::mem::take(&mut self.ledger);
        self.summarised = self.responses;
        let mut carried = earlier.ledger;
        if let Some(narrative) = earlier.narrative {
            carried.earlier = Some(narrative.to_owned());
        }
        for words in &carried.words {
            self.terms.extend(traceable(&words.text));
        }
        self.known.extend(carried.names.iter().cloned());
        self.items.merge(std::mem::take(&mut carried.items));
        self.commands.merge(std::mem::take(&mut carried.commands));
        self.failures.merge(std::mem::take(&mut carried.errors));
        self.ledger = Ledger::merge(before, carried);
        earlier.rest
    }

    fn model(&mut self, message: &Message<'_>) {
        for text in message.texts() {
            if text.is_blank() {
                continue;
            }
            let text = text.decode();
            // What was put in the model's mouth behind a continuation is no report of its.
            if text.trim() == acknowledgement() {
                continue;
            }
            if let Some(todos) = checklist(&text) {
                self.ledger.todos = todos;
            }
            if std::mem::take(&mut self.fixed) {
                let told = opening(&text, NOTE);
                self.note(told, false);
            } else {
                for passage in passages(&text).into_iter().filter(|passage| decides(passage)).take(2) {
                    self.note(one_line(passage, NOTE), true);
                }
            }
            // What only announces the next call says less than what was said before it.
            if announces(&text) && self.report.is_some() {
                continue;
            }
            self.report = Some(text.clone().into_owned());
            self.trail.last_text = Some(text.into_owned());
        }
    }

    pub(super) fn note(&mut self, text: String, decided: bool) {
        let known = self.ledger.notes.iter().rev().take(8).any(|note| note.text == text);
        if !text.is_empty() && !known {
            self.ledger.notes.push(Note { turn: self.ledger.turns, text, decided, answered: false });
        }
    }

    /// Notes what the user answered to a tool, or said when refusing a call.
    pub(super) fn answered(&mut self, text: String) {
        self.ledger.notes.push(Note { turn: self.ledger.turns, text, decided: false, answered: true });
    }

    /// What the model said last in a turn is its report on it.
    fn end_turn(&mut self) {
        if let Some(report) = self.report.take() {
            let told = opening(&report, NOTE);
            self.note(told, false);
        }
        self.fixed = false;
    }

    fn call(&mut self, call: &ToolCall<'_>) {
        let name = call.name.decode();
        let arguments = call.arguments.decode();
        self.trace(&arguments);
        let reading = calls::read(&name, &arguments);
        let id = call.id.map(|id| id.decode().into_owned());
        if let Some(id) = &id {
            self.by_id.insert(id.clone(), self.open.len());
        }
        // A call without a name is a call all the same.
        let name = if name.trim().is_empty() { "tool".into() } else { name };
        self.open.push(OpenCall {
            id,
            tool: one_line(&name, 60),
            reading,
            turn: self.ledger.turns,
            response: self.responses,
        });
    }

    /// Notes identifiers of the user's that a call names too.
    fn trace(&mut self, arguments: &str) {
        if self.terms.is_empty() || self.known.len() >= NAMES {
            return;
        }
        let mut end = arguments.len().min(SEARCHED);
        while !arguments.is_char_boundary(end) {
            end -= 1;
        }
        let searched = arguments.get(..end).unwrap_or("");
        for word in value::words(searched).flat_map(|word| word.split('\\')) {
            let mut rest = Some(word);
            // An absolute path in a call is what the user names by its end.
            for _ in 0..12 {
                let Some(name) = rest.filter(|name| name.len() >= 4) else {
                    break;
                };
                if self.terms.contains(name) && self.known.insert(name.to_owned()) {
                    self.ledger.names.push(name.to_owned());
                }
                rest = name.split_once('/').map(|(_, rest)| rest);
            }
        }
    }

    fn result(&mut self, result: &ToolResult<'_>) {
        let place = match result.call_id {
            Some(id) => self.by_id.remove(id.decode().as_ref()),
            // Formats without ids pair by order.
            None => self.open.iter().position(|call| call.id.is_none()),
        };
        let Some(place) = place.filter(|place| *place < self.open.len()) else {
            return;
        };
        let call = self.open.remove(place);
        for known in self.by_id.values_mut() {
            *known -= usize::from(*known > place);
        }
        let told = outcome::read(result, call.reading.command.as_deref());
        self.kept_elsewhere(&call, result);
        self.answer_of_the_user(&call, result, told.outcome == Outcome::Refused);
        self.record(call, told, result);
    }

    fn finish(mut self, answered_later: &HashSet<String>) -> (Ledger, Trail) {
        // What waited when the model went on was interrupted: nothing answers it any more.
        if self.responses > self.summarised {
            self.ledger.pending.clear();
        }
        for call in std::mem::take(&mut self.open) {
            if call.response < self.responses {
                continue;
            }
            if call.id.as_ref().is_some_and(|id| answered_later.contains(id)) {
                continue;
            }
            let about = call
                .reading
                .command
                .as_deref()
                .map(commands::shown)
                .or_else(|| call.reading.touches.into_iter().next().map(|(path, _)| path))
                .or(call.reading.about);
            let about = one_line(&about.unwrap_or_default(), 200);
            if about.is_empty() {
                continue;
            }
            self.trail.step(Step {
                tool: call.tool.clone(),
                about: about.clone(),
                outcome: Outcome::Unanswered,
                line: None,
            });
            self.ledger.pending.push(PendingCall { tool: call.tool, about, turn: call.turn });
        }
        // The report of the turn that the cut ends or splits.
        self.end_turn();
        let mut ledger = self.ledger;
        ledger.items = self.items.list;
        ledger.commands = self.commands.into_list();
        ledger.errors = self.failures.list;
        super::drop_repeated(&mut ledger.words);
        super::changes::mark(&mut ledger.words);
        super::drop_known(&mut ledger.names);
        self.trail.turn = ledger.turns;
        (ledger, self.trail)
    }
}

/// Whether a message is part of a conversation, rather than what stands before it.
const fn is_said(message: &Message<'_>) -> bool {
    matches!(message.author, Author::User | Author::Model | Author::Tool)
}

/// Whether a message is only what was put in the model's mouth behind a continuation.
fn is_acknowledgement(message: &Message<'_>) -> bool {
    let mut texts = message.texts().peekable();
    let calls = message.blocks.iter().any(|block| matches!(block.kind, BlockKind::ToolCall(_)));
    texts.peek().is_some() && !calls && texts.all(|text| text.decode().trim() == acknowledgement())
}

/// What a text names that may be found again in a call. The name in a tag that closes an element is no path.
fn traceable(text: &str) -> Vec<String> {
    let words = text.split("</").flat_map(value::words);
    words.filter(|word| value::is_traceable(word)).map(str::to_owned).collect()
}

fn append(words: &mut String, more: &str) {
    let more = more.trim();
    if !more.is_empty() {
        if !words.is_empty() {
            words.push('\n');
        }
        words.push_str(more);
    }
}

/// Whether a text of the model only says that something is to be done next.
fn announces(text: &str) -> bool {
    let text = text.trim();
    text.chars().count() < 60 && text.ends_with([':', '：'])
}

/// Whether a sentence of the model says what it decided or found to be the cause.
fn decides(passage: &str) -> bool {
    if passage.len() > 600
        || passage.starts_with('#')
        || passage.ends_with(':')
        || super::sentence::is_fenced(passage)
    {
        return false;
    }
    let lower = passage.to_lowercase();
    LEXICON.decides.is_in(&lower, &plain_words(&lower).collect::<Vec<_>>())
}
