//! Passing a request on to its upstream, and the answer back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use plimsoll::wire::{Overflow, overflow};
use tokio::time::timeout;

use super::again::Retry;
use super::body::{self, Outgoing};
use super::error::Fault;
use super::exchange::{End, Exchange};
use super::inside::{self, Ready};
use super::relay::{Ahead, Answer, Relay, Tail};
use super::route::Ask;
use super::tap::Tap;
use super::upstream::{Kind, Upstream};
use super::{Shared, coding, headers, tunnel};

/// The most of an error that is read before it is passed on.
const MOST_OF_AN_ERROR: usize = 1 << 20;

/// A request whose upstream is known.
pub(crate) struct Bound<'b> {
    pub(crate) shared: &'b Arc<Shared>,
    pub(crate) place: usize,
    pub(crate) upstream: &'b Upstream,
    /// The path and query that the upstream gets.
    pub(crate) path: String,
    pub(crate) ask: Ask,
    pub(crate) kind: Option<Kind>,
    /// Headers that were meant for the gateway.
    pub(crate) ours: &'b [HeaderName],
    /// Whose it is.
    pub(crate) tenant: Option<&'b str>,
    /// Whether it is to be passed on as it is.
    pub(crate) bypass: bool,
}

impl Bound<'_> {
    /// Passes the request on.
    pub(crate) async fn pass(&self, request: Request<Incoming>) -> Response<Answer> {
        let began = Instant::now();
        let mut exchange = Exchange::begin(self.shared, self.ask, Some(self.place));
        match self.try_pass(request, began, &mut exchange).await {
            Ok(Passed::Relayed { answer, tail, ahead, tap }) => {
                let silence = self.shared.options.upstream_silence;
                let relay = |inner| Relay::new(inner, exchange, silence, tail).after(ahead).tapped(tap);
                answer.map(|inner| Answer::Relay(Box::new(relay(inner))))
            }
            Ok(Passed::Counted(answer)) => {
                exchange.answered(answer.status().as_u16());
                exchange.end(End::Complete);
                answer
            }
            Err(fault) => {
                exchange.answered(fault.status.as_u16());
                fault.answer(self.kind)
            }
        }
    }

    async fn try_pass(
        &self,
        mut request: Request<Incoming>,
        began: Instant,
        exchange: &mut Exchange,
    ) -> Result<Passed, Fault> {
        let upgrade = headers::wants_upgrade(request.headers()) && request.version() <= Version::HTTP_11;
        let tunnel = upgrade.then(|| (request.headers().clone(), hyper::upgrade::on(&mut request)));
        let (mut parts, body) = request.into_parts();
        let Some(uri) = self.upstream.uri(&self.path) else {
            exchange.end(End::Refused);
            return Err(Fault::new(StatusCode::BAD_REQUEST, "the request's path cannot be passed on"));
        };
        let asked = std::mem::take(&mut parts.headers);
        parts.headers = headers::onward(&asked, &self.upstream.host(), self.ours);
        parts.uri = uri;
        // The client takes what the connection speaks.
        parts.version = Version::HTTP_11;
        exchange.spent(began.elapsed());
        if let Some((original, client)) = tunnel {
            tunnel::prepare(&mut parts.headers, &original);
            let request = Request::from_parts(parts, Outgoing::Through(body));
            let answer = tunnel::join(self.send(request, true, exchange).await?, client);
            return Ok(Passed::Relayed { answer, tail: None, ahead: Ahead::default(), tap: None });
        }
        if !self.ask.is_watched() {
            let request = Request::from_parts(parts, Outgoing::Through(body));
            let answer = self.send(request, false, exchange).await?;
            return Ok(relayed(answer, Ahead::default(), None, None, exchange));
        }
        let options = &self.shared.options;
        let read = body::read(body, options.max_body.0, options.client_silence).await;
        let bytes = read.inspect_err(|_| exchange.end(End::Refused))?;
        exchange.sends(bytes.len() as u64);
        let began = Instant::now();
        let Ready { edited, mut told, inside } = inside::prepare(self, &asked, &parts, &bytes, exchange).await;
        exchange.spent(began.elapsed());
        let sent = edited.clone().unwrap_or_else(|| bytes.clone());
        let mut answer = self.send(with_body(&parts, edited, bytes), false, exchange).await?;
        let Some(mut inside) = inside else {
            return Ok(relayed(answer, Ahead::default(), None, told, exchange));
        };
        let status = answer.status();
        if matches!(self.ask, Ask::CountTokens | Ask::ResponsesInputTokens)
            && matches!(status.as_u16(), 404 | 405 | 501)
        {
            if let Some((count, how)) = inside.count(sent).await {
                return Ok(Passed::Counted(counted(self.ask, count, how)));
            }
            return Ok(relayed(answer, Ahead::default(), None, told, exchange));
        }
        let mut ahead = Ahead::default();
        if status.is_client_error() || status.is_server_error() {
            ahead = read_ahead(answer.body_mut(), options.upstream_silence).await;
            if !ahead.cut
                && let Some(overflow) = overflow_of(&answer, &ahead.pieces)
                && let Some(again) = inside.recover(&overflow).await
            {
                inside::note(&self.shared.metrics, exchange, &again.report, true);
                let request = with_body(&parts, Some(again.edited), Bytes::new());
                answer = self.send(request, false, exchange).await?;
                (told, ahead) = (again.told, Ahead::default());
            }
        }
        if !answer.status().is_success() {
            return Ok(relayed(answer, ahead, None, told, exchange));
        }
        // What was tried twice is not tried again, which the session knows too.
        let retry = Retry::of(self.shared, parts, answer.headers());
        let tap = Tap::new(inside, answer.headers());
        Ok(relayed(answer, ahead, Some((tap, retry)), told, exchange))
    }

    async fn send(
        &self,
        request: Request<Outgoing>,
        upgrade: bool,
        exchange: &mut Exchange,
    ) -> Result<Response<Incoming>, Fault> {
        let client = if upgrade { &self.shared.upgrading } else { &self.shared.client };
        let silence = self.shared.options.upstream_silence;
        match timeout(silence, client.request(request)).await {
            // Bytes of another protocol would follow, and nobody asked for it.
            Ok(Ok(answer)) if answer.status() == StatusCode::SWITCHING_PROTOCOLS && !upgrade => {
                exchange.end(End::Unreachable);
                let name = self.upstream.name();
                Err(Fault::new(StatusCode::BAD_GATEWAY, format!("the upstream {name} answered in another protocol")))
            }
            Ok(Ok(answer)) => {
                exchange.answered(answer.status().as_u16());
                Ok(answer)
            }
            Ok(Err(error)) => {
                exchange.end(End::Unreachable);
                Err(self.unreachable(&error))
            }
            Err(_) => {
                exchange.end(End::Silent);
                Err(self.silent(silence))
            }
        }
    }

    /// What is said of an upstream that did not answer: its name, not its address, and the innermost cause.
    fn unreachable(&self, error: &hyper_util::client::legacy::Error) -> Fault {
        let name = self.upstream.name();
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let message = if error.is_connect() {
            format!(
                "the upstream {name} cannot be reached ({cause}); is it running, and is --upstream {name}=URL right?"
            )
        } else {
            format!("the upstream {name} closed the connection before it answered ({cause})")
        };
        Fault::new(StatusCode::BAD_GATEWAY, message)
    }

    fn silent(&self, silence: Duration) -> Fault {
        let (name, seconds) = (self.upstream.name(), silence.as_secs_f32());
        let message =
            format!("the upstream {name} has not answered for {seconds} s; raise --upstream-silence if it may");
        Fault::new(StatusCode::GATEWAY_TIMEOUT, message)
    }
}

