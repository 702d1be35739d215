//! Summaries: quantiles of a latency histogram, and mean, median and spread of a few figures.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::{LatencyHistogram, WeightedTimes};

/// The 0.975 quantile of the normal distribution.
const Z95: f64 = 1.959_963_985;
/// Degrees of freedom from which on t is near it.
const MANY: f64 = 1000.0;
/// Samples that must lie above a percentile before it is printed: p needs n >= 10 / (1 - p).
const SAMPLES_ABOVE: f64 = 10.0;

/// Quantiles of service times in ns; a percentile with too few samples is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quantiles {
    /// Median, in ns.
    pub p50_ns: Option<f64>,
    /// 90th percentile, in ns.
    pub p90_ns: Option<f64>,
    /// 95th percentile, in ns.
    pub p95_ns: Option<f64>,
    /// 99th percentile, in ns.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile, in ns.
    pub p999_ns: Option<f64>,
    /// Largest sample; absent without samples.
    pub max_ns: Option<f64>,
}

impl Quantiles {
    /// The quantiles of a histogram.
    pub fn from_histogram(histogram: &LatencyHistogram) -> Self {
        let samples = histogram.len() as f64;
        let max_ns = (!histogram.is_empty()).then(|| histogram.max_ns());
        Quantiles::by(samples, max_ns, |p| histogram.quantile_ns(p))
    }

    /// Quantiles of weighted samples. There are enough of them for a percentile if the number of
    /// samples of equal weight that carry the same information would be enough.
    pub fn weighted(times: &WeightedTimes) -> Self {
        Quantiles::by(times.effective_samples(), times.max_ns(), |p| times.quantile_ns(p))
    }

    fn by(samples: f64, max_ns: Option<u64>, quantile_ns: impl Fn(f64) -> u64) -> Self {
        let quantile = |p| enough_samples(samples, p).then(|| quantile_ns(p) as f64);
        Quantiles {
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: max_ns.map(|ns| ns as f64),
        }
    }
}

/// True if the percentile `p` (0..1) may be printed from `samples` samples: n >= 10 / (1 - p).
pub fn enough_samples(samples: f64, p: f64) -> bool {
    // 1 - 0.9 is a little less than 0.1 in binary: the slack lets exactly 100 samples pass for p90.
    samples * (1.0 - p) >= SAMPLES_ABOVE - 1e-6
}

/// Arithmetic mean; absent without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Correlation of two series of equal length (Pearson), from -1 to 1; absent if one of them does
/// not vary.
pub fn correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let (mean_of_one, mean_of_other) = (mean(one)?, mean(other)?);
    let (mut of_both, mut of_one, mut of_other) = (0.0, 0.0, 0.0);
    for (x, y) in one.iter().zip(other) {
        let (from_mean, from_other_mean) = (x - mean_of_one, y - mean_of_other);
        of_both += from_mean * from_other_mean;
        of_one += from_mean * from_mean;
        of_other += from_other_mean * from_other_mean;
    }
    Some(of_both / (of_one * of_other).sqrt()).filter(|value| value.is_finite())
}

/// Median: the middle value, or the mean of the two middle ones; absent without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// Ends of an interval that holds the median of what the values are drawn from with 95 % at least,
/// whatever their distribution: two of the values, by the binomial distribution of how many lie
/// below the median (sign test). Absent with fewer than 6.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mut below, mut term, mut outside) = (0.0, 0.5_f64.powi(sorted.len() as i32), 0);
    while below + term <= 0.025 {
        below += term;
        outside += 1;
        term *= (sorted.len() - outside + 1) as f64 / outside as f64;
    }
    let last = sorted.len().checked_sub(outside)?;
    (outside > 0).then(|| (sorted[outside - 1], sorted[last]))
}

/// Ends of an interval as [`median_interval`] that holds the median with 95 % however often one
/// looks while values are added. A bettor who mixes all fixed stakes on "below" and "above" by the
/// arcsine distribution (H. Robbins, Annals of Mathematical Statistics 41, 1970) has
/// 2^n B(k + 1/2, n - k + 1/2) / pi times the first stake after n values of which k lie below the
/// median, and ever has 20 times of it with a chance of 1/20 at most (J. Ville, 1939). Absent with
/// fewer than 7 values.
pub fn median_sequence(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let refuted = (0..sorted.len() / 2)
        .take_while(|below| ln_stake(sorted.len(), *below) >= 20f64.ln())
        .count();
    let last = sorted.len().checked_sub(refuted)?;
    (refuted > 0).then(|| (sorted[refuted - 1], sorted[last]))
}

