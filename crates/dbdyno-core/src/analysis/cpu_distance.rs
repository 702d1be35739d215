//! Comparison of the time that a cache line takes between CPUs, which dbdyno measures after tests
//! of several jobs: by where a hypervisor has placed virtual CPUs, jobs that share cached data were
//! faster in one of two runs of a platform, or in some repetitions of one run.

use super::repeats::{self, Repeat, Repeats};
use crate::model::{Better, Sentence, Test, TestResult};
use crate::stats::moderated::Resource;
use crate::stats::summary::{correlation, mean};

/// Counter of the time of these trips in s.
pub const TRIPS_S: &str = "cpu_line_trips_s";
/// Counter of these trips, each of one cache line to another CPU and back.
pub const TRIPS: &str = "cpu_line_trips";

/// Number of tests of each run that show its mean.
const FEWEST: usize = 3;
/// Correlation of speed and time of the line from which on repetitions follow it: equal ones, five
/// of them, reach it by chance in one of ten cases, ten of them in one of eighty.
const FOLLOWING: f64 = -0.7;
/// Number of repetitions that show it.
const FEWEST_REPETITIONS: usize = 5;
/// Longest / shortest time of the line below which its distance is no reason.
const APART: f64 = 1.5;

/// Between this fraction and its reciprocal the CPUs were equally near one another for cached data.
/// Two jobs of such lookups had 0.70 of the rate while a line took 3.9 times as long
/// (docs/decisions/0061-distance-of-cpus.md), so that 1.31 times as long is 7 % of the rate: what
/// two runs differ by in one of twenty comparisons where 2.5 % are assumed of each.
const NEAR_FOR_MEMORY: f64 = 0.76;
/// The same for ops that commit or read from a device: they lost half as much at most.
const NEAR_FOR_DEVICE: f64 = 0.58;

/// Reason against comparing a figure of two runs of one platform: its jobs share data, and the CPUs
/// were nearer to one another in one of the runs, by the tests that count of each. None if a run
/// among `earlier` differed from the base by as much, because the variance of the figure then
/// includes it.
pub(super) fn between(counted: &[Repeats<'_>; 2], earlier: &[Vec<&Test>]) -> Option<Sentence> {
    let [base, other] = counted.each_ref().map(|repeats| trips_log_s(tests_of(repeats)));
    let (base, other) = (base?, other?);
    let times = (other - base).exp();
    let first = counted[0].first()?.test;
    let near = near_for(repeats::resource_of(first))?;
    let first = first.measured()?;
    let is_same = |test: &TestResult| (&test.hash, test.jobs) == (&first.hash, first.jobs);
    let seen = earlier.iter().filter_map(|run| {
        let tests = run.iter().copied().filter(|test| test.measured().is_some_and(is_same));
        trips_log_s(tests)
    });
    let is_known = seen.map(|seen| (seen - base).abs()).any(|seen| seen >= (other - base).abs());
    let sentence = "a cache line took x{times} of the baseline's time from one CPU to another \
                    after these tests: figures of several jobs differ by it";
    let is_another = !(near..=1.0 / near).contains(&times);
    (is_another && !is_known).then(|| Sentence::new(sentence).with("times", times))
}

/// Longest / shortest time of the line after repetitions of a test of several jobs, if these were
/// the slower the longer it took; none if they vary for other reasons.
pub(super) fn within(repeats: &[Repeat<'_>]) -> Option<f64> {
    let first = repeats.first()?.test;
    let direction = match first.kpm().better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
    };
    let (mut speeds, mut trips) = (Vec::new(), Vec::new());
    for repeat in repeats.iter().filter(|repeat| repeat.test.jobs() > Some(1)) {
        if let Some(trip) = trip_log_s(repeat.test) {
            speeds.push(direction * repeat.value.ln());
            trips.push(trip);
        }
    }
    let longest = trips.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shortest = trips.iter().copied().fold(f64::INFINITY, f64::min);
    let times = (longest - shortest).exp();
    let is_following = correlation(&speeds, &trips)? <= FOLLOWING;
    (trips.len() >= FEWEST_REPETITIONS && is_following && times >= APART).then_some(times)
}

/// Fraction of a trip's time from which on CPUs count as equally near for figures that depend on
/// this resource; none if no distance moves them.
fn near_for(resource: Resource) -> Option<f64> {
    match resource {
        Resource::Processor => None,
        Resource::Memory => Some(NEAR_FOR_MEMORY),
        Resource::Device => Some(NEAR_FOR_DEVICE),
    }
}

fn tests_of<'r>(repeats: &'r Repeats<'_>) -> impl Iterator<Item = &'r Test> {
    repeats.iter().map(|repeat| repeat.test)
}

/// Mean of the logarithm of a trip's seconds after tests of several jobs; none if these are few.
fn trips_log_s<'a>(tests: impl Iterator<Item = &'a Test>) -> Option<f64> {
    let has_several_jobs = |test: &&Test| test.jobs().is_some_and(|jobs| jobs > 1);
    let logs: Vec<f64> = tests.filter(has_several_jobs).filter_map(trip_log_s).collect();
    mean(&logs).filter(|_| logs.len() >= FEWEST)
}

