//! How a server is reached and with which keys, settled from environment variables.

use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

use object_store::aws::AmazonS3ConfigKey as Key;
use reqwest::Url;

use crate::error::{Result, StoreError};

/// The variables that the library below understands, and that are handed on to it as they are.
const HANDED_ON: [&str; 14] = [
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "AWS_REQUEST_PAYER",
    "AWS_SERVER_SIDE_ENCRYPTION",
    "AWS_SSE_KMS_KEY_ID",
    "AWS_SSE_BUCKET_KEY_ENABLED",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_METADATA_ENDPOINT",
    "AWS_IMDSV1_FALLBACK",
];

/// How a server is reached and with which keys: everything but the place.
///
/// | variable | what it says |
/// |---|---|
/// | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` | the keys; else the role of the container or machine is asked for |
/// | `AWS_REGION`, `AWS_DEFAULT_REGION` | the region; `us-east-1` if none is named |
/// | `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` | the server, where it is not Amazon's |
/// | `AWS_ALLOW_HTTP` | `true` allows `http://` to other machines; to this one it is always allowed |
/// | `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` | the proxy; never used for this machine's own addresses |
/// | `SSL_CERT_FILE`, `SSL_CERT_DIR` | certificates of authorities, in place of the system's |
///
/// The variables for roles (`AWS_ROLE_ARN`, `AWS_WEB_IDENTITY_TOKEN_FILE`, `AWS_CONTAINER_CREDENTIALS_…`), for
/// encryption (`AWS_SERVER_SIDE_ENCRYPTION`, `AWS_SSE_KMS_KEY_ID`), `AWS_REQUEST_PAYER` and
/// `AWS_VIRTUAL_HOSTED_STYLE_REQUEST` are understood, too. Profile files are not read. An empty variable counts as not
/// set.
///
/// Neither `Debug` nor any error shows a key, a token or a proxy's password.
///
/// ```
/// use plimsoll_store::object::Access;
/// let environment = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9000"), ("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "s3cr3t")];
/// let lookup = |name: &str| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
/// let access = Access::from_env(lookup)?;
/// assert!(!format!("{access:?}").contains("s3cr3t"));
/// # Ok::<(), plimsoll_store::StoreError>(())
/// ```
#[derive(Clone)]
pub struct Access {
    pub(super) endpoint: Option<Url>,
    pub(super) region: String,
    pub(super) keys: Option<Keys>,
    pub(super) handed_on: Vec<(Key, String)>,
    pub(super) proxies: Vec<(Scheme, String)>,
    pub(super) no_proxy: Option<String>,
    pub(super) asks_machine: bool,
    pub(super) patience: Patience,
}

/// Keys that do not change.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

/// Which requests a proxy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
    All,
}

/// How long is waited, and how often something is tried again. With these, nothing hangs: a server that is not there
/// costs at most 20 s, one that accepts and says nothing at most 30 s and the time that the data sent may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For a connection to come about.
    pub(super) connect: Duration,
    /// For an answer to begin after the request is sent, and between any two pieces of it.
    pub(super) answer: Duration,
    /// The slowest sending that is still waited for, in bytes a second.
    pub(super) slowest: u64,
    /// How often a request is repeated that did not get through, or that the server was too busy for.
    pub(super) retries: usize,
    /// After how long nothing is repeated any more.
    pub(super) give_up: Duration,
    /// The first pause before a repetition; each is up to twice the one before, at most 4 s.
    pub(super) pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(30),
            slowest: 64 * 1024,
            retries: 5,
            give_up: Duration::from_secs(15),
            pause: Duration::from_millis(100),
        }
    }
}

impl Access {
    /// Settles access from what the environment holds; `lookup` gives a variable's value, as [`std::env::var_os`] does.
    ///
    /// # Errors
    /// [`StoreError::Setting`] names the variable that cannot be as it is. Missing keys are no error yet.
    pub fn from_env(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text = |variable: &'static str| -> Result<Option<String>> {
            match lookup(variable).map(OsString::into_string) {
                None => Ok(None),
                Some(Ok(value)) => Ok(Some(value).filter(|value| !value.is_empty())),
                Some(Err(_)) => Err(setting(variable, "is not UTF-8")),
            }
        };
        let flag =
            |variable| text(variable).map(|value| value.is_some_and(|v| v.eq_ignore_ascii_case("true") || v == "1"));

