//! CPU time by the kernel's clocks.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread so far, in s.
pub fn thread_cpu_s() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// CPU time of our process so far, in s: user and system, all threads.
pub fn process_cpu_s() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
