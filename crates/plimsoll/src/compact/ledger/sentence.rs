//! Cutting a long message into passages, never through a value: sentences, list entries, blocks of code.

use std::ops::Range;

use super::pieces::pieces;
use super::{paste, value};

/// How far a quotation may reach and still be taken as one, in bytes.
const QUOTE_REACH: usize = 300;

/// A line at least this long, in characters, that ends in the middle of a sentence goes on in the next line.
const WRAPPED: usize = 50;

/// Words that end in a full stop without ending a sentence, lower case, without the stop.
const ABBREVIATIONS: [&str; 40] = [
    "e.g", "i.e", "z.b", "d.h", "u.a", "bzw", "ca", "vgl", "usw", "etc", "vs", "cf", "approx", "incl", "excl",
    "resp", "no", "nr", "fig", "sec", "dr", "mr", "mrs", "ms", "prof", "st", "jr", "sr", "inc", "ltd", "p.ej", "ex",
    "т.е", "т.д", "т.к", "др", "art", "abs", "pp", "al",
];

/// Cuts a text into passages: fenced code stays whole, list entries and headings stand alone, prose is cut into
/// sentences, and what has no sentences into pieces of bounded length. White space around a passage is left out; everything else of the text is in exactly one passage.
pub(crate) fn passages(text: &str) -> Vec<&str> {
    let mut passages = Vec::new();
    let mut run: Option<(usize, usize)> = None;
    let mut fence: Option<(usize, &str)> = None;
    let mut at = 0;
    let mut open = false;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let bare = line.trim();
        if let Some((from, mark)) = fence {
            if bare.starts_with(mark) && bare.trim_start_matches(['`', '~']).is_empty() {
                push(text, from, end, &mut passages);
                fence = None;
            }
            continue;
        }
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        if let Some(mark) = mark.filter(|mark| !bare.trim_start_matches(['`', '~']).contains(mark)) {
            flush(text, &mut run, &mut passages);
            fence = Some((start, mark));
            open = false;
            continue;
        }
        if bare.is_empty() {
            flush(text, &mut run, &mut passages);
            open = false;
            continue;
        }
        let logged = value::is_log_line(bare);
        if logged || !(open && run.is_some() && !begins_anew(bare)) {
            flush(text, &mut run, &mut passages);
        }
        run = Some((run.map_or(start, |(from, _)| from), end));
        open = !logged
            && !paste::is_whole_line(bare)
            && bare.chars().count() >= WRAPPED
            && !bare.ends_with(is_stop)
            && !bare.ends_with([':', '：']);
    }
    flush(text, &mut run, &mut passages);
    if let Some((from, _)) = fence {
        push(text, from, text.len(), &mut passages);
    }
    passages
}

/// Whether a passage is a fenced block of code.
pub(crate) fn is_fenced(passage: &str) -> bool {
    (passage.starts_with("```") || passage.starts_with("~~~")) && passage.contains('\n')
}

fn push<'a>(text: &'a str, start: usize, end: usize, passages: &mut Vec<&'a str>) {
    let passage = text.get(start..end).unwrap_or("").trim();
    if !passage.is_empty() {
        passages.push(passage);
    }
}

fn flush<'a>(text: &'a str, run: &mut Option<(usize, usize)>, passages: &mut Vec<&'a str>) {
    if let Some((start, end)) = run.take() {
        let run = text.get(start..end).unwrap_or("");
        let mut from = 0;
        for end in stops(run).into_iter().chain([run.len()]) {
            for piece in pieces(run.get(from..end).unwrap_or("").trim()) {
                push(piece, 0, piece.len(), passages);
            }
            from = end;
        }
    }
}

/// Whether a line begins something of its own: a list entry, a heading, a quotation, a table row.
pub(super) fn begins_anew(line: &str) -> bool {
    if line.starts_with(['#', '>', '|', '•', '·', '–', '—']) {
        return true;
    }
    if let Some(rest) = line.strip_prefix(['-', '*', '+']) {
        return rest.starts_with([' ', '\t', '-', '*']);
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len() && line.len() - digits.len() <= 3;
    numbered
        && digits.starts_with(['.', ')', '、'])
        && digits.chars().nth(1).is_none_or(|c| c.is_whitespace() || !c.is_ascii())
}

/// Marks that end a sentence when white space follows.
const fn is_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '।' | '؟' | '۔') || is_wide_stop(c)
}

