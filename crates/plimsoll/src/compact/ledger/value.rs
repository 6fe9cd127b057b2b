//! Values and identifiers in a text: numbers, dates, paths, names of code, quotations, addresses.

use super::sentence;

/// The words of a text as values are looked for in them: cut at white space and where scripts meet, punctuation around
/// them left out.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '`' | '"'
                    | '“'
                    | '”'
                    | '„'
                    | '«'
                    | '»'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '<'
                    | '>'
                    | ','
                    | ';'
                    | '|'
                    | '='
            )
            || is_unspaced(c)
    })
    .map(|word| {
        word.trim_matches(|c: char| matches!(c, '.' | ':' | '!' | '?' | '\'' | '*' | '，' | '。' | '、' | '：' | '…'))
    })
    .filter(|word| !word.is_empty())
}

/// Whether a character belongs to a script that is written without spaces.
pub(crate) const fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3134f}')
}

/// Whether a text carries a value: something that must come through exactly.
pub(crate) fn has_value(text: &str) -> bool {
    text.chars().any(char::is_numeric) || has_quotation(text) || words(text).any(is_identifier)
}

/// How much the values in a text are worth, from 0 to 6: an address or a code is worth more than a bare number.
pub(crate) fn worth(text: &str) -> u8 {
    let quoted = u8::from(has_quotation(text)) * 4;
    let best = words(text).take(200).map(|word| {
        if is_identifier(word) {
            5
        } else if word.chars().any(char::is_numeric) {
            3 + u8::from(word.contains([',', '.', ':', '-', '%', '€', '$']))
        } else {
            0
        }
    });
    let best = best.max().unwrap_or(0).max(quoted);
    // Code is mostly names; what matters in it the words around it say.
    if sentence::is_fenced(text) { 1 } else { best }
}

/// Whether something is quoted in a text: a code span, or words in quotation marks.
fn has_quotation(text: &str) -> bool {
    let pair = |open: char, close: char| {
        text.split_once(open).is_some_and(|(_, rest)| rest.find(close).is_some_and(|at| at > 0))
    };
    pair('`', '`')
        || pair('"', '"')
        || pair('“', '”')
        || pair('„', '“')
        || pair('«', '»')
        || pair('「', '」')
        || pair('『', '』')
}

/// Whether a word is a name of the machine world rather than of a language: a path, an address, a name in code, a code.
pub(crate) fn is_identifier(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphanumeric()).count();
    if letters < 2 {
        return false;
    }
    if word.contains("://") || word.contains("::") || word.contains('\\') {
        return true;
    }
    let mut previous: Option<char> = None;
    let mut characters = word.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        let inside = previous.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric);
        let telling = match c {
            '/' => next.is_some_and(|next| next.is_alphanumeric() || matches!(next, '.' | '_' | '*')),
            '_' | '@' => inside,
            '.' => inside && next.is_some_and(|next| next.is_ascii_alphanumeric()) && !is_abbreviation(word),
            '-' => previous.is_none() && next.is_some_and(|next| next.is_ascii_alphabetic() || next == '-'),
            '$' | '#' | '%' => previous.is_none() && next.is_some_and(char::is_alphanumeric),
            _ => c.is_ascii_uppercase() && previous.is_some_and(|previous| previous.is_ascii_lowercase()),
        };
        if telling {
            return true;
        }
        previous = Some(c);
    }
    let digits = word.chars().filter(char::is_ascii_digit).count();
    digits > 0 && digits < letters && word.chars().any(|c| c.is_ascii_alphabetic())
}

/// `e.g`, `i.e`, `z.B`: single letters between stops.
fn is_abbreviation(word: &str) -> bool {
    word.split('.').all(|part| part.chars().count() <= 1)
}

/// Whether a word is worth following from what a user says to what a tool is given.
pub(crate) fn is_traceable(word: &str) -> bool {
    (4..=120).contains(&word.len()) && (is_identifier(word) || word.chars().filter(char::is_ascii_digit).count() >= 4)
}

/// Whether a passage was pasted rather than said: code, a log, a table, data.
pub(crate) fn is_bulk(passage: &str) -> bool {
    if sentence::is_fenced(passage) {
        return passage.len() > 300;
    }
    let mut words = passage.split_whitespace();
    let Some(first) = words.next() else {
        return false;
    };
    let second = words.next().unwrap_or("");
    let frame = (first == "at" && ends_in_place(passage))
        || passage.starts_with("File \"")
        || passage.starts_with("Traceback (");
    let data = passage.starts_with(['{', '}', '<']) || passage.starts_with('"') && passage.contains("\":");
    let stamped = first.len() >= 8
        && first.chars().filter(char::is_ascii_digit).count() >= 6
        && is_time(first, second)
        && passage.len() > 80;
    let logged = !passage.contains('\n') && is_log_line(passage);
    // A long address among words makes no paste of them.
    let longest = passage.split_whitespace().map(str::len).max().unwrap_or(0);
    let unbroken = longest > 200 && longest * 2 > passage.len() && !passage.chars().any(is_unspaced);
    frame || stamped || logged || unbroken || (data && passage.len() > 200)
}

