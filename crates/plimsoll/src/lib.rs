//! Keeps an LLM agent inside its context window and loses nothing doing so.
//!
//! Bytes in, edits out: a conversation is never re-encoded. See `docs/architecture.md`.

pub mod budget;
pub mod compact;
pub mod id;
pub mod listing;
pub mod model;
pub mod token;
pub mod transcript;
mod units;
pub mod wire;

pub use units::{Bytes, Tokens};
