//! What lines have in common that differ in numbers only, as a hash: at a glance, and with a closer look.

use std::hash::Hasher;

use twox_hash::XxHash3_128;

/// How much of a line is read, in bytes.
const READ: usize = 240;
/// The shortest word of digits to the base of 16 that is taken for a number, and the shortest group of one behind it.
const HASH: usize = 6;
const GROUP: usize = 4;

/// Hashes of lines are as good as hashes get.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// What lines have in common that differ in digits only, as a hash: eight bytes at a time in each of four lanes, since
/// one product waits for the one before it.
pub(super) fn alike_at_a_glance(line: &[u8]) -> u64 {
    let line = line.get(..READ).unwrap_or(line);
    let mut lanes = [line.len() as u64, 1, 2, 3];
    let (blocks, rest) = line.as_chunks::<32>();
    for block in blocks {
        mix_block(&mut lanes, block);
    }
    let mut last = [0; 32];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    mix_block(&mut lanes, &last);
    lanes.into_iter().fold(0, mix)
}

fn mix_block(lanes: &mut [u64; 4], block: &[u8; 32]) {
    for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
        let word = u64::from_le_bytes(*word);
        *lane = mix(*lane, word & !digits(word));
    }
}

fn mix(hash: u64, word: u64) -> u64 {
    let hash = (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^ hash >> 32
}

/// What lines have in common that differ in numbers only, also in ones to the base of 16.
pub(super) fn alike(line: &[u8]) -> u64 {
    let line = line.get(..READ).unwrap_or(line);
    let mut kept = [0; READ];
    let (mut size, mut at) = (0, 0);
    while let Some(rest) = line.get(at..)
        && let Some(byte) = rest.first()
    {
        if let Some(word) = rest.first_chunk::<8>()
            && digits(u64::from_le_bytes(*word)) == 0
        {
            if let Some(place) = kept.get_mut(size..size + word.len()) {
                place.copy_from_slice(word);
            }
            (size, at) = (size + word.len(), at + word.len());
        } else if byte.is_ascii_digit() {
            let (before, number) = number_at(line, at);
            // Letters of it that came before its first digit.
            size -= before;
            at += number;
        } else {
            if let Some(place) = kept.get_mut(size) {
                *place = *byte;
            }
            (size, at) = (size + 1, at + 1);
        }
    }
    let hash = XxHash3_128::oneshot(kept.get(..size).unwrap_or_default());
    u64::try_from(hash >> 64).unwrap_or_default()
}

/// How much of a number stands before its first digit, and how much from there on: of an address, a hash or an UUID, all of
/// it; else its digits.
fn number_at(line: &[u8], at: usize) -> (usize, usize) {
    let (before, rest) = line.split_at_checked(at).unwrap_or((line, &[]));
    let run = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let hex = |bytes: Option<&[u8]>| bytes.is_some_and(|bytes| bytes.iter().all(u8::is_ascii_hexdigit));
    let letters = before.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let mut end = run(rest);
    let word = line.get(at - letters..at + end);
    let address = word.and_then(|word| word.strip_prefix(b"0x")).is_some_and(|digits| hex(Some(digits)));
    if address || letters + end >= HASH && hex(word) {
        // The groups of an UUID.
        while let Some(group) = rest.get(end..).and_then(|rest| rest.strip_prefix(b"-"))
            && let size = run(group)
            && size >= GROUP
            && hex(group.get(..size))
        {
            end += 1 + size;
        }
        return (letters, end);
    }
    (0, rest.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// All bits of those of eight bytes that are ASCII digits.
fn digits(word: u64) -> u64 {
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let low = word & !HIGH;
    // The high bit of each byte from `0` up, and of each above `9`.
    let (least, above) = (low + u64::from_le_bytes([0x80 - b'0'; 8]), low + u64::from_le_bytes([0x7F - b'9'; 8]));
    let high = least & !above & !word & HIGH;
    // Without a product four words are done at once.
    (high << 1).wrapping_sub(high >> 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_numbers_only_are_alike() {
        let line = |number: u64| format!("worker {number} of 2026-01-02 failed at {number}.5 ms: é/:;<=9");
        assert_eq!(alike(line(7).as_bytes()), alike(line(123_456_789).as_bytes()));
        assert_eq!(alike_at_a_glance(line(7).as_bytes()), alike_at_a_glance(line(8).as_bytes()));
        let job = |id: &str| alike(format!("job {id} failed at 0x{id}").as_bytes());
        let uuid = |id: &str| alike(format!("error: {id}: gone").as_bytes());
        assert_eq!(job("b222008a05a6"), job("cd44b8"));
        assert_eq!(job("b222008a05a6"), job("1"), "numbers are numbers to whatever base");
        assert_eq!(uuid("2345f080-4900-dffa-beef-00aabbccddee"), uuid("12345678-abcd-ef01-1a2b-112233445566"));
        for (one, other) in [("step 2a", "step 2b"), ("a1.c", "b1.c"), ("face1234z", "fade1234z"), ("0x1g", "0x1h")] {
            assert_ne!(alike(one.as_bytes()), alike(other.as_bytes()), "{one} {other}");
        }
        for other in [
            "",
            "worker",
            "worker 7 of 2026-01-02 failed at 7.5 ms: é/:;<=:",
            "worker 7 of 2026-01-02 failed at 7.5 ms: é/:;<=9 ",
        ] {
            assert_ne!(alike(line(7).as_bytes()), alike(other.as_bytes()));
            assert_ne!(alike_at_a_glance(line(7).as_bytes()), alike_at_a_glance(other.as_bytes()));
        }
        for byte in 0..=u8::MAX {
            let expected = u64::from(byte.is_ascii_digit()) * 0xFF00_FF00;
            assert_eq!(digits(u64::from_le_bytes([b'/', byte, b':', byte, 0xB0, 0xFF, 0, b'a'])), expected, "{byte}");
        }
    }
}
