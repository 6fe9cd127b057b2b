//! The texts in a tool's answer: which of its strings a model reads and may be cut, and which are left as they are.

use std::borrow::Cow;

use plimsoll::wire::{Kind, Span, Value, quote};

/// Strings shorter than this, in bytes as they stand, are never cut: names, numbers, short notes.
const SHORT: usize = 256;
/// An array of at least so many one-line strings is one text of lines: a list of files, say.
const LINES: usize = 8;
/// How deep an answer is looked into.
const DEPTH: usize = 64;

/// Tools whose answer is not what the model reads: it is told in a sentence that the file was written.
const UNREAD: &[&str] =
    &["Edit", "MultiEdit", "Write", "NotebookEdit", "TodoWrite", "EnterPlanMode", "ExitPlanMode", "AskUserQuestion"];

/// Fields that name something, or that a model is not shown: never cut, however long.
const NAMES: &[&str] = &[
    "type",
    "id",
    "tool_use_id",
    "filePath",
    "file_path",
    "path",
    "uri",
    "url",
    "mimeType",
    "media_type",
    "base64",
    "blob",
    "signature",
    "encrypted_content",
    "outputFile",
    "agentId",
    "prompt",
    "query",
    "originalFile",
    "structuredPatch",
    "gitDiff",
];

/// A text that a model reads.
#[derive(Debug, Clone)]
pub(super) struct Leaf<'a> {
    /// Its place in the document: a string, or an array of strings.
    pub(super) span: Span,
    /// What it reads as.
    pub(super) text: Cow<'a, str>,
    /// Whether it is an array of strings, a line each.
    pub(super) is_lines: bool,
}

impl Leaf<'_> {
    /// Writes another text in the leaf's shape.
    pub(super) fn spell(&self, text: &str) -> String {
        if self.is_lines {
            let lines: Vec<String> = text.lines().map(quote).collect();
            format!("[{}]", lines.join(","))
        } else {
            quote(text)
        }
    }
}

/// The texts of an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Leaves<'a> {
    /// Those that may be cut, in order.
    pub(super) texts: Vec<Leaf<'a>>,
    /// The size of the short ones together, in bytes as they stand.
    pub(super) short: usize,
}

impl<'a> Leaves<'a> {
    /// Finds the texts in the answer of a tool.
    ///
    /// Media stay whole, and so does an answer that the agent program keeps in a file of its own already: of that the
    /// model is shown a short preview.
    pub(super) fn of(response: Value<'_, 'a>, tool: &str) -> Self {
        let mut leaves = Self::default();
        if !UNREAD.contains(&tool) {
            leaves.walk(response, DEPTH);
        }
        leaves
    }

    fn walk(&mut self, value: Value<'_, 'a>, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match value.kind() {
            Kind::String => self.string(value),
            Kind::Array => {
                if let Some(text) = lines_of(value) {
                    self.texts.push(Leaf { span: value.span(), text: text.into(), is_lines: true });
                } else {
                    value.elements().for_each(|element| self.walk(element, depth));
                }
            }
            Kind::Object if is_media(value) || is_kept(value) => {}
            Kind::Object => {
                for (key, field) in value.fields() {
                    let key = key.decode();
                    let is_name = NAMES.contains(&key.as_ref()) || key == "data" && has_media_type(value);
                    if !is_name {
                        self.walk(field, depth);
                    }
                }
            }
            Kind::Number | Kind::Bool | Kind::Null => {}
        }
    }

    fn string(&mut self, value: Value<'_, 'a>) {
        let Some(text) = value.text() else { return };
        let raw = text.raw();
        if is_picture(raw) {
        } else if raw.len() < SHORT {
            self.short += raw.len();
        } else if !text.is_lossy() {
            // What is no text, such as a lone surrogate, could not be given back as it came.
            self.texts.push(Leaf { span: value.span(), text: text.decode(), is_lines: false });
        }
    }
}

/// Whether a string is a picture and nothing else: a `data:` URL in base64 to its end.
fn is_picture(raw: &[u8]) -> bool {
    let Some(rest) = raw.strip_prefix(b"data:image/") else { return false };
    let Some((head, body)) =
        memchr::memchr(b',', rest.get(..100).unwrap_or(rest)).and_then(|at| rest.split_at_checked(at))
    else {
        return false;
    };
    let is_base64 =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=' | b'\\');
    head.ends_with(b";base64") && body.iter().skip(1).all(is_base64)
}

/// An array of one-line strings as one text.
fn lines_of(array: Value<'_, '_>) -> Option<String> {
    if array.elements().take(LINES).count() < LINES || array.raw().len() < SHORT {
        return None;
    }
    let mut joined = String::with_capacity(array.raw().len());
    for element in array.elements() {
        let line = element.text().filter(|text| !text.is_lossy())?.decode();
        if line.contains(['\n', '\r']) {
            return None;
        }
        joined.push_str(&line);
        joined.push('\n');
    }
    Some(joined)
}

