//! The log of a test: what each job did, slice by slice, and the latency of each second.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::timeline::{
    EDGE_S, MAX_COUNT, Stretch, Timeline, Waiting, middle_s, most_points, spread,
};
use dbdyno_core::model::{Counters, Tally};
use dbdyno_core::stats::sequence::POINTS_PER_S;
use dbdyno_core::stats::summary::Quantiles;
use dbdyno_core::stats::{LatencyHistogram, WeightedTimes};
use dbdyno_engines::engine::{EngineError, SliceReport};

/// State of the jobs now, as far as they have reported: absent at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Now {
    /// Throughput over the last second that every job has reported.
    pub ops_per_s: Option<f64>,
    /// Service times of the last second that is over.
    pub p50_us: Option<f64>,
    /// 99th percentile of that second, in us.
    pub p99_us: Option<f64>,
}

/// Number of seconds to which slices may still be added: threads report slices a little after their
/// end.
const OPEN_SECONDS: usize = 3;
/// Jobs report their slices, of a second each, at different times.
const LOOK_BACK_S: f64 = 4.0;
/// Number of points in a report to another process, which may know some of them: those of a minute.
const LAST_POINTS: usize = 60 * POINTS_PER_S;
/// Histograms that are kept for somebody else: of each second of an hour; of a longer test those of
/// two seconds are put together, of four, and so on.
const MAX_KEPT: usize = 3600;

/// One slice of one job; seconds count from the opening of the gate.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceLog {
    /// Start of the slice.
    pub start_s: f64,
    /// End of the slice.
    pub end_s: f64,
    /// Counts of the slice.
    pub tally: Tally,
    /// Every n-th op was timed.
    pub stride: u32,
    /// True if the slice belongs to the window.
    pub counts: bool,
    /// Ops of an open loop that were due at its end and not started.
    pub behind: Option<f64>,
}

/// Everything one job did: sums, so that it takes no more memory after a day than after a second.
/// The work of all jobs over time is in the [`Timeline`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct JobLog {
    /// Number of slices.
    pub slices: usize,
    /// Counts of all slices.
    pub total: Tally,
    /// Start of the first slice and end of the last one.
    pub span_s: Option<(f64, f64)>,
    /// The slices that count; none if there are none.
    pub counted: Option<CountedOps>,
    /// Times of the slices that count.
    pub times: Times,
    /// The slices that count, of a load over time: response times by the phase in which ops were
    /// due.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_phase: Vec<LatencyHistogram>,
    /// The session's own counters over the loop.
    pub counters: Counters,
    /// Failed ops of the slice under way, by class.
    pub pending_errors: BTreeMap<String, u64>,
    /// Message of the first failed op; none if no op failed.
    pub first_error: Option<String>,
    /// Seconds by which the database's clock was set, at least; 0 if no step was seen.
    #[serde(default)]
    pub clock_step_s: f64,
    /// Way in which its ops log in, where they open connections.
    #[serde(default)]
    pub login: Option<String>,
    /// Error that ended the job early.
    #[serde(skip)]
    pub failure: Option<EngineError>,
}

/// The slices of a job that belong to the window, together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedOps {
    /// Counts of these slices together.
    pub tally: Tally,
    /// Start of the first one.
    pub start_s: f64,
    /// End of the last one.
    pub end_s: f64,
    /// Longest stride of these slices: number of ops for each timed one.
    pub longest_stride: u32,
    /// Ops of an open loop that were due at the end of the last slice and not started.
    pub behind: Option<f64>,
}

impl JobLog {
    /// Adds what a slice that counts tells of the phases of a load over time.
    pub fn add_phases(&mut self, by_phase: &[LatencyHistogram]) {
        if self.by_phase.len() < by_phase.len() {
            self.by_phase.resize_with(by_phase.len(), LatencyHistogram::new);
        }
        let told = self.by_phase.iter_mut().zip(by_phase).filter(|(_, slice)| !slice.is_empty());
        told.for_each(|(all, slice)| all.merge(slice));
    }

