//! One request of a kept conversation: made ready by its session, recovered if it was too long, told of in a header.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use plimsoll::budget::{Counting, Meter};
use plimsoll::wire::{Format, Overflow, ParseOptions, parse};
use plimsoll_engine::session::{OwnedRequest, Prefix, Prepared, RequestReport, Session, Turn};

use super::coding::{Undecoded, decoded};
use super::exchange::Exchange;
use super::same::Same;
use super::wishes;
use super::{Shared, forward::Bound};
use crate::metrics::{Metrics, hindered};

/// The header that says what was done.
pub(crate) const TOLD: HeaderName = HeaderName::from_static("x-plimsoll");

/// A request of a kept conversation.
pub(crate) struct Inside {
    pub(crate) session: Session,
    pub(crate) request: OwnedRequest<Bytes>,
    pub(crate) turn: Turn,
    shadow: bool,
}

/// What is to be sent, and what is to be told of it.
pub(crate) struct Ready {
    /// The body, if it is not the client's own.
    pub(crate) edited: Option<Bytes>,
    pub(crate) told: Option<HeaderValue>,
    pub(crate) inside: Option<Inside>,
}

impl Ready {
    /// As it came, without a word.
    fn untouched() -> Self {
        Self { edited: None, told: None, inside: None }
    }

    /// As it came, and why.
    fn bypassed(metrics: &Metrics, reason: &'static str) -> Self {
        metrics.bypassed(reason);
        let told = HeaderValue::try_from(format!("bypass; reason={reason}")).ok();
        Self { edited: None, told, inside: None }
    }
}

/// Makes a request ready to go out. Whatever is wrong, a fault of ours too, the client's own body goes.
///
/// `onward` is what the upstream gets besides the body.
pub(crate) async fn prepare(
    bound: &Bound<'_>,
    headers: &HeaderMap,
    onward: &Parts,
    body: &Bytes,
    exchange: &mut Exchange,
) -> Ready {
    let ready = AssertUnwindSafe(look(bound, headers, onward, body, exchange)).catch_unwind().await;
    ready.unwrap_or_else(|_| Ready::bypassed(&bound.shared.metrics, "fault"))
}

async fn look(
    bound: &Bound<'_>,
    headers: &HeaderMap,
    onward: &Parts,
    body: &Bytes,
    exchange: &mut Exchange,
) -> Ready {
    let shared: &Arc<Shared> = bound.shared;
    let Some(kept) = &shared.kept else { return Ready::untouched() };
    let Some((format, decides)) = wishes::format(bound.ask) else { return Ready::untouched() };
    let metrics = &shared.metrics;
    if bound.bypass {
        return Ready::bypassed(metrics, "asked");
    }
    if wishes::is_signed(headers) {
        return Ready::bypassed(metrics, "signed");
    }
    let limit = shared.options.max_body.0;
    let coded = headers.contains_key(http::header::CONTENT_ENCODING);
    let body = if coded {
        let (headers, body) = (headers.clone(), body.clone());
        let read = tokio::task::spawn_blocking(move || decoded(&headers, &body, limit)).await;
        match read.unwrap_or(Err(Undecoded::Broken)) {
            Ok(body) => body,
            Err(Undecoded::Unknown) => return Ready::bypassed(metrics, "coding-unknown"),
            Err(Undecoded::Broken) => return Ready::bypassed(metrics, "coding-broken"),
            Err(Undecoded::TooLarge) => return Ready::bypassed(metrics, "too-large-decoded"),
        }
    } else {
        body.clone()
    };
    let Ok(session) = kept.session(bound.tenant, wishes::namespace(headers)) else {
        return Ready::bypassed(metrics, "store");
    };
    let mut request = OwnedRequest::new(body, format);
    request.recaller = wishes::recaller(headers);
    request.replay_only = !decides || wishes::is_codex_compaction(headers);
    request.window = wishes::window(headers);
    request.own_compaction = Some(wishes::asks_for_compaction);
    request.own_model = (kept.is_same() && !request.replay_only).then(|| Same::of(onward));
    let prepared = session.prepare_async(&request).await;
    let shadow = kept.is_shadow();
    let (edited, report, turn) = taken(prepared);
    request.replay_only = turn.is_replay_only();
    // What a shadow would have saved is nobody's savings.
    note(metrics, exchange, &report, decides && !shadow);
    let told = told(&report, edited.is_some(), shadow);
    let inside = Inside { session, request, turn, shadow };
    Ready { edited, told, inside: Some(inside) }
}