fn is_media(object: Value<'_, '_>) -> bool {
    let is = |value: Value<'_, '_>, names: &[&str]| {
        value.text().is_some_and(|text| names.iter().any(|name| text.is(name)))
    };
    object.get("isImage").and_then(Value::bool) == Some(true)
        || object.get("type").is_some_and(|kind| is(kind, &["image", "audio", "video", "document", "pdf", "base64"]))
}

fn has_media_type(object: Value<'_, '_>) -> bool {
    ["mimeType", "media_type", "mime_type"].into_iter().any(|key| object.get(key).is_some())
}

/// Whether the program that ran the tool keeps the whole in a file already.
fn is_kept(object: Value<'_, '_>) -> bool {
    object.get("persistedOutputPath").is_some_and(|path| path.text().is_some_and(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use plimsoll::wire::Tape;

    use super::*;

    fn texts(json: &str, tool: &str) -> Vec<String> {
        let mut tape = Tape::default();
        tape.parse(json.as_bytes(), 0).unwrap();
        let leaves = Leaves::of(tape.root(json.as_bytes()).unwrap(), tool);
        leaves.texts.into_iter().map(|leaf| leaf.text.into_owned()).collect()
    }

    fn long(letter: &str) -> String {
        letter.repeat(1_000)
    }

    #[test]
    fn what_a_model_reads_is_found_and_media_are_left_alone() {
        let (a, b) = (long("a"), long("b"));
        assert_eq!(texts(&format!(r#"{{"stdout":"{a}","stderr":"{b}","isImage":false}}"#), "Bash"), [&*a, &*b]);
        assert!(texts(&format!(r#"{{"stdout":"{a}","isImage":true}}"#), "Bash").is_empty());
        assert!(texts(&format!(r#"{{"stdout":"{a}","persistedOutputPath":"/p"}}"#), "Bash").is_empty());
        assert!(texts(&format!(r#"{{"originalFile":"{a}","newString":"{b}"}}"#), "Edit").is_empty());
        let blocks = format!(r#"[{{"type":"text","text":"{a}"}},{{"type":"image","data":"{b}"}}]"#);
        assert_eq!(texts(&blocks, "mcp__x__y"), [&*a]);
        let resource =
            format!(r#"{{"resource":{{"uri":"u","mimeType":"application/pdf","data":"{b}","text":"{a}"}}}}"#);
        assert_eq!(texts(&resource, "mcp__x__y"), [&*a]);
        assert_eq!(texts(&format!(r#"{{"data":"{a}"}}"#), "mcp__x__y"), [&*a], "data without a media type is text");
        assert_eq!(
            texts(&format!(r#"{{"type":"text","file":{{"filePath":"{b}","content":"{a}"}}}}"#), "Read"),
            [&*a]
        );
    }

    #[test]
    fn only_what_is_a_picture_to_its_end_is_one() {
        let picture = format!("data:image/png;base64,{}==", "iVBOR/+".repeat(300));
        assert!(texts(&format!(r#"{{"a":"{picture}"}}"#), "Bash").is_empty());
        for text in [
            format!("{picture}\\nerror: and a log after it"),
            format!("data:image/svg+xml,<svg>{}</svg>", long("a")),
            format!("data:image/ is how a picture begins {}", long("a ")),
        ] {
            assert_eq!(texts(&format!(r#"{{"a":"{text}"}}"#), "Bash").len(), 1, "{text:.60}");
        }
    }

    #[test]
    fn what_could_not_be_given_back_as_it_came_stays_whole() {
        let a = long("a");
        assert!(texts(&format!(r#"{{"stdout":"{a}\ud83d{a}"}}"#), "Bash").is_empty());
        assert_eq!(texts(&format!(r#"{{"stdout":"{a}\ud83e\udd80{a}"}}"#), "Bash").len(), 1);
    }

    #[test]
    fn a_list_of_one_line_strings_is_one_text() {
        let files: Vec<String> = (0..50).map(|n| format!("src/module_{n}.rs")).collect();
        let json = serde_json::json!({ "numFiles": 50, "filenames": files }).to_string();
        assert_eq!(texts(&json, "Glob"), [format!("{}\n", files.join("\n"))]);
        let mut tape = Tape::default();
        tape.parse(json.as_bytes(), 0).unwrap();
        let leaves = Leaves::of(tape.root(json.as_bytes()).unwrap(), "Glob");
        assert_eq!(leaves.texts[0].spell("one\n\"two\"\n"), r#"["one","\"two\""]"#);
    }
}
