//! The summary request: what is sent to a model so that it writes a summary. Bytes in, bytes out: sending them is the
//! shell's.
//!
//! Where the conversation's own model writes the summary, the request is the conversation up to the cut, byte for byte,
//! and the instruction: the cached prefix is read again. To any other model, and where that does not fit, the
//! conversation is sent as text. It is counted before it is sent, and made to fit the summariser's window.

mod admit;
mod body;
mod render;
mod same;

use std::ops::Range;

use serde::Serialize;

use super::prompt::{Form, Prompt, preface, prompt};
use crate::budget::{MESSAGE_OVERHEAD, Measure};
use crate::units::Tokens;
use crate::wire::{Document, Format};

pub use admit::{Admission, MOST_OUTPUT, Part, PartKind, Room, admit, least_output};
pub use same::Obstacle;

/// An API that summaries can be asked for through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Api {
    /// Anthropic's Messages API.
    Anthropic,
    /// `OpenAI`'s Chat Completions API, and whoever follows it.
    OpenaiChat,
    /// `OpenAI`'s Responses API.
    OpenaiResponses,
}

impl Api {
    /// The API whose request bodies are in this format.
    pub const fn of(format: Format) -> Option<Self> {
        match format {
            Format::Anthropic => Some(Self::Anthropic),
            Format::OpenaiChat => Some(Self::OpenaiChat),
            Format::OpenaiResponses => Some(Self::OpenaiResponses),
            Format::Gemini | Format::ClaudeCode | Format::Codex => None,
        }
    }
}

/// The model that writes the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summariser<'s> {
    /// The API it is reached through.
    pub api: Api,
    /// Its name.
    pub model: &'s str,
    /// Its context window; input and output share it.
    pub window: Tokens,
    /// The most it can write, where that is known.
    pub max_output: Option<Tokens>,
    /// Whether it is reached where the conversation itself is carried on, so that it has the conversation's prefix
    /// cached. Only then the conversation is sent as it is, and only if it names the same model.
    pub carries_conversation: bool,
    /// Whether the answer is to be streamed.
    pub stream: bool,
}

/// A summary request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The request's body.
    pub body: Vec<u8>,
    /// The API that it is for.
    pub api: Api,
    /// How the conversation stands in it.
    pub form: Form,
    /// Why the conversation is sent as text although its own model writes the summary.
    pub obstacle: Option<Obstacle>,
    /// The instruction in it.
    pub instruction: String,
    /// What the input counts.
    pub input: Tokens,
    /// The most that the answer may take, draft and reasoning included.
    pub output: Tokens,
    /// What had to be left out for it to fit.
    pub shrunk: Shrunk,
}

/// What was left out of a summary request so that it fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Shrunk {
    /// Results of tools, from the middle outwards.
    pub results: usize,
    /// Whole turns, the oldest first.
    pub turns: usize,
    /// Steps of the last turn, the oldest first.
    pub steps: usize,
}

impl Shrunk {
    /// Whether nothing was left out.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Why no summary request can be made. The extract needs none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// However much is left out, it is too much for the summariser.
    #[error(
        "the summary request cannot be brought under {} tokens, and with {} tokens for the answer the summariser's window of {} tokens \
         is too small; give a summariser with a larger window",
        least.0, output.0, window.0
    )]
    DoesNotFit {
        /// What is left when all that may go is gone.
        least: Tokens,
        /// What the answer needs at the least.
        output: Tokens,
        /// The summariser's window.
        window: Tokens,
    },
    /// There is nothing to read in what is to be summarised.
    #[error("messages {}..{} hold nothing that could be summarised", removed.start, removed.end)]
    NothingToSummarise {
        /// The messages.
        removed: Range<usize>,
    },
    /// The messages do not exist.
    #[error("cannot summarise messages {}..{}: the transcript has {messages}", removed.start, removed.end)]
    OutOfRange {
        /// The messages that were to be summarised.
        removed: Range<usize>,
        /// How many there are.
        messages: usize,
    },
}

