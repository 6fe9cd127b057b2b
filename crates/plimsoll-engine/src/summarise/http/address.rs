//! `Address`: where an API is asked, and how that is shown.

use plimsoll::compact::Api;
use reqwest::Url;

use crate::summarise::SummariserError;

/// The address of an API's one path that is used.
#[derive(Clone)]
pub(super) struct Address {
    url: Url,
    credentials: Option<(String, String)>,
    shown: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Address {
    /// Completes a base address. It may name the version (`…/v1`) or not, as programs' settings of it do: Anthropic's
    /// is mostly given without, `OpenAI`'s mostly with it; and it may be the whole address.
    pub(super) fn new(api: Api, base: Option<&str>) -> Result<Self, SummariserError> {
        let base = base.map_or(own(api), str::trim);
        let bad = |reason: &str| SummariserError::Address { address: shown_text(base), reason: reason.to_owned() };
        let mut url = Url::parse(base).map_err(|_| bad("it is no URL, as https://host/v1 is"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("it begins neither with http:// nor with https://"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(bad("it names no host"));
        }
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/').to_owned();
        let last = last(api);
        if !path.ends_with(last) {
            // An address of Anthropic's API never holds the version as a part of its base; one of OpenAI's that has a
            // path at all holds it in whatever way its server has it.
            let versioned = match api {
                Api::Anthropic => path.ends_with("/v1"),
                _ => !path.is_empty(),
            };
            let version = if versioned { "" } else { "/v1" };
            url.set_path(&format!("{path}{version}{last}"));
        }
        let credentials = (!url.username().is_empty() || url.password().is_some())
            .then(|| (decoded(url.username()), decoded(url.password().unwrap_or(""))));
        // A URL that has a host can have no user as well; both calls hold for any such.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let shown = without_query(&url);
        Ok(Self { url, credentials, shown })
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    /// It, without credentials and query.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// A user and a password that stand in it.
    pub(super) fn credentials(&self) -> Option<(&str, &str)> {
        self.credentials.as_ref().map(|(user, password)| (user.as_str(), password.as_str()))
    }

    pub(super) fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether it leads to this very machine.
    pub(super) fn is_here(&self) -> bool {
        let host = self.url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

/// Shows an address that a server named: without credentials and query.
pub(super) fn shown(base: &Url, to: &str) -> String {
    match base.join(to) {
        Ok(mut url) => {
            let _ = url.set_username("");
            let _ = url.set_password(None);
            url.set_fragment(None);
            without_query(&url)
        }
        Err(_) => "no address".to_owned(),
    }
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.to_string()
}

/// Shows what is no URL, without anything that could be a password in it.
fn shown_text(base: &str) -> String {
    let base = base.split(['?', '#']).next().unwrap_or_default();
    let shown = match base.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.split_once("://").map(|(scheme, _)| format!("{scheme}://")).unwrap_or_default();
            format!("{scheme}…@{host}")
        }
        None => base.to_owned(),
    };
    shown.chars().filter(|c| !c.is_control()).take(200).collect()
}

const fn own(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "https://api.anthropic.com",
        _ => "https://api.openai.com/v1",
    }
}

const fn last(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "/messages",
        Api::OpenaiResponses => "/responses",
        _ => "/chat/completions",
    }
}

/// Resolves what is written with per cent signs.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        let (byte, used) = match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (byte, 2),
            None => (*first, 0),
        };
        bytes.push(byte);
        rest = after.get(used..).unwrap_or(&[]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes bytes in base 64 (RFC 4648, section 4).
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4_usize {
            let index = (word >> (18 - 6 * digit)) & 63;
            let shown = DIGITS.get(index as usize).map_or('=', |digit| char::from(*digit));
            text.push(if digit <= three.len() { shown } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_are_completed_as_their_users_write_them() {
        for (api, base, url) in [
            (Api::Anthropic, "", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
            (Api::Anthropic, "https://api.deepseek.com/anthropic", "https://api.deepseek.com/anthropic/v1/messages"),
            (Api::Anthropic, "http://h:1/v1/messages?beta=true", "http://h:1/v1/messages?beta=true"),
            (Api::OpenaiChat, "", "https://api.openai.com/v1/chat/completions"),
            (Api::OpenaiChat, "http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
            (Api::OpenaiChat, "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
            (Api::OpenaiChat, "https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1/chat/completions"),
            (
                Api::OpenaiChat,
                "https://generativelanguage.googleapis.com/v1beta/openai/",
                "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            ),
            (
                Api::OpenaiChat,
                "https://x.openai.azure.com/openai/deployments/d?api-version=1",
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            ),
            (Api::OpenaiResponses, "", "https://api.openai.com/v1/responses"),
            (Api::OpenaiResponses, "http://[::1]:1/v1/responses", "http://[::1]:1/v1/responses"),
        ] {
            let base = Some(base).filter(|base| !base.is_empty());
            assert_eq!(Address::new(api, base).unwrap().url().as_str(), url);
        }
    }

    #[test]
    fn credentials_and_queries_are_never_shown() {
        let address = Address::new(Api::OpenaiChat, Some("https://me:p%40ss@h.example/v1?token=canary#x")).unwrap();
        assert_eq!(address.shown(), "https://h.example/v1/chat/completions");
        assert_eq!(address.credentials(), Some(("me", "p@ss")));
        assert_eq!(address.url().as_str(), "https://h.example/v1/chat/completions?token=canary");
        assert_eq!(shown(address.url(), "//u:canary@other/x?y=canary#z"), "https://other/x");
        assert_eq!(shown(address.url(), "/login"), "https://h.example/login");
    }

    #[test]
    fn what_is_no_address_is_refused_without_showing_a_password() {
        for base in ["me:canary@host", "ftp://me:canary@host/", "h.example/v1", "http://", "https://a b/?canary"] {
            let error = Address::new(Api::OpenaiChat, Some(base)).unwrap_err();
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn this_machine_is_told_from_others() {
        let here = |base| Address::new(Api::OpenaiChat, Some(base)).unwrap().is_here();
        assert!(here("http://127.0.0.1:1") && here("http://localhost") && here("http://[::1]:8"));
        assert!(!here("http://10.0.0.1") && !here("https://api.openai.com"));
    }

    #[test]
    fn base64_is_padded() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
