//! Lines that are made of words alone, as a program hardly ever prints them.

use super::super::value;
use super::is_machine;

/// How long such a line may be, in characters.
const LONGEST: usize = 300;

/// What a program says when something went wrong, in lower case.
const COMPLAINTS: [&str; 14] = [
    "error",
    "exception",
    "failed",
    "failure",
    "panicked",
    "invalid",
    "cannot",
    "could not",
    "out of",
    "expected",
    "not found",
    "denied",
    "warning",
    "caused by",
];

/// Whether a line is made of words alone. `gap` says that a blank line stands before it: then it stands by itself, and
/// little speaks for a program.
pub(super) fn is_remark(passage: &str, gap: bool) -> bool {
    let text = unlisted(passage);
    if text.contains('\n') || text.chars().count() > LONGEST {
        return false;
    }
    let bare = without_spans(text);
    !is_code(&bare) && !complains(&bare) && (is_plain(text, &bare, gap) || (gap && is_prose(text)))
}

/// Words, and next to no signs besides those that sentences have; names of code in code spans do not count.
fn is_plain(text: &str, bare: &str, gap: bool) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or("");
    let others = words.count();
    let wide = text.chars().filter(|c| value::is_unspaced(*c)).count() >= 3;
    let signs = bare.chars().filter(char::is_ascii_punctuation).count();
    let names = first.contains(['.', '/']) && others < 2;
    // `Important: never push`, by itself.
    let label = first.ends_with(':') && !(gap && others >= 2);
    (others >= 1 || wide || (gap && first.chars().filter(|c| c.is_alphabetic()).count() >= 2))
        && text.starts_with(|c: char| c.is_alphabetic() || c == '`' || !c.is_ascii())
        && !label
        && !names
        && !first.ends_with(']')
        && !first.contains(['(', '='])
        && signs * 6 <= bare.chars().count().max(6)
        && !is_machine(bare)
}

/// Mostly words of a language, whatever names stand among them.
fn is_prose(text: &str) -> bool {
    let words = text.split_whitespace().count();
    let plain = text
        .split_whitespace()
        .map(|word| word.trim_end_matches([',', '.', '!', '?', ';', ':']))
        .filter(|word| !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-')))
        .count();
    plain >= 3
        && plain * 5 >= words * 3
        && !text.starts_with(['>', '$', '|', '{', '}', '<', '"', '+'])
        && !value::is_bulk(text)
}

/// Whether a line ends or is built as code is.
fn is_code(text: &str) -> bool {
    text.ends_with([';', '{', '}', '(', '[', '\\', '=', '>'])
        || [" = ", " == ", "=>", "->", "();", " := ", "&&"].iter().any(|sign| text.contains(sign))
}

/// Whether a line names what went wrong, as programs do: with a colon, behind a word of it or the name of an error.
fn complains(text: &str) -> bool {
    let lower = text.to_lowercase();
    let named = text.split_whitespace().any(|word| {
        word.strip_suffix(':').is_some_and(|name| {
            name.contains(['.', '/', '\'', '(', '['])
                || name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase)
        })
    });
    named || (text.contains(": ") && COMPLAINTS.iter().any(|word| lower.contains(word)))
}

/// Whether a passage is an entry of a list.
pub(super) fn is_entry(passage: &str) -> bool {
    unlisted(passage).len() < passage.len()
}

/// An entry of a list without its mark.
fn unlisted(passage: &str) -> &str {
    let digits = passage.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (1..=3).contains(&(passage.len() - digits.len())).then_some(digits);
    let marked = passage.strip_prefix(['-', '*', '•']);
    let rest = marked.or_else(|| numbered.and_then(|rest| rest.strip_prefix(['.', ')'])));
    rest.filter(|rest| rest.starts_with(' ')).map_or(passage, str::trim_start)
}

/// A text with what stands in code spans in it reduced to a word.
fn without_spans(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text.to_owned();
    }
    parts.iter().enumerate().map(|(nth, part)| if nth % 2 == 0 { part } else { "name" }).collect()
}

/// Whether a line is the heading that a build server puts above what a step printed: `Run npm test`, then `> test`.
pub(super) fn is_heading(line: &str, next: &str, apart: bool) -> bool {
    line.starts_with("Run ") && !apart && next.starts_with(['>', '$'])
}
