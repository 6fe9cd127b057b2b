//! Minified code: telling it from other text, the names that it gives to things, and cuts between its words.

use std::collections::HashSet;

/// A line from this length on is no line that a person wrote, in bytes.
const LONG: usize = 2_000;
/// How many other lines minified code may have: those of a licence.
const OTHERS: usize = 40;
/// How much is looked at in one go; what is found does not depend on it.
const BLOCK: usize = 64 * 1024;
/// How far before a place its name is looked for, in bytes.
const BEFORE: usize = 160;
/// Shorter names are what the tool that minified it made of longer ones, in bytes.
const SHORTEST: usize = 4;
/// Longer ones say nothing more, in bytes.
const LONGEST: usize = 60;
/// How many different names are kept.
const MOST: usize = 2_048;

/// Tells whether a text, of which this is the beginning, is code without its white space: nearly all of it in long lines
/// dense with punctuation, in the words of JavaScript. One such line in a log does not make the log code.
pub(super) fn is_minified(sample: &[u8]) -> bool {
    let (mut dense, mut others) = (0, 0);
    for line in sample.split(|byte| *byte == b'\n') {
        if is_dense(line) {
            dense += line.len();
        } else {
            others += usize::from(!line.trim_ascii().is_empty());
        }
    }
    // A licence may stand above it.
    dense > 0 && dense * 100 >= sample.len() * 60 && others <= OTHERS
}

/// Whether a line is too long to be worth a look at what it says: no person wrote it.
pub(super) const fn is_long(length: usize) -> bool {
    length >= LONG
}

fn is_dense(line: &[u8]) -> bool {
    let count = |is: fn(&u8) -> bool| line.iter().filter(|byte| is(byte)).count();
    let says = |word: &str| memchr::memmem::find(line, word.as_bytes()).is_some();
    is_long(line.len())
        && count(|byte| matches!(byte, b'(' | b')' | b'{' | b'}' | b';' | b',' | b'=')) * 100 >= line.len() * 8
        && count(|byte| *byte == b' ') * 100 <= line.len() * 10
        && says("return")
        && (says("function") || says("=>"))
}

/// Finds where a text may be cut after: the end of its last statement or value, if that is in its last fifth.
pub(super) fn cut_before_end(text: &str) -> Option<usize> {
    text.rfind([';', ',', '{', '}']).map(|at| at + 1).filter(|at| *at >= text.len() - text.len() / 5)
}

/// Finds where a text may begin: after the end of a statement or value, if that is in its first fifth.
pub(super) fn cut_after_start(text: &str) -> Option<usize> {
    text.find([';', ',', '{', '}']).map(|at| at + 1).filter(|at| *at <= text.len() / 5)
}

/// The names that passing code gives to functions, methods, classes and members, in the order of the text.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    waiting: Vec<u8>,
    /// Up to where `waiting` was looked at.
    done: usize,
    known: HashSet<Vec<u8>>,
    listed: Vec<String>,
    /// Whether there are more than are kept.
    more: bool,
}

impl Names {
    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (BLOCK - self.waiting.len()).min(bytes.len());
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.waiting.extend_from_slice(now);
            bytes = later;
            if self.waiting.len() == BLOCK {
                self.look(BLOCK - 1);
                let old = self.done.saturating_sub(BEFORE);
                self.waiting.drain(..old);
                self.done -= old;
            }
        }
    }

    pub(super) fn finish(&mut self) {
        self.look(self.waiting.len());
        self.done = self.waiting.len();
    }

    #[cfg(test)]
    pub(super) fn holds(&self) -> usize {
        self.waiting.capacity() + self.listed.iter().map(|name| name.capacity() * 2 + 100).sum::<usize>()
    }

    /// Looks at the places up to one behind which there is another byte, if there is one at all.
    fn look(&mut self, upto: usize) {
        let waiting = std::mem::take(&mut self.waiting);
        let done = self.done;
        let places = waiting.get(done..upto).unwrap_or_default();
        for place in memchr::memchr2_iter(b'{', b'=', places).map(|place| done + place) {
            let before = waiting.get(place.saturating_sub(BEFORE)..place).unwrap_or_default();
            let name = match waiting.get(place) {
                Some(b'{') => before_body(before),
                _ => assigned(before, waiting.get(place + 1)),
            };
            if let Some(name) = name {
                self.note(name);
            }
        }
        self.waiting = waiting;
        self.done = upto;
    }

    fn note(&mut self, name: &[u8]) {
        if !(SHORTEST..=LONGEST).contains(&name.len()) || is_common(name) || self.known.contains(name) {
            return;
        }
        if self.listed.len() == MOST {
            self.more = true;
            return;
        }
        self.known.insert(name.to_vec());
        self.listed.push(String::from_utf8_lossy(name).into_owned());
    }

    /// Lists the names, within a size in bytes: as many as fit, and how many there are besides; none if there are none.
    pub(super) fn list(&self, most: usize) -> Option<String> {
        let mut list = String::new();
        for (nth, name) in self.listed.iter().enumerate() {
            let besides = self.listed.len() - nth;
            let least = if self.more { "at least " } else { "" };
            let rest = format!("… and {least}{besides} more\n");
            if list.len() + name.len() + ", ".len() + rest.len() > most {
                return (nth > 0).then(|| list + &rest);
            }
            list.push_str(name);
            list.push_str(if besides == 1 { "\n" } else { ", " });
        }
        Some(list).filter(|list| !list.is_empty())
    }
}

