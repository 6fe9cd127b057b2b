//! Secure connections: one set-up for everything in Plimsoll that speaks TLS. It stands on this floor because the
//! object stores are the lowest that need it.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Makes what a client needs to speak TLS: the certificates that the system trusts (on Linux also those that
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` name), TLS 1.2 and 1.3, and the same cryptography everywhere.
///
/// Reading the system's certificates takes some milliseconds. Where it is known that no connection will be secure, say
/// `false`: then nothing is read, and nobody is trusted.
///
/// ```
/// let config = plimsoll_store::tls::client(false)?;
/// assert!(config.alpn_protocols.is_empty());
/// # Ok::<(), rustls::Error>(())
/// ```
///
/// # Errors
/// The system's certificates cannot be read, or it has none.
pub fn client(secure: bool) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(if secure {
        builder.with_platform_verifier()?.with_no_client_auth()
    } else {
        builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    })
}

/// Finds what is wrong with a connection's security in an error and its causes; `None` if it is about something else.
///
/// ```
/// use std::io;
/// let untrusted = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
/// let error = io::Error::other(untrusted);
/// assert_eq!(plimsoll_store::tls::fault(&error).as_deref(), Some("invalid peer certificate: UnknownIssuer"));
/// assert_eq!(plimsoll_store::tls::fault(&io::Error::other("broken")), None);
/// ```
pub fn fault(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(fault) = error.downcast_ref::<rustls::Error>() {
            return Some(fault.to_string());
        }
        // An error of input and output holds another without naming it as its cause.
        let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(fault) = held.and_then(|held| fault(held)) {
            return Some(fault);
        }
        cause = error.source();
    }
    None
}
