//! Answers on their way to a client: frame by frame, as they come, and cut where they were cut.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Version, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep};

use super::again::{self, Retry, Tried, Trying};
use super::exchange::{End, Exchange};
use super::tap::Tap;

/// How long what came before a cut has to leave for the client before its connection is cut, too.
const LINGER: Duration = Duration::from_millis(20);

/// The body of an answer.
pub(crate) enum Answer {
    /// The gateway's own.
    Whole(Option<Bytes>),
    /// The MCP server's.
    Boxed(BoxBody<Bytes, Infallible>),
    /// An upstream's.
    Relay(Box<Relay>),
}

impl Answer {
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty()))
    }
}

/// Why an answer ends before its end. The client sees only that it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the upstream's answer broke off")
    }
}

impl Error for Broken {}

impl Body for Answer {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Boxed(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Relay(relay) => relay.poll(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Boxed(body) => body.is_end_stream(),
            Self::Relay(relay) => relay.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Boxed(body) => body.size_hint(),
            Self::Relay(relay) => relay.size_hint(),
        }
    }
}

/// What was read of an answer before it is passed on.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    pub(crate) pieces: Vec<Bytes>,
    /// Whether it broke off there.
    pub(crate) cut: bool,
}

/// An upstream's answer. It is asked for a frame only when the client has room for one, so that a slow client slows the
/// upstream down; dropping it, which is what happens when the client goes away, drops the request to the upstream.
pub(crate) struct Relay {
    inner: Incoming,
    exchange: Exchange,
    silence: Duration,
    /// Made when the upstream lets us wait for the first time.
    timer: Option<Pin<Box<Sleep>>>,
    waiting: bool,
    /// Set when the answer broke off: what came before it is given time to leave.
    broken: Option<Pin<Box<Sleep>>>,
    /// What of the answer was read already, to see what it says.
    ahead: VecDeque<Bytes>,
    /// Whether it broke off there.
    cut_ahead: bool,
    tap: Option<Tap>,
    /// What a second try needs, as long as nothing has been passed on.
    retry: Option<Retry>,
    /// A second try, and the piece that is held back meanwhile.
    trying: Option<(Trying, Bytes)>,
    /// The end of the stream so far, where nothing but that says whether a stream that ended is complete.
    tail: Option<Tail>,
}

impl Relay {
    pub(crate) fn new(inner: Incoming, exchange: Exchange, silence: Duration, tail: Option<Tail>) -> Self {
        Self {
            inner,
            exchange,
            silence,
            timer: None,
            waiting: false,
            broken: None,
            ahead: VecDeque::new(),
            cut_ahead: false,
            tap: None,
            retry: None,
            trying: None,
            tail,
        }
    }

    /// Puts before it what was read of it already.
    pub(crate) fn after(mut self, ahead: Ahead) -> Self {
        self.ahead = ahead.pieces.into();
        self.cut_ahead = ahead.cut;
        self
    }

    /// Lets somebody read along, and try once more where the first piece says that the request was too long.
    pub(crate) fn tapped(mut self, tap: Option<(Tap, Option<Retry>)>) -> Self {
        let (tap, retry) = tap.unzip();
        (self.tap, self.retry) = (tap, retry.flatten());
        self
    }

