//! `Counting`: how the tokens of one model's conversations are counted, text and media.

use super::Count;
use crate::Tokens;
use crate::model::{TokenizerHint, tokenizer};
use crate::token::{Calibration, Counter, Encoding, Family, ImageRule, ImageSize, Method};
use crate::transcript::{Media, MediaKind};

/// Base64 bytes of a PDF that stand for a page: pages of text and pictures are seldom smaller.
const PDF_BYTES_A_PAGE: u64 = 50_000;

/// Counts text by a model's tokenizer, or an estimator of its family, and media by its provider's rule.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::budget::{Count, Counting};
/// use plimsoll::token::Method;
/// let exact = Counting::for_model(Some("gpt-4o"));
/// assert_eq!((exact.name(), exact.text("one two three")), ("o200k_base", Tokens(3)));
/// let estimated = Counting::for_model(Some("no-such-model"));
/// assert_eq!(estimated.method(), Method::Estimated);
/// ```
#[derive(Debug, Clone)]
pub struct Counting {
    counter: Counter,
    images: ImageRule,
    model: Option<String>,
}

impl Counting {
    /// Counts as a model does, as far as its name tells and this build carries its vocabulary; without a model, as an
    /// unknown one.
    pub fn for_model(model: Option<&str>) -> Self {
        let named = |counting: Self| Self { model: model.map(str::to_owned), ..counting };
        let hint = model.map_or(TokenizerHint::Unknown, tokenizer);
        let family = match hint {
            TokenizerHint::Claude { newer: false } => Family::Claude,
            TokenizerHint::Claude { newer: true } => Family::Claude47,
            TokenizerHint::Gemini => Family::Gemini,
            _ => Family::Generic,
        };
        let images = ImageRule::for_model(model.unwrap_or_default());
        let counter = Encoding::of(hint).map_or_else(|| Counter::estimated(family), Counter::exact);
        named(Self { counter, images, model: None })
    }

    /// Counts text by an encoding of `OpenAI`, and images by `OpenAI`'s rule.
    pub const fn exact(encoding: Encoding) -> Self {
        Self { counter: Counter::exact(encoding), images: ImageRule::OPENAI_TILES, model: None }
    }

    /// Corrects its estimates by what usage has taught of the model.
    ///
    /// ```
    /// use plimsoll::Tokens;
    /// use plimsoll::budget::{Count, Counting};
    /// use plimsoll::token::{Calibration, Method, Script};
    /// let mut learned = Calibration::default();
    /// for _ in 0..3 {
    ///     learned.observe(Script::Latin, Tokens(1_000), Tokens(1_100));
    /// }
    /// let counting = Counting::for_model(Some("claude-sonnet-4-5")).calibrated(&learned);
    /// assert_eq!(counting.method(), Method::Calibrated);
    /// ```
    #[must_use]
    pub fn calibrated(self, learned: &Calibration) -> Self {
        Self { counter: self.counter.calibrated(learned), ..self }
    }

    /// What counts the text.
    pub const fn counter(&self) -> &Counter {
        &self.counter
    }

    /// The tokenizer's or estimator's name.
    pub const fn name(&self) -> &'static str {
        self.counter.name()
    }
}

impl Count for Counting {
    fn text(&self, text: &str) -> Tokens {
        self.counter.count(text)
    }

    fn media(&self, media: &Media<'_>) -> Tokens {
        let bytes = media.data.map_or(0, |data| data.raw().len() as u64);
        match media.kind {
            MediaKind::Image => {
                let size = media.data.and_then(|data| ImageSize::of_base64(&data.decode_start(200_000)));
                if media.low_detail { self.images.low_detail(size) } else { self.images.tokens(size) }
            }
            MediaKind::Document | MediaKind::File => self.images.pdf_tokens(1 + bytes / PDF_BYTES_A_PAGE),
            // 32 tokens a second (Gemini's guide), at 16 KB a second: some 21 KB in base64.
            MediaKind::Audio => Tokens(32 + bytes / 666),
        }
    }

    fn method(&self) -> Method {
        self.counter.method()
    }

    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Text;

    #[test]
    fn an_open_model_is_counted_exactly_where_its_vocabulary_is_built_in_and_estimated_elsewhere() {
        let image = Media { kind: MediaKind::Image, media_type: None, data: None, low_detail: false };
        for (model, encoding, built) in [
            ("qwen3:8b", "qwen2", cfg!(feature = "qwen")),
            ("mistral-nemo", "tekken", cfg!(feature = "mistral")),
            ("meta-llama/Llama-3.1-8B-Instruct", "llama3", cfg!(feature = "llama3")),
            ("deepseek-chat", "deepseek_v3", cfg!(feature = "deepseek")),
        ] {
            let counting = Counting::for_model(Some(model));
            let expected = if built { (encoding, Method::Exact) } else { ("estimate:generic", Method::Estimated) };
            assert_eq!((counting.name(), counting.method()), expected, "{model}");
            assert_eq!(counting.media(&image), Counting::for_model(None).media(&image), "{model}: images");
        }
    }

    #[test]
    fn base64_is_sized_up_and_never_counted_as_text() {
        // A PNG header of 1,000 × 1,000 pixels, and half a megabyte behind it.
        let png = [&b"iVBORw0KGgoAAAANSUhEUgAAA+gAAAPo"[..], &vec![b'A'; 500_000]].concat();
        let media = Media {
            kind: MediaKind::Image,
            media_type: None,
            data: Some(Text::json(&png, false)),
            low_detail: false,
        };
        assert_eq!(Counting::for_model(Some("claude-sonnet-4-5")).media(&media), Tokens(1_296));
        assert_eq!(Counting::for_model(Some("gpt-4o")).media(&media), Tokens(765));
    }
}
