//! Looking over upstreams for `doctor`: whether each answers, at the path that it is given, takes the key that there is, and
//! which windows its models have.
//!
//! The list of models is asked for; where there is none, the route itself is, with a body that asks for nothing. No model
//! is put to work.

mod judge;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use plimsoll_engine::doctor::Check;
use plimsoll_engine::summarise::http_date;
use tokio::time::timeout;

use super::body::Outgoing;
use super::connect::{self, Client};
use super::options::Options;
use super::upstream::{Kind, Upstream};
use crate::ServerError;
use judge::{Heard, Missing, judge, wrong_base};

/// How long an upstream has for an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most of an answer that is read.
const MOST: usize = 1 << 20;

/// A key for an upstream, and the variable that it comes from.
#[derive(Clone)]
pub struct ShownKey {
    /// The variable's name.
    pub variable: &'static str,
    /// The key; `None` if the variable is not set.
    pub key: Option<String>,
}

impl std::fmt::Debug for ShownKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShownKey").field("variable", &self.variable).finish_non_exhaustive()
    }
}

impl ShownKey {
    /// Takes the key that clients of an upstream commonly have, by the upstream's name.
    pub fn of(upstream: &Upstream, lookup: impl Fn(&str) -> Option<String>) -> Self {
        let variable = match kind(upstream) {
            Some(Kind::Anthropic) => "ANTHROPIC_API_KEY",
            Some(Kind::Gemini) => "GEMINI_API_KEY",
            _ => "OPENAI_API_KEY",
        };
        let key = lookup(variable).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
        Self { variable, key }
    }
}

/// What was found of upstreams.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Examined {
    /// What came of it.
    pub checks: Vec<Check>,
    /// What the first server that says it says the time is.
    pub date: Option<SystemTime>,
}

/// Looks over upstreams, each with the key that its clients have. `window` says that a window is given, so that what models
/// are known for does not matter. Nothing that is found holds a key.
///
/// # Errors
/// [`ServerError::Tls`] if an upstream is reached over TLS and this system's certificates cannot be used.
pub async fn examine(upstreams: &[(Upstream, ShownKey)], window: bool) -> Result<Examined, ServerError> {
    let mut examined = Examined::default();
    let named = upstreams.iter().map(|(upstream, _)| upstream.clone()).collect();
    let options = Options { upstreams: named, connect_timeout: PATIENCE, ..Options::default() };
    let (client, _) = connect::clients(&options)?;
    for (upstream, key) in upstreams {
        let looked = look(&client, upstream, key).await;
        examined.date = examined.date.or(looked.date);
        examined.checks.extend(judge(upstream, kind(upstream), key, &looked, window));
    }
    Ok(examined)
}

/// Whose protocol an upstream speaks, by its name.
fn kind(upstream: &Upstream) -> Option<Kind> {
    [Kind::Anthropic, Kind::OpenAi, Kind::Gemini].into_iter().find(|kind| kind.name() == upstream.name())
}

/// The paths that are asked: the list of models, and the route with what asks it for nothing.
fn paths(kind: Option<Kind>) -> (&'static str, Option<&'static str>) {
    match kind {
        Some(Kind::Anthropic) => ("/v1/models", Some("/v1/messages")),
        Some(Kind::Gemini) => ("/v1beta/models", None),
        _ => ("/v1/models", Some("/v1/chat/completions")),
    }
}

async fn look(client: &Client, upstream: &Upstream, key: &ShownKey) -> Heard {
    if let Some(wrong) = wrong_base(upstream) {
        return Heard { missing: Some(wrong), ..Heard::default() };
    }
    let (models, route) = paths(kind(upstream));
    let mut heard = ask(client, upstream, key, Method::GET, models).await;
    if matches!(heard.status, Some(404 | 405 | 501))
        && let Some(route) = route
    {
        let date = heard.date;
        heard = ask(client, upstream, key, Method::POST, route).await;
        heard.date = heard.date.or(date);
        heard.body = Bytes::new();
    }
    heard
}

async fn ask(client: &Client, upstream: &Upstream, key: &ShownKey, method: Method, path: &str) -> Heard {
    let Some(uri) = upstream.uri(path) else {
        return Heard { missing: Some(Missing::Path), ..Heard::default() };
    };
    let posts = method == Method::POST;
    let mut request = Request::new(Outgoing::Whole(posts.then(|| Bytes::from_static(b"{}"))));
    (*request.method_mut(), *request.uri_mut()) = (method, uri);
    let headers = request.headers_mut();
    headers.insert(header::HOST, upstream.host());
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("plimsoll/", env!("CARGO_PKG_VERSION"))));
    if posts {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("2"));
    }
    if kind(upstream) == Some(Kind::Anthropic) {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(key) = &key.key {
        let (name, text) = match kind(upstream) {
            Some(Kind::Anthropic) => ("x-api-key", key.clone()),
            Some(Kind::Gemini) => ("x-goog-api-key", key.clone()),
            _ => ("authorization", format!("Bearer {key}")),
        };
        let Ok(mut value) = HeaderValue::try_from(text) else {
            return Heard { missing: Some(Missing::Key), ..Heard::default() };
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let missing = match timeout(PATIENCE, client.request(request)).await {
        Ok(Ok(answer)) => return read(answer).await,
        Err(_) => Missing::Silent,
        Ok(Err(error)) => {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(source) = cause.source() {
                cause = source;
            }
            let says = cause.to_string();
            if plimsoll_store::tls::fault(&error).is_some() { Missing::Tls(says) } else { Missing::Unreachable(says) }
        }
    };
    Heard { missing: Some(missing), ..Heard::default() }
}

/// Reads what an upstream answers, as far as it matters.
async fn read(answer: Response<Incoming>) -> Heard {
    let text =
        |name| answer.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned);
    let mut heard = Heard {
        status: Some(answer.status().as_u16()),
        date: text(header::DATE).and_then(|date| http_date(&date)),
        location: text(header::LOCATION),
        ..Heard::default()
    };
    let mut body = answer.into_body();
    let mut read = Vec::new();
    while read.len() < MOST {
        match timeout(PATIENCE, body.frame()).await {
            Ok(Some(Ok(frame))) => read.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
            _ => break,
        }
    }
    heard.body = read.into();
    heard
}
