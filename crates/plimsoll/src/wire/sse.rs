//! `Frames`: server-sent events taken apart as their bytes come, wherever a network cuts them.
//!
//! Grammar: WHATWG HTML, *Server-sent events*, "interpreting an event stream". Nothing is decoded: a frame's data is
//! bytes, borrowed from the chunk that it came in unless it lies in several.

use std::ops::Range;

use memchr::memchr2;

use crate::units::Bytes;

/// The most that a frame may hold, by default.
pub const MAX_FRAME: Bytes = Bytes(16 << 20);

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Why a stream is not read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A frame that is larger than allowed.
    #[error("a frame of the stream is over the limit of {limit}; if that is meant, raise the limit")]
    FrameTooLarge {
        /// The limit.
        limit: Bytes,
    },
    /// A text that is longer than allowed.
    #[error("the streamed text is over the limit of {limit}; if that is meant, raise the limit")]
    TextTooLarge {
        /// The limit.
        limit: Bytes,
    },
}

/// One event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Frame<'f> {
    /// The event's name; empty where none was given, which stands for `message`.
    pub event: &'f [u8],
    /// Its data, lines joined by line feeds.
    pub data: &'f [u8],
    /// The id last given, by this frame or an earlier one; empty if there was none.
    pub id: &'f [u8],
}

/// Takes a stream of server-sent events apart, incrementally.
///
/// Chunks may end anywhere, inside a line end or a character too. Lines end with LF, CR or both; a byte order mark at
/// the start and comments are passed over; several `data` lines are joined; a frame without data is none. What a frame
/// holds is bounded, comments are not kept at all.
///
/// ```
/// use plimsoll::wire::Frames;
/// let mut frames = Frames::default();
/// let mut seen = Vec::new();
/// for chunk in [&b": ping\n\nevent: no"[..], b"te\r\ndata: caf\xc3", b"\xa9\r\ndata: au lait\r", b"\n\r\n"] {
///     frames.push(chunk, |frame| {
///         seen.push((String::from_utf8_lossy(frame.event).into_owned(), String::from_utf8_lossy(frame.data).into_owned()));
///     })?;
/// }
/// assert_eq!(seen, [("note".to_owned(), "café\nau lait".to_owned())]);
/// # Ok::<(), plimsoll::wire::StreamError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Frames {
    limit: usize,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// Whether the line that goes on is a comment, of which nothing is kept.
    in_comment: bool,
    /// Whether the last byte was a CR, so that an LF now belongs to it.
    after_cr: bool,
    /// How many bytes of a byte order mark the stream has begun with; `None` once it is past its start.
    start: Option<usize>,
    event: Held,
    data: Held,
    /// How many bytes the frame that is coming has had.
    size: usize,
    id: Vec<u8>,
    retry: Option<u64>,
    failed: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Self::with_limit(MAX_FRAME)
    }
}

/// A field's value: in the chunk at hand as long as that suffices, else in a buffer.
#[derive(Debug, Clone, Default)]
struct Held {
    given: bool,
    here: Option<Range<usize>>,
    own: Vec<u8>,
}

impl Held {
    fn get<'f>(&'f self, chunk: &'f [u8]) -> &'f [u8] {
        self.here.clone().map_or(&self.own, |range| chunk.get(range).unwrap_or(&[]))
    }

    /// Takes over what lies in a chunk that is about to be gone.
    fn keep(&mut self, chunk: &[u8]) {
        if let Some(range) = self.here.take() {
            self.own.clear();
            self.own.extend_from_slice(chunk.get(range).unwrap_or(&[]));
        }
    }

    fn clear(&mut self) {
        self.given = false;
        self.here = None;
        self.own.clear();
    }
}

impl Frames {
    /// Makes a reader whose frames may hold at most `limit`.
    pub fn with_limit(limit: Bytes) -> Self {
        Self {
            limit: usize::try_from(limit.0).unwrap_or(usize::MAX),
            line: Vec::new(),
            in_comment: false,
            after_cr: false,
            start: Some(0),
            event: Held::default(),
            data: Held::default(),
            size: 0,
            id: Vec::new(),
            retry: None,
            failed: false,
        }
    }

