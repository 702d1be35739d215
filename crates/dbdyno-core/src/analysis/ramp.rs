//! The ramp over the numbers of jobs: which comes next, and what a finished ramp says (speed,
//! throughput, scalability).

use super::derive::derive;
use super::figure;
use super::interval::{self, IntervalOrReason, UncertainValue, Unknown, supports};
use super::ratio::{Change, Ratio};
use super::repeats::{self, Repeat, Repeats, by_jobs, median};
use crate::model::{Better, Kpm, KpmValue, Ramp, Status, Test, Verdict};
use crate::stats::scaling;

pub use super::figure::Figure;
pub use super::group::{distinction, groups, label, same, same_but_drive, same_without};

/// A step of an automatic ramp must bring this much more throughput than the best so far.
pub(super) const WORTHWHILE_GAIN: f64 = 0.05;
/// Steps in a row without such a gain that end the ramp.
const VAIN_STEPS: usize = 2;

/// A step of a ramp that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredStep {
    /// Number of jobs.
    pub jobs: u32,
    /// Throughput, which is better if higher, whatever the KPM; 0 of a test that failed.
    pub ops_per_s: f64,
}

/// The next number of jobs; none = the ramp is done.
///
/// `done` holds every step so far in order. An automatic ramp doubles, ends with `max` itself, and
/// stops early when throughput gained less than 5 % twice in a row.
pub fn next_jobs(ramp: &Ramp, done: &[MeasuredStep]) -> Option<u32> {
    match ramp {
        Ramp::Fixed(list) => list.get(done.len()).copied(),
        Ramp::Auto { from, max } => match done.last() {
            None => Some(*from.min(max)),
            Some(last) if last.jobs >= *max => None,
            Some(_) if is_saturated(done.iter().map(|step| step.ops_per_s)) => None,
            Some(last) => Some(last.jobs.saturating_mul(2).clamp(1, *max)),
        },
    }
}

/// True if the throughput of none of the last two steps of a climb gained 5 % over the best before
/// it. Ops per second of each step in order; 0 for one that failed.
pub fn is_saturated(mut steps: impl Iterator<Item = f64>) -> bool {
    let Some(mut best) = steps.next() else { return false };
    let mut vain = 0;
    for throughput in steps {
        let gained = throughput > best * (1.0 + WORTHWHILE_GAIN);
        vain = if gained { 0 } else { vain + 1 };
        best = best.max(throughput);
    }
    vain >= VAIN_STEPS
}

/// A test and its repetitions.
pub struct RepeatedTest<'a> {
    /// KPM of the repetitions; absent if none has one.
    pub figure: Option<Figure<'a>>,
    /// The repetition that stands for all of them.
    pub test: &'a Test,
    /// Number of repetitions.
    pub times: usize,
}

impl RepeatedTest<'_> {
    /// Interval of the KPM, or the reason why it has none.
    pub fn interval(&self) -> IntervalOrReason {
        let of_test = || interval::of_test(self.test, &self.test.kpm().value);
        self.figure.map_or_else(of_test, |figure| figure.interval)
    }

    /// The verdict on the KPM, or on the test that has none.
    pub fn verdict(&self) -> Verdict {
        self.figure.map_or_else(|| self.test.verdict().clone(), |figure| figure.verdict())
    }
}

/// One entry per number of jobs of each ramp, in order of appearance: of repetitions the sound one
/// with the median KPM, or the last if none has a KPM. Rows of a publication's table are not
/// repetitions.
pub fn repeated<'a>(tests: &[&'a Test]) -> Vec<RepeatedTest<'a>> {
    let mut points: Vec<Vec<&'a Test>> = Vec::new();
    for test in tests {
        let is_of =
            |point: &&mut Vec<&Test>| point[0].jobs() == test.jobs() && same(point[0], test);
        match points.iter_mut().find(is_of).filter(|_| test.measured().is_some()) {
            Some(point) => point.push(test),
            None => points.push(vec![test]),
        }
    }
    points.iter().map(|point| stand_in(point)).collect()
}

fn stand_in<'a>(point: &[&'a Test]) -> RepeatedTest<'a> {
    let by_value = by_jobs(point, Test::kpm_value);
    let figure =
        by_value.first().map(|repeats| Figure::from_repetitions(repeats, repeats[0].test.kpm()));
    let test = figure.map_or(point[point.len() - 1], |figure| figure.test);
    RepeatedTest { figure, test, times: point.len() }
}