    /// Adds a slice, which follows those before it.
    pub fn add(&mut self, slice: &SliceLog) {
        self.slices += 1;
        self.total.merge(&slice.tally);
        let start_s = self.span_s.map_or(slice.start_s, |(start_s, _)| start_s);
        self.span_s = Some((start_s, slice.end_s));
        if slice.counts {
            let first = CountedOps { start_s: slice.start_s, ..CountedOps::default() };
            let counted = self.counted.get_or_insert(first);
            counted.tally.merge(&slice.tally);
            counted.end_s = slice.end_s;
            counted.longest_stride = counted.longest_stride.max(slice.stride);
            counted.behind = slice.behind;
        }
    }

    /// True if a job can have done so within this many seconds.
    pub(super) fn fits(&self, within_s: f64) -> bool {
        let is_time = |at_s: f64| (-1.0..=within_s).contains(&at_s);
        let is_span = |start_s: f64, end_s: f64| is_time(start_s) && is_time(end_s);
        let is_counted = |counted: &CountedOps| {
            is_span(counted.start_s, counted.end_s) && is_countable(&counted.tally)
        };
        self.slices as u64 <= MAX_COUNT
            && self.span_s.is_none_or(|(start_s, end_s)| is_span(start_s, end_s))
            && is_countable(&self.total)
            && self.counted.as_ref().is_none_or(is_counted)
            && self.pending_errors.values().all(|count| *count <= MAX_COUNT)
    }

    /// The log with all times moved by this many seconds.
    pub fn later_by(mut self, by_s: f64) -> JobLog {
        self.span_s = self.span_s.map(|(start_s, end_s)| (start_s + by_s, end_s + by_s));
        if let Some(counted) = &mut self.counted {
            (counted.start_s, counted.end_s) = (counted.start_s + by_s, counted.end_s + by_s);
        }
        self
    }
}

/// True if every count of a job is one that has a sum with those of the others.
fn is_countable(tally: &Tally) -> bool {
    let counts = [tally.ops, tally.rows, tally.commits, tally.hits, tally.connects.opened];
    counts.iter().chain(tally.errors.values()).all(|count| *count <= MAX_COUNT)
}

/// Times of ops in periods of some seconds that follow one another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Periods {
    /// Length of each.
    seconds_each: usize,
    /// Seconds that were added.
    seconds: usize,
    times: Vec<Times>,
}

impl Default for Periods {
    fn default() -> Self {
        Periods { seconds_each: 1, seconds: 0, times: Vec::new() }
    }
}

impl Periods {
    /// Adds the second after the last one.
    fn push(&mut self, times: &Times) {
        let at = self.seconds / self.seconds_each;
        self.at(at).merge(times);
        self.seconds += 1;
        if self.times.len() > MAX_KEPT {
            self.double();
        }
    }

    fn at(&mut self, at: usize) -> &mut Times {
        if self.times.len() <= at {
            self.times.resize_with(at + 1, Times::default);
        }
        &mut self.times[at]
    }

    /// Puts each two periods together.
    fn double(&mut self) {
        for (at, times) in std::mem::take(&mut self.times).iter().enumerate() {
            self.at(at / 2).merge(times);
        }
        self.seconds_each *= 2;
    }

    /// True if there can be so many within this many seconds, put together by twos.
    pub(super) fn fits(&self, within_s: f64) -> bool {
        self.seconds_each.is_power_of_two()
            && self.seconds_each <= self.seconds.max(1)
            && self.seconds as f64 <= within_s + 1.0
            && self.times.len() <= self.seconds.div_ceil(self.seconds_each)
    }

    /// Adds those of others at the same time.
    pub fn merge(&mut self, mut other: Periods) {
        while self.seconds_each < other.seconds_each {
            self.double();
        }
        while other.seconds_each < self.seconds_each {
            other.double();
        }
        for (at, times) in other.times.iter().enumerate() {
            self.at(at).merge(times);
        }
        self.seconds = self.seconds.max(other.seconds);
    }

    /// Times of ops in each second: that of its period.
    pub fn seconds(&self) -> Vec<Second> {
        let periods: Vec<Second> = self.times.iter().map(Second::from).collect();
        (0..self.seconds).filter_map(|at| periods.get(at / self.seconds_each).cloned()).collect()
    }
}

/// Times of ops.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Times {
    /// Each with the ops of its slice that it stands for.
    pub service: WeightedTimes,
    /// Longest untimed op in ns.
    pub longest_ns: u64,
    /// Response times of an open loop.
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

