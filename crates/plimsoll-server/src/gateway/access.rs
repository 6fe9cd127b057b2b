//! Who may use the gateway: keys, and the checks that keep a web page from using it through a browser. Pure.

use std::net::{IpAddr, SocketAddr};

use http::header::{self, HeaderMap, HeaderName};
use http::uri::Authority;

/// The header that carries the gateway's key beside the upstream's credentials.
const KEY: HeaderName = HeaderName::from_static("x-plimsoll-key");
/// The shortest secret taken.
const SHORTEST: usize = 16;

/// The gateway's keys, each with the name of the tenant whose it is. Only hashes are held.
#[derive(Clone, Default)]
pub struct Keys(Vec<(String, blake3::Hash)>);

/// Keys that are none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A secret is too short.
    #[error(
        "key {place} of PLIMSOLL_KEY is shorter than {SHORTEST} characters; make one with `openssl rand -hex 24`"
    )]
    Short {
        /// Which, counted from 1.
        place: usize,
    },
    /// A name cannot name a tenant.
    #[error(
        "key {place} of PLIMSOLL_KEY has no proper name; write NAME:SECRET, the name of at most 40 letters, digits, `-`, `_`"
    )]
    Name {
        /// Which, counted from 1.
        place: usize,
    },
    /// Two keys are the same, or have one name.
    #[error("key {place} of PLIMSOLL_KEY repeats an earlier one; every tenant needs a name and a secret of its own")]
    Twice {
        /// Which, counted from 1.
        place: usize,
    },
}

impl Keys {
    /// Reads keys: `SECRET`, or `NAME:SECRET`, several with commas between them. A secret without a name is `default`'s.
    ///
    /// # Errors
    /// [`KeyError`], which never holds a secret.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut keys: Vec<(String, blake3::Hash)> = Vec::new();
        let given = text.split(',').map(str::trim).filter(|key| !key.is_empty());
        for (place, key) in (1..).zip(given) {
            let (name, secret) = key.split_once(':').unwrap_or(("default", key));
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
                return Err(KeyError::Name { place });
            }
            if secret.len() < SHORTEST {
                return Err(KeyError::Short { place });
            }
            let hash = blake3::hash(secret.as_bytes());
            if keys.iter().any(|(other, known)| other == name || *known == hash) {
                return Err(KeyError::Twice { place });
            }
            keys.push((name.to_owned(), hash));
        }
        Ok(Self(keys))
    }

    /// Says whether there is none: everybody who reaches the gateway may use it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The place of the key with this secret. Hashes are compared, in constant time.
    fn find(&self, secret: &[u8]) -> Option<usize> {
        let hash = blake3::hash(secret);
        self.0.iter().position(|(_, known)| *known == hash)
    }

    fn name(&self, place: usize) -> Option<&str> {
        self.0.get(place).map(|(name, _)| name.as_str())
    }
}

/// Shows names only.
impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The tenant: the name of the key. `None` if there are no keys, and so one tenant.
    pub(crate) tenant: Option<String>,
    /// The headers that carried the key: they go no further.
    pub(crate) ours: Vec<HeaderName>,
}

/// Why somebody may not use the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "this gateway needs its key: send it as x-plimsoll-key beside your credentials, or as `authorization: Bearer` \
         or x-api-key where the upstream needs none"
    )]
    NoKey,
    #[error(
        "the host header does not name this gateway; reach it by its address, or start it with --allow-host NAME"
    )]
    Host,
    #[error("web pages may not use this gateway; start it with --allow-origin ORIGIN if this one may")]
    Origin,
}

/// What is let in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    pub(crate) keys: Keys,
    /// Further names of this gateway, without ports.
    pub(crate) hosts: Vec<String>,
    /// Web origins that may use it.
    pub(crate) origins: Vec<String>,
}

