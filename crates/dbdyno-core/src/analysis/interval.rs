//! Precision of a figure: the half width of its interval, measured or absent; and which figures may
//! support a statement (a best, a rank, a share, a mean, a fitted law, a word of praise): the one
//! judge of it everywhere.

use std::fmt;

use crate::model::{KpmValue, Status, Test};
use crate::stats::moderated::Estimate;
use crate::stats::summary::{t95, widening_of_best};

/// A shorter window has too few seconds for an interval, in s.
const MIN_WINDOW_S: f64 = 5.0;

/// Source of the interval of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Spread of this many repetitions.
    Repetitions(usize),
    /// The seconds of one window.
    Seconds,
}

/// The 95 % interval of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Standard error of the figure as a fraction of it (of its logarithm), and its degrees of
    /// freedom.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub freedom: f64,
    /// Half width of the range in which a further equal test falls in 19 of 20 cases, as a fraction
    /// of the figure; of repetitions.
    pub further: Option<f64>,
    /// Half width of the range about the figure in which that of an equal fresh run falls in 19 of
    /// 20 cases, as a fraction of the figure: by the usual differences between runs of platforms
    /// without earlier runs.
    pub fresh: Option<f64>,
    /// Observations that the interval comes from.
    pub source: Source,
}

/// A value, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UncertainValue {
    /// The value itself.
    pub value: f64,
    /// Interval of the value, or the reason why it has none.
    pub interval: IntervalOrReason,
}

/// Reason why a figure has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// Publications print none.
    Published,
    /// A window too short for an interval of its own seconds.
    ShortWindow,
    /// The seconds of the window resemble one another however they are grouped.
    Alike,
    /// Counter of the database: the seconds of one window do not show how it varies.
    Counter,
    /// The mean service time of an open loop, whose rate is given.
    OpenLoop,
    /// A time beside a rate whose load is given: the spread of one does not show that of the other.
    GivenLoad,
    /// Measured by a version whose intervals of one window were too narrow.
    Older,
}

