//! Ramps whose answers are known by hand, for the tests of capacity.

use super::*;
use crate::analysis::compare;
use crate::analysis::fixture::at;
use crate::model::{DeviceSync, LatencySummary, Reason, ReasonCode, Verdict};

/// A ramp of SRV-QUERY1 in qps: 100, 190, 300 and 306 with 1, 2, 4 and 8 jobs, +-1 %; p99 of 1, 2,
/// 4 and 8 ms.
pub(super) fn ramp() -> Vec<TestResult> {
    [(1, 100.0), (2, 190.0), (4, 300.0), (8, 306.0)].map(|(jobs, qps)| point(jobs, qps)).into()
}

pub(super) fn point(jobs: u32, qps: f64) -> TestResult {
    let p99_us = Some(1000.0 * f64::from(jobs));
    TestResult { latency: LatencySummary { p99_us, ..LatencySummary::default() }, ..at(jobs, qps) }
}

pub(super) fn judged(status: Status, test: TestResult) -> TestResult {
    TestResult {
        verdict: Verdict::from_reasons(vec![Reason::new(status, ReasonCode::Steal, "")]),
        ..test
    }
}

pub(super) fn tests(results: Vec<TestResult>) -> Vec<Test> {
    results.into_iter().map(Test::from).collect()
}

/// Outcome, jobs, and the reason.
pub(super) fn answered(need: &str, results: Vec<TestResult>) -> (Outcome, Option<u32>, String) {
    let (need, tests) = (Need::parse(&format!("SRV-QUERY1 {need}")).unwrap(), tests(results));
    let answer = answer(&need, &tests);
    let jobs = answer.at.and_then(|at| at.figure.jobs);
    (answer.outcome, jobs, answer.why.map(|why| why.to_string()).unwrap_or_default())
}

/// The third answer to these requirements, and the command that settles it.
pub(super) fn doubtful(
    needs: &[&str],
    results: Vec<TestResult>,
) -> (Option<String>, Option<String>) {
    let needs: Vec<Need> =
        needs.iter().map(|need| Need::parse(&format!("SRV-QUERY1 {need}")).unwrap()).collect();
    let (run, tests) =
        (RunRecord { target: "engine (private server)".into(), ..run() }, tests(results));
    let found = ask(Side { name: "a", run: &run, tests: &tests, price: None }, &needs);
    (found.doubtful_answer().map(|said| said.to_string()), found.settling_command())
}

pub(super) fn platform<'a>(
    run: &'a RunRecord,
    tests: &'a [Test],
    needs: &'a [Need],
) -> Platform<'a> {
    ask(Side { name: "a", run, tests, price: None }, needs)
}

pub(super) fn run() -> RunRecord {
    let device = DeviceSync {
        fdatasync_per_s: 1000.0,
        dsync_per_s: 900.0,
        threads: 1,
        fdatasync_all_per_s: 0.0,
        dsync_all_per_s: 0.0,
    };
    let mut run = RunRecord { device_sync: Some(device), ..compare::fixture::run("a") };
    run.disclosure.set("hardware", "cores", "4");
    run
}
