//! `Language`: which language some prose is in, by its script and its commonest words: enough to ask for a summary in it
//! and to notice one that is not.

use serde::{Deserialize, Serialize};

use crate::compact::ledger::Words;

/// A language that a person may write in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the language of its name")]
pub enum Language {
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Swedish,
    Danish,
    Polish,
    Czech,
    Turkish,
    Indonesian,
    Vietnamese,
    Russian,
    Ukrainian,
    Greek,
    Arabic,
    Persian,
    Hebrew,
    Hindi,
    Thai,
    Chinese,
    Japanese,
    Korean,
}

/// The commonest words of languages in Latin script: words that few others share.
const WORDS: [(Language, &str); 14] = [
    (
        Language::English,
        "the and is are was were to of that this with you it not for have be please can should what which don't do an by from has but all now when then fix make",
    ),
    (
        Language::German,
        "der die das und ist nicht ich du wir sie mit für auf eine einen ein zu den dem auch noch bitte kannst soll wird wurde sind aber wie was wenn nur mach immer nie dann kein keine im vom zum",
    ),
    (
        Language::French,
        "le les des et est une dans pour pas que qui avec sur ce cette je tu nous vous il elle au aux mais ne du sont peux veux fait être plus jamais toujours en aussi",
    ),
    (
        Language::Spanish,
        "el los las y es una para por que con del se no lo su como más pero está esta este son hay puedes quiero también ya muy haz nunca siempre cuando",
    ),
    (
        Language::Italian,
        "il lo gli e è una per che con del della di non sono si come più ma questo questa anche puoi voglio nel alla fare sempre mai ho hai deve",
    ),
    (
        Language::Portuguese,
        "o os as e é uma para por que com do da não se no na em mais mas isso este esta você pode também quero fazer são está sempre nunca ao",
    ),
    (
        Language::Dutch,
        "de het een en is niet ik je we met voor op van dat die zijn maar ook naar nog kan moet wordt worden dit graag wat als hoe bij",
    ),
    (
        Language::Swedish,
        "och är det att en ett inte jag du vi med för på som av den har kan ska till men också från när vill",
    ),
    (
        Language::Danish,
        "og er det at en et ikke jeg du vi med for på som af den har kan skal til men også fra når vil",
    ),
    (
        Language::Polish,
        "i w na z jest nie to się że do jak ale czy są dla po od tylko proszę można który która być już co",
    ),
    (
        Language::Czech,
        "a je v na se že to s z do jak ale jsou pro po od jen prosím který která být už co není také když",
    ),
    (
        Language::Turkish,
        "ve bir bu için ile değil var yok ama çok da de ne gibi olarak daha sonra lütfen ben sen olan her şu",
    ),
    (
        Language::Indonesian,
        "yang dan di ini itu dengan untuk tidak dari pada ke adalah akan bisa saya kamu juga sudah jangan harus ada",
    ),
    (
        Language::Vietnamese,
        "và là của cho không được các một có trong với này đó những để khi tôi bạn cũng như đã hãy thì",
    ),
];

impl Language {
    /// Its name in English, as a model is told it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::German => "German",
            Self::French => "French",
            Self::Spanish => "Spanish",
            Self::Italian => "Italian",
            Self::Portuguese => "Portuguese",
            Self::Dutch => "Dutch",
            Self::Swedish => "Swedish",
            Self::Danish => "Danish",
            Self::Polish => "Polish",
            Self::Czech => "Czech",
            Self::Turkish => "Turkish",
            Self::Indonesian => "Indonesian",
            Self::Vietnamese => "Vietnamese",
            Self::Russian => "Russian",
            Self::Ukrainian => "Ukrainian",
            Self::Greek => "Greek",
            Self::Arabic => "Arabic",
            Self::Persian => "Persian",
            Self::Hebrew => "Hebrew",
            Self::Hindi => "Hindi",
            Self::Thai => "Thai",
            Self::Chinese => "Chinese",
            Self::Japanese => "Japanese",
            Self::Korean => "Korean",
        }
    }

    /// The language of a text; `None` where it does not tell: too short, all code, or a language not known here.
    ///
    /// Code, paths and names are passed over. In scripts that one language uses, a few characters tell; in Latin
    /// script the commonest words do.
    ///
    /// ```
    /// use plimsoll::compact::Language;
    /// assert_eq!(Language::detect("Bitte behebe den Test, aber nicht in `main`."), Some(Language::German));
    /// assert_eq!(Language::detect("请修复这个测试"), Some(Language::Chinese));
    /// assert_eq!(Language::detect("src/main.rs:14"), None);
    /// ```
    pub fn detect(text: &str) -> Option<Self> {
        let prose = prose(text);
        by_script(&prose).unwrap_or_else(|| by_words(&prose))
    }

    /// The language that a user writes in: the one that most of the latest messages are in, the latest of equals.
    pub fn of_words(words: &[Words]) -> Option<Self> {
        let mut votes: Vec<(Self, usize)> = Vec::new();
        for language in words.iter().rev().take(RECENT).filter_map(|words| Self::detect(&words.text)) {
            match votes.iter_mut().find(|(known, _)| *known == language) {
                Some((_, count)) => *count += 1,
                None => votes.push((language, 1)),
            }
        }
        let most = votes.iter().map(|(_, count)| *count).max()?;
        votes.into_iter().find(|(_, count)| *count == most).map(|(language, _)| language)
    }
}

