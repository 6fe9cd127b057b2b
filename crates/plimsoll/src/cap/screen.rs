//! Text as a terminal would leave it: without escape sequences, and with lines that were redrawn drawn once.

use unicode_segmentation::GraphemeCursor;

/// Bytes that a terminal acts upon, and which a preview therefore collapses.
const ESCAPE: u8 = 0x1B;
const BACKSPACE: u8 = 0x08;

/// A line as it is shown, and the raw bytes that it stands for.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// Where its raw bytes begin and end, the line feed included.
    pub(super) start: usize,
    pub(super) end: usize,
    /// What is shown, with its line feed if it has one.
    pub(super) text: String,
    /// Pairs of places in `text` and in the raw bytes: from each on, both advance alike until the next.
    places: Vec<(usize, usize)>,
    /// How many earlier lines are drawn over by this one.
    over: usize,
}

impl Row {
    /// Finds the raw place of a place in the shown text.
    fn raw(&self, shown: usize) -> usize {
        let known = self.places.partition_point(|(place, _)| *place <= shown).checked_sub(1);
        let (place, raw) = known.and_then(|at| self.places.get(at)).copied().unwrap_or((0, self.start));
        raw.saturating_add(shown.saturating_sub(place)).min(self.end)
    }
}

/// A part of a preview: what is shown, and the raw bytes that it stands for.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Takes the front of some raw text, at most `most` bytes as shown.
///
/// It ends with a line if one ends within the last tenth, else with a grapheme.
pub(super) fn front(raw: &[u8], most: usize) -> Part {
    let mut rows: Vec<Row> = Vec::new();
    let mut size = 0_usize;
    let mut at = 0;
    while at < raw.len() && size <= most {
        let row = row(raw, at);
        at = row.end;
        for _ in 0..row.over {
            size -= rows.pop().map_or(0, |row| row.text.len());
        }
        size += row.text.len();
        rows.push(row);
    }
    let mut part = Part::default();
    for row in rows {
        let room = most - part.text.len();
        if row.text.len() <= room {
            part.text.push_str(&row.text);
            part.end = row.end;
        } else {
            if part.text.len() < most - most / 10 || part.text.is_empty() {
                let cut = floor_grapheme(&row.text, room);
                part.text.push_str(row.text.get(..cut).unwrap_or_default());
                part.end = if cut == 0 { part.end } else { row.raw(cut) };
            }
            break;
        }
    }
    part
}

/// Takes the end of some raw text, at most `most` bytes as shown.
///
/// It begins with a line if one begins within the first tenth, else with a grapheme. `whole_lines` says that the raw
/// text begins where a line does.
pub(super) fn back(raw: &[u8], most: usize, whole_lines: bool) -> Part {
    let mut part = Part { text: String::new(), start: raw.len(), end: raw.len() };
    if most == 0 {
        return part;
    }
    let mut at = first_start(raw, most, whole_lines);
    let mut rows: Vec<Row> = Vec::new();
    while at < raw.len() {
        let row = row(raw, at);
        at = row.end;
        rows.truncate(rows.len().saturating_sub(row.over));
        rows.push(row);
    }
    let mut from = rows.len();
    let mut size = 0;
    while let Some(row) = from.checked_sub(1).and_then(|at| rows.get(at)) {
        if size + row.text.len() > most {
            break;
        }
        size += row.text.len();
        from -= 1;
        part.start = row.start;
    }
    if let Some(row) = from.checked_sub(1).and_then(|at| rows.get(at))
        && (size < most - most / 10 || size == 0)
    {
        let cut = ceil_grapheme(&row.text, row.text.len() - (most - size).min(row.text.len()));
        if cut < row.text.len() {
            part.text.push_str(row.text.get(cut..).unwrap_or_default());
            part.start = row.raw(cut);
        }
    }
    for row in rows.get(from..).unwrap_or_default() {
        part.text.push_str(&row.text);
    }
    part
}