/// Speed: the KPM at one job; absent if the ramp has no test at one job or its KPM is unknown.
pub fn speed<'a>(tests: &[&'a Test]) -> Option<Figure<'a>> {
    let by_jobs = representatives(tests, primary);
    by_jobs.into_iter().find(|figure| figure.jobs == Some(1))
}

/// Throughput: the best value at any number of jobs. If the KPM is lower-is-better (a time) and the
/// second metric is higher-is-better (a rate), it is the best of the second metric. A conditional
/// figure is taken only if none is valid, an invalid one only if all are; one beside which a better
/// conditional figure stands is a lower bound.
pub fn throughput<'a>(tests: &[&'a Test]) -> Option<Figure<'a>> {
    figure::best(representatives(tests, rate))
}

/// The conditional figure that would be the throughput if it were valid. Invalid figures are
/// ignored.
pub fn passed_over<'a>(tests: &[&'a Test]) -> Option<Figure<'a>> {
    let jobs = throughput(tests)?.passed_over?;
    representatives(tests, rate).into_iter().find(|figure| figure.jobs == Some(jobs))
}

/// The throughput curve: one figure per number of jobs, ascending.
pub fn curve<'a>(tests: &[&'a Test]) -> Vec<Figure<'a>> {
    let figures = representatives(tests, rate).into_iter();
    figures.filter(|figure| figure.better == Better::Higher && figure.jobs.is_some()).collect()
}

/// The repetitions that the throughput at a number of jobs is computed from.
pub fn throughput_tests<'a>(tests: &[&'a Test], jobs: Option<u32>) -> Vec<&'a Test> {
    let all = by_jobs(tests, |test| Some(rate(test)?.value));
    let at_jobs = all.iter().find(|repeats| repeats[0].test.jobs() == jobs);
    let counted = at_jobs.into_iter().flat_map(|repeats| repeats::without_zeros(repeats));
    counted.map(|repeat| repeat.test).collect()
}

/// The KPM: one figure per number of jobs, ascending.
pub fn kpms<'a>(tests: &[&'a Test]) -> Vec<Figure<'a>> {
    representatives(tests, primary)
}

/// The metric beside the KPM: one figure per number of jobs, ascending.
pub fn seconds<'a>(tests: &[&'a Test]) -> Vec<Figure<'a>> {
    representatives(tests, second)
}

/// The KPM at the least number of jobs.
pub fn kpm_at_fewest_jobs<'a>(tests: &[&'a Test]) -> Option<Figure<'a>> {
    representatives(tests, primary).into_iter().next()
}

/// Time of one op in one job, in s: for measured tests the mean that reports show with their KPM,
/// for a published one as printed.
pub fn one_job_s<'a>(tests: &[&'a Test]) -> Option<Figure<'a>> {
    let of = |test: &Test| Some(derive(test).get("service_time_ms")? / 1000.0);
    let at_jobs = by_jobs(tests, of);
    let one = at_jobs.iter().find(|repeats| repeats[0].test.jobs() == Some(1))?;
    let kpm = one[0].test.kpm();
    let figure = Figure::computed(one, kpm, &KpmValue::ServiceTime);
    let test = representative_test(&by_jobs(tests, Test::kpm_value), one).unwrap_or(figure.test);
    let test_value = repeats::value_of_test(one, test);
    let at_kpm = representatives(tests, primary).into_iter().find(|kpm| kpm.jobs == Some(1));
    let mean_us = at_kpm.filter(|kpm| kpm.test.measured().is_some()).and_then(|kpm| kpm.mean_us());
    let value = mean_us.map_or(figure.value, |us| us / 1e6);
    Some(Figure { unit: "s", better: Better::Lower, value, test, test_value, ..figure })
}

/// Growth of throughput over the ramp.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalability {
    /// Best throughput / throughput at one job, in the same metric.
    pub factor: f64,
    /// Jobs at which it was reached, if they are known.
    pub jobs: Option<u32>,
    /// The worse verdict of the two figures.
    pub status: Status,
    /// The factor with its interval.
    pub ratio: Ratio,
    /// Universal Scalability Law, fitted to ops per second of valid tests; absent with fewer than
    /// four numbers of jobs.
    pub law: Option<scaling::Fit>,
}

/// Scalability of a ramp; absent without a test at one job or if throughput is not a rate (lower is
/// better).
pub fn scalability(tests: &[&Test]) -> Option<Scalability> {
    let best = throughput(tests).filter(|best| best.better == Better::Higher)?;
    let single = representatives(tests, rate).into_iter().find(|figure| figure.jobs == Some(1))?;
    let points = points(&representatives(tests, ops));
    let factor = best.value / single.value;
    let status = best.status().max(single.status());
    let single = UncertainValue { value: single.value, interval: single.interval };
    let compared = UncertainValue { value: best.value, interval: best.compared() };
    factor.is_finite().then(|| Scalability {
        factor,
        jobs: best.jobs,
        status,
        ratio: Ratio::new(single, compared),
        law: scaling::fit(&points),
    })
}

