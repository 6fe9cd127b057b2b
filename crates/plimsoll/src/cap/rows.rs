//! Counting the rows of a table: records, not lines, and neither rules nor footers.

/// The most of a line that is read: enough to tell what is no row.
const START: usize = 64;

/// The rows of a table as they pass by.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// Whether cells may be quoted, and hold line feeds then.
    quotes: bool,
    quoted: bool,
    /// The beginning of the record at hand.
    start: Vec<u8>,
    /// Whether anything came since the last line feed.
    unended: bool,
    /// Lines that are rows if every line feed ends one.
    lines: u64,
    /// Records outside of quotes.
    records: u64,
}

impl Rows {
    /// Begins a table whose first line is this.
    pub(super) fn new(header: &[u8]) -> Self {
        Self { quotes: !header.iter().any(|byte| matches!(byte, b'|' | b'\t')), ..Self::default() }
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let stop = memchr::memchr2(b'\n', b'"', bytes);
            let (before, rest) = bytes.split_at_checked(stop.unwrap_or(bytes.len())).unwrap_or((bytes, &[]));
            self.keep(before);
            match rest.first() {
                Some(b'"') => {
                    self.quoted ^= self.quotes;
                    self.keep(b"\"");
                }
                Some(_) => self.end_line(),
                None => {}
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
    }

    pub(super) fn finish(&mut self) {
        if self.unended {
            self.end_line();
        }
        // A quote that is none has put everything out of step.
        if self.quoted {
            self.records = self.lines;
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.unended |= !bytes.is_empty();
        let room = START - self.start.len();
        self.start.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn end_line(&mut self) {
        let is_row = is_row(&self.start);
        self.lines += u64::from(is_row);
        self.records += u64::from(is_row && !self.quoted);
        // What is within quotes goes on with the record.
        if self.quoted {
            self.keep(b" ");
        } else {
            self.start.clear();
        }
        self.unended = false;
    }

    /// How many rows there are below the header.
    pub(super) fn count(&self) -> u64 {
        self.records.saturating_sub(1)
    }
}

/// The most of a header that is put together of several lines, in bytes.
const HEADER: usize = 4 * 1024;

/// The first record of a table, on one line.
pub(super) fn header(text: &[u8]) -> Vec<u8> {
    let mut lines = text.get(..HEADER).unwrap_or(text).split(|byte| *byte == b'\n');
    let mut header = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default().to_vec();
    let open = |header: &[u8]| !memchr::memchr_iter(b'"', header).count().is_multiple_of(2);
    let quotes = Rows::new(&header).quotes;
    while quotes
        && open(&header)
        && let Some(line) = lines.next()
    {
        header = [header.trim_ascii_end(), b" ", line].concat();
    }
    header
}

/// Whether a line is a row: not empty, no rule such as `---+---` or `|:--|--:|`, no footer such as `(12 rows)`.
fn is_row(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let is_rule =
        line.iter().all(|byte| matches!(byte, b'-' | b'+' | b'|' | b':' | b'=' | b' ')) && line.contains(&b'-');
    let counted =
        line.strip_prefix(b"(").and_then(|line| line.strip_suffix(b" rows)").or(line.strip_suffix(b" row)")));
    !line.is_empty() && !is_rule && !counted.is_some_and(|count| count.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(table: &str) -> u64 {
        let counts = [1, 7, usize::MAX].map(|size| {
            let mut rows = Rows::new(table.lines().next().unwrap().as_bytes());
            table.as_bytes().chunks(size.min(table.len())).for_each(|chunk| rows.feed(chunk));
            rows.finish();
            rows.count()
        });
        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        counts[0]
    }

    #[test]
    fn rules_and_footers_are_no_rows() {
        assert_eq!(count(" id | name \n----+------\n 1 | a\n 2 | b\n(2 rows)\n\n"), 2);
        assert_eq!(count("| a | b |\n|---|:-:|\n| 1 | - |\n| 2 | x |\n| 3 | y |"), 3);
        assert_eq!(count("a\tb\n1\t5\" disk\n2\tc\n"), 2);
    }

    #[test]
    fn a_header_with_line_feeds_in_quotes_is_one_line() {
        assert_eq!(header(b"\nid,\"the\r\ntext\",x\n1,2,3\n"), b"id,\"the text\",x");
        assert_eq!(header(b"a\tb\"\n1\t2\n"), b"a\tb\"");
    }

    #[test]
    fn a_record_with_line_feeds_in_quotes_is_one_row() {
        assert_eq!(count("id,text\n1,\"one\ntwo, \"\"quoted\"\"\nthree\"\n2,b\n"), 2);
        assert_eq!(count("id,text\n1,5\" disk\n2,b\n"), 2, "a quote that is none");
    }
}
