//! Change points in a series of figures: E-divisive means (D. S. Matteson, N. A. James, "A
//! Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", 2014) with a t
//! test in place of permutations, over windows, as Hunter and Apache Otava do it (M. Fleming and
//! others, "Hunter: Using Change Point Detection to Hunt for Performance Regressions", 2023). The
//! test is Student's with the unbiased variance; Otava's has the divisor n, which sees more in few
//! figures.
//!
//! Those p values are of one place that was chosen beforehand, between independent figures. What is
//! reported here is judged as a whole series, too: neighboring figures may resemble one another,
//! and the place was searched among all of them. A change stays if its p value, with the variance
//! that the means of such a series have (first-order autoregressive, the correlation that of what
//! the pieces leave), times the places is below 5 %. Simulated, in 200 series each, the share with
//! a false change in 10 to 200 independent figures is at most 3 % (Otava's test alone: 10 %), of a
//! correlation of 0.5 at most 7 % (82 %). Heavy tails (t with 3 degrees of freedom) have one in
//! 18 % of series of 200 (23 %), for a pair of outliers looks like a piece of its own.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::stats::mean_interval::variance_of_mean;
use crate::stats::summary::{mean, two_sided_p};

/// Figures that are divided at once; windows overlap by half.
const WINDOW: usize = 50;
/// A change is looked at if chance alone makes such a difference at a place less often than this;
/// candidates have ten times as much.
const MAX_P: f64 = 0.001;
/// A change is reported if chance alone makes one as clear anywhere in the series less often than
/// this.
const MAX_P_OF_SERIES: f64 = 0.05;
/// Neighboring figures are never more alike than this.
const MAX_ALIKE: f64 = 0.95;
/// Minimum degrees of freedom that figures which resemble their neighbors have together.
const MIN_FREEDOM: f64 = 0.5;
const CANDIDATE: f64 = 10.0;

/// A change: the means of the figures before it and from it on, each up to the next change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first figure after it.
    pub at: usize,
    /// Mean of the figures before it, from the change before on.
    pub before: f64,
    /// Mean of the figures from it on, up to the next change.
    pub after: f64,
    /// Chance that a series without a change shows one as clear anywhere; between the steps of the
    /// search the two-sided p value of the difference at the place.
    pub p: f64,
}

/// The changes in a series of finite figures, in order.
pub fn changes(values: &[f64]) -> Vec<Change> {
    let mut points: BTreeSet<usize> =
        find_changes(values, WINDOW, MAX_P).into_iter().map(|change| change.at).collect();
    loop {
        let changes = of_series(values, &points);
        // The weakest goes first: without it its neighbors look different.
        match changes.iter().max_by(|a, b| a.p.total_cmp(&b.p)) {
            Some(weakest) if weakest.p >= MAX_P_OF_SERIES => points.remove(&weakest.at),
            _ => return changes,
        };
    }
}

/// The changes at these places with the p values of the whole series.
fn of_series(values: &[f64], points: &BTreeSet<usize>) -> Vec<Change> {
    let pieces = pieces(points.iter().copied(), values.len());
    let (alike, places) = (correlation(values, &pieces), values.len() as f64 - 1.0);
    let change = |pair: &[Range<usize>]| {
        let (left, right) = (&values[pair[0].clone()], &values[pair[1].clone()]);
        let found = difference_of_alike(left, right, alike);
        Change { at: pair[1].start, p: (found.p * places).min(1.0), ..found }
    };
    pieces.windows(2).map(change).collect()
}

/// Correlation of successive figures apart from the changes: lag-1 autocorrelation of what the
/// means of the pieces leave, with its bias taken off, which each mean adds to.
fn correlation(values: &[f64], pieces: &[Range<usize>]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for piece in pieces {
        let piece = &values[piece.clone()];
        let centre = mean(piece).unwrap_or_default();
        squares += piece.iter().map(|value| (value - centre).powi(2)).sum::<f64>();
        let neighbours = piece.windows(2).map(|two| (two[0] - centre) * (two[1] - centre));
        products += neighbours.sum::<f64>();
    }
    let raw = if squares > 0.0 { products / squares } else { 0.0 };
    let bias = pieces.len() as f64 * (1.0 + 4.0 * raw.max(0.0)) / values.len() as f64;
    (raw + bias).clamp(0.0, MAX_ALIKE)
}

