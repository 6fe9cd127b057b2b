//! Benchmarks of Plimsoll against its peers.

pub mod text;
