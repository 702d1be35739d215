//! Little's law: in a closed loop jobs = throughput x (service time + think time), the interactive
//! response time law (E. D. Lazowska et al., "Quantitative System Performance", 1984, 3.5), over
//! all ops and separately for each part of a mixed workload. If they disagree, something was not
//! counted or not timed.
//!
//! The mean of the *sampled* ops is not part of the law: the sample may miss the one op that waited
//! for a second, and a timed op contains a read of the clock. If it is far off, a note says that
//! the percentiles are those of the sample.

use super::cpu::processors;
use super::cpu_quota;
use super::kpm::mean_service_s;
use crate::model::{
    LatencySummary, PartResult, Reason, ReasonCode, Sentence, Status, Tally, TestResult,
};
use crate::stats::LatencyHistogram;
use crate::stats::sequence::POINTS_PER_S;

/// Largest difference between two means of the service time.
const TOLERANCE: f64 = 0.05;
/// Fewest timed ops whose mean is compared.
const MIN_SAMPLES: u64 = 100;
/// Difference between the time of a timed op and of others that is allowed, in s. The clock inside
/// a database ticks in whole microseconds, and a timed op contains a read of it, which is more than
/// 5 % of an op of a few microseconds.
const CLOCK_S: f64 = 1e-6;
/// A tick of more than this part of the median shows.
const TICK_SHOWS: f64 = 0.01;
/// Length of a slice in seconds, but of windows that end when their figure is known.
const SLICE_S: f64 = 1.0;

/// Time that a job may spend in the run queue between two slices, in seconds, for each job that
/// shares the CPU.
const TURN_S: f64 = 0.01;

/// The reasons `little`: invalid if the service times of a part disagree, conditional if jobs were
/// missing from the window, or if they may have waited for processors whose number is not known;
/// and a note `sampling` if the timed ops do not look like all ops.
pub fn judge(result: &TestResult) -> Vec<Reason> {
    let Some(expected_s) = jobs_over_throughput_s(result) else { return vec![] };
    if result.open.is_some() {
        // Jobs that wait for the next due op have think time, but they are there.
        return [ticks(result), presence(result, expected_s)].into_iter().flatten().collect();
    }
    let thinks = result.window.thought_s > 0.0;
    let law = match result.parts.len() {
        0 | 1 => busy(&result.window, result.jobs, slice_s(result), expected_s, Crowd::of(result))
            .into_iter()
            .collect(),
        _ => parts(result),
    };
    // The timed ops of jobs that think are all of them, and shorter than jobs / throughput.
    let sampled = timed(result, expected_s).filter(|_| !thinks);
    let notes = [sampled, ticks(result), presence(result, expected_s)];
    law.into_iter().chain(notes.into_iter().flatten()).collect()
}

/// Jobs / throughput as it is printed; absent without ops.
fn jobs_over_throughput_s(result: &TestResult) -> Option<f64> {
    time_per_op_s(result.jobs, result.ops_per_s).filter(|_| result.window.ops > 0)
}

fn time_per_op_s(jobs: u32, ops_per_s: f64) -> Option<f64> {
    Some(f64::from(jobs) / ops_per_s).filter(|per_op_s| per_op_s.is_finite() && *per_op_s > 0.0)
}

/// Each part of a mixed workload against its own jobs: their ops may differ a thousandfold.
fn parts(result: &TestResult) -> Vec<Reason> {
    let one = |part: &PartResult| {
        let expected_s = time_per_op_s(part.jobs, part.ops_per_s)?;
        Some(
            busy(&part.tally, part.jobs, slice_s(result), expected_s, Crowd::of(result))?
                .of_part(&part.workload),
        )
    };
    result.parts.iter().filter_map(one).collect()
}

/// Up to two slices of a job may be cut off by the window.
fn slice_s(result: &TestResult) -> f64 {
    result.precision.map_or(SLICE_S, |_| 1.0 / POINTS_PER_S as f64)
}

/// Number of jobs that share a CPU of the database's host, which need not be known. Where a quota
/// stopped them they share what it left to them, however many CPUs the host has.
#[derive(Clone, Copy)]
struct Crowd {
    /// The fewest that are possible.
    fewest: f64,
    /// The most that are possible.
    most: f64,
}

