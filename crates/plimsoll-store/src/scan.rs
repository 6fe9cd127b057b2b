//! Looking through a content for lines that match, with the lines around them, in bounded memory.
//!
//! Lines are looked through many at a time. A line that does not fit the buffer is looked through in pieces that
//! overlap, and of a long line only the surroundings of each match are given: so nobody is handed a megabyte of
//! minified text for one match in it.

use std::ops::{ControlFlow, Range};

use plimsoll::utf16::stored_bytes;

use crate::error::Result;
use crate::pattern::Pattern;
use crate::recall::RecallReader;

mod window;

use window::{WINDOW, characters, window};

/// The buffer's size at first, in bytes.
const BUFFER: usize = 256 * 1024;
/// A line that is longer is looked through in pieces, in bytes.
const PIECE: usize = 1 << 20;
/// How far pieces of one line overlap, in bytes: a match that is longer may be missed where two pieces meet, and that is said.
const OVERLAP: usize = 64 * 1024;
/// A longer line is shown in part, in bytes.
const LONG: usize = 2048;
/// Lines before a match are remembered within so many bytes.
const REMEMBERED: usize = 128 * 1024;

/// A line, or a part of one, as it stands in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    /// The number of the line, from 1.
    pub(crate) line: u64,
    /// Where `text` begins in the content as it is stored, in bytes.
    pub(crate) offset: u64,
    /// The line without its line feed, or a part of it.
    pub(crate) text: &'a [u8],
    /// Whether there is more of the line before and after.
    pub(crate) cut: (bool, bool),
    /// Whether it matches; else it is near one that does.
    pub(crate) matches: bool,
    /// Whether lines were left out before it, since the last one that was given.
    pub(crate) gap: bool,
}

struct Scan<'p, V> {
    pattern: &'p Pattern,
    context: usize,
    visit: V,
    buffer: Vec<u8>,
    /// Where the buffer begins in the content.
    base: u64,
    /// How much of the buffer is filled.
    filled: usize,
    /// What is looked through already. It is where a line begins, unless that line is looked through in pieces.
    done: usize,
    /// What has been given, or must not be given again.
    given: usize,
    /// The number of the line at `counted`.
    line: u64,
    counted: usize,
    /// How many lines after the last match are still to be given.
    owed: usize,
    /// Whether anything was given.
    any: bool,
    /// Whether lines were forgotten that have not been given, since the last one that was.
    skipped: bool,
    /// Whether the buffer begins within a line.
    mid_line: bool,
    /// Of a text that is stored in UTF-16: a place in the buffer, and which of the stored bytes that is.
    stored: Option<(usize, u64)>,
}

/// How looking through a content went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scanned {
    /// Whether `visit` ended it.
    pub(crate) flow: ControlFlow<()>,
    /// Whether a match may have been missed: a line was looked through in pieces, and the pattern can match more than
    /// two pieces have in common.
    pub(crate) may_miss: bool,
}

