//! Answers of recall: bounded like everything else, but never stored again, and cut so that reading can go on.

use std::borrow::Cow;
use std::ops::Range;

use super::kind::Kind;
use super::limit::Cap;
use super::policy::Capped;
use super::snip::lossy_start;
use crate::Bytes;

/// The line below a page of recalled text.
///
/// ```
/// use plimsoll::cap::RecallFooter;
/// let footer = RecallFooter { bytes: 0..4, size: 9 };
/// assert_eq!(footer.render(), "[bytes 0-4 of 9; next offset 4]");
/// assert_eq!(RecallFooter { bytes: 4..9, size: 9 }.render(), "[bytes 4-9 of 9; end]");
/// assert_eq!(RecallFooter::parse(&footer.render()), Some(footer));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecallFooter {
    /// Which bytes of the whole stand above.
    pub bytes: Range<u64>,
    /// The size of the whole.
    pub size: u64,
}

impl RecallFooter {
    /// Writes the line, without a line feed.
    pub fn render(&self) -> String {
        let Self { bytes: Range { start, end }, size } = self;
        if end < size {
            format!("[bytes {start}-{end} of {size}; next offset {end}]")
        } else {
            format!("[bytes {start}-{end} of {size}; end]")
        }
    }

    /// Reads what [`render`](Self::render) writes, and nothing else.
    pub fn parse(line: &str) -> Option<Self> {
        let (start, rest) = line.strip_prefix("[bytes ")?.split_once('-')?;
        let (end, rest) = rest.split_once(" of ")?;
        let (size, _) = rest.split_once(';')?;
        let footer = Self { bytes: start.parse().ok()?..end.parse().ok()?, size: size.parse().ok()? };
        (footer.bytes.start <= footer.bytes.end && footer.bytes.end <= footer.size && footer.render() == line)
            .then_some(footer)
    }

    /// Recognises an answer of recall by its last line, and gives the page above it.
    ///
    /// The page must be as long as the line says, so that a text which only quotes such a line is not taken for one.
    ///
    /// ```
    /// use plimsoll::cap::RecallFooter;
    /// let (page, footer) = RecallFooter::find("page\n[bytes 0-4 of 9; next offset 4]").unwrap();
    /// assert_eq!((page, footer.size), ("page", 9));
    /// assert_eq!(RecallFooter::find("another page\n[bytes 0-4 of 9; next offset 4]"), None);
    /// ```
    pub fn find(answer: &str) -> Option<(&str, Self)> {
        let trimmed = answer.strip_suffix('\n').unwrap_or(answer);
        let (above, line) = trimmed.rsplit_once('\n').unwrap_or(("", trimmed));
        let footer = Self::parse(line)?;
        let length = footer.bytes.end - footer.bytes.start;
        // The line feed before the footer may be the page's own.
        [above.len(), above.len() + 1]
            .into_iter()
            .find(|end| *end as u64 == length)
            .and_then(|end| Some((trimmed.get(..end)?, footer)))
    }
}

