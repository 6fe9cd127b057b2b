//! Writes the tables the token counter reads: Unicode classes, and per encoding its vocabulary ready to be searched.
//!
//! The ranks of OpenAI's encodings come from `tiktoken-rs`, which ships the published files, and those of open models from
//! `tiktoken`, which ships their makers' (see its `LICENSE-3RD-PARTY`); the Unicode classes from `regex-syntax`,
//! so that they are the ones the reference implementations' patterns see.
#![allow(clippy::disallowed_methods, reason = "the library is pure; what builds it writes files")]

use std::error::Error;
use std::path::Path;
use std::{env, fs};

#[path = "src/token/layout.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "shared with the library, which uses all of it")]
mod layout;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/token/layout.rs");
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let out = Path::new(&out);
    classes::write(out)?;
    #[cfg(feature = "o200k")]
    vocabulary::write(out, "o200k", &openai(&tiktoken_rs::o200k_base()?)?, false)?;
    #[cfg(feature = "cl100k")]
    vocabulary::write(out, "cl100k", &openai(&tiktoken_rs::cl100k_base()?)?, false)?;
    #[cfg(feature = "qwen")]
    vocabulary::write(out, "qwen2", &open("qwen2", 0..151_643)?, false)?;
    // The first thousand are special tokens.
    #[cfg(feature = "mistral")]
    vocabulary::write(out, "tekken", &open("mistral_v3", 1_000..131_072)?, false)?;
    // Its tokenizer takes a piece that is a token whole, and 588 of its tokens come about in no other way.
    #[cfg(feature = "llama3")]
    vocabulary::write(out, "llama3", &open("llama3", 0..128_000)?, true)?;
    #[cfg(feature = "deepseek")]
    vocabulary::write(out, "deepseek_v3", &open("deepseek_v3", 3..128_000)?, false)?;
    Ok(())
}

/// The tokens of an encoding of `OpenAI`, by number.
#[cfg(any(feature = "o200k", feature = "cl100k"))]
fn openai(encoding: &tiktoken_rs::CoreBPE) -> Fallible<Vec<Vec<u8>>> {
    let mut tokens: Vec<Vec<u8>> = Vec::new();
    while let Ok(bytes) = encoding.decode_bytes(&[u32::try_from(tokens.len())?]) {
        tokens.push(bytes);
    }
    Ok(tokens)
}

/// The tokens of an open model, by number: those in a range are of text, those before it special.
#[cfg(any(feature = "qwen", feature = "mistral", feature = "llama3", feature = "deepseek"))]
fn open(name: &str, numbers: std::ops::Range<u32>) -> Fallible<Vec<Vec<u8>>> {
    let encoding = tiktoken::get_encoding(name).ok_or_else(|| format!("there is no encoding {name}"))?;
    let mut tokens = vec![Vec::new(); usize::try_from(numbers.start)?];
    for number in numbers {
        let bytes = encoding.decode(&[number]);
        if bytes.is_empty() {
            return Err(format!("{name} has no token {number}").into());
        }
        tokens.push(bytes);
    }
    Ok(tokens)
}

/// Unicode classes as a two-stage table of flags.
mod classes {
    use regex_syntax::hir::{Class, HirKind};

    use super::{Fallible, Path, fs};

    /// The patterns of each flag, in the order of the bits in `src/token/class.rs`.
    const FLAGS: [&str; 7] = [
        r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
        r"\p{L}",
        r"\p{N}",
        r"\s",
        r"[\r\n]",
        r"[\p{P}\p{S}]",
    ];
    const BLOCK: usize = 128;

    pub(crate) fn write(out: &Path) -> Fallible<()> {
        let mut flags = vec![0_u8; 0x11_0000];
        for (bit, pattern) in FLAGS.iter().enumerate() {
            let hir = regex_syntax::parse(pattern)?;
            let HirKind::Class(Class::Unicode(class)) = hir.kind() else {
                return Err(format!("{pattern} is not a class of characters").into());
            };
            for range in class.ranges() {
                for code in range.start() as usize..=range.end() as usize {
                    *flags.get_mut(code).ok_or("a character beyond Unicode")? |= 1 << bit;
                }
            }
        }
        let mut blocks: Vec<&[u8]> = Vec::new();
        let mut index = Vec::new();
        for block in flags.chunks(BLOCK) {
            let at = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
                blocks.push(block);
                blocks.len() - 1
            });
            index.push(u8::try_from(at)?);
        }
        fs::write(out.join("class.index"), index)?;
        fs::write(out.join("class.blocks"), blocks.concat())?;
        Ok(())
    }
}

