//! The files of a patch, with their hunks and lines counted.

use std::fmt::Write as _;

/// The most of a line that is read: enough for its path.
const START: usize = 512;

/// What a patch does to one file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct File {
    path: String,
    hunks: u64,
    added: u64,
    removed: u64,
    /// New, deleted, renamed, binary.
    note: &'static str,
}

/// The files of a patch as they pass by.
#[derive(Debug, Clone)]
pub(super) struct DiffFiles {
    most: usize,
    files: Vec<File>,
    /// Files that are not kept, but counted.
    more: u64,
    /// The beginning of the line at hand.
    start: Vec<u8>,
    /// Lines that the hunk at hand still has, old and new.
    left: (u64, u64),
    /// The hunks so far of the file at hand, kept or not; none before the first file.
    hunks: Option<u64>,
    total: File,
}

impl DiffFiles {
    pub(super) fn new(limit: usize) -> Self {
        let most = (limit / 24).clamp(8, 4_096);
        Self {
            most,
            files: Vec::new(),
            more: 0,
            start: Vec::new(),
            left: (0, 0),
            hunks: None,
            total: File::default(),
        }
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(feed) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at_checked(feed).unwrap_or((bytes, &[]));
            if self.start.is_empty() {
                self.line(line.get(..START).unwrap_or(line));
            } else {
                self.keep(line);
                self.end_line();
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.keep(bytes);
    }

    pub(super) fn finish(&mut self) {
        if !self.start.is_empty() {
            self.end_line();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = START - self.start.len();
        self.start.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    fn end_line(&mut self) {
        let start = std::mem::take(&mut self.start);
        self.line(&start);
        self.start = start;
        self.start.clear();
    }

    fn line(&mut self, line: &[u8]) {
        if self.left != (0, 0) {
            let (old, new) = &mut self.left;
            match line.first() {
                Some(b'+') => {
                    *new = new.saturating_sub(1);
                    self.count(|file| file.added += 1);
                    return;
                }
                Some(b'-') => {
                    *old = old.saturating_sub(1);
                    self.count(|file| file.removed += 1);
                    return;
                }
                Some(b' ') | None => {
                    *old = old.saturating_sub(1);
                    *new = new.saturating_sub(1);
                    return;
                }
                Some(b'\\') => return,
                // A hunk that is shorter than it says.
                Some(_) => self.left = (0, 0),
            }
        }
        if let Some(paths) = line.strip_prefix(b"diff --git ") {
            let path = memchr::memmem::rfind(paths, b" b/").and_then(|at| paths.get(at + 3..)).unwrap_or(paths);
            self.begin(path);
        } else if let Some(path) = line.strip_prefix(b"+++ ") {
            self.name(path);
        } else if let Some(path) = line.strip_prefix(b"--- ") {
            // Without git's line, this is where a file begins.
            if self.hunks.is_none_or(|hunks| hunks > 0) {
                self.begin(strip(path));
            }
        } else if let Some(hunk) = line.strip_prefix(b"@@ -") {
            self.left = lengths(hunk).unwrap_or((0, 0));
            self.hunks = self.hunks.map(|hunks| hunks + 1);
            self.count(|file| file.hunks += 1);
        } else if let Some(note) = note(line)
            && self.more == 0
            && let Some(file) = self.files.last_mut()
        {
            file.note = note;
        }
    }

    fn begin(&mut self, path: &[u8]) {
        self.hunks = Some(0);
        if self.files.len() == self.most {
            self.more += 1;
            return;
        }
        self.files.push(File { path: shown(path), ..File::default() });
    }

    /// The new name, unless the file is deleted.
    fn name(&mut self, path: &[u8]) {
        let path = strip(path);
        if self.more == 0
            && path != b"/dev/null"
            && let Some(file) = self.files.last_mut()
            && file.hunks == 0
        {
            file.path = shown(path);
        }
    }

    fn count(&mut self, add: impl Fn(&mut File)) {
        add(&mut self.total);
        if self.more == 0
            && let Some(file) = self.files.last_mut()
        {
            add(file);
        }
    }

    /// Lists the files, as many as fit.
    pub(super) fn list(&self, most: usize) -> Option<String> {
        let count = self.files.len() as u64 + self.more;
        if count == 0 {
            return None;
        }
        let total = &self.total;
        let mut list = format!(
            "{count} {}, {} {}, +{} -{}:\n",
            if count == 1 { "file" } else { "files" },
            total.hunks,
            if total.hunks == 1 { "hunk" } else { "hunks" },
            total.added,
            total.removed
        );
        if list.len() > most {
            return None;
        }
        let mut left = count;
        for file in &self.files {
            let mut row = format!(
                "  {}: {} {}, +{} -{}",
                file.path,
                file.hunks,
                if file.hunks == 1 { "hunk" } else { "hunks" },
                file.added,
                file.removed
            );
            if !file.note.is_empty() {
                let _ = write!(row, ", {}", file.note);
            }
            row.push('\n');
            let closing = if left > 1 { "  ... and 0000000 more\n".len() } else { 0 };
            if list.len() + row.len() + closing > most {
                break;
            }
            list.push_str(&row);
            left -= 1;
        }
        let closing = format!("  ... and {left} more\n");
        if left > 0 && list.len() + closing.len() <= most {
            list.push_str(&closing);
        }
        Some(list)
    }
}

fn strip(path: &[u8]) -> &[u8] {
    let path = path.split(|byte| *byte == b'\t').next().unwrap_or(path);
    path.strip_prefix(b"b/").or_else(|| path.strip_prefix(b"a/")).unwrap_or(path)
}

fn shown(path: &[u8]) -> String {
    super::screen::shown_line(path, 200)
}

/// Reads `1,5 +1,6 @@`.
fn lengths(hunk: &[u8]) -> Option<(u64, u64)> {
    let hunk = str::from_utf8(hunk.get(..80).unwrap_or(hunk).utf8_chunks().next()?.valid().as_bytes()).ok()?;
    let (old, rest) = hunk.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let length = |range: &str| range.split_once(',').map_or(Ok(1), |(_, length)| length.parse()).ok();
    Some((length(old)?, length(new)?))
}

fn note(line: &[u8]) -> Option<&'static str> {
    let notes: [(&[u8], &str); 6] = [
        (b"new file", "new"),
        (b"deleted file", "deleted"),
        (b"rename from", "renamed"),
        (b"copy from", "copied"),
        (b"Binary files", "binary"),
        (b"GIT binary patch", "binary"),
    ];
    notes.into_iter().find(|(begins, _)| line.starts_with(begins)).map(|(_, note)| note)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patch: &str) -> String {
        let mut files = DiffFiles::new(8_192);
        for chunk in patch.as_bytes().chunks(7) {
            files.feed(chunk);
        }
        files.finish();
        files.list(8_192).unwrap()
    }

    #[test]
    fn files_are_listed_with_their_hunks_and_lines() {
        let patch = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
            @@ -1,3 +1,3 @@ fn a()\n one\n-two\n--- not a header\n+zwei\n++++ nor this\n@@ -9 +9 @@\n-x\n+y\n\
            diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\
            diff --git a/pic.png b/pic.png\nnew file mode 100644\nBinary files /dev/null and b/pic.png differ\n";
        insta::assert_snapshot!(of(patch), @r"
        3 files, 3 hunks, +3 -4:
          src/a.rs: 2 hunks, +3 -3
          old: 1 hunk, +0 -1, deleted
          pic.png: 0 hunks, +0 -0, binary
        ");
    }

    #[test]
    fn files_past_those_that_are_kept_are_counted_once() {
        for count in [7_u64, 8, 9, 10, 100] {
            let mut files = DiffFiles::new(192);
            for number in 0..count {
                let patch = format!(
                    "diff --git a/f{number} b/f{number}\n--- a/f{number}\n+++ b/f{number}\n@@ -1 +1 @@\n-a\n+b\n"
                );
                files.feed(patch.as_bytes());
            }
            files.feed(
                b"diff --git a/x.png b/x.png\nnew file mode 100644\nBinary files /dev/null and b/x.png differ\n",
            );
            files.finish();
            let list = files.list(8_192).unwrap();
            assert!(list.starts_with(&format!("{} files, {count} hunks, +{count} -{count}:\n", count + 1)), "{list}");
            assert_eq!(list.contains(", new") || list.contains(", binary"), count < 8, "{list}");
        }
    }

    #[test]
    fn a_patch_without_git_has_files_too() {
        let patch = "--- a.c\t2024-01-01\n+++ a.c\t2024-01-02\n@@ -1 +1 @@\n-x\n+y\n--- b.c\n+++ b.c\n@@ -1 +1,2 @@\n x\n+y\n";
        insta::assert_snapshot!(of(patch), @r"
        2 files, 2 hunks, +2 -1:
          a.c: 1 hunk, +1 -1
          b.c: 1 hunk, +1 -0
        ");
    }
}
