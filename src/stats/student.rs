//! Student's t distribution: quantile and significance, for small samples.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The factor of a two-sided 95 % interval: the 0.975 quantile of t with `freedom` degrees of freedom (> 0).
pub fn t95(freedom: f64) -> Option<f64> {
    Some(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975))
}

/// Two-sided p value of the statistic `t` with `freedom` degrees of freedom (> 0): how likely a value so far from
/// 0 would be by chance.
pub fn two_sided_p(t: f64, freedom: f64) -> Option<f64> {
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(if t.is_infinite() { 0.0 } else { 2.0 * distribution.sf(t.abs()) })
}

#[cfg(test)]
mod tests {
    use super::*;

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
