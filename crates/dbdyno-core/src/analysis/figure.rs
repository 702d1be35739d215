//! Figures: the values of a run that every report shows, each with its verdict and its interval.
//!
//! They are made here alone, from stored tests: [`estimate`] lets the repetitions of all points of
//! a run inform one another, [`Figure`] is the result of one point in one metric. Reports, pages,
//! comparisons and exports take both and compute nothing themselves.

use std::collections::BTreeMap;

use super::best::{Best, Candidate, select_best};
use super::bottleneck::{self, Bottleneck};
use super::group;
use super::interval::{self, IntervalOrReason, UncertainValue, Unknown};
use super::repeats::{self, Repeat};
use crate::model::{Better, Kpm, KpmValue, Reason, ReasonCode, Sentence, Status, Test, Verdict};
use crate::stats::moderated::{self, Estimate, Repetitions};

/// An interval wider than that leaves no more than an order of magnitude: half width of the
/// logarithm, a quarter more or a fifth less.
pub const USEFUL: f64 = 0.223_143_551_314_209_76;

/// A figure of a run: one workload with its parameters and drive, at one number of jobs, in one
/// metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure<'a> {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: &'a str,
    /// Parameters of the workload, complete.
    pub params: &'a BTreeMap<String, String>,
    /// Absent if a publication does not print them.
    pub jobs: Option<u32>,
    /// Value in `unit`. Repetitions have the mean of their logarithms, which one outlier cannot
    /// move far.
    pub value: f64,
    /// Unit of the value.
    pub unit: &'a str,
    /// Direction in which the value is better.
    pub better: Better,
    /// Source of the value.
    pub computed: &'a KpmValue,
    /// Interval of the value, or the reason why it has none.
    pub interval: IntervalOrReason,
    /// Repetitions that count: those of the best verdict among them.
    pub repetitions: usize,
    /// Further ones, of that verdict or a better one, that measured 0.
    pub zeros: usize,
    /// The test that stands for the repetitions (with its latency and series).
    pub test: &'a Test,
    /// Value of that test alone.
    pub test_value: f64,
    /// Factor by which the interval is wider in comparisons, because chance favored the best of
    /// several figures.
    pub favour: f64,
    /// Jobs of a better figure that is not valid, if this figure is the best of several; it is then
    /// a lower bound.
    pub passed_over: Option<u32>,
}

impl<'a> Figure<'a> {
    /// Figure of the repetitions (one or more) at one number of jobs in a metric.
    pub fn from_repetitions(repeats: &[Repeat<'a>], kpm: &'a Kpm) -> Figure<'a> {
        Figure::computed(repeats, kpm, &kpm.value)
    }

