//! The difference between fresh runs of a platform, from earlier runs of it: an effect on all
//! points of a run (clock, host), and one on each point alone (placement, memory, load).

use super::squeeze::squeeze;
use super::{
    Location, MIN_POINTS, MIN_RUNS, MIN_RUNS_OF_FEW_POINTS, MIN_VARIANCE, PRIOR_COMMON, Variance,
};
use crate::summary::{mean, median};

/// Maximum factor by which a point counts in the search for what all have in common.
const MOST: f64 = 5.0;
/// Steps of the bisection: to 2^-60 of where it began.
const STEPS: usize = 60;

/// The findings of earlier runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    /// Variance of the effect that all points of a run share.
    pub common: Variance,
    /// Variance of the effect on each point alone, for the usual point.
    pub point: f64,
    /// Usual effects in the order of the points; absent for those that fewer than two runs have.
    pub points: Vec<Option<Usual>>,
    /// Runs that it was learnt from.
    pub runs: usize,
}

/// The usual spread of a point of the platform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    /// The multiple of the usual point's spread by which its values spread over runs.
    pub spread: Variance,
    /// Variance of one repetition; absent if no run repeated it, so that it is part of the spread.
    pub noise: Option<Variance>,
}

/// A point over the runs that have it.
struct PointHistory {
    /// Number of the point.
    point: usize,
    /// Distances of the runs from the mean of the point.
    off: Vec<Option<f64>>,
    /// Mean variance of one repetition.
    noise: Variance,
    /// Harmonic mean of the numbers of repetitions.
    repetitions: f64,
}

impl PointHistory {
    fn from_runs(point: usize, runs: &[Vec<Option<Location>>]) -> Option<PointHistory> {
        let at = |run: &Vec<Option<Location>>| run.get(point).copied().flatten();
        let found: Vec<Location> = runs.iter().filter_map(at).collect();
        let centre = mean(&found.iter().map(|one| one.at).collect::<Vec<_>>())?;
        let repeated: Vec<f64> =
            found.iter().filter(|one| one.repetitions > 1).map(|one| one.variance).collect();
        let reciprocals: f64 = found.iter().map(|one| 1.0 / one.repetitions as f64).sum();
        (found.len() >= MIN_RUNS).then(|| PointHistory {
            point,
            off: runs.iter().map(|run| Some(at(run)?.at - centre)).collect(),
            noise: Variance {
                value: mean(&repeated).unwrap_or(0.0),
                freedom: found.iter().map(Location::freedom).sum(),
            },
            repetitions: found.len() as f64 / reciprocals,
        })
    }

    fn freedom(&self) -> f64 {
        self.off.iter().flatten().count() as f64 - 1.0
    }

    /// Variance of the runs' values about what all points of a run share.
    fn left(&self, shared: &[f64]) -> f64 {
        let squares = self.off.iter().zip(shared).filter_map(|(off, a)| Some((*off)? - a));
        squares.map(|off| off * off).sum::<f64>() / self.freedom()
    }
}

impl Between {
    /// Effects from the values of earlier runs, each with all points in the same order. Absent with
    /// fewer than two runs, and with fewer than four if fewer than four points are in two of them.
    pub fn from_runs(runs: &[Vec<Option<Location>>]) -> Option<Between> {
        let count = runs.iter().map(Vec::len).max().unwrap_or(0);
        let histories: Vec<PointHistory> =
            (0..count).filter_map(|point| PointHistory::from_runs(point, runs)).collect();
        let is_few = histories.len() < MIN_POINTS;
        if histories.is_empty() || (is_few && runs.len() < MIN_RUNS_OF_FEW_POINTS) {
            return None;
        }
        let of_run = |run: usize| histories.iter().filter_map(move |history| history.off[run]);
        let shared: Vec<f64> = (0..runs.len())
            .map(|run| median(&of_run(run).collect::<Vec<_>>()).unwrap_or(0.0))
            .collect();
        let noises = usual_noises(&histories);
        let stated: Vec<(f64, f64)> = histories
            .iter()
            .zip(&noises)
            .map(|(history, noise)| {
                let noise = noise.map_or(0.0, |noise| noise.value / history.repetitions);
                (history.left(&shared), noise)
            })
            .collect();
        let point = point_effect(&stated);
        let ratio = |(left, noise): (f64, f64)| left / (point + noise).max(MIN_VARIANCE);
        let ratios: Vec<Variance> = histories
            .iter()
            .zip(&stated)
            .map(|(history, one)| Variance { value: ratio(*one), freedom: history.freedom() })
            .collect();
        let spreads = squeeze(&ratios, 0.0).variances;
        let mut points = vec![None; count];
        for ((history, noise), spread) in histories.iter().zip(noises).zip(spreads) {
            points[history.point] = Some(Usual { spread, noise });
        }
        let squares: f64 = shared.iter().map(|a| a * a).sum();
        let freedom = PRIOR_COMMON.freedom + runs.len() as f64 - 1.0;
        let common = (PRIOR_COMMON.freedom * PRIOR_COMMON.value + squares) / freedom;
        let common = Variance { value: common, freedom };
        Some(Between { common, point, points, runs: runs.len() })
    }

