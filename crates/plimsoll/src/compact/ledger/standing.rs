//! How much weight a passage of a user's message has: words of obligation, limits, preferences, in many languages.
//!
//! The lists only help to rank. What they miss is kept all the same while there is room, and a passage that carries a
//! value or is a short imperative counts in any language.

use super::value;

/// Words of obligation, prohibition, limit, deadline, preference. Lower case; matched as whole words.
const STRONG: &[&str] = &[
    // English
    "never", "always", "must", "mustn't", "mustnt", "shall", "don't", "dont", "only", "should", "shouldn't", "cannot", "can't",
    "require", "required", "requires", "ensure", "avoid", "without", "except", "unless", "until", "limit", "limits", "maximum",
    "minimum", "max", "min", "deadline", "due", "before", "prefer", "prefers", "preferred", "preference", "rather", "remember",
    "important", "forbidden", "allowed", "disallowed", "rule", "rules", "constraint", "constraints", "budget", "exactly", "stick",
    "strictly", "prohibited", "mandatory", "need", "needs", "keep", "monday", "tuesday", "wednesday", "thursday", "friday",
    "saturday", "sunday", "tomorrow", "tonight", "hate", "like", "love", "favourite", "favorite", "want", "wants", "please",
    // German
    "nie", "niemals", "immer", "muss", "müssen", "musst", "darf", "darfst", "dürfen", "nur", "soll", "sollen", "sollte", "sollst",
    "höchstens", "mindestens", "maximal", "minimal", "grenze", "frist", "spätestens", "lieber", "bevorzuge", "statt", "ohne",
    "außer", "wichtig", "verboten", "erlaubt", "ausschließlich", "bitte", "unbedingt", "keinesfalls", "montag", "dienstag",
    "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "morgen", "obergrenze", "nutze", "verwende", "behalte",
    // French
    "jamais", "toujours", "doit", "doivent", "dois", "devez", "faut", "seulement", "uniquement", "limite", "délai", "échéance",
    "préfère", "préférons", "plutôt", "sans", "sauf", "interdit", "obligatoire", "évite", "évitez", "désormais", "lundi",
    "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "demain", "avant", "utilise", "utilisez", "garde", "gardez",
    // Spanish, Portuguese, Italian
    "nunca", "siempre", "sempre", "mai", "debe", "deben", "debes", "deve", "devem", "devono", "devi", "bisogna", "solo", "sólo",
    "solamente", "somente", "apenas", "só", "soltanto", "máximo", "mínimo", "massimo", "minimo", "límite", "plazo", "prazo",
    "scadenza", "prefiero", "prefiro", "preferisco", "sin", "sem", "senza", "excepto", "exceto", "tranne", "prohibido",
    "proibido", "vietato", "obligatorio", "obrigatório", "obbligatorio", "importante", "evita", "evite", "antes", "viernes",
    "lunes", "martes", "miércoles", "jueves", "sábado", "domingo", "segunda", "terça", "quarta", "quinta", "sexta", "lunedì",
    "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica", "mañana", "amanhã", "domani", "usa", "mantén", "mantenha",
    // Dutch, Scandinavian, Polish, Turkish, Indonesian, Vietnamese
    "nooit", "altijd", "moet", "moeten", "alleen", "maximaal", "minimaal", "limiet", "uiterlijk", "liever", "zonder", "behalve",
    "verboden", "aldrig", "alltid", "altid", "måste", "skal", "ska", "bara", "endast", "kun", "högst", "minst", "gräns", "nigdy",
    "zawsze", "musi", "muszą", "tylko", "maksymalnie", "termin", "wolę", "bez", "oprócz", "asla", "mutlaka", "sadece", "yalnızca",
    "fazla", "sınır", "tercih", "jangan", "selalu", "harus", "hanya", "maksimal", "tanpa", "không", "luôn", "chỉ", "phải",
    // Russian, Ukrainian
    "никогда", "всегда", "должен", "должна", "должно", "должны", "нельзя", "только", "нужно", "надо", "обязательно", "максимум",
    "минимум", "лимит", "срок", "дедлайн", "предпочитаю", "лучше", "без", "кроме", "важно", "запрещено", "пожалуйста", "используй",
    "ніколи", "завжди", "повинен", "повинна", "тільки", "лише", "треба", "понедельник", "вторник", "среда", "среду", "четверг",
    "пятница", "пятницу", "пятницы", "суббота", "воскресенье", "завтра",
    // Arabic, Hebrew, Hindi
    "يجب", "دائما", "دائمًا", "أبدا", "أبدًا", "فقط", "الحد", "قبل", "بدون", "ممنوع", "לעולם", "תמיד", "חייב", "רק", "עד",
    "कभी", "हमेशा", "केवल", "सिर्फ", "मत", "चाहिए", "अधिकतम", "न्यूनतम", "सीमा",
];