/// Where the first good line of a window begins. A window that begins inside a character or a line skips the rest of
/// it, as long as what is left fills what can be shown.
fn first_start(raw: &[u8], most: usize, whole_lines: bool) -> usize {
    if whole_lines {
        return 0;
    }
    match memchr::memchr(b'\n', raw) {
        Some(feed) if feed < raw.len().saturating_sub(most) => feed + 1,
        _ => raw.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count(),
    }
}

/// Whether text is shown as it is: nothing in it moves the cursor or hides.
pub(super) fn is_plain(raw: &[u8]) -> bool {
    memchr::memchr3(ESCAPE, b'\r', BACKSPACE, raw).is_none()
}

/// Takes sequences that set colours and the like out of part of a line.
pub(super) fn without_colours(mut raw: &[u8], plain: &mut Vec<u8>) {
    while let Some(at) = memchr::memmem::find(raw, b"\x1b[") {
        let (before, sequence) = raw.split_at_checked(at).unwrap_or((raw, &[]));
        plain.extend_from_slice(before);
        let body = sequence.get(2..).unwrap_or_default();
        let length = body.iter().take_while(|byte| matches!(byte, 0x20..=0x3F)).count();
        raw = body.get(length + 1..).unwrap_or_default();
    }
    plain.extend_from_slice(raw);
}

/// Shows one line, without its line feed and cut to a size: in the middle if it is little too long, since both what it
/// begins with and the place it ends with may matter.
pub(super) fn shown_line(line: &[u8], most: usize) -> String {
    let row = row(line, 0);
    let text = row.text.trim_end();
    if text.len() <= most {
        return text.to_owned();
    }
    if text.len() <= most * 4 {
        let end = ceil_grapheme(text, text.len() - most / 2);
        let start = floor_grapheme(text, most.saturating_sub("…".len() + text.len() - end));
        return [text.get(..start).unwrap_or_default(), "…", text.get(end..).unwrap_or_default()].concat();
    }
    let cut = floor_grapheme(text, most.saturating_sub("…".len()));
    [text.get(..cut).unwrap_or_default(), "…"].concat()
}

/// Reads the line that begins at `start`.
fn row(raw: &[u8], start: usize) -> Row {
    let rest = raw.get(start..).unwrap_or_default();
    let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |feed| feed + 1);
    let line = rest.get(..length).unwrap_or_default();
    let end = start + length;
    if let Ok(text) = str::from_utf8(line)
        && !line.iter().any(|byte| is_acted_upon(*byte))
    {
        return Row { start, end, text: text.to_owned(), places: vec![(0, start)], over: 0 };
    }
    let mut drawing = Drawing { row: Row { start, end, ..Row::default() }, overwrite: false };
    let mut at = 0;
    while let Some(byte) = line.get(at).copied() {
        let rest = line.get(at..).unwrap_or_default();
        at += match byte {
            ESCAPE => drawing.escape(rest),
            b'\r' => {
                drawing.overwrite = true;
                1
            }
            BACKSPACE => {
                drawing.row.text.pop();
                1
            }
            b'\n' => {
                drawing.overwrite = false;
                drawing.draw("\n", start + at);
                1
            }
            _ => drawing.run(rest, start + at),
        };
    }
    drawing.row
}

fn is_acted_upon(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n') || byte == 0x7F
}

struct Drawing {
    row: Row,
    /// The cursor stands at the line's beginning: what is drawn next replaces it.
    overwrite: bool,
}

impl Drawing {
    fn clear(&mut self) {
        self.row.text.clear();
        self.row.places.clear();
    }

    fn draw(&mut self, text: &str, raw: usize) {
        if std::mem::take(&mut self.overwrite) {
            self.clear();
        }
        self.row.places.push((self.row.text.len(), raw));
        self.row.text.push_str(text);
    }

