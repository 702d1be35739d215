//! The numbers of jobs at the peak and at the knee of the Universal Scalability Law that the points
//! of a ramp leave possible.
//!
//! Both depend on the coefficients in a way that is far from linear, and the points seldom bend the
//! curve much; so the range is found by the profile of the misfit instead of from a standard error:
//! every number of jobs belongs to it for which some law fits not much worse than the best, by
//! Student's t with the degrees of freedom of three coefficients (D. M. Bates, D. G. Watts,
//! "Nonlinear Regression Analysis", Wiley 1988, chapter 6). Misfit is that of logarithms:
//! throughput varies by a part of itself. `tests/it/instrument/intervals.rs` holds the coverage.

use super::summary::t95;

const COEFFICIENTS: usize = 3;
/// Times the most jobs that were run: what lies beyond is as good as no end.
const FAR: f64 = 1e4;
/// Steps of a search: over the numbers of jobs, and over the laws with one of them.
const OUTER: usize = 40;
const INNER: usize = 24;
/// Refinements of a step, each of which halves it or more.
const REFINED: usize = 14;

/// The 95 % interval of a number of jobs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JobsRange {
    /// Lower end of the interval.
    pub low: f64,
    /// None: the points leave any number possible.
    pub high: Option<f64>,
}

impl JobsRange {
    /// True if the interval has an end, and this number is in it.
    pub fn confirms(&self, jobs: f64) -> bool {
        self.low <= jobs && self.high.is_some_and(|high| jobs <= high)
    }
}

/// The ranges that the points leave to peak and knee.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranges {
    /// Number of jobs at which the throughput of the law is highest.
    pub peak: JobsRange,
    /// Number of jobs at the knee of the law.
    pub knee: JobsRange,
}

/// The ranges that (jobs, throughput) points leave; absent where they determine no law.
pub fn ranges(points: &[(f64, f64)]) -> Option<Ranges> {
    let freedom = points.len().checked_sub(COEFFICIENTS).filter(|freedom| *freedom > 0)? as f64;
    let ramp = Ramp::from_points(points);
    let (peak_ln, knee_ln) =
        (|ln: f64| ramp.with_peak(ln.exp()), |ln: f64| ramp.with_knee(ln.exp()));
    let (best_peak, least) = minimum(&peak_ln, ramp.far_ln, OUTER);
    let (best_knee, least_knee) = minimum(&knee_ln, ramp.far_ln, OUTER);
    let most = least.min(least_knee) * (1.0 + t95(freedom)?.powi(2) / freedom);
    Some(Ranges {
        peak: range(&peak_ln, best_peak, ramp.far_ln, most),
        knee: range(&knee_ln, best_knee, ramp.far_ln, most),
    })
}

/// The numbers of jobs (their logarithms) around the best one whose misfit is at most `most`.
fn range(misfit: &dyn Fn(f64) -> f64, best: f64, far: f64, most: f64) -> JobsRange {
    let low = if misfit(0.0) <= most { 0.0 } else { edge(misfit, best, 0.0, most) };
    let high = (misfit(far) > most).then(|| edge(misfit, best, far, most).exp());
    JobsRange { low: low.exp(), high }
}

/// The place at which the misfit begins to be more than `most`, on the way from one to another.
fn edge(misfit: &dyn Fn(f64) -> f64, from: f64, to: f64, most: f64) -> f64 {
    let (mut inside, mut outside) = (from, to);
    for _ in 0..REFINED {
        let middle = (inside + outside) / 2.0;
        if misfit(middle) <= most { inside = middle } else { outside = middle }
    }
    outside
}

/// Place and value of the least of a function between 0 and `to`: by steps, then by thirds.
fn minimum(function: &dyn Fn(f64) -> f64, to: f64, steps: usize) -> (f64, f64) {
    let place = |step: usize| to * step as f64 / steps as f64;
    let values = (0..=steps).map(|step| (step, function(place(step))));
    let (best, value) = values.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::INFINITY));
    let (mut low, mut high) = (place(best.saturating_sub(1)), place((best + 1).min(steps)));
    let mut found = (place(best), value);
    for _ in 0..REFINED {
        let third = (high - low) / 3.0;
        let inner = [low + third, high - third].map(|at| (at, function(at)));
        if inner[0].1 <= inner[1].1 {
            high = inner[1].0
        } else {
            low = inner[0].0
        }
        found = inner.into_iter().fold(found, |a, b| if b.1 < a.1 { b } else { a });
    }
    found
}

