//! What images and documents cost: by their size in pixels or pages, never by the base64 they travel in.

mod by_model;

use crate::Tokens;

/// An image's size in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageSize {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// How a provider counts the tokens of an image.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::token::{ImageRule, ImageSize};
/// let screenshot = ImageSize { width: 1_000, height: 1_000 };
/// assert_eq!(ImageRule::CLAUDE.tokens(Some(screenshot)), Tokens(1_296));
/// assert_eq!(ImageRule::OPENAI_TILES.tokens(Some(screenshot)), Tokens(765));
/// // An image whose size is not known counts as the largest that is not scaled down.
/// assert_eq!(ImageRule::CLAUDE.tokens(None), Tokens(1_568));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ImageRule {
    /// ⌈w/28⌉ × ⌈h/28⌉ patches of the image scaled down to fit both limits (Anthropic's vision guide).
    Patches28 {
        /// The longest edge that is not scaled down, in pixels.
        edge: u32,
        /// The most patches an image has.
        most: u32,
    },
    /// Scaled down to a square of 2,048, then to a shortest side of 768; each tile of 512 × 512 costs, and each image
    /// (OpenAI's images and vision guide).
    Tiles512 {
        /// Tokens for every image.
        base: u32,
        /// Tokens for every tile.
        tile: u32,
    },
    /// ⌈w/32⌉ × ⌈h/32⌉ patches up to a limit, times a factor of the model (OpenAI's images and vision guide).
    Patches32 {
        /// The factor, in hundredths.
        percent: u32,
        /// The most patches that an image has before the factor.
        most: u32,
    },
    /// 258 tokens for each tile of 768 × 768, or for an image of at most 384 either way (Gemini's token guide).
    Tiles768,
    /// The same for every image, as in Gemini 3 at a given resolution setting.
    Fixed {
        /// Tokens for every image.
        tokens: u32,
    },
}

impl ImageRule {
    /// Claude models before Opus 4.7: 1,568 pixels along the longest edge and as many tokens.
    pub const CLAUDE: Self = Self::Patches28 { edge: 1_568, most: 1_568 };
    /// Claude models from Opus 4.7 on: 2,576 pixels along the longest edge, 3.75 megapixels in all.
    pub const CLAUDE_4_7: Self = Self::Patches28 { edge: 2_576, most: 4_784 };
    /// GPT-4o and GPT-4.1; GPT-5, o1 and o3 charge a little less.
    pub const OPENAI_TILES: Self = Self::Tiles512 { base: 85, tile: 170 };
    /// Gemini before version 3.
    pub const GEMINI: Self = Self::Tiles768;
    /// Gemini 3 at its high resolution, which is the default for images.
    pub const GEMINI_3: Self = Self::Fixed { tokens: 1_120 };

    /// Counts the tokens of an image that is to be looked at in low detail. Where a provider charges less for it, that is
    /// what every image costs; elsewhere it is counted as any other.
    pub fn low_detail(self, size: Option<ImageSize>) -> Tokens {
        match self {
            Self::Tiles512 { base, .. } => Tokens(u64::from(base)),
            _ => self.tokens(size),
        }
    }

    /// Counts the tokens of an image. Without a size it takes a documented stand-in, chosen to err high: the largest
    /// image that is not scaled down, or for [`Self::Tiles768`], which has no such limit, one of 1,536 × 1,536.
    pub fn tokens(self, size: Option<ImageSize>) -> Tokens {
        let size = size.map(|size| (f64::from(size.width.max(1)), f64::from(size.height.max(1))));
        let tokens = match (self, size) {
            (Self::Patches28 { most, .. }, None) => u64::from(most),
            (Self::Patches28 { edge, most }, Some((width, height))) => {
                let scale = (f64::from(edge) / width.max(height)).min(1.0);
                patches(width * scale, height * scale, 28.0).min(u64::from(most))
            }
            (Self::Tiles512 { base, tile }, size) => {
                let (width, height) = size.unwrap_or((2_048.0, 768.0));
                let scale = (2_048.0 / width.max(height)).min(1.0);
                let scale = scale * (768.0 / (width.min(height) * scale)).min(1.0);
                u64::from(base) + u64::from(tile) * patches(width * scale, height * scale, 512.0)
            }
            (Self::Patches32 { percent, most }, size) => {
                let (width, height) = size.unwrap_or((8_000.0, 8_000.0));
                (patches(width, height, 32.0).min(u64::from(most)) * u64::from(percent)).div_ceil(100)
            }
            (Self::Tiles768, size) => {
                let (width, height) = size.unwrap_or((1_536.0, 1_536.0));
                // Larger ones are scaled down before they are cut (Gemini's image guide).
                let scale = (3_072.0 / width.max(height)).min(1.0);
                258 * patches(width * scale, height * scale, 768.0)
            }
            (Self::Fixed { tokens }, _) => u64::from(tokens),
        };
        Tokens(tokens)
    }

