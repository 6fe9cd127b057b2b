//! What was last seen of a request that failed, and what that says about endpoint, bucket, credentials or network.
//!
//! The library below wraps failures in types of its own, some of which nobody can look into. So the client notes what
//! it saw, in a slot that travels with the future of the call, and [`fault`] judges by that.

use std::error::Error;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::client::HttpError;

use super::access::is_metadata;
use super::fault::{Fault, Unreached};
use crate::tls;

/// The end of a request that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    /// The server refused.
    Status {
        /// The host that did.
        host: String,
        status: u16,
        /// The error code; empty where there is none.
        code: String,
        /// The bucket's region, where the server names it.
        region: Option<String>,
    },
    /// It did not come to an answer.
    Transport { host: String, how: Transport },
}

/// What kept an answer from coming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Transport {
    Unreached(Unreached),
    Tls(String),
    /// Something answered that does not speak HTTP.
    NotHttp,
}

type Slot = Arc<Mutex<Option<Seen>>>;

tokio::task_local! {
    static SLOT: Slot;
}

/// A failed call: what the library says, and what the client saw.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: object_store::Error,
    pub(super) seen: Option<Seen>,
}

/// Runs a call so that what its requests come to is noted.
pub(super) async fn witnessed<T>(call: impl Future<Output = object_store::Result<T>>) -> Result<T, Failed> {
    let slot = Slot::default();
    let answer = SLOT.scope(Arc::clone(&slot), call).await;
    answer.map_err(|error| Failed { error, seen: slot.lock().unwrap_or_else(PoisonError::into_inner).take() })
}

/// Notes how a request ended: `None` for success.
pub(super) fn note(seen: Option<Seen>) {
    // Outside of `witnessed` nobody wants to know.
    let _ = SLOT.try_with(|slot| *slot.lock().unwrap_or_else(PoisonError::into_inner) = seen);
}

impl Failed {
    pub(super) fn status(&self) -> Option<u16> {
        match &self.seen {
            Some(Seen::Status { status, .. }) => Some(*status),
            _ => None,
        }
    }

    /// Whether the server said that there is no such record (or bucket: a `HEAD` does not tell).
    pub(super) fn is_missing(&self) -> bool {
        matches!(&self.seen, Some(Seen::Status { status: 404, code, .. }) if matches!(code.as_str(), "" | "NoSuchKey" | "NotFound"))
    }

    /// Whether the server said that the name is taken, or being taken or freed at this moment.
    pub(super) fn is_taken(&self) -> bool {
        matches!(self.status(), Some(412 | 409)) && !self.is_no_bucket()
    }

    /// Whether the server gave an error code of S3's.
    pub(super) fn has_code(&self) -> bool {
        matches!(&self.seen, Some(Seen::Status { code, .. }) if !code.is_empty())
    }

    pub(super) fn is_no_bucket(&self) -> bool {
        matches!(&self.seen, Some(Seen::Status { code, .. }) if code == "NoSuchBucket")
    }

    /// Whether the request may have been carried out although it failed: it was lost, or the server stumbled over it.
    pub(super) fn is_open(&self) -> bool {
        match &self.seen {
            Some(Seen::Status { status, .. }) => *status >= 500,
            Some(Seen::Transport { how: Transport::Unreached(how), .. }) => {
                matches!(how, Unreached::Timeout | Unreached::Broken)
            }
            Some(Seen::Transport { .. }) => false,
            // A success that could not be understood.
            None => true,
        }
    }
}

/// Sees what a transport error is.
pub(super) fn transport(error: &HttpError) -> Transport {
    if let Some(detail) = tls::fault(error) {
        return Transport::Tls(detail);
    }
    let mut dns = false;
    let mut not_http = false;
    let mut broken = Unreached::Broken;
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            match error.kind() {
                io::ErrorKind::ConnectionRefused => broken = Unreached::Refused,
                io::ErrorKind::TimedOut => broken = Unreached::Timeout,
                _ => {}
            }
            // What an I/O error wraps is not its source, but the error itself.
            if let Some(inner) = error.get_ref() {
                cause = Some(inner);
                continue;
            }
        }
        if error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_timeout) {
            broken = Unreached::Timeout;
        }
        let said = error.to_string();
        // The types of these two are private.
        dns |= said.contains("dns error") || said.contains("failed to lookup address");
        not_http |= said.contains("invalid HTTP") || said.contains("message head");
        cause = error.source();
    }
    if dns {
        Transport::Unreached(Unreached::NoSuchHost)
    } else if not_http {
        Transport::NotHttp
    } else {
        Transport::Unreached(broken)
    }
}

