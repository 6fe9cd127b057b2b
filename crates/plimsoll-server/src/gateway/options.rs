//! What a gateway is started with.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use plimsoll::Bytes;

use super::access::Keys;
use super::keep::Keep;
use super::upstream::{Kind, Upstream, UpstreamError};

/// Takes a line of the log, without a line feed.
pub type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// What a gateway is started with. [`Options::default`] serves the makers' own servers, to this machine only.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where requests go.
    pub upstreams: Vec<Upstream>,
    /// Who may use it; nobody is asked without keys.
    pub keys: Keys,
    /// Whether it may listen elsewhere than on loopback without a key.
    pub insecure: bool,
    /// Names under which clients reach it, besides `localhost` and addresses.
    pub allowed_hosts: Vec<String>,
    /// Web origins that may use it, besides this machine's.
    pub allowed_origins: Vec<String>,
    /// The largest body that is read whole; 64 MiB. What passes through as a stream has no limit.
    pub max_body: Bytes,
    /// The most that a request's headers may take; 64 KiB.
    pub max_headers: Bytes,
    /// The most connections at once; further ones wait to be accepted.
    pub max_connections: usize,
    /// How long to wait for a connection to an upstream.
    pub connect_timeout: Duration,
    /// How long an upstream may be silent: before its answer, and inside it.
    pub upstream_silence: Duration,
    /// How long a client may take for the headers of a request, and a kept connection may be idle.
    pub header_timeout: Duration,
    /// How long a client may be silent inside a body, and take nothing of an answer.
    pub client_silence: Duration,
    /// How conversations are kept inside their windows; without it, the gateway passes everything on as it is.
    pub keep: Option<Keep>,
    /// Where one line of JSON a request goes: without content, headers, paths or queries.
    pub log: Option<Sink>,
}

impl Default for Options {
    fn default() -> Self {
        let makers = [Kind::Anthropic, Kind::OpenAi, Kind::Gemini];
        Self {
            upstreams: makers.into_iter().filter_map(Upstream::of_maker).collect(),
            keys: Keys::default(),
            insecure: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body: Bytes(64 << 20),
            max_headers: Bytes(64 << 10),
            max_connections: 1024,
            connect_timeout: Duration::from_secs(10),
            upstream_silence: Duration::from_secs(600),
            header_timeout: Duration::from_secs(60),
            client_silence: Duration::from_secs(120),
            keep: None,
            log: None,
        }
    }
}

impl Options {
    /// Replaces the upstreams.
    ///
    /// # Errors
    /// [`UpstreamError::Twice`] if two have one name.
    pub fn with_upstreams(mut self, upstreams: Vec<Upstream>) -> Result<Self, UpstreamError> {
        for (place, upstream) in upstreams.iter().enumerate() {
            if upstreams.iter().skip(place + 1).any(|other| other.name() == upstream.name()) {
                return Err(UpstreamError::Twice(upstream.name().to_owned()));
            }
        }
        self.upstreams = upstreams;
        Ok(self)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("upstreams", &self.upstreams)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
