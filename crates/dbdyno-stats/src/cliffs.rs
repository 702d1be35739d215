//! Points where a quantity begins to climb: cliffs in the cost of a growing set of active data,
//! which caches of some size serve.
//!
//! With keys drawn evenly from x units of data and a cache of c units that holds as much of them as
//! it can, a share 1 - c/x of the accesses misses it once x > c. Each cache that is passed adds its
//! own such term: y = base + sum of rise * max(0, 1 - c/x).

use super::least_squares::solve;

/// Candidates for a cliff between two neighboring values of x.
const PER_STEP: usize = 6;
/// A cliff that climbs by less than this share of the base is none.
const MIN_RISE: f64 = 0.1;
/// Relative error below which one model is as good as another: more is not known of any
/// measurement.
const EXACT: f64 = 1e-2;
/// Freedom that a fit through all points is said to leave.
const MIN_FREEDOM: f64 = 0.5;
/// Two cliffs that lie nearer to each other are one.
const APART: f64 = 2.0;

/// A cache that was passed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    /// Position of the cliff, in the unit of x.
    pub at: f64,
    /// Additional cost of an access that misses it.
    pub rise: f64,
}

/// Base and cliffs, in ascending order.
#[derive(Debug, Clone, PartialEq)]
pub struct Cliffs {
    /// Cost of an access that every cache serves.
    pub base: f64,
    /// Caches that were passed.
    pub cliffs: Vec<Cliff>,
    /// Root of the mean square of the relative errors.
    pub error: f64,
}

impl Cliffs {
    /// Fit with as many cliffs, at most `most`, as the Bayesian information criterion supports (G.
    /// Schwarz, 1978). `points` are in ascending order of x, all above 0; absent with fewer than
    /// four.
    pub fn fit(points: &[(f64, f64)], most: usize) -> Option<Cliffs> {
        let fits = (0..=most).filter_map(|count| Cliffs::fit_count(points, count));
        let score = |fit: &Cliffs| {
            let (n, parameters) = (points.len() as f64, 1.0 + 2.0 * fit.cliffs.len() as f64);
            // The places are searched, which few points fit by chance: the penalty grows as the
            // freedom that is left goes (as the correction of C. M. Hurvich and C.-L. Tsai,
            // Biometrika 76, 1989, does for another criterion). Simulated: flat curves of 4 to 13
            // sizes with noise of 2, 5 and 10 % have a cliff in at most 1, 5 and 6 %.
            let left = (n - parameters).max(MIN_FREEDOM);
            2.0 * n * fit.error.max(EXACT).ln() + parameters * n.ln() * n / left
        };
        fits.min_by(|a, b| score(a).total_cmp(&score(b)))
    }

    /// Fit with this number of cliffs. Absent if `count` is 0, if fewer places climb, or with too
    /// few points.
    pub fn fit_count(points: &[(f64, f64)], count: usize) -> Option<Cliffs> {
        if points.len() < 4 || points.iter().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
            return None;
        }
        let grid = grid(points);
        let mut best: Option<Cliffs> = None;
        for chosen in combinations(grid.len(), count) {
            let sizes: Vec<f64> = chosen.iter().map(|at| grid[*at]).collect();
            let fit = if sizes.windows(2).all(|two| two[1] >= APART * two[0]) {
                fit(points, &sizes)
            } else {
                None
            };
            best = best.into_iter().chain(fit).min_by(|a, b| a.error.total_cmp(&b.error));
        }
        best
    }
}

/// Sizes that are tried: between the first and the last x, evenly on a logarithmic scale.
fn grid(points: &[(f64, f64)]) -> Vec<f64> {
    let between = |two: &[(f64, f64)]| {
        let (from, to) = (two[0].0.ln(), two[1].0.ln());
        (0..PER_STEP)
            .map(move |at| (from + (to - from) * at as f64 / PER_STEP as f64).exp())
            .collect::<Vec<_>>()
    };
    points.windows(2).flat_map(between).collect()
}

/// Every choice of `count` (at most two) of `places` places, in ascending order.
fn combinations(places: usize, count: usize) -> Vec<Vec<usize>> {
    match count {
        0 => vec![Vec::new()],
        1 => (0..places).map(|at| vec![at]).collect(),
        _ => (0..places).flat_map(|a| (a + 1..places).map(move |b| vec![a, b])).collect(),
    }
}