    /// The usual spread of a point, if it is known.
    pub fn usual(&self, point: usize) -> Option<Usual> {
        self.points.get(point).copied().flatten()
    }
}

/// Moderated variances of one repetition, of the points that were repeated.
fn usual_noises(histories: &[PointHistory]) -> Vec<Option<Variance>> {
    let is_repeated = |history: &PointHistory| history.noise.freedom > 0.0;
    let own: Vec<Variance> =
        histories.iter().filter(|one| is_repeated(one)).map(|one| one.noise).collect();
    let mut moderated = squeeze(&own, MIN_VARIANCE).variances.into_iter();
    let noise = |history| if is_repeated(history) { moderated.next() } else { None };
    histories.iter().map(noise).collect()
}

/// The variance that, added to the noise of each point, explains the mean spread of all (R. C.
/// Paule, J. Mandel, "Consensus values and weighting factors", 1982); 0 if the noise does.
fn point_effect(stated: &[(f64, f64)]) -> f64 {
    let exceeds = |effect: f64| {
        let share =
            |(left, noise): &(f64, f64)| (left / (effect + noise).max(f64::MIN_POSITIVE)).min(MOST);
        mean(&stated.iter().map(share).collect::<Vec<_>>()).is_some_and(|mean| mean > 1.0)
    };
    let (mut low, mut high) = (0.0, stated.iter().map(|(left, _)| *left).fold(0.0, f64::max));
    for _ in 0..STEPS {
        let middle = (low + high) / 2.0;
        if exceeds(middle) { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moderated::Resource;

    fn at(value: f64, repetitions: usize) -> Option<Location> {
        Some(Location {
            at: value,
            variance: 1e-4,
            repetitions,
            within: None,
            resource: Resource::default(),
        })
    }

    #[test]
    fn two_runs_of_four_points_are_the_least() {
        let runs = |points: usize| [0.0, 0.02].map(|value| vec![at(value, 5); points]).to_vec();
        assert_eq!((Between::from_runs(&runs(3)), Between::from_runs(&runs(4)[..1])), (None, None));
        let found = Between::from_runs(&runs(4)).unwrap();
        // Both runs lie 0.01 off: (4 * 1e-4 + 2 * 1e-4) / 5, and nothing is left for a point alone.
        assert!((found.common.value - 1.2e-4).abs() < 1e-12 && found.point < 1e-12, "{found:?}");
    }

    #[test]
    fn a_point_that_was_never_repeated_has_its_noise_in_the_spread() {
        let runs: Vec<Vec<_>> = [0.0, 0.05, -0.05]
            .iter()
            .map(|off| [1.0, -1.0, 1.0, -1.0, 0.5].map(|sign| at(sign * off, 1)).to_vec())
            .collect();
        let found = Between::from_runs(&runs).unwrap();
        assert!(found.point > 1e-4 && found.points.iter().all(|one| one.unwrap().noise.is_none()));
        let mut partial = runs.clone();
        partial[0][4] = None;
        partial[1][4] = None;
        assert_eq!(Between::from_runs(&partial).unwrap().usual(4), None, "one run only");
    }
}
