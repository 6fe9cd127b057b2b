//! Results made of content blocks: text, images, links, capped block by block within one cap.

use std::borrow::Cow;

use super::batch::level;
use super::capper::cap;
use super::policy::{Capped, Naming, Policy};
use crate::{Bytes, Tokens};

/// A content block of a result, as far as capping is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Block<'b> {
    /// Text.
    Text(&'b str),
    /// An image.
    Image {
        /// Such as `image/png`.
        media_type: &'b str,
        /// The size of its data, encoded as it is in the block.
        bytes: Bytes,
        /// What it costs the model. Pixels count here, not bytes: [`token::image`](crate::token) knows.
        tokens: Tokens,
    },
    /// A link to a resource.
    Link {
        /// Where it leads.
        uri: &'b str,
        /// What it is called.
        name: Option<&'b str>,
    },
    /// Something else, which cannot be cut.
    Other {
        /// What it is, such as `audio/wav` or the block's type.
        kind: &'b str,
        /// Its size as it stands in the result.
        bytes: Bytes,
    },
}

/// What becomes of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CappedBlock<'b> {
    /// It stays as it is.
    Keep,
    /// A text block, cut.
    Text(Capped<'b>),
    /// A block that cannot be cut, and for which there is no room: a text block with this line stands for it.
    Replaced(String),
    /// There is no room for as much as a line.
    Dropped,
}

impl Block<'_> {
    /// What the block takes of a cap, in bytes: of an image, what its tokens are worth in text.
    pub fn weight(&self) -> Bytes {
        match self {
            Self::Text(text) => Bytes::from(text.len()),
            Self::Image { tokens, .. } => super::limit::Cap::Tokens(*tokens).bytes(),
            Self::Link { uri, name } => Bytes::from(uri.len() + name.map_or(0, str::len)),
            Self::Other { bytes, .. } => *bytes,
        }
    }

    /// The line that stands for a block which does not fit.
    fn line(&self, naming: &Naming<'_>) -> String {
        let what = match self {
            Self::Text(text) => format!("text, {} bytes", text.len()),
            Self::Image { media_type, bytes, .. } => format!("image {}, {} bytes", one_line(media_type), bytes.0),
            Self::Link { uri, name } => {
                let name = name.map(|name| format!(" {}", one_line(name))).unwrap_or_default();
                format!("link{name}, {} bytes", uri.len())
            }
            Self::Other { kind, bytes } => format!("{}, {} bytes", one_line(kind), bytes.0),
        };
        let kept = naming.id.map(|id| format!("; recall id {id}")).unwrap_or_default();
        format!("[plimsoll, not part of the content: {what}, left out{kept}]")
    }
}

fn one_line(name: &str) -> Cow<'_, str> {
    let end = super::screen::floor_character(name, 100);
    let name = name.get(..end).unwrap_or_default();
    if name.chars().any(char::is_control) { name.replace(char::is_control, " ").into() } else { name.into() }
}

