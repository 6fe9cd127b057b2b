//! What is noticed while a text passes by: its lines, and what its kind has to show between head and tail.

use super::kind::Kind;

/// What passing over the whole text found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) lines: u64,
}

/// The passing itself.
#[derive(Debug)]
pub(super) struct Scan {
    kind: Kind,
    feeds: u64,
    last: Option<u8>,
}

impl Scan {
    pub(super) fn new(kind: Kind, _limit: usize) -> Self {
        Self { kind, feeds: 0, last: None }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.feeds += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.last = bytes.last().copied().or(self.last);
    }

    pub(super) fn finish(self) -> Found {
        let unfinished = self.last.is_some_and(|byte| byte != b'\n');
        Found { kind: self.kind, lines: self.feeds + u64::from(unfinished) }
    }
}
