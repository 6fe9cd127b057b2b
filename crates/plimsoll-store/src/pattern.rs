//! What is searched for.

use grep_matcher::{LineMatchKind, Match, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::error::{Result, StoreError};

/// The most that a compiled pattern, and what it keeps while it searches, may take in bytes: 1 MiB each.
const SIZE_LIMIT: usize = 1 << 20;

/// A text or a regular expression to search lines for. It never matches across lines.
///
/// ```
/// use plimsoll_store::Pattern;
/// let literal = Pattern::literal("a.b")?;
/// let regex = Pattern::regex(r"(?i)error\[E\d+\]")?;
/// assert!(Pattern::regex("(").is_err());
/// # Ok::<(), plimsoll_store::StoreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pattern {
    matcher: RegexMatcher,
    longest: Option<usize>,
}

/// The most of a pattern, and of what is wrong with it, that an error repeats, in characters.
const REPEATED: usize = 300;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(REPEATED) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl Pattern {
    /// Takes a text as it is.
    ///
    /// # Errors
    /// [`StoreError::Pattern`] if it is empty or contains a line feed.
    pub fn literal(text: &str) -> Result<Self> {
        Self::build(text, true)
    }

    /// Takes a regular expression, in the syntax of the crate `regex`. `^` and `$` match at the ends of a line.
    ///
    /// # Errors
    /// [`StoreError::Pattern`] if it is none, or demands a line feed.
    #[doc(alias = "grep")]
    pub fn regex(expression: &str) -> Result<Self> {
        Self::build(expression, false)
    }

    fn build(pattern: &str, literal: bool) -> Result<Self> {
        let refuse = |reason: String| StoreError::Pattern { pattern: shortened(pattern), reason: shortened(&reason) };
        if pattern.is_empty() {
            return Err(refuse("it is empty".to_owned()));
        }
        let longest = if literal { Some(pattern.len()) } else { longest_match(pattern) };
        RegexMatcherBuilder::new()
            // A pattern may come from a model: a counted repetition must not cost minutes or gigabytes.
            .size_limit(SIZE_LIMIT)
            .dfa_size_limit(SIZE_LIMIT)
            .multi_line(true)
            .fixed_strings(literal)
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .map(|matcher| Self { matcher, longest })
            .map_err(|error| refuse(error.to_string().replace('\n', " ")))
    }

    /// The most that a match can take, in bytes; `None` if nothing bounds it.
    pub(crate) fn longest(&self) -> Option<usize> {
        self.longest
    }

    /// Finds a match in a line, from a byte on.
    pub(crate) fn find(&self, line: &[u8], from: usize) -> Option<Match> {
        if from > line.len() {
            return None;
        }
        // The error type has no values.
        self.matcher.find_at(line, from).ok().flatten()
    }

    /// Finds a byte of the next line that may match, in lines that begin at the start.
    pub(crate) fn candidate(&self, lines: &[u8]) -> Option<usize> {
        let found = self.matcher.find_candidate_line(lines).ok().flatten();
        found.map(|(LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at))| at)
    }
}

fn longest_match(expression: &str) -> Option<usize> {
    let parsed = regex_syntax::ParserBuilder::new().utf8(false).multi_line(true).build().parse(expression);
    parsed.ok()?.properties().maximum_len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_match_can_take_is_known_where_something_bounds_it() {
        assert_eq!(Pattern::literal("a.*").unwrap().longest(), Some(3));
        assert_eq!(Pattern::regex("^(error|warning)$").unwrap().longest(), Some(7));
        assert_eq!(Pattern::regex("a.{0,9}b").unwrap().longest(), Some(38));
        assert_eq!(Pattern::regex("a.*b").unwrap().longest(), None);
    }
}
