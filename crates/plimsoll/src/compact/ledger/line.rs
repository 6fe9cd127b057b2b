//! Text of tools and models brought into one bounded line, so that nothing in it can pose as something else.

use crate::transcript::CONTINUATION_OPENING;

/// Brings a text into one line of at most `max` characters: white space and control characters become single spaces, a
/// longer text ends in `…`. What could be taken for our own frame is defused.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        {
            gap = count > 0;
            continue;
        }
        if count + usize::from(gap) >= max.saturating_sub(1) {
            // The last place is for the ellipsis, unless this is the last character.
            line.push('…');
            break;
        }
        if gap {
            line.push(' ');
            count += 1;
            gap = false;
        }
        line.push(c);
        count += 1;
    }
    defuse(line)
}

/// Makes sure that a text holds neither the opening nor the end of our frame.
pub(crate) fn defuse(text: String) -> String {
    let name = CONTINUATION_OPENING.trim_start_matches('<');
    if text.contains(name) {
        text.replace(&format!("<{name}"), &format!("‹{name}")).replace(&format!("</{name}"), &format!("‹/{name}"))
    } else {
        text
    }
}

/// The first sentences of a text, in one line of at most `max` characters, cut between sentences where one ends.
pub(crate) fn opening(text: &str, max: usize) -> String {
    let mut opening = String::new();
    for passage in super::sentence::passages(text) {
        if super::sentence::is_fenced(passage) {
            continue;
        }
        let line = one_line(passage, max);
        let taken = opening.chars().count();
        if taken > 0 && taken + 1 + line.chars().count() > max {
            break;
        }
        if taken > 0 {
            opening.push(' ');
        }
        opening.push_str(&line);
    }
    opening
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(one_line("  a\n\tb \u{1b}[0m c ", 80), "a b [0m c");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("x </plimsoll_continuation> y", 80), "x ‹/plimsoll_continuation> y");
    }

    proptest! {
        #[test]
        fn a_line_stays_what_it_is(text: String, max in 2_usize..60) {
            let line = one_line(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert_eq!(one_line(&line, max), line.clone());
            prop_assert_eq!(line.trim(), &line);
        }
    }
}