impl Crowd {
    /// A job alone on its CPU.
    const ALONE: Crowd = Crowd { fewest: 1.0, most: 1.0 };

    fn of(result: &TestResult) -> Crowd {
        let jobs = f64::from(result.jobs);
        let of_quota = cpu_quota::cpus_of_jobs(result).unwrap_or(f64::INFINITY);
        let known = processors(result).map(|of_host| (jobs / of_host.min(of_quota)).max(1.0));
        Crowd { fewest: known.unwrap_or(1.0), most: known.unwrap_or(jobs.max(1.0)) }
    }
}

/// The loops' own busy time per op, as the engine reported it. Between slices a job waits for its
/// turn.
fn busy(tally: &Tally, jobs: u32, slice_s: f64, expected_s: f64, crowd: Crowd) -> Option<Reason> {
    // A job may end while it thinks, and begins without having thought.
    let thought_s = tally.thought_s / tally.ops.max(1) as f64;
    let cut_off_s = 2.0 * thought_s * f64::from(jobs) / tally.ops.max(1) as f64;
    let busy_s = mean_service_s(tally)? + thought_s;
    let turns = tally.busy_s / slice_s + f64::from(jobs);
    let waited_s = |crowd: f64| TURN_S * crowd * turns / tally.ops as f64 + cut_off_s;
    let missing_s = expected_s - busy_s;
    let exceeds = |waited_s: f64| missing_s.abs() > TOLERANCE * expected_s + waited_s;
    // Waiting explains time that is missing, but none that is too much.
    let Crowd { fewest, most } = if missing_s > 0.0 { crowd } else { Crowd::ALONE };
    let status = if exceeds(waited_s(most)) { Status::Invalid } else { Status::Conditional };
    let sentence = if thought_s > 0.0 {
        "busy and think time per op are {got} us, jobs / throughput {expected} us ({difference%})"
    } else {
        "the mean service time is {got} us, but jobs / throughput is {expected} us ({difference%})"
    };
    exceeds(waited_s(fewest))
        .then(|| Reason::new(status, ReasonCode::Little, against(sentence, busy_s, expected_s)))
}

/// A note if the mean of the timed ops is not that of all ops, within three standard errors if they
/// are a sample.
fn timed(result: &TestResult, expected_s: f64) -> Option<Reason> {
    let buckets = &result.latency.buckets;
    if result.latency.samples < MIN_SAMPLES {
        return None;
    }
    let timed_s = LatencyHistogram::from_buckets(buckets).mean_ns() / 1e9;
    let chance_s = if result.latency_stride > 1 {
        3.0 * standard_error_s(&result.latency, timed_s)
    } else {
        0.0
    };
    let differs = (timed_s - expected_s).abs() > TOLERANCE * expected_s + chance_s + CLOCK_S;
    let sentence = "percentiles are those of the timed ops, whose mean is {got} us, jobs / \
                    throughput {expected} us ({difference%})";
    differs.then(|| {
        Reason::new(Status::Valid, ReasonCode::Sampling, against(sentence, timed_s, expected_s))
    })
}

/// A note if percentiles are so short that the clock's tick shows: they are printed with three
/// digits.
fn ticks(result: &TestResult) -> Option<Reason> {
    let tick_us = result.drive.clock_tick_us()?;
    let coarse = result.latency.p50_us.is_some_and(|p50_us| p50_us * TICK_SHOWS < tick_us);
    let sentence = "the clock that timed the ops ticks every {tick} us: percentiles are not finer";
    let sentence = Sentence::new(sentence).with("tick", tick_us);
    coarse.then(|| Reason::new(Status::Valid, ReasonCode::Clock, sentence))
}

/// Standard error of the mean of weighted samples: of the number of samples of equal weight that
/// carry the same information.
fn standard_error_s(latency: &LatencySummary, mean_s: f64) -> f64 {
    let square = |&(ns, count): &(u64, u64)| (ns as f64 / 1e9 - mean_s).powi(2) * count as f64;
    let squares: f64 = latency.buckets.iter().map(square).sum();
    let ops: u64 = latency.buckets.iter().map(|bucket| bucket.1).sum();
    (squares / ops as f64 / latency.effective_samples()).sqrt()
}