/// Logarithm of the seconds of a trip after a test; none where none was measured.
fn trip_log_s(test: &Test) -> Option<f64> {
    let counters = &test.measured()?.counters;
    let trips = counters.get(TRIPS).filter(|trips| *trips > 0.0)?;
    Some((counters.get(TRIPS_S)? / trips).ln()).filter(|log| log.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::{self, counters};

    /// Tests of some jobs whose ops find cached rows, after which a line took this long.
    fn run(jobs: u32, trips_ns: &[f64]) -> Vec<Test> {
        let test = |trip_ns: &f64| {
            let counters = counters(&[(TRIPS, 2.0), (TRIPS_S, 2.0 * trip_ns / 1e9)]);
            let mut result = TestResult { jobs, counters, ..fixture::result() };
            (result.window.commits, result.window.rows) = (0, result.window.ops);
            Test::from(result)
        };
        trips_ns.iter().map(test).collect()
    }

    fn repeats(tests: &[Test]) -> Repeats<'_> {
        tests.iter().map(|test| Repeat { value: 1.0, test }).collect()
    }

    fn said(base: &[Test], other: &[Test], earlier: &[&[Test]]) -> Option<String> {
        let earlier: Vec<Vec<&Test>> = earlier.iter().map(|run| run.iter().collect()).collect();
        between(&[repeats(base), repeats(other)], &earlier).map(|said| said.to_string())
    }

    #[test]
    fn runs_whose_cpus_were_nearer_are_told_apart() {
        let near = run(2, &[110.0, 110.0, 100.0, 121.0]);
        let far = run(2, &[220.0, 240.0, 200.0, 220.0]);
        let text = "a cache line took x2.00 of the baseline's time from one CPU to another after \
                    these tests: figures of several jobs differ by it";
        assert_eq!(said(&near, &far, &[]).as_deref(), Some(text));
        assert!(said(&far, &near, &[]).is_some(), "nearer");
        assert_eq!(said(&near, &near, &[]), None);
        let within = run(2, &[140.0, 140.0, 129.0, 154.0]);
        assert_eq!(said(&near, &within, &[]), None, "x1.27");
    }

    /// The same tests, but their ops commit.
    fn with_commits(tests: Vec<Test>) -> Vec<Test> {
        let commits = |test: Test| {
            let mut result = test.measured().unwrap().clone();
            result.window.commits = result.window.ops;
            Test::from(result)
        };
        tests.into_iter().map(commits).collect()
    }

    /// The same tests, but their ops find no rows.
    fn without_rows(tests: Vec<Test>) -> Vec<Test> {
        let calculates = |test: Test| {
            let mut result = test.measured().unwrap().clone();
            result.window.rows = 0;
            Test::from(result)
        };
        tests.into_iter().map(calculates).collect()
    }

    #[test]
    fn a_figure_that_the_distance_moves_less_may_differ_by_more() {
        let of = |trip_ns: f64| with_commits(run(2, &[trip_ns; 4]));
        assert_eq!(said(&of(110.0), &of(170.0), &[]), None, "x1.55");
        assert!(said(&of(110.0), &of(220.0), &[]).is_some(), "x2");
        let of = |trip_ns: f64| without_rows(run(2, &[trip_ns; 4]));
        assert_eq!(said(&of(110.0), &of(400.0), &[]), None, "a calculation");
    }

    #[test]
    fn one_job_and_few_tests_tell_nothing() {
        let far = run(2, &[220.0; 4]);
        assert_eq!(said(&run(1, &[110.0; 4]), &run(1, &[220.0; 4]), &[]), None, "one job");
        assert_eq!(said(&run(2, &[110.0; 2]), &far, &[]), None, "few tests");
        let unknown = vec![Test::from(TestResult { jobs: 2, ..fixture::result() }); 4];
        assert_eq!(said(&unknown, &far, &[]), None, "not measured");
    }

    /// Repetitions with these values after which a line took this long.
    fn followed(values: &[f64], trips_ns: &[f64]) -> Option<f64> {
        let tests = run(2, trips_ns);
        let repeats: Repeats<'_> =
            values.iter().zip(&tests).map(|(value, test)| Repeat { value: *value, test }).collect();
        within(&repeats)
    }

    #[test]
    fn repetitions_that_are_slower_while_cpus_are_farther_apart_follow_them() {
        let trips_ns = [90.0, 95.0, 100.0, 350.0, 345.0];
        let times = followed(&[230.0, 228.0, 235.0, 151.0, 155.0], &trips_ns).unwrap();
        assert!((times - 350.0 / 90.0).abs() < 1e-9);
        assert_eq!(followed(&[151.0, 155.0, 150.0, 230.0, 228.0], &trips_ns), None, "faster");
        assert_eq!(followed(&[230.0, 150.0, 228.0, 225.0, 155.0], &trips_ns), None, "otherwise");
        assert_eq!(followed(&[230.0, 228.0, 235.0, 151.0], &trips_ns[..4]), None, "too few");
        let near = [90.0, 91.0, 92.0, 120.0, 121.0];
        assert_eq!(followed(&[230.0, 228.0, 235.0, 151.0, 155.0], &near), None, "hardly apart");
    }

    #[test]
    fn what_earlier_runs_show_is_in_their_variance() {
        let (near, far) = (run(2, &[110.0; 4]), run(2, &[220.0; 4]));
        assert!(said(&near, &far, &[&run(2, &[112.0; 4])]).is_some());
        assert_eq!(said(&near, &far, &[&run(2, &[112.0; 4]), &run(2, &[300.0; 4])]), None);
    }
}
