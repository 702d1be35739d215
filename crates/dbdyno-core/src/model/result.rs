//! Result of a test: plain figures with units in their names, as stored and exported.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::named_values::read_series;
use super::{
    Counters, Drive, DriverFigures, Durability, ExperimentResult, Failover, Kpm, NamedValues,
    OpenLoop, Precision, Profile, ServerLog, SustainedRate, Tally, TestSpec, Verdict, Waits,
};
use crate::stats::moderated::Estimate;

/// Service time of the window's ops, in microseconds; a percentile with too few samples is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Samples recorded; fewer than ops if sampled.
    pub samples: u64,
    /// Mean over *all* ops of the window: busy time / ops.
    pub mean_us: Option<f64>,
    /// Median, in us.
    pub p50_us: Option<f64>,
    /// 90th percentile, in us.
    pub p90_us: Option<f64>,
    /// 95th percentile, in us.
    pub p95_us: Option<f64>,
    /// 99th percentile, in us.
    pub p99_us: Option<f64>,
    /// 99.9th percentile, in us.
    pub p999_us: Option<f64>,
    /// Largest sample, in us; absent without samples.
    pub max_us: Option<f64>,
    /// Sparse histogram: (highest equivalent value in ns, ops), mergeable. Each sample counts for
    /// the ops that it stands for; the counts add up to all ops. (In older results a sample
    /// counted once, where jobs were sampled alike.)
    #[serde(default)]
    pub buckets: Vec<(u64, u64)>,
    /// Number of samples of equal weight that would carry the same information (Kish): it decides
    /// for which percentiles there are enough samples. Absent if all samples have the same weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_samples: Option<f64>,
    /// Number of ops that a sample stands for. Absent in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_per_sample: Option<OpsPerSample>,
}

impl LatencySummary {
    /// Number of samples of equal weight that would carry the same information as the samples.
    pub fn effective_samples(&self) -> f64 {
        self.effective_samples.unwrap_or(self.samples as f64)
    }
}

/// The least and the largest number of ops that a sample stands for: the rate of sampling follows
/// the ops, slice by slice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OpsPerSample {
    /// Fewest ops that a sample stands for.
    pub least: f64,
    /// Most ops that a sample stands for.
    pub most: f64,
}

/// One job's own figures in the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobResult {
    /// 1..=jobs.
    pub job: u32,
    /// Index of the part it ran.
    pub part: usize,
    /// Counts of the job in the window.
    pub tally: Tally,
    /// Units of work done.
    pub units: f64,
    /// The job's own elapsed seconds of the slices that count.
    pub elapsed_s: f64,
}

/// One node of a cluster in a test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// Name of the node.
    pub name: String,
    /// Jobs that were dealt to it.
    pub jobs: u32,
    /// Ops in the window.
    pub ops: u64,
    /// Ops per second in the window.
    pub ops_per_s: f64,
    /// True if the node did not answer when the test began.
    #[serde(default, skip_serializing_if = "is_false")]
    pub missing: bool,
    /// True if the node no longer answered when the test ended.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lost: bool,
    /// Maximum replication lag behind the primary when the window closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_s: Option<f64>,
    /// Differences of its own counters over the whole test, and over the window.
    pub counters: Counters,
    /// Differences of its own counters over the window.
    pub window_counters: Counters,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

fn is_false(is: &bool) -> bool {
    !is
}

/// One second of a test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Seconds since the gate opened, at the end of the interval.
    pub t_s: f64,
    /// Length of the interval.
    pub interval_s: f64,
    /// Ops done in the interval, by all jobs together.
    pub ops: f64,
    /// Units of work done in the interval.
    pub units: f64,
    /// Failed ops in the interval.
    pub errors: u64,
    /// Median service time in the interval, in us; absent if it is not known.
    pub p50_us: Option<f64>,
    /// 99th percentile of service time in the interval, in us; absent if it is not known.
    pub p99_us: Option<f64>,
    /// The longest op that ended about then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_us: Option<f64>,
    /// 99th percentile of the response time in an open loop, in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p99_us: Option<f64>,
    /// Longest response time of an open loop, in us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_max_us: Option<f64>,
    /// Arrival rate of a load over time in the interval, in ops/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_s: Option<f64>,
    /// Ops that were due and not started at the end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<f64>,
    /// True if the point lies inside the measured window.
    pub in_window: bool,
    /// Counter differences over the interval (OS and database).
    pub metrics: NamedValues,
    /// Sessions of jobs that were at work or waited, by class of event: the mean of the interval's
    /// samples.
    #[serde(default, skip_serializing_if = "NamedValues::is_empty")]
    pub sessions: NamedValues,
}

