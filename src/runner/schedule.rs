//! When slices begin and end: pure arithmetic on seconds since the gate opened.

use crate::model::{Drive, Window};

/// The first slice is short: it only learns how long an op takes.
const PROBE_SLICE_S: f64 = 0.1;
/// Slices after the window, while slower jobs finish theirs.
const TAIL_SLICE_S: f64 = 0.05;
/// A remainder shorter than this is joined to the next slice.
const SHORTEST_S: f64 = 0.02;
/// Ops that take this long are all timed.
const SLOW_OP_S: f64 = 100e-6;

/// Seconds since the gate at which the window opens and closes; `close_s` is infinite for fixed work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    pub open_s: f64,
    pub close_s: f64,
    /// Ops of one job for fixed work.
    pub ops_per_job: Option<u64>,
}

impl Schedule {
    /// The schedule of a window.
    pub fn new(window: &Window) -> Self {
        match window.ops_per_job {
            Some(_) => Schedule { open_s: 0.0, close_s: f64::INFINITY, ops_per_job: window.ops_per_job },
            None => {
                Schedule { open_s: window.warmup_s, close_s: window.warmup_s + window.duration_s, ops_per_job: None }
            }
        }
    }

    /// True if a slice that began at `start_s` belongs to the window.
    pub fn counts(&self, start_s: f64) -> bool {
        start_s >= self.open_s - 1e-6
    }

    /// Length of the slice that begins at `now_s`: up to the next whole second, the opening or the close of the
    /// window, so that all jobs' slices end together.
    pub fn slice_s(&self, now_s: f64, first: bool) -> f64 {
        if first && self.open_s > 2.0 * PROBE_SLICE_S {
            return PROBE_SLICE_S;
        }
        if now_s + SHORTEST_S >= self.close_s {
            return TAIL_SLICE_S;
        }
        let next_second = |after_s: f64| after_s.floor() + 1.0;
        let earliest_end_s = now_s + SHORTEST_S;
        let mut end_s = next_second(earliest_end_s);
        for edge_s in [self.open_s, self.close_s] {
            if edge_s > earliest_end_s {
                end_s = end_s.min(edge_s);
            }
        }
        end_s - now_s
    }
}

/// Every how many ops one is timed, from the ops per second seen so far: every op from 100 us up; else so many samples
/// a second that p99.9 has its 10,000 in a window of ten seconds. A sample inside a database is a few statements of its
/// procedural language, about 1.4 us in PL/pgSQL, so there it is not more than that; in our own loop it is 0.1 us.
pub fn stride(ops: u64, elapsed_s: f64, drive: Drive) -> u32 {
    if ops == 0 || elapsed_s / ops as f64 >= SLOW_OP_S {
        return 1;
    }
    let samples_per_s = match drive {
        Drive::Database => 1_250.0,
        Drive::Client => 10_000.0,
    };
    (ops as f64 / elapsed_s / samples_per_s).ceil().clamp(1.0, 1e9) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        Schedule::new(&Window { warmup_s: 1.5, duration_s: 3.0, ops_per_job: None })
    }

    #[test]
    fn slices_end_at_seconds_and_at_the_edges_of_the_window() {
        let near = |got: f64, expected: f64| assert!((got - expected).abs() < 1e-9, "{got} is not {expected}");
        near(schedule().slice_s(0.0, true), 0.1);
        near(schedule().slice_s(0.1, false), 0.9);
        near(schedule().slice_s(1.0, false), 0.5);
        near(schedule().slice_s(1.5, false), 0.5);
        near(schedule().slice_s(4.001, false), 0.499);
        near(schedule().slice_s(4.5, false), TAIL_SLICE_S);
    }

    #[test]
    fn a_short_remainder_is_joined_to_the_next_slice() {
        let slice_s = schedule().slice_s(1.99, false);
        assert!((slice_s - 1.01).abs() < 1e-9, "{slice_s}");
    }

    #[test]
    fn only_slices_that_begin_in_the_window_count() {
        assert!(!schedule().counts(1.4));
        assert!(schedule().counts(1.5));
    }

    #[test]
    fn microsecond_ops_are_sampled_and_slow_ops_are_all_timed() {
        assert_eq!(stride(80_000, 1.0, Drive::Database), 64);
        assert_eq!(stride(5_000, 1.0, Drive::Database), 1);
        assert_eq!(stride(0, 1.0, Drive::Client), 1);
    }
}
