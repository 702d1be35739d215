//! Details of a test in the document of a run: metrics, service times, parts, experiments, load
//! generators and seconds.

use std::collections::BTreeMap;

use serde::Serialize;

use dbdyno_core::analysis::bottleneck::{Bottleneck, bottlenecks, remedy};
use dbdyno_core::analysis::cpu_speed;
use dbdyno_core::model::{
    self, Better, Kpm, LatencySummary, OpsPerSample, PartResult, Sentence, SeriesPoint, Status,
};

/// A load generator of several.
#[derive(Serialize)]
pub(super) struct Worker<'a> {
    name: &'a str,
    jobs: u32,
    ops: u64,
    clock_offset_s: f64,
    round_trip_s: f64,
    late_s: f64,
    driver: Option<model::DriverFigures>,
}

impl<'a> Worker<'a> {
    pub(super) fn from_result(worker: &'a model::WorkerResult) -> Self {
        let model::WorkerResult {
            name,
            jobs,
            ops,
            clock_offset_s,
            round_trip_s,
            late_s,
            driver,
            ..
        } = worker;
        let (clock_offset_s, round_trip_s, late_s) = (*clock_offset_s, *round_trip_s, *late_s);
        Worker {
            name,
            jobs: *jobs,
            ops: *ops,
            clock_offset_s,
            round_trip_s,
            late_s,
            driver: *driver,
        }
    }
}

/// Result of an experiment for a bottleneck; sentences as texts.
#[derive(Serialize)]
pub(super) struct ExperimentOutcome<'a> {
    cause: &'a str,
    change: String,
    changed: &'a BTreeMap<String, String>,
    forecast: Option<f64>,
    bound: model::Bound,
    forecast_low: Option<f64>,
    forecast_high: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    outcome: model::ForecastOutcome,
    blocks: &'a [[f64; 2]],
    left_out: u64,
    share_before: Option<f64>,
    share_after: Option<f64>,
    missing: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    further: Vec<ExperimentOutcome<'a>>,
}

impl<'a> ExperimentOutcome<'a> {
    pub(super) fn from_result(explained: &'a model::ExperimentResult) -> Self {
        let model::ExperimentResult {
            forecast,
            bound,
            forecast_low,
            forecast_high,
            ratio,
            low,
            high,
            outcome,
            left_out,
            ..
        } = *explained;
        ExperimentOutcome {
            cause: &explained.cause,
            change: explained.change.to_string(),
            changed: &explained.changed,
            forecast,
            bound,
            forecast_low,
            forecast_high,
            ratio,
            low,
            high,
            outcome,
            blocks: &explained.blocks,
            left_out,
            share_before: explained.share_before,
            share_after: explained.share_after,
            missing: explained.missing.as_ref().map(Sentence::to_string),
            further: explained.further.iter().map(ExperimentOutcome::from_result).collect(),
        }
    }
}

/// A cause that limits a test.
#[derive(Serialize)]
pub(super) struct Limit {
    cause: &'static str,
    share: Option<f64>,
    evidence: String,
    experiment: String,
    expected_gain: Option<f64>,
    bound: model::Bound,
}

pub(super) fn limits(result: &model::TestResult) -> Vec<Limit> {
    let limit = |bottleneck: &Bottleneck| {
        let next = remedy(result, bottleneck);
        Limit {
            cause: bottleneck.cause.code(),
            share: bottleneck.share,
            evidence: bottleneck.evidence.to_string(),
            experiment: next.change.to_string(),
            expected_gain: next.gain.map(|gain| gain - 1.0),
            bound: next.bound,
        }
    };
    bottlenecks(result).iter().map(limit).collect()
}

#[derive(Serialize)]
pub(super) struct Metric<'a> {
    value: Option<f64>,
    unit: &'a str,
    better: Better,
}

impl<'a> Metric<'a> {
    pub(super) fn new(kpm: &'a Kpm, value: Option<f64>) -> Metric<'a> {
        Metric { value, unit: &kpm.unit, better: kpm.better }
    }
}

/// Microseconds.
#[derive(Serialize)]
pub(super) struct ServiceTime {
    samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    effective_samples: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ops_per_sample: Option<OpsPerSample>,
    mean: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
}

impl ServiceTime {
    pub(super) fn from_summary(latency: &LatencySummary) -> ServiceTime {
        ServiceTime {
            samples: latency.samples,
            effective_samples: latency.effective_samples,
            ops_per_sample: latency.ops_per_sample,
            mean: latency.mean_us,
            p50: latency.p50_us,
            p90: latency.p90_us,
            p95: latency.p95_us,
            p99: latency.p99_us,
            p999: latency.p999_us,
            max: latency.max_us,
        }
    }
}

/// A part with its own figures; a simple workload has one, which is the test itself.
#[derive(Serialize)]
pub(super) struct Part<'a> {
    workload: &'a str,
    params: &'a BTreeMap<String, String>,
    jobs: u32,
    ops: u64,
    rows: u64,
    commits: u64,
    errors_by_class: &'a BTreeMap<String, u64>,
    ops_per_s: f64,
    units_per_s: f64,
    service_time_us: ServiceTime,
    verdict: Status,
}

impl<'a> Part<'a> {
    pub(super) fn new(test: &model::Test, part: &'a PartResult) -> Part<'a> {
        Part {
            workload: &part.workload,
            params: &part.params,
            jobs: part.jobs,
            ops: part.tally.ops,
            rows: part.tally.rows,
            commits: part.tally.commits,
            errors_by_class: &part.tally.errors,
            ops_per_s: part.ops_per_s,
            units_per_s: part.units_per_s,
            service_time_us: ServiceTime::from_summary(&part.latency),
            verdict: test.status(),
        }
    }
}

/// A second of the series.
#[derive(Serialize)]
pub(super) struct Second<'a> {
    #[serde(flatten)]
    point: &'a SeriesPoint,
    ops_per_s: Option<f64>,
    cpu_speed: Option<f64>,
    cpu_slow: Option<bool>,
}

impl<'a> Second<'a> {
    pub(super) fn from_point(point: &'a SeriesPoint) -> Second<'a> {
        let ops_per_s = (point.interval_s > 0.0).then(|| point.ops / point.interval_s);
        let cpu_speed = cpu_speed::speed(&point.metrics).ok();
        Second { point, ops_per_s, cpu_speed, cpu_slow: cpu_speed::is_slow(point) }
    }
}
