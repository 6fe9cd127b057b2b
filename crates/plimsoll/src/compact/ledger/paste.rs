//! Telling what a user pasted from what a user said: logs, listings, code between the words of a message.
//!
//! Lines that read like a machine's make a paste of the lines between them. What is made of words alone at the edges of
//! a paste, or in a paragraph of its own inside it, is the user's: in doubt nothing that a user says is dropped.

mod remark;

use self::remark::{is_entry, is_heading, is_remark};
use super::line::one_line;
use super::outcome::is_named_error;
use super::sentence::{self, passages};
use super::standing::{Tier, weigh};
use super::value;
use crate::transcript::CONTINUATION_OPENING;

/// How many passages in a row make a paste, if enough of them look like a machine's.
const RUN: usize = 6;
/// How many passages that read like sentences may stand inside a paste.
const BRIDGE: usize = 3;
/// How many lines a paragraph of the user's may have between two pastes.
const PARAGRAPH: usize = 4;

/// A passage and how it stands in the message.
struct Line<'t> {
    passage: &'t str,
    /// Whether it is the first, or a blank line stands before it.
    gap: bool,
    /// Whether its line is indented, and is no entry of a list.
    indented: bool,
    /// Whether a space stands before it, as before the lines of a patch that stay.
    spaced: bool,
}

/// Says for each passage of a message whether it is pasted.
///
/// A passage can be pasted by itself (a stack frame, a block of code), or as part of a run of lines of which a third
/// look like a machine's. Sentences and list entries in such a run stay the user's, and what is made of words alone.
pub(crate) fn pasted(text: &str, passages: &[&str]) -> Vec<bool> {
    let lines = lines(text, passages);
    let mut flags: Vec<bool> = passages.iter().map(|passage| value::is_bulk(passage)).collect();
    flag_patches(&lines, &mut flags);
    flag_continuations(passages, &mut flags);
    let runs = runs(passages, &flags);
    let of_runs = of_runs(&lines, &flags, &runs);
    for (flag, theirs) in flags.iter_mut().zip(of_runs) {
        *flag = *flag || theirs;
    }
    flags
}

/// The passages with their places.
fn lines<'t>(text: &str, passages: &[&'t str]) -> Vec<Line<'t>> {
    let mut at = 0;
    let mut lines = Vec::with_capacity(passages.len());
    for (passage, place) in passages.iter().zip(sentence::places(text, passages)) {
        let between = text.get(at..place.start).unwrap_or("");
        let indent = between.rsplit_once('\n').map_or("", |(_, indent)| indent);
        let indented = (indent.contains('\t') || indent.len() >= 2) && !is_entry(passage);
        lines.push(Line {
            passage,
            gap: at == 0 || between.matches('\n').count() > 1,
            indented,
            spaced: !indent.is_empty(),
        });
        at = place.end;
    }
    lines
}

/// The runs of passages that make pastes: whether each passage stands in one, sentences between the lines of one included.
/// `sure` are the passages that are pasted whatever stands around them.
fn runs(passages: &[&str], sure: &[bool]) -> Vec<bool> {
    let mut covered = vec![false; passages.len()];
    let mut start = 0;
    let mut pasted_until: Option<usize> = None;
    while start < passages.len() {
        let rest = passages.get(start..).unwrap_or(&[]);
        let length = rest.iter().take_while(|passage| !is_said(passage)).count();
        let run = rest.get(..length).unwrap_or(&[]);
        let sure = sure.iter().skip(start);
        let machine = run.iter().zip(sure).filter(|(passage, sure)| **sure || is_machine(passage)).count();
        // A paste that was under way goes on after a few lines that read like sentences.
        let goes_on = pasted_until.filter(|end| start - end <= BRIDGE);
        let enough = if goes_on.is_some() { 2 } else { RUN };
        if length >= enough && machine * 3 >= length {
            let from = goes_on.unwrap_or(start);
            covered.iter_mut().take(start + length).skip(from).for_each(|covered| *covered = true);
            pasted_until = Some(start + length);
        }
        start += length.max(1);
    }
    covered
}

