//! `Sections`: the nine sections of a summary, found by their numbered headings however these are formatted, and whether
//! they say anything.

use crate::compact::ledger::Ledger;
use crate::compact::profile::Profile;
use crate::compact::prompt::Language;

/// How a heading is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `## 1. …`
    Hash,
    /// `**1. …**`
    Bold,
    /// `1. …`
    Plain,
}

/// A line that may be the heading of a section.
#[derive(Debug, Clone, Copy)]
struct Candidate<'t> {
    number: usize,
    style: Style,
    /// Where the line begins.
    start: usize,
    /// Where what belongs to the section begins.
    content: usize,
    /// What stands after the number.
    words: &'t str,
}

/// Words by which a heading is known, beside those of the profile for the third.
const WORDS: [&[&str]; 9] = [
    &["request", "intent", "goal", "objective"],
    &["concept", "technical", "technolog", "key"],
    &["file", "code", "item", "source", "thing", "artifact", "section"],
    &["error", "fix", "issue", "bug"],
    &["problem", "solv", "troubleshoot"],
    &["message"],
    &["pending", "task", "todo", "to-do", "open", "remaining"],
    &["current", "work", "state", "status"],
    &["context", "continu", "next", "step"],
];

/// How many of the nine headings must be worded as asked for, where the language is known to be the same. Numbers alone
/// would take any list of nine for a summary; all nine would reject a good one for a renamed heading.
const WORDED: usize = 5;

/// How long a line without any formatting may be, in characters, to be a heading on its own.
const HEADING: usize = 80;

/// The nine sections of a summary.
#[derive(Debug)]
pub(super) struct Sections<'t> {
    contents: [&'t str; 9],
}

impl<'t> Sections<'t> {
    /// Finds the sections; otherwise how many headings there are in order.
    pub(super) fn read(summary: &'t str, profile: &Profile, language: Option<Language>) -> Result<Self, usize> {
        let headings = profile.headings();
        // Drifting into another language is doubtful, not wrong: its headings are headings.
        let translated = Language::detect(summary).or(language) != Some(Language::English);
        let is_worded = |candidate: &Candidate<'_>| {
            let place = candidate.number.saturating_sub(1);
            let words = candidate.words.to_lowercase();
            let own = headings.get(place).map_or("", |heading| heading);
            let mut known = WORDS.get(place).copied().unwrap_or(&[]).iter();
            known.any(|word| words.contains(word))
                || own.to_lowercase().split(' ').any(|word| word.len() > 3 && words.contains(word))
        };
        // A plain numbered line is a heading if it is worded as one; in other languages, if it looks like one.
        let candidates: Vec<Candidate<'t>> = candidates(summary)
            .into_iter()
            .filter(|candidate| {
                candidate.style != Style::Plain || is_worded(candidate) || (translated && is_short(candidate.words))
            })
            .collect();
        let mut most = 0;
        for style in [Some(Style::Hash), Some(Style::Bold), Some(Style::Plain), None] {
            let of_style =
                || candidates.iter().filter(|candidate| style.is_none_or(|style| candidate.style == style));
            let mut found: Vec<Candidate<'t>> = Vec::new();
            for candidate in of_style() {
                if found.len() < 9 && candidate.number == found.len() + 1 {
                    found.push(*candidate);
                }
            }
            let worded = found.iter().filter(|candidate| is_worded(candidate)).count();
            if found.len() == 9 {
                let mut contents = [""; 9];
                let ends = found.iter().skip(1).map(|next| next.start).chain([summary.len()]);
                for ((content, heading), end) in contents.iter_mut().zip(&found).zip(ends) {
                    *content = summary.get(heading.content..end).unwrap_or("").trim();
                }
                // A plain list of nine has nothing below its entries.
                let filled = contents.iter().filter(|content| !content.is_empty()).count();
                if worded >= WORDED || (translated && filled >= WORDED) {
                    return Ok(Self { contents });
                }
            }
            // Numbers without the words are no headings of ours.
            most = most.max(if translated { found.len() } else { worded });
        }
        Err(most.min(8))
    }

    /// What the last section says.
    pub(super) fn last(&self) -> Option<&'t str> {
        self.contents.last().copied()
    }

    /// What the sections say that are not made of quotations and code.
    pub(super) fn prose(&self) -> String {
        let [intent, concepts, _, errors, solving, _, tasks, current, context] = self.contents;
        [intent, concepts, errors, solving, tasks, current, context].join("\n")
    }

    /// Whether no section says anything.
    pub(super) fn are_all_blank(&self) -> bool {
        self.contents.iter().all(|content| is_blank(content))
    }

    /// The numbers of the sections that say nothing, though the ledger knows of something that belongs there.
    pub(super) fn skeletons(&self, ledger: &Ledger) -> Vec<u8> {
        let worked = !ledger.items.is_empty() || !ledger.commands.is_empty();
        let open = ledger.todos.iter().any(crate::compact::Todo::is_open) || !ledger.pending.is_empty();
        let said = !ledger.words.is_empty();
        let due = [said, false, worked, !ledger.errors.is_empty(), false, said, open, said || worked, open];
        let numbered = (1_u8..).zip(self.contents).zip(due);
        numbered
            .filter(|((_, content), due)| (*due && is_blank(content)) || is_placeholder(content))
            .map(|((number, _), _)| number)
            .collect()
    }
}

