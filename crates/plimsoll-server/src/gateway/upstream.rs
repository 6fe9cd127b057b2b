//! Upstreams: the servers that requests are passed to, and what of a path goes to them.

use std::fmt;
use std::str::FromStr;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

use super::access::is_local;

/// Whose protocol a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Anthropic's.
    Anthropic,
    /// `OpenAI`'s, which many servers speak.
    OpenAi,
    /// Gemini's.
    Gemini,
}

impl Kind {
    /// Gives the name under which an upstream of this kind is configured.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }

    /// Gives the maker's own server.
    pub fn default_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }
}

/// A server that requests are passed to.
///
/// ```
/// use plimsoll_server::gateway::Upstream;
/// let upstream: Upstream = "local=http://127.0.0.1:11434/v1".parse()?;
/// assert_eq!(upstream.name(), "local");
/// assert_eq!(upstream.to_string(), "local=http://127.0.0.1:11434/v1");
/// # Ok::<(), plimsoll_server::gateway::UpstreamError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    name: String,
    scheme: Scheme,
    authority: Authority,
    /// The path of its URL, without a slash at its end.
    base: String,
    host: HeaderValue,
}

/// An upstream that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamError {
    /// It has not the form NAME=URL.
    #[error("`{0}` is no upstream; give NAME=URL, such as anthropic=https://api.anthropic.com")]
    Form(String),
    /// Its name cannot stand in a path.
    #[error("`{0}` is no name of an upstream; use letters, digits, `-` and `_`, at most 40 of them")]
    Name(String),
    /// Its URL is not one.
    #[error("upstream {name}: {reason}; give a URL like http://127.0.0.1:11434")]
    Url {
        /// The upstream.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two have one name.
    #[error("there are two upstreams named {0}; give each a name of its own and reach it at /u/NAME/")]
    Twice(String),
}

impl Upstream {
    /// Takes a name and a URL: `http` or `https`, a host, and perhaps a path that every request's path is put behind.
    ///
    /// # Errors
    /// [`UpstreamError`] if the name cannot stand in a path, or the URL holds a query or credentials.
    pub fn new(name: &str, url: &str) -> Result<Self, UpstreamError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 40 || !name.chars().all(fits) {
            return Err(UpstreamError::Name(name.chars().filter(|c| !c.is_control()).take(60).collect()));
        }
        // A URL may hold a password: what is wrong is said without it.
        let wrong = |reason| UpstreamError::Url { name: name.to_owned(), reason };
        let uri: Uri = url.trim().parse().map_err(|_| wrong("its URL cannot be read"))?;
        let parts = uri.into_parts();
        let scheme = match parts.scheme {
            Some(scheme) if scheme == Scheme::HTTP || scheme == Scheme::HTTPS => scheme,
            _ => return Err(wrong("its URL must begin with http:// or https://")),
        };
        let authority = parts.authority.ok_or_else(|| wrong("its URL has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("its URL holds credentials; clients send their own, in headers"));
        }
        let path = parts.path_and_query;
        if path.as_ref().is_some_and(|path| path.query().is_some()) {
            return Err(wrong("its URL holds a query"));
        }
        let base = path.map_or(String::new(), |path| path.path().trim_end_matches('/').to_owned());
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| wrong("its host cannot be read"))?;
        Ok(Self { name: name.to_owned(), scheme, authority, base, host })
    }

    /// Gives the upstream that the maker of a protocol runs.
    pub fn of_maker(kind: Kind) -> Option<Self> {
        Self::new(kind.name(), kind.default_url()).ok()
    }

    /// Gives its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the path of its URL, without a slash at its end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Says whether it is this very machine.
    pub(crate) fn is_here(&self) -> bool {
        is_local(self.authority.host().trim_start_matches('[').trim_end_matches(']'))
    }

    /// Says whether it is reached over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Gives the value of the `host` header for it.
    pub(crate) fn host(&self) -> HeaderValue {
        self.host.clone()
    }

    /// Gives where a request with this path and query goes: both stand there as they were written. A base that ends with
    /// `/v1` and a path that begins with it share it, since some clients are given the one form and some the other.
    pub(crate) fn uri(&self, path_and_query: &str) -> Option<Uri> {
        let shared = self.base.ends_with("/v1") && (path_and_query.starts_with("/v1/"));
        let rest = if shared { path_and_query.strip_prefix("/v1").unwrap_or_default() } else { path_and_query };
        let path = if self.base.is_empty() { rest.to_owned() } else { format!("{}{rest}", self.base) };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
        Uri::from_parts(parts).ok()
    }
}

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        // What may hold a password is not repeated.
        let shown = text.rsplit('@').next().unwrap_or_default();
        let form = || UpstreamError::Form(shown.chars().filter(|c| !c.is_control()).take(60).collect());
        let (name, url) = text.split_once('=').ok_or_else(form)?;
        Self::new(name.trim(), url)
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}://{}{}", self.name, self.scheme, self.authority, self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_a_query_reach_the_upstream_as_they_were_written() {
        let upstream: Upstream = "a=https://host:8443".parse().unwrap();
        for path in ["/v1/messages?beta=true", "/v1/models/a%2Fb?x=%20&x=2", "/?", "/v1//x/../y?a=b?c"] {
            assert_eq!(upstream.uri(path).unwrap().to_string(), format!("https://host:8443{path}"));
        }
    }

    #[test]
    fn a_base_path_stands_before_and_v1_is_not_doubled() {
        let uri = |base: &str, path: &str| Upstream::new("a", base).unwrap().uri(path).unwrap().to_string();
        assert_eq!(uri("http://h/openai/v1/", "/v1/models"), "http://h/openai/v1/models");
        assert_eq!(uri("http://h/v1", "/models?v1"), "http://h/v1/models?v1");
        assert_eq!(uri("http://h/proxy", "/v1/models"), "http://h/proxy/v1/models");
        assert_eq!(uri("http://h/v1", "/v1beta/x"), "http://h/v1/v1beta/x");
    }

    #[test]
    fn what_is_no_upstream_is_refused_without_its_secrets() {
        for wrong in ["anthropic", "=http://h", "a b=http://h", "a=ftp://h", "a=/v1", "a=http://h/?k=v", "a="] {
            assert!(wrong.parse::<Upstream>().is_err(), "{wrong}");
        }
        let error = "a=https://user:hunter2@host".parse::<Upstream>().unwrap_err().to_string();
        assert!(error.contains("credentials") && !error.contains("hunter2"), "{error}");
    }
}
