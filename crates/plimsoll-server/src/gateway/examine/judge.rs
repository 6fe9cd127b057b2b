//! What an upstream's answers say of a set-up, and what to do about it. Pure.

use std::time::SystemTime;

use bytes::Bytes;
use plimsoll::model::{Catalogue, DEFAULT_LIMIT, Lookup};
use plimsoll_engine::doctor::Check;
use serde::Deserialize;

use super::ShownKey;
use crate::gateway::upstream::{Kind, Upstream};

const AREA: &str = "upstream";
/// How many models are named.
const NAMED: usize = 5;

/// What was heard of an upstream.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) status: Option<u16>,
    pub(super) date: Option<SystemTime>,
    pub(super) location: Option<String>,
    pub(super) body: Bytes,
    /// Why there is no answer.
    pub(super) missing: Option<Missing>,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// Its path is that of a route, which clients name themselves; the part that is too much.
    Route(String),
    /// Its path makes none with those of requests.
    Path,
    /// The key cannot stand in a header.
    Key,
    /// Nobody is there.
    Unreachable(String),
    /// The connection cannot be made secure.
    Tls(String),
    /// It said nothing in time.
    Silent,
}

/// What is too much in an upstream's path: clients put the version and the route there themselves.
pub(super) fn wrong_base(upstream: &Upstream) -> Option<Missing> {
    const ROUTES: [&str; 6] = ["/v1/v1", "/messages", "/chat/completions", "/responses", "/v1beta", "/completions"];
    let base = upstream.base();
    let route = ROUTES.into_iter().find(|route| base.ends_with(route))?;
    // Of a version that stands twice, one is right.
    Some(Missing::Route(if route == "/v1/v1" { "/v1".to_owned() } else { route.to_owned() }))
}

/// Judges what was heard of an upstream.
pub(super) fn judge(
    upstream: &Upstream,
    kind: Option<Kind>,
    key: &ShownKey,
    heard: &Heard,
    window: bool,
) -> Vec<Check> {
    let fail = |says: String, fix: String| vec![Check::fail(AREA, says, fix)];
    let name = upstream.name();
    let variable = key.variable;
    if let Some(missing) = &heard.missing {
        let (says, fix) = unanswered(upstream, key, missing);
        return fail(says, fix);
    }
    let Some(status) = heard.status else { return Vec::new() };
    match status {
        200..=299 => answered(upstream, &heard.body, window),
        300..=399 => {
            let to = heard.location.as_deref().map_or("elsewhere", without_query);
            fail(format!("{upstream} sends requests on to {to}"), format!("give that address: --upstream {name}=URL"))
        }
        401 | 403 if key.key.is_some() => fail(
            format!("{upstream} refuses the key in {variable} ({status})"),
            format!("set {variable} to a key that it takes"),
        ),
        401 | 403 => vec![
            Check::ok(AREA, format!("{upstream} answers")),
            Check::note(
                AREA,
                format!("{upstream} wants a key, and {variable} is not set: clients have to bring one"),
            ),
        ],
        400 | 422 | 429 => vec![Check::ok(AREA, format!("{upstream} answers, but lists no models ({status})"))],
        404 | 405 => {
            let path = super::paths(kind).0;
            let versioned = upstream.base().ends_with("/v1");
            let fix = if versioned {
                format!("give its address without /v1, or start the server that belongs there: --upstream {name}=URL")
            } else {
                format!("give the part of its address that stands before {path}: --upstream {name}=URL")
            };
            fail(format!("{upstream} knows no {path}, nor the route that conversations go to ({status})"), fix)
        }
        _ => {
            let fix = "look at the server's own log; nothing here can mend it";
            vec![Check::warn(AREA, format!("{upstream} answers with an error ({status})"), fix)]
        }
    }
}

fn unanswered(upstream: &Upstream, key: &ShownKey, missing: &Missing) -> (String, String) {
    let name = upstream.name();
    match missing {
        Missing::Route(route) => (
            format!("{upstream} names a route: clients put {route} there themselves, so it would stand there twice"),
            format!("leave {route} out: --upstream {name}=URL"),
        ),
        Missing::Path => {
            (format!("{upstream} makes no address with the paths of requests"), format!("mend --upstream {name}=URL"))
        }
        Missing::Key => (
            format!("{} holds characters that no header can carry", key.variable),
            format!("set {} to the key alone, on one line", key.variable),
        ),
        Missing::Unreachable(says) => (
            format!("{upstream} cannot be reached: {says}"),
            format!("start it, or mend its address: --upstream {name}=URL"),
        ),
        Missing::Tls(says) => {
            let fix = if upstream.is_here() {
                format!("if it speaks plain HTTP, say http:// in --upstream {name}=URL")
            } else {
                "see that its certificate is of that name and not over, that this system trusts its issuer (on Debian: \
                 ca-certificates), and that the clock is right"
                    .to_owned()
            };
            (format!("{upstream} cannot be reached securely: {says}"), fix)
        }
        Missing::Silent => (
            format!("{upstream} does not answer within {} s", super::PATIENCE.as_secs()),
            "see that it runs, and that no firewall stands between".to_owned(),
        ),
    }
}

/// A list of models, as the servers have it.
#[derive(Deserialize)]
struct Models {
    #[serde(default, alias = "models")]
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default, alias = "name")]
    id: String,
    max_model_len: Option<u64>,
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    n_ctx: Option<u64>,
    n_ctx_train: Option<u64>,
}

fn answered(upstream: &Upstream, body: &[u8], window: bool) -> Vec<Check> {
    if body.trim_ascii_start().starts_with(b"<") {
        let says = format!("{upstream} answers with a web page");
        let fix = format!("it is another server, or another path of it: mend --upstream {}=URL", upstream.name());
        return vec![Check::fail(AREA, says, fix)];
    }
    let models = serde_json::from_slice::<Models>(body).map(|models| models.data).unwrap_or_default();
    let mut checks = vec![Check::ok(
        AREA,
        match models.len() {
            0 => format!("{upstream} answers"),
            1 => format!("{upstream} answers, and has one model"),
            many => format!("{upstream} answers, and has {many} models"),
        },
    )];
    if window {
        return checks;
    }
    let catalogue = Catalogue::embedded();
    let unknown: Vec<&Model> =
        models.iter().filter(|model| matches!(catalogue.lookup(&model.id), Lookup::Unknown)).collect();
    for model in unknown.iter().take(NAMED) {
        let id: String = model.id.chars().filter(|c| !c.is_control()).take(80).collect();
        let meta = model.meta.as_ref();
        let says = model.max_model_len.or_else(|| meta.and_then(|meta| meta.n_ctx)).filter(|tokens| *tokens > 0);
        checks.push(match (says, meta.and_then(|meta| meta.n_ctx_train)) {
            (Some(says), _) => Check::warn(
                AREA,
                format!("the window of {id} is not known here, so {DEFAULT_LIMIT} tokens are assumed; its server says {says}"),
                format!("--window {says}"),
            ),
            (None, trained) => Check::warn(
                AREA,
                match trained {
                    Some(trained) => format!(
                        "the window of {id} is not known, so {DEFAULT_LIMIT} tokens are assumed; it was trained with {trained}"
                    ),
                    None => format!("the window of {id} is not known, so {DEFAULT_LIMIT} tokens are assumed"),
                },
                "give --window TOKENS: what its server was started with",
            ),
        });
    }
    if unknown.len() > NAMED {
        checks.push(Check::note(
            AREA,
            format!("so it is for {} more", plimsoll::counted(unknown.len() - NAMED, "model", "models")),
        ));
    }
    checks
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}
