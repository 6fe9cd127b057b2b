//! Which of the user's words a later message changed: explicitly, and about the same thing. Nothing is marked on
//! suspicion: whoever reads both in their order can tell for himself.

use std::collections::BTreeSet;

use super::lexicon::{LEXICON, WordList};
use super::sentence::passages;
use super::standing::{self, Tier, plain_words};
use super::{Words, paste, value};

/// From how many bytes on a message says many things, so that a cue in it needs more to point at an earlier one.
const LONG: usize = 600;
/// How long a passage may be, in characters, that changes an earlier one without naming what it said.
const SHORT: usize = 160;
/// Words after a number that are no unit.
const NO_UNITS: [&str; 40] = [
    "for", "in", "on", "at", "of", "to", "and", "or", "not", "now", "from", "by", "is", "are", "the", "an", "per",
    "as", "instead", "with", "until", "für", "im", "am", "und", "oder", "nicht", "bis", "statt", "pour", "et", "en",
    "para", "y", "por", "e", "но", "и", "на", "до",
];

/// The words of substance in a lower-case text, by their beginnings; in scripts without spaces, pairs of characters.
/// What a path or an address is made of says nothing about what a passage is about.
pub(super) fn terms(lower: &str) -> Vec<String> {
    let lists =
        [&LEXICON.cancels, &LEXICON.changes, &LEXICON.substitutes, &LEXICON.empty, &LEXICON.days, &LEXICON.asks];
    let is_cue = |word: &str| lists.iter().any(|list| list.has(word));
    let mut terms: Vec<String> = value::words(lower)
        .filter(|word| !value::is_identifier(word))
        .flat_map(plain_words)
        .filter(|word| word.chars().count() >= 4 && !word.chars().any(char::is_numeric) && !is_cue(word))
        .map(|word| word.chars().take(6).collect())
        .collect();
    let mut told = lower.to_owned();
    for list in [&LEXICON.cancels, &LEXICON.changes, &LEXICON.substitutes] {
        told = list.without_phrases(&told);
    }
    // Particles join what has nothing to do with one another.
    let particle = |c: char| matches!(c, '是' | '的' | '了' | '为' | '為' | '请' | '請' | '把' | '将');
    let characters: Vec<char> = told.chars().map(|c| if particle(c) { ' ' } else { c }).collect();
    terms.extend(
        characters.windows(2).filter(|pair| pair.iter().copied().all(is_wide)).map(|pair| pair.iter().collect()),
    );
    terms
}

/// Whether a character is of a script in which pairs of characters stand for words.
const fn is_wide(c: char) -> bool {
    matches!(c, '\u{30a0}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '가'..='힣')
}

/// A number in a passage, and what it counts, if a word says so.
#[derive(Debug, PartialEq, Eq)]
struct Number {
    digits: String,
    unit: Option<String>,
}

impl Number {
    /// The numbers in a lower-case text. The number of a list entry is no value.
    fn all(lower: &str) -> Vec<Self> {
        let entry = lower.find(char::is_whitespace).filter(|end| {
            lower
                .get(..*end)
                .is_some_and(|first| first.ends_with(['.', ')']) && first.starts_with(|c: char| c.is_ascii_digit()))
        });
        let mut words = value::words(lower.get(entry.unwrap_or(0)..).unwrap_or("")).peekable();
        let mut numbers = Vec::new();
        while let Some(word) = words.next() {
            if !word.chars().any(char::is_numeric) {
                continue;
            }
            let unit_at = word.find(|c: char| !(c.is_numeric() || matches!(c, '.' | ',' | ':' | '-' | '\'' | '_')));
            let (digits, unit) = word.split_at(unit_at.unwrap_or(word.len()));
            let number = if digits.is_empty() {
                Self { digits: word.to_owned(), unit: None }
            } else {
                let next = words.peek().filter(|next| {
                    next.chars().all(char::is_alphabetic) && !NO_UNITS.contains(next) && !LEXICON.days.has(next)
                });
                let unit = Some(unit).filter(|unit| !unit.is_empty()).or(next.copied());
                Self { digits: digits.to_owned(), unit: unit.map(|unit| unit.chars().take(5).collect()) }
            };
            numbers.push(number);
        }
        numbers
    }

    /// Whether both may count the same: the units are alike, or one is not said.
    fn is_of_kind(&self, other: &Self) -> bool {
        match (&self.unit, &other.unit) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }
}

/// A passage as supersession looks at it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations of one passage")]
struct Passage {
    terms: BTreeSet<String>,
    /// The words of substance of the clause that says that something is void.
    void: BTreeSet<String>,
    numbers: Vec<Number>,
    carries: bool,
    day: bool,
    substitutes: bool,
    short: bool,
    /// Whether it stands in a long message.
    in_long: bool,
    standing: bool,
    cancels: bool,
    changes: bool,
}

/// How a later passage stands to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bearing {
    /// It names the value that was said, and another one.
    Named,
    /// It speaks of nothing else: of what the earlier one says, so many words are not repeated.
    Same(usize),
}

