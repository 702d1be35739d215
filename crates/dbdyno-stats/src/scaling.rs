//! The Universal Scalability Law: throughput X(N) = gamma N / (1 + alpha (N-1) + beta N (N-1)).
//!
//! gamma is the throughput of one job, alpha the contention (the part that is serial), beta the
//! crosstalk (what jobs cost one another). Fitted by nonlinear least squares. Source: N. J.
//! Gunther, "Guerrilla Capacity Planning", Springer 2007, chapters 4 to 6.

use super::law_ranges::{Ranges, ranges};
use super::least_squares::{Solution, solve};
use super::summary::t95;

/// Fewest different numbers of jobs that give a fit: three coefficients and one degree of freedom.
const FEWEST: usize = 4;
const MAX_STEPS: usize = 500;
/// Damping of Levenberg-Marquardt: at first, and where no better step is to be found.
const FIRST_DAMPING: f64 = 1e-3;
const LAST_DAMPING: f64 = 1e12;
/// Free parameters: gamma (0) always, alpha (1), beta (2). The fewest first: more must make the
/// squares smaller.
const FREE: [&[usize]; 4] = [&[0], &[0, 1], &[0, 2], &[0, 1, 2]];
/// Starts of alpha, times 1 / the largest number of jobs, and of beta, times 1 / its square.
const STARTS: [f64; 4] = [1e-3, 0.1, 1.0, 30.0];
/// Squares that differ by less than this part of the sum of the squares of all throughputs differ
/// by rounding.
const ROUNDING: f64 = 1e-14;

/// The coefficients of the law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// Throughput of one job.
    pub gamma: f64,
    /// Contention, >= 0.
    pub alpha: f64,
    /// Crosstalk, >= 0.
    pub beta: f64,
}

impl Law {
    /// Throughput of `n` jobs.
    pub fn throughput(&self, n: f64) -> f64 {
        self.gamma * n / self.denominator(n)
    }
    /// True if throughput does not grow beyond the first job: the slope at one job is 1 - alpha -
    /// beta.
    pub fn never_grows(&self) -> bool {
        self.alpha + self.beta >= 1.0
    }
    /// Number of jobs with the largest throughput, at least one; absent if throughput grows without
    /// end (beta = 0).
    pub fn peak_jobs(&self) -> Option<f64> {
        let inner = || (self.beta > 0.0).then(|| ((1.0 - self.alpha) / self.beta).sqrt());
        if self.never_grows() { Some(1.0) } else { inner() }
    }
    /// The largest throughput: at the peak, or the limit gamma / alpha; absent if there is none.
    pub fn largest_throughput(&self) -> Option<f64> {
        let limit = (self.alpha > 0.0).then(|| self.gamma / self.alpha);
        self.peak_jobs().map(|jobs| self.throughput(jobs)).or(limit)
    }
    /// The knee: where perfect scaling (gamma N) would reach the largest throughput. Beyond it more
    /// jobs mostly wait.
    pub fn knee_jobs(&self) -> Option<f64> {
        Some(self.largest_throughput()? / self.gamma)
    }
    fn denominator(&self, n: f64) -> f64 {
        1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0)
    }
    fn from_slice(p: &[f64; 3]) -> Law {
        Law { gamma: p[0], alpha: p[1], beta: p[2] }
    }
    /// Derivatives of the throughput with respect to gamma, alpha, beta.
    fn gradient(&self, n: f64) -> [f64; 3] {
        let (d, x) = (self.denominator(n), self.throughput(n));
        [n / d, -x * (n - 1.0) / d, -x * n * (n - 1.0) / d]
    }
}

/// A fitted law with 95 % intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Law with its coefficients.
    pub law: Law,
    /// Half widths of the 95 % intervals of gamma, alpha, beta; absent for a coefficient that is
    /// held at 0.
    pub half_widths: [Option<f64>; 3],
    /// The peaks and knees that the points leave possible; absent for a law that never grows.
    pub ranges: Option<Ranges>,
    /// Share of the variance that the law explains (1 = all); absent if the throughput does not
    /// vary.
    pub r_squared: Option<f64>,
    /// True if the peak lies beyond the measured numbers of jobs: a forecast, not a finding.
    pub peak_is_forecast: bool,
}

