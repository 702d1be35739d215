//! The value of a point: a mean of the logarithms of its repetitions that one wild repetition
//! cannot move far (P. J. Huber, "Robust estimation of a location parameter", 1964).

use super::{PRIOR_POINT, PRIOR_POINT_OF_DATA, Variance};
use crate::summary::{mean, median};

/// Maximum number of scales by which a repetition counts as off.
const FAR: f64 = 2.0;
/// Standard deviation / [`distance`] of 2 to 12 normal values, simulated.
const SCALE: [f64; 11] = [
    2.084_781_88,
    2.756_267_85,
    4.269_226_75,
    1.981_202_24,
    2.570_240_79,
    1.792_598_89,
    2.143_460_33,
    1.706_446_67,
    1.957_808_95,
    1.658_740_27,
    1.856_200_41,
];
/// Scale of many values.
const SCALE_OF_MANY: f64 = 1.4826;
/// Number of steps after which the mean no longer moves.
const STEPS: usize = 6;
/// However many repetitions are wild, the variance is not more than nine times that within reach.
const MIN_NEAR: f64 = 1.0 / 3.0;

/// Resource that a point depends on most; fresh runs of equal work differ by more where it holds
/// data, whose place others share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// The CPUs: its ops calculate.
    #[default]
    Processor,
    /// Caches and memory: its ops read data that lies there.
    Memory,
    /// A storage device: its ops wait for writes or reads.
    Device,
}

impl Resource {
    /// Variance of the effect of a fresh run on a point alone, of a platform that has shown
    /// nothing yet.
    pub(super) fn prior(self) -> Variance {
        match self {
            Resource::Processor => PRIOR_POINT,
            Resource::Memory | Resource::Device => PRIOR_POINT_OF_DATA,
        }
    }
}

/// The value of a point in one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Location {
    /// Natural logarithm of the value.
    pub at: f64,
    /// Variance of one repetition; 0 if there is only one.
    pub variance: f64,
    /// Number of repetitions of the point.
    pub repetitions: usize,
    /// Squared standard error, computed from the seconds of the only repetition.
    pub within: Option<f64>,
    /// Resource that the point depends on most.
    pub resource: Resource,
}

impl Location {
    /// Degrees of freedom of the variance.
    pub fn freedom(&self) -> f64 {
        self.repetitions as f64 - 1.0
    }

    /// Sum of squares.
    pub(super) fn squares(&self) -> f64 {
        self.freedom() * self.variance
    }
}

/// The values of the points of one run from the logarithms of their repetitions (one or more
/// each). How far a repetition may lie off is its own point's scale or the median of all, whichever
/// is larger: few repetitions may lie close together by chance.
pub fn locate(points: &[Vec<f64>]) -> Vec<Location> {
    let scales: Vec<f64> = points.iter().map(|logs| scale(logs)).collect();
    let repeated = points.iter().zip(&scales).filter(|(logs, _)| logs.len() > 1);
    let usual = median(&repeated.map(|(_, scale)| *scale).collect::<Vec<_>>()).unwrap_or(0.0);
    let reach = scales.iter().map(|own| FAR * own.max(usual));
    points.iter().zip(reach).map(|(logs, reach)| location(logs, reach)).collect()
}

fn scale(logs: &[f64]) -> f64 {
    let count = logs.len();
    let of_many = if count % 2 == 1 { 1.3 } else { 3.0 };
    let factor = match count.checked_sub(2).and_then(|at| SCALE.get(at)) {
        Some(factor) => *factor,
        None => SCALE_OF_MANY * (1.0 + of_many / count as f64),
    };
    factor * distance(logs)
}

/// Lower median of the distances from the median, without the one that is 0 of an odd number.
fn distance(logs: &[f64]) -> f64 {
    let centre = median(logs).unwrap_or(0.0);
    let mut far: Vec<f64> = logs.iter().map(|log| (log - centre).abs()).collect();
    far.sort_by(f64::total_cmp);
    let far = &far[logs.len() % 2..];
    far.len().checked_sub(1).map_or(0.0, |last| far[last / 2])
}

fn location(logs: &[f64], reach: f64) -> Location {
    let mut at = median(logs).unwrap_or(0.0);
    for _ in 0..STEPS {
        let off: Vec<f64> = logs.iter().map(|log| (log - at).clamp(-reach, reach)).collect();
        at += mean(&off).unwrap_or(0.0);
    }
    let off = logs.iter().map(|log| log - at);
    let near = off.clone().filter(|off| off.abs() <= reach).count() as f64 / logs.len() as f64;
    let squares: f64 = off.map(|off| off.clamp(-reach, reach).powi(2)).sum();
    let freedom = (logs.len() as f64 - 1.0).max(1.0);
    let variance = squares / freedom / near.max(MIN_NEAR).powi(2);
    Location { at, variance, repetitions: logs.len(), within: None, resource: Resource::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wild_repetition_moves_a_value_by_little_and_is_stated_in_its_variance() {
        let calm = [0.00, 0.01, -0.01, 0.02, -0.02].to_vec();
        let wild = [0.00, 0.01, -0.01, 0.02, -1.00].to_vec();
        let found = locate(&[calm.clone(), calm, wild]);
        assert!((found[0].at).abs() < 1e-12 && (found[0].variance - 2.5e-4).abs() < 1e-12);
        assert!(found[2].at > -0.02, "the mean is -0.196: {found:?}");
        assert!(found[2].variance > 3.0 * found[0].variance, "{found:?}");
    }

    #[test]
    fn one_repetition_is_itself_and_tells_no_variance() {
        let found = locate(&[vec![1.5], vec![0.0, 0.1]]);
        assert_eq!((found[0].at, found[0].variance, found[0].freedom()), (1.5, 0.0, 0.0));
        assert!((found[1].at - 0.05).abs() < 1e-12 && (found[1].variance - 0.005).abs() < 1e-12);
    }
}