    /// Draws what stands before the next byte that is acted upon; other control characters and what is not UTF-8 are
    /// shown as U+FFFD.
    fn run(&mut self, rest: &[u8], raw: usize) -> usize {
        let length = rest.iter().position(|byte| is_acted_upon(*byte)).unwrap_or(rest.len());
        let length = if rest.last() == Some(&b'\n') { length.min(rest.len() - 1) } else { length };
        if length == 0 {
            self.draw("\u{fffd}", raw);
            return 1;
        }
        let mut at = 0;
        for chunk in rest.get(..length).unwrap_or_default().utf8_chunks() {
            if !chunk.valid().is_empty() {
                self.draw(chunk.valid(), raw + at);
            }
            at += chunk.valid().len();
            if !chunk.invalid().is_empty() {
                self.draw("\u{fffd}", raw + at);
            }
            at += chunk.invalid().len();
        }
        length
    }

    /// Acts upon an escape sequence, and gives its length.
    fn escape(&mut self, rest: &[u8]) -> usize {
        match rest.get(1) {
            Some(b'[') => {
                let body = rest.get(2..).unwrap_or_default();
                let Some(length) = body.iter().position(|byte| !matches!(byte, 0x20..=0x3F)) else {
                    return rest.len();
                };
                let number = body.get(..length).and_then(|digits| str::from_utf8(digits).ok()).unwrap_or("");
                let last = body.get(length).copied();
                match last {
                    // Up: the lines from there on are drawn anew.
                    Some(b'A' | b'F') => {
                        self.row.over =
                            self.row.over.saturating_add(number.parse::<usize>().unwrap_or(1).clamp(1, 200));
                        self.clear();
                    }
                    // To a column, or a place on the screen.
                    Some(b'G') if matches!(number, "" | "0" | "1") => self.overwrite = true,
                    Some(b'H' | b'f')
                        if number.rsplit(';').next().is_some_and(|column| matches!(column, "" | "0" | "1")) =>
                    {
                        self.overwrite = true;
                    }
                    Some(b'K') if number == "2" => self.clear(),
                    Some(b'K') if self.overwrite => self.clear(),
                    _ => {}
                }
                // A sequence that is broken off does not swallow what breaks it.
                2 + length + usize::from(last.is_some_and(|byte| (0x40..0x7F).contains(&byte)))
            }
            // Titles, links, and what programs tell their terminal: until BEL or ESC \.
            Some(b']' | b'_' | b'P' | b'^' | b'X') => {
                let body = rest.get(2..).unwrap_or_default();
                match body.iter().position(|byte| matches!(*byte, 0x07 | ESCAPE | b'\n')) {
                    None => 2,
                    Some(end) => match (body.get(end), body.get(end + 1)) {
                        (Some(0x07), _) => 2 + end + 1,
                        (Some(&ESCAPE), Some(b'\\')) => 2 + end + 2,
                        _ => 2 + end,
                    },
                }
            }
            // Character sets have a third byte.
            Some(b'(' | b')' | b'*' | b'+' | b'#' | b'%' | b' ') if rest.len() > 3 => 3,
            Some(byte) if (0x30..0x7F).contains(byte) => 2,
            _ => 1,
        }
    }
}

/// The last grapheme boundary at or before `at`; the last character boundary if a single grapheme fills it all.
pub(super) fn floor_grapheme(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let mut cursor = GraphemeCursor::new(floor_character(text, at), text.len(), true);
    let character = cursor.cur_cursor();
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return character;
    }
    match cursor.prev_boundary(text, 0) {
        Ok(Some(boundary)) if boundary > 0 => boundary,
        _ => character,
    }
}

