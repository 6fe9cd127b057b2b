//! Trusted connections: the certificates that the system trusts, and the same cryptography as the rest of Plimsoll.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls_platform_verifier::BuilderVerifierExt as _;

/// How connections are secured. Certificates are only loaded where they are needed.
pub(super) fn config(secure: bool) -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(if secure {
        builder.with_platform_verifier()?.with_no_client_auth()
    } else {
        builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
    })
}

/// What is wrong with a connection's security, if that is what an error is about.
pub(super) fn fault(error: &(dyn Error + 'static)) -> Option<String> {
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
