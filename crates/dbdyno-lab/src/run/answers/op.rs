//! One op, as a job runs it.

use super::AnswerCheckContext;
use crate::run::prepare::row_function;
use dbdyno_core::error::Result;
use dbdyno_core::model::{Counters, JobCode, Routine, Tally};
use dbdyno_engines::engine::{
    AfterError, EngineError, JobSpec, Pacer, Session, Slice, SliceReport,
};

/// Longest the one op may take before its slice ends, in s; a longer one still ends.
const SLICE_S: f64 = 60.0;

/// Result of one op.
pub(super) struct OpResult {
    /// Ops that the routine counted; none if the call itself is the op.
    pub ops: Option<f64>,
    pub rows: f64,
    pub commits: f64,
    /// Rows found of those that were to be found, for a workload that counts them.
    pub hits: f64,
    /// Result of a routine.
    pub sink: Option<f64>,
}

/// Runs one op: a call of the routine, or a client's job that ends after it.
pub(super) fn run(
    checking: &AnswerCheckContext<'_>,
    session: &mut dyn Session,
) -> Result<OpResult> {
    match &checking.part.code {
        JobCode::Routine(routine) => call(checking, session, routine),
        JobCode::Client { .. } | JobCode::Bulk { .. } => drive(checking),
    }
}

/// One op of the routine, from seed 1.
fn call(
    checking: &AnswerCheckContext<'_>,
    session: &mut dyn Session,
    routine: &Routine,
) -> Result<OpResult> {
    let bind = |name: &String| match name.as_str() {
        "slice_us" => (SLICE_S * 1e6) as i64,
        _ => 1,
    };
    let binds: Vec<i64> = routine.call.binds.iter().map(bind).collect();
    let row = session.query(&routine.call.sql, &binds).map_err(|error| checking.at(error))?;
    let find = |name: &str| row.get(0, name).and_then(|text| text.parse::<f64>().ok());
    let get = |name: &str| {
        find(name).ok_or_else(|| checking.wrong(format!("the routine returned no '{name}'")))
    };
    // A routine of one transaction does not count ops.
    let counts_ops = row.columns.iter().any(|column| column == "ops");
    let ops = if counts_ops { Some(get("ops")?) } else { None };
    let sink = find("sink");
    let hits = sink.filter(|_| routine.hits).unwrap_or(0.0);
    Ok(OpResult { ops, rows: get("rows")?, commits: get("commits")?, hits, sink })
}

/// One op of a client's job.
fn drive(checking: &AnswerCheckContext<'_>) -> Result<OpResult> {
    let plan = checking.plan;
    let order = JobSpec {
        job: 1,
        jobs: 1,
        code: &checking.part.code,
        session: &checking.part.session,
        seed: plan.seed,
        facts: checking.facts,
        rows: row_function(plan),
        wire: checking.selection.wire,
        node: None,
    };
    let mut pacer = OneOp::default();
    checking.database.run_job(&order, &mut pacer).map_err(|error| checking.at(error))?;
    let tally = pacer.tally;
    Ok(OpResult {
        ops: Some(tally.ops as f64),
        rows: tally.rows as f64,
        commits: tally.commits as f64,
        hits: tally.hits as f64,
        sink: None,
    })
}

/// Lets a job do one op.
#[derive(Default)]
struct OneOp {
    given: bool,
    tally: Tally,
}

impl Pacer for OneOp {
    fn ready(&mut self) -> bool {
        true
    }
    fn next_slice(&mut self) -> Option<Slice> {
        let first = !std::mem::replace(&mut self.given, true);
        first.then_some(Slice { seconds: SLICE_S, max_ops: 1, stride: 1 })
    }
    fn slice_done(&mut self, report: &SliceReport<'_>) {
        self.tally.merge(&report.tally);
    }
    fn op_failed(&mut self, _: &EngineError) -> AfterError {
        AfterError::Stop
    }
    fn session_counters(&mut self, _: Counters) {}
}
