//! How well a figure is known: the half width of its interval, measured or absent; and which
//! figures may support a statement (a best, a rank, a share, a mean, a fitted law, a word of
//! praise): the one judge of it everywhere.

use std::fmt;

use super::spread::{self, Window};
use crate::model::{Status, Test};
use crate::stats::summary::t95;

/// A shorter window has too few seconds for batch means, in s.
const SHORTEST_WINDOW_S: f64 = 5.0;
/// Batch means stand on five batches at least; how many there were is not stored.
const FREEDOM_OF_SECONDS: f64 = 4.0;
/// Standard error of a median / that of a mean of normal values: sqrt(pi / 2), the limit for many
/// values.
const MEDIAN_OVER_MEAN: f64 = 1.2533;

/// What the interval of a figure was measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The spread of so many repetitions: the range of an equal further test (see [`spread`]).
    Repetitions(usize),
    /// The seconds of one window (batch means): the range of its mean.
    Seconds,
}

/// The 95 % interval of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Half width as a fraction of the figure.
    pub fraction: f64,
    /// Standard error of the figure as a fraction of it, and its degrees of freedom; of repetitions
    /// that of the median.
    pub error: f64,
    pub freedom: f64,
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
    /// From the half width of the interval that batch means give.
    pub fn of_seconds(fraction: f64) -> Interval {
        let error = t95(FREEDOM_OF_SECONDS).map_or(fraction, |factor| fraction / factor);
        Interval { fraction, error, freedom: FREEDOM_OF_SECONDS, source: Source::Seconds }
    }

    /// Half width of the confidence interval of the figure itself, as a fraction of it: what two
    /// figures are compared by.
    pub fn of_mean(&self) -> f64 {
        t95(self.freedom).map_or(self.fraction, |factor| factor * self.error)
    }
}

/// Of a single test: from the seconds of its window.
pub fn of_test(test: &Test) -> Known {
    let test = test.measured().ok_or(Unknown::Published)?;
    match test.ci_fraction {
        Some(fraction) => Ok(Interval::of_seconds(fraction)),
        None if test.window_s < SHORTEST_WINDOW_S => Err(Unknown::ShortWindows(1)),
        None => Err(Unknown::Alike),
    }
}

/// Of repetitions and their values, which `test` stands for: from their spread if there are enough
/// of them (starts or loads, if those were repeated), else from the seconds of that test.
pub fn of(repeats: &[(f64, &Test)], test: &Test) -> Known {
    repeated(repeats).map_or_else(
        || {
            of_test(test).map_err(|unknown| match unknown {
                Unknown::ShortWindows(_) => Unknown::ShortWindows(repeats.len().max(1)),
                other => other,
            })
        },
        Ok,
    )
}

fn repeated(repeats: &[(f64, &Test)]) -> Option<Interval> {
    let found = spread::of(&windows(repeats))?;
    let (error, freedom) = (MEDIAN_OVER_MEAN * found.error, found.groups as f64 - 1.0);
    Some(Interval {
        fraction: found.next?,
        error,
        freedom,
        source: Source::Repetitions(repeats.len()),
    })
}

/// The windows of measured repetitions.
pub fn windows(repeats: &[(f64, &Test)]) -> Vec<Window> {
    let window = |(value, test): &(f64, &Test)| {
        let test = test.measured()?;
        let within = test.ci_fraction.map(|fraction| Interval::of_seconds(fraction).error);
        Some(Window { load: test.load, start: test.server_start, value: *value, within })
    };
    repeats.iter().filter_map(window).collect()
}

/// A best, a rank or a mean of fewer figures says nothing: an only figure is not the best of
/// anything.
pub const FEWEST: usize = 2;

/// True if the verdict accepts the figure. Others are shown with their mark, and what is said
/// counts them as left out.
pub fn supports(status: Status) -> bool {
    status == Status::Valid
}

/// The items of the best verdict that is among them: the valid ones; the conditional ones if none
/// is valid; else all. So a figure can be shown (with its mark) where there is none that supports a
/// statement.
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

    fn repeats<'a>(values: &[f64], test: &'a Test) -> Vec<(f64, &'a Test)> {
        values.iter().map(|value| (*value, test)).collect()
    }

    #[test]
    fn three_repetitions_tell_where_a_further_one_falls_whatever_their_seconds_say() {
        // Mean 100, s = 2, t(0.975, 2) = 4.302653: 4.302653 * 2 * sqrt(1 + 0.4399) / 100, the error
        // of a median of 3.
        let test = with(Some(0.5), 10.0);
        let found = of(&repeats(&[98.0, 100.0, 102.0], &test), &test).unwrap();
        assert!((found.fraction - 0.103_26).abs() < 1e-5, "{found:?}");
        assert_eq!((found.source, found.freedom), (Source::Repetitions(3), 2.0));
        assert!((found.error - 1.2533 * 0.02 / 3f64.sqrt()).abs() < 1e-9);
        assert!((found.of_mean() - 4.302_653 * found.error).abs() < 1e-8);
    }

    #[test]
    fn fewer_repetitions_leave_the_seconds_of_the_window_or_nothing() {
        let long = with(Some(0.02), 10.0);
        assert_eq!(of(&repeats(&[98.0, 100.0], &long), &long), Ok(Interval::of_seconds(0.02)));
        assert!((Interval::of_seconds(0.02).of_mean() - 0.02).abs() < 1e-12);
        let short = with(None, 2.0);
        assert_eq!(of(&repeats(&[100.0], &short), &short), Err(Unknown::ShortWindows(1)));
        let two = of(&repeats(&[98.0, 100.0], &short), &short).unwrap_err();
        assert_eq!(two.to_string(), "no interval: two short windows");
        let alike = with(None, 10.0);
        assert_eq!(of_test(&alike), Err(Unknown::Alike));
    }

    #[test]
    fn a_publication_has_none_however_often_it_prints_a_figure() {
        let printed = crate::analysis::errata::fixture::test(
            "T1",
            crate::model::PublishedKind::Point,
            1,
            &[("rows_per_s", 1.0)],
        );
        assert_eq!(
            of(&repeats(&[98.0, 100.0, 102.0], &printed), &printed),
            Err(Unknown::Published)
        );
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