/// An encoding's vocabulary as tables to be searched in place.
#[cfg(feature = "exact")]
mod vocabulary {
    use std::collections::HashMap;

    use super::{Fallible, Path, fs, layout};

    /// Writes the tables of tokens in the order of their ranks; an empty one stands where text has none. With `whole`,
    /// tokens may be merges of later ones, or be found only as whole pieces.
    pub(crate) fn write(out: &Path, name: &str, tokens: &[Vec<u8>], whole: bool) -> Fallible<()> {
        if tokens.len() < 100_000 || tokens.len() >= layout::TOKEN_LIMIT as usize {
            return Err(format!("{name} has {} tokens", tokens.len()).into());
        }

        let by_bytes = whole.then(|| ByBytes::of(tokens));
        let mut of_byte = [layout::NONE; 256];
        for (token, bytes) in (0_u32..).zip(tokens) {
            if let [byte] = bytes.as_slice() {
                *of_byte.get_mut(usize::from(*byte)).ok_or("a byte beyond 255")? = token;
            }
        }

        // A quarter of the slots stay free in the table of pieces, two fifths in that of pairs, where most searches
        // find nothing.
        let mut pairs = Pairs(vec![0_u64; tokens.len() * 5 / 3]);
        let mut slots = vec![0_u32; tokens.len() * 4 / 3];
        let mut arena = Vec::new();
        for (token, bytes) in (0_u32..).zip(tokens).filter(|(_, bytes)| !bytes.is_empty()) {
            let offset = u32::try_from(arena.len())?;
            if offset + 1 >= 1 << layout::OFFSET_BITS {
                return Err(format!("{name} has too many bytes of tokens").into());
            }
            if bytes.len() > layout::LONGEST_TOKEN {
                return Err(format!("{name}: token {token} has {} bytes", bytes.len()).into());
            }
            arena.push(u8::try_from(bytes.len())?);
            arena.extend_from_slice(bytes);
            let hash = layout::piece_hash(bytes);
            let home = usize::try_from(layout::piece_home(hash, slots.len() as u64))?;
            insert(&mut slots, home, layout::piece_slot(hash, offset))?;

            let parts = match &by_bytes {
                Some(by_bytes) => by_bytes.halves(bytes),
                None => pairs.encode(bytes, &of_byte),
            };
            match *parts.as_slice() {
                [_] => {}
                [left, right] => pairs.insert(left, right, token)?,
                _ if whole && bytes.len() >= layout::LOOKED_UP => {}
                // Then merging would never arrive at it, and counting by pairs would be wrong.
                _ => {
                    return Err(format!("{name}: token {token} is not the merge of two others").into());
                }
            }
        }
        let mut of_two = Vec::new();
        for left in of_byte {
            of_two.extend(of_byte.iter().map(|right| pairs.find(left, *right)));
        }
        let mut filter = vec![0_u64; layout::FILTER_WORDS];
        for slot in pairs.0.iter().filter(|slot| **slot != 0) {
            let (word, bit) = layout::filter_bit(layout::pair_hash(slot & !u64::from(layout::TOKEN_LIMIT - 1)));
            *filter.get_mut(word).ok_or("a word beyond the filter")? |= bit;
        }
        let le64 = |slots: &[u64]| slots.iter().flat_map(|slot| slot.to_le_bytes()).collect::<Vec<u8>>();
        let le32 = |slots: &[u32]| slots.iter().flat_map(|slot| slot.to_le_bytes()).collect::<Vec<u8>>();
        fs::write(out.join(format!("{name}.pairs")), le64(&pairs.0))?;
        fs::write(out.join(format!("{name}.filter")), le64(&filter))?;
        fs::write(out.join(format!("{name}.slots")), le32(&slots))?;
        fs::write(out.join(format!("{name}.bytes")), le32(&of_byte))?;
        fs::write(out.join(format!("{name}.twos")), le32(&of_two))?;
        fs::write(out.join(format!("{name}.arena")), arena)?;
        Ok(())
    }

