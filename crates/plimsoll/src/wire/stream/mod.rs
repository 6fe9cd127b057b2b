//! `StreamReader`: what a streamed answer comes to: its text, why it stopped, what it used, whether it is whole.
//!
//! The stream is only watched; nothing in it is changed, and what is not understood is counted and passed over.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use super::overflow::{Overflow, overflow};
use super::sse::{Frames, MAX_FRAME, StreamError};
use super::{Format, JsonError, Kind, Tape, Value};
use crate::transcript::Usage;
use crate::units::Bytes;

/// The most text that is collected, by default.
const MAX_TEXT: Bytes = Bytes(4 << 20);

/// The most that is kept of what a provider says of a failure, in characters.
const MAX_SAID: usize = 500;

/// Why an answer stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It came to its end.
    End,
    /// It reached the output limit, or the end of the window.
    Length,
    /// A tool is called, and its result waited for.
    ToolCall,
    /// The model or a filter declined.
    Refusal,
    /// A reason that is not known here.
    Other(String),
    /// None was given.
    Unsaid,
}

impl Stop {
    /// Reads a stop reason as any of the providers' APIs spells it.
    ///
    /// ```
    /// use plimsoll::wire::Stop;
    /// assert_eq!(Stop::read(Some("end_turn")), Stop::End); // Anthropic
    /// assert_eq!(Stop::read(Some("length")), Stop::Length); // OpenAI Chat
    /// assert_eq!(Stop::read(Some("max_output_tokens")), Stop::Length); // OpenAI Responses
    /// assert_eq!(Stop::read(Some("pause_turn")), Stop::Other("pause_turn".to_owned()));
    /// assert_eq!(Stop::read(None), Stop::Unsaid);
    /// ```
    pub fn read(reason: Option<&str>) -> Self {
        let Some(reason) = reason.filter(|reason| !reason.is_empty()) else {
            return Self::Unsaid;
        };
        match reason.to_ascii_lowercase().as_str() {
            "end_turn" | "stop" | "stop_sequence" | "completed" | "eos" | "eos_token" => Self::End,
            "max_tokens"
            | "length"
            | "max_output_tokens"
            | "model_context_window_exceeded"
            | "incomplete"
            | "model_length"
            | "max_length" => Self::Length,
            "tool_use" | "tool_calls" | "function_call" | "tool_call" => Self::ToolCall,
            "refusal" | "content_filter" | "safety" | "content_filtered" | "guardrail_intervened" => Self::Refusal,
            _ => Self::Other(reason.to_owned()),
        }
    }
}

/// How a stream ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// With what ends an answer in its format.
    Complete,
    /// Without that: what came is not all.
    Truncated,
    /// With a failure that the provider reported inside the stream.
    Failed(StreamFailure),
}

/// A failure that a provider reports inside an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamFailure {
    /// The provider's name for it, such as `overloaded_error`; empty if it gives none.
    pub kind: String,
    /// What it says, of bounded length.
    pub said: String,
    /// Whether it says that the request was too long.
    pub overflow: Option<Overflow>,
}

/// What an answer came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Streamed {
    /// Its text. Reasoning, refusals and the arguments of calls are not in it.
    pub text: String,
    /// Why it stopped.
    pub stop: Stop,
    /// What was used, as far as that was reported; the numbers of input do not overlap.
    pub usage: Option<Usage>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// The tools that are called and whose results are waited for, by name. Those that a provider runs itself are not
    /// among them.
    pub tool_calls: Vec<String>,
    /// How many frames were no JSON, or something else than an object.
    pub unread: usize,
    /// How it ended.
    pub end: StreamEnd,
}

impl Default for Streamed {
    fn default() -> Self {
        Self {
            text: String::new(),
            stop: Stop::Unsaid,
            usage: None,
            model: None,
            tool_calls: Vec::new(),
            unread: 0,
            end: StreamEnd::Truncated,
        }
    }
}

/// Reads a streamed answer of a provider as its bytes come.
///
/// A session file's format stands for the one that its program is answered in.
///
/// ```
/// use plimsoll::wire::{Format, Stop, StreamEnd, StreamReader};
/// let stream = br#"data: {"model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}
///
/// data: {"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}
///
/// data: [DONE]
///
/// "#;
/// let mut reader = StreamReader::new(Format::OpenaiChat);
/// for chunk in stream.chunks(7) {
///     reader.push(chunk)?;
/// }
/// let answer = reader.finish();
/// assert_eq!((answer.text.as_str(), answer.stop, answer.end), ("Hello", Stop::End, StreamEnd::Complete));
/// # Ok::<(), plimsoll::wire::StreamError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StreamReader {
    frames: Frames,
    reading: Reading,
}

