//! Which tokenizer a model uses, as far as its name tells.

use serde::{Deserialize, Serialize};

use super::normalise;

/// The tokenizer of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TokenizerHint {
    /// OpenAI's `o200k_base`: GPT-4o, GPT-4.1, GPT-5, the o series.
    O200kBase,
    /// OpenAI's `o200k_harmony`: the open-weight gpt-oss models.
    O200kHarmony,
    /// OpenAI's `cl100k_base`: GPT-4, GPT-3.5.
    Cl100kBase,
    /// One of Anthropic's, which are not published.
    Claude {
        /// Whether it is of the generation that began with 4.7 and makes about 30 % more tokens of the same text.
        newer: bool,
    },
    /// Google's for Gemini, which is not published.
    Gemini,
    /// Qwen's from 2 to 3.
    Qwen2,
    /// Mistral's Tekken, as `NeMo` brought it.
    Tekken,
    /// Meta's from Llama 3 to 3.3.
    Llama3,
    /// `DeepSeek`'s from V3 on, which R1 and V4 kept.
    DeepseekV3,
    /// The name does not tell.
    Unknown,
}

/// Tells which tokenizer a model uses by its name; `Unknown` where the name does not say, never a near guess.
///
/// The OpenAI rows follow OpenAI's own table in its `tiktoken` package, which ends at the GPT-5 family. A Claude
/// name without a version means the newest model, and so the newer tokenizer, which also errs on the high side.
///
/// ```
/// use plimsoll::model::{TokenizerHint, tokenizer};
/// assert_eq!(tokenizer("azure/gpt-4o-2024-08-06"), TokenizerHint::O200kBase);
/// assert_eq!(tokenizer("gpt-4-1106-preview"), TokenizerHint::Cl100kBase); // not version 4.1
/// assert_eq!(tokenizer("claude-sonnet-4-20250514"), TokenizerHint::Claude { newer: false });
/// assert_eq!(tokenizer("claude-opus-4.8"), TokenizerHint::Claude { newer: true });
/// assert_eq!(tokenizer("Qwen/Qwen2.5-72B-Instruct"), TokenizerHint::Qwen2);
/// assert_eq!(tokenizer("my-model"), TokenizerHint::Unknown);
/// ```
pub fn tokenizer(model: &str) -> TokenizerHint {
    let name = normalise(model);
    if let Some(hint) = open_model(&name.base) {
        return hint;
    }
    let mut parts = name.base.split('-');
    let family = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let second = rest.first().copied().unwrap_or_default();
    match (family, second) {
        ("claude", _) => TokenizerHint::Claude { newer: is_newer_claude(&rest) },
        ("gemini", _) => TokenizerHint::Gemini,
        ("gpt", "oss") => TokenizerHint::O200kHarmony,
        ("gpt" | "chatgpt", "4o" | "5") | ("o1" | "o3" | "o4", _) => TokenizerHint::O200kBase,
        ("gpt", "4") => match rest.get(1).copied() {
            Some("1" | "5") => TokenizerHint::O200kBase,
            _ => TokenizerHint::Cl100kBase,
        },
        ("gpt", "35") => TokenizerHint::Cl100kBase,
        ("gpt", "3") if rest.get(1).copied() == Some("5") => TokenizerHint::Cl100kBase,
        _ => TokenizerHint::Unknown,
    }
}

/// The tokenizer of an open model. Models that a maker only serves (`max`, `plus`, `turbo`, `flash`) do not say theirs, and a
/// distilled model has that of the model it was made from.
fn open_model(base: &str) -> Option<TokenizerHint> {
    let parts: Vec<&str> = base.split(['-', ':', '_']).filter(|part| !matches!(*part, "meta" | "open")).collect();
    let (family, rest) = parts.split_first()?;
    if rest.iter().any(|part| matches!(*part, "max" | "plus" | "turbo" | "distill")) {
        return None;
    }
    // `qwen3` and `qwen-3` are one: the name, the version's two numbers, and what follows the first.
    let digits = family.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let word = family.strip_suffix(digits).unwrap_or(family);
    let (major, rest) = if digits.is_empty() { rest.split_first()? } else { (&digits, rest) };
    let minor = rest.first().copied().filter(|part| part.len() == 1);
    let size = rest.iter().find_map(|part| part.strip_suffix('b')?.parse::<u32>().ok());
    match (word, *major, minor) {
        // 3.5 has another vocabulary.
        ("qwen", "2", None | Some("5")) | ("qwen", "3", None) | ("qwq", "32b", _) if !rest.contains(&"flash") => {
            Some(TokenizerHint::Qwen2)
        }
        ("mistral", "nemo", _) | ("pixtral", "12b", _) => Some(TokenizerHint::Tekken),
        ("llama", "3", None | Some("1" | "2" | "3")) => Some(TokenizerHint::Llama3),
        ("deepseek", "v3" | "v4" | "chat" | "reasoner", _) => Some(TokenizerHint::DeepseekV3),
        // Those of R1's names with another size are Qwens and Llamas that were taught by it.
        ("deepseek", "r1", _) if size.is_none_or(|size| size == 671) => Some(TokenizerHint::DeepseekV3),
        _ => None,
    }
}