/// Marks that end a sentence whatever follows.
const fn is_wide_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '｡')
}

/// The closing mark of a quotation that `c` opens.
const fn closer(c: char) -> Option<char> {
    Some(match c {
        '`' => '`',
        '"' => '"',
        '“' | '„' => '”',
        '«' => '»',
        '「' => '」',
        '『' => '』',
        '《' => '》',
        '\'' => '\'',
        '‘' => '’',
        _ => return None,
    })
}

/// The ends of the sentences in a run of text, the last one left out.
fn stops(run: &str) -> Vec<usize> {
    let mut stops = Vec::new();
    let mut rest = run;
    let mut before: Option<char> = None;
    while let Some(c) = rest.chars().next() {
        let at = run.len() - rest.len();
        let after = rest.get(c.len_utf8()..).unwrap_or("");
        if let Some(quoted) = quotation(c, before, after) {
            // The text of a quotation is one value; a stop inside it ends nothing.
            rest = after.get(quoted..).unwrap_or("");
            before = closer(c);
            continue;
        }
        if is_stop(c) {
            let tail = after.trim_start_matches(|c: char| {
                is_stop(c) || matches!(c, ')' | ']' | '"' | '”' | '’' | '»' | '」' | '』' | '）')
            });
            let end = run.len() - tail.len();
            let wide = is_wide_stop(c);
            if wide || (tail.starts_with(char::is_whitespace) && ends_sentence(run, at, c, tail)) {
                stops.push(end);
                rest = tail;
                before = Some(c);
                continue;
            }
        }
        before = Some(c);
        rest = after;
    }
    stops
}

/// How many bytes after an opening mark belong to the quotation, its closing mark included.
pub(super) fn quotation(open: char, before: Option<char>, after: &str) -> Option<usize> {
    let close = closer(open)?;
    if matches!(open, '\'' | '"') && before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let mut from = 0;
    loop {
        let found = from + after.get(from..)?.find(close)?;
        if found > QUOTE_REACH {
            return None;
        }
        let end = found + close.len_utf8();
        // An apostrophe inside a word closes nothing.
        let inner = close == '\'' && after.get(end..)?.starts_with(char::is_alphanumeric);
        if !inner {
            return Some(end);
        }
        from = end;
    }
}

/// Whether a stop followed by white space ends a sentence rather than an abbreviation, a date or part of a path.
fn ends_sentence(run: &str, at: usize, stop: char, tail: &str) -> bool {
    if stop != '.' {
        return true;
    }
    let next = tail.trim_start();
    if next.starts_with(char::is_lowercase) {
        return false;
    }
    let head = run.get(..at).unwrap_or("");
    let word = head.rsplit(char::is_whitespace).next().unwrap_or("");
    let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    // `am 3. Mai`, `J. Doe`: joining two sentences costs little, cutting a value costs the value.
    let few_digits = !bare.is_empty() && bare.len() <= 2 && bare.chars().all(|c| c.is_ascii_digit());
    if (few_digits && is_ordinal(head, word, next))
        || (bare.chars().count() == 1 && bare.chars().all(char::is_alphabetic))
    {
        return false;
    }
    if ABBREVIATIONS.contains(&bare.to_lowercase().as_str()) {
        return false;
    }
    // A path with spaces goes on: `/srv/My Docs. Old/plan.txt`.
    let following = next.split_whitespace().next().unwrap_or("");
    let in_path =
        word.contains(['/', '\\']) || head.rsplit(['.', '!', '?']).next().unwrap_or("").contains(['/', '\\']);
    !(in_path && following.find(['/', '\\']).is_some_and(|at| at > 0) && !following.contains("://"))
}

