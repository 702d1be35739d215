//! Times of slices: pure arithmetic on seconds since the gate opened.

use std::sync::atomic::{AtomicU64, Ordering};

use super::timing_cost::TimingCost;
use dbdyno_core::model::{Drive, End, Window};
use dbdyno_core::stats::LatencyHistogram;
use dbdyno_core::stats::sequence::POINTS_PER_S;

/// The first slice is short: it only learns how long an op takes.
const PROBE_SLICE_S: f64 = 0.1;
/// Most ops of the first slice of work that counts from the start: so few that timing each of them
/// does not show, for nothing may be spent on learning there.
const FIRST_OPS: u64 = 16;
/// Length of the second slice of such work, which is timed as the first one taught: fixed work of
/// 65,536 lookups is over in a quarter of a second.
const EARLY_SLICE_S: f64 = 0.02;
/// Slices after the window, while slower jobs finish theirs. The test ends with one, so that it is
/// short beside the shortest windows.
const TAIL_SLICE_S: f64 = 0.01;
/// A remainder shorter than this is joined to the next slice.
const MIN_S: f64 = 0.02;
/// Distance from an edge at which a slice begins or ends with it.
const EDGE_S: f64 = 1e-6;
/// The most ops to a timed one: a sample a slice of ops of some ns.
const MAX_TO_ONE: u32 = 100_000;
/// Shorter ops are not told apart by a clock that ticks in microseconds.
const TICK_S: f64 = 1e-6;
/// Ops half of which take this long are all timed.
const SLOW_OP_S: f64 = 100e-6;

/// Opening and close of a window, in seconds since the gate; without a close it is infinite.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Edges {
    /// End of the warm-up.
    pub open_s: f64,
    /// End of the measurement window.
    pub close_s: f64,
}

/// Opening and closing of the window, in seconds since the gate. Where it ends when the figure is
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

    /// The same for a load over time: slices end with the points of the log, so that what waits is
    /// known at each of them.
    pub fn by_points(self) -> Self {
        Schedule { step_s: 1.0 / POINTS_PER_S as f64, ..self }
    }

    /// Second at which the window opens.
    pub fn open_s(&self) -> f64 {
        self.open_s.get()
    }

    /// Closing of the window; infinite for fixed work.
    pub fn close_s(&self) -> f64 {
        self.close_s.get()
    }

    /// Both.
    pub fn edges(&self) -> Edges {
        Edges { open_s: self.open_s(), close_s: self.close_s() }
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
    pub fn set_edges(&self, edges: Edges) {
        self.open_s.set(edges.open_s);
        self.close_s.set(edges.close_s);
    }

    /// True if a slice that began at `start_s` belongs to the window.
    pub fn counts(&self, start_s: f64) -> bool {
        start_s >= self.open_s() - EDGE_S
    }

    /// True if the work counts from the start, or so soon that nothing can be learned before.
    fn counts_at_once(&self) -> bool {
        self.open_s() <= 2.0 * PROBE_SLICE_S
    }

    /// True of a job's slice number `slice` (from 0) if it is there to learn from, and counts.
    pub fn is_early(&self, slice: usize) -> bool {
        slice < 2 && self.counts_at_once()
    }

    /// The most ops of a job's slice number `slice` (from 0).
    pub fn most_ops(&self, slice: usize) -> u64 {
        if slice == 0 && self.counts_at_once() { FIRST_OPS } else { u64::MAX }
    }

    /// Length of a job's slice number `slice` (from 0) that begins at `now_s`: up to the next step,
    /// the opening or the close of the window, so that all jobs' slices end together.
    pub fn slice_s(&self, now_s: f64, slice: usize) -> f64 {
        let planned_s = self.planned_slice_s(now_s, slice);
        let to_open_s = self.open_s() - now_s;
        // A slice that ran over the opening would not count, nor the time up to its end.
        if to_open_s > EDGE_S { planned_s.min(to_open_s) } else { planned_s }
    }

    /// The same but for the opening of the window.
    fn planned_slice_s(&self, now_s: f64, slice: usize) -> f64 {
        let close_s = self.close_s();
        match slice {
            0 if !self.counts_at_once() => PROBE_SLICE_S,
            _ if self.is_early(slice) => EARLY_SLICE_S,
            _ if now_s + MIN_S >= close_s => TAIL_SLICE_S,
            _ => self.next_step_s(now_s).min(close_s) - now_s,
        }
    }

    /// The first end of slices that is not too near.
    fn next_step_s(&self, now_s: f64) -> f64 {
        (((now_s + MIN_S) / self.step_s).floor() + 1.0) * self.step_s
    }

    /// Time of the next sample: at whole seconds since the gate, but of a window whose opening was
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

/// Measurements of a slice, from which the stride of the next one is computed.
pub struct StrideInputs<'a> {
    /// Number of ops of the slice.
    pub ops: u64,
    /// Length of the slice, in s.
    pub elapsed_s: f64,
    /// Service times of the timed ops.
    pub times: &'a LatencyHistogram,
}