impl Access {
    /// Judges a request by its headers and the authority of its target.
    ///
    /// A page that a browser loaded from somewhere else can send requests here by giving its own name our address. Then
    /// `host` holds that name, which a client of ours never sends: it uses an address or `localhost`. With keys the name
    /// does not matter, since a page does not know them. `origin` is sent by browsers only.
    pub(crate) fn check(&self, headers: &HeaderMap, target: Option<&Authority>) -> Result<Caller, Refusal> {
        self.check_names(headers, target)?;
        if self.keys.is_empty() {
            // A key that nobody asked for is still not the upstream's.
            return Ok(Caller { tenant: None, ours: Vec::new() });
        }
        let own = headers.get(KEY).and_then(|value| self.keys.find(value.as_bytes()));
        let mut ours = Vec::new();
        let mut place = own;
        for name in [header::AUTHORIZATION, HeaderName::from_static("x-api-key")] {
            let Some(value) = headers.get(&name) else { continue };
            let bytes = value.as_bytes();
            let secret = match bytes.get(..7) {
                Some(scheme) if scheme.eq_ignore_ascii_case(b"bearer ") => bytes.get(7..).unwrap_or_default(),
                _ => bytes,
            };
            if let Some(found) = self.keys.find(secret.trim_ascii()) {
                place = place.or(Some(found));
                ours.push(name);
            }
        }
        // A key of ours that is wrong is not overruled by another that is right.
        let wrong = headers.contains_key(KEY) && own.is_none();
        match place.and_then(|place| self.keys.name(place)) {
            Some(name) if !wrong => Ok(Caller { tenant: Some(name.to_owned()), ours }),
            _ => Err(Refusal::NoKey),
        }
    }

    /// The checks that need no key.
    pub(crate) fn check_names(&self, headers: &HeaderMap, target: Option<&Authority>) -> Result<(), Refusal> {
        if self.keys.is_empty() {
            let host =
                headers.get(header::HOST).map(|value| value.to_str().map_err(|_| Refusal::Host)).transpose()?;
            let named = [host, target.map(Authority::as_str)];
            // Without any name at all (HTTP/1.0) no browser asks.
            if named.iter().flatten().any(|name| !self.is_ours(name)) {
                return Err(Refusal::Host);
            }
        }
        for origin in headers.get_all(header::ORIGIN) {
            let allowed = origin.to_str().is_ok_and(|origin| {
                let local = origin
                    .split_once("://")
                    .is_some_and(|(scheme, host)| matches!(scheme, "http" | "https") && is_local(without_port(host)));
                local || self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
            });
            if !allowed {
                return Err(Refusal::Origin);
            }
        }
        Ok(())
    }

    fn is_ours(&self, authority: &str) -> bool {
        let name = without_port(authority);
        name.parse::<IpAddr>().is_ok()
            || is_local(name)
            || self.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
    }
}

/// The host of an authority: without its port, an IPv6 address without its brackets.
fn without_port(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match authority.rsplit_once(':') {
        Some((host, _)) if !host.contains(':') => host,
        _ => authority,
    }
}

/// Whether a name can only mean this machine.
pub(crate) fn is_local(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        || name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
}

