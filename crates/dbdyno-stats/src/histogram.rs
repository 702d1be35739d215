//! Latency histogram: mergeable, log-linear, three significant digits, in nanoseconds.

use std::borrow::Cow;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Largest latency kept apart: one hour, in ns.
const MAX_NS: u64 = 3_600_000_000_000;

/// Number of samples that are kept one by one. A histogram takes the same memory, and the same time
/// to merge or clear, however few samples it holds, and each of a thousand jobs has several.
const FEW: usize = 1024;

/// A histogram of service times in ns (HDR, 3 significant digits, 1 ns to 1 h).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct LatencyHistogram {
    /// While they are few.
    few: Vec<u64>,
    /// Histogram of all samples, from then on.
    many: Option<Histogram<u64>>,
}

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

fn empty() -> Histogram<u64> {
    let mut inner = Histogram::new(3).expect("3 significant digits are allowed");
    inner.auto(true);
    inner
}

fn of_few(few: &[u64]) -> Histogram<u64> {
    let mut inner = empty();
    // Cannot fail: the values are in the range, and the histogram resizes itself.
    for ns in few {
        let _ = inner.record(*ns);
    }
    inner
}

/// Values below 2^11 have a bucket each; from there on the 11 leading bits of a value are its
/// bucket (three digits of an HDR histogram).
const LEADING_BITS: u32 = 11;

/// Number of low bits of a value that its bucket does not hold.
fn bits_beyond(ns: u64) -> u32 {
    (u64::BITS - ns.leading_zeros()).saturating_sub(LEADING_BITS)
}

/// The highest value in the bucket of `ns`.
fn bucket_end(ns: u64) -> u64 {
    ns | ((1 << bits_beyond(ns)) - 1)
}

/// The value in the middle of the bucket of `ns`.
pub(super) fn bucket_middle(ns: u64) -> u64 {
    let width = 1 << bits_beyond(ns);
    (ns & !(width - 1)) + width / 2
}

impl LatencyHistogram {
    /// An empty histogram; grows as needed up to one hour.
    pub fn new() -> Self {
        LatencyHistogram { few: Vec::new(), many: None }
    }
    /// An empty histogram for many samples up to this one, which recording them does not let grow.
    pub fn up_to(most_ns: u64) -> Self {
        let mut inner = of_few(&[most_ns.clamp(1, MAX_NS)]);
        inner.reset();
        LatencyHistogram { few: Vec::new(), many: Some(inner) }
    }
    /// Records one service time; longer than an hour counts as an hour, 0 as 1 ns.
    #[inline]
    pub fn record_ns(&mut self, latency_ns: u64) {
        let ns = latency_ns.clamp(1, MAX_NS);
        if self.many.is_none() && self.few.len() < FEW {
            return self.few.push(ns);
        }
        // Cannot fail: the value is clamped into the range, and the histogram resizes itself.
        let _ = self.many().record(ns);
    }
    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        other.few.iter().for_each(|ns| self.record_ns(*ns));
        if let Some(inner) = &other.many {
            // Cannot fail: both have the same precision and the target resizes itself.
            let _ = self.many().add(inner);
        }
    }
    /// Forgets all samples, keeps the memory.
    pub fn clear(&mut self) {
        self.few.clear();
        self.many.iter_mut().for_each(Histogram::reset);
    }
    /// Number of samples.
    pub fn len(&self) -> u64 {
        self.many.as_ref().map_or(self.few.len() as u64, Histogram::len)
    }
    /// True if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The value in ns below or at which the fraction `quantile` (0..=1) of the samples lies.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if let Some(inner) = &self.many {
            return inner.value_at_quantile(quantile);
        }
        // A histogram of a few would take far longer to make than they do to sort.
        let mut few = self.few.clone();
        few.sort_unstable();
        let rank = (quantile * few.len() as f64).ceil() as usize;
        few.get(rank.clamp(1, few.len().max(1)) - 1).map_or(0, |ns| bucket_end(*ns))
    }
    /// Largest sample in ns (within the precision).
    pub fn max_ns(&self) -> u64 {
        self.whole().max()
    }
    /// Mean of the samples in ns.
    pub fn mean_ns(&self) -> f64 {
        self.whole().mean()
    }
    /// Sparse form: (highest equivalent value in ns, count) of every used bucket.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        self.whole()
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect()
    }
    /// Calls `take` with the highest value in ns and the count of buckets, of which some may come
    /// several times.
    pub(super) fn for_each_bucket(&self, mut take: impl FnMut(u64, u64)) {
        self.few.iter().for_each(|ns| take(bucket_end(*ns), 1));
        if let Some(inner) = &self.many {
            inner
                .iter_recorded()
                .for_each(|step| take(step.value_iterated_to(), step.count_at_value()));
        }
    }
    /// Histogram from the sparse form.
    pub fn from_buckets(buckets: &[(u64, u64)]) -> Self {
        let mut histogram = Self::new();
        if !buckets.is_empty() {
            let inner = histogram.many();
            for &(value_ns, count) in buckets {
                let _ = inner.record_n(value_ns.clamp(1, MAX_NS), count);
            }
        }
        histogram
    }

    fn whole(&self) -> Cow<'_, Histogram<u64>> {
        self.many.as_ref().map_or_else(|| Cow::Owned(of_few(&self.few)), Cow::Borrowed)
    }

    /// The histogram for many samples, which is used from now on.
    #[inline]
    fn many(&mut self) -> &mut Histogram<u64> {
        self.many.get_or_insert_with(|| of_few(&std::mem::take(&mut self.few)))
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
            for (quantile, expected_us) in
                [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1000.0)]
            {
                let got_us = histogram.quantile_ns(quantile) as f64 / 1000.0;
                assert!((got_us / expected_us - 1.0).abs() < 0.002, "p{quantile}: {got_us} us");
            }
        }
    }

    #[test]
    fn buckets_are_those_of_the_histogram() {
        for ns in (0..3_000_u64).chain((11..=41).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + 1, power + power / 3, 2 * power - 1]
        })) {
            let inner = of_few(&[ns]);
            assert_eq!(bucket_end(ns), inner.highest_equivalent(ns), "{ns}");
            assert_eq!(bucket_middle(ns), inner.median_equivalent(ns), "{ns}");
        }
    }

    #[test]
    fn a_sample_more_than_few_changes_no_figure() {
        let of = |count: u64| {
            let mut samples = LatencyHistogram::new();
            (1..=count).for_each(|us| samples.record_ns(us * 1_003));
            samples
        };
        let mut merged = of(FEW as u64);
        assert!(merged.many.is_none());
        let figures = |samples: &LatencyHistogram| {
            (samples.len(), samples.quantile_ns(0.9), samples.max_ns())
        };
        let mut many = LatencyHistogram::up_to(1_000_000_000);
        many.merge(&merged);
        assert!(many.many.is_some());
        assert_eq!((figures(&many), many.buckets()), (figures(&merged), merged.buckets()));
        merged.record_ns(7);
        many.record_ns(7);
        assert!(merged.many.is_some());
        assert_eq!(
            (figures(&many), many.buckets(), many.mean_ns()),
            (figures(&merged), merged.buckets(), merged.mean_ns())
        );
        let mut twice = of(3);
        twice.merge(&many);
        assert_eq!(twice.len(), FEW as u64 + 4);
        twice.clear();
        assert!(twice.is_empty() && twice.buckets().is_empty());
    }
}
