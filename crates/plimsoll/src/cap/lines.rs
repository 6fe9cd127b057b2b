//! Passing over a text line by line where there is something to find, and quickly where there is not.

use super::diff::DiffFiles;
use super::finds::{Finds, Label, Noted};
use super::minified::{Names, is_long};
use super::notable::{Weight, weigh};
use super::rows::Rows;
use super::screen::without_colours;
use super::search::{Hits, SEARCH_AFTER_ARROW, SEARCH_AFTER_TAB, SEARCH_MARKS, SEARCH_OUTLINE, SEARCH_TROUBLE};

/// How much is looked at in one go. What is found does not depend on how the text was pushed, as it is always divided
/// at the same places.
const BLOCK: usize = 64 * 1024;
/// A line longer than this is looked at in pieces.
const CARRY: usize = 16 * 1024;
/// What two pieces of a long line have in common, so that nothing is missed at the seam.
const OVERLAP: usize = 64;
/// How much of a long line is looked at around a place, before it and after.
const AROUND: (usize, usize) = (80, 400);
/// Places in one line that are weighed.
const PLACES: usize = 6;

/// What is looked for in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing: lines are counted.
    Count,
    /// Errors and the like.
    Trouble,
    /// The same between the rows of a listing, where mere warnings are none.
    Listed,
    /// The same in the members of JSON, whether or not they stand on lines of their own.
    Members,
    /// Headings and definitions; in some files each line has its number and this character before it.
    Outline { after: char },
    /// The files and hunks of a patch, and trouble outside of them.
    Diff,
    /// The names in minified code, and trouble in lines that are none.
    Names,
    /// The rows of a table, and trouble in them.
    Rows,
}

impl Look {
    /// Headings and definitions of a file that begins so. Tools that read files may put a number before each line, with
    /// an arrow or a tab after it.
    pub(super) fn outline(head: &[u8]) -> Self {
        let lines = head.split(|byte| *byte == b'\n').take(3);
        let numbered = |after: char| lines.clone().all(|line| unnumbered(line, after).is_some());
        Self::Outline { after: ['→', '\t'].into_iter().find(|after| numbered(*after)).unwrap_or('\n') }
    }
}

/// What a line says after its number.
fn unnumbered(line: &[u8], after: char) -> Option<&[u8]> {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = line.get(digits..).filter(|_| digits > 0)?;
    rest.strip_prefix(after.encode_utf8(&mut [0; 4]).as_bytes())
}

/// The passing itself.
#[derive(Debug, Clone)]
pub(super) struct Lines {
    look: Look,
    /// Not yet looked at. But for the first block it begins with the end of what was: a line feed, or a seam.
    waiting: Vec<u8>,
    /// Where `waiting` begins in the text.
    offset: u64,
    /// Whether it begins within a long line of which something was noted.
    noted: bool,
    /// Line feeds before `waiting`.
    feeds: u64,
    last: Option<u8>,
    /// The part of a line at hand, without colours.
    plain: Vec<u8>,
    /// Whether it begins within a line of which this much is known: it is long.
    long: bool,
    pub(super) finds: Finds,
    pub(super) diff: DiffFiles,
    pub(super) names: Names,
    pub(super) rows: Rows,
}

impl Lines {
    pub(super) fn new(look: Look, limit: usize, head: &[u8]) -> Self {
        let label = match look {
            Look::Outline { after } if after != '\n' => Label::Nothing,
            Look::Members => Label::Byte,
            _ => Label::Line,
        };
        let header = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Self {
            look,
            waiting: Vec::new(),
            offset: 0,
            noted: false,
            feeds: 0,
            last: None,
            plain: Vec::new(),
            long: false,
            finds: Finds::new(limit, label),
            diff: DiffFiles::new(limit),
            names: Names::default(),
            rows: Rows::new(header),
        }
    }

