//! Precision of a mean as it grows: a confidence sequence, an interval that may be looked at again
//! and again.
//!
//! An observer who looks every second and stops at the first narrow interval is too often wrong
//! with intervals that hold 95 % each. A confidence sequence holds all of its intervals at once
//! with 95 % (S. R. Howard et al., "Time-uniform, nonparametric, nonasymptotic confidence
//! sequences", Annals of Statistics 49 (2021), doi 10.1214/20-AOS1991). This one is the t test with
//! a normal mixture over the effect (H. Wang, A. Ramdas, "Anytime-valid t-tests and confidence
//! sequences for Gaussian means with unknown variance", Sequential Analysis 44 (2025), after T. L.
//! Lai, 1976). Its points are means of batches of a quarter of a second. Those that resemble their
//! neighbors count for fewer: as an AR(1) series of n points is worth n (1 - phi) / (1 + phi)
//! independent ones, with a phi that is corrected for its bias and at the upper end of its error. A
//! significant trend widens the interval by what it moved.

use super::mean_interval::Interval;

/// Points in a second.
pub const POINTS_PER_S: usize = 4;
/// Minimum number of points that show their correlation: five seconds.
const FEWEST: usize = 20;
/// Ops of a series that is looked at: fewer can be equal by chance.
const MIN_OPS: f64 = 5.0;
/// Degrees of freedom by which comparisons take the standard error from an interval: those of five
/// seconds, so that the error is never too small, for the interval is wider than Student's.
const FREEDOM: f64 = 4.0;
/// 1 - the level of all intervals together.
const ALPHA: f64 = 0.05;
/// Variance of the mixture over the effect in units of that of a point: narrowest at some twenty
/// points.
const MIXTURE: f64 = 2.0;
/// Number of standard errors by which the correlation of an interval is taken above its estimate
/// (one-sided 95 %).
const Z_CORRELATION: f64 = 1.645;
/// Points are never more alike than this.
const MAX_ALIKE: f64 = 0.98;
/// Number of standard errors from which on a trend is significant (two-sided 99 %).
const Z_TREND: f64 = 2.576;
/// Factor by which the last interval must be predicted to be too wide, after the fewest points, for
/// a test to be given up, less 1. It falls with the square of the points, for so the forecast grows
/// surer: 3 times after five seconds, 1.5 after ten.
const HOPELESS: f64 = 2.0;
/// Points that are asked whether they climb, at least: a second.
const MIN_WARM: usize = POINTS_PER_S;

/// The interval at the first whole second at which its half width was at most `precision` (a
/// fraction of the mean), so that more points than it needs change nothing; before that the one of
/// all points. The points are ops, per quarter of a second in order. Absent with fewer than five
/// seconds or five ops, and if the points are too much alike.
pub fn known_mean(ops: &[f64], precision: f64) -> Option<Interval> {
    let mut sequence = Sequence::default();
    for (at, point) in ops.iter().enumerate() {
        sequence.add(*point);
        let interval = if (at + 1) % POINTS_PER_S == 0 { sequence.interval() } else { None };
        if interval.is_some_and(|interval| is_known(&interval, precision)) {
            return interval;
        }
    }
    sequence.interval()
}

/// True if after points like these, of at least five seconds, even `most` points are predicted to
/// leave an interval far wider than `precision`, so that measuring on would only take time. The
/// interval of what was measured until then is valid at any time.
pub fn is_hopeless(ops: &[f64], precision: f64, most: usize) -> bool {
    let mut sequence = Sequence::default();
    ops.iter().for_each(|point| sequence.add(*point));
    sequence.is_hopeless(precision, most)
}

/// True if the half width is at most `precision` as a fraction of the mean.
pub fn is_known(interval: &Interval, precision: f64) -> bool {
    interval.fraction().is_some_and(|half| half <= precision)
}

/// True if the newer half of the points, at least a second of them, does not climb: the test of
/// Mann and Kendall, one-sided 5 % (M. G. Kendall, "Rank Correlation Methods").
pub fn warmed_up(points: &[f64]) -> bool {
    let newer = &points[points.len() - points.len().min(MIN_WARM.max(points.len() / 2))..];
    let n = newer.len() as f64;
    let limit = Z_CORRELATION * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    newer.len() >= MIN_WARM && concordance(newer) <= limit
}

