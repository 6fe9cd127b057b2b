//! A second try for a stream whose first piece says that the request was too long.
//!
//! Some servers say so only inside a stream. As long as nothing of it has reached the client, what comes of a compacted
//! request can take its place. Only that piece is held back, and only while that is tried: the client has had the headers.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::{self, HeaderMap};
use http::request::Parts;
use hyper::body::Incoming;
use memchr::memmem;
use plimsoll::Bytes as Size;
use plimsoll::wire::{Format, Overflow, StreamEnd, StreamReader};
use plimsoll_engine::session::RequestReport;
use tokio::time::timeout;

use super::Shared;
use super::forward::with_body;
use super::tap::Tap;

/// What a second try needs.
pub(crate) struct Retry {
    shared: Arc<Shared>,
    parts: Parts,
}

/// A second try under way.
pub(crate) type Trying = Pin<Box<dyn Future<Output = Option<Tried>> + Send>>;

/// A stream that takes the place of one that only said that the request was too long.
pub(crate) struct Tried {
    pub(crate) answer: Response<Incoming>,
    pub(crate) tap: Tap,
    pub(crate) report: RequestReport,
}

impl Retry {
    /// Makes one for an answer with these headers, if it is a stream whose length the client has not been told.
    pub(crate) fn of(shared: &Arc<Shared>, parts: Parts, answer: &HeaderMap) -> Option<Self> {
        (is_stream(answer) && !answer.contains_key(header::CONTENT_LENGTH))
            .then(|| Self { shared: Arc::clone(shared), parts })
    }

    /// Tries once more, compacted. `None` if that cannot help: the answer is the client's as it came.
    pub(crate) fn begin(self, tap: Tap, overflow: Overflow) -> Trying {
        Box::pin(async move {
            let mut inside = tap.into_inside();
            let again = inside.recover(&overflow).await?;
            let request = with_body(&self.parts, Some(again.edited), Bytes::new());
            let asked = self.shared.client.request(request);
            let answer = timeout(self.shared.options.upstream_silence, asked).await.ok()?.ok()?;
            // What is no stream cannot stand inside one.
            let fits = answer.status().is_success() && is_stream(answer.headers());
            fits.then(|| Tried { tap: Tap::new(inside, answer.headers()), answer, report: again.report })
        })
    }
}

/// Whether an answer is a stream of events, uncoded.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.as_bytes().get(..17));
    let coded = headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream")) && !coded
}

/// Whether the first piece of a stream says that the request was too long.
pub(crate) fn overflow_of(format: Format, first: &[u8]) -> Option<Overflow> {
    // Most first pieces are no errors, and told by that.
    memmem::find(first, b"error")?;
    let mut reader = StreamReader::with_limits(format, Size(1 << 20), Size(0)).without_text();
    reader.push(first).ok()?;
    match reader.finish().end {
        StreamEnd::Failed(failure) => failure.overflow,
        _ => None,
    }
}