/// How many messages of the user are looked at for their language.
const RECENT: usize = 24;

/// How many words of a text are looked at.
const LOOKED_AT: usize = 2_000;

/// The words of a text that are no code, path or name, in lower case.
fn prose(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => {
                fence = Some(mark);
                continue;
            }
            (Some(open), Some(mark)) if open == mark => {
                fence = None;
                continue;
            }
            (Some(_), _) => continue,
            (None, None) => {}
        }
        // What stands between backquotes is code; an odd one at the end opens nothing.
        for part in line.split('`').step_by(2) {
            let plain = part.split_whitespace().filter(|word| !is_name(word));
            words.extend(plain.map(str::to_lowercase));
            if words.len() >= LOOKED_AT {
                return words;
            }
        }
    }
    words
}

/// Whether a word is a path, an address, an identifier or a number rather than a word of a language.
fn is_name(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    inner.is_ascii()
        && (inner.contains(['/', '\\', '_', '.', '=', '@', '(', '{', '<', ':', '#', '$'])
            || inner.chars().any(|c| c.is_ascii_digit())
            || inner.chars().skip(1).any(|c| c.is_ascii_uppercase()))
}

/// The language by script; `None` for Latin script, which many share.
fn by_script(words: &[String]) -> Option<Option<Language>> {
    let (mut latin, mut han, mut kana, mut hangul) = (0, 0, 0, 0);
    let (mut cyrillic, mut arabic, mut other) = (0, 0, [0; 4]);
    let (mut ukrainian, mut persian) = (0, 0);
    for c in words.iter().flat_map(|word| word.chars()) {
        match c {
            'a'..='z' | '\u{df}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => latin += 1,
            '\u{3040}'..='\u{30ff}' => kana += 1,
            '\u{3400}'..='\u{9fff}' => han += 1,
            '가'..='힣' => hangul += 1,
            '\u{400}'..='\u{4ff}' => {
                cyrillic += 1;
                ukrainian += usize::from(matches!(c, 'і' | 'ї' | 'є' | 'ґ'));
            }
            '\u{600}'..='\u{6ff}' => {
                arabic += 1;
                persian += usize::from(matches!(c, 'پ' | 'چ' | 'ژ' | 'گ' | 'ی' | 'ک'));
            }
            '\u{370}'..='\u{3ff}' => other[0] += 1,
            '\u{590}'..='\u{5ff}' => other[1] += 1,
            '\u{900}'..='\u{97f}' => other[2] += 1,
            '\u{e00}'..='\u{e7f}' => other[3] += 1,
            _ => {}
        }
    }
    let [greek, hebrew, hindi, thai] = other;
    // A character of a script without spaces says as much as a few letters; names in Latin letters stand in any text.
    let east = han + kana + hangul;
    let scripts = [
        (east * 3, if kana * 8 > han { Language::Japanese } else { Language::Chinese }),
        (cyrillic, if ukrainian > 0 { Language::Ukrainian } else { Language::Russian }),
        (arabic, if persian * 20 > arabic { Language::Persian } else { Language::Arabic }),
        (greek, Language::Greek),
        (hebrew, Language::Hebrew),
        (hindi, Language::Hindi),
        (thai, Language::Thai),
    ];
    let (weight, mut language) = scripts.into_iter().max_by_key(|(weight, _)| *weight)?;
    if east > 0 && hangul * 2 > east {
        language = Language::Korean;
    }
    if weight >= 3 && weight * 2 > latin { Some(Some(language)) } else { None }
}