/// Bounds an answer of recall. It is never stored again: what does not fit is asked for from where the shown part ends.
///
/// Only the head is kept, so that pages can be put together, with a footer that says where to go on. So a reader whose
/// cap is narrower than a page still gets through the text, instead of being shown the same head again and again.
/// Nothing is [left out](Capped::omitted) for good.
///
/// ```
/// use plimsoll::Bytes;
/// use plimsoll::cap::cap_recalled;
/// let answer = format!("{}\n[bytes 1000-3000 of 9000; next offset 3000]", "x".repeat(2_000));
/// let capped = cap_recalled(&answer, Bytes(1_000));
/// assert!(capped.text.len() <= 1_000 && capped.was_capped);
/// assert!(capped.as_str().ends_with("x\n[bytes 1000-1956 of 9000; next offset 1956]"));
/// ```
pub fn cap_recalled(answer: &str, cap: impl Into<Cap>) -> Capped<'_> {
    let limit = cap.into().limit();
    let lines = answer.lines().count() as u64;
    let of = |text: Vec<u8>, kept: usize| Capped {
        text: Cow::Owned(text),
        was_capped: true,
        omitted: Bytes::from(answer.len() - kept),
        bytes: Bytes::from(answer.len()),
        lines,
        kind: Kind::Text,
        marker: None,
    };
    if answer.len() <= limit {
        let text = Cow::Borrowed(answer.as_bytes());
        return Capped { text, was_capped: false, ..of(Vec::new(), answer.len()) };
    }
    let (page, footer) = RecallFooter::find(answer).map_or((answer, None), |(page, footer)| (page, Some(footer)));
    let closing = |kept: usize| match &footer {
        Some(footer) => {
            let end = footer.bytes.start + kept as u64;
            RecallFooter { bytes: footer.bytes.start..end, size: footer.size }.render()
        }
        None => format!("[first {kept} bytes of this answer; ask for less at a time]"),
    };
    // The closing line is longest when it stands for the most and there is still more.
    let longest = [0, page.len().saturating_sub(1), page.len()].map(|kept| closing(kept).len()).into_iter().max();
    let Some(room) = limit.checked_sub(longest.unwrap_or(0) + 1).filter(|room| *room > 0) else {
        let (kept, text) = lossy_start(answer.as_bytes(), limit);
        return of(text.into_owned().into_bytes(), kept);
    };
    let (kept, text) = lossy_start(page.as_bytes(), room);
    of(format!("{text}\n{}", closing(kept)).into_bytes(), kept)
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a wrong boundary is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_last_page_that_is_cut_needs_room_for_where_to_go_on() {
        // Uncut its footer says `end`; cut it says `next offset`, which is longer.
        let answer = format!("{}\n[bytes 0-18892 of 18892; end]", "x".repeat(18_892));
        let capped = cap_recalled(&answer, Bytes(4_096));
        assert!(capped.text.len() <= 4_096, "{}", capped.text.len());
        assert!(capped.as_str().contains("; next offset "));
    }

    #[test]
    fn a_long_line_is_read_to_its_end_through_a_cap_narrower_than_a_page() {
        // One line of 100 KB, recalled page by page through a cap of 2 KiB: no round shows what another has shown.
        let whole = "x".repeat(50_000) + &"日".repeat(17_000);
        let (mut read, mut rounds) = (String::new(), 0);
        while read.len() < whole.len() {
            let rest = &whole[read.len()..];
            let end = super::super::screen::floor_character(rest, 48 * 1024);
            let at = read.len() as u64;
            let footer = RecallFooter { bytes: at..at + end as u64, size: whole.len() as u64 };
            let answer = format!("{}\n{}", &rest[..end], footer.render());
            let capped = cap_recalled(&answer, Bytes(2_048));
            let shown = capped.as_str().into_owned();
            assert!(shown.len() <= 2_048 && capped.marker.is_none());
            let (page, footer) = RecallFooter::find(&shown).unwrap();
            assert_eq!(footer.bytes.start, at);
            read.push_str(page);
            assert_eq!(footer.bytes.end, read.len() as u64);
            rounds += 1;
        }
        assert_eq!(read, whole);
        assert!(rounds < 60, "{rounds}");
    }

    #[test]
    fn an_answer_within_the_cap_is_unchanged() {
        let answer = "page\n[bytes 0-4 of 9; next offset 4]";
        let capped = cap_recalled(answer, Bytes(answer.len() as u64));
        assert_eq!((&*capped.text, capped.was_capped), (answer.as_bytes(), false));
    }

    proptest! {
        #[test]
        fn an_answer_never_passes_the_cap(page in "[a-z日\n]{0,300}", start in 0..1_000u64, limit in 0..400usize, footed: bool) {
            let bytes = start..start + page.len() as u64;
            let footer = RecallFooter { size: bytes.end + 9, bytes };
            let answer = if footed { format!("{page}\n{}", footer.render()) } else { page };
            let capped = cap_recalled(&answer, Bytes(limit as u64));
            prop_assert!(capped.text.len() <= limit || answer.len() <= limit);
        }
    }
}
