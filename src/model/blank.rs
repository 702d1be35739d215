//! Test results of which nothing is measured yet.

use std::collections::BTreeMap;

use super::{Counters, Drive, Kpm, LatencySummary, Tally, TestResult, TestSpec, Verdict};

impl TestResult {
    /// The record of a test before anything is measured: who it is, without figures.
    pub fn unmeasured(spec: &TestSpec<'_>, started_at: String) -> TestResult {
        let (selection, workload) = (spec.selection, &spec.selection.workload);
        TestResult {
            seq: spec.seq,
            workload: workload.id.clone(),
            asked_as: selection.asked_as.clone(),
            group: workload.group.clone(),
            title: workload.title.clone(),
            revision: workload.revision,
            hash: selection.hash.clone(),
            params: selection.params.clone(),
            chosen: selection.chosen.clone(),
            jobs: spec.jobs,
            second: workload.second.clone(),
            ..TestResult::blank(workload.kpm.clone(), selection.drive, started_at)
        }
    }

    /// A result that says nothing yet but what its KPM is, how it is driven and when it began: valid, on one node.
    pub fn blank(kpm: Kpm, drive: Drive, started_at: String) -> TestResult {
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
            kpm,
            second: None,
            kpm_value: None,
            second_value: None,
            verdict: Verdict::from_reasons(Vec::new()),
            first_error: None,
            facts: BTreeMap::new(),
            published: None,
        }
    }
}