/// The same as phrases, and in scripts without spaces: found anywhere.
const PHRASES: &[&str] = &[
    "do not", "make sure", "at most", "at least", "no more than", "no less than", "has to", "have to", "from now on", "no longer",
    "by the end of", "end of day", "end of the", "instead of", "stick to", "call it", "is called", "are called", "named", "under no",
    "auf keinen fall", "nicht mehr", "ab jetzt", "ab sofort", "ne pas", "ne jamais", "au plus", "au moins", "il faut", "hay que",
    "a más tardar", "como máximo", "no máximo", "pelo menos", "al massimo", "almeno", "entro il", "en vez de", "em vez de", "invece di",
    "her zaman", "en az", "tối đa", "tối thiểu", "не более", "не менее", "не больше", "не позднее", "ни в коем", "больше не",
    "不要", "不得", "不能", "不可", "禁止", "必须", "必須", "务必", "務必", "总是", "總是", "始终", "从不", "绝不", "永远", "永遠", "只能", "只用",
    "仅", "僅", "至少", "最多", "不超过", "不超過", "上限", "下限", "限制", "截止", "期限", "之前", "以前", "优先", "優先", "喜欢", "喜歡", "偏好",
    "请", "請", "应该", "應該", "需要", "记住", "記住", "注意", "重要", "别", "从现在", "周五", "周一", "明天",
    "しないで", "必ず", "絶対", "常に", "いつも", "だけ", "のみ", "以内", "以上", "以下", "まで", "締め切り", "締切", "好み", "ください", "なければ",
    "べき", "必要", "覚えて", "決して", "ないこと", "金曜", "月曜", "明日",
    "절대", "항상", "반드시", "하지 마", "하지마", "마세요", "말 것", "금지", "오직", "최대", "최소", "이하", "이상", "까지", "마감", "기한", "한도",
    "제한", "선호", "해야", "필요", "기억", "주의", "중요", "주세요", "금요일", "월요일", "내일",
    "ห้าม", "ต้อง", "เสมอ", "เท่านั้น",
];

/// Plain negations: too common to tell alone, a reason among others.
const WEAK: &[&str] = &[
    "no", "not", "nicht", "kein", "keine", "keinen", "pas", "aucun", "aucune", "não", "non", "niet", "geen", "inte", "ikke", "nie",
    "не", "нет", "ні", "لا", "לא", "नहीं",
];

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
    let mut strong = PHRASES.iter().any(|phrase| lower.contains(phrase));
    let mut weak = false;
    for word in plain_words(&lower) {
        strong = strong || STRONG.contains(&word);
        weak = weak || WEAK.contains(&word) || word.ends_with("n't");
    }
    let carries = value::has_value(passage);
    let short = passage.chars().count() <= SHORT;
    let question = passage.ends_with(['?', '？', '؟']);
    let score = u8::from(carries) * 4 + u8::from(weak) * 2 + u8::from(short) - u8::from(question && (carries || weak || short));
    match (strong, carries, weak && short, short) {
        (true, ..) if !question => (Tier::Standing, score + 2),
        (_, _, true, _) if !question => (Tier::Standing, score),
        (_, true, ..) => (Tier::Value, score),
        (_, _, _, true) => (Tier::Short, score),
        _ => (Tier::Plain, score),
    }
}

/// The words of a text in the sense of a language: letters and apostrophes.
pub(crate) fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’' || is_mark(c))).filter(|word| !word.is_empty())
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
            "Never push to main.", "Please keep the diff small", "Bitte niemals auf main pushen.", "Il ne faut jamais toucher la base.",
            "El límite es 30.", "O prazo é sexta.", "Non usare mai eval, preferisco ast.", "Никогда не удаляй файлы.", "不要修改配置文件。",
            "テストは必ず実行してください。", "절대 푸시하지 마세요.", "يجب أن تكتب الاختبارات", "कभी भी डेटा मत मिटाओ", "I like short commit messages.",
            "not in production", "İsimleri asla değiştirme",
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
        assert_ne!(weigh("Should we use tabs?").0, Tier::Standing);
    }
}
