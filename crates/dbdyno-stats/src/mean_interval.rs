//! Confidence interval of the mean of a series of seconds.
//!
//! Neighboring seconds of a test resemble one another (checkpoints, stolen CPU), so that the
//! plain standard error is too small, and a window of usual length is too short to tell by how
//! much. The interval is therefore Student's with the variance that the mean of a first-order
//! autoregressive series has, whose correlation from second to second is taken at the upper end of
//! what the series leaves possible: its lag-1 autocorrelation, corrected for its bias (M. G.
//! Kendall, Biometrika 41, 1954), and so many of its standard errors above it. Noise that has a
//! quick and a slow part hides the slow one from neighboring seconds; therefore the means of
//! batches of 2, 4, 8, ... seconds are asked, too, and the interval that such noise would have
//! whose slow part makes all that neighbors have in common; the widest interval counts (batch
//! means: A. M. Law, W. D. Kelton, "Simulation Modeling and Analysis", chapter 9).
//!
//! The constants are calibrated: with them the interval covers the mean of the process in 94 % of
//! windows of 5 to 60 seconds whose correlation from second to second is 0 to 0.9
//! (`tests/it/instrument/intervals.rs`; decision 0028).

use super::summary::t95;
use super::summary::{mean, variance};

/// Fewest points that give an interval.
const FEWEST: usize = 5;
/// Fewest means of batches that are asked beside the points.
const MIN_BATCHES: usize = 7;
/// Standard errors by which the correlation is taken above its estimate: of many points.
const ERRORS_OF_MANY: f64 = 1.0;
/// Amount that a window of n points adds to them, times n: the estimate of few is not only
/// uncertain, its error is skewed.
const ERRORS_OF_FEW: f64 = 16.0;
/// The most standard errors.
const MAX_ERRORS: f64 = 3.0;
/// Correlation from second to second of the slow part of a noise that has a quick one, too.
const SLOW_ALIKE: f64 = 0.9;
/// Fewest points of which a slow part is asked: below, [`ERRORS_OF_FEW`] allows for it.
const MIN_OF_SLOW: usize = 12;
/// Standard errors by which the share of the slow part is taken above its estimate: of many points,
/// and what n points add to them, times n.
const SLOW_ERRORS: (f64, f64) = (0.5, 25.0);
/// Standard errors of the means of batches: these are a second look, whose own error widens the
/// interval seldom.
const ERRORS_OF_BATCHES: f64 = 0.3;
/// Largest correlation that is allowed for; for n points it is 1 - [`SHORT_MEMORY`] / n, if that is
/// less, because a window cannot show a memory that is longer than itself.
const MAX_ALIKE: f64 = 0.95;
/// See [`MAX_ALIKE`].
const SHORT_MEMORY: f64 = 0.5;
/// Share of the freedom of as many independent points as the series is worth, on the logarithm; the
/// rest is that of its points.
const FREEDOM_OF_WORTH: f64 = 0.4;
/// The least freedom of what a series is worth.
const MIN_FREEDOM: f64 = 1.5;

/// A 95 % confidence interval of a mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Mean of the whole series.
    pub mean: f64,
    /// Half width of the interval.
    pub half_width: f64,
    /// Degrees of freedom of its standard error, which is the half width / t(0.975, freedom).
    pub freedom: f64,
}

impl Interval {
    /// Half width as a fraction of the mean; absent if the mean is 0.
    pub fn fraction(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.half_width / self.mean.abs())
    }
}

/// The 95 % confidence interval of the mean of `series` (equal intervals of time, in order). Absent
/// with fewer than five points, and if it would hold 0: of a rate of which not even that is known
/// nothing can be said.
pub fn mean_interval(series: &[f64]) -> Option<Interval> {
    let few = ERRORS_OF_FEW / series.len() as f64;
    let own = student(series, (ERRORS_OF_MANY + few).min(MAX_ERRORS))?;
    let sizes = std::iter::successors(Some(2), |size| Some(size * 2))
        .take_while(|size| series.len() / size >= MIN_BATCHES);
    let batches = sizes.filter_map(|size| student(&batch_means(series, size), ERRORS_OF_BATCHES));
    let slow = (series.len() >= MIN_OF_SLOW).then(|| student_of_slow_part(series)).flatten();
    let widest = batches
        .chain(slow)
        .fold(own, |widest, next| if next.half_width > widest.half_width { next } else { widest });
    let known = Interval { mean: own.mean, ..widest };
    (known.half_width == 0.0 || known.half_width < known.mean.abs()).then_some(known)
}

