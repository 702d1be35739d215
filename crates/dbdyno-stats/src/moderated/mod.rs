//! Ratios of two runs over many points at once: an estimator whose intervals hold with the few
//! repetitions that a benchmark can afford.
//!
//! A *point* is a workload with its parameters, drive and number of jobs. Its value in a run is a
//! robust mean of the natural logarithms of its repetitions ([`locate`]). The variance of a
//! repetition is moderated by those of all other points ([`squeeze`]), so that five repetitions are
//! enough. What differs between fresh runs comes from earlier runs of the platform ([`Between`]) or
//! from a prior. Ratios follow in [`pair`] and [`against_many`], findings and gate in [`step_up`]
//! and [`Gate`]. All logarithms are natural and negated where less is better, so that a negative
//! ratio is a loss. Constants, sources and the simulation behind them:
//! docs/decisions/0035-comparisons.md.

mod between;
mod detectable;
mod estimate;
mod gate;
mod location;
mod ratios;
mod squeeze;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod vectors;

pub use between::Between;
pub use detectable::{Needed, Size, detectable, needed};
pub use estimate::{Estimate, Repetitions, estimates};
pub use gate::{Gate, GateResult, Test, is_blind, step_up};
pub use location::{Location, Resource, locate};
pub use ratios::{Ratio, Ratios, against_many, mean_of, one_run, pair};
pub use squeeze::squeeze;

use super::summary::{t95, two_sided_p};

/// Most degrees of freedom that a variance is said to have: a prior is an estimate, too.
const MAX_FREEDOM: f64 = 60.0;
/// Least variance of a logarithm: a standard deviation of 0.1 %, less than any clock resolves.
const MIN_VARIANCE: f64 = 1e-6;
/// Number of points from which on they inform one another.
const MIN_POINTS: usize = 4;
/// Number of earlier runs from which on they show how runs differ; with few points each point needs
/// more of them.
const MIN_RUNS: usize = 2;
const MIN_RUNS_OF_FEW_POINTS: usize = 4;
/// Variance between runs of a platform without earlier runs: of the effect on all points (1 %) and,
/// below, of the effect on each point alone: 1.5 %; 2.5 % where ops read or write data, for which
/// it matters where the data lies and what others do to caches and devices
/// (docs/decisions/0059-prior-of-data.md).
const PRIOR_COMMON: Variance = Variance { value: 0.010 * 0.010, freedom: 4.0 };
const PRIOR_POINT: Variance = Variance { value: 0.015 * 0.015, freedom: 4.0 };
const PRIOR_POINT_OF_DATA: Variance = Variance { value: 0.025 * 0.025, freedom: 4.0 };
/// The variance between windows of one run beyond what the seconds of one of them show (3 %), for
/// points that were measured once.
const PRIOR_WINDOWS: Variance = Variance { value: 0.03 * 0.03, freedom: 4.0 };

/// A variance, and the degrees of freedom with which it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variance {
    /// The variance, of natural logarithms.
    pub value: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

impl Variance {
    /// The sum of independent variances, with the degrees of freedom of F. E. Satterthwaite
    /// (Biometrics Bulletin 2, 1946), 60 at most.
    pub fn sum(parts: &[Variance]) -> Variance {
        let value: f64 = parts.iter().map(|part| part.value).sum();
        let share = |part: &Variance| part.value * part.value / part.freedom;
        let shares: f64 = parts.iter().map(share).sum();
        let freedom = if shares > 0.0 { value * value / shares } else { MAX_FREEDOM };
        Variance { value, freedom: freedom.min(MAX_FREEDOM) }
    }

    /// Variance of a value that is multiplied by `factor`.
    pub fn times(self, factor: f64) -> Variance {
        Variance { value: factor * self.value, ..self }
    }

    /// Half width of the 95 % interval around a value with this variance.
    pub fn half_width(self) -> f64 {
        t95(self.freedom).map_or(f64::INFINITY, |factor| factor * self.value.sqrt())
    }

    /// The probability of a value as far from 0 as `distance` by chance, either way.
    pub fn two_sided_p(self, distance: f64) -> f64 {
        let certain = if distance == 0.0 { 1.0 } else { 0.0 };
        two_sided_p(distance / self.value.sqrt(), self.freedom).unwrap_or(certain)
    }

    /// The probability of a value as low as `distance` by chance.
    pub fn p_of_loss(self, distance: f64) -> f64 {
        let both = self.two_sided_p(distance);
        if distance < 0.0 { both / 2.0 } else { 1.0 - both / 2.0 }
    }
}