/// What of the runs is pasted, each stretch of them by itself; `sure` are the passages that are pasted whatever stands
/// around them.
fn of_runs(lines: &[Line<'_>], sure: &[bool], runs: &[bool]) -> Vec<bool> {
    let mut pasted = vec![false; lines.len()];
    let mut start = 0;
    while start < lines.len() {
        let length = runs.iter().skip(start).take_while(|covered| **covered).count();
        let end = start + length;
        if let (Some(stretch), Some(sure), Some(pasted)) =
            (lines.get(start..end), sure.get(start..end), pasted.get_mut(start..end))
        {
            of_run(stretch, sure, pasted);
        }
        start = end.max(start + 1);
    }
    pasted
}

fn of_run(lines: &[Line<'_>], sure: &[bool], pasted: &mut [bool]) {
    let theirs = |line: &Line<'_>, sure: bool| sure || line.indented || is_machine(line.passage);
    let machine = lines.iter().zip(sure).filter(|(line, sure)| theirs(line, **sure)).count();
    let logged = lines.iter().filter(|line| value::is_log_line(line.passage)).count();
    // Between lines that are all of a kind it is plain what is none of them.
    let regular = logged * 2 >= lines.len() || machine * 8 >= lines.len() * 7;
    let last = lines.len().saturating_sub(ending(lines));
    let first = lines
        .iter()
        .zip(lines.iter().skip(1))
        .take_while(|(line, next)| is_users(line) && !is_heading(line.passage, next.passage, next.gap))
        .count();
    for (nth, (flag, line)) in pasted.iter_mut().zip(lines).enumerate() {
        let edge = nth < first || nth >= last;
        let said = is_said(line.passage) && weigh(line.passage).0 == Tier::Standing;
        *flag = !(edge || said || (regular && is_users(line)));
    }
    for paragraph in paragraphs(lines) {
        let words = lines.get(paragraph.clone()).unwrap_or(&[]);
        let is_users = words.len() <= PARAGRAPH && words.iter().all(is_users);
        if is_users {
            pasted.iter_mut().take(paragraph.end).skip(paragraph.start).for_each(|flag| *flag = false);
        }
    }
}

/// The paragraphs of some lines: what stands between blank lines.
fn paragraphs(lines: &[Line<'_>]) -> Vec<std::ops::Range<usize>> {
    let mut paragraphs = Vec::new();
    let mut start = 0;
    for (nth, line) in lines.iter().enumerate() {
        if line.gap && nth > start {
            paragraphs.push(start..nth);
            start = nth;
        }
    }
    // What a paste runs into without a blank line is no paragraph of its own: its edges are looked at by themselves.
    paragraphs.retain(|paragraph| lines.get(paragraph.start).is_some_and(|line| line.gap));
    paragraphs
}

/// How many of the last lines are the user's: made of words alone, or entries of a list under such or after a blank line.
fn ending(lines: &[Line<'_>]) -> usize {
    let mut ending = 0;
    for (nth, line) in lines.iter().rev().enumerate() {
        let listed = is_entry(line.passage) && is_remark(line.passage, true);
        if is_users(line) || (listed && line.gap) {
            ending = nth + 1;
        } else if !listed {
            break;
        }
    }
    ending
}

/// Whether a line is the user's if the lines around it are a paste.
fn is_users(line: &Line<'_>) -> bool {
    (line.gap || !line.indented) && !is_entry(line.passage) && is_remark(line.passage, line.gap)
}

/// Flags the lines of patches, whatever they read like: from a header on, as long as lines are added or removed, or stand
/// between such and are no sentences. What is made of words alone behind the last of them is the user's.
fn flag_patches(lines: &[Line<'_>], flags: &mut [bool]) {
    const HEADERS: [&str; 4] = ["diff --git ", "@@ -", "+++ ", "*** Begin Patch"];
    const BELOW: [&str; 6] = ["--- ", "index ", "new file mode", "deleted file mode", "rename ", "similarity index"];
    let begins = |line: &Line<'_>, with: &[&str]| with.iter().any(|with| line.passage.starts_with(with));
    let mut start = 0;
    while start < lines.len() {
        let rest = lines.get(start..).unwrap_or(&[]);
        if !rest.first().is_some_and(|line| begins(line, &HEADERS)) {
            start += 1;
            continue;
        }
        // As long as each line has its sign, what has none is none of the patch's.
        let mut intact = true;
        let goes_on = |line: &&Line<'_>| {
            // Of several patches in a row each ends by itself.
            if begins(line, &["diff --git ", "*** Begin Patch"]) {
                return false;
            }
            let signed = begins(line, &HEADERS) || line.passage.starts_with(['+', '-', '\\']) || begins(line, &BELOW);
            let apart = intact && line.gap && !line.spaced && is_users(line);
            intact &= signed || line.spaced;
            signed || !(apart || is_said(line.passage))
        };
        let length = 1 + rest.iter().skip(1).take_while(goes_on).count();
        let patch = rest.get(..length).unwrap_or(&[]);
        let own = length - ending(patch).min(length - 1);
        flags.iter_mut().skip(start).take(own).for_each(|flag| *flag = true);
        start += length;
    }
}

/// A message of ours that somebody pasted says nothing of what it says there.
fn flag_continuations(passages: &[&str], flags: &mut [bool]) {
    let closer = CONTINUATION_OPENING.replace('<', "</");
    let mut inside = false;
    for (flag, passage) in flags.iter_mut().zip(passages) {
        inside |= passage.starts_with(CONTINUATION_OPENING);
        *flag |= inside;
        inside &= !passage.contains(&closer);
    }
}

/// Whether a passage reads like a sentence or an entry of a list, as people write them.
fn is_said(passage: &str) -> bool {
    if is_machine(passage) || sentence::is_fenced(passage) {
        return false;
    }
    let entry = passage.strip_prefix(['-', '*', '•']).is_some_and(|rest| rest.starts_with(' '));
    let words = passage.split_whitespace().count();
    let ends = passage.ends_with(['.', '!', '?', '。', '！', '？', ':', '：']);
    let wide = passage.chars().filter(|c| value::is_unspaced(*c)).count() >= 6;
    (entry && words >= 3) || (ends && words >= 4) || (words >= 9 && passage.len() <= 400) || wide
}

/// Whether a passage looks like a line that a program printed.
fn is_machine(passage: &str) -> bool {
    let line = passage.trim_start();
    if value::is_bulk(passage)
        || line.chars().any(|c| matches!(c, '\u{2500}'..='\u{259f}' | '✔' | '✓' | '✗' | '×' | '❯'))
        || line.contains("^^^")
        || is_named_error(line)
    {
        return true;
    }
    if line.starts_with(['>', '$', '/', '|', '{', '}', '<']) || line.starts_with("+ ") || line.starts_with("  ") {
        return true;
    }
    let first = line.split_whitespace().next().unwrap_or("");
    let stamp = first.chars().filter(char::is_ascii_digit).count() >= 4 && first.contains(':');
    let place = line.split_whitespace().any(|word| {
        // `src/a.rs:12:3`
        word.rsplit(':').take(2).all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()))
            && word.contains(['/', '.'])
    });
    let visible = line.chars().filter(|c| !c.is_whitespace()).count();
    let signs = line.chars().filter(char::is_ascii_punctuation).count();
    // `-rw-r--r--`, as files are listed.
    let listed = (10..=11).contains(&first.len())
        && first.starts_with(['-', 'd', 'l'])
        && first
            .chars()
            .all(|c| matches!(c, '-' | 'd' | 'l' | 'r' | 'w' | 'x' | 's' | 't' | 'S' | 'T' | '@' | '+' | '.'));
    let hash = line.split_whitespace().any(|word| word.len() >= 20 && word.chars().all(|c| c.is_ascii_hexdigit()));
    stamp
        || listed
        || place
        || hash
        || (visible >= 12 && signs * 4 > visible)
        || (line.len() <= 4 && line.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a line of a message is a whole of its own, however long: what a program prints does not go on in what a user
/// writes below it.
pub(super) fn is_whole_line(line: &str) -> bool {
    line.starts_with(['{', '}', '<', '|', '>', '$'])
        || line.ends_with([';', '{', '}'])
        || (line.starts_with('"') && line.contains("\":"))
        || !line.chars().any(|c| c.is_whitespace() || value::is_unspaced(c))
        || is_named_error(line)
        || value::is_bulk(line)
}

/// The passages that are not pasted.
pub(super) fn said<'t>(text: &str, passages: &[&'t str]) -> Vec<&'t str> {
    let mut pasted = pasted(text, passages).into_iter();
    passages.iter().copied().filter(|_| pasted.next() == Some(false)).collect()
}

/// What a message says beside what was pasted into it, in one line of at most `limit` characters. Of a long one the end
/// is shown too: after a paste comes what is asked for.
pub(crate) fn spoken(text: &str, limit: usize) -> String {
    const CUT: &str = " […] ";
    let passages = passages(text);
    let flags = pasted(text, &passages);
    let mut said: Vec<String> = Vec::new();
    let mut between = true;
    for (passage, pasted) in passages.iter().zip(&flags) {
        match said.last_mut().filter(|_| !between && !pasted) {
            Some(last) => {
                last.push(' ');
                last.push_str(passage);
            }
            None if !pasted => said.push((*passage).to_owned()),
            None => {}
        }
        between = *pasted;
    }
    let joined = said.join(CUT);
    match (said.first(), said.last()) {
        _ if !flags.contains(&true) || said.is_empty() => one_line(text, limit),
        (Some(first), Some(last)) if said.len() > 1 && joined.chars().count() > limit => {
            format!("{}{CUT}{}", one_line(first, limit / 3), one_line(last, limit / 2))
        }
        _ => one_line(&joined, limit),
    }
}

#[cfg(test)]
mod tests;
