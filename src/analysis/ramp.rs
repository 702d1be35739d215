//! The ramp over the numbers of jobs: which comes next, and what a finished ramp says (speed, throughput,
//! scalability).

mod group;

pub use group::{distinction, groups, label, same, same_but_drive};

use crate::model::{Better, Kpm, PublishedKind, Ramp, Status, TestResult};
use crate::stats::scaling;

/// A step of an automatic ramp must bring this much more throughput than the best so far.
const WORTHWHILE_GAIN: f64 = 0.05;
/// Steps in a row without such a gain that end the ramp.
const VAIN_STEPS: usize = 2;

/// The next number of jobs; none = the ramp is done.
///
/// `done` holds (jobs, throughput) of every test so far in order, ops per second (higher is better, whatever the KPM);
/// 0 for a test that failed. An automatic ramp doubles, ends with `max` itself, and stops early when throughput gained
/// less than 5 % twice in a row.
pub fn next_jobs(ramp: &Ramp, done: &[(u32, f64)]) -> Option<u32> {
    match ramp {
        Ramp::Fixed(list) => list.get(done.len()).copied(),
        Ramp::Auto { from, max } => match done.last() {
            None => Some(*from.min(max)),
            Some((last, _)) if last >= max || saturated(done) => None,
            Some((last, _)) => Some(last.saturating_mul(2).clamp(1, *max)),
        },
    }
}

/// True if none of the last two steps gained 5 % over the best before it.
fn saturated(done: &[(u32, f64)]) -> bool {
    let best_of = |steps: &[(u32, f64)]| steps.iter().map(|step| step.1).fold(0.0, f64::max);
    let gained = |at: usize| done[at].1 > best_of(&done[..at]) * (1.0 + WORTHWHILE_GAIN);
    done.len() > VAIN_STEPS && (done.len() - VAIN_STEPS..done.len()).all(|at| !gained(at))
}

/// A figure of a ramp and the test it comes from (with its verdict, latency and series).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampFigure<'a> {
    /// In `kpm.unit`.
    pub value: f64,
    /// The metric: the test's KPM or its second metric.
    pub kpm: &'a Kpm,
    pub jobs: u32,
    pub test: &'a TestResult,
}

/// Speed: the KPM at one job; absent if the ramp has no test at one job or its KPM is unknown.
pub fn speed<'a>(tests: &[&'a TestResult]) -> Option<RampFigure<'a>> {
    let by_jobs = representatives(tests, primary);
    by_jobs.into_iter().find(|figure| figure.jobs == 1)
}

/// Throughput: the best value at any number of jobs. If the KPM is lower-is-better (a time) and the second metric
/// is higher-is-better (a rate), it is the best of the second metric. A test with an invalid verdict wins only if all
/// are invalid.
pub fn throughput<'a>(tests: &[&'a TestResult]) -> Option<RampFigure<'a>> {
    let by_jobs = representatives(tests, rate);
    let sound: Vec<_> =
        by_jobs.iter().filter(|figure| figure.test.verdict.status != Status::Invalid).copied().collect();
    let candidates = if sound.is_empty() { by_jobs } else { sound };
    candidates.into_iter().reduce(|best, next| if next.kpm.better.beats(next.value, best.value) { next } else { best })
}

/// The throughput curve: one figure per number of jobs, ascending; of repeated tests the one with the median value.
pub fn curve<'a>(tests: &[&'a TestResult]) -> Vec<RampFigure<'a>> {
    let figures = representatives(tests, rate).into_iter();
    figures.filter(|figure| figure.kpm.better == Better::Higher && figure.jobs > 0).collect()
}

/// How throughput grew over the ramp.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalability {
    /// Best throughput / throughput at one job, in the same metric.
    pub factor: f64,
    /// Jobs at which it was reached.
    pub jobs: u32,
    /// Universal Scalability Law, fitted to ops per second; absent with fewer than four numbers of jobs.
    pub law: Option<scaling::Fit>,
}

