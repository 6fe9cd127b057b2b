//! Plimsoll for other programs: the MCP server.