/// Smallest share of the window for which jobs must be present, so that what they did represents
/// what the database did in the window.
const MIN_PRESENT: f64 = 0.5;
/// Longest slice of a short window, as a share of it, because the window's edges cut slices off.
const SHORT_SLICE: f64 = 0.05;

/// Reason if jobs were absent for a part of the window. Jobs that ended early (lost, or done with
/// fixed work) leave the others alone for the rest of it; if jobs are so numerous that their slices
/// are longer than the window, most of them are missing from it.
fn presence(result: &TestResult, expected_s: f64) -> Option<Reason> {
    let full_s = f64::from(result.jobs) * result.window_s;
    let elapsed_s: f64 = result.job_figures.iter().map(|job| job.elapsed_s).sum();
    let cut_off_s = f64::from(result.jobs) * cut_off_s(result, expected_s);
    let absent =
        !result.job_figures.is_empty() && elapsed_s < full_s * (1.0 - TOLERANCE) - cut_off_s;
    let share = elapsed_s / full_s;
    let status = if share < MIN_PRESENT { Status::Invalid } else { Status::Conditional };
    let sentence = Sentence::new("the jobs were looping for only {share%} of the window");
    absent.then(|| Reason::new(status, ReasonCode::Little, sentence.with("share", share)))
}

/// Time of a job at the edges of the window that does not count, at most. Where all that was done
/// counts, as of fixed work, no op is cut off: a job only comes and goes by an op and a turn later
/// or earlier than others.
fn cut_off_s(result: &TestResult, expected_s: f64) -> f64 {
    if result.total.ops == result.window.ops {
        return expected_s + TURN_S;
    }
    let slice_s = slice_s(result).min(SHORT_SLICE * result.window_s);
    2.0 * expected_s.max(slice_s)
}

