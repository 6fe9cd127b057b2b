//! Where a page ends: with a whole character, of UTF-8 or of UTF-16.

use plimsoll::utf16::Utf16;

/// Finds the last place at which a character ends, in bytes that go on behind their end.
///
/// Only a UTF-8 sequence that is begun at the very end and not finished is left out: what is no UTF-8 stays as it is.
pub(super) fn last_boundary(bytes: &[u8]) -> usize {
    for (back, byte) in bytes.iter().rev().take(3).enumerate() {
        let needed = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        let begun = bytes.len() - 1 - back;
        return if needed > back + 1 && begun > 0 { begun } else { bytes.len() };
    }
    bytes.len()
}

/// Finds the last place at which a character of UTF-16 ends, in bytes that begin at `offset` and go on behind their end.
pub(super) fn last_unit(bytes: &[u8], offset: u64, order: Utf16) -> usize {
    let even = bytes.len() - usize::try_from((offset + bytes.len() as u64) % 2).unwrap_or(0).min(bytes.len());
    let last = bytes.get(..even).and_then(|bytes| bytes.last_chunk::<2>());
    let high = last.is_some_and(|[first, second]| {
        let high = if order == Utf16::Le { second } else { first };
        high & 0xFC == 0xD8
    });
    let end = even - if high { 2 } else { 0 };
    if end > 0 { end } else { bytes.len() }
}
