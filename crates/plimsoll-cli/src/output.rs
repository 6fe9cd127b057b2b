//! The only printer: standard output and error, colour, bars, progress.

use std::cmp::Reverse;
use std::io::{self, IsTerminal as _, Write};
use std::num::NonZeroU128;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use plimsoll::Tokens;
use plimsoll::budget::ByKind;
use plimsoll::compact::Carried;

use crate::args::ColorWhen;

/// Where a command prints. Standard output carries results, standard error everything said about them.
pub(crate) struct Output {
    out: io::BufWriter<io::Stdout>,
    color_out: bool,
    color_err: bool,
    progress: bool,
}

impl Output {
    pub(crate) fn new(color: ColorWhen) -> Self {
        let wanted = |terminal: bool| match color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            // NO_COLOR counts when it is set to anything but an empty text (no-color.org).
            ColorWhen::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self {
            out: io::BufWriter::with_capacity(1 << 16, io::stdout()),
            color_out: wanted(out),
            color_err: wanted(err),
            progress: err,
        }
    }

    /// Writes bytes to standard output exactly.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes).map_err(unwritten)
    }

    /// Writes a value to standard output as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value).map_err(|error| unwritten(error.into()))?;
        self.out.write_all(b"\n").map_err(unwritten)
    }

    /// Writes a text with [styles](Style) to standard output.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        let text = styled(text, self.color_out);
        self.out.write_all(text.as_bytes()).map_err(unwritten)
    }

    /// Writes a text with styles to standard error.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        // What cannot be flushed now is reported at the end; what is to be said is said all the same.
        let _ = self.out.flush();
        io::stderr().write_all(styled(text, self.color_err).as_bytes())
    }

    /// Flushes standard output; a reader that went away is not an error of ours.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.out.flush().map_err(unwritten)
    }

    /// Shows what is being done once it has taken half a second, on a terminal only.
    pub(crate) fn progress(&self, what: &str) -> Progress {
        Progress::start(self.progress, what)
    }
}

/// What could not be written to standard output, with where and what to do. A reader that went away is known by its kind.
fn unwritten(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error;
    }
    let text = format!("cannot write to standard output: {error}; make room where it goes, or send it elsewhere");
    io::Error::new(error.kind(), text)
}

/// Styles stand in texts as control characters that no user data holds, and become escapes, or nothing, when printed.
pub(crate) mod style {
    pub(crate) const BOLD: &str = "\u{1}";
    pub(crate) const DIM: &str = "\u{2}";
    pub(crate) const ACCENT: &str = "\u{3}";
    pub(crate) const WARN: &str = "\u{4}";
    pub(crate) const END: &str = "\u{5}";
}

fn styled(text: &str, color: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let escape = match character {
            '\u{1}' => "\x1b[1m",
            '\u{2}' => "\x1b[2m",
            '\u{3}' => "\x1b[36m",
            '\u{4}' => "\x1b[33m",
            '\u{5}' => "\x1b[0m",
            other => {
                shown.push(other);
                continue;
            }
        };
        if color {
            shown.push_str(escape);
        }
    }
    shown
}

