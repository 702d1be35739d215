//! The log of a test: what each job did, slice by slice, and the latency of each second.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::EngineError;
use crate::model::{Counters, Tally};
use crate::stats::LatencyHistogram;
use crate::stats::sequence::POINTS_PER_S;

/// A slice that ends so little before a point does ends with it.
const EDGE_S: f64 = 1e-3;

/// One slice of one job; seconds count from the opening of the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceLog {
    pub start_s: f64,
    pub end_s: f64,
    pub tally: Tally,
    /// Every n-th op was timed.
    pub stride: u32,
    /// True if the slice belongs to the window.
    pub counts: bool,
}

/// Everything one job did.
#[derive(Debug, Default)]
pub struct JobLog {
    pub slices: Vec<SliceLog>,
    /// Service times of the slices that count.
    pub latency: LatencyHistogram,
    /// The session's own counters over the loop.
    pub counters: Counters,
    /// Failed ops of the slice under way, by class.
    pub pending_errors: BTreeMap<String, u64>,
    pub first_error: Option<String>,
    /// What ended the job early.
    pub failure: Option<EngineError>,
}

/// Shared by the jobs of a test: what they did together, by seconds since the gate.
#[derive(Debug)]
pub struct SecondsLog(Mutex<Shared>);

#[derive(Debug)]
struct Shared {
    /// Latency per second.
    seconds: Vec<LatencyHistogram>,
    /// Ops per point, see [`POINTS_PER_S`].
    points: Vec<f64>,
    /// End of each job's last slice.
    ends_s: Vec<f64>,
}

impl SecondsLog {
    /// An empty log of `jobs` jobs.
    pub fn new(jobs: u32) -> Self {
        SecondsLog(Mutex::new(Shared { seconds: Vec::new(), points: Vec::new(), ends_s: vec![0.0; jobs as usize] }))
    }

    /// Adds a slice of `job` (from 1): its latencies to the second in which its middle lies, its ops to the points, spread
    /// evenly over its time.
    pub fn add(&self, job: u32, (start_s, end_s): (f64, f64), ops: u64, latency: &LatencyHistogram) {
        let second = ((start_s + end_s) / 2.0).max(0.0) as usize;
        let mut shared = self.lock();
        reach(&mut shared.seconds, second, LatencyHistogram::new);
        shared.seconds[second].merge(latency);
        spread(&mut shared.points, start_s, end_s, ops as f64);
        if let Some(job_end_s) = shared.ends_s.get_mut(job as usize - 1) {
            *job_end_s = end_s;
        }
    }

    /// Ops of all jobs per point from `open_s` to `close_s`, as far as every job has told of them.
    pub fn points(&self, open_s: f64, close_s: f64) -> Vec<f64> {
        let shared = self.lock();
        let told_s = shared.ends_s.iter().copied().fold(close_s, f64::min) + EDGE_S;
        let [from, to] = [open_s + EDGE_S, told_s].map(|at_s| (at_s * POINTS_PER_S as f64) as usize);
        shared.points.get(from..to.min(shared.points.len())).unwrap_or_default().to_vec()
    }

    /// Latency per second.
    pub fn into_seconds(self) -> Vec<LatencyHistogram> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).seconds
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reach<T>(items: &mut Vec<T>, index: usize, empty: impl FnMut() -> T) {
    if items.len() <= index {
        items.resize_with(index + 1, empty);
    }
}

fn spread(points: &mut Vec<f64>, start_s: f64, end_s: f64, ops: f64) {
    let [from, to] = [start_s, end_s].map(|at_s| at_s.max(0.0) * POINTS_PER_S as f64);
    let length = (to - from).max(1e-9);
    reach(points, to as usize, f64::default);
    for (at, point) in points.iter_mut().enumerate().take(to as usize + 1).skip(from as usize) {
        let overlap = to.min(at as f64 + 1.0) - from.max(at as f64);
        *point += ops * overlap.max(0.0) / length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_complete_when_every_job_has_told_of_it() {
        let log = SecondsLog::new(2);
        let add = |job, start_s, end_s, ops| log.add(job, (start_s, end_s), ops, &LatencyHistogram::new());
        add(1, 0.0, 1.0, 40);
        assert_eq!(log.points(0.0, 9.0).len(), 0);
        add(2, 0.0, 0.375, 6);
        assert_eq!(log.points(0.0, 9.0), [14.0]);
        add(2, 0.375, 1.2, 33);
        assert_eq!(log.points(0.25, 9.0), [17.0, 20.0, 20.0]);
        assert_eq!(log.points(0.25, 0.75), [17.0, 20.0]);
        assert_eq!(log.points(20.0, 80.0).len(), 0);
    }
}
