//! Reading JSON as it passes by, keeping its structure: keys, lengths, first elements.

use super::skip::{Skip, Skipped};

/// Nesting deeper than this is not taken for JSON.
const DEEPEST: usize = 512;
/// The most of a string or number that is kept, in bytes: at the top, and deeper.
const SCALAR: [usize; 2] = [400, 200];

/// A value, as much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// As it is written, and how many bytes it has in all.
    Scalar(String, u64),
    Object(Container),
    Array(Container),
}

/// The first of what an object or array holds, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Container {
    /// Keys (as they are written, with their quotes; empty in an array) and the places of the values.
    pub(super) kept: Vec<(String, usize)>,
    pub(super) count: u64,
    /// Whether its end was not reached.
    pub(super) open: bool,
}

/// What a text that began as JSON turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// JSON so far.
    Good,
    /// One value after another.
    Several,
    /// Something else.
    Bad,
}

#[derive(Debug, Clone)]
struct Frame {
    /// Where its container is kept, if it is.
    node: Option<usize>,
    object: bool,
    expects: Expects,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    KeyOrEnd,
    Key,
    Colon,
    Value,
    ValueOrEnd,
    CommaOrEnd,
}

/// The reading itself.
#[derive(Debug, Clone)]
pub(super) struct Json {
    nodes: Vec<Value>,
    most: usize,
    /// How many values there may be before the next one at the top: so that the first does not take all the room.
    share: usize,
    stack: Vec<Frame>,
    state: State,
    ended: bool,
    /// Within a string, or a number or word.
    within: Within,
    /// The string or scalar at hand, as much of it as is kept, and its length.
    scalar: Vec<u8>,
    length: u64,
    key: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    String {
        escaped: bool,
    },
    Word,
    /// A container of which no more is kept: its values are only counted.
    Rest(Skip),
}

