//! The gateway: in front of any model, for any client.
//!
//! A request goes through these rooms: `access` (may they?), `route` (where to?), `forward` with `headers` and `body` (on
//! to the upstream), `relay` (the answer back, frame by frame). What decides is pure; what moves bytes is here.
//!
//! What a client sends reaches the upstream byte for byte, and what the upstream answers reaches the client so. What is
//! changed on the way is exactly this: headers that belong to one connection, headers of ours, and the name of the host.

mod access;
mod again;
mod body;
mod coding;
mod connect;
mod error;
mod examine;
mod exchange;
mod forward;
mod headers;
mod inside;
mod keep;
mod options;
mod patient;
mod recall;
mod relay;
mod route;
mod same;
mod tap;
mod tunnel;
mod upstream;
mod wishes;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use futures_util::FutureExt as _;
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

pub use access::{KeyError, Keys};
pub use examine::{Examined, ShownKey, examine};
pub use keep::{Keep, Stores};
pub use options::{Options, Sink};
pub use upstream::{Kind, Upstream, UpstreamError};

pub(crate) use exchange::End;
pub(crate) use keep::Kept;
pub(crate) use relay::Answer;
pub(crate) use route::{Ask, Own};

use crate::metrics::Metrics;
use crate::{ServerError, health};
use access::{Access, Caller, Refusal, may_listen};
use connect::Client;
use error::Fault;
use forward::Bound;
use patient::Patient;
use route::Route;

/// How long requests under way may take to end when the gateway is stopped.
const FAREWELL: Duration = Duration::from_secs(10);

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) options: Options,
    access: Access,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) kept: Option<Kept>,
    client: Client,
    upgrading: Client,
    pub(crate) stopping: AtomicBool,
}

/// A gateway that listens.
pub struct Gateway {
    shared: Arc<Shared>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Gateway {
    /// Listens at an address; port 0 takes any that is free. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// [`ServerError`] if the address is not loopback and there is no key, if it is taken, or if TLS cannot be set up.
    pub async fn bind(address: SocketAddr, options: Options) -> Result<Self, ServerError> {
        if !may_listen(address, &options.keys, options.insecure) {
            return Err(ServerError::Open { address });
        }
        let listener = TcpListener::bind(address).await.map_err(|source| ServerError::Listen { address, source })?;
        let local = listener.local_addr()?;
        let (client, upgrading) = connect::clients(&options)?;
        let access = Access {
            keys: options.keys.clone(),
            hosts: options.allowed_hosts.clone(),
            origins: options.allowed_origins.clone(),
        };
        let metrics = Arc::new(Metrics::new(&options.upstreams));
        let kept = options.keep.as_ref().map(|keep| Kept::new(keep, &metrics));
        let stopping = AtomicBool::new(false);
        let shared = Arc::new(Shared { options, access, metrics, kept, client, upgrading, stopping });
        Ok(Self { shared, listener, address: local })
    }

    /// Gives the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready; then nobody new is let in, and what is under way has ten seconds to end.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let Self { shared, listener, .. } = self;
        let places = Arc::new(Semaphore::new(shared.options.max_connections));
        let (farewell, stopped) = watch::channel(false);
        let mut stop = pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = accept(&listener, &places) => accepted,
                () = &mut stop => break,
            };
            let Some((stream, place)) = accepted else { continue };
            let (shared, stopped) = (Arc::clone(&shared), stopped.clone());
            tokio::spawn(async move {
                shared.metrics.connected();
                serve_connection(stream, &shared, stopped).await;
                shared.metrics.disconnected();
                drop(place);
            });
        }
        shared.stopping.store(true, Relaxed);
        drop(listener);
        drop(stopped);
        farewell.send_replace(true);
        // Every connection holds a receiver: when the last is gone, so is the last connection.
        let _ = tokio::time::timeout(FAREWELL, farewell.closed()).await;
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway")
            .field("address", &self.address)
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

/// Accepts a connection when there is a place for it. `None` if accepting failed, which passes.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    if let Ok((stream, _)) = listener.accept().await {
        return Some((stream, place));
    }
    // Out of files, most likely: others have to close some first.
    tokio::time::sleep(Duration::from_millis(50)).await;
    None
}

