//! What is sent on behalf of a client: its own headers, but for those of one connection or one body.

use reqwest::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};

use super::key::Secret;

/// Headers that say who the client is.
const CREDENTIALS: [&str; 7] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-goog-api-key", "x-auth-token"];

/// Headers that hold for one connection or one body, or make of a second request the repetition of a first one.
fn stays(name: &HeaderName) -> bool {
    const STAY: [HeaderName; 13] = [
        ACCEPT_ENCODING,
        CONNECTION,
        CONTENT_ENCODING,
        CONTENT_LENGTH,
        EXPECT,
        HOST,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("idempotency-key"),
    ];
    STAY.contains(name)
}

/// The headers that go along.
pub(super) fn headers(client: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(client.len());
    for (name, value) in client.iter().filter(|(name, _)| !stays(name)) {
        let mut value = value.clone();
        value.set_sensitive(CREDENTIALS.contains(&name.as_str()));
        headers.append(name, value);
    }
    headers
}

/// What of them must never be shown: credentials, with and without the word for their scheme.
pub(super) fn secrets(headers: &HeaderMap) -> Vec<Secret> {
    let values =
        CREDENTIALS.into_iter().flat_map(|name| headers.get_all(name)).filter_map(|value| value.to_str().ok());
    let parts = values.flat_map(|value| [Some(value), value.split_once(' ').map(|(_, secret)| secret.trim())]);
    parts.flatten().filter(|secret| !secret.is_empty()).map(Secret::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn what_says_who_the_client_is_goes_along_and_what_is_of_one_body_does_not() {
        let headers = headers(&client(&[
            ("authorization", "Bearer canary-1"),
            ("anthropic-beta", "a,b"),
            ("user-agent", "agent/1"),
            ("content-length", "12"),
            ("content-encoding", "gzip"),
            ("accept-encoding", "br"),
            ("idempotency-key", "once"),
            ("host", "127.0.0.1:1"),
        ]));
        let mut names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["anthropic-beta", "authorization", "user-agent"]);
        assert!(!format!("{headers:?}").contains("canary"));
    }

    #[test]
    fn a_credential_is_taken_out_with_and_without_its_scheme() {
        let secrets = secrets(&client(&[("authorization", "Bearer canary-1"), ("x-api-key", "canary-2")]));
        let shown: Vec<&str> = secrets.iter().map(Secret::reveal).collect();
        assert_eq!(shown, ["Bearer canary-1", "canary-1", "canary-2"]);
    }
}
