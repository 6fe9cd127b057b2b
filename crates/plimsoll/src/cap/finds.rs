//! Keeping the lines that stand out, as many as could be shown, and choosing among them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasherDefault;
use std::ops::Range;

use super::alike::{AsIs, alike, alike_at_a_glance};
use super::notable::Weight;
use super::screen::shown_line;

/// The least and the most of a line that is shown, in bytes: a quarter of the room there is, within these.
const LINE: Range<usize> = 80..240;
/// The most of a line that follows one.
const AFTER: usize = 160;
/// How many lines after a failure are shown with it if there is room: where it is, and what it points at.
const FOLLOWING: usize = 3;
/// How many there may be of a block that goes on, indented or after an empty line: what was expected, and what came; or
/// with hints.
const BLOCK: usize = 10;
/// How many lines before a failure may be shown with it.
const BEFORE: usize = 2;
/// The most that is held of a line, of what follows it and of what is before it, as they are in the text: escape sequences
/// are not shown.
const RAW: usize = AFTER * FOLLOWING;
/// How many different lines of each weight are told apart. Of later ones only samples are looked at.
const TOLD_APART: usize = 4_096;
/// How far apart samples are, in bytes of the text: where trouble is rare, each is looked at as before.
const SPREAD: u64 = 4_096;
/// How many of those that are told apart are known at a glance.
const RECENT: usize = 1_024;
/// How many lines there must be like one that is shown elsewhere for them to be told, and of how many such lines it is.
const FLOOD: u64 = 5;
const FLOODS: usize = 3;
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
    /// What comes after it, and what stands before it.
    after: Vec<u8>,
    before: Vec<u8>,
}

/// Lines with their numbers.
type Numbered = Vec<(u64, String)>;

impl Find {
    /// The first lines after it, then those with which its block goes on.
    fn following(&self) -> (Numbered, Numbered) {
        let full = self.after.len() == RAW;
        let lines = self.after.split_inclusive(|byte| *byte == b'\n').take(BLOCK);
        // The last piece may be broken off where what was at hand ended; where more was at hand than is held, it is long.
        let lines = lines.filter(move |line| full || line.ends_with(b"\n"));
        let mut lines: Vec<(u64, &[u8])> = (self.line + 1..).zip(lines).collect();
        let mut block = lines.split_off(lines.len().min(FOLLOWING));
        // So git says what to do about it.
        let hints = |line: &[u8]| line.starts_with(b"hint: ");
        let goes_on = |line: &[u8]| line.trim_ascii().is_empty() || is_indented(line) || hints(line);
        block.truncate(block.iter().position(|(_, line)| !goes_on(line)).unwrap_or(block.len()));
        let show = |lines: Vec<(u64, &[u8])>| {
            lines.into_iter().map(|(line, text)| (line, shown_line(text, AFTER))).collect()
        };
        (show(lines), show(block))
    }

    /// The lines before it, where they seem to belong to it: indented deeper, when none that follow are. So Go says why
    /// before it says which test failed.
    fn preceding(&self) -> Vec<(u64, String)> {
        let follows = self.after.split(|byte| *byte == b'\n').next().is_some_and(is_indented);
        if follows || is_indented(&self.text) {
            return Vec::new();
        }
        let lines = self.before.strip_suffix(b"\n").unwrap_or_default().rsplit(|byte| *byte == b'\n');
        let lines = (1..=BEFORE as u64).zip(lines).take_while(|(_, line)| is_indented(line));
        lines.map(|(above, line)| (self.line.saturating_sub(above), shown_line(line, AFTER))).collect()
    }
}

fn is_indented(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'\t')) && !line.trim_ascii().is_empty()
}

/// A line to be noted: itself or a part of it, and what stands around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noted<'t> {
    /// Where the part begins, in bytes from the text's beginning.
    pub(super) at: u64,
    pub(super) weight: Weight,
    pub(super) text: &'t [u8],
    pub(super) before: &'t [u8],
    pub(super) after: &'t [u8],
}

/// What is said of where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// Its number.
    Line,
    /// The byte at which the shown part begins: of a text without lines.
    Byte,
    /// Nothing: it has a number of its own.
    Nothing,
}

