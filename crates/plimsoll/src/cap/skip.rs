//! Passing over the inside of a JSON container at speed: 64 bytes at a time, minding only strings, brackets and commas.

/// How many bytes are classed together: as many as a mask has bits.
const BLOCK: usize = 64;

/// What was passed over of a container whose values are not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Skip {
    /// Containers that are open within it.
    depth: u64,
    string: bool,
    escaped: bool,
}

/// How passing over ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skipped {
    /// At the end of what was given.
    On,
    /// Before the bracket that closes the container.
    Closed,
    /// Before one that nests too deep.
    TooDeep,
}

impl Skip {
    /// Passes over bytes of the container. Gives how many, how many commas of the container itself were among them, and
    /// why it ended there. How bytes are divided into calls makes no difference.
    pub(super) fn pass(&mut self, bytes: &[u8], deepest: u64) -> (usize, u64, Skipped) {
        let (mut at, mut commas) = (0, 0);
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            if self.string && !self.escaped {
                // Long strings have nothing else to mind.
                match memchr::memchr2(b'"', b'\\', rest) {
                    None => return (bytes.len(), commas, Skipped::On),
                    Some(stop) if stop >= BLOCK => {
                        at += stop;
                        continue;
                    }
                    Some(_) => {}
                }
            }
            let mut last = [b' '; BLOCK];
            let block = rest.first_chunk::<BLOCK>().unwrap_or_else(|| {
                last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
                &last
            });
            let (taken, more, ended) = self.block(block, rest.len().min(BLOCK), deepest);
            at += taken;
            commas += more;
            if ended != Skipped::On {
                return (at, commas, ended);
            }
        }
        (at, commas, Skipped::On)
    }

    /// Passes over the first `length` bytes of a block.
    fn block(&mut self, block: &[u8; BLOCK], length: usize, deepest: u64) -> (usize, u64, Skipped) {
        let masks = Masks::of(block);
        let escaped = self.escapes(masks.backslash, length);
        let strings = within(masks.quote & !escaped) ^ if self.string { u64::MAX } else { 0 };
        self.string = strings >> (length - 1) & 1 == 1;
        let (open, close, comma) = (masks.open & !strings, masks.close & !strings, masks.comma & !strings);
        let (opened, closed) = (u64::from(open.count_ones()), u64::from(close.count_ones()));
        if self.depth > closed && self.depth + opened <= deepest {
            self.depth = self.depth + opened - closed;
            return (length, 0, Skipped::On);
        }
        let (mut brackets, mut commas, mut unseen) = (open | close, 0, u64::MAX);
        while brackets != 0 {
            let bracket = brackets & brackets.wrapping_neg();
            if self.depth == 0 {
                commas += u64::from((comma & unseen & (bracket - 1)).count_ones());
            }
            unseen = !(bracket | (bracket - 1));
            let at = bracket.trailing_zeros() as usize;
            if open & bracket != 0 {
                if self.depth == deepest {
                    return (at, commas, Skipped::TooDeep);
                }
                self.depth += 1;
            } else if self.depth == 0 {
                return (at, commas, Skipped::Closed);
            } else {
                self.depth -= 1;
            }
            brackets &= brackets - 1;
        }
        if self.depth == 0 {
            commas += u64::from((comma & unseen).count_ones());
        }
        (length, commas, Skipped::On)
    }

    /// Marks the bytes that a backslash precedes, unless that is preceded by one itself.
    fn escapes(&mut self, backslashes: u64, length: usize) -> u64 {
        let mut escaped = u64::from(self.escaped);
        let mut left = backslashes & !escaped;
        self.escaped = false;
        while left != 0 {
            let backslash = left & left.wrapping_neg();
            escaped |= backslash << 1;
            self.escaped |= backslash.trailing_zeros() as usize == length - 1;
            left &= !(backslash | backslash << 1);
        }
        escaped
    }
}

/// Of each class, which bytes of a block are of it: the first is the lowest bit.
#[derive(Debug, Clone, Copy, Default)]
struct Masks {
    quote: u64,
    backslash: u64,
    open: u64,
    close: u64,
    comma: u64,
}

impl Masks {
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut masks = Self::default();
        for (nth, word) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            // Braces differ from brackets in this bit only; no other byte becomes one of them by it.
            let folded = word | spread(0x20);
            masks.quote |= equal(word, b'"') << (nth * 8);
            masks.backslash |= equal(word, b'\\') << (nth * 8);
            masks.open |= equal(folded, b'{') << (nth * 8);
            masks.close |= equal(folded, b'}') << (nth * 8);
            masks.comma |= equal(word, b',') << (nth * 8);
        }
        masks
    }
}

const fn spread(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Of eight bytes, which equal one: a bit each.
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = spread(0x7F);
    let differ = word ^ spread(byte);
    // The high bit of each byte that is zero.
    let zero = !(((differ & LOW) + LOW) | differ | LOW);
    // Gathers the high bits into one byte.
    (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Of each bit, whether the bits up to it are an odd number: from each quote on to before the next.
fn within(quotes: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(quotes, |bits, by| bits ^ bits << by)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same byte by byte.
    fn plainly(bytes: &[u8], deepest: u64) -> (usize, u64, Skipped) {
        let (mut depth, mut commas, mut string, mut escaped) = (0, 0, false, false);
        for (at, byte) in bytes.iter().enumerate() {
            let was = std::mem::take(&mut escaped);
            match byte {
                b'\\' if !was => escaped = true,
                b'"' if !was => string = !string,
                b'{' | b'[' if !string && depth == deepest => return (at, commas, Skipped::TooDeep),
                b'{' | b'[' if !string => depth += 1,
                b'}' | b']' if !string && depth == 0 => return (at, commas, Skipped::Closed),
                b'}' | b']' if !string => depth -= 1,
                b',' if !string && depth == 0 => commas += 1,
                _ => {}
            }
        }
        (bytes.len(), commas, Skipped::On)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn blocks_find_what_bytes_find_however_they_are_divided(
            text in prop_oneof![
                r#"([\[\]{}",:\\ a;<|^@é]|\[\[|\]\]|"[a-z\\]{0,90}"){0,200}"#.prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..300),
            ],
            sizes in proptest::collection::vec(1..200usize, 1..9),
            deepest in 1..9u64,
        ) {
            let (mut skip, mut at, mut commas, mut ended) = (Skip::default(), 0, 0, Skipped::On);
            for size in sizes.iter().cycle() {
                let chunk = text.get(at..(at + size).min(text.len())).unwrap_or_default();
                if chunk.is_empty() || ended != Skipped::On {
                    break;
                }
                let (taken, more, how) = skip.pass(chunk, deepest);
                (at, commas, ended) = (at + taken, commas + more, how);
            }
            prop_assert_eq!((at, commas, ended), plainly(&text, deepest));
        }
    }

    #[test]
    fn every_byte_is_told_from_every_other() {
        for sought in 0..=u8::MAX {
            for byte in 0..=u8::MAX {
                let word = u64::from_le_bytes([byte, 0, sought, 0xFF, byte, 0x80, sought ^ 1, 0x7F]);
                let expected =
                    word.to_le_bytes().iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(*byte == sought));
                assert_eq!(equal(word, sought), expected, "{sought} in {word:x}");
            }
        }
    }
}
