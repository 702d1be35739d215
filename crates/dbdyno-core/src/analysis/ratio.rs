//! The ratio of two figures, and how well it is known.

use std::fmt;

use serde::{Serialize, Serializer};

use super::interval::{Interval, UncertainValue, Unknown};
use crate::model::{Better, Sentence};
use crate::stats::summary::two_sided_p;

/// Meaning of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Inside the noise.
    #[serde(rename = "~")]
    Same,
    /// Better beyond the noise.
    Better,
    /// Worse beyond the noise.
    Worse,
    /// The noise is not known.
    Undecided,
}

impl Change {
    /// Name as printed: `~`, `better`, `worse`, `undecided`.
    pub fn name(self) -> &'static str {
        match self {
            Change::Same => "~",
            Change::Better => "better",
            Change::Worse => "worse",
            Change::Undecided => "undecided",
        }
    }
}

/// A ratio other / base.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// The ratio itself.
    pub value: f64,
    /// 95 % interval, or the reason why there is none.
    pub span: Result<Span, Unknown>,
}

/// The interval of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability of a ratio as far from 1 if nothing differs (two-sided).
    pub p: f64,
}

impl Ratio {
    /// A figure beside itself, which is known exactly.
    pub const ONE: Ratio = Ratio { value: 1.0, span: Ok(Span { low: 1.0, high: 1.0, p: 1.0 }) };

    /// other / base of two figures and how well they are known, on the logarithm, where errors as
    /// fractions are symmetric. Without the interval of either there is none; the reason is the
    /// base's, if it has one.
    pub fn new(base: UncertainValue, other: UncertainValue) -> Ratio {
        let value = other.value / base.value;
        let span = base.interval.and_then(|own| Ok(span(value, &own, &other.interval?)));
        Ratio { value, span }
    }

    /// Meaning of the ratio for a metric of this direction.
    pub fn change(&self, better: Better) -> Change {
        let Ok(span) = self.span else { return Change::Undecided };
        let grown = match (span.low > 1.0, span.high < 1.0) {
            (true, _) => true,
            (_, true) => false,
            _ => return Change::Same,
        };
        if grown == (better == Better::Higher) { Change::Better } else { Change::Worse }
    }

    /// `x3.09 (x2.74 to x3.48)`; without an interval `x3.09`.
    pub fn sentence(&self) -> Sentence {
        self.sentence_with("x{ratio~}", "x{ratio~} (x{low~} to x{high~})")
    }
    /// Sentence for a metric that is a time: `takes 1.26 times as long (x1.10 to x1.44)`.
    pub fn of_time(&self) -> Sentence {
        self.sentence_with(
            "takes {ratio~} times as long",
            "takes {ratio~} times as long (x{low~} to x{high~})",
        )
    }
    fn sentence_with(&self, alone: &'static str, with_span: &'static str) -> Sentence {
        let sentence = match self.span {
            Ok(span) => Sentence::new(with_span).with("low", span.low).with("high", span.high),
            Err(_) => Sentence::new(alone),
        };
        sentence.with("ratio", self.value)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

/// The ratio with its ends, or why it has none.
#[derive(Serialize)]
struct Fields {
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    p: Option<f64>,
    undecided: Option<&'static str>,
}

impl Serialize for Ratio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (span, why) = (self.span.ok(), self.span.err());
        let (low, high) = (span.map(|span| span.low), span.map(|span| span.high));
        let fields = Fields {
            ratio: self.value,
            low,
            high,
            p: span.map(|span| span.p),
            undecided: why.map(Unknown::text),
        };
        fields.serialize(serializer)
    }
}

fn span(ratio: f64, base: &Interval, other: &Interval) -> Span {
    let factor = base.half_width().hypot(other.half_width()).exp();
    Span { low: ratio / factor, high: ratio * factor, p: p_value(ratio, base, other) }
}

/// Welch's t test on the logarithms, with Satterthwaite's degrees of freedom.
fn p_value(ratio: f64, base: &Interval, other: &Interval) -> f64 {
    let error = base.error.hypot(other.error);
    let freedom =
        error.powi(4) / (base.error.powi(4) / base.freedom + other.error.powi(4) / other.freedom);
    // Figures without any spread differ for certain, or are the same.
    two_sided_p(ratio.ln() / error, freedom).unwrap_or(if ratio == 1.0 { 1.0 } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::at;
    use crate::analysis::interval::IntervalOrReason;
    use crate::analysis::repeats::{self, Repeat, Repeats};
    use crate::model::Test;

    fn of_seconds(fraction: f64) -> IntervalOrReason {
        Ok(Interval::of_seconds(fraction, 4.0))
    }

    fn uncertain(value: f64, interval: IntervalOrReason) -> UncertainValue {
        UncertainValue { value, interval }
    }

    fn spread(values: &[f64]) -> UncertainValue {
        let test: Test = at(1, 1.0).into();
        let repeats: Repeats<'_> =
            values.iter().map(|&value| Repeat { value, test: &test }).collect();
        let interval = repeats::interval_of(&repeats, &test, &test.kpm().value);
        uncertain(values[values.len() / 2], interval)
    }

    #[test]
    fn the_seconds_of_both_windows_make_the_interval() {
        // exp(hypot(0.03, 0.04)) = exp(0.05) = 1.051271
        let base = uncertain(100.0, of_seconds(0.03));
        let ratio = Ratio::new(base, uncertain(104.0, of_seconds(0.04)));
        let span = ratio.span.unwrap();
        assert!(
            (span.high - 1.04 * 1.051_271).abs() < 1e-6
                && (span.low - 1.04 / 1.051_271).abs() < 1e-6,
            "{ratio:?}"
        );
        assert_eq!(ratio.change(Better::Higher), Change::Same);
        let far = Ratio::new(base, uncertain(106.0, of_seconds(0.04)));
        assert_eq!(
            (far.change(Better::Higher), far.change(Better::Lower)),
            (Change::Better, Change::Worse)
        );
        // t = ln 1.06 / (0.05 / 2.776445) = 3.235622, Satterthwaite: 0.05^4 / ((0.03^4 + 0.04^4) /
        // 4) = 7.418398.
        assert!((far.span.unwrap().p - 0.013_3).abs() < 2e-4, "{far:?}");
    }

    #[test]
    fn repetitions_show_their_own_noise() {
        let calm = Ratio::new(spread(&[99.9, 100.0, 100.1]), spread(&[102.9, 103.0, 103.1]));
        assert_eq!(calm.change(Better::Higher), Change::Better);
        let wild = Ratio::new(spread(&[90.0, 100.0, 110.0]), spread(&[95.0, 103.0, 111.0]));
        assert_eq!(wild.change(Better::Higher), Change::Same);
    }

    #[test]
    fn without_an_interval_of_both_nothing_is_decided_however_far_they_are_apart() {
        let short = Err(Unknown::ShortWindow);
        for (base, other) in [(short, of_seconds(0.01)), (of_seconds(0.01), short), (short, short)]
        {
            let ratio = Ratio::new(uncertain(100.0, base), uncertain(974.0, other));
            assert_eq!(
                (ratio.span, ratio.change(Better::Higher)),
                (Err(Unknown::ShortWindow), Change::Undecided)
            );
        }
    }

    #[test]
    fn figures_without_spread_differ_or_are_the_same() {
        let fixed = |value| uncertain(value, of_seconds(0.0));
        assert_eq!(Ratio::new(fixed(2.0), fixed(2.0)).span.unwrap().p, 1.0);
        assert_eq!(Ratio::new(fixed(2.0), fixed(2.1)).span.unwrap().p, 0.0);
    }
}