impl Passage {
    fn read(text: &str, in_long: bool) -> Self {
        let lower = text.to_lowercase();
        let words: Vec<&str> = plain_words(&lower).collect();
        let cue = |words_of: &WordList| words_of.is_in(&lower, &words);
        // At the start of a sentence "now" only says what comes next.
        let leads = lower.starts_with("now ") || lower.starts_with("jetzt ") || lower.starts_with("not ");
        let cancels = cue(&LEXICON.cancels);
        let all: BTreeSet<String> = terms(&lower).into_iter().collect();
        let void = lower
            .split([',', ';', ':', '—', '–', '，', '、', '。'])
            .find(|clause| cancels && LEXICON.cancels.is_in(clause, &plain_words(clause).collect::<Vec<_>>()))
            .map(|clause| terms(clause).into_iter().collect::<BTreeSet<String>>())
            .filter(|void| !void.is_empty());
        Self {
            void: void.unwrap_or_else(|| all.clone()),
            terms: all,
            numbers: Number::all(&lower),
            carries: value::has_value(text),
            day: cue(&LEXICON.days),
            substitutes: cue(&LEXICON.substitutes),
            short: text.chars().count() <= SHORT,
            in_long,
            standing: standing::weigh(text).0 <= Tier::Value,
            cancels,
            changes: !leads && cue(&LEXICON.changes),
        }
    }

    /// Whether this passage says explicitly that an earlier one no longer holds as it was said, and how.
    fn bears_on(&self, earlier: &Self) -> Option<Bearing> {
        // What was said with the very words that make something void was no more than a piece of work.
        if !(self.cancels || self.changes) || !earlier.standing || earlier.cancels {
            return None;
        }
        let known = |number: &&Number| earlier.numbers.iter().any(|other| other.digits == number.digits);
        let named = self.numbers.iter().any(|number| {
            earlier.numbers.iter().any(|other| other.digits == number.digits && other.is_of_kind(number))
        });
        let others: Vec<&Number> = self.numbers.iter().filter(|number| !known(number)).collect();
        let renumbered = others.iter().any(|number| earlier.numbers.iter().any(|other| other.is_of_kind(number)));
        let least = if self.in_long { 2 } else { 1 };
        let missing = |terms: &BTreeSet<String>| earlier.terms.difference(terms).count();
        if named && renumbered && is_within(&self.terms, &earlier.terms, least) {
            return Some(Bearing::Named);
        }
        if named && renumbered && missing(&self.terms) == 0 && earlier.terms.len() >= least {
            return Some(Bearing::Named);
        }
        if !self.short {
            return None;
        }
        // A value of which it is said that it takes another's place is that other's.
        let foreign_value = self.substitutes && self.numbers.len() > 1 && !earlier.numbers.is_empty() && !named;
        let replaced = (renumbered && !foreign_value)
            || (self.day && earlier.day)
            || (self.substitutes && self.carries && earlier.carries && earlier.numbers.is_empty());
        if self.changes && replaced && is_within(&self.terms, &earlier.terms, least) {
            return Some(Bearing::Same(missing(&self.terms)));
        }
        // `cancel the reservation S61CZX` asks for a piece of work: it names what was not spoken of before.
        (self.cancels && others.is_empty() && is_within(&self.void, &earlier.terms, least))
            .then(|| Bearing::Same(missing(&self.void)))
    }
}

