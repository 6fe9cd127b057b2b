//! What is noticed while a text passes by: its lines, and what its kind has to show between head and tail.

use super::json::{Json, State};
use super::kind::Kind;
use super::lines::{Lines, Look};

/// What passing over the whole text found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) lines: u64,
    pub(super) passed: Lines,
    pub(super) json: Option<Json>,
}

/// The passing itself.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    kind: Kind,
    passed: Lines,
    json: Option<Json>,
}

impl Scan {
    pub(super) fn new(kind: Kind, limit: usize) -> Self {
        let look = match kind {
            // What began as JSON may turn out to be a command's output.
            Kind::Output | Kind::Log | Kind::Text | Kind::Json | Kind::JsonLines => Look::Trouble,
            Kind::File => Look::Outline,
            Kind::Diff => Look::Diff,
            Kind::Listing | Kind::Table => Look::Count,
        };
        Self { kind, passed: Lines::new(look, limit), json: (kind == Kind::Json).then(|| Json::new(limit)) }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.passed.feed(bytes);
        if let Some(json) = &mut self.json {
            json.feed(bytes);
        }
    }

    #[cfg(test)]
    pub(super) fn holds(&self) -> usize {
        self.passed.holds()
    }

    pub(super) fn finish(mut self) -> Found {
        let lines = self.passed.finish();
        if let Some(json) = &mut self.json {
            json.finish();
        }
        let state = self.json.as_ref().map(Json::state);
        let kind = match state {
            Some(State::Bad) => Kind::Text,
            Some(State::Several) => Kind::JsonLines,
            Some(State::Good) | None => self.kind,
        };
        Found { kind, lines, json: self.json.filter(|_| state == Some(State::Good)), passed: self.passed }
    }
}
