//! Latency histogram: mergeable, log-linear, three significant digits, in nanoseconds.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Largest latency kept apart: one hour, in ns.
const MAX_NS: u64 = 3_600_000_000_000;

/// A histogram of service times in ns (HDR, 3 significant digits, 1 ns to 1 h).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct LatencyHistogram(Histogram<u64>);

impl From<Vec<(u64, u64)>> for LatencyHistogram {
    fn from(buckets: Vec<(u64, u64)>) -> Self {
        LatencyHistogram::from_buckets(&buckets)
    }
}

impl From<LatencyHistogram> for Vec<(u64, u64)> {
    fn from(histogram: LatencyHistogram) -> Self {
        histogram.buckets()
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram; grows as needed up to one hour.
    pub fn new() -> Self {
        let mut inner = Histogram::new(3).expect("3 significant digits are allowed");
        inner.auto(true);
        LatencyHistogram(inner)
    }
    /// Records one service time; longer than an hour counts as an hour, 0 as 1 ns.
    #[inline]
    pub fn record_ns(&mut self, latency_ns: u64) {
        // Cannot fail: the value is clamped into the range, and the histogram resizes itself.
        let _ = self.0.record(latency_ns.clamp(1, MAX_NS));
    }
    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        // Cannot fail: both have the same precision and the target resizes itself.
        let _ = self.0.add(&other.0);
    }
    /// Forgets all samples, keeps the memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }
    /// Number of samples.
    pub fn len(&self) -> u64 {
        self.0.len()
    }
    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The value in ns below or at which the fraction `quantile` (0..=1) of the samples lies.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        self.0.value_at_quantile(quantile)
    }
    /// Largest sample in ns (within the precision).
    pub fn max_ns(&self) -> u64 {
        self.0.max()
    }
    /// Mean of the samples in ns.
    pub fn mean_ns(&self) -> f64 {
        self.0.mean()
    }
    /// Sparse form: (highest equivalent value in ns, count) of every used bucket.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }
    /// From the sparse form.
    pub fn from_buckets(buckets: &[(u64, u64)]) -> Self {
        let mut histogram = Self::new();
        for &(value_ns, count) in buckets {
            let _ = histogram.0.record_n(value_ns.clamp(1, MAX_NS), count);
        }
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_three_significant_digits_and_survive_merge_and_buckets() {
        let mut low = LatencyHistogram::new();
        let mut high = LatencyHistogram::new();
        (1..=500).for_each(|us| low.record_ns(us * 1000));
        (501..=1000).for_each(|us| high.record_ns(us * 1000));
        low.merge(&high);
        let back = LatencyHistogram::from_buckets(&low.buckets());
        for histogram in [&low, &back] {
            assert_eq!(histogram.len(), 1000);
            for (quantile, expected_us) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1000.0)] {
                let got_us = histogram.quantile_ns(quantile) as f64 / 1000.0;
                assert!((got_us / expected_us - 1.0).abs() < 0.002, "p{quantile}: {got_us} us");
            }
        }
    }
}
