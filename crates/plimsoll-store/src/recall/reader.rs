//! Reading what an id names in order, of which little is in memory at a time.

use std::collections::VecDeque;
use std::ops::Range;

use crate::backend::Reader;
use crate::body::ArchivedDocument;
use crate::error::Result;

/// How much of an archived document is read at a time, in bytes.
const PIECE: u64 = 1 << 20;

/// A range of what an id names, being read.
#[derive(Debug)]
pub struct RecallReader<'r> {
    source: Source<'r>,
}

#[derive(Debug)]
enum Source<'r> {
    Text { reader: Box<dyn Reader + 'r>, left: u64 },
    Removed { document: &'r ArchivedDocument<'r>, to_come: VecDeque<Range<u64>>, piece: Vec<u8>, at: usize },
}

impl<'r> RecallReader<'r> {
    pub(crate) fn text(reader: Box<dyn Reader + 'r>, left: u64) -> Self {
        Self { source: Source::Text { reader, left } }
    }

    /// Reads `wanted`, a range of the joined `removed` ranges of a document.
    pub(crate) fn removed(document: &'r ArchivedDocument<'r>, removed: &[Range<u64>], wanted: Range<u64>) -> Self {
        let mut to_come = VecDeque::new();
        let mut before = 0;
        for part in removed {
            let size = part.end - part.start;
            let within = |at: u64| at.clamp(before, before + size) - before + part.start;
            let (mut start, end) = (within(wanted.start), within(wanted.end));
            while start < end {
                let next = (start + PIECE).min(end);
                to_come.push_back(start..next);
                start = next;
            }
            before += size;
        }
        Self { source: Source::Removed { document, to_come, piece: Vec::new(), at: 0 } }
    }

    /// Fills the start of `buffer` with what comes next, and says how much that is: 0 only at the end, or if `buffer`
    /// is empty.
    ///
    /// # Errors
    /// What the backend reports; [`StoreError::Damaged`](crate::StoreError::Damaged) before a byte of an archived
    /// document is given that is not as it was written.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match &mut self.source {
            Source::Text { reader, left } => {
                let length = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                let read = reader.read(buffer.get_mut(..length).unwrap_or_default())?;
                *left -= read as u64;
                Ok(read)
            }
            Source::Removed { document, to_come, piece, at } => {
                while *at >= piece.len() {
                    let Some(next) = to_come.pop_front() else {
                        return Ok(0);
                    };
                    (*piece, *at) = (document.read(next)?, 0);
                }
                let rest = piece.get(*at..).unwrap_or_default();
                let length = rest.len().min(buffer.len());
                if let (Some(into), Some(bytes)) = (buffer.get_mut(..length), rest.get(..length)) {
                    into.copy_from_slice(bytes);
                }
                *at += length;
                Ok(length)
            }
        }
    }
}
