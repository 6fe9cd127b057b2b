//! Passing a request on to its upstream, and the answer back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::HeaderName;
use http::{Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::body::{self, Outgoing};
use super::error::Fault;
use super::exchange::{End, Exchange};
use super::relay::{Answer, Relay, Tail};
use super::route::Ask;
use super::upstream::{Kind, Upstream};
use super::{Shared, headers, tunnel};

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
}

impl Bound<'_> {
    /// Passes the request on.
    pub(crate) async fn pass(&self, request: Request<Incoming>) -> Response<Answer> {
        let began = Instant::now();
        let mut exchange = Exchange::begin(self.shared, self.ask, Some(self.place));
        match self.try_pass(request, began, &mut exchange).await {
            Ok((answer, tail)) => {
                let silence = self.shared.options.upstream_silence;
                answer.map(|inner| Answer::Relay(Box::new(Relay::new(inner, exchange, silence, tail))))
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
    ) -> Result<(Response<Incoming>, Option<Tail>), Fault> {
        let upgrade = headers::wants_upgrade(request.headers()) && request.version() <= Version::HTTP_11;
        let tunnel = upgrade.then(|| (request.headers().clone(), hyper::upgrade::on(&mut request)));
        let (mut parts, body) = request.into_parts();
        let Some(uri) = self.upstream.uri(&self.path) else {
            exchange.end(End::Refused);
            return Err(Fault::new(StatusCode::BAD_REQUEST, "the request's path cannot be passed on"));
        };
        parts.headers = headers::onward(&parts.headers, &self.upstream.host(), self.ours);
        parts.uri = uri;
        // The client takes what the connection speaks.
        parts.version = Version::HTTP_11;
        exchange.spent(began.elapsed());
        let body = if self.ask.is_watched() && tunnel.is_none() {
            let options = &self.shared.options;
            let read = body::read(body, options.max_body.0, options.client_silence).await;
            let bytes = read.inspect_err(|_| exchange.end(End::Refused))?;
            exchange.sends(bytes.len() as u64);
            Outgoing::Whole(Some(bytes))
        } else {
            Outgoing::Through(body)
        };
        if let Some((original, client)) = tunnel {
            tunnel::prepare(&mut parts.headers, &original);
            let answer = self.send(Request::from_parts(parts, body), true, exchange).await?;
            return Ok((tunnel::join(answer, client), None));
        }
        let mut answer = self.send(Request::from_parts(parts, body), false, exchange).await?;
        let back = Instant::now();
        let tail = Tail::of(answer.version(), answer.headers());
        let headers = std::mem::take(answer.headers_mut());
        *answer.headers_mut() = headers::back(headers);
        *answer.version_mut() = Version::HTTP_11;
        exchange.spent(back.elapsed());
        Ok((answer, tail))
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
            format!("the upstream {name} cannot be reached ({cause}); is it running, and is --upstream {name}=URL right?")
        } else {
            format!("the upstream {name} closed the connection before it answered ({cause})")
        };
        Fault::new(StatusCode::BAD_GATEWAY, message)
    }

    fn silent(&self, silence: Duration) -> Fault {
        let (name, seconds) = (self.upstream.name(), silence.as_secs_f32());
        let message = format!("the upstream {name} has not answered for {seconds} s; raise --upstream-silence if it may");
        Fault::new(StatusCode::GATEWAY_TIMEOUT, message)
    }
}
