//! Keeping the lines that stand out, as many as could be shown, and choosing among them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use twox_hash::XxHash3_128;

use super::notable::Weight;
use super::screen::shown_line;

/// The least and the most of a line that is shown, in bytes: a quarter of the room there is, within these.
const LINE: Range<usize> = 80..240;
/// The most of a line that follows one.
const AFTER: usize = 160;
/// How many lines after a failure may be shown with it: where it is, and what it points at.
const FOLLOWING: usize = 3;
/// The most that is held of a line, and of what follows it, as they are in the text: escape sequences are not shown.
const RAW: usize = AFTER * FOLLOWING;
/// How many different lines are told apart; later ones are all taken for new.
const TOLD_APART: usize = 8_192;
/// How many of those are known at a glance.
const RECENT: usize = 256;
/// How many lines may turn out too long for the room that is left before no more are tried.
const TOO_LONG: usize = 8;

/// A line that stands out. How it is shown is only made out if it is chosen.
#[derive(Debug, Clone, Default)]
struct Find {
    /// Its number, from 1.
    line: u64,
    /// Where what is held of it begins, in bytes from the text's beginning.
    at: u64,
    text: Vec<u8>,
    /// What comes after it.
    after: Vec<u8>,
}

impl Find {
    fn following(&self) -> impl Iterator<Item = (u64, String)> {
        let full = self.after.len() == RAW;
        let lines = self.after.split_inclusive(|byte| *byte == b'\n').take(FOLLOWING);
        // The last piece may be broken off where what was at hand ended; where more was at hand than is held, it is long.
        let lines = lines.filter(move |line| full || line.ends_with(b"\n"));
        (self.line + 1..).zip(lines.map(|line| shown_line(line, AFTER)))
    }
}

/// The lines that stand out: of each weight the first and the last.
#[derive(Debug, Clone)]
pub(super) struct Finds {
    /// Whether lines have numbers of their own.
    numbered: bool,
    each: usize,
    kept: [(Vec<Find>, VecDeque<Find>); 3],
    /// How often a line was seen that differs in numbers only, and where it was seen first; found by what they have in
    /// common, and the most recent ones at less cost by what they have if each digit stays where it is.
    seen: Vec<(u64, u64)>,
    known: HashMap<u64, usize>,
    recent: Vec<(u64, usize)>,
    /// How many lines there were.
    pub(super) count: u64,
}

