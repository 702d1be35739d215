//! Figures from logs of jobs made by hand.

use super::*;
use crate::test_runner::log::{SliceLog, Times};
use crate::test_runner::samples::Samples;
use crate::test_runner::sessions::SessionLog;
use crate::test_runner::timeline::Stretch;

fn slice(start_s: f64, end_s: f64, ops: u64, counts: bool) -> SliceLog {
    let tally = Tally { ops, rows: 2 * ops, busy_s: end_s - start_s, ..Tally::default() };
    SliceLog { start_s, end_s, tally, stride: 1, counts, behind: None }
}

fn log_of(slices: &[SliceLog]) -> JobLog {
    let mut log = JobLog::default();
    slices.iter().for_each(|slice| log.add(slice));
    log
}

fn job(slices: Vec<SliceLog>) -> (usize, JobLog) {
    (0, log_of(&slices))
}

#[test]
fn a_jobs_rate_is_over_its_own_time_and_the_warm_up_does_not_count() {
    let jobs = [
        job(vec![
            slice(0.0, 1.0, 999, false),
            slice(1.0, 2.0, 100, true),
            slice(2.0, 3.0, 140, true),
        ]),
        // One long op: begun inside the window, ended after it.
        job(vec![slice(0.0, 1.5, 1, false), slice(1.5, 4.0, 1, true)]),
    ];
    let figures = job_figures(&jobs, &[3.0]);
    assert_eq!((figures[0].tally.ops, figures[0].elapsed_s, figures[0].units), (240, 2.0, 720.0));
    assert_eq!((figures[1].tally.ops, figures[1].elapsed_s), (1, 2.5));
    assert_eq!(total_rate(&figures[..1], &|job| job.units), 360.0);
}

/// Two jobs whose ops take 20 ms or 3 s by chance: the first is there all the time, the second
/// comes late from a long op of the warm-up and does three short ones in the last moment.
#[test]
fn a_job_that_was_there_for_a_moment_counts_for_a_moment() {
    let result = |part, ops, elapsed_s| JobResult {
        job: 1,
        part,
        tally: Tally { ops, ..Tally::default() },
        units: ops as f64,
        elapsed_s,
    };
    let ops = |job: &JobResult| job.tally.ops as f64;
    let jobs = [result(0, 4, 2.0), result(0, 3, 0.06)];
    let rate = total_rate(&jobs, &ops);
    assert!((rate - 2.0 * 7.0 / 2.06).abs() < 1e-9, "not 52 per second: {rate}");
    // Jobs of another part have other ops, and a job that was never there had none.
    let parts = [jobs[0].clone(), result(1, 100, 1.0), result(1, 0, 0.0)];
    assert_eq!(total_rate(&parts, &ops), 2.0 + 200.0);
    assert_eq!(total_rate(&[result(0, 0, 0.0)], &ops), 0.0);
    // A job that comes late into an open loop also does the ops that waited for it.
    let late = [result(0, 3600, 12.0), result(0, 3600, 8.0)];
    assert_eq!(total_rate(&over_window(&late, 12.0), &ops), 600.0);
    assert_eq!(total_rate(&over_window(&[result(0, 100, 12.5)], 12.0), &ops), 8.0);
}

#[test]
fn the_longest_op_of_a_short_point_and_of_what_follows_the_last_is_in_the_series() {
    let second = |max_us| Second { max_us: Some(max_us), ..Second::default() };
    let seconds = [second(5.0), second(7.0), second(9.0)];
    let longest = |from_s: f64, to_s: f64, is_last| {
        let point = SeriesPoint { t_s: to_s, interval_s: to_s - from_s, ..SeriesPoint::default() };
        longest_us(&seconds, &point, is_last)
    };
    assert_eq!(longest(0.0, 1.0, false), Some(5.0));
    assert_eq!(longest(1.0, 1.3, false), Some(7.0));
    assert_eq!(longest(0.01, 2.02, false), Some(7.0));
    assert_eq!(longest(3.0, 3.2, false), None);
    assert_eq!(longest(0.0, 1.0, true), Some(9.0), "fixed work ended after the last reading");
}

