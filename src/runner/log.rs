//! The log of a test: what each job did, slice by slice, and the latency of each second.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::coordinator::Now;
use crate::engine::{EngineError, SliceReport};
use crate::model::{Counters, Tally};
use crate::stats::sequence::POINTS_PER_S;
use crate::stats::summary::Quantiles;
use crate::stats::{LatencyHistogram, WeightedTimes};

/// Seconds to which slices may still be added: threads tell of theirs a little after their end.
const OPEN_SECONDS: usize = 3;
/// Jobs tell of their slices, of a second each, at different times.
const LOOK_BACK_S: f64 = 4.0;
/// Who tells somebody else of points tells of so many, of which some may be known: those of a
/// minute.
const LAST_POINTS: usize = 60 * POINTS_PER_S;
/// A slice that ends so little before a point does ends with it.
const EDGE_S: f64 = 1e-3;

/// One slice of one job; seconds count from the opening of the gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SliceLog {
    pub start_s: f64,
    pub end_s: f64,
    pub tally: Tally,
    /// Every n-th op was timed.
    pub stride: u32,
    /// True if the slice belongs to the window.
    pub counts: bool,
    /// Of an open loop: ops that were due at its end and not started.
    pub behind: Option<f64>,
}

/// Everything one job did.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct JobLog {
    pub slices: Vec<SliceLog>,
    /// Of the slices that count.
    pub times: Times,
    /// The session's own counters over the loop.
    pub counters: Counters,
    /// Failed ops of the slice under way, by class.
    pub pending_errors: BTreeMap<String, u64>,
    pub first_error: Option<String>,
    /// The database's clock was set by so much at least; 0 = it was not seen to be.
    #[serde(default)]
    pub clock_step_s: f64,
    /// What ended the job early.
    #[serde(skip)]
    pub failure: Option<EngineError>,
}

/// Times of ops.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Times {
    /// Each with the ops of its slice that it stands for.
    pub service: WeightedTimes,
    /// The longest op in ns, if nobody timed it.
    pub longest_ns: u64,
    /// Of an open loop.
    pub response: LatencyHistogram,
}

impl Times {
    /// Adds those of a slice.
    pub fn add(&mut self, report: &SliceReport<'_>) {
        self.service.add(report.latency, report.tally.ops);
        self.longest_ns = self.longest_ns.max(report.longest_ns);
        if let Some(open) = &report.open {
            self.response.merge(open.response);
        }
    }

    /// Adds those of others.
    pub fn merge(&mut self, other: &Times) {
        self.service.merge(&other.service);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.response.merge(&other.response);
    }

    /// The longest op in us, whether or not it was timed.
    pub fn max_us(&self) -> Option<f64> {
        let timed_ns = self.service.max_ns().unwrap_or(0);
        Some(timed_ns.max(self.longest_ns) as f64 / 1e3).filter(|us| *us > 0.0)
    }
}

/// What a second's ops took: its histograms are dropped when it is over, but for somebody who
/// merges them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Second {
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub max_us: Option<f64>,
    /// Of an open loop.
    pub response_p99_us: Option<f64>,
}

impl From<&Times> for Second {
    fn from(times: &Times) -> Second {
        let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
        let service = Quantiles::weighted(&times.service);
        let response = Quantiles::of(&times.response);
        let (p50_us, p99_us) = (us(service.p50_ns), us(service.p99_ns));
        Second { p50_us, p99_us, max_us: times.max_us(), response_p99_us: us(response.p99_ns) }
    }
}

/// Ops of some jobs together in points that follow one another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Points {
    /// Index of the first; see [`POINTS_PER_S`].
    pub from: usize,
    pub ops: Vec<f64>,
}

/// Ops of all jobs per point from `open_s` to `close_s`, by their slices.
pub fn points_of<'a>(
    jobs: impl Iterator<Item = &'a JobLog>,
    open_s: f64,
    close_s: f64,
) -> Vec<f64> {
    let mut points = Vec::new();
    for slice in jobs.flat_map(|job| &job.slices) {
        spread(&mut points, slice.start_s, slice.end_s, slice.tally.ops as f64);
    }
    let [from, to] = [open_s, close_s].map(|at_s| ((at_s + EDGE_S) * POINTS_PER_S as f64) as usize);
    points.get(from..to.min(points.len())).unwrap_or_default().to_vec()
}