/// Caps a result of content blocks: gives for each block, in order, what becomes of it.
///
/// All that is kept, cut or written in place of a block is within the one cap, by [`Block::weight`]. Blocks that
/// cannot be cut come first, in order: each is kept if it takes no more than what is left for its kind, half of the
/// cap or all that the text does not need, and is else replaced by a line. The text blocks share the rest, small ones
/// whole. `naming` says for each block where it is kept.
///
/// ```
/// use plimsoll::cap::{Block, CappedBlock, Naming, Policy, cap_blocks};
/// use plimsoll::{Bytes, Tokens};
///
/// let long = "a line of text\n".repeat(1_000);
/// let image = |tokens| Block::Image { media_type: "image/png", bytes: Bytes(900_000), tokens: Tokens(tokens) };
/// let blocks = [Block::Text(&long), image(400), image(90_000)];
/// let capped = cap_blocks(&blocks, &Policy::new(Bytes(8_192)), |_| Naming::unsaved());
/// assert!(matches!(&capped[0], CappedBlock::Text(text) if text.was_capped));
/// assert_eq!(capped[1], CappedBlock::Keep);
/// assert!(matches!(&capped[2], CappedBlock::Replaced(line) if line.contains("image image/png, 900000 bytes")));
/// ```
pub fn cap_blocks<'b, 'n>(
    blocks: &[Block<'b>],
    policy: &Policy,
    naming: impl Fn(usize) -> Naming<'n>,
) -> Vec<CappedBlock<'b>> {
    let limit = policy.cap.bytes().0;
    let weight = |block: &Block<'_>| block.weight().0;
    let is_text = |block: &&Block<'_>| matches!(block, Block::Text(_));
    let text: u64 = blocks.iter().filter(is_text).map(weight).fold(0, u64::saturating_add);
    let others: u64 = blocks.iter().filter(|block| !is_text(block)).map(weight).fold(0, u64::saturating_add);
    if text.saturating_add(others) <= limit {
        return vec![CappedBlock::Keep; blocks.len()];
    }
    let mut left = limit;
    let mut uncut = (limit / 2).max(limit.saturating_sub(text));
    let mut capped: Vec<CappedBlock<'b>> = Vec::with_capacity(blocks.len());
    for (at, block) in blocks.iter().enumerate() {
        if is_text(&block) {
            capped.push(CappedBlock::Keep);
            continue;
        }
        let line = block.line(&naming(at));
        let (takes, becomes) = if weight(block) <= uncut {
            (weight(block), CappedBlock::Keep)
        } else if line.len() as u64 <= uncut {
            (line.len() as u64, CappedBlock::Replaced(line))
        } else {
            (0, CappedBlock::Dropped)
        };
        uncut -= takes;
        left -= takes;
        capped.push(becomes);
    }
    let share = level(blocks.iter().filter(is_text).map(weight).collect(), left);
    for (at, (block, becomes)) in blocks.iter().zip(&mut capped).enumerate() {
        if let Block::Text(text) = block
            && text.len() as u64 > share
        {
            let policy = Policy { cap: Bytes(share).into(), ..*policy };
            *becomes = CappedBlock::Text(cap(text.as_bytes(), &policy, &naming(at)));
        }
    }
    capped
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a wrong boundary is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(blocks: &[Block<'_>], capped: &[CappedBlock<'_>]) -> u64 {
        blocks
            .iter()
            .zip(capped)
            .map(|(block, becomes)| match becomes {
                CappedBlock::Keep => block.weight().0,
                CappedBlock::Text(text) => text.text.len() as u64,
                CappedBlock::Replaced(line) => line.len() as u64,
                CappedBlock::Dropped => 0,
            })
            .sum()
    }

    proptest! {
        #[test]
        fn blocks_together_stay_within_the_one_cap(
            texts in proptest::collection::vec((0..4u8, 0..6_000usize), 0..8),
            limit in 0..8_000u64,
        ) {
            let filler = "word and word\n".repeat(500);
            let blocks: Vec<Block<'_>> = texts.iter().map(|&(kind, size)| match kind {
                0 | 1 => Block::Text(&filler[..size]),
                2 => Block::Image { media_type: "image/png", bytes: Bytes(9_000), tokens: Tokens(size as u64) },
                _ => Block::Other { kind: "audio/wav", bytes: Bytes(size as u64) },
            }).collect();
            let capped = cap_blocks(&blocks, &Policy::new(Bytes(limit)), |_| Naming::unsaved());
            prop_assert_eq!(capped.len(), blocks.len());
            let all: u64 = blocks.iter().map(|block| block.weight().0).sum();
            prop_assert!(shown(&blocks, &capped) <= limit);
            if all <= limit {
                prop_assert!(capped.iter().all(|becomes| *becomes == CappedBlock::Keep));
            }
        }
    }

    #[test]
    fn an_image_is_kept_or_replaced_and_never_cut() {
        let image = Block::Image { media_type: "image/png", bytes: Bytes(2_000_000), tokens: Tokens(1_500) };
        let of = |limit| cap_blocks(&[image], &Policy::new(Bytes(limit)), |_| Naming::unsaved()).remove(0);
        assert_eq!(of(6_000), CappedBlock::Keep);
        assert_eq!(
            of(5_999),
            CappedBlock::Replaced(
                "[plimsoll, not part of the content: image image/png, 2000000 bytes, left out]".into()
            )
        );
        assert_eq!(of(20), CappedBlock::Dropped);
    }
}
