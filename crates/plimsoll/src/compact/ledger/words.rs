//! `Words`: what the user said, verbatim, whole or by passages, and which of it a later message changed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::sentence::passages;
use super::standing::{self, Tier, plain_words};
use super::value;

/// A user's message, or a passage of one, verbatim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// The number of the message among the user's messages, from 1, over the whole history.
    pub turn: u32,
    /// Whether this is a passage rather than the whole message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// The text.
    pub text: String,
    /// The later message that says explicitly that this has changed. Both are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<u32>,
}

impl Words {
    /// Whether it says something that stands for the rest of the work: an obligation, a limit, a preference, a value.
    pub fn is_standing(&self) -> bool {
        passages(&self.text)
            .iter()
            .any(|passage| standing::weigh(passage).0 <= Tier::Value)
    }

    /// The message cut into its passages, each with the mark only if it is what the later message changed.
    pub(super) fn split(&self, all: &[Self]) -> Vec<Self> {
        let later: Vec<Passage> = all
            .iter()
            .filter(|words| Some(words.turn) == self.changed_by)
            .flat_map(|words| passages(&words.text))
            .map(Passage::read)
            .collect();
        passages(&self.text)
            .into_iter()
            .map(|text| {
                let passage = Passage::read(text);
                let changed = later.iter().any(|later| later.changes(&passage));
                Self {
                    turn: self.turn,
                    part: true,
                    text: text.to_owned(),
                    changed_by: self.changed_by.filter(|_| changed),
                }
            })
            .collect()
    }
}

/// Cues that something said before is void. One shared word of substance is enough.
const CANCELS: &[&str] = &[
    "forget",
    "ignore",
    "cancel",
    "drop",
    "scrap",
    "no longer",
    "never mind",
    "nevermind",
    "not anymore",
    "disregard",
    "withdraw",
    "vergiss",
    "ignoriere",
    "nicht mehr",
    "verwirf",
    "oublie",
    "ne plus",
    "annule",
    "olvida",
    "ya no",
    "cancela",
    "esqueça",
    "não mais",
    "dimentica",
    "non più",
    "annulla",
    "забудь",
    "больше не",
    "отмени",
    "忘记",
    "忘掉",
    "不再",
    "取消",
    "作废",
    "忘れて",
    "やめて",
    "取り消",
    "잊어",
    "취소",
    "더 이상",
];

/// Cues that something said before has another value now. The values on both sides must be there too.
const CHANGES: &[&str] = &[
    "now",
    "instead",
    "changed",
    "change",
    "actually",
    "rather than",
    "from now on",
    "correction",
    "moved",
    "extended",
    "raise",
    "raised",
    "lower",
    "lowered",
    "increase",
    "increased",
    "reduce",
    "reduced",
    "update",
    "updated",
    "new",
    "switch",
    "jetzt",
    "statt",
    "stattdessen",
    "geändert",
    "doch",
    "verschoben",
    "neue",
    "neuer",
    "neues",
    "ab sofort",
    "maintenant",
    "désormais",
    "plutôt",
    "au lieu",
    "changé",
    "reporté",
    "nouvelle",
    "nouveau",
    "ahora",
    "en lugar",
    "en vez",
    "cambia",
    "cambió",
    "nuevo",
    "nueva",
    "agora",
    "em vez",
    "mudou",
    "novo",
    "nova",
    "ora",
    "adesso",
    "invece",
    "cambiato",
    "nuovo",
    "nuova",
    "теперь",
    "вместо",
    "измен",
    "перенес",
    "новый",
    "现在",
    "現在",
    "改为",
    "改成",
    "改到",
    "改為",
    "而不是",
    "変更",
    "代わりに",
    "ではなく",
    "今は",
    "今から",
    "이제",
    "대신",
    "변경",
    "바뀌",
    "아니라",
];

