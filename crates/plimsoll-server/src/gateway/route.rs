//! Where a request goes: to a route of the gateway's own, or to which upstream and as what. Pure.

use http::{HeaderMap, Method};

use super::upstream::{Kind, Upstream};

/// A route that the gateway answers itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// The process runs.
    Health,
    /// It can serve.
    Ready,
    /// What it counted.
    Metrics,
    /// Recall for MCP clients.
    Mcp,
    /// Recall for anybody.
    Recall,
    /// What clients ask to see whether anybody is there.
    Hello,
}

/// What a request asks a model for, as far as the gateway knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ask {
    Messages,
    CountTokens,
    Chat,
    Responses,
    ResponsesCompact,
    ResponsesInputTokens,
    /// Anything else: it passes through, in both directions as a stream.
    Other,
}

impl Ask {
    pub(crate) const ALL: [Self; 7] = [
        Self::Messages,
        Self::CountTokens,
        Self::Chat,
        Self::Responses,
        Self::ResponsesCompact,
        Self::ResponsesInputTokens,
        Self::Other,
    ];

    /// The name in logs and metrics: never the path itself, which may hold anything.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::CountTokens => "count_tokens",
            Self::Chat => "chat_completions",
            Self::Responses => "responses",
            Self::ResponsesCompact => "responses_compact",
            Self::ResponsesInputTokens => "responses_input_tokens",
            Self::Other => "other",
        }
    }

    /// What a path asks for. Servers put their own folders before it; `/v1/threads/…/messages` is something else.
    fn of(method: &Method, path: &str) -> Self {
        if method != Method::POST {
            return Self::Other;
        }
        let ends = |end: &str| path.ends_with(end);
        if ends("/v1/messages") {
            Self::Messages
        } else if ends("/v1/messages/count_tokens") {
            Self::CountTokens
        } else if ends("/chat/completions") {
            Self::Chat
        } else if ends("/responses") {
            Self::Responses
        } else if ends("/responses/compact") {
            Self::ResponsesCompact
        } else if ends("/responses/input_tokens") {
            Self::ResponsesInputTokens
        } else {
            Self::Other
        }
    }

    /// Whether the gateway reads the request whole before it passes it on.
    pub(crate) fn is_watched(self) -> bool {
        self != Self::Other
    }
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route<'r> {
    /// The gateway answers.
    Own(Own),
    /// An upstream answers.
    To {
        /// Which.
        upstream: usize,
        /// The path and query that it gets.
        path: &'r str,
        /// What is asked for.
        ask: Ask,
        /// Whose protocol it is, as far as that is seen: it decides how an error is written.
        kind: Option<Kind>,
    },
    /// `/u/NAME/` names no upstream.
    NoSuch(&'r str),
    /// Nothing says which upstream is meant.
    Nowhere,
}

/// Finds where a request goes.
pub(crate) fn route<'r>(method: &Method, target: &'r str, headers: &HeaderMap, upstreams: &[Upstream]) -> Route<'r> {
    let path = target.split('?').next().unwrap_or_default();
    let reads = method == Method::GET || method == Method::HEAD;
    match path {
        "/health" if reads => return Route::Own(Own::Health),
        "/ready" if reads => return Route::Own(Own::Ready),
        "/metrics" if reads => return Route::Own(Own::Metrics),
        "/mcp" => return Route::Own(Own::Mcp),
        "/" | "/api/hello" if method == Method::HEAD => return Route::Own(Own::Hello),
        _ => {}
    }
    // Whatever is asked of it: what it names is nobody else's to know.
    if path.starts_with(super::recall::PATH) {
        return Route::Own(Own::Recall);
    }
    if let Some(rest) = target.strip_prefix("/u/") {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (name, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let Some(upstream) = upstreams.iter().position(|upstream| upstream.name() == name) else {
            return Route::NoSuch(name);
        };
        let path = if path.starts_with('/') { path } else { "/" };
        let ask = Ask::of(method, path.split('?').next().unwrap_or_default());
        return Route::To { upstream, path, ask, kind: kind(ask, path, headers) };
    }
    let ask = Ask::of(method, path);
    let kind = kind(ask, path, headers);
    let named = kind.and_then(|kind| upstreams.iter().position(|upstream| upstream.name() == kind.name()));
    let only = if upstreams.len() == 1 { Some(0) } else { None };
    match named.or(only) {
        Some(upstream) => Route::To { upstream, path: target, ask, kind },
        None => Route::Nowhere,
    }
}

