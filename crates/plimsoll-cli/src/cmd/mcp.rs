//! `plimsoll mcp`: the MCP server on standard input and output.

use anyhow::Result;
use clap::Args;

use crate::args::Global;
use crate::resolve::{Done, open_store};

/// Serve recall, search, list and context to an agent over MCP
///
/// Speaks the Model Context Protocol on standard input and output, until the input ends. It only reads. `plimsoll
/// install` writes it into an agent program's configuration.
#[derive(Debug, Args)]
#[command(after_help = "Example: claude mcp add plimsoll -- plimsoll mcp")]
pub(crate) struct McpArgs {}

pub(crate) fn run(global: &Global) -> Result<Done> {
    plimsoll_server::mcp::serve_stdio(open_store(global)?)?;
    Ok(Done::Yes)
}
