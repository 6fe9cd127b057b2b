//! `Trail`: the last steps before a cut. A ledger does not hold them, but telling what was being done needs them.

use std::collections::VecDeque;

use super::outcome::Outcome;

/// How many of the last steps are kept.
const STEPS: usize = 16;
/// How many of the last texts that were written are kept.
const SNIPPETS: usize = 4;

/// What a ledger does not hold, but telling what was being done needs.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// The last calls, oldest first.
    pub(crate) steps: VecDeque<Step>,
    /// The last text of the model.
    pub(crate) last_text: Option<String>,
    /// What was written last, with its place, oldest first.
    pub(crate) snippets: VecDeque<(String, String)>,
    /// The number of the last message of the user.
    pub(crate) turn: u32,
}

/// A call and what became of it.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) tool: String,
    pub(crate) about: String,
    pub(crate) outcome: Outcome,
    /// The line of its result that tells: an error, or a sum. The tool's text: data.
    pub(crate) line: Option<String>,
}

impl Trail {
    /// Adds a step; the same again says nothing new.
    pub(super) fn step(&mut self, step: Step) {
        let known = self
            .steps
            .back()
            .is_some_and(|last| (&last.tool, &last.about, last.outcome) == (&step.tool, &step.about, step.outcome));
        if known {
            self.steps.pop_back();
        }
        self.steps.push_back(step);
        if self.steps.len() > STEPS {
            self.steps.pop_front();
        }
    }

    /// Adds what was written to a place.
    pub(super) fn written(&mut self, path: String, text: String) {
        self.snippets.push_back((path, text));
        if self.snippets.len() > SNIPPETS {
            self.snippets.pop_front();
        }
    }
}