/// The lines that stand out: of each weight the first and the last.
#[derive(Debug, Clone)]
pub(super) struct Finds {
    label: Label,
    each: usize,
    kept: [(Vec<Find>, VecDeque<Find>); 3],
    /// How often a line was seen that differs in numbers only, and where it was seen first; found by what they have in
    /// common, and the most recent ones at less cost by what they have if each digit stays where it is.
    seen: Vec<(u64, u64)>,
    known: HashMap<u64, usize, BuildHasherDefault<AsIs>>,
    recent: Vec<(u64, usize)>,
    /// Of each weight: how many are told apart, and where the last one stood that was looked at.
    told: [(usize, u64); 3],
    /// How many lines there were.
    pub(super) count: u64,
    /// Whether there may have been more, in what was passed over.
    pub(super) more: bool,
}

impl Finds {
    pub(super) fn new(limit: usize, label: Label) -> Self {
        Self {
            label,
            each: (limit / 128).clamp(16, 512),
            kept: Default::default(),
            seen: Vec::new(),
            known: HashMap::default(),
            recent: Vec::new(),
            told: [(0, 0); 3],
            count: 0,
            more: false,
        }
    }

    /// Up to where in the text nothing more is kept that matters most, after a failure at a byte was noted: of those
    /// there are so many that samples must do. What matters less is not looked for there either.
    pub(super) fn pass_over(&mut self, weight: Weight) -> Option<u64> {
        let (told, last) = self.told.get(weight as usize)?;
        let until = (weight == Weight::Failure && *told == TOLD_APART).then(|| last + SPREAD);
        self.more |= until.is_some();
        until
    }

    #[cfg(test)]
    pub(super) fn holds(&self) -> usize {
        let of =
            |find: &Find| find.text.capacity() + find.after.capacity() + find.before.capacity() + size_of::<Find>();
        let kept = self.kept.iter().flat_map(|(first, last)| first.iter().chain(last)).map(of).sum::<usize>();
        kept + self.known.capacity() * 24 + self.seen.capacity() * 16 + self.recent.capacity() * 16
    }

    /// Notes a line. Its number is asked for if it is news.
    pub(super) fn note(&mut self, noted: &Noted<'_>, number: impl FnOnce() -> u64) {
        let Noted { at, weight, text, before, after } = *noted;
        self.count += 1;
        let Some(nth) = self.news(at, weight, text) else {
            return;
        };
        let line = number();
        if let Some((_, first)) = self.seen.get_mut(nth) {
            *first = at;
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
        find.before.clear();
        if weight == Weight::Failure {
            find.after.extend_from_slice(after.get(..RAW).unwrap_or(after));
            // From the beginning of a line on.
            let before = before.get(before.len().saturating_sub(RAW)..).unwrap_or(before);
            let lines = memchr::memrchr_iter(b'\n', before)
                .nth(BEFORE)
                .map_or(before, |feed| before.get(feed + 1..).unwrap_or_default());
            find.before.extend_from_slice(lines);
        }
        if full {
            last.push_back(find);
        } else {
            first.push(find);
        }
    }

    /// Tells whether no line was seen that differs from this one in numbers only, and counts it: gives its place among
    /// those that are told apart, or past them if there are too many.
    fn news(&mut self, at: u64, weight: Weight, text: &[u8]) -> Option<usize> {
        let (told, last) = *self.told.get(weight as usize)?;
        let full = told == TOLD_APART;
        if full && at.saturating_sub(last) < SPREAD {
            return None;
        }
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
            return None;
        }
        let (told, last) = self.told.get_mut(weight as usize)?;
        *last = at;
        let alike = alike(text);
        let (nth, is_new) = match self.known.get(&alike) {
            Some(nth) => (*nth, false),
            None if full => return Some(usize::MAX),
            None => {
                *told += 1;
                self.known.insert(alike, self.seen.len());
                self.seen.push((0, 0));
                (self.seen.len() - 1, true)
            }
        };
        if let Some((times, _)) = self.seen.get_mut(nth) {
            *times += 1;
        }
        if let Some(slot) = self.recent.get_mut(slot) {
            *slot = (quick, nth);
        }
        is_new.then_some(nth)
    }

