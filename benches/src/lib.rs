//! Benchmarks of Plimsoll against its peers.

pub mod body;
pub mod samples;
pub mod text;

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The CPU time this thread has used: unlike the wall clock, it says the same on a busy machine.
pub fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        now.tv_sec.unsigned_abs(),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}