impl Unknown {
    /// Text in reports and comparisons.
    pub fn text(self) -> &'static str {
        match self {
            Unknown::Published => "no interval: a publication prints none",
            Unknown::ShortWindow => "no interval: one short window",
            Unknown::Alike => "no interval: the seconds of the window resemble one another",
            Unknown::Counter => "no interval: one window does not show how the counter varies",
            Unknown::OpenLoop => "no interval: one window at a given rate",
            Unknown::GivenLoad => {
                "no interval: at a given load the spread of rates does not show that of times"
            }
            Unknown::Older => "no interval: one window of an older version of dbdyno",
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Interval of a figure, or the reason why it has none.
pub type IntervalOrReason = Result<Interval, Unknown>;

impl Interval {
    /// Interval from the half width as a fraction of the value and the degrees of freedom of the
    /// window's seconds.
    pub fn of_seconds(fraction: f64, freedom: f64) -> Interval {
        let error = t95(freedom).map_or(fraction, |factor| fraction / factor);
        Interval { error, freedom, further: None, fresh: None, source: Source::Seconds }
    }

    /// Interval from an estimate over repetitions; none if the estimate has no error.
    pub(super) fn of_estimate(estimate: &Estimate) -> Option<Interval> {
        let (mean, repetitions) = (estimate.mean?, estimate.location.repetitions);
        let times = repetitions as f64 + 1.0;
        Some(Interval {
            error: mean.value.sqrt(),
            freedom: mean.freedom,
            further: Some(mean.times(times).half_width()),
            fresh: estimate.fresh.map(|fresh| fresh.times(2.0).half_width()),
            source: Source::Repetitions(repetitions),
        })
    }

    /// Half width of the 95 % confidence interval of the figure as a fraction of it: the one that
    /// is printed with it and by which two figures are compared, everywhere.
    pub fn half_width(&self) -> f64 {
        t95(self.freedom).map_or(f64::INFINITY, |factor| factor * self.error)
    }

    /// The ends of the interval around a value: so far from it on the logarithm, where errors as
    /// fractions are symmetric, so that no rate is below 0.
    pub fn ends(&self, value: f64) -> [f64; 2] {
        let factor = self.half_width().exp();
        [value / factor, value * factor]
    }
}

/// Interval of a single test, from the seconds of its window. `value` is what the figure is
/// computed from: a counter of the database has its own seconds, all other values have those of the
/// ops.
pub fn of_test(test: &Test, value: &KpmValue) -> IntervalOrReason {
    let test = test.measured().ok_or(Unknown::Published)?;
    let unknown = || match test.window_s < MIN_WINDOW_S {
        true => Unknown::ShortWindow,
        false if value.counter().is_some() => Unknown::Counter,
        false => Unknown::Alike,
    };
    if let Some(name) = value.counter() {
        let known = test.counter_intervals.get(name).ok_or_else(unknown)?;
        return of_stored(known.fraction, known.freedom);
    }
    if *value == KpmValue::ServiceTime && test.open.is_some() {
        return Err(Unknown::OpenLoop);
    }
    let fraction = test.ci_fraction.ok_or_else(unknown)?;
    of_stored(fraction, test.ci_freedom.ok_or(Unknown::Older)?)
}

/// The interval of seconds as a result states it; none where its numbers allow for none.
fn of_stored(fraction: f64, freedom: f64) -> IntervalOrReason {
    let interval = Interval::of_seconds(fraction, freedom);
    if interval.half_width().is_finite() { Ok(interval) } else { Err(Unknown::Alike) }
}

/// Factor by which the interval of the best of several figures is widened in comparisons, because
/// chance favored the best. It depends on how many figures have an interval that touches the best
/// one's. `all` includes the best.
pub fn favour(best: UncertainValue, all: impl Iterator<Item = UncertainValue>) -> f64 {
    let Ok(own) = best.interval else { return 1.0 };
    let is_near = |one: UncertainValue| {
        let noise =
            one.interval.map_or(f64::INFINITY, |other| own.half_width() + other.half_width());
        one.value == best.value || (one.value / best.value).ln().abs() <= noise
    };
    let near = all.map(is_near).filter(|is_near| *is_near).count();
    widening_of_best(own.freedom, near).unwrap_or(1.0)
}

/// The interval of the best of several figures, as it is compared: wider by `favour`.
pub fn widened(own: IntervalOrReason, favour: f64) -> IntervalOrReason {
    let own = own?;
    Ok(Interval { error: favour * own.error, ..own })
}

/// A figure that was chosen as an extreme of all, which include it, as it is compared.
pub fn extreme(figure: UncertainValue, all: &[Option<UncertainValue>]) -> UncertainValue {
    let favour = favour(figure, all.iter().flatten().copied());
    UncertainValue { interval: widened(figure.interval, favour), ..figure }
}

/// Minimum number of figures for a best, a rank or a mean: a single figure is not the best of
/// anything.
pub const FEWEST: usize = 2;

/// True if the verdict accepts the figure. Others are shown with their mark, and statements count
/// them as left out.
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
    use crate::model::{TestResult, WindowInterval};

    fn with(ci_fraction: Option<f64>, window_s: f64) -> Test {
        TestResult { ci_fraction, window_s, ..at(1, 100.0) }.into()
    }

    #[test]
    fn a_counter_and_an_older_version_do_not_get_the_interval_of_the_ops() {
        let counter = KpmValue::Counter("blocks_written".into());
        assert_eq!(of_test(&with(Some(0.02), 10.0), &counter), Err(Unknown::Counter));
        let known = [("blocks_written".to_owned(), WindowInterval { fraction: 0.3, freedom: 3.0 })];
        let own = TestResult { counter_intervals: known.into(), ..at(1, 100.0) };
        assert_eq!(of_test(&own.into(), &counter), Ok(Interval::of_seconds(0.3, 3.0)));
        let older = TestResult { ci_freedom: None, ..at(1, 100.0) };
        assert_eq!(of_test(&older.into(), &KpmValue::Ops), Err(Unknown::Older));
    }

    #[test]
    fn the_best_of_a_plateau_is_known_less_than_a_step_that_stands_out() {
        let own = Interval::of_seconds(0.02, 4.0);
        let known: IntervalOrReason = Ok(own);
        let with_value = |value: f64| UncertainValue { value, interval: known };
        let half = |values: &[f64]| {
            let all = values.iter().map(|value| with_value(*value));
            widened(known, favour(with_value(100.0), all)).unwrap().half_width()
        };
        assert_eq!(half(&[100.0, 50.0, 90.0, 96.0]), own.half_width());
        let plateau = half(&[100.0, 99.0, 98.0, 97.5, 50.0]);
        assert!((plateau / 0.02 - 3.495_406 / 2.776_445).abs() < 1e-5, "{plateau}");
        let unknown = UncertainValue { value: 60.0, interval: Err(Unknown::Alike) };
        let all = [with_value(100.0), unknown, with_value(99.0)];
        let favour = favour(with_value(100.0), all.into_iter());
        assert!(widened(known, favour).unwrap().half_width() > 0.021);
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