/// Whether a line is one of a log: it begins with a time and names a level, or with a level in brackets.
pub(crate) fn is_log_line(line: &str) -> bool {
    const LEVELS: [&str; 14] = [
        "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "ERR", "FATAL", "CRITICAL", "CRIT", "SEVERE",
        "VERBOSE", "PANIC",
    ];
    let is_level = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        LEVELS.contains(&bare)
            || LEVELS.iter().any(|level| {
                word.strip_prefix('[')
                    .is_some_and(|word| word.trim_end_matches([']', ':']).eq_ignore_ascii_case(level))
            })
            || word.starts_with("level=")
    };
    let is_time = |word: &str| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let others = word.chars().filter(char::is_ascii_alphabetic).count();
        digits >= 4 && word.contains(':') && others <= 3
    };
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or("");
    if first.starts_with('[') && is_level(first) {
        return true;
    }
    let head: Vec<&str> = line.split_whitespace().take(6).collect();
    let timed = head.iter().take(3).any(|word| is_time(word));
    // `Jan 12 03:04:05 host prog[123]: …`
    let of_system =
        head.get(2).is_some_and(|word| is_time(word)) && head.get(4).is_some_and(|word| word.ends_with("]:"));
    (timed && head.iter().any(|word| is_level(word))) || of_system
}

/// Whether a line ends as a stack frame does: `(/srv/app/index.js:10:3)`, `(Main.java:12)`, `(<anonymous>)`.
fn ends_in_place(line: &str) -> bool {
    let place = line.strip_suffix(')').and_then(|line| line.rsplit_once('('));
    place.is_some_and(|(_, place)| {
        let numbered = place.rsplit_once(':').is_some_and(|(_, line)| line.chars().all(|c| c.is_ascii_digit()));
        numbered || place.starts_with('<') || matches!(place, "native" | "Native Method" | "Unknown Source")
    })
}

/// Whether a line begins with the time of day, after a date or not: a day alone may begin a sentence.
fn is_time(first: &str, second: &str) -> bool {
    let has_time = |word: &str| {
        let word = word.trim_end_matches(':');
        word.contains(':') && word.starts_with(|c: char| c.is_ascii_digit() || c == '[')
    };
    has_time(first) || has_time(second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_many_kinds_are_seen() {
        for text in [
            "at most 30",
            "by 17:00",
            "on ٣ May",
            "in src/main.rs",
            "mail a.b@c.org",
            "see https://x.org/y",
            "`cargo test`",
            "call it \"Blue Door\"",
            "use snake_case_name",
            "fooBar it is",
            "--no-verify",
            "$HOME",
            "«Привет»",
            "「東京」に",
            "上限は30件",
            "C:\\Program Files\\x",
            "u/alice/sync_orders",
            "std::fs",
        ] {
            assert!(has_value(text), "{text}");
        }
        for text in ["keep going", "e.g. this", "well - fine", "a/ b", "Ja, bitte.", "it's Bob's"] {
            assert!(!has_value(text), "{text}");
        }
    }

    #[test]
    fn words_are_cut_where_scripts_meet() {
        assert_eq!(
            words("请把max_retries设为5，不要改 (foo.rs).").collect::<Vec<_>>(),
            ["max_retries", "5", "foo.rs"]
        );
    }

    #[test]
    fn pasted_text_is_told_from_words() {
        assert!(is_bulk("at Object.<anonymous> (/srv/app/index.js:10:3)"));
        assert!(is_bulk(&"x".repeat(300)));
        assert!(is_bulk(
            "2026-01-02T03:04:05Z INFO server: request finished with status 200 in 12 ms by worker number nine of pool"
        ));
        assert!(!is_bulk("2026-01-02 is the deadline"));
        for line in [
            "12:00:01 INFO failed=0",
            "[WARN] you must retry",
            "2026-11-01T10:05:00 WARN worker-5 failed, must retry 35",
            "2026-11-01 10:05:00,123 [main] ERROR x.y.Z - never mind",
            "Jan 12 03:04:05 host sshd[123]: must be root",
            "[10:00:00] [error] x",
        ] {
            assert!(is_bulk(line), "{line}");
        }
        for line in ["At 17:30 the build must be done.", "WARNING: never deploy on Fridays"] {
            assert!(!is_bulk(line), "{line}");
        }
        assert!(!is_bulk("Never deploy on Fridays."));
        assert!(is_bulk(&format!("2026-01-02 03:04:05 INFO server: request finished {}", "and more ".repeat(6))));
        assert!(is_bulk("at java.base/java.lang.Thread.run(Thread.java:829)"));
        assert!(is_bulk("File \"/srv/app.py\", line 3, in main"));
        // Words that only begin as such lines do.
        assert!(!is_bulk("at least 3 reviewers have to agree (never fewer)"));
        assert!(!is_bulk("File names must never contain spaces."));
        assert!(!is_bulk(&format!("2026-03-15 is the deadline, {}and never later", "and no later ".repeat(9))));
        assert!(!is_bulk(&format!(
            "never take it from https://x.org/{} {}",
            "y".repeat(210),
            "but from here ".repeat(30)
        )));
    }
}
