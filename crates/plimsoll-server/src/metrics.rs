//! What the gateway counts, and how that is read: the text format of Prometheus, version 0.0.4.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use plimsoll::token::Method;
use plimsoll_engine::event::Event;
use plimsoll_engine::session::{Prefix, Reason, RequestReport};

use crate::gateway::{Ask, End, Upstream};

/// Upper bounds of the buckets of times, in microseconds.
const BOUNDS: [u64; 16] = [
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    50_000,
    100_000,
    500_000,
    1_000_000,
    5_000_000,
    15_000_000,
    60_000_000,
    300_000_000,
];
/// The classes of statuses: none, then 1xx to 5xx.
const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];
/// The ends of exchanges, and how each is called.
const ENDS: [(End, &str); 6] = [
    (End::Complete, "complete"),
    (End::ClientGone, "client_gone"),
    (End::Cut, "cut"),
    (End::Silent, "silent"),
    (End::Unreachable, "unreachable"),
    (End::Refused, "refused"),
];

/// How what is sent relates to what was sent, and how each is called.
const PREFIXES: [(Prefix, &str); 5] = [
    (Prefix::New, "new"),
    (Prefix::Extends, "extends"),
    (Prefix::Epoch, "epoch"),
    (Prefix::Released, "released"),
    (Prefix::Broken, "broken"),
];
/// How counts are obtained.
const METHODS: [(Method, &str); 4] = [
    (Method::Exact, "exact"),
    (Method::Reported, "reported"),
    (Method::Calibrated, "calibrated"),
    (Method::Estimated, "estimated"),
];
/// Why requests go out as they came, or not as they should.
const REASONS: [&str; 20] = [
    "asked",
    "signed",
    "coding-unknown",
    "coding-broken",
    "too-large-decoded",
    "not-understood",
    "fault",
    "server-history",
    "auto-off",
    "stopped",
    "infeasible",
    "skipped",
    "ineffective",
    "summary-late",
    "store",
    "unsaved",
    "not-replayed",
    "replay-only",
    "shadow",
    "other",
];

/// The word for a reason, without the detail, which may hold anything.
pub(crate) fn label(reason: &Reason) -> &'static str {
    match reason {
        Reason::NotUnderstood(_) => "not-understood",
        Reason::Fault => "fault",
        Reason::ServerHistory => "server-history",
        Reason::AutoOff => "auto-off",
        Reason::Stopped(_) => "stopped",
        Reason::Infeasible { .. } => "infeasible",
        Reason::Skipped(_) => "skipped",
        Reason::Ineffective { .. } => "ineffective",
        Reason::SummaryLate => "summary-late",
        Reason::Store(_) => "store",
        Reason::Unsaved(_) => "unsaved",
        Reason::NotReplayed(_) => "not-replayed",
        Reason::ReplayOnly => "replay-only",
        Reason::Shadow => "shadow",
        _ => "other",
    }
}

/// The word for what kept a request from going out as it should: a decision that holds in this process only, too.
pub(crate) fn hindered(report: &RequestReport) -> Option<&'static str> {
    report.hindrance().map(label).or(report.compaction.as_ref().filter(|made| !made.durable).map(|_| "store"))
}

/// Times, in buckets.
#[derive(Debug, Default)]
pub(crate) struct Times {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

impl Times {
    pub(crate) fn observe(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).and_then(|place| self.buckets.get(place));
        if let Some(bucket) = bucket {
            bucket.fetch_add(1, Relaxed);
        }
        self.count.fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    fn write(&self, text: &mut String, name: &str, about: &str) {
        head(text, name, "histogram", about);
        let mut below = 0;
        for (bucket, bound) in self.buckets.iter().zip(BOUNDS) {
            below += bucket.load(Relaxed);
            let _ = writeln!(text, "{name}_bucket{{le=\"{}\"}} {below}", bound as f64 / 1e6);
        }
        // A time observed meanwhile may be in a bucket and not yet in the count: the sum of both views is never less.
        let count = self.count.load(Relaxed).max(below);
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}");
        let _ = writeln!(text, "{name}_sum {}", self.micros.load(Relaxed) as f64 / 1e6);
        let _ = writeln!(text, "{name}_count {count}");
    }
}

