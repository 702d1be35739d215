//! Service times of which only some were taken: each counts for the ops that it stands for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LatencyHistogram;
use super::histogram::bucket_middle;

/// Relative amount by which a cumulated count may be below a quantile's because of rounding alone.
const ROUNDING: f64 = 1e-9;

/// Service times of ops that were sampled at different rates. A slice of a job has one rate: each
/// of its samples stands for (ops of the slice) / (samples of the slice) ops, its weight.
/// Resolution and buckets are those of [`LatencyHistogram`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Flat", into = "Flat")]
pub struct WeightedTimes {
    /// Ops by the highest value of the bucket in ns.
    ops_by_ns: BTreeMap<u64, f64>,
    samples: u64,
    /// Sum of the squares of the samples' weights.
    squares: f64,
    /// The least and the largest weight.
    weights: Option<(f64, f64)>,
}

/// The same without a map, whose keys JSON has as text only.
#[derive(Serialize, Deserialize)]
struct Flat {
    ops_by_ns: Vec<(u64, f64)>,
    samples: u64,
    squares: f64,
    weights: Option<(f64, f64)>,
}

impl From<Flat> for WeightedTimes {
    fn from(flat: Flat) -> WeightedTimes {
        WeightedTimes {
            ops_by_ns: flat.ops_by_ns.into_iter().collect(),
            samples: flat.samples,
            squares: flat.squares,
            weights: flat.weights,
        }
    }
}

impl From<WeightedTimes> for Flat {
    fn from(times: WeightedTimes) -> Flat {
        Flat {
            ops_by_ns: times.ops_by_ns.into_iter().collect(),
            samples: times.samples,
            squares: times.squares,
            weights: times.weights,
        }
    }
}

impl WeightedTimes {
    /// Adds the samples of a slice of `ops` ops.
    pub fn add(&mut self, samples: &LatencyHistogram, ops: u64) {
        let count = samples.len();
        if count == 0 {
            return;
        }
        // A count of fewer ops than were timed is not believed.
        let weight = (ops as f64 / count as f64).max(1.0);
        samples.for_each_bucket(|ns, times| {
            *self.ops_by_ns.entry(ns).or_default() += weight * times as f64;
        });
        self.samples += count;
        self.squares += weight * weight * count as f64;
        self.span(Some((weight, weight)));
    }

    /// Adds all samples of others, each with its weight.
    pub fn merge(&mut self, other: &WeightedTimes) {
        for (ns, ops) in &other.ops_by_ns {
            *self.ops_by_ns.entry(*ns).or_default() += ops;
        }
        self.samples += other.samples;
        self.squares += other.squares;
        self.span(other.weights);
    }

    fn span(&mut self, weights: Option<(f64, f64)>) {
        let Some((least, most)) = weights else { return };
        let (low, high) = self.weights.unwrap_or((least, most));
        self.weights = Some((low.min(least), high.max(most)));
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Ops that the samples stand for.
    pub fn ops(&self) -> f64 {
        self.ops_by_ns.values().sum()
    }

    /// Number of samples of equal weight that would carry the same information: (sum of the
    /// weights)^2 / (sum of their squares) (L. Kish, "Survey Sampling", 1965, section 8.2). At most
    /// the number of samples; 0 without any.
    pub fn effective_samples(&self) -> f64 {
        if self.squares > 0.0 { self.ops().powi(2) / self.squares } else { 0.0 }
    }

    /// The least and the largest number of ops that a sample stands for; absent without samples.
    pub fn weights(&self) -> Option<(f64, f64)> {
        self.weights
    }

    /// The value in ns below or at which the fraction `quantile` (0..=1) of the ops lies; 0 without
    /// samples.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let wanted = self.ops() * quantile * (1.0 - ROUNDING);
        let mut below = 0.0;
        let found = self.ops_by_ns.iter().find(|(_, ops)| {
            below += **ops;
            below >= wanted
        });
        found.map_or_else(|| self.max_ns().unwrap_or(0), |(ns, _)| *ns)
    }

    /// The largest sample in ns.
    pub fn max_ns(&self) -> Option<u64> {
        self.ops_by_ns.last_key_value().map(|(ns, _)| *ns)
    }