/// Says whether an address can be listened on: elsewhere than on loopback there must be a key, or the user's word.
pub(crate) fn may_listen(address: SocketAddr, keys: &Keys, insecure: bool) -> bool {
    address.ip().is_loopback() || !keys.is_empty() || insecure
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef-one";
    const OTHER: &str = "0123456789abcdef-two";

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        headers
    }

    fn keyed() -> Access {
        Access { keys: Keys::parse(&format!("alice:{SECRET},bob:{OTHER}")).unwrap(), ..Access::default() }
    }

    #[test]
    fn a_page_that_took_our_address_for_its_name_is_refused() {
        let access = Access { hosts: vec!["box.lan".to_owned()], ..Access::default() };
        let check = |host: &str| access.check(&headers(&[("host", host)]), None).map(|_| ());
        for ours in [
            "127.0.0.1:8642",
            "localhost",
            "localhost:1",
            "[::1]:8642",
            "192.168.1.7:8642",
            "BOX.lan:1",
            "a.localhost",
        ] {
            assert_eq!(check(ours), Ok(()), "{ours}");
        }
        for other in ["evil.example", "evil.example:8642", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
            assert_eq!(check(other), Err(Refusal::Host), "{other}");
        }
        let target: Authority = "evil.example".parse().unwrap();
        assert_eq!(access.check(&headers(&[("host", "localhost")]), Some(&target)), Err(Refusal::Host));
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let access = Access { origins: vec!["app://tool".to_owned()], ..Access::default() };
        let check =
            |origin: &str| access.check(&headers(&[("host", "localhost"), ("origin", origin)]), None).map(|_| ());
        for ours in ["http://localhost:8642", "http://127.0.0.1", "https://[::1]:3", "app://tool"] {
            assert_eq!(check(ours), Ok(()), "{ours}");
        }
        for other in ["https://evil.example", "null", "", "http://localhost.evil.example", "file://"] {
            assert_eq!(check(other), Err(Refusal::Origin), "{other}");
        }
        // With a key, too: the page may have been told it.
        let page = headers(&[("x-plimsoll-key", SECRET), ("origin", "https://evil.example")]);
        assert_eq!(keyed().check(&page, None), Err(Refusal::Origin));
    }

    #[test]
    fn a_key_names_the_tenant_and_goes_no_further() {
        let access = keyed();
        let check = |lines: &[(&str, &str)]| access.check(&headers(lines), None);
        let bearer = format!("Bearer {OTHER}");
        let caller =
            check(&[("host", "box"), ("x-plimsoll-key", SECRET), ("authorization", "Bearer sk-up")]).unwrap();
        assert_eq!(caller, Caller { tenant: Some("alice".to_owned()), ours: vec![] });
        let caller = check(&[("authorization", &bearer)]).unwrap();
        assert_eq!(caller, Caller { tenant: Some("bob".to_owned()), ours: vec![header::AUTHORIZATION] });
        let caller = check(&[("x-api-key", OTHER)]).unwrap();
        assert_eq!(caller.tenant.as_deref(), Some("bob"));
        // Both at once: the key of the gateway's own header decides, and neither is passed on.
        let caller = check(&[("x-plimsoll-key", SECRET), ("authorization", &bearer)]).unwrap();
        assert_eq!((caller.tenant.as_deref(), caller.ours.len()), (Some("alice"), 1));
        assert_eq!(check(&[]), Err(Refusal::NoKey));
        assert_eq!(check(&[("authorization", "Bearer sk-up")]), Err(Refusal::NoKey));
        assert_eq!(check(&[("x-plimsoll-key", "wrong"), ("x-api-key", OTHER)]), Err(Refusal::NoKey));
    }

    #[test]
    fn keys_that_protect_nothing_are_refused_and_never_shown() {
        assert_eq!(Keys::parse("short").unwrap_err(), KeyError::Short { place: 1 });
        assert_eq!(Keys::parse(&format!("a b:{SECRET}")).unwrap_err(), KeyError::Name { place: 1 });
        assert_eq!(Keys::parse(&format!("{SECRET},b:{SECRET}")).unwrap_err(), KeyError::Twice { place: 2 });
        assert!(Keys::parse(" , ").unwrap().is_empty());
        let shown = format!("{:?}", keyed());
        assert!(shown.contains("alice") && !shown.contains(SECRET) && !shown.contains(OTHER));
    }

    #[test]
    fn only_loopback_is_open_without_a_key() {
        let listen = |address: &str, keys: &Keys, insecure| may_listen(address.parse().unwrap(), keys, insecure);
        let (none, some) = (Keys::default(), Keys::parse(SECRET).unwrap());
        assert!(listen("127.0.0.1:1", &none, false) && listen("[::1]:1", &none, false));
        assert!(!listen("0.0.0.0:1", &none, false) && !listen("192.168.1.7:1", &none, false));
        assert!(listen("0.0.0.0:1", &some, false) && listen("0.0.0.0:1", &none, true));
    }
}
