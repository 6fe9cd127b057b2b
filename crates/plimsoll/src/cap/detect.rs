//! Telling the kind of a text from its beginning.

use super::kind::Kind;
use super::minified::is_minified;
use crate::utf16::Utf16;

/// How much of a text is looked at.
const SAMPLE: usize = 64 * 1024;

/// How many lines of it.
const LINES: usize = 200;

impl Kind {
    /// Detects the kind of a text from its first 64 KiB.
    ///
    /// Text in UTF-16 with a byte order mark is judged by what it says.
    /// A structure that the content shows (JSON, a diff, a table) goes before the hint, the hint before what the lines
    /// look like.
    ///
    /// ```
    /// use plimsoll::cap::Kind;
    /// assert_eq!(Kind::detect(br#"{"items": [1, 2, 3]}"#, Some(Kind::Output)), Kind::Json);
    /// assert_eq!(Kind::detect(b"id,name\n1,a\n2,b\n3,c\n", None), Kind::Table);
    /// assert_eq!(Kind::detect(b"hello", Some(Kind::File)), Kind::File);
    /// assert_eq!(Kind::detect(b"hello", None), Kind::Text);
    /// ```
    pub fn detect(text: &[u8], hint: Option<Self>) -> Self {
        if let Some(order) = Utf16::of(text) {
            return Self::of_sample(order.decode_part(text.get(..SAMPLE).unwrap_or(text), 0).as_bytes(), hint);
        }
        Self::of_sample(text, hint)
    }

    fn of_sample(text: &[u8], hint: Option<Self>) -> Self {
        let sample = text.get(..SAMPLE).unwrap_or(text);
        let mut lines: Vec<&[u8]> = sample.split(|byte| *byte == b'\n').take(LINES + 1).collect();
        // The last may be broken off, or be what follows the last line feed.
        if lines.len() > 1 {
            lines.pop();
        }
        if is_binary(sample) {
            return Self::Binary;
        }
        structure(sample, &lines).or(hint).or_else(|| looks(&lines)).unwrap_or(Self::Text)
    }
}

/// Whether bytes are no text: many are neither characters nor what a terminal acts upon.
fn is_binary(sample: &[u8]) -> bool {
    let sample = sample.get(..4_096).unwrap_or(sample);
    let odd = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0C | 0x1B);
    let strange: usize =
        sample.utf8_chunks().map(|chunk| chunk.invalid().len() + chunk.valid().bytes().filter(odd).count()).sum();
    sample.len() >= 64 && strange * 5 > sample.len()
}

fn structure(sample: &[u8], lines: &[&[u8]]) -> Option<Kind> {
    let start = sample.trim_ascii_start();
    if let Some(kind) = json(start, lines) {
        return Some(kind);
    }
    if diff(lines) {
        return Some(Kind::Diff);
    }
    if is_minified(sample) {
        return Some(Kind::Minified);
    }
    if table(lines) || table(&records(lines).iter().map(Vec::as_slice).collect::<Vec<_>>()) {
        return Some(Kind::Table);
    }
    markdown(sample).then_some(Kind::File)
}

/// A document in Markdown, whichever tool printed it: headings of which one is below the first level, and a link or a
/// block of code. A script has comments that look like headings, and neither of these.
fn markdown(sample: &[u8]) -> bool {
    let lines = || sample.split(|byte| *byte == b'\n');
    let begins = |with: &[u8]| lines().filter(|line| line.starts_with(with)).count();
    let below = begins(b"## ") + begins(b"### ");
    let marked = || begins(b"```") > 1 || begins(b"~~~") > 1 || memchr::memmem::find(sample, b"](").is_some();
    below > 0 && below + begins(b"# ") > 1 && marked() && !lines().take(LINES).any(logged)
}