/// Reads error code and region from the body of a refusal.
pub(super) fn code_and_region(body: &str) -> (String, Option<String>) {
    let element = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        let (value, _) = rest.split_once('<')?;
        let is_word = !value.is_empty()
            && value.len() <= 64
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        is_word.then(|| value.to_owned())
    };
    if !body.contains("<Error") {
        return (String::new(), None);
    }
    (element("Code").unwrap_or_default(), element("Region"))
}

/// What is known of the server that was asked.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// Scheme, host and port.
    pub(super) endpoint: String,
    pub(super) region: String,
    pub(super) proxied: bool,
}

/// Judges a failure.
pub(super) fn fault(failed: &Failed, asked: &Asked) -> Fault {
    let endpoint = || asked.endpoint.clone();
    match &failed.seen {
        Some(Seen::Status { host, status, .. }) if is_metadata(host) => Fault::NoCredentials {
            looked: format!("no key is set, and {host} gives this machine none (HTTP {status})"),
        },
        Some(Seen::Transport { host, .. }) if is_metadata(host) => {
            Fault::NoCredentials { looked: format!("no key is set, and no role of this machine is found at {host}") }
        }
        Some(Seen::Status { host, status, code, region }) => {
            if asked.is_server(host) {
                refusal(*status, code, region.as_deref(), asked)
            } else {
                Fault::NoCredentials { looked: format!("{host} gives none (HTTP {status})") }
            }
        }
        Some(Seen::Transport { host, .. }) if !asked.is_server(host) => {
            Fault::NoCredentials { looked: format!("{host}, who gives some, cannot be reached") }
        }
        Some(Seen::Transport { how, .. }) => {
            let endpoint = endpoint();
            match how {
                Transport::Unreached(how) => Fault::Unreachable { endpoint, how: *how, proxied: asked.proxied },
                Transport::Tls(detail) => Fault::Tls { endpoint, detail: detail.clone() },
                Transport::NotHttp => Fault::Answer {
                    endpoint,
                    detail: "no HTTP; it may want https://, or be another service".to_owned(),
                },
            }
        }
        None => match &failed.error {
            // The role of a container is read from a file.
            object_store::Error::Generic { source, .. } if source.downcast_ref::<io::Error>().is_some() => {
                Fault::NoCredentials { looked: "the file that a variable names could not be read".to_owned() }
            }
            error => Fault::Answer { endpoint: endpoint(), detail: first_words(&error.to_string()) },
        },
    }
}

impl Asked {
    /// Whether a host is the store's server: the same name, or a bucket's name before it.
    fn is_server(&self, host: &str) -> bool {
        let server = self.endpoint.split_once("://").map_or(self.endpoint.as_str(), |(_, server)| server);
        let server = match server.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => server,
        };
        host == server || host.strip_suffix(server).is_some_and(|before| before.ends_with('.'))
    }
}

/// Judges a refusal by status and error code.
fn refusal(status: u16, code: &str, region: Option<&str>, asked: &Asked) -> Fault {
    let code_or_status = || if code.is_empty() { format!("HTTP {status}") } else { code.to_owned() };
    let elsewhere = || Fault::Region { used: asked.region.clone(), right: region.map(ToOwned::to_owned) };
    match code {
        "NoSuchBucket" => Fault::NoBucket { endpoint: asked.endpoint.clone() },
        "PermanentRedirect" | "TemporaryRedirect" | "IllegalLocationConstraintException" => elsewhere(),
        "AuthorizationHeaderMalformed" if region.is_some() => elsewhere(),
        "RequestTimeTooSkewed" | "RequestExpired" => Fault::Clock,
        "InvalidAccessKeyId"
        | "SignatureDoesNotMatch"
        | "InvalidToken"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "TokenRefreshRequired"
        | "InvalidSecurity"
        | "InvalidSignature"
        | "AuthFailure"
        | "NotSignedUp"
        | "AuthorizationHeaderMalformed"
        | "MissingAuthenticationToken"
        | "UnrecognizedClientException" => Fault::Credentials { code: code.to_owned() },
        "SlowDown" | "TooManyRequests" | "ServiceUnavailable" | "RequestLimitExceeded" | "Throttling" => {
            Fault::Busy { status }
        }
        "QuotaExceeded" | "InsufficientCapacity" | "XMinioStorageFull" | "NotEnoughSpace" => {
            Fault::Full { code: code.to_owned() }
        }
        _ => match status {
            301 | 302 | 307 | 308 => elsewhere(),
            401 => Fault::Credentials { code: code_or_status() },
            403 => Fault::Denied { code: code_or_status() },
            429 | 503 => Fault::Busy { status },
            507 => Fault::Full { code: code_or_status() },
            500.. => Fault::Server { status, code: code.to_owned() },
            _ => Fault::Refused { status, code: code.to_owned() },
        },
    }
}

