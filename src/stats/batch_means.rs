//! Confidence interval of the mean of a per-second series, by batch means.
//!
//! Neighbouring seconds of a test resemble one another (checkpoints, stolen CPU), so the plain
//! standard error is too small. The series is cut into batches; the batch is doubled until the
//! means of neighbouring batches no longer resemble one another; the interval is Student's over the
//! batch means. Source: A. M. Law, W. D. Kelton, "Simulation Modeling and Analysis", chapter 9
//! (batch means).

use super::summary::t95;
use super::summary::{mean, variance};

/// Fewest points, and fewest batches, that give an interval.
const FEWEST: usize = 5;
/// One-sided 5 % point of the normal distribution: above it, times 1/sqrt(n), the autocorrelation
/// of n independent values is unlikely.
const Z_95_ONE_SIDED: f64 = 1.645;

/// A 95 % confidence interval of a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Mean of the whole series.
    pub mean: f64,
    /// Half width of the interval.
    pub half_width: f64,
}

impl Interval {
    /// Half width as a fraction of the mean; absent if the mean is 0.
    pub fn fraction(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.half_width / self.mean.abs())
    }
}

/// The 95 % confidence interval of the mean of `series` (equal intervals of time, in order). Absent
/// with fewer than five points, and if even the largest batches resemble one another: the interval
/// would be too narrow.
pub fn mean_interval(series: &[f64]) -> Option<Interval> {
    let centre = mean(series)?;
    let means = independent_means(series)?;
    let n = means.len() as f64;
    Some(Interval { mean: centre, half_width: t95(n - 1.0)? * (variance(&means)? / n).sqrt() })
}

/// Autocorrelation at lag 1: how much a value resembles the one before it (-1..1); absent for fewer
/// than three values or a constant series.
fn lag1(series: &[f64]) -> Option<f64> {
    let centre = mean(series)?;
    let squares: f64 = series.iter().map(|value| (value - centre).powi(2)).sum();
    let products: f64 = series.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    (series.len() > 2 && squares > 0.0).then(|| products / squares)
}

/// The means of the smallest batches (1, 2, 4, ... points) that look independent; there must be
/// five at least.
fn independent_means(series: &[f64]) -> Option<Vec<f64>> {
    let sizes = std::iter::successors(Some(1), |size| Some(size * 2))
        .take_while(|size| series.len() / size >= FEWEST);
    sizes.map(|size| batch_means(series, size)).find(|means| looks_independent(means))
}

/// Means of the batches; points that fill no whole batch are dropped at the start, nearest to the
/// warm-up.
fn batch_means(series: &[f64], size: usize) -> Vec<f64> {
    let whole = &series[series.len() % size..];
    whole.chunks(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect()
}

fn looks_independent(means: &[f64]) -> bool {
    lag1(means).is_none_or(|correlation| correlation < Z_95_ONE_SIDED / (means.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_points_give_the_textbook_interval() {
        // 10 8 12 9 11: mean 10, sample variance 2.5, standard error sqrt(0.5), t(0.975, 4) =
        // 2.776.
        let interval = mean_interval(&[10.0, 8.0, 12.0, 9.0, 11.0]).unwrap();
        assert_eq!(interval.mean, 10.0);
        assert!((interval.half_width - 2.776_445 * 0.5f64.sqrt()).abs() < 1e-5, "{interval:?}");
        assert!((interval.fraction().unwrap() - 0.196_324).abs() < 1e-5);
    }

    #[test]
    fn lag1_by_hand() {
        // 1 2 3 4: deviations -1.5 -0.5 0.5 1.5; products 0.75 - 0.25 + 0.75 = 1.25; squares 5.
        assert_eq!(lag1(&[1.0, 2.0, 3.0, 4.0]), Some(0.25));
        assert_eq!((lag1(&[1.0, 2.0]), lag1(&[3.0, 3.0, 3.0])), (None, None));
    }

    #[test]
    fn neighbours_that_resemble_one_another_widen_the_interval() {
        // Each level lasts four seconds; autocorrelation of the levels themselves is -160/1038 =
        // -0.15, of pairs (1038 - 160) / (2 * 1038) = 0.42, just above 1.645/sqrt(16).
        let levels = [100.0, 80.0, 82.0, 110.0, 108.0, 85.0, 105.0, 90.0];
        let series: Vec<f64> = levels.iter().flat_map(|&level| [level; 4]).collect();
        let interval = mean_interval(&series).unwrap();
        assert_eq!(independent_means(&series).unwrap(), levels);
        let naive = t95(31.0).unwrap() * (variance(&series).unwrap() / 32.0).sqrt();
        assert!(interval.half_width > 2.0 * naive, "{} against {naive}", interval.half_width);
    }

    #[test]
    fn points_that_resemble_one_another_in_all_batches_have_no_interval() {
        let climbing = |points: i32| (0..points).map(f64::from).collect::<Vec<f64>>();
        // Nine points that climb: autocorrelation 40/60, above 1.645/sqrt(9); batches of two would
        // be four only.
        assert_eq!(mean_interval(&climbing(9)), None);
        // Five batches of eight: 4/10, below 1.645/sqrt(5); with so few there is no telling.
        assert_eq!(independent_means(&climbing(40)).unwrap().len(), 5);
    }

    #[test]
    fn too_few_points_or_a_constant_series() {
        assert_eq!(mean_interval(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(mean_interval(&[7.0; 6]).unwrap().half_width, 0.0);
    }
}
