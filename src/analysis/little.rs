//! Little's law: in a closed loop without think time, jobs = throughput x service time. Three ways to the mean service
//! time must agree, or something was not counted or not timed.

use super::kpm::mean_service_s;
use super::verdict::because;
use super::words::{number, percent};
use crate::model::{Reason, Status, TestResult};
use crate::stats::LatencyHistogram;

/// Largest difference between two means of the service time.
const TOLERANCE: f64 = 0.05;
/// Fewest timed ops whose mean is compared.
const FEWEST_SAMPLES: u64 = 100;
/// What the loop itself may spend per op outside of a timed op (key, clock, counters), in seconds: for ops of a few
/// microseconds it is more than 5 %, and no error.
const LOOP_COST_S: f64 = 1e-6;
/// Length of a slice in seconds: up to two of a job may be cut off by the window.
const SLICE_S: f64 = 1.0;

/// The reasons `little`: invalid if the service times disagree, conditional if jobs were missing from the window.
pub fn judge(result: &TestResult) -> Vec<Reason> {
    let Some(expected_s) = jobs_over_throughput_s(result) else { return vec![] };
    [busy(result, expected_s), timed(result, expected_s), presence(result, expected_s)].into_iter().flatten().collect()
}

/// Jobs / throughput. Jobs measure over their own elapsed time, so both are averages over these: the mean number of
/// jobs is sum(elapsed) / window, the mean throughput sum(ops) / window. Without figures per job: jobs / ops per second.
fn jobs_over_throughput_s(result: &TestResult) -> Option<f64> {
    let ops: u64 = result.job_figures.iter().map(|job| job.tally.ops).sum();
    let elapsed_s: f64 = result.job_figures.iter().map(|job| job.elapsed_s).sum();
    let per_op = if ops > 0 { elapsed_s / ops as f64 } else { f64::from(result.jobs) / result.ops_per_s };
    (per_op.is_finite() && per_op > 0.0 && result.window.ops > 0).then_some(per_op)
}

/// The loops' own busy time per op, as the engine reported it.
fn busy(result: &TestResult, expected_s: f64) -> Option<Reason> {
    let busy_s = mean_service_s(&result.window)?;
    let differs = (busy_s - expected_s).abs() > TOLERANCE * expected_s;
    differs.then(|| disagree("busy time per op", busy_s, expected_s)).flatten()
}

/// The mean of the timed ops; for a sample it may differ by three standard errors more.
fn timed(result: &TestResult, expected_s: f64) -> Option<Reason> {
    let buckets = &result.latency.buckets;
    let samples: u64 = buckets.iter().map(|bucket| bucket.1).sum();
    if samples < FEWEST_SAMPLES {
        return None;
    }
    let timed_s = LatencyHistogram::from_buckets(buckets).mean_ns() / 1e9;
    let chance_s = if result.latency_stride > 1 { 3.0 * standard_error_s(buckets, samples, timed_s) } else { 0.0 };
    let differs = (timed_s - expected_s).abs() > TOLERANCE * expected_s + chance_s + LOOP_COST_S;
    differs.then(|| disagree("mean of the timed ops", timed_s, expected_s)).flatten()
}

fn standard_error_s(buckets: &[(u64, u64)], samples: u64, mean_s: f64) -> f64 {
    let square = |&(ns, count): &(u64, u64)| (ns as f64 / 1e9 - mean_s).powi(2) * count as f64;
    let squares: f64 = buckets.iter().map(square).sum();
    squares.sqrt() / samples as f64
}

/// Jobs that ended early (lost, or done with fixed work) leave the others alone for the rest of the window.
fn presence(result: &TestResult, expected_s: f64) -> Option<Reason> {
    let full_s = f64::from(result.jobs) * result.window_s;
    let elapsed_s: f64 = result.job_figures.iter().map(|job| job.elapsed_s).sum();
    let cut_off_s = f64::from(result.jobs) * 2.0 * expected_s.max(SLICE_S);
    let absent = !result.job_figures.is_empty() && elapsed_s < full_s * (1.0 - TOLERANCE) - cut_off_s;
    let text = || format!("the jobs were looping for only {} of the window", percent(elapsed_s / full_s));
    absent.then(|| because(Status::Conditional, "little", text())).flatten()
}

