//! Heatmaps: figures of several platforms in one row, each placed between 0 and the best of the
//! row.

use serde::Serialize;

use super::interval::FEWEST;
use super::ramp::Figure;
use crate::model::{Better, RunKind};

/// A figure that supports a statement (`interval::supports`) and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// In the unit of the row.
    pub value: f64,
    /// Half width of its 95 % confidence interval as a fraction of it (`analysis::interval`);
    /// absent if it was not measured.
    pub ci_fraction: Option<f64>,
    /// A publication's: its order is that of the printed figures.
    pub is_printed: bool,
}

impl Known {
    /// What is known of a ramp's figure.
    pub fn of(figure: &Figure<'_>) -> Known {
        let is_printed = figure.test.kind() == RunKind::Published;
        Known { value: figure.value, ci_fraction: figure.half_width(), is_printed }
    }
}

/// How a figure stands against the best of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// The best; several, if they are exactly equal.
    Best,
    /// It does not differ from the best beyond the noise.
    Equal,
    Below,
    /// A measured figure of the row has no interval: it is not known which differ.
    Undecided,
}

/// Where a figure stands in its row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// 1 = the best of the row, 0 = nothing: value / best, or best / value if lower is better.
    pub share: f64,
    pub rank: Rank,
}

/// The places of a row's figures; none where there is no figure, and none at all if they are fewer
/// than two.
pub fn places(better: Better, row: &[Option<Known>]) -> Vec<Option<Place>> {
    let is_row = row.iter().flatten().filter(|figure| is_usable(figure)).count() >= FEWEST;
    let best = best(better, row).filter(|_| is_row);
    let is_decided =
        row.iter().flatten().all(|figure| figure.is_printed || figure.ci_fraction.is_some());
    let place = |figure: Known| {
        let place = place(better, figure, best?);
        Some(if is_decided { place } else { Place { rank: Rank::Undecided, ..place } })
    };
    row.iter().map(|figure| figure.filter(is_usable).and_then(place)).collect()
}

fn is_usable(figure: &Known) -> bool {
    figure.value.is_finite() && figure.value >= 0.0
}

fn best(better: Better, row: &[Option<Known>]) -> Option<Known> {
    let known = row.iter().flatten().filter(|figure| is_usable(figure)).copied();
    known.reduce(|best, next| if better.beats(next.value, best.value) { next } else { best })
}

fn place(better: Better, figure: Known, best: Known) -> Place {
    Place { share: share(better, figure.value, best.value), rank: rank(figure, best) }
}

fn share(better: Better, value: f64, best: f64) -> f64 {
    let (part, whole) = match better {
        Better::Higher => (value, best),
        Better::Lower => (best, value),
    };
    // All zero: then all are the best.
    if part == whole { 1.0 } else { (part / whole).clamp(0.0, 1.0) }
}

/// Two independent figures differ if 1 lies outside the interval of their ratio: the logarithm of a
/// ratio has the squared half width of the sum of both squared fractions. Of printed figures only
/// the best is.
fn rank(figure: Known, best: Known) -> Rank {
    if figure.value == best.value {
        return Rank::Best;
    }
    let noise = figure.ci_fraction.zip(best.ci_fraction).map(|(a, b)| a.hypot(b));
    match noise {
        Some(noise) if (figure.value / best.value).ln().abs() <= noise => Rank::Equal,
        _ => Rank::Below,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(values: &[f64]) -> Vec<Option<Known>> {
        values
            .iter()
            .map(|&value| Some(Known { value, ci_fraction: None, is_printed: true }))
            .collect()
    }

    fn ranks(places: &[Option<Place>]) -> Vec<Rank> {
        places.iter().flatten().map(|place| place.rank).collect()
    }

    #[test]
    fn a_published_row_is_anchored_at_nothing_and_only_the_best_is_best() {
        // OraBench 2016, table 4, T111 in ops/s: IBM Power8, then DL580 bare metal, ESXi, RHV,
        // DL380 bare metal.
        let row = published(&[10_204e3, 18_519e3, 22_727e3, 20_833e3, 21_739e3]);
        let places = places(Better::Higher, &row);
        let shares: Vec<_> =
            places.iter().flatten().map(|place| (place.share * 1e3).round() / 1e3).collect();
        assert_eq!(shares, [0.449, 0.815, 1.0, 0.917, 0.957]);
        assert_eq!(
            ranks(&places),
            [Rank::Below, Rank::Below, Rank::Best, Rank::Below, Rank::Below]
        );
    }

    #[test]
    fn of_times_the_shortest_is_best_and_equal_ones_share_it() {
        // OraBench 2016, table 4, T151 in seconds: DL380 bare metal 22, another 22, IBM Power8
        // slower.
        let places = places(Better::Lower, &published(&[22.0, 44.0, 22.0]));
        assert_eq!(ranks(&places), [Rank::Best, Rank::Below, Rank::Best]);
        assert_eq!(places[1].unwrap().share, 0.5);
    }

    #[test]
    fn within_the_noise_of_both_figures_is_equal() {
        let measured = |value, ci_fraction| {
            Some(Known { value, ci_fraction: Some(ci_fraction), is_printed: false })
        };
        // Half widths of 3 % and 4 %: the ratio is known to 5 %.
        let row = [measured(100.0, 0.03), measured(95.5, 0.04), measured(94.0, 0.04), None];
        assert_eq!(ranks(&places(Better::Higher, &row)), [Rank::Best, Rank::Equal, Rank::Below]);
        let one_interval = [
            measured(100.0, 0.5),
            Some(Known { value: 99.0, ci_fraction: None, is_printed: false }),
        ];
        assert_eq!(ranks(&places(Better::Higher, &one_interval)), [Rank::Undecided; 2]);
        assert_eq!(places(Better::Higher, &one_interval)[1].unwrap().share, 0.99);
    }

    #[test]
    fn an_only_figure_is_not_the_best() {
        let only = Some(Known { value: 5.0, ci_fraction: Some(0.01), is_printed: false });
        assert_eq!(places(Better::Higher, &[None, only, None]), [None, None, None]);
        assert_eq!(places(Better::Higher, &published(&[5.0, f64::NAN])), [None, None]);
    }

    #[test]
    fn nothing_has_no_place_and_zero_no_share() {
        assert_eq!(places(Better::Higher, &[None, None]), [None, None]);
        let zeros = places(Better::Higher, &published(&[0.0, 0.0]));
        assert_eq!(zeros[0].unwrap(), Place { share: 1.0, rank: Rank::Best });
        assert_eq!(places(Better::Higher, &published(&[0.0, 5.0]))[0].unwrap().share, 0.0);
        assert_eq!(places(Better::Lower, &published(&[0.0, 5.0]))[1].unwrap().share, 0.0);
    }
}