/// Stride of the next slice: every n-th op is timed. It is 1 if half of the ops take 100 us or
/// more, unless timing each is known to take more than its share of such an op: some 7 us in a
/// routine of MariaDB. Else p99.9 gets its 10,000 samples in a window of ten seconds. A sample
/// inside a database is a few statements of its procedural language, about 1.4 us in PL/pgSQL, so
/// there it is not more than that; in our own loop it is 0.1 us. The median tells short ops from
/// long ones also where jobs often wait for a processor, so that the mean is long.
pub fn stride(learned: &StrideInputs<'_>, drive: Drive, cost: Option<TimingCost>) -> u32 {
    let median_s = learned.times.quantile_ns(0.5) as f64 / 1e9;
    if median_s >= SLOW_OP_S {
        return of_slow(median_s, cost);
    }
    every(learned.elapsed_s / learned.ops as f64, drive)
}

/// The same after one of the first slices where the work counts from the start. Its median op tells
/// more than the mean: the very first op finds nothing prepared, and one moment without a processor
/// is much of so short a slice. The median may be less than the clock's tick: an op takes at least
/// what is left if one of a few took nearly all the time.
pub fn stride_of_first(learned: &StrideInputs<'_>, drive: Drive, cost: Option<TimingCost>) -> u32 {
    let median_s = learned.times.quantile_ns(0.5) as f64 / 1e9;
    let least_s = learned.elapsed_s / (learned.ops * FIRST_OPS) as f64;
    match median_s {
        slow_s if slow_s >= SLOW_OP_S => of_slow(slow_s, cost),
        long_s if long_s >= TICK_S => every(long_s, drive),
        short_s => every(short_s.max(least_s), drive),
    }
}

/// Stride of ops of this length that are all timed, if that costs little.
fn of_slow(op_s: f64, cost: Option<TimingCost>) -> u32 {
    cost.map_or(1, |cost| cost.least_stride(op_s))
}