/// Shared by the jobs of a test: what they did together, by seconds since the gate.
#[derive(Debug)]
pub struct SecondsLog(Mutex<Shared>);

#[derive(Debug)]
struct Shared {
    /// Those that are over, from the first on.
    over: Vec<Second>,
    /// All that those are made of, if somebody merges them.
    kept: Option<Vec<Times>>,
    /// The seconds after those.
    seconds: VecDeque<Times>,
    /// Ops per point, see [`POINTS_PER_S`].
    points: Vec<f64>,
    /// End of each job's last slice.
    ends_s: Vec<f64>,
}

impl SecondsLog {
    /// An empty log of `jobs` jobs.
    pub fn new(jobs: u32) -> Self {
        SecondsLog(Mutex::new(Shared {
            over: Vec::new(),
            kept: None,
            seconds: VecDeque::new(),
            points: Vec::new(),
            ends_s: vec![0.0; jobs as usize],
        }))
    }

    /// An empty log that keeps the histogram of every second.
    pub fn keeping(jobs: u32) -> Self {
        let log = SecondsLog::new(jobs);
        log.lock().kept = Some(Vec::new());
        log
    }

    /// The histograms of each second; nothing unless they are kept.
    pub fn into_times(self) -> Vec<Times> {
        let mut shared = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        shared.end(0);
        shared.kept.unwrap_or_default()
    }

    /// Adds a slice of `job` (from 1) that just ended: its times to the second in which its last
    /// half second began, its ops to the points, spread evenly over its time.
    pub fn add(&self, job: u32, (start_s, end_s): (f64, f64), report: &SliceReport<'_>) {
        let second = (end_s - ((end_s - start_s) / 2.0).min(0.5)).max(0.0) as usize;
        let mut shared = self.lock();
        shared.add_times(second, report);
        spread(&mut shared.points, start_s, end_s, report.tally.ops as f64);
        if let Some(job_end_s) = shared.ends_s.get_mut(job as usize - 1) {
            *job_end_s = end_s;
        }
    }

    /// Ops of all jobs per point from `open_s` to `close_s`, as far as every job has told of them.
    pub fn points(&self, open_s: f64, close_s: f64) -> Vec<f64> {
        let shared = self.lock();
        let told_s = shared.ends_s.iter().copied().fold(close_s, f64::min) + EDGE_S;
        let [from, to] =
            [open_s + EDGE_S, told_s].map(|at_s| (at_s * POINTS_PER_S as f64) as usize);
        shared.points.get(from..to.min(shared.points.len())).unwrap_or_default().to_vec()
    }

    /// The last points of which every job has told.
    pub fn last_points(&self) -> Points {
        let shared = self.lock();
        let told_s = shared.ends_s.iter().copied().fold(f64::INFINITY, f64::min) + EDGE_S;
        let to = ((told_s * POINTS_PER_S as f64) as usize).min(shared.points.len());
        let from = to.saturating_sub(LAST_POINTS);
        Points { from, ops: shared.points.get(from..to).unwrap_or_default().to_vec() }
    }

    /// Takes over what somebody elsewhere tells, who counts as `job` (from 1): points that are
    /// known count once.
    pub fn take_points(&self, job: u32, points: &Points) {
        let mut shared = self.lock();
        let Some(end_s) = shared.ends_s.get(job as usize - 1).copied() else { return };
        let known = ((end_s + EDGE_S) * POINTS_PER_S as f64) as usize;
        let end = points.from + points.ops.len();
        if shared.points.len() < end {
            shared.points.resize(end, 0.0);
        }
        for (at, ops) in (points.from..).zip(&points.ops).filter(|(at, _)| *at >= known) {
            shared.points[at] += ops;
        }
        shared.ends_s[job as usize - 1] = end_s.max(end as f64 / POINTS_PER_S as f64);
    }

