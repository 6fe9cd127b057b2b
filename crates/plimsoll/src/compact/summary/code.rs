//! Code in an answer: what stands in it is text, whatever it looks like; and the code block that a whole answer is put in.

use super::tag::tag;

/// A text without its code: of a fenced block only a line break stays, of a code span its backquotes.
pub(in crate::compact) fn outside_code(text: &str) -> String {
    let mut outside = String::with_capacity(text.len());
    let mut code = Code::default();
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(['`', '~'])) {
        let start = at + found;
        outside.push_str(text.get(at..start).unwrap_or(""));
        let run = text.get(start..).map_or(1, |rest| rest.len() - rest.trim_start_matches(['`', '~']).len());
        if let Some(len) = code.at(text, start) {
            let inside = text.get(start..start + len).unwrap_or("");
            outside.push_str(if inside.contains('\n') {
                "\n"
            } else if inside.starts_with('`') {
                "``"
            } else {
                inside
            });
            at = start + len;
        } else {
            outside.push_str(text.get(start..start + run).unwrap_or(""));
            at = start + run;
        }
    }
    outside.push_str(text.get(at..).unwrap_or(""));
    outside
}

/// Finds code in a text that is read from its start to its end.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// How many marks a fence must have to have no end, for backticks and tildes: what a fence was looked for in vain is
    /// not looked for again, so that reading takes no longer than the text is.
    endless: [Option<usize>; 2],
}

impl Code {
    /// How long the code that begins here is: a fenced block at the start of a line, or a code span. `None` if none
    /// begins, or it has no end (then it is no code).
    pub(super) fn at(&mut self, text: &str, start: usize) -> Option<usize> {
        let rest = text.get(start..)?;
        let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let after = rest.trim_start_matches(mark);
        let length = rest.len() - after.len();
        let before = text.get(..start)?.trim_end_matches(|c: char| c != '\n' && c.is_whitespace());
        if length >= 3 && (before.is_empty() || before.ends_with('\n')) {
            let endless = self.endless.get_mut(usize::from(mark == '~'))?;
            if endless.is_some_and(|endless| length >= endless) {
                return None;
            }
            let end = fence_end(rest, mark, length);
            if end.is_none() {
                *endless = Some(length);
            }
            return end;
        }
        if mark == '~' {
            return Some(length);
        }
        // A code span ends at a run of backticks of the same length, in the same paragraph.
        let mut from = 0;
        while let Some(found) = after.get(from..).and_then(|rest| rest.find('`')) {
            let between = after.get(from..from + found)?;
            if between.contains("\n\n") || has_tag_line(between) {
                return None;
            }
            let run = after.get(from + found..)?;
            let len = run.len() - run.trim_start_matches('`').len();
            if len == length {
                return Some(length + from + found + len);
            }
            from += found + len;
        }
        None
    }
}

/// Where the fenced block ends that a text begins with.
fn fence_end(text: &str, mark: char, length: usize) -> Option<usize> {
    let mut at = text.find('\n').map(|newline| newline + 1)?;
    for line in text.get(at..)?.split_inclusive('\n') {
        let bare = line.trim();
        at += line.len();
        if bare.len() >= length && bare.chars().all(|c| c == mark) {
            return Some(at);
        }
    }
    None
}

/// Whether a line within a text is a tag and nothing else: a backquote before it that has no other is no code.
fn has_tag_line(text: &str) -> bool {
    let mut lines = text.split('\n').skip(1).peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        // The last line goes on after this text.
        if lines.peek().is_some() && tag(line).is_some_and(|(.., len)| len == line.len()) {
            return true;
        }
    }
    false
}

/// Takes a text out of the code block that it is as a whole.
pub(super) fn unwrap_fence(text: &str) -> &str {
    inside_fence(text).unwrap_or(text)
}

fn inside_fence(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.len() - text.trim_start_matches(mark).len();
    if length < 3 {
        return None;
    }
    let fence = text.get(..length)?;
    let (first, rest) = text.split_once('\n')?;
    if first.get(length..)?.contains(mark) {
        return None;
    }
    let inside = rest.strip_suffix(fence)?;
    // Only if the last line is this fence's own end: no other fence of its length stands in between, except in pairs.
    let is_fence = |line: &&str| line.trim_start().starts_with(fence);
    let mut open = false;
    let mut bare_closer = false;
    for line in inside.lines().filter(is_fence) {
        // A bare fence where none is open closes ours: what follows stands outside, and the text is no single block.
        bare_closer |= !open && line.trim().len() == length;
        open = !open;
    }
    // But who puts a whole summary into a block puts code into it that is fenced in the same way.
    let whole = !open && (!bare_closer || begins_a_summary(inside));
    (whole && (inside.is_empty() || inside.ends_with('\n'))).then_some(inside.trim())
}

/// How many characters of words may stand before the code block that an answer is put in, and after it.
const WORDS: usize = 400;

/// Takes a summary out of the code block that it stands in, where only words stand around it. Those before it go; those
/// after it stay, as what is said after a summary does.
pub(super) fn unwrap_in_words(text: &str) -> Option<String> {
    let start = fences(text).next()?.0;
    let (before, block) = text.split_at_checked(start)?;
    let are_words = |text: &str| text.chars().nth(WORDS).is_none() && !text.lines().any(begins_a_summary);
    if !are_words(before.trim()) {
        return None;
    }
    let (inside, after) = if let Some(inside) = inside_fence(block.trim()) {
        (inside, "")
    } else {
        let end = Code::default().at(block, 0)?;
        let (block, after) = block.split_at_checked(end)?;
        if fences(after).next().is_some() || !are_words(after.trim()) {
            return None;
        }
        (inside_fence(block.trim())?, after.trim())
    };
    begins_a_summary(inside).then(|| format!("{inside}\n\n{after}"))
}

/// Whether a text begins as what is asked for does: with a tag, or a heading.
fn begins_a_summary(text: &str) -> bool {
    let text = text.trim_start();
    let heading = text.trim_start_matches('#');
    let numbered = text.trim_start_matches('*');
    tag(text).is_some()
        || (heading.len() < text.len() && heading.starts_with(' '))
        || numbered.strip_prefix('1').is_some_and(|rest| rest.starts_with(['.', ')']))
}

/// The fenced blocks of a text: where each begins, and where it ends.
pub(super) fn fences(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut code = Code::default();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + text.get(at..)?.find(['`', '~'])?;
            let rest = text.get(start..)?;
            match code.at(text, start) {
                Some(len) => {
                    at = start + len;
                    if rest.get(..len).is_some_and(|block| block.contains('\n') && is_fence(block)) {
                        return Some((start, at));
                    }
                }
                None => at = start + rest.len() - rest.trim_start_matches(['`', '~']).len(),
            }
        }
    })
}

fn is_fence(block: &str) -> bool {
    block.starts_with("```") || block.starts_with("~~~")
}