/// Words after which a number with a stop is an ordinal, lower case: of languages that write nouns with capitals.
const BEFORE_ORDINALS: [&str; 19] = [
    "der", "die", "das", "den", "dem", "des", "am", "im", "vom", "zum", "zur", "beim", "bis", "ab", "seit", "jeder",
    "jede", "jedes", "jeden",
];

/// Months as they follow a number with a stop, lower case.
const MONTHS: [&str; 25] = [
    "januar",
    "jänner",
    "februar",
    "märz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
    "jan",
    "jän",
    "feb",
    "mär",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "okt",
    "nov",
];

/// Whether a number with a stop after it is the number of something rather than the end of a sentence: at the start, of a
/// list entry; before a month; after an article.
fn is_ordinal(head: &str, number: &str, next: &str) -> bool {
    let before = head.get(..head.len() - number.len()).unwrap_or("").trim_end();
    let last = before.rsplit(char::is_whitespace).next().unwrap_or("").to_lowercase();
    let next = next.split(|c: char| !c.is_alphabetic()).next().unwrap_or("").to_lowercase();
    before.is_empty() || BEFORE_ORDINALS.contains(&last.as_str()) || MONTHS.contains(&next.as_str())
}

/// Where the passages of a text stand in it, in order.
pub(crate) fn places(text: &str, passages: &[&str]) -> Vec<Range<usize>> {
    let mut at = 0;
    let place = |passage: &&str| {
        let start = text.get(at..).and_then(|rest| rest.find(*passage)).map_or(at, |found| at + found);
        at = start + passage.len();
        start..at
    };
    passages.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_never_cut() {
        for whole in [
            "The cap is 1,234.50 EUR per order.",
            "Pin it to v2.1.3 and e.g. Node 20.",
            "Save to /srv/My Docs. Old/plan v1. Final/notes.txt please",
            "Run `cargo test. All` first.",
            "Say \"Stop. Go home.\" when it fails.",
            "Deadline ist der 3. Mai 2026 um 17:00 Uhr.",
            "Fertig bis Mittwoch, 3. Mai.",
            "Nach dem 2. Versuch wird abgebrochen.",
            "1. Nie am Freitag deployen.",
            "Ask Dr. Miller about no. 7.",
            "Nennt es „Auftrag. Neu” und nichts anderes.",
            "Use 'a. B' as the separator.",
        ] {
            assert_eq!(passages(whole), [whole]);
        }
    }

    #[test]
    fn prose_is_cut_into_sentences() {
        assert_eq!(passages("Do this. Then that! And then? Done."), ["Do this.", "Then that!", "And then?", "Done."]);
        assert_eq!(
            passages("上限是 30 次。不要超过！「别。停」好的。"),
            ["上限是 30 次。", "不要超过！", "「别。停」好的。"]
        );
        assert_eq!(
            passages("The queue was at 12. On Tuesday it was at 7. The limit is 5. Never delete it."),
            ["The queue was at 12.", "On Tuesday it was at 7.", "The limit is 5.", "Never delete it."]
        );
        assert_eq!(passages("It's Bob's. It isn't Al's."), ["It's Bob's.", "It isn't Al's."]);
    }

    #[test]
    fn wrapped_lines_are_joined_and_lists_are_not() {
        let wrapped = "The number of requests that a client may send in one minute\nis 30 and never more. Keep it.";
        assert_eq!(
            passages(wrapped),
            ["The number of requests that a client may send in one minute\nis 30 and never more.", "Keep it."]
        );
        let list = "Rules:\n- never touch `main`\n- keep the log\n1. first\n2. second\n\n```sh\nmake. Now\n```\nend";
        assert_eq!(
            passages(list),
            [
                "Rules:",
                "- never touch `main`",
                "- keep the log",
                "1. first",
                "2. second",
                "```sh\nmake. Now\n```",
                "end"
            ]
        );
    }

    proptest! {
        #[test]
        fn every_visible_character_is_in_one_passage(text in "([a-zA-Z.!?。「」\"'` \n/0-9é-]|```\n){0,80}") {
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let joined: String = passages(&text).iter().map(|passage| visible(passage)).collect();
            prop_assert_eq!(joined, visible(&text));
        }
    }
}