    /// Chooses among the lines within a range of bytes as many as fit, the weightiest first, and of those of one
    /// weight the first and the last before those between. They come in the order of the text.
    pub(super) fn choose(&self, within: &Range<u64>, most: usize) -> Vec<Shown> {
        let times: HashMap<u64, u64> = self.seen.iter().map(|(times, at)| (*at, *times)).collect();
        let candidates = |(first, last): &(Vec<Find>, VecDeque<Find>)| {
            first.iter().chain(last).filter(|find| within.contains(&find.at)).count()
        };
        let several = self.kept.iter().map(candidates).sum::<usize>().clamp(1, 4);
        let longest = (most / several).clamp(LINE.start, LINE.end);
        let and = if self.is_sampled() { "and at least" } else { "and" };
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
                let times = times.get(&find.at).copied().unwrap_or(1);
                let repeats = if times > 1 { format!(" ({and} {} like it)", times - 1) } else { String::new() };
                let number = match self.label {
                    Label::Nothing => String::new(),
                    Label::Line => format!("{}: ", find.line),
                    Label::Byte => format!("byte {}: ", find.at),
                };
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
        chosen.sort_by_key(|shown| (shown.line, shown.at));
        chosen
    }

    /// Says of which lines that are shown outside a range there are many more, the most frequent first; in at most so many
    /// bytes. Nothing if there are none.
    pub(super) fn floods(&self, within: &Range<u64>, most: usize) -> String {
        let lines: HashMap<u64, u64> = self
            .kept
            .iter()
            .flat_map(|(first, last)| first.iter().chain(last))
            .filter(|find| !within.contains(&find.at))
            .map(|find| (find.at, find.line))
            .collect();
        let more = self.seen.iter().filter_map(|(times, at)| Some((times.checked_sub(1)?, *lines.get(at)?)));
        let mut floods: Vec<(u64, u64)> = more.filter(|(more, _)| *more >= FLOOD).collect();
        floods.sort_unstable_by_key(|(more, line)| (std::cmp::Reverse(*more), *line));
        floods.truncate(FLOODS);
        let least = if self.is_sampled() { "at least " } else { "" };
        while !floods.is_empty() {
            let each = floods.iter().map(|(more, line)| format!("{least}{more} more like line {line}"));
            let text =
                format!("[plimsoll: of lines that stand out there are {}]\n", each.collect::<Vec<_>>().join(", "));
            if text.len() <= most {
                return text;
            }
            floods.pop();
        }
        String::new()
    }

    /// Whether not every line was looked at: there may be more that are like one.
    fn is_sampled(&self) -> bool {
        self.told.iter().any(|(told, _)| *told == TOLD_APART)
    }