    /// Figure of a value that is not that of the metric, such as ops per second.
    pub fn computed(repeats: &[Repeat<'a>], kpm: &'a Kpm, computed: &'a KpmValue) -> Figure<'a> {
        let counted = repeats::without_zeros(repeats);
        let Repeat { value, test } = repeats::value(counted, kpm.better, computed);
        Figure {
            workload: test.workload(),
            params: test.params(),
            jobs: test.jobs(),
            value,
            unit: &kpm.unit,
            better: kpm.better,
            computed,
            interval: repeats::interval_of(counted, test, computed),
            repetitions: counted.len(),
            zeros: repeats.len() - counted.len(),
            test,
            test_value: repeats::value_of_test(counted, test),
            favour: 1.0,
            passed_over: None,
        }
    }

    /// Relation of the figure to the test that stands for the repetitions.
    pub fn pace(&self) -> Pace {
        Pace::new(self.test, self.better, self.value, self.test_value)
    }

    /// Mean service time at the figure, in us: that of the test which stands for the repetitions,
    /// in proportion, so that the rate and its time agree. Absent if it is not known.
    pub fn mean_us(&self) -> Option<f64> {
        self.test.latency().mean_us.map(|us| self.pace().apply(us, Better::Lower))
    }

    /// The same, and how well it is known: as well as the figure that it is in proportion to. A
    /// rate at a given load does not determine a time, which has no interval then.
    pub fn mean_time(&self) -> Option<UncertainValue> {
        let interval = match self.pace().is_load_given && self.better == Better::Higher {
            true => Err(Unknown::GivenLoad),
            false => self.interval,
        };
        Some(UncertainValue { value: self.mean_us()?, interval })
    }

    /// Half width of its 95 % interval as a fraction of it, if it was measured.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.ok().map(|interval| interval.half_width())
    }

    /// Interval for a comparison with others: wider, if it is the best of several.
    pub fn compared(&self) -> IntervalOrReason {
        interval::widened(self.interval, self.favour)
    }

    /// The ends of that interval.
    pub fn ends(&self) -> Option<[f64; 2]> {
        self.interval.ok().map(|interval| interval.ends(self.value))
    }

    /// Trust in the figure.
    pub fn status(&self) -> Status {
        let own = self.own_reasons().map(|reason| reason.status);
        own.fold(self.test.status(), Status::max)
    }

    /// The verdict on it: that of the repetitions, and what lowers it as a figure.
    pub fn verdict(&self) -> Verdict {
        let reasons = self.test.verdict().reasons.iter().cloned();
        Verdict::from_reasons(self.own_reasons().chain(reasons).collect())
    }

    /// True if others on the machine lowered the verdict.
    pub fn is_disturbed(&self) -> bool {
        self.verdict().has_disturbance()
    }

    /// Bottleneck of the test that stands for it; none of a publication.
    pub fn limit(&self) -> Option<Bottleneck> {
        bottleneck::limit(self.test.measured()?)
    }

    /// Reasons that lower its verdict in addition to the verdicts of its tests.
    pub fn own_reasons(&self) -> impl Iterator<Item = Reason> + use<> {
        let further = [self.passed_over.map(lower_bound), self.zeros_reason()];
        self.wide().into_iter().chain(further.into_iter().flatten())
    }

    fn zeros_reason(&self) -> Option<Reason> {
        let sentence = repeats::zeros_doubt(self.zeros, self.repetitions)?;
        Some(Reason::new(Status::Conditional, ReasonCode::Repetitions, sentence))
    }

    fn wide(&self) -> Option<Reason> {
        let half = self.interval.ok().filter(|_| is_wide(&self.interval))?.half_width();
        let sentence = match half {
            half if half < std::f64::consts::LN_2 => {
                Sentence::new("accurate to +-{half%} only: repeat it").with("half", half)
            }
            half => Sentence::new("accurate to a factor of {factor} only: repeat it")
                .with("factor", half.min(50.0).exp()),
        };
        Some(Reason::new(Status::Conditional, ReasonCode::Wide, sentence))
    }
}

/// True if an interval is too wide to be useful.
pub fn is_wide(known: &IntervalOrReason) -> bool {
    known.is_ok_and(|interval| interval.half_width() > USEFUL)
}

/// A figure beside which a better one is not valid is a lower bound.
fn lower_bound(jobs: u32) -> Reason {
    let sentence = Sentence::new(
        "a lower bound: the better figure at another number of jobs ({jobs}) is not valid",
    );
    Reason::new(Status::Conditional, ReasonCode::PassedOver, sentence.with("jobs", jobs))
}

/// Relation of the figure of repetitions to one of them, by which other rates and times of that
/// test become those of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Speed of the figure as a multiple of that of the test.
    ratio: f64,
    /// Direction in which the figure is better.
    better: Better,
    /// True if rate and service time vary independently: ops are due at given times, or users
    /// think.
    is_load_given: bool,
}

impl Pace {
    /// Relation of `value` to `test_value`, that of this test alone; without effect if one of them
    /// is unknown.
    pub fn new(test: &Test, better: Better, value: f64, test_value: f64) -> Pace {
        let ratio = match better {
            Better::Higher => value / test_value,
            Better::Lower => test_value / value,
        };
        let is_load_given = test
            .measured()
            .is_some_and(|result| result.open.is_some() || result.window.thought_s > 0.0);
        let is_known = ratio.is_finite() && ratio > 0.0;
        Pace { ratio: if is_known { ratio } else { 1.0 }, better, is_load_given }
    }

    /// The rate (better if higher) or time of the test, in proportion. Where the load is given, a
    /// rate does not determine a time, nor a time a rate: the value stays.
    pub fn apply(&self, of_test: f64, better: Better) -> f64 {
        if self.is_load_given && better != self.better {
            return of_test;
        }
        match better {
            Better::Higher => of_test * self.ratio,
            Better::Lower => of_test / self.ratio,
        }
    }
}

/// Estimates how accurate each figure is from the repetitions of all points of a run, and stores
/// that in the tests. To be called once for the tests of a run that are read for a report.
pub fn estimate(tests: &mut [Test]) {
    let found = estimated(tests);
    let places: BTreeMap<u32, usize> =
        tests.iter().enumerate().map(|(at, test)| (test.seq(), at)).collect();
    for TestEstimate { seq, metric, estimate } in found {
        let Some(Test::Measured(test)) = places.get(&seq).map(|at| &mut tests[*at]) else {
            continue;
        };
        test.estimates[metric] = Some(estimate);
    }
}

/// The estimate of a metric of a test.
struct TestEstimate {
    /// Number of the test within the run.
    seq: u32,
    /// Index of the metric: 0 for the KPM, 1 for the second metric.
    metric: usize,
    estimate: Estimate,
}

