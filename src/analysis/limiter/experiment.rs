//! The next experiment for a cause, and what it should bring. Pure.

use super::{Cause, Limiter, usable_processors, used_processors};
use crate::model::{Sentence, TestResult};

/// What to change, and the throughput that is expected after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    pub change: Sentence,
    /// Throughput after it over that of now; absent where the time of the cause is not known.
    pub gain: Option<f64>,
}

/// The next experiment for a cause of a test. Its gain is Amdahl's law: a part `p` of the jobs' time that shrinks to `r` of itself
/// makes 1 / (1 - p + p r) of the throughput, but no more than until the processors that the jobs can use are used up.
pub fn experiment(result: &TestResult, limiter: &Limiter) -> Experiment {
    let amdahl = |left: f64| limiter.share.map(|share| 1.0 / (1.0 - share.min(0.99) * (1.0 - left)));
    let (change, gain) = match limiter.cause {
        Cause::Cpu => ("twice the processors", amdahl(0.5)),
        Cause::OneThread => ("one more job", Some(f64::from(result.jobs + 1) / f64::from(result.jobs))),
        Cause::LogSync => ("the log on memory", amdahl(0.0)),
        Cause::Read => ("twice the cache (half of the reads)", amdahl(0.5)),
        Cause::DataWrite => ("twice the cache (half of the writes)", amdahl(0.5)),
        Cause::Checkpoint => ("a log eight times as large", amdahl(0.125)),
        Cause::RowLock => ("half as many jobs", half_the_jobs(limiter)),
        Cause::Latch => ("half as many jobs", half_the_jobs(limiter)),
        Cause::Client => ("the client on processors of its own", amdahl(0.0)),
        Cause::Network => ("the loop inside the database (--drive database)", amdahl(0.0)),
        Cause::Neighbours => ("without the other programs", amdahl(0.0)),
    };
    let capped = match limiter.cause {
        Cause::Cpu | Cause::RowLock | Cause::Latch => gain,
        Cause::Neighbours => gain,
        _ => gain.map(|gain| gain.min(headroom(result).unwrap_or(f64::INFINITY))),
    };
    Experiment { change: Sentence::new(change), gain: capped }
}

/// Jobs that wait for one another do no work: half of them lose only what is missing to those that do.
fn half_the_jobs(limiter: &Limiter) -> Option<f64> {
    limiter.share.map(|share| (0.5 / (1.0 - share).max(1e-9)).min(1.0))
}

/// By how much the use of processors can grow: those of all jobs if more of them work, at least one.
fn headroom(result: &TestResult) -> Option<f64> {
    let used = used_processors(result).filter(|used| *used > 0.0)?;
    Some((usable_processors(result)? / used).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    fn gain(cause: Cause, share: f64, result: &TestResult) -> f64 {
        experiment(result, &Limiter { cause, share: Some(share), evidence: Sentence::default() }).gain.unwrap()
    }

    #[test]
    fn a_part_of_the_time_that_goes_brings_what_amdahl_says() {
        let result = fixture::result();
        assert_eq!(gain(Cause::LogSync, 0.5, &result), 2.0);
        assert!((gain(Cause::Read, 0.5, &result) - 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(gain(Cause::OneThread, 1.0, &result), 1.5);
        assert_eq!(gain(Cause::RowLock, 0.75, &result), 1.0);
        assert!((gain(Cause::Latch, 0.2, &result) - 0.625).abs() < 1e-12);
        let unknown = Limiter { cause: Cause::Checkpoint, share: None, evidence: Sentence::default() };
        assert_eq!(experiment(&result, &unknown).gain, None);
    }

    #[test]
    fn no_gain_is_larger_than_the_processors_allow() {
        let mut result = fixture::result(); // 10 s
        result.window_counters =
            fixture::counters(&[("os_cpu_total_s", 40.0), ("server_cpu_s", 25.0), ("self_cpu_s", 0.0)]);
        assert_eq!(gain(Cause::LogSync, 0.9, &result), 1.6);
        assert!(gain(Cause::Cpu, 0.9, &result) > 1.6, "more processors are the experiment");
    }
}