    /// Puts a value in the first free slot from its home on. The last slot stays free: it ends every search.
    fn insert<T: Copy + Default + PartialEq>(slots: &mut [T], home: usize, value: T) -> Fallible<()> {
        let free = slots.iter().skip(home).position(|slot| *slot == T::default());
        let at = home + free.ok_or("a table is full")?;
        if at + 1 >= slots.len() {
            return Err("a table's last slots are full".into());
        }
        *slots.get_mut(at).ok_or("a slot beyond its table")? = value;
        Ok(())
    }

    /// Tokens by their bytes: what the reference implementation merges by.
    struct ByBytes<'a>(HashMap<&'a [u8], u32>);

    impl<'a> ByBytes<'a> {
        fn of(tokens: &'a [Vec<u8>]) -> Self {
            Self((0..).zip(tokens).map(|(token, bytes)| (bytes.as_slice(), token)).collect())
        }

        /// Merges the parts of a token, lowest rank first, until two are left, or more if they do not merge.
        fn halves(&self, bytes: &[u8]) -> Vec<u32> {
            let token = |start: usize, end: usize| self.0.get(bytes.get(start..end)?).copied();
            let mut bounds: Vec<usize> = (0..=bytes.len()).collect();
            while bounds.len() > 3 {
                let merges = bounds.windows(3).enumerate().filter_map(|(at, bounds)| match *bounds {
                    [start, _, end] => Some((token(start, end)?, at)),
                    _ => None,
                });
                let Some((_, at)) = merges.min() else { break };
                bounds.remove(at + 1);
            }
            bounds.windows(2).filter_map(|bounds| token(*bounds.first()?, *bounds.last()?)).collect()
        }
    }

    /// The table of pairs as built so far, which is all that merging into the next token needs.
    struct Pairs(Vec<u64>);

    impl Pairs {
        fn insert(&mut self, left: u32, right: u32, merged: u32) -> Fallible<()> {
            let key = layout::pair_key(left, right);
            let home = usize::try_from(layout::pair_home(layout::pair_hash(key), self.0.len() as u64))?;
            insert(&mut self.0, home, key | u64::from(merged))
        }

        fn find(&self, left: u32, right: u32) -> u32 {
            let key = layout::pair_key(left, right);
            let home =
                usize::try_from(layout::pair_home(layout::pair_hash(key), self.0.len() as u64)).unwrap_or(usize::MAX);
            for slot in self.0.iter().skip(home).take_while(|slot| **slot != 0) {
                if let Ok(merged) = u32::try_from(slot ^ key)
                    && merged < layout::TOKEN_LIMIT
                {
                    return merged;
                }
            }
            layout::NONE
        }

        /// Merges pairs, lowest token first, until none is left.
        fn encode(&self, bytes: &[u8], of_byte: &[u32; 256]) -> Vec<u32> {
            let mut parts: Vec<u32> =
                bytes.iter().filter_map(|byte| of_byte.get(usize::from(*byte)).copied()).collect();
            let mut merged: Vec<u32> = parts.windows(2).map(|pair| self.find_in(pair)).collect();
            while let Some((at, lowest)) = merged.iter().copied().enumerate().min_by_key(|(_, token)| *token)
                && lowest != layout::NONE
            {
                parts.remove(at + 1);
                merged.remove(at);
                if let Some(part) = parts.get_mut(at) {
                    *part = lowest;
                }
                for around in [at.checked_sub(1), Some(at)].into_iter().flatten() {
                    if let (Some(pair), Some(slot)) = (parts.get(around..around + 2), merged.get_mut(around)) {
                        *slot = self.find_in(pair);
                    }
                }
            }
            parts
        }

        fn find_in(&self, pair: &[u32]) -> u32 {
            if let [left, right] = *pair { self.find(left, right) } else { layout::NONE }
        }
    }
}
