//! Recording an answered call: items, commands, errors, to-dos, and what the user said through a tool.

use memchr::memmem;

use super::Artifact;
use super::calls::{Reading, TodoChange};
use super::commands;
use super::gather::{Gather, OpenCall};
use super::items::Touch;
use super::line::one_line;
use super::notation::span;
use super::outcome::{self, Outcome, Told};
use super::shell;
use super::todos::{Status, Todo};
use super::trail::Step;
use crate::cap::Marker;
use crate::compact::reduce;
use crate::transcript::{Message, ToolResult, element};
use crate::wire::Text;

/// How long an answer of the user may be, in characters.
const ANSWER: usize = 600;
/// How a call begins to be answered that the user refused.
const REFUSAL: &str = "The user doesn't want to proceed with this tool use.";
/// What stands in every line that says where a result is kept.
const MARKED: &[u8] = b"[plimsoll, not part of the content: ";
/// How many results that are kept elsewhere are named: the last ones.
const ARTIFACTS: usize = 16;

impl Gather {
    /// Notes what of a result is stored under an id: a capped text, or one that was left out.
    pub(super) fn kept_elsewhere(&mut self, call: &OpenCall, result: &ToolResult<'_>) {
        for text in result.texts().filter(|text| memchr::memmem::find(text.raw(), MARKED).is_some()) {
            let text = text.decode();
            let marked = || Marker::find(&text).and_then(|(_, marker)| marker.id).map(|id| id.to_string());
            let Some(id) = reduce::id_in(&text).map(str::to_owned).or_else(marked) else {
                continue;
            };
            let id = one_line(&id, 300);
            let about = call.reading.command.as_deref().map(commands::shown);
            let about = about.or_else(|| call.reading.touches.first().map(|(path, _)| path.clone()));
            let what = one_line(&format!("{} {}", call.tool, about.unwrap_or_default()), 160);
            let artifacts = &mut self.ledger.artifacts;
            artifacts.retain(|known| known.id != id);
            artifacts.push(Artifact { id, what });
            if artifacts.len() > ARTIFACTS
                && let Some(oldest) = artifacts.iter().position(|known| !known.is_compaction())
            {
                artifacts.remove(oldest);
            }
        }
    }

    /// What the user answers to a tool's question, or says when refusing a call, travels in a result.
    pub(super) fn answer_of_the_user(&mut self, call: &OpenCall, result: &ToolResult<'_>, refused: bool) {
        let asks = matches!(
            call.tool.as_str(),
            "AskUserQuestion" | "ExitPlanMode" | "request_user_input" | "ask_followup_question" | "ask_user"
        );
        let Some(text) = result.texts().next().map(|text: Text<'_>| text.decode_start(2_000)) else {
            return;
        };
        if refused {
            let said = text.split_once("the user said:").map_or("", |(_, said)| said.trim());
            let about = call.reading.command.as_deref().map(commands::shown);
            let about = about.or_else(|| call.reading.touches.first().map(|(path, _)| path.clone()));
            let what = about.map_or_else(|| call.tool.clone(), |about| format!("{} {}", call.tool, span(&about)));
            let said = if said.is_empty() { String::new() } else { format!(" and said: {said}") };
            self.answered(one_line(&format!("The user refused {what}{said}"), ANSWER));
        } else if asks && call.tool == "ExitPlanMode" {
            // What follows the first words is the program's own advice.
            let first = super::sentence::passages(&text).into_iter().next().unwrap_or("").to_owned();
            self.answered(one_line(&format!("Answer to {}: {first}", call.tool), ANSWER));
        } else if asks {
            let told = text.split(" You can now continue with the user's answers").next().unwrap_or("");
            self.answered(one_line(&format!("Answer to {}: {told}", call.tool), ANSWER));
        }
    }

    /// Notes the commands that the user ran beside the conversation, as programs tell them to the model: data, and none
    /// of the user's words.
    pub(super) fn typed_commands(&mut self, message: &Message<'_>) {
        for text in message.texts() {
            if memmem::find(text.raw(), b"user_shell_command>").is_none()
                && memmem::find(text.raw(), b"<bash-").is_none()
            {
                continue;
            }
            let text = text.decode();
            let text = text.trim_start();
            if text.starts_with("<user_shell_command>") {
                let told = element(text, "result").unwrap_or("");
                if let Some(line) = element(text, "command").map(commands::shown) {
                    self.ran_by_user(&line, told);
                }
            } else if text.starts_with("<bash-input>") {
                self.typed = element(text, "bash-input").map(commands::shown);
            } else if text.starts_with("<bash-std")
                && let Some(line) = self.typed.take()
            {
                let told = |name| element(text, name).unwrap_or("");
                self.ran_by_user(&line, &format!("{}\n{}", told("bash-stdout"), told("bash-stderr")));
            }
        }
    }