        let endpoint = match text("AWS_ENDPOINT_URL_S3")? {
            Some(url) => Some(("AWS_ENDPOINT_URL_S3", url)),
            None => text("AWS_ENDPOINT_URL")?.map(|url| ("AWS_ENDPOINT_URL", url)),
        };
        let endpoint = match endpoint {
            Some((variable, url)) => Some(check_endpoint(variable, &url, flag("AWS_ALLOW_HTTP")?)?),
            None => None,
        };
        let region = match text("AWS_REGION")? {
            Some(region) => Some(("AWS_REGION", region)),
            None => text("AWS_DEFAULT_REGION")?.map(|region| ("AWS_DEFAULT_REGION", region)),
        };
        let region = match region {
            Some((variable, region)) => check_region(variable, region)?,
            None => "us-east-1".to_owned(),
        };
        let mut handed_on = Vec::new();
        for variable in HANDED_ON {
            if let (Some(value), Ok(key)) = (text(variable)?, variable.to_ascii_lowercase().parse()) {
                handed_on.push((key, value));
            }
        }
        let mut proxies = Vec::new();
        for (variables, scheme) in [
            // `HTTP_PROXY` in capitals may come from a request's header where programs run behind a web server.
            (["http_proxy", "HTTP_PROXY"], Scheme::Http),
            (["https_proxy", "HTTPS_PROXY"], Scheme::Https),
            (["all_proxy", "ALL_PROXY"], Scheme::All),
        ] {
            let [first, second] = variables;
            if let Some(proxy) = text(first)?.map_or_else(|| text(second), |proxy| Ok(Some(proxy)))? {
                proxies.push((scheme, proxy));
            }
        }
        let no_proxy = text("no_proxy")?.map_or_else(|| text("NO_PROXY"), |hosts| Ok(Some(hosts)))?;
        Ok(Self {
            asks_machine: endpoint.is_none() && !flag("AWS_EC2_METADATA_DISABLED")?,
            endpoint,
            region,
            keys: check_keys(text("AWS_ACCESS_KEY_ID")?, text("AWS_SECRET_ACCESS_KEY")?, text("AWS_SESSION_TOKEN")?)?,
            handed_on,
            proxies,
            no_proxy,
            patience: Patience::default(),
        })
    }

    /// Tells whether there are keys, or somebody who can be asked for some.
    pub(super) fn has_credentials(&self) -> bool {
        let is_source = |key: &Key| {
            matches!(
                key,
                Key::WebIdentityTokenFile | Key::ContainerCredentialsRelativeUri | Key::ContainerCredentialsFullUri
            )
        };
        self.keys.is_some() || self.asks_machine || self.handed_on.iter().any(|(key, _)| is_source(key))
    }

    /// Tells whether requests to the server are likely to go through a proxy.
    pub(super) fn is_proxied(&self) -> bool {
        let (secure, own) = match &self.endpoint {
            Some(url) => (url.scheme() == "https", url.host_str().is_some_and(is_own)),
            None => (true, false),
        };
        let fits = |scheme: Scheme| scheme == Scheme::All || (scheme == Scheme::Https) == secure;
        !own && self.proxies.iter().any(|(scheme, _)| fits(*scheme))
    }

    /// Names the server: scheme, host, and port if it is not the usual one.
    pub(super) fn server(&self) -> String {
        match &self.endpoint {
            Some(url) => url.origin().ascii_serialization(),
            None => format!("https://s3.{}.amazonaws.com", self.region),
        }
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("server", &self.server())
            .field("region", &self.region)
            .field("keys", &self.keys.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}

fn setting(variable: &'static str, reason: impl Into<String>) -> StoreError {
    StoreError::Setting { variable, reason: reason.into() }
}

fn check_endpoint(variable: &'static str, given: &str, allow_http: bool) -> Result<Url> {
    let Ok(url) = Url::parse(given) else {
        return Err(setting(variable, "is no URL; write https://host or http://host:port"));
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(setting(variable, "holds a user or password; keys are taken from AWS_ACCESS_KEY_ID and so on"));
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(setting(variable, format!("is {given}; write https://host or http://host:port")));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(setting(variable, format!("is {given}; leave out what stands from `?` or `#` on")));
    }
    if url.scheme() == "http" && !allow_http && !url.host_str().is_some_and(is_own) {
        return Err(setting(
            variable,
            format!(
                "is {given}: what is stored would travel in the clear; write https://, or set AWS_ALLOW_HTTP=true if \
                 the network is trusted"
            ),
        ));
    }
    Ok(url)
}

fn check_region(variable: &'static str, region: String) -> Result<String> {
    if region.len() <= 64 && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return Ok(region);
    }
    Err(setting(variable, "is no region; write one like eu-central-1"))
}

