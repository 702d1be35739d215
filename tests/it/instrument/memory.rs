//! Memory: what the log of a day of a thousand jobs and the figures of it hold, counted by the
//! allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use dbdyno::engine::SliceReport;
use dbdyno::model::{Counters, Drive, Facts, Tally, TestResult, TestSpec, Window};
use dbdyno::stats::LatencyHistogram;
use dbdyno::test_runner::SecondsLog;
use dbdyno::test_runner::assemble::assemble;
use dbdyno::test_runner::log::{JobLog, SliceLog, Who};
use dbdyno::test_runner::raw::Raw;
use dbdyno::test_runner::samples::Samples;
use dbdyno::test_runner::schedule::Edges;

use super::time::selection;

/// Counts the bytes that each thread has asked for and not given back.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

fn held_bytes() -> isize {
    HELD.get()
}

fn add(bytes: isize) {
    // Threads that end have no counter any more.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: the caller's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const JOBS: u32 = 1_000;
const DAY_S: u32 = 24 * 3600;
/// Seconds from one slice to the next, of all jobs in turn: what a slice leaves behind does not
/// depend on whose it is, nor on how many there are in a second.
const EVERY_S: u32 = 20;
/// Counters that a run of a server reads.
const COUNTERS: usize = 40;
const MAX_BYTES: isize = 120_000_000;
const MAX_BYTES_A_SECOND: isize = 1_200;
const MINUTES_S: usize = 600;

#[test]
fn a_day_of_a_thousand_jobs_is_held_in_little_memory() {
    let before = held_bytes();
    let result = day();
    let bytes = held_bytes() - before;
    assert!(bytes < MAX_BYTES, "{bytes} bytes are held");
    assert_eq!((result.series.len(), result.total.ops), (DAY_S as usize, 100 * slice_count()));
    let last = result.series.last().unwrap();
    assert_eq!(last.metrics.iter().count(), COUNTERS);
    // Some minutes of it, read from a results file.
    let part = TestResult { series: result.series[..MINUTES_S].to_vec(), ..result };
    let text = serde_json::to_string(&part).unwrap();
    let before = held_bytes();
    let read: TestResult = serde_json::from_str(&text).unwrap();
    let bytes = held_bytes() - before;
    assert!(bytes < MINUTES_S as isize * MAX_BYTES_A_SECOND, "{bytes} bytes are held");
    assert_eq!(read.series, part.series);
}

/// Number of slices that are reported.
fn slice_count() -> u64 {
    u64::from(DAY_S / EVERY_S)
}

/// The figures of the day. The most that is held at once is less than twice what they hold.
fn day() -> TestResult {
    let (seconds, mut samples) = (SecondsLog::new(JOBS), Samples::default());
    let mut jobs: Vec<(usize, JobLog)> = (0..JOBS).map(|_| (0, JobLog::default())).collect();
    let name = |at| (format!("a_counter_of_the_server_{at}"), 0.0);
    let mut read = Counters((0..COUNTERS).map(name).collect());
    let before = held_bytes();
    for second in 0..=DAY_S {
        read.0.values_mut().for_each(|value| *value += 1.0);
        samples.push(f64::from(second), &read);
        if second < DAY_S && second.is_multiple_of(EVERY_S) {
            let job = second / EVERY_S % JOBS;
            let tally = Tally { ops: 100, busy_s: 1.0, ..Tally::default() };
            let start_s = f64::from(second);
            let latency = LatencyHistogram::from_buckets(&[(10_000_000 + u64::from(second), 1)]);
            let report = SliceReport::new(tally.clone(), 1.0, &latency);
            let slice = SliceLog {
                start_s,
                end_s: start_s + 1.0,
                tally,
                stride: 1,
                counts: true,
                behind: None,
            };
            seconds.add(Who { job: job + 1, part: 0 }, &slice, &report);
            let log = &mut jobs[job as usize].1;
            log.add(&slice);
            log.times.add(&report);
        }
    }
    let (seconds, timeline) = seconds.into_seconds();
    let total_s = f64::from(DAY_S);
    let raw = Raw {
        jobs,
        edges: Edges { open_s: 0.0, close_s: total_s },
        seconds,
        timeline,
        samples,
        total_s,
        facts: Facts::new(),
        ..Raw::default()
    };
    let bytes = held_bytes() - before;
    assert!(bytes < MAX_BYTES, "{bytes} bytes are held by the log");
    let selection = selection(Window::time(0.0, total_s), Drive::Client);
    assemble(&TestSpec::closed(&selection, JOBS, 1), raw).unwrap()
}
