//! An earlier summary that is no ledger of ours: trimmed to what it tells, shortened by its own sections.

use super::line::defuse;
use crate::units::Tokens;

/// Takes what an earlier summary tells out of what its program says around it.
pub(crate) fn told(text: &str) -> String {
    // What programs put before and after it is addressed to the model that went on then.
    const BEFORE: [&str; 3] = ["\nSummary:\n", "\nSummary:\r\n", "<summary>"];
    const AFTER: [&str; 4] = [
        "\nIf you need specific details from before compaction",
        "\nPlease continue the conversation from where",
        "\nContinue the conversation from where",
        "</summary>",
    ];
    let start = BEFORE.iter().filter_map(|mark| text.find(mark).map(|at| at + mark.len())).min();
    let told = start.and_then(|at| text.get(at..)).unwrap_or(text);
    let end = AFTER.iter().filter_map(|mark| told.rfind(mark)).min().unwrap_or(told.len());
    defuse(told.get(..end).unwrap_or(told).trim().to_owned())
}

/// Brings an earlier summary to at most `limit` tokens. Requests, messages of the user and what was pending come before
/// concepts and code.
pub(crate) fn shorten(text: &str, limit: u64, count: &dyn Fn(&str) -> Tokens) -> String {
    const ORDER: [u8; 9] = [1, 6, 8, 7, 9, 5, 4, 2, 3];
    if count(text).0 <= limit {
        return text.to_owned();
    }
    let sections = sections(text);
    if sections.len() < 3 {
        return middle_out(text, limit, count);
    }
    let mut left = limit;
    let mut kept: Vec<(usize, String)> = Vec::new();
    let others = (0..=u8::MAX).filter(|number| !ORDER.contains(number));
    for wanted in ORDER.into_iter().chain(others) {
        for (place, (number, section)) in sections.iter().enumerate() {
            if *number != wanted || left < 24 {
                continue;
            }
            let shown = middle_out(section, left, count);
            left = left.saturating_sub(count(&shown).0 + 1);
            if !shown.is_empty() {
                kept.push((place, shown));
            }
        }
    }
    kept.sort_by_key(|(place, _)| *place);
    let joined = kept.into_iter().map(|(_, section)| section).collect::<Vec<_>>().join("\n");
    if count(&joined).0 <= limit { joined } else { middle_out(&joined, limit, count) }
}

/// The numbered sections of a summary; what stands before the first has the number 0.
fn sections(text: &str) -> Vec<(u8, &str)> {
    let mut starts: Vec<(u8, usize)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches(['#', '*', ' ']);
        let indented = line.starts_with(' ');
        let number = bare.split_once('.').and_then(|(number, rest)| {
            let number: u8 = number.parse().ok()?;
            (!indented && rest.starts_with(' ') && (1..=9).contains(&number)).then_some(number)
        });
        // Sections count up; a numbered list inside one does not go on where the sections are.
        if let Some(number) = number.filter(|number| *number == starts.last().map_or(0, |(last, _)| *last) + 1) {
            starts.push((number, at));
        }
        at += line.len();
    }
    let mut sections = Vec::new();
    if let Some((_, first)) = starts.first() {
        let before = text.get(..*first).unwrap_or("").trim();
        if !before.is_empty() {
            sections.push((0, before));
        }
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([text.len()]);
    sections.extend(
        starts
            .iter()
            .zip(ends)
            .map(|((number, start), end)| (*number, text.get(*start..end).unwrap_or("").trim_end())),
    );
    sections
}

/// Cuts the middle out of a text so that it takes at most `limit` tokens.
fn middle_out(text: &str, limit: u64, count: &dyn Fn(&str) -> Tokens) -> String {
    let cost = count(text).0;
    if cost <= limit {
        return text.to_owned();
    }
    let length = text.chars().count();
    let mut keep = usize::try_from(limit.saturating_sub(12).saturating_mul(length as u64) / cost.max(1)).unwrap_or(0);
    for _ in 0..8 {
        let head: String = text.chars().take(keep / 2).collect();
        let tail: String = text.chars().skip(length - (keep - keep / 2)).collect();
        let cut = format!("{}\n[… {} characters left out …]\n{}", head.trim_end(), length - keep, tail.trim_start());
        if count(&cut).0 <= limit {
            return cut;
        }
        keep = keep * 4 / 5;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rough(text: &str) -> Tokens {
        Tokens::from(text.chars().count().div_ceil(4))
    }

    #[test]
    fn what_a_program_says_around_a_summary_is_left_out() {
        let text = "This session is being continued from a previous conversation that ran out of context.\n\nAnalysis:\nFirst …\n\nSummary:\n1. Request:\n   do it\n\nPlease continue the conversation from where we left it off.";
        assert_eq!(told(text), "1. Request:\n   do it");
        assert_eq!(told("plain"), "plain");
    }

    #[test]
    fn requests_and_what_was_pending_outlast_code() {
        let body = "word ".repeat(120);
        let sections: Vec<String> = (1..=9).map(|number| format!("{number}. Section {number}:\n{body}")).collect();
        let text = sections.join("\n");
        let short = shorten(&text, 500, &rough);
        assert!(rough(&short) <= Tokens(500));
        for number in [1, 6, 8] {
            assert!(short.contains(&format!("{number}. Section {number}:")), "{short}");
        }
        assert!(!short.contains("3. Section 3:"), "{short}");
        assert_eq!(shorten(&short, 500, &rough), short, "what was shortened once stays as it is");
    }

    #[test]
    fn a_text_without_sections_loses_its_middle() {
        let short = shorten(&"ab ".repeat(1_000), 100, &rough);
        assert!(rough(&short) <= Tokens(100) && short.contains("characters left out"), "{short}");
        assert_eq!(shorten("a b c", 0, &rough).len(), 0);
    }
}