fn check_keys(id: Option<String>, secret: Option<String>, token: Option<String>) -> Result<Option<Keys>> {
    for (variable, value) in
        [("AWS_ACCESS_KEY_ID", &id), ("AWS_SECRET_ACCESS_KEY", &secret), ("AWS_SESSION_TOKEN", &token)]
    {
        // They go into headers.
        if value.as_ref().is_some_and(|value| !value.bytes().all(|byte| byte.is_ascii_graphic())) {
            return Err(setting(variable, "has a space, a line end or another character that no key has"));
        }
    }
    match (id, secret) {
        (Some(id), Some(secret)) => Ok(Some(Keys { id, secret, token })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(setting("AWS_SECRET_ACCESS_KEY", "is not set, but AWS_ACCESS_KEY_ID is; set both")),
        (None, Some(_)) => Err(setting("AWS_ACCESS_KEY_ID", "is not set, but AWS_SECRET_ACCESS_KEY is; set both")),
    }
}

/// Tells whether a host is this machine, as `localhost` or by its loopback addresses.
pub(super) fn is_own(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = host.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Tells whether a host is where a cloud gives keys to its own machines and containers.
pub(super) fn is_metadata(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(address)) => address.is_link_local(),
        Ok(std::net::IpAddr::V6(address)) => matches!(address.segments(), [0xfd00, 0xec2, 0, 0, 0, 0, 0, _]),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(environment: &[(&str, &str)]) -> Result<Access> {
        Access::from_env(|name| environment.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    fn refused(environment: &[(&str, &str)]) -> String {
        let error = access(environment).expect_err("it is refused");
        assert!(matches!(error, StoreError::Setting { .. }), "{error:?}");
        error.to_string()
    }

    #[test]
    fn the_more_special_variable_wins_and_an_empty_one_is_none() {
        let given = access(&[
            ("AWS_ENDPOINT_URL", "https://general.example"),
            ("AWS_ENDPOINT_URL_S3", "https://s3.example:9000/base/"),
            ("AWS_DEFAULT_REGION", "eu-west-1"),
            ("AWS_REGION", "eu-central-1"),
        ])
        .unwrap();
        assert_eq!((given.server().as_str(), given.region.as_str()), ("https://s3.example:9000", "eu-central-1"));
        let given = access(&[
            ("AWS_ENDPOINT_URL", "https://general.example"),
            ("AWS_ENDPOINT_URL_S3", ""),
            ("AWS_REGION", ""),
            ("AWS_DEFAULT_REGION", "eu-west-1"),
        ])
        .unwrap();
        assert_eq!((given.server().as_str(), given.region.as_str()), ("https://general.example", "eu-west-1"));
        assert_eq!(access(&[]).unwrap().server(), "https://s3.us-east-1.amazonaws.com");
    }

    #[test]
    fn plain_http_goes_to_this_machine_only_unless_allowed() {
        for own in ["http://127.0.0.1:9000", "http://localhost:9000", "http://[::1]:9000", "http://a.localhost"] {
            access(&[("AWS_ENDPOINT_URL", own)]).unwrap();
        }
        let away = [("AWS_ENDPOINT_URL", "http://minio:9000"), ("AWS_ALLOW_HTTP", "true")];
        access(&away).unwrap();
        insta::assert_snapshot!(refused(&away[..1]), @"AWS_ENDPOINT_URL is http://minio:9000: what is stored would travel in the clear; write https://, or set AWS_ALLOW_HTTP=true if the network is trusted");
        refused(&[("AWS_ENDPOINT_URL", "http://127.0.0.1.example.com"), ("AWS_ALLOW_HTTP", "false")]);
    }

    #[test]
    fn what_is_wrong_with_a_variable_is_said() {
        for (environment, part) in [
            (&[("AWS_ENDPOINT_URL", "minio:9000")][..], "AWS_ENDPOINT_URL is minio:9000; write https://host"),
            (&[("AWS_ENDPOINT_URL", "host")], "is no URL"),
            (&[("AWS_ENDPOINT_URL_S3", "ftp://host")], "AWS_ENDPOINT_URL_S3 is ftp://host"),
            (&[("AWS_ENDPOINT_URL", "https://host?x=y")], "leave out"),
            (&[("AWS_REGION", "eu central")], "AWS_REGION is no region"),
            (&[("AWS_ACCESS_KEY_ID", "id")], "AWS_SECRET_ACCESS_KEY is not set"),
            (&[("AWS_SECRET_ACCESS_KEY", "secret")], "AWS_ACCESS_KEY_ID is not set"),
            (&[("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret\n")], "AWS_SECRET_ACCESS_KEY has"),
        ] {
            let error = refused(environment);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn keys_are_shown_nowhere() {
        let given = access(&[
            ("AWS_ACCESS_KEY_ID", "canary-id"),
            ("AWS_SECRET_ACCESS_KEY", "canary-secret"),
            ("AWS_SESSION_TOKEN", "canary-token"),
            ("HTTPS_PROXY", "http://user:canary@proxy"),
        ]);
        assert!(!format!("{given:?}").contains("canary"), "{given:?}");
        for environment in [
            [("AWS_ACCESS_KEY_ID", "canary id"), ("AWS_SECRET_ACCESS_KEY", "canary")],
            [("AWS_ACCESS_KEY_ID", "canary"), ("AWS_SESSION_TOKEN", "canary")],
            [("AWS_ENDPOINT_URL", "http://u:canary@host"), ("AWS_REGION", "eu")],
            [("AWS_ENDPOINT_URL", "https://canary@host?"), ("AWS_REGION", "eu")],
        ] {
            let error = access(&environment).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
    }

    #[test]
    fn without_keys_only_amazon_is_asked_for_a_role() {
        assert!(access(&[]).unwrap().has_credentials());
        assert!(!access(&[("AWS_EC2_METADATA_DISABLED", "true")]).unwrap().has_credentials());
        assert!(!access(&[("AWS_ENDPOINT_URL", "https://host")]).unwrap().has_credentials());
        let pod = [("AWS_ENDPOINT_URL", "https://host"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/token")];
        assert!(access(&pod).unwrap().has_credentials());
    }

    #[test]
    fn the_library_knows_what_is_handed_on() {
        for variable in HANDED_ON {
            assert_eq!(access(&[(variable, "x")]).unwrap().handed_on.len(), 1, "{variable}");
        }
    }

    #[test]
    fn own_and_metadata_addresses_are_known() {
        for own in ["localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.1.2.3", "::1", "[::1]"] {
            assert!(is_own(own), "{own}");
        }
        for other in ["localhost.example.com", "10.0.0.1", "s3.amazonaws.com", "128.0.0.1", "0.0.0.0", "::2"] {
            assert!(!is_own(other), "{other}");
        }
        for metadata in ["169.254.169.254", "169.254.170.2", "169.254.170.23", "fd00:ec2::254", "[fd00:ec2::23]"] {
            assert!(is_metadata(metadata), "{metadata}");
        }
        assert!(!is_metadata("127.0.0.1") && !is_metadata("fd00::1") && !is_metadata("metadata"));
    }
}