    /// What the jobs do at `now_s`: ops of the last second of which every job has told, times of
    /// the last that is over.
    pub fn now(&self, now_s: f64) -> Now {
        let points = self.points((now_s - LOOK_BACK_S).max(0.0), now_s);
        let last = points.len().checked_sub(POINTS_PER_S).map(|from| points[from..].iter().sum());
        let second = self.lock().over.last().cloned().unwrap_or_default();
        Now { ops_per_s: last, p50_us: second.p50_us, p99_us: second.p99_us }
    }

    /// What ops took in each second.
    pub fn into_seconds(self) -> Vec<Second> {
        let mut shared = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        shared.end(0);
        shared.over
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// A slice that is told of later than others belongs to the earliest second that is not over.
    fn add_times(&mut self, second: usize, report: &SliceReport<'_>) {
        let ahead = second.saturating_sub(self.over.len());
        if self.seconds.len() <= ahead {
            self.seconds.resize_with(ahead + 1, Times::default);
        }
        self.seconds[ahead].add(report);
        self.end(OPEN_SECONDS);
    }

    /// All but the last `open` seconds are over.
    fn end(&mut self, open: usize) {
        let ended = self.seconds.len().saturating_sub(open);
        let ended: Vec<Times> = self.seconds.drain(..ended).collect();
        self.over.extend(ended.iter().map(Second::from));
        if let Some(kept) = &mut self.kept {
            kept.extend(ended);
        }
    }
}

fn spread(points: &mut Vec<f64>, start_s: f64, end_s: f64, ops: f64) {
    let [from, to] = [start_s, end_s].map(|at_s| at_s.max(0.0) * POINTS_PER_S as f64);
    let length = (to - from).max(1e-9);
    if points.len() <= to as usize {
        points.resize(to as usize + 1, 0.0);
    }
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
        let add = |job, start_s, end_s, ops| {
            let tally = Tally { ops, ..Tally::default() };
            log.add(
                job,
                (start_s, end_s),
                &SliceReport::new(tally, end_s - start_s, &LatencyHistogram::new()),
            );
        };
        add(1, 0.0, 1.0, 40);
        assert_eq!(log.points(0.0, 9.0).len(), 0);
        add(2, 0.0, 0.375, 6);
        assert_eq!(log.points(0.0, 9.0), [14.0]);
        add(2, 0.375, 1.2, 33);
        assert_eq!(log.points(0.25, 9.0), [17.0, 20.0, 20.0]);
        assert_eq!(log.points(0.25, 0.75), [17.0, 20.0]);
        assert_eq!(log.last_points(), Points { from: 0, ops: vec![14.0, 17.0, 20.0, 20.0] });
        // Of the last second up to 1.0 s, of which both jobs have told.
        assert_eq!((log.now(1.1).ops_per_s, log.now(0.5).ops_per_s), (Some(71.0), None));
        assert_eq!(log.points(20.0, 80.0).len(), 0);
    }

    #[test]
    fn points_that_are_told_again_count_once_and_those_of_all_are_summed() {
        let log = SecondsLog::new(2);
        let told = |from, ops: &[f64]| Points { from, ops: ops.to_vec() };
        log.take_points(1, &told(0, &[1.0, 2.0]));
        assert_eq!(log.points(0.0, 9.0).len(), 0);
        log.take_points(1, &told(1, &[2.0, 3.0]));
        log.take_points(2, &told(0, &[10.0, 20.0]));
        log.take_points(2, &told(0, &[]));
        assert_eq!(log.points(0.0, 9.0), [11.0, 22.0]);
        log.take_points(2, &told(2, &[30.0]));
        assert_eq!(log.points(0.25, 9.0), [22.0, 33.0]);
    }

    #[test]
    fn points_of_slices_are_those_between_the_edges() {
        let slice = |start_s, end_s, ops| SliceLog {
            start_s,
            end_s,
            tally: Tally { ops, ..Tally::default() },
            stride: 1,
            counts: true,
            behind: None,
        };
        let job = |slices| JobLog { slices, ..JobLog::default() };
        let jobs =
            [job(vec![slice(0.0, 0.5, 20), slice(0.5, 1.0, 40)]), job(vec![slice(0.25, 1.25, 4)])];
        assert_eq!(points_of(jobs.iter(), 0.25, 1.0), [11.0, 21.0, 21.0]);
    }
}
