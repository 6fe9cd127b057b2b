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
/// assert_eq!(tokenizer("my-model"), TokenizerHint::Unknown);
/// ```
pub fn tokenizer(model: &str) -> TokenizerHint {
    let name = normalise(model);
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

    proptest! {
        #[test]
        fn any_text_has_a_hint(name in any::<String>()) {
            tokenizer(&name);
        }
    }
}
