//! `Endpoint`: whether a base URL leads to a public provider, whose names mean what the catalogue says.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

/// Where a model is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// A public provider: a name means there what the catalogue says.
    Public,
    /// This machine or a private network: a famous name may stand for anything, served with any window.
    LocalOrPrivate,
}

impl Endpoint {
    /// Judges a base URL, or a bare host with or without port, by its host alone; nothing is looked up.
    ///
    /// Loopback, private, link-local and shared addresses, names without a dot, and the suffixes `.local`,
    /// `.localhost`, `.internal`, `.lan`, `.home.arpa` are local or private; so is what cannot be understood, since
    /// that costs a question to the server where the other mistake costs an overflow.
    ///
    /// ```
    /// use plimsoll::model::Endpoint;
    /// assert_eq!(Endpoint::of_url("https://api.anthropic.com/v1"), Endpoint::Public);
    /// assert_eq!(Endpoint::of_url("http://127.0.0.1:11434"), Endpoint::LocalOrPrivate);
    /// assert_eq!(Endpoint::of_url("http://gpu-box:8000/v1"), Endpoint::LocalOrPrivate);
    /// ```
    pub fn of_url(url: &str) -> Self {
        let rest = url.trim();
        let rest = rest.split_once("://").map_or(rest, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            return Self::of_address(address.0.parse().ok());
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return Self::of_address(Some(address));
        }
        let host = host.split_once(':').map_or(host, |(host, _)| host).trim_end_matches('.').to_ascii_lowercase();
        if let Ok(address) = host.parse::<Ipv4Addr>() {
            return Self::of_address(Some(address.into()));
        }
        // `127.1` and `0x7f.1` are addresses to many resolvers: a public name ends in a label that is no number.
        let last = host.rsplit('.').next().unwrap_or_default();
        let public = host.contains('.')
            && last.len() >= 2
            && last.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && !["local", "localhost", "internal", "lan", "intranet", "corp", "home"].contains(&last)
            && !host.ends_with(".home.arpa");
        if public { Self::Public } else { Self::LocalOrPrivate }
    }

    fn of_address(address: Option<IpAddr>) -> Self {
        let private = match address.map(|address| address.to_canonical()) {
            None => true,
            Some(IpAddr::V4(v4)) => {
                let [first, second, ..] = v4.octets();
                v4.is_loopback()
                    || v4.is_private()
                    || v4.is_link_local()
                    || v4.is_unspecified()
                    || (first == 100 && (64..128).contains(&second))
            }
            Some(IpAddr::V6(v6)) => {
                v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local()
            }
        };
        if private { Self::LocalOrPrivate } else { Self::Public }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn private_hosts_are_told_from_public_ones() {
        for url in [
            "http://localhost:8080",
            "localhost",
            "http://[::1]:8000/v1",
            "::1",
            "http://10.1.2.3/v1",
            "http://user:pass@192.168.0.4:1/",
            "172.16.0.1",
            "http://100.100.1.1",
            "http://[fd00::1]",
            "http://[::ffff:127.0.0.1]",
            "http://0.0.0.0:1",
            "http://127.1",
            "http://box.local/v1",
            "http://llm.internal:9/",
            "http://vllm:8000",
            "",
            "http://",
            "http://[zz]/",
        ] {
            assert_eq!(Endpoint::of_url(url), Endpoint::LocalOrPrivate, "{url}");
        }
        for url in [
            "https://api.openai.com/v1",
            "https://API.OPENAI.COM.",
            "api.anthropic.com:443",
            "https://generativelanguage.googleapis.com",
            "http://8.8.8.8",
            "https://172.32.0.1",
        ] {
            assert_eq!(Endpoint::of_url(url), Endpoint::Public, "{url}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged(url in any::<String>()) {
            Endpoint::of_url(&url);
        }
    }
}
