//! The ratios of a comparison, estimated all at once from the repetitions of both runs and what
//! earlier runs of the platform showed: see `stats::moderated`.

use std::collections::BTreeMap;

use super::metric::Metric;
use super::pairs::Pair;
use super::{Comparison, Ratio, Span};
use crate::analysis::group::is_repeated;
use crate::analysis::interval::{self, Unknown, most_trusted, supports};
use crate::analysis::repeats::{self, Repeat, Repeats};
use crate::model::{Better, Sentence, Status, Test};
use crate::stats::moderated::{self, Between, Location, Resource};

/// Windows as long as that, or longer or shorter by this factor at most, are the same test.
const SAME_WINDOW: f64 = 2.0;

/// Note on a figure of which a base of many has no mean.
const ONE_OF_MANY: &str = "compared with one run of the base alone, as two runs are: too few of \
                           its runs have the same test";

/// The tests of one earlier fresh run.
pub type Past<'a> = Vec<&'a Test>;

/// The identity of a row's tests: workload with parameters and drives, and the jobs of both sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    label: String,
    drives: [&'static str; 2],
    jobs: [Option<u32>; 2],
}

/// The repetitions that a row is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub point: Point,
    metric: String,
    group: String,
    better: Better,
    /// Repetitions of the base and of the other run.
    sides: [Repetitions; 2],
    /// Logarithms of earlier runs, in their order; empty for those that do not have the point.
    past: Vec<Vec<f64>>,
}

/// The repetitions of one side.
#[derive(Debug, Clone, PartialEq)]
struct Repetitions {
    /// Logarithms of the values, negated where less is better.
    logs: Vec<f64>,
    /// Value as estimated from the whole run, with its logarithm negated where less is better;
    /// absent for publications.
    location: Option<Location>,
    /// Squared standard error of a single repetition, from the seconds of its window, or the reason
    /// why there is none.
    within: Result<f64, Unknown>,
    /// Resource that the figure depends on most.
    resource: Resource,
}

/// The worst verdict of repetitions.
pub fn worst(repeats: &Repeats<'_>) -> Status {
    repeats.iter().map(|repeat| repeat.test.status()).max().unwrap_or(Status::Invalid)
}

impl Repetitions {
    fn new(repeats: &Repeats<'_>, metric: &Metric) -> Repetitions {
        if repeats.iter().any(|repeat| repeat.test.measured().is_none()) {
            return Repetitions {
                logs: Vec::new(),
                location: None,
                within: Err(Unknown::Published),
                resource: Resource::default(),
            };
        }
        let within = match repeats.as_slice() {
            [single] => {
                let known = interval::of_test(single.test, metric.computed(single.test));
                known.map(|interval| interval.error.powi(2))
            }
            _ => Err(Unknown::ShortWindow),
        };
        let of_run = repeats.first().and_then(|Repeat { test, .. }| {
            repeats::estimate_of(repeats, test, metric.computed(test))
        });
        let turned =
            |location: Location| Location { at: sign(metric.better) * location.at, ..location };
        let location = of_run.map(|estimate| turned(estimate.location));
        let resource = repeats.iter().map(|repeat| repeats::resource_of(repeat.test)).max();
        Repetitions {
            logs: logs(repeats, metric.better),
            location,
            within,
            resource: resource.unwrap_or_default(),
        }
    }
}

fn logs(repeats: &Repeats<'_>, better: Better) -> Vec<f64> {
    repeats.iter().map(|repeat| sign(better) * repeat.value.ln()).collect()
}

fn sign(better: Better) -> f64 {
    if better == Better::Higher { 1.0 } else { -1.0 }
}

