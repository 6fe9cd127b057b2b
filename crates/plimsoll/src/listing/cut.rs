//! Where a text may be cut: after a sentence, else after a word, never inside a grapheme cluster.

use unicode_segmentation::GraphemeCursor;

/// What a cut looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// The end of a sentence if it costs at most a quarter of the room, else of a word.
    Sentences,
    /// The end of a word.
    Words,
}

/// Finds where to cut `text` so that it and an ellipsis have at most `room` characters and at least `minimum`.
///
/// The answer is in bytes; it is all of the text if that fits. A word boundary that would waste half the room is
/// passed over for a grapheme boundary.
pub(super) fn cut(text: &str, room: usize, minimum: usize, style: Style) -> Option<usize> {
    let Some((limit, most)) = offset_of(text, room.saturating_sub(1)) else {
        return Some(text.len());
    };
    // Exactly `room` characters need no ellipsis.
    let rest = text.split_at_checked(limit)?.1;
    if room > 0 && rest.chars().nth(1).is_none() {
        return Some(text.len());
    }
    if room == 0 || room < minimum {
        return None;
    }
    let least = minimum.saturating_sub(1);
    let worth_a_word = least.max(most / 2).max(1);
    let worth_a_sentence = least.max(most - most / 4).max(1);
    let mut word = None;
    let (head, rest) = text.split_at_checked(limit)?;
    let mut next = rest.chars().next();
    let mut at = most;
    for (start, last) in head.char_indices().rev() {
        if at < worth_a_word {
            break;
        }
        let end = start + last.len_utf8();
        if is_word_end(text, end, last, next) {
            if style == Style::Words {
                return Some(end);
            }
            word = word.or(Some(end));
            if at >= worth_a_sentence && is_sentence_end(text, end) {
                return Some(end);
            }
        }
        next = Some(last);
        at -= 1;
    }
    word.or_else(|| {
        let end = grapheme_at_or_before(text, limit);
        let kept = text.split_at_checked(end)?.0.chars().count();
        (kept > 0 && kept >= least).then_some(end)
    })
}

/// Finds the last grapheme boundary that leaves at most `most` characters before it.
pub(super) fn grapheme_at_most(text: &str, most: usize) -> usize {
    offset_of(text, most).map_or(text.len(), |(end, _)| grapheme_at_or_before(text, end))
}

/// Finds the first grapheme boundary that leaves at least `least` characters before it.
pub(super) fn grapheme_at_least(text: &str, least: usize) -> usize {
    let Some((end, _)) = offset_of(text, least) else {
        return text.len();
    };
    if is_grapheme_boundary(text, end) {
        return end;
    }
    let mut cursor = GraphemeCursor::new(end, text.len(), true);
    cursor.next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

/// Finds the end of the word that follows `from`; the end of the text at last, none from there.
pub(super) fn next_break(text: &str, from: usize) -> Option<usize> {
    let rest = text.split_at_checked(from)?.1;
    if rest.is_empty() {
        return None;
    }
    let mut characters = rest.char_indices().peekable();
    while let Some((start, last)) = characters.next() {
        let end = from + start + last.len_utf8();
        if is_word_end(text, end, last, characters.peek().map(|&(_, next)| next)) {
            return Some(end);
        }
    }
    Some(text.len())
}

/// Whether a sentence ends just before `at`.
pub(super) fn is_sentence_end(text: &str, at: usize) -> bool {
    let Some((head, rest)) = text.split_at_checked(at) else {
        return false;
    };
    let closing = ['"', '\'', ')', '”', '’', '»'];
    match head.trim_end_matches(closing).chars().next_back() {
        Some('.' | '!' | '?') => rest.is_empty() || rest.starts_with(' '),
        Some('。' | '！' | '？' | '．') => true,
        _ => false,
    }
}

/// Whether a word ends at `at`, between `last` and `next`: before a space, and after any character of a script that
/// writes none.
fn is_word_end(text: &str, at: usize, last: char, next: Option<char>) -> bool {
    match next {
        None => true,
        Some(' ') => last != ' ',
        Some(_) => is_wide(last) && is_grapheme_boundary(text, at),
    }
}

/// Scripts that are written without spaces between words, and their punctuation.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{FE30}'..='\u{FE4F}'
        | '\u{FF00}'..='\u{FFEF}' | '\u{20000}'..='\u{3FFFD}')
}

/// The byte offset after `count` characters, with the count; none if the text has no more than that.
fn offset_of(text: &str, count: usize) -> Option<(usize, usize)> {
    text.char_indices().nth(count).map(|(offset, _)| (offset, count))
}

fn grapheme_at_or_before(text: &str, at: usize) -> usize {
    if is_grapheme_boundary(text, at) {
        return at;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

fn is_grapheme_boundary(text: &str, at: usize) -> bool {
    // Between two ASCII characters of one line there is always a boundary.
    if let Some(&[before, after]) = at.checked_sub(1).and_then(|start| text.as_bytes().get(start..=at))
        && before.is_ascii()
        && after.is_ascii()
        && before != b'\r'
    {
        return true;
    }
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(false)
}

/// Collects the quoted phrases of a text, in order and in their quotes, separated by commas. Empty if there are none
/// or if they would not be shorter.
pub(super) fn triggers(text: &str) -> String {
    const QUOTES: [(char, char); 5] = [('"', '"'), ('“', '”'), ('`', '`'), ('«', '»'), ('「', '」')];
    let mut phrases = String::new();
    let mut rest = text;
    while let Some((_, open, after)) = split_at_char(rest, |c| QUOTES.iter().any(|&(open, _)| open == c)) {
        let Some(&(_, close)) = QUOTES.iter().find(|&&(quote, _)| quote == open) else {
            break;
        };
        let Some((phrase, _, left)) = split_at_char(after, |c| c == close) else {
            rest = after;
            continue;
        };
        if !phrase.trim().is_empty() {
            if !phrases.is_empty() {
                phrases.push_str(", ");
            }
            phrases.push(open);
            phrases.push_str(phrase);
            phrases.push(close);
        }
        rest = left;
    }
    if phrases.len() < text.len() { phrases } else { String::new() }
}

fn split_at_char(text: &str, is_it: impl Fn(char) -> bool) -> Option<(&str, char, &str)> {
    let (at, found) = text.char_indices().find(|&(_, c)| is_it(c))?;
    let (before, _) = text.split_at_checked(at)?;
    let (_, after) = text.split_at_checked(at + found.len_utf8())?;
    Some((before, found, after))
}
