//! The share of the best that the figures of several platforms reach, in a row and over many rows.

use super::interval::{FEWEST, UncertainValue, Unknown};
use super::ratio::Ratio;
use crate::model::Better;

/// A figure's share of the best of its row, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BestShare {
    /// The share as measured: 1 is the best.
    pub value: f64,
    /// Lower and upper end of its interval, or the reason why it has none. The lower end of the
    /// best is below 1 if another figure may be better.
    pub ends: Result<[f64; 2], Unknown>,
}

impl BestShare {
    /// The shares of a row, in its order. None of fewer than two figures, or where one of them is 0
    /// or no number.
    pub fn of_row(better: Better, row: &[UncertainValue]) -> Option<Vec<BestShare>> {
        let are_usable = row.iter().all(|figure| figure.value.is_finite() && figure.value > 0.0);
        if row.len() < FEWEST || !are_usable {
            return None;
        }
        let of = |(at, own): (usize, &UncertainValue)| {
            let others = row.iter().enumerate().filter(|(other, _)| *other != at);
            let rival = others.map(|(_, other)| other).reduce(|best, next| {
                if better.beats(next.value, best.value) { next } else { best }
            });
            rival.map(|rival| BestShare::beside(better, *own, *rival))
        };
        row.iter().enumerate().map(of).collect()
    }

    /// The share of a figure beside the best of the others.
    fn beside(better: Better, own: UncertainValue, rival: UncertainValue) -> BestShare {
        let ratio = match better {
            Better::Higher => Ratio::new(rival, own),
            Better::Lower => Ratio::new(own, rival),
        };
        let ends = ratio.span.map(|span| [span.low.min(1.0), span.high.min(1.0)]);
        BestShare { value: ratio.value.min(1.0), ends }
    }

    /// Geometric mean of a platform's shares in several rows; none of no shares. Its ends are the
    /// geometric means of theirs, so that more rows make it no narrower: of two equal platforms
    /// each is behind in half of the rows by chance, and no number of rows takes that out of their
    /// means. Without the ends of one row it has none, for the reason of the first.
    pub fn mean(shares: &[BestShare]) -> Option<BestShare> {
        let value = geometric_mean(shares.iter().map(|share| share.value))?;
        let ends: Result<Vec<[f64; 2]>, Unknown> = shares.iter().map(|share| share.ends).collect();
        let ends = ends.map(|ends| {
            [0, 1].map(|at| geometric_mean(ends.iter().map(|ends| ends[at])).unwrap_or(value))
        });
        Some(BestShare { value, ends })
    }

    /// Its ends, if they are known and it is not 1 for certain.
    pub fn uncertain_ends(&self) -> Option<[f64; 2]> {
        self.ends.ok().filter(|[low, high]| low < high)
    }
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::interval::Interval;

    /// A figure whose interval has this half width on the logarithm.
    fn known(value: f64, half_width: f64) -> UncertainValue {
        UncertainValue { value, interval: Ok(Interval::of_seconds(half_width, 1e9)) }
    }

    fn near(share: &BestShare, value: f64, ends: [f64; 2]) {
        let found = share.ends.unwrap();
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(is_near(share.value, value), "{share:?}");
        assert!(is_near(found[0], ends[0]) && is_near(found[1], ends[1]), "{share:?}");
    }

    #[test]
    fn a_share_is_that_of_the_best_and_the_ends_are_no_more_than_it() {
        let row = [known(50.0, 0.03), known(100.0, 0.04), known(98.0, 0.03)];
        let shares = BestShare::of_row(Better::Higher, &row).unwrap();
        near(&shares[0], 0.5, [0.5 * (-0.05f64).exp(), 0.5 * 0.05f64.exp()]);
        near(&shares[1], 1.0, [100.0 / 98.0 * (-0.05f64).exp(), 1.0]);
        near(&shares[2], 0.98, [0.98 * (-0.05f64).exp(), 1.0]);
        assert_eq!(shares[1].uncertain_ends().map(|ends| ends[1]), Some(1.0));
        let times = [known(2.0, 0.03), known(1.0, 0.04)];
        let shares = BestShare::of_row(Better::Lower, &times).unwrap();
        near(&shares[0], 0.5, [0.5 * (-0.05f64).exp(), 0.5 * 0.05f64.exp()]);
        near(&shares[1], 1.0, [1.0, 1.0]);
        assert_eq!(shares[1].uncertain_ends(), None, "for certain the best");
    }

    #[test]
    fn a_row_with_nothing_to_compare_has_no_shares() {
        let of_row = |row: &[UncertainValue]| BestShare::of_row(Better::Higher, row);
        assert_eq!(of_row(&[known(1.0, 0.1)]), None);
        assert_eq!(of_row(&[known(1.0, 0.1), known(0.0, 0.1)]), None);
        assert_eq!(of_row(&[known(1.0, 0.1), known(f64::NAN, 0.1)]), None);
        assert_eq!(BestShare::mean(&[]), None);
    }

    #[test]
    fn equal_platforms_may_both_be_the_best_however_many_rows_they_have() {
        // Of 200 rows each is behind in every other one, by half of the noise.
        let mut shares = [Vec::new(), Vec::new()];
        for row in 0..200 {
            let ahead = if row % 2 == 0 { 1.05 } else { 1.0 / 1.05 };
            let row = [known(100.0 * ahead, 0.07), known(100.0, 0.07)];
            let of_row = BestShare::of_row(Better::Higher, &row).unwrap();
            shares.iter_mut().zip(of_row).for_each(|(all, share)| all.push(share));
        }
        for shares in &shares {
            let mean = BestShare::mean(shares).unwrap();
            assert!(mean.value < 0.98, "{mean:?}");
            assert!((mean.ends.unwrap()[1] - 1.0).abs() < 1e-9, "{mean:?}");
        }
    }

    #[test]
    fn a_mean_with_a_row_of_unknown_noise_has_no_ends() {
        let printed = UncertainValue { value: 50.0, interval: Err(Unknown::Published) };
        let rows = [[known(50.0, 0.1), known(100.0, 0.1)], [printed, known(100.0, 0.1)]];
        let first = |row: &[UncertainValue; 2]| BestShare::of_row(Better::Higher, row).unwrap()[0];
        let mean = BestShare::mean(&rows.each_ref().map(first)).unwrap();
        assert_eq!((mean.ends, mean.uncertain_ends()), (Err(Unknown::Published), None));
        assert!((mean.value - 0.5).abs() < 1e-9);
    }
}