impl Scalability {
    /// True if several jobs do more than one, beyond the noise; of publications as printed. None if
    /// a measured figure has no interval.
    pub fn gains(&self) -> Option<bool> {
        match (self.ratio.change(Better::Higher), self.ratio.span) {
            _ if self.jobs == Some(1) => Some(false),
            (Change::Better, _) => Some(true),
            (Change::Same | Change::Worse, _) => Some(false),
            (Change::Undecided, Err(Unknown::Published)) => Some(self.factor > 1.0),
            (Change::Undecided, _) => None,
        }
    }
}

/// Points that the law is fitted to: jobs and value of the valid figures.
pub fn points(figures: &[Figure<'_>]) -> Vec<(f64, f64)> {
    let accepted = figures.iter().filter(|figure| supports(figure.status()));
    accepted.filter_map(|figure| Some((f64::from(figure.jobs?), figure.value))).collect()
}

/// A metric of a test with its value.
struct Metric<'a> {
    value: f64,
    /// Definition of the metric.
    kpm: &'a Kpm,
    /// Formula or counter that the value is computed from.
    computed: &'a KpmValue,
}

fn primary(test: &Test) -> Option<Metric<'_>> {
    let kpm = test.kpm();
    Some(Metric { value: test.kpm_value()?, kpm, computed: &kpm.value })
}

fn second(test: &Test) -> Option<Metric<'_>> {
    let kpm = test.second()?;
    Some(Metric { value: test.second_value()?, kpm, computed: &kpm.value })
}

/// The metric that throughput is stated in.
fn rate(test: &Test) -> Option<Metric<'_>> {
    match test.second() {
        Some(kpm) if test.kpm().better == Better::Lower && kpm.better == Better::Higher => {
            second(test)
        }
        _ => primary(test),
    }
}

/// Metric that the law is fitted to: ops per second, or the rate that a publication prints.
fn ops(test: &Test) -> Option<Metric<'_>> {
    match test.measured() {
        Some(result) => (result.ops_per_s > 0.0).then(|| Metric {
            value: result.ops_per_s,
            kpm: test.kpm(),
            computed: &KpmValue::Ops,
        }),
        None => {
            rate(test).filter(|rate| test.jobs().is_some() && rate.kpm.better == Better::Higher)
        }
    }
}

/// One figure per number of jobs, ascending.
fn representatives<'a>(
    tests: &[&'a Test],
    metric: fn(&'a Test) -> Option<Metric<'a>>,
) -> Vec<Figure<'a>> {
    let of_kpm = by_jobs(tests, Test::kpm_value);
    let representative = |repeats: &Repeats<'a>| {
        let Metric { kpm, computed, .. } = metric(repeats[0].test)?;
        let figure = Figure::computed(repeats, kpm, computed);
        let test = representative_test(&of_kpm, repeats).unwrap_or(figure.test);
        Some(Figure { test, test_value: repeats::value_of_test(repeats, test), ..figure })
    };
    by_jobs(tests, |test| Some(metric(test)?.value)).iter().filter_map(representative).collect()
}