/// The beginning of a text, without line ends: enough to recognise it.
fn first_words(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked {
            endpoint: "https://s3.eu-west-1.amazonaws.com".to_owned(),
            region: "eu-west-1".to_owned(),
            proxied: false,
        }
    }

    fn judge(seen: Seen) -> Fault {
        let error = object_store::Error::NotImplemented { operation: "x".to_owned(), implementer: "y".to_owned() };
        fault(&Failed { error, seen: Some(seen) }, &asked())
    }

    fn status(status: u16, code: &str) -> Seen {
        let host = "s3.eu-west-1.amazonaws.com".to_owned();
        Seen::Status { host, status, code: code.to_owned(), region: None }
    }

    #[test]
    fn codes_say_what_is_wrong() {
        let credentials = |code: &str| Fault::Credentials { code: code.to_owned() };
        let endpoint = asked().endpoint;
        for (seen, expected) in [
            (status(404, "NoSuchBucket"), Fault::NoBucket { endpoint }),
            (status(403, "InvalidAccessKeyId"), credentials("InvalidAccessKeyId")),
            (status(403, "SignatureDoesNotMatch"), credentials("SignatureDoesNotMatch")),
            (status(400, "ExpiredToken"), credentials("ExpiredToken")),
            (status(403, "RequestTimeTooSkewed"), Fault::Clock),
            (status(403, "AccessDenied"), Fault::Denied { code: "AccessDenied".to_owned() }),
            (status(403, ""), Fault::Denied { code: "HTTP 403".to_owned() }),
            (status(503, "SlowDown"), Fault::Busy { status: 503 }),
            (status(500, "InternalError"), Fault::Server { status: 500, code: "InternalError".to_owned() }),
            (status(301, ""), Fault::Region { used: "eu-west-1".to_owned(), right: None }),
            (status(400, "InvalidRequest"), Fault::Refused { status: 400, code: "InvalidRequest".to_owned() }),
        ] {
            assert_eq!(judge(seen), expected);
        }
        let Seen::Status { host, .. } = status(400, "") else { panic!("it is one") };
        let code = "AuthorizationHeaderMalformed".to_owned();
        let fault = judge(Seen::Status { host, status: 400, code, region: Some("eu-north-1".to_owned()) });
        insta::assert_snapshot!(fault, @"the bucket is in the region eu-north-1, not in eu-west-1; set AWS_REGION=eu-north-1");
    }

    #[test]
    fn who_was_asked_for_keys_is_not_taken_for_the_server() {
        let how = Transport::Unreached(Unreached::Timeout);
        let fault = judge(Seen::Transport { host: "169.254.169.254".to_owned(), how: how.clone() });
        assert!(matches!(fault, Fault::NoCredentials { .. }));
        insta::assert_snapshot!(fault, @"no credentials: no key is set, and no role of this machine is found at 169.254.169.254; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profile files are not read: `aws configure export-credentials --format env` prints what a profile holds)");
        let host = "sts.eu-west-1.amazonaws.com".to_owned();
        let fault = judge(Seen::Status { host, status: 403, code: "AccessDenied".to_owned(), region: None });
        assert!(matches!(fault, Fault::NoCredentials { .. }));
        let host = "bucket.s3.eu-west-1.amazonaws.com".to_owned();
        assert!(matches!(judge(Seen::Transport { host, how }), Fault::Unreachable { .. }));
        let other = Asked { endpoint: "http://[::1]:9000".to_owned(), ..asked() };
        assert!(other.is_server("[::1]") && !other.is_server("[::2]"));
        let other = Asked { endpoint: "http://localhost".to_owned(), ..asked() };
        assert!(other.is_server("localhost") && !other.is_server("mylocalhost"));
    }

    #[test]
    fn only_words_are_taken_from_an_answer() {
        let body = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Region>eu-1</Region></Error>";
        assert_eq!(code_and_region(body), ("AccessDenied".to_owned(), Some("eu-1".to_owned())));
        for body in [
            "",
            "<html>404</html>",
            "<Error><Code>a b</Code>",
            "<Error><Code></Code>",
            "<Error><Code>x",
            "<Code>x</Code>",
        ] {
            assert_eq!(code_and_region(body), (String::new(), None), "{body}");
        }
    }
}
