//! Plimsoll for other programs: the gateway and the MCP server.

#![cfg_attr(test, allow(clippy::format_collect, reason = "a test may be slow"))]

pub mod gateway;
mod health;
pub mod mcp;
mod metrics;

use std::io;
use std::net::SocketAddr;

/// A failure of a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The system gives no threads or no event loop.
    #[error("the server cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; choose another with --listen, port 0 for any that is free")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The address can be reached from elsewhere, and nobody would be asked for a key.
    #[error(
        "{address} can be reached from other machines: set PLIMSOLL_KEY to a key that clients must send, listen on \
         127.0.0.1, or say --insecure"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// TLS to upstreams cannot be set up.
    #[error("TLS cannot be used: {0}; are the system's certificates installed (on Debian: ca-certificates)?")]
    Tls(String),
    /// The client does not speak the protocol.
    #[error("the MCP client could not be served: {0}; it must speak MCP on standard input and output")]
    Protocol(String),
}