/// The estimates of a run's tests.
fn estimated(tests: &[Test]) -> Vec<TestEstimate> {
    let measured = tests.iter().filter(|test| test.measured().is_some());
    let ramps = group::groups(measured, |test| *test);
    let mut members: Vec<(usize, Vec<u32>)> = Vec::new();
    let mut points = Vec::new();
    for ramp in &ramps {
        for (metric, value) in [Test::kpm_value as fn(&Test) -> Option<f64>, Test::second_value]
            .into_iter()
            .enumerate()
        {
            for repeats in repeats::by_jobs(ramp, value) {
                let counted = repeats::without_zeros(&repeats);
                let first = counted[0].test;
                let kpm = if metric == 0 { Some(first.kpm()) } else { first.second() };
                let Some((logs, kpm)) = repeats::logs(counted).zip(kpm) else { continue };
                let (within, resource) =
                    (repeats::window_variance(counted, &kpm.value), repeats::resource_of(first));
                points.push(Repetitions { logs, within, resource });
                let of_point = ramp.iter().filter(|test| test.jobs() == first.jobs());
                members.push((metric, of_point.map(|test| test.seq()).collect()));
            }
        }
    }
    let found = moderated::estimates(&points);
    let each = members.into_iter().zip(found);
    each.flat_map(|((metric, seqs), estimate)| {
        seqs.into_iter().map(move |seq| TestEstimate { seq, metric, estimate })
    })
    .collect()
}

/// The best of figures of one metric, as [`select_best`] chooses it.
pub fn best<'a>(figures: Vec<Figure<'a>>) -> Option<Figure<'a>> {
    let better = figures.first()?.better;
    let Best { figure, favour, passed_over } = select_best(figures, better)?;
    Some(Figure { favour, passed_over, ..figure })
}

impl Candidate for Figure<'_> {
    fn value(&self) -> f64 {
        self.value
    }

    fn jobs(&self) -> Option<u32> {
        self.jobs
    }

    fn status(&self) -> Status {
        Figure::status(self)
    }

    fn interval(&self) -> IntervalOrReason {
        self.interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ramp;
    use crate::model::TestResult;

    #[test]
    fn the_mean_service_time_beside_a_figure_is_in_proportion_to_it() {
        let rates = [100.0, 110.0, 90.0, 20.0, 105.0];
        let tests = rates.map(|rate| {
            let mut result = crate::analysis::fixture::at(1, rate);
            result.latency.mean_us = Some(1e6 / rate);
            Test::from(result)
        });
        let figure = ramp::speed(&tests.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(figure.test.latency().mean_us, Some(1e4), "that of the median test");
        assert!(figure.value < 99.0, "{figure:?}");
        let mean_us = figure.mean_us().unwrap();
        assert!((mean_us * figure.value / 1e6 - 1.0).abs() < 1e-9, "{mean_us} {figure:?}");
        let alone = ramp::speed(&[&tests[0]]).unwrap();
        assert_eq!(alone.mean_us(), Some(1e4));
        let time = alone.mean_time().unwrap();
        assert_eq!((time.value, time.interval), (1e4, alone.interval));
        assert!(time.interval.is_ok(), "{time:?}");
        let mut thinking = crate::analysis::fixture::at(1, 100.0);
        (thinking.latency.mean_us, thinking.window.thought_s) = (Some(1e4), 5.0);
        let tests = [Test::from(thinking)];
        let figure = ramp::speed(&[&tests[0]]).unwrap();
        let time = figure.mean_time().unwrap();
        assert!(figure.interval.is_ok() && time.interval == Err(Unknown::GivenLoad), "{time:?}");
    }

    #[test]
    fn a_repetition_that_measured_0_is_not_in_the_mean_and_said() {
        let values = |rates: &[f64]| -> Vec<Test> {
            let mut tests: Vec<Test> = (1..)
                .zip(rates)
                .map(|(seq, rate)| {
                    TestResult { seq, ..crate::analysis::fixture::at(1, *rate) }.into()
                })
                .collect();
            estimate(&mut tests);
            tests
        };
        let (tests, others) =
            (values(&[99.0, 0.0, 100.0, 101.0, 100.5]), values(&[99.0, 100.0, 101.0, 100.5]));
        let figure = ramp::speed(&tests.iter().collect::<Vec<_>>()).unwrap();
        let without = ramp::speed(&others.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((figure.value, figure.interval), (without.value, without.interval));
        assert_eq!((figure.repetitions, figure.zeros), (4, 1));
        assert_eq!((without.status(), figure.status()), (Status::Valid, Status::Conditional));
        let reasons: Vec<String> = figure.own_reasons().map(|reason| reason.text).collect();
        let said = "1 of 5 repetitions measured 0, which does not count: another run may give \
                    another result";
        assert_eq!(reasons, [said]);
        let all = values(&[0.0, 0.0]);
        let figure = ramp::speed(&all.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((figure.value, figure.zeros), (0.0, 0), "nothing else was measured");
    }

    #[test]
    fn where_the_load_is_given_a_rate_tells_nothing_of_the_service_time() {
        let mut result = crate::analysis::fixture::at(1, 100.0);
        let pace = |result: &TestResult| {
            Pace::new(&Test::from(result.clone()), Better::Higher, 125.0, 100.0)
        };
        assert_eq!(pace(&result).apply(100.0, Better::Lower), 80.0);
        result.window.thought_s = 1.0;
        assert_eq!(pace(&result).apply(100.0, Better::Lower), 100.0);
        assert_eq!(pace(&result).apply(100.0, Better::Higher), 125.0, "a rate of a rate");
    }
}
