//! Headers on their way through: all of them pass but those that belong to one connection, and our own. Pure.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// What every header of ours begins with. None of them reaches an upstream.
const OURS: &str = "x-plimsoll";

/// Headers that speak of one connection, not of the message (RFC 9110, section 7.6.1).
fn is_hop(name: &HeaderName) -> bool {
    const HOP: [HeaderName; 7] = [
        header::CONNECTION,
        HeaderName::from_static("keep-alive"),
        HeaderName::from_static("proxy-connection"),
        header::TE,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
        header::PROXY_AUTHORIZATION,
    ];
    HOP.contains(name)
}

/// The headers that `connection` names, too, belong to the connection.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let values = headers.get_all(header::CONNECTION).iter();
    let names = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    names.filter_map(|name| HeaderName::try_from(name.trim()).ok()).collect()
}

/// Makes the headers that an upstream gets: the client's, in their order, each name in its case, with the upstream's host
/// where the gateway's stood. `drop` names further ones that were meant for the gateway.
pub(crate) fn onward(headers: &HeaderMap, host: &HeaderValue, drop: &[HeaderName]) -> HeaderMap {
    let named = named_by_connection(headers);
    let mut onward = HeaderMap::with_capacity(headers.len() + 1);
    for (name, value) in headers {
        let stays = is_hop(name)
            || named.contains(name)
            || drop.contains(name)
            || name.as_str().starts_with(OURS)
            // It was answered here: the body has been asked for.
            || name == header::EXPECT;
        if name == header::HOST {
            onward.insert(header::HOST, host.clone());
        } else if !stays {
            onward.append(name, value.clone());
        }
    }
    if !onward.contains_key(header::HOST) {
        onward.insert(header::HOST, host.clone());
    }
    onward
}

/// Makes the headers that a client gets: the upstream's, but for those of the connection to it.
pub(crate) fn back(headers: HeaderMap) -> HeaderMap {
    let is_ours = |name: &HeaderName| name.as_str().starts_with("x-plimsoll");
    if !headers.keys().any(|name| is_hop(name) || is_ours(name)) {
        return headers;
    }
    let named = named_by_connection(&headers);
    // Where chunks say how long it is, a length beside them says nothing (RFC 9112, section 6.3).
    let chunked = headers.contains_key(header::TRANSFER_ENCODING);
    let mut back = HeaderMap::with_capacity(headers.len());
    for (name, value) in &headers {
        // What an upstream says in our name is not ours.
        let overruled = (chunked && name == header::CONTENT_LENGTH) || is_ours(name);
        if !is_hop(name) && !named.contains(name) && !overruled {
            back.append(name, value.clone());
        }
    }
    back
}

/// Whether a client asks to speak another protocol on its connection, as `WebSocket` does. One that would only rather speak
/// HTTP/2 is served as it is: that is an offer, and a server need not take it.
pub(crate) fn wants_upgrade(headers: &HeaderMap) -> bool {
    let named = named_by_connection(headers);
    let is_other = |protocol: &str| !protocol.trim().eq_ignore_ascii_case("h2c");
    let protocols = headers.get_all(header::UPGRADE);
    named.contains(&header::UPGRADE)
        && protocols.iter().any(|value| value.to_str().map_or(true, |value| value.split(',').any(is_other)))
}

/// The size of headers as they are written, about: names, values, separators.
pub(crate) fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        headers
    }

    fn lines(headers: &HeaderMap) -> Vec<String> {
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn what_belongs_to_the_connection_or_to_us_stays_and_the_rest_keeps_its_order() {
        let headers = map(&[
            ("accept", "*/*"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("host", "127.0.0.1:8642"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("anthropic-beta", "a,b"),
            ("anthropic-beta", "c"),
            ("x-plimsoll-session", "s"),
            ("x-plimsoll", "bypass"),
            ("authorization", "Bearer k"),
            ("expect", "100-continue"),
            ("x-api-key", "k"),
            ("content-length", "3"),
        ]);
        let onward = onward(&headers, &"api.test".parse().unwrap(), &[header::AUTHORIZATION]);
        assert_eq!(
            lines(&onward),
            [
                "accept: */*",
                "host: api.test",
                "anthropic-beta: a,b",
                "anthropic-beta: c",
                "x-api-key: k",
                "content-length: 3"
            ]
        );
    }

    #[test]
    fn an_answer_loses_only_what_belongs_to_its_connection() {
        let headers =
            map(&[("date", "now"), ("transfer-encoding", "chunked"), ("x-request-id", "r"), ("connection", "close")]);
        assert_eq!(lines(&back(headers)), ["date: now", "x-request-id: r"]);
        let both = map(&[("content-length", "3"), ("transfer-encoding", "chunked"), ("x", "1")]);
        assert_eq!(lines(&back(both)), ["x: 1"]);
        let plain = map(&[("set-cookie", "a"), ("set-cookie", "b")]);
        assert_eq!(back(plain.clone()), plain);
        let forged = map(&[("x-plimsoll", "tokens=1->1"), ("x", "1")]);
        assert_eq!(lines(&back(forged)), ["x: 1"]);
    }

    #[test]
    fn an_upgrade_is_one_that_the_connection_names() {
        assert!(wants_upgrade(&map(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")])));
        assert!(!wants_upgrade(&map(&[("upgrade", "websocket")])));
        let offers = [("connection", "Upgrade, HTTP2-Settings"), ("upgrade", "h2c"), ("http2-settings", "AAMAAABk")];
        assert!(!wants_upgrade(&map(&offers)));
    }
}