/// Whether a Claude of these name parts has the tokenizer that began with 4.7.
fn is_newer_claude(parts: &[&str]) -> bool {
    // A part of more than two digits is a date or a count, never a version.
    let number = |part: &&str| {
        // `v2:1` is Bedrock's way to write 2.1.
        let part = part.split(':').next()?;
        part.strip_prefix('v').unwrap_or(part).parse::<u32>().ok().filter(|_| part.len() <= 2)
    };
    let Some(at) = parts.iter().position(|part| number(part).is_some()) else {
        return !parts.contains(&"instant");
    };
    let major = parts.get(at).and_then(number).unwrap_or(0);
    let minor = parts.get(at.saturating_add(1)).and_then(number).unwrap_or(0);
    (major, minor) >= (4, 7)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn openai_models_have_their_published_encodings() {
        use TokenizerHint::{Cl100kBase, O200kBase, O200kHarmony, Unknown};
        for (name, hint) in [
            ("gpt-4o", O200kBase),
            ("ft:gpt-4o-mini-2024-07-18:acme::x", O200kBase),
            ("chatgpt-4o-latest", O200kBase),
            ("gpt-4.1-mini", O200kBase),
            ("gpt-4.5-preview", O200kBase),
            ("gpt-5.2-codex", O200kBase),
            ("openai/o3-mini", O200kBase),
            ("o1", O200kBase),
            ("openai.gpt-oss-120b-1:0", O200kHarmony),
            ("gpt-oss:20b", O200kHarmony),
            ("gpt-4", Cl100kBase),
            ("gpt-4-32k", Cl100kBase),
            ("gpt-4-turbo-2024-04-09", Cl100kBase),
            ("gpt-3.5-turbo-0125", Cl100kBase),
            ("azure/gpt-35-turbo", Cl100kBase),
            ("gpt-6-sol", Unknown),
            ("gpt", Unknown),
            ("o200", Unknown),
            ("", Unknown),
        ] {
            assert_eq!(tokenizer(name), hint, "{name}");
        }
    }

    #[test]
    fn mechanism_38_a_date_is_not_a_version_of_the_tokenizer() {
        assert_eq!(tokenizer("gpt-4-1106-preview"), TokenizerHint::Cl100kBase);
        assert_eq!(tokenizer("gpt-4-0125-preview"), TokenizerHint::Cl100kBase);
        for old in [
            "claude-3-5-sonnet-20241022",
            "claude-sonnet-4-20250514",
            "claude-opus-4@20250514",
            "claude-opus-4-1-20250805",
            "claude-haiku-4-5-20251001",
            "us.anthropic.claude-sonnet-4-6",
            "anthropic.claude-opus-4-6-v1",
            "claude-v2:1",
            "claude-instant-v1",
        ] {
            assert_eq!(tokenizer(old), TokenizerHint::Claude { newer: false }, "{old}");
        }
        for newer in
            ["claude-opus-4-7", "claude-opus-4.8[1m]", "claude-sonnet-5-5", "claude-fable-5", "claude-mythos-preview"]
        {
            assert_eq!(tokenizer(newer), TokenizerHint::Claude { newer: true }, "{newer}");
        }
    }

    #[test]
    fn open_models_have_the_tokenizer_of_their_generation_and_others_none() {
        use TokenizerHint::{DeepseekV3, Llama3, Qwen2, Tekken, Unknown};
        for (name, hint) in [
            ("Qwen/Qwen2-7B", Qwen2),
            ("qwen2.5-coder:32b", Qwen2),
            ("qwen/qwen-2.5-72b-instruct", Qwen2),
            ("qwen3:8b", Qwen2),
            ("Qwen/Qwen3-235B-A22B-Instruct-2507", Qwen2),
            ("qwen3-coder-30b-a3b-instruct", Qwen2),
            ("qwq-32b", Qwen2),
            ("qwen3.5-27b", Unknown),
            ("qwen-3.6", Unknown),
            ("qwen3-max", Unknown),
            ("qwen-plus", Unknown),
            ("qwen3-coder-flash", Unknown),
            ("codeqwen1.5-7b", Unknown),
            ("mistral-nemo", Tekken),
            ("open-mistral-nemo-2407", Tekken),
            ("mistralai/Pixtral-12B-2409", Tekken),
            ("mistral-7b-instruct", Unknown),
            ("mistral-large-latest", Unknown),
            ("meta-llama/Meta-Llama-3-8B", Llama3),
            ("llama3.1:70b", Llama3),
            ("us.meta.llama3-3-70b-instruct-v1:0", Llama3),
            ("groq/llama-3.3-70b-versatile", Llama3),
            ("llama-2-70b", Unknown),
            ("llama-4-scout", Unknown),
            ("llama-3b", Unknown),
            ("deepseek-ai/DeepSeek-V3.1", DeepseekV3),
            ("deepseek-v4-pro", DeepseekV3),
            ("deepseek-chat", DeepseekV3),
            ("deepseek/deepseek-r1-0528", DeepseekV3),
            ("deepseek-r1:671b", DeepseekV3),
            ("deepseek-r1:8b", Unknown),
            ("deepseek-r1-distill-llama-70b", Unknown),
            ("deepseek-r1-0528-qwen3-8b", Unknown),
            ("deepseek-coder-v2", Unknown),
        ] {
            assert_eq!(tokenizer(name), hint, "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_hint(name in any::<String>()) {
            tokenizer(&name);
        }
    }
}
