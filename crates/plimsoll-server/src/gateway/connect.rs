//! Connections to upstreams: pools of them, kept alive, over TLS with the certificates that the system trusts.

use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use plimsoll_store::tls;

use super::body::Outgoing;
use super::options::Options;
use super::upstream::Upstream;
use crate::ServerError;

/// How long an unused connection is kept: less than servers commonly keep theirs, so that none is used as it closes.
const IDLE: Duration = Duration::from_secs(30);

/// Speaks to upstreams.
pub(crate) type Client = hyper_util::client::legacy::Client<HttpsConnector<HttpConnector>, Outgoing>;

/// Makes the two clients: one that speaks whatever a server prefers, and one for upgrades, which only HTTP/1.1 has.
///
/// # Errors
/// [`ServerError::Tls`] if an upstream is reached over TLS and the system's certificates cannot be used.
pub(crate) fn clients(options: &Options) -> Result<(Client, Client), ServerError> {
    let secure = options.upstreams.iter().any(Upstream::is_secure);
    let tls = tls::client(secure).map_err(|error| ServerError::Tls(error.to_string()))?;
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(options.connect_timeout));
    http.set_keepalive(Some(Duration::from_secs(60)));
    let make = |connector| {
        hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .http1_preserve_header_case(true)
            .http1_max_headers(200)
            .http2_keep_alive_interval(Duration::from_secs(30))
            .set_host(false)
            .build(connector)
    };
    let builder = || HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http().enable_http1();
    Ok((make(builder().enable_http2().wrap_connector(http.clone())), make(builder().wrap_connector(http))))
}
