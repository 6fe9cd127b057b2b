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
    /// The structure of the JSON value that it is, or of the first of several.
    pub(super) json: Option<Json>,
}

/// The passing itself.
#[derive(Debug, Clone)]
pub(super) struct Scan {
    kind: Kind,
    /// What it is if it only began as JSON.
    otherwise: Kind,
    limit: usize,
    passed: Lines,
    json: Option<Json>,
}

impl Scan {
    pub(super) fn new(kind: Kind, otherwise: Kind, limit: usize, head: &[u8]) -> Self {
        let look = match kind {
            Kind::Output | Kind::Log | Kind::Text | Kind::JsonLines => Look::Trouble,
            Kind::Json => Look::Members,
            Kind::File => Look::outline(head),
            Kind::Diff => Look::Diff,
            Kind::Minified => Look::Names,
            Kind::Listing => Look::Listed,
            Kind::Table => Look::Rows,
            Kind::Binary => Look::Count,
        };
        let json = matches!(kind, Kind::Json | Kind::JsonLines).then(|| Json::new(limit));
        Self { kind, otherwise, limit, passed: Lines::new(look, limit, head), json }
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        if let Some(json) = &mut self.json
            && json.is_good()
        {
            let read = json.feed(bytes);
            // What began as JSON may turn out to be a command's output: from there on, it is looked at as that.
            if self.kind == Kind::Json && !json.is_good() {
                let (inside, after) = bytes.split_at_checked(read).unwrap_or((bytes, &[]));
                self.passed.feed(inside);
                self.passed.turn(self.limit);
                bytes = after;
            }
        }
        self.passed.feed(bytes);
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
        let json = self.json.filter(|json| json.state() != State::Bad);
        let kind = match (self.kind, json.as_ref().map(Json::state)) {
            (Kind::Json, None) => self.otherwise,
            (Kind::Json, Some(State::Several)) => Kind::JsonLines,
            (kind, _) => kind,
        };
        Found { kind, lines, json, passed: self.passed }
    }
}
