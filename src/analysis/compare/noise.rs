//! How far a figure may be off by chance.

use super::Ratio;
use super::metric::Reading;
use crate::model::TestResult;
use crate::stats::student::t95;

/// What is known of the noise between two runs of the same thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// Half width of the 95 % interval of an unrepeated test from one run to the next, as a fraction, beyond what its own
    /// seconds show.
    pub between_runs: f64,
    /// Where that figure comes from, for the reader.
    pub source: String,
}

/// Unrepeated tests of 10 s on a virtual machine spread with a coefficient of variation of 1.3 % in a calm quarter of an
/// hour and 7 % in a restless one (lab on two cores, baselines of this project). 1.96 times the geometric mean of both.
const BETWEEN_RUNS: f64 = 0.06;
/// A test with too few seconds for an interval of its own may be off by so much more.
const UNKNOWN_WITHIN: f64 = 0.06;
/// Repetitions from which the spread between them is taken instead of the assumption.
const FEWEST: usize = 3;

impl Default for Noise {
    fn default() -> Self {
        Noise {
            between_runs: BETWEEN_RUNS,
            source: "assumed for unrepeated tests; calibrate or repeat to know it".into(),
        }
    }
}

impl Noise {
    /// Half width of a reading's interval as a fraction of it; absent for a published figure.
    fn half_width(&self, reading: &Reading<'_>) -> Option<f64> {
        let unrepeated = self.of_test(reading.test)?;
        let repeated = reading.repeats.len() >= FEWEST;
        let spread = spread(&reading.repeats).filter(|_| repeated);
        Some(spread.unwrap_or(unrepeated))
    }

    /// The same of a single test, from its own seconds and from what runs differ by; absent for a published figure.
    pub fn of_test(&self, test: &TestResult) -> Option<f64> {
        let within = test.ci_fraction.unwrap_or(UNKNOWN_WITHIN);
        test.published.is_none().then(|| within.hypot(self.between_runs))
    }

    /// other / base with its interval: on the logarithm, where errors as fractions are symmetric.
    pub fn ratio(&self, base: &Reading<'_>, other: &Reading<'_>) -> Ratio {
        let value = other.value / base.value;
        let half = self.half_width(base).zip(self.half_width(other)).map(|(a, b)| a.hypot(b).exp());
        Ratio { value, low: half.map(|half| value / half), high: half.map(|half| value * half) }
    }
}

/// Half width of the 95 % interval of the mean of repetitions, as a fraction.
fn spread(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t95(n - 1.0)? * (variance / n).sqrt() / mean;
    half.is_finite().then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::Change;
    use crate::analysis::fixture::at;
    use crate::model::Better;

    fn reading(test: &TestResult, repeats: Vec<f64>) -> Reading<'_> {
        Reading { jobs: 1, value: test.ops_per_s, test, repeats }
    }

    #[test]
    fn unrepeated_tests_have_the_assumed_noise_on_top_of_their_own() {
        let known = |ops_per_s| TestResult { ci_fraction: Some(0.02), ..at(1, ops_per_s) };
        let (base, other) = (known(100.0), known(108.0));
        let ratio = Noise::default().ratio(&reading(&base, vec![]), &reading(&other, vec![]));
        // sqrt(2) * sqrt(0.02^2 + 0.06^2) = 0.0894
        assert!((ratio.high.unwrap() / 1.08 - 0.0894_f64.exp()).abs() < 1e-3, "{ratio:?}");
        assert_eq!(ratio.change(Better::Higher), Change::Same);
        let far = known(120.0);
        let ratio = Noise::default().ratio(&reading(&base, vec![]), &reading(&far, vec![]));
        assert_eq!((ratio.change(Better::Higher), ratio.change(Better::Lower)), (Change::Better, Change::Worse));
    }

    #[test]
    fn repetitions_show_their_own_noise() {
        let (base, other) = (at(1, 100.0), at(1, 103.0));
        let noise = Noise::default();
        let calm = noise.ratio(&reading(&base, vec![99.9, 100.0, 100.1]), &reading(&other, vec![102.9, 103.0, 103.1]));
        assert_eq!(calm.change(Better::Higher), Change::Better);
        let wild = noise.ratio(&reading(&base, vec![90.0, 100.0, 110.0]), &reading(&other, vec![95.0, 103.0, 111.0]));
        assert_eq!(wild.change(Better::Higher), Change::Same);
    }
}
