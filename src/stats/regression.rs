//! Straight line through points by least squares, with the significance of its slope.

use super::student::two_sided_p;
use super::summary::mean;

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
    fn slope_and_significance_by_hand() {
        // x 1..5, y 2 4 5 4 5: slope 6/10; residuals squared sum to 2.4; error sqrt(0.8/10); t = 2.1213, df 3.
        let fitted = line(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)]).unwrap();
        assert!((fitted.slope - 0.6).abs() < 1e-12);
        // p of t = 2.12132 with 3 degrees of freedom, from the closed form of its distribution function.
        assert!((fitted.p_value - 0.124_027).abs() < 1e-4, "{}", fitted.p_value);
    }

    #[test]
    fn no_line_through_two_points_or_one_x() {
        assert_eq!(line(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }
}