/// Looks through what `reader` gives. `visit` ends it by breaking.
pub(crate) fn scan(
    reader: &mut RecallReader<'_>,
    pattern: &Pattern,
    context: usize,
    visit: impl FnMut(Found<'_>) -> ControlFlow<()>,
) -> Result<Scanned> {
    scan_within(BUFFER, reader, pattern, context, visit)
}

/// Does so with a buffer that has this size at first.
fn scan_within(
    buffer: usize,
    reader: &mut RecallReader<'_>,
    pattern: &Pattern,
    context: usize,
    visit: impl FnMut(Found<'_>) -> ControlFlow<()>,
) -> Result<Scanned> {
    let may_match_more = pattern.longest().is_none_or(|longest| longest > OVERLAP);
    let mut may_miss = false;
    let mut scan = Scan {
        pattern,
        context,
        visit,
        buffer: vec![0; buffer],
        base: 0,
        filled: 0,
        done: 0,
        given: 0,
        line: 1,
        counted: 0,
        owed: 0,
        any: false,
        skipped: false,
        mid_line: false,
        // Behind the byte order mark.
        stored: reader.encoding().map(|_| (0, 2)),
    };
    let mut in_pieces = false;
    loop {
        let mut ended = false;
        while scan.filled < scan.buffer.len() {
            let read = reader.read(scan.buffer.get_mut(scan.filled..).unwrap_or_default())?;
            scan.filled += read;
            if read == 0 {
                ended = true;
                break;
            }
        }
        let fresh = scan.buffer.get(scan.done..scan.filled).unwrap_or_default();
        let flow = if in_pieces {
            match memchr::memchr(b'\n', fresh) {
                Some(feed) => {
                    in_pieces = false;
                    scan.piece(scan.done + feed, true)
                }
                None => scan.piece(scan.filled, ended),
            }
        } else if ended {
            scan.lines(scan.filled)
        } else if let Some(feed) = memchr::memrchr(b'\n', fresh) {
            scan.lines(scan.done + feed + 1)
        } else if scan.buffer.len() < PIECE + REMEMBERED {
            scan.buffer.resize((scan.buffer.len() * 2).min(PIECE + REMEMBERED), 0);
            continue;
        } else {
            in_pieces = true;
            may_miss |= may_match_more;
            scan.piece(scan.filled, false)
        };
        if flow.is_break() {
            return Ok(Scanned { flow, may_miss });
        }
        // When a line in pieces has ended, what follows it in the buffer is still to be looked through.
        if ended && (scan.done >= scan.filled || in_pieces) {
            return Ok(Scanned { flow, may_miss });
        }
        scan.forget(in_pieces);
    }
}

impl<V: FnMut(Found<'_>) -> ControlFlow<()>> Scan<'_, V> {
    fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    /// Gives where a place in the buffer is in the content as it is stored.
    fn offset(&mut self, at: usize) -> u64 {
        let Some((known, stored)) = self.stored else {
            return self.base + at as u64;
        };
        let stored = if at >= known {
            stored + stored_bytes(self.bytes(known..at))
        } else {
            stored - stored_bytes(self.bytes(at..known))
        };
        self.stored = Some((at, stored));
        stored
    }

    /// Gives the number of the line that begins at `at`.
    fn number(&mut self, at: usize) -> u64 {
        if at >= self.counted {
            let feeds = memchr::memchr_iter(b'\n', self.bytes(self.counted..at)).count() as u64;
            (self.line, self.counted) = (self.line + feeds, at);
            return self.line;
        }
        self.line - memchr::memchr_iter(b'\n', self.bytes(at..self.counted)).count() as u64
    }

    /// Looks through whole lines, from what is done up to `end`.
    fn lines(&mut self, end: usize) -> ControlFlow<()> {
        while self.done < end {
            let Some(found) = self.pattern.candidate(self.bytes(self.done..end)) else {
                break;
            };
            let at = self.done + found;
            let start =
                memchr::memrchr(b'\n', self.bytes(self.done..at)).map_or(self.done, |feed| self.done + feed + 1);
            if start >= end {
                break;
            }
            let stop = memchr::memchr(b'\n', self.bytes(at..end)).map_or(end, |feed| at + feed);
            if self.pattern.find(self.bytes(start..stop), 0).is_some() {
                self.after(start)?;
                self.before(start)?;
                self.matching(start..stop)?;
                self.owed = self.context;
                self.given = (stop + 1).min(end);
            }
            self.done = (stop + 1).min(end);
        }
        self.done = end;
        self.after(end)
    }

    /// Gives a line that matches: whole, or the surroundings of each match.
    fn matching(&mut self, line: Range<usize>) -> ControlFlow<()> {
        let number = self.number(line.start);
        if line.len() <= LONG {
            let start = line.start;
            return self.give(number, line, start, (false, false), true);
        }
        let (mut from, mut part_of) = (0, line.start);
        while let Some(found) = self.pattern.find(self.bytes(line.clone()), from) {
            let shown = window(self.bytes(line.clone()), found.start(), found.end());
            from = shown.end.max(found.end()).max(from + 1);
            let cut = (shown.start > 0, shown.end < line.len());
            self.give(number, line.start + shown.start..line.start + shown.end, part_of, cut, true)?;
            part_of = 0;
        }
        ControlFlow::Continue(())
    }

    /// Looks through a piece of a line, up to `end`, where the line ends if it is `last`.
    ///
    /// A match that begins within the overlap is left to the next piece.
    fn piece(&mut self, end: usize, last: bool) -> ControlFlow<()> {
        let sure = if last { end } else { end.saturating_sub(OVERLAP) };
        let start = self.line_start();
        self.after(start)?;
        let number = self.number(start);
        let mut first = true;
        while let Some(found) = self.pattern.find(self.bytes(start..end), self.done - start) {
            let (from, to) = (start + found.start(), start + found.end());
            if from >= sure && !last {
                break;
            }
            if first && self.given <= start {
                self.before(start)?;
            }
            let part_of = if first { start } else { 0 };
            first = false;
            let shown = window(self.bytes(start..end), found.start(), found.end());
            let range = start + shown.start..start + shown.end;
            let cut = (range.start > start || self.mid_line && start == 0, range.end < end || !last);
            self.give(number, range.clone(), part_of, cut, true)?;
            self.given = range.end;
            self.owed = self.context;
            self.done = range.end.max(to).max(self.done + 1);
            if self.done > end {
                break;
            }
        }
        self.done = self.done.max(sure).min(end);
        if last {
            // The line feed, if there is one.
            self.done = (end + 1).min(self.filled.max(end));
            self.given = self.given.max(self.done);
        }
        ControlFlow::Continue(())
    }

    /// Gives where the line at `done` begins, or the start of the buffer if that is forgotten.
    fn line_start(&self) -> usize {
        memchr::memrchr(b'\n', self.bytes(0..self.done)).map_or(0, |feed| feed + 1)
    }

    /// Gives the lines that are owed after the last match, of those before `end`.
    fn after(&mut self, end: usize) -> ControlFlow<()> {
        while self.owed > 0 && self.given < end {
            let start = self.given;
            let feed = memchr::memchr(b'\n', self.bytes(start..end));
            let stop = feed.map_or(end, |feed| start + feed);
            self.near(start..stop)?;
            self.given = (stop + 1).min(end);
            self.owed -= 1;
        }
        ControlFlow::Continue(())
    }

    /// Gives the lines before a match that begins at `start`, as far as they are remembered.
    fn before(&mut self, start: usize) -> ControlFlow<()> {
        let mut first = start;
        for _ in 0..self.context {
            if first <= self.given {
                break;
            }
            let above = first - 1;
            let from = memchr::memrchr(b'\n', self.bytes(self.given..above))
                .map_or(self.given, |feed| self.given + feed + 1);
            first = from;
        }
        while first < start {
            let stop = memchr::memchr(b'\n', self.bytes(first..start)).map_or(start, |feed| first + feed);
            self.near(first..stop)?;
            first = stop + 1;
            self.given = first.min(start);
        }
        ControlFlow::Continue(())
    }

    /// Gives a line that is near a match; of a long one its start.
    fn near(&mut self, line: Range<usize>) -> ControlFlow<()> {
        let number = self.number(line.start);
        let shown = if line.len() > LONG { characters(self.bytes(line.clone()), WINDOW) } else { line.len() };
        self.give(number, line.start..line.start + shown, line.start, (false, shown < line.len()), false)
    }

    /// Gives a range of the buffer that is in the line from `part_of` on.
    fn give(
        &mut self,
        line: u64,
        range: Range<usize>,
        part_of: usize,
        cut: (bool, bool),
        matches: bool,
    ) -> ControlFlow<()> {
        let gap = self.any && (self.skipped || part_of > self.given);
        (self.any, self.skipped) = (true, false);
        let offset = self.offset(range.start);
        let text = self.buffer.get(range).unwrap_or_default();
        (self.visit)(Found { line, offset, text, cut, matches, gap })
    }

    /// Forgets what is looked through, but for what may have to be given before the next match.
    fn forget(&mut self, in_pieces: bool) {
        let mut keep = self.done;
        if in_pieces {
            // As much as a window reaches back.
            keep = self.done.saturating_sub(4 * WINDOW);
        } else {
            for _ in 0..self.context {
                if keep == 0 || self.done - keep > REMEMBERED {
                    break;
                }
                keep = memchr::memrchr(b'\n', self.bytes(0..keep - 1)).map_or(0, |feed| feed + 1);
            }
            if self.done - keep > REMEMBERED {
                keep = self.done;
            }
        }
        let not_given = if in_pieces { self.line_start() } else { keep };
        self.skipped |= self.given < not_given;
        self.mid_line = in_pieces;
        let _ = self.number(keep.max(self.counted));
        if self.stored.is_some() {
            let stored = self.offset(keep);
            self.stored = Some((0, stored));
        }
        self.buffer.copy_within(keep..self.filled, 0);
        self.base += keep as u64;
        for at in [&mut self.filled, &mut self.done, &mut self.given, &mut self.counted] {
            *at = at.saturating_sub(keep);
        }
    }
}

#[cfg(test)]
mod tests;
