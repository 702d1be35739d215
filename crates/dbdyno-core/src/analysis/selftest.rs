//! Findings of a self-test from very short tests: whether the engine, its counters and dbdyno's
//! clock agree. Pure.

use serde::Serialize;

use super::crosscheck::{self, ComparedCounter};
use super::durability::commits_per_job_s;
use crate::model::params::SLEEP_US;
use crate::model::{Drive, Reason, ReasonCode, Selection, Status, TestResult};

/// Fraction by which a sleep may appear shorter than it was, because of a clock of microseconds and
/// a histogram of three digits.
const CLOCK_SLACK: f64 = 0.02;

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The compared figures agree.
    Ok,
    /// The compared figures contradict each other.
    Failed,
    /// Nothing could be compared, or others disturbed it.
    NotJudged,
}

impl Outcome {
    /// Name as printed.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "FAILED",
            Outcome::NotJudged => "-",
        }
    }
}

/// A check, how it ended, and why one may believe it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: String,
    /// Result of the check.
    pub outcome: Outcome,
    /// Figures that the result rests on, in one sentence.
    pub evidence: String,
}

impl Finding {
    /// A check with its evidence.
    pub fn new(check: impl Into<String>, outcome: Outcome, evidence: impl Into<String>) -> Finding {
        Finding { check: check.into(), outcome, evidence: evidence.into() }
    }
}

/// Test with its selection.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTest<'a> {
    /// Workload with its parameters, as planned.
    pub selection: &'a Selection,
    /// Result of the test.
    pub test: &'a TestResult,
}

impl PlannedTest<'_> {
    /// Workload with its chosen parameters.
    fn name(&self) -> &str {
        &self.selection.workload.id
    }

    /// Reasons with which no figure can be right. Of a workload that reads past the caches the
    /// contract is not judged: the data are small enough to be cached. Little's law holds for jobs
    /// that need not wait for a processor.
    pub fn faults(&self, host_cpus: u32) -> Vec<&Reason> {
        let evicts = !self.selection.workload.evict.is_empty();
        let waits = self.test.jobs > host_cpus;
        let matters = |reason: &&Reason| match reason.code {
            ReasonCode::Failed
            | ReasonCode::Crosscheck
            | ReasonCode::Errors
            | ReasonCode::Implausible => true,
            ReasonCode::Contract => !evicts,
            ReasonCode::Little => !waits,
            _ => false,
        };
        self.test
            .verdict
            .reasons
            .iter()
            .filter(|reason| reason.status == Status::Invalid)
            .filter(matters)
            .collect()
    }

    /// True if others took so much of the machine that waits and caches are no evidence; a wrong
    /// count is wrong in any case.
    fn is_disturbed(&self) -> bool {
        let by_others = |reason: &Reason| {
            let of_machine =
                [ReasonCode::Steal, ReasonCode::ForeignLoad, ReasonCode::PlatformUnsteady];
            reason.status != Status::Valid && of_machine.contains(&reason.code)
        };
        self.test.verdict.reasons.iter().any(by_others)
    }

    /// True if a longer test may say otherwise: in a moment a few reads of the server itself weigh
    /// much.
    pub fn is_in_doubt(&self, host_cpus: u32) -> bool {
        let faults = self.faults(host_cpus);
        let doubtful = [
            ReasonCode::Contract,
            ReasonCode::Crosscheck,
            ReasonCode::Little,
            ReasonCode::Implausible,
        ];
        !faults.is_empty() && faults.iter().all(|reason| doubtful.contains(&reason.code))
    }

    /// The counters that could be compared.
    pub fn compared(&self, engine: &str) -> Vec<ComparedCounter> {
        crosscheck::compared_counters(self.test, &self.selection.workload.crosscheck, engine)
    }
}

