//! Due times of an open loop: at equal distances, or of a Poisson process.

use super::keys::{KeyStream, MODULUS};

/// Sets the stream of due times apart from that of the keys of the same job.
const APART: u64 = 0x5EED_0FA8_8A17_A100;

/// The due times of one job, in ns since the gate opened.
#[derive(Debug, Clone)]
pub struct DueTimes {
    mean_ns: f64,
    /// Distances are drawn from it; none = equal ones.
    draws: Option<KeyStream>,
    next_ns: f64,
}

impl DueTimes {
    /// At equal distances: `per_s` ops per second of each of `jobs` jobs, those of `job` (from 1)
    /// set off by its share.
    pub fn uniform(per_s: f64, job: u32, jobs: u32) -> DueTimes {
        let mean_ns = 1e9 / per_s;
        DueTimes { mean_ns, draws: None, next_ns: mean_ns * f64::from(job - 1) / f64::from(jobs) }
    }

    /// A Poisson process of `per_s` ops per second of this job, drawn from the run's seed.
    pub fn poisson(per_s: f64, seed: u64, job: u32) -> DueTimes {
        let draws = Some(KeyStream::for_job(seed ^ APART, job));
        let mut times = DueTimes { mean_ns: 1e9 / per_s, draws, next_ns: 0.0 };
        times.advance();
        times
    }

    /// When the next op is due.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// The next op is started.
    #[inline]
    pub fn advance(&mut self) {
        let distance =
            self.draws.as_mut().map_or(1.0, |draws| -(draws.step() as f64 / MODULUS as f64).ln());
        self.next_ns += distance * self.mean_ns;
    }

    /// Ops that are due by `now_ns` and not started: the expected number of them, since later
    /// distances are not drawn yet.
    pub fn behind(&self, now_ns: u64) -> f64 {
        let late_ns = now_ns as f64 - self.next_ns;
        if late_ns < 0.0 { 0.0 } else { 1.0 + late_ns / self.mean_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(mut times: DueTimes, count: usize) -> Vec<f64> {
        let mut next = || {
            let due_ns = times.next_ns();
            times.advance();
            due_ns as f64
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn uniform_jobs_take_turns() {
        assert_eq!(first(DueTimes::uniform(1000.0, 1, 2), 3), [0.0, 1e6, 2e6]);
        assert_eq!(first(DueTimes::uniform(1000.0, 2, 2), 3), [0.5e6, 1.5e6, 2.5e6]);
    }

    #[test]
    fn poisson_distances_have_the_mean_and_the_spread_of_an_exponential_distribution() {
        let due = first(DueTimes::poisson(1000.0, 42, 1), 100_000);
        let distances: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        // P(distance > mean) = 1/e, P(distance > 3 means) = 1/e^3.
        for (means, expected) in [(1.0, 0.36788), (3.0, 0.04979)] {
            let longer = distances.iter().filter(|distance| **distance > means * 1e6).count();
            assert!((longer as f64 / 1e5 - expected).abs() < 0.005, "{longer} over {means} means");
        }
    }

    #[test]
    fn who_is_late_is_behind_by_what_is_due() {
        let times = DueTimes::uniform(1000.0, 1, 1);
        assert_eq!((times.behind(0), times.behind(5_000_000)), (1.0, 6.0));
        let mut ahead = times.clone();
        ahead.advance();
        assert_eq!(ahead.behind(999_999), 0.0);
    }
}