/// Snapshot point of all probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SnapshotPoint {
    /// Before the gate, jobs connected and idle.
    Begin,
    /// The window opens, jobs running.
    WindowOpen,
    /// The window closes, jobs running.
    WindowClose,
    /// After all jobs ended and the database flushed its counters.
    End,
    /// Point after the database has finished the deferred work of the test, as far as it could be
    /// made to.
    #[serde(rename = "paid")]
    CaughtUp,
}

/// All probes at one moment: cumulative counters, database and operating system together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Snapshot point: which moment of the test it is.
    pub moment: SnapshotPoint,
    /// Seconds since the gate opened; 0 for [`SnapshotPoint::Begin`], which comes before it.
    /// [`SnapshotPoint::CaughtUp`] has that of the end of the jobs: how long it took is its counter
    /// `pay_back_s`.
    pub t_s: f64,
    /// Counters that could be read.
    pub counters: Counters,
    /// Cost of a snapshot, in milliseconds.
    pub cost_ms: f64,
}

/// Figures of one part of a mixed workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartResult {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Parameters of the part, complete.
    pub params: BTreeMap<String, String>,
    /// Parameters that differ from the engine's defaults.
    #[serde(default)]
    pub chosen: BTreeMap<String, String>,
    /// Number of jobs that ran the part.
    pub jobs: u32,
    /// Tally of the window.
    pub tally: Tally,
    /// Ops per second in the window.
    pub ops_per_s: f64,
    /// Units per second in the window.
    pub units_per_s: f64,
    /// Service times of the part's ops.
    pub latency: LatencySummary,
}

/// Result of the background workload in a test's window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BackgroundResult {
    /// Figures of the background workload, as of a part of a mix.
    #[serde(flatten)]
    pub part: PartResult,
    /// Drive of the background workload.
    pub drive: Drive,
    /// True if every job of the node looped from before the window opened until after it closed.
    pub covers_window: bool,
}

/// The 95 % confidence interval of a mean over the seconds of a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WindowInterval {
    /// Half width as a fraction of the mean.
    pub fraction: f64,
    /// Degrees of freedom of its standard error, which is the half width / t(0.975, freedom).
    pub freedom: f64,
}