/// What came of passing a request on.
#[expect(clippy::large_enum_variant, reason = "the large one is nearly always it, and lives for a moment")]
enum Passed {
    /// The upstream's answer.
    Relayed { answer: Response<Incoming>, tail: Option<Tail>, ahead: Ahead, tap: Option<(Tap, Option<Retry>)> },
    /// The gateway's own count, since the upstream has none.
    Counted(Response<Answer>),
}

/// Makes an upstream's answer the client's.
fn relayed(
    mut answer: Response<Incoming>,
    ahead: Ahead,
    tap: Option<(Tap, Option<Retry>)>,
    told: Option<HeaderValue>,
    exchange: &mut Exchange,
) -> Passed {
    let began = Instant::now();
    let tail = Tail::of(answer.version(), answer.headers());
    let mut headers = headers::back(std::mem::take(answer.headers_mut()));
    if let Some(told) = told {
        headers.insert(inside::TOLD, told);
    }
    *answer.headers_mut() = headers;
    *answer.version_mut() = Version::HTTP_11;
    exchange.spent(began.elapsed());
    Passed::Relayed { answer, tail, ahead, tap }
}

/// The request with its body: the client's own, or an edited one with the headers that are right for it.
pub(crate) fn with_body(parts: &http::request::Parts, edited: Option<Bytes>, own: Bytes) -> Request<Outgoing> {
    let mut parts = parts.clone();
    let body = match edited {
        Some(edited) => {
            if parts.headers.contains_key(header::CONTENT_LENGTH) {
                parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(edited.len()));
            }
            parts.headers.remove(header::CONTENT_ENCODING);
            edited
        }
        None => own,
    };
    Request::from_parts(parts, Outgoing::Whole(Some(body)))
}

/// Reads the beginning of an error: all of it, unless it is no error that anybody writes.
async fn read_ahead(body: &mut Incoming, silence: Duration) -> Ahead {
    let mut ahead = Ahead::default();
    let mut size = 0;
    while size < MOST_OF_AN_ERROR {
        match timeout(silence, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    size += data.len();
                    ahead.pieces.push(data);
                }
            }
            Ok(None) => break,
            // An error that breaks off is passed on as one that did.
            Ok(Some(Err(_))) | Err(_) => {
                ahead.cut = true;
                break;
            }
        }
    }
    ahead
}

/// Whether an error says that the request was too long.
fn overflow_of(answer: &Response<Incoming>, ahead: &[Bytes]) -> Option<Overflow> {
    let body = Bytes::from(ahead.concat());
    let decoded = coding::decoded(answer.headers(), &body, MOST_OF_AN_ERROR as u64).ok()?;
    overflow(answer.status().as_u16(), &decoded)
}

/// A count as the upstream would have given it, and how it was obtained.
fn counted(ask: Ask, count: u64, how: HeaderValue) -> Response<Answer> {
    let body = match ask {
        Ask::ResponsesInputTokens => format!("{{\"object\":\"response.input_tokens\",\"input_tokens\":{count}}}"),
        _ => format!("{{\"input_tokens\":{count}}}"),
    };
    let mut answer = Response::new(Answer::whole(body));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer.headers_mut().insert("x-plimsoll-count", how);
    answer
}