/// Times of a second's ops: its histograms are dropped when it is over, but for somebody who merges
/// them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Second {
    /// Median service time, in us.
    pub p50_us: Option<f64>,
    /// 99th percentile of service time, in us.
    pub p99_us: Option<f64>,
    /// Longest service time, in us.
    pub max_us: Option<f64>,
    /// 99th percentile of the response times of an open loop.
    pub response_p99_us: Option<f64>,
    /// Longest response time of an open loop, in us.
    pub response_max_us: Option<f64>,
}

impl From<&Times> for Second {
    fn from(times: &Times) -> Second {
        let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
        let service = Quantiles::weighted(&times.service);
        let response = Quantiles::from_histogram(&times.response);
        let (p50_us, p99_us) = (us(service.p50_ns), us(service.p99_ns));
        Second {
            p50_us,
            p99_us,
            max_us: times.max_us(),
            response_p99_us: us(response.p99_ns),
            response_max_us: us(response.max_ns),
        }
    }
}

/// Ops of some jobs together in points that follow one another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Points {
    /// Index of the first; see [`POINTS_PER_S`].
    pub from: usize,
    /// Ops of each point; a slice's ops are spread evenly over its time.
    pub ops: Vec<f64>,
}

impl Points {
    /// True if there can be so many within this many seconds.
    pub(super) fn fits(&self, within_s: f64) -> bool {
        let points = most_points(within_s);
        self.from <= points && self.ops.len() <= points - self.from
    }
}

/// A job among those of a log.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    /// Its number there, from 1.
    pub job: u32,
    /// Index of the part that it runs.
    pub part: usize,
}

/// Shared by the jobs of a test: what they did together, by seconds since the gate.
#[derive(Debug)]
pub struct SecondsLog(Mutex<Shared>);

#[derive(Debug)]
struct Shared {
    /// Seconds that are over, from the first on.
    over: Vec<Second>,
    /// All that those are made of, if somebody merges them.
    kept: Option<Periods>,
    /// The seconds after those.
    seconds: VecDeque<Times>,
    /// Ops per point, see [`POINTS_PER_S`], as they are told while the test runs.
    points: Vec<f64>,
    /// Timeline of the slices of this process.
    timeline: Timeline,
    /// End of each job's last slice.
    ends_s: Vec<f64>,
    /// Ops that waited before each job then.
    behind: Vec<f64>,
}

impl SecondsLog {
    /// An empty log of `jobs` jobs.
    pub fn new(jobs: u32) -> Self {
        SecondsLog(Mutex::new(Shared {
            over: Vec::new(),
            kept: None,
            seconds: VecDeque::new(),
            points: Vec::new(),
            timeline: Timeline::default(),
            ends_s: vec![0.0; jobs as usize],
            behind: vec![0.0; jobs as usize],
        }))
    }

    /// An empty log that keeps the histogram of every second.
    pub fn with_histograms(jobs: u32) -> Self {
        let log = SecondsLog::new(jobs);
        log.lock().kept = Some(Periods::default());
        log
    }

    /// The histograms of its time, nothing unless they are kept; and what was done when.
    pub fn into_times(self) -> (Periods, Timeline) {
        let mut shared = self.0.into_inner();
        shared.end(0);
        (shared.kept.unwrap_or_default(), shared.timeline)
    }