/// All that is known of an answer while it comes.
#[derive(Debug, Clone)]
struct Reading {
    format: Format,
    tape: Tape,
    /// The most text that is collected; `None` collects none.
    max_text: Option<usize>,
    /// How much text has come, in bytes of its spelling.
    text_bytes: usize,
    so_far: Streamed,
    /// Whether the model declined in words of its own.
    refused: bool,
    /// Whether nothing further is to come.
    over: bool,
}

impl StreamReader {
    /// Makes a reader of a format.
    pub fn new(format: Format) -> Self {
        Self::with_limits(format, MAX_FRAME, MAX_TEXT)
    }

    /// Makes a reader that takes frames and a text of at most these sizes.
    pub fn with_limits(format: Format, frame: Bytes, text: Bytes) -> Self {
        let max_text = usize::try_from(text.0).unwrap_or(usize::MAX);
        Self { frames: Frames::with_limit(frame), reading: Reading::new(format, Some(max_text)) }
    }

    /// Leaves the text out: for whoever only wants to know what was used and how it ended.
    #[must_use]
    pub const fn without_text(mut self) -> Self {
        self.reading.max_text = None;
        self
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// [`StreamError`] if a frame or the text is over its limit.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), StreamError> {
        let reading = &mut self.reading;
        self.frames.push(chunk, |frame| reading.frame(frame.data))?;
        match reading.max_text {
            Some(max) if reading.text_bytes > max => Err(StreamError::TextTooLarge { limit: Bytes::from(max) }),
            _ => Ok(()),
        }
    }

    /// What has come so far.
    pub const fn so_far(&self) -> &Streamed {
        &self.reading.so_far
    }

    /// Whether the stream has come to what ends it in its format, so that nothing further is to come: some servers keep
    /// the connection open all the same. Gemini's streams have no such end.
    pub const fn is_over(&self) -> bool {
        self.reading.over
    }

    /// Ends the stream. A last frame that no blank line ends counts if it can be read.
    pub fn finish(mut self) -> Streamed {
        let before = self.reading.so_far.unread;
        if let Some(frame) = self.frames.finish() {
            self.reading.frame(frame.data);
        }
        // Half a frame is not one that is wrong.
        self.reading.so_far.unread = before;
        self.reading.finish()
    }
}

/// Reads an answer that came whole instead of streamed, as some servers give it whatever they are asked.
///
/// # Errors
/// [`JsonError`] if it is no JSON.
///
/// ```
/// use plimsoll::wire::{Format, Stop, read_response};
/// let body = br#"{"model":"m","choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],
///     "usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
/// let answer = read_response(Format::OpenaiChat, body)?;
/// assert_eq!((answer.text.as_str(), answer.stop), ("Hello", Stop::End));
/// assert_eq!(answer.usage.unwrap().output.0, 2);
/// # Ok::<(), plimsoll::wire::JsonError>(())
/// ```
pub fn read_response(format: Format, body: &[u8]) -> Result<Streamed, JsonError> {
    let mut reading = Reading::new(format, Some(usize::MAX));
    let mut tape = Tape::default();
    tape.parse(body, 0)?;
    let Some(root) = tape.root(body).filter(|root| root.kind() == Kind::Object) else {
        reading.so_far.unread = 1;
        return Ok(reading.finish());
    };
    if !reading.failed(root, body) {
        match format {
            Format::Anthropic | Format::ClaudeCode => anthropic::whole(&mut reading, root),
            Format::OpenaiChat => chat::whole(&mut reading, root),
            Format::OpenaiResponses | Format::Codex => responses::whole(&mut reading, root),
            Format::Gemini => gemini::part(&mut reading, root),
        }
    }
    Ok(reading.finish())
}

impl Reading {
    fn new(format: Format, max_text: Option<usize>) -> Self {
        Self {
            format,
            tape: Tape::default(),
            max_text,
            text_bytes: 0,
            so_far: Streamed::default(),
            refused: false,
            over: false,
        }
    }