    /// Takes the next bytes of the stream, and hands each frame that they complete to `each`.
    ///
    /// # Errors
    /// [`StreamError::FrameTooLarge`], also on every later call.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(Frame<'_>)) -> Result<(), StreamError> {
        if self.failed {
            return Err(self.too_large());
        }
        let mut at = self.pass_bom(chunk);
        if self.after_cr && at < chunk.len() {
            self.after_cr = false;
            if chunk.get(at) == Some(&b'\n') {
                at += 1;
            }
        }
        while let Some(rest) = chunk.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(found) = memchr2(b'\n', b'\r', rest) else {
                self.carry(rest)?;
                break;
            };
            let line = at..at + found;
            at += found + 1;
            if rest.get(found) == Some(&b'\r') {
                match chunk.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            self.end_line(chunk, line, &mut each)?;
        }
        self.event.keep(chunk);
        self.data.keep(chunk);
        Ok(())
    }

    /// Ends the stream, and gives what it left off in the middle of, if there is anything: a frame that no blank line
    /// ends. By the grammar it is none; some servers leave the last line end out, others were cut off.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        let line = std::mem::take(&mut self.line);
        if !self.failed && !self.in_comment && !line.is_empty() {
            let whole = 0..line.len();
            self.field(&line, whole);
            self.event.keep(&line);
            self.data.keep(&line);
        }
        (self.data.given && !self.failed).then(|| Frame {
            event: self.event.get(&[]),
            data: self.data.get(&[]),
            id: &self.id,
        })
    }

    /// The pause before a new connection that the stream asks for, in milliseconds.
    pub const fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Passes over a byte order mark at the start of the stream; gives where the chunk goes on.
    fn pass_bom(&mut self, chunk: &[u8]) -> usize {
        let mut at = 0;
        while let Some(seen) = self.start {
            let Some(byte) = chunk.get(at) else { break };
            if BOM.get(seen) == Some(byte) {
                at += 1;
                self.start = (seen + 1 < BOM.len()).then_some(seen + 1);
            } else {
                // It only began like one.
                self.line.extend_from_slice(BOM.get(..seen).unwrap_or(&[]));
                self.start = None;
            }
        }
        at
    }

    /// Keeps the beginning of a line.
    fn carry(&mut self, part: &[u8]) -> Result<(), StreamError> {
        if self.line.is_empty() && part.first() == Some(&b':') {
            self.in_comment = true;
        }
        if self.in_comment {
            return Ok(());
        }
        self.grow(part.len())?;
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn end_line(
        &mut self,
        chunk: &[u8],
        range: Range<usize>,
        each: &mut impl FnMut(Frame<'_>),
    ) -> Result<(), StreamError> {
        if std::mem::take(&mut self.in_comment) {
            return Ok(());
        }
        let part = chunk.get(range.clone()).unwrap_or(&[]);
        if self.line.is_empty() {
            if part.is_empty() {
                self.dispatch(chunk, each);
            } else if part.first() != Some(&b':') {
                self.grow(part.len())?;
                self.field(chunk, range);
            }
            return Ok(());
        }
        self.grow(part.len())?;
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(part);
        // The values of earlier lines may lie in the chunk; this one's lie in the line.
        self.event.keep(chunk);
        self.data.keep(chunk);
        let whole = 0..line.len();
        self.field(&line, whole);
        self.event.keep(&line);
        self.data.keep(&line);
        line.clear();
        self.line = line;
        Ok(())
    }

    /// Reads one line: a field's name and its value, which lies in `source`.
    fn field(&mut self, source: &[u8], range: Range<usize>) {
        let line = source.get(range.clone()).unwrap_or(&[]);
        let colon = memchr::memchr(b':', line);
        let name = line.get(..colon.unwrap_or(line.len())).unwrap_or(&[]);
        let mut start = colon.map_or(line.len(), |colon| colon + 1);
        if line.get(start) == Some(&b' ') {
            start += 1;
        }
        let value = line.get(start..).unwrap_or(&[]);
        let place = range.start + start..range.end;
        match name {
            b"data" if self.data.given => {
                self.data.keep(source);
                self.data.own.push(b'\n');
                self.data.own.extend_from_slice(value);
            }
            b"data" => {
                self.data.given = true;
                self.data.here = Some(place);
            }
            b"event" => {
                self.event.given = true;
                self.event.here = Some(place);
            }
            b"id" if !value.contains(&0) => {
                self.id.clear();
                self.id.extend_from_slice(value);
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                self.retry = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).or(self.retry);
            }
            // A field of another name is none.
            _ => {}
        }
    }

    fn dispatch(&mut self, chunk: &[u8], each: &mut impl FnMut(Frame<'_>)) {
        if self.data.given {
            each(Frame { event: self.event.get(chunk), data: self.data.get(chunk), id: &self.id });
        }
        self.event.clear();
        self.data.clear();
        self.size = 0;
    }

    /// Counts what a frame holds.
    fn grow(&mut self, by: usize) -> Result<(), StreamError> {
        self.size = self.size.saturating_add(by);
        if self.size > self.limit {
            self.failed = true;
            self.line = Vec::new();
            return Err(self.too_large());
        }
        Ok(())
    }

    fn too_large(&self) -> StreamError {
        StreamError::FrameTooLarge { limit: Bytes::from(self.limit) }
    }
}

#[cfg(test)]
mod tests;
