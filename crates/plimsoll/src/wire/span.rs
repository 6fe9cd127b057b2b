//! `Span`: a byte range of a document, and the only place where documents are sliced.

use std::ops::Range;

/// A half-open range of bytes in a document, `start..end`.
///
/// A span is only ever made by a parser that saw those bytes, or checked with [`Span::new`]; reading one that does not
/// lie in the given bytes gives nothing rather than a panic.
///
/// ```
/// use plimsoll::wire::Span;
/// let span = Span::new(2, 5).unwrap();
/// assert_eq!(span.of(b"a [1] b"), b"[1]");
/// assert_eq!(span.len(), 3);
/// assert!(Span::new(5, 2).is_none());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Makes a span, if `start <= end` and both fit in 32 bits (documents are bounded far below that).
    pub fn new(start: usize, end: usize) -> Option<Self> {
        if start > end {
            return None;
        }
        Some(Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
    }

    pub(crate) const fn from_offsets(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The first byte's offset.
    pub const fn start(self) -> usize {
        self.start as usize
    }

    /// The offset after the last byte.
    pub const fn end(self) -> usize {
        self.end as usize
    }

    /// How many bytes it covers.
    pub const fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it covers no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes it covers; empty where the span does not lie in `bytes`.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.range()).unwrap_or(&[])
    }

    /// The span as a range.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether `other` lies in this span.
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}
