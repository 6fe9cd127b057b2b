//! Edits of a JSON file that people keep by hand: comments, order, white space and what nobody knows stay as they are.
//!
//! Comments and commas before a closing bracket are blanked out, byte for byte, so that the tape of the core reads the
//! rest at its true offsets. What is put in is pure insertion, in the file's own indentation and line ends.

use std::borrow::Cow;

use plimsoll::wire::{Edit, JsonError, Kind, Span, Tape, Value};
use serde_json::Value as Json;

/// A JSON file, comments allowed.
#[derive(Debug)]
pub(super) struct JsonFile<'a> {
    text: &'a [u8],
    blanked: Vec<u8>,
    tape: Tape,
}

impl<'a> JsonFile<'a> {
    /// Reads a file. One without anything but white space and comments has no root.
    pub(super) fn parse(text: &'a [u8]) -> Result<Self, JsonError> {
        let blanked = blank(text);
        let mut tape = Tape::default();
        if blanked.iter().any(|byte| !byte.is_ascii_whitespace()) {
            let end = tape.parse(&blanked, 0)?;
            if let Some(at) = blanked.iter().skip(end).position(|byte| !byte.is_ascii_whitespace()) {
                let offset = end + at;
                return Err(JsonError::Unexpected { byte: blanked.get(offset).copied().unwrap_or(0), offset });
            }
        }
        Ok(Self { text, blanked, tape })
    }

    /// The value that the file holds; `None` if there is none.
    pub(super) fn root(&self) -> Option<Value<'_, '_>> {
        self.tape.root(&self.blanked)
    }