/// Makes a text from outside safe to show on one line of a terminal: control characters are replaced.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// Makes a text from outside safe to show on a terminal, its lines and tabs as they are.
pub(crate) fn plain_lines(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// Whether a character is not seen but acts: controls, and what turns the direction of a line.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A bar of `width` cells, filled for `part` of `whole`. What is not nothing shows at least an eighth of a cell.
///
/// The cells are eighths, so that a bar of forty cells tells three hundred values apart.
pub(crate) fn bar(part: Tokens, whole: Tokens, width: usize) -> String {
    const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let cells = u128::try_from(width).unwrap_or(0) * 8;
    let filled = if whole.0 == 0 { 0 } else { u128::from(part.0.min(whole.0)) * cells / u128::from(whole.0) };
    let filled = usize::try_from(filled).unwrap_or(0).max(usize::from(part.0 > 0 && whole.0 > 0));
    let mut shown = "█".repeat(filled / 8);
    if filled % 8 > 0 {
        shown.push(EIGHTHS.get(filled % 8).copied().unwrap_or(' '));
    }
    let used = filled.div_ceil(8);
    shown.push_str(&" ".repeat(width.saturating_sub(used)));
    shown
}

/// Kinds of content under the names they are shown by, in the order they are shown in.
pub(crate) fn kind_rows(kinds: &ByKind) -> [(&'static str, Tokens); 8] {
    [
        ("text", kinds.text),
        ("thinking", kinds.thinking),
        ("tool calls", kinds.tool_call),
        ("tool results", kinds.tool_result),
        ("media", kinds.media),
        ("compaction", kinds.compaction),
        ("opaque", kinds.opaque),
        ("overhead", kinds.overhead),
    ]
}

/// A share in whole per cent, as it is shown: nothing is 0, everything 100, and neither is claimed otherwise.
pub(crate) fn percent(part: Tokens, whole: Tokens) -> String {
    share(part, part.percent_of(whole))
}

fn share(part: Tokens, percent: u64) -> String {
    if percent == 0 && part.0 > 0 { "<1 %".to_owned() } else { format!("{percent} %") }
}

/// The shares of the parts of a whole, as they are shown in a table: rounded so that they add up to 100.
///
/// Each is rounded down first; what is missing goes to those that lost most.
pub(crate) fn shares(parts: &[Tokens]) -> Vec<String> {
    let whole: u128 = parts.iter().map(|part| u128::from(part.0)).sum();
    let Some(whole) = NonZeroU128::new(whole) else { return vec!["0 %".to_owned(); parts.len()] };
    let mut shown: Vec<(u128, u128)> = Vec::with_capacity(parts.len());
    shown.extend(parts.iter().map(|part| (u128::from(part.0) * 100 / whole, u128::from(part.0) * 100 % whole)));
    let missing =
        usize::try_from(100_u128.saturating_sub(shown.iter().map(|(percent, _)| percent).sum())).unwrap_or(0);
    let mut lost: Vec<&mut (u128, u128)> = shown.iter_mut().collect();
    lost.sort_by_key(|(_, rest)| Reverse(*rest));
    lost.into_iter().take(missing).for_each(|(percent, _)| *percent += 1);
    parts.iter().zip(shown).map(|(part, (percent, _))| share(*part, u64::try_from(percent).unwrap_or(100))).collect()
}

/// A path as one word of a shell.
pub(crate) fn word(path: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+@:=,~".contains(c);
    if !path.is_empty() && !path.starts_with('~') && path.chars().all(safe) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Milliseconds since 1970-01-01, UTC.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How long ago something was, in its largest unit.
pub(crate) fn age(now: SystemTime, then: SystemTime) -> String {
    let seconds = now.duration_since(then).unwrap_or_default().as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// What a summary carries verbatim: each count, with the word for one and for many.
pub(crate) const fn carried_counts(carried: &Carried) -> [(usize, &'static str, &'static str); 9] {
    [
        (carried.user_messages, "user message", "user messages"),
        (carried.constraints, "constraint among them", "constraints among them"),
        (carried.items, "item touched", "items touched"),
        (carried.commands, "command", "commands"),
        (carried.errors, "error", "errors"),
        (carried.open_todos, "open to-do", "open to-dos"),
        (carried.notes, "note of the model", "notes of the model"),
        (carried.identifiers, "identifier", "identifiers"),
        (carried.pending_calls, "pending call", "pending calls"),
    ]
}

/// Something under way. Dropping it takes its line away again.
pub(crate) struct Progress {
    stages: Option<mpsc::Sender<String>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Progress {
    fn start(shown: bool, what: &str) -> Self {
        if !shown {
            return Self { stages: None, thread: None };
        }
        let (stages, updates) = mpsc::channel();
        let first = what.to_owned();
        let thread = std::thread::spawn(move || show(&updates, first));
        Self { stages: Some(stages), thread: Some(thread) }
    }

    /// Names what is done now.
    pub(crate) fn stage(&self, what: &str) {
        if let Some(stages) = &self.stages {
            // The thread only ends with us.
            let _ = stages.send(what.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stages = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn show(updates: &mpsc::Receiver<String>, mut stage: String) {
    const FRAMES: [char; 4] = ['⠋', '⠙', '⠴', '⠦'];
    let (mut wait, mut frame, mut drawn) = (Duration::from_millis(500), 0, false);
    let started = std::time::Instant::now();
    loop {
        match updates.recv_timeout(wait) {
            Ok(next) => {
                stage = next;
                let left = Duration::from_millis(500).saturating_sub(started.elapsed());
                wait = if drawn { Duration::from_millis(120) } else { left.max(Duration::from_millis(1)) };
                continue;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        let mark = FRAMES.get(frame % FRAMES.len()).copied().unwrap_or(' ');
        let seconds = started.elapsed().as_secs_f32();
        // Progress is a courtesy: a terminal that takes no more is no reason to stop.
        let _ = write!(io::stderr(), "\r\x1b[2K{mark} {stage} ({seconds:.1} s)");
        let _ = io::stderr().flush();
        (wait, frame, drawn) = (Duration::from_millis(120), frame + 1, true);
    }
    if drawn {
        let _ = write!(io::stderr(), "\r\x1b[2K");
        let _ = io::stderr().flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_fill_by_eighths_and_never_overflow() {
        insta::assert_snapshot!(bar(Tokens(50), Tokens(100), 5), @"██▌");
        assert_eq!(bar(Tokens(0), Tokens(100), 5), "     ");
        assert_eq!(bar(Tokens(1), Tokens(1_000_000), 5), "▏    ");
        assert_eq!(bar(Tokens(200), Tokens(100), 5), "█████");
        assert_eq!(bar(Tokens(1), Tokens(0), 5), "     ");
        assert_eq!(bar(Tokens(u64::MAX), Tokens(u64::MAX), 40).chars().count(), 40);
    }

    #[test]
    fn shares_do_not_claim_nothing_or_everything() {
        assert_eq!(percent(Tokens(1), Tokens(1_000)), "<1 %");
        assert_eq!(percent(Tokens(999), Tokens(1_000)), "99 %");
        assert_eq!(percent(Tokens(0), Tokens(0)), "0 %");
    }

    #[test]
    fn shares_are_rounded_and_those_of_a_table_add_up() {
        assert_eq!(percent(Tokens(104), Tokens(589)), "18 %");
        assert_eq!(percent(Tokens(1_001), Tokens(1_000)), "101 %");
        assert_eq!(shares(&[Tokens(1), Tokens(1), Tokens(1)]).join(", "), "34 %, 33 %, 33 %");
        assert_eq!(shares(&[Tokens(176), Tokens(409), Tokens(414), Tokens(1)]).join(", "), "18 %, 41 %, 41 %, <1 %");
        assert_eq!(shares(&[Tokens(0), Tokens(0)]).join(", "), "0 %, 0 %");
        assert_eq!(shares(&[Tokens(u64::MAX), Tokens(u64::MAX)]).join(", "), "50 %, 50 %");
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(word("a/b.jsonl"), "a/b.jsonl");
        assert_eq!(word("it's mine"), r"'it'\''s mine'");
        assert_eq!(word("~x"), "'~x'");
    }

    #[test]
    fn without_colour_styles_leave_no_trace() {
        assert_eq!(styled("\u{1}a\u{5}b", false), "ab");
        assert_eq!(styled("\u{1}a\u{5}b", true), "\x1b[1ma\x1b[0mb");
    }

    #[test]
    fn ages_are_told_in_their_largest_unit() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000_000);
        let ago = |seconds| age(now, now - Duration::from_secs(seconds));
        assert_eq!([ago(0), ago(59), ago(60), ago(7_199), ago(86_400)].join(", "), "0 s, 59 s, 1 min, 1 h, 1 d");
        assert_eq!(age(now, now + Duration::from_secs(9)), "0 s");
    }
}