/// Pairs that climb less pairs that fall.
fn concordance(points: &[f64]) -> f64 {
    let with_later = |(at, early): (usize, &f64)| {
        let order = |late: &f64| f64::from(i8::from(late > early) - i8::from(late < early));
        points[at + 1..].iter().map(order).sum::<f64>()
    };
    points.iter().enumerate().map(with_later).sum()
}

/// Sums over the points so far, each less the first.
#[derive(Debug, Clone, Copy, Default)]
struct Sequence {
    count: usize,
    first: f64,
    last: f64,
    sum: f64,
    squares: f64,
    /// Sum of the products of neighbors.
    products: f64,
    /// Sum of the products of each point with its number, from 0.
    by_time: f64,
}

impl Sequence {
    fn add(&mut self, point: f64) {
        if self.count == 0 {
            self.first = point;
        }
        let point = point - self.first;
        self.sum += point;
        self.squares += point * point;
        self.products += self.last * point;
        self.by_time += self.count as f64 * point;
        self.last = point;
        self.count += 1;
    }

    fn interval(&self) -> Option<Interval> {
        let n = self.count as f64;
        let mean = self.first + self.sum / n;
        if self.count < FEWEST || mean * n < MIN_OPS {
            return None;
        }
        let spread = self.squares - self.sum * self.sum / n;
        if spread <= f64::EPSILON * mean * mean * n {
            return Some(Interval { mean, half_width: 0.0, freedom: FREEDOM });
        }
        let worth = n * self.independent_share(spread, Z_CORRELATION);
        let half_width = self.half_width(spread, worth)? + self.drift(spread, worth);
        Some(Interval { mean, half_width, freedom: FREEDOM })
    }

    /// Half width for points with this spread that are worth as many as `worth` independent ones.
    fn half_width(&self, spread: f64, worth: f64) -> Option<f64> {
        // Points that are alike spread less around their own mean than around the true one.
        let variance = spread / self.count as f64 / (1.0 - 1.0 / worth);
        Some(mixture_t(worth)? * (variance / worth).sqrt())
    }

    /// True as for [`is_hopeless`]. The correlation is the estimate itself, whose upper end comes
    /// down as points are added.
    fn is_hopeless(&self, precision: f64, most: usize) -> bool {
        let n = self.count as f64;
        let mean = self.first + self.sum / n;
        if self.count < FEWEST || mean * n < MIN_OPS {
            return false;
        }
        let too_wide = 1.0 + HOPELESS * (FEWEST as f64 / n).powi(2);
        let spread = self.squares - self.sum * self.sum / n;
        let foretold = self.half_width(spread, most as f64 * self.independent_share(spread, 0.0));
        spread > 0.0 && foretold.is_none_or(|half| half > too_wide * precision * mean)
    }

    /// (1 - phi) / (1 + phi), with phi taken `errors` standard errors above its estimate. The
    /// estimate of phi is low by about (1 + 4 phi) / n (M. G. Kendall, Biometrika 41, 1954).
    fn independent_share(&self, spread: f64, errors: f64) -> f64 {
        let n = self.count as f64;
        let mean = self.sum / n;
        let lagged = self.products - mean * (2.0 * self.sum - self.last) + (n - 1.0) * mean * mean;
        let raw = lagged / spread;
        let phi = raw + (1.0 + 4.0 * raw.max(0.0)) / n;
        let error = ((1.0 - phi * phi).max(0.0) / n).sqrt();
        let phi = (phi + errors * error).clamp(0.0, MAX_ALIKE);
        (1.0 - phi) / (1.0 + phi)
    }

    /// Change along the fitted line if it is significant, else 0.
    fn drift(&self, spread: f64, worth: f64) -> f64 {
        let n = self.count as f64;
        let times = n * (n * n - 1.0) / 12.0;
        let slope = (self.by_time - (n - 1.0) / 2.0 * self.sum) / times;
        let left = (spread - slope * slope * times).max(0.0) / (n - 2.0);
        let error = (left / times * n / worth).sqrt();
        if slope.abs() > Z_TREND * error { slope.abs() * (n - 1.0) } else { 0.0 }
    }
}