/// The best base and rises for these sizes, by relative errors; absent if one of them does not
/// climb.
fn fit(points: &[(f64, f64)], sizes: &[f64]) -> Option<Cliffs> {
    let term = |x: f64, size: f64| (1.0 - size / x).max(0.0);
    let row = |(x, y): &(f64, f64)| {
        std::iter::once(1.0)
            .chain(sizes.iter().map(|size| term(*x, *size)))
            .map(|value| value / y)
            .collect::<Vec<f64>>()
    };
    let rows: Vec<Vec<f64>> = points.iter().map(row).collect();
    let coefficients = solve(&rows, &vec![1.0; points.len()], 0.0)?.x;
    let base = coefficients[0];
    let climbs = base > 0.0 && coefficients[1..].iter().all(|rise| *rise >= MIN_RISE * base);
    let errors =
        rows.iter().map(|row| row.iter().zip(&coefficients).map(|(a, b)| a * b).sum::<f64>() - 1.0);
    let error = (errors.map(|error| error * error).sum::<f64>() / points.len() as f64).sqrt();
    let cliffs = sizes
        .iter()
        .zip(&coefficients[1..])
        .map(|(at, rise)| Cliff { at: *at, rise: *rise })
        .collect();
    climbs.then_some(Cliffs { base, cliffs, error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyStream;

    /// Steps of a factor of the root of two from 1 to 512, with noise of a share.
    fn points(base: f64, cliffs: &[(f64, f64)], noise: f64) -> Vec<(f64, f64)> {
        let mut keys = KeyStream::numbered(5, 1);
        let y = |x: f64| {
            base + cliffs.iter().map(|(at, rise)| rise * (1.0 - at / x).max(0.0)).sum::<f64>()
        };
        let mut noisy = |y: f64| y * (1.0 + noise * (keys.key(2001) as f64 - 1001.0) / 1000.0);
        (0..=18).map(|step| 2f64.powf(f64::from(step) / 2.0)).map(|x| (x, noisy(y(x)))).collect()
    }

    fn near(found: f64, expected: f64, factor: f64) -> bool {
        found / expected < factor && expected / found < factor
    }

    #[test]
    fn sizes_and_times_of_caches_are_found() {
        for noise in [0.0, 0.05] {
            let one = Cliffs::fit(&points(3.0, &[(20.0, 12.0)], noise), 2).unwrap();
            assert_eq!(one.cliffs.len(), 1, "{one:?}");
            assert!(near(one.base, 3.0, 1.05) && near(one.cliffs[0].at, 20.0, 1.15), "{one:?}");
            assert!(near(one.cliffs[0].rise, 12.0, 1.15), "{one:?}");
            let two = Cliffs::fit(&points(3.0, &[(8.0, 6.0), (100.0, 150.0)], noise), 2).unwrap();
            let found: Vec<bool> = two
                .cliffs
                .iter()
                .zip([8.0, 100.0])
                .map(|(cliff, at)| near(cliff.at, at, 1.2))
                .collect();
            assert_eq!(found, [true, true], "{two:?}");
        }
    }

    #[test]
    fn noise_alone_has_a_cliff_in_one_curve_of_ten_at_most_and_a_real_one_is_one() {
        let mut keys = KeyStream::for_job(3, 1);
        let mut normal = || (0..12).map(|_| keys.key(10_000) as f64 / 1e4).sum::<f64>() - 6.0;
        // Share of 100 curves that have the expected number of cliffs.
        let mut share = |sizes: i32, noise: f64, rise: f64, expected: usize| {
            let is_so = |_: &i32| {
                let (x, at) = (|step: i32| 2f64.powi(step), 2f64.powf(0.45 * f64::from(sizes)));
                let y = |x: f64| 1.0 + rise * (1.0 - at / x).max(0.0);
                let curve: Vec<(f64, f64)> = (0..sizes)
                    .map(|step| (x(step), y(x(step)) * (1.0 + noise * normal())))
                    .collect();
                Cliffs::fit(&curve, 2).unwrap().cliffs.len() == expected
            };
            (0..100).filter(is_so).count()
        };
        for (sizes, noise) in [4, 6, 9].into_iter().flat_map(|sizes| [(sizes, 0.05), (sizes, 0.1)])
        {
            let flat = share(sizes, noise, 0.0, 0);
            assert!(flat >= 90, "{sizes} sizes, {noise}: {flat}");
        }
        for sizes in [5, 6, 9] {
            let real = share(sizes, 0.05, 3.0, 1);
            assert!(real >= 95, "{sizes} sizes: {real}");
        }
    }

    #[test]
    fn what_does_not_climb_has_no_cliff() {
        let flat = Cliffs::fit(&points(3.0, &[], 0.05), 2).unwrap();
        assert!(flat.cliffs.is_empty() && near(flat.base, 3.0, 1.05), "{flat:?}");
        let falling: Vec<(f64, f64)> =
            points(3.0, &[], 0.0).iter().map(|(x, _)| (*x, 10.0 / x)).collect();
        assert!(Cliffs::fit(&falling, 2).unwrap().cliffs.is_empty());
        assert_eq!(Cliffs::fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], 2), None);
        assert_eq!(Cliffs::fit_count(&points(3.0, &[], 0.0), 1), None, "nothing climbs");
    }
}
