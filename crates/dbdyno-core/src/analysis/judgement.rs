//! The judgement of a whole test: its KPMs, then every judge in order, then what follows from the
//! verdict. The one place that knows the order.

use super::kpm::{fill, keep_threads, keep_volume};
use super::verdict::{JudgeContext, judge};
use super::{circumstances, durability, nodes, parts, sustained};
use crate::model::{Reason, Selection, TestResult, Verdict};

/// Facts about how a test was made, which its result does not hold.
#[derive(Debug, Clone)]
pub struct TestFacts<'a> {
    /// Facts about the host, the engine and the clocks.
    pub context: JudgeContext<'a>,
    /// The other side of an A/B test was measured at the same time.
    pub is_duet: bool,
    /// Reason against the engine's version, if it is not confirmed.
    pub unconfirmed: Option<Reason>,
    /// All nodes of the database are on this host.
    pub is_one_host: bool,
    /// Durable writes per second of one thread on the database's device, if it is known.
    pub device_per_s: Option<f64>,
}

/// Fills the KPMs of a test, judges it, and sets what follows from its verdict.
pub fn judge_test(result: &mut TestResult, selection: &Selection, facts: &TestFacts<'_>) {
    fill_from_selection(result, selection);
    let mut reasons = reasons_of_jobs(result, selection, &facts.context);
    reasons.extend(facts.is_duet.then(circumstances::of_duet));
    reasons.extend(facts.unconfirmed.clone());
    reasons.extend(nodes::judge(result, facts.is_one_host));
    let implausible =
        facts.device_per_s.and_then(|per_s| durability::judge(result, &reasons, per_s));
    reasons.extend(implausible);
    result.verdict = Verdict::from_reasons(reasons);
    // Commits of a background workload count in the same counters.
    let is_alone = result.beside.is_none();
    result.durability = durability::stamp(result, facts.device_per_s).filter(|_| is_alone);
    let commits = is_alone && selection.parts.iter().any(|part| part.commits);
    result.lasting = commits.then(|| sustained::sustained_rate(result)).flatten();
}

/// Facts of a test that plain scripts ran, without this program.
#[derive(Debug, Clone)]
pub struct ScriptFacts<'a> {
    /// Registry name of the engine.
    pub engine: &'a str,
    /// Reason against the engine's version, if it is not confirmed.
    pub unconfirmed: Option<Reason>,
}

/// Fills the KPMs of a test of scripts and judges it as far as its figures reach. The device was
/// not measured and the catch-up not observed, so that it has neither a durability nor a sustained
/// rate.
pub fn judge_scripts(result: &mut TestResult, selection: &Selection, facts: &ScriptFacts<'_>) {
    fill_from_selection(result, selection);
    let mut reasons = reasons_of_jobs(result, selection, &JudgeContext::unwatched(facts.engine));
    reasons.extend(facts.unconfirmed.clone());
    reasons.push(circumstances::of_scripts());
    if result.hash != selection.hash {
        reasons.push(circumstances::of_other_sql(&result.hash, &selection.hash));
    }
    result.verdict = Verdict::from_reasons(reasons);
}

/// Sets the KPMs, and the facts that the definition of the workload computes from counters.
fn fill_from_selection(result: &mut TestResult, selection: &Selection) {
    fill(result);
    keep_threads(result, selection.workload.threads.as_ref());
    keep_volume(result, &selection.workload);
}

/// Reasons that follow from the work of the jobs, alone or with a background workload.
fn reasons_of_jobs(
    result: &TestResult,
    selection: &Selection,
    context: &JudgeContext<'_>,
) -> Vec<Reason> {
    let mut reasons = match &selection.background {
        None => {
            let workload = &selection.workload;
            judge(result, &workload.contract, &workload.crosscheck, context).reasons
        }
        Some(background) => parts::judge_beside(result, selection, background, context),
    };
    reasons.extend(parts::judge(result, &selection.parts, context.engine));
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{
        Better, Durability, JobCode, KpmValue, PartPlan, ReasonCode, Window, Workload,
    };

    fn selection() -> Selection {
        let kpm = fixture::kpm(KpmValue::Ops, "tps", Better::Higher);
        let code = JobCode::Bulk { table: String::new(), batch: 1 };
        let part = PartPlan { commits: true, ..PartPlan::bare("T", code) };
        Selection::bare(Workload::bare("T", "a test", kpm), part, Window::time(1.0, 10.0))
    }

    /// Two jobs that commit 5,000 times a second each.
    fn committing() -> TestResult {
        let mut result = fixture::result();
        result.job_figures.iter_mut().for_each(|job| job.tally.commits = 50_000);
        result
    }

    fn has(result: &TestResult, code: ReasonCode) -> bool {
        result.verdict.reasons.iter().any(|reason| reason.code == code)
    }

    #[test]
    fn what_follows_from_the_verdict_is_set_after_it() {
        let mut result = committing();
        let facts = TestFacts {
            context: JudgeContext::unwatched("one"),
            is_duet: true,
            unconfirmed: Some(circumstances::unconfirmed_reason("Product", "1")),
            is_one_host: false,
            device_per_s: Some(100.0),
        };
        judge_test(&mut result, &selection(), &facts);
        assert!(has(&result, ReasonCode::Beside) && has(&result, ReasonCode::UnconfirmedEngine));
        assert!(has(&result, ReasonCode::Implausible));
        assert_eq!(result.durability, Some(Durability::Implausible));
        assert!(result.kpm_value.is_some());
    }

    #[test]
    fn a_test_of_scripts_has_no_statement_about_its_durability() {
        let mut result = TestResult { hash: "other".into(), ..committing() };
        let facts = ScriptFacts { engine: "one", unconfirmed: None };
        judge_scripts(&mut result, &selection(), &facts);
        let of_scripts =
            result.verdict.reasons.iter().filter(|reason| reason.code == ReasonCode::Scripts);
        assert_eq!(of_scripts.count(), 2, "nobody watched, and the SQL is another");
        assert_eq!((result.durability, result.lasting), (None, None));
    }
}