/// Whether a text of some words of substance speaks of nothing that another does not speak of, and of as much in common.
/// Pairs of characters cut through words, so with them a part is enough.
fn is_within(terms: &BTreeSet<String>, other: &BTreeSet<String>, least: usize) -> bool {
    let pair = |term: &&String| term.chars().all(is_wide);
    let shared = terms.intersection(other).count();
    let (pairs, foreign): (Vec<&String>, Vec<&String>) = terms.difference(other).partition(pair);
    let shared_pairs = terms.intersection(other).filter(pair).count();
    let close = pairs.is_empty() || (shared_pairs >= 2 && pairs.len() * 3 <= shared_pairs * 2);
    shared >= least && foreign.is_empty() && close
}

/// For each passage of each message: the last message that changed it.
pub(super) fn marks(words: &[Words]) -> Vec<Vec<Option<u32>>> {
    let read: Vec<Vec<Option<Passage>>> = words
        .iter()
        .map(|words| {
            let passages = passages(&words.text);
            let pasted = paste::pasted(&words.text, &passages);
            let long = words.text.len() > LONG;
            passages
                .iter()
                .zip(pasted)
                .map(|(passage, pasted)| (!pasted).then(|| Passage::read(passage, long)))
                .collect()
        })
        .collect();
    let mut marks: Vec<Vec<Option<u32>>> = read.iter().map(|passages| vec![None; passages.len()]).collect();
    let turns: Vec<u32> = words.iter().map(|words| words.turn).collect();
    for (turn, changer) in turns.iter().zip(&read).flat_map(|(turn, passages)| {
        passages
            .iter()
            .flatten()
            .filter(|passage| passage.cancels || passage.changes)
            .map(move |passage| (*turn, passage))
    }) {
        let earlier = || {
            let before = turns.iter().zip(&read).enumerate().filter(|(_, (other, _))| **other < turn);
            before.flat_map(|(message, (_, passages))| {
                passages.iter().enumerate().filter_map(move |(nth, passage)| Some((message, nth, passage.as_ref()?)))
            })
        };
        let borne: Vec<(usize, usize, &Passage, Bearing)> = earlier()
            .filter_map(|(message, nth, passage)| Some((message, nth, passage, changer.bears_on(passage)?)))
            .collect();
        let nearest = borne.iter().filter_map(|(.., bearing)| match bearing {
            Bearing::Same(missing) => Some(*missing),
            Bearing::Named => None,
        });
        let nearest = nearest.min();
        let is_nearest = |bearing: &Bearing| nearest.is_some_and(|least| *bearing == Bearing::Same(least));
        let mut about: Vec<&BTreeSet<String>> = borne
            .iter()
            .filter(|(.., bearing)| is_nearest(bearing))
            .map(|(_, _, passage, _)| &passage.terms)
            .collect();
        about.dedup();
        // Said of one of several things, it changes none of them for certain.
        let certain = about.len() <= 1;
        for (message, nth, _, bearing) in borne {
            let changed = bearing == Bearing::Named || (certain && is_nearest(&bearing));
            if let Some(mark) = marks.get_mut(message).and_then(|marks| marks.get_mut(nth)).filter(|_| changed) {
                *mark = (*mark).max(Some(turn));
            }
        }
    }
    marks
}

