//! The HTTP client below the library: connections, certificates, proxies, patience, and the headers that make the end
//! of an upload create-only.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::IF_NONE_MATCH;
use http::{HeaderValue, Method};
use http_body::{Body, Frame, SizeHint};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::{Instant, Sleep, sleep, timeout};

use super::access::{Access, Patience, Scheme, is_metadata, is_own};
use super::fault::Unreached;
use super::witness::{Seen, Transport, code_and_region, note, transport};
use crate::tls;

/// How much of a refusal is read for its error code.
const REFUSAL: usize = 64 * 1024;

/// A client for one server and for whoever gives keys for it. Cloning it is cheap and shares the connections.
#[derive(Clone)]
pub(super) struct Wire {
    shared: Arc<Shared>,
}

struct Shared {
    proxies: Vec<(Scheme, String)>,
    no_proxy: Option<String>,
    patience: Patience,
    /// By whether proxies are left out, and whether TLS is spoken: certificates are only loaded where they are needed.
    clients: [OnceLock<reqwest::Client>; 4],
}

impl Wire {
    pub(super) fn new(access: &Access) -> Self {
        let (proxies, no_proxy) = (access.proxies.clone(), access.no_proxy.clone());
        Self {
            shared: Arc::new(Shared { proxies, no_proxy, patience: access.patience, clients: Default::default() }),
        }
    }

    fn client(&self, direct: bool, secure: bool) -> Result<&reqwest::Client, Transport> {
        let [a, b, c, d] = &self.shared.clients;
        let slot = match (direct, secure) {
            (false, false) => a,
            (false, true) => b,
            (true, false) => c,
            (true, true) => d,
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = self.build(direct, secure)?;
        Ok(slot.get_or_init(|| client))
    }

    fn build(&self, direct: bool, secure: bool) -> Result<reqwest::Client, Transport> {
        let trouble = |error: &dyn fmt::Display| Transport::Tls(error.to_string());
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::client(secure).map_err(|error| trouble(&error))?)
            .user_agent(concat!("plimsoll/", env!("CARGO_PKG_VERSION")))
            // A server that sends elsewhere has the bucket in another region: that is told, not followed.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(self.shared.patience.connect)
            .pool_idle_timeout(Duration::from_secs(60))
            .no_proxy();
        if !direct {
            for (scheme, url) in &self.shared.proxies {
                let proxy = match scheme {
                    Scheme::Http => reqwest::Proxy::http(url),
                    Scheme::Https => reqwest::Proxy::https(url),
                    Scheme::All => reqwest::Proxy::all(url),
                };
                // The reason may hold the URL, and that a password.
                let proxy = proxy.map_err(|_| trouble(&"the proxy that the environment names has no valid URL"))?;
                let none = self.shared.no_proxy.as_deref().and_then(reqwest::NoProxy::from_string);
                builder = builder.proxy(proxy.no_proxy(none));
            }
        }
        builder.build().map_err(|error| trouble(&error))
    }
}