/// The language by the commonest words, where one has clearly more of them than any other.
fn by_words(words: &[String]) -> Option<Language> {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let words: Vec<String> = words.iter().map(|word| bare(word)).filter(|word| !word.is_empty()).collect();
    let mut scores: Vec<(usize, Language)> = WORDS
        .iter()
        .map(|(language, common)| {
            let known: Vec<&str> = common.split(' ').collect();
            (words.iter().filter(|word| known.contains(&word.as_str())).count(), *language)
        })
        .collect();
    scores.sort_by_key(|(score, language)| (std::cmp::Reverse(*score), *language));
    let (best, language) = *scores.first()?;
    let (second, _) = *scores.get(1)?;
    // One word in eight is common in any prose; fewer in a long text are names that look like words.
    let enough = best >= 2 && best * 12 >= words.len();
    (enough && best > second).then_some(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_apart() {
        for (language, text) in [
            (Language::English, "Please fix the failing test and do not touch `main`."),
            (Language::German, "Mach den Test wieder grün, aber ändere nichts an der API."),
            (Language::French, "Corrige le test qui échoue, mais ne touche pas à la branche."),
            (Language::Spanish, "Arregla la prueba que falla, pero no toques los datos del cliente."),
            (Language::Italian, "Correggi il test che non passa, ma non toccare gli altri."),
            (Language::Portuguese, "Corrija o teste que falha, mas não mexa em nada mais do projeto."),
            (Language::Dutch, "Repareer de test, maar raak het bestand niet aan, dat moet zo blijven."),
            (Language::Swedish, "Laga testet som inte går igenom, men rör inte databasen och loggen."),
            (
                Language::Danish,
                "Ret den test, der ikke virker, men rør ikke ved databasen, som jeg har sat op, og af loggen.",
            ),
            (Language::Polish, "Napraw test, który nie przechodzi, ale nie zmieniaj bazy, to jest ważne."),
            (Language::Turkish, "Bu test için bir düzeltme yap ama veritabanı değil, çok önemli."),
            (Language::Indonesian, "Perbaiki tes yang gagal ini dan jangan ubah data untuk pelanggan."),
            (Language::Vietnamese, "Hãy sửa bài kiểm tra này và không được thay đổi dữ liệu của khách."),
            (Language::Russian, "Исправь тест, но не трогай базу данных."),
            (Language::Ukrainian, "Виправ тест, але не чіпай базу даних і нічого більше."),
            (Language::Chinese, "请修复这个失败的测试，不要修改 main 分支。"),
            (Language::Japanese, "このテストを直してください。データは変更しないで。"),
            (Language::Korean, "이 테스트를 고쳐 주세요. 데이터는 바꾸지 마세요."),
            (Language::Arabic, "أصلح الاختبار ولا تغير قاعدة البيانات."),
            (Language::Hebrew, "תקן את הבדיקה ואל תיגע בנתונים."),
            (Language::Hindi, "कृपया इस परीक्षण को ठीक करें।"),
            (Language::Thai, "ช่วยแก้ไขการทดสอบนี้"),
            (Language::Greek, "Διόρθωσε το τεστ χωρίς αλλαγές στη βάση."),
        ] {
            assert_eq!(Language::detect(text), Some(language), "{text}");
        }
    }

    #[test]
    fn what_is_no_prose_tells_no_language() {
        for text in [
            "",
            "ok",
            "cargo test -p plimsoll",
            "src/main.rs:14",
            "```\nthe and is are was\n```",
            "`the and is are`",
            "12 34",
        ] {
            assert_eq!(Language::detect(text), None, "{text}");
        }
    }

    #[test]
    fn code_and_names_in_a_message_do_not_make_it_english() {
        let text = "Führe `cargo test --all` aus und sag mir, was nicht geht: /srv/the/and/is/of.rs, the_and_is()";
        assert_eq!(Language::detect(text), Some(Language::German));
        assert_eq!(Language::detect("运行 cargo test，看看 src/lib.rs 有没有问题"), Some(Language::Chinese));
    }

    #[test]
    fn the_language_of_most_messages_is_the_users() {
        let said = |turn, text: &str| Words { turn, part: false, text: text.to_owned(), changed_by: None };
        let words = [
            said(1, "Please fix the test and do not touch the rest."),
            said(2, "Jetzt bitte noch die Doku, aber nur auf Deutsch."),
            said(3, "ok"),
            said(4, "Und dann mach das Ganze noch einmal für die API."),
        ];
        assert_eq!(Language::of_words(&words), Some(Language::German));
        assert_eq!(Language::of_words(&words[..2]), Some(Language::German), "the latest of equals");
        assert_eq!(Language::of_words(&[]), None);
    }
}
