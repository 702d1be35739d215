//! How well a figure is known: the half width of its 95 % interval, measured or absent; and which figures may support a
//! statement (a best, a rank, a share, a mean, a fitted law, a word of praise): the one judge of it everywhere.

use std::fmt;

use crate::model::{Status, Test};
use crate::stats::summary::t95;
use crate::stats::summary::{mean, variance};

/// Repetitions from which their spread gives an interval.
pub const FEWEST_REPETITIONS: usize = 3;
/// A shorter window has too few seconds for batch means, in s.
const SHORTEST_WINDOW_S: f64 = 5.0;
/// Batch means stand on five batches at least; how many there were is not stored.
const FREEDOM_OF_SECONDS: f64 = 4.0;
/// Standard error of a median / that of a mean of normal values: sqrt(pi / 2), the limit for many values.
const MEDIAN_OVER_MEAN: f64 = 1.2533;

/// What the interval of a figure was measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The spread of so many repetitions (Student's t).
    Repetitions(usize),
    /// The seconds of one window (batch means).
    Seconds,
}

/// The 95 % confidence interval of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Half width as a fraction of the figure.
    pub fraction: f64,
    pub source: Source,
}

/// Why a figure has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Publications print none.
    Published,
    /// One or two windows too short for an interval of their own seconds; how many.
    ShortWindows(usize),
    /// The seconds of the window resemble one another however they are grouped.
    Alike,
}

impl Unknown {
    /// As reports and comparisons say it.
    pub fn text(self) -> &'static str {
        match self {
            Unknown::Published => "no interval: a publication prints none",
            Unknown::ShortWindows(1) => "no interval: one short window",
            Unknown::ShortWindows(_) => "no interval: two short windows",
            Unknown::Alike => "no interval: the seconds of the window resemble one another",
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// How well a figure is known.
pub type Known = Result<Interval, Unknown>;

impl Interval {
    /// Standard error of the figure as a fraction of it, and its degrees of freedom; of repetitions that of the median.
    pub fn standard_error(&self) -> Option<(f64, f64)> {
        let (freedom, factor) = match self.source {
            Source::Repetitions(count) => (count as f64 - 1.0, MEDIAN_OVER_MEAN),
            Source::Seconds => (FREEDOM_OF_SECONDS, 1.0),
        };
        Some((factor * self.fraction / t95(freedom)?, freedom))
    }
}

/// Of a single test: from the seconds of its window.
pub fn of_test(test: &Test) -> Known {
    let test = test.measured().ok_or(Unknown::Published)?;
    match test.ci_fraction {
        Some(fraction) => Ok(Interval { fraction, source: Source::Seconds }),
        None if test.window_s < SHORTEST_WINDOW_S => Err(Unknown::ShortWindows(1)),
        None => Err(Unknown::Alike),
    }
}

/// Of the values of repetitions, which `test` stands for: from their spread if there are three or more, else from the
/// seconds of that test.
pub fn of(values: &[f64], test: &Test) -> Known {
    let count = values.len();
    if let Some(fraction) = spread(values).filter(|_| count >= FEWEST_REPETITIONS && test.measured().is_some()) {
        return Ok(Interval { fraction, source: Source::Repetitions(count) });
    }
    of_test(test).map_err(|unknown| match unknown {
        Unknown::ShortWindows(_) => Unknown::ShortWindows(count.max(1)),
        other => other,
    })
}

/// Half width of the 95 % interval of the mean of repetitions, as a fraction of it: t(0.975, n - 1) s / sqrt(n) / mean.
fn spread(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let half = t95(n - 1.0)? * (variance(values)? / n).sqrt() / mean(values)?.abs();
    half.is_finite().then_some(half)
}

/// A best, a rank or a mean of fewer figures says nothing: an only figure is not the best of anything.
pub const FEWEST: usize = 2;

/// True if the verdict accepts the figure. Others are shown with their mark, and what is said counts them as left out.
pub fn supports(status: Status) -> bool {
    status == Status::Valid
}

/// The items of the best verdict that is among them: the valid ones; the conditional ones if none is valid; else all.
/// So a figure can be shown (with its mark) where there is none that supports a statement.
pub fn most_trusted<T>(mut items: Vec<T>, status: impl Fn(&T) -> Status) -> Vec<T> {
    let best = items.iter().map(&status).min();
    items.retain(|item| Some(status(item)) == best);
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::at;
    use crate::model::TestResult;

    fn with(ci_fraction: Option<f64>, window_s: f64) -> Test {
        TestResult { ci_fraction, window_s, ..at(1, 100.0) }.into()
    }

    #[test]
    fn three_repetitions_give_students_interval_whatever_their_seconds_say() {
        // Mean 100, s = 2, t(0.975, 2) = 4.302653: 4.302653 * 2 / sqrt(3) / 100.
        let test = with(Some(0.5), 10.0);
        let found = of(&[98.0, 100.0, 102.0], &test).unwrap();
        assert!((found.fraction - 0.049_682_75).abs() < 1e-7, "{found:?}");
        assert_eq!(found.source, Source::Repetitions(3));
        let (error, freedom) = found.standard_error().unwrap();
        assert!((error - 1.2533 * 0.02 / 3f64.sqrt()).abs() < 1e-9 && freedom == 2.0);
    }

    #[test]
    fn fewer_repetitions_leave_the_seconds_of_the_window_or_nothing() {
        let long = with(Some(0.02), 10.0);
        assert_eq!(of(&[98.0, 100.0], &long), Ok(Interval { fraction: 0.02, source: Source::Seconds }));
        let short = with(None, 2.0);
        assert_eq!(of(&[100.0], &short), Err(Unknown::ShortWindows(1)));
        assert_eq!(of(&[98.0, 100.0], &short).unwrap_err().to_string(), "no interval: two short windows");
        let alike = with(None, 10.0);
        assert_eq!(of_test(&alike), Err(Unknown::Alike));
    }

    #[test]
    fn a_publication_has_none_however_often_it_prints_a_figure() {
        let printed =
            crate::analysis::errata::fixture::test("T1", crate::model::PublishedKind::Point, 1, &[("rows_per_s", 1.0)]);
        assert_eq!(of(&[98.0, 100.0, 102.0], &printed), Err(Unknown::Published));
    }

    #[test]
    fn only_a_valid_figure_supports_a_statement() {
        let all = [Status::Valid, Status::Conditional, Status::Invalid];
        assert_eq!(all.map(supports), [true, false, false]);
    }

    #[test]
    fn the_best_verdict_decides_what_is_shown() {
        let kept = |items: &[Status]| most_trusted(items.to_vec(), |status| *status);
        let (valid, conditional, invalid) = (Status::Valid, Status::Conditional, Status::Invalid);
        assert_eq!(kept(&[invalid, valid, conditional, valid]), [valid, valid]);
        assert_eq!(kept(&[invalid, conditional]), [conditional]);
        assert_eq!((kept(&[invalid]), kept(&[])), (vec![invalid], vec![]));
    }
}
