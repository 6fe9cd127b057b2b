//! What can be wrong with an object store, each kind with its next step.

use std::fmt;

/// How a server was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreached {
    /// Nobody listens at the address.
    Refused,
    /// No machine has the name.
    NoSuchHost,
    /// No answer in time.
    Timeout,
    /// The connection broke.
    Broken,
}

/// What is wrong: the endpoint, the bucket, the credentials, the network, or the server.
///
/// Nothing in it comes from a request's headers or from the text of an answer but its error code, so no key, token or
/// content can be in it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The server cannot be reached.
    Unreachable {
        /// Scheme, host and port.
        endpoint: String,
        /// How.
        how: Unreached,
        /// Whether the environment sends such requests through a proxy.
        proxied: bool,
    },
    /// No secure connection comes about.
    Tls {
        /// Scheme, host and port.
        endpoint: String,
        /// The reason, in the words of the TLS library.
        detail: String,
    },
    /// No credentials are found.
    NoCredentials {
        /// Where they were looked for last.
        looked: String,
    },
    /// The credentials, or what was signed with them, are refused.
    Credentials {
        /// The server's error code.
        code: String,
    },
    /// The credentials are good, and do not allow it.
    Denied {
        /// The server's error code.
        code: String,
    },
    /// The server has no such bucket.
    NoBucket {
        /// Scheme, host and port.
        endpoint: String,
    },
    /// The bucket is in another region.
    Region {
        /// The region that was used.
        used: String,
        /// The right one, if the server says.
        right: Option<String>,
    },
    /// This machine's clock is off.
    Clock,
    /// The server wants fewer requests, also after some were repeated more and more slowly.
    Busy {
        /// The HTTP status.
        status: u16,
    },
    /// The server failed, also after some repetition.
    Server {
        /// The HTTP status.
        status: u16,
        /// The server's error code, if any.
        code: String,
    },
    /// The server has no room left.
    Full {
        /// The server's error code.
        code: String,
    },
    /// The server overwrites where it was told to create.
    Unconditional {
        /// Scheme, host and port.
        endpoint: String,
        /// What it cannot do: `conditional writes`, or those of large objects.
        what: &'static str,
    },
    /// Another refusal.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's error code, if any.
        code: String,
    },
    /// An answer that no S3 server gives.
    Answer {
        /// Scheme, host and port.
        endpoint: String,
        /// What is wrong with it.
        detail: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { endpoint, how, proxied } => {
                f.write_str(match how {
                    Unreached::Refused => "nobody listens at ",
                    Unreached::NoSuchHost => "no machine is known by the name in ",
                    Unreached::Timeout => "no answer in time from ",
                    Unreached::Broken => "the connection broke to ",
                })?;
                f.write_str(endpoint)?;
                if *proxied {
                    f.write_str(", asked through the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names")?;
                }
                f.write_str("; check AWS_ENDPOINT_URL and the network, then try again")
            }
            Self::Tls { endpoint, detail } => {
                write!(f, "no secure connection to {endpoint}: {detail}; {}", advice(detail))
            }
            Self::NoCredentials { looked } => write!(
                f,
                "no credentials: {looked}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profile files are not read: \
                 `aws configure export-credentials --format env` prints what a profile holds)"
            ),
            Self::Credentials { code } => write!(
                f,
                "the credentials are refused ({code}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and \
                 AWS_SESSION_TOKEN, and that they are of this endpoint"
            ),
            Self::Denied { code } => write!(
                f,
                "the credentials do not allow it ({code}); a store needs s3:GetObject, s3:PutObject, s3:DeleteObject, \
                 s3:AbortMultipartUpload, and s3:ListBucket and s3:ListBucketMultipartUploads of the bucket"
            ),
            Self::NoBucket { endpoint } => {
                write!(f, "{endpoint} has no such bucket; create it, or correct --store or AWS_ENDPOINT_URL")
            }
            Self::Region { used, right: Some(right) } => {
                write!(f, "the bucket is in the region {right}, not in {used}; set AWS_REGION={right}")
            }
            Self::Region { used, right: None } => {
                write!(f, "the bucket is not in the region {used}; set AWS_REGION to its region")
            }
            Self::Clock => f.write_str(
                "the clock of this machine differs from the server's by more than it allows (15 minutes on S3); set \
                 the clock",
            ),
            Self::Busy { status } => {
                write!(f, "the server wants fewer requests (HTTP {status}), also after a while; try again later")
            }
            Self::Server { status, code } => {
                write!(f, "the server failed (HTTP {status}{}), also when asked again; try later", Code(code))
            }
            Self::Full { code } => write!(f, "the server has no room left ({code}); free some, or raise its quota"),
            Self::Unconditional { endpoint, what } => write!(
                f,
                "{endpoint} does not honour {what} (If-None-Match), so what others wrote could be overwritten; use a \
                 server that does (SeaweedFS does, and Amazon's S3 by its documentation), or a newer version of it"
            ),
            Self::Refused { status, code } => {
                write!(f, "the server refused it (HTTP {status}{}); check --store and AWS_ENDPOINT_URL", Code(code))
            }
            Self::Answer { endpoint, detail } => {
                write!(f, "{endpoint} does not answer as S3 does: {detail}; check AWS_ENDPOINT_URL")
            }
        }
    }
}

/// What to do about a fault in the words of the TLS library.
fn advice(detail: &str) -> &'static str {
    if detail.contains("UnknownIssuer") {
        "nobody whom this machine trusts has signed its certificate; if it is your own, name a PEM file with it, or with \
         its authority's, in SSL_CERT_FILE"
    } else if detail.contains("not valid for name") {
        "write the name that its certificate is for in AWS_ENDPOINT_URL"
    } else if detail.contains("certificate") {
        "what is wrong with its certificate must be mended there; check AWS_ENDPOINT_URL and this machine's clock"
    } else {
        "if it speaks plain HTTP, write http:// in AWS_ENDPOINT_URL"
    }
}

/// A server's error code behind a status, where there is one.
struct Code<'a>(&'a str);

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, ", {}", self.0) }
    }
}