/// Logarithm of the stake after `count` values of which `below` lie below the median.
fn ln_stake(count: usize, below: usize) -> f64 {
    // Each value multiplies the stake by twice the chance that the mixture gave its side.
    let chance = |at: usize, before: usize| (at as f64 + 0.5) / (before as f64 + 1.0);
    let lows = (0..below).map(|at| 2.0 * chance(at, at));
    let highs = (0..count - below).map(|at| 2.0 * chance(at, below + at));
    lows.chain(highs).map(f64::ln).sum()
}

/// Variance of a sample (divisor n - 1); absent with fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// The factor of a two-sided 95 % interval: the 0.975 quantile of t with `freedom` degrees of
/// freedom (> 0). Of many that of the normal distribution with the first term of Fisher's
/// expansion: the library's search does not end for some numbers above ten million, and this one is
/// right to 3e-6.
pub fn t95(freedom: f64) -> Option<f64> {
    if freedom >= MANY {
        return Some(Z95 + (Z95.powi(3) + Z95) / (4.0 * freedom));
    }
    Some(student(freedom)?.inverse_cdf(0.975))
}

/// Student's distribution; absent for degrees of freedom so few that no measurement has them, for
/// which the library's search panics.
fn student(freedom: f64) -> Option<StudentsT> {
    const MIN_FREEDOM: f64 = 0.01;
    StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| freedom >= MIN_FREEDOM)
}

/// The factor of a one-sided interval in which `tail` lies beyond it: the quantile 1 - tail of t.
pub fn t_beyond(freedom: f64, tail: f64) -> Option<f64> {
    if freedom >= MANY {
        let z = Normal::standard().inverse_cdf(1.0 - tail);
        return Some(z + (z.powi(3) + z) / (4.0 * freedom));
    }
    Some(student(freedom)?.inverse_cdf(1.0 - tail))
}

/// Factor between the interval of the best of `figures` equal figures and that of a single one. The
/// best is the one that chance favored most: each of them may lie above its true value, so that
/// each gets an equal part of the 5 % (Bonferroni). For one or two figures the 2.5 % of either side
/// are enough.
pub fn widening_of_best(freedom: f64, figures: usize) -> Option<f64> {
    if figures <= 2 {
        return Some(1.0);
    }
    Some(t_beyond(freedom, 0.05 / figures as f64)? / t95(freedom)?)
}

