//! A small test result for the unit tests of this layer: every figure is round, so that
//! expectations are done by hand.

use crate::model::{
    Better, Counters, Drive, JobResult, Kpm, KpmValue, LatencySummary, SeriesPoint, Tally,
    TestResult, Verdict,
};

/// A KPM of scale 1.
pub fn kpm(value: KpmValue, unit: &str, better: Better) -> Kpm {
    Kpm { value, unit: unit.into(), better, scale: 1.0 }
}

/// Counters from pairs.
pub fn counters(pairs: &[(&str, f64)]) -> Counters {
    Counters(pairs.iter().map(|&(name, value)| (name.to_string(), value)).collect())
}

/// A tally without commits and errors.
pub fn tally(ops: u64, busy_s: f64) -> Tally {
    Tally { ops, rows: ops, busy_s, ..Tally::default() }
}

/// Two jobs for 10 s at 5000 ops/s each (200 us per op, 1 row, 1 unit), after 2 s of warm-up; no
/// counters at all.
pub fn result() -> TestResult {
    let job = |job| JobResult {
        job,
        part: 0,
        tally: tally(50_000, 10.0),
        units: 50_000.0,
        elapsed_s: 10.0,
    };
    TestResult {
        seq: 1,
        workload: "SRV-QUERY1".into(),
        asked_as: None,
        group: "SRV".into(),
        title: "a row".into(),
        revision: 1,
        hash: "0".into(),
        params: [("org".to_string(), "heap".to_string())].into(),
        chosen: Default::default(),
        drive: Drive::Client,
        nodes: 1,
        jobs: 2,
        server_start: 1,
        load: 1,
        block: None,
        key_seed: None,
        started_at: "2026-01-01T00:00:00Z".into(),
        window_s: 10.0,
        total_s: 12.0,
        window: tally(100_000, 20.0),
        total: tally(120_000, 24.0),
        units: 100_000.0,
        units_per_s: 10_000.0,
        ops_per_s: 10_000.0,
        rows_per_s: 10_000.0,
        ci_fraction: Some(0.01),
        ci_freedom: Some(4.0),
        counter_intervals: Default::default(),
        precision: None,
        latency: latency(200_000, 100_000),
        open: None,
        beside: None,
        latency_stride: 1,
        instrument_us_per_op: None,
        node_figures: Vec::new(),
        job_figures: vec![job(1), job(2)],
        parts: vec![],
        series: (1..=12).map(second).collect(),
        snapshots: vec![],
        counters: Counters::default(),
        window_counters: Counters::default(),
        kpm: kpm(KpmValue::Ops, "qps", Better::Higher),
        second: None,
        kpm_value: Some(10_000.0),
        second_value: None,
        estimates: [None; 2],
        verdict: Verdict::from_reasons(vec![]),
        durability: None,
        lasting: None,
        waits: None,
        profiles: Default::default(),
        server_log: None,
        driver: None,
        workers: Vec::new(),
        explained: None,
        failover: None,
        server_clock_step_s: 0.0,
        login: None,
        first_error: None,
        facts: [("small_rows".to_string(), 32_000.0)].into(),
    }
}

/// The same test at `jobs` jobs with this throughput: `ops_per_s`, `units_per_s` and the KPM in
/// ops/s.
pub fn at(jobs: u32, ops_per_s: f64) -> TestResult {
    TestResult {
        seq: jobs,
        jobs,
        ops_per_s,
        units_per_s: ops_per_s,
        kpm_value: Some(ops_per_s),
        ..result()
    }
}

/// All samples at one service time.
pub fn latency(service_ns: u64, samples: u64) -> LatencySummary {
    let us = Some(service_ns as f64 / 1000.0);
    LatencySummary {
        samples,
        mean_us: us,
        p50_us: us,
        max_us: us,
        buckets: vec![(service_ns, samples)],
        ..LatencySummary::default()
    }
}

fn second(number: u32) -> SeriesPoint {
    let t_s = f64::from(number);
    SeriesPoint {
        t_s,
        interval_s: 1.0,
        ops: 10_000.0,
        units: 10_000.0,
        in_window: number > 2,
        ..SeriesPoint::default()
    }
}
