//! Cutting what is said without full stops: dictated, typed in a hurry, in a language that does without. By lines, else by
//! commas, else by length, and there in a place around which nothing stands that has to hold.

use super::lexicon::LEXICON;
use super::sentence::quotation;
use super::standing::plain_words;
use super::value;

/// How long a passage of prose may be that is not cut further. Lengths are in characters; one of a script that is written
/// without spaces counts for two.
const LONGEST: usize = 400;

/// From which length on a piece ends at the next comma.
const CLAUSE: usize = 60;

/// Between which lengths a piece ends that has no commas.
const BETWEEN: (usize, usize) = (120, 240);

/// How much is looked at before and after a cut, in characters.
const AROUND: (usize, usize) = (70, 30);

/// Cuts a passage into pieces, if it is longer than a passage should be.
pub(super) fn pieces(passage: &str) -> Vec<&str> {
    if width(passage) <= LONGEST || value::is_bulk(passage) {
        return vec![passage];
    }
    let mut pieces = Vec::new();
    let mut rest = passage;
    while !rest.is_empty() {
        let end = end(rest);
        let (piece, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn width(text: &str) -> usize {
    text.chars().map(|c| 1 + usize::from(value::is_unspaced(c))).sum()
}

/// Where the first piece of a text ends.
fn end(text: &str) -> usize {
    let mut width = 0;
    let mut before: Option<char> = None;
    let mut words: Vec<usize> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at = text.len() - rest.len();
        let after = rest.get(c.len_utf8()..).unwrap_or("");
        if width >= BETWEEN.1 && !words.is_empty() {
            return quietest(text, &words);
        }
        if let Some(quoted) = quotation(c, before, after) {
            let (inside, after) = after.split_at_checked(quoted).unwrap_or((after, ""));
            width += 1 + self::width(inside);
            before = inside.chars().next_back();
            rest = after;
            continue;
        }
        width += 1 + usize::from(value::is_unspaced(c));
        let end = at + c.len_utf8();
        let spaced = after.starts_with(char::is_whitespace);
        let clause = matches!(c, '、' | '，' | '；' | '،' | '؛') || (matches!(c, ',' | ';' | ':') && spaced);
        if (c == '\n' && !text.get(..at).unwrap_or("").trim().is_empty()) || (clause && width >= CLAUSE) {
            return end;
        }
        let parts = c.is_whitespace() || value::is_unspaced(c);
        if width >= BETWEEN.0 && parts && !after.is_empty() {
            words.push(end);
        }
        before = Some(c);
        rest = after;
    }
    text.len()
}

/// Of some places to cut a text at, the last around which nothing has to hold; else the last right before what has to.
fn quietest(text: &str, places: &[usize]) -> usize {
    let holds = |part: &str| {
        let lower = part.to_lowercase();
        let words: Vec<&str> = plain_words(&lower).collect();
        LEXICON.standing.is_in(&lower, &words)
            || LEXICON.negation.is_in(&lower, &words)
            || words.iter().any(|word| word.ends_with("n't") || word.chars().any(char::is_numeric))
    };
    let before = |at: usize, count: usize| {
        let head = text.get(..at).unwrap_or("");
        let start = head.char_indices().rev().take(count).last().map_or(at, |(start, _)| start);
        head.get(start..).unwrap_or("")
    };
    let after = |at: usize, count: usize| {
        let tail = text.get(at..).unwrap_or("");
        let end = tail.char_indices().nth(count).map_or(tail.len(), |(end, _)| end);
        tail.get(..end).unwrap_or("")
    };
    let quiet = |at: &&usize| !holds(before(**at, AROUND.0)) && !holds(after(**at, AROUND.1));
    let leads = |at: &&usize| {
        let next = text.get(**at..).and_then(|tail| tail.split_whitespace().next()).unwrap_or("");
        next.chars().count() <= AROUND.1 && holds(next) && !holds(before(**at, 12))
    };
    let found = places.iter().rfind(quiet).or_else(|| places.iter().rfind(leads)).or(places.last());
    found.copied().unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::super::sentence::passages;
    use super::super::standing::{Tier, weigh};
    use super::*;

    /// The passages of a text that hold a part of it whole, and stand.
    fn standing<'t>(text: &'t str, part: &str) -> Option<&'t str> {
        passages(text).into_iter().find(|passage| passage.contains(part) && weigh(passage).0 <= Tier::Value)
    }

    #[test]
    fn an_instruction_in_a_long_message_without_stops_is_found() {
        let english = "so i had a look at the thing you made and it is mostly fine but there are a couple of places where i \
            think we could do better for example the list on the left is too wide and the dialog jumps around ";
        let chinese = "我看了你昨天做的东西，大部分都不错，有几个地方我觉得可以做得更好，比如左边的列表太宽，";
        let unbroken = "我看了你昨天做的东西大部分都不错有几个地方我觉得可以做得更好比如左边的列表太宽";
        let thai = "ฉันดูสิ่งที่คุณทำเมื่อวานแล้ว ส่วนใหญ่ก็ดี แต่มีบางจุดที่เราน่าจะทำได้ดีกว่านี้ เช่น รายการทางซ้ายกว้างเกินไป ";
        for (around, said) in [
            (english, "never push to main without asking me first"),
            (english, "do not rename the table customers_2019"),
            (english, "the access code is HX-99-ZULU"),
            (chinese, "绝对不要删除数据库prod_main"),
            (unbroken, "绝对不要删除数据库prod_main"),
            (thai, "ห้ามลบฐานข้อมูล prod_main เด็ดขาด"),
        ] {
            for shift in 0..30 {
                // Wherever it stands.
                let shifted: String = around.chars().skip(shift).collect();
                let text = format!("{}{said} {}", shifted.clone() + &around.repeat(9), around.repeat(9));
                let found = standing(&text, said);
                assert!(found.is_some_and(|passage| passage.chars().count() <= LONGEST), "{shift} {said}: {found:?}");
            }
        }
    }

    #[test]
    fn lines_of_a_list_without_stops_are_passages_of_their_own() {
        let lines = [
            "never push to main without asking me in the chat first please",
            "always run the linter and the type checker before you commit anything",
            "only use port 4711 for the test server since all others are blocked by IT",
        ];
        let text =
            format!("{}\n{}", lines.join("\n"), "please make sure that the page is handled as we said\n".repeat(20));
        for line in lines {
            assert_eq!(standing(&text, line), Some(line));
        }
    }

    #[test]
    fn what_is_pasted_stays_in_one_piece() {
        let json = format!("{{{}}}", r#""name": "value, and more", "#.repeat(40));
        assert_eq!(passages(&json), [json.as_str()]);
    }

    #[test]
    fn a_quotation_and_a_word_are_never_cut() {
        let long = format!("{} `{}` {}", "word ".repeat(60), "a b, ".repeat(50), "x".repeat(500));
        let cut = passages(&long);
        assert!(cut.iter().any(|passage| passage.contains(&"a b, ".repeat(50))), "{cut:?}");
        assert!(cut.iter().any(|passage| passage.contains(&"x".repeat(500))), "{cut:?}");
    }

    #[test]
    fn a_piece_is_not_cut_again() {
        let text = "one two three, four five six and seven eight nine ten ".repeat(60);
        for piece in passages(&text) {
            assert_eq!(passages(piece), [piece]);
        }
    }
}
