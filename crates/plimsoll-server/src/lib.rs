//! Plimsoll for other programs: the MCP server.

#![cfg_attr(test, allow(clippy::format_collect, reason = "a test may be slow"))]

pub mod mcp;

use std::io;

/// A failure of a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The system gives no threads or no event loop.
    #[error("the server cannot be started: {0}")]
    Start(#[from] io::Error),
    /// The client does not speak the protocol.
    #[error("the MCP client could not be served: {0}; it must speak MCP on standard input and output")]
    Protocol(String),
}
