//! `Lines`: the objects of a JSONL log, torn and glued ones included.

use memchr::memchr;

use super::document::Document;
use super::{Kind, Oddity, OddityKind, Span, Tape, Value};

/// What stands on a line.
pub(super) enum Line {
    /// A complete JSON value, now on the tape. It may be one of several on its line.
    Value(Span),
    /// Something else: reported, kept, passed over.
    Odd(Oddity),
}

/// Walks over a log, value by value.
#[derive(Debug, Clone)]
pub(super) struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The end of the current line, while a value was read from it and something follows.
    line_end: Option<usize>,
}

impl<'a> Lines<'a> {
    pub(super) const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, line_end: None }
    }

    /// The next value or oddity; `None` at the end. The value's nodes are on `tape`.
    pub(super) fn next(&mut self, tape: &mut Tape) -> Option<Line> {
        loop {
            let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
            let fresh = self.line_end.is_none();
            let end =
                self.line_end.unwrap_or_else(|| memchr(b'\n', rest).map_or(self.bytes.len(), |at| self.at + at));
            let line = self.bytes.get(self.at..end).unwrap_or(&[]);
            let indent = line.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let start = self.at + indent;
            if start >= end {
                self.at = end + 1;
                self.line_end = None;
                continue;
            }
            if fresh && line.get(indent..).is_some_and(|line| line.starts_with(b"//")) {
                return Some(self.odd(OddityKind::CommentLine, start, end));
            }
            // The line's end bounds the value: a torn line must not swallow the next one.
            let bounded = self.bytes.get(..end).unwrap_or(&[]);
            let Ok(value_end) = tape.parse(bounded, start) else {
                return Some(self.odd(OddityKind::BrokenLine, start, end));
            };
            self.at = value_end;
            self.line_end = Some(end);
            return Some(Line::Value(span(start, value_end)));
        }
    }

    /// The next object; other things go to `odd`. The object's nodes are on `tape`.
    pub(super) fn next_object<'t>(
        &mut self,
        tape: &'t mut Tape,
        odd: &mut Vec<Oddity>,
    ) -> Option<(Span, Value<'t, 'a>)> {
        loop {
            let glued = self.line_end.is_some();
            match self.next(tape)? {
                Line::Odd(oddity) => odd.push(oddity),
                Line::Value(span) => {
                    let is_object = tape.root(self.bytes).is_some_and(|value| value.kind() == Kind::Object);
                    if glued && self.line_end.is_some_and(|end| span.start() < end) && follows(self.bytes, span) {
                        odd.push(Oddity { kind: OddityKind::GluedObjects, span });
                    }
                    if is_object {
                        return Some((span, tape.root(self.bytes)?));
                    }
                    odd.push(Oddity { kind: OddityKind::NotAnObject, span });
                }
            }
        }
    }

    fn odd(&mut self, kind: OddityKind, start: usize, end: usize) -> Line {
        self.at = end + 1;
        self.line_end = None;
        Line::Odd(Oddity { kind, span: span(start, end) })
    }
}

/// Reports a last line that is not ended: what is appended must begin with a newline.
pub(super) fn note_missing_newline(document: &mut Document<'_>) {
    let end = document.bytes.len();
    if !document.bytes.ends_with(b"\n") {
        document.odd(OddityKind::NoFinalNewline, span(end, end));
    }
}

/// Whether something other than a newline precedes the value on its line.
fn follows(bytes: &[u8], span: Span) -> bool {
    let before = bytes.get(..span.start()).unwrap_or(&[]);
    before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')).is_some_and(|byte| *byte != b'\n')
}

fn span(start: usize, end: usize) -> Span {
    Span::new(start, end).unwrap_or_default()
}