/// Marks what later messages explicitly changed. Chronological order is the rule; nothing is dropped.
pub(super) fn mark(words: &mut [Words]) {
    if words.len() < 2 {
        return;
    }
    let marks = marks(words);
    for (words, marks) in words.iter_mut().zip(marks) {
        words.changed_by = marks.into_iter().flatten().chain(words.changed_by).max();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(texts: &[&str]) -> Vec<Option<u32>> {
        let mut words: Vec<Words> = (1..)
            .zip(texts)
            .map(|(turn, text)| Words { turn, part: false, text: (*text).to_owned(), changed_by: None })
            .collect();
        mark(&mut words);
        words.into_iter().map(|words| words.changed_by).collect()
    }

    #[test]
    fn an_explicit_change_marks_the_earlier_words() {
        assert_eq!(changed(&["The limit is 30 requests.", "The limit is now 50, not 30."]), [Some(2), None]);
        assert_eq!(changed(&["The deadline is Friday.", "go on", "Forget the deadline."]), [Some(3), None, None]);
        assert_eq!(changed(&["Deadline is Friday 17:00", "The deadline moved to Monday."]), [Some(2), None]);
        assert_eq!(changed(&["Das Limit ist 30.", "Das Limit ist jetzt 50."]), [Some(2), None]);
        assert_eq!(changed(&["重试上限是 30 次。", "重试上限改为 50 次。"]), [Some(2), None]);
        assert_eq!(changed(&["Use port 8080.", "Actually use port 9090 instead."]), [Some(2), None]);
        assert_eq!(changed(&["Use port 8080.", "Forget port 8080, take 9090."]), [Some(2), None]);
    }

    #[test]
    fn nothing_is_marked_on_suspicion() {
        for later in [
            "Now run the tests.",
            "Add a limit of 5 MB to uploads too.",
            "What is the limit?",
            "The color is now blue.",
            "Never call the payment service.",
            "There is no need for a new limit on requests from `admin`.",
            "Please cancel the requests of R61CZX.",
        ] {
            assert_eq!(changed(&["The limit is 30 requests.", later]), [None, None], "{later}");
        }
    }

    #[test]
    fn what_speaks_of_another_thing_changes_nothing() {
        for (earlier, later) in [
            ("The timeout of the cache is 30 seconds.", "The timeout of the database is now 60 seconds."),
            ("Use port 8080 for the API.", "Use port 9090 for the metrics instead of 9100."),
            ("Max 3 retries for uploads.", "Max 5 retries for downloads now."),
            ("Never log passwords.", "Change the log level to debug."),
            ("Deploy only on Mondays.", "Change the deploy script to bash."),
            ("Keep Python 3.9 support.", "From now on run the tests with Python 3.13."),
            ("The page size is 50 rows.", "The page title is now \"Orders\"."),
            ("Budget for images: 500 KB.", "Budget for fonts is now 100 KB."),
            ("Use tabs in Makefiles.", "Use spaces in YAML instead of tabs."),
            ("Do not touch auth.py.", "Actually, rename auth_test.py to login_test.py."),
            ("Answer in German.", "The error texts should be English instead of German."),
            ("Deadline for the API is 1 May.", "Deadline for the docs moved to 8 June."),
            ("Limit each file to 400 lines.", "The limit for functions is now 40 lines."),
            ("Never cancel a booking without asking.", "Please cancel the booking."),
            ("The limit is 30 requests.", "The limit is now 5 minutes."),
        ] {
            assert_eq!(changed(&[earlier, later]), [None, None], "{earlier} {later}");
        }
        let of_one_of_two = ["The limit of uploads is 30.", "The limit of downloads is 40.", "The limit is now 50."];
        assert_eq!(changed(&of_one_of_two), [None, None, None]);
        let of_the_very_thing =
            ["The deadline is 1 May.", "The deadline for the second part is 1 June.", "Deadline moved to 8 June."];
        assert_eq!(changed(&of_the_very_thing), [Some(3), None, None]);
    }

    #[test]
    fn what_names_the_old_value_changes_it_whatever_else_it_says() {
        for (earlier, later) in [
            ("Retries are limited to 3 attempts.", "Change of plan: retries are now limited to 7 attempts, not 3."),
            ("Retries are limited to 3.", "Actually make it 5 retries."),
            ("Always write the docs in English.", "Forget what I said about the docs, German is better."),
        ] {
            assert_eq!(changed(&[earlier, later]), [Some(2), None], "{earlier} {later}");
        }
    }

    #[test]
    fn a_mark_stays_with_the_passage_it_belongs_to() {
        let mut words = vec![
            Words {
                turn: 1,
                part: false,
                text: "Keep the log. The limit is 30 requests. Never touch `main`.".to_owned(),
                changed_by: None,
            },
            Words { turn: 2, part: false, text: "The limit is now 50, not 30.".to_owned(), changed_by: None },
        ];
        mark(&mut words);
        assert_eq!(marks(&words)[0], [None, Some(2), None]);
        words.push(Words {
            turn: 3,
            part: false,
            text: "Forget what I said about `main`, never touch it is too strict.".to_owned(),
            changed_by: None,
        });
        mark(&mut words);
        assert_eq!(
            marks(&words)[0][..2],
            [None, Some(2)],
            "each passage has its own mark, whatever changed after it"
        );
    }
}