/// Checks that the database's counters agree with dbdyno's counts, in one drive.
pub fn counters(
    tried: &[PlannedTest<'_>],
    drive: Drive,
    engine: &str,
    host_cpus: u32,
) -> Option<Finding> {
    let own: Vec<&PlannedTest<'_>> =
        tried.iter().filter(|tried| tried.selection.drive == drive).collect();
    let check = format!("counters, {} drive", drive.name());
    if own.is_empty() {
        return None;
    }
    let faults: Vec<(&&PlannedTest<'_>, &Reason)> = own
        .iter()
        .flat_map(|tried| tried.faults(host_cpus).into_iter().map(move |reason| (tried, reason)))
        .collect();
    let (excused, wrong): (Vec<_>, Vec<_>) =
        faults.into_iter().partition(|(tried, reason)| is_excused(tried, reason));
    if !wrong.is_empty() {
        let said = wrong
            .iter()
            .map(|(tried, reason)| format!("{}: {}: {}", tried.name(), reason.code, reason.text));
        return Some(Finding::new(check, Outcome::Failed, said.collect::<Vec<_>>().join("; ")));
    }
    let compared: Vec<ComparedCounter> =
        own.iter().flat_map(|tried| tried.compared(engine)).collect();
    let outcome = if compared.is_empty() { Outcome::NotJudged } else { Outcome::Ok };
    let exact = compared.iter().filter(|one| is_exact(one)).count();
    let mut evidence =
        format!("{} workloads, {} counts compared, {exact} equal ours", own.len(), compared.len());
    if !excused.is_empty() {
        evidence += &format!("; {} claims not judged, others used the machine", excused.len());
    }
    Some(Finding::new(check, outcome, evidence))
}

fn is_excused(tried: &PlannedTest<'_>, reason: &Reason) -> bool {
    let by_waiting =
        matches!(reason.code, ReasonCode::Contract | ReasonCode::Little | ReasonCode::Implausible);
    by_waiting && tried.is_disturbed()
}

/// True if a counter has exactly the expected value; others may include what sessions cause in
/// addition to their ops.
fn is_exact(one: &ComparedCounter) -> bool {
    (one.counted - one.expected).abs() <= (crosscheck::TOLERANCE * one.expected.abs()).max(1.0)
}

/// Checks that commits waited for the log flush: commits per sync of the log, over all tests whose
/// commits are to be durable.
pub fn commits(tried: &[PlannedTest<'_>]) -> Finding {
    let check = "commits waited for";
    let committing = tried
        .iter()
        .filter(|tried| commits_per_job_s(tried.test).is_some() && is_of_commits(tried));
    let (relaxed, durable): (Vec<&PlannedTest<'_>>, Vec<&PlannedTest<'_>>) =
        committing.partition(|tried| of_code(tried, ReasonCode::Durability).is_some());
    if let Some((tried, reason)) =
        durable.iter().find_map(|tried| Some((tried, not_waited_for(tried)?)))
    {
        return Finding::new(check, Outcome::Failed, format!("{}: {}", tried.name(), reason.text));
    }
    match (
        relaxed.first().and_then(|tried| of_code(tried, ReasonCode::Durability)),
        durable.is_empty(),
    ) {
        (_, false) => synced(check, &durable),
        (Some(reason), true) => Finding::new(check, Outcome::NotJudged, reason.text.clone()),
        (None, true) => Finding::new(check, Outcome::NotJudged, "no workload committed"),
    }
}

fn of_code<'a>(tried: &PlannedTest<'a>, code: ReasonCode) -> Option<&'a Reason> {
    tried.test.verdict.reasons.iter().find(|reason| reason.code == code)
}

/// Reason why commits cannot have waited for the log flush.
fn not_waited_for<'a>(tried: &PlannedTest<'a>) -> Option<&'a Reason> {
    let invalid =
        tried.test.verdict.reasons.iter().filter(|reason| reason.status == Status::Invalid);
    invalid.into_iter().find(|reason| match reason.code {
        ReasonCode::Implausible => !tried.is_disturbed(),
        ReasonCode::Contract => reason.text.contains("sync"),
        _ => false,
    })
}

/// Finding on the commits of these tests and the syncs of the log that they waited for.
fn synced(check: &str, durable: &[&PlannedTest<'_>]) -> Finding {
    let counted = |tried: &&PlannedTest<'_>| {
        Some((tried.test.total.commits as f64, tried.test.counters.get("wal_syncs")?))
    };
    let counted: Vec<(f64, f64)> = durable.iter().filter_map(counted).collect();
    if counted.is_empty() {
        return Finding::new(
            check,
            Outcome::NotJudged,
            "log syncs are not counted here; by the settings, commits wait for them",
        );
    }
    let (commits, syncs) =
        counted.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let outcome = if syncs > 0.0 { Outcome::Ok } else { Outcome::Failed };
    Finding::new(
        check,
        outcome,
        format!("{} workloads, {commits} commits, {syncs} syncs of the log", counted.len()),
    )
}

/// True if each of its ops is a commit; a load that skips the log is not.
fn is_of_commits(tried: &PlannedTest<'_>) -> bool {
    tried.selection.parts.iter().all(|part| part.commits)
}

/// Checks that the times of an op that sleeps are at least as long as the sleep, in one drive.
pub fn clock(tried: &[PlannedTest<'_>], drive: Drive) -> Option<Finding> {
    let is_own = |tried: &&PlannedTest<'_>| {
        tried.selection.drive == drive && sleep_us(tried.selection).is_some()
    };
    let tried = tried.iter().find(is_own)?;
    Some(of_times(format!("clock, {} drive", drive.name()), sleep_us(tried.selection)?, tried.test))
}

/// Microseconds that an op of a selection sleeps, if it only sleeps.
pub fn sleep_us(selection: &Selection) -> Option<f64> {
    selection.params.get(SLEEP_US)?.parse().ok()
}