/// Words that say nothing about what a passage is about.
const EMPTY: &[&str] = &[
    "that",
    "this",
    "these",
    "those",
    "with",
    "from",
    "have",
    "will",
    "when",
    "then",
    "them",
    "there",
    "they",
    "their",
    "your",
    "what",
    "which",
    "would",
    "could",
    "into",
    "about",
    "also",
    "just",
    "more",
    "most",
    "some",
    "make",
    "sure",
    "than",
    "here",
    "nicht",
    "eine",
    "einen",
    "einer",
    "dass",
    "sich",
    "auch",
    "noch",
    "wird",
    "sind",
    "über",
    "nach",
    "dans",
    "avec",
    "pour",
    "est",
    "para",
    "como",
    "della",
    "sono",
    "esta",
    "este",
    "для",
    "если",
    "когда",
    "чтобы",
];

/// Days and the like: values without digits.
const DAYS: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "tomorrow",
    "today",
    "tonight",
    "montag",
    "dienstag",
    "mittwoch",
    "donnerstag",
    "freitag",
    "samstag",
    "sonntag",
    "lundi",
    "mardi",
    "mercredi",
    "jeudi",
    "vendredi",
    "lunes",
    "martes",
    "miércoles",
    "jueves",
    "viernes",
    "segunda",
    "terça",
    "quarta",
    "quinta",
    "sexta",
    "понедельник",
    "пятница",
    "пятницу",
    "周一",
    "周五",
    "金曜",
    "月曜",
    "금요일",
    "월요일",
];

/// A passage as supersession looks at it.
struct Passage {
    terms: BTreeSet<String>,
    numbers: BTreeSet<String>,
    replaceable: bool,
    short: bool,
    standing: bool,
    cancels: bool,
    changes: bool,
}