    /// The value at a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<Value<'_, '_>> {
        path.iter().try_fold(self.root()?, |value, key| value.get(key))
    }

    /// Puts a member into the object at a path, behind its last one. Objects of the path that are missing come with it.
    ///
    /// `None` if something on the path is no object.
    pub(super) fn insert(&self, path: &[&str], key: &str, value: &Json) -> Option<Vec<Edit<'static>>> {
        let Some(mut object) = self.root() else {
            // Nothing is there yet: the file gets its first object, behind what comments there are.
            let all = path.iter().rev().fold(member(key, value), |inner, key| member(key, &inner));
            let lead = if self.text.is_empty() || self.text.ends_with(b"\n") { "" } else { self.line_end() };
            let text = format!("{lead}{}{}", self.pretty(&all, 0), self.line_end());
            return Some(vec![insertion(self.text.len(), text)?]);
        };
        let mut rest = path;
        while let [first, more @ ..] = rest
            && let Some(inner) = object.get(first)
        {
            (object, rest) = (inner, more);
        }
        if object.kind() != Kind::Object {
            return None;
        }
        let (name, value) = match rest {
            [first, more @ ..] => {
                let inner = more.iter().rev().fold(member(key, value), |inner, key| member(key, &inner));
                (*first, Cow::Owned(inner))
            }
            [] => (key, Cow::Borrowed(value)),
        };
        let last = object.fields().last().map(|(_, value)| value.span());
        let text = |depth: usize| {
            let name = serde_json::to_string(name).unwrap_or_default();
            format!("{name}: {}", self.pretty(&value, depth))
        };
        self.append(object.span(), last, text)
    }

    /// Puts an element at the end of the array at a path.
    pub(super) fn push(&self, array: Value<'_, '_>, value: &Json) -> Option<Vec<Edit<'static>>> {
        let last = array.elements().last().map(Value::span);
        (array.kind() == Kind::Array).then_some(())?;
        self.append(array.span(), last, |depth| self.pretty(value, depth))
    }

    /// Appends to what stands between two brackets.
    fn append(&self, whole: Span, last: Option<Span>, text: impl Fn(usize) -> String) -> Option<Vec<Edit<'static>>> {
        let close = whole.end().checked_sub(1)?;
        let Some(last) = last else {
            // `{}`, or only comments between the brackets: behind the opening one.
            let depth = self.depth_of(whole.start()) + 1;
            let inside = self.text.get(whole.start() + 1..close)?;
            let line = format!("{}{}{}", self.line_end(), self.indent(depth), text(depth));
            let tail = if inside.contains(&b'\n') {
                String::new()
            } else {
                format!("{}{}", self.line_end(), self.indent(depth - 1))
            };
            return Some(vec![insertion(whole.start() + 1, line + &tail)?]);
        };
        let gap = self.text.get(last.end()..close)?;
        let on_one_line = !self.text.get(whole.range())?.contains(&b'\n');
        let (before, depth) = if on_one_line {
            (" ".to_owned(), usize::MAX)
        } else {
            let indent = self.indent_at(last, whole);
            let depth = indent.len() / self.unit().len().max(1);
            (format!("{}{indent}", self.line_end()), depth)
        };
        let text = text(depth);
        let trailing = gap.iter().all(u8::is_ascii_whitespace);
        if trailing {
            return Some(vec![insertion(last.end(), format!(",{before}{text}"))?]);
        }
        // A comma or a comment stands between the last value and the bracket.
        let blanks = gap.iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count();
        let at = close - blanks;
        let has_comma = self.trailing_comma(last.end(), close);
        let mut edits = Vec::new();
        if !has_comma {
            edits.push(insertion(last.end(), ",".to_owned())?);
        }
        // Behind a line comment a new line is needed, also on one line.
        let before = if on_one_line { before } else { format!("{}{}", self.line_end(), self.indent_at(last, whole)) };
        // Whoever ends the last one with a comma keeps that when ours is taken out again.
        let after = if has_comma { "," } else { "" };
        edits.push(insertion(at, format!("{before}{text}{after}"))?);
        Some(edits)
    }

    /// Whether a comma, which [`blank`] took out, stands between two offsets, outside of comments.
    fn trailing_comma(&self, from: usize, to: usize) -> bool {
        let mut at = from;
        while at < to {
            match self.text.get(at..) {
                Some([b',', ..]) => return true,
                Some(rest @ [b'/', b'/' | b'*', ..]) => at += comment_length(rest),
                _ => at += 1,
            }
        }
        false
    }

    /// Takes a member or an element out, with the comma that goes with it.
    ///
    /// `siblings` are the spans of all members (key to value) or elements of what holds it, in order.
    pub(super) fn remove(&self, whole: Span, siblings: &[Span], index: usize) -> Option<Edit<'static>> {
        let own = siblings.get(index)?;
        let span = match (index.checked_sub(1).and_then(|before| siblings.get(before)), siblings.get(index + 1)) {
            (Some(before), _) => Span::new(before.end(), own.end())?,
            (None, Some(after)) => Span::new(own.start(), after.start())?,
            (None, None) => {
                let inside = Span::new(whole.start() + 1, whole.end().checked_sub(1)?)?;
                let only_space = |span: Span| span.of(self.text).iter().all(u8::is_ascii_whitespace);
                let (lead, trail) = (Span::new(inside.start(), own.start())?, Span::new(own.end(), inside.end())?);
                if only_space(lead) && only_space(trail) { inside } else { *own }
            }
        };
        Some(Edit::remove(span))
    }

    /// The spans of an object's members, each from its key to its value.
    pub(super) fn members(&self, object: Value<'_, '_>) -> Vec<Span> {
        let mut from = object.span().start() + 1;
        let mut spans = Vec::new();
        for (_, value) in object.fields() {
            // Between the members there is nothing but white space and commas: comments are blanked out.
            let gap = self.blanked.get(from..value.span().start()).unwrap_or_default();
            let start = from + gap.iter().position(|byte| *byte == b'"').unwrap_or(0);
            spans.extend(Span::new(start, value.span().end()));
            from = value.span().end();
        }
        spans
    }

    fn line_end(&self) -> &'static str {
        if memchr::memmem::find(self.text, b"\r\n").is_some() { "\r\n" } else { "\n" }
    }

    /// The indentation of one level: what the first indented line has, else two spaces.
    fn unit(&self) -> Cow<'a, str> {
        let mut lines = self.text.split(|byte| *byte == b'\n');
        let indent = lines.find_map(|line| {
            let spaces = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            (spaces > 0 && line.get(spaces) == Some(&b'"')).then(|| line.get(..spaces)).flatten()
        });
        match indent {
            Some(indent) if indent.starts_with(b"\t") => Cow::Borrowed("\t"),
            Some(indent) if indent.len() <= 8 => String::from_utf8_lossy(indent),
            _ => Cow::Borrowed("  "),
        }
    }

    fn indent(&self, depth: usize) -> String {
        self.unit().repeat(depth.min(64))
    }

    /// The indentation of the line that a value's member or element begins on; else one deeper than what holds it.
    fn indent_at(&self, last: Span, whole: Span) -> String {
        let start = self.line_start(last.start());
        let line = self.text.get(start..last.start()).unwrap_or_default();
        if start > whole.start() {
            let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            String::from_utf8_lossy(line.get(..blanks).unwrap_or_default()).into_owned()
        } else {
            self.indent(self.depth_of(whole.start()) + 1)
        }
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| memchr::memrchr(b'\n', before)).map_or(0, |feed| feed + 1)
    }

    /// How many units the line of an offset is indented by.
    fn depth_of(&self, at: usize) -> usize {
        let line = self.text.get(self.line_start(at)..at).unwrap_or_default();
        let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        blanks / self.unit().len().max(1)
    }

    /// Writes a value as people write it; on one line where `depth` says that the file is written so.
    fn pretty(&self, value: &Json, depth: usize) -> String {
        if depth == usize::MAX {
            return value.to_string();
        }
        let unit = self.unit().into_owned();
        let mut text = String::new();
        let line = format!("{}{}", self.line_end(), self.indent(depth));
        write_pretty(value, &line, &unit, &mut text);
        text
    }
}