/// Fits the law to (jobs, throughput) points: the least squares of all laws with alpha, beta >= 0.
/// Absent with fewer than four different numbers of jobs or for points that are not throughput.
///
/// The minimum is either where both coefficients are free or on an edge, where one or both are 0
/// (throughput that grows faster than the jobs would make one negative): each of these four cases
/// is searched from several starts.
pub fn fit(points: &[(f64, f64)]) -> Option<Fit> {
    let mut jobs: Vec<f64> = points.iter().map(|point| point.0).collect();
    jobs.sort_by(f64::total_cmp);
    jobs.dedup();
    let sound = points.iter().all(|&(n, x)| n >= 1.0 && n.is_finite() && x > 0.0 && x.is_finite());
    if jobs.len() < FEWEST || !sound {
        return None;
    }
    let largest_jobs = *jobs.last()?;
    let found = FREE.iter().flat_map(|&free| {
        let starts = starts(points, free, largest_jobs).into_iter();
        starts.map(move |start| (search(points, start, free), free))
    });
    let rounding = ROUNDING * points.iter().map(|point| point.1.powi(2)).sum::<f64>();
    let is_better =
        |next: &[f64; 3], best: &[f64; 3]| squares(points, next) < squares(points, best) - rounding;
    let (p, free) =
        found.reduce(|best, next| if is_better(&next.0, &best.0) { next } else { best })?;
    fit_of_law(points, p, free, largest_jobs)
}

impl Fit {
    /// Jobs at the peak; absent if the points leave any number possible, or the law has no peak.
    pub fn peak_jobs(&self) -> Option<f64> {
        let range = self.ranges?.peak;
        self.law.peak_jobs().filter(|jobs| range.confirms(*jobs))
    }

    /// Jobs at the knee; absent if the points leave any number possible, or the law has no knee.
    pub fn knee_jobs(&self) -> Option<f64> {
        let range = self.ranges?.knee;
        self.law.knee_jobs().filter(|jobs| range.confirms(*jobs))
    }
}

/// The fit of the law `p`, of which the coefficients `free` were not held at 0, with its intervals.
fn fit_of_law(
    points: &[(f64, f64)],
    p: [f64; 3],
    free: &[usize],
    largest_jobs: f64,
) -> Option<Fit> {
    let law = Law::from_slice(&p);
    let freedom = (points.len() - free.len()) as f64;
    let deviation = (squares(points, &p) / freedom).sqrt();
    let (inverse, t) = (step(points, &p, free, 0.0)?.inverse, t95(freedom)?);
    let mut half_widths = [None; 3];
    free.iter()
        .enumerate()
        .for_each(|(i, &index)| half_widths[index] = Some(t * deviation * inverse[i][i].sqrt()));
    Some(Fit {
        law,
        half_widths,
        ranges: (!law.never_grows()).then(|| ranges(points)).flatten(),
        r_squared: spread(points).map(|spread| 1.0 - squares(points, &p) / spread),
        peak_is_forecast: law.peak_jobs().is_some_and(|peak| peak > largest_jobs),
    })
}

/// Laws from nearly perfect scaling to none, each with the gamma that suits it best.
fn starts(points: &[(f64, f64)], free: &[usize], largest_jobs: f64) -> Vec<[f64; 3]> {
    let tried = |index: usize, scale: f64| match free.contains(&index) {
        true => STARTS.iter().map(|part| part * scale).collect(),
        false => vec![0.0],
    };
    let betas: Vec<f64> = tried(2, largest_jobs.powi(-2));
    let pairs = tried(1, 1.0 / largest_jobs)
        .into_iter()
        .flat_map(|alpha| betas.iter().map(move |&beta| (alpha, beta)));
    pairs.map(|(alpha, beta)| [best_gamma(points, alpha, beta), alpha, beta]).collect()
}

