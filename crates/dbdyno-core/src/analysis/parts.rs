//! The parts of a mixed workload: the claims of each about dbdyno's counts (rows per op), judged on
//! what that part counted. The database's counters cannot be divided among the parts: claims about
//! them are the mix's own.

use super::contract;
use super::scope::OWN;
use super::verdict::{self, JudgeContext};
use crate::model::{
    Background, Claim, PartPlan, PartResult, Reason, ReasonCode, Selection, Sentence, Status,
    TestResult,
};

/// The reasons that follow from the contracts of the parts; none for a workload that is its own
/// only part.
pub(super) fn judge(result: &TestResult, plans: &[PartPlan], engine: &str) -> Vec<Reason> {
    if plans.len() < 2 {
        return Vec::new();
    }
    let parts = plans.iter().zip(&result.parts);
    parts.flat_map(|(plan, figures)| of_part(result, plan, figures, engine)).collect()
}

/// The reasons of a test beside which another workload ran: the database's counters hold the work
/// of both, so that only claims about the jobs' own counts are judged, of either.
pub(super) fn judge_beside(
    result: &TestResult,
    selection: &Selection,
    background: &Background,
    context: &JudgeContext<'_>,
) -> Vec<Reason> {
    let own: Vec<Claim> = selection
        .workload
        .contract
        .iter()
        .filter(|claim| is_of_own_counts(claim))
        .cloned()
        .collect();
    let mut reasons = verdict::judge(result, &own, &[], context).reasons;
    let Some(beside) = &result.beside else { return reasons };
    if let [plan] = background.selection.parts.as_slice() {
        reasons.extend(of_part(result, plan, &beside.part, context.engine));
        reasons.extend(errors(result, plan, &beside.part));
    }
    let (status, sentence) = match beside.covers_window {
        true => (
            Status::Conditional,
            "{workload} with {jobs} ran concurrently at {rate} ops/s: this is not a result of the \
             platform alone, and the database's counters are those of both",
        ),
        false => (
            Status::Invalid,
            "{workload} with {jobs} did not run in the background over the whole \
                               window",
        ),
    };
    let sentence = Sentence::new(sentence).with("workload", background.params()[0].1.as_str());
    let sentence = sentence.with("rate", beside.part.ops_per_s);
    reasons.push(Reason::new(
        status,
        ReasonCode::Beside,
        sentence.with("jobs", Sentence::jobs(beside.part.jobs)),
    ));
    reasons
}

fn of_part(
    result: &TestResult,
    plan: &PartPlan,
    figures: &PartResult,
    engine: &str,
) -> Vec<Reason> {
    let claims: Vec<Claim> =
        plan.contract.iter().filter(|claim| is_of_own_counts(claim)).cloned().collect();
    let reasons = contract::judge(&alone(result, plan, figures), &claims, engine).into_iter();
    reasons.map(|reason| reason.of_part(&plan.workload)).collect()
}

/// The reason that ops of a part failed: they are not the work that others are measured beside.
fn errors(result: &TestResult, plan: &PartPlan, figures: &PartResult) -> Option<Reason> {
    let found = verdict::errors(&alone(result, plan, figures));
    found.map(|reason| reason.of_part(&plan.workload))
}

/// True if a claim needs only what the jobs counted themselves.
fn is_of_own_counts(claim: &Claim) -> bool {
    let own = |name: &str| OWN.contains(&name);
    own(&claim.what)
        && claim.per.as_deref().is_none_or(own)
        && claim.when.as_deref().is_none_or(own)
        && claim.if_positive.is_none()
}

/// The test as if there were only this part: its parameters and facts, and what its jobs counted in
/// the window.
fn alone(result: &TestResult, plan: &PartPlan, figures: &PartResult) -> TestResult {
    let mut facts = result.facts.clone();
    facts.extend(plan.facts.clone());
    TestResult {
        params: figures.params.clone(),
        jobs: figures.jobs,
        window: figures.tally.clone(),
        total: figures.tally.clone(),
        facts,
        ..result.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Expr, JobCode, LatencySummary, Tally};

    fn claim(what: &str, per: &str) -> Claim {
        let bound = Some(Expr("rpt".into()));
        Claim {
            what: what.into(),
            per: Some(per.into()),
            min: bound.clone(),
            max: bound,
            because: "rows are missing".into(),
            ..Claim::default()
        }
    }

    fn plan(workload: &str, contract: Vec<Claim>) -> PartPlan {
        let code = JobCode::Bulk { table: String::new(), batch: 1 };
        PartPlan {
            params: [("rpt".to_string(), "2".to_string())].into(),
            contract,
            ..PartPlan::bare(workload, code)
        }
    }

    fn figures(plan: &PartPlan, ops: u64, rows: u64) -> PartResult {
        PartResult {
            workload: plan.workload.clone(),
            params: plan.params.clone(),
            chosen: plan.chosen.clone(),
            jobs: 1,
            tally: Tally { ops, rows, ..Tally::default() },
            ops_per_s: 1.0,
            units_per_s: 1.0,
            latency: LatencySummary::default(),
        }
    }

    /// The texts for a mix of a part that finds its rows and one that finds `rows` in 100 ops.
    fn reasons(rows: u64, contract: &[Claim]) -> Vec<(Status, String)> {
        let plans = [plan("T-WHOLE", contract.to_vec()), plan("T-EMPTY", contract.to_vec())];
        let parts = vec![figures(&plans[0], 100, 200), figures(&plans[1], 100, rows)];
        let result = TestResult { parts, ..fixture::result() };
        judge(&result, &plans, "one")
            .into_iter()
            .map(|reason| (reason.status, reason.text))
            .collect()
    }

    #[test]
    fn a_part_without_its_rows_breaks_the_mix_and_is_named() {
        assert_eq!(reasons(200, &[claim("rows", "ops")]), []);
        let text = "T-EMPTY: rows per ops = 0, must be at least 2: rows are missing".to_string();
        assert_eq!(reasons(0, &[claim("rows", "ops")]), [(Status::Invalid, text)]);
    }

    #[test]
    fn claims_about_the_databases_counters_are_the_mixs_own() {
        assert_eq!(
            reasons(0, &[claim("physical_reads", "ops"), claim("rows", "logical_reads")]),
            []
        );
        let durable = Claim { when: Some("durable".into()), ..claim("rows", "ops") };
        assert_eq!(reasons(0, &[durable]), []);
    }

    #[test]
    fn errors_of_a_background_are_said_of_it() {
        let plan = plan("T-HALF", Vec::new());
        let sound = figures(&plan, 50, 100);
        assert_eq!(errors(&fixture::result(), &plan, &sound), None);
        let tally = Tally { errors: [("deadlock".into(), 50)].into(), ..sound.tally.clone() };
        let half = errors(&fixture::result(), &plan, &PartResult { tally, ..sound }).unwrap();
        let text = "T-HALF: 50 % of all ops failed (50 deadlock)";
        assert_eq!((half.status, half.text.as_str()), (Status::Invalid, text));
    }

    #[test]
    fn a_simple_workload_has_no_parts_to_judge() {
        let plan = plan("T-EMPTY", vec![claim("rows", "ops")]);
        let result = TestResult { parts: vec![figures(&plan, 100, 0)], ..fixture::result() };
        assert_eq!(judge(&result, &[plan], "one"), []);
    }
}