    /// Estimates a PDF of this many pages: where pages are read as text and as an image, 3,000 tokens of text each (the
    /// upper end of what Anthropic's guide gives) and an image; with Gemini 258 tokens a page, from version 3 on 560.
    pub fn pdf_tokens(self, pages: u64) -> Tokens {
        let page = match self {
            Self::Tiles768 => 258,
            // Pages are read at medium resolution, images at high: half as many tokens.
            Self::Fixed { tokens } => u64::from(tokens / 2),
            // A page is upright and about 1.15 megapixels.
            _ => 3_000 + self.tokens(Some(ImageSize { width: 1_000, height: 1_294 })).0,
        };
        Tokens(page.saturating_mul(pages))
    }
}

/// Squares of a side that cover an area. Scaling leaves rounding dust, which must not start another row.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and rows of 32-bit sizes fit")]
fn patches(width: f64, height: f64, side: f64) -> u64 {
    let rows = |length: f64| ((length / side - 1e-9).ceil() as u64).max(1);
    rows(width).saturating_mul(rows(height))
}

impl ImageSize {
    /// Reads the size from the first bytes of a PNG, JPEG, GIF or WebP file. `None` if they do not tell: a JPEG may
    /// carry up to some hundred KB before its size.
    ///
    /// ```
    /// use plimsoll::token::ImageSize;
    /// let gif = b"GIF89a\x40\x01\xF0\x00";
    /// assert_eq!(ImageSize::of_bytes(gif), Some(ImageSize { width: 320, height: 240 }));
    /// assert_eq!(ImageSize::of_bytes(b"not an image"), None);
    /// ```
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let size = match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', _, _, _, _, b'I', b'H', b'D', b'R', ..] => {
                (big(bytes, 16, 4)?, big(bytes, 20, 4)?)
            }
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => (little(bytes, 6, 2)?, little(bytes, 8, 2)?),
            [0xFF, 0xD8, 0xFF, ..] => jpeg(bytes)?,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(bytes)?,
            _ => return None,
        };
        let (width, height) = size;
        (width > 0 && height > 0).then_some(Self { width, height })
    }

    /// Reads the size from base64, with or without a `data:` URL before it. Only as much is decoded as is needed.
    ///
    /// ```
    /// use plimsoll::token::ImageSize;
    /// let size = ImageSize::of_base64("data:image/gif;base64,R0lGODlhQAHwAAAA");
    /// assert_eq!(size, Some(ImageSize { width: 320, height: 240 }));
    /// ```
    pub fn of_base64(text: &str) -> Option<Self> {
        /// Beyond this no file that is not broken hides its size.
        const MOST: usize = 1 << 20;
        let encoded = match text.split_once(',') {
            Some((head, encoded)) if head.starts_with("data:") => encoded,
            _ => text,
        };
        let mut limit = 64;
        loop {
            let decoded = decode_base64(encoded.as_bytes(), limit);
            let size = Self::of_bytes(&decoded);
            if size.is_some() || decoded.len() < limit || limit >= MOST {
                return size;
            }
            limit *= 16;
        }
    }
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let field = bytes.get(at..at + length)?;
    Some(field.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let field = bytes.get(at..at + length)?;
    Some(field.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// Follows a JPEG's segments to its frame header (ITU T.81, annex B).
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xFF {
            return None;
        }
        match *bytes.get(at + 1)? {
            // Padding.
            0xFF => at += 1,
            // Markers without a segment.
            0x01 | 0xD0..=0xD8 => at += 2,
            // Frames; among the same numbers are Huffman tables, extensions and arithmetic conditioning.
            marker @ 0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            _ => at += 2 + usize::try_from(big(bytes, at + 2, 2)?).ok()?.max(2),
        }
    }
}