impl Inside {
    /// Makes the request ready to go out once more, after the upstream has said that it is too long. `None` if it is not
    /// to be: the upstream's answer is the client's then.
    pub(crate) async fn recover(&mut self, overflow: &Overflow) -> Option<Again> {
        if self.request.replay_only {
            return None;
        }
        let prepared = self.session.after_overflow_async(&self.turn, &self.request, overflow).await.ok()?;
        let (edited, report, turn) = taken(prepared);
        let told = told(&report, edited.is_some(), self.shadow);
        self.turn = turn;
        Some(Again { edited: edited?, told, report })
    }

    /// Counts what would be sent, for an upstream that cannot.
    pub(crate) async fn count(&self, sent: Bytes) -> Option<(u64, HeaderValue)> {
        let format = self.request.format;
        let counted = tokio::task::spawn_blocking(move || count(&sent, format)).await;
        counted.ok().flatten()
    }
}

/// A request that goes out a second time.
pub(crate) struct Again {
    pub(crate) edited: Bytes,
    pub(crate) told: Option<HeaderValue>,
    /// What the session says of it.
    pub(crate) report: RequestReport,
}

fn count(body: &[u8], format: Format) -> Option<(u64, HeaderValue)> {
    let document = parse(body, &ParseOptions::default().with_format(Some(format))).ok()?;
    let model = document.model().map(|model| model.decode().into_owned());
    let mut meter = Meter::new(Counting::for_model(model.as_deref()));
    let measure = meter.measure(&document);
    let how = format!("{}; tokenizer={}", measure.method, meter.count().name());
    Some((measure.total.0, HeaderValue::try_from(how).ok()?))
}

fn taken(prepared: Prepared<'_>) -> (Option<Bytes>, RequestReport, Turn) {
    let edited = match prepared.bytes {
        Cow::Owned(bytes) => Some(Bytes::from(bytes)),
        Cow::Borrowed(_) => None,
    };
    (edited, prepared.report, prepared.turn)
}

/// What the client is told: nothing, where nothing was done and nothing was due.
fn told(report: &RequestReport, changed: bool, shadow: bool) -> Option<HeaderValue> {
    let numbers = || {
        let mut text = format!("tokens={}->{}", report.tokens_before.0, report.tokens_after.0);
        if let Some(epoch) = &report.epoch {
            text.push_str("; epoch=");
            text.push_str(epoch);
        }
        if report.capped > 0 {
            text.push_str(&format!("; capped={}", report.capped));
        }
        if report.prefix == Prefix::Released {
            text.push_str("; released");
        }
        text
    };
    let reason = hindered(report);
    let text = if changed {
        // What is in place goes on, though something could not be done as it should be.
        reason.map_or_else(numbers, |reason| format!("{}; reason={reason}", numbers()))
    } else if let Some(reason) = reason {
        format!("bypass; reason={reason}")
    } else if shadow && report.tokens_after != report.tokens_before {
        format!("shadow; {}", numbers())
    } else {
        return None;
    };
    HeaderValue::try_from(text).ok()
}

/// Notes what a session says of a request.
pub(crate) fn note(metrics: &Metrics, exchange: &mut Exchange, report: &RequestReport, counts: bool) {
    metrics.prepared(report, counts);
    exchange.kept(report);
}