struct Ramp {
    jobs: Vec<f64>,
    /// Logarithms of the throughputs.
    ln_x: Vec<f64>,
    /// Logarithm of the largest number of jobs that is looked at.
    far_ln: f64,
}

impl Ramp {
    fn from_points(points: &[(f64, f64)]) -> Ramp {
        let jobs: Vec<f64> = points.iter().map(|point| point.0).collect();
        let most = jobs.iter().copied().fold(1.0, f64::max);
        let ln_x = points.iter().map(|point| point.1.ln()).collect();
        Ramp { jobs, ln_x, far_ln: (FAR * most).ln() }
    }

    /// Squares that the law with these coefficients leaves, with the gamma that suits it best.
    fn misfit(&self, alpha: f64, beta: f64) -> f64 {
        let left = |(n, ln_x): (&f64, &f64)| {
            ln_x - n.ln() + (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0)).ln()
        };
        let (mut sum, mut squares) = (0.0, 0.0);
        self.jobs.iter().zip(&self.ln_x).map(left).for_each(|left| {
            sum += left;
            squares += left * left;
        });
        squares - sum * sum / self.jobs.len() as f64
    }

    /// The least that laws leave whose peak is there: beta = (1 - alpha) / jobs^2.
    fn with_peak(&self, jobs: f64) -> f64 {
        // Contention of a hundredth matters as that of a half does.
        let law = |root: f64| self.misfit(root.powi(3), (1.0 - root.powi(3)) / (jobs * jobs));
        minimum(&law, 1.0, INNER).1
    }

    /// The least that laws leave whose knee is there. With u = 1 / peak a law has the knee
    /// 1 / (alpha (1 - u)^2 + 2 u - u^2); alpha is 0 at u = 1 - (1 - 1 / knee)^0.5.
    fn with_knee(&self, jobs: f64) -> f64 {
        let law = |u: f64| {
            let alpha = (1.0 / jobs - 2.0 * u + u * u) / (1.0 - u).powi(2).max(1e-12);
            let alpha = alpha.clamp(0.0, 1.0);
            self.misfit(alpha, (1.0 - alpha) * u * u)
        };
        minimum(&law, 1.0 - (1.0 - 1.0 / jobs).max(0.0).sqrt(), INNER).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::Law;

    fn points(law: Law, noise: &[f64]) -> Vec<(f64, f64)> {
        let jobs = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        jobs.iter().zip(noise).map(|(n, noise)| (*n, law.throughput(*n) * (1.0 + noise))).collect()
    }

    const NOISE: [f64; 6] = [0.01, -0.012, 0.004, 0.011, -0.008, 0.003];

    #[test]
    fn a_ramp_beyond_its_peak_tells_peak_and_knee() {
        // Peak (0.95 / 0.01)^0.5 = 9.747, knee 9.747 / (1 + 0.05 8.747 + 0.01 9.747 8.747) = 4.256.
        let law = Law { gamma: 100.0, alpha: 0.05, beta: 0.01 };
        let exact = ranges(&points(law, &[0.0; 6])).unwrap();
        assert!((exact.peak.low - 9.747).abs() < 0.1, "{exact:?}");
        assert!((exact.knee.high.unwrap() - 4.256).abs() < 0.05, "{exact:?}");
        let found = ranges(&points(law, &NOISE)).unwrap();
        assert!(found.peak.confirms(9.747) && found.knee.confirms(4.256), "{found:?}");
        assert!(found.peak.low > 7.0 && found.peak.high < Some(13.0), "{found:?}");
    }

    #[test]
    fn a_ramp_without_a_bend_tells_neither_and_one_with_a_limit_tells_the_knee() {
        let linear = Law { gamma: 100.0, alpha: 0.0, beta: 0.0 };
        let found = ranges(&points(linear, &NOISE)).unwrap();
        assert_eq!((found.peak.high, found.knee.high), (None, None));
        let limited = Law { gamma: 100.0, alpha: 0.1, beta: 0.0 };
        let found = ranges(&points(limited, &NOISE)).unwrap();
        assert!(found.peak.high.is_none() && found.knee.confirms(10.0), "{found:?}");
        assert_eq!(ranges(&points(limited, &NOISE)[..3]), None);
    }
}