fn head(text: &mut String, name: &str, kind: &str, about: &str) {
    let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
}

/// What a gateway counts. No label holds anything that a client sends.
#[derive(Debug)]
pub(crate) struct Metrics {
    upstreams: Vec<String>,
    /// By upstream (the last stands for none), what is asked for, and class of status.
    requests: Vec<AtomicU64>,
    ends: [AtomicU64; ENDS.len()],
    in_flight: AtomicU64,
    connections: AtomicU64,
    refused: AtomicU64,
    request_bytes: AtomicU64,
    answer_bytes: AtomicU64,
    /// Tokens as they came and as they went out, by how they were counted.
    tokens: [[AtomicU64; 2]; METHODS.len()],
    prefixes: [AtomicU64; PREFIXES.len()],
    reasons: [AtomicU64; REASONS.len()],
    capped: AtomicU64,
    epochs: AtomicU64,
    /// Tokens that have to be read into a cache anew, since an epoch changed what stands before them.
    rewritten: AtomicU64,
    summaries: AtomicU64,
    /// Tokens that summarisers used.
    summarising: AtomicU64,
    recovered: AtomicU64,
    lost: AtomicU64,
    truncated: AtomicU64,
    /// Bytes that were recalled.
    pub(crate) recalled: Arc<AtomicU64>,
    /// Time in the gateway.
    pub(crate) added: Times,
    /// Time to the first byte of an answer's body.
    pub(crate) first_byte: Times,
}

impl Metrics {
    pub(crate) fn new(upstreams: &[Upstream]) -> Self {
        let cells = (upstreams.len() + 1) * Ask::ALL.len() * CLASSES.len();
        Self {
            upstreams: upstreams.iter().map(|upstream| upstream.name().to_owned()).collect(),
            requests: (0..cells).map(|_| AtomicU64::new(0)).collect(),
            ends: Default::default(),
            in_flight: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            request_bytes: AtomicU64::new(0),
            answer_bytes: AtomicU64::new(0),
            tokens: Default::default(),
            prefixes: Default::default(),
            reasons: Default::default(),
            capped: AtomicU64::new(0),
            epochs: AtomicU64::new(0),
            rewritten: AtomicU64::new(0),
            summaries: AtomicU64::new(0),
            summarising: AtomicU64::new(0),
            recovered: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
            recalled: Arc::default(),
            added: Times::default(),
            first_byte: Times::default(),
        }
    }

    fn cell(&self, upstream: Option<usize>, ask: Ask, class: usize) -> Option<&AtomicU64> {
        let upstream = upstream.unwrap_or(self.upstreams.len());
        let ask = Ask::ALL.iter().position(|other| *other == ask)?;
        self.requests.get((upstream * Ask::ALL.len() + ask) * CLASSES.len() + class)
    }

    pub(crate) fn began(&self) {
        self.in_flight.fetch_add(1, Relaxed);
    }