fn json(start: &[u8], lines: &[&[u8]]) -> Option<Kind> {
    let opening = *start.first()?;
    let next = start.get(1..)?.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    let plausible = match opening {
        b'{' => matches!(next, None | Some(b'"' | b'}')),
        // `[INFO] ...` is no JSON; `["a"`, `[{`, `[1` may be.
        b'[' => matches!(next, None | Some(b'"' | b'{' | b'[' | b']' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')),
        _ => false,
    };
    // A date or a level in brackets at the beginning of a log line: `[2024-`, `[12:00`, `[ 1.23]`.
    let bracketed = opening == b'['
        && lines.first().is_some_and(|line| {
            memchr::memchr(b']', line).is_some_and(|close| {
                let inside = line.get(1..close).unwrap_or_default();
                let after = line.get(close + 1..).unwrap_or_default().trim_ascii();
                !after.is_empty() && !matches!(after.first(), Some(b',' | b']' | b'}')) && !inside.contains(&b'"')
            })
        });
    if !plausible || bracketed {
        return None;
    }
    let whole = |line: &&[u8]| {
        let line = line.trim_ascii();
        line.is_empty()
            || line.starts_with(b"{") && line.ends_with(b"}")
            || line.starts_with(b"[") && line.ends_with(b"]")
    };
    let filled = lines.iter().filter(|line| !line.trim_ascii().is_empty()).count();
    if filled >= 2 && lines.iter().all(whole) {
        return Some(Kind::JsonLines);
    }
    Some(Kind::Json)
}

fn diff(lines: &[&[u8]]) -> bool {
    let begins = |with: &[u8]| lines.iter().any(|line| line.starts_with(with));
    // `git show` has a message above the first file.
    let header = lines.first().is_some_and(|line| {
        [b"diff --git ".as_slice(), b"--- ", b"commit ", b"From ", b"Index: ", b"diff -", b"*** Begin Patch"]
            .iter()
            .any(|with| line.starts_with(with))
    });
    header
        && (begins(b"diff --git ")
            || (begins(b"@@ -") && begins(b"--- ") && begins(b"+++ "))
            || begins(b"*** Update File: "))
}

/// Lines put together where quotes are open: the records of a table whose cells hold line feeds; of the last, which may be
/// broken off, only if its quotes are closed. Nothing where no line is put to another.
fn records(lines: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    let mut open = false;
    for line in lines {
        match records.last_mut().filter(|_| open) {
            Some(record) => {
                record.push(b' ');
                record.extend_from_slice(line);
            }
            None => records.push(line.to_vec()),
        }
        open ^= !memchr::memchr_iter(b'"', line).count().is_multiple_of(2);
    }
    if open {
        records.pop();
    }
    records.truncate(if records.len() == lines.len() { 0 } else { records.len() });
    records
}

fn table(lines: &[&[u8]]) -> bool {
    let filled: Vec<&[u8]> = lines.iter().copied().filter(|line| !line.trim_ascii().is_empty()).collect();
    let Some((header, rows)) = filled.split_first() else {
        return false;
    };
    if rows.len() < 3 {
        return false;
    }
    [b'\t', b',', b';', b'|'].into_iter().any(|separator| {
        let columns = |line: &[u8]| separators(line, separator);
        let expected = columns(header);
        let fitting = rows.iter().take(50).filter(|row| columns(row) == expected).count();
        // Prose has commas, too, but not the same number in every line; code has brackets.
        expected >= 1
            && fitting * 20 >= rows.len().min(50) * 19
            && !header.iter().any(|byte| matches!(byte, b'(' | b'{' | b'='))
            && (expected >= 2 || separator == b'\t' || !header.trim_ascii().contains(&b' '))
    })
}

/// Counts separators outside quotes.
fn separators(line: &[u8], separator: u8) -> usize {
    let mut quoted = false;
    line.iter()
        .filter(|byte| {
            quoted ^= **byte == b'"';
            !quoted && **byte == separator
        })
        .count()
}

/// What the lines look like: a log, a listing, or nothing in particular.
fn looks(lines: &[&[u8]]) -> Option<Kind> {
    let filled: Vec<&[u8]> =
        lines.iter().copied().map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(100).collect();
    let share = |is: fn(&[u8]) -> bool| filled.iter().filter(|line| is(line)).count() * 100 / filled.len().max(1);
    // Test runners and build tools announce themselves; `$` and `>` precede commands.
    let announced = |line: &&[u8]| {
        let begins: [&[u8]; 8] =
            [b"=====", b"$ ", b"> ", b"   Compiling ", b"running ", b"npm ", b"+ ", b"collected "];
        begins.iter().any(|begin| line.starts_with(begin.trim_ascii_start()))
    };
    if filled.is_empty() {
        None
    } else if filled.iter().take(5).any(announced) {
        Some(Kind::Output)
    } else if filled.iter().any(|line| line.contains(&0x1B)) || share(logged) >= 30 {
        Some(Kind::Log)
    } else if filled.len() >= 3 && share(listed) >= 80 {
        Some(Kind::Listing)
    } else {
        None
    }
}

/// What log lines begin with.
const LEVELS: [&[u8]; 12] = [
    b"[INFO]",
    b"[WARN]",
    b"[ERROR]",
    b"[DEBUG]",
    b"[WARNING]",
    b"INFO ",
    b"WARN ",
    b"DEBUG ",
    b"ERROR ",
    b"INFO:",
    b"DEBUG:",
    b"make[",
];

/// A line with a time or a level at its beginning.
fn logged(line: &[u8]) -> bool {
    let start = line.get(..40).unwrap_or(line);
    let digits = |at: usize| start.get(at).is_some_and(u8::is_ascii_digit);
    let clock = (0..start.len().saturating_sub(4)).any(|at| {
        digits(at) && digits(at + 1) && start.get(at + 2) == Some(&b':') && digits(at + 3) && digits(at + 4)
    });
    clock || LEVELS.iter().any(|level| memchr::memmem::find(start, level).is_some())
}

/// A path, or a search hit: `path:12:text`.
fn listed(line: &[u8]) -> bool {
    let head = memchr::memchr(b':', line).and_then(|colon| line.get(..colon)).unwrap_or(line);
    let is_path =
        |name: &[u8]| !name.is_empty() && !name.contains(&b' ') && name.iter().any(|b| matches!(b, b'/' | b'.'));
    is_path(head) || line.starts_with(b"-rw") || line.starts_with(b"drwx") || line.starts_with(b"total ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_shows_its_kind() {
        let of = |text: &str| Kind::detect(text.as_bytes(), None);
        assert_eq!(of("[INFO] Scanning\n[INFO] Building\n"), Kind::Log);
        assert_eq!(of("[2024-01-02 10:00:00] start\n[2024-01-02 10:00:01] end\n"), Kind::Log);
        assert_eq!(of("[1, 2, 3]"), Kind::Json);
        assert_eq!(of("{\"a\":1}\n{\"a\":2}\n"), Kind::JsonLines);
        assert_eq!(of("{\n  \"a\": [\n    1\n  ]\n}\n"), Kind::Json);
        assert_eq!(of("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"), Kind::Diff);
        assert_eq!(of("a\tb\n1\t2\n3\t4\n5\t6\n"), Kind::Table);
        assert_eq!(of("src/a.rs:12:fn a()\nsrc/b.rs:3:fn b()\nsrc/c.rs:9:x\n"), Kind::Listing);
        assert_eq!(of("Once upon a time, there was.\nAnd then, it was not.\nThe end, all.\nYes, so.\n"), Kind::Text);
        assert_eq!(of(""), Kind::Text);
    }

    #[test]
    fn random_bytes_are_no_log() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let random: Vec<u8> = (0..60_000).map(|_| next()).collect();
        assert_eq!(Kind::detect(&random, Some(Kind::Output)), Kind::Binary);
        assert_eq!(Kind::detect(&[0; 5_000], None), Kind::Binary);
        for text in ["\u{1b}[31merror\u{1b}[0m: it broke\n".repeat(200), "日本語のテキスト\n".repeat(300)] {
            assert_ne!(Kind::detect(text.as_bytes(), None), Kind::Binary);
        }
        // Latin-1 is text, though it cannot be shown well.
        assert_ne!(Kind::detect(&b"caf\xE9 au lait, d\xE9j\xE0 vu\n".repeat(100), None), Kind::Binary);
    }

    #[test]
    fn a_table_whose_records_span_lines_is_one() {
        let record = |n: usize| format!("{n},\"first line, of {n}\nsecond \"\"line\"\"\r\n\nlast\",open\n");
        let csv: String = "id,text,state\n".to_owned() + &(0..90).map(record).collect::<String>();
        assert_eq!(Kind::detect(csv.as_bytes(), Some(Kind::Output)), Kind::Table);
        // Its header may span lines, too, and the text may be broken off within a record.
        assert_eq!(Kind::detect(&csv.as_bytes()[..1_000], None), Kind::Table);
        assert_eq!(Kind::detect(csv.replacen("text", "\"te\nxt\"", 1).as_bytes(), None), Kind::Table);
        for text in [
            "He said, \"it is\nso, and so\".\nShe said, \"no\".\nThen, \"it was\nnot\", they said, yes.\nEnd.\n",
            "a, b = \"x\ny\", 2\nc, d = \"z\nw\", 3\nf(\"a, \nb\", 1)\nreturn a, b\n",
        ] {
            assert_eq!(Kind::detect(text.repeat(5).as_bytes(), None), Kind::Text, "{text}");
        }
    }

    #[test]
    fn markdown_is_a_file_whichever_tool_printed_it() {
        let of = |text: &str| Kind::detect(text.as_bytes(), Some(Kind::Output));
        assert_eq!(of("# Name\n\nSee [the site](https://x).\n\n## Use\n\nRun it.\n"), Kind::File);
        assert_eq!(of("# A\n\n## B\n~~~js\n[1]\n~~~\n"), Kind::File);
        assert_eq!(of("<div>\n## A\n```sh\nls\n```\n## B\n"), Kind::File);
        for output in [
            "# one\n# two\necho $(a)[1](2)\n",
            "## Running tests\n## Running lints\nok\n",
            "## Build [log](x)\n## Test\n10:00:01 started\n",
        ] {
            assert_eq!(of(output), Kind::Output, "{output}");
        }
    }

    #[test]
    fn a_structure_goes_before_the_hint_and_the_hint_before_looks() {
        assert_eq!(Kind::detect(b"{\"a\": 1}", Some(Kind::Output)), Kind::Json);
        assert_eq!(Kind::detect(b"10:00:00 start\n10:00:01 end\n", Some(Kind::File)), Kind::File);
    }
}
