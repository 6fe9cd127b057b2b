//! Splits a program's output into lines of a bounded length, and knows where each begins.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much is read at a time, in bytes.
const AT_ONCE: usize = 64 << 10;

/// A line, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Whole; the last one may lack its line break.
    Whole { offset: u64, bytes: &'a [u8] },
    /// Longer than the most that is taken: skipped, its length counted.
    TooLong { offset: u64, length: u64 },
}

/// Reads lines. What is read is kept until its line is complete, so that a wait can be given up at any time.
pub(crate) struct Lines<R> {
    source: R,
    most: usize,
    buffer: Vec<u8>,
    /// What of the buffer was given out.
    taken: usize,
    /// What of the buffer was searched for a line break.
    searched: usize,
    /// Where the buffer begins in the output.
    offset: u64,
    /// How much of a line that is too long was dropped already.
    dropped: u64,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(source: R, most: usize) -> Self {
        Self { source, most, buffer: Vec::new(), taken: 0, searched: 0, offset: 0, dropped: 0, ended: false }
    }

    /// Gives a line that is there already.
    pub(crate) fn buffered(&mut self) -> Option<Line<'_>> {
        let found = memchr::memchr(b'\n', self.buffer.get(self.searched..).unwrap_or_default());
        let end = match found {
            Some(at) => self.searched + at,
            None if self.ended && (self.taken < self.buffer.len() || self.dropped > 0) => self.buffer.len(),
            None => {
                self.searched = self.buffer.len();
                return None;
            }
        };
        let (start, length) = (self.taken, self.dropped + as_u64(end - self.taken));
        let offset = (self.offset + as_u64(start)).saturating_sub(self.dropped);
        self.taken = (end + 1).min(self.buffer.len());
        self.searched = self.taken;
        self.dropped = 0;
        if length > as_u64(self.most) {
            return Some(Line::TooLong { offset, length });
        }
        let bytes = self.buffer.get(start..end).unwrap_or_default();
        Some(Line::Whole { offset, bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes) })
    }

    /// Reads on until there is a line; gives whether there is one. It may be dropped and called again.
    pub(crate) async fn fill(&mut self) -> std::io::Result<bool> {
        // What is there already is not waited for: the program may not say more before it is answered.
        if memchr::memchr(b'\n', self.buffer.get(self.searched..).unwrap_or_default()).is_some() {
            return Ok(true);
        }
        loop {
            if self.ended {
                return Ok(self.taken < self.buffer.len() || self.dropped > 0);
            }
            self.make_room();
            let read = self.source.read_buf(&mut self.buffer).await?;
            if read == 0 {
                self.ended = true;
                continue;
            }
            let new = self.buffer.len() - read;
            if memchr::memchr(b'\n', self.buffer.get(new..).unwrap_or_default()).is_some() {
                return Ok(true);
            }
        }
    }

    fn make_room(&mut self) {
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.offset += as_u64(self.taken);
            self.searched = self.searched.saturating_sub(self.taken);
            self.taken = 0;
        }
        if self.buffer.len() > self.most {
            // The line will be skipped anyway: only its length is of interest.
            self.dropped += as_u64(self.buffer.len());
            self.offset += as_u64(self.buffer.len());
            self.buffer.clear();
            self.searched = 0;
        }
        // A long line is gone: so is the room that it took.
        if self.buffer.is_empty() && self.buffer.capacity() > 16 * AT_ONCE {
            self.buffer = Vec::new();
        }
        self.buffer.reserve(AT_ONCE);
    }
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives its bytes in pieces of the given lengths.
    struct Pieces(Vec<u8>, Vec<usize>, usize);

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            let turn = self.2;
            self.2 += 1;
            let most = self.1.get(turn % self.1.len().max(1)).copied().unwrap_or(7).max(1);
            let count = most.min(self.0.len()).min(buffer.remaining());
            let rest = self.0.split_off(count);
            buffer.put_slice(&self.0);
            self.0 = rest;
            std::task::Poll::Ready(Ok(()))
        }
    }

    fn read(text: &[u8], pieces: &[usize], most: usize) -> Vec<(u64, Result<Vec<u8>, u64>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut lines = Lines::new(Pieces(text.to_vec(), pieces.to_vec(), 0), most);
        let mut found = Vec::new();
        loop {
            while let Some(line) = lines.buffered() {
                found.push(match line {
                    Line::Whole { offset, bytes } => (offset, Ok(bytes.to_vec())),
                    Line::TooLong { offset, length } => (offset, Err(length)),
                });
            }
            if !runtime.block_on(lines.fill()).unwrap() {
                return found;
            }
        }
    }

    #[test]
    fn a_line_over_the_most_is_skipped_and_the_next_one_read() {
        let found = read(b"ab\n0123456789abcdef\nc\nlast", &[3], 8);
        let expected =
            vec![(0, Ok(b"ab".to_vec())), (3, Err(16)), (20, Ok(b"c".to_vec())), (22, Ok(b"last".to_vec()))];
        assert_eq!(found, expected);
        assert_eq!(read(b"0123456789abcdef", &[2], 4), vec![(0, Err(16))]);
    }

    proptest! {
        #[test]
        fn however_output_arrives_its_lines_are_the_same(
            text in "[ab\r\n]{0,60}",
            pieces in prop::collection::vec(1_usize..9, 1..5),
            most in 1_usize..12,
        ) {
            let mut offset = 0_u64;
            let mut expected = Vec::new();
            for part in text.split_inclusive('\n') {
                let line = part.strip_suffix('\n').unwrap_or(part);
                let length = as_u64(line.len());
                expected.push((offset, if line.len() > most {
                    Err(length)
                } else {
                    Ok(line.strip_suffix('\r').unwrap_or(line).as_bytes().to_vec())
                }));
                offset += as_u64(part.len());
            }
            prop_assert_eq!(read(text.as_bytes(), &pieces, most), expected);
        }
    }
}
