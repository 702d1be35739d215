//! Ratios of two sides that agree with blocks that measured both in random order: an interval that
//! may be looked at after every block.
//!
//! A block gives one value, the logarithm of the ratio of both sides. Drift, neighbors and bursts
//! make the two trials of a block differ; as chance decides which side ran first, that difference
//! is added as often as it is subtracted. So the values lie symmetrically around the true one,
//! whatever the noise is like: its distribution, its memory and its trend play no part. The
//! interval holds every center of symmetry that a bettor cannot refute: who bets against a center
//! that values lie above it multiplies the stake with 1 + most * tanh(slope * distance / scale /
//! most) each time, which is fair if they lie above as often as below. A fair game multiplies the
//! stake by 1/alpha once or ever with a probability of alpha at most (J. Ville, 1939), so the
//! interval is right at all looks together (A. Ramdas et al., "Testing exchangeability:
//! fork-convexity, supermartingales and e-processes", 2022; for symmetric values after V. H. de la
//! Peña, Annals of Probability 27, 1999). The scale is that of the values before, so that it cannot
//! favor an outcome; a burst costs one bet and no more.

use super::summary::median;

/// A way to bet.
struct Bet {
    /// Share of the stake that is bet on a value one scale away, if that is small.
    slope: f64,
    /// Maximum share of the stake.
    most: f64,
    /// Share of all money that is bet this way.
    share: f64,
}

/// Careful bets find small differences, bold ones find large differences in few blocks.
const BETS: [Bet; 3] = [
    Bet { slope: 0.3, most: 0.5, share: 0.2 },
    Bet { slope: 0.8, most: 0.8, share: 0.4 },
    Bet { slope: 2.0, most: 0.98, share: 0.4 },
];
/// Maximum number of values that the scale is computed from: the newest.
const REMEMBERED: usize = 100;
/// Standard deviation / median of the absolute deviations of normal values.
const SIGMA_OF_MAD: f64 = 1.4826;
/// Deviation that one block more is assumed to have: the scale before any is known.
const USUAL: f64 = 0.01;
/// Steps of a bisection: to 2^-40 of where it began.
const STEPS: usize = 40;
/// Number of scales from which on every bet wins as much as it can.
const FAR: f64 = 40.0;

/// The fewest blocks that can refute anything.
pub fn fewest(alpha: f64) -> usize {
    let won = |blocks: usize| {
        BETS.iter().map(|bet| bet.share * (1.0 + bet.most).powi(blocks as i32)).sum::<f64>()
    };
    (1..).find(|blocks| won(*blocks) >= 2.0 / alpha).unwrap_or(usize::MAX)
}

/// The values of the blocks so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Paired {
    values: Vec<f64>,
    /// Scale of each value, from the values before it.
    scales: Vec<f64>,
}

impl Paired {
    /// Adds a block.
    pub fn add(&mut self, value: f64) {
        self.scales.push(self.scale());
        self.values.push(value);
    }

    /// The values, in order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Lower and upper end of the interval of the level 1 - `alpha`; none with too few blocks to
    /// refute anything.
    pub fn interval(&self, alpha: f64) -> Option<(f64, f64)> {
        let widest = self.scales.iter().copied().fold(0.0, f64::max) * FAR;
        let least = self.values.iter().copied().reduce(f64::min)? - widest;
        let most = self.values.iter().copied().reduce(f64::max)? + widest;
        if !self.refutes_up_to(least, alpha) || !self.refutes_from(most, alpha) {
            return None;
        }
        let low = bisected(least, most, |at| self.refutes_up_to(at, alpha));
        Some((low, bisected(most, least, |at| self.refutes_from(at, alpha))))
    }

    /// True if no center up to this one agrees with the values.
    pub fn refutes_up_to(&self, centre: f64, alpha: f64) -> bool {
        self.log_stake(centre, 1.0) >= (2.0 / alpha).ln()
    }

    /// True if no center from this one on agrees with the values.
    pub fn refutes_from(&self, centre: f64, alpha: f64) -> bool {
        self.log_stake(centre, -1.0) >= (2.0 / alpha).ln()
    }

    /// Logarithm of the stake of who bets that values lie above the center (`side` 1) or below it
    /// (-1).
    fn log_stake(&self, centre: f64, side: f64) -> f64 {
        let of_bet = |bet: &Bet| {
            let won = |(value, scale): (&f64, &f64)| bet.log_win(side * (value - centre) / scale);
            bet.share.ln() + self.values.iter().zip(&self.scales).map(won).sum::<f64>()
        };
        log_sum(&BETS.each_ref().map(of_bet))
    }

