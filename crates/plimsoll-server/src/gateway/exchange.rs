//! One request and its answer, as the log and the metrics know it: numbers and names, no content.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use plimsoll_engine::session::{Prefix, RequestReport};

use super::Shared;
use super::route::Ask;
use super::upstream::Upstream;
use crate::metrics::label;

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// The answer is complete.
    Complete,
    /// The client went away before that.
    ClientGone,
    /// The upstream's answer broke off.
    Cut,
    /// The upstream said nothing for too long.
    Silent,
    /// No upstream answered.
    Unreachable,
    /// The gateway itself refused it.
    Refused,
}

/// One request and its answer. When it is dropped, it is counted and logged.
pub(crate) struct Exchange {
    shared: Arc<Shared>,
    ask: Ask,
    upstream: Option<usize>,
    began: Instant,
    status: Option<u16>,
    request_bytes: Option<u64>,
    answer_bytes: u64,
    first_byte: Option<Duration>,
    added: Duration,
    kept: Option<Inside>,
    end: End,
}

/// What the session said of a request: numbers, hashes and names.
#[derive(Debug, Serialize)]
struct Inside {
    tokens_before: u64,
    tokens_after: u64,
    prefix: Prefix,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'static str>,
}

/// A line of the log.
#[derive(Debug, Serialize)]
struct Line<'l> {
    unix_ms: u64,
    route: &'static str,
    upstream: Option<&'l str>,
    status: Option<u16>,
    end: End,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_bytes: Option<u64>,
    answer_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte_ms: Option<f64>,
    total_ms: f64,
    added_ms: f64,
    #[serde(flatten)]
    kept: Option<&'l Inside>,
}

impl Exchange {
    pub(crate) fn begin(shared: &Arc<Shared>, ask: Ask, upstream: Option<usize>) -> Self {
        shared.metrics.began();
        Self {
            shared: Arc::clone(shared),
            ask,
            upstream,
            began: Instant::now(),
            status: None,
            request_bytes: None,
            answer_bytes: 0,
            first_byte: None,
            added: Duration::ZERO,
            kept: None,
            end: End::ClientGone,
        }
    }

    /// Notes how large the request is, where that is known.
    pub(crate) fn sends(&mut self, bytes: u64) {
        self.request_bytes = Some(bytes);
    }

    /// Notes time that the request spent in the gateway, and neither with the client nor with the upstream.
    pub(crate) fn spent(&mut self, time: Duration) {
        self.added += time;
    }

    /// Notes what the session said.
    pub(crate) fn kept(&mut self, report: &RequestReport) {
        if self.shared.options.log.is_some() {
            self.kept = Some(Inside {
                tokens_before: report.tokens_before.0,
                tokens_after: report.tokens_after.0,
                prefix: report.prefix,
                epoch: report.epoch.clone(),
                sent: report.sent.map(|hash| hash.to_string()),
                notes: report.notes.iter().map(label).collect(),
            });
        }
    }

    /// Notes that the request was sent once more, compacted.
    pub(crate) fn again(&mut self, report: &RequestReport, status: u16) {
        self.shared.metrics.prepared(report, true);
        self.kept(report);
        self.answered(status);
    }

    /// Notes the status of the answer.
    pub(crate) fn answered(&mut self, status: u16) {
        self.status = Some(status);
    }

    /// Notes bytes of the answer.
    pub(crate) fn received(&mut self, bytes: usize) {
        self.first_byte.get_or_insert_with(|| self.began.elapsed());
        self.answer_bytes += bytes as u64;
    }

    /// Notes how it ended.
    pub(crate) fn end(&mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let metrics = &self.shared.metrics;
        metrics.ended(self.ask, self.upstream, self.status, self.end);
        metrics.moved(self.request_bytes.unwrap_or(0), self.answer_bytes);
        if self.status.is_some() && self.upstream.is_some() {
            metrics.added.observe(self.added);
            if let Some(first) = self.first_byte {
                metrics.first_byte.observe(first);
            }
        }
        let Some(log) = &self.shared.options.log else { return };
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let line = Line {
            unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            route: self.ask.name(),
            upstream: self.upstream.and_then(|place| self.shared.options.upstreams.get(place)).map(Upstream::name),
            status: self.status,
            end: self.end,
            request_bytes: self.request_bytes,
            answer_bytes: self.answer_bytes,
            first_byte_ms: self.first_byte.map(ms),
            total_ms: ms(self.began.elapsed()),
            added_ms: ms(self.added),
            kept: self.kept.as_ref(),
        };
        if let Ok(line) = serde_json::to_string(&line) {
            log(&line);
        }
    }
}
