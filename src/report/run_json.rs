//! The document of `run --format json`: one run with its tests. `docs/schema/run.schema.json` is its schema.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::analysis::derive;
use crate::model::{Better, LatencySummary, PartFigures, RunRecord, SeriesPoint, TestResult};

/// Version of the structure; raised whenever a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// The document.
pub fn document(run: &RunRecord, tests: &[TestResult]) -> Value {
    let tests: Vec<Value> = tests.iter().map(test).collect();
    json!({
        "schema_version": SCHEMA_VERSION,
        "run_id": run.id,
        "name": run.name,
        "kind": run.kind,
        "provenance": run.provenance,
        "target": run.target,
        "engine": run.engine,
        "suite": run.suite,
        "labels": run.labels,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "status": run.status,
        "version": run.version,
        "command": run.command,
        "seed": run.seed,
        "size_gb": Some(run.size_gb).filter(|size_gb| *size_gb > 0.0),
        "data_set_id": run.data_set_id,
        "disclosure": run.disclosure,
        "loads": run.loads,
        "tests": tests,
    })
}

fn test(test: &TestResult) -> Value {
    let (throughput, unit) = throughput(test);
    let mut document = json!({
        "seq": test.seq,
        "workload": test.workload,
        "asked_as": test.asked_as,
        "group": test.group,
        "title": test.title,
        "revision": test.revision,
        "hash": test.hash,
        "params": test.params,
        "drive": test.drive,
        "nodes": test.nodes,
        "jobs": test.known_jobs(),
        "started_at": test.started_at,
        "elapsed_s": test.window_s,
        "ops": test.window.ops,
        "rows": test.window.rows,
        "commits": test.window.commits,
        "units": test.units,
        "unit": unit,
        "throughput": throughput,
        "per_job": throughput.and_then(|total| Some(total / f64::from(test.known_jobs()?))),
        "ci_fraction": test.ci_fraction,
        "ops_per_s": test.ops_per_s,
    });
    let further = json!({
        "kpm": {"value": test.kpm_value, "unit": test.kpm.unit, "better": test.kpm.better},
        "second": test.second.as_ref().map(|kpm| json!({"value": test.second_value, "unit": kpm.unit, "better": kpm.better})),
        "service_time_us": service_time(&test.latency),
        "errors": test.window.error_count(),
        "errors_by_class": test.window.errors,
        "first_error": test.first_error,
        "metrics": metrics(test),
        "unknown": unknown(test),
        "counters": test.counters,
        "parts": test.parts.iter().map(|figures| part(test, figures)).collect::<Vec<_>>(),
        "series": test.series.iter().map(point).collect::<Vec<_>>(),
        "verdict": test.verdict,
        "published": test.published,
    });
    if let (Value::Object(fields), Value::Object(more)) = (&mut document, further) {
        fields.extend(more);
    }
    document
}

/// The rate and its unit: the KPM if it is one, else the second metric, else ops per second; absent if it is not known.
fn throughput(test: &TestResult) -> (Option<f64>, &str) {
    if test.kpm.better == Better::Higher {
        return (test.kpm_value, &test.kpm.unit);
    }
    match test.second.as_ref().filter(|second| second.better == Better::Higher) {
        Some(second) => (test.second_value, &second.unit),
        // A publication prints its own metric, seldom ops.
        None => (Some(test.ops_per_s).filter(|rate| test.published.is_none() || *rate > 0.0), "ops/s"),
    }
}

fn service_time(latency: &LatencySummary) -> Value {
    json!({
        "samples": latency.samples,
        "mean": latency.mean_us,
        "p50": latency.p50_us,
        "p90": latency.p90_us,
        "p95": latency.p95_us,
        "p99": latency.p99_us,
        "p999": latency.p999_us,
        "max": latency.max_us,
    })
}

/// Every derived figure; null if it is unknown.
fn metrics(test: &TestResult) -> BTreeMap<&'static str, Option<f64>> {
    derive(test).0.into_iter().map(|figure| (figure.id, figure.value.ok())).collect()
}

/// Why a derived figure is unknown.
fn unknown(test: &TestResult) -> BTreeMap<&'static str, String> {
    derive(test).0.into_iter().filter_map(|figure| Some((figure.id, figure.value.err()?))).collect()
}

/// A part with its own figures; a simple workload has one, which is the test itself.
fn part(test: &TestResult, part: &PartFigures) -> Value {
    json!({
        "workload": part.workload,
        "params": part.params,
        "jobs": part.jobs,
        "ops": part.tally.ops,
        "rows": part.tally.rows,
        "commits": part.tally.commits,
        "errors_by_class": part.tally.errors,
        "ops_per_s": part.ops_per_s,
        "units_per_s": part.units_per_s,
        "service_time_us": service_time(&part.latency),
        "verdict": test.verdict.status,
    })
}

fn point(point: &SeriesPoint) -> Value {
    let per_s = (point.interval_s > 0.0).then(|| point.ops / point.interval_s);
    json!({
        "t_s": point.t_s,
        "interval_s": point.interval_s,
        "ops": point.ops,
        "ops_per_s": per_s,
        "units": point.units,
        "errors": point.errors,
        "p50_us": point.p50_us,
        "p99_us": point.p99_us,
        "in_window": point.in_window,
        "metrics": point.metrics,
    })
}