    fn add_following(&self, chosen: &mut Vec<Shown>, within: &Range<u64>, mut left: usize) {
        let mut taken: HashSet<u64> = chosen.iter().map(|shown| shown.line).collect();
        let failures =
            self.kept.get(Weight::Failure as usize).into_iter().flat_map(|(first, last)| first.iter().chain(last));
        let failures: Vec<&Find> =
            failures.filter(|find| within.contains(&find.at) && taken.contains(&find.line)).collect();
        let mut add = |find: &Find, lines: Vec<(u64, String)>| {
            for (line, text) in lines {
                let shown = Shown { line, at: find.at, text: format!("{line}- {text}\n") };
                if text.trim().is_empty() || taken.contains(&line) {
                    continue;
                }
                let Some(rest) = left.checked_sub(shown.text.len()) else { return };
                left = rest;
                taken.insert(line);
                chosen.push(shown);
            }
        };
        // What is next to each of them before more of any.
        for find in &failures {
            add(find, find.preceding());
            add(find, find.following().0);
        }
        for find in &failures {
            add(find, find.following().1);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of letters alone that is like no other.
    fn different(number: u64) -> String {
        let letters = (0..6).map(|place| char::from(b'a' + u8::try_from(number / 16_u64.pow(place) % 16).unwrap()));
        letters.collect()
    }

    /// Notes lines `apart` bytes from one another, the first at the byte `from`; line numbers are places in bytes.
    fn note(finds: &mut Finds, from: u64, apart: u64, count: u64, weight: Weight, what: &str) {
        for nth in 0..count {
            let at = from + nth * apart;
            let text = format!("{what} {}", different(at / apart));
            let noted = Noted { at, weight, text: text.as_bytes(), before: b"", after: &[b'-'; 600] };
            finds.note(&noted, || at);
        }
    }

    #[test]
    fn of_too_many_different_lines_samples_from_everywhere_near_the_end_are_kept() {
        let mut finds = Finds::new(128 * 1024, Label::Line);
        note(&mut finds, 0, 100, 100_000, Weight::Failure, "error:");
        assert_eq!(finds.count, 100_000);
        assert!(finds.holds() < 2 << 20, "{}", finds.holds());
        // Between a head and a tail of a hundred KiB each.
        let shown = finds.choose(&(100_000..9_900_000), 32_768);
        let found = shown.iter().filter(|shown| shown.text.contains("error"));
        let late: Vec<u64> = found.map(|shown| shown.at).filter(|at| *at > 5_000_000).collect();
        assert!(late.len() > 50, "{} of {}", late.len(), shown.len());
        assert!(late.windows(2).all(|two| two[1] - two[0] >= SPREAD));
    }

    #[test]
    fn trouble_that_is_rare_is_kept_also_after_too_many_different_lines() {
        let mut finds = Finds::new(8 * 1024, Label::Line);
        note(&mut finds, 0, 100, 10_000, Weight::Failure, "error:");
        note(&mut finds, 2_000_000, 50_000, 10, Weight::Failure, "panicked:");
        let shown = finds.choose(&(1_500_000..u64::MAX), 2_048);
        assert_eq!(shown.iter().filter(|shown| shown.text.contains("panicked")).count(), 10);
    }

    #[test]
    fn too_many_warnings_do_not_keep_failures_from_being_told_apart() {
        let mut finds = Finds::new(8 * 1024, Label::Line);
        note(&mut finds, 0, 100, 10_000, Weight::Warning, "warning:");
        note(&mut finds, 1_000_000, 10, 30, Weight::Failure, "error:");
        let shown = finds.choose(&(900_000..u64::MAX), 2_048);
        assert_eq!(shown.iter().filter(|shown| shown.text.contains("error")).count(), 30);
    }

    #[test]
    fn of_a_flood_that_begins_where_it_is_shown_the_count_is_told() {
        let mut finds = Finds::new(8 * 1024, Label::Line);
        for nth in 0..1_000_u64 {
            let text =
                if nth % 9 == 1 { format!("error: full {nth}") } else { format!("error: late at 0xab{nth:x}") };
            let noted =
                Noted { at: nth * 10, weight: Weight::Failure, text: text.as_bytes(), before: b"", after: b"" };
            finds.note(&noted, || nth + 1);
        }
        let says = "[plimsoll: of lines that stand out there are 888 more like line 1, 110 more like line 2]\n";
        assert_eq!(finds.floods(&(100..9_000), 200), says);
        assert!(finds.floods(&(100..9_000), 80).ends_with("888 more like line 1]\n"));
        assert_eq!(finds.floods(&(100..9_000), 10), "");
        // Where its first line is left out, that one is shown with the count.
        assert!(!finds.floods(&(5..9_000), 200).contains("like line 2"));
        assert!(finds.choose(&(5..9_000), 200)[0].text.ends_with("error: full 1 (and 110 like it)\n"));
    }

    #[test]
    fn what_is_known_at_a_glance_is_counted_and_the_count_said_to_be_the_least() {
        let mut finds = Finds::new(8 * 1024, Label::Line);
        let again = |finds: &mut Finds| {
            let noted = Noted { at: 0, weight: Weight::Failure, text: b"error: x", before: b"", after: b"" };
            (0..5).for_each(|_| finds.note(&noted, || 1));
        };
        again(&mut finds);
        assert_eq!(finds.choose(&(0..9), 999)[0].text, "1: error: x (and 4 like it)\n");
        note(&mut finds, 10, 10, 5_000, Weight::Warning, "warning:");
        again(&mut finds);
        assert!(finds.choose(&(0..9), 999)[0].text.starts_with("1: error: x (and at least "));
    }
}
