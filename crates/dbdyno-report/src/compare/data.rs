//! The comparison of runs as JSON.

use serde::Serialize;

use dbdyno_core::analysis::compare::{
    Change, Comparison, Difference, EqualJobs, Finding, GroupMean, Judgement, NotCompared, Row,
    Work,
};

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

/// The source of the intervals.
const NOISE: &str = "intervals are estimated from the repetitions of all figures of both runs, and \
                     from what earlier runs of the platform differ by, else from a prior; of \
                     single tests from the seconds of their windows";

/// The document of `compare --format json`: lists over all comparisons, each entry with its runs.
#[derive(Serialize)]
pub struct Data<'a> {
    schema_version: u32,
    base: Option<&'a str>,
    others: Vec<&'a str>,
    noise: &'static str,
    calibrations: Vec<&'a str>,
    disclosure_differences: Vec<OfRuns<'a, &'a Difference>>,
    kpms: Vec<OfRuns<'a, JudgedRow<'a>>>,
    further: Vec<OfRuns<'a, JudgedRow<'a>>>,
    equal_jobs: Vec<OfRuns<'a, AtEqualJobs<'a>>>,
    /// Resources that one op takes.
    work_per_op: Vec<OfRuns<'a, &'a Work>>,
    groups: Vec<OfRuns<'a, &'a GroupMean>>,
    not_compared: Vec<OfRuns<'a, &'a NotCompared>>,
    findings: Vec<OfRuns<'a, &'a Finding>>,
    /// The gate's sentences; empty without `--fail-below`.
    gate: Vec<OfRuns<'a, &'a Judgement>>,
    detectable: Vec<OfRuns<'a, Detectable>>,
    between_runs: Vec<OfRuns<'a, BetweenRuns>>,
}

/// Loss that would have been found, as a fraction, in this number of figures.
#[derive(Serialize)]
struct Detectable {
    loss: f64,
    found: usize,
    figures: usize,
}

/// The source of what differs between fresh runs.
#[derive(Serialize)]
struct BetweenRuns {
    /// `earlier-runs` or `prior`.
    source: &'static str,
    earlier_runs: usize,
    /// The multiple of what the prior allows by which the two runs differ, where that widened the
    /// intervals.
    widened: Option<f64>,
}

#[derive(Serialize)]
struct OfRuns<'a, T: Serialize> {
    base_run: &'a str,
    other_run: &'a str,
    #[serde(flatten)]
    entry: T,
}

#[derive(Serialize)]
struct JudgedRow<'a> {
    #[serde(flatten)]
    row: &'a Row,
    difference: Change,
    service_time_ratio: Option<f64>,
}

#[derive(Serialize)]
struct AtEqualJobs<'a> {
    #[serde(flatten)]
    line: &'a EqualJobs,
    difference: Change,
}

impl<'a> Data<'a> {
    pub fn new(comparisons: &'a [Comparison]) -> Data<'a> {
        let judged = |row: &'a Row| JudgedRow {
            row,
            difference: row.change(),
            service_time_ratio: row.service_ratio(),
        };
        let equal =
            |line: &'a EqualJobs| AtEqualJobs { line, difference: line.ratio.change(line.better) };
        Data {
            schema_version: SCHEMA_VERSION,
            base: comparisons.first().map(|comparison| comparison.base.as_str()),
            others: comparisons.iter().map(|comparison| comparison.other.as_str()).collect(),
            noise: NOISE,
            calibrations: comparisons
                .iter()
                .flat_map(|one| &one.calibrations)
                .map(String::as_str)
                .collect(),
            disclosure_differences: each(
                comparisons,
                |comparison| &comparison.differences,
                |difference| difference,
            ),
            kpms: each(comparisons, |comparison| &comparison.kpms, judged),
            further: each(comparisons, |comparison| &comparison.further, judged),
            equal_jobs: each(comparisons, |comparison| &comparison.equal_jobs, equal),
            work_per_op: each(comparisons, |comparison| &comparison.work, |work| work),
            groups: each(comparisons, |comparison| &comparison.groups, |mean| mean),
            not_compared: each(comparisons, |comparison| &comparison.not_compared, |lost| lost),
            findings: each(comparisons, |comparison| &comparison.findings, |finding| finding),
            gate: once(comparisons, |comparison| comparison.gate.as_ref()),
            detectable: once(comparisons, |comparison| {
                let size = comparison.detectable?;
                Some(Detectable { loss: size.loss, found: size.found, figures: size.points })
            }),
            between_runs: once(comparisons, |comparison| {
                let (earlier_runs, widened) = (comparison.earlier_runs, comparison.widened);
                let source = if earlier_runs > 0 { "earlier-runs" } else { "prior" };
                Some(BetweenRuns { source, earlier_runs, widened })
            }),
        }
    }
}

/// The parts that each comparison has once, as entries with their runs.
fn once<'a, E: Serialize>(
    comparisons: &'a [Comparison],
    entry: impl Fn(&'a Comparison) -> Option<E>,
) -> Vec<OfRuns<'a, E>> {
    let of_runs = |comparison: &'a Comparison| {
        let entry = entry(comparison)?;
        Some(OfRuns { base_run: &comparison.base, other_run: &comparison.other, entry })
    };
    comparisons.iter().filter_map(of_runs).collect()
}

/// The list of each comparison as entries with their runs.
fn each<'a, T: 'a, E: Serialize>(
    comparisons: &'a [Comparison],
    list: impl Fn(&'a Comparison) -> &'a Vec<T>,
    entry: impl Fn(&'a T) -> E + Copy,
) -> Vec<OfRuns<'a, E>> {
    let of_runs = |comparison: &'a Comparison| {
        let entries = list(comparison).iter().map(entry);
        entries.map(|entry| OfRuns {
            base_run: &comparison.base,
            other_run: &comparison.other,
            entry,
        })
    };
    comparisons.iter().flat_map(of_runs).collect()
}
