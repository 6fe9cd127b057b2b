//! `Value`: a handle on one value of a tape, and walking over what it holds.

use super::super::{Span, Text};
use super::{Kind, Node, Tape};

/// One value of a [`Tape`]: a handle, cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Value<'t, 'a> {
    tape: &'t Tape,
    bytes: &'a [u8],
    index: u32,
}

impl<'t, 'a> Value<'t, 'a> {
    pub(super) const fn root(tape: &'t Tape, bytes: &'a [u8]) -> Self {
        Self { tape, bytes, index: 0 }
    }

    fn node(self) -> Node {
        // An index is only ever made from a node that exists; the fallback keeps this total.
        self.tape.nodes.get(self.index as usize).copied().unwrap_or(Node {
            kind: Kind::Null,
            escaped: false,
            start: 0,
            end: 0,
            next: u32::MAX,
        })
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.node().kind
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Its bytes' place; for strings, quotes included.
    pub fn span(self) -> Span {
        let node = self.node();
        Span::from_offsets(node.start, node.end)
    }

    /// Its exact bytes.
    pub fn raw(self) -> &'a [u8] {
        self.span().of(self.bytes)
    }

    /// A string's text.
    pub fn text(self) -> Option<Text<'a>> {
        let node = self.node();
        if node.kind != Kind::String {
            return None;
        }
        let inside = Span::from_offsets(node.start + 1, node.end - 1);
        Some(Text::json(inside.of(self.bytes), node.escaped))
    }

    /// A boolean's value.
    pub fn bool(self) -> Option<bool> {
        match self.raw() {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// A number's value, where it is a whole number of 64 bits.
    pub fn u64(self) -> Option<u64> {
        std::str::from_utf8(self.raw()).ok()?.parse().ok()
    }

    /// The value of a key of this object. Of duplicate keys the last counts, as providers' parsers have it.
    pub fn get(self, name: &str) -> Option<Self> {
        let mut found = None;
        for (key, value) in self.fields() {
            if key.is(name) {
                found = Some(value);
            }
        }
        found
    }

    /// The fields of this object, in order, duplicates included; nothing for other kinds.
    pub fn fields(self) -> Fields<'t, 'a> {
        let node = self.node();
        let end = if node.kind == Kind::Object { node.next } else { self.index + 1 };
        Fields { at: Self { index: self.index + 1, ..self }, end }
    }

    /// The fields of this object as pairs of key and value, each with its place; nothing for other kinds.
    pub(crate) fn members(self) -> impl Iterator<Item = (Self, Self)> {
        self.fields().map(move |(_, value)| {
            // A key's node stands right before its value's.
            let index = value.index.saturating_sub(1);
            (Self { index, ..value }, value)
        })
    }

    /// The elements of this array, in order; nothing for other kinds.
    pub fn elements(self) -> Elements<'t, 'a> {
        let node = self.node();
        let end = if node.kind == Kind::Array { node.next } else { self.index + 1 };
        Elements { at: Self { index: self.index + 1, ..self }, end }
    }
}

/// The fields of an object.
#[derive(Debug, Clone)]
pub struct Fields<'t, 'a> {
    at: Value<'t, 'a>,
    end: u32,
}

impl<'t, 'a> Iterator for Fields<'t, 'a> {
    type Item = (Text<'a>, Value<'t, 'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at.index >= self.end {
            return None;
        }
        let key = self.at.text()?;
        let value = Value { index: self.at.index + 1, ..self.at };
        self.at.index = value.node().next;
        Some((key, value))
    }
}

/// The elements of an array.
#[derive(Debug, Clone)]
pub struct Elements<'t, 'a> {
    at: Value<'t, 'a>,
    end: u32,
}

impl<'t, 'a> Iterator for Elements<'t, 'a> {
    type Item = Value<'t, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at.index >= self.end {
            return None;
        }
        let element = self.at;
        self.at.index = element.node().next;
        Some(element)
    }
}