impl Passage {
    fn read(text: &str) -> Self {
        let lower = text.to_lowercase();
        let cue = |list: &[&str]| {
            list.iter().any(|cue| {
                let anywhere = cue.contains(' ')
                    || cue.chars().any(|c| {
                        !c.is_alphabetic() || value::is_unspaced(c) || ('가'..='힣').contains(&c)
                    });
                if anywhere {
                    lower.contains(cue)
                } else {
                    plain_words(&lower).any(|word| {
                        word == *cue
                            || (cue.chars().count() >= 5
                                && !cue.is_ascii()
                                && word.starts_with(cue))
                    })
                }
            })
        };
        // At the start of a sentence "now" only says what comes next.
        let leads =
            lower.starts_with("now ") || lower.starts_with("jetzt ") || lower.starts_with("not ");
        let cancels = cue(CANCELS);
        let is_cue = |word: &str| {
            CANCELS.contains(&word)
                || CHANGES.contains(&word)
                || EMPTY.contains(&word)
                || DAYS.contains(&word)
        };
        // What a path or an address is made of says nothing about what the passage is about.
        let mut terms: BTreeSet<String> = value::words(&lower)
            .filter(|word| !value::is_identifier(word))
            .flat_map(plain_words)
            .filter(|word| {
                word.chars().count() >= 4 && !word.chars().any(char::is_numeric) && !is_cue(word)
            })
            .map(|word| word.chars().take(6).collect())
            .collect();
        let wide: Vec<char> = lower.chars().collect();
        for pair in wide.windows(2) {
            if pair.iter().all(
                |c| matches!(c, '\u{30a0}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '가'..='힣'),
            ) {
                terms.insert(pair.iter().collect());
            }
        }
        let numbers = value::words(&lower)
            .filter(|word| word.chars().any(char::is_numeric))
            .map(str::to_owned)
            .collect();
        let day = DAYS.iter().any(|day| lower.contains(day));
        Self {
            terms,
            numbers,
            replaceable: day || value::has_value(text),
            short: text.chars().count() <= 160,
            standing: standing::weigh(text).0 <= Tier::Value,
            cancels,
            changes: cancels || (!leads && cue(CHANGES)),
        }
    }

    /// Whether this passage says explicitly that an earlier one no longer holds as it was said.
    fn changes(&self, earlier: &Self) -> bool {
        if !self.changes || !earlier.standing {
            return false;
        }
        let shared = self.terms.intersection(&earlier.terms).count();
        let same_number = self
            .numbers
            .iter()
            .any(|number| earlier.numbers.contains(number));
        let another_number = self
            .numbers
            .iter()
            .any(|number| !earlier.numbers.contains(number));
        let replaced = self.replaceable
            && earlier.replaceable
            && (self.numbers.is_empty() || earlier.numbers.is_empty() || another_number);
        (self.cancels && shared >= 1 && self.short)
            || (replaced && self.short && shared >= 1)
            || (same_number && another_number && shared >= 1)
    }
}

/// Marks what later messages explicitly changed. Chronological order is the rule; nothing is dropped.
pub(super) fn mark_changes(words: &mut [Words]) {
    let read: Vec<(u32, Vec<Passage>)> = words
        .iter()
        .map(|words| {
            (
                words.turn,
                passages(&words.text)
                    .into_iter()
                    .filter(|text| !value::is_bulk(text))
                    .map(Passage::read)
                    .collect(),
            )
        })
        .collect();
    let changers: Vec<(u32, &Passage)> = read
        .iter()
        .flat_map(|(turn, passages)| {
            passages
                .iter()
                .filter(|passage| passage.changes)
                .map(|passage| (*turn, passage))
        })
        .collect();
    for (words, (turn, earlier)) in words.iter_mut().zip(&read) {
        let later = changers.iter().filter(|(later, changer)| {
            later > turn && earlier.iter().any(|passage| changer.changes(passage))
        });
        words.changed_by = later.map(|(later, _)| *later).chain(words.changed_by).max();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(texts: &[&str]) -> Vec<Option<u32>> {
        let mut words: Vec<Words> = (1..)
            .zip(texts)
            .map(|(turn, text)| Words {
                turn,
                part: false,
                text: (*text).to_owned(),
                changed_by: None,
            })
            .collect();
        mark_changes(&mut words);
        words.into_iter().map(|words| words.changed_by).collect()
    }

    #[test]
    fn an_explicit_change_marks_the_earlier_words() {
        assert_eq!(
            changed(&["The limit is 30 requests.", "The limit is now 50, not 30."]),
            [Some(2), None]
        );
        assert_eq!(
            changed(&["The deadline is Friday.", "go on", "Forget the deadline."]),
            [Some(3), None, None]
        );
        assert_eq!(
            changed(&["Deadline is Friday 17:00", "The deadline moved to Monday."]),
            [Some(2), None]
        );
        assert_eq!(
            changed(&["Das Limit ist 30.", "Das Limit ist jetzt 50."]),
            [Some(2), None]
        );
        assert_eq!(
            changed(&["重试上限是 30 次。", "重试上限改为 50 次。"]),
            [Some(2), None]
        );
        assert_eq!(
            changed(&["Use port 8080.", "Actually use port 9090 instead."]),
            [Some(2), None]
        );
    }

    #[test]
    fn nothing_is_marked_on_suspicion() {
        for later in [
            "Now run the tests.",
            "Add a limit of 5 MB to uploads too.",
            "What is the limit?",
            "The color is now blue.",
            "Never call the payment service.",
        ] {
            assert_eq!(
                changed(&["The limit is 30 requests.", later]),
                [None, None],
                "{later}"
            );
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
            Words {
                turn: 2,
                part: false,
                text: "The limit is now 50, not 30.".to_owned(),
                changed_by: None,
            },
        ];
        mark_changes(&mut words);
        let marks: Vec<_> = words[0]
            .split(&words)
            .into_iter()
            .map(|part| part.changed_by)
            .collect();
        assert_eq!(marks, [None, Some(2), None]);
    }
}