fn member(key: &str, value: &Json) -> Json {
    Json::Object(std::iter::once((key.to_owned(), value.clone())).collect())
}

fn insertion(at: usize, text: String) -> Option<Edit<'static>> {
    Some(Edit::replace(Span::new(at, at)?, text.into_bytes()))
}

fn write_pretty(value: &Json, line: &str, unit: &str, out: &mut String) {
    let deeper = format!("{line}{unit}");
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            out.push('{');
            for (n, (key, value)) in fields.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                out.push_str(&deeper);
                out.push_str(&plimsoll::wire::quote(key));
                out.push_str(": ");
                write_pretty(value, &deeper, unit, out);
            }
            out.push_str(line);
            out.push('}');
        }
        Json::Array(elements) if !elements.is_empty() => {
            out.push('[');
            for (n, value) in elements.iter().enumerate() {
                out.push_str(if n > 0 { "," } else { "" });
                out.push_str(&deeper);
                write_pretty(value, &deeper, unit, out);
            }
            out.push_str(line);
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// How long a comment is, from its first slash.
fn comment_length(text: &[u8]) -> usize {
    if text.starts_with(b"//") {
        memchr::memchr(b'\n', text).unwrap_or(text.len())
    } else {
        memchr::memmem::find(text.get(2..).unwrap_or_default(), b"*/").map_or(text.len(), |end| end + 4)
    }
}

/// Replaces a byte-order mark, comments and commas before a closing bracket by spaces: every other byte stays in place.
fn blank(text: &[u8]) -> Vec<u8> {
    let mut out = text.to_vec();
    let mut fill = |from: usize, to: usize| {
        if let Some(range) = out.get_mut(from..to) {
            for byte in range.iter_mut().filter(|byte| !matches!(**byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
        }
    };
    let mut at = 0;
    if text.starts_with(b"\xef\xbb\xbf") {
        fill(0, 3);
        at = 3;
    }
    let mut comma: Option<usize> = None;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match rest {
            [b'"', ..] => {
                at += string_length(rest);
                comma = None;
            }
            [b'/', b'/' | b'*', ..] => {
                let length = comment_length(rest);
                fill(at, at + length);
                at += length;
            }
            [b',', ..] => {
                comma = Some(at);
                at += 1;
            }
            [b'}' | b']', ..] => {
                if let Some(comma) = comma.take() {
                    fill(comma, comma + 1);
                }
                at += 1;
            }
            [byte, ..] => {
                if !byte.is_ascii_whitespace() {
                    comma = None;
                }
                at += 1;
            }
            [] => break,
        }
    }
    out
}

fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