/// Whether a heading's words, in whatever language, are no longer than a heading's: alone on the line, or up to a colon.
fn is_short(words: &str) -> bool {
    let heading = words.split([':', '：']).next().unwrap_or("");
    !heading.trim().is_empty()
        && heading.chars().count() <= HEADING
        && !heading.trim_end().ends_with(['.', '。', '!', '?'])
}

/// Whether a section is the skeleton of the request, copied.
fn is_placeholder(content: &str) -> bool {
    let bare = content.trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '[' | ']' | '(' | ')'));
    !content.is_empty() && (bare.is_empty() || bare.chars().all(|c| matches!(c, '.' | '…')))
}

/// Openings of sentences that say there is nothing, lower case.
const NOTHING: [&str; 46] = [
    "no ",
    "none",
    "nothing",
    "n/a",
    "not applicable",
    "not available",
    "unknown",
    "empty",
    "there is no ",
    "there are no ",
    "there was no ",
    "there were no ",
    "keine",
    "nichts",
    "es gibt kein",
    "entfällt",
    "aucun",
    "pas de ",
    "rien",
    "néant",
    "ningun",
    "ningún",
    "no hay",
    "nada",
    "sin ",
    "nessun",
    "niente",
    "nenhum",
    "não há",
    "geen",
    "niets",
    "inga",
    "inget",
    "ingen",
    "brak",
    "žádn",
    "yok",
    "tidak ada",
    "không có",
    "нет",
    "не было",
    "немає",
    "无",
    "無",
    "没有",
    "沒有",
];

/// How long a section may be, in characters, to say no more than that there is nothing.
const NOTHING_LENGTH: usize = 90;

/// Whether a section says nothing.
fn is_blank(content: &str) -> bool {
    if is_placeholder(content) {
        return true;
    }
    let bare = content.trim_matches(|c: char| !c.is_alphanumeric());
    if bare.is_empty() {
        return true;
    }
    let lower = bare.to_lowercase();
    let says_so = NOTHING.iter().any(|opening| lower.starts_with(opening.trim_end()))
        || ["なし", "ない", "없", "特になし", "해당", "לא", "אין", "لا "].iter().any(|word| lower.starts_with(word));
    says_so && !content.contains('`') && bare.chars().count() <= NOTHING_LENGTH && bare.lines().count() == 1
}

/// How many fences may lack an end; what comes after them is read as code then.
const UNENDED: usize = 8;

/// All lines outside code that begin with a number from 1 to 9 as a heading does. A fence that is never closed fences
/// nothing.
fn candidates(text: &str) -> Vec<Candidate<'_>> {
    let mut passed_over: Vec<usize> = Vec::new();
    loop {
        let (found, unended) = outside_fences(text, &passed_over);
        match unended {
            Some(at) if passed_over.len() < UNENDED => passed_over.push(at),
            _ => return found,
        }
    }
}

/// The candidates outside fences, and where a fence begins that has no end.
fn outside_fences<'t>(text: &'t str, passed_over: &[usize]) -> (Vec<Candidate<'t>>, Option<usize>) {
    let mut found = Vec::new();
    let mut fence: Option<(char, usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim();
        let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| bare.chars().take_while(|c| *c == mark).count());
        if let Some((open, least, _)) = fence {
            if mark == Some(open) && length >= least && bare.chars().all(|c| c == open) {
                fence = None;
            }
            continue;
        }
        if let Some(mark) = mark.filter(|_| length >= 3 && !passed_over.contains(&start)) {
            fence = Some((mark, length, start));
            continue;
        }
        if let Some((number, style, words)) = heading(bare) {
            // What follows a colon on the line of the heading belongs to the section.
            let colon = words.find([':', '：']).map(|colon| words.get(colon..).unwrap_or(""));
            let rest = colon.map_or("", |rest| rest.trim_start_matches([':', '：', '*', '_', ' ']));
            let content = at - (line.len() - line.trim_end().len()) - rest.len();
            found.push(Candidate { number, style, start, content, words });
        }
    }
    (found, fence.map(|(_, _, start)| start))
}

