//! Recall by regular expression: the lines that match, with lines around them.

use std::ops::ControlFlow;

use plimsoll::counted;

use super::Recalled;
use crate::error::Result;
use crate::pattern::Pattern;
use crate::scan::{Found, scan};

/// A line that matches, or stands near one that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// The number of the line, from 1.
    pub line: u64,
    /// Where `text` begins in the whole, in bytes: what [`Recalled::page`] takes to see more.
    pub offset: u64,
    /// The line without its line feed; of a line over 2 KiB, 512 characters around the match, and one such part a match.
    pub text: Vec<u8>,
    /// Whether the line goes on before and after `text`.
    pub cut: (bool, bool),
    /// Whether it matches.
    pub matches: bool,
    /// Whether lines were left out between it and the one given before it.
    pub gap: bool,
}

/// As many lines as fit a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepPage {
    /// The lines, rendered.
    pub text: Vec<u8>,
    /// How many matching lines, and parts of long lines, it shows.
    pub matches: u64,
    /// Where to go on, if there is more.
    pub next: Option<u64>,
    /// The size of the whole in bytes.
    pub size: u64,
    /// Whether matches may have been missed: see [`Grepped::may_miss`].
    pub may_miss: bool,
}

/// What came of looking through everything that an id names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grepped {
    /// Whether matches may have been missed: only ones longer than 64 KiB, in lines longer than 1 MiB.
    pub may_miss: bool,
}

/// What is said where matches may have been missed.
pub const MAY_MISS: &str = "matches longer than 64 KiB may be missed in lines longer than 1 MiB";

impl GrepLine {
    pub(crate) fn of(found: Found<'_>) -> Self {
        let Found { line, offset, text, cut, matches, gap } = found;
        Self { line, offset, text: text.to_vec(), cut, matches, gap }
    }

    /// Renders the line: its number, `:` if it matches and `-` if not, and its text. A part of a long line has its
    /// offset, too, and `…` where it goes on.
    ///
    /// ```
    /// use plimsoll_store::GrepLine;
    /// let line = GrepLine {
    ///     line: 7, offset: 93, text: b"let x = 1;".to_vec(), cut: (false, false), matches: true, gap: false,
    /// };
    /// assert_eq!(line.render(), b"7:let x = 1;\n");
    /// let part = GrepLine { cut: (true, true), ..line };
    /// assert_eq!(part.render(), "7@93:…let x = 1;…\n".as_bytes());
    /// ```
    pub fn render(&self) -> Vec<u8> {
        let mark = if self.matches { ':' } else { '-' };
        let at = if self.cut == (false, false) { String::new() } else { format!("@{}", self.offset) };
        let mut rendered = format!("{}{at}{mark}", self.line).into_bytes();
        for (more, text) in [(self.cut.0, &[][..]), (self.cut.1, &self.text)] {
            rendered.extend_from_slice(text);
            if more {
                rendered.extend_from_slice("…".as_bytes());
            }
        }
        rendered.push(b'\n');
        rendered
    }
}

impl GrepPage {
    /// What is said below a page of matches.
    pub fn footer(&self) -> String {
        let Self { matches, size, .. } = self;
        let matches = counted(*matches, "match", "matches");
        let missed = if self.may_miss { format!("; {MAY_MISS}") } else { String::new() };
        match self.next {
            Some(next) => format!("[{matches} shown of {size} bytes; next offset {next}{missed}]"),
            None => format!("[{matches} in {size} bytes; end{missed}]"),
        }
    }
}

impl Recalled<'_> {
    /// Gives the lines that match, and `context` lines before and after each, until `visit` breaks. Nothing is held but a
    /// buffer of some MiB, whatever the size. A text in [UTF-16](Self::encoding) is looked through as UTF-8; the offsets of
    /// its lines are those of the bytes as they are stored.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::time::SystemTime;
    /// use plimsoll::id::{SessionId, ToolCallId};
    /// use plimsoll_store::{NewResult, Pattern, Store};
    ///
    /// # let store = Store::memory();
    /// # let (session, call) = (SessionId::new("s1"), ToolCallId::new("c1"));
    /// # let content = b"one\ntwo\nthree\nfour\n";
    /// # store.put_result(&NewResult { session: &session, call: &call, content, tool: None, arguments: None,
    /// #     kind: None, now: SystemTime::now() }, |_, _| None)?;
    /// let recalled = store.open_recall(&"s1/c1".parse()?)?;
    /// let mut text = Vec::new();
    /// recalled.grep(&Pattern::regex("^th")?, 1, |line| {
    ///     text.extend(line.render());
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(text, b"2-two\n3:three\n4-four\n");
    /// # Ok::<(), plimsoll_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    /// As [`reader`](Self::reader).
    pub fn grep(
        &self,
        pattern: &Pattern,
        context: usize,
        mut visit: impl FnMut(&GrepLine) -> ControlFlow<()>,
    ) -> Result<Grepped> {
        let mut reader = self.text_reader()?;
        let scanned = scan(&mut reader, pattern, context, |found| visit(&GrepLine::of(found)))?;
        Ok(Grepped { may_miss: scanned.may_miss })
    }

    /// Gives a page of what [`grep`](Self::grep) gives, rendered, of at most `length` bytes: for a model.
    ///
    /// Lines that begin before the byte `from` are left out; [`GrepPage::next`] says what to give there for the next
    /// page. Groups of lines are separated by `--` if there are lines around matches.
    ///
    /// # Errors
    /// As [`grep`](Self::grep).
    pub fn grep_page(&self, pattern: &Pattern, context: usize, from: u64, length: u64) -> Result<GrepPage> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut page = GrepPage { text: Vec::new(), matches: 0, next: None, size: self.size(), may_miss: false };
        let grepped = self.grep(pattern, context, |line| {
            if line.offset < from {
                return ControlFlow::Continue(());
            }
            let mut rendered = line.render();
            if line.gap && context > 0 && !page.text.is_empty() {
                rendered.splice(..0, *b"--\n");
            }
            // The first line is given in any case, cut if it must be: each page gets further.
            if page.text.is_empty() && rendered.len() > length {
                rendered.truncate(length);
            }
            if page.text.len() + rendered.len() > length {
                page.next = Some(line.offset);
                return ControlFlow::Break(());
            }
            page.matches += u64::from(line.matches);
            page.text.extend_from_slice(&rendered);
            ControlFlow::Continue(())
        })?;
        page.may_miss = grepped.may_miss;
        Ok(page)
    }
}
