//! Keeping the lines that stand out, as many as could be shown, and choosing among them.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use twox_hash::XxHash3_128;

use super::notable::Weight;
use super::screen::shown_line;

/// The most of a line that is shown, in bytes.
const LINE: usize = 240;
/// The most of a line that follows one.
const AFTER: usize = 160;
/// How many lines after a failure may be shown with it: where it is, and what it points at.
pub(super) const FOLLOWING: usize = 3;
/// How many different lines are told apart; later ones are all taken for new.
const TOLD_APART: usize = 8_192;

/// A line that stands out.
#[derive(Debug, Clone)]
pub(super) struct Find {
    /// Its number, from 1.
    pub(super) line: u64,
    /// Where what is shown of it begins, in bytes from the text's beginning.
    pub(super) at: u64,
    /// As it is shown.
    pub(super) text: String,
    /// The lines after it, as they are shown.
    pub(super) after: Vec<String>,
}

/// The lines that stand out: of each weight the first and the last.
#[derive(Debug, Clone)]
pub(super) struct Finds {
    each: usize,
    kept: [(Vec<Find>, VecDeque<Find>); 3],
    /// How often a line was seen that differs in numbers only, and where it was seen first.
    seen: HashMap<u128, (u64, u64)>,
    scratch: Vec<u8>,
    pub(super) count: u64,
}

impl Finds {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            each: (limit / 64).clamp(16, 1_024),
            kept: Default::default(),
            seen: HashMap::new(),
            scratch: Vec::new(),
            count: 0,
        }
    }

    #[cfg(test)]
    pub(super) fn holds(&self) -> usize {
        let of = |find: &Find| {
            find.text.capacity() + find.after.iter().map(String::capacity).sum::<usize>() + size_of::<Find>()
        };
        let kept = self.kept.iter().flat_map(|(first, last)| first.iter().chain(last)).map(of).sum::<usize>();
        kept + self.seen.capacity() * 48
    }

    /// Notes a line. What it looks like, and what follows it, is only made if it is kept.
    pub(super) fn note<'t>(
        &mut self,
        (number, at, weight): (u64, u64, Weight),
        line: &[u8],
        following: impl Iterator<Item = &'t [u8]>,
    ) {
        self.count += 1;
        self.scratch.clear();
        self.scratch.extend(line.iter().take(LINE).filter(|byte| !byte.is_ascii_digit()));
        let alike = XxHash3_128::oneshot(&self.scratch);
        if let Some((times, _)) = self.seen.get_mut(&alike) {
            *times += 1;
            return;
        }
        if self.seen.len() < TOLD_APART {
            self.seen.insert(alike, (1, number));
        }
        let Some((first, last)) = self.kept.get_mut(weight as usize) else {
            return;
        };
        let after = if weight == Weight::Failure {
            following.take(FOLLOWING).map(|line| shown_line(line, AFTER)).collect()
        } else {
            Vec::new()
        };
        let find = Find { line: number, at, text: shown_line(line, LINE), after };
        if first.len() < self.each {
            first.push(find);
        } else {
            if last.len() == self.each {
                last.pop_front();
            }
            last.push_back(find);
        }
    }

    /// Chooses among the lines within a range of bytes as many as fit, the weightiest first, and of those of one
    /// weight the first and the last before those between. They come in the order of the text.
    pub(super) fn choose(&self, within: &Range<u64>, most: usize) -> Vec<Shown> {
        let times: HashMap<u64, u64> = self.seen.values().map(|(times, line)| (*line, *times)).collect();
        let mut chosen: Vec<Shown> = Vec::new();
        let mut left = most;
        for (first, last) in self.kept.iter().rev() {
            let mut candidates: VecDeque<&Find> =
                first.iter().chain(last).filter(|find| within.contains(&find.at)).collect();
            let mut from_front = true;
            while let Some(find) = if from_front { candidates.pop_front() } else { candidates.pop_back() } {
                from_front = !from_front;
                let times = times.get(&find.line).copied().unwrap_or(1);
                let repeats = if times > 1 { format!(" (and {} like it)", times - 1) } else { String::new() };
                let shown =
                    Shown { line: find.line, at: find.at, text: format!("{}: {}{repeats}\n", find.line, find.text) };
                if shown.text.len() > left {
                    break;
                }
                left -= shown.text.len();
                chosen.push(shown);
            }
        }
        self.add_following(&mut chosen, within, left);
        chosen.sort_by_key(|shown| shown.line);
        chosen
    }

    fn add_following(&self, chosen: &mut Vec<Shown>, within: &Range<u64>, mut left: usize) {
        let mut taken: std::collections::HashSet<u64> = chosen.iter().map(|shown| shown.line).collect();
        let failures =
            self.kept.get(Weight::Failure as usize).into_iter().flat_map(|(first, last)| first.iter().chain(last));
        for find in failures.filter(|find| within.contains(&find.at)) {
            if !taken.contains(&find.line) {
                continue;
            }
            for (line, text) in (find.line + 1..).zip(&find.after) {
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

/// A line as it stands between head and tail.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) line: u64,
    pub(super) at: u64,
    pub(super) text: String,
}
