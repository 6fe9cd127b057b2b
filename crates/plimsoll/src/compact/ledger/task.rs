//! Which of the user's messages says what is to be done: the latest that asks for something, whatever chatter follows.

use super::lexicon::LEXICON;
use super::standing::plain_words;
use super::{Words, value};
use crate::transcript::is_control_command;

/// How many words a message of chatter may have.
const CHATTER: usize = 8;
/// How long a question may be, in characters, that is settled once the user goes on.
const QUESTION: usize = 160;

/// Whether a message only keeps the conversation going: `continue`, `ok, thanks`, `👍`, `/model`.
pub(crate) fn is_chatter(text: &str) -> bool {
    let text = text.trim();
    if !text.chars().any(char::is_alphanumeric) {
        return true;
    }
    if text.starts_with('/') && !text.contains(char::is_whitespace) {
        return is_control_command(text);
    }
    if text.chars().count() > 120 || value::has_value(text) {
        return false;
    }
    let lower = LEXICON.chatter.without_phrases(&text.to_lowercase().replace('’', "'"));
    let words: Vec<&str> = plain_words(&lower).collect();
    words.len() <= CHATTER && words.iter().all(|word| LEXICON.chatter.has(word))
}

/// Whether a message asks for nothing beyond its answer.
fn is_question(text: &str) -> bool {
    let text = text.trim();
    text.ends_with(['?', '？', '؟'])
        && text.chars().count() <= QUESTION
        && !text.contains('\n')
        && !LEXICON.asks.opens(&text.to_lowercase())
}

/// The number of the message that says what is being worked on: the latest that is neither chatter nor a question that
/// the user went on from; without one, the last.
pub(crate) fn current(words: &[Words]) -> u32 {
    let last = words.last().map_or(0, |words| words.turn);
    let asks = |words: &&Words| !is_chatter(&words.text) && (words.turn == last || !is_question(&words.text));
    let asked = words.iter().rev().find(asks).or_else(|| words.iter().rev().find(|words| !is_chatter(&words.text)));
    asked.map_or(last, |words| words.turn)
}

/// The number of the first message that asks for something; without one, the first.
pub(crate) fn first(words: &[Words]) -> u32 {
    let asked = words.iter().find(|words| !is_chatter(&words.text)).or_else(|| words.first());
    asked.map_or(0, |words| words.turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str]) -> Vec<Words> {
        let words =
            |(turn, text): (u32, &&str)| Words { turn, part: false, text: (*text).to_owned(), changed_by: None };
        (1..).zip(texts).map(words).collect()
    }

    #[test]
    fn chatter_is_known_in_many_languages() {
        for text in [
            "hi",
            "continue",
            "yes",
            "ok, go on",
            "Next.",
            "And the rest?",
            "👍",
            "thanks!",
            "/mode",
            "/model",
            "Weiter, bitte.",
            "continúa",
            "继续",
            "好的，谢谢",
            "続けてください。",
            "계속해 주세요",
            "да, продолжай",
            "Next step please.",
            "What is left?",
            "…",
        ] {
            assert!(is_chatter(text), "{text}");
        }
        for text in [
            "Revert.",
            "No more retries.",
            "Port the parser.",
            "use 3",
            "/review src",
            "Deploy",
            "Keep it short.",
            "Pidä se lyhyenä",
            "继续处理第 3 页",
            "no tabs",
            "Stop.",
        ] {
            assert!(!is_chatter(text), "{text}");
        }
    }

    #[test]
    fn the_task_is_what_was_asked_for_last() {
        assert_eq!(current(&said(&["hi", "Port the parser.", "continue", "yes", "/mode"])), 2);
        assert_eq!(current(&said(&["Port the parser.", "What does \"idempotent\" mean?", "ok"])), 1);
        assert_eq!(current(&said(&["Port the parser.", "What does it mean?"])), 2);
        assert_eq!(current(&said(&["Port the parser.", "Could you please port the lexer too?", "ok"])), 2);
        assert_eq!(current(&said(&["hi", "yes"])), 2);
        assert_eq!(current(&said(&["What is it?", "ok"])), 1);
        assert_eq!(first(&said(&["hi", "Port the parser."])), 2);
        assert_eq!((current(&[]), first(&[])), (0, 0));
    }
}