    /// Mean over the ops that the samples stand for, in ns; absent without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        let sum: f64 = self.ops_by_ns.iter().map(|(ns, ops)| bucket_middle(*ns) as f64 * ops).sum();
        (self.samples > 0).then(|| sum / self.ops())
    }

    /// Sparse form: (highest value in ns, whole ops) of every bucket. The counts add up to the ops,
    /// rounded: what one bucket is rounded down by, the next ones get.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let (mut exact, mut told) = (0.0, 0);
        let mut whole = |ops: f64| {
            exact += ops;
            let up_to = f64::round(exact) as u64;
            let count = up_to - told;
            told = up_to;
            count
        };
        self.ops_by_ns.iter().map(|(ns, ops)| (*ns, whole(*ops))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(u64, u64)]) -> LatencyHistogram {
        let mut samples = LatencyHistogram::new();
        for (ns, count) in of {
            (0..*count).for_each(|_| samples.record_ns(*ns));
        }
        samples
    }

    #[test]
    fn a_sample_counts_for_the_ops_that_it_stands_for() {
        // A second of 5,000 ops of 200 us, all timed, and nine of 100,000 ops of 10 us, of which 80
        // have one sample: 0.55 % of the ops are slow, and 31 % of the samples.
        let mut times = WeightedTimes::default();
        times.add(&samples(&[(200_000, 5_000)]), 5_000);
        (0..9).for_each(|_| times.add(&samples(&[(10_000, 1_250)]), 100_000));
        assert_eq!((times.samples(), times.ops()), (16_250, 905_000.0));
        assert_eq!(times.weights(), Some((1.0, 80.0)));
        let near = |ns: u64, us: f64| (ns as f64 / 1e3 / us - 1.0).abs() < 0.001;
        assert!(near(times.quantile_ns(0.99), 10.0), "{}", times.quantile_ns(0.99));
        assert!(near(times.quantile_ns(0.9945), 200.0) || near(times.quantile_ns(0.9945), 10.0));
        assert!(near(times.quantile_ns(0.995), 200.0));
        let mean_ns = (5_000.0 * 200_000.0 + 900_000.0 * 10_000.0) / 905_000.0;
        assert!((times.mean_ns().unwrap() / mean_ns - 1.0).abs() < 0.001);
        // (905,000)^2 / (5,000 + 9 x 1,250 x 80^2).
        assert!(
            (times.effective_samples() - 11_374.6).abs() < 0.1,
            "{}",
            times.effective_samples()
        );
    }

    #[test]
    fn samples_of_equal_weight_are_as_many_as_they_are() {
        let mut times = WeightedTimes::default();
        assert_eq!((times.effective_samples(), times.mean_ns(), times.max_ns()), (0.0, None, None));
        for ops in [130, 65] {
            times.add(&samples(&[(3_000, ops / 13)]), ops);
        }
        assert!((times.effective_samples() - 15.0).abs() < 1e-9);
        let mut plain = LatencyHistogram::new();
        let mut weighted = WeightedTimes::default();
        (1..=3_000).for_each(|us| plain.record_ns(us * 1_003));
        weighted.add(&plain, 3_000);
        for quantile in [0.0, 0.1, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
            assert_eq!(weighted.quantile_ns(quantile), plain.quantile_ns(quantile), "{quantile}");
        }
        assert_eq!(weighted.buckets(), plain.buckets());
        assert!((weighted.mean_ns().unwrap() / plain.mean_ns() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn whole_counts_add_up_to_the_ops_and_no_bucket_is_lost() {
        // 2.4 ops a sample: rounded each to 2 they would be 10 of 12 ops.
        let mut times = WeightedTimes::default();
        let five: Vec<(u64, u64)> = (1..=5).map(|us| (us * 100, 1)).collect();
        times.add(&samples(&five), 12);
        let counts: Vec<u64> = times.buckets().iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [2, 3, 2, 3, 2]);
    }

    #[test]
    fn what_is_told_to_another_machine_is_the_same_there() {
        let mut times = WeightedTimes::default();
        times.add(&samples(&[(1_000, 3), (7_000_000, 1)]), 10);
        let text = serde_json::to_string(&times).unwrap();
        assert_eq!(serde_json::from_str::<WeightedTimes>(&text).unwrap(), times);
    }
}