    /// Goes on as with the lines of a command's output: what began as JSON is none.
    pub(super) fn turn(&mut self, limit: usize) {
        (self.look, self.finds) = (Look::Trouble, Finds::new(limit, Label::Line));
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.last = bytes.last().copied().or(self.last);
        match self.look {
            Look::Diff => self.diff.feed(bytes),
            Look::Names => self.names.feed(bytes),
            Look::Rows => self.rows.feed(bytes),
            Look::Count => {
                self.feeds += memchr::memchr_iter(b'\n', bytes).count() as u64;
                return;
            }
            Look::Trouble | Look::Listed | Look::Members | Look::Outline { .. } => {}
        }
        let mut at = 0;
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            // Blocks that came whole are looked at where they are.
            if self.waiting.is_empty()
                && let Some(block) = rest.get(..BLOCK)
            {
                at += self.look(block, false);
                continue;
            }
            let now = rest.get(..BLOCK - self.waiting.len()).unwrap_or(rest);
            self.waiting.extend_from_slice(now);
            at += now.len();
            if self.waiting.len() == BLOCK {
                let mut waiting = std::mem::take(&mut self.waiting);
                let left = BLOCK - self.look(&waiting, false);
                if left <= at {
                    // The next block begins within what came now.
                    at -= left;
                    waiting.clear();
                } else {
                    waiting.drain(..BLOCK - left);
                }
                self.waiting = waiting;
            }
        }
    }

    #[cfg(test)]
    pub(super) fn holds(&self) -> usize {
        self.waiting.capacity() + self.finds.holds() + self.names.holds()
    }

    /// Ends the text, and gives the number of lines; a last one without a line feed counts.
    pub(super) fn finish(&mut self) -> u64 {
        let waiting = std::mem::take(&mut self.waiting);
        self.look(&waiting, true);
        self.diff.finish();
        self.names.finish();
        self.rows.finish();
        self.feeds + u64::from(self.last.is_some_and(|byte| byte != b'\n'))
    }

    /// Looks at a block, up to its last line feed; at all of it if it is the end, or in the middle of a long line. Gives
    /// how much of it is done with: the next block begins there.
    fn look(&mut self, waiting: &[u8], end: bool) -> usize {
        let whole = memchr::memrchr(b'\n', waiting).map_or(0, |feed| feed + 1);
        let long = !end && waiting.len() - whole > CARRY;
        let (upto, keep) = if end {
            (waiting.len(), waiting.len())
        } else if long {
            (waiting.len(), waiting.len() - OVERLAP)
        } else {
            (whole, whole - 1)
        };
        let region = waiting.get(..upto).unwrap_or_default();
        let noted = match self.look {
            Look::Outline { after: '→' } => self.search(region, Hits::of(&SEARCH_AFTER_ARROW)),
            Look::Outline { after: '\t' } => self.search(region, Hits::of(&SEARCH_AFTER_TAB)),
            Look::Outline { .. } => self.search(region, Hits::of(&SEARCH_OUTLINE)),
            Look::Count => false,
            // The marks are no ASCII: where all is, there are none.
            _ if region.is_ascii() => self.search(region, Hits::of(&SEARCH_TROUBLE)),
            _ => self.search(region, Hits::of_both(&SEARCH_TROUBLE, &SEARCH_MARKS)),
        };
        self.noted = long && (noted || self.noted && whole == 0);
        self.long = long;
        self.feeds += memchr::memchr_iter(b'\n', waiting.get(..keep).unwrap_or_default()).count() as u64;
        self.offset += keep as u64;
        keep
    }

    /// Notes the lines that stand out; tells whether the last one, which may go on, is among them.
    fn search(&mut self, region: &[u8], mut hits: Hits<'_>) -> bool {
        let mut at = 0;
        // How many lines there are before the byte that is counted up to; counted where a number is asked for.
        let (mut counted, mut number) = (0, self.feeds + 1);
        let mut places = 0;
        let mut best: Option<(Weight, usize)> = None;
        let mut line = 0..0;
        let mut noted = false;
        loop {
            let hit = hits.find(region, at);
            // Past the line at hand: what was the best in it is noted.
            if let Some((weight, place)) = best
                && hit.is_none_or(|(start, _)| start >= line.end)
            {
                self.note(region, &line, place, weight, || {
                    let passed = region.get(counted..line.start).unwrap_or_default();
                    number += memchr::memchr_iter(b'\n', passed).count() as u64;
                    counted = line.start;
                    number
                });
                noted |= line.end == region.len();
                best = None;
                // Where the line may go on after this region, it is told from here that something of it was noted.
                if let Some(until) = self.finds.pass_over(weight)
                    && line.end < region.len()
                    && let Ok(until) = usize::try_from(until.saturating_sub(self.offset))
                    && until > line.end
                {
                    at = until;
                    continue;
                }
            }
            let Some((mut start, end)) = hit else {
                return noted;
            };
            let anchored = region.get(start) == Some(&b'\n');
            start += usize::from(anchored);
            if start >= line.end {
                line = if self.look == Look::Members { member(region, start) } else { line_of(region, start) };
                places = 0;
            }
            places += 1;
            let known = line.start == 0 && (self.noted || self.long && self.look == Look::Names)
                || self.passes(region, &line);
            let weight = if known {
                None
            } else if anchored && matches!(self.look, Look::Outline { .. }) {
                Some(Weight::Mention)
            } else if let Look::Outline { after } = self.look {
                // The number must be all that stands before it.
                let before = region.get(line.start..start + after.len_utf8()).unwrap_or_default();
                unnumbered(before, after).filter(|rest| rest.is_empty()).map(|_| Weight::Mention)
            } else {
                let (from, to) = around(&line, start);
                self.weigh(region.get(from..to).unwrap_or_default(), start - from)
            };
            if let Some(weight) = weight
                && weight >= self.least()
                && best.is_none_or(|(known, _)| weight > known)
            {
                best = Some((weight, start));
            }
            let done = known || places >= PLACES || best.is_some_and(|(weight, _)| weight == Weight::Failure);
            // The line feed at the end may begin the next match.
            at = if done { line.end.max(start) } else { end };
        }
    }

    /// The least weight of what is noted.
    fn least(&self) -> Weight {
        if self.look == Look::Trouble { Weight::Warning } else { Weight::Mention }
    }

    /// Whether a line is of those among which nothing is looked for: the content of a patch, or code.
    fn passes(&self, region: &[u8], line: &std::ops::Range<usize>) -> bool {
        const NAMES: [&[u8]; 4] = [b"diff --git ", b"rename ", b"copy ", b"Binary files "];
        match self.look {
            Look::Names => is_long(line.len()),
            Look::Diff => {
                let text = region.get(line.clone()).unwrap_or_default();
                matches!(text.first(), Some(b'+' | b'-' | b' ' | b'@' | b'\\'))
                    || NAMES.iter().any(|name| text.starts_with(name))
            }
            _ => false,
        }
    }

    /// Weighs a place in part of a line, as it reads without colours.
    fn weigh(&mut self, window: &[u8], at: usize) -> Option<Weight> {
        if memchr::memchr(0x1B, window).is_none() {
            return weigh(window, at);
        }
        let (before, after) = window.split_at_checked(at)?;
        self.plain.clear();
        without_colours(before, &mut self.plain);
        let at = self.plain.len();
        without_colours(after, &mut self.plain);
        weigh(&self.plain, at)
    }

    fn note(
        &mut self,
        region: &[u8],
        line: &std::ops::Range<usize>,
        place: usize,
        weight: Weight,
        number: impl FnOnce() -> u64,
    ) {
        let (from, to) = around(line, place);
        let window = region.get(from..to).unwrap_or_default();
        let window = if matches!(self.look, Look::Outline { .. }) { window.trim_ascii_start() } else { window };
        let (before, after) = if self.look == Look::Members {
            (&[][..], &[][..])
        } else {
            let after = region.get((line.end + 1).min(region.len())..).unwrap_or_default();
            (region.get(..line.start).unwrap_or_default(), after)
        };
        // Of a long line, the place that is shown counts, not where the line begins.
        let at = self.offset + from as u64;
        self.finds.note(&Noted { at, weight, text: window, before, after }, number);
    }
}

