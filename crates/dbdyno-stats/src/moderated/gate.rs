//! Findings among many ratios, and a gate: whether a run is worse than a limit allows.

use super::{Ratio, detectable, mean_of};

/// Chance that a gate of equal runs fails, and of any finding among equal runs.
pub const LEVEL: f64 = 0.05;
/// Whole, groups and points: each has a third of the level.
const LEVELS: f64 = 3.0;

/// True for those of the p values that are findings: the step-up of Y. Benjamini and Y. Hochberg
/// (Journal of the Royal Statistical Society B 57, 1995).
pub fn step_up(p: &[f64], level: f64) -> Vec<bool> {
    let mut sorted = p.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = level / p.len() as f64;
    let is_within = |(rank, p): &(usize, &f64)| **p <= share * (rank + 1) as f64;
    let most = sorted.iter().enumerate().filter(is_within).map(|(_, p)| *p).next_back();
    p.iter().map(|p| most.is_some_and(|most| *p <= most)).collect()
}

/// The question of a gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The loss, as a fraction, that it allows.
    pub limit: f64,
    /// Chance that it fails equal runs.
    pub level: f64,
}

impl Test {
    /// Test with the usual level of 5 %.
    pub fn with_limit(limit: f64) -> Test {
        Test { limit, level: LEVEL }
    }

    /// One-sided level at which the first of `looks` ratios of one level of the gate is found.
    pub fn tail(&self, looks: usize) -> f64 {
        self.level / LEVELS / looks.max(1) as f64
    }
}

/// The gate's judgement on the whole, on a group or on a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateResult {
    /// Ratio that is judged, with its variance.
    pub ratio: Ratio,
    /// The probability of a ratio as low by chance.
    pub p: f64,
    /// The loss is no chance.
    pub found: bool,
    /// True if a loss is found and exceeds the limit.
    pub fails: bool,
    /// The loss, as a fraction, with which it would have failed with a chance of 80 %.
    pub detectable: f64,
}

impl GateResult {
    /// True if the interval excludes a loss beyond the limit.
    pub fn excludes(&self, limit: f64) -> bool {
        self.ratio.log - self.ratio.half_width() > (1.0 - limit).ln()
    }
    /// True if it would see no loss that is twice the limit.
    pub fn is_blind(&self, limit: f64) -> bool {
        is_blind(self.detectable, limit)
    }
}

/// True if a gate that finds losses from `detectable` on would not see twice its limit. One that
/// allows no loss at all is never blind: twice nothing is nothing.
pub fn is_blind(detectable: f64, limit: f64) -> bool {
    limit > 0.0 && detectable > 2.0 * limit
}

/// A gate over ratios.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Mean of all ratios.
    pub whole: GateResult,
    /// Means of the groups with two ratios or more, ascending by group.
    pub groups: Vec<(usize, GateResult)>,
    /// Results in the order of the ratios.
    pub points: Vec<GateResult>,
}

impl Gate {
    /// Judges ratios, of which `groups` holds the group of each; absent without any.
    pub fn judge(ratios: &[Ratio], groups: &[usize], test: Test) -> Option<Gate> {
        let mut known = groups.to_vec();
        known.sort_unstable();
        known.dedup();
        let of_group = |group: usize| -> Vec<Ratio> {
            let own = ratios.iter().zip(groups).filter(|(_, other)| **other == group);
            own.map(|(ratio, _)| *ratio).collect()
        };
        known.retain(|group| of_group(*group).len() > 1);
        let means: Vec<Ratio> = known.iter().map(|group| mean_of(&of_group(*group))).collect();
        let all = if ratios.is_empty() { Vec::new() } else { vec![mean_of(ratios)] };
        Some(Gate {
            whole: looks(&all, test).pop()?,
            groups: known.into_iter().zip(looks(&means, test)).collect(),
            points: looks(ratios, test),
        })
    }

    /// True if whole, a group or a point fails.
    pub fn fails(&self) -> bool {
        let groups = self.groups.iter().map(|(_, look)| look);
        groups.chain(&self.points).chain([&self.whole]).any(|look| look.fails)
    }
}

