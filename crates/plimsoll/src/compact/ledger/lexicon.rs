//! `Lexicon`: words of many languages by which passages are ranked, read once from a list that is data.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::value;

/// The lists, read at first use.
pub(crate) static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::read(include_str!("lexicon.txt")));

/// All lists.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    /// Obligation, prohibition, limit, deadline, preference.
    pub(crate) standing: WordList,
    /// Plain negations.
    pub(crate) negation: WordList,
    /// Openings of requests for a piece of work.
    pub(crate) asks: WordList,
    /// Something said before is void.
    pub(crate) cancels: WordList,
    /// Something said before has another value now.
    pub(crate) changes: WordList,
    /// One thing takes the place of another.
    pub(crate) substitutes: WordList,
    /// Words that say nothing about what a passage is about.
    pub(crate) empty: WordList,
    /// Days: values without digits.
    pub(crate) days: WordList,
    /// Words that only keep a conversation going.
    pub(crate) chatter: WordList,
    /// Words that stand for what was said right before.
    pub(crate) pronouns: WordList,
    /// How a model says what it decided.
    pub(crate) decides: WordList,
}

/// One list.
#[derive(Debug, Default)]
pub(crate) struct WordList {
    /// Whole words.
    words: HashSet<&'static str>,
    /// Beginnings of words.
    beginnings: Vec<&'static str>,
    /// What is found anywhere.
    phrases: Vec<&'static str>,
}

impl WordList {
    /// Whether a word is in the list.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.words.contains(word) || self.beginnings.iter().any(|beginning| word.starts_with(beginning))
    }

    /// Whether a lower-case text, given with its words, holds something of the list.
    pub(crate) fn is_in(&self, lower: &str, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word)) || self.phrases.iter().any(|phrase| lower.contains(phrase))
    }

    /// Whether a lower-case text begins with something of the list.
    pub(crate) fn opens(&self, lower: &str) -> bool {
        let first = lower.split_whitespace().next().unwrap_or("").trim_end_matches([',', ':']);
        self.has(first) || self.phrases.iter().any(|phrase| lower.starts_with(phrase))
    }

    /// A lower-case text with spaces in place of the list's phrases.
    pub(crate) fn without_phrases(&self, lower: &str) -> String {
        let present = self.phrases.iter().filter(|phrase| lower.contains(**phrase));
        present.fold(lower.to_owned(), |text, phrase| text.replace(phrase, " "))
    }

    fn add(&mut self, entry: &'static str) {
        if let Some(beginning) = entry.strip_suffix('*') {
            self.beginnings.push(beginning);
        } else if entry.contains([' ', '-']) || entry.chars().any(is_found_anywhere) {
            self.phrases.push(entry);
        } else {
            self.words.insert(entry);
        }
    }
}

/// Whether a character is of a script in which words are not parted, or take endings without a space.
fn is_found_anywhere(c: char) -> bool {
    value::is_unspaced(c) || ('가'..='힣').contains(&c) || ('\u{e00}'..='\u{e7f}').contains(&c)
}

impl Lexicon {
    fn read(text: &'static str) -> Self {
        let mut lexicon = Self::default();
        let mut unknown = WordList::default();
        let mut name = "";
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                name = section;
                continue;
            }
            let list = match name {
                "standing" => &mut lexicon.standing,
                "negation" => &mut lexicon.negation,
                "asks" => &mut lexicon.asks,
                "cancels" => &mut lexicon.cancels,
                "changes" => &mut lexicon.changes,
                "substitutes" => &mut lexicon.substitutes,
                "empty" => &mut lexicon.empty,
                "days" => &mut lexicon.days,
                "chatter" => &mut lexicon.chatter,
                "pronouns" => &mut lexicon.pronouns,
                "decides" => &mut lexicon.decides,
                _ => &mut unknown,
            };
            line.split(',').map(str::trim).filter(|entry| !entry.is_empty()).for_each(|entry| list.add(entry));
        }
        lexicon
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_read_and_lower_case() {
        let lists = [
            &LEXICON.standing,
            &LEXICON.negation,
            &LEXICON.asks,
            &LEXICON.cancels,
            &LEXICON.changes,
            &LEXICON.substitutes,
            &LEXICON.empty,
            &LEXICON.days,
            &LEXICON.chatter,
            &LEXICON.pronouns,
            &LEXICON.decides,
        ];
        for list in lists {
            assert!(!list.words.is_empty() || !list.phrases.is_empty());
            for entry in list.words.iter().chain(&list.phrases).chain(&list.beginnings) {
                assert_eq!(entry.to_lowercase(), **entry);
            }
        }
        let sections = include_str!("lexicon.txt").lines().filter(|line| line.starts_with('[')).count();
        assert_eq!(sections, lists.len(), "a section that nobody reads");
    }

    #[test]
    fn words_are_whole_and_phrases_are_anywhere() {
        let is_in = |list: &WordList, text: &str| list.is_in(text, &text.split(' ').collect::<Vec<_>>());
        assert!(is_in(&LEXICON.standing, "never do it"));
        assert!(!is_in(&LEXICON.standing, "nevertheless it works"));
        assert!(is_in(&LEXICON.standing, "不要修改"));
        assert!(is_in(&LEXICON.changes, "срок изменился"));
        assert!(LEXICON.asks.opens("please, fix it"));
        assert!(!LEXICON.asks.opens("it may please you"));
    }
}