    fn frame(&mut self, data: &[u8]) {
        if data.trim_ascii() == b"[DONE]" {
            self.over();
            return;
        }
        // The tape is lent out, so that its nodes' room serves every frame.
        let mut tape = std::mem::take(&mut self.tape);
        let whole = tape.parse(data, 0).is_ok_and(|end| data.get(end..).unwrap_or(&[]).trim_ascii().is_empty());
        match tape.root(data).filter(|root| whole && root.kind() == Kind::Object) {
            Some(root) => self.object(root, data),
            None => self.so_far.unread += 1,
        }
        self.tape = tape;
    }

    fn object(&mut self, root: Value<'_, '_>, data: &[u8]) {
        if self.failed(root, data) {
            return;
        }
        match self.format {
            Format::Anthropic | Format::ClaudeCode => anthropic::event(self, root),
            Format::OpenaiChat => chat::chunk(self, root),
            Format::OpenaiResponses | Format::Codex => responses::event(self, root, data),
            Format::Gemini => gemini::part(self, root),
        }
    }

    /// Reads a failure, which has the same shape in all formats: an `error` that is not null.
    fn failed(&mut self, root: Value<'_, '_>, data: &[u8]) -> bool {
        let error = root.get("error").filter(|error| match error.kind() {
            Kind::Object => true,
            Kind::String => error.text().is_some_and(|text| !text.is_blank()),
            _ => false,
        });
        if let Some(error) = error {
            self.fail(error, data);
        }
        error.is_some()
    }

    fn fail(&mut self, error: Value<'_, '_>, data: &[u8]) {
        let word = |key: &str| error.get(key).and_then(Value::text).map(|text| text.decode().into_owned());
        let said = word("message").or_else(|| error.text().map(|text| text.decode().into_owned()));
        let kind = word("type").filter(|kind| kind != "error");
        let kind = word("code").or(kind).or_else(|| word("status")).unwrap_or_default();
        self.so_far.end = StreamEnd::Failed(StreamFailure {
            kind,
            said: said.unwrap_or_default().chars().take(MAX_SAID).collect(),
            overflow: overflow(200, data),
        });
    }

    /// Notes that the stream's last frame has come.
    fn over(&mut self) {
        self.over = true;
        self.complete();
    }

    /// Notes that what ends an answer has come. A failure stays one.
    fn complete(&mut self) {
        if self.so_far.end == StreamEnd::Truncated {
            self.so_far.end = StreamEnd::Complete;
        }
    }

    /// Notes why the answer stopped: after that no text comes.
    fn stop(&mut self, stop: Stop) {
        self.so_far.stop = stop;
        self.complete();
    }

    fn text(&mut self, value: Option<Value<'_, '_>>) {
        let Some(text) = value.and_then(Value::text).filter(|text| !text.is_empty()) else { return };
        self.text_bytes = self.text_bytes.saturating_add(text.raw().len());
        if self.max_text.is_some_and(|max| self.text_bytes <= max) {
            self.so_far.text.push_str(&text.decode());
        }
    }

    fn call(&mut self, name: Option<Value<'_, '_>>) {
        let name = name.and_then(Value::text).map(|name| name.decode_start(200).chars().take(200).collect());
        // An answer may call as many tools as it likes; nobody wants to know of more than these.
        if self.so_far.tool_calls.len() < 100 {
            self.so_far.tool_calls.push(name.unwrap_or_default());
        }
    }

    fn model(&mut self, value: Option<Value<'_, '_>>) {
        if self.so_far.model.is_none()
            && let Some(name) = value.and_then(Value::text).filter(|name| !name.is_empty())
        {
            self.so_far.model = Some(name.decode_start(200).chars().take(200).collect());
        }
    }

    fn finish(mut self) -> Streamed {
        if self.so_far.stop == Stop::End {
            // Some servers say that it came to its end all the same.
            if !self.so_far.tool_calls.is_empty() {
                self.so_far.stop = Stop::ToolCall;
            } else if self.refused {
                self.so_far.stop = Stop::Refusal;
            }
        }
        self.so_far
    }
}

/// A word of a format as it stands, where it means nothing here.
fn other(word: super::Text<'_>) -> Stop {
    Stop::Other(word.decode_start(100).chars().take(100).collect())
}

#[cfg(test)]
mod tests;
