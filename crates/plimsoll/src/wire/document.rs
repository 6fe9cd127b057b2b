//! `Document`: bytes, the transcript they hold, and what was not understood of them.

use super::{Format, JsonError, Oddity, OddityKind, ParseError, Span, Tape, Text, detect, json::MAX_DEPTH};
use super::{anthropic, claude_code, codex, gemini, lines, openai_chat, openai_responses};
use crate::transcript::Transcript;
use crate::units::{Bytes, Tokens};

/// What bounds and steers parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseOptions {
    /// The format, if it is known; otherwise it is detected from the content.
    pub format: Option<Format>,
    /// The largest document taken; 64 MiB by default.
    pub max_bytes: Bytes,
    /// The deepest nesting taken, in levels; 128 by default.
    pub max_depth: usize,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self { format: None, max_bytes: Bytes(64 << 20), max_depth: MAX_DEPTH }
    }
}

impl ParseOptions {
    /// Forces a format.
    #[must_use]
    pub fn with_format(mut self, format: Option<Format>) -> Self {
        self.format = format;
        self
    }

    /// Sets the largest document taken. Spans are 32 bits wide: above 4 GiB nothing is taken whatever this says.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: Bytes) -> Self {
        self.max_bytes = max_bytes;
        self
    }
}

/// A unit of a document that an edit can keep or leave out: an array element, or an object on a line.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its JSON value's place, without separators or newline.
    pub span: Span,
    /// Its own id, in formats whose entries have one (`uuid` of Claude Code).
    pub id: Option<Text<'a>>,
}

/// A view over a document.
#[derive(Debug, Clone)]
pub struct Document<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) format: Format,
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) transcript: Transcript<'a>,
    pub(super) oddities: Vec<Oddity>,
    pub(super) model: Option<Text<'a>>,
    pub(super) session: Option<Text<'a>>,
    pub(super) window: Option<Tokens>,
    pub(super) max_output: Option<Tokens>,
    pub(super) previous: Option<Text<'a>>,
    pub(super) envelope: Envelope,
    pub(super) layout: Layout<'a>,
}

/// Where edits go, by kind of document.
#[derive(Debug, Clone)]
pub(super) enum Layout<'a> {
    /// The entries are the elements of one array.
    Array,
    /// The entries are lines, and edits replace lines.
    Lines,
    /// The conversation is one string where an array could stand (Responses' `input`).
    Single,
    /// A session of Claude Code: edits are appended.
    ClaudeCode(claude_code::Session<'a>),
    /// A rollout of Codex: edits are appended.
    Codex(codex::Rollout),
}

/// What stands around the messages of a log, so that one that is written looks like its neighbours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Envelope {
    /// Nothing: messages as the provider takes them.
    #[default]
    Bare,
    /// `{"type":"message","message":{…}}`, a line of a session of pi or `OpenClaw`.
    Record,
    /// `{"lc":1,"type":"constructor","id":[…],"kwargs":{…}}`, a message that `LangChain` serialised.
    Constructor,
    /// `{"type":"user","content":…}`, an entry of a session of Gemini CLI.
    Typed,
    /// `{"author":…,"content":{…}}`, an event of the Agent Development Kit.
    Event,
}

impl<'a> Document<'a> {
    /// Its bytes, as they came.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its format.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The conversation it holds.
    pub const fn transcript(&self) -> &Transcript<'a> {
        &self.transcript
    }

    /// The units that messages are made of. Not every entry belongs to a message.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// What is not as the format has it.
    pub fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    /// The model it names: in the request, or in its last response.
    pub const fn model(&self) -> Option<Text<'a>> {
        self.model
    }

    /// The program's own id of the session, where it has one.
    pub const fn session(&self) -> Option<Text<'a>> {
        self.session
    }

    /// The context window that the program recorded.
    pub const fn window(&self) -> Option<Tokens> {
        self.window
    }

    /// The output limit that the request asks for.
    pub const fn max_output(&self) -> Option<Tokens> {
        self.max_output
    }

    /// The response or conversation that this request continues: earlier history is on the provider's server, and
    /// only what is new stands here (`previous_response_id` and `conversation` of the Responses API).
    pub const fn previous(&self) -> Option<Text<'a>> {
        self.previous
    }

    pub(super) fn new(bytes: &'a [u8], format: Format, layout: Layout<'a>) -> Self {
        Self {
            bytes,
            format,
            entries: Vec::new(),
            transcript: Transcript::default(),
            oddities: Vec::new(),
            model: None,
            session: None,
            window: None,
            max_output: None,
            previous: None,
            envelope: Envelope::default(),
            layout,
        }
    }

    /// Adds an entry and returns its index.
    pub(super) fn entry(&mut self, span: Span, id: Option<Text<'a>>) -> u32 {
        let index = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.entries.push(Entry { span, id });
        index
    }

    pub(super) fn odd(&mut self, kind: OddityKind, span: Span) {
        self.oddities.push(Oddity { kind, span });
    }
}