/// The law is linear in gamma, so that of two given coefficients is known at once.
fn best_gamma(points: &[(f64, f64)], alpha: f64, beta: f64) -> f64 {
    let shape = Law { gamma: 1.0, alpha, beta };
    let sum = |term: fn(f64, f64) -> f64| {
        points.iter().map(|&(n, x)| term(shape.throughput(n), x)).sum::<f64>()
    };
    sum(|shape, x| shape * x) / sum(|shape, _| shape * shape)
}

/// Levenberg-Marquardt from `p`: steps that make the squares smaller, damped more whenever one does
/// not or would leave the allowed range.
fn search(points: &[(f64, f64)], mut p: [f64; 3], free: &[usize]) -> [f64; 3] {
    let mut damping = FIRST_DAMPING;
    for _ in 0..MAX_STEPS {
        let Some(solution) = step(points, &p, free, damping) else { break };
        let mut next = p;
        free.iter().zip(&solution.x).for_each(|(&index, change)| next[index] += change);
        let is_allowed = next.iter().all(|value| *value >= 0.0);
        if is_allowed && squares(points, &next) < squares(points, &p) {
            (p, damping) = (next, damping / 10.0);
        } else {
            damping *= 10.0;
        }
        if damping > LAST_DAMPING {
            break;
        }
    }
    p
}

/// One damped step of the free coefficients.
fn step(points: &[(f64, f64)], p: &[f64; 3], free: &[usize], damping: f64) -> Option<Solution> {
    let law = Law::from_slice(p);
    let row = |n| free.iter().map(|&index| law.gradient(n)[index]).collect();
    let rows: Vec<Vec<f64>> = points.iter().map(|&(n, _)| row(n)).collect();
    let left: Vec<f64> = points.iter().map(|&(n, x)| x - law.throughput(n)).collect();
    solve(&rows, &left, damping)
}

/// Sum of the squared residuals.
fn squares(points: &[(f64, f64)], p: &[f64; 3]) -> f64 {
    points.iter().map(|&(n, x)| (x - Law::from_slice(p).throughput(n)).powi(2)).sum()
}

