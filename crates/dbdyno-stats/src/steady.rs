//! Steady-state check of a per-second series: does it climb or fall over the window?

use super::summary::{mean, two_sided_p};

/// Fewest points that can be judged.
const FEWEST: usize = 5;
/// A trend below this fraction of the mean over the whole window does not matter, however
/// significant.
const TREND_LIMIT: f64 = 0.05;
/// A trend counts only if chance makes one like it in fewer than 1 % of steady tests.
const SIGNIFICANCE: f64 = 0.01;
/// Halves that differ by more than this are not steady, even if five points cannot show it to be
/// significant.
const DRIFT_LIMIT: f64 = 0.20;

/// Steadiness of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steadiness {
    /// Change over the whole window along the fitted line, as a fraction of the mean (+0.1 = climbs
    /// by 10 %).
    pub trend: f64,
    /// Two-sided p value of that trend: small = not by chance.
    pub p_value: f64,
    /// Mean of the second half / mean of the first half - 1 (an odd middle point belongs to
    /// neither).
    pub drift: f64,
}

impl Steadiness {
    /// True unless a trend of 5 % or more is significant (p < 0.01), or the halves differ by more
    /// than 20 %.
    pub fn is_steady(&self) -> bool {
        let trends = self.trend.abs() >= TREND_LIMIT && self.p_value < SIGNIFICANCE;
        !trends && self.drift.abs() <= DRIFT_LIMIT
    }
}

/// Judges `series` (equal intervals of time, in order); absent with fewer than five points or a
/// mean of 0.
pub fn steadiness(series: &[f64]) -> Option<Steadiness> {
    let centre = mean(series).filter(|&centre| centre > 0.0 && series.len() >= FEWEST)?;
    let points: Vec<(f64, f64)> =
        series.iter().enumerate().map(|(i, &value)| (i as f64, value)).collect();
    let fitted = line(&points)?;
    let span = (series.len() - 1) as f64;
    Some(Steadiness {
        trend: fitted.slope * span / centre,
        p_value: fitted.p_value,
        drift: drift(series)?,
    })
}

fn drift(series: &[f64]) -> Option<f64> {
    let half = series.len() / 2;
    let (first, second) = (mean(&series[..half])?, mean(&series[series.len() - half..])?);
    // A first half of 0 (a slow start) drifts without bound.
    Some(if first > 0.0 { second / first - 1.0 } else { f64::INFINITY })
}

/// A fitted line `y = intercept + slope * x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub slope: f64,
    /// Two-sided p value of the slope being 0.
    pub p_value: f64,
}

/// Fits a line; absent with fewer than three points or equal x.
pub(super) fn line(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x_mean, y_mean) = (mean(&xs)?, mean(&ys)?);
    let sxx: f64 = xs.iter().map(|x| (x - x_mean).powi(2)).sum();
    let sxy: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    if points.len() < 3 || sxx == 0.0 {
        return None;
    }
    let slope = sxy / sxx;
    let left: f64 = points.iter().map(|(x, y)| (y - y_mean - slope * (x - x_mean)).powi(2)).sum();
    let error = (left / (n - 2.0) / sxx).sqrt();
    let t = if slope == 0.0 { 0.0 } else { slope / error };
    Some(Line { slope, p_value: two_sided_p(t, n - 2.0)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_climb_is_not_steady() {
        // 90..110 in steps of 5: mean 100, trend 20 %, no residual; halves 92.5 and 107.5.
        let found = steadiness(&[90.0, 95.0, 100.0, 105.0, 110.0]).unwrap();
        assert!((found.trend - 0.2).abs() < 1e-12 && found.p_value < 1e-6, "{found:?}");
        assert!((found.drift - (107.5 / 92.5 - 1.0)).abs() < 1e-12);
        assert!(!found.is_steady());
    }

    #[test]
    fn noise_around_a_level_is_steady() {
        let found = steadiness(&[100.0, 93.0, 104.0, 98.0, 107.0, 95.0, 101.0, 99.0]).unwrap();
        assert!(found.is_steady(), "{found:?}");
    }

    #[test]
    fn a_small_but_perfect_trend_does_not_matter() {
        let series: Vec<f64> = (0..10).map(|i| 1000.0 + f64::from(i)).collect();
        let found = steadiness(&series).unwrap();
        assert!(found.p_value < 1e-6 && found.is_steady(), "{found:?}");
    }

    #[test]
    fn a_fall_by_half_is_seen_in_five_points() {
        let found = steadiness(&[100.0, 101.0, 99.0, 50.0, 50.0]).unwrap();
        assert!((found.drift - (50.0 / 100.5 - 1.0)).abs() < 1e-12);
        assert!(!found.is_steady());
    }

    #[test]
    fn too_short_or_empty_cannot_be_judged() {
        assert_eq!(steadiness(&[1.0; 4]), None);
        assert_eq!(steadiness(&[0.0; 9]), None);
        assert_eq!(steadiness(&[0.0, 0.0, 5.0, 5.0, 5.0]).unwrap().drift, f64::INFINITY);
    }

    #[test]
    fn slope_and_significance_by_hand() {
        // x 1..5, y 2 4 5 4 5: slope 6/10; residuals squared sum to 2.4; error sqrt(0.8/10); t =
        // 2.1213, df 3.
        let fitted = line(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)]).unwrap();
        assert!((fitted.slope - 0.6).abs() < 1e-12);
        // p of t = 2.12132 with 3 degrees of freedom, from the closed form of its distribution
        // function.
        assert!((fitted.p_value - 0.124_027).abs() < 1e-4, "{}", fitted.p_value);
    }

    #[test]
    fn no_line_through_two_points_or_one_x() {
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }
}