/// The t statistic of n independent points that is not exceeded at any n with 95 %: where the
/// mixture's Bayes factor (1 + n v)^(-1/2) [(1 + t^2 / f) / (1 + t^2 / (f (1 + n v)))]^(n / 2), f =
/// n - 1, is 1 / alpha. Absent if none is.
fn mixture_t(n: f64) -> Option<f64> {
    let grown = 1.0 + n * MIXTURE;
    let ratio = ((grown.sqrt() / ALPHA).ln() * 2.0 / n).exp();
    (n > 1.0 && ratio < grown).then(|| ((n - 1.0) * (ratio - 1.0) / (1.0 - ratio / grown)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyStream;

    /// Simulated tests of each kind.
    const TESTS: usize = 2_000;
    /// Points of the longest window: a minute.
    const MOST: usize = 60 * POINTS_PER_S;
    const PRECISION: f64 = 0.02;

    /// Normal values (Marsaglia's polar method).
    struct Noise(KeyStream);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0.step() as f64 / crate::keys::MODULUS as f64
        }

        fn next(&mut self) -> f64 {
            loop {
                let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
                let square = x * x + y * y;
                if square > 0.0 && square < 1.0 {
                    return x * (-2.0 * square.ln() / square).sqrt();
                }
            }
        }
    }

    /// A series around 1000 with AR(1) noise (`phi` from point to point, `noise` = its standard
    /// deviation as a fraction) that climbs by `drift` of 1000 in a minute.
    #[derive(Clone, Copy)]
    struct Series {
        phi: f64,
        noise: f64,
        drift: f64,
    }

    impl Series {
        /// Point where a simulated test stopped, and whether the true mean of its window lies
        /// inside its interval; one without an interval claims nothing. As in the test runner, one
        /// more point is measured while the jobs are notified.
        fn run(self, noise: &mut Noise, gives_up: bool) -> (usize, bool) {
            let mut error = noise.next();
            let mut sequence = Sequence::default();
            let mut level = 0.0;
            for at in 0..MOST {
                level += 1000.0 * (1.0 + self.drift * at as f64 / MOST as f64);
                let mut point = || {
                    error = self.phi * error + (1.0 - self.phi * self.phi).sqrt() * noise.next();
                    1000.0 * (1.0 + self.drift * at as f64 / MOST as f64 + self.noise * error)
                };
                sequence.add(point());
                let done = at + 1;
                let look = if done % POINTS_PER_S == 0 { sequence.interval() } else { None };
                let is_over = |look: &Interval| {
                    done == MOST
                        || is_known(look, PRECISION)
                        || gives_up && sequence.is_hopeless(PRECISION, MOST)
                };
                let Some(interval) = look.filter(is_over) else { continue };
                sequence.add(point());
                let mean = sequence.first + sequence.sum / sequence.count as f64;
                return (done, (mean - level / done as f64).abs() <= interval.half_width);
            }
            (MOST, true)
        }

        /// Median of the seconds, and the share of tests whose interval holds the mean; the
        /// hopeless ones are given up.
        fn simulate(self) -> (f64, f64) {
            let mut noise = Noise(KeyStream::numbered(7, 1));
            let mut tests: Vec<(usize, bool)> =
                (0..TESTS).map(|_| self.run(&mut noise, true)).collect();
            tests.sort_unstable();
            let holds = tests.iter().filter(|test| test.1).count() as f64 / TESTS as f64;
            (tests[TESTS / 2].0 as f64 / POINTS_PER_S as f64, holds)
        }
    }

    #[test]
    fn the_true_mean_lies_inside_at_the_stopping_time() {
        // 0.974 from point to point is 0.9 from second to second: the hardest, about 0.965.
        let kinds = [(0.0, 0.0), (0.5, 0.0), (0.9, 0.0), (0.974, 0.0), (0.0, 0.06), (0.5, 0.12)];
        for (phi, drift) in kinds {
            for noise in [0.005, 0.01, 0.02, 0.05] {
                let (seconds, holds) = Series { phi, noise, drift }.simulate();
                assert!(
                    holds >= 0.95,
                    "phi {phi}, noise {noise}, drift {drift}: {holds} after {seconds} s"
                );
            }
        }
    }

    #[test]
    fn quiet_series_stop_after_five_seconds_and_noisy_ones_later() {
        let seconds = |noise| Series { phi: 0.0, noise, drift: 0.0 }.simulate().0;
        assert_eq!([0.005, 0.01].map(seconds), [5.0, 5.0]);
        assert_eq!([0.02, 0.05].map(seconds), [7.0, 26.0]);
    }

    #[test]
    fn a_hopeless_series_is_given_up_soon_and_hardly_one_that_would_be_known() {
        let seconds = |noise| Series { phi: 0.0, noise, drift: 0.0 }.simulate().0;
        assert_eq!([0.1, 0.2, 0.5].map(seconds), [17.0, 7.0, 5.0]);
        for (phi, spread) in [(0.0, 0.03), (0.0, 0.05), (0.5, 0.02), (0.5, 0.03)] {
            let stops = |gives_up| -> Vec<usize> {
                let series = Series { phi, noise: spread, drift: 0.0 };
                // Each its own: one that stops earlier draws fewer numbers.
                let number = |at: usize| Noise(KeyStream::numbered(9, at as u32 + 1));
                (0..TESTS / 4).map(|at| series.run(&mut number(at), gives_up).0).collect()
            };
            let (at_last, given_up) = (stops(false), stops(true));
            let lost = at_last
                .iter()
                .zip(&given_up)
                .filter(|(known, stopped)| **known < MOST && stopped < known)
                .count();
            assert!(lost * 50 < TESTS / 4, "phi {phi}, noise {spread}: {lost}");
        }
    }

    #[test]
    fn the_boundary_is_where_the_bayes_factor_is_twenty() {
        for n in [4.0, 20.0, 240.0] {
            let (f, grown) = (n - 1.0, 1.0 + n * MIXTURE);
            let square = mixture_t(n).unwrap().powi(2);
            let factor: f64 =
                ((1.0 + square / f) / (1.0 + square / (f * grown))).powf(n / 2.0) / grown.sqrt();
            assert!((factor * ALPHA - 1.0).abs() < 1e-9, "{n}: {factor}");
        }
        assert_eq!((mixture_t(1.0), mixture_t(2.0)), (None, None));
    }

    #[test]
    fn nothing_is_known_of_few_points_few_ops_or_points_that_are_all_alike() {
        assert_eq!(known_mean(&[1000.0; 19], 0.5), None);
        assert_eq!(known_mean(&[0.2; 24], 0.5), None);
        assert_eq!(
            known_mean(&[1000.0; 20], 0.0001),
            Some(Interval { mean: 1000.0, half_width: 0.0, freedom: FREEDOM })
        );
        let steps: Vec<f64> = (0..24).map(|at| if at < 12 { 900.0 } else { 1100.0 }).collect();
        assert_eq!(known_mean(&steps, 0.5), None);
    }

    #[test]
    fn what_was_known_stays_as_it_was() {
        let points: Vec<f64> = (0..60).map(|at| if at % 2 == 0 { 990.0 } else { 1010.0 }).collect();
        let known = known_mean(&points[..20], PRECISION).unwrap();
        assert!(is_known(&known, PRECISION) && !is_known(&known, PRECISION / 4.0));
        assert_eq!(known_mean(&points, PRECISION), Some(known));
    }

    #[test]
    fn a_trend_widens_the_interval_by_what_it_moved() {
        let points =
            |slope: f64| (0..40).map(move |at| 1000.0 + f64::from(at) * slope + f64::from(at % 2));
        let half = |slope: f64| {
            let mut sequence = Sequence::default();
            points(slope).for_each(|point| sequence.add(point));
            sequence.drift(sequence.squares - sequence.sum.powi(2) / 40.0, 40.0)
        };
        assert_eq!(half(0.0), 0.0);
        assert!((half(1.0) - 39.0).abs() < 0.2, "{}", half(1.0));
    }

    #[test]
    fn the_warm_up_ends_when_the_newer_half_does_not_climb() {
        // Concordance of the newer halves: 6 of 6 pairs against 1.645 sqrt(4 3 13 / 18) = 4.8; 4 -
        // 2; none.
        assert!(!warmed_up(&[1.0, 2.0, 3.0]) && !warmed_up(&[1.0, 2.0, 3.0, 4.0]));
        assert!(warmed_up(&[1.0, 3.0, 4.0, 2.0]) && warmed_up(&[9.0; 4]));
        // Cold for a second, then level: the newer half is level after two.
        let after = |points: usize| -> Vec<f64> {
            (0..points)
                .map(|at| if at < 4 { 20.0 * at as f64 } else { 100.0 - (at % 2) as f64 })
                .collect()
        };
        assert!(!warmed_up(&after(4)) && warmed_up(&after(8)));
        // Of 28 pairs three fall: 3 2, 8 6, 8 7.
        assert_eq!(concordance(&[1.0, 3.0, 2.0, 4.0, 5.0, 8.0, 6.0, 7.0]), 22.0);
    }
}