/// The name of what a brace begins the body of: `class Name{`, `function name(…){`, `name(…){`, `name:function(…){`.
fn before_body(before: &[u8]) -> Option<&[u8]> {
    let Some(before) = before.strip_suffix(b")") else {
        let declared = memchr::memmem::rfind(before, b"class ").and_then(|at| before.get(at + b"class ".len()..))?;
        let (name, rest) = declared.split_at_checked(first_word(declared))?;
        let extends = |base: &[u8]| base.iter().all(|byte| is_part(*byte) || *byte == b'.');
        return (rest.is_empty() || rest.strip_prefix(b" extends ").is_some_and(extends)).then_some(name);
    };
    let open = before
        .iter()
        .rposition(|byte| matches!(byte, b'(' | b')' | b';'))
        .filter(|at| before.get(*at) == Some(&b'('))?;
    let before = before.get(..open)?;
    let word = last_word(before);
    match word {
        b"" | b"while" | b"switch" | b"catch" | b"with" => None,
        b"function" => {
            let rest = before.get(..before.len() - word.len())?;
            let rest = rest.strip_suffix(b"async ").unwrap_or(rest);
            Some(last_word(rest.strip_suffix(b":").or_else(|| rest.strip_suffix(b"="))?))
        }
        _ => Some(word),
    }
}

/// The name of a member that is assigned to: `x.name=`.
fn assigned<'b>(before: &'b [u8], next: Option<&u8>) -> Option<&'b [u8]> {
    if matches!(next, Some(b'=' | b'>')) {
        return None;
    }
    let word = last_word(before);
    before.get(..before.len() - word.len())?.ends_with(b".").then_some(word)
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

fn last_word(text: &[u8]) -> &[u8] {
    let start = text.iter().rposition(|byte| !is_part(*byte)).map_or(0, |at| at + 1);
    let word = text.get(start..).unwrap_or_default();
    if word.first().is_some_and(u8::is_ascii_digit) { &[] } else { word }
}

fn first_word(text: &[u8]) -> usize {
    text.iter().position(|byte| !is_part(*byte)).unwrap_or(text.len())
}

/// What every program has.
fn is_common(name: &[u8]) -> bool {
    matches!(name, b"prototype" | b"constructor" | b"length" | b"exports" | b"this" | b"extends" | b"default")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(text: &[u8], size: usize) -> Names {
        let mut names = Names::default();
        text.chunks(size).for_each(|chunk| names.feed(chunk));
        names.finish();
        names
    }

    #[test]
    fn what_code_gives_a_name_to_is_listed() {
        let code = b"class Lexer extends e{tokens(e,t){if(e){while(x==1){}}}}function parse(e,t={}){return n}\
            e.parse=n,e.walkTokens=(t)=>{},n.setOptions=function(e){},{preprocess:async function(e){},x(){}};\
            this.length=0;e.getDefaults==1;Marked=class{};class A{}";
        let listed = names(code, 1_000).list(1_000).unwrap();
        assert_eq!(listed, "Lexer, tokens, parse, walkTokens, setOptions, preprocess\n");
        let short = names(code, 1_000).list(40).unwrap();
        assert_eq!(short, "Lexer, tokens, parse, … and 3 more\n");
        assert_eq!(names(b"a=1;b={}", 3).list(100), None);
    }

    #[test]
    fn minified_code_is_told_from_other_long_lines() {
        let code = "function a(e,t){return e.x=t,e}var b=(e)=>{return a(e,1)};".repeat(50);
        assert!(is_minified(code.as_bytes()));
        assert!(is_minified(format!("/* a licence */\n{code}").as_bytes()));
        // One bundle in the middle of a build's output, and search hits that are whole bundles.
        let step = "[12:00:00] bundling module\n".repeat(60);
        assert!(!is_minified(format!("{step}{code}\nerror: it broke\n").as_bytes()));
        for other in
            ["words of prose that return to their function, and on. ".repeat(60), "0123456789abcdef".repeat(200)]
        {
            assert!(!is_minified(other.as_bytes()), "{other}");
        }
        // Code as people write it has lines.
        assert!(!is_minified("function a(e, t) { return e.x = t; }\n".repeat(100).as_bytes()));
    }

    #[test]
    fn names_are_bounded() {
        let code = (0..10_000).map(|number| format!("e.name{number}=1,")).collect::<Vec<_>>().concat();
        let names = names(code.as_bytes(), 10_000);
        assert!(names.holds() < 1 << 20);
        assert!(names.list(100).unwrap().contains("and at least "));
    }

    proptest! {
        #[test]
        fn how_code_is_divided_makes_no_difference(size in 1..200_usize, shift in 0..300_usize) {
            let code = format!("{}{}", " ".repeat(shift), "e.nameOne=1;class Lexer{run(e){}}x:function(){};".repeat(3_000));
            prop_assert_eq!(names(code.as_bytes(), size * 700).listed, names(code.as_bytes(), usize::MAX).listed);
        }
    }
}