/// Difference as by [`difference`], for figures with this correlation between neighbors.
fn difference_of_alike(left: &[f64], right: &[f64], alike: f64) -> Change {
    let plain = difference(left, right);
    let [n, m] = [left, right].map(|piece| piece.len() as f64);
    let [of_left, of_right] = [left, right].map(|piece| variance_of_mean(piece.len(), alike));
    let squares = |piece: &[f64], centre: f64| {
        piece.iter().map(|value| (value - centre).powi(2)).sum::<f64>()
    };
    let free = n * (1.0 - of_left) + m * (1.0 - of_right);
    let variance = (squares(left, plain.before) + squares(right, plain.after)) / free;
    let t = (plain.after - plain.before) / (variance * (of_left + of_right)).sqrt();
    let worth = (n + m) * (1.0 - alike) / (1.0 + alike) - 2.0;
    let is_known = n + m > 2.0 && !t.is_nan();
    let p = if is_known { two_sided_p(t, worth.max(MIN_FREEDOM)) } else { None };
    Change { p: p.unwrap_or(1.0), ..plain }
}

/// The pieces between changes, the ends of the series included.
pub fn pieces(changes: impl IntoIterator<Item = usize>, len: usize) -> Vec<Range<usize>> {
    let ends: Vec<usize> = changes.into_iter().chain([len]).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
}

fn find_changes(values: &[f64], window: usize, most_p: f64) -> Vec<Change> {
    let mut points = candidates(values, window, CANDIDATE * most_p);
    loop {
        let changes = test_changes(values, &points);
        // The weakest goes first: without it its neighbors look different.
        match changes
            .into_iter()
            .reduce(|weakest, next| if next.p > weakest.p { next } else { weakest })
        {
            Some(weakest) if weakest.p >= most_p => points.remove(&weakest.at),
            _ => return test_changes(values, &points),
        };
    }
}

/// Positions at which each window divides.
fn candidates(values: &[f64], window: usize, most_p: f64) -> BTreeSet<usize> {
    let (mut points, mut start) = (BTreeSet::new(), 0);
    while start < values.len() {
        let end = values.len().min(start + window);
        let found: Vec<usize> =
            divide(&values[start..end], most_p).into_iter().map(|at| start + at).collect();
        start = (start + window / 2).max(found.last().copied().unwrap_or(0));
        points.extend(found);
    }
    points
}

/// Divides at the place of the largest distance, again and again, until the difference there is one
/// of chance.
fn divide(values: &[f64], most_p: f64) -> BTreeSet<usize> {
    let (sums, mut points) = (Distances::new(values), BTreeSet::new());
    loop {
        let pieces = pieces(points.iter().copied(), values.len());
        let divisions = pieces.iter().filter_map(|piece| sums.division(piece));
        let best = divisions.reduce(|best, next| if next.q > best.q { next } else { best });
        match best {
            Some(Division { piece, at, .. })
                if difference(&values[piece.start..at], &values[at..piece.end]).p <= most_p =>
            {
                points.insert(at)
            }
            _ => return points,
        };
    }
}

/// A piece of the series, divided at one of its figures.
struct Division {
    piece: Range<usize>,
    /// Position of the first figure of the second part.
    at: usize,
    /// Size of the difference between the parts, the statistic Q.
    q: f64,
}

/// The changes at these places, each between its neighbors.
fn test_changes(values: &[f64], points: &BTreeSet<usize>) -> Vec<Change> {
    let pieces = pieces(points.iter().copied(), values.len());
    let change = |pair: &[Range<usize>]| Change {
        at: pair[1].start,
        ..difference(&values[pair[0].clone()], &values[pair[1].clone()])
    };
    pieces.windows(2).map(change).collect()
}

