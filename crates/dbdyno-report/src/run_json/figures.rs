//! The figures of a run as JSON: what its repetitions say together, as every report shows it.

use std::collections::BTreeMap;

use serde::Serialize;

use dbdyno_core::analysis::figure::Figure;
use dbdyno_core::analysis::heatmap::METRICS;
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{Better, Drive, Test, Verdict};

/// A figure of a run.
#[derive(Serialize)]
pub struct OfRun<'a> {
    workload: &'a str,
    params: &'a BTreeMap<String, String>,
    drive: Drive,
    /// `speed`, `throughput`, or the rate `at-jobs`.
    kind: &'static str,
    /// Absent if a publication does not print them.
    jobs: Option<u32>,
    value: f64,
    unit: &'a str,
    better: Better,
    /// The ends of the 95 % interval of the mean within this run.
    low: Option<f64>,
    high: Option<f64>,
    /// Half width of the range about the value, as a fraction of it, in which an equal fresh run
    /// falls in 19 of 20 cases.
    fresh_fraction: Option<f64>,
    /// Repetitions that count.
    repetitions: usize,
    disturbed: bool,
    verdict: Verdict,
}

/// The figures of all ramps.
pub fn collect(tests: &[Test]) -> Vec<OfRun<'_>> {
    let ramps = ramp::groups(tests, |test| *test);
    ramps.iter().flat_map(|ramp| of_ramp(ramp)).collect()
}

fn of_ramp<'a>(ramp: &[&'a Test]) -> Vec<OfRun<'a>> {
    let curve = ramp::curve(ramp).into_iter().map(|figure| figure_of_run("at-jobs", &figure));
    let of_metrics = METRICS
        .iter()
        .filter_map(|metric| Some(figure_of_run(metric.name(), &metric.figure(ramp)?)));
    curve.chain(of_metrics).collect()
}

fn figure_of_run<'a>(kind: &'static str, figure: &Figure<'a>) -> OfRun<'a> {
    OfRun {
        workload: figure.workload,
        params: figure.params,
        drive: figure.test.drive(),
        kind,
        jobs: figure.jobs,
        value: figure.value,
        unit: figure.unit,
        better: figure.better,
        low: figure.ends().map(|ends| ends[0]),
        high: figure.ends().map(|ends| ends[1]),
        fresh_fraction: figure.interval.ok().and_then(|interval| interval.fresh),
        repetitions: figure.repetitions,
        disturbed: figure.is_disturbed(),
        verdict: figure.verdict(),
    }
}