/// The number, style and words of a line that looks like a heading.
fn heading(line: &str) -> Option<(usize, Style, &str)> {
    let hashes = line.trim_start_matches('#');
    let inner = hashes.trim_start().trim_start_matches(['*', '_']).trim_start();
    let style = if hashes.len() < line.len() {
        Style::Hash
    } else if line.starts_with("**") || line.starts_with("__") {
        Style::Bold
    } else {
        Style::Plain
    };
    let inner = ["Section ", "section ", "SECTION ", "Abschnitt ", "§ ", "§"]
        .iter()
        .find_map(|word| inner.strip_prefix(word))
        .unwrap_or(inner);
    let mut characters = inner.chars();
    let first = characters.next()?;
    let number = match first {
        '1'..='9' => first.to_digit(10)?,
        '１'..='９' => u32::from(first) - u32::from('０'),
        '一' => 1,
        '二' => 2,
        '三' => 3,
        '四' => 4,
        '五' => 5,
        '六' => 6,
        '七' => 7,
        '八' => 8,
        '九' => 9,
        _ => return None,
    };
    let after = characters.as_str().trim_start_matches(['*', '_', '\\']);
    let separated = after.trim_start_matches(['.', ')', ':', '、', '．', '）', '：', '-', '–', '—', '*', '_']);
    let marked = separated.len() < after.len();
    // `## 1 Request` is a heading; `1 apple` is none.
    let spaced = style != Style::Plain && (after.is_empty() || after.starts_with(' '));
    if !(marked || spaced) || (marked && separated.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let words = separated.trim_start().trim_end_matches(['*', '_', '#', ' ']);
    (!words.is_empty() || style != Style::Plain).then_some((number as usize, style, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_known_in_many_settings() {
        let read = |line| heading(line).map(|(number, style, words)| (number, style, words.to_owned()));
        let is = |number, style, words: &str| Some((number, style, words.to_owned()));
        assert_eq!(read("## 1. Primary request"), is(1, Style::Hash, "Primary request"));
        assert_eq!(read("### **2) Key concepts**"), is(2, Style::Hash, "Key concepts"));
        assert_eq!(read("**3. Files and code:**"), is(3, Style::Bold, "Files and code:"));
        assert_eq!(read("**4.** Errors"), is(4, Style::Bold, "Errors"));
        assert_eq!(read("5. Problem solving:"), is(5, Style::Plain, "Problem solving:"));
        assert_eq!(read("## Section 6: All user messages"), is(6, Style::Hash, "All user messages"));
        assert_eq!(read("## 7 Pending"), is(7, Style::Hash, "Pending"));
        assert_eq!(read("## 八、当前工作"), is(8, Style::Hash, "当前工作"));
        assert_eq!(read("9\\. Context"), is(9, Style::Plain, "Context"));
        assert_eq!(read("## 1."), is(1, Style::Hash, ""));
        for line in ["1 apple", "1.5 apples", "## 10. Ten", "- 1. item", "", "##", "1."] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn a_fence_without_an_end_hides_no_heading() {
        let numbers = |text| candidates(text).iter().map(|candidate| candidate.number).collect::<Vec<_>>();
        assert_eq!(numbers("## 1. a\n```\n## 2. b\n```\n## 3. c"), [1, 3]);
        assert_eq!(numbers("## 1. a\n```rust\n## 2. b\n## 3. c"), [1, 2, 3]);
        assert_eq!(numbers("## 1. a\n~~~\n```\n## 2. b"), [1, 2]);
    }

    #[test]
    fn sections_that_say_nothing_are_known() {
        for content in [
            "",
            "None.",
            "- None",
            "N/A",
            "*No prior history.*",
            "[…]",
            "…",
            "- […]",
            "Keine.",
            "没有",
            "なし",
            "There were no errors.",
        ] {
            assert!(is_blank(content), "{content}");
        }
        for content in [
            "Fix it",
            "No: the user refused, and wants the old layout back because the new one hides the totals, see the mail.",
            "None of `a` works\n- b",
            "Nothing works since `x`",
        ] {
            assert!(!is_blank(content), "{content}");
        }
    }
}