/// Whose protocol a request speaks: by its path where that says it, else by the headers that only one of them has.
fn kind(ask: Ask, path: &str, headers: &HeaderMap) -> Option<Kind> {
    match ask {
        Ask::Messages | Ask::CountTokens => return Some(Kind::Anthropic),
        Ask::Chat | Ask::Responses | Ask::ResponsesCompact | Ask::ResponsesInputTokens => return Some(Kind::OpenAi),
        Ask::Other => {}
    }
    if headers.contains_key("anthropic-version") || headers.contains_key("anthropic-beta") {
        return Some(Kind::Anthropic);
    }
    if headers.contains_key("x-goog-api-key") || path.starts_with("/v1beta/") || path.starts_with("/v1beta1/") {
        return Some(Kind::Gemini);
    }
    // Anthropic's own, or what its programs ask their server for.
    if headers.contains_key("x-api-key") || path.starts_with("/v1/messages/") || path.starts_with("/api/claude") {
        return Some(Kind::Anthropic);
    }
    // Everything that follows OpenAI's protocol, Ollama's own paths among it.
    let open = path.starts_with("/v1/") || path.starts_with("/api/");
    (open || headers.contains_key("authorization")).then_some(Kind::OpenAi)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<Upstream> {
        ["anthropic=http://a", "openai=http://o", "gemini=http://g", "fast=http://f/v1"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect()
    }

    fn shown(method: &Method, target: &str, header: &str) -> String {
        let mut headers = HeaderMap::new();
        if !header.is_empty() {
            headers.insert(http::HeaderName::try_from(header).unwrap(), "x".parse().unwrap());
        }
        let upstreams = three();
        match route(method, target, &headers, &upstreams) {
            Route::To { upstream, path, ask, .. } => format!("{} {} {path}", upstreams[upstream].name(), ask.name()),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn each_protocol_reaches_its_upstream_with_its_query() {
        let lines: Vec<String> = [
            (Method::POST, "/v1/messages?beta=true", ""),
            (Method::POST, "/v1/messages/count_tokens", ""),
            (Method::POST, "/v1/messages/batches", ""),
            (Method::POST, "/v1/chat/completions", ""),
            (Method::POST, "/openai/v1/chat/completions", ""),
            (Method::POST, "/v1/responses", ""),
            (Method::POST, "/v1/responses/compact", ""),
            (Method::POST, "/v1/responses/input_tokens", ""),
            (Method::GET, "/v1/responses/resp_1?stream=true", ""),
            (Method::POST, "/v1/threads/t/messages", ""),
            (Method::GET, "/v1/models", ""),
            (Method::GET, "/v1/models", "anthropic-version"),
            (Method::GET, "/v1/models", "x-api-key"),
            (Method::POST, "/v1beta/models/gemini:generateContent?key=k", ""),
            (Method::POST, "/u/fast/v1/chat/completions?a=b", ""),
            (Method::GET, "/u/fast?x", ""),
            (Method::GET, "/api/tags", ""),
        ]
        .iter()
        .map(|(method, target, header)| shown(method, target, header))
        .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        anthropic messages /v1/messages?beta=true
        anthropic count_tokens /v1/messages/count_tokens
        anthropic other /v1/messages/batches
        openai chat_completions /v1/chat/completions
        openai chat_completions /openai/v1/chat/completions
        openai responses /v1/responses
        openai responses_compact /v1/responses/compact
        openai responses_input_tokens /v1/responses/input_tokens
        openai other /v1/responses/resp_1?stream=true
        openai other /v1/threads/t/messages
        openai other /v1/models
        anthropic other /v1/models
        anthropic other /v1/models
        gemini other /v1beta/models/gemini:generateContent?key=k
        fast chat_completions /v1/chat/completions?a=b
        fast other /
        openai other /api/tags
        ");
    }

    #[test]
    fn the_gateways_own_routes_take_only_what_they_answer() {
        assert_eq!(shown(&Method::GET, "/health", ""), "Own(Health)");
        assert_eq!(shown(&Method::HEAD, "/", ""), "Own(Hello)");
        assert_eq!(shown(&Method::HEAD, "/api/hello", ""), "Own(Hello)");
        assert_eq!(shown(&Method::GET, "/favicon.ico", ""), "Nowhere");
        assert_eq!(shown(&Method::GET, "/u/slow/x", ""), "NoSuch(\"slow\")");
    }

    #[test]
    fn an_only_upstream_gets_everything() {
        let upstreams = vec!["local=http://h".parse().unwrap()];
        let headers = HeaderMap::new();
        let found = route(&Method::GET, "/any/thing?at=all", &headers, &upstreams);
        assert!(matches!(found, Route::To { upstream: 0, path: "/any/thing?at=all", .. }), "{found:?}");
    }
}
