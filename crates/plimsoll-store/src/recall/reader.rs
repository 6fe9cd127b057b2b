//! Reading what an id names in order, of which little is in memory at a time.

use std::collections::VecDeque;
use std::ops::Range;

use plimsoll::utf16::{Decoder, Utf16};

use crate::backend::Reader;
use crate::body::ArchivedDocument;
use crate::error::Result;

/// How much of an archived document is read at a time, in bytes.
const PIECE: u64 = 1 << 20;
/// How much of a text is looked at to tell how it is encoded, in bytes.
pub(crate) const SAMPLE: usize = 4_096;
/// How much of a text in UTF-16 is read at a time, in bytes.
const BLOCK: usize = 64 * 1024;

/// A range of what an id names, being read.
#[derive(Debug)]
pub struct RecallReader<'r> {
    source: Source<'r>,
}

#[derive(Debug)]
enum Source<'r> {
    Text {
        reader: Box<dyn Reader + 'r>,
        left: u64,
    },
    Removed {
        document: &'r ArchivedDocument<'r>,
        to_come: VecDeque<Range<u64>>,
        piece: Vec<u8>,
        at: usize,
    },
    /// What was read to see how a text is encoded, up to its end, and the rest.
    Begun {
        start: Vec<u8>,
        at: usize,
        rest: Box<RecallReader<'r>>,
    },
    /// A text in UTF-16, as UTF-8.
    Decoded {
        raw: Box<RecallReader<'r>>,
        decoder: Decoder,
        text: String,
        at: usize,
        ended: bool,
    },
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

    /// Reads a text, of which nothing was read yet, as UTF-8 if it is in UTF-16.
    pub(crate) fn decoded(mut self) -> Result<Self> {
        let mut start = vec![0; SAMPLE];
        let mut filled = 0;
        loop {
            let read = self.read(start.get_mut(filled..).unwrap_or_default())?;
            filled += read;
            if read == 0 {
                break;
            }
        }
        start.truncate(filled);
        let order = Utf16::of(&start);
        let begun = Self { source: Source::Begun { start, at: 0, rest: Box::new(self) } };
        Ok(match order {
            None => begun,
            Some(order) => {
                let (decoder, text) = (Decoder::new(order), String::new());
                Self { source: Source::Decoded { raw: Box::new(begun), decoder, text, at: 0, ended: false } }
            }
        })
    }

    /// The encoding of what is read as UTF-8, if it is another.
    pub(crate) fn encoding(&self) -> Option<Utf16> {
        match &self.source {
            Source::Decoded { decoder, .. } => Some(decoder.order()),
            _ => None,
        }
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
                let length = taken(rest, buffer);
                *at += length;
                Ok(length)
            }
            Source::Begun { start, at, rest } => {
                let length = taken(start.get(*at..).unwrap_or_default(), buffer);
                *at += length;
                if length == 0 { rest.read(buffer) } else { Ok(length) }
            }
            Source::Decoded { raw, decoder, text, at, ended } => {
                while *at >= text.len() && !*ended {
                    let mut block = vec![0; BLOCK];
                    let read = raw.read(&mut block)?;
                    text.clear();
                    *at = 0;
                    decoder.decode(block.get(..read).unwrap_or_default(), text);
                    if read == 0 {
                        decoder.finish(text);
                        *ended = true;
                    }
                }
                let length = taken(text.as_bytes().get(*at..).unwrap_or_default(), buffer);
                *at += length;
                Ok(length)
            }
        }
    }
}

/// Fills the start of a buffer with as much as there is, and says how much that is.
fn taken(from: &[u8], buffer: &mut [u8]) -> usize {
    let length = from.len().min(buffer.len());
    if let (Some(into), Some(bytes)) = (buffer.get_mut(..length), from.get(..length)) {
        into.copy_from_slice(bytes);
    }
    length
}
