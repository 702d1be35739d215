//! Moderated variances: each point's own, drawn towards what all points have in common, as far as
//! they are alike (G. K. Smyth, "Linear models and empirical Bayes methods for assessing
//! differential expression in microarray experiments", 2004).

use statrs::function::gamma::digamma;

use super::{MAX_FREEDOM, MIN_POINTS, Variance};
use crate::summary::{mean, median};

/// Least variance as a share of the median: two equal repetitions of a coarse clock are no proof
/// that a point has no noise.
const MIN_SHARE: f64 = 0.01;
/// Multiple of the distance of the quartiles: a point whose logarithmic variance exceeds the upper
/// quartile by more takes no part in the prior and keeps its own variance.
const FENCE: f64 = 2.0;
/// Degrees of freedom of a prior that all points agree upon.
const INFINITE: f64 = 1e9;

/// Moderated variances.
#[derive(Debug, Clone, PartialEq)]
pub struct Squeezed {
    /// Variances in the order of the points.
    pub variances: Vec<Variance>,
    /// The prior that the points have in common; absent with fewer than four, which keep their own.
    pub prior: Option<Variance>,
}

/// Moderates variances, none of which is taken as smaller than `least`. Each has more than 0
/// degrees of freedom.
pub fn squeeze(own: &[Variance], least: f64) -> Squeezed {
    let values: Vec<f64> = own.iter().map(|one| one.value).collect();
    let least = least.max(MIN_SHARE * median(&values).unwrap_or(0.0));
    let own: Vec<Variance> =
        own.iter().map(|one| Variance { value: one.value.max(least), ..*one }).collect();
    if own.len() < MIN_POINTS || least <= 0.0 {
        return Squeezed { variances: own, prior: None };
    }
    let logs: Vec<f64> = own.iter().map(centred_log).collect();
    let fence = fence(&logs);
    let prior = prior(&own, &logs, fence);
    let all: f64 = own.iter().map(|one| one.freedom).sum();
    let moderated = |(one, log): (&Variance, &f64)| {
        let of_prior = if *log <= fence { prior.freedom } else { 0.0 };
        let freedom = of_prior + one.freedom;
        Variance {
            value: (of_prior * prior.value + one.freedom * one.value) / freedom,
            freedom: freedom.min(all).min(MAX_FREEDOM),
        }
    };
    Squeezed { variances: own.iter().zip(&logs).map(moderated).collect(), prior: Some(prior) }
}

/// Logarithm of a variance less what its degrees of freedom shift it by: of equal true variances
/// these have the same mean.
fn centred_log(one: &Variance) -> f64 {
    let half = one.freedom / 2.0;
    one.value.ln() - digamma(half) + half.ln()
}

fn fence(logs: &[f64]) -> f64 {
    let mut sorted = logs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (quantile(&sorted, 0.25), quantile(&sorted, 0.75));
    high + FENCE * (high - low)
}

/// Quantile by linear interpolation between the sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len() - 1) as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (at - at.floor()) * (sorted[above] - sorted[below])
}

/// The scaled inverse chi-square distribution that the variances within the fence were drawn from,
/// by the moments of their logarithms.
fn prior(own: &[Variance], logs: &[f64], fence: f64) -> Variance {
    let tame: Vec<(&Variance, f64)> =
        own.iter().zip(logs.iter().copied()).filter(|(_, log)| *log <= fence).collect();
    let count = tame.len() as f64;
    let centre = tame.iter().map(|(_, log)| log).sum::<f64>() / count;
    let squares: f64 = tame.iter().map(|(_, log)| (log - centre).powi(2)).sum();
    let expected = tame.iter().map(|(one, _)| trigamma(one.freedom / 2.0)).sum::<f64>() / count;
    let extra = squares / (count - 1.0).max(1.0) - expected;
    if extra <= 0.0 {
        let values: Vec<f64> = tame.iter().map(|(one, _)| one.value).collect();
        return Variance { value: mean(&values).unwrap_or(0.0), freedom: INFINITE };
    }
    let half = trigamma_inverse(extra);
    Variance { value: (centre + digamma(half) - half.ln()).exp(), freedom: 2.0 * half }
}

/// Argument from which on the asymptotic series are right to 1e-13.
const ASYMPTOTIC: f64 = 15.0;

/// The second derivative of the logarithm of the gamma function (M. Abramowitz, I. A. Stegun,
/// 6.4.6 and 6.4.12).
fn trigamma(x: f64) -> f64 {
    if x < ASYMPTOTIC {
        return trigamma(x + 1.0) + 1.0 / (x * x);
    }
    let square = 1.0 / (x * x);
    let series = [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0];
    let tail = series.iter().rev().fold(0.0, |sum, factor| square * (factor + sum));
    (1.0 + tail) / x + square / 2.0
}

/// The third derivative (6.4.6 and 6.4.13).
fn tetragamma(x: f64) -> f64 {
    if x < ASYMPTOTIC {
        return tetragamma(x + 1.0) - 2.0 / (x * x * x);
    }
    let square = 1.0 / (x * x);
    let series = [1.0 / 2.0, -1.0 / 6.0, 1.0 / 6.0, -3.0 / 10.0, 5.0 / 6.0];
    let tail = series.iter().rev().fold(0.0, |sum, factor| square * (factor + sum));
    -square * (1.0 + 1.0 / x + tail)
}

/// The x whose trigamma is `value` (> 0), by Newton's method on its reciprocal, which is nearly
/// straight (Smyth 2004, appendix).
fn trigamma_inverse(value: f64) -> f64 {
    let mut x = 0.5 + 1.0 / value;
    for _ in 0..50 {
        let now = trigamma(x);
        let step = now * (1.0 - now / value) / tetragamma(x);
        x += step;
        if -step / x < 1e-10 {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_trigamma_is_that_of_limma() {
        for (value, x) in
            [(0.1, 10.491_681_821_1), (1.0, 1.426_255_120_22), (5.0, 0.496_168_734_704)]
        {
            let found = trigamma_inverse(value);
            assert!((found - x).abs() < 1e-8, "{value}: {found}");
        }
        // pi^2 / 6 and -2 zeta(3).
        assert!((trigamma(1.0) - 1.644_934_066_848_226).abs() < 1e-12);
        assert!((tetragamma(1.0) + 2.404_113_806_319_188).abs() < 1e-11);
    }

    #[test]
    fn fewer_than_four_points_keep_their_own() {
        let own = [1e-3, 4e-3, 0.0].map(|value| Variance { value, freedom: 8.0 });
        let found = squeeze(&own, 1e-6);
        assert_eq!(found.prior, None);
        let values: Vec<f64> = found.variances.iter().map(|one| one.value).collect();
        assert_eq!(values, [1e-3, 4e-3, 1e-5], "at least a hundredth of the median");
    }

    #[test]
    fn points_without_any_spread_have_the_least() {
        let own = [Variance { value: 0.0, freedom: 2.0 }; 5];
        let found = squeeze(&own, 1e-6);
        assert!(found.variances.iter().all(|one| (one.value / 1e-6 - 1.0).abs() < 1e-9));
    }
}