impl Sample {
    /// Sample from the repetitions of a pair that count; `past` holds the tests of earlier runs.
    pub fn new(
        pair: &Pair<'_>,
        metric: &Metric,
        counted: &[Repeats<'_>; 2],
        past: &[Past<'_>],
    ) -> Sample {
        let first = |side: usize| counted[side].first().map(|repeat| repeat.test);
        let of_run = |tests: &Past<'_>| earlier(tests, metric, first(0), first(1));
        Sample {
            point: Point {
                label: pair.subject.label(),
                drives: [0, 1].map(|side| first(side).map_or("", |test| test.drive().name())),
                jobs: [0, 1].map(|side| first(side).and_then(Test::jobs)),
            },
            metric: metric.name.clone(),
            group: pair.subject.group.clone(),
            better: metric.better,
            sides: [0, 1].map(|side| Repetitions::new(&counted[side], metric)),
            past: past.iter().map(of_run).collect(),
        }
    }

    /// True if it says something: both sides were measured.
    fn is_measured(&self) -> bool {
        self.sides.iter().all(|side| !side.logs.is_empty())
    }

    fn key(&self) -> (&Point, &str) {
        (&self.point, &self.metric)
    }

    /// The reason for a missing interval.
    fn unknown(&self) -> Unknown {
        let why = self.sides.iter().filter_map(|side| side.within.err());
        why.into_iter().next().unwrap_or(Unknown::ShortWindow)
    }
}

/// The logarithms of a point in an earlier run: of the same work at the same number of jobs in
/// windows of the same length.
fn earlier(
    tests: &Past<'_>,
    metric: &Metric,
    base: Option<&Test>,
    other: Option<&Test>,
) -> Vec<f64> {
    let Some((base, other)) = base.zip(other) else { return Vec::new() };
    let window_s = |test: &Test| test.measured().map(|test| test.window_s);
    let is_as_long = |test: &&&Test| {
        let ratio = window_s(test).zip(window_s(base)).map(|(own, base)| own / base);
        ratio.is_some_and(|ratio| (1.0 / SAME_WINDOW..=SAME_WINDOW).contains(&ratio))
    };
    let is_same = |test: &&&Test| is_repeated(base, test) && is_repeated(other, test);
    let same = tests.iter().filter(is_same).filter(is_as_long);
    let known = same.filter_map(|&test| Some(Repeat { value: metric.value(test)?, test }));
    let sound = known.filter(|repeat| repeat.value > 0.0 && repeat.test.status() < Status::Invalid);
    let sound: Repeats<'_> = sound.collect();
    logs(&most_trusted(sound, |repeat| repeat.test.status()), metric.better)
}

/// The estimate for a point.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    /// Ratio with its variance; absent if the variance is unknown.
    ratio: Option<moderated::Ratio>,
    /// Logarithms of the values of both sides.
    at: [f64; 2],
    /// The base is the mean of many runs.
    is_base: bool,
}

/// Estimates the ratios of a comparison in place: of its KPMs together with those at equal numbers
/// of jobs, and of the further metrics. With `is_base` the earlier runs are the base.
pub fn estimate(comparison: &mut Comparison, is_base: bool) {
    let of_kpms = comparison.kpms.iter().filter_map(|row| row.sample.clone());
    let of_lines = comparison.equal_jobs.iter().filter_map(|line| line.sample.clone());
    let samples: Vec<Sample> = of_kpms.chain(of_lines).collect();
    let found = Estimates::new(&samples, is_base);
    (comparison.earlier_runs, comparison.widened) = (found.earlier_runs, found.widened);
    if found.earlier_runs == 0 {
        comparison.calibrations.clear();
    }
    for row in &mut comparison.kpms {
        found.apply(row);
    }
    for line in &mut comparison.equal_jobs {
        let Some(sample) = &line.sample else { continue };
        let found = found.ratio(sample, [line.base, line.other]);
        line.ratio = found.ratio;
        [line.base, line.other] = found.values;
    }
    let further: Vec<Sample> =
        comparison.further.iter().filter_map(|row| row.sample.clone()).collect();
    let found = Estimates::new(&further, is_base);
    comparison.further.iter_mut().for_each(|row| found.apply(row));
}

/// Estimates of points that inform one another.
struct Estimates<'a> {
    found: BTreeMap<(&'a Point, &'a str), Estimate>,
    earlier_runs: usize,
    widened: Option<f64>,
    /// The earlier runs are the base.
    is_base: bool,
}

impl<'a> Estimates<'a> {
    fn new(samples: &'a [Sample], is_base: bool) -> Estimates<'a> {
        let mut points: BTreeMap<(&Point, &str), &Sample> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| sample.is_measured()) {
            points.entry(sample.key()).or_insert(sample);
        }
        let points: Vec<&Sample> = points.into_values().collect();
        let [base, other] = [0, 1].map(|side| located(&points, side));
        let past = past(&points);
        let between = Between::from_runs(&past);
        let pairs = moderated::pair(&base, &other, &groups(&points), between.as_ref());
        let many = between.as_ref().filter(|_| is_base).map(|between| {
            let other: Vec<Option<Location>> = other.iter().copied().map(Some).collect();
            moderated::against_many(&past, &other, between)
        });
        let estimate = |at: usize| {
            // A point that fewer than two runs of the base have is compared as that of two runs.
            let of_many = many.as_ref().and_then(|many| many.ratios[at]);
            // With a base of many runs, the ratio determines the value of the base.
            let at_base = of_many.map_or(base[at].at, |ratio| other[at].at - ratio.log);
            let ratio = of_many.or(pairs.ratios[at]);
            let at_both = [at_base, other[at].at];
            (points[at].key(), Estimate { ratio, at: at_both, is_base: of_many.is_some() })
        };
        Estimates {
            found: (0..points.len()).map(estimate).collect(),
            earlier_runs: between.as_ref().map_or(0, |between| between.runs),
            widened: pairs.widened,
            is_base,
        }
    }