/// Scalability of a ramp; absent without a test at one job or if throughput is no rate (lower is better).
pub fn scalability(tests: &[&TestResult]) -> Option<Scalability> {
    let best = throughput(tests).filter(|best| best.kpm.better == Better::Higher)?;
    let single = representatives(tests, rate).into_iter().find(|figure| figure.jobs == 1)?;
    let points =
        representatives(tests, ops).iter().map(|figure| (f64::from(figure.jobs), figure.value)).collect::<Vec<_>>();
    let factor = best.value / single.value;
    factor.is_finite().then(|| Scalability { factor, jobs: best.jobs, law: scaling::fit(&points) })
}

fn primary(test: &TestResult) -> Option<RampFigure<'_>> {
    Some(RampFigure { value: test.kpm_value?, kpm: &test.kpm, jobs: test.jobs, test })
}

/// The metric that throughput is stated in.
fn rate(test: &TestResult) -> Option<RampFigure<'_>> {
    match &test.second {
        Some(second) if test.kpm.better == Better::Lower && second.better == Better::Higher => {
            Some(RampFigure { value: test.second_value?, kpm: second, jobs: test.jobs, test })
        }
        _ => primary(test),
    }
}

fn ops(test: &TestResult) -> Option<RampFigure<'_>> {
    if test.published.is_some() {
        // A publication prints its own metric, seldom ops.
        let known = test.verdict.status != Status::Invalid && test.jobs > 0;
        return rate(test).filter(|figure| known && figure.kpm.better == Better::Higher);
    }
    let valid = test.verdict.status != Status::Invalid && test.ops_per_s > 0.0;
    valid.then_some(RampFigure { value: test.ops_per_s, kpm: &test.kpm, jobs: test.jobs, test })
}

/// True if a publication only states it, as speed or throughput: its run table, if it has one, goes before.
pub(super) fn is_statement(test: &TestResult) -> bool {
    test.published.as_ref().is_some_and(|published| published.kind != PublishedKind::Point)
}

/// One figure per number of jobs, ascending: of repeated tests the one with the median value.
fn representatives<'a>(
    tests: &[&'a TestResult],
    metric: fn(&'a TestResult) -> Option<RampFigure<'a>>,
) -> Vec<RampFigure<'a>> {
    let by_jobs = by_jobs(tests, |test| Some(metric(test)?.value));
    by_jobs.iter().filter_map(|repeats| metric(median(repeats).1)).collect()
}

/// The tests with a value per number of jobs, ascending by jobs and by value. What a publication only states is left out
/// where its run table has a value, and an invalid test where a number of jobs has sound ones.
pub(super) fn by_jobs<'a>(
    tests: &[&'a TestResult],
    value: impl Fn(&'a TestResult) -> Option<f64>,
) -> Vec<Vec<(f64, &'a TestResult)>> {
    let known = |&test: &&'a TestResult| Some((value(test).filter(|value| value.is_finite())?, test));
    let mut known: Vec<(f64, &TestResult)> = tests.iter().filter_map(known).collect();
    let has_table = known.iter().any(|(_, test)| !is_statement(test));
    known.retain(|(_, test)| !(has_table && is_statement(test)));
    known.sort_by(|a, b| a.1.jobs.cmp(&b.1.jobs).then(a.0.total_cmp(&b.0)));
    known.chunk_by(|a, b| a.1.jobs == b.1.jobs).map(sound_or_all).collect()
}

/// The repetitions that are not invalid; all if there are none.
fn sound_or_all<'a>(repeats: &[(f64, &'a TestResult)]) -> Vec<(f64, &'a TestResult)> {
    let sound: Vec<_> = repeats.iter().filter(|(_, test)| test.verdict.status != Status::Invalid).copied().collect();
    if sound.is_empty() { repeats.to_vec() } else { sound }
}