impl HttpConnector for Wire {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let secure = request.uri().scheme() == Some(&http::uri::Scheme::HTTPS);
        let metadata = is_metadata(&host);
        if ends_upload(&request) {
            request.headers_mut().insert(IF_NONE_MATCH, HeaderValue::from_static("*"));
        }
        let fail = |how: Transport, kind: HttpErrorKind| {
            note(Some(Seen::Transport { host: host.clone(), how }));
            // Where no role is given to this machine, asking again does not help.
            HttpError::new(if metadata { HttpErrorKind::Unknown } else { kind }, Ended)
        };
        let client = match self.client(is_own(&host) || metadata, secure) {
            Ok(client) => client,
            Err(how) => return Err(fail(how, HttpErrorKind::Unknown)),
        };
        let patience = self.shared.patience;
        let allowed = if metadata { Duration::from_secs(1) } else { patience.answer };
        let sending = request.body().content_length() as u64 / patience.slowest.max(1);
        let answer = timeout(allowed + Duration::from_secs(sending), HttpService::call(client, request)).await;
        let response = match answer {
            Err(_) => return Err(fail(Transport::Unreached(Unreached::Timeout), HttpErrorKind::Timeout)),
            Ok(Err(error)) => {
                let how = transport(&error);
                let kind = match &how {
                    // Neither mends itself within seconds.
                    Transport::Tls(_) | Transport::NotHttp => HttpErrorKind::Unknown,
                    Transport::Unreached(_) => error.kind(),
                };
                return Err(fail(how, kind));
            }
            Ok(Ok(response)) => response,
        };
        let (parts, body) = response.into_parts();
        let body = Patient::new(body, patience.answer, &host);
        if parts.status.is_success() {
            note(None);
            return Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)));
        }
        let body = beginning(body).await;
        let (code, region) = code_and_region(&String::from_utf8_lossy(&body));
        let named = parts.headers.get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
        let region = region.or_else(|| named.map(ToOwned::to_owned));
        note(Some(Seen::Status { host, status: parts.status.as_u16(), code, region }));
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

/// Whether a request makes the parts of an upload a record. The library ends uploads unconditionally; a header that is
/// not among the signed ones may be added, as it does itself where it copies.
fn ends_upload(request: &HttpRequest) -> bool {
    let ends = |query: &str| query.split('&').any(|pair| pair.starts_with("uploadId="));
    request.method() == Method::POST && request.uri().query().is_some_and(ends)
}

/// Reads a refusal, as far as it is worth it.
async fn beginning(mut body: Patient) -> Bytes {
    let mut read = Vec::new();
    while read.len() < REFUSAL {
        match std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            Some(Ok(frame)) => read.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
            // What is known by then must do.
            Some(Err(_)) | None => break,
        }
    }
    read.into()
}

/// A body that fails when nothing of it comes for a while.
struct Patient {
    body: HttpResponseBody,
    patience: Duration,
    wait: Pin<Box<Sleep>>,
    host: String,
}

impl Patient {
    fn new(body: HttpResponseBody, patience: Duration, host: &str) -> Self {
        Self { body, patience, wait: Box::pin(sleep(patience)), host: host.to_owned() }
    }

    fn fail(&self, how: Transport) {
        note(Some(Seen::Transport { host: self.host.clone(), how }));
    }
}

impl Body for Patient {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            let next = Instant::now() + self.patience;
            self.wait.as_mut().reset(next);
            if let Some(Err(error)) = &frame {
                self.fail(transport(error));
            }
            return Poll::Ready(frame);
        }
        match self.wait.as_mut().poll(cx) {
            Poll::Ready(()) => {
                self.fail(Transport::Unreached(Unreached::Timeout));
                Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Timeout, Ended))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Stands in errors of the library for what is noted elsewhere; also in what it logs.
#[derive(Debug, thiserror::Error)]
#[error("the request did not come to an answer")]
struct Ended;

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_an_upload_is_made_conditional() {
        let ends = |method: &str, url: &str| {
            let request = http::Request::builder().method(method).uri(url);
            ends_upload(&request.body(object_store::client::HttpRequestBody::empty()).unwrap())
        };
        assert!(ends("POST", "http://h/b/k?uploadId=x"));
        assert!(!ends("POST", "http://h/b/k?uploads="));
        assert!(!ends("PUT", "http://h/b/k?partNumber=1&uploadId=x"));
        assert!(!ends("DELETE", "http://h/b/k?uploadId=x"));
        assert!(!ends("POST", "http://h/b/uploadId=x"));
    }

    #[test]
    fn clients_can_be_built() {
        let wire = Wire::new(&Access::from_env(|_| None).unwrap());
        for (direct, secure) in [(false, false), (true, false)] {
            wire.client(direct, secure).unwrap();
        }
    }
}
