//! What is shown of a long line: the surroundings of a match, in whole characters.

use std::ops::Range;

/// How much is shown around each match in a long line, in characters.
pub(super) const WINDOW: usize = 512;

/// Gives the surroundings of a match in a line: [`WINDOW`] characters with the match in their middle, on boundaries of
/// characters; of a longer match its start.
pub(super) fn window(line: &[u8], start: usize, end: usize) -> Range<usize> {
    let matched = line.get(start..end).unwrap_or_default();
    let length = matched.iter().filter(|byte| is_start(**byte)).count();
    let around = WINDOW.saturating_sub(length);
    let before = line.get(..start).unwrap_or_default();
    let mut from = start;
    for _ in 0..around / 2 {
        if from == 0 {
            break;
        }
        from -= 1;
        let mut continued = 0;
        while from > 0 && continued < 3 && before.get(from).is_some_and(|byte| !is_start(*byte)) {
            from -= 1;
            continued += 1;
        }
    }
    let to = from + characters(line.get(from..).unwrap_or_default(), WINDOW);
    from..to.max(start)
}

fn is_start(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// Gives how many bytes the first `count` characters take. What is no UTF-8 counts by the byte, or by few.
pub(super) fn characters(text: &[u8], count: usize) -> usize {
    let mut at = 0;
    for _ in 0..count {
        if at >= text.len() {
            break;
        }
        at += 1;
        let mut continued = 0;
        while continued < 3 && text.get(at).is_some_and(|byte| !is_start(*byte)) {
            at += 1;
            continued += 1;
        }
    }
    at
}
