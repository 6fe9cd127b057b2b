//! Benchmarks of Plimsoll against its peers.

pub mod body;
pub mod output;
pub mod samples;
pub mod socket;
pub mod summary;
pub mod text;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time this thread has used, in seconds: unlike the wall clock, it says much the same on a busy machine.
pub fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
