//! Recall over HTTP: the MCP endpoint, and a plain one, both for the caller's own tenant and bounded by a page.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value};

use super::error::Fault;
use super::relay::Answer;
use super::{Kept, Shared};
use crate::mcp::{McpServer, Refusal, recall_text};

/// Where the plain endpoint is: what follows is a recall id.
pub(crate) const PATH: &str = "/plimsoll/recall/";

/// Answers `GET /plimsoll/recall/SESSION/CALL?offset=…&length=…&lines=A:B&grep=…&context=…`, as the tool `recall` does.
pub(crate) async fn plain(shared: &Arc<Shared>, kept: &Kept, tenant: Option<&str>, target: &str) -> Response<Answer> {
    let fault = |status, message: &str| Fault::new(status, message).answer(None);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut arguments = Map::new();
    let Some(id) = path.strip_prefix(PATH).and_then(unescaped) else {
        return fault(StatusCode::BAD_REQUEST, "the recall id cannot be read");
    };
    arguments.insert("id".to_owned(), Value::String(id));
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let Some(value) = unescaped(&value.replace('+', " ")) else {
            return fault(
                StatusCode::BAD_REQUEST,
                "the query cannot be read: a `%` is not followed by two hex digits",
            );
        };
        arguments.insert(name.to_owned(), Value::String(value));
    }
    let Ok(store) = kept.store(tenant) else {
        return fault(StatusCode::SERVICE_UNAVAILABLE, "the store cannot be opened");
    };
    match tokio::task::spawn_blocking(move || recall_text(&arguments, &store)).await {
        Ok(Ok(text)) => {
            shared.metrics.recalled.fetch_add(text.len() as u64, Relaxed);
            let mut answer = Response::new(Answer::whole(text));
            let headers = answer.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
            // What is recalled may be a page: no browser is to take it for one.
            headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            answer
        }
        Ok(Err(refusal)) => {
            let status = match refusal {
                Refusal::Wrong(_) => StatusCode::BAD_REQUEST,
                Refusal::Missing(_) => StatusCode::NOT_FOUND,
                Refusal::Fault(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            fault(status, refusal.words_elsewhere())
        }
        Err(_) => fault(StatusCode::INTERNAL_SERVER_ERROR, "plimsoll failed at this; try other arguments"),
    }
}

/// Decodes `%XX`.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            decoded.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

/// Answers at `/mcp`: the protocol's streamable HTTP, without sessions, so that any replica answers any request.
pub(crate) async fn mcp(
    shared: &Arc<Shared>,
    kept: &Kept,
    tenant: Option<&str>,
    request: Request<Incoming>,
) -> Response<Answer> {
    if request.method() == Method::OPTIONS {
        return Fault::new(StatusCode::METHOD_NOT_ALLOWED, "MCP is spoken here with POST").answer(None);
    }
    let Ok(store) = kept.store(tenant) else {
        return Fault::new(StatusCode::SERVICE_UNAVAILABLE, "the store cannot be opened").answer(None);
    };
    let server = McpServer::remote(store, Arc::clone(&shared.metrics.recalled));
    // Host and origin were checked, by the same rules as everywhere here.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service =
        StreamableHttpService::new(move || Ok(server.clone()), Arc::new(NeverSessionManager::default()), config);
    service
        .handle(request)
        .await
        .map(|body: http_body_util::combinators::BoxBody<Bytes, _>| Answer::Boxed(body.boxed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_and_nonsense_is_not() {
        assert_eq!(unescaped("a%2Fb%C3%A9").as_deref(), Some("a/bé"));
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }
}
