//! Telling what a user pasted from what a user said: logs, listings, code between the words of a message.

use super::sentence;
use super::standing::{Tier, weigh};
use super::value;
use crate::transcript::CONTINUATION_OPENING;

/// How many passages in a row make a paste, if enough of them look like a machine's.
const RUN: usize = 6;
/// How many passages that read like sentences may stand inside a paste.
const BRIDGE: usize = 3;

/// Says for each passage of a message whether it is pasted.
///
/// A passage can be pasted by itself (a stack frame, a block of code), or as part of a run of lines of which a third
/// look like a machine's. Sentences and list entries in such a run stay the user's.
pub(crate) fn pasted(passages: &[&str]) -> Vec<bool> {
    let mut flags: Vec<bool> = passages.iter().map(|passage| value::is_bulk(passage)).collect();
    flag_patches(passages, &mut flags);
    flag_continuations(passages, &mut flags);
    let mut start = 0;
    let mut pasted_until: Option<usize> = None;
    while start < passages.len() {
        let rest = passages.get(start..).unwrap_or(&[]);
        let length = rest.iter().take_while(|passage| !is_said(passage)).count();
        let run = rest.get(..length).unwrap_or(&[]);
        let machine = run.iter().filter(|passage| is_machine(passage)).count();
        // A paste that was under way goes on after a few lines that read like sentences.
        let goes_on = pasted_until.filter(|end| start - end <= BRIDGE);
        let enough = if goes_on.is_some() { 2 } else { RUN };
        if length >= enough && machine * 3 >= length {
            let from = goes_on.unwrap_or(start);
            // Between the lines of a log it is plain what is none of them.
            let logged = run.iter().filter(|passage| value::is_log_line(passage)).count() * 2 >= length;
            for (flag, passage) in flags.iter_mut().zip(passages).take(start + length).skip(from) {
                let said = is_said(passage) && weigh(passage).0 == Tier::Standing;
                *flag = *flag || !(said || (logged && is_remark(passage)));
            }
            pasted_until = Some(start + length);
        }
        start += length.max(1);
    }
    flags
}

/// Flags the lines of patches, whatever they read like: from a header on, as long as lines are added or removed, or stand
/// between such and are no sentences.
fn flag_patches(passages: &[&str], flags: &mut [bool]) {
    const HEADERS: [&str; 4] = ["diff --git ", "@@ -", "+++ ", "*** Begin Patch"];
    const BELOW: [&str; 6] = ["--- ", "index ", "new file mode", "deleted file mode", "rename ", "similarity index"];
    let mut inside = false;
    for (flag, passage) in flags.iter_mut().zip(passages) {
        let line = passage.trim_start();
        let begins = |with: &[&str]| with.iter().any(|with| line.starts_with(with));
        inside =
            begins(&HEADERS) || inside && (line.starts_with(['+', '-', '\\']) || begins(&BELOW) || !is_said(passage));
        *flag = *flag || inside;
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

/// Whether a line is made of words alone, as a program hardly ever prints them.
fn is_remark(passage: &str) -> bool {
    let words = passage.split_whitespace().count();
    let first = passage.split_whitespace().next().unwrap_or("");
    let signs = passage.chars().filter(char::is_ascii_punctuation).count();
    words >= 2
        && passage.chars().count() <= 200
        && passage.starts_with(char::is_alphabetic)
        && !passage.contains('\n')
        && !first.ends_with([':', ']'])
        && !first.contains(['.', '/', '(', '='])
        && signs * 6 <= passage.chars().count()
        && !is_machine(passage)
}

/// Whether a passage looks like a line that a program printed.
fn is_machine(passage: &str) -> bool {
    let line = passage.trim_start();
    if value::is_bulk(passage)
        || line.chars().any(|c| matches!(c, '\u{2500}'..='\u{259f}' | '✔' | '✓' | '✗' | '×' | '❯'))
        || line.contains("^^^")
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
    let hash = line.split_whitespace().any(|word| word.len() >= 20 && word.chars().all(|c| c.is_ascii_hexdigit()));
    stamp
        || place
        || hash
        || (visible >= 12 && signs * 4 > visible)
        || (line.len() <= 4 && line.starts_with(|c: char| c.is_ascii_digit()))
}

/// The passages that are not pasted.
pub(super) fn said<'t>(passages: &[&'t str]) -> Vec<&'t str> {
    let mut pasted = pasted(passages).into_iter();
    passages.iter().copied().filter(|_| pasted.next() == Some(false)).collect()
}

#[cfg(test)]
#[expect(clippy::format_collect, reason = "samples are small")]
mod tests {
    use super::super::sentence::passages;
    use super::*;

    #[test]
    fn a_log_is_told_from_the_words_around_it() {
        let text = "Why is this failing in CI? Never skip the check.\n\nRun npm run check\n> check\n> npm run db:generate && biome check .\n\
            ✔ Generated Client (v6.15.0) in 63ms\napp/lib/a.ts:35:11 lint/noImplicitAny\n34 │ if (!ok) {\nFound 4 errors\nError: exited with 1\n\n\
            The limit of 30 warnings stays as it is.";
        let passages = passages(text);
        assert_eq!(
            said(&passages),
            ["Why is this failing in CI?", "Never skip the check.", "The limit of 30 warnings stays as it is."]
        );
    }

    #[test]
    fn lines_of_a_patch_are_pasted_whatever_they_say() {
        let text = "Please review this. Never touch the lock file.\ndiff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n\
            --- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,4 @@ fn a()\n let x = 1;\n-    // You must never call this twice.\n\
            +    // Always call this at least 3 times.\n\nThe limit of 30 warnings stays as it is.";
        let passages = passages(text);
        assert_eq!(
            said(&passages),
            ["Please review this.", "Never touch the lock file.", "The limit of 30 warnings stays as it is."]
        );
    }

    #[test]
    fn a_remark_between_the_lines_of_a_log_is_the_users() {
        for remark in [
            "please never restart node 7",
            "Tabs, not spaces.",
            "Älä koske laskukansioon",
            "Leave the vendored code alone.",
        ] {
            let log = |level: &str| {
                (0..9)
                    .map(|at| format!("2026-11-01T10:0{at}:00 {level} worker-{at} failed, must retry {at}\n"))
                    .collect::<String>()
            };
            let text = format!("{}{remark}\n{}", log("INFO"), log("WARN"));
            let passages = passages(&text);
            assert_eq!(said(&passages), [remark]);
        }
        let trace = "java.lang.IllegalStateException: must not be null\n\tat a.b.C(D.java:3)\n";
        let log: String = (0..9).map(|at| format!("10:0{at}:00 ERROR boom\n{trace}")).collect();
        let passages = passages(&log);
        assert!(pasted(&passages).iter().all(|pasted| *pasted), "{passages:?}");
    }

    #[test]
    fn rules_in_a_list_are_the_users() {
        let text = "Rules:\n- port 8080 only\n- log to /var/log/a b.log only\n- keep `x`\n- use v2.1.3 always\n- cap 1,234.50 EUR net\n- mail a@b.org first\n- no retries at all";
        let passages = passages(text);
        assert!(pasted(&passages).iter().filter(|pasted| **pasted).count() == 0, "{passages:?}");
    }
}
