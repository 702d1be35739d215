//! When slices begin and end: pure arithmetic on seconds since the gate opened.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::{Drive, End, Window};
use crate::stats::sequence::POINTS_PER_S;

/// The first slice is short: it only learns how long an op takes.
const PROBE_SLICE_S: f64 = 0.1;
/// Slices after the window, while slower jobs finish theirs.
const TAIL_SLICE_S: f64 = 0.05;
/// A remainder shorter than this is joined to the next slice.
const SHORTEST_S: f64 = 0.02;
/// Ops that take this long are all timed.
const SLOW_OP_S: f64 = 100e-6;

/// When the window opens and closes, in seconds since the gate. Where it ends when the figure is
/// known the coordinator moves the edges while the jobs run.
#[derive(Debug)]
pub struct Schedule {
    open_s: Seconds,
    close_s: Seconds,
    /// Slices end at multiples of this.
    step_s: f64,
    window: Window,
}

impl Schedule {
    /// The schedule of a window. The close is infinite for fixed work; edges that can be moved
    /// begin at the latest.
    pub fn new(window: &Window) -> Self {
        let step_s = if window.precision().is_some() { 1.0 / POINTS_PER_S as f64 } else { 1.0 };
        let open_s = match window.end {
            End::Known { .. } => (window.longest_warmup_s() / step_s).ceil() * step_s,
            End::Time(_) => window.warmup_s,
            End::Ops(_) => 0.0,
        };
        let close_s = window.duration_s().map_or(f64::INFINITY, |duration_s| open_s + duration_s);
        Schedule {
            open_s: Seconds::new(open_s),
            close_s: Seconds::new(close_s),
            step_s,
            window: *window,
        }
    }

    /// When the window opens.
    pub fn open_s(&self) -> f64 {
        self.open_s.get()
    }

    /// When the window closes; infinite for fixed work.
    pub fn close_s(&self) -> f64 {
        self.close_s.get()
    }

    /// Both.
    pub fn edges_s(&self) -> (f64, f64) {
        (self.open_s(), self.close_s())
    }

    /// The window that it is for.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Opens the window as soon as all jobs can begin a slice together.
    pub fn open_after(&self, now_s: f64) {
        let open_s = self.next_step_s(now_s).min(self.open_s());
        self.close_s.set(open_s + self.window.duration_s().unwrap_or(f64::INFINITY));
        self.open_s.set(open_s);
    }

    /// Closes the window as soon as all jobs can end a slice together.
    pub fn close_after(&self, now_s: f64) {
        self.close_s.set(self.next_step_s(now_s).min(self.close_s()));
    }

    /// Moves the edges to where somebody else has them.
    pub fn set_edges(&self, (open_s, close_s): (f64, f64)) {
        self.open_s.set(open_s);
        self.close_s.set(close_s);
    }

    /// True if a slice that began at `start_s` belongs to the window.
    pub fn counts(&self, start_s: f64) -> bool {
        start_s >= self.open_s() - 1e-6
    }

    /// Length of the slice that begins at `now_s`: up to the next step, the opening or the close of
    /// the window, so that all jobs' slices end together.
    pub fn slice_s(&self, now_s: f64, first: bool) -> f64 {
        let (open_s, close_s) = (self.open_s(), self.close_s());
        if first && open_s > 2.0 * PROBE_SLICE_S {
            return PROBE_SLICE_S;
        }
        if now_s + SHORTEST_S >= close_s {
            return TAIL_SLICE_S;
        }
        let edges = [open_s, close_s].into_iter().filter(|edge_s| *edge_s > now_s + SHORTEST_S);
        edges.fold(self.next_step_s(now_s), f64::min) - now_s
    }

    /// The first end of slices that is not too near.
    fn next_step_s(&self, now_s: f64) -> f64 {
        (((now_s + SHORTEST_S) / self.step_s).floor() + 1.0) * self.step_s
    }

    /// When to sample next: at whole seconds since the gate, but of a window whose opening was
    /// moved since then.
    pub fn next_sample_s(&self, now_s: f64) -> f64 {
        let moved = self.window.precision().is_some() && now_s >= self.open_s();
        let from_s = if moved { self.open_s() } else { 0.0 };
        from_s + (now_s - from_s).floor() + 1.0
    }
}

/// Seconds that threads share; nothing else is ordered by them.
#[derive(Debug)]
struct Seconds(AtomicU64);

impl Seconds {
    fn new(seconds: f64) -> Self {
        Seconds(AtomicU64::new(seconds.to_bits()))
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, seconds: f64) {
        self.0.store(seconds.to_bits(), Ordering::Relaxed);
    }
}

/// Every how many ops one is timed, from the ops per second seen so far: every op from 100 us up;
/// else so many samples a second that p99.9 has its 10,000 in a window of ten seconds. A sample
/// inside a database is a few statements of its procedural language, about 1.4 us in PL/pgSQL, so
/// there it is not more than that; in our own loop it is 0.1 us.
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
        Schedule::new(&Window::time(1.5, 3.0))
    }

    #[test]
    fn slices_end_at_seconds_and_at_the_edges_of_the_window() {
        let near = |got: f64, expected: f64| {
            assert!((got - expected).abs() < 1e-9, "{got} is not {expected}")
        };
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
    fn edges_move_to_where_slices_end() {
        let end = End::Known { precision: "2%".parse().unwrap(), most_s: 60.0 };
        let schedule = Schedule::new(&Window { warmup_s: 1.0, end });
        assert_eq!(
            (schedule.open_s(), schedule.close_s(), schedule.slice_s(1.0, false)),
            (20.0, 80.0, 0.25)
        );
        schedule.open_after(1.1);
        assert_eq!(
            (schedule.open_s(), schedule.close_s(), schedule.next_sample_s(1.26)),
            (1.25, 61.25, 2.25)
        );
        schedule.close_after(6.24);
        assert_eq!((schedule.close_s(), schedule.slice_s(6.5, false)), (6.5, TAIL_SLICE_S));
        schedule.close_after(6.6);
        assert_eq!(schedule.close_s(), 6.5, "never later");
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