/// One measured test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// Number within the run, from 1.
    pub seq: u32,
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Code of a published suite under which it was asked for.
    pub asked_as: Option<String>,
    /// Group of the workload as in the catalog: `SRV`.
    pub group: String,
    /// Title of the workload: what an op does.
    pub title: String,
    /// Revision of the workload: results of different ones are not of the same work.
    pub revision: u32,
    /// Hash of the work, see [`super::Selection::hash`]: equal for equal SQL and parameters.
    pub hash: String,
    /// Parameters of the workload, complete.
    pub params: BTreeMap<String, String>,
    /// Parameters that differ from the engine's defaults: what a label shows.
    #[serde(default)]
    pub chosen: BTreeMap<String, String>,
    /// Drive that ran it.
    pub drive: Drive,
    /// Number of nodes that its jobs were dealt to; 1 without a cluster.
    pub nodes: u32,
    /// Number of jobs.
    pub jobs: u32,
    /// Number of the server's start in the run, and of the load of the data: repetitions can have
    /// one each.
    #[serde(default = "first")]
    pub server_start: u32,
    /// Number of the load of the data in the run, from 1.
    #[serde(default = "first")]
    pub load: u32,
    /// Number of its block of repetitions in the run, from 1: all attempts of a disturbed test have
    /// that of the first. Absent if nothing was in blocks, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// Seed of the keys and scheduled starts of its jobs, made from the run's seed and the identity
    /// of the test: two tests with the same one have drawn the same keys. Absent if nothing was
    /// drawn, and in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_seed: Option<u64>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Seconds of the window, from open to close.
    pub window_s: f64,
    /// Seconds from gate to the end of the last job.
    pub total_s: f64,
    /// Counts in the window.
    pub window: Tally,
    /// Counts from gate to end (for cross-checks against counters).
    pub total: Tally,
    /// Units of work in the window.
    pub units: f64,
    /// Units of work per second in the window.
    pub units_per_s: f64,
    /// Ops per second in the window: the jobs times what all of them did over the time of all of
    /// them, summed over the parts.
    pub ops_per_s: f64,
    /// Rows per second in the window.
    pub rows_per_s: f64,
    /// Half width of the 95 % confidence interval of `ops_per_s` as a fraction of it, from the
    /// seconds of the window, or by a confidence sequence if there is a `precision`; absent with
    /// too few seconds.
    pub ci_fraction: Option<f64>,
    /// Degrees of freedom of its standard error, which is the half width / t(0.975, freedom);
    /// absent of results of versions whose intervals were too narrow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_freedom: Option<f64>,
    /// Intervals of those counters of the database, per second, in which the workload states a KPM
    /// or a second metric; without those that the seconds do not show.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counter_intervals: BTreeMap<String, WindowInterval>,
    /// Precision at which the window ended; absent for fixed windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// Service times of the ops in the window.
    pub latency: LatencySummary,
    /// Result of an open loop; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenLoop>,
    /// Background workload's result; absent if the test ran alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<BackgroundResult>,
    /// Stride of timing: at least every n-th op was timed, in each slice of the window (1 = all).
    pub latency_stride: u32,
    /// Cost of dbdyno's clock reads and bookkeeping per op, in us, as measured before the tests;
    /// absent where it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument_us_per_op: Option<f64>,
    /// Figures of each job in the window.
    pub job_figures: Vec<JobResult>,
    /// Results of the nodes of a cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_figures: Vec<NodeResult>,
    /// Figures of each part of a mixed workload; empty for others.
    pub parts: Vec<PartResult>,
    /// Seconds of the test, in order.
    #[serde(deserialize_with = "read_series")]
    pub series: Vec<SeriesPoint>,
    /// Readings of all counters at the snapshot points, in order.
    pub snapshots: Vec<Snapshot>,
    /// Counter differences from `Begin` to `End` (whole test): basis of per-op figures, contract
    /// and cross-check.
    pub counters: Counters,
    /// Counter differences over the window: basis of CPU % and rates per second.
    pub window_counters: Counters,
    /// The KPM definitions, so that a report needs no catalog.
    pub kpm: Kpm,
    /// Definition of the second metric; absent if the workload has none.
    pub second: Option<Kpm>,
    /// Primary KPM and second metric, computed; absent if the counter is unknown.
    pub kpm_value: Option<f64>,
    /// Second metric, computed; absent if there is none or its counter is unknown.
    pub second_value: Option<f64>,
    /// Estimates of both values from its repetitions, where its run was estimated: see
    /// `analysis::figure`.
    #[serde(skip)]
    pub estimates: [Option<Estimate>; 2],
    /// Trust in the KPM, with the reasons.
    pub verdict: Verdict,
    /// Durability of the commits; none if the test did not commit or the device is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
    /// Sustained rate of a test that committed; none if the database neither reports its deferred
    /// work nor could be made to finish it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<SustainedRate>,
    /// Wait events of the sessions, by sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Server statistics by name from the start to the end of the test: `statements`, `io`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
    /// Server log of the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_log: Option<ServerLog>,
    /// Resources that dbdyno used to run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverFigures>,
    /// Parts of the load generators, if the jobs ran on several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerResult>,
    /// Result of the experiment for its bottleneck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<ExperimentResult>,
    /// Failover in the test; absent if no node failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<Failover>,
    /// Seconds by which the database's own clock was set during the test, as far as its jobs
    /// noticed (a minimum); 0 if they noticed nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub server_clock_step_s: f64,
    /// Login method and encryption of ops that opened connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// First error message seen, if any (never with a password).
    pub first_error: Option<String>,
    /// Facts the expressions used (`jobs`, `small_rows`, ...).
    #[serde(default)]
    pub facts: BTreeMap<String, f64>,
}

