//! `Todo`: an entry of the work's list, from tools for to-dos and from checklists.

use serde::{Deserialize, Serialize};

use super::line::one_line;

/// How far an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// Not begun.
    Open,
    /// Being worked on.
    Active,
    /// Done.
    Done,
    /// Given up.
    Dropped,
}

impl Status {
    /// Its name, as shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Active => "active",
            Self::Done => "done",
            Self::Dropped => "dropped",
        }
    }

    /// Reads the spellings of many tools; what is not known is open.
    pub(super) fn read(text: &str) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "active" | "in_progress" | "in-progress" | "inprogress" | "doing" | "current" | "running" => Self::Active,
            "done" | "completed" | "complete" | "finished" | "closed" | "x" => Self::Done,
            "dropped" | "cancelled" | "canceled" | "deleted" | "skipped" | "abandoned" => Self::Dropped,
            _ => Self::Open,
        }
    }
}

/// An entry of the work's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What is to be done, in one line.
    pub what: String,
    /// How far it is.
    pub status: Status,
}

impl Todo {
    /// Makes an entry; the text is brought into one line of at most 300 characters.
    pub fn new(what: &str, status: Status) -> Self {
        Self { what: one_line(what, 300), status }
    }

    /// Whether there is something left to do.
    pub const fn is_open(&self) -> bool {
        matches!(self.status, Status::Open | Status::Active)
    }
}

/// The checklist in a text, if there is one of at least two entries.
pub(super) fn checklist(text: &str) -> Option<Vec<Todo>> {
    if !text.contains("[ ]") {
        return None;
    }
    let mut todos = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let line = line.trim_start();
        fenced ^= line.starts_with("```");
        let entry = line.strip_prefix(['-', '*', '+']).map(str::trim_start).filter(|_| !fenced);
        for (mark, status) in
            [("[ ]", Status::Open), ("[x]", Status::Done), ("[X]", Status::Done), ("[~]", Status::Active)]
        {
            if let Some(what) = entry.and_then(|entry| entry.strip_prefix(mark)) {
                todos.push(Todo::new(what, status));
            }
        }
    }
    (todos.len() >= 2).then_some(todos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checklists_are_read() {
        let todos = checklist("Plan:\n- [x] one\n- [ ] two\n```\n- [ ] not this\n```\n").unwrap();
        assert_eq!(todos, [Todo::new("one", Status::Done), Todo::new("two", Status::Open)]);
        assert_eq!(checklist("- [ ] lonely"), None);
        assert_eq!(checklist("nothing"), None);
    }
}