/// The test that stands for repetitions in every metric: the one with the median KPM, so that the
/// percentiles, counters and verdict of a rate are those of the KPM. None if it is not among the
/// repetitions that count.
fn representative_test<'a>(of_kpm: &[Repeats<'a>], repeats: &[Repeat<'a>]) -> Option<&'a Test> {
    let jobs = repeats[0].test.jobs();
    let same_jobs = of_kpm.iter().find(|repeats| repeats[0].test.jobs() == jobs)?;
    let test = median(repeats::without_zeros(same_jobs), same_jobs[0].test.kpm().better).test;
    repeats::without_zeros(repeats)
        .iter()
        .any(|repeat| std::ptr::eq(repeat.test, test))
        .then_some(test)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::fixture::{at, kpm};
    use crate::model::{KpmValue, Reason, ReasonCode, TestResult, Verdict};

    fn walk(ramp: &Ramp, rate_at: impl Fn(u32) -> f64) -> Vec<u32> {
        let mut done = vec![];
        while let Some(jobs) = next_jobs(ramp, &done) {
            done.push(MeasuredStep { jobs, ops_per_s: rate_at(jobs) });
        }
        done.into_iter().map(|step| step.jobs).collect()
    }

    #[test]
    fn a_fixed_ramp_follows_its_list() {
        assert_eq!(walk(&Ramp::Fixed(vec![4, 1, 2]), |_| 1.0), [4, 1, 2]);
    }

    #[test]
    fn an_automatic_ramp_doubles_to_its_maximum_while_it_gains() {
        assert_eq!(walk(&Ramp::Auto { from: 1, max: 24 }, f64::from), [1, 2, 4, 8, 16, 24]);
        assert_eq!(walk(&Ramp::Auto { from: 3, max: 2 }, f64::from), [2]);
    }

    #[test]
    fn an_automatic_ramp_stops_after_two_vain_steps_in_a_row() {
        let max = 1024;
        // 100, 190, 195 (+2.6 %), 260 (gains again), 262, 240: the last two gained less than 5 %.
        let rates = BTreeMap::from([
            (1, 100.0),
            (2, 190.0),
            (4, 195.0),
            (8, 260.0),
            (16, 262.0),
            (32, 240.0),
        ]);
        assert_eq!(walk(&Ramp::Auto { from: 1, max }, |jobs| rates[&jobs]), [1, 2, 4, 8, 16, 32]);
        assert_eq!(walk(&Ramp::Auto { from: 1, max }, |_| 0.0), [1, 2, 4]);
        assert_eq!(walk(&Ramp::Auto { from: 1, max }, |_| f64::NAN), [1, 2, 4]);
    }

    #[test]
    fn a_dip_is_measured_against_the_best_before_it() {
        // 100, 50, 90: the step from 50 to 90 is not a gain over 100.
        assert_eq!(
            walk(&Ramp::Auto { from: 1, max: 64 }, |jobs| [100.0, 50.0, 0.0, 90.0]
                [jobs as usize - 1]),
            [1, 2, 4]
        );
    }

    #[test]
    fn speed_throughput_and_scalability_of_a_rate() {
        let tests = [at(1, 100.0), at(2, 180.0), at(4, 150.0)].map(Test::from);
        let tests: Vec<_> = tests.iter().collect();
        assert_eq!(speed(&tests).unwrap().value, 100.0);
        let best = throughput(&tests).unwrap();
        assert_eq!((best.value, best.jobs), (180.0, Some(2)));
        let grown = scalability(&tests).unwrap();
        assert_eq!((grown.factor, grown.jobs, grown.law), (1.8, Some(2), None));
    }

    #[test]
    fn a_ramp_gains_only_beyond_the_noise_of_its_figures() {
        let gains = |rates: [f64; 4], freedom: Option<f64>| {
            let step = |(at_step, rate): (usize, f64)| TestResult {
                ci_fraction: Some(0.03),
                ci_freedom: freedom,
                ..at(1 << at_step, rate)
            };
            let tests: Vec<Test> =
                rates.into_iter().enumerate().map(step).map(Test::from).collect();
            let grown = scalability(&tests.iter().collect::<Vec<_>>()).unwrap();
            (grown.factor, grown.gains())
        };
        assert_eq!(gains([100.0, 100.4, 99.8, 100.6], Some(4.0)), (1.006, Some(false)));
        assert_eq!(gains([100.0, 170.0, 180.0, 160.0], Some(4.0)), (1.8, Some(true)));
        assert_eq!(gains([100.0, 90.0, 80.0, 70.0], Some(4.0)), (1.0, Some(false)));
        assert_eq!(gains([100.0, 170.0, 180.0, 160.0], None), (1.8, None), "without intervals");
    }

    #[test]
    fn one_test_stands_for_repetitions_in_every_metric() {
        // The median of the times is not that of the rates.
        let repeats = [(1, 1.0, 30.0), (2, 2.0, 10.0), (3, 3.0, 20.0)];
        let tests = repeats.map(|(seq, time_ms, tps)| {
            Test::from(TestResult {
                seq,
                jobs: 1,
                kpm: kpm(KpmValue::ServiceTime, "ms", Better::Lower),
                kpm_value: Some(time_ms),
                second: Some(kpm(KpmValue::Ops, "tps", Better::Higher)),
                second_value: Some(tps),
                ..crate::analysis::fixture::result()
            })
        });
        let tests: Vec<&Test> = tests.iter().collect();
        let stands = [speed(&tests), throughput(&tests), one_job_s(&tests)];
        assert_eq!(stands.map(|figure| figure.unwrap().test.seq()), [2, 2, 2]);
    }

    #[test]
    fn throughput_of_a_time_is_its_second_metric() {
        let timed = |jobs, ms, tps| TestResult {
            kpm: kpm(KpmValue::ServiceTime, "ms", Better::Lower),
            kpm_value: Some(ms),
            second: Some(kpm(KpmValue::Ops, "tps", Better::Higher)),
            second_value: Some(tps),
            ..at(jobs, tps)
        };
        let results = [timed(1, 0.2, 5000.0), timed(2, 0.25, 8000.0)];
        let tests = results.clone().map(Test::from);
        let tests: Vec<_> = tests.iter().collect();
        assert_eq!((speed(&tests).unwrap().value, speed(&tests).unwrap().unit), (0.2, "ms"));
        assert_eq!(
            (throughput(&tests).unwrap().value, throughput(&tests).unwrap().unit),
            (8000.0, "tps")
        );
        let alone = results.map(|test| Test::from(TestResult { second: None, ..test }));
        let alone: Vec<_> = alone.iter().collect();
        assert_eq!(throughput(&alone).map(|best| (best.value, best.jobs)), Some((0.2, Some(1))));
        assert_eq!(scalability(&alone), None);
    }

    #[test]
    fn an_invalid_test_wins_only_among_its_like_and_repeats_give_their_mean() {
        let broken = Reason::new(Status::Invalid, ReasonCode::Errors, "");
        let invalid = TestResult { verdict: Verdict::from_reasons(vec![broken]), ..at(4, 900.0) };
        let tests =
            [at(1, 90.0), at(1, 100.0), at(1, 130.0), at(2, 150.0), invalid].map(Test::from);
        let all: Vec<_> = tests.iter().collect();
        // Two of the three logarithms lie close together, the third counts less.
        let value = speed(&all).unwrap().value;
        assert!(value > 100.0 && value < (90.0f64 * 100.0 * 130.0).cbrt() + 1e-9, "{value}");
        assert_eq!(throughput(&all).unwrap().value, 150.0);
        assert_eq!(throughput(&all[4..]).unwrap().value, 900.0);
        assert_eq!(speed(&all[3..]), None);
    }

    fn judged(status: Status, jobs: u32, value: f64) -> TestResult {
        TestResult {
            verdict: Verdict::from_reasons(vec![Reason::new(status, ReasonCode::Steal, "")]),
            ..at(jobs, value)
        }
    }

    #[test]
    fn a_conditional_figure_is_no_best_and_no_point_of_a_law() {
        let conditional = judged(Status::Conditional, 8, 900.0);
        let tests =
            [at(1, 100.0), at(2, 190.0), at(4, 350.0), at(6, 500.0), conditional].map(Test::from);
        let all: Vec<_> = tests.iter().collect();
        assert_eq!(throughput(&all).map(|best| (best.value, best.jobs)), Some((500.0, Some(6))));
        assert_eq!(
            passed_over(&all).map(|better| (better.value, better.jobs)),
            Some((900.0, Some(8)))
        );
        assert_eq!(passed_over(&all[..4]), None);
        let invalid = Test::from(judged(Status::Invalid, 8, 900.0));
        assert_eq!(passed_over(&[all[0], all[1], &invalid]), None);
        assert_eq!(scalability(&all).unwrap().law, scalability(&all[..4]).unwrap().law);
        assert_eq!((throughput(&all[4..]).unwrap().value, passed_over(&all[4..])), (900.0, None));
    }

    #[test]
    fn a_valid_repetition_goes_before_a_conditional_one() {
        let tests = [
            judged(Status::Conditional, 1, 800.0),
            at(1, 866.0),
            judged(Status::Conditional, 1, 700.0),
        ]
        .map(Test::from);
        let all: Vec<_> = tests.iter().collect();
        assert_eq!(speed(&all).unwrap().value, 866.0);
    }

    #[test]
    fn a_sound_repetition_goes_before_an_invalid_one() {
        let broken = |value| TestResult {
            verdict: Verdict::from_reasons(vec![Reason::new(
                Status::Invalid,
                ReasonCode::Little,
                "",
            )]),
            ..at(1, value)
        };
        let tests = [broken(800.0), at(1, 866.0), broken(700.0)].map(Test::from);
        let all: Vec<_> = tests.iter().collect();
        assert_eq!((speed(&all).unwrap().value, curve(&all)[0].value), (866.0, 866.0));
        let value = speed(&[all[0], all[2]]).unwrap().value;
        assert!((value - (800.0f64 * 700.0).sqrt()).abs() < 1e-9, "{value}");
    }
}
