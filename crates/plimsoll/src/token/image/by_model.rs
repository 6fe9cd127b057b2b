//! Which rule a model counts images by, as far as its name tells.

use super::ImageRule;
use crate::model::{TokenizerHint, normalise, tokenizer};

impl ImageRule {
    /// The rule of a model; for a model that is not known the one that counts the most among those in common use.
    ///
    /// Where a provider's guide and what its API was measured to charge differ, the larger is taken. Sources: `docs/counting.md`,
    /// *Images*.
    ///
    /// ```
    /// use plimsoll::token::ImageRule;
    /// assert_eq!(ImageRule::for_model("claude-opus-4-8"), ImageRule::CLAUDE_4_7);
    /// assert_eq!(ImageRule::for_model("gpt-4.1-mini"), ImageRule::Patches32 { percent: 162, most: 1_536 });
    /// assert_eq!(ImageRule::for_model("gemini-2.5-flash"), ImageRule::GEMINI);
    /// ```
    pub fn for_model(model: &str) -> Self {
        match tokenizer(model) {
            TokenizerHint::O200kBase | TokenizerHint::O200kHarmony | TokenizerHint::Cl100kBase => openai(model),
            TokenizerHint::Claude { newer: true } => Self::CLAUDE_4_7,
            TokenizerHint::Gemini if version(model, "gemini").0 >= 3 => Self::GEMINI_3,
            TokenizerHint::Gemini => Self::GEMINI,
            // What is not known counts as the older Claudes do.
            TokenizerHint::Claude { newer: false }
            | TokenizerHint::Qwen2
            | TokenizerHint::Tekken
            | TokenizerHint::Llama3
            | TokenizerHint::DeepseekV3
            | TokenizerHint::Unknown => Self::CLAUDE,
        }
    }
}

/// Small models and later ones count patches, the others tiles.
fn openai(model: &str) -> ImageRule {
    let base = normalise(model).base;
    let small = |word: &str| base.split('-').any(|part| part == word);
    let patches = |percent, most| ImageRule::Patches32 { percent, most };
    match (version(model, "gpt"), small("mini"), small("nano")) {
        ((4, 1) | (5, _), true, _) => patches(162, 1_536),
        ((4, 1) | (5, _), _, true) => patches(246, 1_536),
        ((5, 4..), ..) => patches(120, 2_500),
        ((5, 2..), ..) => patches(120, 1_536),
        _ if base.starts_with("o4-mini") => patches(172, 1_536),
        _ => ImageRule::OPENAI_TILES,
    }
}

/// The version that follows a family's name: `gpt-4.1-mini` is 4.1.
fn version(model: &str, family: &str) -> (u32, u32) {
    let base = normalise(model).base;
    let mut parts = base.split('-').skip_while(|part| *part != family).skip(1);
    // A part of more than two digits is a date or a size.
    let mut number = || parts.next().filter(|part| part.len() <= 2).and_then(|part| part.parse::<u32>().ok());
    let major = number().unwrap_or(0);
    (major, if major > 0 { number().unwrap_or(0) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;
    use crate::token::ImageSize;

    #[test]
    fn each_generation_has_the_rule_that_its_images_are_charged_by() {
        let small = |percent| ImageRule::Patches32 { percent, most: 1_536 };
        for (model, rule) in [
            ("gpt-4o", ImageRule::OPENAI_TILES),
            ("gpt-4o-mini", ImageRule::OPENAI_TILES),
            ("gpt-4.1", ImageRule::OPENAI_TILES),
            ("openai/gpt-4.1-nano-2025-04-14", small(246)),
            ("gpt-5", ImageRule::OPENAI_TILES),
            ("gpt-5.1-codex", ImageRule::OPENAI_TILES),
            ("gpt-5-mini", small(162)),
            ("gpt-5.4-nano", small(246)),
            ("gpt-5.2", small(120)),
            ("gpt-5.4", ImageRule::Patches32 { percent: 120, most: 2_500 }),
            ("o4-mini", small(172)),
            ("o3", ImageRule::OPENAI_TILES),
            ("claude-3-5-sonnet-20241022", ImageRule::CLAUDE),
            ("gemini-2.5-pro", ImageRule::GEMINI),
            ("models/gemini-3-pro-preview", ImageRule::GEMINI_3),
            ("gemini-3.1-flash", ImageRule::GEMINI_3),
            ("my-model", ImageRule::CLAUDE),
        ] {
            assert_eq!(ImageRule::for_model(model), rule, "{model}");
        }
    }

    #[test]
    fn what_users_measured_is_never_more_than_what_is_counted() {
        // Published measurements of image tokens by API usage.
        for (model, width, height, charged) in [
            ("gpt-5-mini", 1_280, 720, 1_104),
            ("gpt-5-mini", 1_024, 1_024, 1_229),
            ("gpt-5-mini", 2_048, 768, 1_844),
            ("gpt-4.1-mini", 4_000, 1_474, 2_488),
            ("claude-opus-4-6", 2_576, 1_610, 1_561),
        ] {
            let counted = ImageRule::for_model(model).tokens(Some(ImageSize { width, height }));
            assert!(counted >= Tokens(charged), "{model} {width}x{height}: {counted} for {charged}");
        }
    }
}