/// Two-sided p value of the statistic `t` with `freedom` degrees of freedom (> 0): how likely a
/// value so far from 0 would be by chance.
pub fn two_sided_p(t: f64, freedom: f64) -> Option<f64> {
    let distribution = student(freedom)?;
    Some(if t.is_infinite() { 0.0 } else { 2.0 * distribution.sf(t.abs()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anscombe's first data set, whose correlation is published as 0.816 (The American
    /// Statistician 27, 1973).
    #[test]
    fn the_correlation_of_anscombe() {
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        assert!((correlation(&x, &y).unwrap() - 0.816).abs() < 0.0005);
        assert_eq!(correlation(&[1.0; 3], &[1.0, 2.0, 3.0]), None, "one does not vary");
        assert_eq!(correlation(&[], &[]), None);
    }

    #[test]
    fn what_is_no_number_of_degrees_of_freedom_has_no_interval() {
        for freedom in [f64::NAN, -1.0, 0.0, 5e-324, 1e-9] {
            assert_eq!((t95(freedom), two_sided_p(1.0, freedom)), (None, None), "{freedom}");
        }
        assert!(t95(0.01).is_some() && t95(f64::INFINITY).is_some());
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        // Ranks of the sign test's interval, 95 % (W. J. Conover, "Practical Nonparametric
        // Statistics", table A3).
        let ranks = |count: u32| median_interval(&(1..=count).map(f64::from).collect::<Vec<_>>());
        assert_eq!((ranks(0), ranks(5)), (None, None));
        assert_eq!(
            [6, 8, 9, 10, 12, 20].map(|count| ranks(count).unwrap()),
            [(1.0, 6.0), (1.0, 8.0), (2.0, 8.0), (2.0, 9.0), (3.0, 10.0), (6.0, 15.0),]
        );
    }

    #[test]
    fn the_interval_of_a_median_holds_at_every_look() {
        assert_eq!(median_sequence(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), None);
        let seven: Vec<f64> = (1..=7).map(f64::from).collect();
        assert_eq!(median_sequence(&seven), Some((1.0, 7.0)));
        // 2^7 B(1/2, 7 1/2) / pi = 128 * 429 / 2048.
        assert!((ln_stake(7, 0).exp() - 26.8125).abs() < 1e-9);
        let misses = |interval: fn(&[f64]) -> Option<(f64, f64)>, number: u32| {
            let mut keys = crate::keys::KeyStream::for_job(3, number);
            let mut values: Vec<f64> = Vec::new();
            (0..60).any(|_| {
                values.push(keys.step() as f64 / crate::keys::MODULUS as f64);
                interval(&values).is_some_and(|(low, high)| low > 0.5 || high < 0.5)
            })
        };
        let share = |interval: fn(&[f64]) -> Option<(f64, f64)>| {
            (1..=600).filter(|number| misses(interval, *number)).count() as f64 / 600.0
        };
        let (ours, fixed) = (share(median_sequence), share(median_interval));
        assert!(ours <= 0.05, "{ours}");
        assert!(fixed > 0.1, "an interval for one look misses more often: {fixed}");
    }

    fn histogram(samples: u64) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        (1..=samples).for_each(|us| histogram.record_ns(us * 1000));
        histogram
    }

    #[test]
    fn a_percentile_needs_ten_samples_above_it() {
        for (p, needed) in
            [(0.5, 20.0), (0.9, 100.0), (0.95, 200.0), (0.99, 1_000.0), (0.999, 10_000.0)]
        {
            assert!(enough_samples(needed, p), "p{p} from {needed}");
            assert!(!enough_samples(needed - 1.0, p), "p{p} from {}", needed - 1.0);
        }
    }

    #[test]
    fn quantiles_of_200_samples_stop_at_p95() {
        let quantiles = Quantiles::from_histogram(&histogram(200));
        let close = |got: Option<f64>, us: f64| (got.unwrap() / (us * 1000.0) - 1.0).abs() < 0.002;
        assert!(
            close(quantiles.p50_ns, 100.0)
                && close(quantiles.p90_ns, 180.0)
                && close(quantiles.p95_ns, 190.0)
        );
        assert!(close(quantiles.max_ns, 200.0));
        assert_eq!((quantiles.p99_ns, quantiles.p999_ns), (None, None));
    }

    #[test]
    fn t_goes_over_into_the_normal_distribution() {
        let [below, above] = [MANY - 1e-6, MANY].map(|freedom| t95(freedom).unwrap());
        assert!((below - above).abs() < 4e-6, "{below} {above}");
        assert!((t95(15_799_031.0).unwrap() - Z95).abs() < 1e-6);
    }

    #[test]
    fn nothing_recorded_gives_nothing() {
        assert_eq!(Quantiles::from_histogram(&LatencyHistogram::new()), Quantiles::default());
    }

    #[test]
    fn mean_median_and_spread_by_hand() {
        // 2 4 4 4 5 5 7 9: mean 5, squares sum to 32, sample variance 32/7.
        let values = [9.0, 2.0, 4.0, 5.0, 4.0, 5.0, 7.0, 4.0];
        assert_eq!(mean(&values), Some(5.0));
        assert_eq!(median(&values), Some(4.5));
        assert_eq!(median(&values[..3]), Some(4.0));
        assert!((variance(&values).unwrap() - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!((mean(&[]), median(&[]), variance(&[1.0])), (None, None, None));
    }

    #[test]
    fn the_best_of_more_figures_is_known_less() {
        // z(1 - 0.05 / 4) = 2.241403, z(1 - 0.05 / 6) = 2.393980; t(1 - 0.0125, 4) = 3.495406.
        assert_eq!([1, 2].map(|figures| widening_of_best(4.0, figures)), [Some(1.0); 2]);
        for (freedom, figures, factor) in
            [(1e9, 4, 2.241_403 / Z95), (1e9, 6, 2.393_980 / Z95), (4.0, 4, 3.495_406 / 2.776_445)]
        {
            let found = widening_of_best(freedom, figures).unwrap();
            assert!((found - factor).abs() < 1e-5, "{freedom} {figures}: {found}");
        }
    }

    #[test]
    fn agrees_with_the_printed_t_table() {
        for (freedom, expected) in [(1.0, 12.706), (4.0, 2.776), (9.0, 2.262), (30.0, 2.042)] {
            assert!((t95(freedom).unwrap() - expected).abs() < 0.0006, "t(0.975, {freedom})");
            assert!((two_sided_p(expected, freedom).unwrap() - 0.05).abs() < 0.0001);
        }
        assert_eq!(t95(0.0), None);
        assert_eq!(two_sided_p(f64::INFINITY, 3.0), Some(0.0));
    }
}
