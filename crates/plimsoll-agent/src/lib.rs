//! Drives agent programs as child processes: prompts and slash commands in, neutral events out.