    /// Adds a slice that just ended: its times to the second in which its last half second began,
    /// its ops to the points, spread evenly over its time.
    pub fn add(&self, who: Who, slice: &SliceLog, report: &SliceReport<'_>) {
        let (start_s, end_s) = (slice.start_s, slice.end_s);
        let (ops, errors) = (slice.tally.ops as f64, slice.tally.error_count());
        let mut shared = self.lock();
        shared.add_times(middle_s(start_s, end_s) as usize, report);
        spread(&mut shared.points, start_s, end_s, ops);
        shared.timeline.add(Stretch { part: who.part, start_s, end_s, ops, errors });
        if let Some(behind) = slice.behind {
            shared.add_behind(who, Waiting { at_s: end_s, ops: behind });
        }
        if let Some(job_end_s) = shared.ends_s.get_mut(who.job as usize - 1) {
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

    /// The last points that every job has reported.
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

    /// State of the jobs at `now_s`: ops of the last second of which every job has told, times of
    /// the last that is over.
    pub fn now(&self, now_s: f64) -> Now {
        let points = self.points((now_s - LOOK_BACK_S).max(0.0), now_s);
        let last = points.len().checked_sub(POINTS_PER_S).map(|from| points[from..].iter().sum());
        let second = self.lock().over.last().cloned().unwrap_or_default();
        Now { ops_per_s: last, p50_us: second.p50_us, p99_us: second.p99_us }
    }

    /// Times of ops in each second, and the timeline.
    pub fn into_seconds(self) -> (Vec<Second>, Timeline) {
        let mut shared = self.0.into_inner();
        shared.end(0);
        (shared.over, shared.timeline)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock()
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

    /// Takes down the ops that wait before a job at the end of a slice.
    fn add_behind(&mut self, who: Who, now: Waiting) {
        let at = who.job as usize - 1;
        let (Some(end_s), Some(ops)) = (self.ends_s.get(at), self.behind.get_mut(at)) else {
            return;
        };
        let before = Waiting { at_s: *end_s, ops: std::mem::replace(ops, now.ops) };
        self.timeline.add_behind(before, now);
    }

    /// All but the last `open` seconds are over.
    fn end(&mut self, open: usize) {
        let ended = self.seconds.len().saturating_sub(open);
        let ended: Vec<Times> = self.seconds.drain(..ended).collect();
        self.over.extend(ended.iter().map(Second::from));
        if let Some(kept) = &mut self.kept {
            ended.iter().for_each(|times| kept.push(times));
        }
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
            let none = LatencyHistogram::new();
            let report = SliceReport::new(tally, end_s - start_s, &none);
            log.add(Who { job, part: 0 }, &slice(start_s, end_s, ops), &report);
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

    fn slice(start_s: f64, end_s: f64, ops: u64) -> SliceLog {
        let tally = Tally { ops, ..Tally::default() };
        SliceLog { start_s, end_s, tally, stride: 1, counts: true, behind: None }
    }

    #[test]
    fn what_waits_is_known_at_the_end_of_every_point_of_all_jobs_together() {
        let log = SecondsLog::new(2);
        let none = LatencyHistogram::new();
        let add = |job, start_s, end_s, behind| {
            let slice = SliceLog { behind: Some(behind), ..slice(start_s, end_s, 1) };
            let report = SliceReport::new(slice.tally.clone(), end_s - start_s, &none);
            log.add(Who { job, part: 0 }, &slice, &report);
        };
        add(1, 0.0, 0.25, 0.0);
        // An op that took a second: what waits grows evenly meanwhile.
        add(1, 0.25, 1.25, 40.0);
        add(2, 0.0, 0.5, 3.0);
        add(2, 0.5, 0.76, 3.0);
        let (_, timeline) = log.into_seconds();
        assert_eq!(timeline.behind, [1.5, 13.0, 23.0, 30.0, 40.0]);
        // Of two load generators, of which the second began half a point later.
        let mut both = Timeline::default();
        both.merge(&timeline, 0.0);
        both.merge(&timeline, 0.125);
        assert_eq!(both.behind, [2.25, 20.25, 41.0, 56.5, 75.0]);
    }

    #[test]
    fn a_day_of_a_job_is_a_sum_and_kept_periods_are_bounded() {
        let (mut job, mut periods) = (JobLog::default(), Periods::default());
        let mut times = Times::default();
        times.service.add(&LatencyHistogram::from_buckets(&[(5_000, 2)]), 10);
        for second in 0..86_400_u32 {
            let start_s = f64::from(second);
            job.add(&SliceLog { counts: second > 9, ..slice(start_s, start_s + 1.0, 10) });
            periods.push(&times);
        }
        let counted = job.counted.as_ref().unwrap();
        assert_eq!((counted.start_s, counted.end_s, counted.tally.ops), (10.0, 86_400.0, 863_900));
        assert_eq!((job.slices, job.total.ops), (86_400, 864_000));
        assert!(serde_json::to_string(&job).unwrap().len() < 1_000, "{job:?}");
        assert_eq!((periods.seconds_each, periods.times.len()), (32, 2_700));
        assert_eq!(periods.seconds().len(), 86_400);
        let ops: f64 = periods.times.iter().map(|times| times.service.ops()).sum();
        assert_eq!(ops, 864_000.0);
    }
}