    fn is_over(&self) -> bool {
        self.inner.is_end_stream()
            && self.trying.is_none()
            && self.broken.is_none()
            && self.ahead.is_empty()
            && !self.cut_ahead
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = self.ahead.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
        let mut hint = self.inner.size_hint();
        if ahead > 0 {
            let (lower, upper) = (hint.lower(), hint.upper());
            hint.set_lower(0);
            match upper {
                Some(upper) => hint.set_upper(upper + ahead),
                None => hint = SizeHint::new(),
            }
            hint.set_lower(lower + ahead);
        }
        hint
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(broken) = &mut self.broken {
            ready!(broken.as_mut().poll(cx));
            return Poll::Ready(Some(Err(Broken)));
        }
        if let Some(bytes) = self.ahead.pop_front() {
            self.saw(&bytes);
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if self.cut_ahead {
            return self.cut(End::Cut, cx);
        }
        if let Some((trying, _)) = &mut self.trying {
            let tried = ready!(trying.as_mut().poll(cx));
            let held = self.trying.take().map(|(_, held)| held);
            let Some(tried) = tried else {
                let held = held.unwrap_or_default();
                self.saw(&held);
                return Poll::Ready(Some(Ok(Frame::data(held))));
            };
            self.go_on_with(tried);
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                self.waiting = false;
                if let Some(data) = frame.data_ref() {
                    if self.begin_again(data) {
                        return self.poll(cx);
                    }
                    self.saw(data);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(_))) => self.cut(End::Cut, cx),
            Poll::Ready(None) => {
                if self.tail.as_ref().is_some_and(Tail::is_inside_an_event) {
                    return self.cut(End::Cut, cx);
                }
                self.exchange.end(End::Complete);
                Poll::Ready(None)
            }
            Poll::Pending => {
                let deadline = Instant::now() + self.silence;
                let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.silence)));
                if !self.waiting {
                    timer.as_mut().reset(deadline);
                    self.waiting = true;
                }
                ready!(timer.as_mut().poll(cx));
                self.cut(End::Silent, cx)
            }
        }
    }

    /// Begins a second try if this first piece says that the request was too long.
    fn begin_again(&mut self, first: &Bytes) -> bool {
        let Some(retry) = self.retry.take() else { return false };
        let Some(tap) = self.tap.take() else { return false };
        let Some(overflow) = again::overflow_of(tap.format(), first) else {
            self.tap = Some(tap);
            return false;
        };
        self.trying = Some((retry.begin(tap, overflow), first.clone()));
        true
    }

    /// Goes on with the stream of a second try.
    fn go_on_with(&mut self, tried: Tried) {
        let Tried { answer, tap, report } = tried;
        self.exchange.again(&report, answer.status().as_u16());
        self.tail = Tail::of(answer.version(), answer.headers());
        self.tap = Some(tap);
        self.inner = answer.into_body();
    }

    fn saw(&mut self, data: &Bytes) {
        self.exchange.received(data.len());
        if let Some(tail) = &mut self.tail {
            tail.push(data);
        }
        if let Some(tap) = &mut self.tap {
            tap.push(data);
        }
    }

    fn cut(&mut self, end: End, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.exchange.end(end);
        let mut linger = Box::pin(sleep(LINGER));
        let over = linger.as_mut().poll(cx).is_ready();
        self.broken = Some(linger);
        if over { Poll::Ready(Some(Err(Broken))) } else { Poll::Pending }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // A client stops asking after the last byte of an answer whose length it knows.
        if self.is_over() {
            self.exchange.end(End::Complete);
        }
        // Of an answer that is not whole, too, what it used may be known.
        if let Some(tap) = self.tap.take() {
            tap.end();
        }
    }
}

/// The last bytes of an event stream whose end only the closed connection marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tail(Vec<u8>);

impl Tail {
    /// What is kept: enough for the closing event of Chat Completions, whose last line feed some servers leave out.
    const KEPT: usize = 16;

    /// Makes one for an answer that needs it: an event stream of HTTP/1 that has neither a length nor chunks.
    pub(crate) fn of(version: Version, headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(header::CONTENT_TYPE)?.as_bytes();
        let is_stream = kind.get(..17).is_some_and(|kind| kind.eq_ignore_ascii_case(b"text/event-stream"));
        let encoded = headers.contains_key(header::CONTENT_ENCODING);
        let framed = headers.contains_key(header::CONTENT_LENGTH) || headers.contains_key(header::TRANSFER_ENCODING);
        (is_stream && !encoded && !framed && version <= Version::HTTP_11).then(Self::default)
    }

    fn push(&mut self, data: &[u8]) {
        self.0.extend_from_slice(data.get(data.len().saturating_sub(Self::KEPT)..).unwrap_or(data));
        let excess = self.0.len().saturating_sub(Self::KEPT);
        self.0.drain(..excess);
    }

    /// Whether the last event has not been closed by an empty line.
    fn is_inside_an_event(&self) -> bool {
        let ends = |end: &[u8]| self.0.ends_with(end);
        let closed = ends(b"\n\n") || ends(b"\r\n\r\n") || ends(b"\r\r");
        !self.0.is_empty() && !closed && !self.0.trim_ascii_end().ends_with(b"data: [DONE]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_ends_inside_an_event_is_known_by_its_tail() {
        let inside = |pieces: &[&str]| {
            let mut tail = Tail::default();
            for piece in pieces {
                tail.push(piece.as_bytes());
            }
            tail.is_inside_an_event()
        };
        assert!(inside(&["data: {\"a\":1}\n\n", "data: {\"a\""]));
        assert!(inside(&["event: message_stop\n"]));
        assert!(inside(&["data: one\n\ndata: two\n"]));
        assert!(!inside(&["data: {\"a\":1}\n", "\n"]));
        assert!(!inside(&["data: x\r\n\r", "\n"]));
        assert!(!inside(&["data: [DONE]\n"]));
        assert!(!inside(&[]));
    }

    #[test]
    fn only_a_stream_that_nothing_else_delimits_is_judged_by_its_tail() {
        let headers = |lines: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.insert(*name, value.parse().unwrap());
            }
            headers
        };
        let stream = headers(&[("content-type", "text/event-stream; charset=utf-8")]);
        assert!(Tail::of(Version::HTTP_11, &stream).is_some());
        assert!(Tail::of(Version::HTTP_2, &stream).is_none());
        for framed in [("transfer-encoding", "chunked"), ("content-length", "5"), ("content-encoding", "gzip")] {
            assert!(Tail::of(Version::HTTP_11, &headers(&[("content-type", "text/event-stream"), framed])).is_none());
        }
        assert!(Tail::of(Version::HTTP_11, &headers(&[("content-type", "application/json")])).is_none());
    }
}