/// Student's interval of points whose correlation is taken `errors` standard errors above its
/// estimate.
fn student(points: &[f64], errors: f64) -> Option<Interval> {
    let n = points.len() as f64;
    let most = MAX_ALIKE.min(1.0 - SHORT_MEMORY / n);
    let correlation = correlation(points, errors).map(|correlation| correlation.clamp(0.0, most));
    let worth = correlation.map(|correlation| n * (1.0 - correlation) / (1.0 + correlation));
    let of_mean = correlation.map(|correlation| variance_of_mean(points.len(), correlation));
    with_variance(points, of_mean.zip(worth))
}

/// Student's interval of points of which a part resembles its neighbors for long, and the rest
/// does not at all: what neighbors have in common is the share of that part.
fn student_of_slow_part(points: &[f64]) -> Option<Interval> {
    let (n, (errors, of_few)) = (points.len() as f64, SLOW_ERRORS);
    let share = correlation(points, (errors + of_few / n).min(MAX_ERRORS))
        .map(|correlation| correlation.clamp(0.0, SLOW_ALIKE) / SLOW_ALIKE);
    let slow = variance_of_mean(points.len(), SLOW_ALIKE);
    let of_mean = share.map(|share| share * slow + (1.0 - share) / n);
    with_variance(points, of_mean.map(|of_mean| (of_mean, 1.0 / of_mean)))
}

/// Correlation of neighbors, corrected for its bias, plus `errors` of its standard errors; absent
/// for a constant series.
fn correlation(points: &[f64], errors: f64) -> Option<f64> {
    let (n, raw) = (points.len() as f64, lag1(points)?);
    let unbiased = raw + (1.0 + 4.0 * raw.max(0.0)) / n;
    let error = ((1.0 - unbiased.powi(2)).max(1.0 / n) / n).sqrt();
    Some(unbiased + errors * error)
}

/// Student's interval of points whose mean has this variance, in units of that of a point, and
/// which are worth this many independent ones; neither for a constant series.
fn with_variance(points: &[f64], known: Option<(f64, f64)>) -> Option<Interval> {
    let (n, centre) = (points.len() as f64, mean(points)?);
    let spread = variance(points).filter(|_| points.len() >= FEWEST)?;
    let Some((of_mean, worth)) = known else {
        return Some(Interval { mean: centre, half_width: 0.0, freedom: n - 1.0 });
    };
    let freedom = (n - 1.0).powf(1.0 - FREEDOM_OF_WORTH)
        * (worth - 1.0).max(MIN_FREEDOM).powf(FREEDOM_OF_WORTH);
    // Points that are alike spread less around their own mean than around the true one.
    let of_point = spread * (n - 1.0) / n / (1.0 - of_mean);
    let half_width = t95(freedom)? * (of_point * of_mean).sqrt();
    Some(Interval { mean: centre, half_width, freedom })
}

/// Variance of the mean of n points of a first-order autoregressive series in units of that of a
/// point.
pub fn variance_of_mean(n: usize, correlation: f64) -> f64 {
    let count = n as f64;
    // The sum over k = 1 .. n - 1 of (n - k) correlation^k.
    let pairs = correlation / (1.0 - correlation)
        * (count - (1.0 - correlation.powi(n as i32)) / (1.0 - correlation));
    (count + 2.0 * pairs) / count.powi(2)
}