/// The line in which a place stands.
fn line_of(region: &[u8], place: usize) -> std::ops::Range<usize> {
    let from = memchr::memrchr(b'\n', region.get(..place).unwrap_or_default()).map_or(0, |feed| feed + 1);
    let rest = region.get(place..).unwrap_or_default();
    from..memchr::memchr(b'\n', rest).map_or(region.len(), |feed| place + feed)
}

/// What belongs together around a place in JSON: up to the ends of its object, of its line, or of a line in its text.
fn member(region: &[u8], place: usize) -> std::ops::Range<usize> {
    let (before, after) = AROUND;
    let from = place.saturating_sub(before);
    let until = region.len().min(place + after);
    let (left, right) = (region.get(from..place).unwrap_or_default(), region.get(place..until).unwrap_or_default());
    let escaped = memchr::memmem::rfind(left, b"\\n").map(|at| at + 2);
    let begins = memchr::memrchr3(b'{', b'}', b'\n', left).map(|at| at + 1).max(escaped);
    let ends = memchr::memchr2(b'}', b'\n', right).into_iter().chain(memchr::memmem::find(right, b"\\n")).min();
    from + begins.unwrap_or(0)..place + ends.unwrap_or(right.len())
}

/// The part of a line that is looked at around a place: all of it, if it is not long.
fn around(line: &std::ops::Range<usize>, place: usize) -> (usize, usize) {
    let (before, after) = AROUND;
    let from = if place - line.start <= before * 2 { line.start } else { place - before };
    (from, line.end.min(place + after))
}