async fn serve_connection(stream: TcpStream, shared: &Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let options = &shared.options;
    let headers = u32::try_from(options.max_headers.0).unwrap_or(u32::MAX);
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_headers(200)
        // Bounds the headers too, which are judged exactly where the request is.
        .max_buf_size(256 << 10)
        .preserve_header_case(true)
        .auto_date_header(false);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_header_list_size(headers)
        .max_concurrent_streams(128)
        .auto_date_header(false);
    let service = service_fn(|request| {
        let shared = Arc::clone(shared);
        async move {
            // What a conversation's session fails at is caught nearer to it, and the request goes on.
            let answered = AssertUnwindSafe(answer(&shared, request)).catch_unwind().await;
            let failed = |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "plimsoll failed at this").answer(None);
            Ok::<_, Infallible>(answered.unwrap_or_else(failed))
        }
    });
    let stream = TokioIo::new(Patient::new(stream, options.client_silence));
    let mut connection = pin!(builder.serve_connection_with_upgrades(stream, service));
    tokio::select! {
        // A connection that fails has nobody to be told.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

/// Answers a request.
async fn answer(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Answer> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let upstreams = &shared.options.upstreams;
    let found = route::route(request.method(), &target, request.headers(), upstreams);
    let kind = match &found {
        Route::To { kind, .. } => *kind,
        _ => None,
    };
    let refuse = |status: StatusCode, message: String| {
        shared.metrics.refused();
        Fault::new(status, message).answer(kind)
    };
    if request.method() == Method::CONNECT {
        return refuse(
            StatusCode::METHOD_NOT_ALLOWED,
            "this is a gateway, no forward proxy; use it as a base URL".into(),
        );
    }
    if headers::size(request.headers()) as u64 > shared.options.max_headers.0 {
        return refuse(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            format!("the request's headers take more than {} KiB", shared.options.max_headers.0 >> 10),
        );
    }
    // Whether it runs may be asked by anybody who may send requests at all.
    let authority = request.uri().authority();
    let open = matches!(found, Route::Own(Own::Health | Own::Ready | Own::Hello));
    let caller = if open {
        shared.access.check_names(request.headers(), authority).map(|()| Caller { tenant: None, ours: Vec::new() })
    } else {
        shared.access.check(request.headers(), authority)
    };
    let Caller { tenant, ours } = match caller {
        Ok(caller) => caller,
        Err(refusal @ Refusal::NoKey) => return refuse(StatusCode::UNAUTHORIZED, refusal.to_string()),
        Err(refusal) => return refuse(StatusCode::FORBIDDEN, refusal.to_string()),
    };
    let (place, path, ask) = match found {
        Route::Own(own @ (Own::Mcp | Own::Recall)) => {
            let Some(kept) = &shared.kept else {
                return Fault::new(StatusCode::NOT_FOUND, "nothing is kept here: it was started with --passthrough")
                    .answer(None);
            };
            let tenant = tenant.as_deref();
            if own == Own::Recall && request.method() != Method::GET && request.method() != Method::HEAD {
                return Fault::new(StatusCode::METHOD_NOT_ALLOWED, "what is stored is read here, with GET")
                    .answer(None);
            }
            return match own {
                Own::Mcp => recall::mcp(shared, kept, tenant, request).await,
                _ => recall::plain(shared, kept, tenant, &target).await,
            };
        }
        Route::Own(own) => return health::answer(own, request.method(), shared),
        Route::To { upstream, path, ask, .. } => (upstream, path.to_owned(), ask),
        Route::NoSuch(name) => {
            let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
            return nowhere(&format!("there is no upstream named {name}"), upstreams);
        }
        Route::Nowhere => return nowhere("nothing says which upstream this path belongs to", upstreams),
    };
    let bypass = wishes::is_bypassed(request.headers(), &path);
    let path = wishes::without_switch(&path);
    let plain = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    if shared.kept.is_some() && !bypass && headers::wants_upgrade(request.headers()) && plain.ends_with("/responses")
    {
        // Inside a tunnel nothing could be kept; clients then ask over HTTP, as they do of servers without WebSocket.
        return Fault::new(StatusCode::UPGRADE_REQUIRED, "responses are served over HTTP here").answer(kind);
    }
    let Some(upstream) = upstreams.get(place) else {
        return nowhere("there is no such upstream", upstreams);
    };
    Bound { shared, place, upstream, path, ask, kind, ours: &ours, tenant: tenant.as_deref(), bypass }
        .pass(request)
        .await
}

fn nowhere(what: &str, upstreams: &[Upstream]) -> Response<Answer> {
    let names: Vec<&str> = upstreams.iter().map(Upstream::name).collect();
    let message = format!("{what}; there are: {}; reach any of them at /u/NAME/PATH", names.join(", "));
    Fault::new(StatusCode::NOT_FOUND, message).answer(None)
}

#[cfg(test)]
mod tests;
