//! Reading an answer as it comes: a stream of events, or JSON in one piece, told apart by what comes.

use std::time::Duration;

use plimsoll::Bytes;
use plimsoll::Tokens;
use plimsoll::compact::Api;
use plimsoll::wire::{Format, MAX_FRAME, StreamEnd, StreamReader, Streamed, read_response};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderName, LOCATION, RETRY_AFTER};
use tokio::time::{Instant, timeout};

use super::judge::{Failure, Judge, Refusal};
use super::pace::Pace;
use crate::summarise::{Answer, Progress, Waited};

/// The most that an answer may be as it comes: some servers wrap half a kilobyte around each token.
const LARGEST: Bytes = Bytes(64 << 20);

/// The most text that is taken. A summary is a few tens of kilobytes, its draft and reasoning included.
const LONGEST: Bytes = Bytes(2 << 20);

/// How much of a refusal is read.
const REFUSAL: usize = 64 << 10;

/// How long is waited in all for what follows the end of an answer: usage, and the mark that nothing follows.
const AFTERWARDS: Duration = Duration::from_secs(5);

/// How often it is told how much has been written, in bytes of text.
const STEP: usize = 64;

/// Reads an answer, or what is wrong.
pub(super) async fn answer(
    mut response: Response,
    api: Api,
    judge: &Judge<'_>,
    silence: Duration,
    progress: &(dyn Fn(Progress) + Sync),
    pace: &dyn Pace,
) -> Result<Answer, Box<Failure>> {
    let status = response.status().as_u16();
    let header =
        |name: HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let content_type = header(CONTENT_TYPE).unwrap_or_default();
    if !response.status().is_success() {
        let location = header(LOCATION);
        let retry_after = header(RETRY_AFTER);
        let retry_after_ms = header(HeaderName::from_static("retry-after-ms"));
        let url = response.url().clone();
        let body = refusal(&mut response, silence).await;
        let refusal = Refusal {
            status,
            location: location.as_deref(),
            retry_after: retry_after.as_deref(),
            retry_after_ms: retry_after_ms.as_deref(),
            body: &body,
        };
        return Err(judge.refused(&refusal, &url, pace.date()));
    }
    let mut reading = Reading::new(api, status, content_type);
    let mut told = 0;
    // When what follows the end must have come, however it trickles.
    let mut over: Option<Instant> = None;
    loop {
        let patience = over.map_or(silence, |over| over.saturating_duration_since(Instant::now()));
        if patience.is_zero() && over.is_some() {
            break;
        }
        let chunk = match timeout(patience, response.chunk()).await {
            // What was to come after the end may be missing.
            Err(_) | Ok(Err(_)) if reading.has_ended() => break,
            Err(_) => return Err(judge.timeout(Waited::NextPart, silence)),
            Ok(Err(error)) => {
                let reason = if error.is_timeout() { "it took too long" } else { "the connection broke" };
                return Err(judge.cut(reading.received, reason, reading.is_untouched()));
            }
            Ok(Ok(None)) => break,
            Ok(Ok(Some(chunk))) => chunk,
        };
        reading.push(&chunk, judge)?;
        let written = reading.written();
        if written >= told + STEP {
            told = written;
            progress(Progress::Writing { output: Tokens(written as u64 / 4) });
        }
        if reading.stream.is_over() {
            break;
        }
        if over.is_none() && reading.has_ended() {
            over = Some(Instant::now() + silence.min(AFTERWARDS));
        }
    }
    reading.finish(judge)
}

/// Reads the beginning of a refusal; what has come when it breaks off must do.
async fn refusal(response: &mut Response, silence: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < REFUSAL {
        match timeout(silence.min(AFTERWARDS), response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    body.truncate(REFUSAL);
    body
}

/// An answer while it is read.
struct Reading {
    format: Format,
    status: u16,
    content_type: String,
    received: Bytes,
    stream: StreamReader,
    /// The answer in one piece, where it is not streamed.
    whole: Option<Vec<u8>>,
    /// What came before the first visible byte.
    begun: bool,
    is_page: bool,
}

impl Reading {
    fn new(api: Api, status: u16, content_type: String) -> Self {
        let format = match api {
            Api::Anthropic => Format::Anthropic,
            Api::OpenaiResponses => Format::OpenaiResponses,
            _ => Format::OpenaiChat,
        };
        Self {
            format,
            status,
            content_type,
            received: Bytes(0),
            stream: StreamReader::with_limits(format, MAX_FRAME, LONGEST),
            whole: None,
            begun: false,
            is_page: false,
        }
    }

    fn push(&mut self, chunk: &[u8], judge: &Judge<'_>) -> Result<(), Box<Failure>> {
        self.received += Bytes::from(chunk.len());
        if self.received > LARGEST {
            return Err(judge.too_large(LARGEST));
        }
        if !self.begun
            && let Some(first) = chunk.iter().find(|byte| !byte.is_ascii_whitespace())
        {
            self.begun = true;
            // A content type is often wrong; no event of a stream begins with either of these.
            match first {
                b'{' | b'[' => self.whole = Some(Vec::new()),
                b'<' => self.is_page = true,
                _ => {}
            }
        }
        if let Some(whole) = &mut self.whole {
            if whole.len() + chunk.len() > usize::try_from(LONGEST.0 * 4).unwrap_or(usize::MAX) {
                return Err(judge.too_large(Bytes(LONGEST.0 * 4)));
            }
            whole.extend_from_slice(chunk);
            return Ok(());
        }
        if self.is_page {
            return Err(judge.not_understood(self.status, &self.content_type, "it is a web page"));
        }
        self.stream.push(chunk).map_err(|_| judge.too_large(LONGEST))
    }

    fn written(&self) -> usize {
        self.stream.so_far().text.len()
    }

    /// Whether nothing of an answer has come.
    fn is_untouched(&self) -> bool {
        self.written() == 0 && self.whole.is_none()
    }

    /// Whether the model has said all that it says, though more may follow about it.
    fn has_ended(&self) -> bool {
        self.stream.so_far().end != StreamEnd::Truncated
    }

    fn finish(self, judge: &Judge<'_>) -> Result<Answer, Box<Failure>> {
        let (status, content_type, received) = (self.status, self.content_type.clone(), self.received);
        let streamed = self.whole.is_none();
        let answer = match &self.whole {
            Some(whole) => match read_response(self.format, whole) {
                Ok(answer) => answer,
                Err(plimsoll::wire::JsonError::Truncated { .. }) => {
                    return Err(judge.cut(received, "it ends in the middle of its JSON", false));
                }
                Err(error) => return Err(judge.not_understood(status, &content_type, &error.to_string())),
            },
            None => self.stream.finish(),
        };
        let untouched = answer.text.is_empty();
        match &answer.end {
            StreamEnd::Complete => Ok(taken(answer)),
            StreamEnd::Failed(failure) => Err(judge.failed(failure, untouched)),
            _ if received == Bytes(0) => Err(judge.cut(received, "the answer is empty", true)),
            _ if !streamed => Err(judge.not_understood(status, &content_type, "it holds no answer of this API")),
            _ if untouched && (answer.unread > 0 || !is_stream(&content_type)) => {
                Err(judge.not_understood(status, &content_type, "it is no stream of events of this API"))
            }
            _ => Err(judge.cut(received, "the stream ended before the answer did", untouched)),
        }
    }
}

fn is_stream(content_type: &str) -> bool {
    content_type.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

fn taken(answer: Streamed) -> Answer {
    let Streamed { text, stop, usage, model, tool_calls, .. } = answer;
    Answer { text, stop, usage, model, tool_calls: tool_calls.len() }
}