fn against(sentence: &'static str, got_s: f64, expected_s: f64) -> Sentence {
    Sentence::new(sentence)
        .with("got", got_s * 1e6)
        .with("expected", expected_s * 1e6)
        .with("difference", got_s / expected_s - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Drive, JobResult};

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
        // 18.7 s busy of 20 s: 187 us against 200 us, 6.5 %; 5 % and 21 turns of 10 ms are allowed:
        // 1.21 s.
        let window_counters = fixture::counters(&[("os_cpu_total_s", 20.0)]);
        let result = TestResult {
            window: fixture::tally(100_000, 18.7),
            window_counters,
            ..fixture::result()
        };
        let text = "the mean service time is 187 us, but jobs / throughput is 200 us (-6.50 %)";
        assert_eq!(texts(&result), [(Status::Invalid, text.to_string())]);
        let result = TestResult { window: fixture::tally(100_000, 19.2), ..result };
        assert_eq!(texts(&result), []);
    }

    #[test]
    fn jobs_that_think_obey_the_interactive_response_time_law() {
        // Two jobs for 10 s: 100,000 ops of 80 us, and 120 us of thinking for each.
        let thinking = |thought_s| {
            let window = Tally { thought_s, ..fixture::tally(100_000, 8.0) };
            TestResult { window, latency: fixture::latency(80_000, 100_000), ..fixture::result() }
        };
        assert_eq!(texts(&thinking(12.0)), []);
        let text = "busy and think time per op are 220 us, jobs / throughput 200 us (10.00 %)";
        assert_eq!(texts(&thinking(14.0)), [(Status::Invalid, text.to_string())]);
        let missing = judge(&thinking(10.0));
        assert_eq!(missing[0].code, ReasonCode::Little, "{missing:?}");
        // Few ops with long thoughts: each of two jobs may end, and begin, within one.
        let few = TestResult {
            window: Tally { thought_s: 22.0, ..fixture::tally(10, 0.1) },
            ops_per_s: 1.0,
            ..thinking(0.0)
        };
        let jobs = fixture::result()
            .job_figures
            .into_iter()
            .map(|job| JobResult { tally: Tally { ops: 5, ..Tally::default() }, ..job });
        assert_eq!(judge(&TestResult { job_figures: jobs.collect(), ..few }), []);
    }

    #[test]
    fn jobs_that_share_processors_wait_longer_for_their_turn() {
        // 64 jobs for 10 s, busy for 560 of their 640 s. Allowed: 32 s and 624 turns of 10 ms, 6.24
        // s; of 320 ms with two processors.
        let job = fixture::result().job_figures[0].clone();
        let crowd = |busy_s, cpu_s: &[(&str, f64)]| TestResult {
            jobs: 64,
            ops_per_s: 320_000.0,
            job_figures: vec![job.clone(); 64],
            window: fixture::tally(3_200_000, busy_s),
            window_counters: fixture::counters(cpu_s),
            ..fixture::result()
        };
        let judged = |busy_s, cpu_s: &[(&str, f64)]| {
            judge(&crowd(busy_s, cpu_s)).first().map(|reason| reason.status)
        };
        let processors = |number: f64| [("os_cpu_total_s", 10.0 * number)];
        assert_eq!(judged(560.0, &processors(2.0)), None);
        assert_eq!(judged(560.0, &processors(64.0)), Some(Status::Invalid));
        assert_eq!(judged(560.0, &processors(128.0)), Some(Status::Invalid));
        assert_eq!(judged(350.0, &processors(2.0)), Some(Status::Invalid));
        let quota = [("os_cpu_total_s", 640.0), ("server_cpu_s", 20.0)];
        assert_eq!(judged(560.0, &quota), Some(Status::Invalid), "nobody was stopped");
        let stopped = [&quota[..], &[("server_throttled_s", 500.0)]].concat();
        assert_eq!(judged(560.0, &stopped), None, "a quota of two processors of 64");
        assert_eq!(judged(350.0, &stopped), Some(Status::Invalid));
        assert_eq!(
            judged(560.0, &[]),
            Some(Status::Conditional),
            "a server elsewhere may have few processors or many"
        );
        assert_eq!(judged(250.0, &[]), Some(Status::Invalid), "too little also for one processor");
        assert_eq!(
            judged(720.0, &processors(2.0)),
            Some(Status::Invalid),
            "nobody is busy for longer by waiting"
        );
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
    fn timed_ops_that_are_too_short_are_noted_but_not_a_microsecond() {
        let with = |service_ns| TestResult {
            latency: fixture::latency(service_ns, 100_000),
            ..fixture::result()
        };
        assert_eq!(texts(&with(192_000)), []);
        let text = "percentiles are those of the timed ops, whose mean is 150 us, jobs / \
                    throughput 200 us (-25.0 %)";
        assert_eq!(texts(&with(150_000)), [(Status::Valid, text.into())]);
        let mut fast = TestResult { window: fixture::tally(100_000, 0.3), ..with(2_200) };
        fast.job_figures.truncate(1);
        fast.job_figures[0].tally.ops = 100_000;
        fast.job_figures[0].elapsed_s = 0.3;
        (fast.jobs, fast.window_s, fast.ops_per_s) = (1, 0.3, 100_000.0 / 0.3);
        assert_eq!(texts(&fast), []);
    }

    #[test]
    fn a_sample_may_differ_by_chance() {
        // Of 400 timed ops, 4 took 10 ms and 396 took 80 us: mean 179 us, standard error about 49
        // us.
        let mut result = fixture::result();
        result.latency.buckets = vec![(80_000, 99_000), (10_000_000, 1_000)];
        result.latency.samples = 400;
        result.latency_stride = 250;
        assert_eq!(texts(&result), []);
        result.latency_stride = 1;
        assert_eq!(judge(&result)[0].code, ReasonCode::Sampling);
    }

    #[test]
    fn short_percentiles_say_how_the_clock_ticks() {
        let timed = |drive, p50_us| {
            let mut result = TestResult { drive, ..fixture::result() };
            result.latency.p50_us = Some(p50_us);
            texts(&result)
        };
        let text = "the clock that timed the ops ticks every 1 us: percentiles are not finer";
        assert_eq!(timed(Drive::Database, 3.0), [(Status::Valid, text.to_string())]);
        assert_eq!((timed(Drive::Database, 100.0), timed(Drive::Client, 3.0)), (vec![], vec![]));
    }

    #[test]
    fn each_part_of_a_mix_obeys_the_law_with_its_own_jobs() {
        // A job of 100000 ops, busy for all its 10 s; another of 10 ops, busy for half of its
        // second. Over both the difference is below 5 % (10.5 of 11 s).
        let mut result = fixture::result();
        let part = |workload: &str, ops_per_s: f64, tally: Tally| PartResult {
            workload: workload.into(),
            params: Default::default(),
            chosen: Default::default(),
            jobs: 1,
            tally,
            ops_per_s,
            units_per_s: 0.0,
            latency: Default::default(),
        };
        (result.job_figures[0].tally.ops, result.job_figures[1].tally.ops) = (100_000, 10);
        (result.job_figures[1].part, result.job_figures[1].elapsed_s) = (1, 1.0);
        (result.window, result.window_s) = (fixture::tally(100_010, 10.5), 5.0);
        result.latency = Default::default();
        result.parts = vec![
            part("QUICK", 10_000.0, fixture::tally(100_000, 10.0)),
            part("SLOW", 10.0, fixture::tally(10, 0.5)),
        ];
        let text = "SLOW: the mean service time is 50000 us, but jobs / throughput is 100000 us \
                    (-50 %)";
        assert_eq!(judge(&result)[0].text, text);
        result.parts[1].tally.busy_s = 1.0;
        assert!(judge(&result).iter().all(|reason| reason.status != Status::Invalid));
    }

    #[test]
    fn a_printed_rate_that_contradicts_the_service_time_is_invalid() {
        let text = "the mean service time is 200 us, but jobs / throughput is 13.3 us (1400 %)";
        let result = TestResult { ops_per_s: 150_000.0, ..fixture::result() };
        let found = texts(&result);
        assert_eq!((found[0].0, found[0].1.as_str()), (Status::Invalid, text), "{found:?}");
    }

    #[test]
    fn of_short_windows_and_fixed_work_it_shows_too_who_was_missing() {
        // Jobs of ops of 200 us that were there for 70 % of a window of 2 s.
        let present = |share: f64, window_s: f64| {
            let mut result = TestResult { window_s, ..fixture::result() };
            for job in &mut result.job_figures {
                (job.elapsed_s, job.tally.ops) = (share * window_s, (5000.0 * window_s) as u64);
            }
            result.window = fixture::tally(10_000 * window_s as u64, 2.0 * window_s);
            result
        };
        let text = "the jobs were looping for only 70 % of the window";
        assert_eq!(texts(&present(0.7, 2.0)), [(Status::Conditional, text.into())]);
        assert_eq!(texts(&present(0.86, 2.0)), [], "slices at the edges");
        // Fixed work has no edges that cut off a slice: a job of four that takes 10 ms an op, and
        // the others, which were done long before.
        let mut fixed = present(0.86, 2.0);
        fixed.total = fixed.window.clone();
        let text = "the jobs were looping for only 86 % of the window";
        assert_eq!(texts(&fixed), [(Status::Conditional, text.into())]);
    }

    #[test]
    fn a_job_that_ended_early_is_conditional() {
        let mut result = fixture::result();
        (result.job_figures[1].elapsed_s, result.job_figures[1].tally.ops) = (2.0, 10_000);
        result.window = fixture::tally(60_000, 12.0);
        assert_eq!(
            texts(&result),
            [(Status::Conditional, "the jobs were looping for only 60 % of the window".into())]
        );
        result
            .job_figures
            .iter_mut()
            .for_each(|job| (job.elapsed_s, job.tally.ops) = (8.5, 42_500));
        result.window = fixture::tally(85_000, 17.0);
        assert_eq!(texts(&result), []);
        // 1,000 jobs on two CPUs: 38 % were present, and the sum of their rates was three times the
        // rate of the database.
        result
            .job_figures
            .iter_mut()
            .for_each(|job| (job.elapsed_s, job.tally.ops) = (3.0, 15_000));
        result.window = fixture::tally(30_000, 6.0);
        assert_eq!(
            texts(&result),
            [(Status::Invalid, "the jobs were looping for only 30 % of the window".into())]
        );
    }
}
