//! A test that could not be measured is stored too: without figures, invalid, with the reason.

use crate::error::Error;
use crate::model::{Counters, LatencySummary, Reason, Selection, Status, Tally, TestResult, Verdict};

/// The record of a test that failed with `error`.
pub fn failed_test(selection: &Selection, seq: u32, jobs: u32, started_at: String, error: &Error) -> TestResult {
    let workload = &selection.workload;
    let reason = Reason { status: Status::Invalid, code: "failed".into(), text: error.to_string() };
    TestResult {
        seq,
        workload: workload.id.clone(),
        asked_as: selection.asked_as.clone(),
        group: workload.group.clone(),
        title: workload.title.clone(),
        revision: workload.revision,
        hash: selection.hash.clone(),
        params: selection.params.clone(),
        chosen: selection.chosen.clone(),
        drive: selection.drive,
        nodes: 1,
        jobs,
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
        latency: LatencySummary::default(),
        latency_stride: 1,
        job_figures: Vec::new(),
        parts: Vec::new(),
        series: Vec::new(),
        snapshots: Vec::new(),
        counters: Counters::default(),
        window_counters: Counters::default(),
        kpm: workload.kpm.clone(),
        second: workload.second.clone(),
        kpm_value: None,
        second_value: None,
        verdict: Verdict::from_reasons(vec![reason]),
        first_error: Some(error.to_string()),
        facts: Default::default(),
    }
}
