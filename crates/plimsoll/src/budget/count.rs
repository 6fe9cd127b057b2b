//! `Count`: how content is counted, and what every message costs besides.

use crate::Tokens;
use crate::token::{Counter, Method};
use crate::transcript::{Media, MediaKind};

/// What every message costs beside its content: role and separators.
///
/// OpenAI's published recipe for chat messages is 3 tokens each; other providers publish none, and measured requests
/// lie at 3 to 4. The larger is taken, since a count may err high.
pub const MESSAGE_OVERHEAD: Tokens = Tokens(4);

/// What a tool call or result costs beside its name, arguments and content: its frame and its id.
///
/// No provider publishes it. Frames as open-weight chat templates write them, with an id of 24 to 30 characters, are
/// 8 to 16 tokens.
pub const CALL_OVERHEAD: Tokens = Tokens(12);

/// What the request costs that offers tools, beside their definitions.
///
/// Anthropic publishes 346 tokens for its current models with tool choice `auto`; other providers publish none and
/// need less.
pub const TOOLS_OVERHEAD: Tokens = Tokens(346);

/// How tokens of content are counted.
pub trait Count {
    /// Counts text.
    fn text(&self, text: &str) -> Tokens;

    /// Estimates what a picture, document or recording costs. Its data is never counted as text.
    fn media(&self, media: &Media<'_>) -> Tokens {
        let bytes = media.data.map_or(0, |data| data.raw().len() as u64 * 3 / 4);
        Tokens(match media.kind {
            // Claude's largest, at which pictures are scaled down: 1,568 patches; OpenAI's large pictures cost less.
            MediaKind::Image => 1_568,
            // 32 tokens a second (Gemini), at 16 KB a second.
            MediaKind::Audio => 32 + bytes / 500,
            // A page is some 3,000 tokens (Anthropic: text and picture of it), and rarely under 50 KB.
            MediaKind::Document | MediaKind::File => 3_000 * (1 + bytes / 50_000),
        })
    }

    /// How text is counted.
    fn method(&self) -> Method;

    /// The model it counts for, where it is one's: usage that another model reported says nothing of its counts.
    fn model(&self) -> Option<&str> {
        None
    }
}

impl Count for Counter {
    fn text(&self, text: &str) -> Tokens {
        self.count(text)
    }

    fn method(&self) -> Method {
        Counter::method(self)
    }
}

impl<C: Count + ?Sized> Count for &C {
    fn text(&self, text: &str) -> Tokens {
        (**self).text(text)
    }

    fn media(&self, media: &Media<'_>) -> Tokens {
        (**self).media(media)
    }

    fn method(&self) -> Method {
        (**self).method()
    }

    fn model(&self) -> Option<&str> {
        (**self).model()
    }
}
