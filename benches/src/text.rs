//! Texts to measure with: made here, so that every machine measures the same, or read from recorded files.

use std::fs;
use std::path::Path;

/// Words of several kinds, from which mixed text is made when no recorded files are at hand.
const SOURCES: [&str; 4] = [
    include_str!("text.rs"),
    include_str!("../../crates/plimsoll/src/units.rs"),
    include_str!("../../crates/plimsoll/src/token/split.rs"),
    include_str!("../../Cargo.lock"),
];

/// A generator of pseudo-random numbers, the same on every run (xorshift).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Starts it from a seed other than zero.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below a bound, which must not be zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap_or(0)
    }

    /// Picks one of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len().max(1))).copied()
    }
}

/// Reads every file under a directory that is text, in the order of their names, up to a size.
pub fn recorded(directory: &Path, limit: usize) -> String {
    let mut text = String::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        if text.len() >= limit {
            break;
        }
        // What is kept for judging is not for tuning.
        if path.is_dir() && path.file_name().is_none_or(|name| name != "sealed" && name != "LICENSES") {
            let mut inside: Vec<_> =
                fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            inside.sort_by(|one, other| other.cmp(one));
            waiting.extend(inside);
        } else if let Ok(read) = fs::read_to_string(&path) {
            text.push_str(&read);
        }
    }
    cut(&mut text, limit);
    text
}

/// Mixed text of a size: recorded files over and over, or this project's own sources if there are none.
pub fn mixed(directory: Option<&Path>, size: usize) -> String {
    let mut text = directory.map(|directory| recorded(directory, size)).unwrap_or_default();
    if text.is_empty() {
        text = SOURCES.concat();
    }
    while text.len() < size {
        let again = text.clone();
        text.push_str(&again);
    }
    cut(&mut text, size);
    text
}

fn cut(text: &mut String, size: usize) {
    text.truncate((0..=size.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0));
}

/// Texts that have stalled or crashed tokenizers, by name, each of about a size in bytes.
pub fn adversarial(size: usize) -> Vec<(&'static str, String)> {
    let mut random = Random::new(0x5EED);
    let mut made = |alphabet: &[char]| {
        let mut text = String::with_capacity(size + 4);
        while text.len() < size {
            text.extend(random.pick(alphabet));
        }
        text
    };
    let letters: Vec<char> = ('a'..='z').collect();
    let base64: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(['+', '/']).collect();
    let han: Vec<char> = ('\u{4E00}'..='\u{9FA5}').collect();
    let emoji: Vec<char> = ('\u{1F600}'..='\u{1F64F}').chain(['\u{200D}', '\u{FE0F}']).collect();
    let marks: Vec<char> = ('\u{300}'..='\u{36F}').collect();
    vec![
        ("spaces", made(&[' '])),
        ("tabs and spaces", made(&[' ', '\t'])),
        ("one letter", made(&['a'])),
        ("one capital", made(&['A'])),
        ("equals signs", made(&['='])),
        ("random letters", made(&letters)),
        ("random Han", made(&han)),
        ("base64", made(&base64)),
        ("newlines", made(&['\n'])),
        ("CR and LF", made(&['\r', '\n'])),
        ("emoji", made(&emoji)),
        ("combining marks", made(&marks)),
        ("apostrophes", made(&['\''])),
        ("digits", made(&['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])),
        ("a mark, capitals", format!("\u{301}{}", made(&['A', 'B', 'C']))),
    ]
}
