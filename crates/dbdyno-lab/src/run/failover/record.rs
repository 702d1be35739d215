//! A repetition as a test: its window is the load before the failure, its series all of the load.

use std::collections::BTreeMap;

use super::trial::TrialRecord;
use dbdyno_core::analysis::failover::{Answer, Sent, judge};
use dbdyno_core::model::{
    Better, Drive, Kpm, KpmValue, LatencySummary, SeriesPoint, Tally, TestResult, Verdict,
};
use dbdyno_core::stats::{LatencyHistogram, Quantiles};

/// Name of the test.
const NAME: &str = "FAILOVER";
/// Length of the points of the series, in s.
const POINT_S: f64 = 0.5;

/// The test of repetition `seq`.
pub(super) fn result(
    seq: u32,
    jobs: u32,
    started_at: String,
    measured: &TrialRecord,
    is_one_host: bool,
) -> TestResult {
    let failover = &measured.failover;
    let kpm = Kpm { value: KpmValue::Ops, unit: "tps".into(), better: Better::Higher, scale: 1.0 };
    let window = tally(acknowledged_commits(measured, failover.failed_at_s));
    let per_s = window.ops as f64 / failover.failed_at_s;
    let params = [("how", failover.how.name()), ("node", &failover.node)];
    let params: BTreeMap<_, _> =
        params.map(|(name, value)| (name.to_string(), value.to_string())).into();
    TestResult {
        seq,
        workload: NAME.into(),
        group: NAME.into(),
        title: "a row and a commit, until a node fails".into(),
        revision: 1,
        hash: NAME.to_lowercase(),
        chosen: params.clone(),
        params,
        nodes: failover.nodes.len() as u32,
        jobs,
        server_start: seq,
        load: seq,
        window_s: failover.failed_at_s,
        total_s: measured.total_s,
        total: tally(acknowledged_commits(measured, measured.total_s)),
        units: window.ops as f64,
        units_per_s: per_s,
        ops_per_s: per_s,
        rows_per_s: per_s,
        latency: latency(measured, &window),
        series: series(measured),
        kpm_value: Some(per_s),
        verdict: Verdict::from_reasons(judge(failover, is_one_host)),
        failover: Some(failover.clone()),
        window,
        ..TestResult::empty(kpm, Drive::Client, started_at)
    }
}

/// Commits that were acknowledged until then.
fn acknowledged_commits(measured: &TrialRecord, until_s: f64) -> impl Iterator<Item = &Sent> {
    let is_in = move |sent: &&Sent| sent.answer == Answer::Acknowledged && sent.ended_s <= until_s;
    measured.noted.sent.iter().filter(is_in)
}

fn tally<'a>(commits: impl Iterator<Item = &'a Sent>) -> Tally {
    commits.fold(Tally::default(), |mut tally, sent| {
        (tally.ops, tally.rows, tally.commits) = (tally.ops + 1, tally.rows + 1, tally.commits + 1);
        tally.busy_s += sent.ended_s - sent.sent_s;
        tally
    })
}

fn latency(measured: &TrialRecord, window: &Tally) -> LatencySummary {
    let mut times = LatencyHistogram::new();
    let before = acknowledged_commits(measured, measured.failover.failed_at_s);
    before.for_each(|sent| times.record_ns(((sent.ended_s - sent.sent_s) * 1e9) as u64));
    let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
    let quantiles = Quantiles::from_histogram(&times);
    LatencySummary {
        samples: times.len(),
        mean_us: (window.ops > 0).then(|| window.busy_s * 1e6 / window.ops as f64),
        p50_us: us(quantiles.p50_ns),
        p90_us: us(quantiles.p90_ns),
        p95_us: us(quantiles.p95_ns),
        p99_us: us(quantiles.p99_ns),
        p999_us: us(quantiles.p999_ns),
        max_us: us(quantiles.max_ns),
        buckets: times.buckets(),
        ..LatencySummary::default()
    }
}

/// Commits, and those that failed, in each half second.
fn series(measured: &TrialRecord) -> Vec<SeriesPoint> {
    let point = |at: u32| {
        let t_s = f64::from(at) * POINT_S;
        let in_window = t_s <= measured.failover.failed_at_s;
        SeriesPoint { t_s, interval_s: POINT_S, in_window, ..SeriesPoint::default() }
    };
    let mut series: Vec<SeriesPoint> =
        (1..=(measured.total_s / POINT_S) as u32).map(point).collect();
    for sent in &measured.noted.sent {
        let Some(point) = series.get_mut((sent.ended_s / POINT_S) as usize) else { continue };
        match sent.answer {
            Answer::Acknowledged => (point.ops, point.units) = (point.ops + 1.0, point.units + 1.0),
            Answer::Refused | Answer::Missing => point.errors += 1,
        }
    }
    series
}
