//! The rates of a run that can answer a requirement: what was measured, and whether it meets the
//! SLO.

use super::Span;
use crate::analysis::ramp::{self, Figure, WORTHWHILE_GAIN};
use crate::analysis::slo_search::TrialCounts;
use crate::model::{Better, Drive, LatencySummary, Slo, Status, Test, without_offer};

/// A rate that was measured, the times of its ops, and whether they meet the SLO.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'a> {
    /// The rate, with its interval.
    pub figure: Figure<'a>,
    /// Times of the test that stands for its repetitions, as in other reports.
    times: &'a LatencySummary,
    /// Repetitions that the figure counts, by their outcome for the SLO.
    pub(super) trials: TrialCounts,
    /// True if in a repetition more ops were due and not done than the percentile of the SLO leaves
    /// out, so that it does not show whether the SLO is met.
    pub(super) is_undone: bool,
    /// Ops started when they were due: the times are those of the answers, waits for a free session
    /// included.
    pub is_open: bool,
}

impl<'a> Point<'a> {
    /// The point of a figure of these tests, which differ only in their jobs.
    fn new(figure: Figure<'a>, tests: &[&'a Test], slo: Option<Slo>) -> Point<'a> {
        let open = figure.test.measured().and_then(|test| test.open.as_ref());
        let times = match open {
            Some(open) => &open.response,
            None => figure.test.latency(),
        };
        let counted = ramp::throughput_tests(tests, figure.jobs);
        let trials = TrialCounts::new(counted.iter().map(|test| meets(test, slo)));
        let is_undone = counted.iter().any(|test| is_undone(test, slo));
        Point { figure, times, trials, is_undone, is_open: open.is_some() }
    }

    /// The point beside a better one that does not count, with this number of jobs: then it is a
    /// lower bound.
    pub(super) fn beside(self, passed_over: Option<u32>) -> Point<'a> {
        Point { figure: Figure { passed_over, ..self.figure }, ..self }
    }

    /// The percentile of the SLO, in us.
    pub fn time_us(&self, slo: Slo) -> Option<f64> {
        slo.percentile.value_us(self.times)
    }

    /// True if every repetition that counts meets the SLO, false if every one misses it. None if
    /// they contradict one another, or one is not evidence.
    pub(super) fn keeps(&self) -> Option<bool> {
        self.trials.agreed()
    }

    /// Ends of the interval; both are the figure where a publication prints none, and absent where
    /// none was measured.
    pub fn span(&self) -> Option<Span> {
        let value = self.figure.value;
        match self.figure.interval {
            Ok(interval) => {
                let [low, high] = interval.ends(value);
                Some(Span { value, low: Some(low), high: Some(high) })
            }
            Err(_) if self.figure.test.published().is_some() => {
                Some(Span { value, low: None, high: None })
            }
            Err(_) => None,
        }
    }

    pub(super) fn low(&self) -> Option<f64> {
        self.span().map(|span| span.low.unwrap_or(span.value))
    }

    pub(super) fn high(&self) -> f64 {
        self.span().and_then(|span| span.high).unwrap_or(self.figure.value)
    }

    /// A number of jobs for sentences.
    pub(super) fn jobs(&self) -> u32 {
        self.figure.jobs.unwrap_or_default()
    }

    /// One job of a closed loop: no load is lower.
    pub(super) fn is_least_load(&self) -> bool {
        self.figure.jobs == Some(1) && !self.is_open
    }
}

/// The point with the highest rate.
pub(super) fn highest<'a>(points: impl Iterator<Item = Point<'a>>) -> Option<Point<'a>> {
    points.max_by(|a, b| a.figure.value.total_cmp(&b.figure.value))
}

/// True if a figure is a step up from the best valid one that is worth its jobs.
pub(super) fn is_worthwhile(point: &Point<'_>, most: &Point<'_>) -> bool {
    point.figure.value > most.figure.value * (1.0 + WORTHWHILE_GAIN)
}

/// The best conditional figure above the best valid one that is not known to miss the SLO.
pub(super) fn better_conditional<'a>(others: &[Point<'a>], most: &Point<'_>) -> Option<Point<'a>> {
    let conditional = others
        .iter()
        .filter(|point| point.figure.status() == Status::Conditional)
        .filter(|point| point.keeps() != Some(false))
        .filter(|point| point.figure.value > most.figure.value);
    highest(conditional.copied())
}

/// Tests of the client drive, where there are tests of both drives, because applications are
/// clients.
pub(super) fn of_one_drive(tests: Vec<&Test>) -> Vec<&Test> {
    let client: Vec<&Test> =
        tests.iter().filter(|test| test.drive() == Drive::Client).copied().collect();
    if client.is_empty() { tests } else { client }
}

/// True if the tests differ only in their jobs and rates.
pub(super) fn are_one_work(tests: &[&Test]) -> bool {
    tests.windows(2).all(|pair| without_offer(pair[0].chosen()) == without_offer(pair[1].chosen()))
}

/// The rates of closed loops, one for each number of jobs, and those of open loops.
pub(super) fn points<'a>(slo: Option<Slo>, tests: &[&'a Test]) -> Vec<Point<'a>> {
    let is_open = |test: &&Test| test.measured().is_some_and(|test| test.open.is_some());
    let (open, closed): (Vec<&Test>, Vec<&Test>) = tests.iter().copied().partition(is_open);
    // A publication may print a throughput without its jobs.
    let stated = ramp::throughput(&closed)
        .filter(|best| best.jobs.is_none() && best.better == Better::Higher);
    let figures = ramp::curve(&closed).into_iter().chain(stated);
    let mut points: Vec<Point<'a>> =
        figures.map(|figure| Point::new(figure, &closed, slo)).collect();
    for rate in ramp::groups(open, |test| *test) {
        let figures = ramp::curve(&rate).into_iter();
        points.extend(figures.map(|figure| Point::new(figure, &rate, slo)));
    }
    points
}

/// True if a test met the SLO, an open loop by the times of its answers; none if that is unknown.
fn meets(test: &Test, slo: Option<Slo>) -> Option<bool> {
    let Some(slo) = slo else { return Some(true) };
    let result = test.measured();
    if let Some((open, result)) = result.and_then(|result| Some((result.open.as_ref()?, result))) {
        return open.meets(slo, result.window.ops);
    }
    Some(slo.percentile.value_us(test.latency())? < slo.limit_us)
}

/// True if a test in an open loop has the percentile of the SLO but does not show whether the SLO
/// is met: more ops were due and not done than the percentile leaves out.
fn is_undone(test: &Test, slo: Option<Slo>) -> bool {
    let Some(slo) = slo else { return false };
    let open = test.measured().and_then(|test| test.open.as_ref());
    let response_us = open.and_then(|open| slo.percentile.value_us(&open.response));
    response_us.is_some() && meets(test, Some(slo)).is_none()
}