/// Autocorrelation at lag 1: how much a value resembles the one before it (-1..1); absent for fewer
/// than three values or a constant series.
fn lag1(series: &[f64]) -> Option<f64> {
    let centre = mean(series)?;
    let squares: f64 = series.iter().map(|value| (value - centre).powi(2)).sum();
    let products: f64 = series.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    (series.len() > 2 && squares > 0.0).then(|| products / squares)
}

/// Means of the batches; points that fill no whole batch are dropped at the start, nearest to the
/// warm-up.
pub fn batch_means(series: &[f64], size: usize) -> Vec<f64> {
    let whole = &series[series.len() % size..];
    whole.chunks(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_of_a_mean_by_hand() {
        // Independent: 1 / n. Correlation 0.5, 3 points: (3 + 2 (2 0.5 + 1 0.25)) / 9 = 5.5 / 9.
        assert!((variance_of_mean(4, 0.0) - 0.25).abs() < 1e-12);
        assert!((variance_of_mean(3, 0.5) - 5.5 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn points_of_opposite_neighbours_give_the_textbook_interval() {
        // 80 points that alternate: no correlation above 0 is left, so the interval is Student's
        // with 79 degrees of freedom, t(0.975, 79) = 1.990450.
        let series: Vec<f64> = (0..80).map(|at| if at % 2 == 0 { 9.0 } else { 11.0 }).collect();
        let interval = mean_interval(&series).unwrap();
        assert!((interval.mean, (interval.freedom - 79.0).abs() < 1e-9) == (10.0, true));
        assert!((interval.half_width - 1.990_450 / 79f64.sqrt()).abs() < 1e-5, "{interval:?}");
        assert!((interval.fraction().unwrap() - interval.half_width / 10.0).abs() < 1e-12);
    }

    #[test]
    fn five_points_allow_for_a_correlation_of_nine_tenths() {
        // 10 8 12 9 11: lag-1 -0.7, so unbiased -0.5; 3 standard errors sqrt(0.75 / 5) above it:
        // 0.6619. Worth 5 0.3381 / 1.6619 = 1.017, freedom 4^0.6 1.5^0.4 = 2.7024.
        let interval = mean_interval(&[10.0, 8.0, 12.0, 9.0, 11.0]).unwrap();
        assert!((interval.freedom - 2.7024).abs() < 1e-3, "{interval:?}");
        let of_mean = variance_of_mean(5, 0.661_895);
        let expected = t95(interval.freedom).unwrap() * (2.0 * of_mean / (1.0 - of_mean)).sqrt();
        assert!((interval.half_width - expected).abs() < 1e-3, "{interval:?} {expected}");
        assert!(interval.half_width > 2.5 * 2.776 * 0.5f64.sqrt());
    }

    #[test]
    fn lag1_by_hand() {
        // 1 2 3 4: deviations -1.5 -0.5 0.5 1.5; products 0.75 - 0.25 + 0.75 = 1.25; squares 5.
        assert_eq!(lag1(&[1.0, 2.0, 3.0, 4.0]), Some(0.25));
        assert_eq!((lag1(&[1.0, 2.0]), lag1(&[3.0, 3.0, 3.0])), (None, None));
    }

    #[test]
    fn neighbours_that_resemble_one_another_widen_the_interval() {
        let levels = [100.0, 80.0, 82.0, 110.0, 108.0, 85.0, 105.0, 90.0];
        let series: Vec<f64> = levels.iter().flat_map(|&level| [level; 4]).collect();
        let interval = mean_interval(&series).unwrap();
        let naive = t95(31.0).unwrap() * (variance(&series).unwrap() / 32.0).sqrt();
        assert!(interval.half_width > 3.0 * naive, "{} against {naive}", interval.half_width);
    }

    #[test]
    fn too_few_points_a_constant_series_and_one_of_which_nothing_is_known() {
        assert_eq!(mean_interval(&[0.0, 0.0, 0.0, 0.0, 1342.0, 193.0]), None);
        assert_eq!(mean_interval(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(mean_interval(&[7.0; 6]).unwrap().half_width, 0.0);
        assert_eq!(batch_means(&[9.0, 1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
    }
}