    fn ran_by_user(&mut self, line: &str, output: &str) {
        if line.is_empty() {
            return;
        }
        let told = outcome::read_output(output, line);
        let turn = self.ledger.turns;
        self.commands.ran(line, told.outcome, turn);
        if let Some(error) = told.error.filter(|_| told.outcome.is_failure()) {
            self.failures.failed(&error, line, turn);
        }
    }

    pub(super) fn record(&mut self, call: OpenCall, told: Told, result: &ToolResult<'_>) {
        let OpenCall { tool, reading, turn, .. } = call;
        let command = reading.command.as_deref().map(commands::shown);
        let finds_nothing = told.outcome == Outcome::Exit(1) && command.as_deref().is_some_and(searches);
        let failed = told.outcome.is_failure() && !finds_nothing;
        let refused = told.outcome == Outcome::Refused;
        let first = reading.touches.first().map(|(path, touch)| (one_line(path, 240), *touch));
        let about = command
            .clone()
            .or_else(|| first.as_ref().map(|(path, _)| path.clone()))
            .or_else(|| reading.about.as_deref().map(|about| one_line(about, commands::COMMAND)))
            .unwrap_or_default();
        let source = if command.is_some() || about.is_empty() {
            about.clone()
        } else {
            one_line(&format!("{tool} {about}"), 240)
        };
        let source = if source.is_empty() { tool.clone() } else { source };
        for (path, touch) in &reading.touches {
            let path = one_line(path, 240);
            if path.is_empty() {
                continue;
            }
            // A search that finds nothing and a look that fails say little about what they name.
            if failed && !touch.changes() && command.is_some() {
                continue;
            }
            // What the user refused did not happen.
            if refused && touch.changes() {
                continue;
            }
            if !failed && touch.changes() {
                self.failures.changed(&path);
            }
            let outcome = if failed { Outcome::Failed } else { Outcome::Ok };
            self.items.touch(&path, *touch, outcome, turn);
        }
        // Looking at files, and patching them, is told by the items.
        let is_told = |line: &String| {
            let tells = !failed && !reading.touches.is_empty();
            tells
                && (shell::only_looks(line) || (line.starts_with("apply_patch") && line.contains("*** Begin Patch")))
        };
        let raw = reading.command.clone().unwrap_or_default();
        if let Some(line) = command.filter(|line| !line.is_empty() && !is_told(&raw)) {
            self.commands.ran(&line, told.outcome, turn);
        }
        let telling = told
            .error
            .as_deref()
            .filter(|line| failed && !line.starts_with(REFUSAL) && !line.starts_with("[Request interrupted"));
        if let Some(error) = telling {
            self.failures.failed(error, &source, turn);
        } else if !failed {
            self.fixed |= self.failures.succeeded(&source, reading.command.is_some(), turn);
        }
        if !failed {
            self.todos(&reading, result);
            if let (Some(written), Some((path, Touch::Created | Touch::Edited))) = (reading.written, &first) {
                self.trail.written(path.clone(), written);
            }
        }
        let line = told.error.filter(|_| failed).or(told.sum);
        self.trail.step(Step { tool, about, outcome: told.outcome, line });
    }

    fn todos(&mut self, reading: &Reading, result: &ToolResult<'_>) {
        if let Some(todos) = &reading.todos {
            self.ledger.todos.clone_from(todos);
        }
        match &reading.todo_change {
            Some(TodoChange::Add(what)) => {
                self.added += 1;
                // The tool numbers its entries and says which number this one has.
                let told = result.texts().next().map(|text| text.decode_start(200).into_owned()).unwrap_or_default();
                let number: String = told
                    .split_once('#')
                    .map_or(String::new(), |(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect());
                let number = if number.is_empty() { self.added.to_string() } else { number };
                self.ledger.todos.push(Todo::new(&format!("#{number} {what}"), Status::Open));
            }
            Some(TodoChange::Set(number, status)) => {
                let prefix = format!("#{} ", number.trim_start_matches('#'));
                for todo in self.ledger.todos.iter_mut().filter(|todo| todo.what.starts_with(&prefix)) {
                    todo.status = *status;
                }
            }
            None => {}
        }
    }
}

/// Whether a command line searches or compares: it ends with 1 where it finds nothing, and that is no error.
fn searches(line: &str) -> bool {
    let bare = shell::unquoted(line);
    let last = bare.rsplit(['|', ';']).next().and_then(|part| part.rsplit("&&").next()).unwrap_or("");
    let program = last.split_whitespace().next().unwrap_or("");
    matches!(program, "grep" | "rg" | "egrep" | "ag" | "diff" | "cmp" | "test" | "[" | "which" | "pgrep")
}