/// The first grapheme boundary at or after `at`.
fn ceil_grapheme(text: &str, at: usize) -> usize {
    let character = (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let mut cursor = GraphemeCursor::new(character, text.len(), true);
    if cursor.is_boundary(text, 0).unwrap_or(true) {
        return character;
    }
    match cursor.next_boundary(text, 0) {
        Ok(Some(boundary)) if boundary < text.len() => boundary,
        _ => character,
    }
}

pub(super) fn floor_character(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
#[expect(clippy::string_slice, reason = "a wrong boundary is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(raw: &str) -> String {
        front(raw.as_bytes(), 10_000).text
    }

    #[test]
    fn redrawn_lines_are_drawn_once() {
        assert_eq!(shown("10%\r50%\r100%\ndone\n"), "100%\ndone\n");
        assert_eq!(shown("one\r\ntwo\r\n"), "one\ntwo\n");
        assert_eq!(shown("\u{1b}[2K\u{1b}[1Gbuild 1/9\u{1b}[2K\u{1b}[1Gbuild 9/9\n"), "build 9/9\n");
        assert_eq!(shown("a: 1\nb: 1\n\u{1b}[2A\u{1b}[Ka: 2\n\u{1b}[Kb: 2\n"), "a: 2\nb: 2\n");
        assert_eq!(shown("abc\u{8}d\n"), "abd\n");
    }

    #[test]
    fn escape_sequences_are_not_shown() {
        assert_eq!(
            shown("\u{1b}[1;31merror\u{1b}[0m: \u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\\n"),
            "error: link\n"
        );
        assert_eq!(shown("\u{1b}(Bplain\u{1b}[?25h\n"), "plain\n");
        assert_eq!(shown("nul \0 byte\n"), "nul \u{fffd} byte\n");
        // One that is broken off does not take the rest along.
        assert_eq!(shown("a\u{1b}]title without end\nb\n"), "a\nb\n");
    }

    #[test]
    fn a_line_boundary_is_preferred_within_a_tenth() {
        let raw = format!("{}\n{}", "a".repeat(94), "b".repeat(100));
        assert_eq!(front(raw.as_bytes(), 100).end, 95);
        assert_eq!(front(raw.as_bytes(), 110).end, 110);
        let raw = format!("{}\n{}", "a".repeat(100), "b".repeat(95));
        assert_eq!(back(raw.as_bytes(), 100, true).start, 101);
        assert_eq!(back(raw.as_bytes(), 120, true).start, 76);
    }

    #[test]
    fn a_cut_leaves_graphemes_and_escapes_whole() {
        let family = "👨‍👩‍👧";
        let raw = family.repeat(10);
        assert_eq!(front(raw.as_bytes(), family.len() * 2 + 5).text, family.repeat(2));
        assert_eq!(back(raw.as_bytes(), family.len() * 2 + 5, true).text, family.repeat(2));
        let raw = "\u{1b}[38;5;196mx\u{1b}[0m".repeat(50);
        let part = front(raw.as_bytes(), 7);
        // Before a character, not within the sequence before it.
        assert_eq!((part.text.as_str(), &raw[part.end..=part.end]), ("xxxxxxx", "x"));
    }

    proptest! {
        #[test]
        fn parts_fit_and_plain_text_is_shown_as_it_is(
            raw in "([ -~é日😀]{0,30}\n?){0,30}", most in 0..400usize,
        ) {
            let (front, back) = (front(raw.as_bytes(), most), back(raw.as_bytes(), most, true));
            prop_assert!(front.text.len() <= most && back.text.len() <= most);
            prop_assert_eq!(&raw[..front.end], front.text);
            prop_assert_eq!(&raw[back.start..], back.text);
        }

        #[test]
        fn parts_of_anything_fit(raw in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(0x1B), Just(b'['), Just(b'\r'), Just(b'\n'), Just(b'A')], 0..400), most in 0..400usize,
        ) {
            let (front, back) = (front(&raw, most), back(&raw, most, false));
            prop_assert!(front.text.len() <= most && back.text.len() <= most);
            prop_assert!(front.end <= raw.len() && back.start <= back.end);
        }
    }
}