/// Sum of the squared deviations from the mean, if there are any.
fn spread(points: &[(f64, f64)]) -> Option<f64> {
    let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    Some(points.iter().map(|point| (point.1 - mean).powi(2)).sum()).filter(|&sum: &f64| sum > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64, relative: f64) -> bool {
        (got / expected - 1.0).abs() < relative
    }

    #[test]
    fn the_published_fit_of_spec_sdm91() {
        // SPEC SDM91 on a Sun SPARCcenter 2000. Coefficients with standard errors as published with
        // the R package `usl` (S. Moeding): alpha 0.0277285 (0.0091217), beta 0.0001044
        // (0.0000199), gamma 89.9952330 (14.2134894).
        let points = [
            (1.0, 64.9),
            (18.0, 995.9),
            (36.0, 1652.4),
            (72.0, 1853.2),
            (108.0, 1828.9),
            (144.0, 1775.0),
            (216.0, 1702.2),
        ];
        let fit = fit(&points).unwrap();
        let errors = fit.half_widths.map(|half_width| half_width.unwrap() / t95(4.0).unwrap());
        assert!(
            close(fit.law.alpha, 0.027_728_5, 1e-4) && close(errors[1], 0.009_121_7, 1e-3),
            "{fit:?}"
        );
        assert!(
            close(fit.law.beta, 0.000_104_4, 1e-3) && close(errors[2], 0.000_019_9, 1e-2),
            "{fit:?}"
        );
        assert!(
            close(fit.law.gamma, 89.995_233, 1e-4) && close(errors[0], 14.213_489_4, 1e-3),
            "{fit:?}"
        );
        assert!(close(fit.law.peak_jobs().unwrap(), 96.5, 1e-3) && !fit.peak_is_forecast);
        assert!(fit.peak_jobs().is_some());
        let range = fit.ranges.unwrap().peak;
        assert!(range.low > 60.0 && range.high < Some(200.0), "{range:?}");
        assert!(fit.r_squared > Some(0.97));
    }

    #[test]
    fn an_exact_law_is_found_with_peak_and_knee() {
        let law = Law { gamma: 1000.0, alpha: 0.04, beta: 0.0015 };
        let points: Vec<_> = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n| (n, law.throughput(n))).into();
        let fit = fit(&points).unwrap();
        assert!(close(fit.law.alpha, 0.04, 1e-6) && close(fit.law.beta, 0.0015, 1e-6), "{fit:?}");
        // sqrt(0.96 / 0.0015) = 25.298; there 1 + 0.04 * 24.298 + 0.0015 * 25.298 * 24.298 =
        // 2.8940: 8741.6 / s.
        assert!(close(fit.law.peak_jobs().unwrap(), 25.298, 1e-4) && fit.peak_is_forecast);
        assert!(close(fit.law.knee_jobs().unwrap(), 8.7416, 1e-4), "{:?}", fit.law.knee_jobs());
    }

    #[test]
    fn pure_contention_has_a_limit_and_no_peak() {
        // Amdahl: alpha 0.1, limit gamma / alpha, knee 1 / alpha.
        let law = Law { gamma: 50.0, alpha: 0.1, beta: 0.0 };
        assert_eq!(
            (law.peak_jobs(), law.largest_throughput(), law.knee_jobs()),
            (None, Some(500.0), Some(10.0))
        );
        let points: Vec<_> = [1.0, 2.0, 4.0, 8.0]
            .map(|n| (n, law.throughput(n) * if n > 7.0 { 1.02 } else { 1.0 }))
            .into();
        let fit = fit(&points).unwrap();
        assert_eq!((fit.law.beta, fit.half_widths[2], fit.peak_jobs()), (0.0, None, None));
        assert!(close(fit.law.alpha, 0.1, 0.1), "{fit:?}");
    }

    #[test]
    fn a_ramp_that_does_not_grow_beyond_the_first_job_has_its_peak_there() {
        for rates in [[100.0, 55.0, 45.0, 40.0], [100.0, 80.0, 50.0, 30.0]] {
            let points: Vec<_> = [1.0, 2.0, 4.0, 8.0].into_iter().zip(rates).collect();
            let fit = fit(&points).unwrap();
            assert!(fit.law.never_grows() && close(fit.law.gamma, 100.0, 0.05), "{fit:?}");
            assert_eq!(
                (fit.law.peak_jobs(), fit.law.knee_jobs()),
                (Some(1.0), Some(1.0)),
                "{fit:?}"
            );
            assert_eq!(fit.law.largest_throughput(), Some(fit.law.gamma), "{fit:?}");
            assert_eq!((fit.ranges, fit.peak_is_forecast), (None, false));
        }
        let barely_rising = Law { gamma: 10.0, alpha: 0.5, beta: 0.4 };
        assert!(!barely_rising.never_grows() && barely_rising.peak_jobs() > Some(1.0));
    }

    #[test]
    fn growth_beyond_the_jobs_is_held_at_the_line() {
        let fit = fit(&[(1.0, 100.0), (2.0, 210.0), (4.0, 440.0), (8.0, 930.0)]).unwrap();
        assert_eq!((fit.law.alpha, fit.law.beta, fit.law.largest_throughput()), (0.0, 0.0, None));
    }

    #[test]
    fn too_few_or_senseless_points_give_no_fit() {
        assert_eq!(fit(&[(1.0, 10.0), (2.0, 18.0), (4.0, 30.0), (4.0, 31.0)]), None);
        assert_eq!(fit(&[(1.0, 10.0), (2.0, 18.0), (4.0, 30.0), (8.0, 0.0)]), None);
    }
}
