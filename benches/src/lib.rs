//! Benchmarks of Plimsoll against its peers.