/// Every how many ops of this length one is timed, for as many samples a second as a drive can
/// afford; all of them if nothing is known.
fn every(op_s: f64, drive: Drive) -> u32 {
    let samples_per_s = match drive {
        Drive::Database => 1_250.0,
        Drive::Client => 10_000.0,
    };
    // Of no ops there is no time: not a number, which becomes 0.
    ((1.0 / op_s / samples_per_s).ceil() as u32).clamp(1, MAX_TO_ONE)
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
        near(schedule().slice_s(0.0, 0), 0.1);
        near(schedule().slice_s(0.1, 1), 0.9);
        near(schedule().slice_s(1.0, 2), 0.5);
        near(schedule().slice_s(1.5, 2), 0.5);
        near(schedule().slice_s(4.001, 2), 0.499);
        near(schedule().slice_s(4.5, 2), TAIL_SLICE_S);
        assert_eq!(schedule().most_ops(0), u64::MAX);
    }

    #[test]
    fn a_short_remainder_is_joined_to_the_next_slice() {
        let slice_s = schedule().slice_s(1.99, 2);
        assert!((slice_s - 1.01).abs() < 1e-9, "{slice_s}");
    }

    #[test]
    fn no_slice_runs_over_the_opening_of_the_window() {
        let schedule = Schedule::new(&Window::time(0.05, 1.0));
        for (now_s, slice) in [(0.021, 2), (0.031, 2), (0.035, 1), (0.045, 2), (0.0499, 2)] {
            let end_s = now_s + schedule.slice_s(now_s, slice);
            assert!((end_s - 0.05).abs() < 1e-9, "from {now_s} to {end_s}");
        }
        assert!((schedule.slice_s(0.05, 2) - 0.95).abs() < 1e-9);
        assert!(schedule.counts(0.05) && schedule.slice_s(0.05 - 1e-7, 2) > 0.9);
    }

    #[test]
    fn edges_move_to_where_slices_end() {
        let end = End::Known { precision: "2%".parse().unwrap(), most_s: 60.0 };
        let schedule = Schedule::new(&Window { warmup_s: 1.0, end });
        assert_eq!(
            (schedule.open_s(), schedule.close_s(), schedule.slice_s(1.0, 2)),
            (20.0, 80.0, 0.25)
        );
        schedule.open_after(1.1);
        assert_eq!(
            (schedule.open_s(), schedule.close_s(), schedule.next_sample_s(1.26)),
            (1.25, 61.25, 2.25)
        );
        schedule.close_after(6.24);
        assert_eq!((schedule.close_s(), schedule.slice_s(6.5, 2)), (6.5, TAIL_SLICE_S));
        schedule.close_after(6.6);
        assert_eq!(schedule.close_s(), 6.5, "never later");
    }

    #[test]
    fn work_that_counts_from_the_start_begins_with_a_few_ops() {
        let ops = Window { warmup_s: 0.0, end: End::Ops(65_536) };
        for window in [ops, Window::time(0.0, 10.0), Window::time(0.15, 10.0)] {
            let schedule = Schedule::new(&window);
            assert_eq!([0, 1, 2].map(|slice| schedule.most_ops(slice)), [16, u64::MAX, u64::MAX]);
            assert_eq!([0, 1].map(|slice| schedule.slice_s(0.001, slice)), [0.02, 0.02]);
            assert!(schedule.slice_s(0.021, 2) > 0.1);
        }
    }

    #[test]
    fn the_first_ops_teach_by_their_median() {
        let stride = |ops, elapsed_s, times: &[(u64, u64)]| {
            let times = &times_of(times);
            stride_of_first(&StrideInputs { ops, elapsed_s, times }, Drive::Database, None)
        };
        // One op of 3 ms, which prepared everything, and 15 of 4 us: 250,000 ops a second.
        assert_eq!(stride(16, 3.06e-3, &[(3_000_000, 1), (4_000, 15)]), 200);
        // 16 ops in 16 us, each below the tick of the clock.
        assert_eq!(stride(16, 16e-6, &[(1, 16)]), 12_800);
        // 18 of 20 ms without a processor.
        assert_eq!(stride(500, 0.02, &[(18_000_000, 1), (4_000, 2)]), 200);
        assert_eq!(stride(1, 0.02, &[(20_000_000, 1)]), 1);
        assert_eq!(stride(0, 0.02, &[]), 1);
    }

    #[test]
    fn only_slices_that_begin_in_the_window_count() {
        assert!(!schedule().counts(1.4));
        assert!(schedule().counts(1.5));
    }

    fn times_of(buckets: &[(u64, u64)]) -> LatencyHistogram {
        LatencyHistogram::from_buckets(buckets)
    }

    #[test]
    fn microsecond_ops_are_sampled_and_slow_ops_are_all_timed() {
        let stride = |ops, elapsed_s, median_us: u64| {
            let times = &times_of(&[(median_us * 1_000, 9)]);
            super::stride(&StrideInputs { ops, elapsed_s, times }, Drive::Database, None)
        };
        assert_eq!(stride(80_000, 1.0, 12), 64);
        assert_eq!(stride(5_000, 1.0, 200), 1);
        // 2 % of 200 us are less than the 7 us that timing each takes: every fourth costs 14 us.
        let cost = TimingCost { of_each_us: 7.0, of_some_us: 14.0 };
        let times = &times_of(&[(200_000, 9)]);
        let learned = StrideInputs { ops: 5_000, elapsed_s: 1.0, times };
        assert_eq!(super::stride(&learned, Drive::Database, Some(cost)), 4);
        assert_eq!(stride_of_first(&learned, Drive::Database, Some(cost)), 4);
        // Ops of 40 us whose jobs have a processor for a third of the time are short all the same.
        assert_eq!(stride(8_000, 1.0, 40), 7);
        assert_eq!(stride(900, 1.0, 40), 1, "few enough");
        assert_eq!(stride(0, 1.0, 0), 1);
    }
}
