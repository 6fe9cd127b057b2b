//! How much weight a passage of a user's message has: words of obligation, limits, preferences, in many languages.
//!
//! The lists only help to rank. What they miss is kept all the same while there is room, and a passage that carries a
//! value or is a short imperative counts in any language.

use super::lexicon::LEXICON;
use super::value;

/// The tiers of a passage, the weightiest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// A standing instruction: words of obligation, limit, deadline or preference.
    Standing,
    /// It carries a value.
    Value,
    /// A short passage: in a language whose words are not known it may be an imperative.
    Short,
    /// Other words.
    Plain,
    /// Pasted text.
    Bulk,
}

/// How long a passage may be, in characters, to count as a short imperative.
const SHORT: usize = 90;

/// Judges the weight of a passage: its tier, and within it a score (higher is weightier).
pub(crate) fn weigh(passage: &str) -> (Tier, u8) {
    if value::is_bulk(passage) {
        return (Tier::Bulk, 0);
    }
    let lower = passage.to_lowercase();
    let words: Vec<&str> = plain_words(&lower).collect();
    let strong = LEXICON.standing.is_in(&lower, &words);
    let weak = LEXICON.negation.is_in(&lower, &words) || words.iter().any(|word| word.ends_with("n't"));
    let carries = value::has_value(passage);
    let short = passage.chars().count() <= SHORT;
    let asks = LEXICON.asks.opens(&lower);
    // `Could you please stop using semicolons?` wants no answer.
    let question = passage.ends_with(['?', '？', '؟']) && !asks;
    let mut score = 2 + value::worth(passage) + u8::from(weak) * 2 + u8::from(short) + u8::from(strong) * 2;
    if question || asks {
        score -= 2;
    }
    let tier = if (strong || (weak && short)) && !question {
        Tier::Standing
    } else if carries {
        Tier::Value
    } else if short {
        Tier::Short
    } else {
        Tier::Plain
    };
    (tier, score)
}

/// The words of a text in the sense of a language: letters and apostrophes.
pub(crate) fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’' || is_mark(c)))
        .filter(|word| !word.is_empty())
}

/// Combining marks of scripts that need them inside words.
const fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94d}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_words_are_known_in_many_languages() {
        for text in [
            "Never push to main.",
            "Please keep the diff small",
            "Bitte niemals auf main pushen.",
            "Il ne faut jamais toucher la base.",
            "El límite es 30.",
            "O prazo é sexta.",
            "Non usare mai eval, preferisco ast.",
            "Никогда не удаляй файлы.",
            "不要修改配置文件。",
            "テストは必ず実行してください。",
            "절대 푸시하지 마세요.",
            "يجب أن تكتب الاختبارات",
            "कभी भी डेटा मत मिटाओ",
            "I like short commit messages.",
            "not in production",
            "İsimleri asla değiştirme",
        ] {
            assert_eq!(weigh(text).0, Tier::Standing, "{text}");
        }
    }

    #[test]
    fn what_no_list_knows_still_has_weight() {
        assert_eq!(weigh("Aloita kohdasta B12").0, Tier::Value);
        assert_eq!(weigh("Pidä se lyhyenä").0, Tier::Short);
        assert_eq!(weigh(&format!("```\n{}\n```", "x = 1\n".repeat(100))).0, Tier::Bulk);
        assert!(weigh("use 30 retries, not 50").1 > weigh("use retries").1);
        assert!(weigh("Send it to a.b@example.org").1 > weigh("Please do part 7 next").1);
        assert_ne!(weigh("Should we use tabs?").0, Tier::Standing);
        assert_eq!(weigh("Could you please stop using semicolons?").0, Tier::Standing);
        assert_ne!(weigh("Could you look at the tests?").0, Tier::Standing);
    }
}