/// Of repetitions in ascending order the median one (the lower of two).
pub(super) fn median<'a>(repeats: &[(f64, &'a TestResult)]) -> (f64, &'a TestResult) {
    repeats[(repeats.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::fixture::{at, kpm};
    use crate::model::{KpmValue, Reason, Verdict};

    fn walk(ramp: &Ramp, rate_at: impl Fn(u32) -> f64) -> Vec<u32> {
        let mut done = vec![];
        while let Some(jobs) = next_jobs(ramp, &done) {
            done.push((jobs, rate_at(jobs)));
        }
        done.into_iter().map(|step| step.0).collect()
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
        let rates = BTreeMap::from([(1, 100.0), (2, 190.0), (4, 195.0), (8, 260.0), (16, 262.0), (32, 240.0)]);
        assert_eq!(walk(&Ramp::Auto { from: 1, max }, |jobs| rates[&jobs]), [1, 2, 4, 8, 16, 32]);
        assert_eq!(walk(&Ramp::Auto { from: 1, max }, |_| 0.0), [1, 2, 4]);
        assert_eq!(walk(&Ramp::Auto { from: 1, max }, |_| f64::NAN), [1, 2, 4]);
    }

    #[test]
    fn a_dip_is_measured_against_the_best_before_it() {
        // 100, 50, 90: the step from 50 to 90 is no gain over 100.
        assert_eq!(
            walk(&Ramp::Auto { from: 1, max: 64 }, |jobs| [100.0, 50.0, 0.0, 90.0][jobs as usize - 1]),
            [1, 2, 4]
        );
    }

    #[test]
    fn speed_throughput_and_scalability_of_a_rate() {
        let tests = [at(1, 100.0), at(2, 180.0), at(4, 150.0)];
        let tests: Vec<_> = tests.iter().collect();
        assert_eq!(speed(&tests).unwrap().value, 100.0);
        let best = throughput(&tests).unwrap();
        assert_eq!((best.value, best.jobs), (180.0, 2));
        let grown = scalability(&tests).unwrap();
        assert_eq!((grown.factor, grown.jobs, grown.law), (1.8, 2, None));
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
        let tests = [timed(1, 0.2, 5000.0), timed(2, 0.25, 8000.0)];
        let tests: Vec<_> = tests.iter().collect();
        assert_eq!((speed(&tests).unwrap().value, speed(&tests).unwrap().kpm.unit.as_str()), (0.2, "ms"));
        assert_eq!((throughput(&tests).unwrap().value, throughput(&tests).unwrap().kpm.unit.as_str()), (8000.0, "tps"));
        let alone: Vec<_> = tests.iter().map(|test| TestResult { second: None, ..(*test).clone() }).collect();
        let alone: Vec<_> = alone.iter().collect();
        assert_eq!(throughput(&alone).map(|best| (best.value, best.jobs)), Some((0.2, 1)));
        assert_eq!(scalability(&alone), None);
    }

    #[test]
    fn an_invalid_test_wins_only_among_its_like_and_repeats_give_their_median() {
        let broken = Reason::new(Status::Invalid, "errors", "");
        let invalid = TestResult { verdict: Verdict::from_reasons(vec![broken]), ..at(4, 900.0) };
        let tests = [at(1, 90.0), at(1, 100.0), at(1, 130.0), at(2, 150.0), invalid];
        let all: Vec<_> = tests.iter().collect();
        assert_eq!(speed(&all).unwrap().value, 100.0);
        assert_eq!(throughput(&all).unwrap().value, 150.0);
        assert_eq!(throughput(&all[4..]).unwrap().value, 900.0);
        assert_eq!(speed(&all[3..]), None);
    }

    #[test]
    fn a_sound_repetition_goes_before_an_invalid_one() {
        let broken = |value| TestResult {
            verdict: Verdict::from_reasons(vec![Reason::new(Status::Invalid, "little", "")]),
            ..at(1, value)
        };
        let tests = [broken(800.0), at(1, 866.0), broken(700.0)];
        let all: Vec<_> = tests.iter().collect();
        assert_eq!((speed(&all).unwrap().value, curve(&all)[0].value), (866.0, 866.0));
        assert_eq!(speed(&[all[0], all[2]]).unwrap().value, 700.0);
    }
}