/// Reads the first chunk of a WebP file (RFC 9649).
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => Some((little(bytes, 26, 2)? & 0x3FFF, little(bytes, 28, 2)? & 0x3FFF)),
        b"VP8L" => {
            let packed = little(bytes, 21, 4)?;
            Some(((packed & 0x3FFF) + 1, ((packed >> 14) & 0x3FFF) + 1))
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

/// Decodes up to `limit` bytes of base64, standard or for URLs; white space in it is passed over, anything else ends it.
fn decode_base64(text: &[u8], limit: usize) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(limit.min(text.len()));
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b' ' | b'\t' | b'\r' | b'\n' => continue,
            _ => break,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            decoded.push(((bits >> held) & 0xFF).to_le_bytes()[0]);
            if decoded.len() >= limit {
                break;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "sizes are passed and found as options")]
    const fn size(width: u32, height: u32) -> Option<ImageSize> {
        Some(ImageSize { width, height })
    }

    #[test]
    fn images_cost_what_the_providers_examples_say() {
        assert_eq!(ImageRule::OPENAI_TILES.tokens(size(1_024, 1_024)), Tokens(765));
        assert_eq!(ImageRule::OPENAI_TILES.tokens(size(2_048, 4_096)), Tokens(1_105));
        assert_eq!(ImageRule::Patches32 { percent: 100, most: 1_536 }.tokens(size(1_024, 1_024)), Tokens(1_024));
        assert_eq!(ImageRule::GEMINI.tokens(size(384, 384)), Tokens(258));
        assert_eq!(ImageRule::GEMINI.tokens(size(769, 768)), Tokens(516));
        assert_eq!(ImageRule::GEMINI.tokens(size(u32::MAX, u32::MAX)), Tokens(16 * 258));
        assert_eq!(ImageRule::OPENAI_TILES.low_detail(size(8_000, 8_000)), Tokens(85));
        assert_eq!(ImageRule::CLAUDE.low_detail(size(200, 200)), Tokens(64));
        assert_eq!(ImageRule::CLAUDE.tokens(size(200, 200)), Tokens(64));
        assert_eq!(ImageRule::CLAUDE.tokens(size(6_000, 4_000)), Tokens(1_568));
        assert_eq!(ImageRule::CLAUDE_4_7.tokens(size(8_000, 100)), Tokens(184), "2,576 by 33 after scaling");
    }

    #[test]
    fn sizes_are_read_from_every_format() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xE0\x08\x06\0\0\0";
        assert_eq!(ImageSize::of_bytes(png), size(640, 480));
        let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xFF\xC4\0\x03x\xFF\xC2\0\x11\x08\x01\xE0\x02\x80\x03";
        assert_eq!(ImageSize::of_bytes(jpeg), size(640, 480));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\x30\x01\x00\x9d\x01\x2a\x80\x02\xE0\x01";
        assert_eq!(ImageSize::of_bytes(lossy), size(640, 480));
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2F\x7F\xC2\x77\x00";
        assert_eq!(ImageSize::of_bytes(lossless), size(640, 480));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x7F\x02\0\xDF\x01\0";
        assert_eq!(ImageSize::of_bytes(extended), size(640, 480));
    }

    #[test]
    fn mechanism_32_base64_counted_as_text() {
        // A 300 KB screenshot is 1,568 tokens at most, not the hundred thousand of its base64.
        let png = "iVBORw0KGgoAAAANSUhEUgAABQAAAALQCAYAAADPfd1W".to_owned() + &"QUJD".repeat(100_000);
        let found = ImageSize::of_base64(&png);
        assert_eq!(found, size(1_280, 720));
        assert_eq!(ImageRule::CLAUDE.tokens(found), Tokens(46 * 26));
    }

    proptest! {
        #[test]
        fn no_bytes_and_no_size_do_harm(bytes: Vec<u8>, text: String, width: u32, height: u32) {
            let _ = ImageSize::of_bytes(&bytes);
            let _ = ImageSize::of_base64(&text);
            let mut jpeg = vec![0xFF, 0xD8, 0xFF];
            jpeg.extend(&bytes);
            let _ = ImageSize::of_bytes(&jpeg);
            let patches = ImageRule::Patches32 { percent: 162, most: 1_536 };
            for rule in [ImageRule::CLAUDE, ImageRule::CLAUDE_4_7, ImageRule::OPENAI_TILES, patches] {
                let tokens = rule.tokens(size(width, height));
                prop_assert!(tokens > Tokens(0));
                prop_assert!(tokens <= rule.tokens(None), "{rule:?} of {width} x {height}");
            }
            prop_assert!(ImageRule::GEMINI.tokens(size(width, height)).0 >= 258);
        }
    }
}
