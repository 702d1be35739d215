//! The latency summary of a result from the histogram of its timed ops.

use crate::model::{LatencySummary, Tally};
use crate::stats::{LatencyHistogram, Quantiles};

/// Summarises timed ops; the mean is over all ops of `tally` (busy time / ops), the rest over the samples.
pub fn summarize(histogram: &LatencyHistogram, tally: &Tally) -> LatencySummary {
    let quantiles = Quantiles::of(histogram);
    let us = |ns: Option<f64>| ns.map(|ns| ns / 1000.0);
    LatencySummary {
        samples: quantiles.samples,
        mean_us: mean_service_s(tally).map(|seconds| seconds * 1e6),
        p50_us: us(quantiles.p50_ns),
        p90_us: us(quantiles.p90_ns),
        p95_us: us(quantiles.p95_ns),
        p99_us: us(quantiles.p99_ns),
        p999_us: us(quantiles.p999_ns),
        max_us: us(quantiles.max_ns),
        buckets: histogram.buckets(),
    }
}

/// Mean service time of an op in seconds: the jobs' busy time / ops; absent without ops.
pub fn mean_service_s(tally: &Tally) -> Option<f64> {
    (tally.ops > 0).then(|| tally.busy_s / tally.ops as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    #[test]
    fn the_mean_is_over_all_ops_and_percentiles_over_the_samples() {
        let mut histogram = LatencyHistogram::new();
        (0..100).for_each(|_| histogram.record_ns(150_000));
        let summary = summarize(&histogram, &fixture::tally(1600, 0.32));
        assert_eq!(summary.samples, 100);
        assert!((summary.mean_us.unwrap() - 200.0).abs() < 1e-9);
        assert!((summary.p90_us.unwrap() / 150.0 - 1.0).abs() < 0.002);
        assert_eq!(summary.p95_us, None);
        assert_eq!(mean_service_s(&Tally::default()), None);
    }
}