impl Json {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            nodes: Vec::new(),
            most: (limit / 4).clamp(1_024, 12_288),
            share: 0,
            stack: Vec::new(),
            state: State::Good,
            ended: false,
            within: Within::Nothing,
            scalar: Vec::new(),
            length: 0,
            key: String::new(),
        }
    }

    pub(super) fn state(&self) -> State {
        if self.nodes.is_empty() { State::Bad } else { self.state }
    }

    /// Whether the text ended before its value did.
    pub(super) fn is_open(&self) -> bool {
        !self.stack.is_empty()
    }

    pub(super) fn value(&self, at: usize) -> Option<&Value> {
        self.nodes.get(at)
    }

    /// Whether it is JSON so far; what comes after that is not read.
    pub(super) fn is_good(&self) -> bool {
        self.state == State::Good
    }

    /// Reads on, and gives how many bytes were read: fewer than there are if it is no JSON from there on.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while self.is_good()
            && let Some(byte) = bytes.get(at).copied()
        {
            let rest = bytes.get(at..).unwrap_or_default();
            match self.within {
                Within::String { escaped: true } => {
                    self.within = Within::String { escaped: false };
                    self.take(&[byte]);
                    at += 1;
                }
                Within::String { escaped: false } => {
                    let stop = memchr::memchr2(b'"', b'\\', rest);
                    let upto = stop.map_or(rest.len(), |stop| stop + 1);
                    self.take(rest.get(..upto).unwrap_or_default());
                    at += upto;
                    match stop.and_then(|stop| rest.get(stop)) {
                        Some(b'"') => self.end_string(),
                        Some(_) => self.within = Within::String { escaped: true },
                        None => {}
                    }
                }
                Within::Word if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.') => {
                    self.take(&[byte]);
                    at += 1;
                }
                Within::Word => {
                    self.within = Within::Nothing;
                    self.end_scalar();
                }
                Within::Rest(mut skip) => {
                    let deepest = DEEPEST.saturating_sub(self.stack.len()) as u64;
                    let (taken, commas, ended) = skip.pass(rest, deepest);
                    at += taken;
                    self.count(commas);
                    self.within = match ended {
                        Skipped::On => Within::Rest(skip),
                        Skipped::Closed | Skipped::TooDeep => Within::Nothing,
                    };
                    if ended == Skipped::TooDeep {
                        self.state = State::Bad;
                    }
                }
                Within::Nothing => {
                    if self.begins_rest(byte) {
                        self.within = Within::Rest(Skip::default());
                    } else {
                        self.step(byte);
                        at += usize::from(self.is_good());
                    }
                }
            }
        }
        at
    }

    /// Whether a byte begins what is only counted of the innermost container: all that is left of it.
    fn begins_rest(&mut self, byte: u8) -> bool {
        let Some(frame) = self.stack.last().filter(|_| !self.is_kept()) else {
            return false;
        };
        match (frame.expects, byte) {
            (_, b' ' | b'\t' | b'\n' | b'\r' | b'}' | b']') => false,
            (Expects::CommaOrEnd, b',') => true,
            // Its first value: commas come between values.
            (Expects::ValueOrEnd, _) | (Expects::KeyOrEnd, b'"') => {
                self.count(1);
                self.expect(Expects::CommaOrEnd);
                true
            }
            _ => false,
        }
    }

    /// Counts values of the innermost container.
    fn count(&mut self, more: u64) {
        let place = self.stack.last().and_then(|frame| frame.node);
        if let Some(Value::Object(container) | Value::Array(container)) = place.and_then(|at| self.nodes.get_mut(at))
        {
            container.count += more;
        }
    }

    pub(super) fn finish(&mut self) {
        if self.within == Within::Word && self.state == State::Good {
            self.end_scalar();
        }
        for node in self.stack.iter().filter_map(|frame| frame.node) {
            if let Some(Value::Object(container) | Value::Array(container)) = self.nodes.get_mut(node) {
                container.open = true;
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.is_kept() {
            let most = if self.stack.len() < 2 { SCALAR[0] } else { SCALAR[1] };
            let room = most.saturating_sub(self.scalar.len());
            self.scalar.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }

    /// Whether what comes next in the innermost container is kept.
    fn is_kept(&self) -> bool {
        let Some(frame) = self.stack.last() else {
            return true;
        };
        let Some(Value::Object(container) | Value::Array(container)) =
            frame.node.and_then(|node| self.nodes.get(node))
        else {
            return false;
        };
        let depth = self.stack.len();
        let each = match (depth, frame.object) {
            (1, true) => 400,
            (2, true) => 80,
            (2, false) => 8,
            (3, true) => 40,
            (3, false) => 4,
            (1, false) | (4..=6, true) => 24,
            (4..=6, false) => 2,
            _ => 0,
        };
        container.kept.len() < each && (depth == 1 || self.nodes.len() < self.share)
    }

    fn step(&mut self, byte: u8) {
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            return;
        }
        let expects = self.stack.last().map(|frame| frame.expects);
        let value = matches!(expects, None | Some(Expects::Value | Expects::ValueOrEnd)) && !self.ended;
        match byte {
            b'{' | b'[' if value => self.open(byte == b'{'),
            b'"' if value || matches!(expects, Some(Expects::Key | Expects::KeyOrEnd)) => {
                self.within = Within::String { escaped: false };
                self.begin(b'"');
            }
            b'}' if matches!(expects, Some(Expects::KeyOrEnd)) => self.close(true),
            b']' if matches!(expects, Some(Expects::ValueOrEnd)) => self.close(false),
            b'}' | b']' if matches!(expects, Some(Expects::CommaOrEnd)) => self.close(byte == b'}'),
            b',' if matches!(expects, Some(Expects::CommaOrEnd)) => {
                if let Some(frame) = self.stack.last_mut() {
                    frame.expects = if frame.object { Expects::Key } else { Expects::Value };
                }
            }
            b':' if matches!(expects, Some(Expects::Colon)) => self.expect(Expects::Value),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I' if value => {
                self.within = Within::Word;
                self.begin(byte);
            }
            b'{' | b'[' if self.ended => self.state = State::Several,
            _ => self.state = State::Bad,
        }
    }

    fn begin(&mut self, byte: u8) {
        self.scalar.clear();
        self.length = 0;
        self.take(&[byte]);
    }

    fn expect(&mut self, expects: Expects) {
        if let Some(frame) = self.stack.last_mut() {
            frame.expects = expects;
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.scalar).into_owned()
    }

    fn end_string(&mut self) {
        self.within = Within::Nothing;
        if self.stack.last().is_some_and(|frame| matches!(frame.expects, Expects::Key | Expects::KeyOrEnd)) {
            self.key = if self.is_kept() { self.text() } else { String::new() };
            self.expect(Expects::Colon);
        } else {
            self.end_scalar();
        }
    }

    fn end_scalar(&mut self) {
        let node = self.is_kept().then(|| self.text()).map(|text| self.add(Value::Scalar(text, self.length)));
        self.hang(node);
        self.after_value();
    }

    fn add(&mut self, value: Value) -> usize {
        self.nodes.push(value);
        self.nodes.len() - 1
    }

    /// Hangs a value into the innermost container, and counts it.
    fn hang(&mut self, node: Option<usize>) {
        self.count(1);
        let place = self.stack.last().and_then(|frame| frame.node);
        if let Some(Value::Object(container) | Value::Array(container)) = place.and_then(|at| self.nodes.get_mut(at))
            && let Some(node) = node
        {
            container.kept.push((std::mem::take(&mut self.key), node));
        }
    }

    fn after_value(&mut self) {
        if self.stack.is_empty() {
            self.ended = true;
        } else {
            self.expect(Expects::CommaOrEnd);
        }
    }

    fn open(&mut self, object: bool) {
        if self.stack.len() >= DEEPEST {
            self.state = State::Bad;
            return;
        }
        let container = Container::default();
        let value = if object { Value::Object(container) } else { Value::Array(container) };
        let node = self.is_kept().then(|| self.add(value));
        if self.stack.len() < 2 {
            self.share = (self.nodes.len() + self.most / 8).min(self.most);
        }
        self.hang(node);
        let expects = if object { Expects::KeyOrEnd } else { Expects::ValueOrEnd };
        self.stack.push(Frame { node, object, expects });
    }

    fn close(&mut self, object: bool) {
        match self.stack.pop() {
            Some(frame) if frame.object == object => self.after_value(),
            _ => self.state = State::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> State {
        let mut json = Json::new(4_096);
        for chunk in text.as_bytes().chunks(3) {
            json.feed(chunk);
        }
        json.finish();
        json.state()
    }

    #[test]
    fn what_is_no_json_is_told() {
        for good in [r#"{"a":[1,-2.5e3,"x\"y\\",null,true,{}],"b":[]}"#, " [ ] ", r#"{"a": [1, 2"#] {
            assert_eq!(state(good), State::Good, "{good}");
        }
        for bad in ["[INFO] hello", "{a: 1}", "[1 2]", r#"{"a" 1}"#, "[1}", "{\"a\":1} Done in 3 s", "]"] {
            assert_eq!(state(bad), State::Bad, "{bad}");
        }
        assert_eq!(state("{\"a\":1}\n{\"a\":2}"), State::Several);
        assert_eq!(state(&"[".repeat(600)), State::Bad);
    }

    #[test]
    fn values_that_are_not_kept_are_counted() {
        let nested = r#"{"a":[1,{"b":"]}\\\",["}],"c":[]}"#;
        for (count, value) in [(1, "7"), (24, "7"), (25, "7"), (9_999, nested), (9_999, "\"a,\\\"b\"")] {
            let text = format!("{{\"rows\": [{}], \"after\": 1}}", vec![value; count].join(" ,\n"));
            for size in [1, 3, 64, 1_000, usize::MAX] {
                let mut json = Json::new(4_096);
                text.as_bytes()
                    .chunks(size.min(text.len()))
                    .for_each(|chunk| assert_eq!(json.feed(chunk), chunk.len()));
                json.finish();
                let Some(Value::Object(top)) = json.value(0) else { panic!("an object") };
                let Some(Value::Array(rows)) = json.value(top.kept[0].1) else { panic!("an array") };
                assert_eq!((top.count, rows.count, json.state()), (2, count as u64, State::Good), "{size}");
            }
        }
        // An object that nests too deep for anything of it to be kept.
        let text = format!("{}{{\"a\": 1, \"b\": {{}}}}{}", "[".repeat(20), "]".repeat(20));
        assert_eq!(state(&text), State::Good);
        assert_eq!(state("[[[[[[[1, [2}, 3}"), State::Bad);
    }
}