    /// The ratio of a sample. `values` are those of both sides as measured, which stay for tests
    /// that were not repeated.
    fn ratio(&self, sample: &Sample, values: [f64; 2]) -> SampleRatio {
        let Some(found) = self.found.get(&sample.key()) else {
            let span = Err(sample.unknown());
            let ratio = Ratio { value: values[1] / values[0], span };
            return SampleRatio { ratio, values, estimate: None };
        };
        let sign = sign(sample.better);
        let is_mean = |side: usize| side == 0 && found.is_base;
        let value = |side: usize| match sample.sides[side].logs.len() {
            1 if !is_mean(side) => values[side],
            _ => (sign * found.at[side]).exp(),
        };
        let values = [value(0), value(1)];
        let ratio = values[1] / values[0];
        let span = found.ratio.map(|one| {
            let factor = one.half_width().exp();
            Span { low: ratio / factor, high: ratio * factor, p: one.p() }
        });
        let ratio = Ratio { value: ratio, span: span.ok_or(sample.unknown()) };
        SampleRatio { ratio, values, estimate: found.ratio }
    }

    fn apply(&self, row: &mut super::Row) {
        let Some(sample) = &row.sample else { return };
        let before = row.ratio.value;
        let found = self.ratio(sample, [row.base, row.other]);
        let share = found.ratio.value / before;
        for per in [&mut row.per_job, &mut row.per_core, &mut row.per_licence, &mut row.per_price] {
            *per = per.map(|per| per * share);
        }
        let is_of_one = self.found.get(&sample.key()).is_some_and(|found| !found.is_base);
        if self.is_base && is_of_one {
            row.notes.push(Sentence::new(ONE_OF_MANY));
        }
        row.ratio = found.ratio;
        [row.base, row.other] = found.values;
        row.estimate = found.estimate;
    }
}

/// Ratio of a sample.
struct SampleRatio {
    /// Other / base, with its interval.
    ratio: Ratio,
    /// Values of the base and of the other side.
    values: [f64; 2],
    /// Estimate that the interval is computed from, if there is one.
    estimate: Option<moderated::Ratio>,
}

/// The values of all points on one side.
fn located(points: &[&Sample], side: usize) -> Vec<Location> {
    let logs: Vec<Vec<f64>> = points.iter().map(|point| point.sides[side].logs.clone()).collect();
    let sides = points.iter().map(|point| &point.sides[side]);
    let found = moderated::locate(&logs).into_iter().zip(sides);
    let as_of_run = |(here, own): (Location, &Repetitions)| Location {
        within: own.within.ok(),
        resource: own.resource,
        ..own.location.unwrap_or(here)
    };
    found.map(as_of_run).collect()
}

/// The values of all points in earlier runs.
fn past(points: &[&Sample]) -> Vec<Vec<Option<Location>>> {
    let runs = points.iter().map(|point| point.past.len()).max().unwrap_or(0);
    let of_run = |run: usize| -> Vec<Option<Location>> {
        let logs = |point: &&Sample| point.past.get(run).cloned().unwrap_or_default();
        let logs: Vec<Vec<f64>> = points.iter().map(logs).collect();
        let known: Vec<Vec<f64>> = logs.iter().filter(|one| !one.is_empty()).cloned().collect();
        let mut located = moderated::locate(&known).into_iter();
        logs.iter().map(|one| if one.is_empty() { None } else { located.next() }).collect()
    };
    let runs = (0..runs).map(of_run);
    runs.filter(|run| run.iter().any(Option::is_some)).collect()
}

/// A number for the group of each point.
fn groups(points: &[&Sample]) -> Vec<usize> {
    let mut known: Vec<&str> = Vec::new();
    let mut numbers = Vec::new();
    for point in points {
        let at = known.iter().position(|one| *one == point.group).unwrap_or_else(|| {
            known.push(&point.group);
            known.len() - 1
        });
        numbers.push(at);
    }
    numbers
}

/// True if a row may decide something: its verdict accepts it, and its interval is known.
pub fn decides(row: &super::Row) -> bool {
    supports(row.status) && row.estimate.is_some()
}