fn first() -> u32 {
    1
}

/// Part of a test that one of several load generators did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerResult {
    /// Host and process.
    pub name: String,
    /// Number of jobs that it ran.
    pub jobs: u32,
    /// Clock of the results database less its own, and the round trip in which that was measured.
    pub clock_offset_s: f64,
    /// Round trip in which the clock offset was measured, in s.
    pub round_trip_s: f64,
    /// Delay of its jobs after the common start, in s.
    pub late_s: f64,
    /// Resources that it used on its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverFigures>,
    /// Ops in the window.
    pub ops: u64,
    /// Ops of the window by their time, from the timed ones: highest value in ns and count of each
    /// bucket, which sum up to those of the test.
    pub buckets: Vec<(u64, u64)>,
    /// Ops in each second since the start.
    pub ops_by_second: Vec<f64>,
    /// 99th percentile of each second, in us.
    pub p99_us_by_second: Vec<Option<f64>>,
}

impl TestResult {
    /// True if its jobs were idle between ops: in an open loop, or because they thought.
    pub fn is_paced(&self) -> bool {
        self.open.is_some() || self.window.thought_s > 0.0
    }

    /// Result of a test that was not measured: its identity, without figures.
    pub fn unmeasured(spec: &TestSpec<'_>, started_at: String) -> TestResult {
        let (selection, workload) = (spec.selection, &spec.selection.workload);
        let [mut params, mut chosen] = [selection.params.clone(), selection.chosen.clone()];
        for params in [&mut params, &mut chosen] {
            spec.offer.iter().for_each(|offer| offer.add_to(params));
            selection.looping.add_to(params);
        }
        TestResult {
            seq: spec.seq,
            workload: workload.id.clone(),
            asked_as: selection.asked_as.clone(),
            group: workload.group.clone(),
            title: workload.title.clone(),
            revision: workload.revision,
            hash: selection.hash.clone(),
            params,
            chosen,
            jobs: spec.jobs,
            block: spec.block,
            second: workload.second.clone(),
            ..TestResult::empty(workload.kpm.clone(), selection.drive, started_at)
        }
    }

    /// Result without any figures: only its KPM, its drive and its start are set; valid, on one
    /// node.
    pub fn empty(kpm: Kpm, drive: Drive, started_at: String) -> TestResult {
        TestResult {
            seq: 0,
            workload: String::new(),
            asked_as: None,
            group: String::new(),
            title: String::new(),
            revision: 0,
            hash: String::new(),
            params: BTreeMap::new(),
            chosen: BTreeMap::new(),
            drive,
            nodes: 1,
            jobs: 0,
            server_start: 1,
            load: 1,
            block: None,
            key_seed: None,
            started_at,
            window_s: 0.0,
            total_s: 0.0,
            window: Tally::default(),
            total: Tally::default(),
            units: 0.0,
            units_per_s: 0.0,
            ops_per_s: 0.0,
            rows_per_s: 0.0,
            ci_fraction: None,
            ci_freedom: None,
            counter_intervals: BTreeMap::new(),
            precision: None,
            latency: LatencySummary::default(),
            open: None,
            beside: None,
            latency_stride: 1,
            instrument_us_per_op: None,
            job_figures: Vec::new(),
            node_figures: Vec::new(),
            parts: Vec::new(),
            series: Vec::new(),
            snapshots: Vec::new(),
            counters: Counters::default(),
            window_counters: Counters::default(),
            kpm,
            second: None,
            kpm_value: None,
            second_value: None,
            estimates: [None; 2],
            verdict: Verdict::from_reasons(Vec::new()),
            durability: None,
            lasting: None,
            waits: None,
            profiles: BTreeMap::new(),
            server_log: None,
            driver: None,
            workers: Vec::new(),
            explained: None,
            failover: None,
            server_clock_step_s: 0.0,
            login: None,
            first_error: None,
            facts: BTreeMap::new(),
        }
    }
}