/// Checks that no percentile is shorter than an op is known to be.
pub fn of_times(check: impl Into<String>, known_us: f64, test: &TestResult) -> Finding {
    let times = &test.latency;
    let named = [
        ("mean", times.mean_us),
        ("p50", times.p50_us),
        ("p90", times.p90_us),
        ("p99", times.p99_us),
    ];
    let known: Vec<(&str, f64)> =
        named.into_iter().filter_map(|(name, us)| Some((name, us?))).collect();
    if known.len() < 2 {
        return Finding::new(
            check,
            Outcome::NotJudged,
            format!("only {} ops were done", test.window.ops),
        );
    }
    let too_short = known.iter().any(|(_, us)| *us < known_us * (1.0 - CLOCK_SLACK));
    let said = known.iter().map(|(name, us)| format!("{name} {us:.0} us ({:+.0})", us - known_us));
    let evidence = format!("ops of {known_us} us took {}", said.collect::<Vec<_>>().join(", "));
    Finding::new(check, if too_short { Outcome::Failed } else { Outcome::Ok }, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{
        Better, Claim, Expr, JobCode, Kpm, KpmValue, LatencySummary, PartPlan, Verdict, Window,
        Workload,
    };

    fn selection(params: &[(&str, &str)]) -> Selection {
        let kpm =
            Kpm { value: KpmValue::Ops, unit: "ops/s".into(), better: Better::Higher, scale: 1.0 };
        let claim = Claim {
            what: "index_scans".into(),
            equals: Some(Expr("ops".into())),
            ..Claim::default()
        };
        let code = JobCode::Bulk { table: "t".into(), batch: 1 };
        let part = PartPlan { commits: true, ..PartPlan::bare("ONE", code) };
        Selection {
            params: params.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..Selection::bare(
                Workload { crosscheck: vec![claim], ..Workload::bare("ONE", "one", kpm) },
                part,
                Window::time(1.0, 2.0),
            )
        }
    }

    fn judged(selection: &Selection, codes: &[(Status, ReasonCode)]) -> TestResult {
        let reasons =
            codes.iter().map(|(status, code)| Reason::new(*status, code.clone(), "no sync"));
        let counters = fixture::counters(&[("index_scans", 120_240.0), ("wal_syncs", 7.0)]);
        TestResult {
            verdict: Verdict::from_reasons(reasons.collect()),
            counters,
            drive: selection.drive,
            ..fixture::result()
        }
    }

    #[test]
    fn a_counter_that_is_off_fails_also_beside_others_and_a_contract_beside_others_does_not() {
        let selection = selection(&[]);
        let outcome = |codes: &[(Status, ReasonCode)]| {
            let test = judged(&selection, codes);
            counters(&[PlannedTest { selection: &selection, test: &test }], Drive::Client, "one", 4)
                .unwrap()
        };
        let steal = (Status::Conditional, ReasonCode::Steal);
        let calm = outcome(&[]);
        assert_eq!(calm.outcome, Outcome::Ok);
        assert_eq!(calm.evidence, "1 workloads, 1 counts compared, 1 equal ours");
        let wrong = outcome(&[(Status::Invalid, ReasonCode::Crosscheck), steal.clone()]);
        assert_eq!(wrong.outcome, Outcome::Failed);
        assert!(wrong.evidence.starts_with("ONE: crosscheck: "), "{}", wrong.evidence);
        let contract = (Status::Invalid, ReasonCode::Contract);
        assert_eq!(outcome(&[contract.clone(), steal]).outcome, Outcome::Ok);
        assert_eq!(outcome(&[contract]).outcome, Outcome::Failed);
        assert_eq!(outcome(&[(Status::Conditional, ReasonCode::Samples)]).outcome, Outcome::Ok);
    }

    #[test]
    fn commits_without_a_sync_fail_and_relaxed_ones_are_not_judged() {
        let selection = selection(&[]);
        let outcome = |codes: &[(Status, ReasonCode)]| {
            let mut test = judged(&selection, codes);
            test.job_figures.iter_mut().for_each(|job| job.tally.commits = 5);
            test.total.commits = 10;
            commits(&[PlannedTest { selection: &selection, test: &test }])
        };
        assert_eq!(outcome(&[]).evidence, "1 workloads, 10 commits, 7 syncs of the log");
        assert_eq!(outcome(&[(Status::Invalid, ReasonCode::Contract)]).outcome, Outcome::Failed);
        assert_eq!(
            outcome(&[(Status::Conditional, ReasonCode::Durability)]).outcome,
            Outcome::NotJudged
        );
    }

    #[test]
    fn a_percentile_shorter_than_the_sleep_fails() {
        let selection = selection(&[(SLEEP_US, "2000")]);
        let outcome = |p50_us| {
            let latency =
                LatencySummary { mean_us: Some(2100.0), p50_us, ..LatencySummary::default() };
            let test = TestResult { latency, ..fixture::result() };
            clock(&[PlannedTest { selection: &selection, test: &test }], Drive::Client).unwrap()
        };
        let fine = outcome(Some(2080.0));
        assert_eq!(
            (fine.outcome, fine.evidence.as_str()),
            (Outcome::Ok, "ops of 2000 us took mean 2100 us (+100), p50 2080 us (+80)")
        );
        assert_eq!(outcome(Some(1900.0)).outcome, Outcome::Failed);
        assert_eq!(outcome(None).outcome, Outcome::NotJudged);
    }
}
