//! One file per command: each reads its arguments, lets the engine or the core work, and prints.

pub(crate) mod cap;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod count;
pub(crate) mod doctor;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod profiles;
pub(crate) mod recall;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod skills;
pub(crate) mod store;
pub(crate) mod summarizer;
#[cfg(target_os = "linux")]
pub(crate) mod tie;
pub(crate) mod wrap;
