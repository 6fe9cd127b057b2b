//! Benchmarks of Plimsoll against its peers.

pub mod body;
pub mod text;