/// The ratios of one level of the gate.
fn looks(ratios: &[Ratio], test: Test) -> Vec<GateResult> {
    let p: Vec<f64> = ratios.iter().map(|ratio| ratio.variance().p_of_loss(ratio.log)).collect();
    let found = step_up(&p, test.level / LEVELS);
    let tail = test.tail(ratios.len());
    let look = |((ratio, p), found): ((&Ratio, &f64), bool)| GateResult {
        ratio: *ratio,
        p: *p,
        found,
        fails: found && ratio.log < (1.0 - test.limit).ln(),
        detectable: detectable(ratio.variance(), tail, Some(test.limit)),
    };
    ratios.iter().zip(&p).zip(found).map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moderated::Variance;

    fn ratio(log: f64) -> Ratio {
        let own = Variance { value: 1e-3, freedom: 30.0 };
        let common = Variance { value: 1e-4, freedom: 10.0 };
        Ratio { log, own, common, fixed: 3e-4, of_repetition: 1e-3 }
    }

    #[test]
    fn a_loss_of_one_point_of_a_group_or_of_all_fails_each_at_its_level() {
        let groups = [0, 0, 0, 0, 1, 1, 1, 1, 2];
        let judged = |lost: &dyn Fn(usize) -> f64| {
            let ratios: Vec<Ratio> = (0..9).map(|point| ratio(lost(point))).collect();
            Gate::judge(&ratios, &groups, Test::with_limit(0.05)).unwrap()
        };
        let equal = judged(&|_| 0.0);
        assert!(!equal.fails() && equal.groups.len() == 2, "a lone point is no group: {equal:?}");
        let one = judged(&|point| if point == 8 { -0.2 } else { 0.0 });
        assert!(one.points[8].fails && !one.whole.fails && !one.groups.iter().any(|g| g.1.fails));
        let group = judged(&|point| if point < 4 { -0.07 } else { 0.0 });
        assert!(group.groups[0].1.fails && !group.points[0].fails && group.fails());
        let all = judged(&|_| -0.07);
        assert!(all.whole.fails && !all.points[0].fails);
        // A loss that is certain and smaller than allowed fails nothing.
        assert!(!judged(&|_| -0.045).fails());
        assert!(equal.whole.excludes(0.05) && !equal.points[0].excludes(0.03));
        assert_eq!(Gate::judge(&[], &[], Test::with_limit(0.05)), None);
    }

    #[test]
    fn a_gate_is_blind_below_twice_its_limit_and_one_without_any_allowance_never() {
        let judged = |limit: f64| {
            Gate::judge(&[ratio(0.0)], &[0], Test::with_limit(limit)).unwrap().points[0]
        };
        assert!(judged(0.01).is_blind(0.01) && !judged(0.3).is_blind(0.3), "{:?}", judged(0.01));
        assert!(judged(0.0).detectable > 0.0 && !judged(0.0).is_blind(0.0));
    }

    #[test]
    fn what_all_points_share_counts_once_in_a_mean() {
        let mean = mean_of(&[ratio(0.1), ratio(-0.1), ratio(0.0), ratio(0.0)]);
        assert!((mean.variance().value - (2.5e-4 + 1e-4)).abs() < 1e-12, "{mean:?}");
        assert!((mean.fixed - 1.5e-4).abs() < 1e-12 && mean.log.abs() < 1e-12);
    }

    #[test]
    fn a_mean_of_ratios_of_one_run_and_of_many_is_no_surer_than_that_of_the_one() {
        let of_one = Ratio { common: Variance { value: 2e-4, freedom: 10.0 }, ..ratio(0.0) };
        for ratios in [[ratio(0.0), of_one], [of_one, ratio(0.0)]] {
            let mean = mean_of(&ratios);
            assert_eq!(mean.common, of_one.common);
            assert!((mean.variance().value - (5e-4 + 2e-4)).abs() < 1e-12, "{mean:?}");
        }
    }
}
