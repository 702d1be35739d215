//! The loss that a comparison could have found, with a chance of 80 %, and what it
//! would take to find a smaller one.

use super::{Ratio, Variance};
use crate::summary::t_beyond;

/// Chance of missing a loss of the detectable size.
const MISSED: f64 = 0.2;
/// Losses that are spoken of, in percent.
const SIZES_PCT: [f64; 14] =
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 25.0, 30.0, 40.0];
/// Share of the points that keep a size that is spoken of.
const MOST: f64 = 0.8;

/// A size that many points keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    /// Loss, as a fraction.
    pub loss: f64,
    /// Number of points in which a loss of this size or more would have been found.
    pub found: usize,
    /// Number of all points.
    pub points: usize,
}

impl Size {
    /// Size from the detectable losses of some points (fractions): the smallest round size that is
    /// detectable in four fifths of them, else the largest; absent without points.
    pub fn from_losses(losses: &[f64]) -> Option<Size> {
        let within = |loss: f64| losses.iter().filter(|own| **own <= loss).count();
        let sizes = SIZES_PCT.map(|percent| percent / 100.0);
        let is_kept = |loss: &&f64| within(**loss) as f64 >= MOST * losses.len() as f64;
        let loss = *sizes.iter().find(is_kept).or(sizes.last())?;
        let size = Size { loss, found: within(loss), points: losses.len() };
        (!losses.is_empty()).then_some(size)
    }
}

/// The loss, as a fraction, that is found with 80 % by a one-sided test at `tail` (0..0.5), and,
/// with a limit (a fraction), whose estimate then lies beyond it, too.
pub fn detectable(variance: Variance, tail: f64, limit: Option<f64>) -> f64 {
    let error = variance.value.sqrt();
    let beyond = |tail| t_beyond(variance.freedom, tail).unwrap_or(f64::INFINITY);
    let power = beyond(MISSED) * error;
    let found = beyond(tail) * error + power;
    let size = limit.map_or(found, |limit| found.max(power - (1.0 - limit).ln()));
    1.0 - (-size).exp()
}

/// The measuring that finds a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Needed {
    /// This number of repetitions in each run.
    Repetitions(f64),
    /// This number of fresh runs a side, or of a base of many; more repetitions are not enough.
    Runs(f64),
}

/// The measuring that finds a loss of `target` by a test as in [`detectable`], if noise stays as it
/// is; absent if it is found as it is. `target` lies beyond the limit.
pub fn needed(ratio: &Ratio, tail: f64, limit: Option<f64>, target: f64) -> Option<Needed> {
    let variance = ratio.variance();
    let (alpha, beta) = (t_beyond(variance.freedom, tail)?, t_beyond(variance.freedom, MISSED)?);
    let size = -(1.0 - target).ln();
    let beyond_limit = limit.map_or(f64::INFINITY, |limit| (size + (1.0 - limit).ln()) / beta);
    let most = (size / (alpha + beta)).min(beyond_limit).max(0.0).powi(2);
    if variance.value <= most {
        return None;
    }
    Some(match ratio.fixed < most {
        true => Needed::Repetitions((ratio.of_repetition / (most - ratio.fixed)).ceil()),
        false => Needed::Runs((variance.value / most).ceil()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_that_is_spoken_of_is_kept_by_four_fifths() {
        let size = |losses: &[f64]| Size::from_losses(losses).map(|size| (size.loss, size.found));
        assert_eq!(size(&[0.03, 0.05, 0.06, 0.07, 0.5]), Some((0.08, 4)));
        assert_eq!(size(&[0.6, 0.7]), Some((0.4, 0)), "none");
        assert_eq!(size(&[]), None);
    }

    #[test]
    fn a_limit_needs_the_estimate_beyond_it() {
        let small = Variance { value: 1e-8, freedom: 20.0 };
        assert!(detectable(small, 0.01, None) < 0.001);
        let limited = detectable(small, 0.01, Some(0.05));
        assert!(limited > 0.05 && limited < 0.051, "{limited}");
    }

    #[test]
    fn repetitions_lessen_noise_and_not_what_differs_between_runs() {
        let variance = |value| Variance { value, freedom: 60.0 };
        let of = |fixed: f64, of_repetition: f64| Ratio {
            log: 0.0,
            own: variance(of_repetition / 5.0),
            common: variance(fixed),
            fixed,
            of_repetition,
        };
        let ratio = of(1e-4, 2e-3);
        let loss = detectable(ratio.variance(), 0.025, None);
        assert_eq!(needed(&ratio, 0.025, None, 1.001 * loss), None);
        // A loss of exactly this size takes the five that there are; half of it more.
        assert_eq!(needed(&ratio, 0.025, None, 0.999 * loss), Some(Needed::Repetitions(6.0)));
        let Some(Needed::Repetitions(more)) = needed(&ratio, 0.025, None, loss / 2.0) else {
            panic!("noise is most of it");
        };
        let then = Variance { value: 1e-4 + 2e-3 / more, freedom: ratio.variance().freedom };
        assert!(detectable(then, 0.025, None) <= loss / 2.0, "{more}");
        assert!(matches!(needed(&of(2e-3, 1e-4), 0.025, None, 0.01), Some(Needed::Runs(_))));
    }
}