/// Lays a view over bytes.
///
/// Parsing tolerates: what is not understood becomes [`Opaque`](crate::transcript::BlockKind::Opaque) or an
/// [`Oddity`], and its bytes stay. Only input that holds no transcript at all is an error.
///
/// # Errors
/// [`ParseError`] if the input is empty, too large, not text, a body that is cut short, or in no known format.
///
/// ```
/// use plimsoll::wire::{Format, ParseOptions, parse, splice};
/// let body = br#"{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"Hi"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// assert_eq!(document.format(), Format::Anthropic);
/// assert_eq!(document.transcript().messages.len(), 1);
/// assert_eq!(splice(body, &[]).unwrap().as_ref(), body);
/// ```
pub fn parse<'a>(bytes: &'a [u8], options: &ParseOptions) -> Result<Document<'a>, ParseError> {
    let limit = Bytes(options.max_bytes.0.min(u64::from(u32::MAX) - 1));
    if Bytes::from(bytes.len()) > limit {
        return Err(ParseError::TooLarge { size: Bytes::from(bytes.len()), limit });
    }
    refuse_binary(bytes)?;
    let mark = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    if bytes.iter().skip(mark).all(u8::is_ascii_whitespace) {
        return Err(ParseError::Empty);
    }
    let mut tape = Tape::with_max_depth(options.max_depth);
    let mut document = match tape.parse(bytes, mark) {
        // One value and nothing after it: a body, or a log of a single line.
        Ok(end) if blank(bytes.get(end..).unwrap_or(&[])) => match tape.root(bytes) {
            Some(root) if !detect::is_record(root) => {
                let request = detect::request(root);
                let format = options.format.map_or_else(|| detect::body(request), Ok)?;
                body(bytes, format, request).map(|mut document| {
                    // A recorded exchange may name the model beside the request.
                    let outer = || root.get("model").and_then(super::Value::text);
                    document.model = document.model.or_else(outer);
                    document
                })
            }
            _ => log(bytes, mark, options, &mut tape),
        },
        Ok(_) => log(bytes, mark, options, &mut tape),
        Err(error) => match log(bytes, mark, options, &mut tape) {
            // Nothing in it is a log either. What starts like a body is judged as one.
            Err(ParseError::Unrecognised { .. }) if detect::starts_like_body(bytes, mark) => Err(error.into()),
            // The lines of a torn, pretty body look like a log of messages. A body that ends in the middle of a value
            // is torn, and taking its messages for lines would mangle it.
            Ok(found)
                if options.format.is_none()
                    && found.format == Format::OpenaiChat
                    && matches!(error, JsonError::Truncated { .. })
                    && detect::starts_like_body(bytes, mark) =>
            {
                Err(error.into())
            }
            outcome => outcome,
        },
    }?;
    if mark > 0 {
        document.oddities.insert(0, Oddity { kind: OddityKind::ByteOrderMark, span: Span::from_offsets(0, 3) });
    }
    Ok(document)
}

const BOM: &[u8] = b"\xef\xbb\xbf";

fn blank(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_whitespace)
}

/// Parses a body: one JSON value.
fn body<'a>(bytes: &'a [u8], format: Format, root: super::Value<'_, 'a>) -> Result<Document<'a>, ParseError> {
    let mut document = Document::new(bytes, format, Layout::Array);
    let read = match format {
        Format::Anthropic => anthropic::parse(&mut document, root),
        Format::OpenaiChat => openai_chat::parse(&mut document, root),
        Format::OpenaiResponses => openai_responses::parse(&mut document, root),
        Format::Gemini => gemini::parse(&mut document, root),
        Format::ClaudeCode | Format::Codex => Err("it is one JSON value, not a log of lines"),
    };
    read.map(|()| document).map_err(|reason| ParseError::Mismatch { format, reason })
}

/// Parses a log: an object a line.
fn log<'a>(
    bytes: &'a [u8],
    mark: usize,
    options: &ParseOptions,
    tape: &mut Tape,
) -> Result<Document<'a>, ParseError> {
    let format = match options.format {
        Some(format) => format,
        None => detect::log(bytes, mark, tape)?,
    };
    let lines = lines::Lines::new(bytes, mark);
    let read = match format {
        Format::ClaudeCode => claude_code::parse(bytes, lines, tape),
        Format::Codex => codex::parse(bytes, lines, tape),
        Format::OpenaiChat => openai_chat::parse_lines(bytes, lines, tape),
        Format::Anthropic | Format::OpenaiResponses | Format::Gemini => {
            // A forced body format on what is not one JSON value: say what is wrong with the JSON.
            tape.parse(bytes, mark)?;
            Err("it is a log of lines, not one JSON value")
        }
    };
    read.map_err(|reason| ParseError::Mismatch { format, reason })
}

/// Refuses what is not text, by what its first bytes and any NUL say; JSON never holds a raw NUL outside of logs.
fn refuse_binary(bytes: &[u8]) -> Result<(), ParseError> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(ParseError::Binary { what: "a UTF-16 byte order mark", offset: 0 });
    }
    let head = bytes.get(..bytes.len().min(4096)).unwrap_or(&[]);
    match memchr::memchr(0, head) {
        Some(offset) => Err(ParseError::Binary { what: "a NUL byte", offset }),
        None => Ok(()),
    }
}