#[test]
fn what_runs_beside_must_be_there_for_the_whole_window() {
    use dbdyno_core::model::{Better, JobCode, Kpm, KpmValue, Selection, Window, Workload};
    let code = JobCode::Bulk { table: "t".into(), batch: 1 };
    let kpm =
        Kpm { value: KpmValue::Ops, unit: "ops/s".into(), better: Better::Higher, scale: 1.0 };
    let selection = Selection::bare(
        Workload::bare("BESIDE", "beside", kpm),
        PartPlan::bare("BESIDE", code),
        Window::time(1.0, 2.0),
    );
    let background = Background { selection, jobs: 2 };
    let found = |second: Vec<SliceLog>| {
        let first = vec![slice(0.0, 1.0, 50, false), slice(1.0, 3.1, 100, true)];
        let raw = Raw {
            background: vec![job(first), job(second)],
            edges: Edges { open_s: 1.0, close_s: 3.0 },
            ..Raw::default()
        };
        let found = beside(&background, &raw).unwrap();
        (found.part.tally.ops, found.covers_window)
    };
    assert_eq!(found(vec![slice(0.0, 1.0, 5, false), slice(1.0, 3.0, 10, true)]), (110, true));
    assert_eq!(
        found(vec![slice(0.0, 1.0, 5, false), slice(1.0, 2.5, 10, true)]),
        (110, false),
        "it ended early"
    );
    assert_eq!(found(vec![slice(1.5, 3.0, 10, true)]), (110, false), "it began late");
    assert_eq!(found(Vec::new()), (100, false));
}

#[test]
fn the_total_counts_everything_and_errors_of_unfinished_slices() {
    let mut broken = job(vec![slice(0.0, 1.0, 5, false)]);
    broken.1.pending_errors.insert("deadlock".into(), 2);
    let total = total_tally(&[broken, job(vec![slice(0.0, 1.0, 7, true)])]);
    assert_eq!((total.ops, total.rows, total.error_count()), (12, 24, 2));
}

#[test]
fn the_series_spreads_a_slice_over_the_seconds_it_covers() {
    let raw = Raw {
        timeline: {
            let mut timeline = Timeline::default();
            let (start_s, end_s) = (0.5, 2.5);
            timeline.add(Stretch { part: 0, start_s, end_s, ops: 200.0, errors: 7 });
            timeline
        },
        background: Vec::new(),
        edges: Edges { open_s: 1.0, close_s: 3.0 },
        seconds: Vec::new(),
        points: Vec::new(),
        snapshots: Vec::new(),
        sessions: SessionLog::default(),
        samples: {
            let mut samples = Samples::default();
            (0..=3).for_each(|t| samples.push(f64::from(t), &Counters::default()));
            samples
        },
        started_at: String::new(),
        total_s: 3.0,
        facts: Facts::new(),
        ..Raw::default()
    };
    let points = series(&raw, &[1.0], 1.0, 3.0);
    let ops: Vec<f64> = points.iter().map(|point| point.ops).collect();
    assert_eq!(ops, [50.0, 100.0, 50.0]);
    let errors: Vec<u64> = points.iter().map(|point| point.errors).collect();
    assert_eq!(errors, [0, 0, 7]);
    assert_eq!(points.iter().map(|point| point.in_window).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn the_mean_is_over_all_ops_and_not_over_the_samples() {
    let sampled = sampled(1000, 2_000, 1_000_000);
    let window = Tally { ops: 1_000_000, busy_s: 3.0, ..Tally::default() };
    let latency = latency_of([&sampled].into_iter(), &window);
    assert_eq!((latency.mean_us, latency.samples), (Some(3.0), 1000));
    assert!((latency.p50_us.unwrap() - 2.0).abs() < 0.01);
    assert_eq!(latency.p999_us, None);
}

fn sampled(samples: u64, ns: u64, ops: u64) -> JobLog {
    let mut latency = LatencyHistogram::new();
    (0..samples).for_each(|_| latency.record_ns(ns));
    let mut times = Times::default();
    times.service.add(&latency, ops);
    JobLog { times, ..log_of(&[slice(0.0, 1.0, ops, true)]) }
}

#[test]
fn jobs_that_are_sampled_differently_count_by_their_ops() {
    // 100 of 10000 ops of 10 us were timed, and all of 1000 ops of 1 ms: 10 of 11 ops take 10
    // us.
    let jobs = [sampled(100, 10_000, 10_000), sampled(1000, 1_000_000, 1000)];
    let latency = latency_of(jobs.iter(), &Tally::default());
    let near = |got: Option<f64>, us: f64| (got.unwrap() / us - 1.0).abs() < 0.002;
    assert!(near(latency.p50_us, 10.0) && near(latency.p90_us, 10.0));
    let counts: Vec<u64> = latency.buckets.iter().map(|bucket| bucket.1).collect();
    assert_eq!(counts, [10_000, 1_000]);
    // They tell as much as 11000^2 / (100 x 100^2 + 1000) samples of equal weight: 121, enough
    // for p90.
    assert_eq!((latency.samples, latency.p90_us.is_some(), latency.p95_us), (1100, true, None));
    assert!((latency.effective_samples.unwrap() - 120.88).abs() < 0.01);
    assert_eq!(latency.ops_per_sample, Some(OpsPerSample { least: 1.0, most: 100.0 }));
}
