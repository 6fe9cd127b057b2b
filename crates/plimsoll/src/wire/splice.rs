//! `splice`: applies edits to a document, copying every byte that no edit names.

use std::borrow::Cow;

use super::Span;

/// One change: the bytes of `span` are replaced by `with`. An empty span is an insertion, an empty `with` a removal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit<'a> {
    /// What is replaced.
    pub span: Span,
    /// What stands there afterwards.
    pub with: Cow<'a, [u8]>,
}

impl<'a> Edit<'a> {
    /// Replaces the bytes of a span.
    pub fn replace(span: Span, with: impl Into<Cow<'a, [u8]>>) -> Self {
        Self { span, with: with.into() }
    }

    /// Removes the bytes of a span.
    pub const fn remove(span: Span) -> Self {
        Self { span, with: Cow::Borrowed(&[]) }
    }
}

/// Why edits could not be applied. Nothing is written then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpliceError {
    /// An edit reaches past the document.
    #[error("edit of bytes {}..{} reaches past the document's {len} bytes", span.start(), span.end())]
    OutOfBounds {
        /// The edit's span.
        span: Span,
        /// The document's length in bytes.
        len: usize,
    },
    /// Two edits touch the same bytes, or are not in ascending order.
    #[error("edit of bytes {}..{} overlaps or precedes the edit of bytes {}..{} before it",
        second.start(), second.end(), first.start(), first.end())]
    Overlap {
        /// The earlier edit's span.
        first: Span,
        /// The edit that overlaps it.
        second: Span,
    },
}

/// Applies edits to a document. Every byte that no edit names leaves exactly as it came.
///
/// Edits are given in ascending order and do not overlap; several insertions at one place are kept in their order.
/// With no edits the result is the document itself, borrowed. The cost is that of copying the result once.
///
/// # Errors
/// [`SpliceError`] if an edit lies outside the document, or two overlap.
///
/// ```
/// use plimsoll::wire::{Edit, Span, splice};
/// let edits = [Edit::replace(Span::new(1, 2).unwrap(), &b"40"[..])];
/// assert_eq!(splice(b"[1, 2]", &edits).unwrap().as_ref(), b"[40, 2]");
/// assert_eq!(splice(b"[1, 2]", &[]).unwrap().as_ref(), b"[1, 2]");
/// ```
pub fn splice<'d>(document: &'d [u8], edits: &[Edit<'_>]) -> Result<Cow<'d, [u8]>, SpliceError> {
    if edits.is_empty() {
        return Ok(Cow::Borrowed(document));
    }
    let len = document.len();
    let mut size = len;
    let mut last = Span::default();
    for Edit { span, with } in edits {
        if span.end() > len {
            return Err(SpliceError::OutOfBounds { span: *span, len });
        }
        if span.start() < last.end() {
            return Err(SpliceError::Overlap { first: last, second: *span });
        }
        size = size - span.len() + with.len();
        last = *span;
    }
    let mut spliced = Vec::with_capacity(size);
    let mut copied = 0;
    for Edit { span, with } in edits {
        spliced.extend_from_slice(document.get(copied..span.start()).unwrap_or(&[]));
        spliced.extend_from_slice(with);
        copied = span.end();
    }
    spliced.extend_from_slice(document.get(copied..).unwrap_or(&[]));
    Ok(Cow::Owned(spliced))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(start: usize, end: usize) -> Span {
        Span::new(start, end).unwrap()
    }

    #[test]
    fn refuses_edits_that_overlap_or_leave_the_document() {
        let edits = [Edit::remove(span(0, 3)), Edit::remove(span(2, 4))];
        assert_eq!(splice(b"abcd", &edits), Err(SpliceError::Overlap { first: span(0, 3), second: span(2, 4) }));
        let edits = [Edit::remove(span(3, 5))];
        assert_eq!(splice(b"abcd", &edits), Err(SpliceError::OutOfBounds { span: span(3, 5), len: 4 }));
        let edits = [Edit::remove(span(3, 4)), Edit::remove(span(0, 1))];
        assert!(splice(b"abcd", &edits).is_err());
    }

    proptest! {
        #[test]
        fn no_edits_give_the_document_byte_for_byte(document: Vec<u8>) {
            let spliced = splice(&document, &[]).unwrap();
            prop_assert_eq!(spliced.as_ref(), &document[..]);
        }

        #[test]
        fn bytes_outside_every_edit_are_kept(
            pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..8), any::<bool>(), prop::collection::vec(any::<u8>(), 0..4)), 0..12),
        ) {
            // The document is its pieces one after the other; the flagged ones are replaced.
            let (mut document, mut expected, mut edits) = (Vec::new(), Vec::new(), Vec::new());
            for (piece, replaced, with) in &pieces {
                let start = document.len();
                document.extend_from_slice(piece);
                if *replaced {
                    edits.push(Edit::replace(span(start, document.len()), &with[..]));
                    expected.extend_from_slice(with);
                } else {
                    expected.extend_from_slice(piece);
                }
            }
            let spliced = splice(&document, &edits).unwrap().into_owned();
            prop_assert_eq!(spliced, expected);
        }
    }
}