fn disagree(what: &str, got_s: f64, expected_s: f64) -> Option<Reason> {
    let (got, expected) = (number(got_s * 1e6), number(expected_s * 1e6));
    let text = format!("{what} is {got} us, jobs / throughput {expected} us ({})", percent(got_s / expected_s - 1.0));
    because(Status::Invalid, "little", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    fn texts(result: &TestResult) -> Vec<(Status, String)> {
        judge(result).into_iter().map(|reason| (reason.status, reason.text)).collect()
    }

    #[test]
    fn jobs_busy_all_the_time_agree() {
        assert_eq!(texts(&fixture::result()), []);
        let without_jobs = TestResult { job_figures: vec![], ..fixture::result() };
        assert_eq!(texts(&without_jobs), []);
    }

    #[test]
    fn time_that_no_loop_accounts_for_is_found() {
        // 18.8 s busy of 20 s: 188 us against 200 us, 6 %.
        let result = TestResult { window: fixture::tally(100_000, 18.8), ..fixture::result() };
        let text = "busy time per op is 188 us, jobs / throughput 200 us (-6.00 %)";
        assert_eq!(texts(&result), [(Status::Invalid, text.to_string())]);
        let result = TestResult { window: fixture::tally(100_000, 19.2), ..result };
        assert_eq!(texts(&result), []);
    }

    #[test]
    fn jobs_of_unequal_length_still_agree() {
        // A fast job for 9 s at 10000/s, a slow one for 10 s at 10/s: 19 s for 90100 ops.
        let mut result = fixture::result();
        (result.job_figures[0].elapsed_s, result.job_figures[0].tally.ops) = (9.0, 90_000);
        (result.job_figures[1].elapsed_s, result.job_figures[1].tally.ops) = (10.0, 100);
        result.window = fixture::tally(90_100, 19.0);
        result.latency = fixture::latency(210_877, 90_100);
        assert_eq!(texts(&result), []);
    }

    #[test]
    fn timed_ops_that_are_too_short_are_found_but_not_a_microsecond() {
        let with = |service_ns| TestResult { latency: fixture::latency(service_ns, 100_000), ..fixture::result() };
        assert_eq!(texts(&with(192_000)), []);
        assert_eq!(texts(&with(150_000))[0].0, Status::Invalid);
        let mut fast = TestResult { window: fixture::tally(100_000, 0.3), ..with(2_200) };
        fast.job_figures.truncate(1);
        fast.job_figures[0].tally.ops = 100_000;
        fast.job_figures[0].elapsed_s = 0.3;
        (fast.jobs, fast.window_s) = (1, 0.3);
        assert_eq!(texts(&fast), []);
    }

    #[test]
    fn a_sample_may_differ_by_chance() {
        // Of 400 timed ops, 4 took 10 ms and 396 took 80 us: mean 179 us, standard error about 49 us.
        let mut result = fixture::result();
        result.latency.buckets = vec![(80_000, 396), (10_000_000, 4)];
        result.latency_stride = 250;
        assert_eq!(texts(&result), []);
        result.latency_stride = 1;
        assert_eq!(texts(&result)[0].0, Status::Invalid);
    }

    #[test]
    fn a_job_that_ended_early_is_conditional() {
        let mut result = fixture::result();
        (result.job_figures[1].elapsed_s, result.job_figures[1].tally.ops) = (2.0, 10_000);
        result.window = fixture::tally(60_000, 12.0);
        assert_eq!(texts(&result), [(Status::Conditional, "the jobs were looping for only 60 % of the window".into())]);
        result.job_figures.iter_mut().for_each(|job| (job.elapsed_s, job.tally.ops) = (8.5, 42_500));
        result.window = fixture::tally(85_000, 17.0);
        assert_eq!(texts(&result), []);
    }
}