/// Makes the request for a summary of the messages in `removed`, from a document that was measured.
///
/// `measure` is of the document; it is what the conversation counts where it is sent as it is. `count` counts as the
/// summariser does. A request that does not fit is made to: as text, then without results of tools from the middle
/// outwards (10, 20, 50, 100 % of them), then without the oldest whole turns, then without the oldest steps of the last
/// turn. An earlier summary and the last message of the user always stay.
///
/// The conversation as it is, with something left out, is never sent: a changed prefix is not cached, and as text it is
/// smaller.
///
/// # Errors
/// [`RequestError::DoesNotFit`] if nothing helps; never is an empty or torn request made.
///
/// ```
/// use plimsoll::Tokens;
/// use plimsoll::budget::Meter;
/// use plimsoll::compact::{Api, Form, Profile, Prompt, Summariser, summary_request};
/// use plimsoll::token::{Counter, Encoding};
/// use plimsoll::wire::{ParseOptions, parse};
/// let body = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Fix it"},{"role":"assistant","content":"Done"},{"role":"user","content":"Go on"}]}"#;
/// let document = parse(body, &ParseOptions::default()).unwrap();
/// let counter = Counter::exact(Encoding::O200kBase);
/// let measure = Meter::new(&counter).measure(&document);
/// let mut to = Summariser {
///     api: Api::OpenaiChat,
///     model: "gpt-4o",
///     window: Tokens(128_000),
///     max_output: Some(Tokens(16_384)),
///     carries_conversation: true,
///     stream: false,
/// };
/// let profile = Profile::default();
/// let prompt = Prompt::new(&profile, Tokens(8_000));
/// let request = summary_request(&document, 0..2, &measure, &prompt, &to, &|text| counter.count(text)).unwrap();
/// assert_eq!(request.form, Form::SameConversation);
/// assert!(request.body.starts_with(&body[..body.len() - 40]));
/// to.model = "gpt-4o-mini";
/// let request = summary_request(&document, 0..2, &measure, &prompt, &to, &|text| counter.count(text)).unwrap();
/// assert_eq!((request.form, request.output), (Form::Text, Tokens(16_384)));
/// ```
pub fn summary_request(
    document: &Document<'_>,
    removed: Range<usize>,
    measure: &Measure,
    wanted: &Prompt<'_>,
    to: &Summariser<'_>,
    count: &dyn Fn(&str) -> Tokens,
) -> Result<SummaryRequest, RequestError> {
    let messages = document.transcript().messages.len();
    if removed.is_empty() || removed.end > messages {
        return Err(RequestError::OutOfRange { removed, messages });
    }
    let room = Room { window: to.window, max_output: to.max_output };
    let obstacle = match same::conversation(document, removed.end, to) {
        Ok(conversation) => {
            let instruction = prompt(wanted, Form::SameConversation);
            let outside = measure.system + measure.tools;
            let input =
                outside + measure.range(0..removed.end) + count(&instruction) + MESSAGE_OVERHEAD + MESSAGE_OVERHEAD;
            match room.output(input) {
                Some(output) => {
                    let (body, output) = conversation.body(&instruction, input, output, &room);
                    return Ok(SummaryRequest {
                        body,
                        api: to.api,
                        form: Form::SameConversation,
                        obstacle: None,
                        instruction,
                        input,
                        output,
                        shrunk: Shrunk::default(),
                    });
                }
                None => Some(Obstacle::TooLong),
            }
        }
        Err(obstacle) => Some(obstacle).filter(|_| to.carries_conversation),
    };
    let instruction = prompt(wanted, Form::Text);
    let before = preface();
    let rendering = render::render(document, removed.clone(), count);
    if !rendering.says_something() {
        return Err(RequestError::NothingToSummarise { removed });
    }
    let fixed = count(&before) + count(&instruction) + render::MARGIN + MESSAGE_OVERHEAD;
    let admission = admit(fixed, rendering.parts(), &room)?;
    let text = format!("{before}{}{instruction}", rendering.text(&admission));
    Ok(SummaryRequest {
        body: body::body(to, &text, admission.output),
        api: to.api,
        form: Form::Text,
        obstacle,
        instruction,
        input: admission.input,
        output: admission.output,
        shrunk: admission.shrunk(),
    })
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