/// Student's t test of two samples with equal variances.
fn difference(left: &[f64], right: &[f64]) -> Change {
    let (before, after) = (mean(left).unwrap_or(f64::NAN), mean(right).unwrap_or(f64::NAN));
    let squares = |values: &[f64], centre: f64| {
        values.iter().map(|value| (value - centre).powi(2)).sum::<f64>()
    };
    let (n, m) = (left.len() as f64, right.len() as f64);
    let freedom = n + m - 2.0;
    let variance = (squares(left, before) + squares(right, after)) / freedom;
    let t = (after - before) / (variance * (1.0 / n + 1.0 / m)).sqrt();
    // Equal figures throughout (0 / 0) and a pair of figures show no difference.
    let p = if freedom > 0.0 && !t.is_nan() { two_sided_p(t, freedom) } else { None };
    Change { at: 0, before, after, p: p.unwrap_or(1.0) }
}

/// Sums of the distances between figures: `sums[i][j]` is that of the first i from the first j.
struct Distances {
    sums: Vec<Vec<f64>>,
}

impl Distances {
    fn new(values: &[f64]) -> Distances {
        let mut sums = vec![vec![0.0; values.len() + 1]; values.len() + 1];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                sums[i + 1][j + 1] = sums[i][j + 1] + sums[i + 1][j] - sums[i][j] + (a - b).abs();
            }
        }
        Distances { sums }
    }

    fn between(&self, a: &Range<usize>, b: &Range<usize>) -> f64 {
        let sums = &self.sums;
        sums[a.end][b.end] - sums[a.start][b.end] - sums[a.end][b.start] + sums[a.start][b.start]
    }

    /// Division of a piece where its figures differ most from those that follow; none for a single
    /// figure.
    fn division(&self, piece: &Range<usize>) -> Option<Division> {
        let mut best: Option<Division> = None;
        for at in piece.start + 1..piece.end {
            for end in at + 1..=piece.end {
                let q = self.q(&(piece.start..at), &(at..end));
                if best.as_ref().is_none_or(|best| q > best.q) {
                    best = Some(Division { piece: piece.clone(), at, q });
                }
            }
        }
        best
    }

    /// `2 / (m + n) * (sum |x - y| - m / (n - 1) * sum |x - x'| - n / (m - 1) * sum |y - y'|)`,
    /// over pairs.
    fn q(&self, x: &Range<usize>, y: &Range<usize>) -> f64 {
        let (n, m) = (x.len() as f64, y.len() as f64);
        let within = |part: &Range<usize>| match part.len() {
            1 => 0.0,
            len => self.between(part, part) / 2.0 / (len as f64 - 1.0),
        };
        2.0 / (m + n) * (self.between(x, y) - m * within(x) - n * within(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(changes: &[Change]) -> Vec<usize> {
        changes.iter().map(|change| change.at).collect()
    }

    #[test]
    fn the_examples_of_otava_come_out_as_its_tests_say() {
        // tests/change_point_divisive_test.py (one window, p < 0.01) and tests/analysis_test.py of
        // apache/otava.
        let steps =
            [0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0];
        assert_eq!(divide(&steps, 0.01).into_iter().collect::<Vec<_>>(), [5, 8]);
        let halved = [
            1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48,
            0.55, 0.50, 0.49, 0.51, 0.50, 0.49,
        ];
        assert_eq!(places(&find_changes(&halved, 10, 0.0001)), [10]);
        let [change] = changes(&halved)[..] else { panic!("one change") };
        assert!(
            (change.before - 1.004).abs() < 1e-9
                && (change.after - 0.501).abs() < 1e-9
                && change.p < 1e-12
        );
    }

    #[test]
    fn a_database_s_nightly_figures_change_where_otava_says() {
        // The first 140 figures of TigerBeetle in tests/tigerbeetle_test.py of apache/otava: at
        // window 30 and p < 0.001 it finds 15, 61, 71, 95, 117, 131 among them. One figure that
        // falls out (the 11th) is not a change.
        let series = [
            26_705.0, 26_475.0, 26_641.0, 26_806.0, 26_835.0, 26_911.0, 26_564.0, 26_812.0,
            26_874.0, 26_682.0, 15_672.0, 26_745.0, 26_460.0, 26_977.0, 26_851.0, 23_412.0,
            23_547.0, 23_674.0, 23_519.0, 23_670.0, 23_662.0, 23_462.0, 23_750.0, 23_717.0,
            23_524.0, 23_588.0, 23_687.0, 23_793.0, 23_937.0, 23_715.0, 23_570.0, 23_730.0,
            23_690.0, 23_699.0, 23_670.0, 23_860.0, 23_988.0, 23_652.0, 23_681.0, 23_798.0,
            23_728.0, 23_604.0, 23_523.0, 23_412.0, 23_685.0, 23_773.0, 23_771.0, 23_718.0,
            23_409.0, 23_739.0, 23_674.0, 23_597.0, 23_682.0, 23_680.0, 23_711.0, 23_660.0,
            23_990.0, 23_938.0, 23_742.0, 23_703.0, 23_536.0, 24_363.0, 24_414.0, 24_483.0,
            24_509.0, 24_944.0, 24_235.0, 24_560.0, 24_236.0, 24_667.0, 24_730.0, 28_346.0,
            28_437.0, 28_436.0, 28_057.0, 28_217.0, 28_456.0, 28_427.0, 28_398.0, 28_250.0,
            28_331.0, 28_222.0, 28_726.0, 28_578.0, 28_345.0, 28_274.0, 28_514.0, 28_590.0,
            28_449.0, 28_305.0, 28_411.0, 28_788.0, 28_404.0, 28_821.0, 28_580.0, 27_483.0,
            26_805.0, 27_487.0, 27_124.0, 26_898.0, 27_295.0, 26_951.0, 27_312.0, 27_660.0,
            27_154.0, 27_050.0, 26_989.0, 27_193.0, 27_503.0, 27_326.0, 27_375.0, 27_513.0,
            27_057.0, 27_421.0, 27_574.0, 27_609.0, 27_123.0, 27_824.0, 27_644.0, 27_394.0,
            27_836.0, 27_949.0, 27_702.0, 27_457.0, 27_272.0, 28_207.0, 27_802.0, 27_516.0,
            27_586.0, 28_005.0, 27_768.0, 28_543.0, 28_237.0, 27_915.0, 28_437.0, 28_342.0,
            27_733.0, 28_296.0, 28_524.0, 28_687.0,
        ];
        assert_eq!(places(&find_changes(&series, 30, 0.001)), [15, 61, 71, 95, 117, 131]);
    }

    #[test]
    fn series_without_a_change_seldom_show_one_though_their_figures_resemble_one_another() {
        use crate::stats::keys::KeyStream;
        let mut keys = KeyStream::for_job(17, 1);
        let mut normal = || (0..12).map(|_| keys.key(10_000) as f64 / 1e4).sum::<f64>() - 6.0;
        // Number of 60 series of 50 figures in which a change is found; the last third is higher by
        // `step`.
        let mut changed = |alike: f64, step: f64| {
            let has_one = |_: &i32| {
                let mut error = normal();
                let series: Vec<f64> = (0..50)
                    .map(|at| {
                        error = alike * error + (1.0 - alike * alike).sqrt() * normal();
                        100.0 + error + if at >= 33 { step } else { 0.0 }
                    })
                    .collect();
                !changes(&series).is_empty()
            };
            (0..60).filter(has_one).count()
        };
        for alike in [0.0, 0.3, 0.5] {
            let chance = changed(alike, 0.0);
            assert!(chance <= 6, "{alike}: {chance} of 60 series");
        }
        assert!(changed(0.0, 3.0) >= 57 && changed(0.5, 5.0) >= 51);
    }

    #[test]
    fn chance_and_few_figures_are_no_change() {
        assert_eq!(changes(&[]), []);
        assert_eq!(changes(&[1.0, 2.0]), []);
        assert_eq!(changes(&[5.0; 12]), []);
        assert_eq!(changes(&[100.0, 101.0, 99.5, 100.2, 99.9, 100.8, 99.2, 100.1]), []);
        assert_eq!(changes(&[100.0, 101.0, 150.0]), [], "three figures cannot tell");
    }

    #[test]
    fn pieces_lie_between_changes() {
        assert_eq!(pieces([2, 5], 6), [0..2, 2..5, 5..6]);
        assert_eq!(pieces([], 3), [Range { start: 0, end: 3 }]);
    }
}
