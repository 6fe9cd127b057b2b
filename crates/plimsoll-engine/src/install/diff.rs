//! What a change does to a file, line by line, for a person to read before it is made.

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// A line that stays, near one that does not.
    Same(String),
    /// A line that goes.
    Removed(String),
    /// A line that comes.
    Added(String),
    /// Lines that stay, too far away to be shown.
    Gap,
}

/// How many lines that stay are shown around a change.
const CONTEXT: usize = 2;
/// The longest line that is shown, in characters.
const LONGEST: usize = 140;
/// The most lines between the first and the last change that are compared one by one.
const COMPARED: usize = 2_000;

/// Compares two texts line by line.
///
/// ```
/// use plimsoll_engine::install::{DiffLine, diff};
/// let lines = diff("a\nb\nc\n", "a\nB\nc\n");
/// assert_eq!(lines, [
///     DiffLine::Same("a".into()), DiffLine::Removed("b".into()), DiffLine::Added("B".into()), DiffLine::Same("c".into()),
/// ]);
/// ```
pub fn diff(before: &str, after: &str) -> Vec<DiffLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
    let part = |lines: &[&str]| -> Vec<String> {
        lines.get(head..lines.len() - tail).unwrap_or_default().iter().map(|line| (*line).to_owned()).collect()
    };
    let mut lines: Vec<DiffLine> = old.iter().take(head).map(|line| DiffLine::Same((*line).to_owned())).collect();
    lines.extend(compare(&part(&old), &part(&new)));
    lines.extend(old.iter().skip(old.len() - tail).map(|line| DiffLine::Same((*line).to_owned())));
    shorten(lines)
}

/// Finds the longest common subsequence, if the texts are not too long for that.
fn compare(old: &[String], new: &[String]) -> Vec<DiffLine> {
    let removed = |line: &String| DiffLine::Removed(line.clone());
    let added = |line: &String| DiffLine::Added(line.clone());
    if old.len().max(new.len()) > COMPARED {
        return old.iter().map(removed).chain(new.iter().map(added)).collect();
    }
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let at = |lengths: &[u32], i: usize, j: usize| lengths.get(i * width + j).copied().unwrap_or(0);
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            let best = if one == other {
                at(&lengths, i + 1, j + 1) + 1
            } else {
                at(&lengths, i + 1, j).max(at(&lengths, i, j + 1))
            };
            if let Some(length) = lengths.get_mut(i * width + j) {
                *length = best;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while let (Some(one), Some(other)) = (old.get(i), new.get(j)) {
        if one == other {
            lines.push(DiffLine::Same(one.clone()));
            (i, j) = (i + 1, j + 1);
        } else if at(&lengths, i + 1, j) >= at(&lengths, i, j + 1) {
            lines.push(removed(one));
            i += 1;
        } else {
            lines.push(added(other));
            j += 1;
        }
    }
    lines.extend(old.iter().skip(i).map(removed));
    lines.extend(new.iter().skip(j).map(added));
    lines
}

/// Leaves out what is far from a change, and the middle of long lines.
fn shorten(lines: Vec<DiffLine>) -> Vec<DiffLine> {
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| !matches!(line, DiffLine::Same(_))).map(|(n, _)| n).collect();
    let near = |n: usize| {
        let next = changed.partition_point(|at| *at < n);
        let distance = |at: Option<&usize>| at.map_or(usize::MAX, |at| at.abs_diff(n));
        distance(changed.get(next)).min(distance(next.checked_sub(1).and_then(|before| changed.get(before))))
            <= CONTEXT
    };
    // A long line that changed in one place is shown around that place.
    let mut pairs: Vec<usize> = vec![0; lines.len()];
    for (n, pair) in lines.windows(2).enumerate() {
        if let [DiffLine::Removed(one), DiffLine::Added(other)] = pair {
            let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
            for index in [n, n + 1] {
                if let Some(from) = pairs.get_mut(index) {
                    *from = same.saturating_sub(30);
                }
            }
        }
    }
    let mut shown: Vec<DiffLine> = Vec::new();
    for (n, line) in lines.into_iter().enumerate() {
        let from = pairs.get(n).copied().unwrap_or(0);
        let line = match line {
            DiffLine::Same(_) if !near(n) => DiffLine::Gap,
            DiffLine::Same(text) => DiffLine::Same(clip(&text, from)),
            DiffLine::Removed(text) => DiffLine::Removed(clip(&text, from)),
            DiffLine::Added(text) => DiffLine::Added(clip(&text, from)),
            DiffLine::Gap => DiffLine::Gap,
        };
        if line != DiffLine::Gap || shown.last() != Some(&DiffLine::Gap) {
            shown.push(line);
        }
    }
    shown
}

fn clip(line: &str, from: usize) -> String {
    let count = line.chars().count();
    if count <= LONGEST {
        return line.to_owned();
    }
    let shown: String = line.chars().skip(from).take(LONGEST).collect();
    let (lead, trail) = (if from > 0 { "…" } else { "" }, if count > from + LONGEST { "…" } else { "" });
    format!("{lead}{shown}{trail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_from_a_change_is_left_out() {
        let old: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 50\n", "line fifty\nand more\n");
        let lines = diff(&old, &new);
        assert_eq!(lines.first(), Some(&DiffLine::Gap));
        assert_eq!(lines.last(), Some(&DiffLine::Gap));
        assert_eq!(lines.len(), 2 + 2 * CONTEXT + 3);
        assert!(lines.contains(&DiffLine::Removed("line 50".to_owned())));
        assert!(lines.contains(&DiffLine::Added("and more".to_owned())));
    }

    #[test]
    fn two_changes_do_not_swallow_what_stands_between() {
        let lines = diff("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nX\nc\nd\ne\nf\ng\nY\n");
        assert!(lines.contains(&DiffLine::Same("d".to_owned())));
        assert_eq!(lines.iter().filter(|line| matches!(line, DiffLine::Added(_))).count(), 2);
    }

    #[test]
    fn a_long_line_is_shown_around_its_change() {
        let old = format!("{}OLD{}", "a".repeat(5_000), "b".repeat(5_000));
        let lines = diff(&old, &old.replace("OLD", "NEW"));
        let DiffLine::Added(text) = &lines[1] else { panic!("{lines:?}") };
        assert!(text.contains("NEW") && text.chars().count() <= LONGEST + 2, "{text}");
        assert!(diff("", "").is_empty());
        assert_eq!(diff("", "x\n"), [DiffLine::Added("x".to_owned())]);
    }
}