    pub(crate) fn ended(&self, ask: Ask, upstream: Option<usize>, status: Option<u16>, end: End) {
        self.in_flight.fetch_sub(1, Relaxed);
        let class = status.map_or(0, |status| usize::from(status / 100)).min(CLASSES.len() - 1);
        if let Some(cell) = self.cell(upstream, ask, class) {
            cell.fetch_add(1, Relaxed);
        }
        let end = ENDS.iter().position(|(other, _)| *other == end).and_then(|place| self.ends.get(place));
        if let Some(end) = end {
            end.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn moved(&self, request: u64, answer: u64) {
        self.request_bytes.fetch_add(request, Relaxed);
        self.answer_bytes.fetch_add(answer, Relaxed);
    }

    /// A request goes out as it came though sessions are kept.
    pub(crate) fn bypassed(&self, reason: &str) {
        if let Some(count) = REASONS.iter().position(|other| *other == reason).and_then(|p| self.reasons.get(p)) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// A session made a request ready. Tokens of requests that ask for no answer are nobody's savings.
    pub(crate) fn prepared(&self, report: &RequestReport, answers: bool) {
        report.notes.iter().for_each(|reason| self.bypassed(label(reason)));
        hindered(report)
            .filter(|_| report.hindrance().is_none())
            .into_iter()
            .for_each(|reason| self.bypassed(reason));
        self.capped.fetch_add(report.capped as u64, Relaxed);
        let prefix = PREFIXES.iter().position(|(other, _)| *other == report.prefix);
        if let Some(count) = prefix.and_then(|place| self.prefixes.get(place)) {
            count.fetch_add(1, Relaxed);
        }
        if !answers {
            return;
        }
        let method = METHODS.iter().position(|(other, _)| *other == report.method);
        if let Some([before, after]) = method.and_then(|place| self.tokens.get(place)) {
            before.fetch_add(report.tokens_before.0, Relaxed);
            after.fetch_add(report.tokens_after.0, Relaxed);
        }
        if report.prefix == Prefix::Epoch {
            self.rewritten.fetch_add(report.tokens_after.0, Relaxed);
        }
    }

    /// Something happened in a session.
    pub(crate) fn happened(&self, event: &Event) {
        match event {
            Event::Compacted(_) => self.epochs.fetch_add(1, Relaxed),
            Event::Summarised { tokens, .. } => {
                self.summarising.fetch_add(tokens.0, Relaxed);
                self.summaries.fetch_add(1, Relaxed)
            }
            Event::Overflow { recovered: true } => self.recovered.fetch_add(1, Relaxed),
            Event::Overflow { recovered: false } => self.lost.fetch_add(1, Relaxed),
            Event::Truncated { .. } => self.truncated.fetch_add(1, Relaxed),
            _ => 0,
        };
    }

    /// Somebody who may not use the gateway was turned away.
    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// A connection was opened; it is closed when what is given back is dropped.
    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Relaxed);
    }

    fn write_kept(&self, text: &mut String) {
        let (mut before, mut after) = (0, 0);
        for (place, (name, about)) in [
            ("plimsoll_tokens_before_total", "Tokens of requests as they came, by how they were counted."),
            ("plimsoll_tokens_after_total", "Tokens of requests as they went out, by how they were counted."),
        ]
        .into_iter()
        .enumerate()
        {
            head(text, name, "counter", about);
            for ((_, method), tokens) in METHODS.iter().zip(&self.tokens) {
                let value = tokens.get(place).map_or(0, |tokens| tokens.load(Relaxed));
                let _ = writeln!(text, "{name}{{method=\"{method}\"}} {value}");
                if place == 0 { before += value } else { after += value }
            }
        }
        // What a provider's cache saves is not ours; what an epoch makes it read anew is our cost.
        let signed = |value: u64| i128::from(value);
        let costs = [&self.summarising, &self.rewritten].map(|cost| signed(cost.load(Relaxed))).iter().sum::<i128>();
        let net = signed(before) - signed(after) - costs - signed(self.recalled.load(Relaxed) / 4);
        head(
            text,
            "plimsoll_tokens_saved_net",
            "gauge",
            "Tokens not sent, less summaries, caches rewritten and recalls.",
        );
        let _ = writeln!(text, "plimsoll_tokens_saved_net {net}");
        head(text, "plimsoll_prefix_total", "counter", "Requests by how they relate to the one sent before.");
        for ((_, name), count) in PREFIXES.iter().zip(&self.prefixes) {
            let _ = writeln!(text, "plimsoll_prefix_total{{prefix=\"{name}\"}} {}", count.load(Relaxed));
        }
        head(text, "plimsoll_notes_total", "counter", "Why requests went out as they came, or not as they should.");
        for (name, count) in REASONS.iter().zip(&self.reasons) {
            let _ = writeln!(text, "plimsoll_notes_total{{reason=\"{name}\"}} {}", count.load(Relaxed));
        }
        for (name, about, value) in [
            ("plimsoll_capped_total", "Texts of tool results that were capped.", &self.capped),
            ("plimsoll_epochs_total", "Compactions that were put in place.", &self.epochs),
            ("plimsoll_rewritten_tokens_total", "Tokens that an epoch made caches read anew.", &self.rewritten),
            ("plimsoll_summaries_total", "Summaries that were made.", &self.summaries),
            ("plimsoll_summary_tokens_total", "Tokens that summarisers used.", &self.summarising),
            (
                "plimsoll_overflows_recovered_total",
                "Requests too long that were compacted and sent again.",
                &self.recovered,
            ),
            ("plimsoll_overflows_passed_total", "Requests too long whose error the client got.", &self.lost),
            (
                "plimsoll_truncated_total",
                "Answers to requests of which a server seems to have dropped a part.",
                &self.truncated,
            ),
            ("plimsoll_recalled_bytes_total", "Bytes that were recalled.", &self.recalled),
        ] {
            head(text, name, "counter", about);
            let _ = writeln!(text, "{name} {}", value.load(Relaxed));
        }
    }

    /// Writes everything as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::with_capacity(4096);
        head(&mut text, "plimsoll_info", "gauge", "The version that runs.");
        let _ = writeln!(text, "plimsoll_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        head(&mut text, "plimsoll_requests_total", "counter", "Requests that ended, by upstream, route and status.");
        for (place, name) in self.upstreams.iter().map(String::as_str).chain(["none"]).enumerate() {
            for ask in Ask::ALL {
                for (class, status) in CLASSES.iter().enumerate() {
                    let count = self.cell(Some(place), ask, class).map_or(0, |cell| cell.load(Relaxed));
                    if count > 0 {
                        let route = ask.name();
                        let labels = format!("upstream=\"{name}\",route=\"{route}\",status=\"{status}\"");
                        let _ = writeln!(text, "plimsoll_requests_total{{{labels}}} {count}");
                    }
                }
            }
        }
        head(&mut text, "plimsoll_ends_total", "counter", "Requests that ended, by how.");
        for ((_, name), end) in ENDS.iter().zip(&self.ends) {
            let _ = writeln!(text, "plimsoll_ends_total{{end=\"{name}\"}} {}", end.load(Relaxed));
        }
        for (name, kind, about, value) in [
            ("plimsoll_in_flight", "gauge", "Requests under way.", &self.in_flight),
            ("plimsoll_connections", "gauge", "Connections of clients.", &self.connections),
            ("plimsoll_refused_total", "counter", "Requests refused for their key, host or origin.", &self.refused),
            ("plimsoll_request_bytes_total", "counter", "Bytes of bodies read whole.", &self.request_bytes),
            ("plimsoll_answer_bytes_total", "counter", "Bytes of bodies passed to clients.", &self.answer_bytes),
        ] {
            head(&mut text, name, kind, about);
            let _ = writeln!(text, "{name} {}", value.load(Relaxed));
        }
        self.write_kept(&mut text);
        self.added.write(&mut text, "plimsoll_added_seconds", "Time that requests spent in the gateway itself.");
        self.first_byte.write(
            &mut text,
            "plimsoll_first_byte_seconds",
            "Time from a request to its answer's first byte.",
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_can_be_read() {
        let metrics = Metrics::new(&["anthropic=http://h".parse().unwrap()]);
        metrics.began();
        metrics.began();
        metrics.ended(Ask::Messages, Some(0), Some(200), End::Complete);
        metrics.ended(Ask::Other, None, None, End::Refused);
        metrics.added.observe(Duration::from_micros(60));
        metrics.added.observe(Duration::from_secs(1_000));
        let text = metrics.text();
        for line in [
            "plimsoll_requests_total{upstream=\"anthropic\",route=\"messages\",status=\"2xx\"} 1",
            "plimsoll_requests_total{upstream=\"none\",route=\"other\",status=\"none\"} 1",
            "plimsoll_ends_total{end=\"refused\"} 1",
            "plimsoll_in_flight 0",
            "plimsoll_added_seconds_bucket{le=\"0.00005\"} 0",
            "plimsoll_added_seconds_bucket{le=\"0.0001\"} 1",
            "plimsoll_added_seconds_bucket{le=\"+Inf\"} 2",
            "plimsoll_added_seconds_sum 1000.00006",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} is not in\n{text}");
        }
    }
}