    /// Robust, so that a burst does not make all later bets careful.
    fn scale(&self) -> f64 {
        let newest = &self.values[self.values.len().saturating_sub(REMEMBERED)..];
        let centre = median(newest).unwrap_or_default();
        let deviations: Vec<f64> =
            newest.iter().map(|value| (value - centre).abs()).chain([USUAL]).collect();
        SIGMA_OF_MAD * median(&deviations).unwrap_or(USUAL).max(f64::EPSILON)
    }
}

impl Bet {
    /// Logarithm of the factor by which a value at this distance on the right side, in scales,
    /// multiplies the stake.
    fn log_win(&self, distance: f64) -> f64 {
        (self.most * (self.slope * distance / self.most).tanh()).ln_1p()
    }
}

/// ln of the sum of exp.
fn log_sum(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
}

/// Point between `out` and `inside` where `is_out` ceases to be true.
fn bisected(mut out: f64, mut inside: f64, is_out: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = f64::midpoint(out, inside);
        if is_out(middle) { out = middle } else { inside = middle }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyStream;

    fn paired(values: &[f64]) -> Paired {
        let mut paired = Paired::default();
        values.iter().for_each(|value| paired.add(*value));
        paired
    }

    #[test]
    fn seven_blocks_are_the_fewest_that_refute_anything_and_more_figures_want_more() {
        let blocks = |alpha: f64| {
            (1..99).find(|count| paired(&vec![0.5; *count]).interval(alpha).is_some()).unwrap()
        };
        assert_eq!(
            [0.05, 0.05 / 30.0].map(|alpha| (blocks(alpha), fewest(alpha))),
            [(7, 7), (12, 12)]
        );
        let (low, high) = paired(&[0.5; 8]).interval(0.05).unwrap();
        assert!(low > 0.45 && low < 0.5 && high > 0.5 && high < 0.55, "{low} {high}");
    }

    #[test]
    fn the_interval_moves_with_the_values_and_turns_with_the_sides() {
        let values: Vec<f64> = (0..20).map(|at| 0.02 * f64::from(at * 7 % 20 - 10)).collect();
        let interval = |change: &dyn Fn(f64) -> f64| {
            paired(&values.iter().map(|value| change(*value)).collect::<Vec<_>>())
                .interval(0.05)
                .unwrap()
        };
        let ((low, high), (up_low, up_high)) =
            (interval(&|value| value), interval(&|value| value + 3.0));
        assert!((up_low - low - 3.0).abs() < 1e-6 && (up_high - high - 3.0).abs() < 1e-6);
        let (turned_low, turned_high) = interval(&|value| -value);
        assert!((turned_low + high).abs() < 1e-6 && (turned_high + low).abs() < 1e-6);
    }

    #[test]
    fn a_burst_widens_the_interval_little() {
        let mut values: Vec<f64> = (0..30).map(|at| 0.01 * f64::from(at % 5 - 2)).collect();
        let width =
            |values: &[f64]| paired(values).interval(0.05).map(|(low, high)| high - low).unwrap();
        let calm = width(&values);
        values[10] = 5.0;
        assert!(width(&values) < 1.5 * calm);
    }

    /// True if the series refutes its center, which is 0, at any look.
    fn refutes_ever(series: &Paired, alpha: f64) -> bool {
        [1.0, -1.0].into_iter().any(|side| {
            let mut logs = BETS.each_ref().map(|bet| bet.share.ln());
            series.values.iter().zip(&series.scales).any(|(value, scale)| {
                logs.iter_mut()
                    .zip(&BETS)
                    .for_each(|(log, bet)| *log += bet.log_win(side * value / scale));
                log_sum(&logs) >= (2.0 / alpha).ln()
            })
        })
    }

    /// A fair coin decides each sign: the true center is 0 whatever the sizes are.
    #[test]
    fn the_centre_is_refuted_ever_in_less_than_one_of_twenty_series_however_they_are_distributed() {
        let heavy = |u: f64| (1.0 / (1.0 - u)).powi(2);
        let sizes: [&dyn Fn(f64) -> f64; 4] =
            [&|_| 0.01, &|u| u, &heavy, &|u| if u < 0.9 { 0.001 } else { 1.0 }];
        for (kind, size) in sizes.iter().enumerate() {
            let mut keys = KeyStream::numbered(11, kind as u32 + 1);
            let mut series = || {
                let sign = |heads: bool| if heads { 1.0 } else { -1.0 };
                let mut value = || {
                    sign(keys.key(2) == 1)
                        * size(keys.key(1 << 20) as f64 / f64::from(1 << 20) - 1e-9)
                };
                paired(&(0..60).map(|_| value()).collect::<Vec<_>>())
            };
            let refuted = (0..1_000).filter(|_| refutes_ever(&series(), 0.05)).count();
            assert!((1..=50).contains(&refuted), "kind {kind}: {refuted} of 1000");
        }
    }
}