impl Finds {
    pub(super) fn new(limit: usize, numbered: bool) -> Self {
        Self {
            numbered,
            each: (limit / 128).clamp(16, 512),
            kept: Default::default(),
            seen: Vec::new(),
            known: HashMap::new(),
            recent: Vec::new(),
            count: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn holds(&self) -> usize {
        let of = |find: &Find| find.text.capacity() + find.after.capacity() + size_of::<Find>();
        let kept = self.kept.iter().flat_map(|(first, last)| first.iter().chain(last)).map(of).sum::<usize>();
        kept + self.known.capacity() * 24 + self.seen.capacity() * 16 + self.recent.capacity() * 16
    }

    /// Notes a line, and what comes after it.
    pub(super) fn note(&mut self, (line, at, weight): (u64, u64, Weight), text: &[u8], after: &[u8]) {
        self.count += 1;
        if !self.is_new(line, text) {
            return;
        }
        let Some((first, last)) = self.kept.get_mut(weight as usize) else {
            return;
        };
        // The one that makes way lends its memory.
        let full = first.len() == self.each;
        let mut find = if full && last.len() == self.each { last.pop_front() } else { None }.unwrap_or_default();
        (find.line, find.at) = (line, at);
        find.text.clear();
        find.text.extend_from_slice(text.get(..RAW).unwrap_or(text));
        find.after.clear();
        if weight == Weight::Failure {
            find.after.extend_from_slice(after.get(..RAW).unwrap_or(after));
        }
        if full {
            last.push_back(find);
        } else {
            first.push(find);
        }
    }

    /// Tells whether no line was seen that differs from this one in numbers only, and counts it.
    fn is_new(&mut self, line: u64, text: &[u8]) -> bool {
        if self.recent.is_empty() {
            self.recent = vec![(0, usize::MAX); RECENT];
        }
        let quick = alike_at_a_glance(text);
        let slot = usize::try_from(quick % RECENT as u64).unwrap_or(0);
        if let Some((known, nth)) = self.recent.get(slot)
            && *known == quick
            && let Some((times, _)) = self.seen.get_mut(*nth)
        {
            *times += 1;
            return false;
        }
        let alike = alike(text);
        let (nth, is_new) = match self.known.get(&alike) {
            Some(nth) => (*nth, false),
            None if self.seen.len() == TOLD_APART => return true,
            None => {
                self.known.insert(alike, self.seen.len());
                self.seen.push((0, line));
                (self.seen.len() - 1, true)
            }
        };
        if let Some((times, _)) = self.seen.get_mut(nth) {
            *times += 1;
        }
        if let Some(slot) = self.recent.get_mut(slot) {
            *slot = (quick, nth);
        }
        is_new
    }

    /// Chooses among the lines within a range of bytes as many as fit, the weightiest first, and of those of one
    /// weight the first and the last before those between. They come in the order of the text.
    pub(super) fn choose(&self, within: &Range<u64>, most: usize) -> Vec<Shown> {
        let times: HashMap<u64, u64> = self.seen.iter().map(|(times, line)| (*line, *times)).collect();
        let candidates = |(first, last): &(Vec<Find>, VecDeque<Find>)| {
            first.iter().chain(last).filter(|find| within.contains(&find.at)).count()
        };
        let several = self.kept.iter().map(candidates).sum::<usize>().clamp(1, 4);
        let longest = (most / several).clamp(LINE.start, LINE.end);
        let mut chosen: Vec<Shown> = Vec::new();
        let mut left = most;
        for (first, last) in self.kept.iter().rev() {
            let mut candidates: VecDeque<&Find> =
                first.iter().chain(last).filter(|find| within.contains(&find.at)).collect();
            let (mut from_front, mut too_long) = (true, 0);
            while let Some(find) = if from_front { candidates.pop_front() } else { candidates.pop_back() }
                && too_long < TOO_LONG
            {
                from_front = !from_front;
                let times = times.get(&find.line).copied().unwrap_or(1);
                let repeats = if times > 1 { format!(" (and {} like it)", times - 1) } else { String::new() };
                let number = if self.numbered { String::new() } else { format!("{}: ", find.line) };
                let text = format!("{number}{}{repeats}\n", shown_line(&find.text, longest));
                if text.len() > left {
                    too_long += 1;
                    continue;
                }
                left -= text.len();
                chosen.push(Shown { line: find.line, at: find.at, text });
            }
        }
        self.add_following(&mut chosen, within, left);
        chosen.sort_by_key(|shown| shown.line);
        chosen
    }

    fn add_following(&self, chosen: &mut Vec<Shown>, within: &Range<u64>, mut left: usize) {
        let mut taken: HashSet<u64> = chosen.iter().map(|shown| shown.line).collect();
        let failures =
            self.kept.get(Weight::Failure as usize).into_iter().flat_map(|(first, last)| first.iter().chain(last));
        for find in failures.filter(|find| within.contains(&find.at)) {
            if !taken.contains(&find.line) {
                continue;
            }
            for (line, text) in find.following() {
                let shown = Shown { line, at: find.at, text: format!("{line}- {text}\n") };
                if text.trim().is_empty() || taken.contains(&line) {
                    continue;
                }
                if shown.text.len() > left {
                    return;
                }
                left -= shown.text.len();
                taken.insert(line);
                chosen.push(shown);
            }
        }
    }
}

/// What lines have in common that differ in digits only, as a hash: eight bytes at a time.
fn alike_at_a_glance(line: &[u8]) -> u64 {
    let line = line.get(..LINE.end).unwrap_or(line);
    let (words, rest) = line.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    words.iter().chain([&last]).fold(line.len() as u64, |hash, word| {
        let word = u64::from_le_bytes(*word);
        let hash = (hash ^ word & !digits(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^ hash >> 32
    })
}

/// What lines have in common that differ in numbers only.
fn alike(line: &[u8]) -> u64 {
    let mut kept = [0; LINE.end];
    let mut size = 0;
    let keep = |bytes: &[u8], kept: &mut [u8; LINE.end], size: &mut usize| {
        for byte in bytes {
            if let Some(place) = kept.get_mut(*size) {
                *place = *byte;
            }
            *size += usize::from(!byte.is_ascii_digit());
        }
    };
    let (words, rest) = line.get(..LINE.end).unwrap_or(line).as_chunks::<8>();
    for word in words {
        if digits(u64::from_le_bytes(*word)) != 0 {
            keep(word, &mut kept, &mut size);
        } else if let Some(place) = kept.get_mut(size..size + word.len()) {
            place.copy_from_slice(word);
            size += word.len();
        }
    }
    keep(rest, &mut kept, &mut size);
    let hash = XxHash3_128::oneshot(kept.get(..size).unwrap_or_default());
    u64::try_from(hash >> 64).unwrap_or_default()
}

/// All bits of those of eight bytes that are ASCII digits.
fn digits(word: u64) -> u64 {
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let low = word & !HIGH;
    // The high bit of each byte from `0` up, and of each above `9`.
    let (least, above) = (low + u64::from_le_bytes([0x80 - b'0'; 8]), low + u64::from_le_bytes([0x7F - b'9'; 8]));
    ((least & !above & !word & HIGH) >> 7) * 0xFF
}

/// A line as it stands between head and tail.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) line: u64,
    pub(super) at: u64,
    pub(super) text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_numbers_only_are_alike() {
        let line = |number: u64| format!("worker {number} of 2026-01-02 failed at {number}.5 ms: é/:;<=9");
        assert_eq!(alike(line(7).as_bytes()), alike(line(123_456_789).as_bytes()));
        assert_eq!(alike_at_a_glance(line(7).as_bytes()), alike_at_a_glance(line(8).as_bytes()));
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
